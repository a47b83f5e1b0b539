//! A single queue discipline that the caller drives step by step.

use crate::error::refuse;
use packet::{
    DropReason, FateSink, FlowId, FlowTable, FlowTuple, Item, LinkView, MarkReason, PacketMeta, Point, Reading, Value,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use qdisc::{Context, Queue, QueueDiscipline};
use units::{BitRate, Problem, Rng, Time, shown};

/// Names of the values of the ECN field, indexed by value.   Source: RFC 3168 §5.
const ECN_NAMES: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// An argument that gives an ECN field by its value or by its name.
#[derive(FromPyObject)]
enum EcnArgument {
    Code(i64),
    Word(String),
}

impl EcnArgument {
    fn code(&self) -> PyResult<u8> {
        let code = match self {
            Self::Code(code) => usize::try_from(*code).ok().filter(|c| *c < ECN_NAMES.len()),
            Self::Word(word) => ECN_NAMES.iter().position(|w| w == word),
        };
        code.map(|c| c as u8).ok_or_else(|| {
            let value = match self {
                Self::Code(code) => code.to_string(),
                Self::Word(word) => format!("{:?}", word.chars().take(20).collect::<String>()),
            };
            PyValueError::new_err(format!(
                "ecn {value} is not valid; expected \"not-ect\" (0), \"ect1\" (1), \"ect0\" (2) or \"ce\" (3)"
            ))
        })
    }
}

/// A packet that a discipline has dequeued.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
#[derive(Clone)]
pub(crate) struct Packet {
    /// Number of the packet. Packets are numbered from 0 in the order in which they were offered.
    number: u64,
    /// Number of the packet's flow.
    flow: u32,
    /// Bytes on the wire.
    size: u16,
    /// Time at which the packet was offered, ns.
    enqueued_ns: u64,
    /// ECN field: 0 means not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    ecn: u8,
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        let (number, flow, size) = (self.number, self.flow, self.size);
        format!("Packet(number={number}, flow={flow}, size={size}, ecn={:?})", self.ecn_word())
    }

    /// Name of the ECN field: `"not-ect"`, `"ect1"`, `"ect0"` or `"ce"`.
    #[getter]
    fn ecn_word(&self) -> &'static str {
        ECN_NAMES[usize::from(self.ecn & 3)]
    }
}

/// The drop or the mark of a packet by a discipline.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
#[derive(Clone)]
pub(crate) struct Fate {
    /// `"dropped"` or `"marked"`.
    what: &'static str,
    /// The packet's number.
    number: u64,
    /// The packet's flow.
    flow: u32,
    /// The reason: `tail_full`, `early_head` and others for a drop, `law` or `step` for a mark.
    reason: &'static str,
    /// The event at which the decision was made: `"enqueue"` (an arrival) or `"dequeue"` (a departure).
    point: &'static str,
}

#[pymethods]
impl Fate {
    fn __repr__(&self) -> String {
        format!("Fate({} number={} reason={} at {})", self.what, self.number, self.reason, self.point)
    }
}

fn point_name(point: Point) -> &'static str {
    match point {
        Point::Enqueue => "enqueue",
        Point::Dequeue => "dequeue",
    }
}

#[derive(Default)]
struct Collected(Vec<Fate>);

impl FateSink for Collected {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        let (number, flow, point) = (packet.seq, packet.flow.0, point_name(point));
        self.0.push(Fate { what: "dropped", number, flow, reason: reason.name(), point });
    }
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point) {
        let (number, flow, point) = (packet.seq, packet.flow.0, point_name(point));
        self.0.push(Fate { what: "marked", number, flow, reason: reason.name(), point });
    }
}

/// Parses the IPv4 address of a 5-tuple.
fn address(text: &str) -> PyResult<u32> {
    let read = text.parse::<std::net::Ipv4Addr>();
    read.map(u32::from).map_err(|_| {
        PyValueError::new_err(format!("\"{}\" is not valid; expected an IPv4 address, such as 10.0.0.1", shown(text)))
    })
}

/// A single queue discipline, with the same code as in simulations and live runs. The caller offers and dequeues packets.
///
/// `spec` is JSON as in the `queue` of a scenario's link (`{"codel": {"target": "5ms"}}`). `rate` is the rate of the link
/// ("5mbit"), and `seed` the seed of the discipline's random numbers. Times are in nanoseconds and must not decrease.
#[pyclass(module = "bloatlab._core")]
pub(crate) struct Discipline {
    queue: Queue,
    link: LinkView,
    flows: FlowTable,
    rng: Rng,
    now: Time,
    offered: u64,
}

impl Discipline {
    fn advance(&mut self, time_ns: u64) -> PyResult<()> {
        if time_ns < self.now.0 {
            let message = format!("time {time_ns} ns is before the last call at {} ns", self.now.0);
            return Err(PyValueError::new_err(message));
        }
        self.now = Time(time_ns);
        Ok(())
    }

    fn call<T>(&mut self, act: impl FnOnce(&mut Queue, &mut Context<'_>) -> T) -> (T, Vec<Fate>) {
        let mut collected = Collected::default();
        let cx = &mut Context {
            now: self.now,
            rng: &mut self.rng,
            link: &self.link,
            flows: &self.flows,
            fate: &mut collected,
        };
        let answer = act(&mut self.queue, cx);
        (answer, collected.0)
    }
}

#[pymethods]
impl Discipline {
    #[new]
    #[pyo3(signature = (spec, rate="5mbit", seed=1))]
    fn new(spec: &str, rate: &str, seed: u64) -> PyResult<Self> {
        let wrong = |p: Problem| refuse("queue", &[p]);
        let spec = face::discipline(spec).map_err(wrong)?;
        spec.ready().map_err(wrong)?;
        let rate: BitRate = rate.parse().map_err(|e: units::ParseError| wrong(Problem::new("rate", e.to_string())))?;
        Ok(Self {
            queue: Queue::new(spec.build()),
            link: LinkView::plain(rate),
            flows: FlowTable::default(),
            rng: Rng::named(seed, "discipline"),
            now: Time::ZERO,
            offered: 0,
        })
    }

    /// Offers a packet of `size` bytes; returns the resulting drops and marks, which may concern this packet or other
    /// packets. `ecn` is the value of the ECN field or its name. `addresses` are the IPv4 addresses of source and
    /// destination.
    #[pyo3(
        signature = (time_ns, size, flow=0, ecn=EcnArgument::Code(0), dscp=0, addresses=None),
        text_signature = "($self, time_ns, size, flow=0, ecn=0, dscp=0, addresses=None)"
    )]
    fn enqueue(
        &mut self,
        time_ns: u64,
        size: u16,
        flow: u32,
        ecn: EcnArgument,
        dscp: u8,
        addresses: Option<(String, String)>,
    ) -> PyResult<Vec<Fate>> {
        let ecn = ecn.code()?;
        if size == 0 || flow as usize >= FlowId::SLOTS || dscp > 63 {
            let message = "expected a size of 1 to 65535 bytes, a flow below 1048576 and a DSCP of 0 to 63";
            return Err(PyValueError::new_err(message));
        }
        // without addresses, each flow gets its own source address, so that flows differ even for classifiers that hash
        // addresses
        let (src, dst) = match &addresses {
            Some((src, dst)) => (address(src)?, address(dst)?),
            None => (flow, u32::MAX),
        };
        self.advance(time_ns)?;
        let id = FlowId::new(flow, 0);
        self.flows.set(id, FlowTuple { src, dst, sport: flow as u16, dport: 80, dscp, ..Default::default() });
        let packet = PacketMeta { seq: self.offered, flow: id, size, tos: dscp << 2 | ecn, ..Default::default() };
        self.offered += 1;
        Ok(self.call(|queue, cx| queue.enqueue(packet, cx)).1)
    }

    /// Dequeues the next packet. Returns the packet, or `None` if no packet leaves, and the resulting drops and marks.
    fn dequeue(&mut self, time_ns: u64) -> PyResult<(Option<Packet>, Vec<Fate>)> {
        self.advance(time_ns)?;
        let (packet, fates) = self.call(Queue::dequeue);
        let packet = packet.map(|p| Packet {
            number: p.seq,
            flow: p.flow.0,
            size: p.size,
            enqueued_ns: p.stamp.0,
            ecn: p.ecn() as u8,
        });
        Ok((packet, fates))
    }

    /// Returns the discipline's state as a dict. The keys are the names that a trace uses, each with its unit, if any,
    /// as a suffix (`count`, `drop_next_s`, ...). For a discipline with inner queues, `queues` is a list with the states
    /// of its classes, or of those queues that are active.
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let (mut queues, mut failed) = (Vec::new(), None);
        let mut put = |item: Item<'_>| match item {
            Item::Queue(name) => {
                let queue = PyDict::new(py);
                failed = failed.take().or(queue.set_item("queue", name).err());
                queues.push(queue);
            }
            Item::Value(name, unit, value) => {
                let (to, name) = (queues.last().unwrap_or(&state), format!("{name}{}", unit.suffix()));
                let set = match value {
                    Value::Number(x) => to.set_item(name, x),
                    Value::Flag(so) => to.set_item(name, so),
                    Value::Word(word) => to.set_item(name, word),
                };
                failed = failed.take().or(set.err());
            }
        };
        self.queue.discipline().probe(&mut Reading::new(self.now, true, &mut put));
        failed.map_or(Ok(()), Err)?;
        if !queues.is_empty() {
            state.set_item("queues", queues)?;
        }
        Ok(state)
    }

    /// Time at which the discipline's timer expires, ns; `None` if it is not running.
    #[getter]
    fn next_wake_ns(&self) -> Option<u64> {
        self.queue.next_wake().map(|t| t.0)
    }

    /// Runs the discipline's timer; returns the resulting drops and marks.
    fn wake(&mut self, time_ns: u64) -> PyResult<Vec<Fate>> {
        self.advance(time_ns)?;
        Ok(self.call(Queue::wake).1)
    }

    /// Packets in the queue.
    #[getter]
    fn packets(&self) -> u32 {
        self.queue.backlog().packets
    }

    /// Bytes in the queue.
    #[getter]
    fn bytes(&self) -> u64 {
        self.queue.backlog().bytes
    }
}
