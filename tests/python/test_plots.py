"""Figures have the right contents, and drawing a figure twice gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bloatlab.plots import Mark, Panel, Series, figure, save_figure, svg_text
from bloatlab.plots.draw import thin


def panel() -> Panel:
    t = np.linspace(0.0, 600.0, 6000)
    series = [Series("one", t, np.sin(t)), Series("two", t, np.cos(t), "step")]
    return Panel("A title", "time (s)", "rate (Mbit/s)", series, (0.0, 30.0), (-1.0, 1.0), (Mark("peak", 0.5),))


def test_thinning_keeps_extremes_and_order():
    x = np.arange(100_000.0)
    y = np.zeros(100_000)
    y[31_415], y[92_653] = 9.0, -9.0
    tx, ty = thin(x, y, 1000)
    assert len(tx) <= 1002
    assert np.all(np.diff(tx) > 0)
    assert (ty.max(), ty.min()) == (9.0, -9.0)
    assert (tx[0], tx[-1]) == (0.0, 99_999.0)
    assert thin(x[:10], y[:10], 1000)[0] is not None


def test_only_what_is_seen_is_drawn():
    drawn = figure([panel()])
    (line, *_) = drawn.axes[0].lines
    assert np.max(line.get_xdata()) < 31.0
    assert np.size(line.get_xdata()) > 290


def test_svg_is_the_same_twice_and_stands_alone(tmp_path: Path):
    texts = {svg_text(figure([panel()]), 'a "label" & more') for _ in range(2)}
    (text,) = texts
    assert text.startswith('<svg role="img" aria-label="a &quot;label&quot; &amp; more"')
    assert "viewBox" in text[:400]
    assert 'width="' not in text[:300].replace('stroke-width="', "")
    assert "<image" not in text
    assert "rate (Mbit/s)" in text  # text is stored as text, not as outlines
    one, two = (save_figure(figure([panel()]), tmp_path / name) for name in ("a", "b"))
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_grid_of_panels():
    drawn = figure([panel()] * 3, columns=2)
    assert [axes.get_visible() for axes in drawn.axes] == [True, True, True, False]


def lines(labels: str, top: float = 1.0, y_label: str = "delay (ms)", marks: tuple[Mark, ...] = ()) -> Panel:
    x = np.arange(30.0)
    return Panel("p", "time (s)", y_label, [Series(name, x, x * top / 29.0) for name in labels], marks=marks)


def test_panels_of_the_same_quantity_have_the_same_scale():
    one, five, other = figure([lines("a", 300.0), lines("a", 1000.0), lines("a", 3.0, "packets")]).axes[:3]
    assert one.get_ylim() == five.get_ylim()
    assert one.get_ylim()[1] >= 1000.0
    assert other.get_ylim()[1] < 4.0


def overlap(drawn: Figure) -> list[tuple[str, str]]:
    """Returns the pairs of overlapping labels of marks (reference lines)."""
    drawn.draw_without_rendering()
    found = [(t.get_text(), t.get_window_extent()) for axes in drawn.axes for t in axes.texts]
    return [(a, b) for i, (a, one) in enumerate(found) for b, two in found[i + 1 :] if one.overlaps(two)]


def test_no_label_of_a_mark_lies_over_another():
    """Labels do not overlap even if two vertical marks are only two seconds apart, as in Figure 4 of cablelabs2012, or
    if two horizontal marks are close to each other.
    """
    near = (Mark("10 s", 10.0, "x"), Mark("12 s", 12.0, "x"), Mark("75 %", 15.0), Mark("peak", 16.0))
    assert overlap(figure([lines("a", 20.0, marks=near), lines("a", 20.0)], size=(4.3, 2.7))) == []


def test_a_legend_of_many_lines_is_outside_the_axes():
    drawn = figure([lines("abcdef"), lines("abcdef", y_label="s")])
    assert [len(legend.get_texts()) for legend in drawn.legends] == [6]
    assert all(axes.get_legend() is None for axes in drawn.axes)
    drawn.draw_without_rendering()
    (box,) = [legend.get_window_extent() for legend in drawn.legends]
    assert not any(box.overlaps(axes.get_window_extent()) for axes in drawn.axes)


def test_matplotlib_waits_until_something_is_drawn():
    code = "import sys, bloatlab, bloatlab.cli, bloatlab.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
