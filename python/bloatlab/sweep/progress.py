"""The progress of a sweep: a bar at a terminal, or nothing."""

import threading

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Watch:
    """Receives the progress of a sweep's runs, from any thread; this base class shows nothing."""

    def begin(self, total: int) -> None:
        """Starts the display for a sweep of `total` runs."""

    def advance(self, index: int, fraction: float) -> None:
        """Shows that run `index` has simulated this fraction of its time."""

    def done(self, index: int) -> None:
        """Shows that run `index` is complete."""

    def end(self) -> None:
        """Ends the display, even if the sweep is incomplete."""


class _Bar(Watch):
    """A progress bar for all runs. A run in progress counts as the fraction already simulated."""

    def __init__(self, what: str, console: Console) -> None:
        columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(TextColumn("{task.description}"), *columns, console=console, transient=True)
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
    """Returns a watch that shows nothing."""
    return Watch()


def watch(what: str, console: Console) -> Watch:
    """Returns a progress bar, or a watch that shows nothing if `console` is not a terminal."""
    return _Bar(what, console) if console.is_terminal else Watch()
