"""Further runs by name: experiments that CableLabs 2012 mentions and does not report, and the effect of its open points.

`tables`, `plateau` and `alone` always run, for the tables and claims. A *reading* runs all 27 cases with one thing read
differently and is judged by the study's rules like the study itself; for a cell that differs, the readings that could explain
it are run (`rules.EXPLANATIONS`). The other experiments have no published values; each shows a table of ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.studies.cablelabs2012.disciplines import DISCIPLINES
from bloatlab.studies.cablelabs2012.published import DECLARED
from bloatlab.studies.cablelabs2012.rules import calibration
from bloatlab.studies.published import toml, unknowns
from bloatlab.workloads.cable_home import SECONDS, Setup
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue, grid

#: Fields of a `Setup`, and their values.
Changes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing read differently than in the study, in every case."""

    what: str
    changes: Changes


_FILE = toml("cablelabs2012", "readings.toml")

#: The study's values of three things before the paper's words for them were followed.
BEFORE: Changes = _FILE["before"]

#: The readings by name.
READINGS = {name: Reading(**table) for name, table in _FILE["readings"].items()}

UNKNOWNS = unknowns("cablelabs2012", Setup())

#: The question of each experiment, by name.
EXPERIMENTS = DECLARED.experiments | {name: f"all cases, judged: {of.what}" for name, of in READINGS.items()}

TARGETS = ("2ms", "5ms", "10ms", "20ms")

#: Windows of the bursty sender in segments, about the 67 with which voice packets become late, and far above.
WINDOWS = (64, 66, 67, 68, 70, 80, 96, 112, 128)

#: Steps between the round trips of transfers that start together, ms. 2 ms are those of the CoDel scripts of the time.
STEPS_MS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

#: The transmit queue alternatives of CableLabs 2012 §2.2.3. The sojourn over both queues exists for CoDel only.
ALTERNATIVES: dict[str, Changes] = {
    "drop between queues": {},
    "back-pressure": {"transmit_queue": "back_pressure"},
    "sojourn over both": {"sojourn_both": True},
    "back-pressure, sojourn over both": {"transmit_queue": "back_pressure", "sojourn_both": True},
}

#: The points that the page's description leaves open: the values that were tried, and their words in the name of a run.
PAGE_AXES: dict[str, dict[Any, str]] = {
    "request_vector": {"recorded": "recorded", "live": "live"},
    "map_clock": {"from_first_packet": "from first packet", "free_running": "free-running"},
    "ns2_droptail": {True: "n - 1", False: "n"},
    "web_html_server": {1: "html from server 1", 4: "html from server 4"},
    "web_nagle": {True: "Nagle", False: "no Nagle"},
    "web_open_order": {"by_server": "by_server", "interleaved": "interleaved"},
    "web_measure_from": {"connected": "from connected", "open": "from open"},
}

#: The cases in which a free parameter can change anything; all cases, if it is not listed.
MATTERS = {
    "cbr_size": lambda case: case.number == 6,
    "bulk_initial_window": lambda case: case.number != 1,
    "bulk_window": lambda case: case.number != 1,
    "codel_variant": lambda case: case.queue is Queue.CODEL,
    "file_size": lambda case: case.number in (4, 6),
    "file_pause": lambda case: case.number in (4, 6),
    "files_new_connection": lambda case: case.number in (4, 6),
    "bursty_schedule": lambda case: case.number == 8,
    "ns2_droptail": lambda case: case.queue is not Queue.CODEL,
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of an experiment: its case, a label for the change, and the changed set-up."""

    case: Case
    label: str
    setup: Setup

    @property
    def key(self) -> str:
        """Name in results: the case and the label of the change."""
        if self.setup.queue is not None:  # the paper's name for a case says its queue
            return f"{self.case.number:02d} {self.label}"
        return f"{self.case.key} {self.label}".rstrip()

    def __str__(self) -> str:
        return self.key


def tables() -> list[Trial]:
    """The 27 runs of Tables 3 to 8."""
    return [Trial(c, "", Setup()) for c in grid()]


def plateau() -> list[Trial]:
    """The buffers with which one CUBIC flow is said not to get stuck (CableLabs 2012 §4.1.3)."""
    return _each(_cases(Queue.CODEL, 3), {f"limit {n}p": {"limit": f"{n}p"} for n in (130, 170)})


def alone() -> list[Trial]:
    """The transfers that §4.1 and Figures 2 to 9 describe, and D02's, without pages: the first page is requested at the end.

    Only D04, whose sentence is about the whole time, runs in full.
    """
    whole, burst = (Setup(web_start=f"{n - 1}s", seconds=n) for n in (SECONDS, 60))
    cases = [Case(n, q) for q in Queue for n in (3, 5)] + [Case(2, Queue.DROPTAIL_21)]
    stuck = [Trial(t.case, f"{t.label}, alone", replace(burst, limit=t.setup.limit)) for t in plateau()]
    return [*(Trial(c, "alone", burst) for c in cases), *stuck, Trial(Case(4, Queue.DROPTAIL_21), "alone", whole)]


def with_pages(key: str) -> str:
    """The key of the same run with pages: that of the claims."""
    return key.removesuffix(" alone").removesuffix(",")


def read(name: str, which: Case) -> Trial:
    """One case under a reading."""
    return Trial(which, name, Setup(**READINGS[name].changes))


def trials(name: str) -> list[Trial]:
    """The configurations of one experiment; for `readings` those of all. Raises `KeyError` for an unknown name."""
    if name in READINGS:
        return [read(name, c) for c in grid()]
    match name:
        case "readings":
            return [trial for reading in READINGS for trial in trials(reading)]
        case "parameters":
            chosen_on = [c for c in grid() if calibration(c)]
            tried = _one_at_a_time(chosen_on, calibrated_only=True)
            return [*(Trial(c, "as the study", Setup()) for c in chosen_on), *tried]
        case "sensitivity":
            return _one_at_a_time([Case(n, q) for n in (1, 4, 6, 8) for q in Queue])
        case "page":
            rows = [Case(1, Queue.DROPTAIL_417), Case(1, Queue.DROPTAIL_21), Case(2, Queue.DROPTAIL_21)]
            return [trial for label, changes in _pages_tried().items() for trial in _each(rows, {label: changes})]
        case "disciplines":
            cases = _cases(Queue.CODEL, *NUMBERS)
            return [trial for d in DISCIPLINES for trial in _each(cases, {d.label: {"queue": d.queue}})]
        case "congestion":
            crossed = _each(grid(congested=True), ALTERNATIVES)
            return [t for t in crossed if t.case.queue is Queue.CODEL or not t.setup.sojourn_both]
        case _:
            return _each(*_CROSSED[name])


def _each(cases: Iterable[Case], variants: Mapping[str, Changes]) -> list[Trial]:
    """Every case with every variant."""
    return [Trial(c, label, Setup(**changes)) for c in cases for label, changes in variants.items()]


def _cases(queue: Queue, *numbers: int) -> list[Case]:
    return [Case(n, queue) for n in numbers]


def _one_at_a_time(cases: Iterable[Case], *, calibrated_only: bool = False) -> list[Trial]:
    """Each tried value of each free parameter, in the cases in which it matters."""
    return [
        Trial(c, f"{unknown.field} {value}", Setup(**{unknown.field: value}))
        for unknown in UNKNOWNS
        if unknown.calibrated or not calibrated_only
        for value in unknown.others
        for c in cases
        if MATTERS.get(unknown.field, lambda _: True)(c)
    ]


def _pages_tried() -> dict[str, Changes]:
    """Every combination of `PAGE_AXES`, by its words."""
    made = itertools.product(*(values.items() for values in PAGE_AXES.values()))
    return {
        ", ".join(words for _, words in chosen): dict(zip(PAGE_AXES, (value for value, _ in chosen), strict=True))
        for chosen in made
    }


#: Experiments that run every case with every variant.
_CROSSED: Mapping[str, tuple[Iterable[Case], Mapping[str, Changes]]] = {
    "peak": (
        _cases(Queue.CODEL, 3),
        {
            f"limit {limit}p, {vector}, first page at {start}": {
                "limit": f"{limit}p", "request_vector": vector, "web_start": start
            }
            for vector in ("recorded", "live")
            for start in ("1s", "20s")
            for limit in (130, 170, 417)
        },
    ),
    "pages": (
        grid(),
        {"listed sizes": {"page": "listed"}, "lognormal sizes": {"page": {"lognormal": {"draw": "each_page"}}}},
    ),
    "bytes": (
        _cases(Queue.DROPTAIL_21, *NUMBERS),
        {"50 ms in bytes": {"limit": "31250B"}, "50 ms in time": {"limit": "50ms"}},
    ),
    "targets": (
        _cases(Queue.CODEL, 2, 3, 4, 5, 12, 13, 14, 15),
        {
            f"{label}, target {target}": {**changes, "target": target}
            for label, changes in ALTERNATIVES.items()
            for target in TARGETS
        },
    ),
    "window": (
        _cases(Queue.DROPTAIL_417, 8, 9),
        {f"{n} segments": {**READINGS["bursty_window_67"].changes, "bursty_window": n} for n in WINDOWS},
    ),
    "phase": (
        _cases(Queue.DROPTAIL_21, 4, 5, 6, 7),
        {
            f"{vector}, {step:g} ms apart": {"request_vector": vector, "round_trip_step_ms": step}
            for vector in ("recorded", "live")
            for step in STEPS_MS
        },
    ),
}  # fmt: skip
