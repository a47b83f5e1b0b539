"""Labels of a sweep's grid points are short and distinct, also if its axes hold tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.plots import plot
from bloatlab.plots.labels import LONGEST, distinct, value_labels
from test_plot_kinds import texts

QUEUES = [f'{{ "droptail" = {{ "limit" = "{limit}p" }} }}' for limit in (20, 100, 400)]
LABELS = ["droptail 20p", "droptail 100p", "droptail 400p"]


def swept(queues: Sequence[str] = QUEUES) -> pl.DataFrame:
    """Returns the table of a sweep over queues and rates; queues at the end have more delay and more goodput."""
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
        # tables of several keys choose no variant
        (
            ['{ "rate" = "1mbit", "delay" = "5ms" }', '{ "rate" = "2mbit", "delay" = "5ms" }'],
            ["rate 1mbit", "rate 2mbit"],
        ),
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
    both = [start + "x" * 40 + end for start, end in itertools.product("ab", repeat=2)]
    assert len(set(distinct(both))) == 4
    assert max(map(len, distinct(both))) <= LONGEST


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
