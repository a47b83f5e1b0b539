"""Measures of runs: each is computed from a series for which the right value has a closed form."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.studies.cablelabs2012 import measure
from bloatlab.studies.cablelabs2012.claims import CLAIMS
from bloatlab.studies.cablelabs2012.measure import SYN_OFFSETS_S, syn_match

BIN = 0.1


def made_up(
    rate_mbit: np.ndarray, *, delay_ms: np.ndarray | None = None, limit: str = "21p", ns2: bool = False
) -> Result:
    """Returns a result whose upstream and FTP series follow `rate_mbit`, one value per 0.1 s."""
    n = len(rate_mbit)
    t = np.arange(n) * BIN
    sent = rate_mbit * 1e6 / 8 * BIN
    delay = np.zeros(n) if delay_ms is None else delay_ms
    droptail = {"limit": limit, "ns2_off_by_one": ns2}
    scenario = Scenario(json.dumps({"link": {"up": {"queue": {"droptail": droptail}}}}))
    tables = {
        "queue_series": pl.DataFrame(
            {
                "link": ["up"] * n,
                "t_s": t,
                "sent_bytes": sent,
                "sojourn_ms_max": delay,
                "sojourn_ms_mean": delay,
            }
        ),
        "flow_series": pl.DataFrame(
            {"app": ["ftp"] * n, "flow": [0] * n, "direction": ["forward"] * n, "t_s": t, "wire_bytes": sent}
        ),
        "queue_histogram": pl.DataFrame({"link": ["up"] * 3, "packets": [15, 16, 20], "time_share": [0.25, 0.25, 0.5]}),
    }
    return Result(scenario, {"apps": {"ftp": {}}}, tables)


def test_full_burst_lasts_five_and_a_third_seconds():
    """A bucket of 10 MB lasts 10 MB / ((20 - 5) / 8 MB/s) = 5.333 s. The burst ends when 98 % of the bucket is used up,
    0.107 s earlier, but the measure notices this only at the end of a bin.
    """
    rate = np.full(300, 20.0)
    found = measure.burst(made_up(rate))
    assert found["burst_s"] == pytest.approx(5.333 * 0.98, abs=2 * BIN)


def test_slow_ramp_refills_nothing_beyond_the_bucket():
    """After 10 s at 5 Mbit/s the bucket is still full, so the burst begins at 10 s; 98 % of the bucket is used up
    5.227 s later.
    """
    rate = np.concatenate([np.full(100, 5.0), np.full(200, 20.0)])
    assert measure.burst(made_up(rate))["burst_s"] == pytest.approx(10.0 + 5.227, abs=2 * BIN)


def test_ramp_and_plateau():
    """The ramp ends at 0.6 s, when the rate reaches 20 Mbit/s; the full rate ends at 3.1 s, and the plateau has 15
    Mbit/s, which is 0.75 of 20 Mbit/s.
    """
    rate = np.concatenate([np.full(6, 8.0), np.full(25, 20.0), np.full(60, 15.0), np.full(200, 5.0)])
    found = measure.burst(made_up(rate))
    assert found["ramp_s"] == pytest.approx(0.6, abs=2 * BIN)
    assert found["full_rate_s"] == pytest.approx(3.1, abs=3 * BIN)
    assert found["plateau_share"] == pytest.approx(0.75)


def test_a_peak_that_lasts_to_the_end_of_the_burst_is_the_whole_link():
    """CableLabs 2012 §4.1.3 says that the plateau "goes away" with 130 or 170 packets. The rate then stays at the peak
    of 20 Mbit/s until the burst ends, and the share of the link is 1.
    """
    found = measure.burst(made_up(np.full(60, 20.0)))
    assert math.isinf(found["full_rate_s"])
    assert found["plateau_share"] == pytest.approx(1.0)
    found = measure.burst(made_up(np.concatenate([np.full(6, 8.0), np.full(51, 20.0), np.full(200, 5.0)])))
    assert found["full_rate_s"] == pytest.approx(5.7, abs=2 * BIN)
    assert found["plateau_share"] == pytest.approx(1.0)
    runs = {f"C03 limit {n}p": [found] * 10 for n in (130, 170)}
    claims = {claim.ident: claim.check(runs) for claim in CLAIMS}
    for ident in ("plateau-130", "plateau-170"):
        assert (claims[ident].ours, claims[ident].holds) == ("100 %", True)


def test_a_peak_that_ends_shortly_before_the_burst_shows_no_plateau():
    """The burst of 10 MB ends 5.6 s after the start. The plateau is measured from 1 s after the peak to 0.3 s before
    the end of the burst, so a peak that ends after 4.5 s leaves no time for it.
    """
    found = measure.burst(made_up(np.concatenate([np.full(45, 20.0), np.full(20, 15.0), np.full(200, 5.0)])))
    assert found["full_rate_s"] == pytest.approx(4.5, abs=2 * BIN)
    assert math.isnan(found["plateau_share"])
    # a transfer that never reaches the peak shows no plateau either
    assert math.isnan(measure.burst(made_up(np.full(300, 5.0)))["plateau_share"])


def test_times_are_relative_to_the_first_packet():
    """The transfer's first packet arrives in the bin that starts at 2.0 s. Rates are means over three bins, so the rate
    is above 0 from 1.9 s on, but times are counted from 2.0 s.
    """
    rate = np.concatenate([np.zeros(20), np.full(25, 20.0), np.full(60, 15.0), np.full(200, 5.0)])
    found = measure.burst(made_up(rate))
    # the mean over three bins reaches 95 % of the peak when all three bins are full: those at 2.0, 2.1 and 2.2 s
    assert found["ramp_s"] == pytest.approx(0.1)
    # this mean falls below 90 % in the bin at 4.5 s, after 25 full bins: (20 + 15 + 15) / 3 = 16.7
    assert found["full_rate_s"] == pytest.approx(2.5)


def test_delays_during_and_after_the_burst():
    rate = np.full(300, 20.0)
    delay = np.where(np.arange(300) < 50, 250.0, 1000.0)
    found = measure.queueing(made_up(rate, delay_ms=delay))
    assert found["delay_burst_ms"] == 250.0
    assert found["delay_after_ms"] == 1000.0
    assert found["spike_ms"] == 1000.0


def test_at_most_five_free_slots_of_21():
    assert measure.queueing(made_up(np.full(300, 20.0)))["free5_share"] == pytest.approx(0.75)
    assert math.isnan(measure.queueing(made_up(np.full(300, 20.0), limit="31250B"))["free5_share"])


def test_a_drop_tail_of_21_as_ns2_has_it_stores_20():
    """In a queue with room for 20 packets, at most 5 slots are free if at least 15 packets wait. If the queue had room
    for 21 packets, at least 16 would have to wait.
    """
    assert measure.queueing(made_up(np.full(300, 20.0), ns2=True))["free5_share"] == pytest.approx(1.0)


def test_spike_that_settles():
    rate = np.full(300, 20.0)
    delay = np.where(np.arange(300) * BIN < 8.0, 50.0, 1.0)
    assert measure.queueing(made_up(rate, delay_ms=delay))["settle_s"] == pytest.approx(8.0 - 5.25, abs=0.4)


def test_syn_times_of_the_paper():
    times = [1.0 + offset for offset in SYN_OFFSETS_S]
    assert times == [1, 4, 10, 22, 46, 94, 154, 214, 274]
    assert syn_match(times) == 8
    assert syn_match(times[:4]) == 3
    assert syn_match([7.3]) == 0
    assert syn_match([]) == 0
    assert math.isnan(syn_match([1.0, 4.0, 8.0]))
