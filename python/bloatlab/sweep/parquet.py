"""Parts: Parquet files of many runs that never change, and the list of the parts that count.

    FOLDER/parts.json                {"parts": [{"file": ..., "runs": ..., "bytes": ...}], "taken": [journals]}
    FOLDER/DIGEST.parquet            a part, named after the SHA-256 of its bytes
    FOLDER/RANDOM.journal            fresh runs (see `journal`)
    FOLDER/lock                      locked by a process while it changes the list
    FOLDER/NAME.damaged              a damaged file, moved aside

The list is written to a temporary file and renamed, so a killed process leaves either the old list or the new one. The
next process that changes the list removes parts that it does not name, if all their runs are in parts that it names.
The runs of the journals in `taken` are in parts already.

A file is removed only when its runs are in another file. Damaged files are moved aside. A file that cannot be read
(`OSError`) counts as neither.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Generator, Iterable, Sequence
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

#: Largest number of runs in a part that is joined from others, which limits the loss if it is damaged.
MOST_RUNS = 16384
#: Numbers of abandoned journals, and of runs in them, from which they are made into parts when the store is opened.
MANY_JOURNALS = 8
MANY_RUNS = 4096

#: Receives one line about a file that cannot be used.
Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Part:
    """A file of runs. Its methods raise `OSError` if it cannot be read, `Damaged` if it has changed."""

    path: Path
    runs: int
    size: int

    def hashes(self) -> list[str]:
        """The hash of each run's scenario. Damage elsewhere in the file may go unnoticed."""
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
        if size != self.size:
            raise Damaged(f"it has {size} bytes, not {self.size}")
        try:
            return pl.read_parquet(self.path, columns=["run.hash"], glob=False)["run.hash"].to_list()
        except pl.exceptions.PolarsError as error:
            raise Damaged(line(error)) from None

    def rows(self) -> Rows:
        """The measures of its runs."""
        return Rows(pl.scan_parquet(self.read()).drop("run.scenario").collect())

    def table(self) -> pl.DataFrame:
        """The whole table."""
        return pl.read_parquet(self.read())

    def read(self) -> bytes:
        """The bytes of the file, compared with its name."""
        data = self.path.read_bytes()
        if _digest(data) != self.path.stem:
            raise Damaged("it is not as it was written")
        return data

    def check(self) -> None:
        """Compares the bytes of the file with its name, without holding them all in memory."""
        with self.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS] != self.path.stem:
                raise Damaged("it is not as it was written")


@dataclass(frozen=True, slots=True)
class Listed:
    """The parts that count, and the journals whose runs are in them."""

    parts: tuple[Part, ...] = ()
    taken: frozenset[str] = frozenset()


def listed(folder: Path) -> Listed:
    """The list of a folder. Raises `OSError`, and `Damaged` if the list is damaged, or missing although parts exist."""
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


def opened(folder: Path, notice: Notice, *, alone: bool = False) -> Listed:
    """The list of a folder; a damaged one is rebuilt from the parts. Raises `OSError`.

    `alone`: the caller holds the lock.
    """
    with contextlib.suppress(Damaged):
        return listed(folder)
    if not alone:
        with locked(folder, wait=True):
            return opened(folder, notice, alone=True)
    parts: list[Part] = []
    known: set[str] = set()
    sound = _sound(_files(folder), notice, whole=True)
    for part, hashes in sorted(sound.items(), key=lambda of: -len(of[1])):
        if not known.issuperset(hashes):  # otherwise it was joined into another
            parts.append(Part(part.path, len(hashes), part.size))
        known.update(hashes)
    if (folder / LIST).exists():
        damage = f"it is not as it was written; moved to {aside(folder / LIST).name}; made again from the parts"
        notice(f"{folder / LIST}: {damage}")
    _list(folder, parts, [])
    return Listed(tuple(parts))


def _files(folder: Path) -> Iterable[Part]:
    """The part files of a folder, whether listed or not, with unknown numbers of runs."""
    return [Part(path, 0, path.stat().st_size) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def journals(folder: Path, taken: frozenset[str] = frozenset()) -> list[Path]:
    """The journals of a folder whose runs are in no part."""
    return [path for path in sorted(folder.glob(f"*{journal.SUFFIX}")) if path.name not in taken]


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool, reading: bool = False) -> Generator[bool]:
    """Locks the list within this context, against changes by others (`reading`: by anyone); false if it was locked."""
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield journal.lock(file, wait=wait, shared=reading)
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def compact(folder: Path, notice: Notice, *, wait: bool = False) -> None:
    """Makes parts of the abandoned journals, joins small parts, and removes files that no longer count.

    Without `wait`, does nothing while another process does it. Raises `OSError`, and changes nothing then.
    """
    if not folder.is_dir():
        return
    with locked(folder, wait=wait) as alone, contextlib.ExitStack() as held:
        if not alone:
            return
        before = opened(folder, notice, alone=True)
        for name in before.taken:  # left by a process that was killed after it wrote the list
            (folder / name).unlink(missing_ok=True)
        sound = _sound(before.parts, notice)
        free = [path for path in journals(folder, before.taken) if held.enter_context(journal.abandoned(path))]
        runs, damaged = fresh(free, {name for hashes in sound.values() for name in hashes})
        new, joined = _joined(tables(runs), sound, notice)
        parts = [*(part for part in sound if part not in joined), *(_write(folder, table) for table in new)]
        whole = [path for path in free if path not in damaged]
        if new or joined or free or before.taken or len(sound) < len(before.parts):
            _list(folder, parts, [path.name for path in whole])
        for path in damaged:
            moved = f"moved to {aside(path).name}; its whole runs are kept, the others are done again"
            notice(f"{path}: a run in it is not whole; {moved}")
        for path in whole:
            path.unlink(missing_ok=True)
        _tidy(folder, parts, notice)
        if free:
            _list(folder, parts, [])


def fresh(paths: Iterable[Path], known: set[str]) -> tuple[list[Kept], list[Path]]:
    """The runs in journals that are not among `known`, each once; and the journals with other content than runs."""
    runs: list[Kept] = []
    damaged: list[Path] = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # its runs are in a part now
            found, bent = journal.records(path)
            damaged += [path] if bent else []
            for _, data in found:
                if (name := hash_of(data)) not in known:
                    known.add(name)
                    runs.append(unpacked(data))
    return runs, damaged


def _sound(parts: Iterable[Part], notice: Notice, *, whole: bool = False) -> dict[Part, list[str]]:
    """The hashes of each part; `whole` compares every byte. Damaged parts are moved aside, missing ones left out."""
    found: dict[Part, list[str]] = {}
    for part in parts:
        try:
            if whole:
                part.check()
            found[part] = part.hashes()
        except FileNotFoundError:
            notice(_repeated(part, "it is missing"))
        except Damaged as damage:
            notice(_repeated(part, f"{damage}; moved to {aside(part.path).name}"))
    return found


def _joined(new: Sequence[pl.DataFrame], parts: Iterable[Part], notice: Notice) -> tuple[list[pl.DataFrame], set[Part]]:
    """Joins new tables with small parts of the same columns. Returns the tables, and the parts that they replace.

    A part is joined only with at least a quarter as many runs as it has. So a run is rewritten only a few times,
    however many sweeps there are.
    """
    joined: list[pl.DataFrame] = []
    gone: set[Part] = set()
    schemas = {part: pl.read_parquet_schema(part.path) for part in parts if part.runs < MOST_RUNS} if new else {}
    for table in new:
        for part in sorted(schemas, key=lambda p: p.runs):
            small = part.runs <= 4 * table.height and part.runs + table.height <= MOST_RUNS
            if small and part not in gone and schemas[part] == table.schema:
                gone.add(part)
                try:
                    table = pl.concat([part.table(), table])  # noqa: PLW2901
                except Damaged as damage:
                    notice(_repeated(part, f"{damage}; moved to {aside(part.path).name}"))
        joined.append(table)
    return joined, gone


def _write(folder: Path, table: pl.DataFrame) -> Part:
    data = files.parquet(table, statistics=True, row_group_size=MOST_RUNS)
    path = folder / f"{_digest(data)}{SUFFIX}"
    whole(path, data)
    return Part(path, table.height, len(data))


def _list(folder: Path, parts: Sequence[Part], taken: Sequence[str]) -> None:
    found = [{"file": part.path.name, "runs": part.runs, "bytes": part.size} for part in parts]
    whole(folder / LIST, json.dumps({"parts": found, "taken": list(taken)}, indent=1).encode())


def _tidy(folder: Path, parts: Sequence[Part], notice: Notice) -> None:
    """Removes the remains of killed processes: incomplete files, and parts whose runs are all in `parts`."""
    for path in folder.glob(f"*{TEMPORARY}"):
        path.unlink(missing_ok=True)
    named = {part.path for part in parts}
    if others := [part for part in _files(folder) if part.path not in named]:
        known = {name for part in parts for name in part.hashes()}
        for part, hashes in _sound(others, notice, whole=True).items():
            if known.issuperset(hashes):
                part.path.unlink()


def drop(part: Part, why: str, notice: Notice) -> None:
    """Removes a damaged or missing part from the list and moves it aside; its runs are repeated."""
    folder = part.path.parent
    try:
        with locked(folder, wait=True):
            now = opened(folder, notice, alone=True)
            _list(folder, [p for p in now.parts if p.path != part.path], sorted(now.taken))
            moved = f"; moved to {aside(part.path).name}" if part.path.exists() else ""
    except OSError as error:
        moved = f"; it cannot be moved aside: {line(error)}"
    notice(_repeated(part, f"{why}{moved}"))


def check(folder: Path, notice: Notice) -> None:
    """Reads every byte of the parts and moves damaged ones aside. Raises `OSError`."""
    for part in opened(folder, notice).parts:
        try:
            part.check()
        except FileNotFoundError:  # another process joined it into a larger one
            continue
        except Damaged as damage:
            drop(part, str(damage), notice)


def _repeated(part: Part, why: str) -> str:
    runs = {0: "runs are", 1: "run is"}.get(part.runs, f"{part.runs} runs are")
    return f"{part.path}: {why}; its {runs} done again"


def aside(path: Path) -> Path:
    """Renames a damaged file; returns its new name, which no other file has. Raises `OSError`."""
    for place in range(1, 1000):
        to = path.with_name(f"{path.name}{DAMAGED}" if place == 1 else f"{path.name}.{place}{DAMAGED}")
        if not to.exists():
            return path.rename(to)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def whole(path: Path, data: bytes) -> None:
    """Writes a file that is complete or does not exist: to a temporary file, flushed to the disk, then renamed."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def line(error: Exception) -> str:
    """An error's reason as one line."""
    strerror = getattr(error, "strerror", None)
    return str(strerror or error).splitlines()[0].lower() if str(error) else type(error).__name__


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
