"""The reproduction as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.report import Block, Drawn, Page, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.kit import About, compose, figures_section, rules_prose
from bloatlab.studies.mmcn1999 import layout
from bloatlab.studies.mmcn1999.compare import __doc__ as doc
from bloatlab.studies.mmcn1999.compare import rules

if TYPE_CHECKING:
    from bloatlab.studies.mmcn1999.study import Reproduction

ABOUT = About(
    "Class-based thresholds against unresponsive traffic",
    "Parris, Jeffay and Smith’s lightweight queue management of January 1999, rebuilt packet by packet",
    "Thirty TCP transfers and six video conferences share a link of 10 Mbit/s with a blast of 10 Mbit/s that does not "
    "respond. One queue with accounts per class (CBT) is to protect TCP from the blast and the conferences from both, with "
    "less state than accounts per flow (FRED) or queues per class (CBQ).",
)


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    card = done.scorecard
    queues, state, small, sensitivity, *experiments = [TableBlock(t) for t in done.own_tables()]
    beyond: list[Block] = [small, sensitivity, *experiments]
    sections = [
        Section("Nine queues", "queues", [queues, TableBlock(layout.gates_table(card)), state], _QUEUES),
        figures_section(drawings, _FIGURES),
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))], _CLAIMS),
        Section("The slides", "slides", [TableBlock(layout.rows_table(card))], _CHART),
        Section("What it depends on", "beyond", beyond),
        Section(
            "Rules",
            "rules",
            [*rules_prose(doc), TableBlock(shared.tolerances_table(rules())), TableBlock(shared.shares_table(card))],
        ),
    ]
    return compose(done, ABOUT, sections)


_QUEUES = "The slides’ five queues, the class thresholds that follow active flows (D-CBT), and what one would use today with its defaults."
_FIGURES = "The blast lasts from 20 to 60 s. Dashed, in the colour of its queue: what the slides’ chart shows, as a machine read it."
_CLAIMS = (
    "The sentences of the slides, and below them what is expected from memory or by arithmetic, which is not counted."
)
_CHART = "Chart numbers of the slides were recovered by a machine: three tables of one figure disagree, and an axis is labelled kbps for kB/s."
