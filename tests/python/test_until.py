"""Tests `until`: a sweep adds seeds until the intervals are narrow enough.

The sweep uses no more seeds than it needs, and never more than the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import bloatlab
from bloatlab.cli.main import call
from bloatlab.cli.sweep_tables import where_it_stopped
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.sweep import Grid, Measure, Store, Until, gather_until, grid_file, stopping

SCENARIO = """
duration = "1ms"
[link.up]
from = "a"
to = "b"
rate = "{}mbit"
"""

#: For each rate, the standard deviation of the measured values, whose mean is 10. So each rate needs a different number
#: of seeds.
DEVIATIONS = {1: 0.1, 2: 1.0, 3: 3.0, 4: 30.0}


def value(rate: int, seed: int) -> float:
    return 10.0 + DEVIATIONS[rate] * float(np.random.default_rng((rate, seed)).normal())


def measured(result: Result) -> Mapping[str, float | None]:
    rate = round(float(result.scenario.data["link"]["up"]["rate"].removesuffix("mbit")))
    odd = 1.0 if rate % 2 else None
    return {"value": value(rate, result.seed), "none": None, "half.odd": odd, "half.even": None if odd else 2.0}


def build(rate: int, seed: int) -> Scenario:
    return bloatlab.parse(SCENARIO.format(rate), sets=[("seed", str(seed))])


def width(rate: int, n: int) -> float:
    """Returns the half width of the 95 % interval divided by the mean, computed with scipy instead of our code."""
    x = [value(rate, seed) for seed in range(1, n + 1)]
    low, high = scipy.stats.t.interval(0.95, n - 1, loc=np.mean(x), scale=scipy.stats.sem(x))
    return (high - low) / 2.0 / abs(float(np.mean(x)))


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_stops_where_it_says(tmp_path: Path, jobs: int):
    grid = Grid({"rate": list(DEVIATIONS)}, build, range(1, 6))
    wish = Until.of({"value": "5%"}, most=60)
    store = Store(tmp_path / "store", lambda _line: None)
    reached = gather_until(grid, Measure("measured", measured), wish, store=store, jobs=jobs)
    stops = {stop.at["rate"]: stop for stop in reached.stops}
    for rate, stop in stops.items():
        first = next((n for n in range(5, 61) if width(rate, n) <= 0.05), None)
        assert (stop.seeds, stop.met) == (first or 60, first is not None)
        assert stop.intervals["value"].relative == pytest.approx(width(rate, stop.seeds))
    assert [stops[r].seeds for r in (1, 4)] == [5, 60]
    assert 5 < stops[2].seeds < stops[3].seeds <= 60
    frame = reached.gathered.frame()
    for rate, stop in stops.items():
        assert frame.filter(rate=rate)["seed"].to_list() == list(range(1, stop.seeds + 1))
    again = gather_until(grid, Measure("measured", measured), wish, store=store, jobs=jobs)
    assert again.gathered.ran == 0
    assert again.gathered.frame().equals(frame)


def test_absolute_widths_and_columns_without_a_value():
    grid = Grid({"rate": [2]}, build, range(1, 4))
    reached = gather_until(grid, Measure("measured", measured), Until.of({"*e": 0.4}))
    (stop,) = reached.stops
    assert list(stop.intervals) == ["value"]
    assert stop.met
    assert stop.intervals["value"].half <= 0.4
    x = [value(2, seed) for seed in range(1, stop.seeds)]
    assert scipy.stats.t.ppf(0.975, len(x) - 1) * scipy.stats.sem(x) > 0.4
    with pytest.raises(
        grid_file.GridError, match=r'until\.values: no such number in the summary; did you mean "value"'
    ):
        gather_until(grid, Measure("measured", measured), Until.of({"values": "1%"}))


def test_a_target_without_a_value_is_not_reached():
    grid = Grid({"rate": [1, 2]}, build, range(1, 4))
    with pytest.raises(grid_file.GridError, match=r"^until\.none: has no value in any run$"):
        gather_until(grid, Measure("measured", measured), Until.of({"value": "100%", "none": "1%"}))
    wish = Until.of({"value": "100%", "half.odd": "1%"}, most=5)
    reached = gather_until(grid, Measure("measured", measured), wish)
    assert [(stop.at["rate"], stop.met, stop.seeds) for stop in reached.stops] == [(1, True, 3), (2, False, 5)]
    line = where_it_stopped(reached.stops, wish)
    assert "reached at 1 of 2 points" in line
    assert re.search(
        r"1 stopped at most_seeds = 5, the farthest at rate=2: value \S+ ±\S+, half\.odd has no value$", line
    )
    # the target of a pattern is reached if the interval is narrow enough in each matching column that has values
    reached = gather_until(grid, Measure("measured", measured), Until.of({"half.*": "1%"}))
    assert [(stop.met, list(stop.intervals)) for stop in reached.stops] == [(True, ["half.odd"]), (True, ["half.even"])]


FILE = """
scenario = "dumbbell.toml"
seeds = 4
most_seeds = 6
until = { "links.up.sojourn_ms.mean" = "0.0001%" }

[set]
duration = "2s"
"link.up.jitter" = "5ms"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]
"""


def test_the_command_says_what_was_reached(scenario_file: Path, capsys: pytest.CaptureFixture[str]):
    path = scenario_file.with_name("grid.toml")
    path.write_text(FILE)
    assert call(["sweep", str(path), "--no-store"]) == 0
    out, err = capsys.readouterr()
    assert "±" in out
    assert "Mean over 6 seeds" in out
    assert "reached at 0 of 2 points; 2 stopped at most_seeds = 6, the farthest at link.up.rate=" in err
    path.write_text(FILE.replace("0.0001%", "1000%"))
    assert call(["sweep", str(path), "--no-store"]) == 0
    assert "reached at 2 of 2 points, with 4 seeds" in capsys.readouterr().err
    assert call(["sweep", str(path), "--no-store", "--explain"]) == 0
    out, err = capsys.readouterr()
    assert "2 points with 4 seeds: 8 runs, 0 of them stored" in out
    assert "up to 12 runs" in out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"0.0001%"', '"2"'), 'until.links.up.sojourn_ms.mean: 2 is not a half width; expected "2%" of the mean'),
        (('"0.0001%"', "-1"), "-1 is not a half width"),
        (('"0.0001%"', "true"), "True is not a half width"),
        (("seeds = 4", "seeds = 1"), "until: one seed has no interval"),
        (("most_seeds = 6", "most_seeds = 3"), "most_seeds: 3 is not a whole number of at least seeds, 4"),
        (
            ("seeds = 4", "seeds = [9223372036854775807, 9223372036854775805]"),
            "seeds: 9223372036854775807 is too large for most_seeds = 6: the largest seed is 9223372036854775807",
        ),
        (("most_seeds = 6", "most_seeds = 600000"), "axes: 2 grid points; with the seeds, more than 1000000 runs"),
        (('until = { "links.up.sojourn_ms.mean" = "0.0001%" }', ""), "most_seeds: until is missing"),
        (("links.up.sojourn_ms.mean", "links.up.sojourn.mean"), "no such number in the summary; did you mean"),
        (
            ('until = { "links.up.sojourn_ms.mean" = "0.0001%" }', 'until = "2%"'),
            "until: expected a table of half widths",
        ),
    ],
)
def test_bad_wishes_are_said_in_a_line(
    scenario_file: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], words: str
):
    path = scenario_file.with_name("grid.toml")
    path.write_text(FILE.replace(*change))
    assert call(["sweep", str(path), "--no-store"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1), err
    assert words in err
    assert str(path) in err


def test_infinity_is_no_value():
    rows = [{"value": v} for v in (math.inf, 1.0, 2.0)]
    found, _ = stopping._intervals(rows, Until.of({"value": "1%"}))
    assert found["value"].n == 2


def test_a_target_that_no_number_of_seeds_can_reach_ends_at_the_limit():
    """The ratio of the interval to such a target is so large that its square exceeds the range of floats."""
    until = Until.of({"value": 1e-200}, 6)
    done = gather_until(Grid({"rate": [3]}, build, range(1, 3)), Measure("m", measured), until)
    (stop,) = done.stops
    assert (stop.seeds, stop.met) == (6, False)
