"""The runs of a recommendation, made as they are needed and kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import Device, Load
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option
from bloatlab.advice.question import Question
from bloatlab.advice.score import Judged, Row, judged
from bloatlab.sweep import Executor, Measure, Point, Store, Watch, fingerprint, gather
from bloatlab.sweep.grid_file import SUMMARY
from bloatlab.sweep.store import Shelf


class _Summary(Measure):
    """`SUMMARY`, whose functions are read once for all rounds of a race."""

    def shelf(self, store: Store) -> Shelf:
        """Where results of this measure, by this core, are kept. Raises `fingerprint.Unsure`."""
        return store.shelf(fingerprint.core(), f"{self.name}-{self.version}", _code())


@functools.cache
def _code() -> str:
    return fingerprint.code(SUMMARY.row)


_SUMMARY = _Summary(SUMMARY.name, SUMMARY.row, version=SUMMARY.version)

#: A device, a discipline, bytes of buffer, the upstream rate, a round trip in s.
_Place = tuple[str, str, int, float, float]


class Runs:
    """Runs by option and round trip, with seeds from `first` on."""

    def __init__(
        self,
        store: Store | None,
        jobs: int | None,
        executor: Executor | None,
        watch: Callable[[int], Watch],
        first: int = 1,
    ) -> None:
        self._first = first
        self._store, self._jobs, self._executor, self._watch = store, jobs, executor, watch
        self._rows: dict[_Place, list[Row]] = {}
        self.ran = self.found = 0

    def run(self, line: Line, device: Device, load: Load, wanted: Sequence[tuple[Option, float]], seeds: int) -> None:
        """Runs options at round trips with so many seeds, as far as that is not done."""
        places = {_place(line, device, o, rtt): o for o, rtt in wanted}
        points = [
            Point(
                place,
                line_of.build(line, device, load, o.queues, rtt=place[-1], seed=self._first + n),
                self._first + n,
            )
            for n in range(seeds)
            for place, o in places.items()
            if n >= len(self._rows.get(place, []))
        ]
        if not points:
            return
        watch = self._watch(len(points))
        done = gather(points, _SUMMARY, store=self._store, jobs=self._jobs, executor=self._executor, watch=watch)
        self.ran += done.ran
        self.found += done.found
        for place, rows in done.rows().items():
            self._rows.setdefault(place, []).extend(rows)

    def judged(self, question: Question, of: Option, rtts: Sequence[float]) -> Judged:
        """An option over some round trips that were run, by the seeds that all of them have."""
        rows = {rtt: self._rows[_place(question.line, question.device, of, rtt)] for rtt in rtts}
        seeds = min(len(all_) for all_ in rows.values())
        known = {rtt: all_[:seeds] for rtt, all_ in rows.items()}
        return judged(of, known, question.objective, question.load, question.line)


def _place(line: Line, device: Device, of: Option, rtt: float) -> _Place:
    return device.name, of.discipline.name, of.size, line.up, rtt
