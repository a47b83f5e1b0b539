"""The reproduction as a page: the verdict first, then tables, figures, claims, and what stands behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.report import Block, Page, Prose, Section, TableBlock, write
from bloatlab.scenario import version
from bloatlab.studies import layout as shared
from bloatlab.studies.cablelabs2012 import layout, readback
from bloatlab.studies.cablelabs2012.compare import __doc__ as rules
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.page import Drawn, facts, figure_block, seeds
from bloatlab.tables import TextCell, TextTable

if TYPE_CHECKING:
    from bloatlab.studies.cablelabs2012.study import Reproduction


def write_report(done: Reproduction, drawings: Sequence[Drawn]) -> None:
    """The report as `report.html` in the study's folder."""
    write(compose(done, drawings), done.report)


def compose(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    card = done.scorecard
    sections = [
        Section("Tables 3 to 8", "tables", [TableBlock(t) for t in layout.paper_tables(card)], _TABLES_LEAD),
        Section("Figures 2 to 9", "figures", [figure_block(d) for d in drawings], _FIGURES_LEAD),
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))]),
        Section("What differs", "differs", _differences(done), "Every counted cell outside its tolerance, and why."),
        *_experiments(done),
        Section("Rules and free parameters", "rules", _rules(done)),
    ]
    return Page(
        title="CoDel on a DOCSIS 3.0 cable modem",
        subtitle="CableLabs’ preliminary study of November 2012, reproduced packet by packet",
        sections=sections,
        lead=[_LEAD],
        facts=facts(card, done.claims, done.runs),
        warning=card.proves_nothing,
        footer=[
            f"bloatlab {version()}. {done.runs} runs, {seeds(card)}. Written by: bloatlab reproduce cablelabs2012",
            "Published values: G. White, J. Padden, Preliminary Study of CoDel AQM in a DOCSIS Network, CableLabs, "
            "November 2012. Ours are simulated; machine and time are in provenance.json.",
        ],
    )


_LEAD = (
    "A cable modem with a burst of 10 MB at 20 Mbit/s and 5 Mbit/s after it carries a telephone call, web pages and "
    "uploads. Its upstream queue is a large drop-tail buffer (417 packets, one second), a small one (21 packets, 50 ms), "
    "or CoDel. Every cell that the study measured stands here beside ours, judged by rules fixed before the runs."
)
_TABLES_LEAD = (
    "Each published value is followed by ours, the median over seeds. Green is within tolerance, red is outside, yellow "
    "is a calibration case, on which free parameters were chosen and which is not counted, grey is derived. Point at a "
    "value for its spread over seeds and the reason."
)
_FIGURES_LEAD = (
    "From seed 1. Dashed lines are values of the paper: rates, limits, delays, and the times that its text gives."
)


def _differences(done: Reproduction) -> list[Block]:
    table = shared.outside_table(done.scorecard, layout.DIGITS)
    return [TableBlock(table)] if table.rows else [Prose(["None."])]


def _experiments(done: Reproduction) -> list[Section]:
    tables = {
        name: layout.experiment_tables(name, EXPERIMENTS[name], runs, done.paper)
        for name, runs in done.experiments.items()
    }
    compared: list[Block] = [TableBlock(t) for t in tables.pop("disciplines", [])]
    others: list[Block] = [TableBlock(t, folded=True) for ts in tables.values() for t in ts]
    if done.readings:
        others.insert(0, TableBlock(layout.readings_table(done.scorecard, done.readings)))
    sections: list[Section] = []
    if compared:
        sections.append(Section("Every discipline", "disciplines", compared, _DISCIPLINES_LEAD))
    if others:
        sections.append(Section("Beyond the paper", "beyond", others, _BEYOND_LEAD))
    return sections


_DISCIPLINES_LEAD = (
    "The paper’s three queues and those that it leaves to future work, on the same modem with the same loads and the same "
    "seeds. Without published values: these are only ours. Columns are the nine cases: bulk traffic and its round "
    "trip. Green is the best of a column, and what prints the same."
)


_BEYOND_LEAD = "What the paper names as future work or leaves open. Without published values: these are only ours."


def _rules(done: Reproduction) -> list[Block]:
    paragraphs = [p.replace("\n", " ").replace("`", "").strip() for p in (rules or "").split("\n\n")]
    head, table, *rest = paragraphs
    del table
    return [
        Prose([head]),
        TableBlock(_tolerances()),
        Prose(rest),
        TableBlock(shared.shares_table(done.scorecard)),
        TableBlock(layout.unknowns_table()),
        TableBlock(readback.table(readback.read_back())),
    ]


def _tolerances() -> TextTable:
    rows = (
        ("lost, late, total plr", "0.5 percentage points or 35 %, whichever is larger"),
        ("lost of D01 and C01", "0.05 to 0.2 % with 417 packets, at most 0.02 % with 21"),
        ("MOS", "0.2"),
        ("median page load time", "10 %; 25 % where the paper has more than 5 s; at most 3 pages where it has >600"),
        ("its MAD", "a factor of two, or 0.02 s"),
        ("pages completed", "10 %"),
        ("FTP kB", "0.5 % of the ceiling of 385 000 kB, and DropTail minus CoDel within 30 % or 1.5 MB"),
    )
    return TextTable(
        "Tolerances", ["metric", "ours agrees within"], [[TextCell(a), TextCell(b)] for a, b in rows], left=2
    )
