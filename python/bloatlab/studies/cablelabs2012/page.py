"""The reproduction as a page: tables, figures, claims, and what stands behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.report import Answer, Block, Drawn, Page, Prose, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.cablelabs2012 import layout, readback
from bloatlab.studies.cablelabs2012.answer import answer
from bloatlab.studies.cablelabs2012.compare import __doc__ as doc
from bloatlab.studies.cablelabs2012.compare import rules
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.readback import read_back
from bloatlab.studies.kit import About, Reproduced, compose, figures_section, rules_prose
from bloatlab.studies.scorecard import Scorecard
from bloatlab.tables import TextTable

ABOUT = About(
    "CoDel on a DOCSIS 3.0 cable modem",
    "CableLabs’ preliminary study of November 2012, reproduced packet by packet",
    "A cable modem with a burst of 10 MB at 20 Mbit/s and 5 Mbit/s after it carries a telephone call, web pages and "
    "uploads. Its upstream queue is a large drop-tail buffer (417 packets, one second), a small one (21 packets, 50 ms), "
    "or CoDel. Every cell that the study measured stands here beside ours, judged by rules fixed before the runs.",
)


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    paper: Mapping[str, Sequence[Measures]]
    experiments: Mapping[str, Mapping[str, Sequence[Measures]]]
    #: The readings that were asked for, each judged by the study's rules.
    readings: Mapping[str, Scorecard]

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, with the paper's parameters read back and the shares of the readings that were asked for."""
        data = super().as_data() | {"parameters": [p.as_data() for p in read_back()]}
        if not self.readings:
            return data
        shares = {
            name: {s.name: s.as_data() for s in card.shares} | {"seeds": card.seeds}
            for name, card in self.readings.items()
        }
        return data | {"readings": shares}

    def tables(self) -> Sequence[TextTable]:
        """Tables 3 to 8, and the experiments that were asked for."""
        given = {name: runs for name, runs in self.experiments.items() if name not in self.readings}
        asked = [
            t
            for name, runs in given.items()
            for t in layout.experiment_tables(name, EXPERIMENTS[name], runs, self.paper)
        ]
        readings = [layout.readings_table(self.scorecard, self.readings)] if self.readings else []
        return [*layout.blocks(self.scorecard), *asked, *readings]

    def answer(self) -> Answer:
        """Whether CoDel is better than a small buffer, and for whom."""
        return answer(self.paper, self.scorecard.seeds)


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    tables: list[Block] = [TableBlock(t) for t in layout.paper_tables(done.scorecard)]
    sections = [
        Section("Tables 3 to 8", "tables", tables, _TABLES_LEAD),
        figures_section(drawings, _FIGURES_LEAD),
        Section("Claims", "claims", [TableBlock(shared.claims_table(done.claims))]),
        Section("What differs", "differs", _differences(done), "Every counted cell outside its tolerance, and why."),
        *_experiments(done),
        Section("Rules and free parameters", "rules", _rules(done)),
    ]
    return compose(done, ABOUT, sections)


_TABLES_LEAD = (
    "Each published value is followed by ours, the median over seeds, and its verdict: within tolerance, outside, or "
    "calibration, on which free parameters were chosen and which is not counted. Grey is derived from other cells. Press a "
    "value for its spread over seeds and the reason."
)
_FIGURES_LEAD = (
    "From seed 1. Dashed lines are values of the paper: rates, limits, delays, and the times that its text gives. On a "
    "screen, drag to zoom; charts of one figure zoom together; press a name to hide its line."
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
    "trip. Marked is the best of a column, and what prints the same."
)


_BEYOND_LEAD = "What the paper names as future work or leaves open. Without published values: these are only ours."


def _rules(done: Reproduction) -> list[Block]:
    return [
        *rules_prose(doc),
        TableBlock(shared.tolerances_table(rules())),
        TableBlock(shared.shares_table(done.scorecard)),
        TableBlock(layout.unknowns_table()),
        TableBlock(readback.table(read_back())),
    ]
