"""Options of figures, the choice of logarithmic axes, and limits: no impossible value is drawn, and no label is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import bloatlab
from bloatlab import Result
from bloatlab.plots import plot
from bloatlab.plots.elements import curve, sized_figure
from bloatlab.plots.kinds.ellipse import Cloud
from bloatlab.plots.kinds.pareto import chosen, lines_of
from bloatlab.plots.kinds.sequence import trace
from bloatlab.plots.measures import Curve
from bloatlab.plots.over_time import TimePanel, draw_time_panel
from bloatlab.plots.style import WIDTHS, logarithmic
from bloatlab.plots.subjects import Sweep, Unfit, subjects
from bloatlab.plots.sweeps import axis as sweep_axis
from bloatlab.plots.sweeps import measures, over_seeds
from test_plot_kinds import overlapping, texts

BASE: dict[str, Any] = {
    "name": "an upload and a call",
    "duration": "12s",
    "link": {"up": {"from": "home", "to": "net", "rate": "2mbit", "delay": "10ms", "both_ways": True}},
    "app": {
        "upload": {"from": "home", "to": ["net"], "start": "2s", "traffic": "ftp"},
        "call": {"from": "home", "to": ["net"], "traffic": "voip"},
    },
}

TABLE = pl.DataFrame([
    {"rate": rate, "queue": queue, "seed": seed, "scenario_hash": "x",
     "links.up.sojourn_ms.p99": 100.0 * place + i + seed, "apps.call.voip.mos": 4.0 - place + 0.1 * i}
    for i, rate in enumerate(["1mbit", "5mbit", "20mbit"])
    for place, queue in enumerate(["codel", "droptail"])
    for seed in (1, 2, 3)
])  # fmt: skip


@pytest.fixture(scope="module")
def pair() -> tuple[Result, Result]:
    tail, codel = ({"droptail": {"limit": "80p"}}, {"codel": {}})
    return bloatlab.run(BASE, sets={"link.up.queue": tail}), bloatlab.run(BASE, sets={"link.up.queue": codel})


def test_an_ellipse_stays_within_what_was_measured(pair: tuple[Result, Result]):
    # three windows have the line's rate, which is 5, and one has a rate near 0, so the one-standard-deviation ellipse
    # extends beyond 5
    cloud = Cloud("x", np.array([100.0, 400.0, 900.0, 0.0]), np.array([5.0, 5.0, 5.0, 0.1]))
    assert cloud.contour()[1].max() > 5.0
    for log in (False, True):
        x, y = cloud.drawn(log=log)
        assert 4.95 < y.max() <= 5.0
        assert x.min() >= 0.0
        assert x.max() <= 900.0
    drawn = plot(*pair, kind="ellipse").axes[0]
    most = max(float(np.max(np.asarray(of.get_ydata(), dtype=float))) for of in drawn.lines)
    # 2 Mbit/s is the line's rate; a window may also include the end of a packet that began before the window
    assert most <= 2.0 * 1.05


def test_the_scale_is_logarithmic_where_values_span_two_decades():
    assert logarithmic([1.0, 100.1], "x", None)
    assert not logarithmic([1.0, 100.0], "x", None)
    assert not logarithmic([0.0, 100.1], "x", None)
    assert not logarithmic([1.0, 1000.0], "x", "none")
    assert not logarithmic([1.0, 1000.0], "x", "y")
    assert logarithmic([1.0, 2.0], "y", "xy")


def test_a_table_of_far_values_has_a_logarithmic_axis():
    delay = pl.col("links.up.sojourn_ms.p99")
    far = TABLE.with_columns(pl.when(pl.col("queue") == "codel").then(delay).otherwise(delay * 100.0))
    scales = [axes.get_yscale() for axes in plot(far, kind="lines").axes]
    assert scales == ["log", "linear"]  # the delay's axis is logarithmic, the score's is not
    assert plot(far, kind="lines", log="none").axes[0].get_yscale() == "linear"
    assert plot(far, kind="lines", x="queue").axes[0].get_xscale() == "log"
    assert plot(TABLE, kind="lines").axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("kind", ["cdf", "box", "series", "overview"])
def test_what_a_person_asks_of_a_figure_is_in_it(pair: tuple[Result, Result], kind: str):
    figure = plot(*pair, kind=kind, title="Before and after", labels=["old", "new"], xlim=(3, 9), ylim=(0.25, 4))
    first = figure.axes[0]
    assert first.get_xlim() == (3.0, 9.0)
    assert first.get_ylim() == (0.25, 4.0)
    written = [t.get_text() for t in texts(figure)]
    assert {"Before and after", "old", "new"} <= set(written)
    assert overlapping(texts(figure)) == []
    for log, scales in (("x", ("log", "linear")), ("y", ("linear", "log")), ("none", ("linear", "linear"))):
        axes = plot(*pair, kind=kind, log=log).axes[0]  # pyright: ignore[reportArgumentType]
        assert (axes.get_xscale(), axes.get_yscale()) == scales
        assert overlapping(texts(axes.get_figure())) == []  # pyright: ignore[reportArgumentType]


def test_rates_over_time_are_logarithmic_only_if_asked(pair: tuple[Result, Result]):
    for kind in ("series", "overview"):
        for log, scale in (("y", "log"), ("x", "linear"), (None, "linear")):
            axes = plot(*pair, kind=kind, log=log).axes  # pyright: ignore[reportArgumentType]
            assert {one.get_yscale() for one in axes if one.get_ylabel().startswith("rate")} == {scale}
    silent = bloatlab.run(BASE, sets={"app.upload.start": "1min", "app.call.start": "1min"})
    assert plot(silent, kind="series", log="y").axes[0].get_ylabel()


def test_a_heatmap_has_logarithmic_shades_and_no_such_axis():
    table = TABLE.with_columns(pl.Series("links.up.sojourn_ms.p99", [0.0, *map(float, range(1, 18))]))
    wide = plot(table, kind="heatmap", columns=["links.*"], log="y").axes[0]
    assert (wide.get_xscale(), wide.get_yscale()) == ("linear", "linear")
    assert "(shades: logarithmic)" in " ".join(wide.get_title(loc="left").split())
    for log in ("x", "xy"):
        with pytest.raises(Unfit, match=f"--log {log}: a heatmap has no such axis; expected y"):
            plot(table, kind="heatmap", log=log)


def test_no_label_is_cut_in_the_file_that_is_written(pair: tuple[Result, Result]):
    """Hinting can make text wider if a figure is drawn at the resolution of its file, but every label still lies within
    the figure.
    """
    name = "fq_codel 10240p"
    rows = [{"queue": f"{name}{n}", "rate": r, "seed": 1, "links.up.sojourn_ms.p99": 1.0 + n * len(r)}
            for n in range(3) for r in ("1mbit", "50mbit")]  # fmt: skip
    figures = [plot(pl.DataFrame(rows), kind="heatmap"), plot(*pair, kind="box", labels=[name, "b"])]
    for figure in figures:
        figure.set_dpi(WIDTHS["page"].dpi)
        figure.draw_without_rendering()
        labels = [t for axes in figure.axes for t in [*axes.get_yticklabels(), axes.yaxis.label]]
        assert name in "".join(t.get_text() for t in labels)
        assert min(t.get_window_extent().x0 for t in labels if t.get_text()) >= 0.0


def test_lines_of_different_rates_do_not_compete():
    rows = [
        {"link.up.rate": rate, "queue": queue, "seed": 1, "scenario_hash": "x", "links.up.sojourn_ms.p99": wait,
         "apps.up.goodput_mbit": goodput, "apps.call.goodput_mbit": 0.08 + goodput / 1e4}
        for rate, queue, wait, goodput in (
            ("1mbit", "a", 100.0, 0.9), ("1mbit", "b", 200.0, 0.8), ("9mbit", "a", 10.0, 8.9), ("9mbit", "b", 9.0, 8.0)
        )
    ]  # fmt: skip
    found = subjects([pl.DataFrame(rows)])
    assert isinstance(found, Sweep)
    both = chosen(found, ())
    assert both is not None
    # `chosen` prefers the goodput with the largest mean, which is the upload's goodput and not the call's
    assert both == ("links.up.sojourn_ms.p99", "apps.up.goodput_mbit")
    fronts = {line: [spot.name for spot in spots if spot.best] for line, spots in lines_of(found, both, [-1, 1])}
    # at 1 Mbit/s, queue a is better than queue b in both measures. At 9 Mbit/s, each of the two queues is better than
    # the other in one measure. Different rates are not compared, although both queues have better values at 9 Mbit/s
    assert fronts == {"1mbit": ["a"], "9mbit": ["a", "b"]}


def test_a_trace_shows_retransmissions_only_of_senders_that_have_them():
    of = {"from": "home", "to": ["net"]}
    apps = {"video": {**of, "traffic": {"media": {}}}, "upload": {**of, "traffic": {"ftp": {}}}}
    sets = {"duration": "3s", "link.up.queue": {"droptail": {"limit": "10p"}}, "trace": {"flows": True}}
    result = bloatlab.run({**BASE, "app": apps}, sets=sets)
    for app, expected in (("video", False), ("upload", True)):
        drawn = [text.get_text() for text in texts(plot(result, kind="trace", of=app))]
        assert ("sent again" in drawn) == expected, app


@pytest.mark.parametrize(
    ("values", "unit", "drawn"),
    [
        (["2Mbps", "5Mbit/s", "20mbit"], "Mbit/s", [2.0, 5.0, 20.0]),
        (["500Kbps", "2Mbps"], "Mbit/s", [0.5, 2.0]),
        (["20ms", "100ms"], "ms", [20.0, 100.0]),
        (["500ms", "2s"], "s", [0.5, 2.0]),
    ],
)
def test_an_axis_has_the_unit_of_its_values(values: list[str], unit: str, drawn: list[float]):
    of = sweep_axis(Sweep("a", pl.DataFrame({"x": values, "seed": [1] * len(values)}), ("x",)), "x")
    assert of.label == f"x ({unit})"
    assert of.drawn == pytest.approx(drawn)


@pytest.mark.parametrize("name", ["FTP", "MOSCOW", "completed"])
def test_a_name_does_not_turn_a_measure_round(name: str):
    # with x = 1, the delay is smaller and the goodput larger than with x = 2, so x = 1 alone is on the front
    columns = [f"apps.{name}.delay_ms.p99", f"apps.{name}.goodput_mbit"]
    table = pl.DataFrame({"x": [1, 2], "seed": [1, 1], columns[0]: [10.0, 20.0], columns[1]: [2.0, 1.0]})
    axes = plot(table, kind="pareto", columns=columns).axes[0]
    assert axes.xaxis_inverted()
    assert not axes.yaxis_inverted()
    (front,) = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    assert np.array_equal(front.get_xydata(), [[10.0, 2.0]])


def test_a_column_with_brackets_is_found_by_its_name():
    columns = ["apps.call[1].voip.mos", "apps.call1.voip.mos"]
    of = Sweep("a", pl.DataFrame({"x": [1, 2], "seed": [1, 1], **{name: [3.0, 4.0] for name in columns}}), ("x",))
    assert measures(of, ["apps.call[1].voip.mos"]) == columns[:1]
    assert measures(of, ["*[1].voip.*"]) == columns[:1]
    assert measures(of, ["apps.*.mos"]) == columns


def test_a_logarithmic_axis_over_time_has_room_for_the_maxima():
    """The shading from the means to the maxima is not cut off."""
    t = np.arange(3.0)
    waits = Curve("up", t, np.array([5.0, np.nan, 10.0]), np.array([7.0, np.nan, 900.0]))
    panel = TimePanel("sojourn", "time in queue (ms)", [(waits, 0)])
    for tops, least in ((True, 900.0), (False, 10.0)):
        page = sized_figure("page", 0.5)
        axes = page.figure.subplots()
        draw_time_panel(page, axes, panel, 3.0, 2.0, named=False, tops=tops, log=True)
        assert least < axes.get_ylim()[1] < 2.0 * least


def test_a_curve_of_a_single_value_is_a_dot():
    axes = Figure().subplots()
    curve(axes, np.array([1.0, 2.0]), np.array([np.nan, 5.0]), 0)
    curve(axes, np.array([1.0, 2.0]), np.array([4.0, 5.0]), 0)
    assert [line.get_marker() for line in axes.lines] == ["o", "None"]


def test_the_interval_of_a_signed_measure_may_begin_below_0():
    """No number of a summary is negative, so its interval is cut off at 0; a user's own measure may be a difference."""
    frame = pl.DataFrame({"rate": [1, 1], "seed": [1, 2], "scenario_hash": ["x", "y"], "m": [-1.0, 3.0]})
    sweep = subjects([frame])
    assert isinstance(sweep, Sweep)
    found = over_seeds(sweep, frame, "m")
    assert found is not None
    assert found.low == pytest.approx(1.0 - 12.7062 * 2.0, abs=1e-3)  # t(1, 97.5 %) s / sqrt(2), s = 2 sqrt(2)


def test_a_sequence_shows_the_marks_of_the_captured_link(tmp_path: Path):
    link = {"from": "home", "to": "net", "rate": "3mbit", "delay": "10ms", "both_ways": True, "queue": "codel ecn"}
    upload = {"from": "home", "to": ["net"], "tcp": "mine", "traffic": {"ftp": {}}}
    scenario = {"name": "marks", "duration": "8s", "link": {"up": link}, "app": {"upload": upload}}
    given = {**scenario, "tcp": {"mine": {"preset": "linux-6", "ecn": True}}}
    result = bloatlab.run(given, captures=tmp_path)
    bloatlab.save(result, tmp_path)
    runs: Any = subjects([tmp_path])
    found = trace(tmp_path, runs[0])
    assert len(found.marked) == result.summary["links"]["up"]["marked_packets"] > 0
