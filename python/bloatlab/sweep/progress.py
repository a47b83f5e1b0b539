"""Who looks at a sweep while it goes: nobody, or a person at a terminal."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Watch:
    """Told about the runs of a sweep, from any thread; this one shows nothing. `fraction` is of simulated time."""

    def begin(self, total: int) -> None:
        """`total` runs are to come."""

    def advance(self, index: int, fraction: float) -> None:
        """Run `index` is this far, in [0, 1]."""

    def done(self, index: int) -> None:
        """Run `index` is complete."""

    def end(self) -> None:
        """The sweep is over, one way or another."""


class _Bar(Watch):
    """One bar over all runs; it moves with the simulated time of the runs under way, not only when one ends."""

    def __init__(self, what: str, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._what = what
        self._lock = threading.Lock()
        self._fractions: dict[int, float] = {}
        self._finished = 0
        self._task = self._progress.add_task(what, total=None)

    def begin(self, total: int) -> None:
        self._progress.update(self._task, total=total)
        self._progress.start()

    def advance(self, index: int, fraction: float) -> None:
        with self._lock:
            self._fractions[index] = fraction
            self._show()

    def done(self, index: int) -> None:
        with self._lock:
            self._fractions.pop(index, None)
            self._finished += 1
            self._show()

    def end(self) -> None:
        self._progress.stop()

    def _show(self) -> None:
        self._progress.update(self._task, completed=self._finished + sum(self._fractions.values()))


def silent() -> Watch:
    """Nobody looks."""
    return Watch()


def watch(what: str, console: Console) -> Watch:
    """A progress bar where `console` is a terminal, else nobody."""
    return _Bar(what, console) if console.is_terminal else Watch()
