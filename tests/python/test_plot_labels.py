"""Labels of a sweep's grid points are short and distinct, even if its axes hold tables."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection

from bloatlab.cli.main import call
from bloatlab.plots import plot
from bloatlab.plots.labels import LONGEST, distinct, value_labels
from bloatlab.plots.subjects import Sweep
from bloatlab.report.page import Provenance
from bloatlab.report.sweeps import sweep_page
from test_plot_kinds import texts

QUEUES = [f'{{ "droptail" = {{ "limit" = "{limit}p" }} }}' for limit in (20, 100, 400)]
FILES = ["bus/a.csv", "bus/b.csv", "car/a.csv", "car/b.csv"]
LABELS = ["droptail 20p", "droptail 100p", "droptail 400p"]


def swept(queues: Sequence[str] = QUEUES) -> pl.DataFrame:
    """Returns the table of a sweep over queues and rates; delay and goodput grow from each queue to the next."""
    return pl.DataFrame([
        {"link.up.queue": queue, "link.up.rate": rate, "seed": seed, "scenario_hash": "x",
         "links.up.sojourn_ms.p99": 10.0 * place + seed, "apps.upload.goodput_mbit": 1.0 + place + i}
        for place, queue in enumerate(queues, start=1)
        for i, rate in enumerate(["2mbit", "10mbit"])
        for seed in (1, 2)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (QUEUES, LABELS),
        ([QUEUES[0], '{ "codel" = { "target" = "5ms", "ecn" = true } }', "fq_codel"], [LABELS[0], "codel", "fq_codel"]),
        (
            ['{ "red" = { "min" = "5p", "max" = "50p" } }', '{ "red" = { "min" = "9p", "max" = "50p" } }'],
            ["red min 5p", "red min 9p"],
        ),
        # a table within the table of a variant
        (
            ['{ "cake" = { "ack" = { "filter" = true } } }', '{ "cake" = { "ack" = { "filter" = false } } }'],
            ["cake ack.filter true", "cake ack.filter false"],
        ),
        # laws in Python are named by their classes, and by their files if classes have the same name
        (['{ "python" = { "law" = "one/my.py:Mine", "limit" = "99p" } }', "codel"], ["Mine", "codel"]),
        (
            ['{ "python" = { "law" = "my.py:Mine", "limit" = "9p" } }', '{ "python" = { "law" = "a.py:Other" } }'],
            ["Mine", "Other"],
        ),
        (['{ "python" = { "law" = "a.py:A" } }', '{ "python" = { "law" = "b.py:A" } }'], ["a.py:A", "b.py:A"]),
        (
            ['{ "python" = { "law" = "a.py:A", "limit" = "9p" } }', '{ "python" = { "law" = "a.py:A", "k" = 2 } }'],
            ["A 9p", "A k 2"],
        ),
        # a table of several keys does not select a variant, such as a discipline, so only its keys are shown
        (
            ['{ "rate" = "1mbit", "delay" = "5ms" }', '{ "rate" = "2mbit", "delay" = "5ms" }'],
            ["rate 1mbit", "rate 2mbit"],
        ),
        # a single value has no other value to differ from, so it is shown whole
        (['{ "rate" = "1mbit", "loss" = 1 }'], ['{"rate": "1mbit", "loss": 1}']),
        (["1mbit", "{ not TOML"], ["1mbit", "{ not TOML"]),
        ([1, 2.5, True], ["1", "2.5", "true"]),
    ],
)
def test_labels_show_what_differs_between_the_values(values: Sequence[object], expected: Sequence[str]):
    assert value_labels(values) == expected


def test_labels_that_clipping_would_make_equal_stay_distinct():
    long = "/home/someone/recordings/of/links/"
    assert distinct([f"{long}a.csv", f"{long}b.csv"]) == ["…a.csv", "…b.csv"]
    assert distinct(["same", "same"]) == ["same", "same (2)"]
    assert distinct(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (2)"]
    assert distinct(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]
    both = [start + "x" * 40 + end for start, end in itertools.product("ab", repeat=2)]
    assert len(set(distinct(both))) == 4
    assert max(map(len, distinct(both))) <= LONGEST


def test_the_report_has_every_point_if_labels_are_clipped_and_numbered(tmp_path: Path):
    # because of lte.csv, the names share no beginning that could be left out. The long names are clipped to make room
    # for " (2)", and then become equal
    rows = [
        {"file": file, "seed": seed, "scenario_hash": "x", "links.up.sojourn_ms.p99": 10.0 * place + seed}
        for place, file in enumerate([f"recordings/of/the/links/{at}" for at in FILES] + ["lte.csv"], start=1)
        for seed in (1, 2)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "files.csv")
    assert call(["report", str(tmp_path / "files.csv"), "-o", str(tmp_path / "files.html")]) == 0
    assert "5 settings, 10 runs" in (tmp_path / "files.html").read_text(encoding="utf-8")


def test_all_charts_of_a_report_have_the_axis_of_the_caption_along_x(tmp_path: Path):
    # six rates and two queues, so the rates are along x; the second measure is missing at all rates but one
    rows = [
        {"queue": queue, "rate": rate, "seed": 1, "scenario_hash": "x", "links.up.sojourn_ms.p99": float(rate + place),
         "apps.call.voip.mos": 1.0 + place if rate == 1 else None}
        for place, queue in enumerate(["codel", "pie"])
        for rate in range(1, 7)
    ]  # fmt: skip
    answer = sweep_page(Sweep("mos", pl.DataFrame(rows), ("queue", "rate")), Provenance([])).answer
    assert answer is not None
    assert answer.figure is not None
    assert [panel["x"]["label"] for panel in json.loads(answer.figure.data)["panels"]] == ["rate", "rate"]


@pytest.mark.parametrize("kind", ["lines", "heatmap", "pareto"])
def test_every_plot_of_a_sweep_names_each_queue(kind: str):
    drawn = [text.get_text() for text in texts(plot(swept(), kind=kind))]
    assert [label for label in LABELS if label in drawn] == LABELS


def test_lines_of_several_axes_have_names_of_their_own():
    long = [f'{{ "codel" = {{ "target" = "{t}ms", "interval" = "{20 * t}ms", "limit" = "1000p" }} }}' for t in (5, 20)]
    table = pl.concat([swept(long).insert_column(1, pl.Series("cc", [cc] * 8)) for cc in ("cubic", "reno")])
    (legend,) = plot(table, kind="lines", width="column").legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == 4
    assert sum(name.endswith(", reno") for name in names) == 2


def test_the_report_of_a_sweep_names_the_best_queue(tmp_path: Path):
    swept().write_csv(tmp_path / "q.csv")
    assert call(["report", str(tmp_path / "q.csv"), "-o", str(tmp_path / "q.html")]) == 0
    page = (tmp_path / "q.html").read_text(encoding="utf-8")
    assert "at queue droptail 20p, rate 2mbit" in page
    assert "against link.up.queue." in page  # three queues and two rates, so the queues are along x
    assert "&quot;droptail&quot;" not in page


def together(up: Sequence[object], down: Sequence[object]) -> pl.DataFrame:
    """Returns the table of a sweep over two axes that vary together, and over two queue disciplines."""
    return pl.DataFrame([
        {"link.up.delay": a, "link.down.delay": b, "queue": queue, "seed": seed, "scenario_hash": "x",
         "links.up.sojourn_ms.p99": 10.0 * place + seed + len(queue)}
        for place, (a, b) in enumerate(zip(up, down, strict=True))
        for queue in ("codel", "pie")
        for seed in (1, 2)
    ])  # fmt: skip


DELAYS = ["5ms", "20ms", "80ms"]


@pytest.mark.parametrize(
    ("down", "label"),
    [
        (DELAYS, "link.up.delay, link.down.delay (ms)"),
        (["10ms", "30ms", "90ms"], "link.up.delay (ms), with link.down.delay"),
    ],
)
def test_zipped_axes_are_one_axis_of_a_plot(down: Sequence[str], label: str):
    figure = plot(together(DELAYS, down), kind="lines")
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["codel", "pie"]
    assert axes.get_xlabel() == label
    assert [len(np.asarray(line.get_xdata())) for line in axes.lines] == [3, 3]
    assert len(axes.collections) == 2  # the intervals
    (field, *_) = plot(together(DELAYS, down), kind="heatmap").axes
    rows = [text.get_text() for text in field.get_xticklabels()]
    assert rows == (DELAYS if down == DELAYS else ["5ms, 10ms", "20ms, 30ms", "80ms, 90ms"])
    assert (field.get_xlabel(), field.get_ylabel()) == ("link.up.delay, link.down.delay", "queue")


def test_one_axis_of_zipped_ones_can_be_chosen():
    (axes,) = plot(together(DELAYS, ["1ms", "2ms", "3ms"]), kind="lines", x="link.down.delay").axes
    assert axes.get_xlabel() == "link.down.delay (ms), with link.up.delay"
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [1.0, 2.0, 3.0]


def test_the_report_names_zipped_values_once():
    swept = Sweep("z", together(DELAYS, DELAYS), ("link.up.delay", "link.down.delay", "queue"))
    answer = sweep_page(swept, Provenance([])).answer
    assert answer is not None
    assert "with delay 5ms, queue pie and" in answer.sentence
    other = Sweep("z", together(DELAYS, ["1ms", "2ms", "3ms"]), swept.axes)
    answer = sweep_page(other, Provenance([])).answer
    assert answer is not None
    assert "with delay 5ms, delay 1ms, queue pie and" in answer.sentence


def test_lines_of_a_sample_are_points_with_intervals():
    rates = [3, 14, 23, 2, 70, 8, 1, 47]
    delays = [17.9, 93.9, 14.1, 50.2, 74.4, 33.3, 60.6, 5.5]
    table = together(rates, delays).rename({"link.up.delay": "rate", "link.down.delay": "delay"})
    figure = plot(table, kind="lines")
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_xlabel() == "rate; delay varies, too"
    assert [text.get_text() for text in legend.get_texts()] == ["codel", "pie"]
    assert [(len(np.asarray(line.get_xdata())), line.get_linestyle()) for line in axes.lines] == [(8, "None")] * 2
    bars = [c.get_segments() for c in axes.collections if isinstance(c, LineCollection)]
    assert [len(segments) for segments in bars] == [8, 8]
    # two seeds differ by 1: the half width of the interval is 12.706 / 2
    assert float(np.ptp(bars[0][-1][:, 1])) == pytest.approx(12.706, abs=0.001)
