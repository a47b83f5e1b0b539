"""Where a run becomes steady: `record.warm_up = "auto"`, by MSER-5 over what its links carry and hold.

Statistics are made while a run goes, so that the warm-up must be known before: a first run without one gives the series
(`queue_series` of every recorded link: queue length and bytes sent, bin by bin), the longest cut of any of them is the
warm-up, and the run is done again with it. The scenario that is run says the number that was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.statistics import mser5

#: The path of a scenario, and the word that asks for it to be found.
PATH, AUTO = "record.warm_up", "auto"

#: Columns of `queue_series` that are looked at, with a word for each.
_SERIES = {"queue_packets_mean": "queue", "sent_bytes": "rate"}


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What to leave out at the start, s; the series that takes so long; whether what comes after is steady.

    Where it is not, half of the run is left out: it is too short for what it measures.
    """

    seconds: float
    of: str
    steady: bool

    @property
    def override(self) -> Override:
        """What lays it over the scenario."""
        return PATH, f"{round(self.seconds * 1e9)}ns"

    def __str__(self) -> str:
        if not self.steady:
            return f"{self.seconds:g} s, half of the run: {self.of} never became steady (MSER-5); run it longer"
        if not self.of:
            return "none: all that was looked at is steady from the start (MSER-5)"
        return f"{self.seconds:g} s, found by MSER-5: {self.of} takes longest to become steady"


def asked(sets: Sequence[Override]) -> tuple[list[Override], bool]:
    """The overrides without those that ask for a warm-up to be found, and whether the last word on it asks so."""
    words = [value.strip("\"' ") for path, value in sets if path == PATH]
    rest = [(path, value) for path, value in sets if path != PATH or value.strip("\"' ") != AUTO]
    return rest, bool(words) and words[-1] == AUTO


def find(result: Result) -> WarmUp:
    """The warm-up that a run without one should have had."""
    series = result.table("queue_series")
    half = result.summary["duration_s"] / 2.0
    longest = WarmUp(0.0, "", steady=True)
    for (link,), bins in series.group_by("link", maintain_order=True):
        times = bins["t_s"].to_numpy()
        for column, word in _SERIES.items():
            cut = mser5(bins[column].to_numpy())
            if cut is None:
                return WarmUp(half, f"{word} of link {link}", steady=False)
            if times[cut] > longest.seconds:
                longest = WarmUp(float(times[cut]), f"{word} of link {link}", steady=True)
    return longest
