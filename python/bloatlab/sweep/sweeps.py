"""Which runs a sweep asked for: a table per sweep in the store, so that its runs can be found by its name and its axes.

    STORE/sweeps/DIGEST.parquet      axes, seed, scenario_hash; one row per run, in the order of the sweep

A sweep is a grid file with what was laid over it by `--set`; the latest call with these replaces the one before. DIGEST
names both. The file says them in its metadata: `sweep`, a name that tells it from others in the store, `grid`, `sets`.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bloatlab import files
from bloatlab.scenario import Override
from bloatlab.simulation import Result
from bloatlab.sweep import grid_file, parquet
from bloatlab.sweep.gather import Measure
from bloatlab.sweep.grid import At, labels
from bloatlab.sweep.pool import Point
from bloatlab.sweep.store import Store, reading

FOLDER = "sweeps"


@dataclass(frozen=True)
class Asked:
    """What a sweep asked for: `hashes` of its runs' scenarios, in its order; `table` reads axes, seeds and hashes."""

    name: str
    grid: Path
    sets: str
    path: Path
    hashes: Sequence[str]
    seeds: int
    written: float

    def table(self) -> pl.DataFrame:
        """Axes, seed, scenario_hash."""
        return pl.read_parquet(self.path)


def measure(tables: Sequence[str] = ()) -> Measure:
    """What a sweep keeps of each run: every number of its summary, and these of its tables, as far as it has them."""
    if not tables:
        return grid_file.SUMMARY
    names = sorted(set(tables))
    return Measure(f"summary.{'.'.join(names)}", grid_file.summary, functools.partial(_tables, names))


def _tables(names: Sequence[str], result: Result) -> dict[str, pl.DataFrame]:
    return {name: result.tables[name] for name in names if name in result.tables}


def note(store: Store, grid: Path, sets: Sequence[Override], points: Sequence[Point[At]]) -> None:
    """Write down what a sweep asks for. Raises `OSError`, `StoreUnreadable`."""
    grid = grid.resolve()
    words = " ".join(f"{path}={value}" for path, value in sets)
    digest = hashlib.sha256(f"{grid}\0{words}".encode()).hexdigest()[:16]
    path = store.folder / FOLDER / f"{digest}{parquet.SUFFIX}"
    name = " ".join([grid.stem, words]).strip()
    if any(other.name == name and other.path != path for other in asked(store)):
        name = f"{name} ({digest[:4]})"
    rows = [{**labels(p.key), "seed": p.seed, "scenario_hash": p.seeded().hash} for p in points]
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"seed": pl.UInt64}, strict=False)
    about = {"sweep": name, "grid": str(grid), "sets": words}
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.whole(path, files.parquet(table, metadata=about))


def asked(store: Store) -> list[Asked]:
    """What sweeps asked for, the latest last; a damaged file is moved aside. Raises `StoreUnreadable`."""
    found: list[Asked] = []
    with reading(store.folder):
        for path in sorted((store.folder / FOLDER).glob(f"*{parquet.SUFFIX}")):
            try:
                found.append(_read(path))
            except FileNotFoundError:
                continue
            except (KeyError, ValueError, pl.exceptions.PolarsError):
                store.notice(_damaged(path))
    return sorted(found, key=lambda of: (of.written, of.name))


def _read(path: Path) -> Asked:
    with path.open("rb") as file:
        written = os.fstat(file.fileno()).st_mtime
    about = pl.read_parquet_metadata(path)
    runs = pl.read_parquet(path, columns=["seed", "scenario_hash"], glob=False)
    hashes, seeds = runs["scenario_hash"].to_list(), runs["seed"].n_unique()
    return Asked(about["sweep"], Path(about["grid"]), about["sets"], path, hashes, seeds, written)


def _damaged(path: Path) -> str:
    try:
        moved = f"moved to {parquet.aside(path).name}; its sweep writes it again"
    except OSError as error:
        moved = f"it cannot be moved aside: {parquet.line(error)}"
    return f"{path}: it is not as it was written; {moved}"
