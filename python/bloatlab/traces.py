"""Traces of a run's internal state (`trace`): tables of states, and the fates of packets as Parquet.

The core delivers both in chunks while it runs. States are collected into the result's tables `trace_links`,
`trace_queues` and `trace_flows`; packets are written immediately, one file per chunk, so that memory use does not grow.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab import files
from bloatlab.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    from bloatlab.lazy import np, pl

#: Subfolder of a result for its packets.
PACKETS = "packets"

#: The names of the captures of a run.
CAPTURES = ("left.pcap", "right.pcap")

#: The kinds of trace. The first three become tables of the result; packets are written to files.
KINDS = ("links", "queues", "flows", PACKETS)

#: Matches the names of the files of packets.
_OURS = re.compile(r"[0-9]{5,}\.parquet")

_NOTHING = {"uint64": 2**64 - 1, "uint8": 2}
_NO_WORD = 2**16 - 1


class Traces:
    """Collects the traces of one run, which the core delivers in chunks."""

    def __init__(self, packets: str | Path | None) -> None:
        """The folder `packets` is created with the first file, which replaces the packets of an earlier run.

        Raises `InputError` if the folder contains other files.
        """
        self._packets = None if packets is None else Path(packets)
        if self._packets is not None:
            check_no_others(self._packets)
        self._parts = 0
        self._frames: dict[str, list[pl.DataFrame]] = {}

    def __call__(self, table: str, columns: Mapping[str, Any]) -> None:
        """Stores a chunk of a table. Raises `OSError` if the chunk cannot be written."""
        frame = pl.DataFrame([_series(name, values) for name, values in columns.items()])
        if table != PACKETS:
            self._frames.setdefault(f"trace_{table}", []).append(frame)
        elif self._packets is not None:
            if self._parts == 0:
                remove_packets(self._packets)
            files.make_folder(self._packets)
            place = self._packets / f"{self._parts:05}.parquet"
            files.write(place, files.parquet(frame, statistics=True))
            self._parts += 1

    def tables(self) -> dict[str, pl.DataFrame]:
        """Returns the tables of traced states, by name. If the run had no packets, removes an earlier run's."""
        if self._packets is not None and self._parts == 0:
            remove_packets(self._packets)
        return {
            name: pl.concat(frames, how="diagonal").with_columns(pl.col(pl.Float64).fill_null(float("nan")))
            for name, frames in sorted(self._frames.items())
        }


def packets(folder: str | Path) -> pl.LazyFrame:
    """Returns the packets of a run as a lazy frame, because they may not fit in memory.

    `folder` is a result's folder, or the folder `packets` of `bloatlab.run`. Raises `FileNotFoundError` if it has none.
    """
    for place in (Path(folder) / PACKETS, Path(folder)):
        if parts := packet_files(place):
            return pl.scan_parquet(parts, glob=False)
    how = 'bloatlab run FILE -o DIR --trace packets, or bloatlab.run(FILE, packets=DIR, sets={"trace.packets": True})'
    raise FileNotFoundError(f"{folder}: has no packets; record them with {how}")


def check_named(option: str, folder: str | Path | None) -> None:
    """Raises `InputError` for an empty name, which would be the working folder."""
    if folder == "":
        raise InputError(f'{option}: "" is not valid; expected the path of a folder')


def check_no_others(packets: Path) -> None:
    """Raises `InputError` if a folder of packets has files that no run has written."""
    if others := [name for name in _names(packets) if not _OURS.fullmatch(name)]:
        raise InputError(f"{PACKETS} {packets}: already has {others[0]}; expected a new or empty folder")


def packet_files(packets: Path) -> list[Path]:
    """Returns the files that a run wrote into a folder of packets, in order. Raises `OSError`."""
    return [packets / name for name in _names(packets) if _OURS.fullmatch(name)]


def remove_packets(packets: Path) -> None:
    """Removes the files that an earlier run wrote into a folder of packets, and then the folder if it is empty.

    Raises `OSError`.
    """
    for path in packet_files(packets):
        path.unlink()
    with contextlib.suppress(OSError):  # other files are in it, or it does not exist
        packets.rmdir()


def _names(folder: Path) -> list[str]:
    """Returns the names of the files in a folder, in order. Raises `OSError`."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _series(name: str, values: Any) -> pl.Series:
    """Makes a column from the values of a chunk.

    A missing value is NaN in a column of floats, as in every table, and null in columns of integers, booleans and
    strings.
    """
    if isinstance(values, tuple):
        places, words = values
        of = pl.Series(name, [*words, None], dtype=pl.String)
        return of.gather(np.where(places == _NO_WORD, len(words), places))
    column = pl.Series(name, values)
    if name in {"flow", "connection"}:
        column = column.cast(pl.UInt64)
    nothing = _NOTHING.get(values.dtype.name)
    if nothing is not None:
        column = column.set(column == nothing, None)
    return column.cast(pl.Boolean) if values.dtype == np.uint8 else column
