"""`bloatlab plot`: draws results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab import flent
from bloatlab.cli.common import BadInput, replaceable_figure, writing
from bloatlab.cli.options import ForceFile, Output
from bloatlab.files import NOT_TEXT
from bloatlab.plots.kind import Options
from bloatlab.plots.kinds import NAMES
from bloatlab.plots.kinds import kind as kind_named
from bloatlab.plots.plot import Drawn, drawing_of, suffix_of
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
    force: ForceFile = False,
    list_: Annotated[bool, Parameter(name="--list")] = False,
) -> int:
    """Draw one result, several results overlaid, or a sweep.

    Kinds for runs: overview (the default, one page), series, cdf, ccdf, box, ellipse, flows, sequence, trace. Kinds for
    sweeps: lines (the default), heatmap, pareto. --list describes them.

    Args:
        results: Result folders of `bloatlab run -o` or `bloatlab live -o`, or flent data files (.flent.gz); several are
            overlaid. Or a sweep's table (.parquet, .csv, .json), its grid (.toml; uses the runs in the store), or the
            folder of a study.
        kind: Kind of plot.
        output: File ending in .svg, .png, .pdf or .html. Default: the first result's name and the kind, in this folder.
        width: Width: a paper's column (89 mm), its page, or a slide.
        of: Subject of a distribution, sequence or trace: a link, an application, or sojourn, delay or rtt.
        x: Sweep axis to put on the x axis.
        columns: Measures of a sweep to plot, by dotted path; * matches anything. Repeatable. Default: the first of the
            columns that the grid or the table chooses, or else a selection.
        title: Title above the plot.
        labels: Name of each result, in order: --label before --label after. Default: how the results differ.
        xlim: Limits of the x axis in its unit: --xlim 5 20. Applies to the first panel and those that share its axis.
        ylim: Limits of the y axis.
        log: Logarithmic axes. Default: those whose values span more than two decades.
        list_: Describe each kind, and draw nothing.
    """
    if list_:
        for name in NAMES:
            sys.stdout.write(f"{name:10}{kind_named(name).description}\n")
        return 0
    if not results:
        raise BadInput("nothing to plot: bloatlab plot RESULT...")
    if output is not None:
        suffix_of(output)
        replaceable_figure(output, force=force)  # refused before the figure is drawn, which may take a long time
    drawn = _drawn(results, kind, Options(width, of, x, columns, title or "", labels, xlim, ylim, log))
    place = output or Path(f"{_stem(results[0])}-{drawn.kind}.svg")
    if output is None:
        replaceable_figure(place, force=force)
    writing(place, lambda: drawn.write(place))
    sys.stderr.write(f"drawn in {place}\n")
    if drawn.left_out:
        sys.stderr.write(f"not drawn: {', '.join(drawn.left_out)}; -c chooses the measures\n")
    return 0


def _stem(result: Path) -> str:
    """Returns the name of a result's folder, or of a file without its suffix."""
    name = result.resolve().name
    if not result.is_dir():
        name = name.removesuffix(next(filter(name.endswith, flent.SUFFIXES), result.suffix))
    return name or "plot"


def draw(results: Sequence[Path | Result], output: Path) -> None:
    """Draws the overview of results into a file. Raises `InputError`, `OSError`."""
    drawn = _drawn(results, None, Options())
    writing(output, lambda: drawn.write(output))


def _drawn(results: Sequence[Path | Result], kind: str | None, options: Options) -> Drawn:
    try:
        return drawing_of(results, kind, options)
    except UnicodeDecodeError:
        raise BadInput(f"{results[0]}: {NOT_TEXT}") from None
