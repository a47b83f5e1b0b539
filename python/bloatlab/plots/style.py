"""The look of every figure, in one place.

`style.toml` declares it. Text in SVG remains text, so it can be searched and uses the page's font.
"""

from __future__ import annotations

import math
import tomllib
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414  other modules import it from here
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414
else:  # at run time, only functions that draw import matplotlib
    Axes = Figure = Any

Width = Literal["column", "page", "slide"]


@dataclass(frozen=True, slots=True)
class Size:
    """A figure's width in inches, its text size in points, and the dots per inch of a PNG."""

    inches: float
    text: float
    dpi: float


_FILE = tomllib.loads(resources.files("bloatlab.plots").joinpath("style.toml").read_text(encoding="utf-8"))

#: The colours of axes and text, of the grid, of published values, and of the ticks of drops and marks.
INK, GRID, PUBLISHED, DROP, MARK = (str(_FILE[name]) for name in ("ink", "grid", "published", "drop", "mark"))

#: Colours, markers and dashes of lines, in order of use. Dashes distinguish lines when printed without colour.
COLOURS: Sequence[str] = tuple(_FILE["colours"])
MARKERS: Sequence[str] = tuple(_FILE["markers"])
DASHES = tuple(dash if isinstance(dash, str) else (dash[0], tuple(dash[1])) for dash in _FILE["dashes"])

#: The sizes of figures by name: a column of a paper, a page (1280 pixels as PNG), a slide.
WIDTHS: Mapping[Width, Size] = {name: Size(**size) for name, size in _FILE["widths"].items()}

RC: dict[str, Any] = {
    name: {"ink": INK, "grid": GRID}.get(value, value) if isinstance(value, str) else value
    for name, value in _FILE["rc"].items()
}

#: The axes with a logarithmic scale; `none` means neither axis.
Log = Literal["x", "y", "xy", "none"]

#: By default, an axis is logarithmic if its largest value is more than this multiple (two decades) of its smallest.
DECADES = 100.0


def logarithmic(values: Iterable[float], axis: Literal["x", "y"], log: Log | None) -> bool:
    """Returns whether an axis is logarithmic. By default, all values must be above 0 and span two decades."""
    if log is not None:
        return log != "none" and axis in log
    found = [v for v in values if math.isfinite(v)]
    return bool(found) and min(found) > 0.0 and max(found) / min(found) > DECADES


def colour(place: int) -> str:
    """Returns the colour of the line with the number `place`, counted from 0."""
    return COLOURS[place % len(COLOURS)]


def dashes(place: int) -> Any:
    """Returns the dashes of the line with the number `place`; colour and dashes together repeat after 36 lines."""
    return DASHES[(place + place // len(COLOURS)) % len(DASHES)]


def marker(place: int) -> str:
    """Returns the marker of the series with the number `place`; colour and marker together repeat after 36 series."""
    return MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


#: Size, line width and padding of ticks in points, for 9-point text.
_TICKS = {"size": 3.5, "width": 0.7, "pad": 3.5}


def rc(width: Width | None) -> dict[str, Any]:
    """Returns the style for a width, or the style for panels sized in inches if `width` is None.

    All text is plain: dollar signs in names never begin a formula.
    """
    if width is None:
        from cycler import cycler  # noqa: PLC0415  comes with matplotlib

        return RC | {"axes.prop_cycle": cycler(color=list(COLOURS)), "text.parse_math": False}
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
    return RC | sized | ticks | own


@contextmanager
def drawing(width: Width | None = None) -> Generator[None]:
    """Applies the style for figures of the given width while a figure is made or written.

    Without a width, applies the style for panels whose size is given in inches.
    """
    from matplotlib import rc_context  # noqa: PLC0415  only plots need matplotlib, which loads slowly

    styling: Any = rc(width)
    with rc_context(styling), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # names may contain characters that the font lacks
        yield
