"""The study's tables: every line with every TCP over the loads, load by load, and the considerations."""

from __future__ import annotations

from bloatlab.studies.claims import Runs
from bloatlab.studies.tables import median_cell
from bloatlab.studies.today.cases import Case, Line, Stack, considered
from bloatlab.studies.today.considerations import Consideration
from bloatlab.studies.today.scorecard import over_loads
from bloatlab.tables import Spread, TextCell, TextTable, number, spread
from bloatlab.workloads.cable_loads import LOADED, NUMBERS

COLUMNS = (
    ("game_p50_ms", "game median ms", 0),
    ("game_p99_ms", "game 99 % ms", 0),
    ("game_lost_percent", "game lost %", 2),
    ("call_p99_ms", "call 99 % ms", 0),
    ("call_mos", "call MOS", 2),
    ("page_s", "page s", 2),
    ("upload_mbit", "upload Mbit/s", 2),
)


def lines_table(runs: Runs) -> TextTable:
    """Each line with each TCP: the median over the loads with its interval over seeds."""
    rows: list[list[TextCell]] = []
    for line in Line:
        for stack in Stack:
            if not any(Case(line, stack, n).key in runs for n in LOADED):
                continue
            row = [TextCell(str(line)), TextCell(str(stack))]
            for measure, _, digits in COLUMNS:
                s = over_loads(runs, line, stack, measure)
                row.append(TextCell("-" if s is None else _with_interval(s, digits)))
            rows.append(row)
    note = "Median over the loads 2 to 9 of each seed; in brackets the central 80 % of seeds. Delays are one way, to the server."
    return TextTable(
        "What each line and TCP leave", ["line", "TCP", *(head for _, head, _ in COLUMNS)], rows, note, left=2
    )


def loads_table(runs: Runs, measure: str, title: str, digits: int) -> TextTable:
    """A measure load by load: the modem of 2012 with its TCP, and every line with a TCP of now."""
    now = _now(runs)
    columns = [(Line.MODEM_2012, Stack.OF_2012), *((line, now) for line in Line)]
    rows = [
        [
            TextCell(f"{n}: {Case(Line.MODEM_2012, Stack.CUBIC, n).load}"),
            *(median_cell(runs, Case(line, stack, n).key, measure, digits) for line, stack in columns),
        ]
        for n in NUMBERS
        if any(Case(line, stack, n).key in runs for line, stack in columns)
    ]
    heads = ["load", "2012 modem, TCP of 2012", *(SHORT[line] for line in Line)]
    return TextTable(title, heads, rows, f"But for the first column TCP is {now}.")


def _now(runs: Runs) -> Stack:
    """The first TCP of now that ran on any line."""
    ran = (s for s in Stack if any(Case(line, s, n).key in runs for line in Line for n in NUMBERS))
    return next((s for s in ran if s is not Stack.OF_2012), Stack.CUBIC)


#: A line in a word or two.
SHORT = {
    Line.MODEM_2012: "2012 modem",
    Line.PIE: "3.1, PIE",
    Line.LLD: "3.1, Low Latency",
    Line.FQ_CODEL: "fq_codel",
    Line.CAKE: "CAKE",
}


#: The same below an axis.
TICKS = {
    Line.MODEM_2012: "2012",
    Line.PIE: "PIE",
    Line.LLD: "LLD",
    Line.FQ_CODEL: "fq_codel",
    Line.CAKE: "CAKE",
}


#: What stands beside the game for a consideration, and its digits.
ASKED = (
    ("game_p99_ms", "game 99 % ms", 0),
    ("game_lost_percent", "game lost %", 1),
    ("call_mos", "call MOS", 2),
    ("page_s", "page s", 1),
    ("upload_mbit", "upload Mbit/s", 2),
    ("background_share", "LEDBAT's share", 2),
    ("short_s", "short flow s", 2),
)


def game_table(runs: Runs) -> TextTable:
    """The game under every consideration: lines by TCP."""
    asked = [w for w in Consideration if any(considered(line, s, w).key in runs for line in Line for s in Stack)]
    stacks = [s for s in Stack if any(considered(line, s, w).key in runs for line in Line for w in asked)]
    rows = [
        [TextCell(str(w)), TextCell(SHORT[line]), *(_between(runs, line, s, w, "game_p99_ms", 0) for s in stacks)]
        for w in asked
        for line in Line
    ]
    title = "The game under every consideration: 99th percentile, ms"
    return TextTable(title, ["", "line", *map(str, stacks)], rows, _NOTE, left=2)


def considerations_table(runs: Runs, stack: Stack) -> TextTable:
    """Every consideration on every line, with one TCP; a column that no consideration has is left out."""
    asked = [w for w in Consideration if any(considered(line, stack, w).key in runs for line in Line)]
    columns = [
        (measure, head, digits)
        for measure, head, digits in ASKED
        if any(_between(runs, line, stack, what, measure, digits).text for what in asked for line in Line)
    ]
    rows = [
        [TextCell(str(what)), TextCell(SHORT[line]), *(_between(runs, line, stack, what, m, d) for m, _, d in columns)]
        for what in asked
        for line in Line
    ]
    return TextTable(f"All of it, with {stack}", ["", "line", *(head for _, head, _ in columns)], rows, _NOTE, left=2)


_NOTE = "Median over seeds; in brackets the central 80 % of seeds."


def _between(runs: Runs, line: Line, stack: Stack, what: Consideration, measure: str, digits: int) -> TextCell:
    """A median with its interval over seeds; nothing for what there is not."""
    values = [row[measure] for row in runs.get(considered(line, stack, what).key, ()) if row[measure] == row[measure]]
    if not values:
        return TextCell("")
    return TextCell(_with_interval(spread(values), digits))


def _with_interval(s: Spread, digits: int) -> str:
    """A median, and its interval in brackets where that shows at so many digits."""
    low, high = number(s.low, digits), number(s.high, digits)
    return number(s.median, digits) if low == high else f"{number(s.median, digits)} ({low}-{high})"
