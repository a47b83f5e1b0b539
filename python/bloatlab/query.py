"""SQL over the store: DuckDB reads the Parquet files in place.

    runs         one row per stored run and measure: scenario_hash, seed, name, measure, written (UTC), scenario (JSON)
    summaries    one row per run with a stored summary: scenario_hash, seed, name, and every number by its dotted path
    sweeps       one row per run of each sweep: sweep, place (from 1), scenario_hash, seed, kept (true if it is stored)
    series       the stored tables of all runs, concatenated: scenario_hash, seed, measure, "table", and their columns
    "NAME"       a sweep by its name, in its order: its axes, seed, scenario_hash, and the columns of summaries
    "TABLE"      a stored table by its name, such as queue_series: scenario_hash, seed, and its columns

Names in SQL do not depend on case. A sweep or table whose name is taken gets the view "NAME (sweep)" or "NAME (table)".
If a run has values whose names differ only in case, such as those of links "up" and "Up", the views leave them out.

Only results from the current core and the newest code of each measure are visible, as in a sweep.

A query can read these views and nothing else: it is one SELECT (or a statement that DuckDB treats as one), without
other files, extensions or settings. DuckDB may open only the store's files and a temporary folder. The folder contains
links to those files, under names without wildcards.
"""

# `quoted` and `_text` quote all names and strings in the views' SQL.
# ruff: noqa: S608

import contextlib
import datetime as dt
import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, cast

import duckdb
import polars as pl

from bloatlab.errors import InputError
from bloatlab.results import KNOWN_TABLES
from bloatlab.sweep import Store, parquet, sweeps
from bloatlab.sweep.kept_runs import FRAME, RUN, tables
from bloatlab.sweep.store import Stock, current, reading

#: Matches the names of the measures that contain the summaries of a sweep's runs. In these measures, a row contains
#: all numbers of one summary, and each column is named after the dotted path of a number.
SUMMARIES = re.compile(r"summary[-.]")


class QueryError(InputError):
    """Raised when a query fails, or when the views cannot be made. The message is one line."""


@dataclass(frozen=True)
class _Shelf:
    """The stored files of one measure, and the schema of each file."""

    measure: str
    files: Sequence[Path]
    schemas: Sequence[Mapping[str, pl.DataType]]

    @property
    def columns(self) -> list[str]:
        """The names of all columns. Of names that SQL cannot distinguish, only the first is included."""
        return [names[0] for names in _alike(name for schema in self.schemas for name in schema)]

    @property
    def frames(self) -> list[str]:
        return [name.removeprefix(FRAME) for name in self.columns if name.startswith(FRAME)]

    def floats(self, frame: str) -> list[str]:
        """Returns the columns of a stored table that contain floats."""
        kinds = [cast("pl.List", schema[FRAME + frame]) for schema in self.schemas if FRAME + frame in schema]
        fields = [field for kind in kinds for field in cast("pl.Struct", kind.inner).fields]
        return list(dict.fromkeys(field.name for field in fields if field.dtype == pl.Float64))

    @property
    def values(self) -> list[str]:
        return [name for name in self.columns if not name.startswith((FRAME, RUN))]

    def scan(self) -> str:
        return f"read_parquet([{', '.join(_text(str(f)) for f in self.files)}], union_by_name = true)"


class Views:
    """A DuckDB connection with views of a store. Runs that are still in journals are copied to temporary files."""

    def __init__(self, store: Store, core: str) -> None:
        """Makes the views. Raises `StoreUnreadable`, `QueryError`."""
        #: The names of the views.
        self.names: list[str] = []
        self._links = itertools.count()
        self._files: list[Path] = []
        with contextlib.ExitStack() as held, reading(store.folder):
            _without_wildcards(tempfile.gettempdir())
            self._scratch = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="bloatlab-query-")))
            self._db = held.enter_context(duckdb.connect())
            self._db.execute("SET autoinstall_known_extensions = false")
            self._db.execute(f"SET temp_directory = {_text(str(self._scratch))}")
            shelves = [self._shelf(stock, store, held) for stock in current(store.shelves(), core)]
            try:
                self._db.execute("SET TimeZone = 'UTC'")
                self._make([shelf for shelf in shelves if shelf.files], store)
                self._db.execute(f"SET allowed_paths = [{', '.join(_text(str(file)) for file in self._files)}]")
                self._db.execute(f"SET allowed_directories = [{_text(str(self._scratch))}]")
                self._db.execute("SET enable_external_access = false")
                self._db.execute("SET lock_configuration = true")
            except duckdb.Error as error:
                raise QueryError(_sentence(error)) from None
            self._held = held.pop_all()

    def close(self) -> None:
        """Closes the connection and removes temporary files."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, sql: str) -> pl.DataFrame:
        """Runs a query. Types that table files do not support become floats or strings. Raises `QueryError`."""
        place = self._scratch / "answer.parquet"
        try:
            _one_select(self._db.extract_statements(sql), sql)
            _simple(self._db.sql(sql)).write_parquet(str(place))
            frame = pl.read_parquet(place)
        except (duckdb.Error, pl.exceptions.PolarsError, OSError) as error:
            raise QueryError(_sentence(error)) from None
        _dates_exist(frame)
        return frame

    def columns(self, view: str) -> list[tuple[str, str]]:
        """Returns the columns of a view, with DuckDB's types."""
        return [(row[0], row[1]) for row in self._db.execute(f"DESCRIBE SELECT * FROM {quoted(view)}").fetchall()]

    def _shelf(self, stock: Stock, store: Store, held: contextlib.ExitStack) -> _Shelf:
        with contextlib.suppress(OSError):
            parquet.compact(stock.folder, store.notice)
            parquet.check(stock.folder, store.notice)
            held.enter_context(parquet.locked(stock.folder, wait=True, reading=True))
        kept = parquet.needed({part: part.hashes() for part in parquet.parts(stock.folder)})
        known = {name for hashes in kept.values() for name in hashes}
        files = [*self._fresh(stock.folder, known), *(self._link(part.path) for part in kept)]
        if SUMMARIES.match(stock.measure):  # the values of other measures are in no view
            files = [self._distinct(file, store) for file in files]
        return _Shelf(stock.measure, files, [pl.read_parquet_schema(file) for file in files])

    def _fresh(self, folder: Path, known: set[str]) -> Iterator[Path]:
        """Copies the runs that are in journals, but whose hashes are not in `known`, to temporary Parquet files.

        Yields the paths of these files.
        """
        for table in tables(parquet.fresh(parquet.journals(folder), known)[0]):
            file = self._free()
            table.write_parquet(file)
            yield file

    def _free(self) -> Path:
        return self._scratch / f"{next(self._links)}{parquet.SUFFIX}"

    def _link(self, file: Path) -> Path:
        """Makes a symbolic link to a file in the store.

        DuckDB expands wildcards in paths. The path of a stored file may contain wildcard characters; the path of the
        link does not.
        """
        link = self._free()
        self._files.append(file.resolve())
        link.symlink_to(self._files[-1])
        return link

    def _distinct(self, file: Path, store: Store) -> Path:
        """Returns `file`, or a copy of it without the columns that SQL cannot distinguish.

        All runs in a file have the same columns.
        """
        names = [names for names in _alike(pl.read_parquet_schema(file)) if len(names) > 1]
        if not names:
            return file
        left_out = [name for group in names for name in group]
        store.notice(
            f"{' and '.join(names[0])}: SQL ignores case, so the views leave out {len(left_out)} columns like these of "
            "runs that have both"
        )
        copy = self._free()
        pl.read_parquet(file).drop(left_out).write_parquet(copy)
        return copy

    def _sweeps(self, store: Store, columns: Sequence[str], taken: set[str]) -> Iterator[sweeps.Asked]:
        """Yields the sweeps under the names of their views, which it adds to `taken`.

        `columns` are those of the summaries. Sweeps of earlier versions with axes that SQL cannot distinguish from each
        other or from another column are left out.
        """
        # sweeps whose names are free come first, so that no renamed sweep takes the name of one of them
        for of in sorted(sweeps.asked(store), key=lambda of: of.name.casefold() in taken):
            link = self._free()
            shutil.copyfile(of.path, link)  # because a sweep that is repeated removes its earlier file
            others = {_key(name) for name in (*columns, "file_row_number")}
            names = next((n for n in _alike(pl.read_parquet_schema(link)) if len(n) > 1 or _key(n[0]) in others), None)
            if names is None:
                yield replace(of, name=_unused(of.name, "sweep", taken), path=link)
            else:
                why = f"{' and '.join(names)}: SQL cannot distinguish this axis from another column"
                store.notice(f"{of.name}: {why}, so the sweep has no view; rename the axis in {of.grid}")

    def _make(self, shelves: Sequence[_Shelf], store: Store) -> None:
        self._view("runs", _union([_runs(s) for s in shelves], _NO_RUNS))
        numbers = [shelf for shelf in shelves if SUMMARIES.match(shelf.measure)]
        self._view("summaries", _union([_summary(s, numbers[:i]) for i, s in enumerate(numbers)], _NO_SUMMARIES))
        taken = {"runs", "summaries", "sweeps", "series"}
        frames = [(shelf, name) for shelf in shelves for name in shelf.frames]
        views = {name: _unused(name, "table", taken) for name in dict.fromkeys(name for _, name in frames)}
        taken |= set(KNOWN_TABLES)  # or a view's name would depend on the tables that other sweeps keep
        columns = [name for name, _ in self.columns("summaries") if name not in {"scenario_hash", "seed", "name"}]
        asked = list(self._sweeps(store, columns, taken))
        self._view("sweeps", _union([_asked(of) for of in asked], _NO_SWEEPS))
        self._view("series", _union([_frame(*of, named=True) for of in frames], _NO_SERIES))
        for name, view in views.items():
            self._view(view, _union([_frame(shelf, of, named=False) for shelf, of in frames if of == name], ""))
        for of in asked:
            columns = "a.* EXCLUDE (file_row_number), s.* EXCLUDE (scenario_hash, seed, name)"
            joined = f"{_numbered(of)} a JOIN summaries s USING (scenario_hash)"
            self._view(of.name, f"SELECT {columns} FROM {joined} ORDER BY file_row_number")

    def _view(self, name: str, sql: str) -> None:
        self._db.execute(f"CREATE VIEW {quoted(name)} AS {sql}")
        self.names.append(name)


def _without_wildcards(folder: str) -> None:
    """Raises `QueryError` for a temporary folder whose path DuckDB and polars would expand as a pattern."""
    if any(sign in folder for sign in "*?["):
        raise QueryError(
            f"{folder}: the folder for temporary files has *, ? or [ in its path; set TMPDIR to another one"
        )


def _unused(name: str, kind: str, taken: set[str]) -> str:
    """Returns `name`, with `kind` in brackets after it if SQL cannot distinguish `name` from one of `taken`.

    Adds the returned name to `taken`.
    """
    more = itertools.chain(["", f" ({kind})"], (f" ({kind} {n})" for n in itertools.count(2)))
    found = next(name + suffix for suffix in more if (name + suffix).casefold() not in taken)
    taken.add(found.casefold())
    return found


def _alike(names: Iterable[str]) -> Iterable[list[str]]:
    """Groups names that SQL cannot distinguish, in the order of their first occurrence."""
    groups: dict[bytes, dict[str, None]] = {}
    for name in names:
        groups.setdefault(_key(name), {})[name] = None
    return map(list, groups.values())


def _key(name: str) -> bytes:
    """Returns the form in which DuckDB compares names: only the case of ASCII letters is ignored."""
    return name.encode().lower()


_NO_RUNS = (
    "SELECT '' AS scenario_hash, 0::UBIGINT AS seed, '' AS name, '' AS measure, TIMESTAMP '1970-01-01' AS written, "
    "'' AS scenario WHERE false"
)
_NO_SUMMARIES = "SELECT '' AS scenario_hash, 0::UBIGINT AS seed, '' AS name WHERE false"
_NO_SWEEPS = (
    "SELECT '' AS sweep, 0::BIGINT AS place, '' AS scenario_hash, 0::UBIGINT AS seed, false AS kept WHERE false"
)
_NO_SERIES = "SELECT '' AS scenario_hash, 0::UBIGINT AS seed, '' AS measure, '' AS \"table\" WHERE false"


#: The columns that identify a run.
_RUN = '"run.hash" AS scenario_hash, "run.seed" AS seed'


def _runs(shelf: _Shelf) -> str:
    written = 'make_timestamp(("run.written" * 1e6)::BIGINT) AS written'
    columns = f'"run.name" AS name, {_text(shelf.measure)} AS measure, {written}, "run.scenario" AS scenario'
    return f"SELECT {_RUN}, {columns} FROM {shelf.scan()}"


def _summary(shelf: _Shelf, before: Sequence[_Shelf]) -> str:
    """Returns SQL that selects the rows of a measure, without the runs that a shelf in `before` also contains."""
    values = "".join(f", {quoted(name)}" for name in shelf.values)
    known = " AND ".join(f'"run.hash" NOT IN (SELECT "run.hash" FROM {other.scan()})' for other in before)
    select = f'SELECT {_RUN}, "run.name" AS name{values} FROM {shelf.scan()}'
    return f"{select} WHERE {known}" if known else select


def _asked(of: sweeps.Asked) -> str:
    return (
        f"SELECT {_text(of.name)} AS sweep, file_row_number + 1 AS place, scenario_hash, seed, "
        f"scenario_hash IN (SELECT scenario_hash FROM summaries) AS kept FROM {_numbered(of)}"
    )


def _numbered(of: sweeps.Asked) -> str:
    return f"read_parquet({_text(str(of.path))}, file_row_number = true)"


def _frame(shelf: _Shelf, name: str, *, named: bool) -> str:
    """Returns SQL that selects the rows of a stored table.

    A missing value, which is NaN in the table, becomes NULL, because DuckDB's max() and avg() of NaN are NaN.
    """
    labels = f', {_text(shelf.measure)} AS measure, {_text(name)} AS "table"' if named else ""
    rows = f"SELECT {_RUN}{labels}, unnest({quoted(FRAME + name)}, recursive := true) FROM {shelf.scan()}"
    values = ", ".join(f"nullif({quoted(of)}, 'nan') AS {quoted(of)}" for of in shelf.floats(name))
    return f"SELECT * REPLACE ({values}) FROM ({rows})" if values else rows


def _union(selects: Sequence[str], none: str) -> str:
    return " UNION ALL BY NAME ".join(f"({select})" for select in selects) if selects else none


#: Matches the beginning of a statement that only reads. If such a statement contains PIVOT, its type in DuckDB may be
#: MULTI instead of SELECT.
_READING = re.compile(r"\s*(PIVOT|FROM|WITH|SELECT)\b", re.IGNORECASE)


def _one_select(statements: Sequence[duckdb.Statement], sql: str) -> None:
    """Raises `QueryError` unless the statements are one query."""
    if len(statements) != 1:
        raise QueryError(f"expected one SELECT; found {len(statements) or 'no'} statements")
    kind = statements[0].type
    pivot = kind == duckdb.StatementType.MULTI and _READING.match(sql)
    if kind != duckdb.StatementType.SELECT and not pivot:
        raise QueryError(f"the store is read-only: expected SELECT, FROM, WITH, PIVOT, DESCRIBE, SHOW; not {kind.name}")


_PLAIN = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|VARCHAR|DATE|TIMESTAMP( WITH TIME ZONE)?"
)
_NUMBER = re.compile(r"U?HUGEINT|DECIMAL\(.*\)")


def _simple(answer: duckdb.DuckDBPyRelation | None) -> duckdb.DuckDBPyRelation:
    """Casts columns to types that all table formats support: wide numbers to DOUBLE, other types to VARCHAR."""
    if answer is None:
        raise QueryError("the statement returns no rows")
    types = [str(kind) for kind in answer.types]
    if all(_PLAIN.fullmatch(kind) for kind in types):
        return answer
    columns: list[str] = []
    for place, (name, kind) in enumerate(zip(answer.columns, types, strict=True), 1):
        cast = f"CAST(#{place} AS {'DOUBLE' if _NUMBER.fullmatch(kind) else 'VARCHAR'})"
        columns.append(f"{f'#{place}' if _PLAIN.fullmatch(kind) else cast} AS {quoted(name)}")
    return answer.project(", ".join(columns))


def _dates_exist(frame: pl.DataFrame) -> None:
    """Raises `QueryError` for dates that Python cannot represent."""
    for column in frame.select(pl.selectors.date() | pl.selectors.datetime()):
        day = 86_400_000_000 if isinstance(column.dtype, pl.Datetime) else 1
        days = column.to_physical() // day
        if not days.is_between(_FIRST_DAY, _LAST_DAY).fill_null(value=True).all():
            raise QueryError(f"{column.name}: a date outside the years 1 to 9999")


_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = dt.date.min.toordinal() - _EPOCH, dt.date.max.toordinal() - _EPOCH


def quoted(word: str) -> str:
    """Quotes a name for SQL."""
    return '"' + word.replace('"', '""') + '"'


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def _sentence(error: Exception) -> str:
    """Reduces DuckDB's error message to one line, without the lines that mark the position."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(kept)[:500] or "cannot be answered"
