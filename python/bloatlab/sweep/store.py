"""What runs measured, kept between sweeps and named by what it follows from.

    STORE/CORE/MEASURE-CODE/HH/HASH.DIGEST.parquet

HASH names the scenario with its seed, CORE the compiled core, CODE the source that reduced the run, DIGEST the file's
own bytes: an entry is found by the first three and trusted for the last. Change the core, the reduction or anything in
the scenario, and the old entry is not found; tear or bend the file, and it does not match its name. One run is one
file, written aside and renamed: a process sees a whole one or none, and two that write the same leave the same.

An entry is a table of one row: each measure, and each kept frame as a list of structs under `frame.NAME`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bloatlab.scenario import Scenario

#: One measured value. Infinity is what never happened, NaN what does not apply, None what does not exist.
Value = float | int | str | bool | None

#: Where results are kept unless the environment or a flag says otherwise, below the working folder.
DEFAULT = Path(".bloatlab") / "store"
VARIABLE = "BLOATLAB_STORE"

_FRAME = "frame."
_SUFFIX = ".parquet"
_TEMPORARY = ".writing"
_CODE = 16  # hexadecimal digits of a fingerprint in a name: 64 bits


@dataclass(frozen=True)
class Measured:
    """One run reduced: a row of values, and the frames that figures draw."""

    row: Mapping[str, Value]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def default_store() -> Path:
    """Where results are kept: `BLOATLAB_STORE`, or .bloatlab/store below the working folder."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else DEFAULT


@dataclass(frozen=True)
class Store:
    """A folder of results. `notice` is told, in a line, when something in it cannot be used."""

    folder: Path
    notice: Callable[[str], None] = warnings.warn

    def shelf(self, core: str, measure: str, code: str) -> Shelf:
        """The part of the store that holds one measure by one core."""
        return Shelf(self, self.folder / core[:_CODE] / f"{measure}-{code[:_CODE]}")

    def shelves(self) -> list[Stock]:
        """What there is, newest last."""
        found = [
            Stock.of(shelf)
            for core in _folders(self.folder)
            if _is_code(core.name)
            for shelf in _folders(core)
            if _is_code(shelf.name.rpartition("-")[2])
        ]
        return sorted(found, key=lambda stock: stock.written)

    def collect(self, core: str) -> tuple[int, int]:
        """Remove what can no longer be found: other cores, and all but the newest code of each measure of this one.

        Also removes files that an interrupted process left half-written. Returns how many runs and bytes went.
        """
        stocks = self.shelves()
        newest = {stock.measure: stock for stock in stocks if stock.core == core[:_CODE]}
        gone = [stock for stock in stocks if newest.get(stock.measure) is not stock]
        for stock in gone:
            shutil.rmtree(stock.folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                stock.folder.parent.rmdir()  # the core's folder, if that was the last in it
        for stock in newest.values():
            for torn in stock.folder.glob(f"*/*{_TEMPORARY}"):
                torn.unlink(missing_ok=True)
        return sum(stock.runs for stock in gone), sum(stock.size for stock in gone)


@dataclass(frozen=True)
class Stock:
    """What one shelf holds: `size` in bytes, `written` as the time of its newest entry (seconds since 1970)."""

    folder: Path
    core: str
    measure: str
    runs: int
    size: int
    written: float

    @staticmethod
    def of(folder: Path) -> Stock:
        """The stock of a shelf's folder."""
        stats = [path.stat() for path in folder.glob(f"*/*{_SUFFIX}")]
        newest = max((s.st_mtime for s in stats), default=0.0)
        measure = folder.name.rpartition("-")[0]
        return Stock(folder, folder.parent.name, measure, len(stats), sum(s.st_size for s in stats), newest)


class Shelf:
    """The results of one measure by one core, by scenario. Threads and processes may share one."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._notice = store.notice
        self._folder = folder
        self._refused = False

    def get(self, scenario: Scenario) -> Measured | None:
        """What is kept for this scenario with its seed, or None. A damaged entry is removed, with a notice."""
        for path in self._entries(scenario):
            try:
                return _decode(_whole(path))
            except FileNotFoundError:  # somebody collects
                continue
            except (OSError, ValueError, pl.exceptions.PolarsError) as error:
                self._notice(f"{path}: {_line(error)}; the run is done again")
                with contextlib.suppress(OSError):
                    path.unlink()
        return None

    def put(self, scenario: Scenario, measured: Measured) -> bool:
        """Keep a result; whether it could be. A folder that cannot be written is told once and stops no sweep."""
        data = _encode(measured)
        path = self._place(scenario) / f"{scenario.hash}.{_digest(data)}{_SUFFIX}"
        try:
            _write(path, data)
        except OSError as error:
            if not self._refused:
                self._refused = True
                self._notice(f"{path}: cannot write: {_line(error)}; results are not kept")
            return False
        return True

    def _place(self, scenario: Scenario) -> Path:
        return self._folder / scenario.hash[:2]

    def _entries(self, scenario: Scenario) -> Sequence[Path]:
        return sorted(self._place(scenario).glob(f"{scenario.hash}.*{_SUFFIX}"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_CODE]


def _whole(path: Path) -> bytes:
    """An entry's bytes. Raises `ValueError` when they are not those that its name says."""
    data = path.read_bytes()
    if _digest(data) != path.name.split(".")[1]:
        raise ValueError("it is not as it was written")
    return data


def _write(path: Path, data: bytes) -> None:
    """A whole file or none: written beside its place, then renamed. Tried twice, as somebody may collect the folder."""
    for attempt in itertools.count(1):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except FileNotFoundError:
            if attempt == 2:
                raise
        else:
            return


def _encode(measured: Measured) -> bytes:
    columns: dict[str, Any] = {name: pl.Series([value], dtype=_dtype(value)) for name, value in measured.row.items()}
    for name, frame in measured.frames.items():
        columns[f"{_FRAME}{name}"] = frame.to_struct(name).implode()
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _decode(data: bytes) -> Measured:
    frame = pl.read_parquet(io.BytesIO(data))
    row: dict[str, Value] = {}
    frames: dict[str, pl.DataFrame] = {}
    for name in frame.columns:
        if name.startswith(_FRAME):
            frames[name.removeprefix(_FRAME)] = frame[name].explode(empty_as_null=False).struct.unnest()
        else:
            row[name] = frame[name][0]
    return Measured(row, frames)


def _dtype(value: Value) -> pl.DataType:
    match value:
        case None:
            return pl.Null()
        case bool():
            return pl.Boolean()
        case int():
            return pl.UInt64() if value > 2**63 - 1 else pl.Int64()
        case float():
            return pl.Float64()
        case str():
            return pl.String()


def plain(row: Mapping[str, Any]) -> dict[str, Value]:
    """A row as it comes back from a store: numpy's scalars as Python's. Raises `TypeError` for what is no value."""
    values: dict[str, Value] = {}
    for name, value in row.items():
        own: Any = value.item() if isinstance(value, np.generic) else value
        if not (own is None or isinstance(own, (bool, int, float, str))):
            raise TypeError(f"a measure is a number, a text, a truth or None; {name} is {type(value).__name__}")
        if name.startswith(_FRAME):
            raise TypeError(f"{name}: names of measures do not begin with {_FRAME!r}")
        values[name] = own
    return values


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.is_dir())


def _is_code(name: str) -> bool:
    return len(name) == _CODE and set(name) <= set("0123456789abcdef")


def _line(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error).splitlines()[0].lower() if str(error) else type(error).__name__
