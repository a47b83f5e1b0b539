"""Runs by the thousand: Parquet files that never change, the list of those that count, how journals become parts.

    FOLDER/parts.json                {"parts": [{"file": ..., "runs": ..., "bytes": ...}], "taken": [journals]}
    FOLDER/DIGEST.parquet            a part, named by the SHA-256 of its bytes
    FOLDER/RANDOM.journal            fresh runs (see `journal`)
    FOLDER/lock                      held by a process while it changes the list
    FOLDER/NAME.damaged              a file that was not as it was written, moved aside

The list is written aside and renamed: whatever a killed process leaves, the list before or the list after holds. A part
that the list does not name is removed by the next process that changes the list, if all its runs are in parts that are
named. Journals in `taken` are in the parts already.

A file is removed only when its runs are in another. Damage is moved aside. A file that cannot be read (`OSError`) is
neither.
"""

from __future__ import annotations

import contextlib
import errno
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

from bloatlab import files
from bloatlab.sweep import journal
from bloatlab.sweep.journal import Damaged
from bloatlab.sweep.kept_runs import Kept, Rows, hash_of, tables, unpacked

LIST = "parts.json"
LOCK = "lock"
SUFFIX = ".parquet"
TEMPORARY = ".writing"
DAMAGED = ".damaged"
#: Hexadecimal digits of a part's name.
DIGITS = 32

#: Parts grow to so many runs by being joined with others; a damaged one costs no more than these.
MOST_RUNS = 16384
#: Abandoned journals, or runs in them, from which on it is worth making parts of them without being asked.
MANY_JOURNALS = 8
MANY_RUNS = 4096


@dataclass(frozen=True, slots=True)
class Part:
    """One file of runs. Reading it raises `OSError` where it cannot be read, `Damaged` where it is not as written."""

    path: Path
    runs: int
    size: int

    def hashes(self) -> list[str]:
        """Of each run, the hash of its scenario. Damage elsewhere in the file is not always noticed."""
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
        if size != self.size:
            raise Damaged(f"it has {size} bytes, not {self.size}")
        try:
            return pl.read_parquet(self.path, columns=["run.hash"], glob=False)["run.hash"].to_list()
        except pl.exceptions.PolarsError as error:
            raise Damaged(line(error)) from None

    def rows(self) -> Rows:
        """What was measured."""
        data = self.read()
        names = pl.read_parquet_schema(io.BytesIO(data))
        return Rows(pl.read_parquet(io.BytesIO(data), columns=[n for n in names if n != "run.scenario"]))

    def table(self) -> pl.DataFrame:
        """All of it."""
        return pl.read_parquet(io.BytesIO(self.read()))

    def read(self) -> bytes:
        """Its bytes."""
        data = self.path.read_bytes()
        if _digest(data) != self.path.stem:
            raise Damaged("it is not as it was written")
        return data

    def check(self) -> None:
        """Compare its bytes with its name, without holding them all."""
        with self.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS] != self.path.stem:
                raise Damaged("it is not as it was written")


@dataclass(frozen=True, slots=True)
class Listed:
    """The parts that count, and the journals whose runs are in them."""

    parts: tuple[Part, ...] = ()
    taken: frozenset[str] = frozenset()


def listed(folder: Path) -> Listed:
    """The list of a folder. Raises `OSError`, and `Damaged` where there are parts and no list that says which count."""
    try:
        data: Any = json.loads((folder / LIST).read_bytes())
        parts = tuple(Part(folder / _own(p["file"], SUFFIX), int(p["runs"]), int(p["bytes"])) for p in data["parts"])
        return Listed(parts, frozenset(_own(name, journal.SUFFIX) for name in data["taken"]))
    except (FileNotFoundError, NotADirectoryError):
        if any(folder.glob(f"*{SUFFIX}")):
            raise Damaged("it is missing") from None
        return Listed()
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged("it is not as it was written") from None


def _own(name: Any, suffix: str) -> str:
    """The name of a file in the folder itself. Raises `ValueError`."""
    if not isinstance(name, str) or Path(name).name != name or not name.endswith(suffix):
        raise ValueError(name)
    return name


def opened(folder: Path, notice: Callable[[str], None]) -> Listed:
    """The list of a folder, made again from the parts if it is damaged. Raises `OSError`."""
    try:
        return listed(folder)
    except Damaged:
        with locked(folder, wait=True):
            return _mended(folder, notice)


def _mended(folder: Path, notice: Callable[[str], None]) -> Listed:
    """As `opened`, for the one who holds the lock."""
    try:
        return listed(folder)
    except Damaged as damage:
        found = Listed(tuple(_found(folder, notice)))
        if (folder / LIST).exists():
            notice(f"{folder / LIST}: {damage}; moved to {aside(folder / LIST).name}; made again from the parts")
        _list(folder, found.parts, [])
        return found


def _found(folder: Path, notice: Callable[[str], None]) -> Iterator[Part]:
    """The parts in a folder, the largest first, without those that were joined into others."""
    found: list[tuple[Part, set[str]]] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        part = Part(path, 0, path.stat().st_size)
        try:
            part.check()
            hashes = part.hashes()
        except Damaged as damage:
            _put_aside(part, damage, notice)
            continue
        found.append((Part(path, len(hashes), part.size), set(hashes)))
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
        before = _mended(folder, notice)
        for name in before.taken:  # left by one that was killed after the list was written
            (folder / name).unlink(missing_ok=True)
        sound = _sound(before.parts, notice)
        free = [path for path in journals(folder, before.taken) if held.enter_context(journal.abandoned(path))]
        fresh, damaged = _fresh(free, {name for hashes in sound.values() for name in hashes})
        new, old, bent = _joined(fresh, list(sound))
        parts = [*(part for part in sound if part not in old), *(_write(folder, table) for table in new)]
        whole = [path for path in free if path not in damaged]
        if new or old or free or before.taken or len(sound) < len(before.parts):
            _list(folder, parts, [path.name for path in whole])
        for part, damage in bent:
            _put_aside(part, damage, notice)
        for path in damaged:
            told = f"moved to {aside(path).name}; its whole runs are kept, the others are done again"
            notice(f"{path}: a run in it is not whole; {told}")
        for path in whole:
            path.unlink(missing_ok=True)
        _tidy(folder, parts, notice)
        if free:
            _list(folder, parts, [])


def _sound(parts: Sequence[Part], notice: Callable[[str], None]) -> dict[Part, list[str]]:
    """The hashes of each part. One that is damaged is moved aside, one that is gone is left out."""
    found: dict[Part, list[str]] = {}
    for part in parts:
        try:
            found[part] = part.hashes()
        except FileNotFoundError:
            notice(_told(part, "it is missing"))
        except Damaged as damage:
            _put_aside(part, damage, notice)
    return found


def _fresh(paths: Sequence[Path], known: set[str]) -> tuple[list[pl.DataFrame], list[Path]]:
    """What journals hold and no part does, as tables; and the journals that hold anything else than whole runs."""
    runs: list[Kept] = []
    damaged: list[Path] = []
    for path in paths:
        found, bent = journal.records(path)
        if bent:
            damaged.append(path)
        for _, data in found:
            name = hash_of(data)
            if name not in known:
                known.add(name)
                runs.append(unpacked(data))
    return tables(runs), damaged


def _joined(
    fresh: Sequence[pl.DataFrame], parts: Sequence[Part]
) -> tuple[list[pl.DataFrame], set[Part], list[tuple[Part, Damaged]]]:
    """Fresh tables, each with the small parts of the same columns that it outgrows; the parts that no longer count.

    The parts that turned out to be damaged come last, with how. A part is joined only with at least a quarter as many
    runs as it has, so that a run is written again a few times at most, however many sweeps there are.
    """
    new: list[pl.DataFrame] = []
    gone: set[Part] = set()
    bent: list[tuple[Part, Damaged]] = []
    schemas = {part: pl.read_parquet_schema(part.path) for part in parts if part.runs < MOST_RUNS} if fresh else {}
    for table in fresh:
        whole = table
        for part in sorted(schemas, key=lambda p: p.runs):
            if part in gone or schemas[part] != whole.schema or part.runs > 4 * whole.height:
                continue
            if part.runs + whole.height > MOST_RUNS:
                continue
            try:
                whole = pl.concat([part.table(), whole])
            except Damaged as damage:
                bent.append((part, damage))
            gone.add(part)
        new.append(whole)
    return new, gone, bent


def _write(folder: Path, table: pl.DataFrame) -> Part:
    data = files.parquet(table, statistics=True, row_group_size=MOST_RUNS)
    path = folder / f"{_digest(data)}{SUFFIX}"
    whole(path, data)
    return Part(path, table.height, len(data))


def _list(folder: Path, parts: Sequence[Part], taken: Sequence[str]) -> None:
    found = [{"file": part.path.name, "runs": part.runs, "bytes": part.size} for part in parts]
    whole(folder / LIST, json.dumps({"parts": found, "taken": list(taken)}, indent=1).encode())


def _tidy(folder: Path, parts: Sequence[Part], notice: Callable[[str], None]) -> None:
    """Remove what killed processes left: files half written, and parts whose runs are all in `parts`."""
    for path in folder.glob(f"*{TEMPORARY}"):
        path.unlink(missing_ok=True)
    named = {part.path for part in parts}
    others = [path for path in folder.glob(f"*{SUFFIX}") if path not in named]
    known = {name for part in parts for name in part.hashes()} if others else set[str]()
    for path in others:
        other = Part(path, 0, path.stat().st_size)
        try:
            other.check()
            if set(other.hashes()) <= known:
                path.unlink()
        except Damaged as damage:
            _put_aside(other, damage, notice)


def drop(part: Part, why: str, notice: Callable[[str], None]) -> None:
    """Take a damaged or missing part off the list and move it aside; its runs are done again."""
    try:
        with locked(part.path.parent, wait=True):
            now = _mended(part.path.parent, notice)
            _list(part.path.parent, [p for p in now.parts if p.path != part.path], sorted(now.taken))
            moved = f"; moved to {aside(part.path).name}" if part.path.exists() else ""
    except OSError as error:
        moved = f"; it cannot be moved aside: {line(error)}"
    notice(_told(part, f"{why}{moved}"))


def check(folder: Path, notice: Callable[[str], None]) -> None:
    """Read every byte of the parts; one that is damaged anywhere is moved aside. Raises `OSError`."""
    for part in opened(folder, notice).parts:
        try:
            part.check()
        except FileNotFoundError:  # another process joined it into a larger one
            continue
        except Damaged as damage:
            drop(part, str(damage), notice)


def _put_aside(part: Part, damage: Damaged, notice: Callable[[str], None]) -> None:
    notice(_told(part, f"{damage}; moved to {aside(part.path).name}"))


def _told(part: Part, why: str) -> str:
    runs = {0: "runs are", 1: "run is"}.get(part.runs, f"{part.runs} runs are")
    return f"{part.path}: {why}; its {runs} done again"


def aside(path: Path) -> Path:
    """Move a damaged file out of the way; returns its new name, which no other file has. Raises `OSError`."""
    for place in range(1, 1000):
        to = path.with_name(f"{path.name}{DAMAGED}" if place == 1 else f"{path.name}.{place}{DAMAGED}")
        if not to.exists():
            return path.rename(to)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


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
    return hashlib.sha256(data).hexdigest()[:DIGITS]
