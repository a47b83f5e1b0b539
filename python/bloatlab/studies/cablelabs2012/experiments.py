"""What CableLabs 2012 names and does not report, and what its silence costs: further runs, asked for by name.

`tables`, `plateau` and `alone` are always run: the tables and claims stand on them. A *reading* runs all 27 cases with one thing read
otherwise and is judged by the study's rules like the study itself; where a cell differs, the readings that could be the
reason are run for it (`explanations.py`). The other experiments have no published values; each shows a table of ours.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from bloatlab.studies.cablelabs2012.build import SECONDS, Between, PageModel, Setup
from bloatlab.studies.cablelabs2012.cases import NUMBERS, Case, Queue, case, grid
from bloatlab.studies.cablelabs2012.parameters import DISCIPLINES, UNKNOWNS, Free


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing read otherwise than the study does, in every case."""

    what: str
    setup: Setup


_OWN = Free()

#: What the study took for three things until the paper's words for them were followed (`parameters.py` has the words).
BEFORE = Free(link_rate="100mbit", burst_file="18750000B", bulk_initial_window=2)

#: The readings by name. Each is an experiment, and none is the study's: its words or sources are weaker, or a counted cell
#: would have to choose it.
READINGS: dict[str, Reading] = {
    "live": Reading(
        "REQ(1) is what is unrequested now: an interval less in the request/grant loop",
        Setup(free=Free(request_vector="live")),
    ),
    "store_all": Reading("a DropTail of n packets stores n, in both queues", Setup(free=Free(ns2_droptail=False))),
    "pause": Reading("a burst begins 16 s after the one before has ended", Setup(free=Free(bursty_schedule=False))),
    "bursty_window": Reading("the bursty sender has a window of 96 segments", Setup(bursty_window=96)),
    "bursty_window_67": Reading(
        "the bursty sender has a window of 67 segments, a burst has 18.75 MB of payload, and a DropTail of n packets stores n",
        Setup(bursty_window=67, free=Free(burst_file="18750000B", ns2_droptail=False)),
    ),
    "bulk_acks_of_two": Reading("every second segment of the bulk transfers is acknowledged", Setup(bulk_ack_every=2)),
    "round_trips_apart": Reading(
        "five transfers whose round trips are 2 ms apart, as in the CoDel scripts of the time",
        Setup(round_trip_step_ms=2.0),
    ),
    "interleaved": Reading(
        "the connections of a page open to one server after the other", Setup(free=Free(web_open_order="interleaved"))
    ),
    "kmn": Reading("CoDel of ns-2's revision kmn", Setup(free=Free(codel_variant="kmn"))),
    "channel_1": Reading("one channel of 64-QAM: 24.576 Mbit/s", Setup(free=Free(link_rate="24576kbit"))),
    "channel_100": Reading("a channel of 100 Mbit/s, as ns-2's example", Setup(free=Free(link_rate="100mbit"))),
    "burst_payload": Reading("a burst has 18.75 MB of payload", Setup(free=Free(burst_file="18750000B"))),
    "initial_window_2": Reading("bulk transfers begin with 2 segments", Setup(free=Free(bulk_initial_window=2))),
    "before": Reading("100 Mbit/s, 18.75 MB of payload and 2 segments together", Setup(free=BEFORE)),
    "kmn_alone": Reading("as before, but for CoDel's revision kmn", Setup(free=BEFORE.with_(codel_variant="kmn"))),
    "channel_2_alone": Reading(
        "as before, but for the study's channel", Setup(free=BEFORE.with_(link_rate=_OWN.link_rate))
    ),
    "burst_wire_alone": Reading(
        "as before, but for the study's burst", Setup(free=BEFORE.with_(burst_file=_OWN.burst_file))
    ),
    "initial_window_4_alone": Reading(
        "as before, but for the study's initial window",
        Setup(free=BEFORE.with_(bulk_initial_window=_OWN.bulk_initial_window)),
    ),
}

#: Name of each experiment and what it asks.
EXPERIMENTS: dict[str, str] = {
    "parameters": "the calibration cases with every value that was tried: what the free parameters were chosen on",
    "page": "how a page is fetched, on D01 and D02: what was tried to find 2.756 s with 417 packets and 4.026 s with 21",
    "readings": "every reading below, one after the other",
    "peak": "one transfer under CoDel in the burst, with the first page in it and after it: is the plateau its own?",
    "congestion": "cases 11 to 19: grants of the sustained rate and no more, with each transmit queue alternative",
    "pages": "the page of Appendix A, as listed and drawn afresh, in all cases",
    "bytes": "a DropTail buffer of 50 ms in bytes beside the 21 packets that stand for it",
    "targets": "CoDel targets other than 5 ms with each transmit queue alternative",
    "disciplines": "all nine cases with PIE, DOCSIS-PIE, LRED, SFQ with serial search, SFQ-CoDel and fq_codel",
    "sensitivity": "what the paper does not say, one value at a time, on one case of each kind",
    **{name: f"all cases, judged: {reading.what}" for name, reading in READINGS.items()},
}

TARGETS = ("2ms", "5ms", "10ms", "20ms")


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of an experiment: its case, what is changed, and the words for that."""

    experiment: str
    case: Case
    label: str
    setup: Setup

    @property
    def key(self) -> str:
        """Name in results: the case, and what is changed in it."""
        if self.setup.discipline is not None:  # the paper's name for a case says its queue
            return f"{self.case.number:02d} {self.label}"
        return f"{self.case.key} {self.label}".rstrip()

    def __str__(self) -> str:
        return self.key


#: The transmit queue alternatives of CableLabs 2012 §2.2.3. The sojourn over both queues exists for CoDel only.
ALTERNATIVES: dict[str, Setup] = {
    "drop between queues": Setup(),
    "back-pressure": Setup(between=Between.BACK_PRESSURE),
    "sojourn over both": Setup(sojourn_both=True),
    "back-pressure, sojourn over both": Setup(between=Between.BACK_PRESSURE, sojourn_both=True),
}


def tables() -> list[Trial]:
    """The 27 runs of Tables 3 to 8."""
    return [Trial("tables", c, "", Setup()) for c in grid()]


def plateau() -> list[Trial]:
    """The buffers with which one CUBIC flow is said not to get stuck (CableLabs 2012 §4.1.3)."""
    stuck = case(3, Queue.CODEL)
    return [Trial("plateau", stuck, f"limit {n}p", Setup(limit=f"{n}p")) for n in (130, 170)]


def alone() -> list[Trial]:
    """The transfers that §4.1 and Figures 2 to 9 describe, and D02's, without pages: the first one is asked for at the end.

    Only D04, whose sentence is about all of the time, takes the whole run.
    """
    whole, burst = (Setup(free=Free(web_start=f"{n - 1}s"), seconds=n) for n in (SECONDS, 60))
    cases = [case(n, q) for q in Queue for n in (3, 5)] + [case(2, Queue.DROPTAIL_21)]
    stuck = [Trial("alone", t.case, f"{t.label}, alone", burst.with_(limit=t.setup.limit)) for t in plateau()]
    crowded = Trial("alone", case(4, Queue.DROPTAIL_21), "alone", whole)
    return [*(Trial("alone", c, "alone", burst) for c in cases), *stuck, crowded]


def with_pages(key: str) -> str:
    """The key of the same run with pages: that of the claims."""
    return key.removesuffix(" alone").removesuffix(",")


def trials(name: str) -> list[Trial]:
    """The configurations of one experiment; of `readings` those of all. Raises `KeyError` for a name that `EXPERIMENTS` does not have."""
    if name in READINGS:
        return [read(name, c) for c in grid()]
    if name == "readings":
        return [trial for reading in READINGS for trial in trials(reading)]
    return {
        "parameters": _parameters,
        "page": _page,
        "peak": _peak,
        "congestion": _congestion,
        "pages": _pages,
        "bytes": _bytes,
        "targets": _targets,
        "disciplines": _disciplines,
        "sensitivity": _sensitivity,
    }[name]()


def read(name: str, which: Case) -> Trial:
    """One case under a reading."""
    return Trial(name, which, name, READINGS[name].setup)


#: On which free parameters may be chosen.
CALIBRATION = tuple(c for c in grid() if c.calibration)


def _parameters() -> list[Trial]:
    tried = [("as the study", Free())]
    tried += [(f"{u.field} {v}", Free().with_(**{u.field: v})) for u in UNKNOWNS if u.calibrated for v in u.others]
    return [
        Trial("parameters", c, label, Setup(free=free))
        for label, free in tried
        for c in CALIBRATION
        if label == "as the study" or _matters(label.split()[0], c)
    ]


def _page() -> list[Trial]:
    """Every combination of what the page's words and sources leave open, on the three rows that speak of it."""
    rows = [case(1, Queue.DROPTAIL_417), case(1, Queue.DROPTAIL_21), case(2, Queue.DROPTAIL_21)]
    axes: dict[str, tuple[object, ...]] = {
        "request_vector": ("recorded", "live"),
        "map_clock": ("from_first_packet", "free_running"),
        "ns2_droptail": (True, False),
        "web_html_server": (1, 4),
        "web_nagle": (True, False),
        "web_open_order": ("by_server", "interleaved"),
        "web_measure_from": ("connected", "open"),
    }
    made: list[Trial] = []
    for values in itertools.product(*axes.values()):
        free = Free().with_(**dict(zip(axes, values, strict=True)))
        made += [Trial("page", c, _words(free), Setup(free=free)) for c in rows]
    return made


def _peak() -> list[Trial]:
    return [
        Trial("peak", case(3, Queue.CODEL), f"limit {limit}p, {vector}, first page at {start}", setup)
        for vector in ("recorded", "live")
        for start in ("1s", "20s")
        for limit in (130, 170, 417)
        for setup in [Setup(free=Free(request_vector=vector, web_start=start), limit=f"{limit}p")]
    ]


def _words(free: Free) -> str:
    """A variant of the page in a line."""
    return ", ".join(
        (
            free.request_vector,
            "from first packet" if free.map_clock == "from_first_packet" else "free-running",
            "n - 1" if free.ns2_droptail else "n",
            f"html from server {free.web_html_server}",
            "Nagle" if free.web_nagle else "no Nagle",
            free.web_open_order,
            f"from {free.web_measure_from}",
        )
    )


def _congestion() -> list[Trial]:
    return [
        Trial("congestion", c, label, setup)
        for c in grid(congested=True)
        for label, setup in ALTERNATIVES.items()
        if c.queue is Queue.CODEL or not setup.sojourn_both
    ]


def _pages() -> list[Trial]:
    models = (PageModel.LISTED, PageModel.LOGNORMAL)
    return [Trial("pages", c, f"{model.value} sizes", Setup(page=model)) for c in grid() for model in models]


def _bytes() -> list[Trial]:
    cases = [case(n, Queue.DROPTAIL_21) for n in NUMBERS]
    limits = {"50 ms in bytes": "31250B", "50 ms in time": "50ms"}
    return [Trial("bytes", c, label, Setup(limit=limit)) for c in cases for label, limit in limits.items()]


def _targets() -> list[Trial]:
    cases = [case(n, Queue.CODEL) for n in (2, 3, 4, 5, 12, 13, 14, 15)]
    return [
        Trial("targets", c, f"{label}, target {target}", setup.with_(target=target))
        for c in cases
        for label, setup in ALTERNATIVES.items()
        for target in TARGETS
    ]


def _disciplines() -> list[Trial]:
    cases = [case(n, Queue.CODEL) for n in NUMBERS]
    return [Trial("disciplines", c, d.label, Setup(discipline=d)) for d in DISCIPLINES for c in cases]


def _sensitivity() -> list[Trial]:
    queues = (Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL)
    cases = [case(n, q) for n in (1, 4, 6, 8) for q in queues]
    return [
        Trial("sensitivity", c, f"{unknown.field} {value}", Setup(free=Free().with_(**{unknown.field: value})))
        for unknown in UNKNOWNS
        for value in unknown.others
        for c in cases
        if _matters(unknown.field, c)
    ]


def _matters(field: str, which: Case) -> bool:
    """Whether a parameter can change anything in a case."""
    match field:
        case "cbr_size":
            return which.number == 6
        case "bulk_initial_window" | "bulk_window":
            return which.number != 1
        case "codel_variant":
            return which.queue is Queue.CODEL
        case "file_size" | "file_pause" | "files_new_connection":
            return which.number in (4, 6)
        case "bursty_schedule":
            return which.number == 8
        case "ns2_droptail":
            return which.queue is not Queue.CODEL
        case _:
            return True
