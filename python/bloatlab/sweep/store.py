"""The store keeps the measures of runs between sweeps, under hashes of the core, the code and the scenario.

    STORE/CORE/MEASURE-CODE/      RANDOM.journal, DIGEST.parquet
    STORE/sweeps/                 the runs of each sweep (see `sweeps`)

CORE is a hash of the compiled core, and CODE is a hash of the source that reduced the run. In the folder MEASURE-CODE
(a shelf), a run is identified by the hash of its scenario with its seed. If the core, the reducing code or the scenario
changes, old entries are no longer found.

A finished run is appended at once to its writer's journal (see `journal`). Journals of finished writers become Parquet
files of many runs, called parts (see `parquet`). Any number of processes may write to a store, and be killed at any
time.
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
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bloatlab.scenario import Scenario
from bloatlab.sweep import journal, parquet
from bloatlab.sweep.journal import Damaged, DiskFull, Journal, Record
from bloatlab.sweep.kept_runs import Kept, Measured, Rows, Value, hash_of, packed, plain, unpacked
from bloatlab.sweep.parquet import Notice, Part, line
from bloatlab.sweep.pool import Stopped

__all__ = ["Index", "Measured", "Shelf", "Stock", "Store", "StoreFull", "Value", "default_store", "plain"]

#: The default folder, below the working folder (`DEFAULT`), and the environment variable that names another folder
#: (`VARIABLE`).
DEFAULT = Path(".bloatlab") / "store"
VARIABLE = "BLOATLAB_STORE"

#: Number of hexadecimal digits of a fingerprint in a name: 64 bits.
CODE = 16

#: Maximum number of attempts to read a shelf's index, or a run. An attempt fails if another process moves the runs to
#: another file meanwhile.
ATTEMPTS = 20

#: The place of a stored run: a record in a journal, or a row in a part.
Place = Record | tuple[Part, int]


class StoreFull(Exception):  # noqa: N818  the disk is full, which is not an error in bloatlab
    """The disk is full, so no more runs can be stored. The message is one line."""


class StoreUnreadable(Stopped):
    """A file in the store cannot be read, but may be intact. The message is one line."""


@contextlib.contextmanager
def reading(store: Path) -> Generator[None]:
    """Turns an `OSError` within this context into `StoreUnreadable`."""
    try:
        yield
    except OSError as error:
        raise StoreUnreadable(f"{error.filename or store}: cannot be read: {line(error)}") from None


def default_store() -> Path:
    """Returns the results folder: `BLOATLAB_STORE`, or .bloatlab/store below the working folder."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


@dataclass(frozen=True)
class Store:
    """A folder of results. `notice` receives one line for each problem, such as a damaged file."""

    folder: Path
    notice: Notice = warnings.warn

    def shelf(self, core: str, measure: str, code: str) -> Shelf:
        """Returns the shelf for one measure and one core."""
        return Shelf(self, self.folder / core[:CODE] / f"{measure}-{code[:CODE]}")

    def shelves(self) -> list[Stock]:
        """Returns the contents of all shelves, newest last. Raises `StoreUnreadable`."""
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
        """Removes the results of other cores, and the results of this core that were reduced by outdated code.

        For each measure (and version) of this core, the shelf that was written last is kept, and its abandoned journals
        become parts, except while another process has the shelf open in `query.Views` or makes parts itself.
        A shelf that a process is writing to is not removed. Returns the numbers of removed runs and bytes.
        """
        stocks = self.shelves()
        kept = current(stocks, core)
        gone = [stock for stock in stocks if stock not in kept and not _written_to(stock.folder)]
        for stock in gone:
            shutil.rmtree(stock.folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                stock.folder.parent.rmdir()  # removes the core's folder if it is now empty
        for stock in kept:
            parquet.compact(stock.folder, self.notice)
        return sum(stock.runs for stock in gone), sum(stock.size for stock in gone)


@dataclass(frozen=True)
class Stock:
    """The contents of a shelf: `size` in bytes, and `written`, the time of its newest file in seconds since 1970."""

    folder: Path
    core: str
    measure: str
    runs: int
    size: int
    written: float
    index: Index = field(repr=False, compare=False)

    @staticmethod
    def of(folder: Path, notice: Notice) -> Stock:
        """Reads the contents of a shelf's folder. Raises `OSError`."""
        index = Index.of(folder, notice)
        files = [*folder.glob(f"*{parquet.SUFFIX}"), *folder.glob(f"*{journal.SUFFIX}")]
        newest = max((path.stat().st_mtime for path in files), default=0.0)
        measure = folder.name.rpartition("-")[0]
        return Stock(folder, folder.parent.name, measure, len(index.places), index.size, newest, index)


def current(stocks: Iterable[Stock], core: str) -> list[Stock]:
    """Returns, for each measure, the shelf of `core` that was written last. `stocks` must be sorted, newest last."""
    return list({stock.measure: stock for stock in stocks if stock.core == core[:CODE]}.values())


@dataclass
class Index:
    """The places of all runs on a shelf, keyed by the hashes of their scenarios."""

    places: dict[str, Place] = field(default_factory=dict)
    #: Number of runs in each part.
    runs: dict[Part, int] = field(default_factory=dict)
    #: Bytes of all runs.
    size: int = 0
    journals: int = 0
    #: The number of runs in the journals.
    fresh: int = 0

    @staticmethod
    def of(folder: Path, notice: Notice) -> Index:
        """Reads the index of a folder.

        Starts over if another process replaces a part meanwhile, or after moving damaged journals aside. Raises
        `OSError`.
        """
        for _ in range(ATTEMPTS):
            index = Index()
            try:
                torn = index._read(folder, notice)
            except FileNotFoundError:
                continue
            if not torn:
                return index
            try:
                parquet.compact(folder, notice, wait=True)  # making parts also moves the damaged journals aside
            except OSError as error:
                for path in torn:
                    notice(f"{path}: a run in it is incomplete; it cannot be moved aside: {line(error)}")
                return index
        return Index()

    def _read(self, folder: Path, notice: Notice) -> list[Path]:
        """Adds the runs of all files to the index, and returns the damaged journals whose writers are gone."""
        torn: list[Path] = []
        for path in parquet.journals(folder):
            try:
                found, damaged = journal.records(path)
            except FileNotFoundError:  # another process has moved the runs, if any, into a part, which is read below
                continue
            if damaged:
                with journal.abandoned(path) as dead:
                    if dead:  # a live writer may be in the middle of its last record, which is not damage
                        torn.append(path)
            self.journals += 1
            self.fresh += len(found)
            self.places.update((hash_of(data), record) for record, data in found)
            self.size += found[-1][0].start + found[-1][0].length if found else 0
        for part in parquet.parts(folder):
            try:
                hashes = part.hashes()
            except Damaged as damage:
                parquet.drop(part, str(damage), notice)
            else:
                self.size += part.size
                self.runs[part] = len(hashes)
                self.places.update((name, (part, place)) for place, name in enumerate(hashes))
        return torn

    def share(self, name: str) -> float:
        """Returns the size of a stored run in bytes. For a run in a part, this is the mean size of the part's runs."""
        match self.places[name]:
            case Record(length=length):
                return length
            case part, _:
                return part.size / self.runs[part]


class Shelf:
    """The results of one measure by one core, keyed by scenario. Threads and processes may share a shelf."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store.folder
        #: Number of runs stored through this object.
        self.kept = 0
        self._notice = store.notice
        self._folder = folder
        self._refused = False
        self._lock = threading.RLock()
        self._journals: list[Journal] = []
        self._index: Index | None = None
        self._parts: dict[Path, Rows] = {}
        weakref.finalize(self, _close, self._journals)

    def get(self, scenario: Scenario) -> Measured | None:
        """Returns the stored result for a scenario with its seed, or None.

        Reports damaged files, and moves damaged parts aside. Raises `StoreUnreadable`.
        """
        with self._lock, reading(self.store):
            for _ in range(ATTEMPTS):  # looks again if the run has been moved to another file, or is damaged
                place = self._places().get(scenario.hash)
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
        """Stores a result, and returns whether it was stored. A folder that cannot be written is reported once.

        Raises `StoreFull` on a full disk. Earlier results are kept. If there was still room for this result, it is
        stored in spite of the error, and is included in `kept`.
        """
        name = scenario.hash
        data = packed(Kept(name, scenario.text, round(time.time(), 3), measured))
        with self._lock:
            try:
                if not self._journals:
                    self._journals.append(Journal(self._folder))
                record = self._journals[0].append(data)
            except OSError as error:
                if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                    self.kept += isinstance(error, DiskFull) and error.kept
                    raise StoreFull(f"{self.store}: cannot write: {line(error)}") from None
                if not self._refused:
                    self._refused = True
                    where = error.filename or self._folder
                    self._notice(f"{where}: cannot write: {line(error)}; results are not kept")
                return False
            self.kept += 1
            if self._index is not None:
                self._index.places[name] = record
            full = self._journals[0].full
            if full:
                self.close()
        if full:
            self.compact()
        return True

    def compact(self) -> None:
        """Turns the abandoned journals into Parquet parts. If that fails, leaves the journals as they are."""
        with contextlib.suppress(OSError):
            parquet.compact(self._folder, self._notice)

    def close(self) -> None:
        """Closes the journal, so that any process may turn it into a part; the next `put` begins a new journal."""
        with self._lock:
            _close(self._journals)

    def _places(self) -> Mapping[str, Place]:
        if self._index is None:
            self._index = Index.of(self._folder, self._notice)
            if self._index.journals >= parquet.MANY_JOURNALS or self._index.fresh >= parquet.MANY_RUNS:
                self.compact()
                self._index = Index.of(self._folder, self._notice)
        return self._index.places

    def _measured(self, place: Place) -> Measured:
        match place:
            case Record():
                return unpacked(place.read()).measured
            case part, row:
                if part.path not in self._parts:
                    self._parts[part.path] = part.rows()
                return self._parts[part.path].measured(row)

    def _damaged(self, place: Place, damage: Damaged) -> None:
        """Reports damage, and removes the run from the index. Moves a part aside; a journal is left to `compact`."""
        index, self._index = self._index, None
        match place:
            case Record(path=path):
                self._notice(f"{path}: a run in it has changed since it was written; it will be repeated")
                if index is not None:
                    index.places = {name: at for name, at in index.places.items() if at != place}
                    self._index = index
            case part, _:
                parquet.drop(part, str(damage), self._notice)


def _close(journals: list[Journal]) -> None:
    while journals:
        journals.pop().close()


def _written_to(folder: Path) -> bool:
    """Returns whether a process is writing to a shelf."""
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
