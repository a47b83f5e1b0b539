"""The look of every figure, in one place.

Colours are told apart by colour-blind readers and in print, and read on white and on dark paper; text is left as text
in SVG, so it can be searched and takes the page's own font.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

#: Ink of axes and text: grey enough to sit behind the data, dark enough for both papers.
INK = "#6b7480"
GRID = "#8a939e"

#: Categories in order of use (Okabe and Ito, without the yellow that white paper swallows).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

#: A published value, whatever it is drawn beside.
PUBLISHED = "#b0413e"

RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.prop_cycle": None,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.xmargin": 0.0,
    "figure.dpi": 100,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.alpha": 0.28,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.25,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.04,
    "svg.fonttype": "none",
    "svg.hashsalt": "bloatlab",
    "text.color": INK,
    # a text is as wide in a file as where it was laid out, at any resolution: no label is cut
    "text.hinting": "none",
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}

#: Beside the colour, so that lines are told apart in grey, too: solid, dashed, dotted, dash-dot ...
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.2)), (0, (6, 1.6, 1.4, 1.6)), (0, (9, 2)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")

#: Ticks of drops and of marks.
DROP, MARK = "#b0413e", "#8a5fbf"

Width = Literal["column", "page", "slide"]


@dataclass(frozen=True, slots=True)
class Size:
    """A figure's width in inches, its text in points, and how many dots per inch a PNG has."""

    inches: float
    text: float
    dpi: float


#: A column of a paper, a page of it (1280 pixels as PNG), a slide.
WIDTHS: Mapping[Width, Size] = {
    "column": Size(3.5, 7.0, 300.0),
    "page": Size(7.2, 8.0, 1280.0 / 7.2),
    "slide": Size(13.33, 15.0, 144.0),
}


#: Axes whose scale is logarithmic; `none` is neither.
Log = Literal["x", "y", "xy", "none"]

#: Values that span more than this factor are drawn on a logarithmic scale.
DECADES = 100.0


def logarithmic(values: Iterable[float], axis: Literal["x", "y"], asked: Log | None) -> bool:
    """Whether an axis is logarithmic: as asked, else where all its values are above 0 and span two decades."""
    if asked is not None:
        return asked != "none" and axis in asked
    found = [v for v in values if math.isfinite(v)]
    return bool(found) and min(found) > 0.0 and max(found) / min(found) > DECADES


def colour(place: int) -> str:
    """The colour of the line at this place."""
    return COLOURS[place % len(COLOURS)]


def dashes(place: int) -> Any:
    """The dashes of the line at this place; with the colour they repeat after 36 lines only."""
    return DASHES[(place + place // len(COLOURS)) % len(DASHES)]


#: Ticks in points, at a text of 9 points.
_TICKS = {"size": 3.5, "width": 0.7, "pad": 3.5}


def rc(width: Width) -> dict[str, Any]:
    """The look at one width. Names of people's own are text: nothing between dollar signs is mathematics."""
    size = WIDTHS[width]
    scale = size.text / 9.0
    sized = {k: v * scale for k, v in RC.items() if k.endswith(("size", "linewidth")) and isinstance(v, (int, float))}
    ticks = {f"{axis}tick.major.{key}": of * scale for axis in "xy" for key, of in _TICKS.items()}
    ticks |= {
        f"{axis}tick.minor.{key}": of * scale * 0.6 for axis in "xy" for key, of in _TICKS.items() if key != "pad"
    }
    own = ticks | {
        "savefig.bbox": None,
        "text.parse_math": False,
        "axes.titleweight": "normal",
        "legend.handlelength": 2.6,
        "axes.labelpad": 4.0 * scale,
    }
    return {k: v for k, v in RC.items() if k != "axes.prop_cycle"} | sized | own


@contextmanager
def drawing(width: Width) -> Generator[None]:
    """The look of a figure of this width, for everything that makes or writes it."""
    from matplotlib import rc_context  # noqa: PLC0415  plotting is imported by those who plot

    look: Any = rc(width)
    with rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of a name in a script that the font has not
        yield
