"""The look of every figure, in one place.

The colours can be distinguished by colour-blind readers and in print, on white and on dark paper. Text in SVG stays
text, so it can be searched and takes the font of the page.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414  for other modules
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414
else:  # matplotlib is imported by functions that draw
    Axes = Figure = Any

#: Axes and text: lighter than the data, and legible on white and on dark paper.
INK = "#6b7480"
GRID = "#8a939e"

#: Colours of categories, in order (Okabe and Ito, without yellow, which is hard to see on white).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

#: Published values.
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
    # texts have the same width in every file format and resolution as in the layout: no label is cut
    "text.hinting": "none",
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}

#: Besides colours, so that lines differ in grey, too: solid, dashed, dotted, dash-dot ...
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


#: A column of a paper, a page (1280 pixels as PNG), a slide.
WIDTHS: Mapping[Width, Size] = {
    "column": Size(3.5, 7.0, 300.0),
    "page": Size(7.2, 8.0, 1280.0 / 7.2),
    "slide": Size(13.33, 15.0, 144.0),
}


#: Axes whose scale is logarithmic; `none` is neither.
Log = Literal["x", "y", "xy", "none"]

#: Values that span more than this factor get a logarithmic scale.
DECADES = 100.0


def logarithmic(values: Iterable[float], axis: Literal["x", "y"], log: Log | None) -> bool:
    """Whether an axis is logarithmic: as chosen, or else if all values are above 0 and span two decades."""
    if log is not None:
        return log != "none" and axis in log
    found = [v for v in values if math.isfinite(v)]
    return bool(found) and min(found) > 0.0 and max(found) / min(found) > DECADES


def colour(place: int) -> str:
    """The colour of the line at this place."""
    return COLOURS[place % len(COLOURS)]


def dashes(place: int) -> Any:
    """The dashes of the line at this place; colour and dashes together repeat after 36 lines."""
    return DASHES[(place + place // len(COLOURS)) % len(DASHES)]


#: Ticks in points, at a text of 9 points.
_TICKS = {"size": 3.5, "width": 0.7, "pad": 3.5}


def rc(width: Width) -> dict[str, Any]:
    """The style at one width. Names from scenarios are plain text, without mathematics between dollar signs."""
    size = WIDTHS[width]
    scale = size.text / 9.0
    sized = {k: v * scale for k, v in RC.items() if k.endswith(("size", "linewidth")) and isinstance(v, (int, float))}
    ticks = {f"{axis}tick.major.{key}": of * scale for axis in "xy" for key, of in _TICKS.items()}
    ticks |= {f"{axis}tick.minor.{key}": _TICKS[key] * scale * 0.6 for axis in "xy" for key in ("size", "width")}
    own = {
        "savefig.bbox": None,
        "text.parse_math": False,
        "axes.titleweight": "normal",
        "legend.handlelength": 2.6,
        "axes.labelpad": 4.0 * scale,
    }
    return {k: v for k, v in RC.items() if k != "axes.prop_cycle"} | sized | ticks | own


@contextmanager
def drawing(width: Width) -> Generator[None]:
    """The style of a figure of this width, for everything that makes or writes it."""
    from matplotlib import rc_context  # noqa: PLC0415  only plots need it

    styling: Any = rc(width)
    with rc_context(styling), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font lacks
        yield
