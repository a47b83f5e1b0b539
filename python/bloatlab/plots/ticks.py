"""Keeps the tick labels of the x axis apart: shows fewer labels if they are numbers, tilts them if they are names."""

from __future__ import annotations

import math
from typing import Any

from bloatlab.plots.style import Axes, Figure

#: Smallest gap between two labels, relative to the height of the first.
_GAP = 0.35
#: Angle of tilted labels, in degrees.
_ANGLE = 30.0


def part_ticks(drawn: Figure) -> bool:
    """Separates tick labels that are too close, in a figure that has been laid out. Returns whether there were any."""
    changed = [_part(axes) for axes in drawn.axes if axes.get_visible() and axes.axison]
    return any(changed)


def _part(axes: Axes) -> bool:
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, ScalarFormatter  # noqa: PLC0415

    if not _clash(axes):
        return False
    of: Any = axes.xaxis
    locator = of.get_major_locator()
    if isinstance(locator, FixedLocator):
        places: list[float] = list(locator())
        names = [label.get_text() for label in of.get_majorticklabels()][: len(places)]
        if not all(map(_is_number, filter(None, names))):
            axes.tick_params(axis="x", rotation=_ANGLE)
            for label in of.get_majorticklabels():
                label.set(ha="right", rotation_mode="anchor")
            return True
        kept = _apart(axes)
        of.set_major_formatter(
            FixedFormatter([name if at in kept else "" for at, name in zip(places, names, strict=False)])
        )
    elif isinstance(of.get_major_formatter(), ScalarFormatter):
        most = len(_labels(axes))
        while _clash(axes) and most > 1:
            most -= 1
            of.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    return True


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\u2212", "-"))
    except ValueError:
        return False
    return True


def _labels(axes: Axes) -> list[tuple[float, Any]]:
    """Returns the place and the box of each visible label along x, from left to right."""
    of: Any = axes.xaxis
    low, high = sorted(axes.get_xlim())
    margin = 1e-9 * (high - low)
    of._update_ticks()  # noqa: SLF001  a drawing does this first
    shown = [
        (tick.get_loc(), tick.label1.get_window_extent())
        for tick in of.get_major_ticks()
        if low - margin <= tick.get_loc() <= high + margin and tick.label1.get_visible() and tick.label1.get_text()
    ]
    return sorted(shown, key=lambda one: one[1].x0)


def _apart(axes: Axes) -> set[float]:
    """Returns the places of the labels to keep: the first, and each later one that leaves a gap after those kept."""
    kept: set[float] = set()
    end = -math.inf
    for at, box in _labels(axes):
        if box.x0 >= end:
            kept.add(at)
            end = box.x1 + _GAP * box.height
    return kept


def _clash(axes: Axes) -> bool:
    of: Any = axes.xaxis
    if any(label.get_rotation() for label in of.get_majorticklabels()):
        return False
    return len(_apart(axes)) < len(_labels(axes))
