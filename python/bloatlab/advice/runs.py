"""The runs of a recommendation, made as they are needed and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import Device, Load, Objective
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option
from bloatlab.advice.score import Judged, Row, judged
from bloatlab.sweep import Executor, Point, Store, Watch, gather
from bloatlab.sweep.declared import SUMMARY

#: A device, a discipline, bytes of buffer, the upstream rate, a round trip in s.
_Place = tuple[str, str, int, float, float]


class Asked(Protocol):
    """What a question says of how to judge."""

    @property
    def line(self) -> Line:
        """The line."""
        ...

    @property
    def device(self) -> Device:
        """The device."""
        ...

    @property
    def load(self) -> Load:
        """The load."""
        ...

    @property
    def objective(self) -> Objective:
        """The objective."""
        ...


class Runs:
    """Runs by option and round trip, with seeds from 1 on."""

    def __init__(
        self, store: Store | None, jobs: int | None, executor: Executor | None, watch: Callable[[int], Watch]
    ) -> None:
        self._store, self._jobs, self._executor, self._watch = store, jobs, executor, watch
        self._rows: dict[_Place, list[Row]] = {}
        self.ran = self.found = 0

    def run(self, line: Line, device: Device, load: Load, wanted: Sequence[tuple[Option, float]], seeds: int) -> None:
        """Runs options at round trips with seeds 1 to `seeds`, as far as that is not done."""
        places = {_place(line, device, o, rtt): o for o, rtt in wanted}
        points = [
            Point(
                place,
                line_of.build(line, device, load, o.queues, rtt=place[-1], seed=seed),
                seed,
            )
            for seed in range(1, seeds + 1)
            for place, o in places.items()
            if seed > len(self._rows.get(place, []))
        ]
        if not points:
            return
        done = gather(
            points,
            SUMMARY,
            store=self._store,
            jobs=self._jobs,
            executor=self._executor,
            watch=self._watch(len(points)),
        )
        self.ran += done.ran
        self.found += done.found
        for place, rows in done.rows().items():
            self._rows.setdefault(place, []).extend(rows)

    def judged(self, asked: Asked, of: Option, rtts: Sequence[float]) -> Judged:
        """An option over some round trips that were run, by the seeds that all of them have."""
        rows = {rtt: self._rows[_place(asked.line, asked.device, of, rtt)] for rtt in rtts}
        seeds = min(len(all_) for all_ in rows.values())
        known = {rtt: all_[:seeds] for rtt, all_ in rows.items()}
        return judged(of, known, asked.objective, asked.load, asked.line)


def _place(line: Line, device: Device, of: Option, rtt: float) -> _Place:
    return device.name, of.discipline.name, of.size, line.up, rtt
