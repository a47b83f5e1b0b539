//! Laws written in Python. Each law is an object of a user's class, whose methods the queue calls (`object.rs`). After
//! an error in any object of the run, all these laws pass every packet.

use crate::error::{Mistake, locked, shown, shown_or_missing};
use crate::object::{Class, Object, shared_copy};
use packet::{Ecn, Flags, LinkView, MarkReason, PacketMeta, Reading};
use pyo3::prelude::*;
use pyo3::types::PyString;
use qdisc::law::{
    Law, Verdict, View,
    foreign::{AnyForeign, ForeignLaw, LawFactory},
};
use scenario::Scenario;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::{Problem, Rng, Time};

/// The properties of a packet that a law can read.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
pub(crate) struct LawPacket {
    /// Number of the packet's flow.
    flow: u32,
    /// Bytes on the wire.
    size: u16,
    /// Time of arrival at the queue, ns.
    enqueued_ns: u64,
    /// True if the packet is ECN-capable, which means that it can be marked.
    ect: bool,
    /// Differentiated services code point, 0 to 63.
    dscp: u8,
    /// True for a pure ACK: a TCP segment without payload, and without SYN, FIN and RST.
    pure_ack: bool,
}

impl From<&PacketMeta> for LawPacket {
    fn from(p: &PacketMeta) -> Self {
        let (ect, pure_ack) = (p.ecn() != Ecn::NotEct, p.flags.has(Flags::PURE_ACK));
        Self { flow: p.flow.0, size: p.size, enqueued_ns: p.stamp.0, ect, dscp: p.tos >> 2, pure_ack }
    }
}

/// A law's view of its queue and link during a call.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct LawView {
    /// Time of the call, ns.
    #[pyo3(get)]
    now_ns: u64,
    /// Time that the packet of the call has waited in the queue, ns; 0 for an arrival or a tick.
    #[pyo3(get)]
    sojourn_ns: u64,
    /// Packets in the queue, not counting the packet of the call. In a fair discipline, the parameter `law_sees` can
    /// select all queues instead.
    #[pyo3(get)]
    packets: u32,
    /// Bytes in the queue, not counting the packet of the call. `law_sees` applies here too.
    #[pyo3(get)]
    bytes: u64,
    /// Sustained rate of the link's shaper or modem, otherwise the rate of the link, bit/s. For a link with delivery
    /// opportunities, the mean rate.
    #[pyo3(get)]
    rate: u64,
    /// Further delay of a packet that leaves the queue now, ns: the wait in a modem's transmit queue.
    #[pyo3(get)]
    downstream_ns: u64,
    link: LinkView,
    rng: Arc<Mutex<Rng>>,
}

#[pymethods]
impl LawView {
    /// Returns the time in ns that the link needs to send `bytes`: at the peak rate while tokens last, then at the
    /// sustained rate.
    fn expected_delay_ns(&self, bytes: u64) -> u64 {
        self.link.expected_delay(bytes).0
    }
    /// Returns the next number of the law's own random stream, in [0, 1).
    fn random(&self) -> f64 {
        locked(&self.rng).unit()
    }
}

/// Inserts the Python law of each queue in `scenario` that names such a law; returns true if any law was inserted.
/// `find` returns the class for a key of the form "link.NAME".   Errors: the class of a law is missing.
pub(crate) fn insert(scenario: &mut Scenario, find: &impl Fn(&str) -> Option<Class>) -> Result<bool, Problem> {
    let mut any = false;
    for (name, link) in &mut scenario.link {
        let Some((path, law)) = link.queue.outside() else { continue };
        let Some(class) = find(&format!("link.{name}")) else {
            law.ready().map_err(|p| p.under(&format!("link.{name}.queue.{path}")))?;
            continue;
        };
        any = true;
        let factory = PythonLaws { class, seed: scenario.seed, made: AtomicU64::new(0) };
        link.queue = link.queue.clone().with_outside(law.made_by(Arc::new(factory)));
    }
    Ok(any)
}

/// The trace's own columns in its tables of links and queues, whose names a law must not use (sim/src/trace.rs,
/// port/src/port.rs).
const COLUMNS: [&str; 13] = [
    "t_s",
    "link",
    "queue",
    "backlog_packets",
    "backlog_bytes",
    "offered_packets",
    "delivered_packets",
    "dropped_packets",
    "marked_packets",
    "rate_mbit",
    "tokens_bytes",
    "transmit_backlog_packets",
    "sojourn_ms",
];

/// The factory for the laws of one link. Each queue of the link's discipline has its own law.
struct PythonLaws {
    class: Class,
    seed: u64,
    made: AtomicU64,
}

impl LawFactory for PythonLaws {
    fn make(&self) -> AnyForeign {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let rng = Rng::named(self.seed, &format!("{}.law.{number}", self.class.key));
        Python::attach(|py| match PythonLaw::new(py, &self.class, rng) {
            Ok(law) => Box::new(law) as AnyForeign,
            Err(mistake) => {
                self.class.fail(py, "__init__", mistake, None);
                Box::new(PassAll)
            }
        })
    }

    fn copy(&self) -> Arc<dyn LawFactory> {
        let made = AtomicU64::new(self.made.load(Ordering::Relaxed));
        shared_copy(&self.class.key, Self { class: self.class.forked(), seed: self.seed, made })
    }
}

/// A law that passes every packet. Replaces a Python law whose object could not be made or copied.
struct PassAll;
impl Law for PassAll {
    fn probe(&self, _: &mut Reading<'_>) {}
}
impl ForeignLaw for PassAll {
    fn copy(&self) -> AnyForeign {
        Box::new(Self)
    }
}

/// The methods that a law's class may have, in the order of [`Method::NAMES`].
#[derive(Clone, Copy)]
enum Method {
    Arrive,
    Head,
    Left,
    Empty,
    Overflow,
    AtRest,
    Tick,
    Probe,
}

impl Method {
    const NAMES: &[&str; 8] = &["arrive", "head", "left", "empty", "overflow", "at_rest", "tick", "probe"];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The law of one queue.
struct PythonLaw {
    object: Object<8>,
    /// The object's `next_tick_ns` after the last call.
    next_tick: Option<Time>,
    /// Time of the last call.
    now: Time,
    rng: Arc<Mutex<Rng>>,
}

impl PythonLaw {
    fn new(py: Python<'_>, class: &Class, rng: Rng) -> Result<Self, Mistake> {
        let object = Object::new(py, class, Method::NAMES)?;
        let mut law = Self { object, next_tick: None, now: Time::ZERO, rng: Arc::new(Mutex::new(rng)) };
        law.read_tick(py)?;
        Ok(law)
    }

    /// Reads `next_tick_ns`, which any method may have changed.
    fn read_tick(&mut self, py: Python<'_>) -> Result<(), Mistake> {
        if self.object.has(Method::Tick as usize) {
            let next = self.object.own.bind(py).getattr_opt(pyo3::intern!(py, "next_tick_ns"))?;
            let invalid = || {
                let given = shown_or_missing(next.as_ref());
                Mistake::Value(format!("next_tick_ns is {given}; expected whole nanoseconds or None"))
            };
            let next = next.as_ref().ok_or_else(invalid)?;
            self.next_tick = next.extract::<Option<u64>>().map_err(|_| invalid())?.map(Time);
        }
        Ok(())
    }

    /// Calls a method at the time `now`, if the class has it and no object of the run has failed. The closure `call`
    /// invokes the method and converts its result.
    fn call<T>(
        &mut self,
        method: Method,
        now: Time,
        call: impl FnOnce(&Self, &Bound<'_, PyAny>) -> Result<T, Mistake>,
    ) -> Option<T> {
        self.object.method(method as usize)?;
        self.now = now;
        Python::attach(|py| {
            let result = call(self, self.object.method(method as usize)?.bind(py));
            let result = result.and_then(|value| self.read_tick(py).map(|()| value));
            result.map_err(|mistake| self.object.fail(py, method as usize, mistake, None)).ok()
        })
    }

    fn view(&self, view: &View<'_>) -> LawView {
        LawView {
            now_ns: view.now.0,
            sojourn_ns: view.sojourn.0,
            packets: view.backlog.packets,
            bytes: view.backlog.bytes,
            rate: view.link.rate.0,
            downstream_ns: view.link.downstream_delay.0,
            link: *view.link,
            rng: self.rng.clone(),
        }
    }

    /// Calls a method with a packet; returns the method's verdict.
    fn decide(&mut self, method: Method, packet: &PacketMeta, view: &View<'_>) -> Verdict {
        let decide = |law: &Self, bound: &Bound<'_, PyAny>| {
            verdict(method, packet, &bound.call1((LawPacket::from(packet), law.view(view)))?)
        };
        self.call(method, view.now, decide).unwrap_or(Verdict::Pass)
    }
}

impl ForeignLaw for PythonLaw {
    fn copy(&self) -> AnyForeign {
        let object = Python::attach(|py| self.object.copy(py, "law"));
        let rng = Arc::new(Mutex::new(locked(&self.rng).clone()));
        match object {
            Some(object) => Box::new(Self { object, next_tick: self.next_tick, now: self.now, rng }),
            None => Box::new(PassAll),
        }
    }
}

/// Converts a method's return value to a verdict.
fn verdict(method: Method, packet: &PacketMeta, answer: &Bound<'_, PyAny>) -> Result<Verdict, Mistake> {
    if answer.is_none() {
        return Ok(Verdict::Pass);
    }
    let name = method.name();
    match answer.cast::<PyString>().ok().and_then(|s| s.to_str().ok()) {
        Some("pass") => Ok(Verdict::Pass),
        Some("drop") => Ok(Verdict::Drop),
        Some("mark") if packet.ecn() != Ecn::NotEct => Ok(Verdict::Mark(MarkReason::Law)),
        Some("mark") => Err(Mistake::Value(format!(
            "{name} returned \"mark\" for a packet that is not ECN-capable; only a packet with packet.ect can be marked"
        ))),
        _ => Err(Mistake::Value(format!(
            "{name} returned {}; expected \"pass\", \"drop\", \"mark\" or nothing",
            shown(answer)
        ))),
    }
}

impl Law for PythonLaw {
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, _rng: &mut Rng) -> Verdict {
        self.decide(Method::Arrive, packet, view)
    }
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, _rng: &mut Rng) -> Verdict {
        self.decide(Method::Head, packet, view)
    }
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        self.call(Method::Left, view.now, |law, m| Ok(m.call1((LawPacket::from(packet), law.view(view)))?.unbind()));
    }
    fn empty(&mut self, now: Time) {
        self.call(Method::Empty, now, |_, m| Ok(m.call1((now.0,))?.unbind()));
    }
    fn at_rest(&mut self, now: Time) -> bool {
        self.call(Method::AtRest, now, |_, m| Ok(m.call1((now.0,))?.is_truthy()?)).unwrap_or(true)
    }
    fn overflow(&mut self, now: Time) {
        self.call(Method::Overflow, now, |_, m| Ok(m.call1((now.0,))?.unbind()));
    }
    /// Returns `next_tick_ns`, or the time of the last call if `next_tick_ns` was already past then. Returns `None` if no
    /// tick is set, or after an error in any object of the run.
    fn next_tick(&self) -> Option<Time> {
        if self.object.class.error.is_set() { None } else { self.next_tick.map(|at| at.max(self.now)) }
    }
    fn tick(&mut self, view: &View<'_>) {
        self.call(Method::Tick, view.now, |law, m| Ok(m.call1((law.view(view),))?.unbind()));
        if let Some(next) = self.next_tick.filter(|at| *at <= view.now && !self.object.class.error.is_set()) {
            let (next, now) = (next.0, view.now.0);
            let text = format!("tick left next_tick_ns at {next}; expected a time after now, {now}, or None");
            Python::attach(|py| self.object.fail(py, Method::Tick as usize, Mistake::Value(text), None));
        }
    }
    fn probe(&self, out: &mut Reading<'_>) {
        self.object.probe(Method::Probe as usize, &COLUMNS, out);
    }
}
