"""The tables, figures and answer of the study, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies import page
from bloatlab.studies import tables as t
from bloatlab.studies.claims import Checked, Runs, median_of, tally
from bloatlab.studies.csc458.build import (
    DECLARED,
    EXPERIMENTS,
    QUEUES,
    SUPER,
    TODAY,
    Case,
    Lab,
    cases,
    experiment_cases,
    kit,
    plain,
    today,
)
from bloatlab.studies.csc458.rules import LARGEST, MEAN, PRINTED, SD, WAITS, in_second_reading
from bloatlab.studies.drawing import of_cases, points, ticks
from bloatlab.studies.published import rows as published
from bloatlab.studies.study import Live, Results
from bloatlab.tables import TextCell, TextTable, number, row

# ------------------------------------------------------------------------------------------------------------ tables

#: Decimal places, by metric.
DIGITS = {MEAN: 3, SD: 3, WAITS: 3, LARGEST: 1}

COLUMNS = DECLARED.columns("cases")


def published_tables(results: Results) -> list[TextTable]:
    """Makes a table of the published numbers, ours and the verdicts, and a table of all simulated cases."""
    fields: dict[str, t.Field] = {
        "case": lambda c: c.case,
        "metric": lambda c: c.metric,
        "published": t.as_printed,
        "ours": lambda c: t.judged_cell(c, number(c.ours, DIGITS[c.metric])),
        "central 80 %": lambda c: t.between(c, DIGITS[c.metric]),
        "accepted": lambda c: c.accepted(DIGITS[c.metric]),
        "by": lambda c: t.origin_cell(c.origin),
        "": t.verdict_cell,
        "why": lambda c: c.reason,
    }
    return [
        t.cells_table("Published and ours", results.scorecard.cells, fields, DECLARED.text("published")),
        t.medians_table("All cases, simulated", results.runs, cases(), COLUMNS, note=DECLARED.text("cases")),
    ]


def readings(results: Results) -> list[Checked]:
    """Returns the claims, checked with loss detection by duplicate ACKs alone in the cases that have such runs."""
    return results.study.check(in_second_reading(results.runs), results.proves_nothing)


def readings_table(results: Results) -> TextTable:
    """Makes a table of the claims whose verdict depends on the loss detection.

    It also counts the claims that hold with each of the two loss detection methods.
    """

    def held(claim: Checked) -> TextCell:
        word = {True: "holds", False: "differs", None: "not run"}[claim.holds]
        return TextCell(f"{claim.ours}: {word}", "good" if claim.holds else "bad")

    first, second = results.claims, readings(results)
    rows = [row(a.where, a.says, held(a), held(b)) for a, b in zip(first, second, strict=True) if a.holds != b.holds]
    note = f"With RACK-TLP {tally(first)}. By duplicate ACKs {tally(second)}."
    heads = ["where", "says", "RACK-TLP", "duplicate ACKs"]
    return TextTable("Claims that depend on how losses are found", heads, rows, note, left=4)


def experiment_tables(results: Results) -> list[TextTable]:
    """Makes tables for the requested experiments, with medians over seeds."""
    return [
        t.medians_table(f"{name}: {EXPERIMENTS[name]}", results.ran[name].runs, experiment_cases(name), COLUMNS)
        for name in results.asked
    ]


#: `LIVE_COLUMNS`: the columns of the kernel table. `REPORTED`: the report's names for the metrics printed for Reno.
LIVE_COLUMNS = DECLARED.columns("live")
REPORTED = {"fetch_mean_s": MEAN, "fetch_sd_s": SD}


def live_tables(results: Results) -> list[TextTable]:
    """Makes the table of simulated, live and published values.

    The numbers of an invalid run are muted, and the reason is given.
    """
    if results.live is None:
        return []
    columns, groups = ["case"], [("", 1)]
    for measure, heading, _ in LIVE_COLUMNS:
        names = ["simulated", "live", *(["published"] if measure in REPORTED else [])]
        columns += names
        groups.append((heading, len(names)))
    chosen = [case for case in (*kit()[:3], *plain(), *today()) if str(case) in results.runs]
    rows = [_live_row(case, results.runs, results.live) for case in chosen]
    heads, groups = [*columns, "live run"], [*groups, ("", 1)]
    return [TextTable("Simulated, live, published", heads, rows, DECLARED.text("live"), groups, words_last=True)]


def _live_row(case: Case, runs: Runs, live: Live) -> list[TextCell]:
    own, reason = live.measures.get(str(case)), live.invalid.get(str(case))
    found = [TextCell(str(case))]
    for measure, _, digits in LIVE_COLUMNS:
        muted = own is None or reason is not None
        found.append(t.median_cell(runs, str(case), measure, digits))
        found.append(TextCell("-" if own is None else number(own[measure], digits), "muted" if muted else "plain"))
        if metric := REPORTED.get(measure):
            known = case.congestion == "reno" and case.limit is not None and case.segments > 1
            found.append(TextCell(f"{PRINTED[case.limit or 0, metric]:.2f}" if known else "", "muted"))
    verdict = "" if own is None else f"invalid: {reason}" if reason else "valid"
    return [*found, TextCell(verdict, "bad" if reason else "good")]


def setup_table() -> TextTable:
    """Returns a table of the report's parameters and of the values that it mentions incidentally."""
    parameters = [r for r in published("csc458") if r.note.startswith(("parameter", "incidental"))]
    rows = [row(r.case, r.metric, f"{r.value} {r.unit}".strip(), r.where) for r in parameters]
    return TextTable("The report's parameters", ["of", "what", "value", "where"], rows, left=4)


#: By section anchor, the functions that make the blocks of the page's sections. `page.SHARED` has those left out here.
BLOCKS: Mapping[str, page.Blocks] = {
    "tables": published_tables,
    "live": live_tables,
    "beyond": experiment_tables,
    "claims": lambda results: [
        t.claims_table(results.claims),
        *([] if results.proves_nothing else [readings_table(results)]),
    ],
    "rules": DECLARED.rules(lambda: [setup_table()]),
}


# ----------------------------------------------------------------------------------------------------------- figures

#: Series of one run, as recorded by `measure.series`.
Frames = Mapping[str, pl.DataFrame]

#: Payload of a segment in bytes, used to convert congestion windows to segments.
MSS = 1448


def needed() -> list[Case]:
    """Returns the cases whose series are drawn in figures."""
    return [*(Case("reno", q, SUPER) for q in QUEUES), Case("bbr", 100, SUPER), *(Case("reno", queue=q) for q in TODAY)]


def figures(frames: Mapping[str, Frames]) -> list[Drawn]:
    """Draws one figure for each of the three queue sizes, and a figure that compares the remedies.

    The figure for a queue size contains our versions of three of the report's figures 1 to 6 and 8 to 10 (queue, window
    and round-trip time), and the page fetch times.
    """
    lab, numbers = Lab(), {5: ("1", "2", "8"), 20: ("3", "4", "9"), 100: ("5", "6", "10")}
    drawn: list[Drawn] = []
    for q, (first, second, third) in numbers.items():
        kit = frames[str(Case("reno", q, SUPER))]
        panels = [_queue(kit, f"Queue of Reno, Q = {q}", 2 * q), _cwnd(kit, f"Window of Reno, Q = {q}"),
                  _rtt(kit, f"Pings, Q = {q}", lab.eq2_ms(q), lab.eq2_ms(2 * q)),
                  _fetch(kit, f"Page fetches, Q = {q}", PRINTED[q, MEAN])]  # fmt: skip
        drawn.append(DECLARED.figure("lab", panels, {"first": first, "second": second, "third": third, "q": q}))
    return [*drawn, _compared(frames)]


def lab_panels(frames: Frames, packets: int | None, lab: Lab) -> list[Panel]:
    """Makes the four plots for one lab run."""
    marks = () if packets is None else (packets,)
    waits = (lab.eq2_ms(p) for p in marks)
    return [
        _queue(frames, "Queue", *marks), _cwnd(frames, "Window"), _rtt(frames, "Round-trip time", *waits), _fetch(frames, "Page fetches"),
    ]  # fmt: skip


def _queue(frames: Frames, title: str, *levels: int) -> Panel:
    f = frames["queue"]
    series = [Series("queue", f["t_s"].to_numpy(), f["packets"].to_numpy())]
    return Panel(title, "time (s)", "queue (segments)", series, marks=[Mark(str(n), float(n)) for n in levels])


def _cwnd(frames: Frames, title: str) -> Panel:
    f = frames["cwnd"]
    series = [Series("cwnd", f["t_s"].to_numpy(), f["cwnd_bytes"].to_numpy() / MSS)]
    return Panel(title, "time (s)", "window (segments)", series)


def _rtt(frames: Frames, title: str, *levels: float) -> Panel:
    f = frames["ping"]
    series = [Series("ping", f["t_s"].to_numpy(), f["rtt_ms"].to_numpy())]
    return Panel(title, "time (s)", "RTT (ms)", series, marks=[Mark(f"{ms:.0f}", ms) for ms in levels])


def _fetch(frames: Frames, title: str, *means: float) -> Panel:
    """Makes a panel of fetch times. All such panels have the same scale, unless values would not fit."""
    took, most = frames["fetch"]["took_s"].to_numpy(), 2.5
    series = [Series("fetch", frames["fetch"]["start_s"].to_numpy(), took, "points")]
    top = None if len(took) and float(took.max()) > most else most
    marks = [Mark(f"{seconds:.2f}", seconds) for seconds in means]
    return Panel(title, "time (s)", "fetch time (s)", series, y_range=(0.0, top), marks=marks)


def _compared(frames: Mapping[str, Frames]) -> Drawn:
    """Plots the distributions of ping and fetch times with the CSC458 report's remedies and with today's."""
    shown = {
        "Reno, Q = 100": Case("reno", 100, SUPER),
        "Reno, Q = 20": Case("reno", 20, SUPER),
        "BBR, Q = 100": Case("bbr", 100, SUPER),
        **{f"Reno, {q}": Case("reno", queue=q) for q in TODAY},
    }

    def shares(frame: str, column: str) -> list[Series]:
        lines: list[Series] = []
        for name, case in shown.items():
            ordered = frames[str(case)][frame][column].sort().to_numpy()
            below = 100.0 * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
            lines.append(Series(name, ordered, below, "step"))
        return lines

    return DECLARED.drawn("remedies", shares("ping", "rtt_ms"), shares("fetch", "took_s"))


# ------------------------------------------------------------------------------------------------------------ answer

#: `BUFFERS`: drop-tail buffers of the lab's sizes, with super-segments as in Mininet. `MODERN`: queue disciplines that
#: replace these buffers, with default parameters.
BUFFERS = {f"{q} packets": Case("reno", q, SUPER) for q in QUEUES}
MODERN = {{"codel": "CoDel", "pie": "PIE"}.get(name, name): Case("reno", queue=name) for name in TODAY}

#: The measures in the answer: two waiting times noticed by users, and the upload rate.
PING, FETCH, FLOW = "rtt_median_ms", "fetch_mean_s", "throughput_mbit"
MEASURES = (PING, FETCH, FLOW)
Values = Mapping[tuple[str, str], float]


def answer(runs: Runs, seeds: int) -> Answer:
    """Determines from the runs whether a smaller buffer cures bufferbloat, and what today's queues do instead."""
    shown = BUFFERS | MODERN
    return DECLARED.answer(
        seeds,
        draw(runs),
        {(name, m): median_of(runs, str(case), m) for name, case in shown.items() for m in MEASURES},
        _sentence,
        lambda of: [_point(name, *(of[name, m] for m in MEASURES)) for name in shown],
    )


def _sentence(of: Values) -> str:
    large, small, tiny = ([of[f"{q} packets", m] for m in MEASURES] for q in (100, 20, 5))
    fastest = min(of[name, FETCH] for name in MODERN)
    best = min((name for name in MODERN if of[name, FETCH] <= 1.1 * fastest), key=lambda name: of[name, PING])
    first = "In part" if small[1] < large[1] else "No"
    price = 100.0 * (1.0 - tiny[2] / large[2])
    turned = "but" if tiny[1] > small[1] or price > 1.0 else "and"
    again = " again" if tiny[1] > small[1] else ""
    lost = f" and the upload loses {number(price, 0)} % of its rate" if price > 1.0 else ""
    return (
        f"{first}: with 20 packets instead of 100 a ping takes {number(small[0], 0)} ms instead of {number(large[0], 0)} and a page "
        f"{number(small[1], 2)} s instead of {number(large[1], 2)}, {turned} with 5 packets a page takes {number(tiny[1], 2)} s{again}{lost}. "
        f"{best} in place of the buffer: {number(of[best, PING], 1)} ms and {number(of[best, FETCH], 2)} s, with "
        f"{number(of[best, FLOW], 1)} of {number(large[2], 1)} Mbit/s for the upload."
    )


def _point(name: str, ping: float, fetch: float, flow: float) -> Point:
    text = f"a ping; {number(fetch, 2)} s a page; upload {number(flow, 2)} Mbit/s"
    return Point(name, f"{number(ping, 0 if ping >= 10 else 1)} ms", text)


def draw(runs: Runs) -> Drawn:
    """Plots the ping and page fetch times behind each queue.

    The figure shows our values with their intervals, and the mean fetch times of the CSC458 report.
    """
    chosen = [*BUFFERS.values(), *MODERN.values()]
    xs, means = list(range(len(chosen))), [PRINTED[q, MEAN] for q in QUEUES]
    report = Series("the report", xs[:3], means, "points", style.PUBLISHED, hollow=True)

    def line(measure: str, label: str, colour: int = 0) -> Series:
        return points(label, xs, of_cases(runs, chosen, measure), style.COLOURS[colour])

    pings = [line(PING, "median"), line("rtt_p95_ms", "95th percentile", 1)]
    x_ticks = ticks([*(f"{q} pkt" for q in QUEUES), *MODERN])
    return DECLARED.drawn("answer", pings, [line(FETCH, "ours"), report], x_ticks=x_ticks)
