"""bloatlab beside a real kernel: the scenarios of a reference file run here, and judged by its tolerances."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.sweep import Point, sweep
from bloatlab.sweep.progress import Watch
from bloatlab.validate.build import build
from bloatlab.validate.explanations import explanations
from bloatlab.validate.judge import Judged, Validated, judge
from bloatlab.validate.measure import measure
from bloatlab.validate.queues import NotSupportedError
from bloatlab.validate.reference import Entry, NoReferenceError, load, public

__all__ = [
    "Entry",
    "Judged",
    "NoReferenceError",
    "Validated",
    "build",
    "load",
    "measure",
    "public",
    "validate",
]


def validate(
    entries: Sequence[Entry],
    *,
    seeds: int = 5,
    jobs: int | None = None,
    sets: tuple[Override, ...] = (),
    watch: Watch | None = None,
) -> Validated:
    """Run every entry with seeds from 1, and judge it. Raises `ScenarioError` where `sets` do not fit."""
    points: list[Point[int]] = []
    refused: dict[int, str] = {}
    for index, entry in enumerate(entries):
        try:
            points += [Point(index, build(entry, seed, sets), seed) for seed in range(1, seeds + 1)]
        except NotSupportedError as error:
            refused[index] = str(error)

    def reduce(point: Point[int], result: Result) -> dict[str, float]:
        return measure(result, entries[point.key])

    rows = sweep(points, reduce, jobs=jobs, watch=watch, trace=True)
    explained = explanations() if not sets else {}
    found: list[Judged] = []
    for index, entry in enumerate(entries):
        if index in refused:
            found.append(Judged(entry, [], unsupported=refused[index]))
            continue
        by_seed = [row for point, row in zip(points, rows, strict=True) if point.key == index]
        found.append(Judged(entry, judge(entry, by_seed, explained)))
    return Validated(found, seeds)
