"""The criteria of the packaged suites, and of suites with mistakes that only a run can show."""

from __future__ import annotations

import polars as pl

from bloatlab.judge import measures, suite


def test_a_period_in_which_nothing_is_sent_has_no_losses() -> None:
    (case,) = suite("rfc9743").only("7.2").cases
    (query,) = [c.measure for c in case.criteria]
    # 35 s in bins of 100 ms. Nothing is sent from 15 s on; in the period from 5 to 10 s, 1 of 5 packets is lost
    times = [n / 10 for n in range(350)]
    sent = [4 if t < 15.0 else 0 for t in times]
    lost = [1 if 5.0 <= t < 10.0 else 0 for t in times]
    counts = {"dropped_packets": lost, "sent_packets": sent}
    queues = pl.DataFrame({"link": ["forward"] * 350, "t_s": times}).with_columns(
        *(pl.Series(name, values, dtype=pl.UInt64) for name, values in counts.items())
    )
    assert measures._value({"queues": queues}, query) == 1.0
