"""Runs the cases of suites for controllers: first the runs that determine moments, then all others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bloatlab.judge.measures import MISSING, measure
from bloatlab.judge.subjects import Subject, chosen, subject
from bloatlab.judge.suites import Case, Suite
from bloatlab.judge.suites import suite as read_suite
from bloatlab.judge.verdicts import Judged, Ruling, Tried, ruling
from bloatlab.scenario import Scenario, parse
from bloatlab.sweep import Executor, Measure, Measured, Point, Store, Watch, gather


@dataclass(frozen=True)
class _Key:
    """A run: the case, and the name of the subject in it."""

    section: str
    name: str

    def __str__(self) -> str:
        return f"{self.section} {self.name}"


Done = Mapping[_Key, Measured]
Gather = Callable[[Mapping[_Key, Scenario]], Done]


def judged(
    suite: Suite,
    cc: str,
    *,
    store: Store | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> list[Judged]:
    """Judges one controller, or all, by a suite. Runs that several of them need are made once.

    Raises `JudgeError`, `ScenarioError`, and the errors of runs.
    """
    return _suite(suite, chosen(suite, cc), partial(_gathered, measure(_queries(suite.name)), store, watch, executor))


def _suite(suite: Suite, subjects: Sequence[Subject], gathered: Gather) -> list[Judged]:
    jobs: dict[_Key, tuple[Case, Subject]] = {}
    for case in suite.cases:
        references = [
            subject(name, suite.subject) for name in sorted({name for c in case.criteria for name in c.against})
        ]
        for one in [*subjects, *references]:
            jobs.setdefault(_Key(case.section, one.name), (case, one))
    first = gathered({key: _scenario(suite, case, one, None) for key, (case, one) in jobs.items() if case.moments})
    scenarios: dict[_Key, Scenario] = {}
    reasons: dict[_Key, str] = {}
    for key, (case, one) in jobs.items():
        times = {name: first[key].row[sql] for name, sql in case.moments.items()}
        missing = [f"no time {name}: {_why(time)}" for name, time in times.items() if not isinstance(time, float)]
        if missing:
            reasons[key] = missing[0]
        else:
            scenarios[key] = _scenario(suite, case, one, {name: float(str(time)) for name, time in times.items()})
    runs = gathered(scenarios)
    every = [(key.name, str(done.row["phases"]).split()) for key, done in [*first.items(), *runs.items()]]
    judged: list[Judged] = []
    for one in subjects:
        phases = {phase for name, seen in every if name == one.name for phase in seen}
        tried = [
            _unrun(case, reason)
            if (reason := reasons.get(_Key(case.section, one.name)))
            else _tried(case, one, runs, scenarios, phases)
            for case in suite.cases
        ]
        judged.append(Judged(suite, one.name, tried))
    return judged


def _queries(name: str) -> dict[str, list[str]]:
    """Returns the queries of each case of the whole suite, by the name of its scenario."""
    return {
        case.tree["name"]: [
            *dict.fromkeys(
                [*case.moments.values(), *(c.measure for c in case.criteria if c.measure.startswith("select "))]
            )
        ]
        for case in read_suite(name).cases
    }


def _why(value: Any) -> str:
    return f"the controller traces no {value.removeprefix(MISSING)}" if isinstance(value, str) else "it did not occur"


def _scenario(suite: Suite, case: Case, of: Subject, moments: Mapping[str, float] | None) -> Scenario:
    text = json.dumps(of.placed(case.scenario(moments), suite.subject))
    return parse(text, form="json", source=f"{case.suite} {case.section}", folder=of.folder)


def _gathered(
    measure: Measure,
    store: Store | None,
    watch: Watch | None,
    executor: Executor | None,
    scenarios: Mapping[_Key, Scenario],
) -> Done:
    """Makes runs; returns the numbers and the frames of each."""
    points = [Point(key, scenario, scenario.seed) for key, scenario in scenarios.items()]
    done = gather(points, measure, store=store, watch=watch, executor=executor)
    return {point.key: value for point, value in zip(points, done.values, strict=True)}


def _unrun(case: Case, reason: str) -> Tried:
    return Tried(case, [Ruling(c, "not applicable", reason=reason) for c in case.criteria])


def _tried(case: Case, of: Subject, runs: Done, scenarios: Mapping[_Key, Scenario], phases: set[str]) -> Tried:
    key = _Key(case.section, of.name)
    others = {name: runs[_Key(case.section, name)].row for c in case.criteria for name in c.against}
    rulings = [ruling(c, runs[key].row, [others[name] for name in c.against], phases) for c in case.criteria]
    return Tried(case, rulings, scenarios[key], runs[key].frames)
