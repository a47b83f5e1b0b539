"""Means and numbers of drops in plots agree with values computed from the trace of packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

import bloatlab
from bloatlab.plots import plot
from bloatlab.plots.kinds.ellipse import clouds
from bloatlab.plots.measures import bins
from bloatlab.plots.subjects import subjects
from bloatlab.traces import packets

#: Every half second, 20 packets of 1500 bytes arrive at once at a queue for 10, so some are dropped. Small packets
#: come at equal intervals.
SCENARIO: dict[str, Any] = {
    "duration": "6s",
    "record": {"warm_up": "3s"},
    "trace": {"packets": ["up"], "links": ["up"], "interval": "700ms"},
    "link": {
        "up": {"from": "a", "to": "b", "rate": "2mbit", "both_ways": True, "queue": {"droptail": {"limit": "10p"}}},
    },
    "app": {
        "bursts": {
            "from": "a", "to": ["b"],
            "traffic": {"burst": {"transport": "udp", "bytes": "30000B", "packet": "1500B", "interval": "500ms"}},
        },
        "small": {"from": "a", "to": ["b"], "traffic": {"cbr": {"rate": "100kbit", "size": "100B"}}},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """Returns the result's folder and its trace of packets."""
    folder = tmp_path_factory.mktemp("weights")
    bloatlab.save(bloatlab.run(SCENARIO, packets=folder / "packets"), folder)
    return folder, packets(folder).collect()


def _means(rows: pl.DataFrame, column: str, width: float) -> dict[int, float]:
    """Returns the mean over the packets in each bin of `width` s."""
    place = np.floor(rows["t_s"].to_numpy() / width + 1e-9).astype(int)
    return {int(i): float(rows[column].to_numpy()[place == i].mean()) for i in np.unique(place)}


def _ticks(figure: Figure) -> tuple[str, NDArray[np.float64]]:
    """Returns the label of the ticks for drops, and their times."""
    for axes in figure.axes:
        words = [text.get_text() for text in axes.texts if "drops" in text.get_text()]
        rugs = [line for line in axes.lines if line.get_linestyle() == "None"]
        if words and rugs:
            return words[0], np.asarray(rugs[0].get_xdata())
    raise AssertionError("no ticks")


def test_the_time_in_the_queue_is_the_mean_of_the_packets(traced: tuple[Path, pl.DataFrame]):
    folder, rows = traced
    (axes,) = (axes for axes in plot(folder, kind="series").axes if axes.get_ylabel() == "time in queue (ms)")
    t, y = (np.asarray(values) for values in axes.lines[0].get_data())
    width = t[1] - t[0]
    expected = _means(rows.filter(fate="dequeued"), "sojourn_ms", width)
    drawn = {round(at / width): value for at, value in zip(t, y, strict=True) if np.isfinite(value)}
    assert drawn == pytest.approx(expected, abs=1e-6)
    # a mean in which every bin of the series has the same weight would be wrong by more than 1 ms
    series = bloatlab.open_result(folder).table("queue_series").filter(link="up")
    unweighted = bins(series, {"sojourn_ms_mean": "mean"}, width)["sojourn_ms_mean"].to_numpy()
    assert np.nanmax(np.abs(unweighted - y)) > 1.0


def test_ellipses_of_flows_have_the_mean_delay_of_the_packets(traced: tuple[Path, pl.DataFrame]):
    folder, rows = traced
    found: Any = subjects([folder])
    by_label = {cloud.label: cloud for cloud in clouds(found)[0]}
    for app in ("bursts", "small"):
        expected = _means(rows.filter(fate="delivered", app=app), "delay_ms", 1.0)
        # the first three windows belong to the warm-up
        assert by_label[app].delay == pytest.approx([expected[i] for i in (3, 4, 5)], abs=1e-5), app


@pytest.mark.parametrize("kind", ["series", "overview", "trace"])
def test_the_label_of_ticks_counts_the_warm_up(traced: tuple[Path, pl.DataFrame], kind: str):
    folder, rows = traced
    label, times = _ticks(plot(folder, kind=kind))
    dropped = rows.filter(fate="dropped")["t_s"].to_numpy()
    assert label == f"{len(dropped)} drops"
    assert len(dropped) > bloatlab.open_result(folder).summary["links"]["up"]["dropped_packets"] > 0
    # a tick is at the start of the 1-ms bin with the drop or, in a trace, at the first reading after the drop (there is
    # one every 0.7 s). The times of ticks are rounded to 3 ms
    readings = np.unique(np.ceil(dropped / 0.7 - 1e-9) * 0.7)
    expected = readings[readings < 6.0] if kind == "trace" else dropped
    apart = np.abs(times[:, None] - expected[None, :])
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 0.003


@pytest.mark.parametrize(
    ("record", "duration", "sent", "carried"),
    [
        # windows of 1.1667 s would hold five or six of the 200-ms steps; the link is always full
        ("200ms", "70s", "6mbit", 5.0),
        # the last window of 1 s would be cut off at 3.5 s
        ("100ms", "3500ms", "1mbit", 1.0),
        # the last step is cut off, too
        ("300ms", "4s", "1mbit", 1.0),
    ],
)
def test_windows_of_an_ellipse_are_equally_long(record: str, duration: str, sent: str, carried: float):
    result = bloatlab.run(
        {
            "duration": duration,
            "record": {"interval": record},
            "link": {"up": {"from": "a", "to": "b", "rate": "5mbit", "both_ways": True, "queue": "codel"}},
            "app": {"c": {"from": "a", "to": ["b"], "start_spread": "0s", "traffic": {"cbr": {"rate": sent}}}},
        }
    )
    runs = subjects([result])
    assert isinstance(runs, list)
    (cloud,), _ = clouds(runs)
    # one packet of 1000 bytes more or less in a window of 1 s is 8 kbit/s
    assert cloud.rate == pytest.approx(carried, abs=0.025)
