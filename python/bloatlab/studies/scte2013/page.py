"""The reproduction as a page: figures, claims, statements, and what stands behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bloatlab.report import Answer, Block, Drawn, Page, Prose, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.claims import Runs
from bloatlab.studies.kit import About, Reproduced, compose, figures_section
from bloatlab.studies.scte2013 import layout
from bloatlab.studies.scte2013.answer import answer
from bloatlab.studies.scte2013.experiments import Experiment
from bloatlab.tables import TextTable

ABOUT = About(
    "Minimizing bufferbloat in DOCSIS 3.0 modems",
    "The SCTE paper of 2013 (ARRIS), reproduced packet by packet",
    "Ten file uploads and a game share the upstream of a cable modem. The buffer is varied from 20 ms to 1 s of the line's "
    "rate; behind it stand saturated tail-dropping (Type C), LRED (Type B), a queue for each session (Type A), and both. "
    "Every quantitative statement of the paper stands here beside ours, judged by ranges fixed before the first run.",
)


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    experiments: Sequence[Experiment]
    measures: Runs

    def tables(self) -> Sequence[TextTable]:
        """Every statement, and every experiment but the one that the figures show."""
        asked = [layout.experiment_table(e, self.measures) for e in self.experiments if e.name != "figures"]
        return [shared.statements_table(self.scorecard, "Every statement of the paper"), *asked]

    def answer(self) -> Answer:
        """Which management keeps a game playable."""
        return answer(self.measures, self.scorecard.seeds)


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    statements = shared.statements_table(done.scorecard, "All quantitative statements, in the order of the paper")
    rules: list[Block] = [
        TableBlock(layout.unknowns_table()),
        TableBlock(shared.shares_table(done.scorecard), folded=True),
    ]
    sections = [
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))], _CLAIMS_LEAD),
        figures_section(drawings, _FIGURES_LEAD),
        Section("Every statement", "statements", [TableBlock(statements)], _STATEMENTS_LEAD),
        Section("What differs", "differs", _differences(done), "Every counted statement outside its range, and why."),
        Section("Beyond the paper", "beyond", _experiments(done), _BEYOND_LEAD),
        Section("Free parameters", "rules", rules),
    ]
    return compose(done, ABOUT, sections)


_CLAIMS_LEAD = (
    "The sentences of the paper that runs can bear out. Ours is the median over seeds, in brackets the central 80 %. The free "
    "parameters (TCP above all) are one set for the whole study, argued for from the standards of the time and not from the "
    "paper's figures."
)
_FIGURES_LEAD = (
    "Lines are medians over seeds, shades the central 80 %. Latency is one way, propagation (25 ms) included. The figures of "
    "the paper carry no legible numbers; what its text says of them is in the claims."
)
_STATEMENTS_LEAD = (
    "Within is inside the range that was fixed beforehand; a parameter is an input that our scenarios take over; not tested is what "
    "no run or computation could bear out. The reason names the range."
)
_BEYOND_LEAD = (
    "What the text argues without numbers, what it names as future work, and what its silence about TCP costs. Without "
    "published values: these are only ours. Press a value for its spread over seeds."
)


def _differences(done: Reproduction) -> list[Block]:
    table = shared.outside_table(done.scorecard, {})
    return [TableBlock(table)] if table.rows else [Prose(["None."])]


def _experiments(done: Reproduction) -> list[Block]:
    return [
        TableBlock(layout.experiment_table(e, done.measures), folded=len(e.grid((1,)).places()) > 20)
        for e in done.experiments
    ]
