"""Figures have the right contents, and drawing a figure twice gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
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


def test_thinning_keeps_the_extremes_beside_missing_values():
    """Each pixel column of a long line keeps its minimum and maximum, also if values in it are missing."""
    x = np.arange(100_000.0)
    y = np.zeros(100_000)
    y[::50] = np.nan
    y[31_415], y[92_653] = 9.0, -9.0
    _, ty = thin(x, y, 1000)
    assert (np.nanmax(ty), np.nanmin(ty)) == (9.0, -9.0)
    assert np.isnan(ty).sum() == 500  # one gap for each pixel column with missing values


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", ["line", "step", "points"])
def test_limits_of_a_panel_hide_no_data(kind: Literal["line", "step", "points"], log: bool):
    """Limits of y widen to include values and bands in the range of x (on a logarithmic axis, those above 0)."""
    x = [0.0, 1.0, 2.0, 9.0]
    own = Series("own", x, [2.0, 0.3, 30.0, 500.0], kind, band=([1.0, 0.2, 20.0, 0.01], [3.0, 0.4, 70.0, 900.0]))
    there = Panel("p", "x", "y", [own], (0.0, 3.0), (0.5, 40.0), log_y=log)
    (axes,) = figure([there], columns=1).axes
    low, high = axes.get_ylim()
    assert low < 0.2
    assert 70.0 < high < 100.0  # 500 and 900 are beyond the range of x
    (axes,) = figure([replace(there, y_range=(0.1, 90.0))], columns=1).axes
    assert axes.get_ylim() == (0.1, 90.0)
    below = replace(own, y=[2.0, -0.3, 30.0, 500.0], band=None)
    (axes,) = figure([replace(there, series=[below], y_range=(0.1 if log else 0.0, None))], columns=1).axes
    assert axes.get_ylim()[0] == pytest.approx(0.1) if log else axes.get_ylim()[0] < -0.3


def test_panels_with_the_same_limits_stay_comparable():
    """If data move the limits of one panel, panels with the same limits follow; panels with other limits do not."""
    one, two, other = (replace(lines("a", top), y_range=limits) for top, limits in (
        (300.0, (0.0, 100.0)), (90.0, (0.0, 100.0)), (90.0, (0.0, 95.0)),
    ))  # fmt: skip
    first, second, third = figure([one, two, other]).axes[:3]
    assert first.get_ylim() == second.get_ylim() == (0.0, pytest.approx(312.0))
    assert third.get_ylim() == (0.0, 95.0)


def test_points_beyond_the_range_of_x_are_not_drawn():
    """Points are not clipped at the axes, so one beyond the limits of x would lie over the next panel."""
    points = Series("own", [-5.0, 1.0, 2.0, 50.0], [1.0, 1.0, 1.0, 1.0], "points")
    (axes,) = figure([Panel("p", "x", "y", [points], (0.0, 3.0))], columns=1).axes
    assert list(np.asarray(axes.lines[0].get_xdata())) == [1.0, 2.0]


def test_a_point_of_zero_on_a_logarithmic_axis_is_a_triangle_at_its_lower_end():
    """A value of 0 has no place on the axis, but it is drawn, and its bar has an upper end."""
    points = Series("own", [1.0, 2.0], [0.0, 4.0], "points", band=([0.0, 0.0], [3.0, 9.0]))
    drawn = figure([Panel("p", "x", "y", [points], (0.0, 3.0), (1.0, 10.0), log_y=True)], columns=1)
    axes = drawn.axes[0]
    usual, below = axes.lines
    assert (list(np.asarray(usual.get_xdata())), usual.get_marker()) == ([2.0], "o")
    assert (list(np.asarray(below.get_xdata())), below.get_marker()) == ([1.0], "v")
    assert below.get_transform().transform((1.0, 0.0))[1] == pytest.approx(axes.get_window_extent().y0)
    assert drawn.get_tightbbox().height < 3.0  # inches: no bar extends to minus infinity


def test_a_series_without_points_does_not_narrow_the_panels():
    widths = []
    for x in ([1.0, 2.0], []):
        panels = [Panel("p", "x", "y", [Series("own", x, x, "points")], (0.0, 3.0), (0.0, 4.0))] * 2
        widths.append([axes.get_position().width for axes in figure(panels).axes])
    assert widths[0] == pytest.approx(widths[1])


@pytest.mark.parametrize("kind", ["line", "step"])
def test_a_line_of_a_single_value_is_a_dot(kind: Literal["line", "step"]):
    for y in ([5.0], [np.nan, 5.0, np.nan]):
        (axes,) = figure([Panel("p", "x", "y", [Series("own", np.arange(float(len(y))), y, kind)])], columns=1).axes
        assert axes.lines[0].get_marker() == "o"
    (axes,) = figure([lines("a")], columns=1).axes
    assert axes.lines[0].get_marker() == "None"
