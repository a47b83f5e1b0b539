"""When nothing on a device helps: what fails, and what would help elsewhere.

A measure of an application fails with fewer points than the objective's `floor`. Where every option of the device
fails in some measure, the answer is that nothing on it helps. Two remedies are then simulated: a router with fq_codel
in front, which shapes to a little less than the line in both directions; and a line of twice the rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bloatlab.advice import catalogue
from bloatlab.advice.catalogue import Device, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option, option, options
from bloatlab.advice.question import Question
from bloatlab.advice.runs import Runs
from bloatlab.advice.score import Judged

#: A router in front of a modem shapes to this share of the line, so that the queue is the router's.
SHAPED = 0.95

#: Seeds of a remedy.
SEEDS = 2


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something else that was tried: what it is, how it did, and which measures still fail."""

    words: str
    judged: Judged
    failing: Sequence[Wanted]


def fails(objective: Objective, wanted: Sequence[Wanted], of: Judged) -> list[Wanted]:
    """The measures of applications in which an option fails, by its mean value."""
    return [
        m
        for m in wanted
        if m.kinds and m.points(None if (v := of.values[m.name].of) is None else v.mean) < objective.floor
    ]


def failed(objective: Objective, wanted: Sequence[Wanted], all_: Sequence[Judged], best: Judged) -> list[Wanted]:
    """What fails with the chosen option, if every option that can be set fails in something; otherwise nothing."""
    if all(fails(objective, wanted, j) for j in all_ if j.option.discipline.settable):
        return fails(objective, wanted, best)
    return []


def remedies(question: Question, made: Runs, best: Judged) -> list[Remedy]:
    """What was tried elsewhere, run with few seeds."""
    found: list[Remedy] = []
    for words, line, device, chosen in _tried(question, best.option):
        made.run(line, device, question.load, [(chosen, rtt) for rtt in line.rtts], SEEDS)
        one = made.judged(replace(question, line=line, device=device), chosen, line.rtts)
        found.append(Remedy(words, one, fails(question.objective, list(_measured(question, one)), one)))
    return found


def _measured(question: Question, one: Judged) -> Sequence[Wanted]:
    return [m for m in question.objective.measures if m.name in one.values]


def _tried(question: Question, best: Option) -> list[tuple[str, Line, Device, Option]]:
    line = question.line
    twice = replace(line, up=2.0 * line.up, down=2.0 * line.down, peak=None if line.peak is None else 2.0 * line.peak)
    found: list[tuple[str, Line, Device, Option]] = []
    router = catalogue.device("linux")
    if question.device.name not in {"linux", "cake"}:
        # its buckets are the modem's, so only the sustained rate is the router's
        shaped = Line(SHAPED * line.up, SHAPED * line.down, line.rtts)
        chosen = next(o for o in options(router, shaped) if o.discipline.name == "fq_codel" and o.given)
        found.append((f"a router in front that shapes to {100 * SHAPED:g} % with fq_codel", shaped, router, chosen))
    again = option(question.device, best.discipline, round(2 * best.size), twice)
    found.append(("twice the rates with the same setting", twice, question.device, again))
    return found
