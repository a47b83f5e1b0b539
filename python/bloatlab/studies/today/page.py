"""The study as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.judgement import finite
from bloatlab.report import Answer, Drawn, Page, Section, TableBlock
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.kit import About, Reproduced, compose, figures_section, rules_prose
from bloatlab.studies.layout import statements_table
from bloatlab.studies.today import layout
from bloatlab.studies.today.answer import answer
from bloatlab.studies.today.build import __doc__ as setup
from bloatlab.studies.today.cases import Line, Stack, considered
from bloatlab.studies.today.considerations import Consideration
from bloatlab.studies.today.considerations import __doc__ as asked
from bloatlab.studies.today.scorecard import __doc__ as doc
from bloatlab.tables import TextTable

ABOUT = About(
    "Thirteen years of bufferbloat",
    "The nine loads of CableLabs 2012 and the considerations of SCTE 2013, on a modem of 2012 and on what stands in homes today",
    "In 2012 CableLabs asked whether CoDel belongs into a cable modem. Here are its home, its line and its nine loads again, with a "
    "game beside the call and the pages: on the modem of then, on one of DOCSIS 3.1 with DOCSIS-PIE or with Low Latency, and behind home "
    "routers with fq_codel and CAKE; with "
    "the TCP of then, CUBIC with HyStart++, BBRv3 and Prague.",
)

TITLES = (
    ("game_p99_ms", "The game, load by load: 99th percentile, ms", 0),
    ("page_s", "Pages, load by load: median, s", 2),
    ("call_mos", "The call, load by load: MOS", 2),
)


@dataclass(frozen=True, kw_only=True)
class Reproduction(Reproduced):
    """The study reproduced."""

    measures: Runs

    @property
    def met(self) -> bool | None:
        """Whether every identity holds; None for a quick look."""
        if self.scorecard.proves_nothing:
            return None
        return all(cell.within for cell in self.scorecard.cells)

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON, and the medians over seeds of every case."""
        medians = {
            key: {name: median for name in rows[0] if (median := median_of(self.measures, key, name)) is not None}
            for key, rows in self.measures.items()
        }
        plain = {key: {n: finite(v) for n, v in of.items()} for key, of in medians.items()}
        return super().as_data() | {"medians": plain}

    def tables(self) -> Sequence[TextTable]:
        """Every line and TCP, and the game load by load."""
        return [
            layout.lines_table(self.measures),
            layout.loads_table(self.measures, "game_p99_ms", "The game, load by load: 99th percentile, ms", 0),
            layout.game_table(self.measures),
            statements_table(self.scorecard, "Closed forms and identities"),
        ]

    def answer(self) -> Answer:
        """What thirteen years have changed."""
        return answer(self.measures, self.scorecard.seeds)


def page(done: Reproduction, drawings: Sequence[Drawn]) -> Page:
    """The page as data."""
    runs = done.measures
    by_load = [TableBlock(layout.loads_table(runs, *of)) for of in TITLES]
    sections = [
        Section("Every line and TCP", "lines", [TableBlock(layout.lines_table(runs))]),
        Section("Load by load", "loads", by_load, "The numbers are CableLabs’; 1 has no bulk traffic."),
        Section("What SCTE 2013 asked", "considerations", _considerations(runs), _ASKED),
        figures_section(drawings, "Medians over loads."),
        Section("What must hold", "laws", [TableBlock(statements_table(done.scorecard, "Closed forms and identities"))], _LAWS),
        Section("Rules and set-up", "rules", [*rules_prose(doc), *rules_prose((setup or "").split("    home")[0]),
                                              *rules_prose("The line is" + (setup or "").split("The line is")[1]), *rules_prose(asked)]),
    ]  # fmt: skip
    return compose(done, ABOUT, sections)


def _considerations(runs: Runs) -> list[TableBlock]:
    """The game with every TCP, and all measures with one of then and one of today."""
    ran = [s for s in Stack if any(considered(line, s, what).key in runs for line in Line for what in Consideration)]
    shown = [stack for stack in (Stack.CUBIC, Stack.PRAGUE) if stack in ran]
    return [TableBlock(layout.game_table(runs)), *(TableBlock(layout.considerations_table(runs, s)) for s in shown)]


_ASKED = (
    "“Considerations For All Bufferbloat Mitigation Schemes”: research that the paper left to others. Each beside the call, the pages, the "
    "game and an upload; the rules below say what each is. With 50 uploads a game has to do with single queues: behind CAKE it shares the "
    "turn of its host with all of them, and behind fq_codel, in one seed of twenty, the queue of one."
)
_LAWS = (
    "Nobody has published these runs, so that ours are checked by what must hold: each row is judged by its worst run."
)
