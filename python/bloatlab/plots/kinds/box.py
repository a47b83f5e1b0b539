"""The plot kind box: each distribution of delays as a box (the middle half), with the median and 5, 95 and 99 %."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.plots import style
from bloatlab.plots.delays import axis_of, unfit
from bloatlab.plots.elements import settle, sized_figure
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.kinds.cdf import FLOOR, distributions_of, span
from bloatlab.plots.style import WIDTHS, Figure
from bloatlab.plots.subjects import Run


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws one box per result, or per distribution if there is only one result, with the first at the top."""
    found = distributions_of(runs, options)
    size = WIDTHS[options.width]
    inches = size.text / 72.0 * (3.0 * len(found) + 6.0)
    of = sized_figure(options.width, max(inches / size.inches, 0.25))
    axes = of.figure.subplots()
    drawn = [[one.quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)] for one in found]
    log = style.logarithmic([max(v, FLOOR) for five in drawn for v in five[2:]], "x", options.log)
    seats = range(len(found), 0, -1)
    for place, (seat, quantiles) in enumerate(zip(seats, drawn, strict=True)):
        colour = style.colour(place)
        five, low, middle, high, most, far = (max(q, FLOOR) for q in quantiles) if log else quantiles
        axes.plot([five, low], [seat, seat], color=colour, linestyle="-")
        axes.plot([high, most], [seat, seat], color=colour, linestyle="-")
        axes.barh(seat, high - low, 0.5, low, facecolor=colour, edgecolor=colour, alpha=0.35, linewidth=1.0)
        axes.plot([middle, middle], [seat - 0.27, seat + 0.27], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.plot([far], [seat], linestyle="none", marker=".", color=colour, markersize=size.text * 0.7)
    axes.set_yticks(list(seats), [one.label for one in found])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(0.4, len(found) + 0.6)
    span(axes, [five[0] for five in drawn], [five[-1] for five in drawn], log=log)
    axes.set_xlabel(axis_of(runs, found))
    between = "; " if of.wide else ";\n"
    axes.set_title(f"line: median; box: middle half{between}whiskers: 5 to 95 %; dot: 99 %", fontsize=of.text * 0.9)
    settle(of)
    return of.figure


KIND = Kind("box", "delays as boxes: median, middle half, 5 to 95 %, 99 %", "runs", unfit, draw, ("of", *LIMITS))
