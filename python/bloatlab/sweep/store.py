"""What runs measured, kept between sweeps and named by what it follows from.

    STORE/CORE/MEASURE-CODE/      RANDOM.journal, DIGEST.parquet, parts.json
    STORE/sweeps/                 which runs each sweep asked for (see `sweeps`)

CORE names the compiled core, CODE the source that reduced the run; within, a run is found by the hash of its scenario
with its seed. Change the core, the reduction or anything in the scenario, and the old entry is not found.

A run is appended to its writer's journal as soon as it is there (see `journal`); journals whose writers are gone become
Parquet files of many runs (see `parts`). Any number of processes may write to one store, and be killed at any time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bloatlab.scenario import Scenario
from bloatlab.sweep import journal, parquet
from bloatlab.sweep.journal import Damaged, DiskFull, Journal, Record
from bloatlab.sweep.kept_runs import Kept, Measured, Rows, Value, hash_of, packed, plain, unpacked
from bloatlab.sweep.parquet import Part, line
from bloatlab.sweep.pool import Stopped

__all__ = ["Index", "Measured", "Shelf", "Stock", "Store", "StoreFull", "Value", "default_store", "plain"]

#: Where results are kept unless the environment or a flag says otherwise, below the working folder.
DEFAULT = Path(".bloatlab") / "store"
VARIABLE = "BLOATLAB_STORE"

#: Hexadecimal digits of a fingerprint in a name: 64 bits.
CODE = 16


class StoreFull(Exception):  # noqa: N818  it is the disk that is full
    """There is no room for the runs that are still to come; the message is one line."""


class StoreUnreadable(Stopped):
    """A file of the store cannot be read, which is no damage; the message is one line."""


@contextlib.contextmanager
def reading(store: Path) -> Generator[None]:
    """Raises `StoreUnreadable` for an `OSError` within."""
    try:
        yield
    except OSError as error:
        raise StoreUnreadable(f"{error.filename or store}: cannot be read: {line(error)}") from None


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
        return Shelf(self, self.folder / core[:CODE] / f"{measure}-{code[:CODE]}")

    def shelves(self) -> list[Stock]:
        """What there is, newest last. Raises `StoreUnreadable`."""
        with reading(self.folder):
            found = [
                Stock.of(shelf, self.notice)
                for core in _folders(self.folder)
                if _is_code(core.name)
                for shelf in _folders(core)
                if _is_code(shelf.name.rpartition("-")[2])
            ]
        return sorted(found, key=lambda stock: stock.written)

    def collect(self, core: str) -> tuple[int, int]:
        """Remove what can no longer be found: other cores, and all but the newest code of each measure of this one.

        What another process writes to at this moment stays. Everything else becomes parts. Returns how many runs and
        bytes went.
        """
        stocks = self.shelves()
        newest = {stock.measure: stock for stock in stocks if stock.core == core[:CODE]}
        gone = [s for s in stocks if newest.get(s.measure) is not s and not _written_to(s.folder)]
        for stock in gone:
            shutil.rmtree(stock.folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                stock.folder.parent.rmdir()  # the core's folder, if that was the last in it
        for stock in newest.values():
            parquet.compact(stock.folder, self.notice, wait=True)
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
    index: Index = field(repr=False, compare=False)

    @staticmethod
    def of(folder: Path, notice: Callable[[str], None]) -> Stock:
        """The stock of a shelf's folder. Raises `OSError`."""
        index = Index.of(folder, notice)
        old = [path.stat() for path in folder.glob(f"??/*{parquet.SUFFIX}")]  # a file per run: before parts
        newest = max((path.stat().st_mtime for path in _files(folder)), default=0.0)
        runs, size = len(index.places) + len(old), index.size + sum(s.st_size for s in old)
        return Stock(folder, folder.parent.name, folder.name.rpartition("-")[0], runs, size, newest, index)


@dataclass
class Index:
    """Where each run of a shelf is, by the hash of its scenario: a record of a journal, or a row of a part."""

    places: dict[str, Record | tuple[Part, int]] = field(default_factory=dict)
    #: Bytes of all.
    size: int = 0
    #: Journals, and the runs in them.
    journals: int = 0
    fresh: int = 0

    @staticmethod
    def of(folder: Path, notice: Callable[[str], None]) -> Index:
        """The index of a folder. Tried again while another process makes parts of journals. Raises `OSError`."""
        for _ in range(20):
            before = parquet.opened(folder, notice)
            index = Index()
            try:
                torn = index._read(folder, before, notice)
            except FileNotFoundError:
                continue
            if torn:
                try:
                    parquet.compact(folder, notice, wait=True)  # moves them aside
                    continue
                except OSError as error:
                    why = f"a run in it is not whole; it cannot be moved aside: {line(error)}"
                    for path in torn:
                        notice(f"{path}: {why}")
            if parquet.opened(folder, notice) == before:
                return index
        return Index()

    def _read(self, folder: Path, listed: parquet.Listed, notice: Callable[[str], None]) -> list[Path]:
        """Reads all there is; returns the damaged journals that no process writes to."""
        torn: list[Path] = []
        for path in parquet.journals(folder, listed.taken):
            try:
                found, damaged = journal.records(path)
            except FileNotFoundError:  # its runs are in a part, which the list will show
                continue
            if damaged:
                with journal.abandoned(path) as dead:
                    if dead:  # the last record of a living writer may be on its way
                        torn.append(path)
            self.journals += 1
            self.fresh += len(found)
            self.places.update((hash_of(data), record) for record, data in found)
            self.size += found[-1][0].start + found[-1][0].length if found else 0
        for part in listed.parts:
            try:
                hashes = part.hashes()
            except FileNotFoundError:
                if parquet.listed(folder) != listed:
                    raise
                parquet.drop(part, "it is missing", notice)
            except Damaged as damage:
                parquet.drop(part, str(damage), notice)
            else:
                self.size += part.size
                self.places.update((name, (part, place)) for place, name in enumerate(hashes))
        return torn

    def share(self, name: str) -> float:
        """The bytes that a run takes, of the file that it shares with others."""
        match self.places[name]:
            case Record(length=length):
                return length
            case part, _:
                return part.size / part.runs


class Shelf:
    """The results of one measure by one core, by scenario. Threads and processes may share one."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store.folder
        #: Runs that this shelf has kept.
        self.kept = 0
        self._notice = store.notice
        self._folder = folder
        self._refused = False
        self._lock = threading.RLock()
        self._writing = _Writing()
        self._index: Index | None = None
        self._parts: dict[Path, Rows] = {}
        weakref.finalize(self, self._writing.close)

    def get(self, scenario: Scenario) -> Measured | None:
        """What is kept for this scenario with its seed, or None. Damage is told in a notice, and moved aside.

        Raises `StoreUnreadable`.
        """
        name = scenario.hash
        with self._lock, reading(self.store):
            for _ in range(20):  # bounded: each time around, somebody has made parts of what was there
                place = self._places().get(name)
                if place is None:
                    return None
                try:
                    return self._measured(place)
                except FileNotFoundError:
                    self._index = None
                except Damaged as damage:
                    self._damaged(place, damage)
        return None

    def put(self, scenario: Scenario, measured: Measured) -> bool:
        """Keep a result; whether it could be. A folder that cannot be written is told once and stops no sweep.

        Raises `StoreFull` on a full disk; what was kept before stays, and with it, but for the very last, this result.
        """
        data = packed(Kept(scenario.hash, scenario.text, round(time.time(), 3), measured))
        with self._lock:
            try:
                record = self._append(data)
            except OSError as error:
                if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                    self.kept += isinstance(error, DiskFull) and error.kept
                    raise StoreFull(f"{self.store}: cannot write: {line(error)}") from None
                self._tell(error)
                return False
            self.kept += 1
            if self._index is not None:
                self._index.places[scenario.hash] = record
            rolled = self._writing.journal is not None and self._writing.journal.full and self._writing.close()
        if rolled:
            self.compact()
        return True

    def compact(self) -> None:
        """Make parts of the journals that nobody writes to any more. What stands in the way leaves them as they are."""
        with contextlib.suppress(OSError):
            parquet.compact(self._folder, self._notice)

    def close(self) -> None:
        """Give the journal to whoever reads next; the next `put` begins another."""
        with self._lock:
            self._writing.close()

    def _append(self, data: bytes) -> Record:
        if self._writing.journal is None:
            self._writing.journal = Journal(self._folder)
        return self._writing.journal.append(data)

    def _places(self) -> Mapping[str, Record | tuple[Part, int]]:
        if self._index is None:
            self._index = Index.of(self._folder, self._notice)
            if self._index.journals >= parquet.MANY_JOURNALS or self._index.fresh >= parquet.MANY_RUNS:
                self.compact()
                self._index = Index.of(self._folder, self._notice)
        return self._index.places

    def _measured(self, place: Record | tuple[Part, int]) -> Measured:
        match place:
            case Record():
                return unpacked(place.read()).measured
            case part, row:
                if part.path not in self._parts:
                    self._parts[part.path] = part.rows()
                return self._parts[part.path].measured(row)

    def _damaged(self, place: Record | tuple[Part, int], damage: Damaged) -> None:
        """Told, and out of the index; a journal with damage is moved aside when its runs become a part."""
        index, self._index = self._index, None
        match place:
            case Record(path=path):
                self._notice(f"{path}: a run in it is not as it was written; it is done again")
                if index is not None:
                    index.places = {name: at for name, at in index.places.items() if at != place}
                    self._index = index
            case part, _:
                parquet.drop(part, str(damage), self._notice)

    def _tell(self, error: OSError) -> None:
        if not self._refused:
            self._refused = True
            self._notice(f"{error.filename or self._folder}: cannot write: {line(error)}; results are not kept")


@dataclass
class _Writing:
    """A shelf's own journal, closed when the shelf goes."""

    journal: Journal | None = None

    def close(self) -> bool:
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        return True


def _files(folder: Path) -> list[Path]:
    return [
        *folder.glob(f"*{parquet.SUFFIX}"),
        *folder.glob(f"*{journal.SUFFIX}"),
        *folder.glob(f"??/*{parquet.SUFFIX}"),
    ]


def _written_to(folder: Path) -> bool:
    """Whether a process writes to a shelf at this moment."""
    for path in parquet.journals(folder):
        with journal.abandoned(path) as dead:
            if not dead and path.exists():
                return True
    return False


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.is_dir())


def _is_code(name: str) -> bool:
    return len(name) == CODE and set(name) <= set("0123456789abcdef")
