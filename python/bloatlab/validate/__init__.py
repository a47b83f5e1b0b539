"""Runs the scenarios of a reference file, and compares our values with a real kernel's, within tolerances."""

from collections.abc import Sequence

from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.sweep import Point, sweep
from bloatlab.sweep.progress import Watch
from bloatlab.validate.build import build
from bloatlab.validate.judge import Judged, Validated, explanations, judge
from bloatlab.validate.measure import measure
from bloatlab.validate.queues import NotSupportedError
from bloatlab.validate.reference import Entry, NoReferenceError, load, public

__all__ = ["Entry", "Judged", "NoReferenceError", "Validated", "build", "load", "measure", "public", "validate"]


def validate(
    entries: Sequence[Entry],
    *,
    seeds: int = 5,
    jobs: int | None = None,
    sets: tuple[Override, ...] = (),
    watch: Watch | None = None,
) -> Validated:
    """Runs and judges every supported entry with the seeds 1 to `seeds`. Raises `ScenarioError` for invalid `sets`."""
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
    by_entry: dict[int, list[dict[str, float]]] = {index: [] for index in range(len(entries))}
    for point, row in zip(points, rows, strict=True):
        by_entry[point.key].append(row)
    found = [
        Judged(entry, [] if index in refused else judge(entry, by_entry[index], explained), refused.get(index, ""))
        for index, entry in enumerate(entries)
    ]
    return Validated(found, seeds)
