"""The study as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bloatlab.report import Answer, Drawn, Page, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.claims import Runs
from bloatlab.studies.kit import About, Reproduced, compose, figures_section, rules_prose
from bloatlab.studies.l4s import layout
from bloatlab.studies.l4s.answer import answer
from bloatlab.studies.l4s.scorecard import __doc__ as doc
from bloatlab.studies.l4s.scorecard import rules
from bloatlab.studies.scorecard import Cell
from bloatlab.tables import TextTable

ABOUT = About(
    "Low latency, low loss, scalable throughput",
    "RFC 9330 and RFC 9332, and the L4S tests' tables, packet by packet",
    "L4S keeps a short queue for senders that count their marks (TCP Prague), beside an ordinary one for all others, and couples "
    "the two so that they share the link. What its documents promise and what its tests measured stand here beside runs of Prague, "
    "CUBIC and Reno through DualPI2, and beside datagrams that answer nothing.",
)


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    measures: Runs
    groups: Mapping[str, Sequence[Cell]]

    def tables(self) -> Sequence[TextTable]:
        """The pairs, and each group of cells."""
        found = [layout.parts_table(self.groups), layout.misses_table(self.groups, self.measures)]
        if "shared" in self.groups:
            found.append(layout.shared_table(self.groups["shared"], self.measures))
        found.append(layout.steps_table(self.measures))
        for name, title in layout.TITLES.items():
            if name in self.groups:
                found.append(layout.group_table(self.scorecard, self.groups[name], title))
        return [*found, layout.slowest_table(self.measures), layout.queue_table(self.measures)]

    def answer(self) -> Answer:
        """Whether the low-latency queue is as short as promised."""
        return answer(self.measures, self.scorecard.seeds)


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    card, groups = done.scorecard, done.groups
    tables = {
        name: TableBlock(layout.group_table(card, groups[name], title))
        for name, title in layout.TITLES.items()
        if name in groups
    }
    pairs = [TableBlock(table) for table in layout.pairs_tables(groups.get("pairs", ()), done.measures)]
    shared_queue = [TableBlock(layout.shared_table(groups["shared"], done.measures))] if "shared" in groups else []
    steps = [TableBlock(layout.steps_table(done.measures))]
    sections = [
        Section("Two flows", "pairs", [TableBlock(layout.parts_table(groups)), *pairs], _PAIRS),
        Section("One queue", "shared", shared_queue, _SHARED),
        Section("Steps of the rate", "steps", [*steps, *(t for n, t in tables.items() if n == "steps")], _STEPS),
        figures_section(drawings, "Medians over seeds; bars: the central 80 %."),
        Section("How long the low-latency queue is", "delay", [t for n, t in tables.items() if n in ("beside", "alone")], _DELAY),
        Section("Why", "why", [TableBlock(layout.slowest_table(done.measures)), TableBlock(layout.queue_table(done.measures))], _WHY),
        Section("Closed forms", "laws", [t for n, t in tables.items() if n in ("laws", "floods")], _LAWS),
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))]),
        Section("Rules", "rules", [*rules_prose(doc), TableBlock(shared.tolerances_table(rules())),
                                   TableBlock(shared.shares_table(card))]),
    ]  # fmt: skip
    return compose(done, ABOUT, [s for s in sections if s.blocks])


_PAIRS = (
    "Two uploads of three minutes, measured in the last one, in all orders of Prague and CUBIC. Both ask for AccECN, so that CUBIC is marked, too. The tests ran a "
    "kernel of August 2020, whose Prague (0.5) keeps round trips of its own; version 0.7 scales short ones, so that 20 and 10 ms are equal today."
)
_SHARED = "Prague counts marks, the flow beside it halves at one: an AQM of RFC 3168 that has both in one queue cannot be fair."
_STEPS = "One upload of a minute; in its middle the rate falls. What had been sent by then waits at the new rate."
_DELAY = "RFC 9330: “less than 1 millisecond on average and less than 2 milliseconds at the 99th percentile”."
_WHY = (
    "Beside CUBIC what counts is the time of a packet: one of C's before it, or several flows' at once. Alone, flows grow together for a "
    "round trip until the step's marks come back; that growth is the queue beyond the step. With a round trip of 5 ms the law "
    "leaves a 25th of it, and the wait is short; without the law it is not."
)
_LAWS = "Flows within a factor of two; what answers nothing is arithmetic, within 3 %."
