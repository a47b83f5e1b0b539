"""`plot`: results in, a figure out, and perhaps a file."""

from __future__ import annotations

import difflib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bloatlab.plots.draw import svg_text
from bloatlab.plots.kinds import NAMES, Asked, Kind, kinds
from bloatlab.plots.kinds import kind as kind_named
from bloatlab.plots.sheet import drawing
from bloatlab.plots.style import WIDTHS, Width
from bloatlab.plots.subjects import Run, Sweep, Unfit, subjects
from bloatlab.simulation import Result

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
) -> Figure:
    """Draw results: of runs (opened, or their folders) or of a sweep (its table, its file, or its grid).

    Without `kind` it is the overview of runs, and lines with intervals of a sweep. `output` is a file ending in .svg,
    .png, .pdf or .html; without one, the figure is only returned. `width` is that of a paper's column (89 mm), its
    page, or a slide. `of` chooses a link, an application, or one of sojourn, delay and rtt; `x` and `columns` an axis
    and the measures of a sweep.

    Raises `Unfit` (a `ValueError`), in one line that says which kinds fit, for what cannot be drawn.
    """
    if output is not None:
        suffix_of(output)
    drawn = drawing_of(results, kind, Asked(width, of, x, columns))
    if output is not None:
        drawn.write(output)
    return drawn.figure


@dataclass(frozen=True)
class Drawn:
    """A figure, its width, and a title for those who do not see it."""

    figure: Figure
    width: Width
    title: str

    def write(self, output: str | Path) -> None:
        """Into a file, by its suffix; the same bytes each time. Raises `OSError` where it cannot be written."""
        with drawing(self.width):
            _write(self, Path(output), suffix_of(output))


def drawing_of(results: Sequence[Result | pl.DataFrame | str | Path], kind: str | None, asked: Asked) -> Drawn:
    """`plot` without a file."""
    if asked.width not in WIDTHS:
        raise Unfit(f"width {asked.width}: there is {', '.join(WIDTHS)}")
    found = subjects(results)
    chosen = _chosen(found, kind)
    with drawing(asked.width):
        return Drawn(chosen.draw(found, asked), asked.width, _title(found, chosen.name))


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
        near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise Unfit(f"kind {name}: there is {', '.join(NAMES)}{hint}")
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
</style>
{svg}
</html>
"""


def _write(drawn: Drawn, path: Path, suffix: str) -> None:
    figure = drawn.figure
    match suffix:
        case ".html":
            page = _PAGE.format(title=html.escape(drawn.title), svg=svg_text(figure, drawn.title), width=1100)
            path.write_text(page, encoding="utf-8")
        case ".svg":
            figure.savefig(path, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        case ".pdf":
            figure.savefig(path, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
        case _:
            dpi = WIDTHS[drawn.width].dpi
            figure.savefig(path, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
