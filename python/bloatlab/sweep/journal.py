"""Fresh runs: a file per writer, to which each run is appended as soon as it is there.

    record = newline, "RUN" | length of the run (4 bytes, little-endian) | its SHA-256 (first 16 bytes) | the run

A killed process leaves whole records and perhaps the beginning of one, which is not counted. A writer keeps an
exclusive `flock` on its file while it lives; the kernel gives it up when the process ends, however it ends, and then
anybody may take the runs into a part. Space for the next runs is reserved ahead of them: a full disk is noticed while
what is finished still has a place.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import struct
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".journal"

_MARK = b"\nRUN"
_HEAD = struct.Struct("<4sI16s")
#: Bytes kept free ahead of the records: some hundred runs.
RESERVE = 1 << 20
#: A writer begins another file after so many runs or bytes.
MOST_RUNS = 4096
MOST_BYTES = 64 << 20


class Damaged(ValueError):  # noqa: N818  it is the file that is damaged
    """A file is not as it was written; the message says how."""


class DiskFull(OSError):  # noqa: N818
    """There is no more room. The record that met it is kept if `kept` says so."""

    def __init__(self, path: Path, error: OSError, *, kept: bool) -> None:
        super().__init__(error.errno, error.strerror, str(path))
        self.kept = kept


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record's data is."""

    path: Path
    start: int
    length: int
    digest: bytes

    def read(self) -> bytes:
        """The data. Raises `OSError` (`FileNotFoundError` when the file is in a part now), `Damaged`."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            data = file.read(self.length)
        if _digest(data) != self.digest:
            raise Damaged("it is not as it was written")
        return data


class Journal:
    """A writer's own file. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        """A new file. Raises `OSError`."""
        self.path, self._file = _created(folder)
        self.runs = 0
        self.size = 0
        self._room = 0
        try:
            self._reserve()
        except OSError:
            self.close()
            raise

    @property
    def full(self) -> bool:
        """Whether the next run belongs in another file."""
        return self.runs >= MOST_RUNS or self.size >= MOST_BYTES

    def append(self, data: bytes) -> Record:
        """Keep `data`; a whole record or none. Raises `DiskFull` (see there) and other `OSError`s."""
        record = Record(self.path, self.size + _HEAD.size, len(data), _digest(data))
        whole = _HEAD.pack(_MARK, len(data), record.digest) + data
        try:
            written = os.pwrite(self._file, whole, self.size)
            while written < len(whole):
                written += os.pwrite(self._file, whole[written:], self.size + written)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise _full(self.path, error, kept=False) from None
        self.size += len(whole)
        self.runs += 1
        if self.size + RESERVE // 2 > self._room:
            try:
                self._reserve()
            except OSError as error:
                raise _full(self.path, error, kept=True) from None
        return record

    def close(self) -> None:
        """Give back what was reserved, and the file to whoever wants it; one without a run goes."""
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


def _created(folder: Path) -> tuple[Path, int]:
    """A new file, locked. Somebody who looks for abandoned files may find it in between: then another."""
    for _ in range(100):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # somebody collects the folder
            continue
        if lock(file) and os.fstat(file).st_nlink:
            return path, file
        os.close(file)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def lock(file: int, *, wait: bool = False, shared: bool = False) -> bool:
    """Take the file's lock; whether it could be. A file system without locks has but one writer, it is assumed."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
            return True
        raise
    return True


@contextlib.contextmanager
def abandoned(path: Path) -> Generator[bool]:
    """Whether the writer of a journal is gone; if so, nobody else takes it within."""
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
    """The whole records of a journal with their data; and whether there is anything else than those in it.

    Raises `OSError`.
    """
    data = path.read_bytes()
    found: list[tuple[Record, bytes]] = []
    place, damaged = 0, False
    while (place := data.find(_MARK, place)) >= 0:
        if place + _HEAD.size > len(data):
            damaged = True
            break
        _, length, digest = _HEAD.unpack_from(data, place)
        start = place + _HEAD.size
        one = data[start : start + length]
        if len(one) == length and _digest(one) == digest:
            found.append((Record(path, start, length, digest), one))
            place = start + length
        else:
            damaged = True
            place += 1
    end = found[-1][0].start + found[-1][0].length if found else 0
    return found, damaged or bool(data[end:].strip(b"\0"))


def _full(path: Path, error: OSError, *, kept: bool) -> OSError:
    return DiskFull(path, error, kept=kept) if error.errno in {errno.ENOSPC, errno.EDQUOT} else error


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]
