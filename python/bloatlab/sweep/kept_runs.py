"""One run reduced, as it is kept: alone, as bytes in a journal; with others of the same shape, as a row of a part.

A part is a table of one row per run: `run.hash` (of the scenario with its seed), `run.seed`, `run.name`, `run.written`
(seconds since 1970), `run.scenario` (canonical JSON); then each measure, and each kept frame as a list of structs under
`frame.NAME`. Runs whose measures differ in name or type have no table in common: values come back as they went in.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl

from bloatlab.files import parquet

#: One measured value. Infinity is what never happened, NaN what does not apply, None what does not exist.
Value = float | int | str | bool | None

FRAME = "frame."
RUN = "run."
#: What a part says of each run besides what was measured.
ABOUT = ("run.hash", "run.seed", "run.name", "run.written", "run.scenario")

_HEAD = struct.Struct("<64sI")


@dataclass(frozen=True)
class Measured:
    """One run reduced: a row of values, and the frames that figures draw."""

    row: Mapping[str, Value]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """What was measured, the scenario (its hash, its canonical JSON) that it was measured of, and when."""

    hash: str
    scenario: str
    written: float
    measured: Measured


def plain(row: Mapping[str, Any]) -> dict[str, Value]:
    """A row as it comes back from a store: numpy's scalars as Python's. Raises `TypeError` for what is no value."""
    if not isinstance(cast("object", row), Mapping):
        raise TypeError(f"a measure returns numbers by name, not {type(row).__name__}")
    values: dict[str, Value] = {}
    for name, value in row.items():
        own: Any = value.item() if isinstance(value, np.generic) else value
        if not (own is None or isinstance(own, (bool, int, float, str))):
            raise TypeError(f"a measure is a number, a text, a truth or None; {name} is {type(value).__name__}")
        for reserved in (FRAME, RUN):
            if name.startswith(reserved):
                raise TypeError(f"{name}: names of measures do not begin with {reserved!r}")
        values[name] = own
    return values


def packed(kept: Kept) -> bytes:
    """A run as bytes: the hash of its scenario, what else is said of it as compressed JSON, its frames as Parquet."""
    frames = {name: parquet(frame, statistics=False) for name, frame in kept.measured.frames.items()}
    about = [kept.scenario, kept.written, dict(kept.measured.row), {k: len(v) for k, v in frames.items()}]
    head = zlib.compress(json.dumps(about).encode(), 1)
    return b"".join([_HEAD.pack(kept.hash.encode(), len(head)), head, *frames.values()])


def hash_of(data: bytes) -> str:
    """Of the run that `packed` made bytes of, the hash of its scenario."""
    return data[:64].decode()


def unpacked(data: bytes) -> Kept:
    """The run that `packed` made bytes of."""
    end = _HEAD.size + _HEAD.unpack_from(data)[1]
    scenario, written, row, lengths = json.loads(zlib.decompress(data[_HEAD.size : end]))
    frames: dict[str, pl.DataFrame] = {}
    for frame, length in lengths.items():
        frames[frame] = pl.read_parquet(io.BytesIO(data[end : end + length]))
        end += length
    return Kept(hash_of(data), scenario, written, Measured(row, frames))


def tables(kept: Sequence[Kept]) -> list[pl.DataFrame]:
    """Runs as parts: one table for each shape, in the order in which the shapes come."""
    by_names: dict[Any, list[_Shape]] = {}
    for run in kept:
        frames = {name: frame.schema for name, frame in run.measured.frames.items()}
        key = (tuple(run.measured.row), tuple((name, tuple(schema.items())) for name, schema in frames.items()))
        shapes = by_names.setdefault(key, [])
        types = [_dtype(value) for value in run.measured.row.values()]
        if not any(shape.takes(run, types) for shape in shapes):
            shapes.append(_Shape(types, [run]))
    return [shape.table() for shapes in by_names.values() for shape in shapes]


@dataclass
class _Shape:
    """Runs that agree in the names of what was measured and, where they have values, in their types."""

    types: list[type[pl.DataType] | None]
    runs: list[Kept]

    def takes(self, run: Kept, types: Sequence[type[pl.DataType] | None]) -> bool:
        """Whether `run` belongs here; if so, it is taken."""
        if types != self.types:
            if any(a is not None and b is not None and a != b for a, b in zip(types, self.types, strict=True)):
                return False
            self.types = [a if a is not None else b for a, b in zip(self.types, types, strict=True)]
        self.runs.append(run)
        return True

    def table(self) -> pl.DataFrame:
        """All of them. What has no value in any run is a number that does not exist."""
        scenarios = [json.loads(run.scenario) for run in self.runs]
        columns = [
            pl.Series("run.hash", [run.hash for run in self.runs], pl.String),
            pl.Series("run.seed", [s["seed"] for s in scenarios], pl.UInt64),
            pl.Series("run.name", [s["name"] for s in scenarios], pl.String),
            pl.Series("run.written", [run.written for run in self.runs], pl.Float64),
            pl.Series("run.scenario", [run.scenario for run in self.runs], pl.String),
        ]
        rows = [run.measured.row for run in self.runs]
        for name, kind in zip(rows[0], self.types, strict=True):
            columns.append(pl.Series(name, [row[name] for row in rows], kind or pl.Float64))
        for name in self.runs[0].measured.frames:
            lists = [run.measured.frames[name].to_struct(name).implode() for run in self.runs]
            columns.append(pl.concat(lists).alias(f"{FRAME}{name}"))
        return pl.DataFrame(columns)


def _dtype(value: Value) -> type[pl.DataType] | None:
    match value:
        case None:
            return None
        case bool():
            return pl.Boolean
        case int():
            return pl.UInt64 if value > 2**63 - 1 else pl.Int64
        case float():
            return pl.Float64
        case str():
            return pl.String


class Rows:
    """The runs of one part, read without their scenarios: made Python values a block at a time, when asked for."""

    BLOCK = 256

    def __init__(self, table: pl.DataFrame) -> None:
        self._values = table.select(pl.exclude([n for n in table.columns if n.startswith((FRAME, RUN))]))
        self._frames = {n.removeprefix(FRAME): table[n] for n in table.columns if n.startswith(FRAME)}
        self._blocks: dict[int, list[tuple[Value, ...]]] = {}

    def measured(self, place: int) -> Measured:
        """Run `place` of the part."""
        block, within = divmod(place, self.BLOCK)
        if block not in self._blocks:
            self._blocks[block] = self._values.slice(block * self.BLOCK, self.BLOCK).rows()
        values = self._blocks[block][within] if self._values.width else ()
        row = dict(zip(self._values.columns, values, strict=True))
        frames = {name: column[place].struct.unnest() for name, column in self._frames.items()}
        return Measured(row, frames)
