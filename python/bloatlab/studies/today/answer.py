"""What have thirteen years changed for a call, a page, a game and an upload? Answered from the runs."""

from __future__ import annotations

import math

import numpy as np

from bloatlab.plots import Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs
from bloatlab.studies.today.cases import Line, Stack
from bloatlab.studies.today.compare import over_loads
from bloatlab.studies.today.layout import TICKS
from bloatlab.tables import Spread, counted, number

QUESTION = "What have thirteen years changed for a call, a page, a game and an upload on a busy line?"

#: Measure, what it is, unit, digits.
SHOWN = (
    ("game_p99_ms", "a game, 99 of 100 packets", "ms", 0),
    ("call_mos", "a call", "MOS", 1),
    ("page_s", "a page", "s", 1),
    ("upload_mbit", "the upload", "Mbit/s", 1),
)


def answer(runs: Runs, seeds: int) -> Answer:
    """The answer, and the figure that shows it."""
    basis = (
        f"Medians over the loads of CableLabs 2012 and {counted(seeds, 'seed')}, on the same line of 5 Mbit/s up: "
        "only the equipment and TCP differ."
    )
    figure = figure_block(draw(runs))
    before = _all(runs, Line.MODEM_2012, Stack.OF_2012)
    after = {
        (line, stack): values
        for line in Line
        for stack in Stack
        if stack is not Stack.OF_2012 and (values := _all(runs, line, stack)) is not None
    }
    if before is None or not after:
        return Answer(QUESTION, "Not all of its runs were made, so nothing is said.", (), figure, basis)
    best = min(after, key=lambda key: after[key]["game_p99_ms"].median)
    same = after.get((Line.MODEM_2012, best[1]))
    return Answer(QUESTION, _sentence(before, after[best], best, same), _points(before, after), figure, basis)


def _all(runs: Runs, line: Line, stack: Stack) -> dict[str, Spread] | None:
    found = {m: s for m, *_ in SHOWN if (s := over_loads(runs, line, stack, m)) is not None}
    return found if len(found) == len(SHOWN) else None


def _sentence(
    before: dict[str, Spread], now: dict[str, Spread], best: tuple[Line, Stack], same: dict[str, Spread] | None
) -> str:
    def pair(measure: str, digits: int) -> str:
        return f"{number(now[measure].median, digits)} instead of {number(before[measure].median, digits)}"

    line, stack = best
    tcp = (
        f" {stack} alone leaves the game of a 2012 modem at {number(same['game_p99_ms'].median, 0)} ms: the queue matters more than TCP."
        if same is not None and same["game_p99_ms"].median > 2.0 * now["game_p99_ms"].median
        else ""
    )
    return (
        f"Of a game 99 of 100 packets take {pair('game_p99_ms', 0)} ms, a call has MOS {pair('call_mos', 1)}, a page takes "
        f"{pair('page_s', 1)} s, and the upload has {pair('upload_mbit', 1)} Mbit/s ({line}; {stack}).{tcp}"
    )


def _points(before: dict[str, Spread], after: dict[tuple[Line, Stack], dict[str, Spread]]) -> list[Point]:
    points = [
        Point(
            "2012 modem, TCP of 2012",
            f"{number(before['game_p99_ms'].median, 0)} ms",
            f"a game; {_rest(before)}",
            "bad",
        )
    ]
    for line in Line:
        own = {stack: values for (of, stack), values in after.items() if of is line}
        if not own:
            continue
        stack = min(own, key=lambda s: own[s]["game_p99_ms"].median)
        text = f"a game ({stack}); {_rest(own[stack])}"
        points.append(Point(str(line), f"{number(own[stack]['game_p99_ms'].median, 0)} ms", text))
    return points


def _rest(v: dict[str, Spread]) -> str:
    return (
        f"MOS {number(v['call_mos'].median, 1)}, a page {number(v['page_s'].median, 1)} s, upload "
        f"{number(v['upload_mbit'].median, 1)} Mbit/s"
    )


def draw(runs: Runs) -> Drawn:
    """The four measures by equipment, a colour for each TCP."""
    lines = list(Line)
    ticks = [(float(x), TICKS[line]) for x, line in enumerate(lines)]
    panels: list[Panel] = []
    for measure, what, unit, _ in SHOWN:
        series: list[Series] = []
        for n, stack in enumerate(Stack):
            spreads = [over_loads(runs, line, stack, measure) for line in lines]
            v = np.array([[s.median, s.low, s.high] if s else [math.nan] * 3 for s in spreads])
            v = np.where(np.isfinite(v), v, math.nan)
            if not np.isfinite(v).any():
                continue
            xs = [x + 0.12 * (n - 1.5) for x in range(len(lines))]
            series.append(Series(str(stack), xs, v[:, 0], "points", style.COLOURS[n], (v[:, 1], v[:, 2])))
        log = measure in ("game_p99_ms", "page_s")
        low = {"game_p99_ms": 2.0, "page_s": 1.0, "call_mos": 0.9}.get(measure, 0.0)
        axis = unit if unit == "MOS" else f"{what.split(',')[0]} ({unit})"
        title, x_range = what[0].upper() + what[1:], (-0.5, len(lines) - 0.5)
        panels.append(Panel(title, "equipment", axis, series, x_range, (low, None), log_y=log, x_ticks=ticks))
    caption = "Medians over the loads; bars: the central 80 % of seeds."
    return Drawn("", "answer", caption, panels, 1, size=(7.0, 2.0))
