"""The study's tables, figure and answer.

One table compares equipment and TCPs by medians over loads 2 to 9. Others show each load, or each consideration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bloatlab.plots import Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.declared import Declared
from bloatlab.studies.drawing import intervals, points, ticks
from bloatlab.studies.tables import median_cell
from bloatlab.studies.today.cases import Case, Consideration, Equipment, Stack, considered
from bloatlab.studies.today.rules import over_loads
from bloatlab.tables import Spread, TextCell, TextTable, listed, number, row
from bloatlab.workloads.cable_loads import LOADED, NUMBERS

# ------------------------------------------------------------------------------------------------------------ tables

DECLARED = Declared("today")

COLUMNS, ASKED, LOADS = map(DECLARED.columns, ("lines", "considerations", "loads"))

#: Short names of the equipment, and the labels below an axis.
SHORT = dict(zip(Equipment, ("2012 modem", "3.1, PIE", "3.1, Low Latency", "fq_codel", "CAKE"), strict=True))
TICKS = ticks(("2012", "PIE", "LLD", "fq_codel", "CAKE"))


def _with_interval(s: Spread, digits: int) -> str:
    """Formats a median, followed by its interval in brackets unless both ends round to the same text."""
    low, high = number(s.low, digits), number(s.high, digits)
    return number(s.median, digits) if low == high else f"{number(s.median, digits)} ({low}-{high})"


def lines_table(runs: Runs) -> TextTable:
    """Makes a table with one row for each equipment and TCP, and one column per measure.

    A cell contains the median over loads 2 to 9 and over seeds, with the central 80 % of seeds in brackets.
    """
    rows: list[list[TextCell]] = []
    for line, stack in ((line, stack) for line in Equipment for stack in Stack):
        if any(Case(line, stack, n).key in runs for n in LOADED):
            found = [(over_loads(runs, line, stack, measure), digits) for measure, _, digits in COLUMNS]
            rows.append(row(line, stack, *("-" if s is None else _with_interval(s, digits) for s, digits in found)))
    heads = ["line", "TCP", *(head for _, head, _ in COLUMNS)]
    return TextTable("All lines and TCPs", heads, rows, DECLARED.text("lines"), left=2)


def loads_table(runs: Runs, measure: str, title: str, digits: int) -> TextTable:
    """Makes a table of one measure, with one row per load.

    The first column is the 2012 modem with the TCP of 2012. Each of the other columns is a kind of equipment, with the
    first of today's TCPs that was run.
    """
    ran = (s for s in Stack if any(Case(line, s, n).key in runs for line in Equipment for n in NUMBERS))
    now = next((s for s in ran if s is not Stack.OF_2012), Stack.CUBIC)
    columns = [(Equipment.MODEM_2012, Stack.OF_2012), *((line, now) for line in Equipment)]
    rows = [
        row(
            f"{n}: {Case(Equipment.MODEM_2012, Stack.CUBIC, n).home.load}",
            *(median_cell(runs, Case(line, stack, n).key, measure, digits) for line, stack in columns),
        )
        for n in NUMBERS
        if any(Case(line, stack, n).key in runs for line, stack in columns)
    ]
    heads = ["load", "2012 modem, TCP of 2012", *SHORT.values()]
    return TextTable(title, heads, rows, f"Except in the first column, TCP is {now}.")


def _considered_table(
    title: str, runs: Runs, columns: Sequence[tuple[Stack, str, str, int]], asked: Sequence[Consideration]
) -> TextTable:
    """Makes a table with one row per consideration and equipment; columns without values are left out."""

    def text(line: Equipment, what: Consideration, column: tuple[Stack, str, str, int]) -> str:
        stack, measure, _, digits = column
        s = over_seeds(runs, considered(line, stack, what).key, measure)
        return "" if s is None else _with_interval(s, digits)

    shown = [column for column in columns if any(text(line, what, column) for what in asked for line in Equipment)]
    rows = [row(what, SHORT[line], *(text(line, what, c) for c in shown)) for what in asked for line in Equipment]
    heads = ["", "line", *(head for _, _, head, _ in shown)]
    return TextTable(title, heads, rows, DECLARED.text("considerations"), left=2)


def _asked(runs: Runs, stacks: Sequence[Stack]) -> list[Consideration]:
    return [w for w in Consideration if any(considered(line, s, w).key in runs for line in Equipment for s in stacks)]


def game_table(runs: Runs) -> TextTable:
    """Makes a table for the game, with one row per consideration and equipment, and one column per TCP."""
    title = "The game under every consideration: 99th percentile, ms"
    columns = [(s, "game_p99_ms", str(s), 0) for s in Stack]
    return _considered_table(title, runs, columns, _asked(runs, list(Stack)))


def considerations_table(runs: Runs, stack: Stack) -> TextTable:
    """Makes a table of every consideration on all equipment, with one TCP."""
    columns = [(stack, measure, head, digits) for measure, head, digits in ASKED]
    return _considered_table(f"All measures, with {stack}", runs, columns, _asked(runs, [stack]))


# ------------------------------------------------------------------------------------------------------------ answer

#: The measures in the answer; each has a panel.
MEASURES = ("game_p99_ms", "call_mos", "page_s", "upload_mbit")

#: The medians of each measure with one kind of equipment, by TCP stack.
ByStack = Mapping[Stack, Mapping[str, float]]


def _medians(runs: Runs) -> dict[Equipment, dict[Stack, dict[str, float]]]:
    """Returns the medians by equipment and TCP, omitting pairs without all measures."""
    found: dict[Equipment, dict[Stack, dict[str, float]]] = {}
    for line, stack in ((line, stack) for line in Equipment for stack in Stack):
        spreads = {m: over_loads(runs, line, stack, m) for m in MEASURES}
        known = {m: s.median for m, s in spreads.items() if s is not None}
        if len(known) == len(MEASURES):
            found.setdefault(line, {})[stack] = known
    return found


def answer(runs: Runs, seeds: int) -> Answer:
    """Makes the study's answer: what thirteen years have changed for a call, a page, a game and an upload."""
    found = _medians(runs)
    before = found.get(Equipment.MODEM_2012, {}).get(Stack.OF_2012, {})
    of = {line: {s: v for s, v in own.items() if s is not Stack.OF_2012} for line, own in found.items()}
    of = {line: own for line, own in of.items() if own}
    return DECLARED.answer(
        seeds,
        draw(runs),
        {m: before.get(m) if of else None for m in MEASURES},
        lambda before: _sentence(before, of),
        lambda before: _points(before, of),
    )


def _sentence(before: Mapping[str, float], of: Mapping[Equipment, ByStack]) -> str:
    """Returns a sentence about the best equipment: the one on which the game's longest delay is shortest.

    The longest and shortest delays are those over today's TCPs. The sentence gives the range of each measure over these
    TCPs. If even the shortest delay on the 2012 modem is more than twice the longest delay on the best equipment, the
    sentence adds that the queue matters more than TCP.
    """
    best = min(of, key=lambda line: max(v["game_p99_ms"] for v in of[line].values()))
    now, alone = of[best], of.get(Equipment.MODEM_2012, {})

    def pair(measure: str, digits: int) -> str:
        return f"{_range(now, measure, digits)} instead of {number(before[measure], digits)}"

    least = min((v["game_p99_ms"] for v in alone.values()), default=0.0)
    tcp = (
        f" {_either(list(alone))} alone leaves the game of a 2012 modem at {_range(alone, 'game_p99_ms', 0)} ms: the queue matters more than TCP."
        if least > 2.0 * max(v["game_p99_ms"] for v in now.values())
        else ""
    )
    return (
        f"{best} ({_either(list(now))}): 99 of 100 packets of a game take {pair('game_p99_ms', 0)} ms, a call has MOS "
        f"{pair('call_mos', 1)}, a page takes {pair('page_s', 1)} s, and the upload has {pair('upload_mbit', 1)} Mbit/s.{tcp}"
    )


def _range(of: ByStack, measure: str, digits: int) -> str:
    """Formats the range of a measure over the TCPs in `of`: "20 to 35", or one number if both ends look alike."""
    medians = [values[measure] for values in of.values()]
    low, high = number(min(medians), digits), number(max(medians), digits)
    return low if low == high else f"{low} to {high}"


def _short(stack: Stack) -> str:
    return str(stack).partition(",")[0]


def _either(stacks: Sequence[Stack]) -> str:
    return listed([_short(stack) for stack in stacks], "or")


def _points(before: Mapping[str, float], of: Mapping[Equipment, ByStack]) -> list[Point]:
    def rest(of: ByStack) -> str:
        return f"MOS {_range(of, 'call_mos', 1)}, a page {_range(of, 'page_s', 1)} s, upload {_range(of, 'upload_mbit', 1)} Mbit/s"

    then = {Stack.OF_2012: before}
    found = [Point("2012 modem, TCP of 2012", f"{_range(then, 'game_p99_ms', 0)} ms", f"a game; {rest(then)}", "bad")]
    for line, own in of.items():
        each = ", ".join(f"{_short(s)} {number(v['game_p99_ms'], 0)}" for s, v in own.items())
        found.append(Point(line, f"{_range(own, 'game_p99_ms', 0)} ms", f"a game ({each}); {rest(own)}"))
    return found


def draw(runs: Runs) -> Drawn:
    """Draws the four measures by equipment, with one colour per TCP."""

    def lines(measure: str) -> list[Series]:
        found: list[Series] = []
        for n, stack in enumerate(Stack):
            spreads = [over_loads(runs, line, stack, measure) for line in Equipment]
            xs = [x + 0.12 * (n - 1.5) for x in range(len(Equipment))]
            if np.isfinite(intervals(spreads)).any():
                found.append(points(stack, xs, spreads, style.COLOURS[n]))
        return found

    return DECLARED.drawn("answer", *map(lines, MEASURES), x_ticks=TICKS)
