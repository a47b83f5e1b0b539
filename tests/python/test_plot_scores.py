"""The sentence and the scores of an overview name the application with the lowest goodput."""

from __future__ import annotations

from dataclasses import replace

from bloatlab.plots.headline import headline, scores
from bloatlab.plots.subjects import Run


def race(*rates: float, pings: int = 1) -> Run:
    """Returns a run with an upload for each of `rates` (Mbit/s), `a` to `h`, and with pings; no link is recorded."""
    uploads = {"abcdefgh"[n]: {"kind": "ftp", "goodput_mbit": rate} for n, rate in enumerate(rates)}
    apps = {f"ping{n}": {"kind": "ping", "ping": {"rtt_ms": {"p50": 20.0, "p99": 40.0}}} for n in range(pings)}
    return Run("race", {}, {"links": {}, "apps": {**uploads, **apps}, "duration_s": 9.0})


def test_a_starved_application_is_named():
    run = race(9.5, 9.54, 0.24)
    assert headline([run]).endswith("b gets 9.54 Mbit/s and c 0.240 Mbit/s (the most and the least of 3).")
    assert [label for label, _ in scores([run])] == [
        "ping0: median round trip (ms)", "ping0: 99 % round trip (ms)",
        "b: goodput (Mbit/s)", "c: goodput (Mbit/s)", "a: goodput (Mbit/s)",
    ]  # fmt: skip
    assert headline([race(8.0, 1.0)]).endswith("a gets 8.00 Mbit/s and b 1.00 Mbit/s.")
    assert headline([race(8.0)]).endswith("; a gets 8.00 Mbit/s.")
    both = [replace(run, label="one"), replace(race(3.0, 8.0, 7.0), label="two")]
    assert headline(both).endswith("; b gets 9.54 and 8.00 Mbit/s; c gets 0.240 and 7.00 Mbit/s.")


def test_the_scores_give_the_number_of_applications_left_out():
    rows = scores([race(1.0, 2.0, 3.0, 4.0, 5.0, pings=4)])
    # four pings have a row each for two scores; the table has room for three of these rows and two goodputs
    assert [label for label, _ in rows] == [
        *(f"ping{n}: median round trip (ms)" for n in range(3)),
        "e: goodput (Mbit/s)", "a: goodput (Mbit/s)", "4 more applications",
    ]  # fmt: skip
    assert rows[-1] == ("4 more applications", [""])
