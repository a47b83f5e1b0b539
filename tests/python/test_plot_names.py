"""The overview of many results names the best and has a table, and a Pareto chart names its points."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

import bloatlab
from bloatlab.plots import plot
from test_plot_kinds import BASE, overlapping, texts

#: The limits of five queues, in packets.
LIMITS = [10, 15, 20, 50, 30]


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs uploads, a call and a game with five queues; the call is worst with the longest queue."""
    place = tmp_path_factory.mktemp("five")
    game = {"from": "home", "to": ["net"], "traffic": {"game": {}}}
    base = BASE | {"duration": "14s", "app": BASE["app"] | {"game": game}}
    for limit in LIMITS:
        (place / str(limit)).mkdir()
        sets = {"link.up.queue": {"droptail": {"limit": f"{limit}p"}}}
        bloatlab.save(bloatlab.run(base, sets=sets), place / str(limit))
    return sorted(place.iterdir(), key=lambda of: LIMITS.index(int(of.name)))


@pytest.mark.parametrize("width", ["page", "slide"])
def test_the_overview_of_five_results_names_the_best_and_has_a_table(five: list[Path], width: Any):
    figure = plot(*five, width=width)
    shown = texts(figure)
    said = [text.get_text().replace("\n", " ") for text in shown]
    results = [bloatlab.open_result(of) for of in five]
    mos = [result.summary["apps"]["call"]["voip"]["mos"] for result in results]
    assert mos.index(min(mos)) == 3
    best = f"{max(mos):.2f} with {LIMITS[mos.index(max(mos))]}p (best)"
    title = figure.legends[0].get_title().get_text().replace("\n", " ")
    assert title == f"5 results: call is worth MOS {best} and {mos[3]:.2f} with 50p (worst)."
    assert "50p" in said[said.index("call: MOS (1 to 4.5)") - 5 :]
    # a game's row has the larger delay of both directions
    row = said.index("game: 99 % delay (ms)")
    delays = [
        max(result.summary["apps"]["game"][way]["p99"] for way in ("delay_ms", "delay_ms_reverse"))
        for result in results
    ]
    assert said[row + 1 : row + 6] == [f"{delay:.1f}" for delay in delays]
    assert overlapping(shown) == []


def test_the_overview_of_eight_results_has_a_table_and_of_nine_none(five: list[Path]):
    eight = plot(*five, *five[:3], labels=[f"docsis_pie-{n}ms" for n in range(8)])
    assert overlapping(texts(eight)) == []
    assert "docsis_\npie-7ms" in [text.get_text() for text in texts(eight)]
    nine = [text.get_text() for text in texts(plot(*five, *five[:4]))]
    assert "call: MOS (1 to 4.5)" not in nine


@pytest.mark.parametrize("width", ["column", "page"])
def test_pareto_names_up_to_ten_points_and_no_name_lies_on_the_front(width: Any):
    # all nine points have a name, even the hollow ones, and the line of the front does not cross the names
    delay = [60.0, 20.0, 12.0, 11.0, 15.0, 40.0, 41.0, 59.0, 30.0]
    rate = [9.8, 9.7, 9.2, 8.0, 7.9, 9.5, 9.4, 9.0, 9.1]
    at = {f"queue {n}, reno": (delay[n], rate[n]) for n in range(9)}
    rows = [{"q": q, "seed": 1, "apps.a.delay_ms.p99": d, "apps.a.goodput_mbit": r} for q, (d, r) in at.items()]
    figure = plot(pl.DataFrame(rows), kind="pareto", width=width)
    (axes,) = figure.axes
    shown = texts(figure)
    names = [text for text in axes.texts if text.get_text() in at]
    assert {text.get_text() for text in names} == set(at)
    assert overlapping([text for text in shown if text not in names]) == []
    (drawn,) = [line for line in axes.lines if len(np.asarray(line.get_xdata())) > 1]
    corners = axes.transData.transform(np.asarray(drawn.get_xydata()))
    for text in names:
        box = Text.get_window_extent(text)
        for one, two in itertools.pairwise(corners):
            assert not any(box.contains(*(one + share * (two - one))) for share in np.linspace(0.0, 1.0, 200))
        for other in names:
            assert other is text or not box.overlaps(Text.get_window_extent(other))
    many = [rows[n % 9] | {"q": f"queue {n}"} for n in range(11)]
    some = plot(pl.DataFrame(many), kind="pareto", width=width).axes[0].texts
    assert 0 < len(some) < 11
