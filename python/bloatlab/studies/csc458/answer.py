"""Does a smaller buffer cure bufferbloat, and what does queue management of today do instead? Answered from the runs."""

from __future__ import annotations

from bloatlab.plots import Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs, median_of, over_seeds
from bloatlab.studies.csc458.build import QUEUES, TODAY, Case
from bloatlab.studies.csc458.scorecard import MEAN, PRINTED
from bloatlab.studies.drawing import points
from bloatlab.tables import counted, number

QUESTION = "Does a smaller buffer cure bufferbloat, and what does queue management of today do?"

_NAMES = {"codel": "CoDel", "pie": "PIE"}

#: The lab's own buffers (as its kit queues packets), and what stands at its defaults in their place.
BUFFERS = {q: Case("reno", q, 2).key for q in QUEUES}
MODERN = {_NAMES.get(name, name): Case("reno", queue=name).key for name in TODAY}

#: The measures of the answer: what a person waits for, and what the upload still gets.
PING, FETCH, FLOW = "rtt_median_ms", "fetch_mean_s", "throughput_mbit"


def answer(runs: Runs, seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    basis = (
        f"Medians of {counted(seeds, 'seed')} of 60 s under Reno on 10 Mbit/s. Buffers hold packets as Mininet counts them "
        "(super-segments of two); hollow points are the report's."
    )
    figure = figure_block(draw(runs))
    of = {
        name: values
        for name, key in (*((f"{q} packets", k) for q, k in BUFFERS.items()), *MODERN.items())
        if None not in (values := [median_of(runs, key, m) for m in (PING, FETCH, FLOW)])
    }
    known = {name: [v for v in values if v is not None] for name, values in of.items()}
    if len(known) < len(BUFFERS) + len(MODERN):
        return Answer(QUESTION, "Not all of its runs were made, so nothing is said.", (), figure, basis)
    return Answer(QUESTION, _sentence(known), _points(known), figure, basis)


def _sentence(of: dict[str, list[float]]) -> str:
    large, small, tiny = (of[f"{q} packets"] for q in (100, 20, 5))
    fastest = min(of[name][1] for name in MODERN)
    best = min((name for name in MODERN if of[name][1] <= 1.1 * fastest), key=lambda name: of[name][0])
    first = "In part" if small[1] < large[1] else "No"
    price = 100.0 * (1.0 - tiny[2] / large[2])
    turned = "but" if tiny[1] > small[1] or price > 1.0 else "and"
    again = " again" if tiny[1] > small[1] else ""
    lost = f" and the upload loses {number(price, 0)} % of its rate" if price > 1.0 else ""
    return (
        f"{first}: with 20 packets instead of 100 a ping takes {number(small[0], 0)} ms instead of {number(large[0], 0)} and a page "
        f"{number(small[1], 2)} s instead of {number(large[1], 2)}, {turned} with 5 packets a page takes {number(tiny[1], 2)} s{again}{lost}. "
        f"{best} in place of the buffer: {number(of[best][0], 1)} ms and {number(of[best][1], 2)} s, with "
        f"{number(of[best][2], 1)} of {number(large[2], 1)} Mbit/s for the upload."
    )


def _points(of: dict[str, list[float]]) -> list[Point]:
    return [
        Point(
            name,
            f"{number(ping, 0 if ping >= 10 else 1)} ms",
            f"a ping; {number(fetch, 2)} s a page; upload {number(flow, 2)} Mbit/s",
        )
        for name, (ping, fetch, flow) in of.items()
    ]


def draw(runs: Runs) -> Drawn:
    """Pings and pages behind each queue: ours with its interval, and the report's means."""
    keys = [*BUFFERS.values(), *MODERN.values()]
    ticks = [(float(n), name) for n, name in enumerate((*(f"{q} pkt" for q in QUEUES), *MODERN))]
    ours = style.COLOURS[0]
    report = Series(
        "the report",
        list(range(len(QUEUES))),
        [PRINTED[q, MEAN] for q in QUEUES],
        "points",
        style.PUBLISHED,
        hollow=True,
    )

    def line(measure: str, label: str, colour: str) -> Series:
        return points(label, list(range(len(keys))), [over_seeds(runs, key, measure) for key in keys], colour)

    panels = [
        Panel(
            "Round-trip time of pings: median and 95th percentile", "queue of the bottleneck", "RTT (ms)",
            [line(PING, "median", ours), line("rtt_p95_ms", "95th percentile", style.COLOURS[1])],
            (-0.5, len(keys) - 0.5), (3.0, 400.0), log_y=True, x_ticks=ticks,
        ),
        Panel(
            "Mean time of a page fetch", "queue of the bottleneck", "fetch time (s)",
            [line(FETCH, "ours", ours), report], (-0.5, len(keys) - 0.5), (0.0, None), x_ticks=ticks,
        ),
    ]  # fmt: skip
    caption = "The lab's three buffers, and CoDel, fq_codel and PIE at their defaults. Bars: the central 80 % of seeds."
    return Drawn("", "answer", caption, panels, 1, size=(7.0, 2.6))
