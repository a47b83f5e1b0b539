"""Finds the warm-up of a run for `record.warm_up = "auto"`: MSER-5 over the rates and queues of its links.

Statistics are computed during a run, so the warm-up must be known before the run starts. A first run without a warm-up
gives the series (`queue_series` of every recorded link: queue length and bytes sent per bin). For each series, MSER-5
finds how much of the start to cut. The longest of these cuts is the warm-up, and the run is repeated with it. The
second run's scenario states this warm-up as a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.statistics import mser5
from bloatlab.workloads.build import ns

#: The scenario key of the warm-up, and the value that requests a warm-up computed from a first run.
PATH, AUTO = "record.warm_up", "auto"

#: The columns of `queue_series` that are used, with their labels.
_SERIES = {"queue_packets_mean": "queue", "sent_bytes": "rate"}


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The length of the warm-up, the series that determines it, and whether the rest of the run is steady.

    If the rest is not steady, the run is too short, and the warm-up is half of the run.
    """

    seconds: float
    of: str
    steady: bool

    @property
    def override(self) -> Override:
        """The override that sets this warm-up in a scenario."""
        return PATH, ns(self.seconds)

    def __str__(self) -> str:
        if not self.steady:
            return f"{self.seconds:g} s, half of the run: {self.of} never became steady (MSER-5); run it longer"
        if not self.of:
            return "none: all series are steady from the start (MSER-5)"
        return f"{self.seconds:g} s, found by MSER-5: {self.of} takes longest to become steady"


def asked(sets: Sequence[Override]) -> tuple[list[Override], bool]:
    """Returns the overrides except those that set the warm-up to "auto", and whether a run has to find its warm-up.

    A run has to find its warm-up if the last override of the warm-up is "auto".
    """
    words = [value.strip("\"' ") for path, value in sets if path == PATH]
    rest = [(path, value) for path, value in sets if path != PATH or value.strip("\"' ") != AUTO]
    return rest, bool(words) and words[-1] == AUTO


def find(result: Result) -> WarmUp:
    """Finds the warm-up from the result of a run without a warm-up."""
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
