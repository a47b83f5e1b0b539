"""`plot`: results in, a figure out, and perhaps a file."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import polars as pl

from bloatlab import files
from bloatlab.errors import nearest
from bloatlab.plots.draw import apart, svg_text
from bloatlab.plots.elements import SizedFigure, adjust
from bloatlab.plots.kind import Asked, Kind
from bloatlab.plots.kinds import NAMES, kinds
from bloatlab.plots.kinds import kind as kind_named
from bloatlab.plots.labels import safe
from bloatlab.plots.style import WIDTHS, Log, Width, drawing
from bloatlab.plots.subjects import Run, Sweep, Unfit, subjects
from bloatlab.simulation import Result
from bloatlab.tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a figure can be written as, by its file's suffix.
SUFFIXES = (".svg", ".png", ".pdf", ".html")


def plot(
    *results: Result | pl.DataFrame | str | Path,
    kind: str | None = None,
    output: str | Path | None = None,
    width: Width = "page",
    of: str | None = None,
    x: str | None = None,
    columns: Sequence[str] = (),
    title: str = "",
    labels: Sequence[str] = (),
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    log: Log | None = None,
) -> Figure:
    """Draw results: of runs (opened, or their folders) or of a sweep (its table, its file, or its grid).

    Without `kind` it is the overview of runs, and lines with intervals of a sweep. `output` is a file ending in .svg,
    .png, .pdf or .html; without one, the figure is only returned. `width` is that of a paper's column (89 mm), its
    page, or a slide. `of` chooses a link, an application, or one of sojourn, delay and rtt; `x` and `columns` an axis
    and the measures of a sweep. `title` stands above everything, `labels` name the results, in their order. `xlim`,
    `ylim` and `log` ("x", "y", "xy", or "none" where values that span two decades would have a logarithmic axis) are
    of the first panel, and of those that share its axis.

    Raises `Unfit` (a `ValueError`), in one line that says which kinds fit, for what cannot be drawn.
    """
    if output is not None:
        suffix_of(output)
    drawn = drawing_of(results, kind, Asked(width, of, x, columns, title, labels, xlim, ylim, log))
    if output is not None:
        drawn.write(output)
    return drawn.figure


@dataclass(frozen=True)
class Drawn:
    """A figure, its width, and a title for those who do not see it."""

    figure: Figure
    width: Width
    title: str
    #: Draws the same for a narrow screen: at the width of a column, where type keeps its size.
    narrow: Callable[[], Figure] | None = None

    def write(self, output: str | Path) -> None:
        """Into a file, by its suffix; the same bytes each time. Raises `OSError` where it cannot be written."""
        with drawing(self.width):
            _write(self, Path(output), suffix_of(output))


def drawing_of(results: Sequence[Result | pl.DataFrame | str | Path], kind: str | None, asked: Asked) -> Drawn:
    """`plot` without a file."""
    if asked.width not in WIDTHS:
        raise Unfit(f"width {asked.width}: there is {', '.join(WIDTHS)}")
    for name, limits in (("xlim", asked.xlim), ("ylim", asked.ylim)):
        if limits is not None and not (all(map(math.isfinite, limits)) and limits[0] < limits[1]):
            raise Unfit(f"--{name} {limits[0]:g} {limits[1]:g}: the first is not below the second")
    if asked.log not in {None, *get_args(Log)}:
        raise Unfit(f"--log {asked.log}: there is {', '.join(get_args(Log))}")
    found = _labelled(subjects(results), asked.labels)
    chosen = _chosen(found, kind)

    def made(width: Width) -> Figure:
        at = replace(asked, width=width)
        with drawing(width):
            figure = chosen.draw(found, at)
            adjust(SizedFigure(figure, width), at)
        return figure

    title = asked.title or _title(found, chosen.name)
    return Drawn(made(asked.width), asked.width, title, lambda: made("column"))


def _labelled(found: list[Run] | Sweep, labels: Sequence[str]) -> list[Run] | Sweep:
    """The results under names that were given for them. Raises `Unfit` where there are not as many."""
    if not labels:
        return found
    if isinstance(found, Sweep):
        raise Unfit(f"{found.label}: --label names results that are overlaid; a sweep's lines are named by its axes")
    if len(labels) != len(found):
        raise Unfit(f"--label: {counted(len(labels), 'name')} for {counted(len(found), 'result')}")
    return [replace(run, label=safe(label)) for run, label in zip(found, labels, strict=True)]


def suffix_of(output: str | Path) -> str:
    """A plot's suffix. Raises `Unfit` for what is none."""
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise Unfit(f"{output}: a plot's file ends in {', '.join(SUFFIXES)}")
    return suffix


def _chosen(found: list[Run] | Sweep, name: str | None) -> Kind:
    takes = "sweep" if isinstance(found, Sweep) else "runs"
    name = name or ("lines" if takes == "sweep" else "overview")
    if name not in NAMES:
        raise Unfit(f"kind {name}: there is {', '.join(NAMES)}{nearest(name, NAMES)}")
    chosen = kind_named(name)
    reason = chosen.lacks(found) if chosen.takes == takes else _other(found, name)
    if reason is None:
        return chosen
    fitting = [of.name for of in kinds(takes) if of.name != name and of.lacks(found) is None]
    raise Unfit(f"{reason}; kinds that fit: {', '.join(fitting) or 'none'}")


def _other(found: list[Run] | Sweep, name: str) -> str:
    if isinstance(found, Sweep):
        return f"{found.label}: is a table of many runs, and {name} is of single runs"
    return f"{found[0].label}: is one run, and {name} is of a sweep's table"


def _title(found: list[Run] | Sweep, name: str) -> str:
    labels = [found.label] if isinstance(found, Sweep) else [run.label for run in found]
    return f"{name}: {', '.join(labels)}"


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ margin: 1rem auto; max-width: {width}px; padding: 0 1rem; font-family: "DejaVu Sans", Verdana, sans-serif }}
svg {{ width: 100%; height: auto }}
.narrow {{ display: none }}
@media (max-width: 600px) {{ .wide {{ display: none }} .narrow {{ display: block }} }}
</style>
<div class="wide">{wide}</div>
<div class="narrow">{narrow}</div>
</html>
"""


def _write(drawn: Drawn, path: Path, suffix: str) -> None:
    figure = drawn.figure
    if suffix == ".html":
        narrow = figure if drawn.narrow is None else drawn.narrow()
        pictures = {"wide": svg_text(figure, drawn.title), "narrow": apart(svg_text(narrow, drawn.title))}
        page = _PAGE.format(title=html.escape(drawn.title), width=1100, **pictures)
        files.write(path, page)
        return
    with files.beside(path) as aside:
        match suffix:
            case ".svg":
                figure.savefig(aside, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
            case ".pdf":
                dates = {"CreationDate": None, "Creator": None, "Producer": None}
                figure.savefig(aside, format="pdf", metadata=dates)
            case _:
                dpi = WIDTHS[drawn.width].dpi
                figure.savefig(aside, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
