"""Tests the helpers for tables: spreads, rates, running means, cumulative shares, and numbers as text."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloatlab.tables import cumulative_share, natural, number, rate_series, running_mean, spread


def test_spread_of_ten_seeds():
    s = spread(range(1, 11))
    assert (s.median, s.low, s.high) == (5.5, pytest.approx(1.9), pytest.approx(9.1))


def test_spread_of_one_seed_is_a_point():
    s = spread([3.0])
    assert (s.median, s.low, s.high) == (3.0, 3.0, 3.0)
    with pytest.raises(ValueError, match="no values"):
        spread([])


def test_never_is_larger_than_any_time():
    s = spread([math.inf, 84.0, math.inf, math.inf])
    assert (s.median, s.high) == (math.inf, math.inf)
    assert spread([math.inf] * 3).low == math.inf
    assert spread([1.0, 2.0, math.inf]).median == 2.0


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_spread_is_numpys(values: list[float]):
    s = spread(values)
    wanted = np.quantile(values, [0.1, 0.5, 0.9])
    assert (s.low, s.median, s.high) == pytest.approx(tuple(wanted), rel=1e-9, abs=1e-6)


def test_rate_series_sums_flows_and_divides_by_the_bin():
    frame = pl.DataFrame({"flow": [0, 1, 0, 1], "t_s": [0.1, 0.1, 0.2, 0.2], "wire_bytes": [1000, 1500, 0, 12500]})
    rate = rate_series(frame, "wire_bytes")
    assert rate["t_s"].to_list() == [0.1, 0.2]
    assert rate["rate_mbit"].to_list() == pytest.approx([0.2, 1.0])  # 2500 B and 12 500 B in 0.1 s each


def test_rate_series_of_nothing():
    frame = pl.DataFrame({"t_s": [], "wire_bytes": []}, schema={"t_s": pl.Float64, "wire_bytes": pl.Int64})
    assert rate_series(frame, "wire_bytes").is_empty()


def test_running_mean_does_not_sag_at_the_ends():
    assert running_mean(np.full(7, 19.9), 3) == pytest.approx(19.9)
    assert running_mean(np.array([0.0, 3.0, 6.0]), 3).tolist() == [1.5, 3.0, 4.5]


def test_running_mean_of_fewer_values_than_the_window():
    """The result has one value for each given value; numpy's "same" would return one for each bin of the window."""
    assert running_mean(np.array([1.0, 2.0, 6.0]), 5).tolist() == [3.0, 3.0, 3.0]
    assert running_mean(np.array([1.0, 5.0]), 3).tolist() == [3.0, 3.0]
    for n, bins in ((7, 2), (7, 3), (7, 4), (7, 7)):
        x, window = np.arange(float(n)) ** 2, np.ones(bins)
        same = np.convolve(x, window, mode="same") / np.convolve(np.ones(n), window, mode="same")
        assert running_mean(x, bins).tolist() == same.tolist()
    frame = pl.DataFrame({"t_s": [0.0, 0.1], "bytes": [1000, 3000]})
    assert rate_series(frame, "bytes", smooth=3)["rate_mbit"].to_list() == pytest.approx([0.16, 0.16])


def test_cumulative_share():
    frame = pl.DataFrame({"packets": [2, 0, 1], "time_share": [0.5, 0.2, 0.3]})
    shares = cumulative_share(frame, "packets", "time_share")
    assert shares["packets"].to_list() == [0, 1, 2]
    assert shares["share"].to_list() == pytest.approx([0.2, 0.5, 1.0])


def test_numbers_for_people():
    assert number(375614.2, 0) == "375\u202f614"
    assert number(2.7561, 3) == "2.756"
    assert number(-0.04, 1) == "0.0"
    assert number(math.inf) == "never"
    assert number(None) == "-"
    assert number(math.nan) == "-"


def test_names_are_sorted_by_their_numbers():
    names = ["up", "game1", "game01", "game2", "game10", "game11b2", "game11b10", "game" + "9" * 5000, "7", "~up"]
    expected = ["7", "game01", "game1", "game2", "game10", "game11b2", "game11b10", "game" + "9" * 5000, "up", "~up"]
    assert sorted(names, key=natural) == expected
