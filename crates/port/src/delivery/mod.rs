//! Links that deliver at moments of their own: what a radio link lets through, millisecond by millisecond.
//!
//! ```text
//! source (a recorded trace, or a model of one)  --next-->  Opportunity { at, bytes }  --server-->  packets
//! ```
//!
//! An opportunity takes packets that arrived before its moment, as many bytes as it has; several packets share one, a packet
//! may begin in one and end in a later one, and bytes that nobody uses are lost.

mod lines;
mod lte;
mod moment;
mod recorded;
mod spread;
mod starlink;
mod wifi;

pub use lines::Lines;
pub(crate) use lte::LteParams;
pub(crate) use moment::Opportunity;
pub(crate) use recorded::TraceParams;
pub(crate) use starlink::StarlinkParams;
pub(crate) use wifi::WifiParams;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Rng, Time};

/// When a link delivers, in place of a rate: a recording of it, or a model of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(transform = units::words::<Delivery>)]
pub enum Delivery {
    /// A recorded trace in mahimahi's format.
    Trace(TraceParams),
    /// A link like LTE's: grants, blocks sent again 8 ms later, a rate that swings, handovers.
    Lte(LteParams),
    /// A link like Wi-Fi's: aggregates of up to 64 packets in turns won against other stations.
    Wifi(WifiParams),
    /// A link like Starlink's: another rate and delay every 15 s, and outages.
    Starlink(StarlinkParams),
}

units::word_or_table!(Delivery);

/// One line of `bloatlab list links`.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryInfo {
    /// Name in a scenario.
    pub name: &'static str,
    /// What it is, one line.
    pub summary: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Its parameters as a JSON Schema.
    pub params: fn() -> schemars::Schema,
}

/// What there is in place of a rate.
pub const DELIVERIES: &[DeliveryInfo] = &[
    DeliveryInfo {
        name: "trace",
        summary: "A recorded trace: opportunities of 1504 bytes, one time in ms per line",
        source: "mahimahi's link_queue.cc",
        params: || schemars::schema_for!(TraceParams),
    },
    DeliveryInfo {
        name: "lte",
        summary: "Like LTE: grants, blocks sent again after 8 ms, a swinging rate, handovers",
        source: "3GPP TS 36.321; stated parameters",
        params: || schemars::schema_for!(LteParams),
    },
    DeliveryInfo {
        name: "wifi",
        summary: "Like Wi-Fi: aggregates in turns that are won against other stations",
        source: "IEEE 802.11-2016 10.22; Bianchi 2000; stated parameters",
        params: || schemars::schema_for!(WifiParams),
    },
    DeliveryInfo {
        name: "starlink",
        summary: "Like Starlink: another rate and delay every 15 s, outages",
        source: "Mohan et al., WWW 2024; stated parameters",
        params: || schemars::schema_for!(StarlinkParams),
    },
];

/// The same of whichever it is.
macro_rules! each {
    ($of:expr, $p:ident => $do:expr) => {
        match $of {
            Delivery::Trace($p) => $do,
            Delivery::Lte($p) => $do,
            Delivery::Wifi($p) => $do,
            Delivery::Starlink($p) => $do,
        }
    };
}

impl Delivery {
    /// Name in a scenario.
    fn name(&self) -> &'static str {
        match self {
            Self::Trace(_) => "trace",
            Self::Lte(_) => "lte",
            Self::Wifi(_) => "wifi",
            Self::Starlink(_) => "starlink",
        }
    }

    /// The first thing that is wrong, with its path.
    pub fn validate(&self) -> Result<(), Problem> {
        each!(self, p => p.validate()).map_err(|p| p.under(self.name()))
    }

    /// Whether it can be built.   Errors: a file that nobody has read.
    pub fn ready(&self) -> Result<(), Problem> {
        match self {
            Self::Trace(p) => p.ready().map_err(|p| p.under("trace")),
            _ => Ok(()),
        }
    }

    /// What it carries in the long run.
    pub fn mean_rate(&self) -> BitRate {
        each!(self, p => p.mean_rate())
    }

    /// The rate of its busiest moment.
    pub fn peak_rate(&self) -> BitRate {
        each!(self, p => p.peak_rate())
    }

    /// No run of so long carries more than this rate.
    pub fn most_in(&self, span: Duration) -> BitRate {
        each!(self, p => p.most_in(span))
    }

    /// The largest packet that it takes.
    pub fn largest(&self) -> Option<Bytes> {
        match self {
            Self::Trace(p) => Some(p.opportunity),
            _ => None,
        }
    }

    /// What it lets through in `span` under a seed, on the link `name`, as mahimahi's file. A delay that changes is no part of it.
    ///
    /// Errors: what is wrong with the parameters; nothing in `span`, more lines than a trace may have.
    pub fn file(&self, seed: u64, name: &str, span: Duration) -> Result<String, Problem> {
        self.validate()?;
        self.ready()?;
        let size = self.largest().unwrap_or(Bytes(spread::OPPORTUNITY)).0;
        let mut source = Source::new(self, stream(seed, &format!("link.{name}")));
        let (mut text, mut count) = (String::new(), 0);
        loop {
            let next = source.next();
            if next.at > Time(span.0) {
                break;
            }
            for _ in 0..next.bytes / size {
                text.push_str(&next.at.0.div_ceil(spread::MS).to_string());
                text.push('\n');
            }
            count += next.bytes / size;
            if count > lines::MOST_LINES / 4 {
                return Err(Problem::new("duration", format!("{span} has too many opportunities; expected less time")));
            }
        }
        match Lines::read(&text) {
            Ok(_) => Ok(text),
            Err(_) => Err(Problem::new("duration", format!("{span} has no opportunity; expected more time"))),
        }
    }
}

/// The random stream of a link's opportunities.
fn stream(seed: u64, link: &str) -> Rng {
    Rng::named(seed, &format!("{link}.delivery"))
}

/// What makes the opportunities of one link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Trace(recorded::Recorded),
    Lte(lte::Lte),
    Wifi(wifi::Wifi),
    Starlink(starlink::Starlink),
}

impl Source {
    /// Of a valid declaration that is ready.
    pub(crate) fn new(delivery: &Delivery, rng: Rng) -> Self {
        match delivery {
            Delivery::Trace(p) => Self::Trace(recorded::Recorded::new(p)),
            Delivery::Lte(p) => Self::Lte(lte::Lte::new(p, rng)),
            Delivery::Wifi(p) => Self::Wifi(wifi::Wifi::new(p, rng)),
            Delivery::Starlink(p) => Self::Starlink(starlink::Starlink::new(p, rng)),
        }
    }

    /// The next one, not before the one before.
    pub(crate) fn next(&mut self) -> Opportunity {
        match self {
            Self::Trace(s) => s.next(),
            Self::Lte(s) => s.next(),
            Self::Wifi(s) => s.next(),
            Self::Starlink(s) => s.next(),
        }
    }
}
