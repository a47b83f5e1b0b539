"""Why a value differs: the experiment that changes one thing and moves it.

The first that brings it within what is accepted; else one that brings it to the other side, so that what was changed is what
matters and the tests' own lies between; else one that takes away three quarters of what is too much. None: not explained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.l4s import theory
from bloatlab.studies.l4s.cases import HALF, SHORT, SMALL, Case
from bloatlab.studies.scorecard import Band
from bloatlab.tables import number

#: What remains of an excess that is explained for the most part.
REST = 0.25
#: What 99 of 100 packets of L may wait. Unit: ms.
LIMIT = 2.0


def explain(case: Case, measure: str, band: Band, ours: float, runs: Runs, scale: float = 1.0) -> str | None:
    """What was changed, and what came of it; `ours` is outside of `band`."""
    tried = [
        (words, value * scale)
        for other, words in experiments(case, measure)
        if (value := median_of(runs, other.key, measure)) is not None
    ]
    over = ours > band.high
    for words, value in tried:
        if band.holds(value):
            return f"{words}: {number(value, 2)}"
    for words, value in tried:
        if value < band.low if over else value > band.high:
            return f"{words}: {number(value, 2)}, on the other side"
    for words, value in tried:
        if over and value - band.high <= REST * (ours - band.high):
            return f"for the most part: {words}: {number(value, 2)}"
    return None


def experiments(case: Case, measure: str) -> Iterator[tuple[Case, str]]:
    """Each experiment on a case that may have been run, and the mechanism that it changes."""
    match case.group:
        case "pairs":
            yield from _of_pairs(case)
        case "shared":
            yield (
                case.instead({"cubic-ecn": "alone-ecn", "cubic-noecn": "alone-noecn"}),
                "CUBIC's region of Reno; without it",
            )
        case "coupled":
            yield case.of_flows(4), "one Reno window empties C's queue when it comes down; four flows each"
        case "beside":
            yield from _of_beside(case, measure)
        case "alone":
            yield from _of_alone(case)
        case _:
            pass


def _of_pairs(case: Case) -> Iterator[tuple[Case, str]]:
    if case.queue.startswith("pfifo"):
        yield replace(case, jittered=True), "arrivals in step with departures; each up to a packet's time later"
        return
    yield case.of_version("prague-rounds"), "when Prague's window is cut; once in each of alpha's rounds"
    yield case.of_version("prague6"), "with version 0.6's 500 rounds before short round trips are scaled"


def _of_beside(case: Case, measure: str) -> Iterator[tuple[Case, str]]:
    packet = f"one packet takes {number(case.packet_ms, 2)} ms"
    if measure == "ratio":
        words = f"{packet}, so that the step marks an L packet alone behind one of C's; with a step that spares it"
        yield case.through("dualpi2, step behind one"), words
    if measure.startswith("second_wait"):
        yield case.through("dualpi2, even"), "random drops; with evenly spaced ones (RFC 9332's recur)"
    least = theory.under_way(case.packet_ms)
    bound = f", and one of C's under way alone is {number(least, 2)} ms for 99 of 100" if least > LIMIT else ""
    yield replace(case, mss=SMALL), f"{packet}{bound}; with packets of 188 bytes"


def _of_alone(case: Case) -> Iterator[tuple[Case, str]]:
    flows = case.loads[0].flows
    packet = f"one packet takes {number(case.packet_ms, 2)} ms"
    small = replace(case, mss=SMALL)
    short = replace(case, loads=tuple(replace(x, rtt=SHORT) for x in case.loads))
    grow = f"{flows} flows grow for a round trip before the marks of its start come back"
    if flows > 1:
        yield short, f"{grow}; at a round trip of {SHORT:g} ms, with a 25th of that growth"
    both = f"{grow}, and {packet}" if flows > 1 else packet
    yield small, f"{both}; with packets of 188 bytes"
    for rtt in (HALF, SHORT):
        shorter = replace(small, loads=tuple(replace(x, rtt=rtt) for x in case.loads))
        yield shorter, f"{both}; with packets of 188 bytes at a round trip of {rtt:g} ms"
