"""`bloatlab query`: SQL over the results of earlier sweeps."""

import polars as pl

from bloatlab.cli.common import BadInput, replaceable, writing
from bloatlab.cli.options import ForceReplace, Output, StoreFolder, TextCsvJson
from bloatlab.cli.runs import check_table_name, existing
from bloatlab.cli.show import value_text
from bloatlab.results import table_text, write_table
from bloatlab.sweep import fingerprint
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, emit, show


def command(
    sql: str | None = None,
    /,
    *,
    output: Output = None,
    form: TextCsvJson = "text",
    force: ForceReplace = False,
    store: StoreFolder = None,
) -> int:
    """Query the store of earlier runs in SQL (DuckDB's dialect).

    The views are runs, summaries, sweeps, series, and each sweep and each kept table by its own name. Without SQL,
    lists the views with their numbers of rows and columns. Put names that have dots in double quotes. See
    docs/store.md.

        bloatlab query 'SELECT queue, median("apps.call.voip.mos") AS mos FROM "home-upload" GROUP BY queue'
        bloatlab query 'DESCRIBE summaries'

    Args:
        sql: The query.
        output: File for the result: .parquet, .csv or .json by its suffix.
    """
    check_table_name(output)
    replaceable(output, force=force)
    # imported here, because importing DuckDB takes a tenth of a second and only this command needs it
    from bloatlab.query import QueryError, Views, quoted  # noqa: PLC0415

    console = Console(stderr=True)
    place = existing(store, console)
    try:
        with Views(place, fingerprint.core()) as db:
            if sql is not None:
                frame = db.query(sql)
            else:
                counts = [db.query(f"SELECT count(*) FROM {quoted(name)}").item() for name in db.names]  # noqa: S608
                columns = [len(db.columns(name)) for name in db.names]
                frame = pl.DataFrame({"view": db.names, "rows": counts, "columns": columns})
    except QueryError as error:
        raise BadInput(f"query: {error}") from None
    if output is not None:
        writing(output, lambda: write_table(frame, output))
        return 0
    if form == "text":
        _print(frame)
    else:
        emit(table_text(frame, form))
    return 0


def _print(frame: pl.DataFrame) -> None:
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    left = next((i for i, name in enumerate(frame.columns) if name in numeric), len(frame.columns))
    rows = [row(*map(value_text, values)) for values in frame.iter_rows()]
    show(TextTable("", frame.columns, rows, left=left), Console())
