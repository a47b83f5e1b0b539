//! Laws written in Python: objects of a user's class, whose methods are called where a queue calls its law.
//!
//! Python reads the user's file and passes, for each link, a callable that makes a new object ([`Laws`]). A run with such laws
//! keeps the GIL. The first error in a law is stored. From then on, every law passes all packets, and the run ends at the next
//! progress check. Times are integers in nanoseconds in both languages.

use crate::error::{FirstError, Mistake, locked, one_line, shown};
use packet::{Ecn, Flags, LinkView, MarkReason, PacketMeta, Reading, Unit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use qdisc::law::{
    Law, Verdict, View,
    foreign::{AnyForeign, ForeignLaw, Maker},
};
use scenario::Scenario;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::{Problem, Rng, Time};

pyo3::create_exception!(
    _core,
    LawFailure,
    pyo3::exceptions::PyException,
    "A law written in Python failed. Its arguments: link, method, and the mistake (None if it has a cause)."
);

/// A packet as a law sees it.
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
    /// True for a TCP segment without payload.
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
    /// Queueing delay of the call's packet so far, ns; 0 for an arrival or a tick.
    #[pyo3(get)]
    sojourn_ns: u64,
    /// Packets in the queue, not counting the packet of the call.
    #[pyo3(get)]
    packets: u32,
    /// Bytes in the queue, not counting the packet of the call.
    #[pyo3(get)]
    bytes: u64,
    /// Rate of the link, bit/s; the sustained rate of a shaper or modem.
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
    /// Returns the time that `bytes` take to leave, ns: at the peak rate while tokens last, then at the sustained rate.
    fn expected_delay_ns(&self, bytes: u64) -> u64 {
        self.link.expected_delay(bytes).0
    }
    /// Returns the next number of the law's own random stream, in [0, 1).
    fn random(&self) -> f64 {
        locked(&self.rng).unit()
    }
}

/// The Python laws of a run: whether there are any, and the first error in one of them.
#[derive(Default)]
pub(crate) struct Laws {
    any: bool,
    error: FirstError,
}

impl Laws {
    /// Inserts Python laws into the links of `scenario` that name one. `makers` has a callable for each such link, which returns
    /// a new object.
    pub(crate) fn insert(scenario: &mut Scenario, makers: Option<&Bound<'_, PyDict>>) -> Result<Self, Problem> {
        let mut laws = Self::default();
        for (name, link) in &mut scenario.link {
            let Some((path, law)) = link.queue.outside() else { continue };
            let found = makers.and_then(|d| d.get_item(name.as_str()).ok().flatten());
            let Some(make) = found else {
                return law.ready().map(|()| laws).map_err(|p| p.under(&format!("link.{name}.queue.{path}")));
            };
            laws.any = true;
            let maker = PythonLaws {
                make: make.unbind(),
                link: name.clone(),
                seed: scenario.seed,
                made: AtomicU64::new(0),
                error: laws.error.clone(),
            };
            link.queue = link.queue.clone().with_outside(law.made_by(Arc::new(maker)));
        }
        Ok(laws)
    }

    /// Returns true if there is a law in Python. Such a run keeps the GIL.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Returns the first error in a law.
    pub(crate) fn error(&self) -> &FirstError {
        &self.error
    }

    /// Raises the first error in a law, each time.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.error.raise()
    }
}

/// The state of a fork while a run is cloned: what the copies of its laws share.
struct Fork {
    error: FirstError,
    /// The memo of `copy.deepcopy`, so that an object which two laws share is copied once.
    memo: Py<PyDict>,
    makers: Vec<Arc<PythonLaws>>,
}

thread_local! {
    static FORK: RefCell<Option<Fork>> = const { RefCell::new(None) };
}

/// Clones a run, and returns the clone with its laws.   Errors: a law that cannot be copied.
pub(crate) fn forked<T>(py: Python<'_>, laws: &Laws, clone: impl FnOnce() -> T) -> PyResult<(T, Laws)> {
    let error = FirstError::default();
    let fork = Fork { error: error.clone(), memo: PyDict::new(py).unbind(), makers: Vec::new() };
    FORK.set(Some(fork));
    let run = clone();
    FORK.set(None);
    error.raise()?;
    Ok((run, Laws { any: laws.any, error }))
}

/// The maker of the laws of one link: one for each queue of its discipline.
struct PythonLaws {
    make: Py<PyAny>,
    link: String,
    seed: u64,
    made: AtomicU64,
    error: FirstError,
}

impl Maker for PythonLaws {
    fn make(&self) -> AnyForeign {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let rng = Rng::named(self.seed, &format!("link.{}.law.{number}", self.link));
        Python::attach(|py| match PythonLaw::new(py, self, rng) {
            Ok(law) => Box::new(law) as AnyForeign,
            Err(mistake) => {
                self.error.store(failure(py, &self.link, "__init__", mistake));
                Box::new(PassAll)
            }
        })
    }

    fn copy(&self) -> Arc<dyn Maker> {
        FORK.with_borrow_mut(|fork| {
            let fork = fork.as_mut().expect("runs with laws in Python are cloned by `forked`");
            let copied = fork.makers.iter().find(|maker| maker.link == self.link).cloned();
            copied.unwrap_or_else(|| {
                let maker = Arc::new(Self {
                    make: Python::attach(|py| self.make.clone_ref(py)),
                    link: self.link.clone(),
                    seed: self.seed,
                    made: AtomicU64::new(self.made.load(Ordering::Relaxed)),
                    error: fork.error.clone(),
                });
                fork.makers.push(maker.clone());
                maker
            })
        })
    }
}

/// The law of a link for which no Python object could be made. It passes every packet.
struct PassAll;
impl Law for PassAll {
    fn probe(&self, _: &mut Reading<'_>) {}
}
impl ForeignLaw for PassAll {
    fn copy(&self) -> AnyForeign {
        Box::new(Self)
    }
}

/// Returns the exception to raise: Ctrl-C unchanged, and any other mistake as a `LawFailure` with its cause.
fn failure(py: Python<'_>, link: &str, method: &str, mistake: Mistake) -> PyErr {
    match mistake {
        Mistake::Raised(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => error,
        Mistake::Raised(error) => {
            let failure = LawFailure::new_err((link.to_owned(), method.to_owned(), None::<String>));
            failure.set_cause(py, Some(error));
            failure
        }
        Mistake::Value(text) => LawFailure::new_err((link.to_owned(), method.to_owned(), text)),
    }
}

/// The methods that a law's class may have, in the order of [`PythonLaw::methods`].
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
    const NAMES: [&str; 8] = ["arrive", "head", "left", "empty", "overflow", "at_rest", "tick", "probe"];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The law of one queue: an object of the user's class. Methods that the class lacks cost no time.
struct PythonLaw {
    object: Py<PyAny>,
    methods: [Option<Py<PyAny>>; Method::NAMES.len()],
    /// The object's `next_tick_ns` after the last call.
    next_tick: Option<Time>,
    link: String,
    rng: Arc<Mutex<Rng>>,
    error: FirstError,
}

impl PythonLaw {
    fn new(py: Python<'_>, from: &PythonLaws, rng: Rng) -> Result<Self, Mistake> {
        let object = from.make.bind(py).call0()?;
        let methods = methods(&object)?;
        let (link, error) = (from.link.clone(), from.error.clone());
        let mut law =
            Self { object: object.unbind(), methods, next_tick: None, link, rng: Arc::new(Mutex::new(rng)), error };
        match law.read_tick(py) {
            Err(Mistake::Value(text)) => Err(pyo3::exceptions::PyTypeError::new_err(text).into()),
            read => read.map(|()| law),
        }
    }

    /// Returns the method, if the class has it and no law has failed.
    fn method(&self, method: Method) -> Option<&Py<PyAny>> {
        self.methods[method as usize].as_ref().filter(|_| !self.error.is_set())
    }

    /// Reads `next_tick_ns`, which any method may have changed.
    fn read_tick(&mut self, py: Python<'_>) -> Result<(), Mistake> {
        if self.methods[Method::Tick as usize].is_some() {
            let next = self.object.bind(py).getattr(pyo3::intern!(py, "next_tick_ns"))?;
            let invalid = || format!("next_tick_ns is {}; expected whole nanoseconds or None", shown(&next));
            self.next_tick = next.extract::<Option<u64>>().map_err(|_| Mistake::Value(invalid()))?.map(Time);
        }
        Ok(())
    }

    /// Calls a method, if the class has it and no law has failed. `call` makes the call and converts its result.
    fn call<T>(
        &mut self,
        method: Method,
        call: impl FnOnce(&Self, &Bound<'_, PyAny>) -> Result<T, Mistake>,
    ) -> Option<T> {
        self.method(method)?;
        Python::attach(|py| {
            let result = call(self, self.method(method)?.bind(py));
            let result = result.and_then(|value| self.read_tick(py).map(|()| value));
            result.map_err(|mistake| self.error.store(failure(py, &self.link, method.name(), mistake))).ok()
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

    /// Calls a method with a packet; returns its verdict.
    fn decide(&mut self, method: Method, packet: &PacketMeta, view: &View<'_>) -> Verdict {
        let decide = |law: &Self, bound: &Bound<'_, PyAny>| {
            verdict(method, packet, &bound.call1((LawPacket::from(packet), law.view(view)))?)
        };
        self.call(method, decide).unwrap_or(Verdict::Pass)
    }
}

/// Returns the methods that a law's object has.
fn methods(object: &Bound<'_, PyAny>) -> PyResult<[Option<Py<PyAny>>; Method::NAMES.len()]> {
    let mut methods = [const { None }; Method::NAMES.len()];
    for (method, name) in methods.iter_mut().zip(Method::NAMES) {
        *method = object.getattr_opt(name)?.map(Bound::unbind);
    }
    Ok(methods)
}

impl ForeignLaw for PythonLaw {
    /// Copies the object by `copy.deepcopy`.
    fn copy(&self) -> AnyForeign {
        let made = Python::attach(|py| {
            let (memo, error) = FORK.with_borrow(|fork| {
                let fork = fork.as_ref().expect("runs with laws in Python are cloned by `forked`");
                (fork.memo.clone_ref(py), fork.error.clone())
            });
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.object, memo)));
            let copied = copied.and_then(|object| methods(&object).map(|methods| (object.unbind(), methods)));
            match copied {
                Ok((object, methods)) => {
                    let (link, rng) = (self.link.clone(), locked(&self.rng).clone());
                    Some(Self {
                        object,
                        methods,
                        next_tick: self.next_tick,
                        link,
                        rng: Arc::new(Mutex::new(rng)),
                        error,
                    })
                }
                Err(raised) => {
                    let text =
                        format!("this law cannot be forked, since copy.deepcopy raised {}", one_line(py, &raised));
                    error.store(failure(py, &self.link, "__deepcopy__", Mistake::Value(text)));
                    None
                }
            }
        });
        made.map_or_else(|| Box::new(PassAll) as AnyForeign, |law| Box::new(law))
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
            "{name} returned \"mark\" for a packet that is not ECN-capable; only one with packet.ect can be marked"
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
        self.call(Method::Left, |law, m| Ok(m.call1((LawPacket::from(packet), law.view(view)))?.unbind()));
    }
    fn empty(&mut self, now: Time) {
        self.call(Method::Empty, |_, m| Ok(m.call1((now.0,))?.unbind()));
    }
    fn at_rest(&mut self, now: Time) -> bool {
        self.call(Method::AtRest, |_, m| Ok(m.call1((now.0,))?.is_truthy()?)).unwrap_or(true)
    }
    fn overflow(&mut self, now: Time) {
        self.call(Method::Overflow, |_, m| Ok(m.call1((now.0,))?.unbind()));
    }
    fn next_tick(&self) -> Option<Time> {
        if self.error.is_set() { None } else { self.next_tick }
    }
    fn tick(&mut self, view: &View<'_>) {
        self.call(Method::Tick, |law, m| Ok(m.call1((law.view(view),))?.unbind()));
        if let Some(next) = self.next_tick().filter(|t| *t <= view.now) {
            let (next, now) = (next.0, view.now.0);
            let text = format!("tick left next_tick_ns at {next}; expected a time after now, {now}, or None");
            Python::attach(|py| self.error.store(failure(py, &self.link, "tick", Mistake::Value(text))));
        }
    }
    /// Calls the object's `probe()`, which returns a dict of names and numbers. Each name ends in its unit.
    fn probe(&self, out: &mut Reading<'_>) {
        let Some(method) = self.method(Method::Probe) else { return };
        Python::attach(|py| {
            let state = method.bind(py).call0().map_err(Mistake::from);
            if let Err(mistake) = state.and_then(|state| report(&state, out)) {
                self.error.store(failure(py, &self.link, "probe", mistake));
            }
        });
    }
}

/// Reports the return value of `probe()` to the reading.
fn report(state: &Bound<'_, PyAny>, out: &mut Reading<'_>) -> Result<(), Mistake> {
    let invalid = |what: String| Mistake::Value(format!("probe returned {what}; expected a dict of names and numbers"));
    let values = state.cast::<PyDict>().map_err(|_| invalid(shown(state)))?;
    for (key, value) in values {
        let name = key.extract::<String>().map_err(|_| invalid(format!("the key {}", shown(&key))))?;
        if value.is_none() {
            out.value(&name, Unit::One, None);
        } else if let Ok(flag) = value.cast::<PyBool>() {
            out.flag(&name, flag.is_true());
        } else if let Ok(number) = value.extract::<f64>() {
            out.value(&name, Unit::One, Some(number));
        } else {
            return Err(invalid(format!("{} for \"{}\"", shown(&value), units::shown(&name))));
        }
    }
    Ok(())
}
