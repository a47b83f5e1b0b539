"""Figures: the L4S tests' ratios beside ours, steps of the rate, and why the queue of flows alone is longer."""

from __future__ import annotations

import numpy as np

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.drawing import points
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import heist
from bloatlab.studies.l4s.scorecard import rates

#: Whose ratios are drawn: the words, and how the queue's name begins.
QUEUES = (("DualPI2", "dualpi2"), ("plain buffer", "pfifo"), ("fq_codel", "fq_codel"))
#: From the smallest to the largest ratio of the tests, with room for ours.
EDGES = (0.03, 90.0)


def draw(runs: Runs) -> list[Drawn]:
    """All of them."""
    return [_pairs(runs), _steps(runs), _alone(runs)]


def _points(label: str, n: int, of: int, runs: Runs, cases: list[c.Case], measure: str) -> Series:
    """Series `n` of `of` over places 0, 1, ..., a little beside the others."""
    xs = np.arange(len(cases)) + 0.06 * (n - (of - 1) / 2)
    return points(label, xs, [over_seeds(runs, case.key, measure) for case in cases], style.COLOURS[n])


def _pairs(runs: Runs) -> Drawn:
    printed = rates()
    edges = np.array(EDGES)
    panels: list[Panel] = []
    for rate in (50.0, 10.0):
        series = [Series("equal", edges, edges, colour=style.PUBLISHED, quiet=True)]
        series += [
            Series("a factor of 1.5", edges, edges * f, colour=style.PUBLISHED, dashed=True, quiet=True)
            for f in (1.5, 1 / 1.5)
        ]
        for n, (label, begins) in enumerate(QUEUES):
            cases = [x for x in heist.of_queue(begins) if x.rate == rate and x.key in runs]
            published = [printed[x.key][1] / printed[x.key][0] for x in cases]
            spreads = [over_seeds(runs, x.key, "ratio") for x in cases]
            series.append(points(label, published, spreads, style.COLOURS[n]))
        panels.append(
            Panel(f"{rate:g} Mbit/s", "published ratio", "ours", series, EDGES, EDGES, log_x=True, log_y=True)
        )  # fmt: skip
    caption = (
        "Rate of the second flow over the first's, for all pairs of the L4S tests. On the line both are the same; the dashed lines are a "
        "factor of 1.5 away. Bars: the central 80 % of seeds."
    )
    return Drawn("", "pairs", caption, panels)


def _steps(runs: Runs) -> Drawn:
    xs = np.arange(len(heist.STEPS_TO), dtype=float)
    ticks = [(float(x), f"{then:g}") for x, then in zip(xs, heist.STEPS_TO, strict=True)]
    panels: list[Panel] = []
    kinds = [(stack, queue) for queue in ("fq_codel", "dualpi2") for stack in ("prague", "cubic")]
    for rtt in (20.0, 80.0):
        series: list[Series] = []
        for n, (stack, queue) in enumerate(kinds):
            cases = [heist.step(stack, rtt, queue, then) for then in heist.STEPS_TO]
            series.append(_points(f"{stack}, {queue}", n, len(kinds), runs, cases, "rtt_max_ms"))
        if rtt == 80.0:
            series.append(Series("L4S tests", [xs[-1]], [4346.0], "points", style.PUBLISHED, hollow=True))
        panels.append(
            Panel(f"Round trip {rtt:g} ms", "from 50 to (Mbit/s)", "greatest round trip (ms)", series, (-0.4, len(xs) - 0.6),
                  (20.0, 8000.0), log_y=True, x_ticks=ticks)
        )  # fmt: skip
    caption = (
        "The rate steps down from 50 Mbit/s: the greatest smoothed round trip that the sender sees in the 30 s after."
    )
    return Drawn("", "steps", caption, panels)


def _alone(runs: Runs) -> Drawn:
    xs = np.arange(len(c.RATES), dtype=float)
    ticks = [(float(x), f"{rate:g}") for x, rate in zip(xs, c.RATES, strict=True)]
    panels: list[Panel] = []
    for title, mss in (("Packets of 1500 bytes", c.MSS), ("Packets of 188 bytes", c.SMALL)):
        series: list[Series] = []
        for n, flows in enumerate(c.FLOWS):
            cases = [c.alone(rate, flows, mss=mss) for rate in c.RATES]
            label = f"{flows} flow" + ("s" if flows > 1 else "")
            series.append(_points(label, n, len(c.FLOWS), runs, cases, "first_wait_p99_ms"))
        panels.append(
            Panel(title, "bottleneck (Mbit/s)", "99th percentile of wait (ms)", series, (-0.4, len(xs) - 0.6), (0.5, 40.0),
                  [Mark("2 ms", 2.0)], log_y=True, x_ticks=ticks)
        )  # fmt: skip
    caption = "Prague alone, 20 ms: only the step marks. A queue grows by what all flows add in a round trip: a share of a packet each."
    return Drawn("", "alone", caption, panels)
