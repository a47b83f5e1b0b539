"""Who protects TCP and the conferences from traffic that does not respond? Answered from the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from bloatlab.plots import Panel
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.mmcn1999 import figures
from bloatlab.studies.mmcn1999.build import PAPER, SCHEMES
from bloatlab.tables import counted, number

QUESTION = "Which queue protects TCP and the video conferences from traffic that does not respond?"

#: Protected is who keeps this part of what was there before the blast, and who loses less than this part of its packets.
KEPT, LOST_PERCENT = 0.8, 5.0


def answer(runs: Runs, frames: Mapping[str, pl.DataFrame], seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    names = {s.key: s.name for s in SCHEMES}
    basis = (
        f"Medians of {counted(seeds, 'seed')}, 20 to 60 s. Protected: TCP keeps {KEPT:.0%} of its throughput before the blast; a "
        f"conference loses less than {LOST_PERCENT:g} % of its packets."
    )
    figure = figure_block(draw(frames))
    of: dict[str, tuple[float, float, float]] = {}
    for key in names:
        values = [median_of(runs, key, m) for m in ("tcp_kbs", "tcp_before_kbs", "mm_drop_percent")]
        if all(v is not None for v in values):
            tcp, before, drops = (v for v in values if v is not None)
            of[key] = (tcp, before, drops)
    if any(key not in of for key in PAPER):
        return Answer(QUESTION, "Not all of its runs were made, so nothing is said.", (), figure, basis)
    both = [key for key in of if _tcp(of[key]) and _conference(of[key])]
    return Answer(QUESTION, _sentence(of, both, names), _points(of, both, names), figure, basis)


def _tcp(values: tuple[float, float, float]) -> bool:
    return values[0] >= KEPT * values[1]


def _conference(values: tuple[float, float, float]) -> bool:
    return values[2] < LOST_PERCENT


def _sentence(of: Mapping[str, tuple[float, float, float]], both: Sequence[str], names: Mapping[str, str]) -> str:
    only_tcp = [key for key in of if _tcp(of[key]) and key not in both]
    neither = [key for key in of if not _tcp(of[key])]
    parts = [f"{_list(both, names)} protect both" if both else "None protects both"]
    if only_tcp:
        parts.append(f"{_list(only_tcp, names)} only TCP")
    if neither:
        parts.append(f"{_list(neither, names)} not even TCP")
    best = min(both or of, key=lambda key: of[key][2])
    return (
        f"{'; '.join(parts)}. Behind FIFO the blast leaves TCP {number(of['fifo'][0], 0)} of {number(of['fifo'][1], 0)} kB/s and drops "
        f"{number(of['fifo'][2], 0)} % of a conference; behind {names[best]} TCP keeps {number(of[best][0], 0)} kB/s and a conference "
        f"loses {number(of[best][2], 1)} %."
    )


def _list(keys: Sequence[str], names: Mapping[str, str]) -> str:
    words = [names[key] for key in keys]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _points(of: Mapping[str, tuple[float, float, float]], both: Sequence[str], names: Mapping[str, str]) -> list[Point]:
    points: list[Point] = []
    for key in PAPER:
        tcp, before, drops = of[key]
        verdict = "both" if key in both else "only TCP" if _tcp(of[key]) else "neither"
        text = f"protected. TCP {number(tcp, 0)} of {number(before, 0)} kB/s; a conference loses {number(drops, 1)} %."
        points.append(
            Point(
                names[key], verdict, text, "good" if verdict == "both" else "bad" if verdict == "neither" else "plain"
            )
        )
    return points


def draw(frames: Mapping[str, pl.DataFrame]) -> Drawn:
    """The paper's queues over time, the chart's numbers beside them."""
    panel: Panel = figures.over_time("TCP behind the paper's five queues", PAPER, frames, published=True)
    caption = (
        "Thirty TCP transfers and six conferences on 10 Mbit/s; the blast of 10 Mbit/s lasts from 20 to 60 s. Dashed: read off the "
        "slides' chart by a machine, each queue in its colour. Seed 1."
    )
    return Drawn("", "answer", caption, [panel], 1, size=(7.0, 3.4))
