"""The reproduction as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.report import Block, Page, Prose, Section, TableBlock, write
from bloatlab.scenario import version
from bloatlab.studies import layout as shared
from bloatlab.studies.csc458 import layout
from bloatlab.studies.csc458.compare import __doc__ as rules
from bloatlab.studies.page import Drawn, facts, figure_block, seeds
from bloatlab.tables import TextTable

if TYPE_CHECKING:
    from bloatlab.studies.csc458.study import Reproduction


def write_report(done: Reproduction, drawings: Sequence[Drawn]) -> None:
    """The report as `report.html` in the study's folder."""
    write(compose(done, drawings), done.report)


def compose(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    card = done.scorecard
    tables: list[Block] = [TableBlock(layout.published_table(card)), TableBlock(layout.cases_table(done.simulated))]
    sections = [
        Section("Every published number", "tables", tables, _TABLES_LEAD),
        *_kernels(done),
        *_experiments(done),
        Section("Figures", "figures", [figure_block(d) for d in drawings], _FIGURES_LEAD),
        Section("Claims", "claims", [TableBlock(t) for t in _claims(done)]),
        Section("Rules and set-up", "rules", _rules(done)),
    ]
    return Page(
        title="The Mininet bufferbloat lab",
        subtitle="CSC458’s second assignment, packet by packet and on kernels",
        sections=sections,
        lead=[_LEAD],
        facts=facts(card, done.claims, done.runs),
        warning=card.proves_nothing,
        footer=[
            f"bloatlab {version()}. {done.runs} simulations, {seeds(card)}. Written by: bloatlab reproduce csc458"
            + (" --live" if done.live is not None else ""),
            "Published values: Z. Zhang, CSC458 Programming Assignment 2 Report, University of Toronto. Machine and time are in "
            "provenance.json.",
        ],
    )


_LEAD = (
    "A home computer sends to a server through 10 Mbit/s with 5, 20 or 100 packets of buffer, pings it ten times a second, and "
    "serves it a page every two seconds. The lab’s own Mininet kit shows round trips twice those of the report’s equation (2): "
    "its queues count super-segments of two segments as one packet. Here both ways stand side by side."
)
_TABLES_LEAD = "Ours is the median over seeds, in brackets or on pointing the central 80 %. Green is within what was accepted beforehand."
_FIGURES_LEAD = (
    "From seed 1, as the lab samples: queue and window each 0.1 s. Dashed: Q and 2 Q, and equation (2) for both."
)
_LIVE_LEAD = (
    "The same scenarios on this machine’s kernel TCP, one run each. There a packet is a packet: compare live with the rows "
    "without x2. Published values are of super-segments."
)


def _kernels(done: Reproduction) -> list[Section]:
    if done.live is None:
        return []
    table = layout.live_table(done.simulated, done.live.measures, done.live.invalid)
    return [Section("On kernels", "live", [TableBlock(table)], _LIVE_LEAD)]


def _experiments(done: Reproduction) -> list[Section]:
    tables: list[Block] = [TableBlock(layout.experiment_table(name, runs)) for name, runs in done.experiments.items()]
    return [Section("Beyond the report", "beyond", tables)] if tables else []


def _claims(done: Reproduction) -> list[TextTable]:
    return [shared.claims_table(done.claims), layout.readings_table(done.claims, done.second_reading)]


def _rules(done: Reproduction) -> list[Block]:
    paragraphs = [p.replace("\n", " ").replace("`", "").strip() for p in (rules or "").split("\n\n")]
    return [Prose(paragraphs), TableBlock(shared.shares_table(done.scorecard)), TableBlock(layout.setup_table())]
