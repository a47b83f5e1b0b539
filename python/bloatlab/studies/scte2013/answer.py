"""Which way to manage a modem's buffer keeps a game playable while uploads fill the line? Answered from the runs."""

from __future__ import annotations

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.scte2013.experiments import BDP_MS, BUFFERS_MS, SERIES
from bloatlab.studies.scte2013.readings import place, spread_lines
from bloatlab.tables import counted, number

QUESTION = "Which management of a modem's buffer keeps a game playable while ten uploads fill the line?"

#: A buffer as modems had it, ms of the line's rate.
LARGE_MS = 960

#: The paper's types in the order of the answer: series, name, colour.
TYPES = (
    ("fig2", "tail-dropping (Type C)", style.COLOURS[1]),
    ("fig11", "LRED 200 ms (Type B)", style.COLOURS[3]),
    ("fig5", "SFQ (Type A)", style.COLOURS[0]),
    ("fig16", "SFQ and LRED 200 ms", style.COLOURS[2]),
)

#: How much better the game's latency must be before one is called better, a share.
CLEAR = 0.10


def answer(runs: Runs, seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    basis = f"Medians of {counted(seeds, 'seed')}. Latency is one way, propagation (25 ms) included; Tmax is 5 Mbit/s."
    figure = figure_block(draw(runs))
    found: dict[str, tuple[float, float, float, float]] = {}
    for series, name, _ in TYPES:
        values = [
            median_of(runs, place(series, LARGE_MS), m)
            for m in ("gamer_mean_ms", "ftp_mean_ms", "rate_mbit", "loss_percent")
        ]
        if any(v is None for v in values):
            return Answer(
                QUESTION, "A quick look skips runs that this question needs; run it without --quick.", (), figure, basis
            )
        game, ftp, rate, loss = (v for v in values if v is not None)
        found[name] = (game, ftp, rate, loss)
    return Answer(QUESTION, _sentence(found, runs), _points(found), figure, basis)


def _sentence(of: dict[str, tuple[float, float, float, float]], runs: Runs) -> str:
    names = [name for _, name, _ in TYPES]
    tail, best = of[names[0]], min(names, key=lambda name: of[name][0])
    tmax = SERIES["fig2"].tmax_mbit
    equal = [name for name in names if name != best and of[name][0] <= (1.0 + CLEAR) * of[best][0]]
    also = f" (and {' and '.join(equal)} within {CLEAR:.0%} of it)" if equal else ""
    small = median_of(runs, place("fig2", BDP_MS), "gamer_mean_ms")
    rate = median_of(runs, place("fig2", BDP_MS), "rate_mbit")
    begin = (
        f"{best}{also}: behind {LARGE_MS} ms of buffer the game's packets take {number(of[best][0], 0)} ms, beside "
        f"{number(tail[0], 0)} ms behind tail-dropping, and the line carries {number(of[best][2], 2)} of {tmax:g} Mbit/s "
        f"(tail-dropping {number(tail[2], 2)})."
    )
    if small is None or rate is None:
        return begin
    return (
        f"{begin} Tail-dropping with a buffer of only {BDP_MS} ms, one bandwidth-delay product, brings {number(small, 0)} ms at "
        f"{number(rate, 2)} Mbit/s."
    )


def _points(of: dict[str, tuple[float, float, float, float]]) -> list[Point]:
    return [
        Point(name, f"{number(game, 0)} ms", f"for the game; uploads {number(ftp, 0)} ms; {number(rate, 2)} Mbit/s; {number(loss, 1)} % lost")
        for name, (game, ftp, rate, loss) in of.items()
    ]  # fmt: skip


def draw(runs: Runs) -> Drawn:
    """The game's latency and the line's use against the buffer, all types on one scale, the knee in sight."""
    bdp = Mark("BDP", float(BDP_MS), "x")

    def lines(measure: str) -> list[Series]:
        return [
            Series(name, BUFFERS_MS, middle, colour=colour, band=band)
            for series, name, colour in TYPES
            for middle, band in [spread_lines(runs, series, measure)]
        ]

    latency = Panel(
        "The game's latency, one way", "buffer (ms of 5 Mbit/s)", "mean latency (ms)", lines("gamer_mean_ms"),
        (20.0, 1000.0), (20.0, 1000.0), (bdp,), log_x=True, log_y=True,
    )  # fmt: skip
    loss = Panel(
        "What it costs: packets lost", "buffer (ms of 5 Mbit/s)", "loss (%)", lines("loss_percent"),
        (20.0, 1000.0), (0.0, None), (bdp,), log_x=True,
    )  # fmt: skip
    caption = "Ten uploads and a game; the buffer from 20 ms to 1 s. Shades: the central 80 % of seeds. BDP: bandwidth-delay product."
    return Drawn("", "answer", caption, [latency, loss], 1, size=(7.0, 2.6))
