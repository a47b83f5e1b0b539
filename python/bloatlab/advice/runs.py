"""Runs the simulations of a recommendation on demand, and keeps their results."""

from collections.abc import Callable, Sequence

from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import Device, Load
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option
from bloatlab.advice.question import Question
from bloatlab.advice.score import Judged, Row, judged
from bloatlab.sweep import Executor, Point, Store, Watch, gather
from bloatlab.sweep.grid_file import SUMMARY

#: The key of a set of runs: the device, the discipline, the buffer in bytes, the upstream rate in bit/s, the round trip
#: in s.
_Place = tuple[str, str, int, float, float]


class Runs:
    """The runs made so far, by setting and round-trip time; their seeds start at `first`."""

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
        """Simulates each wanted pair of a setting and a round-trip time with the first `seeds` seeds.

        Only the runs that have not been made yet are simulated.
        """
        places = {_place(line, device, o, rtt): o for o, rtt in wanted}
        points = [
            Point(place, line_of.build(line, device, load, o.queues, rtt=place[-1], seed=seed), seed)
            for seed in range(self._first, self._first + seeds)
            for place, o in places.items()
            if seed >= self._first + len(self._rows.get(place, []))
        ]
        if not points:
            return
        watch = self._watch(len(points))
        done = gather(points, SUMMARY, store=self._store, jobs=self._jobs, executor=self._executor, watch=watch)
        self.ran += done.ran
        self.found += done.found
        for place, rows in done.rows().items():
            self._rows.setdefault(place, []).extend(rows)

    def judged(
        self,
        question: Question,
        of: Option,
        rtts: Sequence[float],
        line: Line | None = None,
        device: Device | None = None,
    ) -> Judged:
        """Judges a setting over the given round trips, using only the seeds that were run at every one of them.

        The runs are those on `line` and `device`, if given; points are always relative to the question's line.
        """
        line, device = line or question.line, device or question.device
        rows = {rtt: self._rows[_place(line, device, of, rtt)] for rtt in rtts}
        seeds = min(map(len, rows.values()))
        common = {rtt: runs[:seeds] for rtt, runs in rows.items()}
        return judged(of, common, question.objective, question.load, question.line)


def _place(line: Line, device: Device, of: Option, rtt: float) -> _Place:
    return device.name, of.discipline.name, of.size, line.up, rtt
