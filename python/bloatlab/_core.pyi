"""The compiled core, built from crates/py; see `bloatlab.run` and `bloatlab.live`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | list[str]

class RunOutput(TypedDict):
    """The summary as JSON text, and tables as columns of equal length."""

    summary: str
    tables: dict[str, dict[str, Column]]

#: A directed link (two with `both_ways`). `from` and `to` name nodes; quantities are texts with a unit ("5mbit").
LinkDict = TypedDict(
    "LinkDict",
    {
        "from": str,
        "to": str,
        "both_ways": bool,
        "rate": str,
        "delay": str,
        "jitter": str,
        "lateness": Mapping[str, str],
        "reorder": bool,
        "loss": float | str,
        "lose": Sequence[int],
        "queue": str | Mapping[str, Any],
        "shaper": str | Mapping[str, Any],
        "docsis": Mapping[str, Any],
        "docsis31": Mapping[str, Any],
        "delivery": str | Mapping[str, Any],
        "changes": Sequence[Mapping[str, Any]],
    },
    total=False,
)

#: An application: the ends of its traffic, its TCP, and its traffic model.
AppDict = TypedDict(
    "AppDict",
    {
        "from": str,
        "to": Sequence[str],
        "start": str,
        "start_spread": str,
        "stop": str,
        "tcp": str,
        "tcp_server": str,
        "dscp": int,
        "datagram_ecn": str,
        "traffic": str | Mapping[str, Any],
    },
    total=False,
)

class RecordDict(TypedDict, total=False):
    """The recording of a run: the bin width of series, and the links and applications with series."""

    interval: str
    links: Sequence[str]
    apps: Sequence[str]
    warm_up: str

class ScenarioDict(TypedDict, total=False):
    """A scenario as plain values. The keys of `link`, `app` and `tcp` are the names that results use."""

    name: str
    seed: int
    duration: str
    start_spread: str
    link: Mapping[str, LinkDict]
    app: Mapping[str, AppDict]
    tcp: Mapping[str, Mapping[str, Any]]
    route: Sequence[Mapping[str, str]]
    record: RecordDict
    trace: Mapping[str, Any]
    max_packets: int
    grade: Mapping[str, Any]
    expect: Mapping[str, str]

class ScenarioError(ValueError):
    """A scenario that cannot be built. `args[0]` is a list of lines: file, path, value, valid values."""

class PanicException(BaseException):
    """A failed assertion in the core: a bug. Not an `Exception`, so that it is not caught by accident."""

def version() -> str:
    """The version of the core, as in Cargo.toml."""

def resolve(
    text: str, format: Literal["toml", "json"] = "toml", source: str = "", sets: list[tuple[str, str]] = ...
) -> str:
    """Return the validated scenario with every default filled in, as canonical JSON.

    `source` names the text in messages; `sets` are overrides as (path, value) pairs; the last one for a path wins.
    Raises `ScenarioError`.
    """

def schema() -> str:
    """JSON Schema of a scenario."""

def run(
    resolved: str,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
    captures: str | None = None,
    capture_link: str | None = None,
    laws: Mapping[str, Callable[[], object]] | None = None,
    trace: Callable[[str, dict[str, Any]], object] | None = None,
) -> RunOutput:
    """Simulate to the end, without the GIL unless a law is written in Python.

    `seed` replaces the scenario's own. `progress` is called a few times a second with the fraction done, in [0, 1];
    an exception in it cancels the run and is raised here. `captures` is a folder for left.pcap and right.pcap, captured
    at the ends of `capture_link` (by default the slowest link). `laws` has a callable that makes the law for each link
    with a law in Python. `trace` receives the tables that the scenario's `trace` selects, in chunks: a table's name,
    and its columns as arrays, or as (indices, words). Raises `ScenarioError`, `OSError` and `LawFailure`.
    """

class DeliveryTrace(TypedDict):
    """A mahimahi trace in the compact form of a scenario's `source`, with its statistics."""

    compact: str
    lines: int
    period_ms: int
    longest_gap_ms: int
    gaps_over_100ms: int

def delivery_trace(text: str) -> DeliveryTrace:
    """Read a trace in mahimahi's format, or in the compact form.

    Raises `ValueError` with two arguments: the line (in the compact form the word), and the mistake.
    """

def delivery_file(resolved: str, link: str) -> str:
    """Return the delivery opportunities of a link, for the duration and seed of its scenario, as a mahimahi file.

    Raises `ScenarioError`: an unknown link, one with a rate, a duration without an opportunity.
    """

class LawFailure(Exception):  # noqa: N818  users see it as a LawError
    """A law in Python failed. `args` are link, method, and the mistake (None if the exception has a cause)."""

def quantity(text: str) -> tuple[Literal["duration", "rate", "size", "packets", "share"], float] | None:
    """Return the kind and the number of a text with a unit; None for any other text.

    A duration is in ns, a rate in bit/s, a size in bytes; a share is a fraction, and all others are integers.
    """

@final
class LawPacket:
    """A packet as a law sees it."""

    @property
    def flow(self) -> int:
        """Number of its flow."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """Time of its arrival at the queue."""
    @property
    def ect(self) -> bool:
        """True if it is ECN-capable, so that it can be marked."""
    @property
    def dscp(self) -> int:
        """Differentiated services code point, 0 to 63."""
    @property
    def pure_ack(self) -> bool:
        """True for a TCP segment without payload."""

@final
class LawView:
    """A law's view of its queue and link during a call."""

    @property
    def now_ns(self) -> int:
        """Time of the call."""
    @property
    def sojourn_ns(self) -> int:
        """Queueing delay of the packet so far; 0 for an arrival or a tick."""
    @property
    def packets(self) -> int:
        """Packets in the queue, without the packet of the call."""
    @property
    def bytes(self) -> int:
        """Bytes in the queue, without the packet of the call."""
    @property
    def rate(self) -> int:
        """Rate of the link, bit/s; the sustained rate of a shaper or modem."""
    @property
    def downstream_ns(self) -> int:
        """Further queueing delay of a packet that leaves now (in a modem)."""
    def expected_delay_ns(self, bytes: int) -> int:
        """Time that `bytes` take to leave: at the peak rate while tokens last, then at the sustained rate."""
    def random(self) -> float:
        """The next number of the law's own random stream, in [0, 1)."""

class LiveError(RuntimeError):
    """This machine cannot run the bench now, or this build has none."""

class LinkView(TypedDict):
    """One link: its queue now (`packets`, `bytes`), and totals since the run began (the rest)."""

    link: str
    packets: int
    bytes: int
    sent_packets: int
    sent_bytes: int
    sojourn_ms_sum: float
    sojourn_ms_max: float
    dropped: int

class LiveView(TypedDict):
    """The state of a run in progress."""

    t_s: float
    late_p99_ms: float | None
    links: list[LinkView]

def live(
    resolved: str,
    *,
    congestion: str | None = None,
    max_rate: str | None = None,
    command: list[str] | None = None,
    side: str = "left",
    background: list[list[str]] = ...,
    unbounded: bool = False,
    captures: str | None = None,
    look: Callable[[LiveView], None] | None = None,
) -> RunOutput:
    """Run on the wall clock, without the GIL; see `bloatlab.live.run`.

    `look` is called about ten times a second with a view of the bench; an exception in it ends the run and is raised.
    Raises `ScenarioError` and `LiveError`; `RuntimeError` for a bug in one of its threads.
    """

def live_clean() -> int:
    """End the processes that dead runs have left; return their number."""

def has_live() -> bool:
    """Return True if this build has the live bench. Without it `live` raises `LiveError` and `live_clean` returns 0."""

def as_toml(resolved: str) -> str:
    """Write a scenario (canonical JSON) as TOML that omits defaults and is read back as the same scenario.

    Raises `ScenarioError`.
    """

def tc_commands(resolved: str, link: str | None = None) -> str:
    """Return shell commands that configure Linux like a scenario's links, or one of them. Raises `ScenarioError`."""

def catalogue() -> str:
    """Return the disciplines, links, applications and TCP presets as JSON, each with its parameters and source."""

def measures() -> str:
    """Return every measure of a summary as JSON, with its words, unit, direction and description; and the units."""

def emodel(loss: float, delay_ms: float) -> tuple[float, float]:
    """Return (R, MOS) of the E-model for a loss fraction in [0, 1] and a one-way delay in milliseconds."""

def session_queues(spec: str, sessions: int, trials: int, seed: int = 1) -> list[tuple[int, int, int]]:
    """Count collisions of random 5-tuples in the classifier of a fair discipline, for 1 to `sessions` sessions.

    An entry counts the trials in which (two sessions share a queue, the first session shares its queue, the first
    session is in a group with more sessions than queues). `spec` is JSON: '"sfq_hss"', '{"sfq_hss": {"groups": 32}}'.
    Raises `ScenarioError` for a discipline that is invalid or not of type A.
    """

EcnWord: TypeAlias = Literal["not-ect", "ect1", "ect0", "ce"]

@final
class Packet:
    """A packet as it comes out of a discipline."""

    @property
    def number(self) -> int:
        """Its number, from 0 in the order of offers."""
    @property
    def flow(self) -> int:
        """Its flow."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """Time at which it was offered."""
    @property
    def ecn(self) -> int:
        """ECN field: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def ecn_word(self) -> EcnWord:
        """Name of the ECN field."""

@final
class Fate:
    """A drop or mark of a packet by a discipline."""

    @property
    def what(self) -> Literal["dropped", "marked"]:
        """The event."""
    @property
    def number(self) -> int:
        """The packet's number."""
    @property
    def flow(self) -> int:
        """The packet's flow."""
    @property
    def reason(self) -> str:
        """The reason: tail_full, early_head, ..., law, step."""
    @property
    def point(self) -> Literal["enqueue", "dequeue"]:
        """The side of the queue."""

@final
class Discipline:
    """A single queue discipline, the same as in simulations, with packets offered by the caller.

    Times are in nanoseconds and must not decrease.
    Raises `ValueError` for a time before that of the last call, a size of 0, an invalid ECN field.
    """

    def __new__(cls, spec: str, rate: str = "5mbit", seed: int = 1) -> Self:
        """`spec` is the JSON of a scenario's `queue`; see `bloatlab.machines.discipline`."""
    def enqueue(
        self,
        time_ns: int,
        size: int,
        flow: int = 0,
        ecn: int | EcnWord = 0,
        dscp: int = 0,
        addresses: tuple[str, str] | None = None,
    ) -> list[Fate]:
        """Offer a packet of `size` bytes; return the resulting drops and marks, its own included.

        `ecn` is the code of the field or its name, `addresses` are the IPv4 addresses of source and
        destination; without them each flow has its own source.
        """
    def probe(self) -> dict[str, Any]:
        """Return the discipline's state, with the names and units of a trace (docs/traces.md).

        `queues` is a list with the state of each active queue, for disciplines with several.
        """
    def dequeue(self, time_ns: int) -> tuple[Packet | None, list[Fate]]:
        """Dequeue the next packet; return it, or None, and the resulting drops and marks."""
    def wake(self, time_ns: int) -> list[Fate]:
        """Run the discipline's timer; return the resulting drops and marks."""
    @property
    def next_wake_ns(self) -> int | None:
        """Time of the discipline's timer; None if none runs."""
    @property
    def packets(self) -> int:
        """Packets in the queue."""
    @property
    def bytes(self) -> int:
        """Bytes in the queue."""

@final
class SentSegment:
    """A segment that a sender has sent."""

    @property
    def seq(self) -> int:
        """First payload byte in the stream; the stream starts at 1."""
    @property
    def length(self) -> int:
        """Payload bytes."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def retransmission(self) -> bool:
        """True if part of it was sent before."""

@final
class TcpSender:
    """A single TCP sender, the simulator's own, already connected, with ACKs passed by the caller.

    Round trips are measured from send times (Karn's rule), so ACKs need no time stamps; `rtt` is that of the handshake.
    Times are in nanoseconds and must not decrease (`ValueError`).
    """

    def __new__(cls, stack: str = '{"preset": "linux-6"}', rtt: str | None = None) -> Self:
        """`stack` is the JSON of a scenario's TCP table; see `bloatlab.machines.tcp_sender`."""
    def write(self, time_ns: int, bytes: int) -> list[SentSegment]:
        """Write `bytes` more to send; return the segments that leave at once."""
    def ack(self, time_ns: int, number: int, sack: list[tuple[int, int]] = ..., ece: bool = False) -> list[SentSegment]:
        """Receive an ACK of everything below `number` and of the blocks (start, end) above it.

        Returns the segments that leave. `ece` is the echo of a CE mark, for a stack with `ecn`.
        """
    def timer(self, time_ns: int) -> list[SentSegment]:
        """Run its timer, if it is due; return the segments that leave."""
    @property
    def deadline_ns(self) -> int | None:
        """Time of its timer; None if none runs."""
    @property
    def cwnd_bytes(self) -> int:
        """Congestion window."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """Slow start threshold; None while it is infinite."""
    @property
    def in_flight_bytes(self) -> int:
        """Estimated bytes in flight."""
    @property
    def srtt_ms(self) -> float:
        """Smoothed round-trip time; 0 before the first sample."""
    @property
    def rto_ms(self) -> float:
        """Retransmission timeout, backoff included."""
    @property
    def state(self) -> Literal["open", "cwr", "recovery", "loss"]:
        """Congestion state: cwr reduces after an ECN echo, recovery is fast recovery, loss follows a timeout."""
    @property
    def lost_segments(self) -> int:
        """Segments deemed lost and not acknowledged since, retransmitted or not."""
    @property
    def retransmits(self) -> int:
        """Segments retransmitted so far."""
    @property
    def timeouts(self) -> int:
        """Retransmission timeouts so far."""
    @property
    def fast_recoveries(self) -> int:
        """Fast recoveries so far."""
    @property
    def ecn_reductions(self) -> int:
        """Window reductions in response to an ECN echo so far."""
    @property
    def mss(self) -> int:
        """Largest payload of a segment, bytes."""
