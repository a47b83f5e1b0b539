"""Labels of points in the plane: beside their point where they lie over nothing, else left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bloatlab.plots.elements import SizedFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where a label may stand, in order of liking: offset in text heights, and how it is aligned to that.
_SEATS = (
    ((0.6, 0.5), "left", "bottom"),
    ((-0.6, 0.5), "right", "bottom"),
    ((0.6, -0.5), "left", "top"),
    ((-0.6, -0.5), "right", "top"),
    ((0.0, 0.8), "center", "bottom"),
    ((0.0, -0.8), "center", "top"),
    ((0.9, 0.0), "left", "center"),
    ((-0.9, 0.0), "right", "center"),
)


def free_labels(of: SizedFigure, axes: Axes, labels: Sequence[tuple[str, float, float, str]]) -> list[str]:
    """Name points: text, x, y, colour. Lays the figure out first; returns the names that had no room."""
    of.figure.draw_without_rendering()
    of.figure.set_layout_engine("none")
    box = axes.get_window_extent()
    taken = [text.get_window_extent() for text in axes.texts]
    pixels = [axes.transData.transform((x, y)) for _, x, y, _ in labels]
    left: list[str] = []
    for name, x, y, colour in labels:
        for (dx, dy), across, up in _SEATS:
            text = axes.annotate(
                name, (x, y), xytext=(dx * of.text, dy * of.text), textcoords="offset points", ha=across, va=up,
                color=colour, fontsize=of.text,
            )  # fmt: skip
            place = text.get_window_extent()
            inside = place.x0 >= box.x0 and place.x1 <= box.x1 and place.y0 >= box.y0 and place.y1 <= box.y1
            covers = any(place.contains(px, py) for px, py in pixels)
            if inside and not covers and not any(place.overlaps(other) for other in taken):
                taken.append(place)
                break
            text.remove()
        else:
            left.append(name)
    return left
