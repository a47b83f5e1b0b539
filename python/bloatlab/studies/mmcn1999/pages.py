"""The tables, figures and answer of the study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from bloatlab.plots import Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies import tables
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.drawing import of_cases
from bloatlab.studies.mmcn1999.build import DECLARED, PAPER, SCHEMES, Case
from bloatlab.studies.mmcn1999.rules import RANKED, SLIDES
from bloatlab.studies.mmcn1999.small import DRAWN, TWO_FTP_LIMITS, TWO_FTP_MIN_TH, small_cases
from bloatlab.studies.published import rows
from bloatlab.studies.scorecard import Scorecard
from bloatlab.tables import TextCell, TextTable, Tone, listed, number

# ------------------------------------------------------------------------------------------------------------ tables

COLUMNS, VOICE, STATE, SMALL = map(DECLARED.columns, ("cases", "voice", "state", "small"))
_GROUPS = [("", 1), ("under the blast", 6), ("share of the buffer, %", 3)]


def queues_tables(card: Scorecard, runs: Runs) -> list[TextTable]:
    """Makes tables of the queues with the slides' workload, of the rankings, and of the state held by each queue."""
    ratio: dict[str, tables.Field] = {
        "of": lambda c: c.metric,
        "ratio": lambda c: c.case,
        "wanted": lambda c: c.printed,
        "ours": lambda c: f"{number(c.ours, 3)} ({tables.between(c, 3)})",
        "by": lambda c: tables.origin_cell(c.origin),
        "": tables.verdict_cell,
        "why": lambda c: c.reason,
    }
    rankings = [c for c in card.cells if c.tables == RANKED]
    return [
        tables.medians_table("Nine queues", runs, [((s.name,), s.key) for s in SCHEMES], COLUMNS, ("queue",), DECLARED.text("queues"), _GROUPS),
        tables.cells_table("Rankings, in every seed", rankings, ratio, DECLARED.text("rankings"), below=True),
        tables.medians_table("State", runs, [((s.name, s.state), s.key) for s in SCHEMES], STATE, ("queue", "state beside the packets"), DECLARED.text("state")),
    ]  # fmt: skip


def cases_table(title: str, runs: Runs, cases: Sequence[Case], *, voice: bool = False, note: str = "") -> TextTable:
    """Returns a table of cases on the slides' network; `voice` adds columns for voice calls."""
    columns, groups = ([*COLUMNS, *VOICE], [*_GROUPS, ("", 3)]) if voice else (COLUMNS, _GROUPS)
    return tables.medians_table(title, runs, cases, columns, note=note, groups=groups)


def slides_table(card: Scorecard) -> TextTable:
    """Returns a table with every row from the slides."""
    fields: dict[str, tables.Field] = {
        "slide": lambda c: c.case,
        "what": lambda c: c.metric,
        "printed": tables.as_printed,
        "ours (central 80 %)": tables.with_interval,
        "verdict": tables.verdict_cell,
        "why": lambda c: TextCell(c.reason, "muted"),
    }
    found = [c for c in card.cells if c.tables == SLIDES]
    return tables.cells_table("Every number of the slides", found, fields, DECLARED.text("slides"), below=True)


def small_table(runs: Runs) -> TextTable:
    """Returns a table of the small networks, with the measures that apply to each."""
    return tables.medians_table("Small networks", runs, small_cases(), SMALL, note=DECLARED.text("small"))


# ----------------------------------------------------------------------------------------------------------- figures

#: Time series by name: either TCP's rate by queue, or the series of one small network (`series_small`).
Frames = Mapping[str, pl.DataFrame]

NAMES = {s.key: s.name for s in SCHEMES}


def figures(frames: Frames, two_ftp: Mapping[str, Frames], runs: Runs) -> list[Drawn]:
    """Draws the figures.

    They show TCP's rate over time, the latency of tagged traffic and TCP's rate against the drops of tagged traffic,
    and Floyd and Jacobson's two FTPs.
    """
    later = [key for key in NAMES if key not in PAPER]
    return [
        DECLARED.drawn("tcp_over_time", over_time(PAPER, frames, published=True)),
        DECLARED.drawn("tcp_today", over_time(later, frames)),
        DECLARED.drawn("tagged", *(_tagged(runs, measure) for measure in ("mm_latency_ms", "tcp_kbs"))),
        DECLARED.drawn("two_ftp", *_two_ftp(two_ftp, runs)),
    ]


def over_time(keys: Sequence[str], frames: Frames, *, published: bool = False) -> list[Series]:
    """Makes a series of TCP's rate over time, in kB/s, for each queue.

    With `published`, also makes the series of the slides' chart, as dashed lines in the same colours.
    """
    lines: list[Series] = []
    for place, key in enumerate(k for k in keys if k in frames):
        colour = style.COLOURS[place % len(style.COLOURS)]
        lines.append(Series(NAMES[key], frames[key]["t_s"].to_numpy(), frames[key]["kbs"].to_numpy(), colour=colour))
    for place, key in enumerate(keys if published else ()):
        x, y = _printed(NAMES[key])
        if x:
            lines.append(Series(f"{NAMES[key]}, slides", x, y, colour=style.COLOURS[place], dashed=True, quiet=True))
    return lines


#: The periods in the slides' chart, in s.
_PERIODS = {"0-20": (0.0, 20.0), "20-60": (20.0, 60.0), "60-100": (60.0, 100.0), "during": (20.0, 60.0)}


def _printed(name: str) -> tuple[list[float], list[float]]:
    """Returns the x and y values of a stepped line: TCP's throughput behind a queue, read from the slides' chart.

    If several slides show a period, the value of the first slide is used.
    """
    found: dict[str, float] = {}
    for row in rows("mmcn1999"):
        period = next((p for p in _PERIODS if row.metric.startswith("TCP throughput") and p in row.metric), None)
        if period is not None and row.case.startswith(f"{name} "):
            found.setdefault("20-60" if period == "during" else period, float(re.findall(r"\d+", row.value)[0]))
    x = [edge for period in found for edge in _PERIODS[period]]
    return x, [value for value in found.values() for _ in range(2)]


def _tagged(runs: Runs, measure: str) -> list[Series]:
    keys = [s.key for s in SCHEMES[:6]]
    pairs = zip(keys, of_cases(runs, keys, "mm_drop_percent"), of_cases(runs, keys, measure), strict=True)
    return [
        Series(NAMES[k], [a.median], [b.median], "points", band=([b.low], [b.high])) for k, a, b in pairs if a and b
    ]


def _two_ftp(frames: Mapping[str, Frames], runs: Runs) -> list[list[Series]]:
    segment = 960  # payload, bytes

    def windows(key: str) -> list[Series]:
        flows = frames[key]["windows"]
        return [
            Series(f"{name} FTP", part["t_s"].to_numpy(), part["cwnd_bytes"].to_numpy() / segment)
            for name in ("first", "second")
            if (part := flows.filter(app=name).sort("t_s")).height
        ]

    def curve(label: str, keys: Sequence[str]) -> Series:
        spreads = zip(of_cases(runs, keys, "queue_mean_packets"), of_cases(runs, keys, "rate_share"), strict=True)
        points = sorted((q.median, 100.0 * s.median) for q, s in spreads if q and s)
        return Series(label, [q for q, _ in points], [s for _, s in points])

    red, tail = DRAWN
    queue = frames[red]["queue"]
    held = Series("queue", queue["t_s"].to_numpy(), queue["queue_packets_mean"].fill_nan(0.0).to_numpy())
    compared = [
        curve("RED, min_th 3 to 50", [f"two ftp, red {n}" for n in TWO_FTP_MIN_TH]),
        curve("drop-tail, 15 to 140", [f"two ftp, droptail {n}" for n in TWO_FTP_LIMITS]),
    ]
    return [[held], windows(red), compared, windows(tail)]


# ------------------------------------------------------------------------------------------------------------ answer

#: TCP is protected if it keeps at least the share `KEPT` of its throughput before the blast; a conference is protected
#: if it loses less than `LOST_PERCENT` % of its packets.
KEPT, LOST_PERCENT = 0.8, 5.0

MEASURES = ("tcp_kbs", "tcp_before_kbs", "mm_drop_percent")
Values = Mapping[tuple[str, str], float]


def answer(runs: Runs, frames: Frames, seeds: int) -> Answer:
    """Determines from the runs which queue protects TCP and the conferences from unresponsive traffic."""
    keys = [key for key in NAMES if key in PAPER or key in runs]
    return DECLARED.answer(
        seeds,
        DECLARED.drawn("answer", over_time(PAPER, frames, published=True)),
        {(key, m): median_of(runs, key, m) for key in keys for m in MEASURES},
        lambda of: _sentence(of, keys),
        lambda of: [_point(of, key) for key in PAPER],
        KEPT=KEPT,
        LOST_PERCENT=LOST_PERCENT,
    )


def _protected(of: Values, key: str) -> str:
    tcp, before, drops = (of[key, m] for m in MEASURES)
    return "neither" if tcp < KEPT * before else "both" if drops < LOST_PERCENT else "only TCP"


def _names(keys: Iterable[str]) -> str:
    return listed([NAMES[key] for key in keys])


def _sentence(of: Values, keys: Sequence[str]) -> str:
    groups = {kind: [k for k in keys if _protected(of, k) == kind] for kind in ("both", "only TCP", "neither")}
    both = groups["both"]
    parts = [f"{_names(both)} protect both" if both else "None protects both"]
    parts += [f"{_names(groups['only TCP'])} only TCP"] if groups["only TCP"] else []
    parts += [f"{_names(groups['neither'])} not even TCP"] if groups["neither"] else []
    best = min(both or keys, key=lambda key: of[key, "mm_drop_percent"])
    tcp, before, drops = (number(of["fifo", m], 0) for m in MEASURES)
    return (
        f"{'; '.join(parts)}. Behind FIFO the blast leaves TCP {tcp} of {before} kB/s and drops {drops} % of a conference; behind "
        f"{NAMES[best]} TCP keeps {number(of[best, 'tcp_kbs'], 0)} kB/s and a conference loses {number(of[best, 'mm_drop_percent'], 1)} %."
    )


def _point(of: Values, key: str) -> Point:
    tcp, before, drops = (of[key, m] for m in MEASURES)
    text = f"protected. TCP {number(tcp, 0)} of {number(before, 0)} kB/s; a conference loses {number(drops, 1)} %."
    verdict = _protected(of, key)
    tones: dict[str, Tone] = {"both": "good", "neither": "bad"}
    return Point(NAMES[key], verdict, text, tones.get(verdict, "plain"))
