"""Saves results in folders and opens them again.

scenario.resolved.json   the scenario as run, with all keys and its seed
summary.json             the measures of the run
tables/NAME.parquet      series, histograms, page loads, flows (or .csv, .json)
provenance.json          machine, time, duration, version, command: the only file that differs between two equal runs
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import io
import json
import math
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from bloatlab import files
from bloatlab.errors import InputError, nearest
from bloatlab.measures import digits, numbers_of
from bloatlab.scenario import Scenario, canonical, version
from bloatlab.simulation import TEXT, Result
from bloatlab.traces import CAPTURES, KINDS, PACKETS, packet_files

if TYPE_CHECKING:
    import polars as pl
else:
    from bloatlab.lazy import pl

Form = Literal["csv", "json", "parquet"]
FORMS: tuple[Form, ...] = get_args(Form)

SCENARIO = "scenario.resolved.json"
SUMMARY = "summary.json"
PROVENANCE = "provenance.json"
TABLES = "tables"

#: Files and subfolders of a result folder. Captures and packets are written only on request.
FILES = (SUMMARY, SCENARIO, PROVENANCE, TABLES, *CAPTURES, PACKETS)

#: Prefix of the hidden folders in which results are written.
_ASIDE = ".bloatlab-"


class ResultError(InputError):
    """Raised for a folder that is not a valid result folder."""


def save(result: Result, folder: str | Path, *, form: Form = "parquet", seconds: float | None = None) -> Path:
    """Writes `result` into `folder` and returns the folder, which is created if it does not exist.

    Equal results give equal bytes in every file except `provenance.json`, which also records `seconds`, the wall time
    of the run. An earlier result in the folder is replaced, after other calls and commands that write into the folder
    have ended. Raises `InputError` for an unknown `form`, `OSError` if `folder` cannot be written, and `ResultError`
    if `folder` has `tables` that are not those of a result.
    """
    if not isinstance(form, str) or form not in FORMS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"form: {form!r:.80} is not valid; expected {', '.join(FORMS)}{nearest(str(form), FORMS)}")
    folder = Path(folder)
    files.make_folder(folder)
    with files.locked(folder, wait=True), replacing(folder) as aside:
        write(result, aside, form=form, seconds=seconds)
    return folder


def write(result: Result, folder: Path, *, form: Form, seconds: float | None) -> None:
    """Writes the files of a result into a folder that has no earlier result. Raises `OSError`."""
    write_json(folder / SCENARIO, result.scenario.data, sort_keys=False)
    write_json(folder / SUMMARY, result.summary)
    (folder / TABLES).mkdir()
    for name, frame in result.tables.items():
        write_table(frame, folder / TABLES / f"{name}.{form}")
    write_json(folder / PROVENANCE, provenance(result, seconds))


@contextlib.contextmanager
def replacing(folder: Path, *, recordings: bool = False) -> Generator[Path]:
    """Yields an empty folder inside `folder`. Its files then replace those of an earlier result in `folder`.

    With `recordings`, the captures and packets of an earlier result are removed, too. An error leaves the earlier
    result as it was. While its files are being replaced, `folder` has no summary.json, so `open_result` refuses a
    folder that a killed process has left incomplete. Raises `OSError`, and `ResultError` like `check_tables`.
    """
    check_tables(folder)
    files.make_folder(folder)
    aside = Path(tempfile.mkdtemp(prefix=_ASIDE, suffix=files.WRITING, dir=folder))
    new, old = aside / "new", aside / "old"
    try:
        new.mkdir()
        yield new
        written = [path.relative_to(new) for path in new.rglob("*") if path.is_file()]
        replaced = {path for path in written if os.path.lexists(folder / path)}
        replaced.update(_stale(folder, recordings=recordings))
        moves = [(folder / path, old / path) for path in sorted(replaced, key=_order, reverse=True)]
        _move_all([*moves, *((new / path, folder / path) for path in sorted(written, key=_order))])
    except OSError as error:
        if error.filename is not None and Path(error.filename).is_relative_to(new):
            error.filename = str(folder / Path(error.filename).relative_to(new))
        raise
    else:
        shutil.rmtree(old, ignore_errors=True)
        if recordings:
            with contextlib.suppress(OSError):  # other files are in it, or it does not exist
                (folder / PACKETS).rmdir()
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if not any(path.is_file() for path in old.rglob("*")):  # else the earlier result could not be moved back
            shutil.rmtree(aside, ignore_errors=True)


def _order(path: Path) -> tuple[int, Path]:
    """Returns a key that sorts scenario.resolved.json first and summary.json last."""
    return {Path(SCENARIO): 0, Path(SUMMARY): 2}.get(path, 1), path


def _move_all(moves: Sequence[tuple[Path, Path]]) -> None:
    """Moves files from the first to the second path of each pair; after an error, moves all of them back."""
    if (taken := next((source for source, _ in moves if source.is_dir()), None)) is not None:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(taken))
    begun: list[tuple[Path, Path]] = []
    try:
        for source, place in moves:
            files.make_folder(place.parent)
            begun.append((source, place))
            shutil.move(source, place)
    except BaseException:
        for source, place in reversed(begun):
            if os.path.lexists(source):  # this move failed, and may have left a copy
                place.unlink(missing_ok=True)
            else:
                shutil.move(place, source)
        raise


def _stale(folder: Path, *, recordings: bool) -> list[Path]:
    """Returns the files of a result in `folder` that a new result may lack, as paths relative to `folder`."""
    tables = (folder / TABLES).iterdir() if (folder / TABLES).is_dir() else ()
    found = [path for path in tables if path.suffix.removeprefix(".") in FORMS and path.stem in _NAMES]
    if recordings:
        found += [folder / name for name in CAPTURES if (folder / name).exists()]
        found += packet_files(folder / PACKETS)
    return [path.relative_to(folder) for path in found]


def remove_unfinished(folder: Path) -> None:
    """Removes the unfinished results that killed processes have left in `folder`."""
    for path in folder.glob(f"{_ASIDE}????????{files.WRITING}"):
        shutil.rmtree(path, ignore_errors=True)


def has_result(folder: Path) -> bool:
    """Returns whether `folder` has a result, or what is left of one after its process was killed."""
    return any((folder / name).is_file() for name in (SUMMARY, SCENARIO))


def check_tables(folder: Path) -> None:
    """Raises `ResultError` if the folder has files in `tables`, but neither a summary nor a scenario of a result."""
    tables = folder / TABLES
    if tables.is_dir() and any(tables.iterdir()) and not has_result(folder):
        raise ResultError(f"{tables}: has files, but {folder} has no {SUMMARY} of an earlier run; give another folder")


def open_result(folder: str | Path) -> Result:
    """Opens a result that `save` wrote into `folder`. Raises `ResultError` if `folder` has no valid result."""
    folder = Path(folder)
    try:
        scenario, summary = read_json(folder / SCENARIO), read_json(folder / SUMMARY)
        paths = sorted(p for p in (folder / TABLES).iterdir() if p.suffix.removeprefix(".") in FORMS)
        tables = {p.stem: typed(p.stem, read_table(p, TEXT)) for p in paths}
    except FileNotFoundError as error:
        raise ResultError(f"{folder}: not a result folder: {Path(error.filename).name} is missing") from None
    except UnicodeDecodeError as error:
        raise ResultError(f"{folder}: a table cannot be read: {error}") from None
    except pl.exceptions.PolarsError as error:
        raise ResultError(f"{folder}: a table cannot be read: {str(error).splitlines()[0]}") from None
    if (path := _damaged_value(summary)) is not None:
        raise ResultError(f"{folder}: {SUMMARY} is damaged: the value of {path} is missing or not valid")
    own = '"python":' in json.dumps(scenario)
    for name, frame in tables.items():
        if missing := [column for column in _COLUMNS.get(name, "").split() if column not in frame.columns]:
            raise ResultError(f"{folder}: the table {name} has no column {', '.join(missing)}")
        if name in _NAMES and (column := damaged(name, frame, own=own)) is not None:
            raise ResultError(f"{folder}: the table {name} is damaged: a value of {column} is not valid")
    if absent := [name for name in ALWAYS if name not in tables]:
        raise ResultError(f"{folder}: not a complete result: the table {absent[0]} is missing")
    return Result(Scenario(canonical(scenario)), summary, tables)


def read_json(path: Path) -> dict[str, Any]:
    """Reads the JSON object in a file of a result. Raises `ResultError` if the file contains no such object."""
    try:
        data = json.loads(files.read_text(path))
        json.dumps(data, ensure_ascii=False).encode()  # raises an error for an unpaired surrogate, such as "\\ud800"
    except RecursionError:
        raise ResultError(f"{path.parent}: not a result folder: {path.name}: nested too deeply") from None
    except ValueError as error:
        raise ResultError(f"{path.parent}: not a result folder: {path.name}: {error}") from None
    if not isinstance(data, dict):
        raise ResultError(f"{path.parent}: not a result folder: {path.name}: expected a JSON object")
    return data


def _damaged_value(summary: Mapping[str, Any]) -> str | None:
    """Returns the path of a value that is missing from a summary, or that has a type that no run writes.

    Returns None if there is no such value. The values of applications and links may be missing, except for a link's
    `drops`; only their types are checked.
    """
    if type(summary.get("duration_s")) not in {int, float}:
        return "duration_s"
    live = summary.get("live", {"valid": True})
    if not isinstance(live, dict) or not isinstance(live.get("valid"), bool):
        return "live.valid" if isinstance(live, dict) else "live"
    parts: tuple[Literal["apps", "links"], ...] = ("apps", "links")
    for part in parts:
        if not isinstance(of := summary.get(part), dict):
            return part
        for name, values in of.items():
            if not isinstance(values, dict):
                return f"{part}.{name}"
            if part == "links" and not isinstance(values.get("drops"), dict):
                return f"{part}.{name}.drops"
            if (path := _not_a_number(values, numbers_of(part))) is not None:
                return f"{part}.{name}.{path}"
    return None


def _not_a_number(values: Mapping[str, Any], numbers: Sequence[str], above: str = "") -> str | None:
    """Returns the path of a string or list where runs write a number or a table of numbers; None if there is none."""
    for key, value in values.items():
        path = f"{above}{key}"
        if isinstance(value, dict):
            if (found := _not_a_number(value, numbers, f"{path}.")) is not None:
                return found
        elif isinstance(value, (str, list)) and any(of == path or of.startswith(f"{path}.") for of in numbers):
            return path
    return None


def damaged(table: str, frame: pl.DataFrame, *, own: bool) -> str | None:
    """Returns the name of a column with a value that no run can have written; None if there is none.

    Such values are impossible times, missing names, and, in a trace, text instead of numbers. With `own`, the trace
    may have columns of a Python class, whose values can be text.
    """
    text = {name for name, kind in frame.schema.items() if kind == pl.String} - TEXT - _WORDS
    if table.startswith("trace_") and (wrong := [name for name in text if not own or digits(name) is not None]):
        return min(wrong)
    times = frame.get_column("t_s", default=pl.Series([0.0]))
    if not times.dtype.is_numeric() or not times.is_between(0.0, MOST_SECONDS).fill_null(value=False).all():
        return "t_s"
    named = ("app", "link", "flow", "connection", "direction")
    return next((name for name in named if name in frame.columns and frame[name].null_count()), None)


def provenance(result: Result, seconds: float | None = None) -> dict[str, Any]:
    """Returns how a result was made: its scenario and seed, the machine, the time, the version and more.

    Comparisons of results must ignore these data.
    """
    wall = None if seconds is None else round(seconds, 3)
    return {"scenario_hash": result.scenario.hash, "seed": result.seed, "wall_seconds": wall, **this_process()}


def this_process() -> dict[str, Any]:
    """Returns the origin of the files being written by this process: version, time, machine, command line."""
    return {
        "bloatlab": version(),
        "written": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "process_seconds": round(time.process_time(), 3),
        "machine": platform.machine(),
        "system": platform.platform(),
        "host": platform.node(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "polars": pl.__version__,
        "command": [files.utf_8(word) for word in sys.argv],
    }


def json_text(data: Any, *, sort_keys: bool = False) -> str:
    """Writes plain values as readable JSON with a final newline; infinity and NaN become null."""
    return json.dumps(_finite(data), indent=2, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(data: Any) -> Any:
    match data:
        case float() if not math.isfinite(data):
            return None
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data


def write_json(path: Path, data: Any, *, sort_keys: bool = True) -> None:
    """Writes `json_text` into a file."""
    files.write(path, json_text(data, sort_keys=sort_keys))


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame atomically, in the format that the file's suffix selects."""
    if path.suffix.removeprefix(".") not in FORMS:
        raise ValueError(f"{path.suffix!r} is not a table format; expected {', '.join(FORMS)}")
    match path.suffix:
        case ".parquet":
            files.write(path, files.parquet(frame, statistics=False))
        case ".csv":
            files.write(path, csv_text(frame))
        case _:
            files.write(path, frame.write_json())


#: A string that matches `_FORMULA` but is not a number (`_NUMBER`) gets the prefix `_QUOTE`: a spreadsheet would treat
#: it as a formula or, if it begins with `_QUOTE`, hide this character.
_FORMULA, _NUMBER, _QUOTE = r"(?s)^[=+@'-].", r"^[+-]?(\d|inf|nan|\.\d)[\d.eE+-]*$", "'"


def csv_text(frame: pl.DataFrame) -> str:
    """Writes a frame as CSV.

    Strings that a spreadsheet would execute get a leading quote; terminal escapes are neutralised.
    """
    columns: dict[str, pl.Expr] = {}
    for name in (name for name, kind in frame.schema.items() if kind == pl.String):
        of = pl.col(name)
        formula = of.str.contains(_FORMULA) & ~of.str.contains(_NUMBER)
        columns[name] = pl.when(formula).then(pl.concat_str(pl.lit(_QUOTE), of)).otherwise(of)
    names = {name: f"{_QUOTE}{name}" for name in frame.columns if re.match(_FORMULA, name)}
    return files.escaped(frame.with_columns(**columns).rename(names).write_csv())


def table_text(frame: pl.DataFrame, form: Literal["csv", "json"]) -> str:
    """Writes a frame as CSV or JSON."""
    return csv_text(frame) if form == "csv" else frame.write_json() + "\n"


def read_table(path: Path, text: Iterable[str] = ()) -> pl.DataFrame:
    """Reads a frame that `write_table` wrote.

    In CSV, the columns named in `text` are read as strings, even if all values consist of digits.
    """
    source = path if files.utf_8(str(path)) == str(path) else io.BytesIO(path.read_bytes())  # polars needs UTF-8 paths
    match path.suffix:
        case ".csv":
            frame = pl.read_csv(
                source, infer_schema_length=None, schema_overrides=dict.fromkeys(text, pl.String), glob=False
            )
            # removes the quotes that `csv_text` added to column names, and the doubled quotes of CSV that polars leaves
            names = {name: name.removeprefix(_QUOTE).replace('""', '"') for name in frame.columns}
            return frame.rename(names).with_columns(pl.selectors.string().str.strip_prefix(_QUOTE))
        case ".json":
            frame = pl.read_json(source, infer_schema_length=None)
            if not frame.columns:
                return frame
            # if a row has a null, polars returns the columns in random order; the first row has the right order
            text = files.read_text(path)
            return frame.select(list(json.JSONDecoder().raw_decode(text, text.index("{"))[0]))
        case _:
            return pl.read_parquet(source, glob=False)


def typed(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Converts the columns of a table to the types that a run gives them, because CSV and JSON do not record the types.

    A missing number is NaN, which JSON writes as null. Traces, and the `conversations` of live runs, keep the types
    that were read, except that a column of nulls becomes floats, and `flow` and `connection` become integers. A table
    that no run writes is returned unchanged.
    """
    if table not in _NAMES:
        return frame
    if not frame.columns:  # a table without rows has no columns in JSON
        frame = pl.DataFrame({column: [] for column in _COLUMNS.get(table, "").split()})
    if table in {"links", *_COLUMNS}:
        types = {column: column_type(table, column) for column in frame.columns}
    else:  # a trace has columns of its own; a column without numbers is read from JSON as nulls
        types = {column: pl.Float64 for column, kind in frame.schema.items() if kind == pl.Null}
        types |= {column: pl.UInt64 for column in ("flow", "connection") if column in frame.columns}
    return frame.cast(types).with_columns(pl.selectors.float().fill_null(math.nan))  # pyright: ignore[reportArgumentType]


def column_type(table: str, column: str) -> type[pl.DataType]:
    """Returns the type of a column.

    Counts over a run are integers. Counts per bin are floats, because a bin may have no value (NaN).
    """
    if column in TEXT:
        return pl.String
    counts = {"bytes", "packets", "retransmits", "timeouts", "fast_recoveries"}
    per_bin = table.endswith("_series") or table == "media"
    counted = not per_bin and (column in counts or column.endswith(("_packets", "_bytes")))
    return pl.UInt64 if counted or column in {"flow", "connection", "count"} else pl.Float64


#: The columns of each table of a simulation, except `links` and traces. They are listed here because the JSON file of a
#: table without rows does not contain its columns.
_COLUMNS = {
    "flows": "app flow direction packets wire_bytes goodput_bytes goodput_mbit dropped_packets retransmits timeouts "
    "fast_recoveries",
    "pages": "app start_s load_s",
    "files": "app start_s took_s bytes",
    "pings": "app t_s rtt_ms",
    "rpm": "app t_s load_connections goodput_down_mbit goodput_up_mbit foreign_probes self_probes tcp_ms tls_ms "
    "http_foreign_ms http_loaded_ms foreign_rpm loaded_rpm rpm",
    "media": "app t_s target_mbit sent_mbit received_mbit frame_delay_ms window_bytes qdelay_ms srtt_ms lost_packets",
    "syn_times": "app connection t_s",
    "queue_series": "link t_s queue_packets_mean queue_packets sojourn_ms_mean sojourn_ms_max sent_packets sent_bytes "
    "dropped_packets marked_packets",
    "flow_series": "app flow direction t_s wire_bytes goodput_bytes cwnd_bytes ssthresh_bytes srtt_ms delay_ms_mean "
    "delay_ms_max dropped_packets",
    "model_series": "app flow direction t_s mode pacing_bps btl_bw_bps rt_prop_ms",
    "queue_histogram": "link packets time_share",
    "sojourn_histogram": "link lower_ms upper_ms count",
    "delay_histogram": "app direction lower_ms upper_ms count",
}

#: The names of tables that a simulation can have, except `links` and traces.
KNOWN_TABLES = tuple(_COLUMNS)

#: The tables that every result has.
ALWAYS = ("links", *(name for name in KNOWN_TABLES if name not in {"rpm", "media"}))

#: The columns of traces that may have text, besides those in `TEXT`.
_WORDS = frozenset({"queue", "state", "signal", "bbr_mode", "bbr_phase", "burst_state"})

#: The largest time in a table that counts as valid, in s; far longer than any run.
MOST_SECONDS = 1e10

#: The names of all tables that `save` replaces.
_NAMES = frozenset({*KNOWN_TABLES, "links", "conversations", *(f"trace_{kind}" for kind in KINDS)})
