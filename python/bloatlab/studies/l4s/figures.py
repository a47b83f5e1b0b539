"""Figures: the L4S tests' pairs beside ours, and why the queue of flows alone is longer."""

from __future__ import annotations

import math

import numpy as np

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.studies import published
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.l4s import cases as c

#: Prague's three forms, and how they are named.
FORMS = {"prague": "own round trips", "prague6": "version 0.6", "prague7": "version 0.7"}


def draw(runs: Runs) -> list[Drawn]:
    """All of them."""
    return [_pairs(runs), _alone(runs)]


def _values(runs: Runs, cases: list[c.Case], measure: str) -> np.ndarray:
    spreads = [over_seeds(runs, case.key, measure) for case in cases]
    return np.array([[s.median, s.low, s.high] if s else [math.nan] * 3 for s in spreads])


def _pairs(runs: Runs) -> Drawn:
    rows = {r.case: r.value.split(";") for r in published.rows("l4s") if r.metric == "rates"}
    cases, places = list(c.PAIRS), np.arange(len(c.PAIRS), dtype=float)
    printed = [float(rows[case.key][1]) / float(rows[case.key][0]) for case in cases]
    series = [Series("L4S tests", places - 0.25, printed, "points", style.PUBLISHED, hollow=True)]
    for n, (form, label) in enumerate(FORMS.items()):
        v = _values(runs, [case.of_version(form) for case in cases], "ratio")
        series.append(Series(label, places - 0.1 + 0.15 * n, v[:, 0], "points", style.COLOURS[n], (v[:, 1], v[:, 2])))
    ticks = [(float(x), str(n + 1)) for n, x in enumerate(places)]
    panel = Panel("Rate of the second flow over the first's", "pair, as in the table", "ratio", series,
                  (-0.6, len(cases) - 0.4), (0.05, 80.0), [Mark("equal", 1.0)], log_y=True, x_ticks=ticks)  # fmt: skip
    caption = (
        "The L4S tests' two flows at 50 Mbit/s (hollow), beside Prague without its law of short round trips, with it from "
        "the 500th round on (version 0.6), and from the fourth (0.7). Pairs in the order of the table."
    )
    return Drawn("", "pairs", caption, [panel], 1, size=(7.0, 3.0))


def _alone(runs: Runs) -> Drawn:
    xs = np.arange(len(c.RATES), dtype=float)
    ticks = [(float(x), f"{rate:g}") for x, rate in zip(xs, c.RATES, strict=True)]
    panels: list[Panel] = []
    for title, mss in (("Packets of 1500 bytes", c.MSS), ("Packets of 188 bytes", c.SMALL)):
        series: list[Series] = []
        for n, flows in enumerate(c.FLOWS):
            v = _values(runs, [c.alone(rate, flows, mss=mss) for rate in c.RATES], "first_wait_p99_ms")
            label = f"{flows} flow" + ("s" if flows > 1 else "")
            series.append(Series(label, xs + 0.06 * (n - 1), v[:, 0], "points", style.COLOURS[n], (v[:, 1], v[:, 2])))
        panels.append(
            Panel(title, "bottleneck (Mbit/s)", "99th percentile of wait (ms)", series, (-0.4, len(xs) - 0.6), (0.5, 40.0),
                  [Mark("2 ms", 2.0)], log_y=True, x_ticks=ticks)
        )  # fmt: skip
    caption = "Prague alone, 20 ms: only the step marks. A queue grows by what all flows add in a round trip: a share of a packet each."
    return Drawn("", "alone", caption, panels)
