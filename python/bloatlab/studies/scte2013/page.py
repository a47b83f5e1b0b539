"""The reproduction as a page: the verdict first, then figures, claims, statements, and what stands behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.report import Block, Page, Prose, Section, TableBlock, write
from bloatlab.scenario import version
from bloatlab.studies import layout as shared
from bloatlab.studies.page import Drawn, facts, figure_block, seeds
from bloatlab.studies.scte2013 import layout

if TYPE_CHECKING:
    from bloatlab.studies.scte2013.study import Reproduction


def write_report(done: Reproduction, drawings: Sequence[Drawn]) -> None:
    """The report as `report.html` in the study's folder."""
    write(compose(done, drawings), done.report)


def compose(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    card = done.scorecard
    statements = shared.statements_table(card, "All quantitative statements, in the order of the paper")
    sections = [
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))], _CLAIMS_LEAD),
        Section("Figures", "figures", [figure_block(d) for d in drawings], _FIGURES_LEAD),
        Section("Every statement", "statements", [TableBlock(statements)], _STATEMENTS_LEAD),
        Section("What differs", "differs", _differences(done), "Every counted statement outside its range, and why."),
        Section("Beyond the paper", "beyond", _experiments(done), _BEYOND_LEAD),
        Section(
            "Free parameters",
            "rules",
            [TableBlock(layout.unknowns_table()), TableBlock(shared.shares_table(card), folded=True)],
        ),
    ]
    return Page(
        title="Minimizing bufferbloat in DOCSIS 3.0 modems",
        subtitle="The SCTE paper of 2013 (ARRIS), reproduced packet by packet",
        sections=sections,
        lead=[_LEAD],
        facts=facts(card, done.claims, done.runs),
        warning=card.proves_nothing,
        footer=[
            f"bloatlab {version()}. {done.runs} runs, {seeds(card)}. Written by: bloatlab reproduce scte2013",
            "Published values: T. Cloonan, J. Allen, T. Cotter, B. Widrevitz, J. Howe: Minimizing Bufferbloat and Optimizing "
            "Packet Stream Performance in DOCSIS 3.0 CMs and CMTSs, SCTE 2013. Ours are simulated; machine and time are in "
            "provenance.json.",
        ],
    )


_LEAD = (
    "Ten file uploads and a game share the upstream of a cable modem. The buffer is varied from 20 ms to 1 s of the line's "
    "rate; behind it stand saturated tail-dropping (Type C), LRED (Type B), a queue for each session (Type A), and both. "
    "Every quantitative statement of the paper stands here beside ours, judged by ranges fixed before the first run."
)
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
    "Green is inside the range that was fixed beforehand, red outside, grey an input that our scenarios take over, yellow what "
    "no run or computation could bear out. The reason names the range."
)
_BEYOND_LEAD = (
    "What the text argues without numbers, what it names as future work, and what its silence about TCP costs. Without "
    "published values: these are only ours. Point at a value for its spread over seeds."
)


def _differences(done: Reproduction) -> list[Block]:
    table = shared.outside_table(done.scorecard, {})
    return [TableBlock(table)] if table.rows else [Prose(["None."])]


def _experiments(done: Reproduction) -> list[Block]:
    return [
        TableBlock(layout.experiment_table(e, done.measures), folded=len(e.grid((1,)).places()) > 20)
        for e in done.experiments
    ]
