"""Is the low-latency queue as short as promised, and fair to other traffic? Answered from the runs."""

from __future__ import annotations

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs, median_of, over_seeds
from bloatlab.studies.drawing import points
from bloatlab.studies.l4s import cases as c
from bloatlab.tables import counted, number

QUESTION = "Is the low-latency queue as short as promised, and fair to the other traffic?"
P99, C_MEAN, SHARE = "first_wait_p99_ms", "second_wait_mean_ms", "ratio"


def answer(runs: Runs, seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    basis = (
        f"Medians of {counted(seeds, 'seed')}: paced Prague beside as many CUBIC flows in DualPI2, round trip 20 ms. A packet's "
        "wait, without its own transmission."
    )
    figure = figure_block(draw(runs))
    found = {case: median_of(runs, case.key, P99) for case in c.BESIDE}
    waits = {case: wait for case, wait in found.items() if wait is not None}
    if len(waits) < len(c.BESIDE):
        return Answer(QUESTION, "Not all of its runs were made, so nothing is said.", (), figure, basis)
    return Answer(QUESTION, _sentence(waits, runs), _points(waits, runs), figure, basis)


def _sentence(waits: dict[c.Case, float], runs: Runs) -> str:
    fast = [wait for case, wait in waits.items() if case.rate >= 50.0]
    late = [case for case, wait in waits.items() if wait > 2.0]
    first = "Yes" if not late else "From 50 Mbit/s on, yes" if max(fast) <= 2.0 else "Not always"
    slowest = max(late, key=lambda case: waits[case], default=None)
    missed = (
        f"; {len(late)} of {len(waits)} loads miss the 2 ms, all at {_rates(late)} Mbit/s, where a packet alone takes "
        f"{number(min(case.packet_ms for case in late), 1)} to {number(max(case.packet_ms for case in late), 1)} ms "
        f"(worst {number(waits[slowest], 0)} ms)"
        if slowest
        else ""
    )
    shares = [v for case in waits if case.rate >= 20.0 and (v := median_of(runs, case.key, SHARE)) is not None]
    return (
        f"{first}: 99 of 100 packets wait at most {number(max(fast), 1)} ms there{missed}. From 20 Mbit/s on CUBIC has "
        f"{number(min(shares), 2)} to {number(max(shares), 2)} of Prague's rate, and waits "
        f"{_c_waits(runs)} ms instead."
    )


def _rates(cases: list[c.Case]) -> str:
    return " and ".join(f"{rate:g}" for rate in sorted({case.rate for case in cases}))


def _c_waits(runs: Runs) -> str:
    means = [v for case in c.BESIDE if (v := median_of(runs, case.key, C_MEAN)) is not None]
    return f"{number(min(means), 0)} to {number(max(means), 0)}"


def _points(waits: dict[c.Case, float], runs: Runs) -> list[Point]:
    found: list[Point] = []
    for rate in c.RATES:
        own = [case for case in waits if case.rate == rate]
        worst = max(waits[case] for case in own)
        shares = [v for case in own if (v := median_of(runs, case.key, SHARE)) is not None]
        text = f"for 99 of 100 packets at most; CUBIC over Prague {number(min(shares), 2)} to {number(max(shares), 2)}"
        found.append(Point(f"{rate:g} Mbit/s", f"{number(worst, 1)} ms", text, "good" if worst <= 2.0 else "bad"))
    return found


def draw(runs: Runs) -> Drawn:
    """Waits of both queues over the rate, and how both kinds share it."""
    xs = list(range(len(c.RATES)))
    ticks = [(float(x), f"{rate:g}") for x, rate in zip(xs, c.RATES, strict=True)]
    x_range = (-0.4, len(c.RATES) - 0.6)

    def line(flows: int, measure: str, label: str, place: int) -> Series:
        spreads = [over_seeds(runs, c.beside(rate, flows).key, measure) for rate in c.RATES]
        return points(label, [x + 0.06 * (place - 1) for x in xs], spreads, style.COLOURS[place])

    waits = [
        *(line(n, P99, f"L, {n} each", place) for place, n in enumerate(c.FLOWS)),
        line(4, C_MEAN, "C, 4 each (mean)", 3),
    ]
    shares = [line(n, SHARE, f"{n} each", place) for place, n in enumerate(c.FLOWS)]
    panels = [
        Panel("Wait in the queue: 99th percentile of L, mean of C", "bottleneck (Mbit/s)", "wait (ms)", waits, x_range,
              (0.1, 40.0), [Mark("2 ms", 2.0)], log_y=True, x_ticks=ticks),
        Panel("CUBIC's rate over Prague's", "bottleneck (Mbit/s)", "ratio", shares, x_range, (0.2, 5.0),
              [Mark("0.5", 0.5), Mark("2", 2.0)], log_y=True, x_ticks=ticks),
    ]  # fmt: skip
    caption = "Prague beside as many CUBIC flows, 20 ms. Bars: the central 80 % of seeds."
    return Drawn("", "answer", caption, panels, 1, size=(7.0, 2.6))
