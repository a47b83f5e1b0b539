"""The figures of ARRIS 2013 from our runs, in the paper's order: curves against buffer size, and distributions.

Curves against buffer size are medians over seeds; shading shows the central 80 %. A distribution contains the packets
of all seeds. Figures that the paper does not draw (sessions, round trips) have no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from bloatlab.collisions import collision
from bloatlab.plots import Panel, Series, style
from bloatlab.report import Drawn
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.drawing import of_cases, points
from bloatlab.studies.published import Row, rows
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013.claims import DECLARED
from bloatlab.studies.scte2013.experiments import ASKED, BUFFERS_MS, CDF, FALLS_MBIT, SERIES, SESSIONS
from bloatlab.studies.scte2013.measure import merged
from bloatlab.studies.scte2013.readings import place
from bloatlab.tables import counted, cumulative_share

FTP, GAMER, TOTAL, LOSS, *_ = style.COLOURS
GREY, PAPER = style.GRID, style.PUBLISHED

LATENCY, LOST = "ftp_mean_ms", "loss_percent"

#: The colours of the points that show values from the paper's text. The keys are the names used in `study.toml`.
COLOURS = {"ftp": FTP, "gamer": GAMER, "loss": LOSS}

#: Additional values of Pmax for Figure 13, for which the paper does not state Pmax. With these values, the latency is
#: near the 100 ms that the text states.
OTHER_P_MAXES = (0.2, 0.3)

#: For each Tmax in Mbit/s, the lower end of the rate axis, as a share of Tmax. At 1 Mbit/s, the axis begins lower,
#: because a small buffer costs a larger share of the rate.
LEAST_RATE = {5.0: 0.94, 1.0: 0.6}

Frames = Mapping[str, Sequence[pl.DataFrame]]


def draw(runs: Runs, frames: Frames) -> list[Drawn]:
    """Draws every figure; `frames` contains the distributions for each seed, by series."""
    drawn = [_against_buffer(row, runs) for row in DECLARED.table("against_buffer")]
    drawn += [_distribution(row, frames) for row in DECLARED.table("distributions")]
    drawn += [curves.draw(), _sessions(runs), _collisions(), _falling_tmax(runs), _frontier(runs), *_sweet_spot(runs)]
    return sorted(drawn, key=lambda d: (not d.number, int(d.number or 0)))


def curve(runs: Runs, series: str, measure: str, label: str, colour: str | None = None) -> Series:
    """Makes a series of a measure against buffer size, as medians over seeds."""
    keys = [place(series, size) for size in BUFFERS_MS]
    return points(label, BUFFERS_MS, of_cases(runs, keys, measure), colour, "line")


def _medians(runs: Runs, keys: Iterable[str], measure: str) -> list[float]:
    """Returns the median of `measure` over seeds for each key; NaN if the runs were not made."""
    found = [median_of(runs, key, measure) for key in keys]
    return [np.nan if value is None else value for value in found]


def _beside(runs: Runs, series: str, measure: str, colour: str) -> list[Series]:
    """Makes the lines and points that a figure shows beside the series' own curve, if there are any.

    These are the curve of tail-dropping, our results with other values of Pmax for Figure 13, and the values that the
    paper's text states.
    """
    drawn: list[Series] = []
    if series not in ("fig2", "fig3"):
        base = "fig2" if SERIES[series].tmax_mbit == SERIES["fig2"].tmax_mbit else "fig3"
        line = curve(runs, base, measure, f"tail-dropping (Figure {base[3:]})", GREY)
        drawn.append(replace(line, dashed=True))
    for p_max in OTHER_P_MAXES if series == "fig13" else ():
        value = _medians(runs, [f"p_max {p_max}"], measure)
        drawn.append(Series(f"Pmax {100.0 * p_max:.0f} %", [960], value, "points", colour))
    for said in DECLARED.table("said"):
        *where, buffer_ms = said["at"]
        if where == [series, measure]:
            case, metric = said["of"]
            (value,) = [_numbers(row.value.split("..")[0])[0] for row in _rows(case) if row.metric == metric]
            drawn.append(Series(said["label"], [buffer_ms], [value], "points", COLOURS[said["colour"]], hollow=True))
    return drawn


def _against_buffer(about: Mapping[str, Any], runs: Runs) -> Drawn:
    """Draws three panels against buffer size: latency, the rate near its knee, and loss.

    Figures with the same Tmax use the same scales, unless `top` sets the upper end of the latency axis.
    """
    number, series = about["number"], about["series"]
    tmax = SERIES[series].tmax_mbit
    delays = [curve(runs, series, LATENCY, "FTP", FTP), curve(runs, series, "gamer_mean_ms", "gamer", GAMER)]
    rates = [
        curve(runs, series, "rate_mbit", "upstream", TOTAL),
        curve(runs, series, "goodput_mbit", "FTP goodput", FTP),
    ]
    losses = [curve(runs, series, LOST, "lost", LOSS)]
    delays += _beside(runs, series, LATENCY, FTP)
    losses += _beside(runs, series, LOST, LOSS)
    names = {**about, "file": f"fig{number}" if number else series}
    drawn = DECLARED.drawn("against_buffer", delays, rates, losses, names=names)
    latency, knee, loss = drawn.panels
    latency = replace(latency, y_range=(0.0, about.get("top", 1000.0)))
    knee = replace(knee, y_range=(LEAST_RATE[tmax] * tmax, 1.02 * tmax))
    return replace(drawn, panels=[latency, knee, loss])


def _distribution(about: Mapping[str, Any], frames: Frames) -> Drawn:
    series, baseline = about["series"], "fig2" if "baseline" in about else ""
    lines = [
        *_cumulative(frames.get(series, ()), "gamer", "gamer", GAMER),
        *_cumulative(frames.get(series, ()), "ftp", "FTP", FTP),
        *_cumulative(frames.get(baseline, ()), "ftp", "tail-dropping (Figure 2)", GREY),
    ]
    drawn = DECLARED.drawn("cdf", lines, names={**about, "buffer": CDF.axes["buffer_ms"][0]})
    return replace(drawn, panels=[replace(drawn.panels[0], x_range=(0.0, about.get("longest", 1100.0)))])


def _cumulative(frames: Sequence[pl.DataFrame], app: str, label: str, colour: str) -> list[Series]:
    """Makes the cumulative distribution of an application's delay over all seeds. Without frames, the list is empty."""
    if not frames:
        return []
    shares = cumulative_share(merged(frames, app), "upper_ms", "count")
    x = np.concatenate([[0.0], shares["upper_ms"].to_numpy()])
    y = np.concatenate([[0.0], shares["share"].to_numpy() * 100.0])
    return [Series(label, x, y, "step", colour)]


def _sessions(runs: Runs) -> Drawn:
    def lines(measure: str) -> list[Series]:
        return [curve(runs, of, measure, counted(n, "session")) for n, of in SESSIONS.items()]

    return DECLARED.drawn("knee_sessions", lines("rate_mbit"), lines(LOST))


def _falling_tmax(runs: Runs) -> Drawn:
    """Draws a figure for two sentences that the paper itself does not illustrate.

    The first panel shows the goodput of two sessions with different round trips against the size of the buffer that
    they share. The second shows the latency before and after Tmax falls, with curves 10a and 10c.
    """
    buffers = ASKED["two_rtts"].axes["buffer_ms"]
    shared = [f"two_rtts droptail {b}" for b in buffers]
    goodputs = [
        Series(label, buffers, _medians(runs, shared, measure), colour=colour)
        for label, measure, colour in (
            ("round trip 10 ms", "goodput_mbit_ftp10", GAMER),
            ("round trip 100 ms", "goodput_mbit_ftp100", FTP),
        )
    ]
    latencies = [
        Series(
            f"{words}, {where}",
            FALLS_MBIT,
            [_medians(runs, [f"effective_tmax {curve} {queue}"], m)[0] for m in ("ftp_before_ms", "ftp_after_ms")],
            colour=colour,
            dashed=queue == "sfq",
        )
        for queue, where in (("fifo", "one queue"), ("sfq", "SFQ"))
        for curve, words, colour in (("10a", "10a (depth)", GAMER), ("10c", "10c (time)", FTP))
    ]
    return DECLARED.drawn("two_rtts_and_tmax", goodputs, latencies)


def _frontier(runs: Runs) -> Drawn:
    """Plots drops against waiting time at 1 Mbit/s with ten sessions, for LRED and tail-dropping.

    CoDel, PIE and LRED with an integral term are added if the experiment `low_delay` was run.
    """
    settings = [key for _, key in ASKED["lred_low"].places()]
    lines = [_points(runs, settings, "LRED, 48 settings", FTP)]
    for law, colour in (("codel", LOSS), ("pie", TOTAL), ("lred_integral", GAMER)):
        keys = [f"low_delay {law} {target} 1.0 10" for target in (20, 50, 100)]
        if any(key in runs for key in keys):
            lines.append(_points(runs, keys, law.replace("_", " with "), colour))
    tail = [place("fig3", size) for size in BUFFERS_MS if size <= 500]
    lines.append(_points(runs, tail, "tail-dropping, 20 to 500 ms", GREY))
    return DECLARED.drawn("frontier_1mbit", lines)


def _points(runs: Runs, keys: Sequence[str], label: str, colour: str) -> Series:
    made = [key for key in keys if key in runs]
    waits, drops = (_medians(runs, made, measure) for measure in ("sojourn_mean_ms", "drop_percent"))
    return Series(label, waits, drops, "points", colour)


def _sweet_spot(runs: Runs) -> list[Drawn]:
    """Plots LRED's wait and drops against its target, for each rate and number of sessions, at a round trip of 50 ms.

    Returns no figure if the experiment was not run.
    """
    targets, rates, sessions, rtts = ASKED["sweetspot"].axes.values()
    if f"sweetspot {targets[0]} {rates[0]} {sessions[0]} {rtts[0]}" not in runs:
        return []

    def lines(rate: float, measure: str) -> list[Series]:
        keys = {n: [f"sweetspot {t} {rate} {n} 50" for t in targets] for n in sessions}
        return [Series(counted(n, "session"), targets, _medians(runs, of, measure)) for n, of in keys.items()]

    target = Series("target", (0.0, 400.0), (0.0, 400.0), colour=GREY)
    panels: list[Panel] = []
    for rate in rates:
        kinds = {"wait": [*lines(rate, "sojourn_mean_ms"), target], "dropped": lines(rate, "drop_percent")}
        panels += [DECLARED.panel({"kind": kind, "title": f"{rate:g} Mbit/s"}, of) for kind, of in kinds.items()]
    return [DECLARED.figure("sweetspot", panels)]


# ------------------------------------------------------------------------------------------------------ hash collisions


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def _rows(case: str) -> list[Row]:
    """Returns the rows of published.csv whose case begins with `case`."""
    return [row for row in rows("scte2013") if row.case.startswith(case)]


def _said_collisions() -> Series:
    """Returns the probability in % of any collision when sessions are hashed into 256 queues, as stated in the text.

    If a row also has a corrected number, that number is the last in the row, and is used here.
    """
    said = [(_numbers(row.case)[-1], row.metric, _numbers(row.value)[-1]) for row in _rows("hash 256 queues, ")]
    y = [100.0 - share if metric == "P(no collision)" else share for _, metric, share in said]
    return Series("the text, of 256", [sessions for sessions, _, _ in said], y, "points", PAPER, hollow=True)


def _said_overfull() -> Series:
    """Returns the text's probabilities in % that any of 64 groups of four queues has more than four sessions.

    There is a probability for each total number of sessions in the text.
    """
    said = _rows("set-assoc 64x4, ")
    sessions = [_numbers(row.case)[-1] for row in said]
    return Series("the text (Monte Carlo)", sessions, [float(row.value) for row in said], "points", PAPER, hollow=True)


def _collisions() -> Drawn:
    """Draws Figures 8 and 9 from the exact probabilities."""
    n = list(range(1, 61))
    shapes = {"256 queues": (256, 1), "64 queues": (64, 1), "exact": (64, 4)}
    lines = [Series(label, n, [100 * float(p) for p in collision(*of, n[-1])[1:]]) for label, of in shapes.items()]
    hashed, searched = [*lines[:2], _said_collisions()], [lines[2], _said_overfull()]
    return DECLARED.drawn("fig8_9_collisions", hashed, searched)
