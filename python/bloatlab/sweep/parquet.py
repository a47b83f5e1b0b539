"""Parts: Parquet files of many runs. A part never changes.

    FOLDER/DIGEST.parquet            a part, named after the SHA-256 of its bytes
    FOLDER/RANDOM.journal            fresh runs (see `journal`)
    FOLDER/lock                      locked while a process makes, joins, moves or queries parts
    FOLDER/NAME.damaged              a damaged file, moved aside

A process writes a part under a temporary name, renames it, and then removes the files whose runs are in it. If the
process is killed in between, some runs are in two files. They count once, and the next process that compacts the
folder removes the files whose runs are all in other files.

A file is removed only when its runs are in another file. Damaged files are moved aside. A file that cannot be read
(`OSError`) is neither removed nor moved.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bloatlab import files
from bloatlab.sweep import journal
from bloatlab.sweep.journal import Damaged
from bloatlab.sweep.kept_runs import Kept, Rows, hash_of, tables, unpacked

LOCK = "lock"
SUFFIX = ".parquet"
DAMAGED = ".damaged"
#: Number of hexadecimal digits in a part's name.
DIGITS = 32

#: Maximum number of runs in a part that is joined from other parts, and so the maximum number of runs that are lost if
#: such a part is damaged.
MOST_RUNS = 16384
#: When the index of a shelf (a folder of results) is read, its journals are turned into parts if there are at least
#: `MANY_JOURNALS` journals, or if they contain at least `MANY_RUNS` runs.
MANY_JOURNALS = 8
MANY_RUNS = 4096

#: Receives one line about a file that cannot be used.
Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Part:
    """A file of runs, and its size in bytes. Methods raise `OSError` if it cannot be read, `Damaged` if it changed."""

    path: Path
    size: int

    def hashes(self) -> list[str]:
        """Returns the hash of each run's scenario. Damage in other columns of the file may go unnoticed."""
        try:
            # raises an OSError if the file is unreadable; polars would raise the same error as for a damaged file
            self.path.open("rb").close()
            return pl.read_parquet(self.path, columns=["run.hash"], glob=False)["run.hash"].to_list()
        except pl.exceptions.PolarsError:
            raise Damaged("it has changed since it was written") from None

    def rows(self) -> Rows:
        """Returns the measures of the runs in this part."""
        return Rows(pl.scan_parquet(self.read()).drop("run.scenario").collect())

    def table(self) -> pl.DataFrame:
        """Returns the whole table."""
        return pl.read_parquet(self.read())

    def read(self) -> bytes:
        """Reads the file. Raises `Damaged` if the hash of its bytes differs from its name."""
        data = self.path.read_bytes()
        if _digest(data) != self.path.stem:
            raise Damaged("it has changed since it was written")
        return data

    def check(self) -> None:
        """Raises `Damaged` if the file's hash differs from its name. Reads the file in pieces, to use little memory."""
        with self.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS] != self.path.stem:
                raise Damaged("it has changed since it was written")


def parts(folder: Path) -> list[Part]:
    """Returns the parts of a folder.

    Raises `OSError`, in particular `FileNotFoundError` if another process is joining the parts.
    """
    return [Part(path, path.stat().st_size) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def journals(folder: Path) -> list[Path]:
    """Returns the journals in a folder."""
    return sorted(folder.glob(f"*{journal.SUFFIX}"))


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool, reading: bool = False) -> Generator[bool]:
    """Holds the lock of a folder within this context, so that no other process can change its parts.

    With `reading`, several processes can hold the lock at the same time, and none of them may change the parts.
    Without `wait`, yields false if another process holds the lock.
    """
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield files.lock(file, wait=wait, shared=reading)
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def compact(folder: Path, notice: Notice, *, wait: bool = False) -> None:
    """Turns the abandoned journals into parts, joins these with small parts, and removes unneeded files.

    Without `wait`, does nothing while another process is doing this work or has the parts open in `query.Views`.
    Raises `OSError`, but loses no run.
    """
    if not folder.is_dir():
        return
    with locked(folder, wait=wait) as alone, contextlib.ExitStack() as held:
        if not alone:
            return
        for path in folder.glob(f"*{files.WRITING}"):  # killed processes leave temporary files
            path.unlink(missing_ok=True)
        sound = _sound(parts(folder), notice)
        if len(kept := needed(sound)) < len(sound):
            sound = _sound(sound, notice, whole=True)
            kept = needed(sound)
            for part in sound:
                if part not in kept:
                    part.path.unlink()
        free = [path for path in journals(folder) if held.enter_context(journal.abandoned(path))]
        runs, damaged = fresh(free, {name for hashes in kept.values() for name in hashes})
        new, joined = _joined(tables(runs), kept, notice)
        written = {_write(folder, table) for table in new}
        for path in damaged:
            moved = f"moved to {aside(path).name}; its complete runs are kept, the others will be repeated"
            notice(f"{path}: a run in it is incomplete; {moved}")
        for path in [*free, *(part.path for part in joined if part.path not in written)]:
            path.unlink(missing_ok=True)


def needed(sound: Mapping[Part, list[str]]) -> dict[Part, list[str]]:
    """Returns the parts that are needed, with the hashes of their runs.

    A part is not needed if all its runs are in parts that are kept.
    """
    known: set[str] = set()
    kept: dict[Part, list[str]] = {}
    for part, hashes in sorted(sound.items(), key=lambda of: -len(of[1])):
        if not known.issuperset(hashes):
            kept[part] = hashes
        known.update(hashes)
    return kept


def fresh(paths: Iterable[Path], known: set[str]) -> tuple[list[Kept], list[Path]]:
    """Returns the runs in the journals, except runs with a hash in `known`, and the paths of damaged journals.

    Adds the hashes of the returned runs to `known`, so no run is returned twice. A journal with an incomplete record
    also counts as damaged.
    """
    runs: list[Kept] = []
    damaged: list[Path] = []
    for path in paths:
        # if a journal has vanished, another process has moved its runs into a part
        with contextlib.suppress(FileNotFoundError):
            found, bent = journal.records(path)
            damaged += [path] if bent else []
            for _, data in found:
                if (name := hash_of(data)) not in known:
                    known.add(name)
                    runs.append(unpacked(data))
    return runs, damaged


def _sound(of: Iterable[Part], notice: Notice, *, whole: bool = False) -> dict[Part, list[str]]:
    """Returns the undamaged parts, with the hashes of their runs.

    With `whole`, checks every byte. Moves damaged parts aside.
    """
    found: dict[Part, list[str]] = {}
    for part in of:
        try:
            if whole:
                part.check()
            found[part] = part.hashes()
        except Damaged as damage:
            notice(_repeated(part, f"{damage}; moved to {aside(part.path).name}"))
    return found


def _joined(
    new: Sequence[pl.DataFrame], old: Mapping[Part, list[str]], notice: Notice
) -> tuple[list[pl.DataFrame], set[Part]]:
    """Joins new tables with small parts that have the same columns. Returns the tables and the parts they replace.

    A part is joined only with a table of at least a quarter as many runs, so the number of times that a run is
    rewritten grows only as the logarithm of the size of its part.
    """
    joined: list[pl.DataFrame] = []
    gone: set[Part] = set()
    counts = {part: len(hashes) for part, hashes in old.items() if new and len(hashes) < MOST_RUNS}
    schemas = {part: pl.read_parquet_schema(part.path) for part in counts}
    for table in new:
        for part in sorted(counts, key=lambda p: counts[p]):
            small = counts[part] <= 4 * table.height and counts[part] + table.height <= MOST_RUNS
            if small and part not in gone and schemas[part] == table.schema:
                gone.add(part)
                try:
                    table = pl.concat([part.table(), table])  # noqa: PLW2901
                except Damaged as damage:
                    notice(_repeated(part, f"{damage}; moved to {aside(part.path).name}"))
        joined.append(table)
    return joined, gone


def _write(folder: Path, table: pl.DataFrame) -> Path:
    data = files.parquet(table, statistics=True, row_group_size=MOST_RUNS)
    path = folder / f"{_digest(data)}{SUFFIX}"
    files.write(path, data, flush=True)
    return path


def drop(part: Part, why: str, notice: Notice) -> None:
    """Moves a damaged part aside, and reports it. Sweeps that need the runs of the part will repeat them."""
    try:
        with locked(part.path.parent, wait=True):
            moved = f"moved to {aside(part.path).name}"
    except FileNotFoundError:  # another process has already moved the part
        return
    except OSError as error:
        moved = f"it cannot be moved aside: {line(error)}"
    notice(_repeated(part, f"{why}; {moved}"))


def check(folder: Path, notice: Notice) -> None:
    """Reads every byte of the parts, and moves damaged parts aside. Raises `OSError`."""
    for part in parts(folder):
        try:
            part.check()
        except FileNotFoundError:  # another process has merged this part into a larger part
            continue
        except Damaged as damage:
            drop(part, str(damage), notice)


def _repeated(part: Part, why: str) -> str:
    return f"{part.path}: {why}; its runs will be repeated"


def aside(path: Path) -> Path:
    """Renames a damaged file to a name that no other file has, and returns the new path. Raises `OSError`."""
    for place in range(1, 1000):
        to = path.with_name(f"{path.name}{DAMAGED}" if place == 1 else f"{path.name}.{place}{DAMAGED}")
        if not to.exists():
            return path.rename(to)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def line(error: Exception) -> str:
    """Returns the reason for an error as one line."""
    strerror = getattr(error, "strerror", None)
    return str(strerror or error).splitlines()[0].lower() if str(error) else type(error).__name__


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
