"""What the reports of all studies share: numbered figures, and the facts at the head."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloatlab.plots import Panel, figure, svg_text
from bloatlab.report import Fact, FigureBlock
from bloatlab.studies.claims import Checked, count
from bloatlab.studies.scorecard import Scorecard, Share
from bloatlab.tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Size of a panel in inches, by how many stand in a row.
_SIZES = {1: (8.0, 2.9), 2: (4.3, 2.7), 3: (3.1, 2.7)}


@dataclass(frozen=True)
class Drawn:
    """A figure with its number in the paper (none for what the paper does not have) and its caption."""

    number: str
    name: str
    caption: str
    panels: list[Panel]
    columns: int = 2

    def figure(self) -> Figure:
        """The drawing, the same each time."""
        return self._figure

    @functools.cached_property
    def _figure(self) -> Figure:
        return figure(self.panels, columns=self.columns, size=_SIZES[self.columns])


def figure_block(drawn: Drawn) -> FigureBlock:
    """A figure as it stands in a report."""
    number = f"Figure {drawn.number}." if drawn.number else ""
    return FigureBlock(svg_text(drawn.figure(), drawn.caption), drawn.caption, number)


def seeds(card: Scorecard) -> str:
    """Which seeds a study ran: "seed 1", "seeds 1 to 10"."""
    return "seed 1" if card.seeds == 1 else f"seeds 1 to {card.seeds}"


def facts(card: Scorecard, claims: Sequence[Checked], runs: int) -> list[Fact]:
    """The verdict first: shares, claims, how many simulations."""
    paper = count(claims)
    return [
        *(_share(s, judged=not card.proves_nothing) for s in card.shares),
        Fact(f"{paper.hold} of {paper.claims}", "claims of the paper hold"),
        Fact(str(runs), "simulations", f"{counted(card.seeds, 'seed')} per case"),
    ]


def _share(share: Share, *, judged: bool) -> Fact:
    tone = "plain" if not judged or share.met is None else "good" if share.met else "bad"
    wanted = "" if share.wanted is None else f"; {share.wanted:.0%} wanted"
    return Fact(f"{share.share:.0%}", f"of {share.name}", f"{share.within} of {share.cells} cells{wanted}", tone)
