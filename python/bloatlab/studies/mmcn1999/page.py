"""The reproduction as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from bloatlab.report import Answer, Block, Drawn, Page, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.claims import Runs
from bloatlab.studies.kit import About, Reproduced, compose, figures_section, rules_prose
from bloatlab.studies.mmcn1999 import layout
from bloatlab.studies.mmcn1999.answer import answer
from bloatlab.studies.mmcn1999.build import EXPERIMENTS, names, sensitivity_cases
from bloatlab.studies.mmcn1999.scorecard import __doc__ as doc
from bloatlab.studies.mmcn1999.scorecard import medians, rules
from bloatlab.tables import TextTable

ABOUT = About(
    "Class-based thresholds against unresponsive traffic",
    "Parris, Jeffay and Smith’s lightweight queue management of January 1999, rebuilt packet by packet",
    "Thirty TCP transfers and six video conferences share a link of 10 Mbit/s with a blast of 10 Mbit/s that does not "
    "respond. One queue with accounts per class (CBT) is to protect TCP from the blast and the conferences from both, with "
    "less state than accounts per flow (FRED) or queues per class (CBQ).",
)


#: Seeds of what is reported and not gated.
SENSITIVITY_SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    runs_by_key: Runs
    #: TCP over time of the first seed, by queue.
    tcp: Mapping[str, pl.DataFrame]
    experiments: Mapping[str, Sequence[str]]

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, and the medians of every case."""
        return super().as_data() | {"medians": medians(self.runs_by_key)}

    def own_tables(self) -> Sequence[TextTable]:
        """The queues, the sensitivity, and the experiments that were asked for."""
        runs = self.runs_by_key
        found = [
            layout.schemes_table(runs),
            layout.state_table(runs),
            layout.small_table(runs),
            layout.cases_table("Sensitivity", runs, names(sensitivity_cases()), note=_NOTE),
        ]
        return found + [
            layout.cases_table(EXPERIMENTS[name], runs, keys, voice=name == "classes")
            for name, keys in self.experiments.items()
        ]

    def tables(self) -> Sequence[TextTable]:
        """The study's own, then the orders and every number of the slides."""
        return [*self.own_tables(), layout.gates_table(self.scorecard), layout.rows_table(self.scorecard)]

    def answer(self) -> Answer:
        """Who protects TCP and the conferences."""
        return answer(self.runs_by_key, self.tcp, self.scorecard.seeds)


_NOTE = f"Two things at once are never changed. {SENSITIVITY_SEEDS} seeds."


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
