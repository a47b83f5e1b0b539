"""The compiled core: scenarios in, measures out. Built from crates/py; see `bloatlab.run` and `bloatlab.live`."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | list[str]

class RunOutput(TypedDict):
    """The summary as JSON text, and tables as columns of equal length."""

    summary: str
    tables: dict[str, dict[str, Column]]

class ScenarioError(ValueError):
    """A scenario that cannot be built. `args[0]` is a list of lines: file, path, value, what is valid."""

class PanicException(BaseException):
    """A bug's assertion in the core. Like `KeyboardInterrupt` no `Exception`: nothing takes it for an answer."""

def version() -> str:
    """The version of the core, as in Cargo.toml."""

def resolve(
    text: str, format: Literal["toml", "json"] = "toml", source: str = "", sets: list[tuple[str, str]] = ...
) -> str:
    """The validated scenario with every default filled in, as canonical JSON.

    `source` names the text in messages; `sets` are (path, value) pairs laid over it, later ones winning.
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
    """Simulate to the end without the GIL; with it where a law is written in Python.

    `seed` replaces the scenario's own. `progress` is called now and then with the fraction done, in [0, 1];
    an exception that it raises cancels the run and comes out of this function. `captures` is a folder for left.pcap
    and right.pcap, taken at the ends of `capture_link` (of the slowest link). `laws` has, for each link whose law is
    written in Python, what makes one. `trace` gets the chunks of what the scenario's `trace` asks for: a table's name,
    and its columns as arrays, or as (places, words). Raises `ScenarioError`, `OSError` and `LawFailure`.
    """

class DeliveryTrace(TypedDict):
    """A trace of mahimahi in the compact form of a scenario's `source`, and what it is like."""

    compact: str
    lines: int
    period_ms: int
    longest_gap_ms: int
    gaps_over_100ms: int

def delivery_trace(text: str) -> DeliveryTrace:
    """A trace in mahimahi's format, or in the compact form.

    Raises `ValueError` with two arguments: the line (of the compact form the word), and what is wrong.
    """

def delivery_file(resolved: str, link: str) -> str:
    """What a link of a scenario lets through in its duration, under its seed, as a file of mahimahi.

    Raises `ScenarioError`: no such link, one with a rate, a duration without an opportunity.
    """

class LawFailure(Exception):  # noqa: N818  it is told as a LawError
    """A law in Python broke. `args` are link, method, and what is wrong, None where the cause says it."""

def quantity(text: str) -> tuple[Literal["duration", "rate", "size", "packets", "share"], float] | None:
    """What a text with a unit says, and the number; None for any other text.

    A duration is in ns, a rate in bit/s, a size in bytes, a share a part of one; all but shares are whole.
    """

@final
class LawPacket:
    """A packet as a law sees it."""

    @property
    def flow(self) -> int:
        """Its flow: packets of one flow have one number."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """When it joined the queue."""
    @property
    def ect(self) -> bool:
        """Whether it is ECN-capable, so that it can be marked."""
    @property
    def dscp(self) -> int:
        """Differentiated services code point, 0 to 63."""
    @property
    def pure_ack(self) -> bool:
        """Whether it is a TCP segment without payload."""

@final
class LawView:
    """What a law sees of its queue and link at one call."""

    @property
    def now_ns(self) -> int:
        """The moment of the call."""
    @property
    def sojourn_ns(self) -> int:
        """How long the packet has waited; 0 for an arrival or a tick."""
    @property
    def packets(self) -> int:
        """Packets that wait, without the one in question."""
    @property
    def bytes(self) -> int:
        """Bytes that wait, without the packet in question."""
    @property
    def rate(self) -> int:
        """The link's rate, bit/s: the sustained one of a shaper or a modem."""
    @property
    def downstream_ns(self) -> int:
        """How long a packet that leaves now still waits behind this queue (in a modem)."""
    def expected_delay_ns(self, bytes: int) -> int:
        """How long `bytes` take to leave: at the peak rate while tokens last, then at the sustained one."""
    def random(self) -> float:
        """The next number of the law's own random stream, in [0, 1)."""

class LiveError(RuntimeError):
    """This machine cannot run the bench now, or this build has none."""

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
    look: Callable[[Any], None] | None = None,
) -> RunOutput:
    """Run on the wall clock, without the GIL; see `bloatlab.live.run`.

    `look` is called about ten times a second with what there is to see; what it raises ends the run and comes out.
    Raises `ScenarioError` and `LiveError`; `RuntimeError` for a bug in one of its threads.
    """

def live_clean() -> int:
    """End what dead runs have left behind; how many processes there were."""

def has_live() -> bool:
    """Whether this build has the live bench. Without it `live` raises `LiveError`; `live_clean` has nothing to end."""

def as_toml(resolved: str) -> str:
    """A scenario (canonical JSON) as TOML, without what its defaults say; read back, it is the same.

    Raises `ScenarioError`.
    """

def tc_commands(resolved: str, link: str | None = None) -> str:
    """Shell commands that set Linux up like a scenario's links, or one of them. Raises `ScenarioError`."""

def catalogue() -> str:
    """JSON: the disciplines, applications and TCP presets that the core knows, each with its parameters and source."""

def measures() -> str:
    """JSON: every key that a summary may have, with words, unit, direction and a sentence; and the units."""

def emodel(loss: float, delay_ms: float) -> tuple[float, float]:
    """(R, MOS) of the E-model for a loss fraction in [0, 1] and a one-way delay in milliseconds."""

def session_queues(spec: str, sessions: int, trials: int, seed: int = 1) -> list[tuple[int, int, int]]:
    """Random 5-tuples through the classifier of a fair discipline; an entry for each of 1 to `sessions` sessions.

    An entry counts the trials in which (two sessions share a queue, the first session shares its queue, the first
    session is in a group with more sessions than queues). `spec` is JSON: '"sfq_hss"', '{"sfq_hss": {"groups": 32}}'.
    Raises `ScenarioError` for a discipline that is not valid or not of type A.
    """

EcnWord: TypeAlias = Literal["not-ect", "ect1", "ect0", "ce"]

@final
class Packet:
    """A packet as it comes out of a discipline."""

    @property
    def number(self) -> int:
        """Its number: 0 for the first that was offered."""
    @property
    def flow(self) -> int:
        """Its flow."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """When it was offered."""
    @property
    def ecn(self) -> int:
        """ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def ecn_word(self) -> EcnWord:
        """ECN field by its word."""

@final
class Fate:
    """What a discipline did to a packet, other than send it."""

    @property
    def what(self) -> Literal["dropped", "marked"]:
        """What happened."""
    @property
    def number(self) -> int:
        """The packet's number."""
    @property
    def flow(self) -> int:
        """The packet's flow."""
    @property
    def reason(self) -> str:
        """Why: tail_full, early_head, ..., law, step."""
    @property
    def point(self) -> Literal["enqueue", "dequeue"]:
        """Where."""

@final
class Discipline:
    """A queue discipline by itself: what a simulation runs, fed by hand. Times are nanoseconds and never go back.

    Raises `ValueError` for a time before the last call's, a size of 0, an ECN field that there is not.
    """

    def __new__(cls, spec: str, rate: str = "5mbit", seed: int = 1) -> Self:
        """`spec` is the JSON of a scenario's `queue`; see `bloatlab.parts.discipline`."""
    def enqueue(
        self,
        time_ns: int,
        size: int,
        flow: int = 0,
        ecn: int | EcnWord = 0,
        dscp: int = 0,
        addresses: tuple[str, str] | None = None,
    ) -> list[Fate]:
        """Offers a packet of `size` bytes; the fates that this caused, its own included if it was refused.

        `ecn` is the field's code or its word, `addresses` are the IPv4 addresses of source and destination; without
        them each flow is a host of its own.
        """
    def probe(self) -> dict[str, Any]:
        """The discipline's state now, by the names and units of a trace (docs/traces.md).

        `queues` is a list with the state of each queue in service, for disciplines that have several.
        """
    def dequeue(self, time_ns: int) -> tuple[Packet | None, list[Fate]]:
        """Asks for the next packet; it, or None, and the fates that this caused."""
    def wake(self, time_ns: int) -> list[Fate]:
        """Lets the discipline's timer happen; the fates that this caused."""
    @property
    def next_wake_ns(self) -> int | None:
        """When the discipline wants `wake`; None for never."""
    @property
    def packets(self) -> int:
        """Packets waiting."""
    @property
    def bytes(self) -> int:
        """Bytes waiting."""

@final
class SentSegment:
    """A segment that a sender put on the wire."""

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
        """Whether part of it was sent before."""

@final
class TcpSender:
    """A TCP sender by itself, already connected: the simulator's own, fed with ACKs by hand.

    Round trips are measured from send times (Karn's rule), so ACKs need no time stamps; `rtt` is that of the handshake.
    Times are nanoseconds and never go back (`ValueError`).
    """

    def __new__(cls, stack: str = '{"preset": "linux-6"}', rtt: str | None = None) -> Self:
        """`stack` is the JSON of a scenario's TCP table; see `bloatlab.parts.tcp_sender`."""
    def write(self, time_ns: int, bytes: int) -> list[SentSegment]:
        """Gives it `bytes` more to send; the segments that leave at once."""
    def ack(self, time_ns: int, number: int, sack: list[tuple[int, int]] = ..., ece: bool = False) -> list[SentSegment]:
        """An ACK: everything below `number` has been received, and the blocks (start, end) above it.

        `ece` is the echo of a CE mark, for a stack with `ecn`.
        """
    def timer(self, time_ns: int) -> list[SentSegment]:
        """Lets its timer happen, if it is due; the segments that leave."""
    @property
    def deadline_ns(self) -> int | None:
        """When its timer is due; None if none runs."""
    @property
    def cwnd_bytes(self) -> int:
        """Congestion window."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """Slow start threshold; None while it is infinite."""
    @property
    def in_flight_bytes(self) -> int:
        """Bytes believed to be in the network."""
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
        """Segments taken for lost and not acknowledged since, sent again or not."""
    @property
    def retransmits(self) -> int:
        """Segments sent again so far."""
    @property
    def timeouts(self) -> int:
        """Retransmission timeouts so far."""
    @property
    def fast_recoveries(self) -> int:
        """Fast recoveries so far."""
    @property
    def ecn_reductions(self) -> int:
        """Reductions so far that answered an ECN echo."""
    @property
    def mss(self) -> int:
        """Largest payload of a segment, bytes."""
