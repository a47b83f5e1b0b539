"""Runs the cases of a suite with each subject that is judged, such as a controller.

A case with moments (see `suites`) runs twice: its first run finds the times of the moments.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.classes import ClassError
from bloatlab.judge.measures import INVALID, measure
from bloatlab.judge.subjects import Subject, chosen, subject
from bloatlab.judge.suites import QUERY, STACK, Case, Criterion, JudgeError, Suite, expanded
from bloatlab.judge.suites import suite as read_suite
from bloatlab.judge.transports import network_of, why_not
from bloatlab.judge.verdicts import Judged, Ruling, Tried, ruling, untraced
from bloatlab.scenario import Scenario, ScenarioError, parse, problems
from bloatlab.sweep import Executor, Measured, Point, Store, Watch, gather


@dataclass(frozen=True)
class _Key:
    """The key of a run: the case, the name of the subject, and the seed."""

    section: str
    name: str
    seed: int = 1

    def __str__(self) -> str:
        return f"{self.section} {self.name}"


Done = Mapping[_Key, Measured]
Gather = Callable[[Mapping[_Key, Scenario]], Done]


def judged(
    suite: Suite,
    cc: str | Sequence[str],
    *,
    store: Store | None = None,
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> list[Judged]:
    """Judges one or several subjects with a suite; "all" stands for every subject known to the suite.

    If several subjects need the same run, the run is made only once.

    Raises `JudgeError`, `ScenarioError`, and the errors of runs.
    """
    queries, subjects = _queries(suite.name), chosen(suite, [cc] if isinstance(cc, str) else cc)
    usual = measure(suite.name, queries, trace=suite.subject == STACK)
    other = {
        one.name: measure(f"{suite.name}.{transport.key}", queries, trace=False, run=transport.runner())
        for one in subjects
        if (transport := one.transport) is not None
    }

    def gathered(scenarios: Mapping[_Key, Scenario]) -> Done:
        done: dict[_Key, Measured] = {}
        for own in (usual, *other.values()):
            keys = [key for key in scenarios if other.get(key.name, usual) is own]
            points = [Point(key, scenarios[key], scenarios[key].seed) for key in keys]
            values = gather(points, own, store=store, watch=watch, executor=executor).values
            done |= dict(zip(keys, values, strict=True))
        for key, one in done.items():
            if INVALID in one.row:
                raise JudgeError(f"judge: {suite.name} {key.section}: {one.row[INVALID]}")
        return done

    return _suite(suite, subjects, gathered)


def _suite(suite: Suite, subjects: Sequence[Subject], gathered: Gather) -> list[Judged]:
    jobs: dict[_Key, tuple[Case, Subject]] = {}
    for case in suite.cases:
        references = [
            subject(name, suite.subject) for name in sorted({name for c in case.criteria for name in c.against})
        ]
        for one, seed in itertools.product([*subjects, *references], range(1, case.seeds + 1)):
            jobs.setdefault(_Key(case.section, one.name, seed), (case, one))
    # the suite's `phases_of` names the case that shows all phases of a controller; it runs even if it is not selected
    whole = read_suite(suite.name)
    for case in whole.only(whole.phases_of).cases if whole.phases_of else []:
        for one in subjects:
            jobs.setdefault(_Key(case.section, one.name), (case, one))

    _refuse_misfits(suite, subjects)
    built = {key: _scenario(suite, case, one, key.seed) for key, (case, one) in jobs.items()}
    refused = {key: made for key, made in built.items() if isinstance(made, str)}
    for key, why in refused.items():
        if key.name not in {one.name for one in subjects}:
            raise JudgeError(f'judge: {suite.name} {key.section}: against "{key.name}": {why}')
    first = gathered({key: made for key, made in _scenarios(built).items() if jobs[key][0].moments})
    reasons: dict[_Key, str] = dict(refused)
    for key in first:
        case, one = jobs[key]
        times = {name: first[key].row[sql] for name, sql in case.moments.items()}
        missing = [f"no moment {name}: {_why(time)}" for name, time in times.items() if not isinstance(time, float)]
        if missing:
            reasons[key] = missing[0]
        else:
            known = {name: float(str(time)) for name, time in times.items()}
            built[key] = _scenario(suite, case, one, key.seed, known)
    scenarios = {key: made for key, made in _scenarios(built).items() if key not in reasons}
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
        judged.append(Judged(suite, one.name, tried, is_transport=one.transport is not None))
    return judged


def _queries(name: str) -> dict[str, list[str]]:
    """Returns a map from the name of each case's scenario to the SQL queries of the case.

    The map contains all cases of the suite, including cases that are not selected.
    """
    return {
        case.tree["name"]: [
            *dict.fromkeys([*case.moments.values(), *(c.measure for c in case.criteria if c.measure.startswith(QUERY))])
        ]
        for case in read_suite(name).cases
    }


def _why(value: Any) -> str:
    return untraced(value) if isinstance(value, str) else "the run never came to it"


def _scenario(
    suite: Suite, case: Case, of: Subject, seed: int, moments: Mapping[str, float] | None = None
) -> Scenario | str:
    """Builds the scenario of a case; or returns the reason why the subject cannot run in it."""
    tree, source = case.scenario(moments) | {"seed": seed}, f"{case.suite} {case.section}"
    parse(json.dumps(expanded(tree)), form="json", source=source)
    try:
        text = json.dumps(expanded(of.placed(tree, suite.subject)))
        made = parse(text, form="json", source=source, folder=of.folder)
    except ClassError:
        raise
    except ScenarioError as error:
        return problems(error)[0].removeprefix(f"{source}: ")
    if of.transport is None:
        return made
    return "a transport traces no phases" if case.moments else why_not(made) or made


def _refuse_misfits(suite: Suite, subjects: Sequence[Subject]) -> None:
    """Refuses a subject that no case accepts, because its value or the suite's key `subject` is then wrong.

    The cases that are not selected count, too. A transport is never refused. Raises `JudgeError`.
    """
    for one in subjects:
        cases = [*suite.cases, *read_suite(suite.name).cases]
        tries = (_scenario(suite, case, one, 1) for case in cases)
        reasons = [str(made) for made in itertools.takewhile(lambda made: isinstance(made, str), tries)]
        if one.transport is None and reasons and len(reasons) == len(cases):
            raise JudgeError(f"judge: {suite.name}: no case can run with {one.name[:80]}: {reasons[0]}")


def _scenarios(built: Mapping[_Key, Scenario | str]) -> dict[_Key, Scenario]:
    return {key: made for key, made in built.items() if isinstance(made, Scenario)}


def _unrun(case: Case, reason: str) -> Tried:
    return Tried(case, [Ruling(c, "not applicable", reason=reason) for c in case.criteria])


def _tried(case: Case, of: Subject, runs: Done, scenarios: Mapping[_Key, Scenario], phases: set[str]) -> Tried:
    keys = [_Key(case.section, of.name, seed) for seed in range(1, case.seeds + 1)]
    rows = [runs[key].row for key in keys]

    def others(c: Criterion) -> list[list[Mapping[str, Any]]]:
        rivals = [[replace(key, name=name) for name in c.against] for key in keys]
        return [[runs[rival].row for rival in ones if rival in runs] for ones in rivals]

    rulings = [ruling(c, rows, others(c), phases) for c in case.criteria]
    scenario = scenarios[keys[0]]
    return Tried(case, rulings, network_of(scenario) if of.transport else scenario, runs[keys[0]].frames)
