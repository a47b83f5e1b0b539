"""Driving: a sender whose pacing rate changes while it waits."""

from __future__ import annotations

import pytest

import bloatlab


@pytest.mark.parametrize(("rate", "most"), [(None, 100e6), ("10mbit", 10e6), ("20mbit", 20e6)])
def test_a_new_pacing_rate_ends_a_long_wait(rate: str | None, most: float):
    # at 1000 bit/s, the wait after a segment of 1448 bytes is 11.6 s
    line = {"from": "a", "to": "b", "both_ways": True, "rate": "100mbit", "delay": "10ms"}
    app = {"from": "a", "to": ["b"], "tcp": "mine", "traffic": {"ftp": {}}}
    stack = {"preset": "linux-6", "congestion_control": "fixed", "initial_window": {"segments": 100}}
    given = {"duration": "4s", "link": {"line": line}, "app": {"up": app}, "tcp": {"mine": stack}}
    simulation = bloatlab.open(given)
    simulation.run_until(1)
    flow = simulation.flow("up")
    flow.pacing_rate = 1000
    simulation.run_until(2)
    assert flow.in_flight == 0
    before = flow.delivered
    flow.pacing_rate = rate
    simulation.run_until(3)
    # the rate is 100 segments per round trip of 20 ms, or the pacing rate if that is lower; the first ACK arrives after
    # a round trip, so only 0.98 s count
    expected = min(100 * 1448 / 0.02, most / 8)
    assert (flow.delivered - before) == pytest.approx(expected * 0.98, rel=0.03)
