//! An external controller. The scenario names it, and the program that runs the scenario supplies it (`packet::outside`).
//!
//! ```text
//! Control's calls --> Foreign --> Box<dyn ForeignController>     one for each end of a connection
//!                        + the time of each call, and a timer, which built-in controllers lack
//! ```
//!
//! Source: none; users write their own controllers. Only the parameters are specific to Python. The calls do not depend
//! on the language of the controller.

use super::control::{
    AckSample, Congestion, Control, Drive, EcnNeeds, Feedback, LostSegment, Needs, Origin, Responder, Silence, Stack,
    Turn, Window, undone,
};
use crate::params::group::group;
use packet::Reading;
use packet::outside::{Supplied, class_named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use units::{Problem, Time};

/// Maximum window that a controller may set, segments. A threshold may be larger, or infinite.
const MOST_SEGMENTS: f64 = 1e9;

/// A controller of any type.
pub type AnyController = Box<dyn ForeignController>;

/// The properties of a stack that a controller depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct StackFacts {
    /// Largest payload of a segment, bytes.
    pub mss: u32,
    /// Initial window, segments.
    pub initial_window: f64,
    /// True if the window is a whole number of segments.
    pub whole_segments: bool,
    /// True if segments are paced regardless of the controller.
    pub paced: bool,
    /// True if `ecn_feedback` selects ACKs that report the number of marks, whether or not ECN is in use.
    pub counts_marks: bool,
}

/// The features of the stack that a controller uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ForeignNeeds {
    /// True if the controller needs delivery rates, a report of every lost segment, and a pacer. Requires SACK.
    pub rates: bool,
    /// True if the controller needs the time stamps of ACKs. Requires `timestamps`.
    pub one_way: bool,
    /// True if the sender must respond to the losses that an ACK reveals before it calls `on_ack`. If false, the sender
    /// calls `on_ack` first.
    pub repair: bool,
    /// True if the controller, rather than the sender, responds to CE marks. Requires ACKs that report the number of
    /// marks.
    pub marks: bool,
    /// True if the controller has a timer.
    pub timer: bool,
}

/// A controller whose type is defined outside this crate. The sender calls its methods at the same times as those of a
/// built-in controller.
pub trait ForeignController: Send + Sync {
    /// Starts a connection with window `w`.
    fn begin(&mut self, w: Window) -> Drive {
        w.into()
    }
    /// Provides the controller with information about its connection. Called before the connection opens.
    fn introduce(&mut self, _origin: &Origin<'_>) {}
    /// Processes the round-trip time of the handshake, `us` microseconds. With a result of `None`, the window and the
    /// controller's pacing rate stay as they are.
    fn on_handshake(&mut self, _w: Window, _now: Time, _us: u32) -> Option<Drive> {
        None
    }
    /// Processes an ACK that delivers data or carries an ECN echo (ECE). If `s.rests` is true, the sender uses
    /// only [`Drive::probing_delay`] of the result, unless [`Drive::converges`] is set in it.
    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive;
    /// Responds to congestion: sets ssthresh from `base`, a number of segments. If the result has an infinite ssthresh
    /// and leaves the reduction to the sender, ssthresh is set to `cwnd`.
    fn on_congestion(&mut self, w: Window, now: Time, kind: Congestion, base: f64) -> Drive;
    /// Processes a timeout, before the window becomes one segment plus the data still in flight.
    fn on_rto(&mut self, _w: Window, _now: Time) {}
    /// Processes a segment declared lost.
    fn on_lost(&mut self, _w: Window, _now: Time, _s: &LostSegment) {}
    /// Undoes a reduction that was spurious. `before` is the window before the reduction, if it is known. A result of `None`
    /// selects the default undo.
    fn on_undo(&mut self, _w: Window, _now: Time, _before: Option<Window>) -> Option<Drive> {
        None
    }
    /// Processes the end of an idle period. With a result of `None`, the sender keeps the pacing rate and the size of
    /// segments, and restarts the window by the rules of the stack.
    fn on_idle(&mut self, _w: Window, _silence: Silence) -> Option<Drive> {
        None
    }
    /// Returns the time at which `on_timer` must be called, if there is one.
    fn timer(&self) -> Option<Time> {
        None
    }
    /// Handles the expiry of the timer; sets the timer to a later time, or stops it.
    fn on_timer(&mut self, w: Window, _now: Time) -> Drive {
        w.into()
    }
    /// Reports the state: always the same values in the same order.
    fn probe(&self, _out: &mut Reading<'_>) {}
    /// Returns a copy with the same state, for the clone of a run. If copying fails, the controller reports the failure
    /// to its factory, and returns any controller as a placeholder.
    fn copy(&self) -> AnyController;
}

/// Creates the controllers of one stack, one for each end of a connection.
pub trait ControllerFactory: Send + Sync {
    /// Creates a controller in its initial state.
    fn make(&self, stack: &StackFacts) -> AnyController;
    /// Returns the features of the stack that the controllers use.
    fn needs(&self) -> ForeignNeeds;
    /// Returns a factory for a clone of the run. The controllers that the new factory creates must not depend on the
    /// original run.
    fn copy(&self) -> Arc<dyn ControllerFactory>;
}

/// A controller in Python and its parameters. All keys of this table except `controller` and `source` are parameters of
/// the controller, with the names that they have in its class.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "PythonController")]
pub struct ForeignParams {
    /// The class of the controller, which must be given: "FILE.py:CLASS", with the path of the file relative to the
    /// scenario's folder. If you pass the class to `bloatlab.run(scenario, controllers={NAME: CLASS})`, write NAME.
    pub controller: String,
    /// Text of each source file, keyed by the file's path. bloatlab sets this key when it reads the scenario, so that a
    /// result contains the code that produced it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub source: BTreeMap<String, String>,
    /// The controller's own parameters.
    #[serde(flatten)]
    pub own: BTreeMap<String, Value>,
    #[serde(skip)]
    needs: ForeignNeeds,
    #[serde(skip)]
    factory: Supplied<dyn ControllerFactory>,
}

impl Clone for ForeignParams {
    /// Copies the parameters and the factory. A stack creates controllers during a run, so each clone of the run needs its own
    /// factory.
    fn clone(&self) -> Self {
        Self {
            controller: self.controller.clone(),
            source: self.source.clone(),
            own: self.own.clone(),
            needs: self.needs,
            factory: self.factory.copied(ControllerFactory::copy),
        }
    }
}

impl ForeignParams {
    /// Supplies the controllers' factory.
    pub fn supply(&mut self, supplied: Supplied<dyn ControllerFactory>) {
        self.needs = supplied.factory().map(ControllerFactory::needs).unwrap_or_default();
        self.factory = supplied;
    }

    /// Checks that the controller can be built.   Errors: no factory was supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        self.factory.ready("controller", &self.controller)
    }
}

group! {
    /// The external controller of a stack.
    pub(crate) struct ForeignGroup {
        /// A controller in Python (docs/adding-a-controller-in-python.md): a table with the class (`controller`) and its parameters.
        /// Implies `congestion_control = "python"`.
        pub python: Option<ForeignParams> = None,
    }

    fn validate(&self) -> Result<(), Problem> {
        let named = |p: &ForeignParams| class_named("controller", &p.controller, "mine.py:Mine").map_err(|e| e.under("python"));
        self.python.as_ref().map_or(Ok(()), named)
    }
}

/// Describes what is wrong with a controller's output `d`, in a stack whose MSS is `mss`. Returns `None` if the output
/// is valid.
pub fn fault(d: &Drive, mss: u32) -> Option<String> {
    let segments = |name: &str, value: f64, most: f64| {
        (!(value > 0.0 && value <= most))
            .then(|| format!("{name} {value}; expected more than 0 and at most {MOST_SEGMENTS:e} segments"))
    };
    segments("cwnd", d.cwnd, MOST_SEGMENTS)
        .or_else(|| segments("ssthresh", d.ssthresh, f64::INFINITY))
        .or_else(|| {
            let rate = d.pacing_rate.filter(|rate| !(*rate > 0.0 && rate.is_finite()))?;
            Some(format!("pacing_rate {}; expected more than 0 bit/s", 8.0 * rate))
        })
        .or_else(|| (d.quantum == 0).then(|| "quantum 0; expected at least 1 segment".to_owned()))
        .or_else(|| {
            let most = u32::from(d.max_payload);
            (most > mss).then(|| format!("max_payload {most}; expected at most the MSS, {mss} bytes"))
        })
}

/// A placeholder for a controller that was not supplied, or that has failed. It changes neither window nor ssthresh.
pub struct Constant;

impl ForeignController for Constant {
    fn on_ack(&mut self, w: Window, _: &AckSample) -> Drive {
        w.into()
    }
    fn on_congestion(&mut self, w: Window, _: Time, _: Congestion, _: f64) -> Drive {
        w.into()
    }
    fn copy(&self) -> AnyController {
        Box::new(Self)
    }
}

/// An external controller, with its state for one end of a connection.
pub(crate) struct Foreign {
    controller: AnyController,
    /// Time of the last event that was reported to the controller, not counting lost segments.
    now: Time,
    /// True after the end of the connection, when timers no longer run.
    ended: bool,
}

impl Foreign {
    /// Returns the time at which the timer expires, or [`Time::NEVER`] if no timer is set or the connection has ended.
    /// If the controller sets its timer to a time that was already past when the controller was last called, returns
    /// the time of that call.
    pub(crate) fn timer_at(&self) -> Time {
        self.controller.timer().filter(|_| !self.ended).map_or(Time::NEVER, |at| at.max(self.now))
    }

    pub(crate) fn on_timer(&mut self, w: Window, now: Time) -> Drive {
        self.now = now;
        self.controller.on_timer(w, now)
    }

    /// Records that the connection has ended. The controller's timer does not run after this call.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        Self { controller: self.controller.copy(), now: self.now, ended: self.ended }
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Control for Foreign {
    type Params = ForeignGroup;

    fn needs(own: &ForeignGroup) -> Needs {
        let needs = own.python.as_ref().map(|p| p.needs).unwrap_or_default();
        let (responder, feedback) =
            if needs.marks { (Responder::Controller, Feedback::Counted) } else { (Responder::Sender, Feedback::Any) };
        Needs {
            ack_time: needs.one_way,
            rates: needs.rates,
            timer: needs.timer,
            turn: if needs.repair { Turn::Repair } else { Turn::Growth },
            ecn: EcnNeeds { responder, feedback, ..EcnNeeds::USUAL },
            ..Needs::NONE
        }
    }

    fn new(own: &ForeignGroup, stack: &Stack<'_>) -> Self {
        let facts = StackFacts {
            mss: stack.mss,
            initial_window: stack.initial_window,
            whole_segments: stack.whole_segments,
            paced: stack.paced,
            counts_marks: stack.counts_marks,
        };
        let factory = own.python.as_ref().and_then(|p| p.factory.factory());
        debug_assert!(factory.is_some(), "a controller from outside was built before it was ready");
        let controller = factory.map_or_else(|| Box::new(Constant) as AnyController, |factory| factory.make(&facts));
        Self { controller, now: Time::ZERO, ended: false }
    }

    fn introduce(&mut self, origin: &Origin<'_>) {
        self.controller.introduce(origin);
    }

    fn begin(&mut self, w: Window) -> Drive {
        self.controller.begin(w)
    }

    fn at(&mut self, now: Time) {
        self.now = now;
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        self.now = now;
        self.controller.on_handshake(w, now, us)
    }

    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        self.now = s.now;
        self.controller.on_ack(w, s)
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        let mut d = self.controller.on_congestion(w, self.now, kind, base);
        // a reduction ends at ssthresh, and no window can be infinite
        if d.reduction && d.ssthresh.is_infinite() {
            d.ssthresh = d.cwnd;
        }
        d
    }

    fn on_rto(&mut self, w: Window) {
        self.controller.on_rto(w, self.now);
    }

    fn on_lost(&mut self, w: Window, now: Time, s: &LostSegment) {
        self.controller.on_lost(w, now, s);
    }

    fn on_undo(&mut self, w: Window, before: Option<Window>) -> Drive {
        self.controller.on_undo(w, self.now, before).unwrap_or_else(|| undone(w, before))
    }

    fn on_idle(&mut self, w: Window, silence: Silence) -> Option<Drive> {
        self.now = silence.now;
        self.controller.on_idle(w, silence)
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.controller.probe(out);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cc::control::undone;
    use crate::cc::reno::Reno;
    use crate::cc::shared::{NoParams, SharedParams};
    use crate::params::TcpParams;
    use std::sync::Mutex;
    use units::Duration;

    /// The built-in Reno, wrapped as an external controller that also has a timer.
    struct RenoOutside {
        reno: Reno,
        timer: Option<Time>,
        /// Pacing rate, payload bytes per second. The controller sets it in `begin`, `on_ack` and `on_congestion`.
        rate: Option<f64>,
        calls: Arc<Mutex<Vec<String>>>,
    }

    impl RenoOutside {
        fn paced(&self, d: Drive) -> Drive {
            self.rate.map_or(d, |rate| Drive { pacing_rate: Some(rate), quantum: 1, ..d })
        }
        fn note(&self, call: String) {
            self.calls.lock().unwrap().push(call);
        }
    }

    impl ForeignController for RenoOutside {
        fn begin(&mut self, w: Window) -> Drive {
            self.paced(w.into())
        }
        fn introduce(&mut self, origin: &Origin<'_>) {
            self.note(format!("introduce {} {:.3}", (origin.name)(), (origin.stream)().unit()));
        }
        fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
            let d = self.reno.on_ack(w, s);
            self.paced(d)
        }
        fn on_congestion(&mut self, w: Window, now: Time, kind: Congestion, base: f64) -> Drive {
            self.note(format!("{kind:?} at {}", now.0));
            let d = self.reno.on_congestion(w, kind, base);
            self.paced(d)
        }
        fn on_rto(&mut self, w: Window, _: Time) {
            self.note(format!("rto with {}", w.cwnd));
        }
        fn on_lost(&mut self, w: Window, _: Time, _: &LostSegment) {
            self.note(format!("lost with {}", w.cwnd));
        }
        fn timer(&self) -> Option<Time> {
            self.timer
        }
        fn on_timer(&mut self, w: Window, now: Time) -> Drive {
            self.note(format!("timer at {}", now.0));
            self.timer = (now < Time(400_000_000)).then_some(now + Duration::from_millis(100));
            w.into()
        }
        fn probe(&self, out: &mut Reading<'_>) {
            out.number("calls", self.calls.lock().unwrap().len() as u32);
        }
        fn copy(&self) -> AnyController {
            let calls = Arc::new(Mutex::new(self.calls.lock().unwrap().clone()));
            Box::new(Self { reno: self.reno.clone(), timer: self.timer, rate: self.rate, calls })
        }
    }

    /// A factory of Reno controllers that record the calls they receive.
    #[derive(Clone, Default)]
    pub(crate) struct Renos {
        pub(crate) needs: ForeignNeeds,
        /// Pacing rate of the controllers, payload bytes per second.
        pub(crate) rate: Option<f64>,
        pub(crate) calls: Arc<Mutex<Vec<String>>>,
    }

    impl ControllerFactory for Renos {
        fn make(&self, facts: &StackFacts) -> AnyController {
            let shared = SharedParams::default();
            let stack = Stack {
                shared: &shared,
                mss: facts.mss,
                initial_window: facts.initial_window,
                whole_segments: facts.whole_segments,
                paced: facts.paced,
                counts_marks: facts.counts_marks,
            };
            let timer = self.needs.timer.then_some(Time(200_000_000));
            let (reno, calls) = (Reno::new(&NoParams {}, &stack), self.calls.clone());
            Box::new(RenoOutside { reno, timer, rate: self.rate, calls })
        }
        fn needs(&self) -> ForeignNeeds {
            self.needs
        }
        fn copy(&self) -> Arc<dyn ControllerFactory> {
            Arc::new(self.clone())
        }
    }

    /// Returns the stack `p`, but with the external controllers that `factory` creates.
    pub(crate) fn with(p: TcpParams, factory: Renos) -> TcpParams {
        p.with(|p| {
            let mut python = ForeignParams { controller: "mine.py:Mine".to_owned(), ..ForeignParams::default() };
            python.supply(Supplied::by(Arc::new(factory)));
            p.control.foreign.python = Some(python);
            p.control.choose("python");
        })
    }

    fn read(json: &str) -> Result<TcpParams, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn it_is_data_until_a_factory_is_supplied() {
        let text = r#"{"congestion_control":"python","python":{"controller":"a.py:Mine","gain":[1,2.5],"on":true}}"#;
        let mut p = read(text).unwrap();
        p.validate().unwrap();
        let tree = serde_json::to_value(&p).unwrap();
        assert_eq!(tree["python"], serde_json::from_str::<Value>(text).unwrap()["python"]);
        let error = p.ready().unwrap_err();
        assert_eq!(error.path, "python");
        assert!(error.to_string().contains("\"a.py:Mine\" is a controller in Python"), "{error}");
        p.outside().unwrap().supply(Supplied::by(Arc::new(Renos::default())));
        p.ready().unwrap();
        p.clone().ready().unwrap();
    }

    #[test]
    fn a_stack_that_contradicts_itself_is_refused() {
        for (text, path) in [
            (r#"{"congestion_control":"python"}"#, "congestion_control"),
            (r#"{"congestion_control":"reno","python":{"controller":"a.py:Mine"}}"#, "congestion_control"),
            (r#"{"congestion_control":"python","python":{"controller":"a.txt:Mine"}}"#, "python.controller"),
            (r#"{"congestion_control":"python","python":{}}"#, "python.controller"),
        ] {
            assert_eq!(read(text).unwrap().validate().unwrap_err().path, path, "{text}");
        }
        // a stack is refused if it lacks features that the external controller needs
        let plain = TcpParams::preset("ns2-reno").unwrap();
        let needs = |needs| with(plain.clone(), Renos { needs, ..Renos::default() }).validate().unwrap_err().path;
        assert_eq!(needs(ForeignNeeds { rates: true, ..ForeignNeeds::default() }), "recovery");
        assert_eq!(needs(ForeignNeeds { one_way: true, ..ForeignNeeds::default() }), "timestamps");
        assert_eq!(needs(ForeignNeeds { marks: true, ..ForeignNeeds::default() }), "ecn");
    }

    #[test]
    fn an_output_that_no_sender_can_follow_is_a_fault() {
        let good = Drive::from(Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        assert_eq!(fault(&good, 1448), None);
        for (bad, name) in [
            (Drive { cwnd: f64::NAN, ..good }, "cwnd NaN"),
            (Drive { cwnd: 0.0, ..good }, "cwnd 0"),
            (Drive { cwnd: f64::INFINITY, ..good }, "cwnd inf"),
            (Drive { ssthresh: -1.0, ..good }, "ssthresh -1"),
            (Drive { ssthresh: f64::NAN, ..good }, "ssthresh NaN"),
            (Drive { pacing_rate: Some(f64::NAN), ..good }, "pacing_rate NaN"),
            (Drive { pacing_rate: Some(0.0), ..good }, "pacing_rate 0"),
            (Drive { quantum: 0, ..good }, "quantum 0"),
            (Drive { max_payload: 1449, ..good }, "max_payload 1449"),
        ] {
            let text = fault(&bad, 1448).unwrap();
            assert!(text.starts_with(name), "{text}");
        }
    }

    #[test]
    fn a_clone_has_a_state_of_its_own() {
        let factory = Renos::default();
        let p = with(TcpParams::preset("reno").unwrap(), factory.clone());
        let mut first = crate::cc::Controller::new(&p);
        let w = Window { cwnd: 20.0, ssthresh: 20.0 };
        let mut second = first.clone();
        assert_eq!(second.on_congestion(w, Congestion::Loss, 20.0).ssthresh, 10.0);
        assert_eq!(factory.calls.lock().unwrap().len(), 0);
        first.on_congestion(w, Congestion::Loss, 20.0);
        assert_eq!(factory.calls.lock().unwrap().len(), 1);
        // the controller has no undo of its own, so the default undo restores the larger of the two windows
        let before = Some(Window { cwnd: 40.0, ssthresh: 30.0 });
        assert_eq!(first.on_undo(w, before), undone(w, before));
        assert_eq!(first.on_undo(w, before).cwnd, 40.0);
    }
}
