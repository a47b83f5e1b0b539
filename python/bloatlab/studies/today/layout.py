"""The study's tables: every line with every TCP over the loads, and load by load."""

from __future__ import annotations

from bloatlab.studies.cablelabs2012.cases import NUMBERS
from bloatlab.studies.claims import Runs
from bloatlab.studies.layout import median_cell
from bloatlab.studies.today.cases import Case, Line, Stack
from bloatlab.studies.today.compare import over_loads
from bloatlab.tables import TextCell, TextTable, number

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
            if not any(Case(line, stack, n).key in runs for n in NUMBERS[1:]):
                continue
            row = [TextCell(str(line)), TextCell(str(stack))]
            for measure, _, digits in COLUMNS:
                s = over_loads(runs, line, stack, measure)
                between = "" if s is None or s.low == s.high else f" ({number(s.low, digits)}-{number(s.high, digits)})"
                row.append(TextCell("-" if s is None else f"{number(s.median, digits)}{between}"))
            rows.append(row)
    note = "Median over the loads 2 to 9 of each seed; in brackets the central 80 % of seeds. Delays are one way, to the server."
    return TextTable(
        "What each line and TCP leave", ["line", "TCP", *(head for _, head, _ in COLUMNS)], rows, note, left=2
    )


def loads_table(runs: Runs, measure: str, title: str, digits: int) -> TextTable:
    """A measure load by load: lines by columns, each with TCP of its time."""
    columns = [(line, stack) for line in Line for stack in _PAIRED[line]]
    rows = [
        [
            TextCell(f"{n}  {Case(Line.MODEM_2012, Stack.CUBIC, n).load}"),
            *(median_cell(runs, Case(line, stack, n).key, measure, digits) for line, stack in columns),
        ]
        for n in NUMBERS
    ]
    then = "2012 modem, TCP of 2012"
    heads = ["load", *(then if stack is Stack.OF_2012 else SHORT[line] for line, stack in columns)]
    return TextTable(title, heads, rows, "But for the first column TCP is CUBIC with HyStart++.")


#: A line in a word or two.
SHORT = {
    Line.MODEM_2012: "2012 modem",
    Line.PIE: "3.1, PIE",
    Line.LLD: "3.1, Low Latency",
    Line.FQ_CODEL: "fq_codel",
    Line.CAKE: "CAKE",
}


#: What stands load by load: the modem of 2012 with the TCP of then and of now, all others with CUBIC of now.
_PAIRED = {line: (Stack.OF_2012, Stack.CUBIC) if line is Line.MODEM_2012 else (Stack.CUBIC,) for line in Line}

#: The same below an axis.
TICKS = {
    Line.MODEM_2012: "2012",
    Line.PIE: "PIE",
    Line.LLD: "LLD",
    Line.FQ_CODEL: "fq_codel",
    Line.CAKE: "CAKE",
}
