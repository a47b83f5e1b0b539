"""The compiled core, built from crates/py; see `bloatlab.run` and `bloatlab.live`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

#: A column of a table. A list of None stands for a counter that this run did not have.
Column: TypeAlias = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | list[str] | list[None]

@final
class Tables:
    """The tables of a run by name. A table is copied to Python when it is read."""

    def keys(self) -> list[str]:
        """Return the names of the tables."""
    def get(self, name: str) -> dict[str, Column] | None:
        """Return the columns of a table, of equal length; None if there is no such table."""

class RunOutput(TypedDict):
    """The summary as JSON text, and the tables."""

    summary: str
    tables: Tables

class LiveOutput(TypedDict):
    """A run's output, and the scenario as it was run (canonical JSON)."""

    summary: str
    tables: Tables
    scenario: str

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
        "impairments": Mapping[str, Any],
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
    """The records of a run: the bin width of series, the links and applications that have series, and the warm-up."""

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
    """A scenario that cannot be built. `args[0]` is a list of texts, one for each problem."""

class PanicException(BaseException):
    """A failed assertion in the core, which is a bug. Not an `Exception`, so that it is not caught by accident."""

def version() -> str:
    """Return the version of the core, as in Cargo.toml."""

def resolve(
    text: str, format: Literal["toml", "json"] = "toml", source: str = "", sets: list[tuple[str, str]] = ...
) -> str:
    """Read, override, validate and complete a scenario; return its canonical JSON.

    `source` names the text in messages. `sets` are overrides as (path, value) pairs; the last one for a path wins.
    Raises `ScenarioError`.
    """

def schema() -> str:
    """Return the JSON Schema of a scenario."""

def run(
    resolved: str,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
    captures: str | None = None,
    capture_link: str | None = None,
    factories: Mapping[str, Callable[[], object]] | None = None,
    trace: Callable[[str, dict[str, Any]], object] | None = None,
) -> RunOutput:
    """Build and run a scenario (canonical JSON, see `resolve`).

    `seed` replaces the seed of the scenario. `progress` is called every few milliseconds with the fraction done (0 to
    1); an exception in it ends the run and is raised here. `captures` is a folder for left.pcap and right.pcap,
    captured at the ends of `capture_link` (by default the slowest link). For each table with a class in Python
    ("link.up", "tcp.mine"), `factories` has a callable that makes an object. A run with classes in Python keeps the
    GIL; other runs release it. `trace` receives the chunks of the tables that the scenario's `trace` selects: the
    table's name, and its columns. A column is an array or, for texts, a tuple (index of each row's text, the texts).
    Raises `ScenarioError`, `OSError`, `ClassFailure`.
    """

class DeliveryTrace(TypedDict):
    """A mahimahi trace in the compact form that a scenario stores under `source`, with its statistics."""

    compact: str
    lines: int
    period_ms: int
    longest_gap_ms: int
    gaps_over_100ms: int

def delivery_trace(text: str) -> DeliveryTrace:
    """Read a trace in mahimahi's format, or in the compact form that a scenario stores under `source`.

    Raises `ValueError` with two arguments: the number of the line (in the compact form, of the entry), and the mistake.
    """

def delivery_file(resolved: str, link: str) -> str:
    """Return the delivery opportunities of a link as the text of a mahimahi file.

    The file covers the duration of the scenario (canonical JSON); random opportunities are drawn with its seed. Raises
    `ScenarioError` for an unknown link, for a link with a rate, and for a duration without an opportunity.
    """

class ClassFailure(Exception):  # noqa: N818  users see it as a ClassError
    """A class of the user failed in a run.

    `args` are the key of its factory, the method, the mistake (None if the exception has a cause), and the place in the
    run (None if it has none).
    """

class EndpointFailure(Exception):  # noqa: N818  users see it as an EndpointError
    """An endpoint misbehaved. `args` are endpoint, time (ns), method and action. The cause is its exception."""

def quantity(text: str) -> tuple[Literal["duration", "rate", "size", "packets", "share"], float] | None:
    """Parse a number with a unit; return its kind and its value, or None if the text is not valid or has no unit.

    A duration is in ns, a rate in bit/s, a size in bytes. A share is a fraction; all other values are integers.
    """

@final
class ControllerStart:
    """The initial window of a new connection, and facts about its TCP stack."""

    @property
    def cwnd(self) -> float:
        """Initial window, segments."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold, segments; infinite unless the stack sets it."""
    @property
    def mss(self) -> int:
        """Largest payload of a segment, bytes."""
    @property
    def whole_segments(self) -> bool:
        """True if the window is a whole number of segments."""
    @property
    def paced(self) -> bool:
        """True if the stack paces segments regardless of the controller."""
    @property
    def counts_marks(self) -> bool:
        """True if `ecn_feedback` selects ACKs that report the number of CE marks, whether or not ECN is in use."""

@final
class ControllerMoment:
    """The time of a call to a controller, and the window at that time."""

    @property
    def now_ns(self) -> int:
        """Time of the call, ns."""
    @property
    def cwnd(self) -> float:
        """Congestion window, segments."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold, segments."""
    def random(self) -> float:
        """Return the next number of the controller's own random stream, in [0, 1)."""

@final
class ControllerSample:
    """An ACK, as a controller sees it."""

    @property
    def cwnd(self) -> float:
        """Congestion window, segments."""
    @property
    def ssthresh(self) -> float:
        """Slow start threshold, segments."""
    @property
    def now_ns(self) -> int:
        """Arrival time of the ACK, ns."""
    @property
    def acked(self) -> float:
        """Segments newly acknowledged cumulatively."""
    @property
    def credit(self) -> float:
        """Segments that this ACK adds to the growth of the window: those newly delivered, at most `abc_limit`."""
    @property
    def delivered(self) -> int:
        """Bytes newly delivered, cumulatively or by SACK."""
    @property
    def lost(self) -> int:
        """Bytes newly declared lost."""
    @property
    def round_ended(self) -> bool:
        """True if this ACK ends a round trip: the data in flight at its beginning is now acknowledged."""
    @property
    def marked(self) -> bool:
        """True if the ACK reports a CE mark."""
    @property
    def ecn(self) -> bool:
        """True if ECN is in use."""
    @property
    def segments(self) -> int:
        """Segments newly delivered. Set only if ECN is in use, like `ce_packets` and `ce_bytes`."""
    @property
    def ce_packets(self) -> int:
        """CE-marked packets reported by this ACK. Without AccECN: all segments delivered by an ACK with ECE."""
    @property
    def ce_bytes(self) -> int:
        """Payload bytes of the packets in `ce_packets`; an estimate if AccECN is used without its option."""
    @property
    def rtt_us(self) -> int | None:
        """Round-trip time measured by this ACK, microseconds; None if it measures none."""
    @property
    def one_way_us(self) -> int | None:
        """One-way delay plus the clocks' offset, microseconds modulo 2^32; None unless the class needs `one_way`."""
    @property
    def srtt_ns(self) -> int:
        """Smoothed round-trip time, ns."""
    @property
    def flight_before(self) -> int:
        """Bytes in flight before the ACK."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight now."""
    @property
    def una(self) -> int:
        """SND.UNA: all bytes below this sequence number are acknowledged."""
    @property
    def next(self) -> int:
        """SND.NXT: sequence number of the next new byte to send."""
    @property
    def rests(self) -> bool:
        """True if the window must not grow on this ACK. False with the need `repair`.

        If true, only `probing_delay` of the result of `on_ack` is used.
        """
    @property
    def cwnd_limited(self) -> bool:
        """True if the window limited the sender, by the rule of `cwnd_validation`; always true with `off`.

        If false, the window must not grow.
        """
    @property
    def window_filled(self) -> bool:
        """True if the window stopped the sender at some time in the current round trip."""
    @property
    def state(self) -> str:
        """State of the sender before it responds to losses and marks: "open", "cwr", "recovery" or "loss".

        If the class lists `repair` in its needs: the state after the response to losses.
        """
    @property
    def rate(self) -> ControllerRate | None:
        """Delivery rate; None if this ACK yields no sample.

        Set only if the class lists `rates` in its needs, like `total_delivered` and `held_back_ns`.
        """
    @property
    def total_delivered(self) -> int:
        """Bytes delivered since the connection began."""
    @property
    def held_back_ns(self) -> int:
        """Time until pacing lets the next segment leave, ns."""
    def random(self) -> float:
        """Return the next number of the controller's own random stream, in [0, 1)."""

@final
class ControllerRate:
    """A delivery rate sample, taken from the newest segment that the ACK acknowledges, cumulatively or by SACK."""

    @property
    def bytes(self) -> int:
        """Bytes delivered over the interval."""
    @property
    def interval_ns(self) -> int:
        """Time over which `bytes` were sent, or over which they were acknowledged, whichever is longer, ns."""
    @property
    def prior_delivered(self) -> int:
        """Bytes that had been delivered when the newest acknowledged segment was sent."""
    @property
    def app_limited(self) -> bool:
        """True if the application limited the sending rate when the newest acknowledged segment was sent.

        Also true if `probing_delay` was true then.
        """
    @property
    def rtt_us(self) -> int | None:
        """Round-trip time, microseconds.

        With `rtt_source = "echo"`: that of the newest acknowledged segment; None if it was retransmitted. With
        `send-time`: the same as `rtt_us` of the ACK's sample.
        """
    @property
    def compressed(self) -> bool:
        """True if the ACKs were compressed; the rate is then invalid."""
    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight when the newest acknowledged segment was sent, including this segment."""
    @property
    def lost(self) -> int:
        """Bytes declared lost since the newest acknowledged segment was sent."""

@final
class ControllerLoss:
    """A segment newly declared lost."""

    @property
    def bytes(self) -> int:
        """Payload bytes."""
    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight when the segment was sent, including the segment."""
    @property
    def lost(self) -> int:
        """Bytes declared lost since the segment was sent, including the segment."""
    @property
    def app_limited(self) -> bool:
        """True if the application limited the sending rate, or `probing_delay` was true, when the segment was sent."""
    @property
    def total_delivered(self) -> int:
        """Bytes delivered since the connection began."""
    @property
    def adjoins(self) -> bool:
        """True if the preceding segment in sequence order was declared lost at the same time."""

@final
class Drive:
    """The output of a controller. Values that are omitted stay as they were, but `probing_delay` becomes false."""

    def __new__(
        cls,
        cwnd: float | None = None,
        ssthresh: float | None = None,
        *,
        pacing_rate: float | None = None,
        quantum: int | None = None,
        max_payload: int | None = None,
        reduction: bool | None = None,
        probing_delay: bool = False,
    ) -> Self:
        """Make an output.

        `cwnd` and `ssthresh` are in segments, `pacing_rate` in bit/s of payload (infinite: no pacing). `quantum`
        segments leave back to back before the pacer waits, 1 at first. `max_payload` is the largest payload of a new
        segment in bytes. With `reduction` false, the sender no longer reduces the window itself, except after a
        timeout. `probing_delay` says that the window is small on purpose; delivery rates then do not show the
        bandwidth.
        """

    @property
    def cwnd(self) -> float | None:
        """Congestion window, segments."""
    @property
    def ssthresh(self) -> float | None:
        """Slow start threshold, segments."""
    @property
    def pacing_rate(self) -> float | None:
        """Pacing rate, bit/s of payload; infinite: no pacing."""
    @property
    def quantum(self) -> int | None:
        """Segments that leave back to back before the pacer waits; 1 at first."""
    @property
    def max_payload(self) -> int | None:
        """Largest payload of a new segment, bytes; 0: the MSS."""
    @property
    def reduction(self) -> bool | None:
        """True if the sender itself reduces the window after congestion and idle periods, not only after timeouts."""
    @property
    def probing_delay(self) -> bool:
        """True if the window is small on purpose; delivery rates then do not show the bandwidth."""

@final
class LawPacket:
    """A packet as a law sees it."""

    @property
    def flow(self) -> int:
        """Number of the packet's flow."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """Time of arrival at the queue, ns."""
    @property
    def ect(self) -> bool:
        """True if the packet is ECN-capable, which means that it can be marked."""
    @property
    def dscp(self) -> int:
        """Differentiated services code point, 0 to 63."""
    @property
    def pure_ack(self) -> bool:
        """True for a TCP segment without payload, and without SYN, FIN and RST."""

@final
class LawView:
    """A law's view of its queue and link during a call."""

    @property
    def now_ns(self) -> int:
        """Time of the call, ns."""
    @property
    def sojourn_ns(self) -> int:
        """Queueing delay of the call's packet so far, ns; 0 for an arrival or a tick."""
    @property
    def packets(self) -> int:
        """Packets in the queue (or in all queues, see `law_sees`), not counting the call's packet."""
    @property
    def bytes(self) -> int:
        """Bytes in the queue (or in all queues, see `law_sees`), not counting the call's packet."""
    @property
    def rate(self) -> int:
        """Sustained rate of the shaper or modem, otherwise the (mean) rate of the link, bit/s."""
    @property
    def downstream_ns(self) -> int:
        """Further delay of a packet that leaves the queue now, ns: the wait in a modem's transmit queue."""
    def expected_delay_ns(self, bytes: int) -> int:
        """Return the ns that `bytes` take to leave: at the peak rate while tokens last, then at the sustained rate."""
    def random(self) -> float:
        """Return the next number of the law's own random stream, in [0, 1)."""

class LiveError(RuntimeError):
    """This machine cannot run the bench now: no TUN device, no rights, no socket, or a build without the bench."""

class LinkView(TypedDict):
    """One link: its current queue (`packets`, `bytes`). All other numbers are those since the start of the run."""

    link: str
    packets: int
    bytes: int
    sent_packets: int
    sent_bytes: int
    sojourn_ms_sum: float
    sojourn_ms_max: float
    dropped: int

class LiveView(TypedDict):
    """The state of a run in progress.

    `late_p99_ms` is the 99th percentile of the lateness of packets so far; None before the first packet has left.
    """

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
) -> LiveOutput:
    """Run a scenario (canonical JSON) live; see `bloatlab.live.run`. The GIL is released except during `look`.

    `look` is called about ten times a second with the state of the run; an exception in it ends the run and is raised.
    Raises `ScenarioError` and `LiveError`; `RuntimeError` for a bug in one of the bench's threads.
    """

def live_clean() -> int:
    """End the processes that crashed runs have left behind; return their number."""

def has_live() -> bool:
    """Return True if this build has the live bench. Without it `live` raises `LiveError` and `live_clean` returns 0."""

def as_toml(resolved: str) -> str:
    """Write a scenario (canonical JSON, see `resolve`) as TOML.

    The TOML omits defaults and is read back as the same scenario. Raises `ScenarioError`.
    """

def tc_commands(resolved: str, link: str | None = None) -> str:
    """Return shell commands that configure Linux like the links of a scenario, or only like `link`.

    Raises `ScenarioError`.
    """

def link_rates(resolved: str) -> dict[str, tuple[int | None, int | None]]:
    """Return the rates of each link of a scenario in bit/s, None for a rate that the link does not have.

    The first is the lowest of the rates of the wire, of the shaper, modem or delivery opportunities, and of the queue's
    own shaper; the second is the rate of the queue's own shaper. Raises `ScenarioError`.
    """

def tc_table(text: str) -> str | None:
    """Parse a queue in tc syntax, or the name of a discipline, into the table of a scenario as JSON.

    The table contains only the parameters that the text sets. Returns None if the text is not valid.
    """

def catalogue() -> str:
    """Return all disciplines, kinds of links, applications, TCP presets and scales of grades as JSON."""

def measures() -> str:
    """Return all measures of a summary (label, unit, which values are better, description) and the units as JSON."""

def emodel(loss: float, delay_ms: float) -> tuple[float, float]:
    """Return R and MOS of the E-model for a share of lost packets (0 to 1) and the total one-way delay in ms."""

def session_queues(spec: str, sessions: int, trials: int, seed: int = 1) -> list[tuple[int, int, int]]:
    """Count hash collisions among active sessions with random 5-tuples.

    Returns a tuple for each number of sessions from 1 to `sessions`: the numbers of trials in which any two sessions
    shared a queue, in which the first session shared its queue, and in which the first session was in a group with more
    sessions than queues. With serial search, the hash selects a group of queues; otherwise, each queue is a group.

    `spec` is a fair discipline as JSON: its name in quotes ('"sfq_hss"') or a table ('{"sfq_hss": {"groups": 32}}').
    Raises `ScenarioError` if the discipline is invalid or not fair.
    """

@final
class DrivenRun:
    """A run in progress; see `bloatlab.open`. Times are in nanoseconds.

    Raises `ScenarioError` for invalid input, and the failures of code in Python.
    """

    def __new__(cls, resolved: str, factories: Mapping[str, Callable[[], object]] | None = None) -> Self:
        """Build a run of a scenario (canonical JSON, see `resolve`) at time 0; `factories` as in `run`."""
    @property
    def now_ns(self) -> int:
        """Time that the run has reached, ns."""
    @property
    def over(self) -> bool:
        """True after `finish`."""
    @property
    def scenario(self) -> str:
        """The scenario with the changes of links made so far, as canonical JSON."""
    def run_until(self, time_ns: int) -> None:
        """Handle all events before a time."""
    def finish(self) -> RunOutput:
        """Run to the end; return the summary and the tables, as `run` does."""
    def fork(self) -> DrivenRun:
        """Return an independent copy of the run."""
    def link(self, name: str) -> dict[str, Any]:
        """Return the state of a link."""
    def set_link(self, name: str, change: str) -> None:
        """Change a link now. `change` is JSON, as in the link's `changes`, without `at`."""
    def flows(self, app: str) -> int:
        """Return the number of flows of an application."""
    def sender(self, app: str, flow: int) -> dict[str, Any]:
        """Return the state of a flow's sender."""
    def active(self, app: str, flow: int) -> list[int]:
        """Return the numbers of a flow's connections over which payload may still arrive."""
    def sent(self, app: str, flow: int, reverse: bool) -> dict[str, int]:
        """Return the totals of a flow's clients (if `reverse`, of its servers) over all its connections.

        They are payload delivered, retransmissions, timeouts, and CE-marked packets reported by ACKs.
        """
    def set_sender(self, app: str, flow: int, key: str, value: int | None) -> None:
        """Set "cwnd" (bytes), "ssthresh" (bytes; None: infinite) or "pacing_rate" (bit/s; None: off) of a sender."""

def timeline(resolved: str) -> tuple[str, list[tuple[int, str]]] | None:
    """Return the timeline of a scenario (canonical JSON, see `resolve`).

    The first item is a string that describes everything in effect from the start. The second item lists the later
    actions in order, each as (time in ns, string). None if the run depends on more than the scenario: on code in
    Python, or on endpoints.
    """

@final
class Past:
    """A run up to some time. It can continue as any scenario that has the same actions up to that time."""

    def __new__(cls, resolved: str) -> Self:
        """Build the past of a scenario (canonical JSON, see `resolve`) at time 0."""
    def advance(self, resolved: str, until_ns: int, progress: Callable[[float], None] | None = None) -> Past:
        """Return a copy that has run on to `until_ns` with the given scenario; `progress` as in `run`."""
    def finish(self, resolved: str, progress: Callable[[float], None] | None = None) -> RunOutput:
        """Run a copy to the end with the given scenario; return the summary and the tables, as `run` does."""

@final
class Datagram:
    """A datagram that arrives at an endpoint."""

    @property
    def sender(self) -> tuple[str, int]:
        """Address and port of the sender."""
    @property
    def ecn(self) -> int:
        """ECN field on arrival: 0 is not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def data(self) -> bytes:
        """The bytes that the sender supplied. If they are a whole IP packet, its ECN field is set to `ecn`."""

@final
class NetworkRun:
    """A network with endpoints in Python; see `bloatlab.Network`. Times are in nanoseconds.

    Raises `ScenarioError` for invalid input, `EndpointFailure`, and the failures of code in Python.
    """

    def __new__(cls, resolved: str, factories: Mapping[str, Callable[[], object]] | None = None) -> Self:
        """Build a network of a scenario (canonical JSON, see `resolve`) at time 0; `factories` as in `run`."""
    @property
    def now_ns(self) -> int:
        """Time that the run has reached, ns."""
    @property
    def over(self) -> bool:
        """True after `finish`, or after the failure of an endpoint."""
    @property
    def scenario(self) -> str:
        """The scenario as canonical JSON. Once the network has run, it includes an application for each endpoint."""
    def add_endpoint(
        self, node: str, endpoint: object, name: str | None, mtu: int, whole_packets: bool
    ) -> tuple[tuple[str, int], str]:
        """Add an endpoint with the methods of `bloatlab.network.METHODS`; return its address and its name."""
    def fork(self, endpoints: Sequence[object]) -> NetworkRun:
        """Return a copy of the network. `endpoints` are copies of its endpoints, in the order of their addition."""
    def capture(self, folder: str | Path, link: str | None = None) -> None:
        """Capture whole packets at both ends of `link` (by default the slowest) in `folder`."""
    def run_until(self, time_ns: int) -> None:
        """Handle all events before a time."""
    def finish(self) -> None:
        """Run to the end, and write the rest of the captures."""
    def outcome(self) -> RunOutput:
        """Return the summary and the tables of the run so far, as `run` does."""

EcnWord: TypeAlias = Literal["not-ect", "ect1", "ect0", "ce"]

@final
class Packet:
    """A packet that a discipline has dequeued."""

    @property
    def number(self) -> int:
        """Number of the packet. Packets are numbered from 0 in the order in which they were offered."""
    @property
    def flow(self) -> int:
        """Number of the packet's flow."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def enqueued_ns(self) -> int:
        """Time at which the packet was offered, ns."""
    @property
    def ecn(self) -> int:
        """ECN field: 0 is not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def ecn_word(self) -> EcnWord:
        """Name of the ECN field."""

@final
class Fate:
    """The drop or the mark of a packet by a discipline."""

    @property
    def what(self) -> Literal["dropped", "marked"]:
        """The event: a drop or a mark."""
    @property
    def number(self) -> int:
        """The packet's number."""
    @property
    def flow(self) -> int:
        """The packet's flow."""
    @property
    def reason(self) -> str:
        """The reason: `tail_full`, `early_head` and others for a drop, `law` or `step` for a mark."""
    @property
    def point(self) -> Literal["enqueue", "dequeue"]:
        """The event at which the decision was made: an arrival (enqueue) or a departure (dequeue)."""

@final
class Discipline:
    """A single queue discipline, with the same code as in simulations. The caller offers and dequeues packets.

    Times are in nanoseconds and must not decrease.
    Raises `ValueError` for a time before that of the last call, a size of 0, and an invalid flow, DSCP, ECN field or
    address.
    """

    def __new__(cls, spec: str, rate: str = "5mbit", seed: int = 1) -> Self:
        """`spec` is JSON as in the `queue` of a scenario's link; see `bloatlab.machines.discipline`."""
    def enqueue(
        self,
        time_ns: int,
        size: int,
        flow: int = 0,
        ecn: int | EcnWord = 0,
        dscp: int = 0,
        addresses: tuple[str, str] | None = None,
    ) -> list[Fate]:
        """Offer a packet of `size` bytes; return the resulting drops and marks, of this packet or of other packets.

        `ecn` is the value of the ECN field or its name. `addresses` are the IPv4 addresses of source and destination;
        without them, each flow gets its own source address.
        """
    def probe(self) -> dict[str, Any]:
        """Return the discipline's state, with the names and units of a trace (docs/traces.md).

        For a discipline with inner queues, `queues` is a list with the states of its classes or of its active queues.
        """
    def dequeue(self, time_ns: int) -> tuple[Packet | None, list[Fate]]:
        """Dequeue the next packet; return it, or None if no packet leaves, and the resulting drops and marks."""
    def wake(self, time_ns: int) -> list[Fate]:
        """Run the discipline's timer; return the resulting drops and marks."""
    @property
    def next_wake_ns(self) -> int | None:
        """Time at which the discipline's timer expires, ns; None if it is not running."""
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
        """Sequence number of the first payload byte; the stream starts at 1."""
    @property
    def length(self) -> int:
        """Payload bytes."""
    @property
    def size(self) -> int:
        """Bytes on the wire."""
    @property
    def retransmission(self) -> bool:
        """True if any part of the segment was sent before."""

@final
class TcpSender:
    """A single TCP sender, with the same code as in simulations. It is already connected; the caller passes it ACKs.

    `rtt` is the round-trip time of the handshake. Without `rtt`, there is no RTT estimate before the first sample, and
    RACK's reordering window is 0 until then. Later round trips are measured from the times of sending, with Karn's
    rule, so ACKs need no time stamps. Times are in nanoseconds and must not decrease (`ValueError`).
    """

    def __new__(cls, stack: str = '{"preset": "linux-6"}', rtt: str | None = None) -> Self:
        """`stack` is the JSON of a scenario's TCP table; see `bloatlab.machines.tcp_sender`."""
    def write(self, time_ns: int, bytes: int) -> list[SentSegment]:
        """Add `bytes` to the data to send; return the segments that leave at once."""
    def ack(self, time_ns: int, number: int, sack: list[tuple[int, int]] = ..., ece: bool = False) -> list[SentSegment]:
        """Process an ACK of all bytes below `number`, with SACK blocks (also a DSACK block), each a tuple (start, end).

        `ece` is the echo of a CE mark, for a stack with `ecn`. Returns the segments that leave.
        """
    def timer(self, time_ns: int) -> list[SentSegment]:
        """Run the sender's timer, if it is due; return the segments that leave."""
    @property
    def deadline_ns(self) -> int | None:
        """Time at which the sender's timer expires, ns; None if it is not running."""
    @property
    def cwnd_bytes(self) -> int:
        """Congestion window, bytes."""
    @property
    def ssthresh_bytes(self) -> int | None:
        """Slow start threshold, bytes; None while it is infinite."""
    @property
    def in_flight_bytes(self) -> int:
        """Estimated bytes in flight."""
    @property
    def srtt_ms(self) -> float:
        """Smoothed round-trip time, ms; 0 while there is no estimate."""
    @property
    def rto_ms(self) -> float:
        """Retransmission timeout including backoff, ms."""
    @property
    def state(self) -> Literal["open", "cwr", "recovery", "loss"]:
        """Congestion state: cwr (reducing after an ECN echo), recovery (fast recovery) or loss (after a timeout)."""
    @property
    def lost_segments(self) -> int:
        """Segments declared lost and since then neither acknowledged nor SACKed, whether retransmitted or not."""
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
        """Window reductions by the sender (not by its controller) in response to an ECN echo so far."""
    @property
    def mss(self) -> int:
        """Largest payload of a segment, bytes."""
