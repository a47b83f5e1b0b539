"""Labels of points in the plane: next to their point if they cover nothing there, else left out."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.plots.elements import SizedFigure
from bloatlab.plots.style import Axes

#: Positions of a label, best first: offset in text heights, and alignment.
_POSITIONS = (
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
    """Labels points (text, x, y, colour), after laying the figure out; returns the labels without room."""
    of.figure.draw_without_rendering()
    of.figure.set_layout_engine("none")
    box = axes.get_window_extent()
    taken = [text.get_window_extent() for text in axes.texts]
    pixels = [axes.transData.transform((x, y)) for _, x, y, _ in labels]
    left: list[str] = []
    for name, x, y, colour in labels:
        for (dx, dy), across, up in _POSITIONS:
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
