"""The runs of each sweep, as a table in the store, so that they can be found by the sweep's name and axes.

    STORE/sweeps/DIGEST-SUM.parquet  axes, seed, scenario_hash; one row per run, in the order of the sweep

A sweep is a grid file with its `--set` overrides. DIGEST is a hash of the grid file's path and of the overrides. SUM is
the SHA-256 of the table's bytes (32 digits); earlier versions wrote no SUM. If a sweep is repeated, the new table
replaces the old one. The file's metadata contains `sweep` (a name unique in the store, without regard to case), `grid`
and `sets`.
"""

import functools
import hashlib
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bloatlab import files
from bloatlab.errors import nearest
from bloatlab.results import KNOWN_TABLES
from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.sweep import fingerprint, grid_file, parquet
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import At, labels
from bloatlab.sweep.pool import Point
from bloatlab.sweep.store import CODE, Store, reading

FOLDER = "sweeps"

#: Matches the name of a sweep's file. Files with other names are ignored.
_NAME = re.compile(rf"(?P<digest>[0-9a-f]{{16}})(-(?P<sum>[0-9a-f]{{{parquet.DIGITS}}}))?\{parquet.SUFFIX}")


@dataclass(frozen=True)
class Asked:
    """The runs of a sweep. `hashes` contains the hash of each run's scenario, in the order of the sweep.

    `path` is the file with the sweep's table.
    """

    name: str
    grid: Path
    sets: str
    path: Path
    hashes: Sequence[str]
    seeds: int
    written: float


def measure(tables: Sequence[str] = ()) -> Measure:
    """Returns the measure that a sweep stores for each run.

    The measure contains the numbers and flags of the run's summary (see `grid_file.flat`), and each table named in
    `tables` if the run has this table.

    Raises `GridError` for an unknown table.
    """
    if not tables:
        return grid_file.SUMMARY
    names = sorted(set(tables))
    if unknown := next((name for name in tables if name not in KNOWN_TABLES), None):
        hint = f"{nearest(unknown, KNOWN_TABLES)} ({', '.join(KNOWN_TABLES)})"
        raise grid_file.GridError(f"--keep {unknown}: no such table{hint}")
    return Measure(f"summary.{'.'.join(names)}", grid_file.summary, functools.partial(_tables, names))


def measures(store: Store) -> list[Measure]:
    """Returns the measures under which a sweep may have stored its runs.

    The first is the measure without tables. The others contain tables (`--keep`), and are found by the names of this
    core's folders in the store.
    """
    kept = sorted(path.name for path in (store.folder / fingerprint.core()[:CODE]).glob("summary.*"))
    tables = [name.removeprefix("summary.").rpartition("-")[0].rpartition("-")[0].split(".") for name in kept]
    return [measure(), *(measure(names) for names in tables if set(names) <= set(KNOWN_TABLES))]


def _tables(names: Sequence[str], result: Result) -> dict[str, pl.DataFrame]:
    return {name: result.tables[name] for name in names if name in result.tables}


def note(store: Store, grid: Path, sets: Sequence[Override], points: Sequence[Point[At]]) -> None:
    """Records the runs of a sweep. Raises `OSError`, `StoreUnreadable`."""
    grid = grid.resolve()
    words = " ".join(f"{path}={value}" for path, value in sets)
    digest = hashlib.sha256(f"{grid}\0{words}".encode(errors="surrogateescape")).hexdigest()[:16]
    name = files.utf_8(f"{grid.stem} {words}".strip())
    others = [other for other in asked(store) if not other.path.name.startswith(digest)]
    if any(other.name.casefold() == name.casefold() for other in others):
        name = f"{name} ({digest[:4]})"
    rows = [{**labels(p.key), "seed": p.seed, "scenario_hash": p.seeded().hash} for p in points]
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"seed": pl.UInt64}, strict=False)
    folder = store.folder / FOLDER
    files.make_folder(folder)
    data = files.parquet(table, metadata={"sweep": name, "grid": files.utf_8(str(grid)), "sets": words})
    path = folder / f"{digest}-{_sum(data)}{parquet.SUFFIX}"
    files.write(path, data, flush=True)
    for old in _files(folder):
        if old != path and old.name.startswith(digest):
            old.unlink(missing_ok=True)


def asked(store: Store) -> list[Asked]:
    """Returns the runs of each sweep, the latest sweep last.

    Damaged files are moved aside. Raises `StoreUnreadable`.
    """
    found: dict[str, Asked] = {}
    with reading(store.folder):
        for path in _files(store.folder / FOLDER):
            try:
                of, digest = _read(path), path.name[:16]
                # a process that was killed may have left two tables of a sweep
                found[digest] = max(of, found.get(digest, of), key=lambda table: table.written)
            except FileNotFoundError:
                continue
            except (KeyError, ValueError, pl.exceptions.PolarsError):
                try:
                    moved = f"moved to {parquet.aside(path).name}; its sweep writes it again"
                except OSError as error:
                    moved = f"it cannot be moved aside: {parquet.line(error)}"
                store.notice(f"{path}: it has changed since it was written; {moved}")
    return sorted(found.values(), key=lambda of: (of.written, of.name))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{parquet.SUFFIX}") if _NAME.fullmatch(path.name))


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[: parquet.DIGITS]


def _read(path: Path) -> Asked:
    """Reads a sweep's file. Raises `OSError`; `ValueError`, `KeyError` or an error of polars if it is damaged."""
    with path.open("rb") as file:
        written, data = os.fstat(file.fileno()).st_mtime, file.read()
    known = _NAME.fullmatch(path.name)
    if known is not None and known["sum"] not in {None, _sum(data)}:
        raise ValueError(path)
    about = pl.read_parquet_metadata(io.BytesIO(data))
    runs = pl.read_parquet(data, columns=["seed", "scenario_hash"])
    hashes, seeds = runs["scenario_hash"].to_list(), runs["seed"].n_unique()
    return Asked(about["sweep"], Path(about["grid"]), about["sets"], path, hashes, seeds, written)
