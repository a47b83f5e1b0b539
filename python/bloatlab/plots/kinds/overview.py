"""The plot kind overview: one page with a one-sentence summary, waits and rates over time, delays, and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bloatlab.plots import style
from bloatlab.plots.delays import axis_of, chosen
from bloatlab.plots.elements import SizedFigure, heading, legend, settle, sized_figure
from bloatlab.plots.headline import headline, scores
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.kinds.cdf import distributions_of, draw_cdf
from bloatlab.plots.kinds.series import unfit
from bloatlab.plots.labels import safe
from bloatlab.plots.over_time import TimePanel, draw_time_panel, mark_changes, needs_log, ticks_of, time_panels
from bloatlab.plots.style import WIDTHS, Axes, Figure
from bloatlab.plots.subjects import Run

#: Panels that can show how long packets wait, in order of preference. The first that exists is drawn above the rates.
_WAIT = ("sojourn", "rtt", "queue")

#: Maximum number of results in the scores table. With more, the table is left out.
_MOST_COLUMNS = {"column": 2, "page": 8, "slide": 8}

#: Maximum number of results whose scores fit beside the distribution of delays. With more, the scores are below it.
_MOST_BESIDE = {"column": 0, "page": 2, "slide": 2}


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws up to two panels sharing a time axis, and below them the delay distribution and the scores."""
    found = {panel.name: panel for panel in time_panels(runs)}
    stack = [found[name] for name in [*_WAIT, "rate"] if name in found]
    stack = [*stack[:1], *(s for s in stack[1:] if s.name == "rate")] or list(found.values())[:2]
    stack = [_with_ticks(stack[0], found), *stack[1:]]
    rows = scores(runs) if len(runs) <= _MOST_COLUMNS[options.width] else []
    column = options.width == "column"
    beside = len(runs) <= _MOST_BESIDE[options.width] or not rows
    height = 0.95 if column else 0.34 if beside else 0.34 + 0.026 * (len(rows) + 3)
    of = sized_figure(options.width, (0.34 if column else 0.2) * len(stack) + height + 0.12)
    heading(of, headline(runs), [run.label for run in runs], ticks_of(stack))
    upper, lower = _areas(of, stack, rows, beside=beside)
    inches = WIDTHS[options.width].inches * (0.34 if column else 0.2) * 0.75
    for axes, panel in zip(upper, stack, strict=True):
        draw_time_panel(of, axes, panel, max(r.end for r in runs), inches, named=len(runs) == 1, tops=len(runs) == 1,
            log=needs_log(panel, runs, options.log))  # fmt: skip
        axes.tick_params(labelbottom=axes is upper[-1])
    upper[-1].set_xlabel("time (s)")
    of.figure.align_ylabels(upper)
    mark_changes(of, upper, runs[0])
    delays = distributions_of(runs, options) if options.of else chosen(runs, None)
    if delays:
        draw_cdf(lower[0], delays, options.log)
        lower[0].set_xlabel(axis_of(runs, delays))
        if len(runs) == 1:
            legend(of, [one.label for one in delays], axes=lower[0])
    else:
        lower[0].set_visible(False)
    if rows:
        _scores(of, lower[-1], runs, rows)
    settle(of)
    return of.figure


def _with_ticks(panel: TimePanel, found: dict[str, TimePanel]) -> TimePanel:
    """Gives `panel` the ticks for drops and marks of the queue panel, if there is one."""
    queue = found.get("queue")
    return panel if queue is None or panel is queue else replace(panel, ticks=queue.ticks)


def _areas(
    of: SizedFigure, stack: Sequence[TimePanel], rows: Sequence[object], *, beside: bool
) -> tuple[list[Axes], list[Axes]]:
    """Returns the axes of the time panels, and the axes below them for the delays and the scores.

    With `beside`, the lower axes are placed side by side, and otherwise one below the other.
    """
    below = 1 if beside else 2
    heights = [1.0] * len(stack) + ([1.35] * below if not of.wide else [1.7, 0.13 * (len(rows) + 3)][:below])
    grid = of.figure.add_gridspec(len(heights), 1, height_ratios=heights)
    upper: list[Axes] = []
    for row in range(len(stack)):
        upper.append(of.figure.add_subplot(grid[row, 0], sharex=upper[0] if upper else None))
    if not beside or not rows:
        return upper, [of.figure.add_subplot(grid[len(stack) + i, 0]) for i in range(below)]
    inner = grid[len(stack), 0].subgridspec(1, 2, width_ratios=[1.0, 1.05])
    return upper, [of.figure.add_subplot(inner[0, i]) for i in range(2)]


def _scores(of: SizedFigure, axes: Axes, runs: Sequence[Run], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Draws the scores as a table, with one column per result."""
    axes.set_axis_off()
    count = len(runs)
    across = len(runs) > _MOST_BESIDE[of.width] and of.wide
    inches = style.WIDTHS[of.width].inches * (0.88 if across else 0.46 if of.wide else 0.85)
    share = 0.72 if across else 0.5
    each = share * inches * 72.0 / count
    small = 0.85 if count > 5 else 1.0
    room = max(4, int(each / (of.text * small * 0.62)) - (0 if across else 1))
    heads = [_head(run.label, room) for run in runs]
    lines = max(len(head.splitlines()) for head in heads) if count > 1 else 0
    step = 1.0 / (len(rows) + lines + 0.4)
    right = [1.0 - share * (count - 1 - i) / count for i in range(count)]
    top = 1.0 - 0.4 * step
    styling: dict[str, Any] = {"transform": axes.transAxes, "fontsize": of.text, "va": "center"}
    if count > 1:
        top -= (lines - 1) * step
        low: dict[str, Any] = styling | {"va": "bottom", "fontsize": small * of.text}
        for i, head in enumerate(heads):
            axes.text(right[i], top - 0.5 * step, head, ha="right", color=style.colour(i), **low)
        top -= step
    for i, (name, cells) in enumerate(rows):
        y = top - i * step
        axes.text(0.0, y, name, ha="left", color=style.INK, **styling)
        for x, cell in zip(right, cells, strict=True):
            axes.text(x, y, cell, ha="right", color=style.INK, **styling)


def _head(label: str, room: int) -> str:
    """Returns a label in at most three lines of `room` characters, broken after spaces, hyphens and underscores."""
    lines = [""]
    for part in re.split(r"(?<=[ _-])", safe(label)):
        if lines[-1] and len(lines) < 3 and len((lines[-1] + part).rstrip()) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(safe(line, room) for line in lines)


KIND = Kind("overview", "a summary on one page (the default)", "runs", unfit, draw, ("of", *LIMITS))
