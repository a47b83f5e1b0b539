//! The specification of a port, and changes to a port that is running.

use crate::{Delivery, Impairments, Shaper};
use docsis::{Docsis31Params, DocsisParams, ShaperParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Prob, Problem};
use units::{positive, require};

/// The server that takes packets from the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// A link that sends at its rate.
    #[default]
    Plain,
    /// A shaper in front of the link: the dual token bucket of a DOCSIS downstream, or HTB.
    Shaper(Shaper),
    /// A cable modem's upstream; the link's rate is the rate of the upstream channel.
    Docsis(DocsisParams),
    /// The upstream of a DOCSIS 3.1 modem, or the downstream to it. The channel has its own rate, so the link's `rate` must be
    /// null.
    Docsis31(Box<Docsis31Params>),
    /// Delivery opportunities instead of a rate.
    Delivery(Delivery),
}

impl Service {
    /// Returns the rates and bursts of a DOCSIS service flow or aggregate; `None` if the service is not DOCSIS.
    pub fn flow(&self) -> Option<&ShaperParams> {
        match self {
            Self::Docsis(p) => Some(&p.flow),
            Self::Docsis31(p) => Some(&p.flow),
            _ => None,
        }
    }

    /// Returns the long-run rate that the service itself sets: the sustained rate of a shaper or service flow, or the
    /// mean rate of opportunities. `None` if the link's rate applies.
    pub fn own_rate(&self) -> Option<BitRate> {
        match self {
            Self::Shaper(p) => p.own_rate(),
            Self::Delivery(p) => Some(p.mean_rate()),
            _ => self.flow().map(|flow| flow.max_sustained_rate),
        }
    }

    /// Returns the specification of the link's opportunities, if the link has opportunities instead of a rate.
    pub fn delivery(&self) -> Option<&Delivery> {
        if let Self::Delivery(p) = self { Some(p) } else { None }
    }
}

/// A random delay that is added to the propagation delay of each packet. The delay has the given percentiles; between
/// two neighbouring percentiles, all delays are equally likely. Packets keep their order unless the link's `reorder` is
/// true.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Smallest delay.
    #[serde(default)]
    pub min: Duration,
    /// Median.
    pub p50: Duration,
    /// 90th percentile.
    pub p90: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// 99.9th percentile. It is also the largest delay.
    pub p99_9: Duration,
}

impl Lateness {
    /// Returns the points of the distribution: for each point, the name of its field, its quantile (from 0 to 1) and
    /// its delay.
    fn points(&self) -> [(&'static str, f64, Duration); 6] {
        [
            ("min", 0.0, self.min),
            ("p50", 0.5, self.p50),
            ("p90", 0.9, self.p90),
            ("p95", 0.95, self.p95),
            ("p99", 0.99, self.p99),
            ("p99_9", 0.999, self.p99_9),
        ]
    }

    /// Checks that the percentiles never decrease. The error names the first percentile that is below its predecessor.
    fn validate(&self) -> Result<(), Problem> {
        for pair in self.points().windows(2) {
            let (below, (path, _, this)) = (pair[0].2, pair[1]);
            let message = format!("{this} is not valid; expected at least {below}, the percentile before it");
            require(below <= this, path, message)?;
        }
        Ok(())
    }

    /// Returns the delay at the quantile `share`, from 0 to 1. Above 0.999, this is always `p99_9`.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let points = self.points();
        let Some(pair) = points.windows(2).find(|pair| share <= pair[1].1) else { return self.p99_9 };
        let ((_, from, low), (_, to, high)) = (pair[0], pair[1]);
        let more = high.saturating_sub(low).0 as f64 * (share - from) / (to - from);
        low + Duration(more as u64)
    }
}

/// One direction of a link, with the queue in front of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortSpec {
    /// Rate at which the link sends; null: infinite.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Propagation delay. When it changes, packets keep their order unless `reorder` is set.
    #[serde(default)]
    pub delay: Duration,
    /// Upper bound on the jitter, a time added to the propagation delay. The time is drawn for each packet, uniformly from zero
    /// to this bound.
    #[serde(default)]
    pub jitter: Duration,
    /// A random delay given by its percentiles.
    #[serde(default)]
    pub lateness: Option<Lateness>,
    /// Jitter, lateness, retransmissions and changes of the delay can give a packet less delay than the packets sent
    /// before it. If true, the packet overtakes them. If false, order is kept, except that `impairments` may hold
    /// single packets back.
    #[serde(default)]
    pub reorder: bool,
    /// Probability that the link loses a packet after its transmission.
    #[serde(default)]
    pub loss: Prob,
    /// Numbers of the packets that the link loses after their transmission, independent of `loss`. Packets are numbered from 1, in
    /// the order of their transmission.
    #[serde(default)]
    pub lose: Vec<u64>,
    /// Further faults of the wire, such as losses in bursts, reordering and duplicates.
    #[serde(default)]
    pub impairments: Option<Impairments>,
    /// The queue discipline.
    pub queue: qdisc::Spec,
    /// The server that takes packets from the queue.
    #[serde(default)]
    pub service: Service,
}

impl PortSpec {
    /// Checks the fields of the wire. The error names the first invalid field: a percentile of `lateness` below its
    /// predecessor, a number in `lose` that is 0 or not above its predecessor, or a field of `impairments`.
    pub fn validate_wire(&self) -> Result<(), Problem> {
        if let Some(lateness) = &self.lateness {
            lateness.validate().map_err(|p| p.under("lateness"))?;
        }
        if let Some(impairments) = &self.impairments {
            impairments.validate().map_err(|p| p.under("impairments"))?;
        }
        let mut before = 0u64;
        for (i, &number) in self.lose.iter().enumerate() {
            let least = before.saturating_add(1);
            let message = format!(
                "{number} is not valid; expected at least {least}: packets are numbered from 1, in rising order"
            );
            require(number > before, &format!("lose.{i}"), message)?;
            before = number;
        }
        Ok(())
    }

    /// Checks the specification. The error names the path of the first invalid field.
    pub fn validate(&self) -> Result<(), Problem> {
        let message = "0bit is not valid; expected a positive rate, or no rate for an infinite one";
        require(self.rate != Some(BitRate(0)), "rate", message)?;
        self.validate_wire()?;
        self.queue.validate().map_err(|p| p.under("queue"))?;
        self.validate_service()
    }

    /// Checks the service. The error names the first invalid key of the service, or the first key of the link that is
    /// invalid with this service.
    pub fn validate_service(&self) -> Result<(), Problem> {
        match &self.service {
            Service::Plain => Ok(()),
            Service::Shaper(p) => p.validate(self.rate).map_err(|p| p.under("shaper")),
            Service::Docsis(p) => {
                p.validate().map_err(|p| p.under("docsis"))?;
                let message = "a DOCSIS 3.0 modem has one service flow; expected docsis31, or another discipline";
                require(!self.queue.service_flows(), "queue", message)
            }
            Service::Docsis31(p) => {
                p.validate().map_err(|p| p.under("docsis31"))?;
                self.validate_docsis31(p)
            }
            Service::Delivery(p) => {
                p.validate().map_err(|p| p.under("delivery"))?;
                require(self.rate.is_none(), "rate", "a link has rate or opportunities (delivery), not both")?;
                self.queue.needs_rate().map_or(Ok(()), |p| Err(p.under("queue")))
            }
        }
    }

    /// Returns true if packets of several segments (GSO) are split before they reach the queue. With DOCSIS, a token
    /// bucket (which stands for a CMTS) or delivery opportunities, they are always split. On a plain link and with HTB,
    /// they are split only if the discipline requires it.
    pub fn splits_gso(&self) -> bool {
        let whole = matches!(self.service, Service::Plain | Service::Shaper(Shaper::Htb(_)));
        !whole || self.queue.split_gso()
    }

    /// Checks that the link has no rate of its own, and that its queue discipline suits the DOCSIS 3.1 modem `p`.
    fn validate_docsis31(&self, p: &Docsis31Params) -> Result<(), Problem> {
        if let Some(rate) = self.rate {
            let key = if p.downstream.is_some() { "downstream.channel" } else { "minislots" };
            let message = format!(
                "{rate} is not valid with docsis31, whose channel has {} ({key}); expected no rate",
                p.channel()
            );
            return Err(Problem::new("rate", message));
        }
        let name = self.queue.name();
        let (low_latency, flows) = (p.low_latency.is_some(), self.queue.service_flows());
        let message = format!(
            "{name} has no L queue for the second service flow of docsis31.low_latency; expected docsis_lld, or no low_latency"
        );
        require(flows || !low_latency, "queue", message)?;
        let message =
            format!("{name} needs docsis31.low_latency, the service flow of its L queue; expected low_latency = {{}}");
        require(low_latency || !flows, "queue", message)
    }
}

/// New values for a running port; omitted values stay the same. A packet or fragment whose transmission has begun
/// finishes at the old rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// Rate of the link. Zero stops a plain link until the next change of rate.
    pub rate: Option<BitRate>,
    /// Propagation delay of the packets that leave from now on. A packet whose transmission has begun or is scheduled
    /// may keep the old delay.
    pub delay: Option<Duration>,
    /// Upper bound on the jitter added to the delay.
    pub jitter: Option<Duration>,
    /// Loss probability.
    pub loss: Option<Prob>,
    /// Maximum Sustained Traffic Rate of a shaper or modem; for HTB, its `rate`.
    pub max_sustained_rate: Option<BitRate>,
    /// Peak Traffic Rate of a shaper or modem with a peak rate; for HTB, its `ceil`, if it has a ceil.
    pub peak_traffic_rate: Option<BitRate>,
    /// Mean of a modem's maximum grant size.
    pub max_grant: Option<Bytes>,
}

/// The message for a change of rate of a link with delivery opportunities.
const DELIVERS: &str =
    "the link has opportunities (delivery) instead of a rate; expected a change of delay, jitter or loss";

impl Change {
    /// Checks that a port with the rates of `spec` can make this change. The error names the first field that is invalid.
    pub fn validate(&self, spec: &PortSpec) -> Result<(), Problem> {
        let plain = spec.service == Service::Plain;
        let (limits_peak, follows_link) = match &spec.service {
            Service::Plain | Service::Delivery(_) => (false, false),
            Service::Shaper(Shaper::TokenBucket(flow)) => (flow.peak_traffic_rate.is_some(), false),
            Service::Shaper(Shaper::Htb(htb)) => (htb.ceil.is_some(), htb.rate.is_none()),
            Service::Docsis(p) => (p.flow.peak_traffic_rate.is_some(), false),
            Service::Docsis31(p) => (p.flow.peak_traffic_rate.is_some(), false),
        };
        let message = match &spec.service {
            Service::Delivery(_) => DELIVERS,
            service if service.own_rate().is_some() => {
                "this link has no rate that could change; expected a change of max_sustained_rate"
            }
            _ => "this link has no rate that could change; give it one",
        };
        require(self.rate.is_none() || spec.rate.is_some(), "rate", message)?;
        let message = "0bit is not valid behind a shaper; expected a positive rate";
        require(plain || self.rate != Some(BitRate(0)), "rate", message)?;
        let shaper = [("max_sustained_rate", self.max_sustained_rate), ("peak_traffic_rate", self.peak_traffic_rate)];
        for (path, rate) in shaper.into_iter().filter_map(|(path, rate)| Some((path, rate?))) {
            let message =
                "the link has no shaper and no modem; expected a change of rate, or the key shaper, docsis or docsis31";
            require(!plain, path, message)?;
            require(!matches!(spec.service, Service::Delivery(_)), path, DELIVERS)?;
            positive(path, rate)?;
        }
        let message = "the shaper does not limit its peak rate; first set its peak_traffic_rate (htb: ceil)";
        require(self.peak_traffic_rate.is_none() || limits_peak, "peak_traffic_rate", message)?;
        let message = "this htb has the link's rate; expected a change of rate";
        require(self.max_sustained_rate.is_none() || !follows_link, "max_sustained_rate", message)?;
        self.validate_peak(spec)?;
        if let (Service::Docsis31(p), Some(rate)) = (&spec.service, self.max_sustained_rate)
            && p.validate().is_ok()
        {
            p.check_rate("max_sustained_rate", rate)?;
        }
        let Some(max_grant) = self.max_grant else { return Ok(()) };
        let message = "only a modem of DOCSIS 3.0 has a max_grant; expected the key docsis";
        require(matches!(spec.service, Service::Docsis(_)), "max_grant", message)?;
        positive("max_grant", max_grant)
    }

    /// Checks that the peak rate is not below the sustained rate after this change, if the change alters one of them.
    fn validate_peak(&self, spec: &PortSpec) -> Result<(), Problem> {
        let mut then = RatePair::of(spec);
        let before = then;
        self.change_rates(&mut then);
        let RatePair { rate: Some(rate), peak: Some(peak), .. } = then else { return Ok(()) };
        let (path, message) = if self.peak_traffic_rate.is_some() {
            ("peak_traffic_rate", format!("{peak} is not valid; expected at least the sustained rate, {rate}"))
        } else {
            let path = if then.follows_link { "rate" } else { "max_sustained_rate" };
            (path, format!("{rate} is not valid; expected at most the peak rate, {peak}, or a new peak_traffic_rate"))
        };
        require(then == before || peak >= rate, path, message)
    }

    fn change_rates(&self, pair: &mut RatePair) {
        let rate = if pair.follows_link { self.rate } else { self.max_sustained_rate };
        pair.rate = rate.or(pair.rate);
        pair.peak = pair.peak.map(|peak| self.peak_traffic_rate.unwrap_or(peak));
    }

    /// Sets the rates of `spec` to the rates that a port built from `spec` has after this change.
    pub fn apply_rates(&self, spec: &mut PortSpec) {
        let mut pair = RatePair::of(spec);
        self.change_rates(&mut pair);
        spec.rate = self.rate.or(spec.rate);
        let flow = match &mut spec.service {
            Service::Plain | Service::Delivery(_) => return,
            Service::Shaper(Shaper::Htb(htb)) => {
                htb.rate = if pair.follows_link { None } else { pair.rate };
                htb.ceil = pair.peak;
                return;
            }
            Service::Shaper(Shaper::TokenBucket(flow)) => flow,
            Service::Docsis(p) => &mut p.flow,
            Service::Docsis31(p) => &mut p.flow,
        };
        flow.max_sustained_rate = pair.rate.unwrap_or(flow.max_sustained_rate);
        flow.peak_traffic_rate = pair.peak;
    }
}

/// The sustained rate and the peak rate of a shaper or service flow; `None` if there is no such rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RatePair {
    rate: Option<BitRate>,
    peak: Option<BitRate>,
    /// True if the sustained rate is the link's rate.
    follows_link: bool,
}

impl RatePair {
    fn of(spec: &PortSpec) -> Self {
        let flow = |p: &ShaperParams| Self {
            rate: Some(p.max_sustained_rate),
            peak: p.peak_traffic_rate,
            follows_link: false,
        };
        match &spec.service {
            Service::Plain | Service::Delivery(_) => Self { rate: None, peak: None, follows_link: false },
            Service::Shaper(Shaper::Htb(p)) => {
                Self { rate: p.rate_on(spec.rate), peak: p.ceil, follows_link: p.rate.is_none() }
            }
            Service::Shaper(Shaper::TokenBucket(p)) => flow(p),
            Service::Docsis(p) => flow(&p.flow),
            Service::Docsis31(p) => flow(&p.flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts TOML to a JSON tree before reading it, as the reader of scenarios does.
    fn read(text: &str) -> PortSpec {
        serde_json::from_value(toml::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn a_modem_from_text_and_back() {
        let text = r#"
            rate = "100mbit"
            delay = "1ms"
            queue = { codel = { limit = "417p", variant = "draft01" } }
            [service.docsis]
            flow = { max_sustained_rate = "5mbit", max_traffic_burst = "10MB", peak_traffic_rate = "20mbit" }
            max_grant = 1250
            grant_variation = "20%"
            transmit_queue = "back_pressure"
        "#;
        let spec = read(text);
        spec.validate().unwrap();
        let Service::Docsis(p) = &spec.service else { panic!() };
        assert_eq!(
            (p.transmit_limit.to_string(), p.map_interval.to_string(), p.flow.peak_burst.0),
            ("32p".into(), "2ms".into(), 1522)
        );
        let back: PortSpec = serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(back, spec);
        let plain = read("queue = { droptail = {} }");
        assert_eq!((plain.rate, plain.service), (None, Service::Plain));
    }

    #[test]
    fn a_lateness_is_linear_between_its_percentiles() {
        let text = "queue = { droptail = {} }\n\
                    lateness = { p50 = '10us', p90 = '30us', p95 = '40us', p99 = '80us', p99_9 = '980us' }";
        let spec = read(text);
        spec.validate().unwrap();
        let late = |share| spec.lateness.unwrap().at(share).0;
        // the delay is interpolated linearly: 5, 20 and 530 us are the midpoints of 0 to 10, 10 to 30 and 80 to 980 us
        assert_eq!([0.0, 0.25, 0.5, 0.95, 0.99].map(late), [0, 5_000, 10_000, 40_000, 80_000]);
        assert!(late(0.7).abs_diff(20_000) <= 1 && late(0.9945).abs_diff(530_000) <= 1);
        assert_eq!([0.999, 1.0].map(late), [980_000; 2]);
        let falling = read(&text.replace("'40us'", "'20us'"));
        assert_eq!(falling.validate().unwrap_err().path, "lateness.p95");
    }

    #[test]
    fn problems_name_the_path() {
        let problem = |text: &str| read(text).validate().unwrap_err().path;
        assert_eq!(problem("queue = { codel = { interval = '0s' } }"), "queue.codel.interval");
        assert_eq!(
            problem(
                "queue = { droptail = {} }\nservice = { shaper = { max_sustained_rate = '5mbit', peak_traffic_rate = '1mbit' } }"
            ),
            "shaper.peak_traffic_rate"
        );
        assert_eq!(
            problem(
                "queue = { droptail = {} }\nservice = { docsis = { flow = { max_sustained_rate = 1 }, transmit_limit = '50ms' } }"
            ),
            "docsis.transmit_limit"
        );
        let plain = read("queue = { droptail = {} }");
        let change = Change { max_grant: Some(Bytes(1250)), ..Change::default() };
        assert_eq!(change.validate(&plain).unwrap_err().path, "max_grant");
    }

    #[test]
    fn a_peak_below_the_sustained_rate_is_refused_after_any_changes() {
        let flow = "max_sustained_rate = '5mbit', peak_traffic_rate = '20mbit'";
        let change = |rate: Option<u64>, peak: Option<u64>| Change {
            max_sustained_rate: rate.map(|n| BitRate(n * 1_000_000)),
            peak_traffic_rate: peak.map(|n| BitRate(n * 1_000_000)),
            ..Change::default()
        };
        for service in [
            format!("shaper = {{ {flow} }}"),
            "shaper = { htb = { rate = '5mbit', ceil = '20mbit' } }".into(),
            format!("docsis = {{ flow = {{ {flow} }} }}"),
            format!("docsis31 = {{ flow = {{ {flow} }} }}"),
        ] {
            let mut spec = read(&format!("queue = {{ droptail = {{}} }}\nservice = {{ {service} }}"));
            let path = |spec: &PortSpec, change: Change| change.validate(spec).err().map(|p| p.path);
            assert_eq!(path(&spec, change(Some(50), None)).as_deref(), Some("max_sustained_rate"), "{service}");
            assert_eq!(path(&spec, change(None, Some(2))).as_deref(), Some("peak_traffic_rate"));
            assert_eq!(path(&spec, change(Some(50), Some(40))).as_deref(), Some("peak_traffic_rate"));
            assert_eq!(path(&spec, change(Some(50), Some(50))), None);
            change(Some(1), Some(60)).apply_rates(&mut spec);
            assert_eq!([path(&spec, change(Some(50), None)), path(&spec, change(None, Some(2)))], [None, None]);
            assert_eq!(path(&spec, change(Some(61), None)).as_deref(), Some("max_sustained_rate"));
        }
        let follows = "rate = '5mbit'\nqueue = { droptail = {} }\nservice = { shaper = { htb = { ceil = '20mbit' } } }";
        let faster = Change { rate: Some(BitRate(21_000_000)), ..Change::default() };
        assert_eq!(faster.validate(&read(follows)).unwrap_err().path, "rate");
    }
}
