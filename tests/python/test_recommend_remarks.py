"""Intervals, trade-offs and remarks in the reports and tables of `bloatlab recommend`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bloatlab.advice import catalogue as catalogue_of
from bloatlab.advice import recommend
from bloatlab.advice.page import answer_figure, measures_figure
from bloatlab.advice.remarks import MORE, as_good, remarks, without_downloads
from bloatlab.advice.score import Value
from bloatlab.advice.tables import frame, options_table
from bloatlab.statistics import Interval, interval
from judged import SMALL, by_discipline, mean, quick


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_an_interval_needs_three_seeds_and_stays_within_what_is_possible(small: Path, tmp_path: Path):
    """With two seeds, no interval is shown; with three, the interval is clipped to the possible values."""
    done = quick(small, rtt="40ms", seeds=2, seconds=5.0)
    few = done.judged[0]
    wide = interval([1.0, 4.5, 4.4])
    assert wide.low < 1.0
    assert wide.high > 4.5
    call_ = next(m for m in done.question.wanted if m.name == "call")
    for one, ends in ((Interval(3.0, -6.9, 13.9, 2), (None, None)), (wide, (1.0, 4.5))):
        points = Interval(50.0, -267.0, 369.0, one.n)
        judged_ = replace(few, points=points, apps=points, values={**few.values, "call": Value(one, 0, one.n)})
        of = replace(
            done, judged=[judged_], best=judged_, today=judged_, raced=replace(done.raced, lead=judged_, others=[])
        )
        row = frame(of).row(0, named=True)
        assert (row["call_low"], row["call_high"]) == ends
        assert (row["points_low"], row["points_high"]) == ((None, None) if one.n < 3 else (0.0, 100.0))
        panels = {p.title: p for d in (answer_figure(of), measures_figure(of)) for p in d.panels}
        assert panels["Call (MOS)"].y_range == call_.limits == (1.0, 4.5)
        assert panels["Line used (%)"].y_range == (0.0, 100.0)
        for title, (low, high) in {"Call (MOS)": (1.0, 4.5), "Points of each setting": (0.0, 100.0)}.items():
            bars = [series.band for series in panels[title].series if series.band is not None]
            assert len(bars) == (one.n >= 3)
            for lows, highs in bars:
                assert min(lows) >= low  # pyright: ignore[reportArgumentType]
                assert max(highs) <= high  # pyright: ignore[reportArgumentType]
        (dot,) = panels["Trade-off (filled: on the Pareto front; hollow: not)"].series
        assert dot.band is not None
        assert (list(dot.band[0]) == list(dot.band[1])) == (one.n < 3)  # pyright: ignore[reportArgumentType]


def test_the_trade_off_names_its_points_and_a_colour_has_one_meaning(small: Path):
    done = quick(small)
    few = [answer_figure(done), measures_figure(done)]
    trade = next(p for p in few[0].panels if p.title.startswith("Trade-off"))
    assert [label.text for label in trade.labels] == ["droptail 50 ms (recommended)", "droptail 500 ms (today)"]
    assert [label.bold for label in trade.labels] == [True, False]
    many = recommend(up="10mbit", rtt="40ms", device="docsis3.1", load="gamer", quick=True, seconds=2.0)
    figures = [answer_figure(many), measures_figure(many)]
    (trade,) = [p for p in figures[0].panels if p.title.startswith("Trade-off")]
    names_ = [label.text for label in trade.labels]
    assert 2 <= len(names_) <= 4 < len(many.judged)
    assert names_[0] == f"{many.best.option.name} (leading)"
    assert f"{many.today.option.name} (today)" in names_
    assert max(label.x for label in trade.labels) == max(max(s.x) for s in trade.series)  # pyright: ignore[reportArgumentType]
    colours: dict[str, set[str | None]] = {}
    for panel in (p for d in figures for p in d.panels):
        for series in panel.series:
            colours.setdefault(series.label, set()).add(series.colour)
    assert all(len(found) == 1 for found in colours.values())
    assert len({next(iter(found)) for found in colours.values()}) == len(colours) == 4


def test_todays_setting_has_an_interval(small: Path):
    done = quick(small, seeds=10, seconds=5.0, runs=1)
    assert done.today.option.name == "droptail 500 ms"
    assert done.today.points.n == 3
    assert "±" in options_table(done, [done.today]).rows[0][3].text


def test_a_report_says_why_not_the_aqm_and_what_is_as_good_for_calls(tmp_path: Path):
    """DOCSIS-PIE lets packets wait longer than a short buffer while a download runs; the report says by how much."""
    text = SMALL.replace('"modem"', '"modem31"').replace('"50ms", "500ms"', '"20ms", "40ms"')
    pie = 'queue = { docsis_pie = { limit = "{bytes}B" } }\nbuffers = ["100ms"]\naqm_target_ms = 10\n'
    text = text.replace("droptail 500ms", "pie 100ms") + f'[[discipline]]\nname = "pie"\nwords = "DOCSIS-PIE"\n{pie}'
    (tmp_path / "cable.toml").write_text(text)
    words: dict[str, Any] = {"up": "10mbit", "rtt": "40ms", "device": str(tmp_path / "cable.toml"), "load": "gamer"}
    done = recommend(**words, seeds=3)
    assert done.best.option.discipline.aqm_target_ms is None
    assert done.without is not None
    assert done.router is not None
    assert done.router.points.n == done.today.points.n == 3
    told = {text.partition(" ")[0]: text for text in remarks(done)}
    assert f"packets wait {done.today.queue_ms:.0f} ms" in told["Why"]
    assert f"Without the download, today's AQM has {done.without.queue_ms:.0f} ms and MOS" in told["Why"]
    assert done.without.queue_ms < done.today.queue_ms
    assert "95 % of the rate with fq_codel would have" in told["A"]
    other = as_good(done)
    assert other is not None
    assert mean(other.values["upload"]) >= mean(done.best.values["upload"]) + MORE
    assert mean(other.values["call"]) > mean(done.best.values["call"]) - 0.1
    assert f"{other.option.name} is as good for calls" in told[other.option.discipline.name]
    assert "The price: game, added p99" in told[other.option.discipline.name]
    assert remarks(recommend(**words, quick=True)) == []


def test_remarks_are_only_for_what_they_describe(small: Path):
    assert quick(small).without is None  # today's setting has no AQM
    linux = recommend(up="2mbit", rtt="40ms", device="linux", seconds=3.0, seeds=2, runs=1)
    assert (linux.router, linux.without) == (None, None)
    home = catalogue_of.load("home")
    assert without_downloads(home) is None
    gamer = without_downloads(catalogue_of.load("gamer"))
    assert gamer is not None
    assert set(gamer.apps) == {"game", "call", "upload"}


def test_a_fast_modem_carries_its_rate(small: Path):
    """The modem's transmit queue is larger on faster lines: a queue of 32 packets, each of which waits 4 to 6 ms,
    carries only 64 to 96 Mbit/s.
    """
    done = quick(small, up="200mbit", down="1gbit", rtt="10ms", load="gamer", seeds=2, seconds=4.0)
    large = by_discipline(done)["droptail 500 ms"]
    # the mean includes slow start; with a transmit queue of 32 packets, the line's utilisation would be at most 48 %
    assert mean(large.values["upload"]) > 75.0
    assert by_discipline(done)["droptail 50 ms"].queue_ms < 56.0  # 50 ms of buffer and 3 MAP intervals of 2 ms
