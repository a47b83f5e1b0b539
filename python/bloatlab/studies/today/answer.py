"""What have thirteen years changed for a call, a page, a game and an upload? Answered from the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bloatlab.plots import Panel, Series, style
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies.claims import Runs
from bloatlab.studies.drawing import intervals, points
from bloatlab.studies.today.cases import Line, Stack
from bloatlab.studies.today.scorecard import over_loads
from bloatlab.studies.today.tables import TICKS
from bloatlab.tables import Spread, counted, number

#: Each measure of a line with one TCP, and these of every TCP.
Values = dict[str, Spread]
ByStack = dict[Stack, Values]

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
    of = {line: own for line in Line if (own := {s: v for (at, s), v in after.items() if at is line})}
    best = min(of, key=lambda line: max(v["game_p99_ms"].median for v in of[line].values()))
    return Answer(QUESTION, _sentence(before, best, of), _points(before, of), figure, basis)


def _all(runs: Runs, line: Line, stack: Stack) -> Values | None:
    found = {m: s for m, *_ in SHOWN if (s := over_loads(runs, line, stack, m)) is not None}
    return found if len(found) == len(SHOWN) else None


def _sentence(before: Values, best: Line, of: dict[Line, ByStack]) -> str:
    """The line on which the worst TCP leaves the game least delay: from TCP to TCP, and what TCP alone does."""
    now = of[best]

    def pair(measure: str, digits: int) -> str:
        return f"{_range(now, measure, digits)} instead of {number(before[measure].median, digits)}"

    alone = of.get(Line.MODEM_2012, {})
    least = min((v["game_p99_ms"].median for v in alone.values()), default=0.0)
    tcp = (
        f" {_either(list(alone))} alone leaves the game of a 2012 modem at {_range(alone, 'game_p99_ms', 0)} ms: the queue matters more than TCP."
        if least > 2.0 * max(v["game_p99_ms"].median for v in now.values())
        else ""
    )
    return (
        f"{best} ({_either(list(now))}): 99 of 100 packets of a game take {pair('game_p99_ms', 0)} ms, a call has MOS "
        f"{pair('call_mos', 1)}, a page takes {pair('page_s', 1)} s, and the upload has {pair('upload_mbit', 1)} Mbit/s.{tcp}"
    )


def _range(of: ByStack, measure: str, digits: int) -> str:
    """From the least to the greatest of all TCPs."""
    medians = [values[measure].median for values in of.values()]
    low, high = number(min(medians), digits), number(max(medians), digits)
    return low if low == high else f"{low} to {high}"


def _either(stacks: Sequence[Stack]) -> str:
    """`a`; `a or b`; `a, b or c`. Names that have a comma lose what follows it."""
    names = [str(stack).partition(",")[0] for stack in stacks]
    return " or ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _points(before: Values, of: dict[Line, ByStack]) -> list[Point]:
    then = {Stack.OF_2012: before}
    found = [Point("2012 modem, TCP of 2012", f"{_range(then, 'game_p99_ms', 0)} ms", f"a game; {_rest(then)}", "bad")]
    return found + [
        Point(str(line), f"{_range(own, 'game_p99_ms', 0)} ms", f"a game ({_each(own)}); {_rest(own)}")
        for line, own in of.items()
    ]


def _each(of: ByStack) -> str:
    """The game's delay with each TCP."""
    return ", ".join(f"{str(s).partition(',')[0]} {number(v['game_p99_ms'].median, 0)}" for s, v in of.items())


def _rest(of: ByStack) -> str:
    return f"MOS {_range(of, 'call_mos', 1)}, a page {_range(of, 'page_s', 1)} s, upload {_range(of, 'upload_mbit', 1)} Mbit/s"


def draw(runs: Runs) -> Drawn:
    """The four measures by equipment, a colour for each TCP."""
    lines = list(Line)
    ticks = [(float(x), TICKS[line]) for x, line in enumerate(lines)]
    panels: list[Panel] = []
    for measure, what, unit, _ in SHOWN:
        series: list[Series] = []
        for n, stack in enumerate(Stack):
            spreads = [over_loads(runs, line, stack, measure) for line in lines]
            xs = [x + 0.12 * (n - 1.5) for x in range(len(lines))]
            if np.isfinite(intervals(spreads)).any():
                series.append(points(str(stack), xs, spreads, style.COLOURS[n]))
        log = measure in ("game_p99_ms", "page_s")
        low = {"game_p99_ms": 2.0, "page_s": 1.0, "call_mos": 0.9}.get(measure, 0.0)
        title, x_range = what[0].upper() + what[1:], (-0.5, len(lines) - 0.5)
        panels.append(Panel(title, "", unit, series, x_range, (low, None), log_y=log, x_ticks=ticks))
    caption = (
        "From left to right: the modem of 2012, DOCSIS 3.1 with DOCSIS-PIE and with Low Latency (LLD), a router with fq_codel and with CAKE. "
        "Medians over the loads; bars: the central 80 % of seeds."
    )
    return Drawn("", "answer", caption, panels, 1, size=(7.0, 2.0))
