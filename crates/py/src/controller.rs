//! Congestion controllers written in Python. Each controller is an object of a user's class, whose methods the sender
//! calls (`object.rs`). After an error in any Python object of the run, no method of a controller is called any more.

use crate::error::{Mistake, locked, shown, shown_or_missing};
use crate::object::{Class, Object};
use packet::Reading;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat};
use scenario::Scenario;
use std::sync::{Arc, Mutex};
use tcp::foreign::{AnyController, Constant, ControllerFactory, ForeignController, ForeignNeeds, StackFacts, fault};
use tcp::{AckSample, Congestion, Drive, LostSegment, Origin, Silence, Window};
use units::{Problem, Rng, Time};

/// The initial window of a new connection, and facts about its TCP stack, as passed to the controller.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
pub(crate) struct ControllerStart {
    /// Initial window, segments.
    cwnd: f64,
    /// Slow start threshold, segments; infinite unless the stack sets it.
    ssthresh: f64,
    /// Largest payload of a segment, bytes.
    mss: u32,
    /// True if the window is a whole number of segments.
    whole_segments: bool,
    /// True if the stack paces segments regardless of the controller.
    paced: bool,
    /// True if `ecn_feedback` selects ACKs that report the number of CE marks, whether or not ECN is in use.
    counts_marks: bool,
}

/// The time of a call to a controller, and the window at that time.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct ControllerMoment {
    now: Time,
    window: Window,
    rng: Stream,
}

#[pymethods]
impl ControllerMoment {
    /// Time of the call, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.0
    }
    /// Congestion window, segments.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    /// Slow start threshold, segments.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    /// Returns the next number of the controller's own random stream, in [0, 1).
    fn random(&self) -> f64 {
        locked(&self.rng).unit()
    }
}

/// An ACK, as a controller sees it.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct ControllerSample {
    s: AckSample,
    window: Window,
    rng: Stream,
}

/// Defines the properties of a sample that are fields of the core's `AckSample`.
macro_rules! sample_properties {
    ($($(#[$doc:meta])* $name:ident: $Type:ty = |$s:ident| $value:expr;)*) => {
        #[pymethods]
        impl ControllerSample {
            /// Congestion window, segments.
            #[getter]
            fn cwnd(&self) -> f64 {
                self.window.cwnd
            }
            /// Slow start threshold, segments.
            #[getter]
            fn ssthresh(&self) -> f64 {
                self.window.ssthresh
            }
            /// Returns the next number of the controller's own random stream, in [0, 1).
            fn random(&self) -> f64 {
                locked(&self.rng).unit()
            }
            $($(#[$doc])* #[getter] fn $name(&self) -> $Type { let $s = &self.s; $value })*
        }
    };
}

sample_properties! {
    /// Arrival time of the ACK, ns.
    now_ns: u64 = |s| s.now.0;
    /// Segments newly acknowledged cumulatively.
    acked: f64 = |s| s.acked;
    /// Number of segments that this ACK contributes to the growth of the window: the segments newly delivered, but at
    /// most `abc_limit`.
    credit: f64 = |s| s.credit;
    /// Bytes newly delivered, cumulatively or by SACK.
    delivered: u64 = |s| s.delivered;
    /// Bytes newly declared lost.
    lost: u64 = |s| s.lost;
    /// True if this ACK ends a round trip: all data that was in flight when the round trip began is now acknowledged.
    round_ended: bool = |s| s.round_ended;
    /// True if the ACK reports a CE mark.
    marked: bool = |s| s.marked;
    /// True if ECN is in use.
    ecn: bool = |s| s.ecn;
    /// Segments newly delivered. This property, `ce_packets` and `ce_bytes` are set only if ECN is in use.
    segments: u32 = |s| s.segments;
    /// CE-marked packets reported by this ACK. Without AccECN, all segments delivered by an ACK with ECE count as marked.
    ce_packets: u32 = |s| s.ce_packets;
    /// Payload bytes of the packets in `ce_packets`; an estimate if AccECN is used without its option.
    ce_bytes: u64 = |s| s.ce_bytes;
    /// Round-trip time measured by this ACK, microseconds; None if the ACK yields no measurement.
    rtt_us: Option<u32> = |s| s.rtt_us;
    /// One-way delay plus the offset between the two clocks, microseconds modulo 2^32. None unless the class lists
    /// `one_way` in its needs.
    one_way_us: Option<u32> = |s| s.one_way_us;
    /// Smoothed round-trip time, ns.
    srtt_ns: u64 = |s| s.srtt.0;
    /// Bytes in flight before the ACK.
    flight_before: u64 = |s| s.flight_before;
    /// Bytes in flight now.
    in_flight: u64 = |s| s.in_flight;
    /// SND.UNA: all bytes below this sequence number are acknowledged.
    una: u64 = |s| s.una;
    /// SND.NXT: sequence number of the next new byte to send.
    next: u64 = |s| s.next;
    /// True if the window must not grow on this ACK; of the return value of `on_ack`, only `probing_delay` is then used.
    /// Always false if the class lists `repair` in its needs.
    rests: bool = |s| s.rests;
    /// True if the window limited the sender, by the rule of `cwnd_validation`; always true with `off`. If false, the
    /// window must not grow.
    cwnd_limited: bool = |s| s.cwnd_limited;
    /// True if the window stopped the sender at some time in the current round trip.
    window_filled: bool = |s| s.window_filled;
    /// State of the sender: "open", "cwr", "recovery" or "loss". It is the state before the sender responds to losses
    /// and marks; if the class lists `repair` in its needs, the state after the response to losses.
    state: &'static str = |s| s.state.word();
    /// Delivery rate, if this ACK yields a sample. This property, `total_delivered` and `held_back_ns` are set only if
    /// the class lists `rates` in its needs.
    rate: Option<ControllerRate> = |s| s.rate.map(ControllerRate);
    /// Bytes delivered since the connection began.
    total_delivered: u64 = |s| s.total_delivered;
    /// Time until pacing lets the next segment leave, ns.
    held_back_ns: u64 = |s| s.held_back.0;
}

/// A delivery rate sample. It is taken from the segment that was sent last among the segments that the ACK acknowledges,
/// cumulatively or by SACK.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct ControllerRate(tcp::RateSample);

#[pymethods]
impl ControllerRate {
    /// Bytes delivered over the interval.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }
    /// The time over which `bytes` were sent, or the time over which they were acknowledged, whichever is longer, ns.
    #[getter]
    fn interval_ns(&self) -> u64 {
        self.0.interval.0
    }
    /// Bytes that had been delivered when the newest acknowledged segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }
    /// True if the application limited the sending rate when the newest acknowledged segment was sent, or if
    /// `probing_delay` was true then.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
    /// Round-trip time, microseconds. With `rtt_source = "echo"`: that of the newest acknowledged segment; None if it was
    /// retransmitted. With `send-time`: the same as `rtt_us` of the ACK's sample.
    #[getter]
    fn rtt_us(&self) -> Option<u32> {
        self.0.rtt_us
    }
    /// True if the ACKs were compressed, so that the rate is invalid.
    #[getter]
    fn compressed(&self) -> bool {
        self.0.compressed
    }
    /// Bytes in flight when the newest acknowledged segment was sent, including this segment.
    #[getter]
    fn tx_in_flight(&self) -> u64 {
        self.0.tx_in_flight
    }
    /// Bytes declared lost since the newest acknowledged segment was sent.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
}

/// A segment newly declared lost.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
pub(crate) struct ControllerLoss {
    /// Payload bytes.
    bytes: u64,
    /// Bytes in flight when the segment was sent, including the segment.
    tx_in_flight: u64,
    /// Bytes declared lost since the segment was sent, including the segment.
    lost: u64,
    /// True if the application limited the sending rate, or `probing_delay` was true, when the segment was sent.
    app_limited: bool,
    /// Bytes delivered since the connection began.
    total_delivered: u64,
    /// True if the segment just before this segment in sequence order was declared lost at the same time.
    adjoins: bool,
}

/// The output of a controller. Values that are omitted stay as they were, but `probing_delay` becomes false.
#[pyclass(frozen, get_all, name = "Drive", module = "bloatlab._core")]
pub(crate) struct PythonDrive {
    /// Congestion window, segments.
    cwnd: Option<f64>,
    /// Slow start threshold, segments.
    ssthresh: Option<f64>,
    /// Pacing rate, bit/s of payload. An infinite rate turns pacing off.
    pacing_rate: Option<f64>,
    /// Number of segments that leave back to back before the pacer waits; 1 until the controller sets another value.
    quantum: Option<u32>,
    /// Largest payload of a new segment, bytes; 0 stands for the MSS.
    max_payload: Option<u16>,
    /// True if the sender itself reduces the window after congestion and idle periods; false if only the controller
    /// sets the window. After a timeout, the sender reduces the window in both cases.
    reduction: Option<bool>,
    /// True while the controller deliberately keeps the window small. Delivery rates do not show the bandwidth then.
    probing_delay: bool,
}

/// Defines functions that read a number for an argument of `Drive`. For a number that is too large or negative, their
/// error message names the argument, which Python's own message does not.
macro_rules! arguments {
    ($($name:ident: $Type:ty, $valid:literal;)*) => {
        $(fn $name(given: &Bound<'_, PyAny>) -> PyResult<Option<$Type>> {
            given.extract().map_err(|error: PyErr| {
                if !error.is_instance_of::<PyOverflowError>(given.py()) {
                    return error;
                }
                PyValueError::new_err(format!("{} {}; expected {}", stringify!($name), shown(given), $valid))
            })
        })*
    };
}

arguments! {
    cwnd: f64, "more than 0 and at most 1e9 segments";
    ssthresh: f64, "more than 0 segments, or infinity";
    pacing_rate: f64, "more than 0 bit/s";
    quantum: u32, "1 to 4294967295 segments";
    max_payload: u16, "0 bytes to the MSS";
}

#[pymethods]
impl PythonDrive {
    #[new]
    #[pyo3(signature = (cwnd=None, ssthresh=None, *, pacing_rate=None, quantum=None, max_payload=None, reduction=None, probing_delay=false))]
    fn new(
        #[pyo3(from_py_with = cwnd)] cwnd: Option<f64>,
        #[pyo3(from_py_with = ssthresh)] ssthresh: Option<f64>,
        #[pyo3(from_py_with = pacing_rate)] pacing_rate: Option<f64>,
        #[pyo3(from_py_with = quantum)] quantum: Option<u32>,
        #[pyo3(from_py_with = max_payload)] max_payload: Option<u16>,
        reduction: Option<bool>,
        probing_delay: bool,
    ) -> Self {
        Self { cwnd, ssthresh, pacing_rate, quantum, max_payload, reduction, probing_delay }
    }
}

impl PythonDrive {
    /// Returns the name of the first value that sets the pacing or the size of segments; `None` if there is none.
    fn pacing(&self) -> Option<&'static str> {
        let given = [
            ("pacing_rate", self.pacing_rate.is_some()),
            ("quantum", self.quantum.is_some()),
            ("max_payload", self.max_payload.is_some()),
        ];
        given.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
    }
}

/// A controller's random stream. The objects passed to the controller's methods share the stream: their method `random`
/// draws from it.
type Stream = Arc<Mutex<Rng>>;

/// Supplies the controllers of the stacks in `scenario` that name a Python class; returns true if any were supplied.
/// `find` returns the class for a key "tcp.NAME", where NAME is the name of the stack. A stack whose class is missing is
/// left as it is.   Errors: a class names an unknown feature of the stack.
pub(crate) fn insert(scenario: &mut Scenario, find: &impl Fn(&str) -> Option<Class>) -> PyResult<bool> {
    let mut any = false;
    for (name, stack) in scenario.tcp.iter_mut().filter(|(_, stack)| stack.has_outside()) {
        let Some(class) = find(&format!("tcp.{name}")) else { continue };
        any = true;
        let needs = Python::attach(|py| needs(&class.attribute(py, "needs")?))?;
        stack.supply(Arc::new(PythonControllers { class, needs }));
    }
    Ok(any)
}

/// Reads the names of the stack features that a class uses.
fn needs(names: &Bound<'_, PyAny>) -> PyResult<ForeignNeeds> {
    let mut needs = ForeignNeeds::default();
    for name in names.try_iter()? {
        match name?.extract::<String>()?.as_str() {
            "rates" => needs.rates = true,
            "one_way" => needs.one_way = true,
            "repair" => needs.repair = true,
            "marks" => needs.marks = true,
            "timer" => needs.timer = true,
            other => {
                let message = format!("no feature of the stack is called {}", units::shown(other));
                return Err(crate::error::wrong(Problem::new("needs", message)));
            }
        }
    }
    Ok(needs)
}

/// The factory for one stack's controllers.
struct PythonControllers {
    class: Class,
    needs: ForeignNeeds,
}

impl ControllerFactory for PythonControllers {
    fn make(&self, stack: &StackFacts) -> AnyController {
        Python::attach(|py| match Object::new(py, &self.class, Method::NAMES) {
            Ok(object) => Box::new(PythonController {
                object,
                stack: *stack,
                rates: self.needs.rates,
                timer: None,
                flow: String::new(),
                paced: Paced::default(),
                rng: Arc::new(Mutex::new(Rng::named(0, "controller"))),
            }) as AnyController,
            Err(mistake) => {
                self.class.fail(py, "__init__", mistake, None);
                Box::new(Constant)
            }
        })
    }

    fn needs(&self) -> ForeignNeeds {
        self.needs
    }

    fn copy(&self) -> Arc<dyn ControllerFactory> {
        Arc::new(Self { class: self.class.forked(), needs: self.needs })
    }
}

/// The trace's own columns in its table of senders, whose names a controller must not use (sim/src/trace.rs,
/// tcp/src/endpoint.rs).
const COLUMNS: [&str; 18] = [
    "t_s",
    "app",
    "flow",
    "connection",
    "direction",
    "state",
    "cwnd_bytes",
    "ssthresh_bytes",
    "in_flight_bytes",
    "unacked_bytes",
    "srtt_ms",
    "rttvar_ms",
    "rto_ms",
    "pacing_rate_mbit",
    "acked_bytes",
    "snd_wnd_bytes",
    "retransmits",
    "timeouts",
];

/// Maximum number of `on_timer` calls for one expiry. It stops a controller that keeps setting timers that are already
/// due.
const MOST_TIMERS: u32 = 100;

/// The methods that a controller's class may have, in the order of [`Method::NAMES`].
#[derive(Clone, Copy)]
enum Method {
    Begin,
    Handshake,
    Ack,
    Congestion,
    Rto,
    Lost,
    Undo,
    Idle,
    Timer,
    Probe,
}

impl Method {
    const NAMES: &[&str; 10] = &[
        "begin",
        "on_handshake",
        "on_ack",
        "on_congestion",
        "on_rto",
        "on_lost",
        "on_undo",
        "on_idle",
        "on_timer",
        "probe",
    ];
}

/// The parts of a controller's output that stay until the controller changes them.
#[derive(Clone, Copy)]
struct Paced {
    pacing_rate: Option<f64>,
    quantum: u32,
    max_payload: u16,
    reduction: bool,
}

impl Default for Paced {
    fn default() -> Self {
        Self { pacing_rate: None, quantum: 1, max_payload: 0, reduction: true }
    }
}

/// The variable that a method sets by returning a plain number.
#[derive(Clone, Copy, PartialEq)]
enum Sets {
    Cwnd,
    Ssthresh,
}

/// The controller of one end of a connection.
struct PythonController {
    object: Object<10>,
    stack: StackFacts,
    /// True if the class lists `rates` in its needs. Otherwise the sender does not use the controller's pacing.
    rates: bool,
    /// The earliest time in the object's `timers`, as of the last call.
    timer: Option<Time>,
    /// Name of this end of the connection, for error messages.
    flow: String,
    paced: Paced,
    rng: Stream,
}

impl PythonController {
    fn moment(&self, now: Time, window: Window) -> ControllerMoment {
        ControllerMoment { now, window, rng: self.rng.clone() }
    }

    /// Describes where an error happened.
    fn place(&self, now: Option<Time>) -> Option<String> {
        let at = now.map_or_else(|| "at its start".to_owned(), |now| format!("at {:.9} s", now.secs()));
        Some(if self.flow.is_empty() { at } else { format!("{}, {at}", self.flow) })
    }

    /// Reads the earliest time in the object's `timers`, which any method may have changed.
    fn read_timers(&mut self, py: Python<'_>) -> Result<(), Mistake> {
        if self.object.has(Method::Timer as usize) {
            self.timer = self.earliest(py)?.map(|(at, _)| at);
        }
        Ok(())
    }

    /// Returns the time and the name of the earliest timer. If several timers have the same time, returns the first by
    /// name.
    fn earliest(&self, py: Python<'_>) -> Result<Option<(Time, String)>, Mistake> {
        let timers = self.object.own.bind(py).getattr_opt(pyo3::intern!(py, "timers"))?;
        let invalid = || {
            let given = shown_or_missing(timers.as_ref());
            Mistake::Value(format!("timers is {given}; expected a dict of names and times in ns"))
        };
        let timers = timers.as_ref().ok_or_else(invalid)?.cast::<PyDict>().map_err(|_| invalid())?;
        let mut earliest: Option<(Time, String)> = None;
        for (name, at) in timers {
            let (name, at) =
                (name.extract::<String>().map_err(|_| invalid())?, at.extract::<Option<u64>>().map_err(|_| invalid())?);
            let Some(at) = at else { continue };
            if earliest.as_ref().is_none_or(|known| (Time(at), &name) < (known.0, &known.1)) {
                earliest = Some((Time(at), name));
            }
        }
        Ok(earliest)
    }

    /// Calls a method, if the class has it and no object of the run has failed. The closure `call` invokes the method
    /// and converts its result.
    #[inline]
    fn call<T>(
        &mut self,
        method: Method,
        now: Option<Time>,
        call: impl FnOnce(&mut Self, Python<'_>, Py<PyAny>) -> Result<T, Mistake>,
    ) -> Option<T> {
        self.object.method(method as usize)?;
        Python::attach(|py| {
            let bound = self.object.method(method as usize)?.clone_ref(py);
            let result = call(self, py, bound);
            let result = result.and_then(|value| self.read_timers(py).map(|()| value));
            result.map_err(|mistake| self.object.fail(py, method as usize, mistake, self.place(now))).ok()
        })
    }

    /// Converts `answer`, the return value of `method`, to the sender's [`Drive`]. If `answer` is a plain number,
    /// `number` says which variable it sets. `checked` is false if the sender uses only `probing_delay` of the output; a
    /// value out of range is then no error (but a value of a wrong type is), and the pacing stays as it is.
    fn drive(
        &mut self,
        method: Method,
        w: Window,
        answer: &Bound<'_, PyAny>,
        number: Sets,
        checked: bool,
    ) -> Result<Drive, Mistake> {
        let (mut next, mut paced) = (w, self.paced);
        let (mut probing_delay, mut unused) = (false, None);
        if let Ok(drive) = answer.cast::<PythonDrive>() {
            let d = drive.get();
            unused = d.pacing().filter(|_| !self.rates);
            next = Window { cwnd: d.cwnd.unwrap_or(w.cwnd), ssthresh: d.ssthresh.unwrap_or(w.ssthresh) };
            if let Some(rate) = d.pacing_rate {
                paced.pacing_rate = (rate != f64::INFINITY).then_some(rate / 8.0);
            }
            paced.quantum = d.quantum.unwrap_or(paced.quantum);
            paced.max_payload = d.max_payload.unwrap_or(paced.max_payload);
            paced.reduction = d.reduction.unwrap_or(paced.reduction);
            probing_delay = d.probing_delay;
        } else if !answer.is_none() {
            let exact = answer.cast_exact::<PyFloat>().map(|x| x.value()).ok();
            let value = exact.or_else(|| answer.extract::<f64>().ok().filter(|_| !answer.is_instance_of::<PyBool>()));
            let Some(value) = value else {
                let name = Method::NAMES[method as usize];
                return Err(Mistake::Value(format!(
                    "{name} returned {}; expected a number, a Drive or nothing",
                    shown(answer)
                )));
            };
            match number {
                Sets::Cwnd => next.cwnd = value,
                Sets::Ssthresh => next.ssthresh = value,
            }
        }
        if checked {
            self.paced = paced;
        }
        let Paced { pacing_rate, quantum, max_payload, reduction } = paced;
        let quantum = if pacing_rate.is_some() { quantum } else { u32::MAX };
        let drive = Drive { pacing_rate, quantum, max_payload, reduction, probing_delay, ..next.into() };
        let unused = || {
            let name = unused?;
            Some(format!("{name}, which requires \"rates\" in the class's `needs`"))
        };
        match fault(&drive, self.stack.mss).or_else(unused).filter(|_| checked) {
            Some(text) => Err(Mistake::Value(format!("{} returned {text}", Method::NAMES[method as usize]))),
            None => Ok(drive),
        }
    }

    /// Returns the output that leaves the window and the pacing as they are.
    fn unchanged(&self, w: Window) -> Drive {
        let Paced { pacing_rate, quantum, max_payload, reduction } = self.paced;
        let quantum = if pacing_rate.is_some() { quantum } else { u32::MAX };
        Drive { pacing_rate, quantum, max_payload, reduction, ..w.into() }
    }

    /// Calls a method whose first argument is a `ControllerMoment`, and converts the method's return value.
    fn at(
        &mut self,
        method: Method,
        w: Window,
        now: Time,
        call: impl FnOnce(Python<'_>, &Py<PyAny>, ControllerMoment) -> PyResult<Py<PyAny>>,
        number: Sets,
    ) -> Drive {
        let moment = self.moment(now, w);
        let drive = self.call(method, Some(now), |c, py, m| {
            let answer = call(py, &m, moment)?;
            c.drive(method, w, answer.bind(py), number, true)
        });
        drive.unwrap_or_else(|| self.unchanged(w))
    }
}

impl ForeignController for PythonController {
    fn begin(&mut self, w: Window) -> Drive {
        let StackFacts { mss, whole_segments, paced, counts_marks, .. } = self.stack;
        let start = ControllerStart { cwnd: w.cwnd, ssthresh: w.ssthresh, mss, whole_segments, paced, counts_marks };
        let drive = self.call(Method::Begin, None, |c, py, m| {
            let answer = m.call1(py, (start,))?;
            c.drive(Method::Begin, w, answer.bind(py), Sets::Cwnd, true)
        });
        drive.unwrap_or_else(|| self.unchanged(w))
    }

    fn introduce(&mut self, origin: &Origin<'_>) {
        *locked(&self.rng) = (origin.stream)();
        self.flow = (origin.name)();
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        Some(self.at(Method::Handshake, w, now, |py, m, moment| m.call1(py, (moment, us)), Sets::Cwnd))
    }

    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        let sample = ControllerSample { s: *s, window: w, rng: self.rng.clone() };
        let drive = self.call(Method::Ack, Some(s.now), |c, py, m| {
            let answer = m.call1(py, (sample,))?;
            c.drive(Method::Ack, w, answer.bind(py), Sets::Cwnd, !s.rests)
        });
        drive.unwrap_or_else(|| self.unchanged(w))
    }

    fn on_congestion(&mut self, w: Window, now: Time, kind: Congestion, base: f64) -> Drive {
        let kind = match kind {
            Congestion::Loss => "loss",
            Congestion::Ecn => "ecn",
        };
        self.at(Method::Congestion, w, now, |py, m, moment| m.call1(py, (moment, kind, base)), Sets::Ssthresh)
    }

    fn on_rto(&mut self, w: Window, now: Time) {
        let moment = self.moment(now, w);
        self.call(Method::Rto, Some(now), |_, py, m| Ok(m.call1(py, (moment,))?));
    }

    fn on_lost(&mut self, w: Window, now: Time, s: &LostSegment) {
        let LostSegment { bytes, tx_in_flight, lost, app_limited, total_delivered, adjoins } = *s;
        let loss = ControllerLoss { bytes, tx_in_flight, lost, app_limited, total_delivered, adjoins };
        let moment = self.moment(now, w);
        self.call(Method::Lost, Some(now), |_, py, m| Ok(m.call1(py, (moment, loss))?));
    }

    fn on_undo(&mut self, w: Window, now: Time, before: Option<Window>) -> Option<Drive> {
        self.object.method(Method::Undo as usize)?;
        let before = before.map(|b| (b.cwnd, b.ssthresh));
        Some(self.at(Method::Undo, w, now, |py, m, moment| m.call1(py, (moment, before)), Sets::Cwnd))
    }

    fn on_idle(&mut self, w: Window, silence: Silence) -> Option<Drive> {
        let Silence { now, idle, app_limited } = silence;
        Some(self.at(Method::Idle, w, now, |py, m, moment| m.call1(py, (moment, idle.0, app_limited)), Sets::Cwnd))
    }

    fn timer(&self) -> Option<Time> {
        self.timer.filter(|_| !self.object.class.error.is_set())
    }

    /// Calls `on_timer` for each timer that is due, starting with the earliest. Each timer is removed from `timers`
    /// before `on_timer` is called for it, so that `on_timer` can set the same timer again, to a later time.
    fn on_timer(&mut self, mut w: Window, now: Time) -> Drive {
        let mut drive = self.unchanged(w);
        for turn in 0.. {
            if self.timer().is_none_or(|at| at > now) {
                break;
            }
            if turn == MOST_TIMERS {
                let text = format!("on_timer was called {turn} times at once; expected timers after now, {}", now.0);
                let place = self.place(Some(now));
                Python::attach(|py| self.object.fail(py, Method::Timer as usize, Mistake::Value(text), place));
                break;
            }
            let moment = self.moment(now, w);
            let next = self.call(Method::Timer, Some(now), |c, py, m| {
                let Some((_, name)) = c.earliest(py)? else { return Ok(None) };
                c.object.own.bind(py).getattr("timers")?.del_item(&name)?;
                let answer = m.call1(py, (moment, &name))?;
                c.drive(Method::Timer, w, answer.bind(py), Sets::Cwnd, true).map(Some)
            });
            let Some(Some(next)) = next else { break };
            drive = next;
            w = Window { cwnd: drive.cwnd, ssthresh: drive.ssthresh };
        }
        drive
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.object.probe(Method::Probe as usize, &COLUMNS, out);
    }

    fn copy(&self) -> AnyController {
        let Some(object) = Python::attach(|py| self.object.copy(py, "controller")) else { return Box::new(Constant) };
        let rng = Arc::new(Mutex::new(locked(&self.rng).clone()));
        let Self { stack, rates, timer, paced, .. } = *self;
        Box::new(Self { object, stack, rates, timer, flow: self.flow.clone(), paced, rng })
    }
}
