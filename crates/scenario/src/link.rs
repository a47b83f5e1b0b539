//! The declaration of a link and its changes, and the rules that concern only the link itself.

use crate::service::LinkKeys;
use port::Service;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::LazyLock;
use units::{BitRate, Bytes, Duration, Prob, Problem, shown};

/// A link carries packets one way, from one node to another. Packets wait in its queue until the link can send them,
/// and then travel for the propagation delay. The keys `rate`, `shaper`, `docsis`, `docsis31` and `delivery` determine
/// when the link can send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[schemars(transform = crate::service::one_service)]
pub struct Link {
    /// Node at the sending end, where the queue is.
    pub from: String,
    /// Node at the receiving end.
    pub to: String,
    /// Adds a second link in the opposite direction, with the same parameters and the name `~NAME`. So the names that
    /// you choose for links may not begin with `~`.
    #[serde(default)]
    pub both_ways: bool,
    /// Bit rate of the wire. If the link has none of the keys `rate`, `docsis31` and `delivery`, transmission takes no
    /// time.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// Maximum jitter. Each packet's propagation delay grows by a random time, drawn uniformly from zero to this value.
    #[serde(default)]
    pub jitter: Duration,
    /// A random addition to the propagation delay, given by its percentiles. It can imitate a live run, in which
    /// packets leave a little late (`summary.live.lateness_ms`).
    #[serde(default)]
    pub lateness: Option<port::Lateness>,
    /// Jitter, `lateness`, retransmissions by the link and changes of `delay` can give a packet less delay than the
    /// packets sent before it. If `reorder` is true, the packet overtakes them. If false, it waits until they have
    /// arrived, so several packets may arrive at the same time.
    #[serde(default)]
    pub reorder: bool,
    /// Probability that a packet is lost on the wire, after it has left the queue.
    #[serde(default)]
    pub loss: Prob,
    /// Numbers of packets that are lost on the wire, in ascending order. These losses come in addition to those of
    /// `loss`. The first packet on the wire has number 1. With `both_ways`, each direction counts its own packets.
    #[serde(default)]
    pub lose: Vec<u64>,
    /// Faults of the wire other than loss and jitter: a policer, losses in bursts, retransmissions, reordering,
    /// batches, duplicates.
    #[serde(default)]
    pub impairments: Option<port::Impairments>,
    /// The queue discipline: a keyword, table, or line in tc's syntax (docs/scenario.md).
    #[serde(default = "default_queue")]
    pub queue: qdisc::Spec,
    /// The service that takes packets from the queue.
    #[serde(flatten, with = "crate::service")]
    #[schemars(with = "crate::service::Keys<'static>")]
    pub service: Service,
    /// Changes of the link during the run, in chronological order.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// The names of all of a link's keys.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Link);
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.into_iter().flat_map(|p| p.keys().map(|key| &*key.clone().leak())).collect()
});

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, s)
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Link;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Link, A::Error> {
                let mut found = None;
                let link =
                    Link::deserialize(MapAccessDeserializer::new(LinkKeys { map, known: &KEYS, found: &mut found }))?;
                Ok(Link { service: found.map_or(Service::Plain, |(_, service)| service), ..link })
            }
        }
        d.deserialize_map(V)
    }
}

/// Returns drop-tail with 1000 packets, like Linux's `txqueuelen`.
fn default_queue() -> qdisc::Spec {
    qdisc::Spec::Droptail(Default::default())
}

/// A change of a link at a given time of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change, from the start of the run.
    pub at: Duration,
    /// New rate of the link. The link must already have a rate. If its shaper is an HTB without a `rate` of its own,
    /// the rate of the shaper changes too. The rate 0 stops the link until the next change of rate; a link with a
    /// shaper or modem cannot have the rate 0.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// New propagation delay, for packets that leave after the change.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// New jitter, for packets that leave after the change.
    #[serde(default)]
    pub jitter: Option<Duration>,
    /// New value of `loss`, for packets that leave after the change.
    #[serde(default)]
    pub loss: Option<Prob>,
    /// New `max_sustained_rate` of the shaper or modem, or new `rate` of HTB. The link must already set the key that
    /// changes.
    #[serde(default)]
    pub max_sustained_rate: Option<BitRate>,
    /// New `peak_traffic_rate` of the shaper or modem, or new `ceil` of HTB. The link must already set the key that
    /// changes.
    #[serde(default)]
    pub peak_traffic_rate: Option<BitRate>,
    /// New `max_grant` of a DOCSIS 3.0 modem.
    #[serde(default)]
    pub max_grant: Option<Bytes>,
}

impl Change {
    pub(crate) fn for_port(&self) -> port::Change {
        port::Change {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            loss: self.loss,
            max_sustained_rate: self.max_sustained_rate,
            peak_traffic_rate: self.peak_traffic_rate,
            max_grant: self.max_grant,
        }
    }
}

impl Link {
    /// Returns the number of bits that this link can carry in the interval [`from`, `to`). The rate is the lowest of
    /// the link's own rate and the rates of its shaper, modem and shaping queue. Each scheduled change of a rate takes
    /// effect at the time of the change. Returns `None` if there is no rate, and for a link with delivery
    /// opportunities.
    ///
    /// Bursts are not included: a link may carry more while its token bucket holds tokens.
    pub fn capacity(&self, from: Duration, to: Duration) -> Option<f64> {
        if matches!(self.service, Service::Delivery(_)) {
            // the capacity of a link with delivery opportunities is not computed here, but counted during the run
            return None;
        }
        let (mut rate, mut sustained) = (self.rate, self.service.own_rate());
        let mut at = from;
        let mut bits = 0.0;
        let last = Change { at: to, ..Change::default() };
        for change in self.changes.iter().chain([&last]) {
            let until = change.at.clamp(from, to);
            let now = rate.into_iter().chain(sustained).chain(self.queue.shapes()).min()?;
            bits += now.0 as f64 * until.saturating_sub(at).secs();
            at = until;
            rate = change.rate.or(rate);
            sustained = change.max_sustained_rate.or(sustained);
        }
        Some(bits)
    }

    /// Returns the long-term rate at which the queue is served: the rate of the shaper or service flow, or the mean
    /// rate of the delivery opportunities. If there is none of these, the rate of the wire.
    pub(crate) fn served_rate(&self) -> Option<BitRate> {
        self.service.own_rate().or(self.rate)
    }

    /// Returns the long-term rate of the link: the rate at which the queue is served or, if lower, the queue's own shaping rate.
    pub fn sustained_rate(&self) -> Option<BitRate> {
        self.served_rate().into_iter().chain(self.queue.shapes()).min()
    }

    pub(crate) fn for_port(&self) -> port::PortSpec {
        port::PortSpec {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            lateness: self.lateness,
            reorder: self.reorder,
            loss: self.loss,
            lose: self.lose.clone(),
            impairments: self.impairments.clone(),
            queue: self.queue.clone(),
            service: self.service.clone(),
        }
    }

    /// Adds a change to the link's list, after all changes with the same or an earlier time. Returns the change in the
    /// form in which the link's port applies it.
    ///
    /// Errors: this link cannot make the change, or this change would make a later change in the list invalid.
    pub fn schedule(&mut self, change: Change) -> Result<port::Change, Problem> {
        let made = change.for_port();
        let place = self.changes.partition_point(|other| other.at <= change.at);
        let mut spec = self.for_port();
        self.changes[..place].iter().for_each(|before| before.for_port().apply_rates(&mut spec));
        made.validate(&spec)?;
        made.apply_rates(&mut spec);
        for later in &self.changes[place..] {
            let (at, later) = (later.at, later.for_port());
            let refused =
                |p: Problem| Problem { message: format!("{} (in the link's change at {at})", p.message), ..p };
            later.validate(&spec).map_err(refused)?;
            later.apply_rates(&mut spec);
        }
        self.changes.insert(place, change);
        Ok(made)
    }

    /// Returns the problems of this link alone.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.from == self.to {
            let message = format!("a link from \"{}\" to itself leads nowhere", shown(&self.from));
            problems.push(Problem::new("to", message));
        }
        if self.rate == Some(BitRate(0)) {
            let message = "0bit is not valid; expected a rate above zero, or no rate at all for an infinite one";
            problems.push(Problem::new("rate", message));
        }
        // the queue is checked at the rate at which the link serves it. For delivery opportunities, this is their mean
        // rate, at which limits given as a time are converted to bytes. There are two exceptions for queues that shape:
        // with delivery opportunities, their peak rate is used; on a link without a rate, the queue's own rate
        let peak = self.service.delivery().filter(|_| self.queue.shapes().is_some()).map(port::Delivery::peak_rate);
        let rate = peak.or(self.served_rate()).or(self.queue.shapes()).filter(|r| r.0 > 0);
        let at_rate = |()| rate.map_or(Ok(()), |rate| self.queue.validate_at(rate));
        problems.extend(self.queue.validate().and_then(at_rate).err().map(|p| p.under("queue")));
        let mut spec = self.for_port();
        problems.extend(spec.validate_service().err());
        problems.extend(spec.validate_wire().err());
        let mut last = Duration::ZERO;
        for (i, change) in self.changes.iter().enumerate() {
            let at = change.at;
            let order = (at < last).then(|| format!("{at} is earlier than the previous change, at {last}"));
            let found = order
                .map(|message| Problem::new("at", message))
                .into_iter()
                .chain(change.for_port().validate(&spec).err());
            problems.extend(found.map(|p| p.under(&format!("changes.{i}"))));
            change.for_port().apply_rates(&mut spec);
            last = last.max(at);
        }
        problems
    }
}

/// Returns true if a link has a rate, a shaper, a modem or a `delivery`. Any other link holds no queue, unless its
/// discipline shapes. A setting for all links applies only if this function returns true, except `trace.packets`.
pub fn can_queue(link: &Link) -> bool {
    link.rate.is_some() || link.service != Service::Plain
}
