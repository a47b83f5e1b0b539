//! Laws written in Python: objects of a user's class, called as a queue calls a law.
//!
//! Python has read the file and passes, for each link, a callable that makes a new object ([`Laws`]). A run with such laws keeps
//! the GIL. The first error in one of them is stored ([`Trouble`]); from then on every law passes everything, and the run ends
//! at the next progress check. Times are whole nanoseconds in both languages.

use packet::{Ecn, Flags, LinkView, MarkReason, PacketMeta, Reading, Unit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use qdisc::law::{
    Law, Verdict, View,
    foreign::{AnyForeign, Maker},
};
use scenario::Scenario;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::{Problem, Rng, Time};

pyo3::create_exception!(
    _core,
    LawFailure,
    pyo3::exceptions::PyException,
    "A law written in Python broke. Its arguments: link, method, what is wrong (None where the cause says it)."
);

/// A packet as a law sees it.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct LawPacket(PacketMeta);

#[pymethods]
impl LawPacket {
    /// Its flow: packets of one flow have one number.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow.0
    }
    /// Bytes on the wire.
    #[getter]
    fn size(&self) -> u16 {
        self.0.size
    }
    /// When it joined the queue, ns.
    #[getter]
    fn enqueued_ns(&self) -> u64 {
        self.0.stamp.0
    }
    /// Whether it is ECN-capable, so that it can be marked.
    #[getter]
    fn ect(&self) -> bool {
        self.0.ecn() != Ecn::NotEct
    }
    /// Differentiated services code point, 0 to 63.
    #[getter]
    fn dscp(&self) -> u8 {
        self.0.tos >> 2
    }
    /// Whether it is a TCP segment without payload.
    #[getter]
    fn pure_ack(&self) -> bool {
        self.0.flags.has(Flags::PURE_ACK)
    }
}

/// A law's view of its queue and link at one call.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct LawView {
    /// The moment of the call.
    #[pyo3(get)]
    now_ns: u64,
    /// How long the packet has waited; 0 for an arrival or a tick.
    #[pyo3(get)]
    sojourn_ns: u64,
    /// Packets that wait, without the one in question.
    #[pyo3(get)]
    packets: u32,
    /// Bytes that wait, without the packet in question.
    #[pyo3(get)]
    bytes: u64,
    link: LinkView,
    rng: Arc<Mutex<Rng>>,
}

#[pymethods]
impl LawView {
    /// The link's rate, bit/s: the sustained one of a shaper or a modem.
    #[getter]
    fn rate(&self) -> u64 {
        self.link.rate.0
    }
    /// How long a packet that leaves now still waits behind this queue (in a modem), ns.
    #[getter]
    fn downstream_ns(&self) -> u64 {
        self.link.downstream_delay.0
    }
    /// How long `bytes` take to leave, ns: at the peak rate while tokens last, then at the sustained one.
    fn expected_delay_ns(&self, bytes: u64) -> u64 {
        self.link.expected_delay(bytes).0
    }
    /// The next number of the law's own random stream, in [0, 1).
    fn random(&self) -> f64 {
        locked(&self.rng).unit()
    }
}

/// A lock whose holder has panicked still holds plain data.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first error in a law of this run.
#[derive(Default)]
struct Trouble {
    there: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Trouble {
    fn is_there(&self) -> bool {
        self.there.load(Ordering::Relaxed)
    }
    fn keep(&self, error: PyErr) {
        locked(&self.error).get_or_insert(error);
        self.there.store(true, Ordering::Relaxed);
    }
}

/// The laws of a run: their makers, by link, and the first error.
#[derive(Default)]
pub(crate) struct Laws {
    any: bool,
    trouble: Arc<Trouble>,
}

impl Laws {
    /// Adds the laws that `scenario` names. `makers` has a callable for each link with such a law, which returns a new object.
    pub(crate) fn bring(scenario: &mut Scenario, makers: Option<&Bound<'_, PyDict>>) -> Result<Self, Problem> {
        let mut laws = Self::default();
        for (name, link) in &mut scenario.link {
            let Some((path, law)) = link.queue.outside() else { continue };
            let found = makers.and_then(|d| d.get_item(name.as_str()).ok().flatten());
            let Some(make) = found else {
                return law.ready().map(|()| laws).map_err(|p| p.under(&format!("link.{name}.queue.{path}")));
            };
            laws.any = true;
            let maker = Objects {
                make: make.unbind(),
                link: name.clone(),
                seed: scenario.seed,
                made: AtomicU64::new(0),
                trouble: laws.trouble.clone(),
            };
            link.queue = link.queue.clone().with_outside(law.made_by(Arc::new(maker)));
        }
        Ok(laws)
    }

    /// Returns true if there is a law in Python, so that the run keeps the GIL.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Returns true if a law failed, so that the run can end.
    pub(crate) fn broke(&self) -> bool {
        self.trouble.is_there()
    }

    /// Takes the error of the law that failed.
    pub(crate) fn error(&self) -> Option<PyErr> {
        locked(&self.trouble.error).take()
    }
}

/// Makes the objects of one link.
struct Objects {
    make: Py<PyAny>,
    link: String,
    seed: u64,
    made: AtomicU64,
    trouble: Arc<Trouble>,
}

impl Maker for Objects {
    fn make(&self) -> AnyForeign {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let rng = Rng::named(self.seed, &format!("link.{}.law.{number}", self.link));
        Python::attach(|py| match Object::new(py, self, rng) {
            Ok(object) => Box::new(object) as AnyForeign,
            Err(error) => {
                self.trouble.keep(failure(py, &self.link, "__init__", Wrong::Raised(error)));
                Box::new(Passing)
            }
        })
    }
}

/// The law of a link whose object could not be made; passes everything.
struct Passing;
impl Law for Passing {
    fn probe(&self, _: &mut Reading<'_>) {}
}

/// How a method failed.
enum Wrong {
    Raised(PyErr),
    Said(String),
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// The exception to raise: Ctrl-C unchanged, everything else as `LawFailure` with its cause.
fn failure(py: Python<'_>, link: &str, method: &str, wrong: Wrong) -> PyErr {
    match wrong {
        Wrong::Raised(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => error,
        Wrong::Raised(error) => {
            let told = LawFailure::new_err((link.to_owned(), method.to_owned(), None::<String>));
            told.set_cause(py, Some(error));
            told
        }
        Wrong::Said(text) => LawFailure::new_err((link.to_owned(), method.to_owned(), text)),
    }
}

/// An object of the user's class: the law of one queue. Methods that the class does not have cost nothing.
struct Object {
    object: Py<PyAny>,
    arrive: Option<Py<PyAny>>,
    head: Option<Py<PyAny>>,
    left: Option<Py<PyAny>>,
    empty: Option<Py<PyAny>>,
    overflow: Option<Py<PyAny>>,
    at_rest: Option<Py<PyAny>>,
    tick: Option<Py<PyAny>>,
    probe: Option<Py<PyAny>>,
    /// `next_tick_ns` after the last call.
    next_tick: Option<Time>,
    link: String,
    rng: Arc<Mutex<Rng>>,
    trouble: Arc<Trouble>,
}

impl Object {
    fn new(py: Python<'_>, from: &Objects, rng: Rng) -> PyResult<Self> {
        let object = from.make.bind(py).call0()?;
        let method = |name: &str| object.getattr_opt(name).map(|m| m.map(Bound::unbind));
        let mut law = Self {
            arrive: method("arrive")?,
            head: method("head")?,
            left: method("left")?,
            empty: method("empty")?,
            overflow: method("overflow")?,
            at_rest: method("at_rest")?,
            tick: method("tick")?,
            probe: method("probe")?,
            next_tick: None,
            link: from.link.clone(),
            rng: Arc::new(Mutex::new(rng)),
            trouble: from.trouble.clone(),
            object: object.clone().unbind(),
        };
        match law.read_tick(py) {
            Ok(()) => Ok(law),
            Err(Wrong::Raised(error)) => Err(error),
            Err(Wrong::Said(text)) => Err(pyo3::exceptions::PyTypeError::new_err(text)),
        }
    }

    /// Reads `next_tick_ns`, which any method may have changed.
    fn read_tick(&mut self, py: Python<'_>) -> Result<(), Wrong> {
        if self.tick.is_some() {
            let given = self.object.bind(py).getattr(pyo3::intern!(py, "next_tick_ns"))?;
            let said = || Wrong::Said(format!("next_tick_ns is {}; expected whole nanoseconds or None", shown(&given)));
            self.next_tick = given.extract::<Option<u64>>().map_err(|_| said())?.map(Time);
        }
        Ok(())
    }

    /// Calls `method`, if the class has it and no law has failed: `give` makes the call and reads its result.
    fn call<T>(
        &mut self,
        which: impl Fn(&Self) -> &Option<Py<PyAny>>,
        method: &str,
        give: impl FnOnce(&Self, Python<'_>, &Bound<'_, PyAny>) -> Result<T, Wrong>,
    ) -> Option<T> {
        which(self).as_ref()?;
        if self.trouble.is_there() {
            return None;
        }
        Python::attach(|py| {
            let answer = match which(self) {
                Some(bound) => give(self, py, bound.bind(py)),
                None => return None,
            };
            match answer.and_then(|value| self.read_tick(py).map(|()| value)) {
                Ok(value) => Some(value),
                Err(wrong) => {
                    self.trouble.keep(failure(py, &self.link, method, wrong));
                    None
                }
            }
        })
    }

    fn view(&self, view: &View<'_>) -> LawView {
        LawView {
            now_ns: view.now.0,
            sojourn_ns: view.sojourn.0,
            packets: view.backlog.packets,
            bytes: view.backlog.bytes,
            link: *view.link,
            rng: self.rng.clone(),
        }
    }

    /// Calls a method with a packet; returns its verdict.
    fn decide(
        &mut self,
        which: impl Fn(&Self) -> &Option<Py<PyAny>>,
        method: &str,
        packet: &PacketMeta,
        view: &View<'_>,
    ) -> Verdict {
        let ask = |law: &Self, py: Python<'_>, bound: &Bound<'_, PyAny>| {
            verdict(
                method,
                packet,
                &bound.call1((Bound::new(py, LawPacket(*packet))?, Bound::new(py, law.view(view))?))?,
            )
        };
        self.call(which, method, ask).unwrap_or(Verdict::Pass)
    }
}

/// Converts a method's return value to a verdict.
fn verdict(method: &str, packet: &PacketMeta, answer: &Bound<'_, PyAny>) -> Result<Verdict, Wrong> {
    if answer.is_none() {
        return Ok(Verdict::Pass);
    }
    match answer.cast::<PyString>().ok().and_then(|s| s.to_str().ok()) {
        Some("pass") => Ok(Verdict::Pass),
        Some("drop") => Ok(Verdict::Drop),
        Some("mark") if packet.ecn() != Ecn::NotEct => Ok(Verdict::Mark(MarkReason::Law)),
        Some("mark") => Err(Wrong::Said(format!(
            "{method} returned \"mark\" for a packet that is not ECN-capable; only one with packet.ect can be marked"
        ))),
        _ => Err(Wrong::Said(format!(
            "{method} returned {}; expected \"pass\", \"drop\", \"mark\" or nothing",
            shown(answer)
        ))),
    }
}

/// A value as Python writes it, clipped.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "a value that cannot be shown".into(), |r| units::shown(&r.to_string_lossy()).clone())
}

impl Law for Object {
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, _rng: &mut Rng) -> Verdict {
        self.decide(|l| &l.arrive, "arrive", packet, view)
    }
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, _rng: &mut Rng) -> Verdict {
        self.decide(|l| &l.head, "head", packet, view)
    }
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        self.call(
            |l| &l.left,
            "left",
            |l, py, m| Ok(m.call1((Bound::new(py, LawPacket(*packet))?, Bound::new(py, l.view(view))?))?.unbind()),
        );
    }
    fn empty(&mut self, now: Time) {
        self.call(|l| &l.empty, "empty", |_, _, m| Ok(m.call1((now.0,))?.unbind()));
    }
    fn at_rest(&mut self, now: Time) -> bool {
        self.call(|l| &l.at_rest, "at_rest", |_, _, m| Ok(m.call1((now.0,))?.is_truthy()?)).unwrap_or(true)
    }
    fn overflow(&mut self, now: Time) {
        self.call(|l| &l.overflow, "overflow", |_, _, m| Ok(m.call1((now.0,))?.unbind()));
    }
    fn next_tick(&self) -> Option<Time> {
        if self.trouble.is_there() { None } else { self.next_tick }
    }
    fn tick(&mut self, view: &View<'_>) {
        self.call(|l| &l.tick, "tick", |l, py, m| Ok(m.call1((Bound::new(py, l.view(view))?,))?.unbind()));
        if let Some(next) = self.next_tick().filter(|t| *t <= view.now) {
            let text =
                format!("tick left next_tick_ns at {}; expected a time after now, {}, or None", next.0, view.now.0);
            Python::attach(|py| self.trouble.keep(failure(py, &self.link, "tick", Wrong::Said(text))));
        }
    }
    /// `probe()` of the class: a dict of names and numbers, each name with its unit at its end.
    fn probe(&self, out: &mut Reading<'_>) {
        let Some(method) = self.probe.as_ref().filter(|_| !self.trouble.is_there()) else { return };
        Python::attach(|py| {
            if let Err(wrong) = method.bind(py).call0().map_err(Wrong::from).and_then(|told| tell(&told, out)) {
                self.trouble.keep(failure(py, &self.link, "probe", wrong));
            }
        });
    }
}

/// Writes the return value of `probe()` to the reading.
fn tell(told: &Bound<'_, PyAny>, out: &mut Reading<'_>) -> Result<(), Wrong> {
    let said = |what: String| Wrong::Said(format!("probe returned {what}; expected a dict of names and numbers"));
    let values = told.cast::<PyDict>().map_err(|_| said(shown(told)))?;
    for (key, value) in values {
        let name = key.extract::<String>().map_err(|_| said(format!("the key {}", shown(&key))))?;
        if value.is_none() {
            out.value(&name, Unit::One, None);
        } else if let Ok(flag) = value.cast::<PyBool>() {
            out.flag(&name, flag.is_true());
        } else if let Ok(number) = value.extract::<f64>() {
            out.value(&name, Unit::One, Some(number));
        } else {
            return Err(said(format!("{} for \"{}\"", shown(&value), units::shown(&name))));
        }
    }
    Ok(())
}
