"""Intervals, paired differences, warm-ups and effects against textbooks, closed forms and a queue with a known wait."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bloatlab.statistics import interval, mser5
from bloatlab.sweep.effects import effects, levels
from bloatlab.sweep.over_seeds import alike, check_baseline, differences, intervals

ROOT = Path(__file__).resolve().parents[2]


def test_students_interval_by_hand():
    # the mean is 5. The squared deviations are 9, 1, 1, 1, 0, 0, 4 and 16, so the standard deviation is sqrt(32 / 7) =
    # 2.13809. Student's t(7, 97.5 %) is 2.3646
    found = interval([2, 4, 4, 4, 5, 5, 7, 9])
    half = 2.3646 * 2.13809 / math.sqrt(8)
    assert (found.mean, found.n, found.method) == (5.0, 8, "t")
    assert found.low == pytest.approx(5.0 - half, rel=1e-4)
    assert found.high == pytest.approx(5.0 + half, rel=1e-4)
    assert found.relative == pytest.approx(half / 5.0, rel=1e-4)


def test_the_bootstrap_is_reproducible_and_near_the_normal_interval_of_many_values():
    values = list(np.random.default_rng(7).normal(10.0, 2.0, 400))
    found = interval(values, "bootstrap")
    assert found == interval(values, "bootstrap")
    half = 1.96 * float(np.std(values)) / 20.0
    assert found.half == pytest.approx(half, rel=0.05)
    skewed = interval([1.0, 1.1, 1.2, 1.3, 1.4, 9.0], "bootstrap")
    # the long tail is on the right, so the bootstrap's interval is wider on the right; the t interval is symmetric
    assert skewed.high - skewed.mean > skewed.mean - skewed.low


def test_one_value_has_no_interval_and_equal_ones_none_to_speak_of():
    one = interval([3.0])
    assert (one.mean, math.isnan(one.half), one.differs()) == (3.0, True, False)
    for method in ("t", "bootstrap"):
        same = interval([0.1] * 5, method)
        assert (same.mean, same.half, same.relative, same.differs()) == (0.1, 0.0, 0.0, False)
    for bad in ([], [1.0, math.inf], [1.0, math.nan]):
        with pytest.raises(ValueError, match="finite"):
            interval(bad)


def test_an_unknown_method_and_an_impossible_confidence_are_refused():
    wrong: list[object] = ["student", "T", "boot", "", None, ["t"], np.array(["t"])]
    for method in wrong:
        for values in ([3.0], [1.0, 2.0]):
            with pytest.raises(ValueError, match=r"^method: .* is not valid; expected t, bootstrap"):
                interval(values, method)  # type: ignore[arg-type]
    impossible: list[Any] = [95, 1.0, 0.0, -0.5, math.nan, "95", None, np.array([0.9, 0.95])]
    for confidence in impossible:
        with pytest.raises(
            ValueError, match=r"(?s)^confidence: .* is not valid; expected above 0 and below 1, such as"
        ):
            interval([1.0, 2.0], confidence=confidence)
    # Student's t(1, 75 %) is tan(pi / 4) = 1, and the standard deviation of the two values is sqrt(1/2)
    assert interval([1.0, 2.0], confidence=0.5).half == pytest.approx(0.5)


def test_pairs_take_out_what_seeds_have_in_common():
    seeds = np.random.default_rng(3).normal(0.0, 5.0, 12)
    second = [10.0 + s for s in seeds]
    first = [s + 1.0 + 0.01 * n for s, n in zip(second, range(12), strict=True)]
    found = interval([a - b for a, b in zip(first, second, strict=True)])
    assert found.mean == pytest.approx(1.055)
    assert found.half < 0.03 < interval(first).half
    assert found.differs()


def test_mser5_cuts_a_ramp_and_nothing_of_what_is_steady():
    rng = np.random.default_rng(1)
    steady = rng.normal(0.0, 1.0, 1000)
    ramp = np.concatenate([np.linspace(50.0, 0.0, 200), np.zeros(800)])
    cut = mser5(steady + ramp)
    assert cut is not None
    assert 180 <= cut <= 260
    small = mser5(steady)
    assert small is not None
    assert small < 250
    assert mser5(np.linspace(0.0, 1.0, 1000)) is None  # a rising series never becomes steady
    assert mser5([1.0] * 8) is None
    assert mser5([1.0] * 100) == 0


def test_the_error_of_mser5_is_its_definition():
    x = np.random.default_rng(5).normal(0.0, 1.0, 200) + np.exp(-np.arange(200) / 15.0) * 8.0
    z = x.reshape(-1, 5).mean(axis=1)
    by_hand = min(range(len(z) // 2 + 1), key=lambda d: np.var(z[d:]) / (len(z) - d))
    assert mser5(x) == 5 * by_hand


def frame(rows: list[tuple[str, str, int, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["rate", "queue", "seed", "mos"], orient="row")


def test_variance_is_shared_out_by_hand():
    # y = 3 a + a b, where a and b are -1 or 1, and the seeds add +-0.5. For the 8 values, the sums of squares are 8 x 9
    # for a, 8 x 1 for a b, and 8 x 0.25 for the seeds.
    rows = [
        (f"{a}", f"{b}", seed, 3.0 * a + a * b + noise)
        for a in (-1, 1)
        for b in (-1, 1)
        for seed, noise in ((1, 0.5), (2, -0.5))
    ]
    total = 8 * 9.0 + 8 * 1.0 + 8 * 0.25
    found = {e.name: e for e in effects(frame(rows), ["rate", "queue"], "mos")}
    assert found["rate"].share == pytest.approx(72.0 / total)
    assert found["queue"].share == pytest.approx(0.0, abs=1e-12)
    assert found["rate × queue"].share == pytest.approx(8.0 / total)
    assert found["seeds"].share == pytest.approx(2.0 / total)
    assert found["rest"].share == pytest.approx(0.0, abs=1e-12)
    # for a, F(1, 4) = 72 / (2 / 4) = 144, which gives p = 0.0003; b alone has no effect, so its p is 1
    assert found["rate"].p == pytest.approx(0.000276, rel=0.01)
    assert found["queue"].p == pytest.approx(1.0)
    assert dict(levels(frame(rows), "rate", "mos")) == {"-1": -3.0, "1": 3.0}


def test_a_drawn_axis_is_a_curve():
    x = np.linspace(0.0, 1.0, 32)
    rows = [(f"{1 + 9 * v:.3f}mbit", "q", 1, float((v - 0.5) ** 2)) for v in x]
    (rate, rest, seeds) = effects(frame(rows), ["rate", "queue"], "mos", ["rate"])
    assert (rate.name, rest.name, seeds.name) == ("rate", "rest", "seeds")
    assert rate.share == pytest.approx(1.0, abs=1e-5)
    assert effects(frame([("a", "b", 1, 2.0), ("c", "b", 1, 2.0)]), ["rate", "queue"], "mos") == []


def test_differences_are_of_common_seeds():
    rows = [("1", "codel", s, 10.0 + s) for s in (1, 2, 3)] + [("1", "pie", s, 11.0 + s + 0.1 * s) for s in (1, 3, 9)]
    (found,) = differences(frame(rows), ["rate", "queue"], "mos", "queue=codel")
    assert dict(found.place) == {"rate": "1", "queue": "pie"}
    # the differences pie minus codel are 12.1 - 11 with seed 1 and 14.3 - 13 with seed 3
    assert (found.interval.n, found.interval.mean) == (2, pytest.approx(1.2))
    over = intervals(frame(rows), ["rate", "queue"], ["mos"], "queue=codel")
    assert over["n"].to_list() == [3, 3]
    assert over["difference"].to_list()[0] is None
    assert over["difference"].to_list()[1] == pytest.approx(1.2)
    for wrong, words in (
        ("queue=red", "queue is never red; it is codel, pie"),
        ("q=codel", "no axis q; expected rate"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            differences(frame(rows), ["rate", "queue"], "mos", wrong)


def test_an_axis_that_varies_with_the_baselines_is_not_a_difference():
    # up and down are zipped: a line of 1/10 and one of 5/50 Mbit/s, each with two queues
    value = {("1", "codel"): 10.0, ("1", "pie"): 20.0, ("5", "codel"): 12.0, ("5", "pie"): 25.0}
    rows = [
        {"up": up, "down": {"1": "10", "5": "50"}[up], "queue": queue, "seed": seed, "mos": of + seed}
        for (up, queue), of in value.items()
        for seed in (1, 2)
    ]
    found = differences(pl.DataFrame(rows), ["up", "down", "queue"], "mos", "up=1", zips=[["up", "down"]])
    assert [(dict(of.place), of.interval.mean, of.interval.n) for of in found] == [
        ({"up": "5", "down": "50", "queue": "codel"}, 2.0, 2),
        ({"up": "5", "down": "50", "queue": "pie"}, 5.0, 2),
    ]
    # without the zip, the cause of the difference is unknown: no two lines differ in up alone
    assert differences(pl.DataFrame(rows), ["up", "down", "queue"], "mos", "up=1") == []
    # with 1/10, 1/20 and 5/20, only the last two lines differ in up alone
    rows = [
        {"up": u, "down": d, "seed": 1, "mos": m} for u, d, m in (("1", "10", 1.0), ("1", "20", 2.0), ("5", "20", 7.0))
    ]
    (only,) = differences(pl.DataFrame(rows), ["up", "down"], "mos", "up=1")
    assert (dict(only.place), only.interval.mean) == ({"up": "5", "down": "20"}, 5.0)
    places = pl.DataFrame({"up": ["1", "1", "5"], "down": ["10", "20", "30"]})
    with pytest.raises(ValueError, match=r"^up=1: no point with another up has the same down$"):
        check_baseline(places, ["up", "down"], "up=1")
    with pytest.raises(ValueError, match=r"^up=1: up has no other value to compare with it$"):
        check_baseline(places.head(2), ["up", "down"], "up=1")


def test_seeds_that_are_all_alike_are_seen():
    same = (
        [("1", "codel", s, 4.0) for s in (1, 2)] + [("1", "pie", s, 4.0 + s) for s in (1, 2)] + [("2", "pie", 1, 4.0)]
    )
    assert alike(frame(same), ["rate", "queue"]) == (2, 1)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """`tools/coverage.py -n 40` repeats a sweep 40 times. At least 34 of the 95 % intervals must contain the mean wait
    of M/D/1; docs/sweeps.md has the results of 500 repetitions.
    """
    done = subprocess.run(
        [sys.executable, "tools/coverage.py", "-n", "40"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert (len(lines), done.stderr) == (3, "")
    mean = float(re.findall(r"mean wait ([\d.]+) ms", lines[0])[0])
    assert mean == pytest.approx(0.5, rel=0.01)
    assert lines[1].startswith("t: ")
    held = int(re.findall(r"t: (\d+) of 40", lines[1])[0])
    # the number of intervals that contain the mean is binomial(40, 0.95), so it is below 34 with a probability of 0.3 %
    assert held >= 34
