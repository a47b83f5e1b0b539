//! Transports written in Python: objects of a user's class as endpoints of `bloatlab-net`.
//!
//! A run keeps the GIL. An exception in an endpoint, or an invalid return value, unwinds to the network as a [`Fault`], which ends
//! the run; the exception is stored for the traceback. Times are integers in nanoseconds in both languages.

use crate::error::{FirstError, Mistake, one_line, scenario_of, shown, wrong};
use crate::outside::Outside;
use crate::run::{cannot_write, capture_files, to_python};
use net::{Ecn, Endpoint, Failure, Fault, Framing, Network, Outcome, Time, Transmit};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use record::pcap;
use scenario::Scenario;
use sim::Sinks;
use sim::capture::Capture;
use std::net::{IpAddr, SocketAddr};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use units::{Duration, Problem};

/// Number of parts into which a run is divided. Signals such as Ctrl-C are handled between two parts.
const PARTS: u64 = 500;

pyo3::create_exception!(
    _core,
    EndpointFailure,
    pyo3::exceptions::PyException,
    "An endpoint misbehaved. Its arguments: endpoint, time (ns), method, action. An exception that it raised is the cause."
);

/// A datagram that arrives at an endpoint.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
pub(crate) struct Datagram {
    /// Address and port of the sender.
    sender: (String, u16),
    /// ECN field on arrival: 0 means not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    ecn: u8,
    /// The bytes that the sender supplied. If they are a whole IP packet, the network has set its ECN field to `ecn`.
    data: Py<PyBytes>,
}

/// The methods of an endpoint, in the order of [`PythonEndpoint::methods`].
#[derive(Clone, Copy)]
enum Method {
    Handle,
    PollTransmit,
    NextTimeout,
    OnTimeout,
}

impl Method {
    const NAMES: [&str; 4] = ["handle", "poll_transmit", "next_timeout", "on_timeout"];
}

/// An endpoint that calls the methods of a Python object. When a network is forked, the Python code copies these
/// objects and passes the copies to `fork`.
struct PythonEndpoint {
    methods: [Py<PyAny>; Method::NAMES.len()],
    framing: Framing,
    error: FirstError,
}

impl PythonEndpoint {
    fn new(object: &Bound<'_, PyAny>, framing: Framing, error: &FirstError) -> PyResult<Self> {
        let [a, b, c, d] = Method::NAMES.map(|name| object.getattr(name).map(Bound::unbind));
        Ok(Self { methods: [a?, b?, c?, d?], framing, error: error.clone() })
    }

    /// Calls a method. `call` makes the call and converts its result. A failure unwinds as a [`Fault`], which the network catches.
    fn call<T>(&self, method: Method, call: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, Mistake>) -> T {
        let result = Python::attach(|py| {
            call(self.methods[method as usize].bind(py)).map_err(|mistake| {
                let name = Method::NAMES[method as usize];
                match mistake {
                    Mistake::Value(text) => format!("{name} returned {text}"),
                    Mistake::Raised(error) => {
                        let action = format!("{name} raised {}", one_line(py, &error));
                        self.error.store(error);
                        action
                    }
                }
            })
        });
        result.unwrap_or_else(|action| resume_unwind(Box::new(Fault(action))))
    }
}

impl Endpoint for PythonEndpoint {
    fn handle(&mut self, now: Time, datagram: net::Datagram) {
        self.call(Method::Handle, |method| {
            let data = PyBytes::new(method.py(), &datagram.bytes).unbind();
            method.call1((now.0, Datagram { sender: host_port(datagram.from), ecn: datagram.ecn as u8, data }))?;
            Ok(())
        });
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        self.call(Method::PollTransmit, |method| transmit(&method.call1((now.0,))?))
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.call(Method::NextTimeout, |method| {
            let at = method.call0()?;
            let invalid = |_| Mistake::Value(format!("{}; expected whole nanoseconds or None", shown(&at)));
            Ok(at.extract::<Option<u64>>().map_err(invalid)?.map(Time))
        })
    }

    fn on_timeout(&mut self, now: Time) {
        self.call(Method::OnTimeout, |method| {
            method.call1((now.0,))?;
            Ok(())
        });
    }

    fn framing(&self) -> Framing {
        self.framing
    }
}

/// Converts an address to Python's form, a pair of host and port.
fn host_port(address: SocketAddr) -> (String, u16) {
    (address.ip().to_string(), address.port())
}

/// Converts the return value of `poll_transmit`.
fn transmit(answer: &Bound<'_, PyAny>) -> Result<Option<Transmit>, Mistake> {
    if answer.is_none() {
        return Ok(None);
    }
    let parts = answer.extract::<((String, u16), PyBackedBytes, u8)>().ok().and_then(|((host, port), data, ecn)| {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|known| *known as u8 == ecn)?;
        Some(Transmit { to: SocketAddr::new(host.parse::<IpAddr>().ok()?, port), ecn, bytes: data.to_vec() })
    });
    let valid = "expected None or ((address, port), bytes, ECN field from 0 to 3)";
    parts.map(Some).ok_or_else(|| Mistake::Value(format!("{}; {valid}", shown(answer))))
}

/// A network in progress, with or without captures.
enum Run {
    Plain(Box<Network>),
    Captured(Box<Network<Sinks<'static>>>),
}

/// Evaluates `$do` for the network of a run.
macro_rules! with {
    ($run:expr, $network:ident => $do:expr) => {
        match $run {
            Run::Plain($network) => $do,
            Run::Captured($network) => $do,
        }
    };
}

/// The results of a run that has ended.
struct Over {
    outcome: Option<Outcome>,
    scenario: Scenario,
    failure: Option<Failure>,
}

/// A network with endpoints in Python; see `bloatlab.Network`. Times are in nanoseconds.
#[pyclass(module = "bloatlab._core")]
pub(crate) struct NetworkRun {
    /// `None` after the run has ended. No two threads ever share a network; the lock is there only because a Python
    /// class must be `Sync`.
    run: Mutex<Option<Run>>,
    over: Option<Over>,
    duration: Duration,
    until: Time,
    captures: PathBuf,
    /// The framing of each endpoint, in the order in which the endpoints were added.
    framings: Vec<Framing>,
    outside: Outside,
    error: FirstError,
}

impl NetworkRun {
    fn run(&mut self) -> PyResult<&mut Run> {
        let run = self.run.get_mut().unwrap_or_else(PoisonError::into_inner);
        run.as_mut().ok_or_else(|| wrong(Problem::new("network", "the run is over")))
    }

    /// Ends the run: stores its results, and writes the rest of the captures. Does nothing if the run has ended
    /// already.
    fn close(&mut self, failure: Option<Failure>) -> PyResult<()> {
        let Some(run) = self.run.get_mut().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let (outcome, scenario) = with!(&run, network => (network.outcome(), network.scenario().clone()));
        self.over = Some(Over { outcome, scenario, failure });
        if let Run::Captured(network) = run
            && let Some((_, (_, Some(capture)))) = network.into_sink()
        {
            capture.finish().map_err(|e| cannot_write(&self.captures, &e))?;
        }
        Ok(())
    }

    /// Returns the exception for the failure of an endpoint. Ctrl-C is returned unchanged.
    fn failure(&self, py: Python<'_>, failure: &Failure) -> PyErr {
        let cause = self.error.raise().err();
        if let Some(error) = cause.as_ref().filter(|error| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
            return error.clone_ref(py);
        }
        let Failure { endpoint, at, method, action } = failure;
        let raised = EndpointFailure::new_err((endpoint.clone(), at.0, *method, action.clone()));
        raised.set_cause(py, cause);
        raised
    }
}

#[pymethods]
impl NetworkRun {
    /// Builds the network of a scenario (canonical JSON, see `resolve`) at time 0. `factories` is the same as in `run`.
    #[new]
    #[pyo3(signature = (resolved, factories=None))]
    fn new(resolved: &str, factories: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut scenario = scenario_of(resolved)?;
        let outside = Outside::insert(&mut scenario, factories)?;
        let duration = scenario.duration;
        let run = Mutex::new(Some(Run::Plain(Box::new(Network::new(scenario).map_err(wrong)?))));
        let (over, until, captures, error) = (None, Time::ZERO, PathBuf::new(), FirstError::default());
        Ok(Self { run, over, duration, until, captures, framings: Vec::new(), outside, error })
    }

    /// Time that the run has reached, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.until.0
    }

    /// True after `finish`, or after the failure of an endpoint.
    #[getter]
    fn over(&self) -> bool {
        self.over.is_some()
    }

    /// The scenario as canonical JSON. Once the network has been built, the scenario contains an application for each
    /// endpoint.
    #[getter]
    fn scenario(&mut self) -> PyResult<String> {
        match &self.over {
            Some(over) => Ok(over.scenario.canonical()),
            None => Ok(with!(self.run()?, network => network.scenario().canonical())),
        }
    }

    /// Adds an endpoint; returns the endpoint's address and the name of its application. The application is called
    /// `name`. If `name` is `None`, the application gets the node's name, with a number appended if the node's name is
    /// taken. `endpoint` has the methods handle, poll_transmit, next_timeout and on_timeout.
    #[pyo3(signature = (node, endpoint, name, mtu, whole_packets))]
    fn add_endpoint(
        &mut self,
        node: &str,
        endpoint: &Bound<'_, PyAny>,
        name: Option<&str>,
        mtu: u16,
        whole_packets: bool,
    ) -> PyResult<((String, u16), String)> {
        let framing = if whole_packets { Framing::Ipv4 } else { Framing::Udp };
        let endpoint = PythonEndpoint::new(endpoint, framing, &self.error)?;
        let added = with!(self.run()?, network => {
            let name = name.map_or_else(|| network.free_name(node), str::to_owned);
            network.add_named(&name, node, mtu, endpoint).map(|address| (host_port(address), name))
        });
        let added = added.map_err(wrong)?;
        self.framings.push(framing);
        Ok(added)
    }

    /// Captures whole packets at both ends of `link` (by default the slowest) in `folder`. The network must not have run.
    #[pyo3(signature = (folder, link=None))]
    fn capture(&mut self, folder: PathBuf, link: Option<&str>) -> PyResult<()> {
        self.run()?;
        let slot = self.run.get_mut().unwrap_or_else(PoisonError::into_inner);
        match slot.take() {
            Some(Run::Plain(network)) if self.until == Time::ZERO => {
                let files = match capture_files(network.scenario(), link, &folder) {
                    Ok(files) => files,
                    Err(error) => {
                        *slot = Some(Run::Plain(network));
                        return Err(error);
                    }
                };
                let link = link.map(str::to_owned);
                *slot = Some(Run::Captured(Box::new(network.record(move |scenario| {
                    let capture = Capture::new(scenario, link.as_deref(), files, pcap::WHOLE)?;
                    Ok((None, (None, Some(capture))))
                }))));
                self.captures = folder;
                Ok(())
            }
            other => {
                *slot = other;
                Err(wrong(Problem::new("capture", "must be called once, before the network runs")))
            }
        }
    }

    /// Returns a copy of the network. `endpoints` are copies of its endpoints, in the order in which they were added.
    fn fork(&mut self, py: Python<'_>, endpoints: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        self.outside.check()?;
        let error = FirstError::default();
        let copies = endpoints.iter().zip(&self.framings).map(|(object, framing)| {
            Ok(Box::new(PythonEndpoint::new(object, *framing, &error)?) as Box<dyn Endpoint + Send>)
        });
        let copies = copies.collect::<PyResult<Vec<_>>>()?;
        let network = match self.run.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Some(Run::Plain(network)) => network,
            Some(Run::Captured(_)) => {
                let message = "a network that captures cannot be forked, since both would write the same files";
                return Err(wrong(Problem::new("fork", message)));
            }
            None => return Err(wrong(Problem::new("fork", "the run is over; fork it earlier"))),
        };
        let (copy, outside) = self.outside.forked(py, || network.fork_with(copies))?;
        Ok(Self {
            run: Mutex::new(Some(Run::Plain(Box::new(copy.map_err(wrong)?)))),
            over: None,
            duration: self.duration,
            until: self.until,
            captures: PathBuf::new(),
            framings: self.framings.clone(),
            outside,
            error,
        })
    }

    /// Handles all events before `time_ns`, but at most those before the end of the scenario.
    fn run_until(&mut self, py: Python<'_>, time_ns: u64) -> PyResult<()> {
        if let Some(failure) = self.over.as_ref().and_then(|over| over.failure.as_ref()) {
            return Err(self.failure(py, failure));
        }
        let end = Time(time_ns.min(self.duration.0));
        if end < self.until {
            return Err(wrong(Problem::new("run_until", "this time has passed")));
        }
        with!(self.run()?, network => network.build()).map_err(wrong)?;
        let part = Duration(self.duration.0.div_ceil(PARTS));
        // the loop runs at most PARTS + 1 times
        while self.until < end {
            self.outside.check()?;
            py.check_signals()?;
            let next = (self.until + part).min(end);
            if let Err(failure) = with!(self.run()?, network => network.run_until(Time(next.0 - 1))) {
                self.until = failure.at;
                let raised = self.failure(py, &failure);
                self.close(Some(failure))?;
                return Err(raised);
            }
            self.until = next;
        }
        self.outside.check()
    }

    /// Runs to the end, and writes the rest of the captures.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.over.as_ref().is_some_and(|over| over.failure.is_none()) {
            return Ok(());
        }
        self.run_until(py, u64::MAX)?;
        self.close(None)
    }

    /// Returns the summary and the tables of the run so far, as `run` does.
    fn outcome(&mut self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let outcome = match &self.over {
            Some(over) => over.outcome.clone(),
            None => with!(self.run()?, network => network.build().map(|()| network.outcome())).map_err(wrong)?,
        };
        to_python(py, outcome.expect("a network that was built"))
    }
}
