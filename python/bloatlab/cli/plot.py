"""`bloatlab plot`: results as pictures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, writing
from bloatlab.cli.options import Output
from bloatlab.plots.kind import Asked
from bloatlab.plots.kinds import NAMES
from bloatlab.plots.kinds import kind as kind_named
from bloatlab.plots.plot import drawing_of, suffix_of
from bloatlab.plots.style import Log, Width
from bloatlab.simulation import Result


def command(
    *results: Path,
    kind: Annotated[str | None, Parameter(name=["--kind", "-k"])] = None,
    output: Output = None,
    width: Annotated[Width, Parameter(name=["--width", "-w"])] = "page",
    of: str | None = None,
    x: str | None = None,
    columns: Annotated[tuple[str, ...], Parameter(name=["--column", "-c"])] = (),
    title: str | None = None,
    labels: Annotated[tuple[str, ...], Parameter(name="--label")] = (),
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    log: Log | None = None,
    list_: Annotated[bool, Parameter(name="--list")] = False,
) -> int:
    """Draw results: what happened in one run, several runs overlaid, or a sweep.

    Of runs: overview (the default, one page), series, cdf, ccdf, box, ellipse, flows, sequence, trace. Of a sweep:
    lines (the default), heatmap, pareto. --list says what each shows.

    Parameters
    ----------
    results
        Folders that `bloatlab run -o` or `bloatlab live -o` kept, or data files of flent (.flent.gz); several are
        overlaid. Or the table of a sweep (.parquet, .csv, .json), its grid (.toml, for runs that the store has), or the
        folder of a study.
    kind
        What to draw.
    output
        File ending in .svg, .png, .pdf or .html. Default: the first result's name and the kind, in this folder.
    width
        For a column of a paper (89 mm), its page, or a slide.
    of
        A link, an application, or sojourn, delay or rtt: what a distribution is of, which flow a sequence shows, what a
        trace is of.
    x
        The axis along x of a sweep's plot.
    columns
        Which measures of a sweep, by dotted path; * stands for anything. May be given again.
    title
        A line above everything.
    labels
        A name for each result, in their order: --label before --label after. Default: what tells them apart.
    xlim
        From and to on the horizontal axis, in its unit: --xlim 5 20. Of the first panel and those that share its axis.
    ylim
        The same on the vertical axis.
    log
        Which axes are logarithmic. Default: those of values that span more than two decades.
    list_
        Say what each kind shows, and draw nothing.
    """
    if list_:
        for name in NAMES:
            sys.stdout.write(f"{name:10}{kind_named(name).says}\n")
        return 0
    if not results:
        raise BadInput("nothing to plot: bloatlab plot RESULT...")
    place = output or Path(f"{_stem(results[0])}-{kind or 'plot'}.svg")
    draw(results, place, Asked(width, of, x, columns, title or "", labels, xlim, ylim, log), kind)
    sys.stderr.write(f"drawn in {place}\n")
    return 0


def draw(results: Sequence[Path | Result], output: Path, asked: Asked, kind: str | None = None) -> None:
    """Results into a file. Raises `InputError`, `OSError`."""
    suffix_of(output)
    try:
        drawn = drawing_of(results, kind, asked)
    except UnicodeDecodeError:
        raise BadInput(f"{results[0]}: not a text file") from None
    writing(output, lambda: drawn.write(output))


def _stem(result: Path) -> str:
    """The first part of a file's name for what is drawn of `result`."""
    name = result.resolve().name or "plot"
    return name.split(".", maxsplit=1)[0] or "plot"
