"""Why a value differs: the experiment that changes one thing, and brings it within what is accepted. None: not explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.l4s.cases import HALF, SHORT, SMALL, Case
from bloatlab.studies.scorecard import Band
from bloatlab.tables import number


def explain(case: Case, measure: str, band: Band, runs: Runs, scale: float = 1.0) -> str | None:
    """What was changed and what came of it, of the first experiment whose median is in `band`."""
    for other, words in experiments(case):
        ours = median_of(runs, other.key, measure)
        if ours is not None and band.holds(ours * scale):
            return f"{words}: {number(ours * scale, 2)}"
    return None


def experiments(case: Case) -> Iterator[tuple[Case, str]]:
    """Each experiment on a case that may have been run, and the mechanism that it changes."""
    if case.group == "pairs":
        if case.queue == "droptail":
            yield case.of_version("prague-early"), "how Prague's first slow start ends; left at 100 segments"
        if case.queue == "dualpi2":
            yield case.of_version("prague6"), "with version 0.6's 500 rounds before short round trips are scaled"
        other = case.instead({"cubic": "cubic-alone", "cubic-ecn": "cubic-alone-ecn"})
        if case.queue == "one queue":
            yield other, "CUBIC's region of Reno; without it"
        return
    flows = case.loads[0].flows
    packet = f"one packet takes {number(case.packet_ms, 2)} ms"
    small = replace(case, mss=SMALL)
    short = replace(case, loads=tuple(replace(x, rtt=SHORT) for x in case.loads))
    if case.group == "beside":
        yield small, f"{packet}; with packets of 188 bytes"
        return
    if case.group == "alone":
        grow = f"{flows} flows grow for a round trip before the marks of its start come back" if flows > 1 else packet
        if flows > 1:
            yield short, f"{grow}; at a round trip of {SHORT:g} ms, with a 25th of that growth"
        yield small, f"{grow}, and {packet}; with packets of 188 bytes"
        half = tuple(replace(x, rtt=HALF) for x in case.loads)
        yield (
            replace(small, loads=half),
            f"{grow}, and {packet}; with packets of 188 bytes at a round trip of {HALF:g} ms",
        )
