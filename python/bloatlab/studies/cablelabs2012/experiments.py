"""Additional runs: experiments that CableLabs 2012 mentions but does not report, and tests of points it leaves open.

`tables`, `plateau` and `alone` always run, for the tables and claims. A *reading* is a different interpretation of the
paper, usually of one point. As an experiment, it runs all 27 cases and is judged by the rules of the study. If a value
of the study differs from the published one, the readings that could explain the difference are run for the cases in
question (`rules.EXPLANATIONS`). The other experiments have no published values; each prints a table of our values.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from bloatlab.studies.cablelabs2012.disciplines import DISCIPLINES
from bloatlab.studies.cablelabs2012.rules import calibration
from bloatlab.studies.published import toml, unknowns
from bloatlab.workloads.cable_home import SECONDS, Setup
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue, grid

#: New values for fields of a `Setup`, by field name.
Changes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """A different interpretation of one or more points of the paper, applied to every case."""

    what: str
    changes: Changes


_FILE = toml("cablelabs2012", "readings.toml")

#: The values of three parameters in earlier versions of this study, which now uses the values stated in the paper.
BEFORE: Changes = _FILE["before"]

#: The readings by name.
READINGS = {name: Reading(**table) for name, table in _FILE["readings"].items()}

UNKNOWNS = unknowns("cablelabs2012", Setup())

_EXPERIMENTS = toml("cablelabs2012", "experiments.toml")

#: A short description of each experiment, by its name.
EXPERIMENTS = {
    **{name: str(table["what"]) for name, table in _EXPERIMENTS.items()},
    **{name: f"all cases, judged: {reading.what}" for name, reading in READINGS.items()},
}

#: Alternatives for the transmit queue, by name.
ALTERNATIVES: Mapping[str, Changes] = toml("cablelabs2012", "alternatives.toml")

_FIELDS = {field.name for field in fields(Setup)}

#: For a free parameter, a function that selects the cases in which the parameter matters. The parameter's alternative
#: values are tried only in these cases. Parameters not listed here are tried in all cases of the experiment.
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
        """The trial's name in results: the case and the label of the change."""
        if self.setup.queue is not None:  # no D or C before the number: these letters stand for the paper's queues
            return f"{self.case.number:02d} {self.label}"
        return f"{self.case.key} {self.label}".rstrip()

    def __str__(self) -> str:
        return self.key


def tables() -> list[Trial]:
    """Returns the 27 runs of Tables 3 to 8."""
    return [Trial(c, "", Setup()) for c in grid()]


def plateau() -> list[Trial]:
    """Returns trials of C03 with 130 and 170 packets of buffer.

    According to the paper, one CUBIC flow does not stay at 75 % of the peak rate with buffers of these sizes.

    Source: CableLabs 2012 §4.1.3.
    """
    return _each(_cases(Queue.CODEL, 3), {f"limit {n}p": {"limit": f"{n}p"} for n in (130, 170)})


def alone() -> list[Trial]:
    """Returns trials almost without page loads: the transfers of §4.1, of Figures 2 to 9, and of D02/21.

    Pages are requested only in the last second. Runs take 60 s. Only D04/21 has the paper's full duration, because the
    paper's sentence about D04 describes the whole run.
    """
    whole, burst = (Setup(web_start=f"{n - 1}s", seconds=n) for n in (SECONDS, 60))
    cases = [Case(n, q) for q in Queue for n in (3, 5)] + [Case(2, Queue.DROPTAIL_21)]
    stuck = [Trial(t.case, f"{t.label}, alone", replace(burst, limit=t.setup.limit)) for t in plateau()]
    return [*(Trial(c, "alone", burst) for c in cases), *stuck, Trial(Case(4, Queue.DROPTAIL_21), "alone", whole)]


def with_pages(key: str) -> str:
    """Converts the key of a run without pages to the key of the same run with pages, which is used in claims."""
    return key.removesuffix(" alone").removesuffix(",")


def read(name: str, which: Case) -> Trial:
    """Returns the trial of one case with the reading `name`."""
    return Trial(which, name, Setup(**READINGS[name].changes))


def trials(name: str) -> list[Trial]:
    """Returns the configurations of one experiment. Raises `KeyError` for an unknown name.

    For the name `readings`, returns the configurations of all readings.
    """
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
        case "disciplines":
            cases = _cases(Queue.CODEL, *NUMBERS)
            return [trial for d in DISCIPLINES for trial in _each(cases, {d.label: {"queue": d.queue}})]
        case _:
            return _crossed(_EXPERIMENTS[name])


def _crossed(table: Mapping[str, Any]) -> list[Trial]:
    """Returns the trials for every case of an experiment with every combination of its axes' values.

    In an experiment without a list of cases, combinations with `sojourn_both` are run only for CoDel.
    """
    variants: dict[str, Changes] = {}
    for chosen in itertools.product(*(_axis(name, values) for name, values in table["axes"].items())):
        words = dict(zip(table["axes"], (word for word, _ in chosen), strict=True))
        label = table["label"].format(**words) if "label" in table else ", ".join(words.values())
        changes = READINGS[table["reading"]].changes if "reading" in table else {}
        variants[label] = functools.reduce(operator.or_, (own for _, own in chosen), dict(changes))
    if "cases" in table:
        listed = [Case(number, Queue[queue]) for number, queue in table["cases"]]
        return [trial for label, changes in variants.items() for trial in _each(listed, {label: changes})]
    queues = [Queue[name] for name in table["queues"]] if "queues" in table else list(Queue)
    crossed = _each((Case(n, queue) for queue in queues for n in table.get("rows", NUMBERS)), variants)
    return [trial for trial in crossed if trial.case.queue is Queue.CODEL or not trial.setup.sojourn_both]


def _axis(name: str, values: str | list[Any] | dict[str, Any]) -> list[tuple[str, Changes]]:
    """Returns a pair for each value of an axis: its label, and the new values of the `Setup` fields that it changes."""
    if isinstance(values, str):
        return list(ALTERNATIVES.items())
    named = values if isinstance(values, dict) else {str(value): value for value in values}
    return [(word, {name: value} if name in _FIELDS else value) for word, value in named.items()]


def _each(cases: Iterable[Case], variants: Mapping[str, Changes]) -> list[Trial]:
    """Returns one trial for every case with every variant."""
    return [Trial(c, label, Setup(**changes)) for c in cases for label, changes in variants.items()]


def _cases(queue: Queue, *numbers: int) -> list[Case]:
    return [Case(n, queue) for n in numbers]


def _one_at_a_time(cases: Iterable[Case], *, calibrated_only: bool = False) -> list[Trial]:
    """Returns trials that each give one free parameter one of its alternative values.

    A parameter is changed only in the cases that `MATTERS` selects. With `calibrated_only`, parameters that were not
    calibrated are left out.
    """
    return [
        Trial(c, f"{unknown.field} {value}", Setup(**{unknown.field: value}))
        for unknown in UNKNOWNS
        if unknown.calibrated or not calibrated_only
        for value in unknown.others
        for c in cases
        if MATTERS.get(unknown.field, lambda _: True)(c)
    ]
