"""Journals: each writer appends its runs, as they finish, to its own file.

    record = newline, "RUN" | length of the run (4 bytes, little-endian) | its SHA-256 (first 16 bytes) | the run

A killed process leaves complete records and perhaps the beginning of a record, whose run is lost. A writer holds an
exclusive `flock` on its file. The kernel releases the lock when the process ends, even if it is killed. Then any
process may move the runs into a part (see `parquet`). Space is reserved ahead of the runs, so a full disk is noticed
while there is still room for the runs in progress.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import struct
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from bloatlab.files import lock, make_folder

SUFFIX = ".journal"

_MARK = b"\nRUN"
_HEAD = struct.Struct("<4sI16s")
#: Bytes of disk space reserved ahead of the records, enough for about a hundred runs.
RESERVE = 1 << 20
#: A writer begins a new file after `MOST_RUNS` runs or `MOST_BYTES` bytes.
MOST_RUNS = 4096
MOST_BYTES = 64 << 20


class Damaged(ValueError):  # noqa: N818  the damage is in the file
    """A file has changed since it was written; the message says how."""


class DiskFull(OSError):  # noqa: N818
    """The disk is full. `kept` says whether the record being appended is complete in the file."""

    kept = False


@dataclass(frozen=True, slots=True)
class Record:
    """The place of a record's data in a journal."""

    path: Path
    start: int
    length: int
    digest: bytes

    def read(self) -> bytes:
        """Reads the data. Raises `Damaged`, `OSError`; `FileNotFoundError` if the run has been moved into a part."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            data = file.read(self.length)
        if _digest(data) != self.digest:
            raise Damaged("it has changed since it was written")
        return data


class Journal:
    """A writer's own file. At any time, only one thread may use it."""

    def __init__(self, folder: Path) -> None:
        """Makes a new file. Raises `OSError`."""
        self.path, self._file = _created(folder)
        self.runs = self.size = self._room = 0
        try:
            self._reserve()
        except OSError:
            self.close()
            raise

    @property
    def full(self) -> bool:
        """Whether the file is so large that the next run must go into a new file."""
        return self.runs >= MOST_RUNS or self.size >= MOST_BYTES

    def append(self, data: bytes) -> Record:
        """Appends a whole record, or nothing if that fails. Raises `DiskFull` and other `OSError`s.

        With `DiskFull.kept`, the record is complete, but there is no room for the next.
        """
        record = Record(self.path, self.size + _HEAD.size, len(data), _digest(data))
        whole = _HEAD.pack(_MARK, len(data), record.digest) + data
        try:
            written = 0
            while written < len(whole):
                written += os.pwrite(self._file, whole[written:], self.size + written)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise self._failure(error, kept=False) from None
        self.size += len(whole)
        self.runs += 1
        if self.size + RESERVE // 2 > self._room:
            try:
                self._reserve()
            except OSError as error:
                raise self._failure(error, kept=True) from None
        return record

    def close(self) -> None:
        """Releases the reserved space and the lock; removes a file without runs."""
        if self._file < 0:
            return
        with contextlib.suppress(OSError):
            if self.runs:
                os.ftruncate(self._file, self.size)
            else:
                self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1

    def _reserve(self) -> None:
        try:
            os.posix_fallocate(self._file, self.size, RESERVE)
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}:
                raise
        self._room = self.size + RESERVE

    def _failure(self, error: OSError, *, kept: bool) -> OSError:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            return error
        full = DiskFull(error.errno, error.strerror, str(self.path))
        full.kept = kept
        return full


def _created(folder: Path) -> tuple[Path, int]:
    """Makes and locks a new file.

    A file without a lock looks abandoned, so another process may lock and remove the new file before it is locked here.
    Then another file is made.
    """
    for _ in range(100):
        make_folder(folder)
        path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # another process has just removed the folder
            continue
        if lock(file) and os.fstat(file).st_nlink:
            return path, file
        os.close(file)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


@contextlib.contextmanager
def abandoned(path: Path) -> Generator[bool]:
    """Yields true if the writer of a journal is gone. This process then holds the journal's lock within the context.

    Yields false if another process has the lock, or if the journal has been removed or cannot be opened.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield lock(file) and os.fstat(file).st_nlink > 0
    finally:
        os.close(file)


def records(path: Path) -> tuple[list[tuple[Record, bytes]], bool]:
    """Returns the complete records of a journal, and whether the file also contains damaged or incomplete records.

    Zeros after the last record are reserved space. Raises `OSError`.
    """
    data = path.read_bytes()
    found: list[tuple[Record, bytes]] = []
    place, end, damaged = 0, 0, False
    while (place := data.find(_MARK, place)) >= 0 and place + _HEAD.size <= len(data):
        _, length, digest = _HEAD.unpack_from(data, place)
        start = place + _HEAD.size
        one = data[start : start + length]
        if len(one) == length and _digest(one) == digest:
            damaged = damaged or bool(data[end:place].strip(b"\0"))
            found.append((Record(path, start, length, digest), one))
            place = end = start + length
        else:
            damaged = True
            place += 1
    return found, damaged or bool(data[end:].strip(b"\0"))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]
