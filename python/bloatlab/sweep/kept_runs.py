"""Converts runs to the two formats in which they are stored: bytes in a journal, and a row in a file of many runs.

Such a file is called a part. It is a table with one row per run. Its columns are `run.hash` (of the scenario with its
seed), `run.seed`, `run.name`, `run.written` (seconds since 1970), `run.scenario` (canonical JSON), then each measure,
and each stored frame as a list of structs under `frame.NAME`. Runs whose measures or frames differ in name or type go
into different parts, so that values keep their types.
"""

import io
import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl

from bloatlab.files import parquet

#: A measured value. Infinity means that an event never happened, NaN that the value does not apply, None that there is
#: no value.
Value = float | int | str | bool | None

#: Prefixes of a part's columns: `FRAME` for the stored frames, `RUN` for the facts about a run.
FRAME = "frame."
RUN = "run."
_RESERVED = re.compile(r"^(frame\.|run\.).*", re.MULTILINE)

_HEAD = struct.Struct("<64sI")
_PLAIN = frozenset({type(None), bool, int, float, str})
_TYPES: Mapping[type, type[pl.DataType]] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}


@dataclass(frozen=True)
class Measured:
    """The measures of one run: a row of values, and the frames for the figures."""

    row: Mapping[str, Value]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """A stored run: its measures, the hash and the canonical JSON of its scenario, and the time of writing."""

    hash: str
    scenario: str
    written: float
    measured: Measured


def plain(row: Mapping[str, Any]) -> dict[str, Value]:
    """Converts numpy scalars to plain Python values, the form in which a store returns them.

    Raises `TypeError` for values of other types, for names that are not strings, and for reserved names.
    """
    if not isinstance(cast("object", row), Mapping):
        raise TypeError(f"a measure returns numbers by name, not {type(row).__name__}")
    for name in row:
        if not isinstance(cast("object", name), str):
            raise TypeError(f"the name of a measure is a string, not {name!r}")
    if (found := _RESERVED.search("\n".join(row))) is not None:
        raise TypeError(f"{found[0]}: names of measures do not begin with {found[1]!r}")
    if _PLAIN.issuperset(map(type, row.values())):
        return dict(row)
    values: dict[str, Value] = {}
    for name, value in row.items():
        own: Any = value.item() if isinstance(value, np.generic) else value
        if type(own) not in _PLAIN and not isinstance(own, (bool, int, float, str)):
            raise TypeError(f"a measure is a number, a string, true, false or None; {name} is {type(value).__name__}")
        values[name] = own
    return values


def packed(kept: Kept) -> bytes:
    """Packs a run into bytes.

    The bytes are the hash of the scenario and the length of the JSON; then, as compressed JSON, the scenario, the time
    of writing, the row of values and the length of each frame; then the frames as Parquet.
    """
    frames = {name: parquet(frame, statistics=False) for name, frame in kept.measured.frames.items()}
    about = [kept.scenario, kept.written, dict(kept.measured.row), {k: len(v) for k, v in frames.items()}]
    head = zlib.compress(json.dumps(about).encode(), 1)
    return b"".join([_HEAD.pack(kept.hash.encode(), len(head)), head, *frames.values()])


def hash_of(data: bytes) -> str:
    """Returns the hash of a packed run's scenario."""
    return data[:64].decode()


def unpacked(data: bytes) -> Kept:
    """Unpacks a run from the bytes made by `packed`."""
    end = _HEAD.size + _HEAD.unpack_from(data)[1]
    scenario, written, row, lengths = json.loads(zlib.decompress(data[_HEAD.size : end]))
    frames: dict[str, pl.DataFrame] = {}
    for frame, length in lengths.items():
        frames[frame] = pl.read_parquet(io.BytesIO(data[end : end + length]))
        end += length
    return Kept(hash_of(data), scenario, written, Measured(row, frames))


def tables(kept: Sequence[Kept]) -> list[pl.DataFrame]:
    """Makes the tables of new parts. Runs whose measures and frames have the same names and types share a table."""
    shapes: dict[Any, list[_Shape]] = {}
    for run in kept:
        frames = [(name, *frame.schema.items()) for name, frame in run.measured.frames.items()]
        of_names = shapes.setdefault((tuple(run.measured.row), tuple(frames)), [])
        types = [_type(value) for value in run.measured.row.values()]
        if not any(shape.takes(run, types) for shape in of_names):
            of_names.append(_Shape(types, [run]))
    return [shape.table() for of_names in shapes.values() for shape in of_names]


@dataclass
class _Shape:
    """Runs whose measures and frames have the same names. All values of a measure have one type, or are missing."""

    types: list[type[pl.DataType] | None]
    runs: list[Kept]

    def takes(self, run: Kept, types: Sequence[type[pl.DataType] | None]) -> bool:
        """Adds `run` if its types fit; returns whether they do."""
        if types != self.types:
            if any(a is not None and b is not None and a != b for a, b in zip(types, self.types, strict=True)):
                return False
            self.types = [a or b for a, b in zip(self.types, types, strict=True)]
        self.runs.append(run)
        return True

    def table(self) -> pl.DataFrame:
        """Makes the table of these runs. A measure that is missing in all runs becomes a column of floats."""
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


def _type(value: Value) -> type[pl.DataType] | None:
    """Returns the column type of a value; None for a missing value."""
    if isinstance(value, int) and value > 2**63 - 1:
        return pl.UInt64
    return None if value is None else _TYPES[type(value)]


class Rows:
    """The runs of a part, without their scenarios. They are converted to plain Python values on demand, in blocks."""

    BLOCK = 256

    def __init__(self, table: pl.DataFrame) -> None:
        self._values = table.select(pl.exclude([n for n in table.columns if n.startswith((FRAME, RUN))]))
        self._frames = {n.removeprefix(FRAME): table[n] for n in table.columns if n.startswith(FRAME)}
        self._blocks: dict[int, list[tuple[Value, ...]]] = {}

    def measured(self, place: int) -> Measured:
        """Returns the measures of the run in row `place` of the part."""
        block, within = divmod(place, self.BLOCK)
        if block not in self._blocks:
            self._blocks[block] = self._values.slice(block * self.BLOCK, self.BLOCK).rows()
        values = self._blocks[block][within] if self._values.width else ()
        row = dict(zip(self._values.columns, values, strict=True))
        return Measured(row, {name: column[place].struct.unnest() for name, column in self._frames.items()})
