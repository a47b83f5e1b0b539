"""The plot kind flows: the goodput of each flow, stacked, and Jain's index of the active flows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bloatlab.plots import style
from bloatlab.plots.elements import SizedFigure, beside, fits_beside, settle, sized_figure
from bloatlab.plots.kind import Kind, Options
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import Array, Flow, bins, flows, has, others, step_of, whole_steps, window
from bloatlab.plots.style import WIDTHS, Axes, Figure
from bloatlab.plots.subjects import Run

_MOST = 4

#: Maximum number of layers: six colours in two shades. If there are more flows, the last layer is the sum of the flows
#: with the least data.
_MOST_LAYERS = 12


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why the flows cannot be drawn; None if they can."""
    if len(runs) > _MOST:
        return f"flows are drawn for at most {_MOST} results at once"
    for run in runs:
        if not flows(run):
            return f"{run.label}: no flow has a series; record.apps names the applications that have one"
    return None


def stacked(found: Sequence[Flow], run: Run) -> tuple[Array, Array]:
    """Returns the start of each bin in s, and the goodput in Mbit/s with one row per flow."""
    width = whole_steps(window(run), step_of(found[0].frame))
    t = np.arange(0.0, run.end - width * 1e-6, width)
    rates = np.zeros((len(found), len(t)))
    for row, flow in enumerate(found):
        wide = bins(flow.frame, {"goodput_bytes": "sum"}, width)
        place = np.round(wide["t_s"].to_numpy() / width).astype(int)
        kept = place < len(t)
        rates[row, place[kept]] = np.nan_to_num(wide["goodput_bytes"].to_numpy()[kept]) * 8e-6
    return t, rates / np.minimum(width, run.end - t)


def jain(rates: Array) -> Array:
    """Returns Jain's index of the active flows in each bin; NaN if fewer than two are active or no payload arrives.

    A flow is active from the first bin in which it delivers payload to the last.
    """
    under_way = np.zeros(rates.shape, dtype=bool)
    for row, rate in enumerate(rates):
        some = np.flatnonzero(rate > 0.0)
        if len(some):
            under_way[row, some[0] : some[-1] + 1] = True
    count = under_way.sum(axis=0)
    squares = (rates**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        index = rates.sum(axis=0) ** 2 / (count * squares)
    return np.where((count >= 2) & (squares > 0.0), index, np.nan)


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws the stacked goodputs of each result, and Jain's index below them, on scales shared by all results.

    Jain's index is left out if it has no value in any bin. Results are placed side by side, or one below another in a
    narrow figure.
    """
    column = options.width == "column"
    deep, across = (len(runs), 1) if column else (1, len(runs))
    tall = 0.9 if column else 0.55
    stacks = [stacked(flows(run), run) for run in runs]
    indices = [jain(rates[[_tcp(flow) for flow in flows(run)]]) for run, (_, rates) in zip(runs, stacks, strict=True)]
    fair = any(np.isfinite(index).any() for index in indices)
    parts = [3.0, 1.3] if fair else [3.0]
    of = sized_figure(options.width, tall * deep * (1.0 if fair else 0.75))
    grid = of.figure.subplots(
        len(parts) * deep, across, sharex=True, squeeze=False, gridspec_kw={"height_ratios": parts * deep}
    )
    top = max(float(rates.sum(axis=0).max(initial=0.0)) for _, rates in stacks) * 1.03 or 1.0
    for place, run in enumerate(runs):
        row, col = (len(parts) * place, 0) if column else (0, place)
        upper: Axes = grid[row, col]
        if len(runs) > 1:
            upper.set_title(run.label)
        labels, layers = _layers(flows(run), stacks[place][1])
        edges = _stack(upper, stacks[place][0], layers)
        upper.set_xlim(0.0, run.end)
        upper.set_ylim(0.0, top)
        if col == 0:
            upper.set_ylabel("goodput (Mbit/s)")
        if column or place == len(runs) - 1:
            _named(of, upper, labels, layers, options)
        if fair:
            lower: Axes = grid[row + 1, col]
            lower.stairs(indices[place], edges, baseline=None, color=style.INK, linewidth=1.2)
            lower.set_ylim(0.0, 1.05)
            lower.set_ylabel("Jain's index" if col == 0 else "")
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    of.figure.align_ylabels(list(grid[:, 0]))
    settle(of)
    return of.figure


def _tcp(flow: Flow) -> bool:
    """Returns whether Jain's index includes a flow. If windows were recorded, a flow must have a congestion window.

    Datagram flows have no window. They are left out, because most do not adapt their rate to other flows.
    """
    return "cwnd_bytes" not in flow.frame.columns or has(flow.frame, "cwnd_bytes")


def _layers(found: Sequence[Flow], rates: Array) -> tuple[list[str], Array]:
    """Returns the label and the rates of each layer."""
    if len(found) <= _MOST_LAYERS:
        return [flow.label for flow in found], rates
    most = np.argsort(-rates.sum(axis=1), kind="stable")[: _MOST_LAYERS - 1]
    drawn = np.isin(np.arange(len(found)), most)
    labels = [flow.label for flow, one in zip(found, drawn, strict=True) if one]
    return [*labels, others(int((~drawn).sum()))], np.vstack([rates[drawn], rates[~drawn].sum(axis=0)])


def _stack(axes: Axes, t: Array, rates: Array) -> Array:
    """Draws the flows stacked, and returns the edges of their bins."""
    edges = np.append(t, 2.0 * t[-1] - t[-2] if len(t) > 1 else t[-1] + 1.0)
    base = np.zeros(len(t))
    for row, rate in enumerate(rates):
        shade = 0.85 - 0.35 * (row // len(style.COLOURS) % 2)
        axes.stairs(base + rate, edges, baseline=base, fill=True, color=style.colour(row), alpha=shade)
        base = base + rate
    return edges


def _named(of: SizedFigure, axes: Axes, names: Sequence[str], rates: Array, options: Options) -> None:
    """Labels each layer at the right edge of the panel, if there is room."""
    height = WIDTHS[options.width].inches * (0.9 if options.width == "column" else 0.55) * 0.6
    if len(names) < 2 or not fits_beside(of, height, len(names)):
        return
    last = rates[:, -max(1, rates.shape[1] // 20) :].mean(axis=1)
    middles = (np.cumsum(last) - last / 2.0) / axes.get_ylim()[1]
    labels = enumerate(zip(names, middles, strict=True))
    beside(axes, [(safe(name, 16), min(1.0, float(m)), style.colour(i)) for i, (name, m) in labels], of.text)


KIND = Kind("flows", "the goodput of each flow, stacked, and Jain's index over time", "runs", unfit, draw)
