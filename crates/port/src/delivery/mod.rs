//! Links that, like a radio link, send at opportunities, in steps of a millisecond.
//!
//! ```text
//! source (a recorded trace, or a model)  --next-->  Opportunity { at, bytes }  --server-->  packets
//! ```
//!
//! An opportunity can carry a given number of bytes, from packets that arrived before it. Several packets may share an
//! opportunity, a packet may extend over several opportunities, and unused bytes are lost.

mod lines;
mod lte;
mod opportunity;
mod recorded;
mod starlink;
mod synthetic;
mod wifi;

pub use lines::Lines;
pub(crate) use lte::LteParams;
pub(crate) use opportunity::Opportunity;
pub(crate) use recorded::TraceParams;
pub(crate) use starlink::StarlinkParams;
pub(crate) use wifi::WifiParams;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Rng, Time};

/// An entry of `bloatlab list links`.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the model.
    pub source: &'static str,
    /// The parameters as a JSON Schema.
    pub params: fn() -> schemars::Schema,
}

/// Takes one list of all kinds of links that send at opportunities. From this list, the macro generates the enum
/// [`Delivery`] for scenarios, the constant [`DELIVERIES`], and the enum [`Source`], which generates the opportunities.
macro_rules! deliveries {
    ($($name:literal $Variant:ident($Params:ty => $Source:ty), $source:literal, $summary:literal;)+) => {
        /// The opportunities of a link that has `delivery` instead of `rate`: a recorded trace, or a model.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case", remote = "Self")]
        #[schemars(transform = units::words::<Delivery>)]
        pub enum Delivery {
            $(#[doc = concat!($summary, ".")] $Variant($Params),)+
        }

        units::word_or_table!(Delivery);

        /// All kinds of links that send at opportunities.
        pub const DELIVERIES: &[DeliveryInfo] = &[
            $(DeliveryInfo {
                name: $name,
                summary: $summary,
                source: $source,
                params: || schemars::schema_for!($Params),
            },)+
        ];

        impl Delivery {
            /// Returns the name of this kind of link in a scenario.
            fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)+ }
            }
            /// Checks the parameters. The error contains the path of the first invalid field.
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $(Self::$Variant(p) => p.validate(),)+ }.map_err(|p| p.under(self.name()))
            }
            /// Returns the mean rate that the link can deliver.
            pub fn mean_rate(&self) -> BitRate {
                match self { $(Self::$Variant(p) => p.mean_rate(),)+ }
            }
            /// Returns the highest rate: the rate of a trace's busiest millisecond, an upper bound on the rates that a
            /// model draws, or Wi-Fi's rate on the air.
            pub fn peak_rate(&self) -> BitRate {
                match self { $(Self::$Variant(p) => p.peak_rate(),)+ }
            }
            /// Returns an upper bound on the mean rate over any `span`.
            pub fn max_rate_over(&self, span: Duration) -> BitRate {
                match self { $(Self::$Variant(p) => p.max_rate_over(span),)+ }
            }
        }

        /// Generates the opportunities of one link.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Source {
            $($Variant($Source),)+
        }

        impl Source {
            /// Builds the generator for `delivery`, which must be valid. If `delivery` is a trace, its file must have
            /// been read.
            pub(crate) fn new(delivery: &Delivery, rng: Rng) -> Self {
                match delivery { $(Delivery::$Variant(p) => Self::$Variant(<$Source>::new(p, rng)),)+ }
            }
            /// Returns the next opportunity, never earlier than the previous one.
            pub(crate) fn next(&mut self) -> Opportunity {
                match self { $(Self::$Variant(s) => s.next(),)+ }
            }
        }
    };
}

deliveries! {
    "trace" Trace(TraceParams => recorded::Recorded), "mahimahi's link_queue.cc",
        "A recorded trace: each line is the time, in ms, of an opportunity to send 1504 bytes";
    "lte" Lte(LteParams => lte::Lte), "3GPP TS 36.321; stated parameters",
        "Like LTE: grants, blocks retransmitted after 8 ms, a varying rate, handovers";
    "wifi" Wifi(WifiParams => wifi::Wifi), "IEEE 802.11-2016 10.22; Bianchi 2000; stated parameters",
        "Like Wi-Fi: competes with other stations for turns, and sends an aggregate in each turn";
    "starlink" Starlink(StarlinkParams => starlink::Starlink), "Mohan et al., WWW 2024; stated parameters",
        "Like Starlink: a new rate and delay every 15 s, outages";
}

impl Delivery {
    /// Checks that the link can be built. Returns an error if its trace file has not been read yet.
    pub fn ready(&self) -> Result<(), Problem> {
        match self {
            Self::Trace(p) => p.ready().map_err(|p| p.under("trace")),
            _ => Ok(()),
        }
    }

    /// Returns the maximum packet size that the link carries, if it has a limit.
    pub fn largest(&self) -> Option<Bytes> {
        match self {
            Self::Trace(p) => Some(p.opportunity),
            _ => None,
        }
    }

    /// Returns the opportunities of link `name` within `span`, drawn with `seed`, as text in mahimahi's format. The
    /// text omits added delays and limits on the number of packets, because the format has neither.
    ///
    /// Errors: the parameters are invalid; the trace has not been read; `span` is longer than the longest valid trace; there
    /// is no opportunity after 0 ms in `span`; the file would have more than a quarter of the maximum number of lines.
    pub fn file(&self, seed: u64, name: &str, span: Duration) -> Result<String, Problem> {
        let own = |problem: Problem| problem.under("delivery").under(name).under("link");
        self.validate().and_then(|()| self.ready()).map_err(own)?;
        let refuse = |message: String| Err(Problem::new("duration", message));
        let most = Duration::from_millis(lines::MOST_MS);
        if span > most {
            return refuse(format!("{span} is not valid; expected at most {most}, the longest trace"));
        }
        let size = self.largest().unwrap_or(Bytes(synthetic::OPPORTUNITY)).0;
        let mut source = Source::new(self, stream(seed, &format!("link.{name}")));
        let (mut text, mut count, mut last) = (String::new(), 0, None);
        loop {
            let next = source.next();
            if next.at > Time(span.0) {
                break;
            }
            let ms = next.at.0.div_ceil(synthetic::MS);
            for _ in 0..next.bytes / size {
                text.push_str(&ms.to_string());
                text.push('\n');
                last = Some(ms);
            }
            count += next.bytes / size;
            if count > lines::MOST_LINES / 4 {
                return refuse(format!("{span} has too many opportunities; expected a shorter time"));
            }
        }
        match last {
            None => refuse(format!("{span} has no opportunity; expected a longer time")),
            Some(0) => refuse(format!("{span} has opportunities only at 0 ms; expected a longer time")),
            Some(_) => Ok(text),
        }
    }
}

/// Returns the random number generator that a link's opportunities are drawn from.
fn stream(seed: u64, link: &str) -> Rng {
    Rng::named(seed, &format!("{link}.delivery"))
}
