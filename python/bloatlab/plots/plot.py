"""`plot`: draws results, and writes the figure to a file."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from string import Template
from typing import get_args

import polars as pl

from bloatlab import files
from bloatlab.errors import nearest
from bloatlab.plots.draw import apart, svg_text
from bloatlab.plots.elements import SizedFigure, adjust
from bloatlab.plots.kind import OPTIONAL, Kind, Options
from bloatlab.plots.kinds import NAMES, kinds
from bloatlab.plots.kinds import kind as kind_named
from bloatlab.plots.labels import safe
from bloatlab.plots.style import WIDTHS, Figure, Log, Width, drawing
from bloatlab.plots.subjects import Run, Sweep, Unfit, subjects, warning
from bloatlab.plots.sweeps import left_out
from bloatlab.simulation import Result
from bloatlab.tables import counted

#: Figure formats, by file suffix.
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
    """Draws runs (results, their folders, or flent data files), or a sweep (its table, its file, or its grid).

    The default `kind` is overview for runs and lines for a sweep. `output` is a file ending in .svg, .png, .pdf or
    .html; without `output`, the figure is only returned. `width` is the width of a paper's column (89 mm), its page, or
    a slide. `of` chooses a link, an application, or one of sojourn, delay and rtt; `x` and `columns` choose an axis and
    the measures of a sweep. `title` is a line above the figure, `labels` name the results in order. `xlim`, `ylim` and
    `log` ("x", "y", "xy", or "none") apply to the first panel, and to the panels that share its x axis or have the same
    y label. By default, most kinds make an axis logarithmic if its values span more than two decades.

    Raises `Unfit` (a `ValueError`) with a one-line message if these results cannot be drawn this way. If `kind` does
    not fit the results, the message names the kinds that do.
    """
    if output is not None:
        suffix_of(output)
    drawn = drawing_of(results, kind, Options(width, of, x, columns, title, labels, xlim, ylim, log))
    if output is not None:
        drawn.write(output)
    return drawn.figure


@dataclass(frozen=True)
class Drawn:
    """A figure, the name of its kind, its width, and a title for screen readers."""

    figure: Figure
    kind: str
    width: Width
    title: str
    #: Draws the figure at the width of a column, for narrow screens.
    narrow: Callable[[], Figure] | None = None
    #: The chosen measures of a sweep that are not drawn.
    left_out: Sequence[str] = ()

    def write(self, output: str | Path) -> None:
        """Writes the figure in the format that the suffix of `output` selects. Raises `OSError` if writing fails.

        Equal figures give equal bytes.
        """
        with drawing(self.width):
            _write(self, Path(output), suffix_of(output))


def drawing_of(results: Sequence[Result | pl.DataFrame | str | Path], kind: str | None, options: Options) -> Drawn:
    """Draws results as `plot` does, but writes no file."""
    if options.width not in WIDTHS:
        raise Unfit(f"--width {options.width}: expected {', '.join(WIDTHS)}")
    for name, limits in (("xlim", options.xlim), ("ylim", options.ylim)):
        if limits is not None and not (all(map(math.isfinite, limits)) and limits[0] < limits[1]):
            raise Unfit(f"--{name} {limits[0]:g} {limits[1]:g}: the first is not below the second")
    if options.log not in {None, *get_args(Log)}:
        raise Unfit(f"--log {options.log}: expected {', '.join(get_args(Log))}")
    found = _labelled(subjects(results), options.labels)
    chosen = _chosen(found, kind)
    for name in OPTIONAL:
        if getattr(options, name) and name not in chosen.uses:
            users = ", ".join(of for of in NAMES if name in kind_named(of).uses)
            raise Unfit(f"--{name.removesuffix('s')}: {chosen.name} does not use it; kinds that do: {users}")

    options = replace(options, title=files.escaped(options.title))
    labels = [found.label] if isinstance(found, Sweep) else [run.label for run in found]
    title = options.title or f"{chosen.name}: {', '.join(labels)}"
    # the overview's own title already contains the warning
    if isinstance(found, list) and (options.title or chosen.name != "overview"):
        options = replace(options, title=f"{warning(found)} {options.title}".strip())

    def made(width: Width) -> Figure:
        at = replace(options, width=width)
        with drawing(width):
            figure = chosen.draw(found, at)
            adjust(SizedFigure(figure, width), at)
        return figure

    figure = made(options.width)
    rest = left_out(found, options.columns, chosen.shown(found, options)) if isinstance(found, Sweep) else []
    return Drawn(figure, chosen.name, options.width, title, lambda: made("column"), rest)


def _labelled(found: list[Run] | Sweep, labels: Sequence[str]) -> list[Run] | Sweep:
    """Gives the runs these labels, if any. Raises `Unfit` for a sweep, or for more or fewer labels than runs."""
    if not labels:
        return found
    if isinstance(found, Sweep):
        raise Unfit(f"{found.label}: --label names results that are overlaid; a sweep's lines are named by its axes")
    if len(labels) != len(found):
        raise Unfit(f"--label: {counted(len(labels), 'name')} for {counted(len(found), 'result')}")
    return [replace(run, label=safe(label)) for run, label in zip(found, labels, strict=True)]


def suffix_of(output: str | Path) -> str:
    """Returns the suffix of a plot file. Raises `Unfit` for an unknown suffix."""
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise Unfit(f"{output}: a plot's file ends in {', '.join(SUFFIXES)}")
    return suffix


def _chosen(found: list[Run] | Sweep, name: str | None) -> Kind:
    takes = "sweep" if isinstance(found, Sweep) else "runs"
    name = name or ("lines" if takes == "sweep" else "overview")
    if name not in NAMES:
        raise Unfit(f"--kind {name}: expected {', '.join(NAMES)}{nearest(name, NAMES)}")
    chosen = kind_named(name)
    reason = chosen.unfit(found) if chosen.takes == takes else _other(found, name)
    if reason is None:
        return chosen
    fitting = [of.name for of in kinds(takes) if of.name != name and of.unfit(found) is None]
    raise Unfit(f"{reason}; kinds that fit: {', '.join(fitting) or 'none'}")


def _other(found: list[Run] | Sweep, name: str) -> str:
    if isinstance(found, Sweep):
        return f"{found.label}: is a table of many runs, and {name} draws single runs"
    return f"{found[0].label}: is one run, and {name} draws a sweep's table"


def _write(drawn: Drawn, path: Path, suffix: str) -> None:
    figure = drawn.figure
    if suffix == ".html":
        narrow = figure if drawn.narrow is None else drawn.narrow()
        pictures = {"wide": svg_text(figure, drawn.title), "narrow": apart(svg_text(narrow, drawn.title))}
        page = Template(resources.files("bloatlab.plots").joinpath("page.html").read_text(encoding="utf-8"))
        files.write(path, page.substitute(title=html.escape(drawn.title), **pictures))
        return
    with files.beside(path) as aside:
        match suffix:
            case ".svg":
                figure.savefig(aside, format="svg", transparent=True, metadata={"Date": None, "Creator": "bloatlab"})
            case ".pdf":
                dates = {"CreationDate": None, "Creator": "bloatlab", "Producer": None}
                figure.savefig(aside, format="pdf", metadata=dates)
            case _:
                dpi = WIDTHS[drawn.width].dpi
                figure.savefig(aside, format="png", dpi=dpi, facecolor="white", metadata={"Software": "bloatlab"})
