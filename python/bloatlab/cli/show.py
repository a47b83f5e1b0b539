"""`bloatlab show`: prints a result folder or one of its tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, reading
from bloatlab.cli.options import TextCsvJson
from bloatlab.errors import nearest
from bloatlab.results import open_result, table_text
from bloatlab.simulation import Result
from bloatlab.summaries import headline, summary_tables
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, emit, show

if TYPE_CHECKING:
    import polars as pl
else:
    from bloatlab.lazy import pl


def command(
    result: Path,
    /,
    *,
    table: Annotated[str | None, Parameter(name=["--table", "-t"])] = None,
    form: TextCsvJson = "text",
) -> int:
    """Print a result saved by `bloatlab run -o` or `live -o`.

    csv needs --table.

    Args:
        result: Folder of the result.
        table: Print this table instead of the summary: queue_series, flow_series, pages, ...
    """
    found = reading(result, lambda: open_result(result))
    if table is not None:
        _print_table(found, table, form)
    elif form == "text":
        print_result(found, Console())
    elif form == "json":
        Console(soft_wrap=True).print_json(data=found.summary)
    else:
        raise BadInput(f"-f {form}: needs a table; give one with --table ({', '.join(sorted(found.tables))})")
    return 0


def _print_table(found: Result, name: str, form: Literal["text", "csv", "json"]) -> None:
    if name not in found.tables:
        raise BadInput(f"--table {name}: expected {', '.join(sorted(found.tables))}{nearest(name, found.tables)}")
    frame = found.table(name)
    if form == "text":
        show(_beginning(name, frame), Console())
    else:
        emit(table_text(frame, form))


#: Maximum number of rows printed as text; the other formats include all rows.
_ROWS = 20


def _beginning(name: str, frame: "pl.DataFrame") -> TextTable:
    """Returns the first rows of a table, with every column.

    A table too wide for the screen is split into blocks; each block repeats the string and time columns.
    """
    labels = [c for c, kind in frame.schema.items() if kind == pl.String or c == "t_s"]
    first = frame.select(*labels, pl.exclude(labels)).head(_ROWS)
    rows = [row(*map(value_text, values)) for values in first.rows()]
    more = f"The first {_ROWS} of {frame.height} rows; -f csv prints all." if frame.height > _ROWS else ""
    return TextTable(name, first.columns, rows, note=more or ("" if rows else "no rows"), left=len(labels), keep=True)


def value_text(value: object) -> str:
    """Formats a table value; "-" for a missing value."""
    if value is None or value != value:  # noqa: PLR0124  NaN stands for a missing value
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def print_result(result: Result, console: Console) -> None:
    """Prints the summary of a result as tables."""
    console.say_wrapped(headline(result), "bold")
    for table in summary_tables(result):
        console.print()
        show(table, console)
