"""The study declared: its cases, its published values, its claims, its tables and figures."""

from __future__ import annotations

from functools import partial

from bloatlab.studies import page
from bloatlab.studies.l4s import figures, tables
from bloatlab.studies.l4s.answer import answer
from bloatlab.studies.l4s.build import build
from bloatlab.studies.l4s.claims import CLAIMS
from bloatlab.studies.l4s.measure import MEASURE
from bloatlab.studies.l4s.plan import cases, quick
from bloatlab.studies.l4s.scorecard import GOALS, RULES, cells, groups
from bloatlab.studies.l4s.scorecard import __doc__ as rules
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study
from bloatlab.tables import TextTable

QUICK_SECONDS = 20


def batches(options: Options) -> list[Batch]:
    """All cases; a slice of them for a quick look."""
    given, seconds = (quick(), QUICK_SECONDS) if options.quick else (cases(), None)
    return [Batch(name="all cases", cases=given, build=partial(build, seconds=seconds), measure=MEASURE)]


def _groups(results: Results, *names: str) -> list[TextTable]:
    """The tables of groups of cells that have any."""
    found = groups(results.scorecard.cells)
    return [tables.group_table(results.scorecard, found[name], tables.TITLES[name]) for name in names if name in found]


def _pairs(results: Results) -> list[TextTable]:
    found = groups(results.scorecard.cells)
    return [tables.parts_table(found), *tables.pairs_tables(found.get("pairs", ()), results.runs)]


def _shared(results: Results) -> list[TextTable]:
    found = groups(results.scorecard.cells)
    return [tables.shared_table(found["shared"], results.runs)] if "shared" in found else []


def _steps(results: Results) -> list[TextTable]:
    return [tables.steps_table(results.runs), *_groups(results, "steps")]


def _why(results: Results) -> list[TextTable]:
    return [tables.slowest_table(results.runs), tables.queue_table(results.runs)]


def _tables(results: Results) -> list[TextTable]:
    """The pairs, and each group of cells."""
    found = groups(results.scorecard.cells)
    pairs = [tables.parts_table(found), tables.misses_table(found, results.runs)]
    others = [*_shared(results), tables.steps_table(results.runs), *_groups(results, *tables.TITLES)]
    return [*pairs, *others, *_why(results)]


STUDY = Study(
    name="l4s",
    publication=Publication(
        "L4S: RFC 9330 and RFC 9332, and the tables of the L4S tests",
        "B. Briscoe et al.: RFC 9330, Low Latency, Low Loss, and Scalable Throughput (L4S) Internet Service: Architecture; "
        "K. De Schepper et al.: RFC 9332, Dual-Queue Coupled Active Queue Management for L4S. January 2023. P. Heist: L4S Tests, 2020.",
        "https://github.com/heistp/l4s-tests",
    ),
    about=About(
        "Low latency, low loss, scalable throughput",
        "RFC 9330 and RFC 9332, and the L4S tests' tables, packet by packet",
        "L4S keeps a short queue for senders that count their marks (TCP Prague), beside an ordinary one for all others, and couples "
        "the two so that they share the link. What its documents promise and what its tests measured stand here beside runs of Prague, "
        "CUBIC and Reno through DualPI2, and beside datagrams that answer nothing.",
    ),
    batches=batches,
    quick=Quick(1, f"A quick look: {QUICK_SECONDS} s, one seed, and a slice of the cases, so that it proves nothing."),
    cells=cells,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: answer(results.runs, results.seeds),
    tables=_tables,
    figures=lambda results: figures.draw(results.runs),
    sections=[
        PageSection("Two flows", "pairs", _pairs,
             "Two uploads of three minutes, measured in the last one, in all orders of Prague and CUBIC. Both ask for AccECN, so that CUBIC is marked, too. The tests ran a "
             "kernel of August 2020, whose Prague (0.5) keeps round trips of its own; version 0.7 scales short ones, so that 20 and 10 ms are equal today."),
        PageSection("One queue", "shared", _shared,
             "Prague counts marks, the flow beside it halves at one: an AQM of RFC 3168 that has both in one queue cannot be fair."),
        PageSection("Steps of the rate", "steps", _steps,
             "One upload of a minute; in its middle the rate falls. What had been sent by then waits at the new rate."),
        page.figures("Medians over seeds; bars: the central 80 %."),
        PageSection("How long the low-latency queue is", "delay", lambda results: _groups(results, "beside", "alone"),
             "RFC 9330: “less than 1 millisecond on average and less than 2 milliseconds at the 99th percentile”."),
        PageSection("Why", "why", _why,
             "Beside CUBIC what counts is the time of a packet: one of C's before it, or several flows' at once. Alone, flows grow together for a "
             "round trip until the step's marks come back; that growth is the queue beyond the step. With a round trip of 5 ms the law "
             "leaves a 25th of it, and the wait is short; without the law it is not."),
        PageSection("Closed forms", "laws", lambda results: _groups(results, "laws", "floods"),
             "Flows within a factor of two; what answers nothing is arithmetic, within 3 %."),
        page.claims(),
        page.rules("Rules", rules),
    ],
)  # fmt: skip
