"""Remedies outside the device, in case none of its settings is good enough.

A setting fails in a measure of an application if it gets fewer points there than the objective's `floor`. If every
available setting of the device fails in some measure, remedies are simulated, except in a quick look: a line with twice
the rates; and, unless the device is `linux` or `cake`, a router with fq_codel in front, which shapes to slightly below
the line's rates in both directions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bloatlab.advice import catalogue
from bloatlab.advice.catalogue import Device, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option, option, options
from bloatlab.advice.question import Question
from bloatlab.advice.runs import Runs
from bloatlab.advice.score import Judged

#: A router in front of a modem shapes traffic to this fraction of the line's rate, so that the queue builds up in the
#: router and not in the modem.
SHAPED = 0.95

#: Number of seeds for each remedy.
SEEDS = 2

#: Number of seeds for fq_codel in a router in front, as a remark.
FRONT_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy: its description, its simulated result, and the measures that fail in spite of it."""

    words: str
    judged: Judged
    failing: Sequence[Wanted]


def fails(objective: Objective, wanted: Sequence[Wanted], of: Judged) -> list[Wanted]:
    """Returns the measures of applications whose mean value gets fewer points than the objective's `floor`.

    A value that most runs lack gets no points.
    """
    means = {n: None if value.of is None or value.nothing else value.of.mean for n, value in of.values.items()}
    return [m for m in wanted if m.kinds and m.points(means[m.name]) < objective.floor]


def hopeless(objective: Objective, wanted: Sequence[Wanted], all_: Sequence[Judged]) -> bool:
    """Returns whether every available setting fails in at least one measure."""
    return all(fails(objective, wanted, j) for j in all_ if j.option.discipline.settable)


def remedies(question: Question, made: Runs, best: Judged) -> list[Remedy]:
    """Simulates the remedies with `SEEDS` seeds each."""
    found: list[Remedy] = []
    for words, line, device, chosen in _candidates(question, best.option):
        made.run(line, device, question.load, [(chosen, rtt) for rtt in line.rtts], SEEDS)
        one = made.judged(replace(question, line=line, device=device), chosen, line.rtts)
        measured = [m for m in question.objective.measures if m.name in one.values]
        found.append(Remedy(words, one, fails(question.objective, measured, one)))
    return found


def in_front(question: Question, made: Runs) -> Judged | None:
    """Simulates fq_codel in a router in front, if the device is a modem on which CoDel cannot be set.

    Its use of the line is relative to the line's whole rate, as for the modem's own settings.
    """
    codel = any("codel" in name for d in question.device.disciplines if d.settable for name in d.queue)
    if question.device.link == "line" or codel:
        return None
    line, device, chosen = _router(question.line)
    made.run(line, device, question.load, [(chosen, rtt) for rtt in line.rtts], FRONT_SEEDS)
    return made.judged(
        replace(question, line=replace(question.line, carried=(1.0, 1.0))), chosen, line.rtts, line, device
    )


def _router(line: Line) -> tuple[Line, Device, Option]:
    # `shaped` has no peak rate and no burst: only a modem has a token bucket for bursts, and the router shapes to a
    # fixed share of the sustained rate
    router, shaped = catalogue.device("linux"), Line(SHAPED * line.up, SHAPED * line.down, line.rtts)
    return shaped, router, next(o for o in options(router, shaped) if o.discipline.name == "fq_codel" and o.given)


def _candidates(question: Question, best: Option) -> Iterator[tuple[str, Line, Device, Option]]:
    line = question.line
    if question.device.name not in {"linux", "cake"}:
        yield f"a router in front that shapes to {100 * SHAPED:g} % with fq_codel", *_router(line)
    twice = replace(line, up=2.0 * line.up, down=2.0 * line.down, peak=None if line.peak is None else 2.0 * line.peak)
    again = option(question.device, best.discipline, round(2 * best.size), twice)
    yield "twice the rates with the same setting", twice, question.device, again
