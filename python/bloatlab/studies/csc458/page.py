"""The reproduction as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.report import Answer, Block, Drawn, Page, Section, TableBlock
from bloatlab.studies import layout as shared
from bloatlab.studies.claims import Checked
from bloatlab.studies.csc458 import layout
from bloatlab.studies.csc458.answer import answer
from bloatlab.studies.csc458.measure import Measures
from bloatlab.studies.csc458.scorecard import __doc__ as doc
from bloatlab.studies.csc458.scorecard import rules
from bloatlab.studies.kit import About, Reproduced, compose, figures_section, rules_prose
from bloatlab.tables import TextTable

ABOUT = About(
    "The Mininet bufferbloat lab",
    "CSC458’s second assignment, packet by packet and on kernels",
    "A home computer sends to a server through 10 Mbit/s with 5, 20 or 100 packets of buffer, pings it ten times a second, and "
    "serves it a page every two seconds. The lab’s own Mininet kit shows round trips twice those of the report’s equation (2): "
    "its queues count super-segments of two segments as one packet. Here both ways stand side by side.",
)


@dataclass(frozen=True)
class Live:
    """The runs on kernels: what each measured, and why some are invalid."""

    measures: Mapping[str, Measures]
    invalid: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        """Measures and verdicts as JSON."""
        return {
            case: {"valid": case not in self.invalid, "invalid_because": self.invalid.get(case), **_plain(own)}
            for case, own in self.measures.items()
        }


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    simulated: Mapping[str, Sequence[Measures]]
    second_reading: Sequence[Checked]
    experiments: Mapping[str, Mapping[str, Sequence[Measures]]]
    live: Live | None

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, the claims in the second reading, and `live` with --live."""
        data = super().as_data() | {"claims_by_duplicate_acks": [claim.as_data() for claim in self.second_reading]}
        return data if self.live is None else data | {"live": self.live.as_data()}

    def tables(self) -> Sequence[TextTable]:
        """Published beside ours, every case, the kernels and the experiments that were asked for."""
        found = [layout.published_table(self.scorecard), layout.cases_table(self.simulated)]
        if self.live is not None:
            found.append(layout.live_table(self.simulated, self.live.measures, self.live.invalid))
        found += [layout.experiment_table(name, runs) for name, runs in self.experiments.items()]
        return [*found, layout.readings_table(self.claims, self.second_reading)]

    def answer(self) -> Answer:
        """Whether a smaller buffer is the remedy."""
        return answer(self.simulated, self.scorecard.seeds)


def _plain(own: Measures) -> dict[str, float | None]:
    return {name: value if value == value else None for name, value in own.items()}  # noqa: PLR0124  NaN is null


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    tables: list[Block] = [
        TableBlock(layout.published_table(done.scorecard)),
        TableBlock(layout.cases_table(done.simulated)),
    ]
    claims = (shared.claims_table(done.claims), layout.readings_table(done.claims, done.second_reading))
    sections = [
        Section("Every published number", "tables", tables, _TABLES_LEAD),
        *_kernels(done),
        *_experiments(done),
        figures_section(drawings, _FIGURES_LEAD),
        Section("Claims", "claims", [TableBlock(t) for t in claims]),
        Section("Rules and set-up", "rules", _rules(done)),
    ]
    return compose(done, ABOUT if done.live is None else replace(ABOUT, flags="--live"), sections)


_TABLES_LEAD = (
    "Ours is the median over seeds, in brackets or on pressing a value the central 80 %. Each number has its verdict by what was "
    "accepted beforehand."
)
_FIGURES_LEAD = "From seed 1, as the lab samples: queue and window each 0.1 s. Dashed: Q and 2 Q, equation (2) for both, and the report’s mean."
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


def _rules(done: Reproduction) -> list[Block]:
    return [
        *rules_prose(doc),
        TableBlock(shared.tolerances_table(rules())),
        TableBlock(shared.shares_table(done.scorecard)),
        TableBlock(layout.setup_table()),
    ]
