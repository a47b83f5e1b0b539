"""Runs by the thousand: Parquet files that never change, the list of those that count, how journals become parts.

    FOLDER/parts.json                {"parts": [{"file": ..., "runs": ..., "bytes": ...}], "taken": [journals]}
    FOLDER/DIGEST.parquet            a part, named by the SHA-256 of its bytes
    FOLDER/RANDOM.journal            fresh runs (see `journal`)
    FOLDER/lock                      held by whoever changes the list

The list is written aside and renamed: whatever a killed process leaves, the list before or the list after holds, and
what neither names is removed by the next one that changes it. Journals in `taken` are in the parts already.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab.sweep import journal
from bloatlab.sweep.measured import Kept, Rows, hash_of, tables, unpacked

LIST = "parts.json"
LOCK = "lock"
SUFFIX = ".parquet"
TEMPORARY = ".writing"

#: Parts grow to so many runs by being joined with others; a damaged one costs no more than these.
MOST_RUNS = 16384
#: Abandoned journals, or runs in them, from which on it is worth making parts of them without being asked.
MANY_JOURNALS = 8
MANY_RUNS = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """One file of runs."""

    path: Path
    runs: int
    size: int

    def hashes(self) -> list[str]:
        """Of each run, the hash of its scenario."""
        return pl.read_parquet(self.path, columns=["run.hash"], glob=False)["run.hash"].to_list()

    def rows(self) -> Rows:
        """What was measured. Raises `ValueError` where the file is not as it was written."""
        data = self.read()
        names = pl.read_parquet_schema(io.BytesIO(data))
        return Rows(pl.read_parquet(io.BytesIO(data), columns=[n for n in names if n != "run.scenario"]))

    def table(self) -> pl.DataFrame:
        """All of it. Raises as `rows` does."""
        return pl.read_parquet(io.BytesIO(self.read()))

    def read(self) -> bytes:
        """Its bytes. Raises as `rows` does."""
        data = self.path.read_bytes()
        if _digest(data) != self.path.stem:
            raise ValueError("it is not as it was written")
        return data


@dataclass(frozen=True, slots=True)
class Listed:
    """The parts that count, and the journals whose runs are in them."""

    parts: tuple[Part, ...] = ()
    taken: frozenset[str] = frozenset()


def listed(folder: Path) -> Listed:
    """The list of a folder. One that is not there, or cannot be read, is made anew from the parts that are."""
    try:
        data: Any = json.loads((folder / LIST).read_bytes())
        parts = tuple(Part(folder / p["file"], p["runs"], p["bytes"]) for p in data["parts"])
        return Listed(parts, frozenset(data["taken"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Listed(tuple(_found(folder)))


def _found(folder: Path) -> Iterator[Part]:
    """The parts in a folder, the largest first, without those that were joined into others."""
    found: list[tuple[Part, set[str]]] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            hashes = Part(path, 0, 0).hashes()
            found.append((Part(path, len(hashes), path.stat().st_size), set(hashes)))
    known: set[str] = set()
    for part, hashes in sorted(found, key=lambda of: -of[0].runs):
        if not hashes <= known:
            yield part
        known |= hashes


def journals(folder: Path, taken: frozenset[str] = frozenset()) -> list[Path]:
    """The journals of a folder whose runs are in no part."""
    return [path for path in sorted(folder.glob(f"*{journal.SUFFIX}")) if path.name not in taken]


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool, reading: bool = False) -> Generator[bool]:
    """Nobody else changes the list within (nobody at all, for `reading`); whether that could be had."""
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield journal.lock(file, wait=wait, shared=reading)
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def compact(folder: Path, notice: Callable[[str], None], *, wait: bool = False) -> None:
    """Make parts of the journals that nobody writes to any more, and join small parts; remove what no longer counts.

    Without `wait`, nothing is done while another process does it. Raises `OSError`; then all is as it was.
    """
    if not folder.is_dir():
        return
    with locked(folder, wait=wait) as alone, contextlib.ExitStack() as held:
        if not alone:
            return
        before = listed(folder)
        for name in before.taken:  # left by one that was killed after the list was written
            (folder / name).unlink(missing_ok=True)
        free = [path for path in journals(folder, before.taken) if held.enter_context(journal.abandoned(path))]
        fresh = _fresh(free, before, notice)
        new, old = _joined(fresh, before.parts, notice)
        parts = [*(part for part in before.parts if part not in old), *(_write(folder, table) for table in new)]
        if new or old or free or before.taken:
            _list(folder, parts, [path.name for path in free])
        for path in free:
            path.unlink(missing_ok=True)
        _tidy(folder, {part.path.name for part in parts})
        if free:
            _list(folder, parts, [])


def _fresh(paths: Sequence[Path], before: Listed, notice: Callable[[str], None]) -> list[pl.DataFrame]:
    """What journals hold and no part does, as tables."""
    known: set[str] = set()
    for part in before.parts:
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            known.update(part.hashes())
    runs: list[Kept] = []
    for path in paths:
        found, damaged = journal.records(path)
        if damaged:
            notice(f"{path}: a run in it is not whole; it is done again")
        for _, data in found:
            name = hash_of(data)
            if name not in known:
                known.add(name)
                runs.append(unpacked(data))
    return tables(runs)


def _joined(
    fresh: Sequence[pl.DataFrame], parts: Sequence[Part], notice: Callable[[str], None]
) -> tuple[list[pl.DataFrame], set[Part]]:
    """Fresh tables, each with the small parts of the same columns that it outgrows; and the parts that are in them now.

    A part is joined only with at least a quarter as many runs as it has, so that a run is written again a few times
    at most, however many sweeps there are.
    """
    new: list[pl.DataFrame] = []
    gone: set[Part] = set()
    schemas: dict[Part, Any] = {}
    for part in parts:
        if part.runs < MOST_RUNS:
            try:
                schemas[part] = pl.read_parquet_schema(part.path)
            except (OSError, pl.exceptions.PolarsError):
                continue
    for table in fresh:
        whole = table
        for part in sorted(schemas, key=lambda p: p.runs):
            if part in gone or schemas[part] != whole.schema or part.runs > 4 * whole.height:
                continue
            if part.runs + whole.height > MOST_RUNS:
                continue
            try:
                whole = pl.concat([part.table(), whole])
            except (OSError, ValueError, pl.exceptions.PolarsError) as error:
                notice(f"{part.path}: {line(error)}; its {part.runs} runs are done again")
            gone.add(part)
        new.append(whole)
    return new, gone


def _write(folder: Path, table: pl.DataFrame) -> Part:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=True, row_group_size=MOST_RUNS)
    data = buffer.getvalue()
    path = folder / f"{_digest(data)}{SUFFIX}"
    whole(path, data)
    return Part(path, table.height, len(data))


def _list(folder: Path, parts: Sequence[Part], taken: Sequence[str]) -> None:
    found = [{"file": part.path.name, "runs": part.runs, "bytes": part.size} for part in parts]
    whole(folder / LIST, json.dumps({"parts": found, "taken": list(taken)}, indent=1).encode())


def _tidy(folder: Path, named: set[str]) -> None:
    for path in [*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{TEMPORARY}")]:
        if path.name not in named:
            path.unlink(missing_ok=True)


def drop(part: Part) -> None:
    """Take a damaged part off the list; its runs are done again."""
    folder = part.path.parent
    with locked(folder, wait=True):
        now = listed(folder)
        _list(folder, [p for p in now.parts if p.path != part.path], sorted(now.taken))
        part.path.unlink(missing_ok=True)


def whole(path: Path, data: bytes) -> None:
    """A whole file or none: written beside its place, brought to the disk, then renamed."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def line(error: Exception) -> str:
    """An error in a line."""
    strerror = getattr(error, "strerror", None)
    return str(strerror or error).splitlines()[0].lower() if str(error) else type(error).__name__


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
