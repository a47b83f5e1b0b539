"""Simulates the beginning that several runs share (their past) only once.

    run           changes of the link "up"
    1mbit         at 30 s: rate = "1mbit"            The three runs are equal until 30 s. This past is
    2mbit         at 30 s: rate = "2mbit"            simulated once, and each of the runs continues
    late          at 40 s: rate = "1mbit"            from its end.

`_core.timeline` (crates/sim/src/past.rs) lists the actions in a run and their times. Runs share a past if their actions
are equal until some time. Pasts may continue other pasts, so they form trees. A result has the same bytes as if the run
had been simulated from the start, so stores, hashes and tables do not depend on whether a past was shared.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bloatlab import _core
from bloatlab.scenario import Scenario, ScenarioError
from bloatlab.simulation import Progress, Result, frames, summary_of

#: A run is divided into `STEPS` equal steps. A past, which is the beginning that several runs share, is at least one
#: step long, because a shorter past would save less time than it takes to copy the simulation. A past that continues
#: another past ends in a later step, so the tree of pasts has at most `STEPS` levels.
STEPS = 20
#: Maximum number of simulated pasts (shared beginnings) that are kept for later runs. A past needs as much memory as a
#: run.
MOST_KEPT = 16
#: Seconds between checks for Ctrl-C while a thread waits for another to simulate the common beginning of their runs.
POLL_SECONDS = 0.1

#: Everything that a scenario makes happen in a run: one hash of all that takes effect at the start, and a list of the
#: later actions, each as its time (ns) and a hash. The last action is the end of the run.
Timeline = tuple[bytes, Sequence[tuple[int, bytes]]]
#: A run: its index, its scenario and its timeline.
Run = tuple[int, Scenario, Timeline]


@dataclass(frozen=True)
class Past:
    """The beginning that several runs share, up to the time `at_ns`. It continues the shorter past `before`, if any."""

    id: str
    at_ns: int
    before: Past | None


def planned(scenarios: Sequence[Scenario]) -> list[tuple[int, Past | None]]:
    """Returns the scenarios' indices in the order to run them, each with the longest shared past, if any.

    Scenarios that share a past form a group and follow each other in this order. Groups have the order of the smallest
    index in each group.
    """
    beginning = functools.cache(_beginning)  # most runs differ only in their seeds
    alike = [(scenario.seed, beginning(scenario.with_seed(0))) for scenario in scenarios]
    several = {key for key, count in collections.Counter(alike).items() if count > 1}
    runs = [
        (index, scenario, _timeline(index, scenario) if key in several else _alone(index))
        for index, (scenario, key) in enumerate(zip(scenarios, alike, strict=True))
    ]
    return list(_tree(sorted(runs, key=lambda run: run[2]), None))


#: Keys that may have different values in the scenarios of two runs that share a past.
_LATER = frozenset({"app", "tcp", "name", "grade", "max_packets", "trace", "expect"})


def _beginning(scenario: Scenario) -> str:
    """Returns a string that is equal for all runs that may begin in the same way.

    Two runs with different strings differ from the start, so their timelines, which take longer to compute, need not be
    compared.
    """
    data = {key: value for key, value in scenario.data.items() if key not in _LATER}
    for link in data["link"].values():
        link.pop("changes", None)
    return json.dumps(data)


def _alone(index: int) -> Timeline:
    """Returns a timeline that differs from the timeline of every other run."""
    return _hash(f"run {index}"), []


def _timeline(index: int, scenario: Scenario) -> Timeline:
    """Returns the timeline of a scenario.

    A run that depends on more than its scenario, such as Python code, cannot share a past. Its timeline differs from
    the timeline of every other run.
    """
    try:
        found = _core.timeline(scenario.text)
    except ScenarioError:  # the run itself will raise this error
        found = None
    if found is None:
        return _alone(index)
    always, acts = found
    return _hash(always), [(at, _hash(act)) for at, act in acts]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _tree(runs: Sequence[Run], past: Past | None) -> Iterator[tuple[int, Past | None]]:
    """Yields the index of each run, and the longest beginning (past) that the run shares with another run.

    All `runs` share `past`, unless it is None. They are sorted by their timelines, so runs with a common past are
    adjacent. The tree has at most `STEPS` levels.
    """
    if len(runs) <= 1:
        yield from ((index, past) for index, _, _ in runs)
        return
    common = [_common(one, other) for (_, _, one), (_, _, other) in itertools.pairwise(runs)]
    least, at_ns = min(common)
    if least > 0:
        past = Past(f"{runs[0][1].hash} {at_ns}", at_ns, past)
    cuts = [place for place, (steps, _) in enumerate(common, 1) if steps == least]
    parts = [runs[start:end] for start, end in itertools.pairwise([0, *cuts, len(runs)])]
    for part in sorted(parts, key=lambda part: min(index for index, _, _ in part)):
        yield from _tree(part, past)


def _common(one: Timeline, other: Timeline) -> tuple[int, int]:
    """Returns the time up to which two runs are equal, as a number of whole steps (see `STEPS`) and in ns."""
    if one[0] != other[0]:
        return 0, 0
    end = one[1][-1][0]
    at = next((min(a[0], b[0]) for a, b in zip(one[1], other[1], strict=False) if a != b), end)
    return at * STEPS // end, at


class Pasts:
    """The most recently used pasts, shared by the threads of a process.

    Unpickling does not copy this object: in each process, it returns one object, which all threads share.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: collections.OrderedDict[str, _core.Past] = collections.OrderedDict()
        self._under_way: dict[str, threading.Event] = {}

    def __reduce__(self) -> tuple[Callable[[], Pasts], tuple[()]]:
        return _of_this_process, ()

    def run(self, scenario: Scenario, past: Past, progress: Progress) -> Result:
        """Simulates a scenario like `bloatlab.run`, with the scenario's own seed, but starts from the end of `past`."""
        output = self._simulated(scenario, past, progress).finish(scenario.text, progress)
        return Result(scenario, summary_of(output["summary"]), frames(output["tables"]))

    def _simulated(self, scenario: Scenario, past: Past, progress: Progress) -> _core.Past:
        """Returns the simulation at the end of `past`. One thread simulates the past; others that need it wait."""
        while True:
            with self._lock:
                if past.id in self._kept:
                    self._kept.move_to_end(past.id)
                    return self._kept[past.id]
                if past.id not in self._under_way:
                    ended = self._under_way[past.id] = threading.Event()
                    break
                other = self._under_way[past.id]
            other.wait(POLL_SECONDS)
            progress(0.0)
        try:
            if past.before is None:
                before = _core.Past(scenario.text)
            else:
                before = self._simulated(scenario, past.before, progress)
            simulated = before.advance(scenario.text, past.at_ns, progress)
            with self._lock:
                self._kept[past.id] = simulated
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return simulated
        finally:
            with self._lock:
                del self._under_way[past.id]
            ended.set()


@functools.cache
def _of_this_process() -> Pasts:
    return Pasts()
