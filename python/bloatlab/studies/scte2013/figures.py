"""The figures of SCTE 2013 from our runs, in the paper's order: against buffer size, and distributions.

Lines are medians over seeds, shades the central 80 %. What the paper does not draw but its text compares (sessions, round
trips) has no number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab.collisions import collision
from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.studies.claims import Runs, median_of, over_seeds
from bloatlab.studies.published import rows
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013.experiments import (
    BDP_MS,
    BUFFERS_MS,
    LOW_MIN_TH_MS,
    LOW_P_MAX,
    MAP_RTTS_MS,
    MAP_SESSIONS,
    RATES_MBIT,
    SERIES,
    TARGETS_MS,
)
from bloatlab.studies.scte2013.measure import merged
from bloatlab.studies.scte2013.readings import place, spread_lines
from bloatlab.studies.scte2013.text import FALLS_MBIT, P_MAX_BUFFER_MS, TWO_RTTS_BUFFERS_MS
from bloatlab.tables import cumulative_share

FTP, GAMER, TOTAL, LOSS, *_ = style.COLOURS
GREY = style.GRID

#: Figures against buffer size: number, series, what it shows.
AGAINST_BUFFER: Sequence[tuple[str, str, str]] = (
    ("2", "fig2", "Saturated tail-dropping, Tmax 5 Mbit/s"),
    ("3", "fig3", "Saturated tail-dropping, Tmax 1 Mbit/s"),
    ("5", "fig5", "SFQ, a queue for each session"),
    ("7", "fig7", "SFQ, the gamer and one FTP session forced into one queue"),
    ("11", "fig11", "LRED: MINth 200 ms, MAXth 400 ms, Pmin 1 %, Pmax 5 %"),
    ("13", "fig13", "LRED at 1 Mbit/s: MINth 50 ms, MAXth 100 ms, Pmin 1 %, Pmax 12 % (ours; only MINth is stated)"),
    ("14", "fig14", "SFQ with hashing and serial search, and LRED 700"),
    ("", "fig16", "The same with LRED 200"),
)

#: CDF figures: number, series, whether the baseline is drawn behind.
DISTRIBUTIONS: Sequence[tuple[str, str, str, bool]] = (
    ("6", "fig5", "SFQ", False),
    ("12", "fig11", "LRED", False),
    ("15", "fig14", "SFQ with hashing and serial search, and LRED 700", True),
    ("16", "fig16", "SFQ with hashing and serial search, and LRED 200", True),
)

#: The buffer of the CDF figures.
CDF_BUFFER_MS = 960

#: Series whose distributions are kept.
CDF_SERIES = ("fig2", *(series for _, series, _, _ in DISTRIBUTIONS))

Frames = Mapping[str, Sequence[pl.DataFrame]]


def draw(runs: Runs, frames: Frames) -> list[Drawn]:
    """Every figure; `frames` holds the distributions of each seed by series."""
    drawn = [_against_buffer(number, series, words, runs) for number, series, words in AGAINST_BUFFER]
    drawn += [_distribution(*given, frames) for given in DISTRIBUTIONS]
    drawn += [curves.draw(), _sessions(runs), _collisions(), _falling_tmax(runs), _frontier(runs), *_sweet_spot(runs)]
    return sorted(drawn, key=lambda d: (not d.number, int(d.number or 0)))


def _line(runs: Runs, series: str, measure: str, label: str, colour: str | None = None) -> Series:
    middle, band = spread_lines(runs, series, measure)
    return Series(label, BUFFERS_MS, middle, colour=colour, band=band)


def _against_buffer(number: str, series: str, words: str, runs: Runs) -> Drawn:
    """Latency, the rate where its knee is, and loss: on the same scales in every figure of the same Tmax."""
    tmax = SERIES[series].tmax_mbit
    bdp = (Mark("BDP", float(BDP_MS), "x"),)
    name, size = _NAMES[series], "buffer (ms of Tmax)"
    delays = [_line(runs, series, "ftp_mean_ms", "FTP", FTP), _line(runs, series, "gamer_mean_ms", "gamer", GAMER)]
    losses = [_line(runs, series, "loss_percent", "lost", LOSS)]
    if series not in ("fig2", "fig3"):
        base = "fig2" if tmax == SERIES["fig2"].tmax_mbit else "fig3"
        delays.append(
            replace(_line(runs, base, "ftp_mean_ms", f"tail-dropping (Figure {base[3:]})", GREY), dashed=True)
        )
        losses.append(
            replace(_line(runs, base, "loss_percent", f"tail-dropping (Figure {base[3:]})", GREY), dashed=True)
        )
    if series == "fig13":
        delays += [_other_p_max(runs, p, "ftp_mean_ms", FTP) for p in OTHER_P_MAXES]
        losses += [_other_p_max(runs, p, "loss_percent", LOSS) for p in OTHER_P_MAXES]
    delays += [_published(*of) for of in _SAID_MS.get(series, ())]
    losses += [_published(*of) for of in _SAID_PERCENT.get(series, ())]
    top = 2000.0 if number == "7" else 1000.0
    rates = [
        _line(runs, series, "rate_mbit", "upstream", TOTAL),
        _line(runs, series, "goodput_mbit", "FTP goodput", FTP),
    ]
    panels = [
        Panel(f"{name}: latency", size, "mean latency (ms)", delays, (0.0, 1000.0), (0.0, top)),
        Panel(
            f"{name}: the knee",
            size,
            "rate (Mbit/s)",
            rates,
            (0.0, 200.0),
            (_LEAST_RATE[tmax] * tmax, 1.02 * tmax),
            bdp,
        ),
        Panel(f"{name}: loss", size, "loss (% of Tmax)", losses, (0.0, 1000.0), (0.0, 15.0)),
    ]
    file = f"fig{number}" if number else series
    return Drawn(number, f"{file}_{series}", f"{words}. Hollow points are what the text says.", panels, 3)


#: Where the axis of the rate begins, in parts of Tmax: at 1 Mbit/s a small buffer costs more.
_LEAST_RATE = {5.0: 0.94, 1.0: 0.6}

#: What each series is called above a panel.
_NAMES = {
    "fig2": "Tail drop",
    "fig3": "Tail drop, 1 Mbit/s",
    "fig5": "SFQ",
    "fig7": "SFQ, collision",
    "fig11": "LRED 200",
    "fig13": "LRED 50, 1 Mbit/s",
    "fig14": "SFQ + LRED 700",
    "fig16": "SFQ + LRED 200",
}

#: What the text says of a figure, by its row of published.csv: label, case, metric, the buffer to draw it at in ms, colour.
_SAID_MS: Mapping[str, Sequence[tuple[str, str, str, float, str]]] = {
    "fig5": (("gamer, the text", "Fig5 SFQ", "gamer latency", 960, GAMER),),
    "fig11": (("the text", "Fig11 LRED", "latency plateau FTP and gamer", 960, FTP),),
    "fig13": (("the text", "Fig13 LRED 1 Mbps", "average latency", 960, FTP),),
    "fig14": (
        ("FTP, the text", "Fig14 SFQ+LRED700", "FTP latency peak", 960, FTP),
        ("gamer, the text", "Fig14 SFQ+LRED700", "gamer latency", 960, GAMER),
    ),
}
_SAID_PERCENT: Mapping[str, Sequence[tuple[str, str, str, float, str]]] = {
    "fig3": (("the text", "Fig3b DropTail 1 Mbps,200 ms buffer", "data loss rate", 200, LOSS),),
    "fig13": (("the text", "Fig13 LRED 1 Mbps", "packet drop rate", 960, LOSS),),
}


#: Pmax of Figure 13 is not stated. Beside ours, those whose latency is nearest to the text's 100 ms.
OTHER_P_MAXES = (0.2, 0.3)


def _other_p_max(runs: Runs, p_max: float, measure: str, colour: str) -> Series:
    """A measure of Figure 13 at 960 ms of buffer with another Pmax (experiment `p_max`)."""
    value = median_of(runs, f"p_max {p_max}", measure)
    return Series(
        f"Pmax {100.0 * p_max:.0f} %", [P_MAX_BUFFER_MS], [np.nan if value is None else value], "points", colour
    )


def _published(label: str, case: str, metric: str, buffer_ms: float, colour: str) -> Series:
    """What the text says, where it says it."""
    (row,) = [r for r in rows("scte2013") if (r.case, r.metric) == (case, metric)]
    (value,) = re.findall(r"\d+(?:\.\d+)?", row.value.split("..")[0])[:1]
    return Series(label, [buffer_ms], [float(value)], "points", colour, hollow=True)


def _distribution(number: str, series: str, words: str, baseline: bool, frames: Frames) -> Drawn:
    lines = [
        _cumulative(frames.get(series, ()), "gamer", "gamer", GAMER),
        _cumulative(frames.get(series, ()), "ftp", "FTP", FTP),
    ]
    if baseline:
        lines.append(_cumulative(frames.get("fig2", ()), "ftp", "tail-dropping (Figure 2)", GREY))
    panel = Panel(
        f"{_NAMES[series]}: all packets, buffer of {CDF_BUFFER_MS} ms",
        "latency, one way (ms)",
        "packets at or below (%)",
        [line for line in lines if line is not None],
        x_range=(0.0, 2500.0 if number == "6" else 1100.0),
        y_range=(0.0, 101.0),
    )
    return Drawn(number, f"fig{number}_cdf_{series}", f"Latency CDF. {words}.", [panel], 1)


def _cumulative(frames: Sequence[pl.DataFrame], app: str, label: str, colour: str) -> Series | None:
    if not frames:
        return None
    both = merged(frames, app)
    shares = cumulative_share(both, "upper_ms", "count")
    x: NDArray[np.float64] = np.concatenate([[0.0], shares["upper_ms"].to_numpy()])
    y: NDArray[np.float64] = np.concatenate([[0.0], shares["share"].to_numpy() * 100.0])
    return Series(label, x, y, "step", colour)


def _sessions(runs: Runs) -> Drawn:
    of = {"1 session": "fig2-n1", "5 sessions": "fig2-n5", "10 sessions": "fig2", "50 sessions": "fig2-n50"}
    rate = Panel(
        "Tail drop: the knee",
        "buffer (ms of Tmax)",
        "rate (Mbit/s)",
        [_line(runs, series, "rate_mbit", label) for label, series in of.items()],
        x_range=(0.0, 200.0),
        y_range=(3.5, 5.1),
        marks=(Mark("BDP", float(BDP_MS), "x"),),
    )
    loss = Panel(
        "Tail drop: loss",
        "buffer (ms of Tmax)",
        "loss (% of Tmax)",
        [_line(runs, series, "loss_percent", label) for label, series in of.items()],
        x_range=(0.0, 1000.0),
    )
    caption = "Tail-dropping with 1, 5, 10 and 50 FTP sessions: is the knee at the BDP for all? (text of Figure 2)"
    return Drawn("", "knee_sessions", caption, [rate, loss])


def _falling_tmax(runs: Runs) -> Drawn:
    """Two sentences of the text in one figure: whose ideal buffer, and which curve when Tmax falls."""

    def of(label: str, keys: Sequence[str], measure: str, x: Sequence[float], colour: str) -> Series:
        return Series(label, x, [median_of(runs, k, measure) or np.nan for k in keys], colour=colour)

    shared = [f"two_rtts droptail {b}" for b in TWO_RTTS_BUFFERS_MS]
    goodput = Panel(
        "Two round trips behind one drop-tail buffer",
        "buffer (ms of Tmax)",
        "goodput (Mbit/s)",
        [
            of("round trip 10 ms", shared, "goodput_mbit_ftp10", TWO_RTTS_BUFFERS_MS, GAMER),
            of("round trip 100 ms", shared, "goodput_mbit_ftp100", TWO_RTTS_BUFFERS_MS, FTP),
        ],
        x_range=(0.0, 200.0),
        y_range=(0.0, 5.0),
        marks=(Mark("10", 10, "x"), Mark("100", 100, "x")),
    )
    falls = Panel(
        "LRED when Tmax falls from 20 to 5 Mbit/s",
        "Tmax (Mbit/s)",
        "mean FTP latency (ms)",
        [
            Series(
                f"{words}, {where}",
                FALLS_MBIT,
                [
                    median_of(runs, f"effective_tmax {c} {queue}", m) or np.nan
                    for m in ("ftp_before_ms", "ftp_after_ms")
                ],
                colour=colour,
                dashed=queue == "sfq",
            )
            for queue, where in (("fifo", "one queue"), ("sfq", "SFQ"))
            for c, words, colour in (
                ("10a", "10a (depth)", GAMER),
                ("10c", "10c (time)", FTP),
            )
        ],
        x_range=(0.0, 25.0),
        y_range=(100.0, 20000.0),
        log_y=True,
    )
    caption = "Round trips of 10 and 100 ms share a buffer; and thresholds in bytes beside thresholds in time, 200 to 400 ms of 20 Mbit/s."
    return Drawn("", "two_rtts_and_tmax", caption, [goodput, falls])


def _frontier(runs: Runs) -> Drawn:
    """What latency costs at 1 Mbit/s with ten sessions, whoever decides on the drops."""
    settings = [f"lred_low {m} {p} {low}" for m in LOW_MIN_TH_MS for p in LOW_P_MAX for low in ("1%", "p_max")]
    lines = [_points(runs, settings, "LRED, 48 settings", FTP)]
    for law, colour in (("codel", LOSS), ("pie", TOTAL), ("lred_integral", GAMER)):
        places = [f"low_delay {law} {target} 1.0 10" for target in (20, 50, 100)]
        if any(place_ in runs for place_ in places):
            lines.append(_points(runs, places, law.replace("_", " with "), colour))
    tail = [place("fig3", size) for size in BUFFERS_MS if size <= 500]
    lines.append(_points(runs, tail, "tail-dropping, 20 to 500 ms", GREY))
    panel = Panel(
        "1 Mbit/s, ten sessions",
        "mean time in the queue (ms)",
        "packets dropped (%)",
        lines,
        x_range=(0.0, 450.0),
        y_range=(0.0, None),
    )
    return Drawn("", "frontier_1mbit", "The price of low latency at 1 Mbit/s: one curve, whoever drops.", [panel], 1)


def _points(runs: Runs, places: Sequence[str], label: str, colour: str) -> Series:
    both = [(over_seeds(runs, p, "sojourn_mean_ms"), over_seeds(runs, p, "drop_percent")) for p in places]
    seen = [(x.median, y.median) for x, y in both if x is not None and y is not None]
    return Series(label, [x for x, _ in seen], [y for _, y in seen], "points", colour)


def _sweet_spot(runs: Runs) -> list[Drawn]:
    """Where LRED reaches its target: achieved against asked, for each rate and number of sessions."""
    if f"sweetspot {TARGETS_MS[0]} {RATES_MBIT[0]} {MAP_SESSIONS[0]} {MAP_RTTS_MS[0]}" not in runs:
        return []
    panels: list[Panel] = []
    for rate in RATES_MBIT:
        for measure, label, top in (
            ("sojourn_mean_ms", "mean time in the queue (ms)", 800.0),
            ("drop_percent", "dropped (%)", 15.0),
        ):
            lines = [
                Series(
                    f"{n} session{'s' if n > 1 else ''}",
                    TARGETS_MS,
                    [median_of(runs, f"sweetspot {t} {rate} {n} 50", measure) or np.nan for t in TARGETS_MS],
                )
                for n in MAP_SESSIONS
            ]
            target = [Series("target", (0.0, 400.0), (0.0, 400.0), colour=GREY)] if measure.startswith("so") else []
            panels.append(Panel(f"{rate:g} Mbit/s", "MINth (ms)", label, [*lines, *target], (0.0, 400.0), (0.0, top)))
    caption = "LRED's sweet spot, round trip 50 ms: latency in the queue and loss against the target (MAXth 2 MINth, 1 to 5 %)."
    return [Drawn("", "sweetspot", caption, panels)]


PAPER = style.PUBLISHED


def _said_collisions() -> Series:
    """What the text says of hashing into 256 queues, in % of some collision; a corrected number is the last of its row."""
    x: list[float] = []
    y: list[float] = []
    for row in rows("scte2013"):
        if match := re.fullmatch(r"hash 256 queues, (\d+) sessions", row.case):
            said = float(re.findall(r"\d+(?:\.\d+)?", row.value)[-1])
            x.append(float(match[1]))
            y.append(100.0 - said if row.metric == "P(no collision)" else said)
    return Series("the text, of 256", x, y, "points", PAPER, hollow=True)


def _said_overfull() -> tuple[list[float], list[float]]:
    """The text's chance that some group of four is overfull, by sessions."""
    found = [(row.case, row.value) for row in rows("scte2013") if row.case.startswith("set-assoc 64x4, ")]
    return [float(re.findall(r"(\d+) sessions", c)[0]) for c, _ in found], [float(v) for _, v in found]


def _collisions() -> Drawn:
    """Figures 8 and 9, exactly."""
    n = list(range(1, 61))
    plain, groups, searched = (
        [100 * float(p) for p in collision(*shape, n[-1])[1:]] for shape in ((256, 1), (64, 1), (64, 4))
    )
    panels = [
        Panel(
            "Hashing into 256 queues",
            "sessions",
            "P(some collision) (%)",
            [Series("256 queues", n, plain), Series("64 queues", n, groups), _said_collisions()],
            x_range=(1, 60),
            y_range=(0, 101),
        ),
        Panel(
            "Serial search: 64 groups of 4",
            "sessions",
            "P(some group overfull) (%)",
            [
                Series("exact", n, searched),
                Series("the text (Monte Carlo)", *_said_overfull(), "points", PAPER, hollow=True),
            ],
            x_range=(1, 60),
            y_range=(1e-4, 100.0),
            log_y=True,
        ),
    ]
    caption = "Probability of a hash collision, exact (the paper: Monte Carlo, 0.05 % at 20 sessions and 1 % at 35)."
    return Drawn("9", "fig8_9_collisions", caption, panels)
