"""Plots of sweeps: lines, heatmaps and Pareto fronts show the means and intervals of a table with known values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bloatlab.plots import plot
from bloatlab.plots.kinds.pareto import front
from test_plot_kinds import line, swept


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return swept()


def test_lines_are_means_and_intervals_over_seeds(table: pl.DataFrame):
    figure = plot(table, kind="lines")
    x, y = line(figure, 0, 0)
    assert list(x) == [1.0, 5.0, 20.0]  # sorted by the rate, not by its text
    assert list(y) == [2.0, 3.0, 4.0]  # with codel, the seeds have i + 1, i + 2 and i + 3 at rate i (0, 1, 2)
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    # three seeds have the values 1, 2, 3 at the lowest rate, and 3, 4, 5 at the highest. An interval is the mean plus
    # or minus t / sqrt(3), where t(2, 97.5 %) = 4.3027, and the lower interval is cut off at 0
    assert band[:, 1].min() == 0.0  # type: ignore[index]
    assert band[:, 1].max() == pytest.approx(4.0 + 4.3027 / 3**0.5, abs=1e-4)  # type: ignore[index]
    assert figure.axes[0].get_ylabel() == "link up: time in queue, 99 % (ms)"
    assert figure.axes[1].get_xlabel() == "rate (Mbit/s)"


@pytest.mark.parametrize("kind", ["lines", "heatmap"])
@pytest.mark.parametrize("column", ["links.up.sojourn_ms.p99", "warm_up_s"])
def test_a_measure_that_nothing_changes_is_drawn(table: pl.DataFrame, kind: str, column: str):
    same = table.select("rate", "queue", "seed", pl.lit(2.0).alias(column))
    axes = plot(same, kind=kind).axes[0]
    drawn = axes.images[0].get_array() if axes.images else axes.lines[0].get_ydata()
    assert set(np.asarray(drawn).ravel()) == {2.0}


def test_a_sweep_shows_means_and_a_study_medians(table: pl.DataFrame, tmp_path: Path):
    # one of the three seeds has a ten times larger delay, so mean and median differ
    delay = pl.col("links.up.sojourn_ms.p99")
    skew = table.with_columns(pl.when(pl.col("seed") == 3).then(delay * 10.0).otherwise(delay))
    skew.write_parquet(tmp_path / "runs.parquet")
    _, of_sweep = line(plot(skew, kind="lines"), 0, 0)
    _, of_study = line(plot(tmp_path, kind="lines"), 0, 0)
    assert of_sweep[0] == pytest.approx((1.0 + 2.0 + 30.0) / 3.0)
    assert of_study[0] == 2.0


def test_heatmap_has_the_mean_in_every_field(table: pl.DataFrame):
    figure = plot(table, kind="heatmap", columns=["*sojourn*"])
    (image,) = figure.axes[0].images
    assert [t.get_text() for t in figure.axes[0].texts] == ["2.00", "3.00", "4.00", "102", "103", "104"]
    assert np.asarray(image.get_array()).shape == (2, 3)


@pytest.mark.parametrize(
    ("column", "shades", "word"),
    [
        ("links.up.sojourn_ms.p99", "viridis_r", "less is better"),
        ("apps.call.voip.mos", "viridis", "more is better"),
        ("links.up.utilisation", "viridis", ""),
    ],
)
def test_a_heatmap_has_a_bar_of_its_colours(table: pl.DataFrame, column: str, shades: str, word: str):
    frame = table.select("rate", "queue", "seed", pl.col("apps.call.voip.mos").alias(column))
    grid, bar = plot(frame, kind="heatmap").axes
    assert grid.images[0].get_cmap().name == shades  # the bright end of viridis is its largest value
    assert bar.get_ylabel() == word
    low, high = bar.get_ylim()
    values = np.asarray(grid.images[0].get_array(), dtype=float)
    assert (low, high) == pytest.approx((values.min(), values.max()))


@pytest.mark.parametrize("kind", ["lines", "pareto"])
def test_twelve_series_differ_in_colour_and_marker(kind: str):
    queues = ("a",) if kind == "lines" else ("a", "b")
    rows = [
        {"link.up.rate": f"{rate}mbit", "queue": queue, "x": x, "seed": 1, "links.up.sojourn_ms.p99": rate + x,
         "apps.call.voip.mos": 4.0 - x / rate}
        for rate in range(1, 13) for queue in queues for x in (1, 2)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    figure = plot(frame, kind=kind, x="x", columns=["*mos"]) if kind == "lines" else plot(frame, kind=kind)
    marked = [of for of in figure.axes[0].lines if of.get_marker() != "None"]
    styles = {(of.get_color(), of.get_marker()) for of in marked}
    shown = {(of.get_color(), of.get_marker()) for of in figure.legends[0].get_lines()}
    assert shown == styles
    assert len(styles) == 12


def test_the_front_is_what_nothing_beats():
    assert front([(1.0, 1.0), (2.0, 0.0), (0.0, 2.0), (1.0, 0.5), (1.0, 1.0)]) == [0, 1, 2, 4]
    assert front([(3.0, 3.0), (1.0, 1.0)]) == [0]


def test_pareto_points_both_ways_to_better(table: pl.DataFrame):
    axes = plot(table, kind="pareto").axes[0]
    assert axes.get_xlim()[0] > axes.get_xlim()[1]  # the axis is reversed: less delay is to the right
    assert axes.get_ylim()[0] < axes.get_ylim()[1]
