"""Reads files up to a size limit, writes files atomically, and escapes strings from files for the terminal.

A name in a result, a capture or a data file may contain anything, such as terminal escape sequences.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from polars import DataFrame

#: Maximum file size in bytes (scenarios, grids, traces): about 30 million lines of a delivery trace.
MOST_BYTES = 256 << 20

#: The message about a file that `read_text` cannot decode.
NOT_TEXT = "not UTF-8 text; if it is a text file, save it as UTF-8"

#: Suffix of a file that is still being written.
WRITING = ".writing"

#: The state of a lock after an attempt to take it.
Lock = Literal["held", "in use", "not supported"]

#: Matches control characters (except tab and newline), zero-width and other invisible format characters, line and
#: paragraph separators, bidirectional controls, surrogates, U+FFFE and U+FFFF.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


class TooLargeError(OSError):
    """A file that is larger than the limit."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(None, f"larger than the limit of {most} bytes", str(path))


def read(path: Path, most: int | None = None) -> bytes:
    """Reads a file, device or pipe. Raises `OSError`; `TooLargeError` for more than `most` bytes."""
    most = MOST_BYTES if most is None else most
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLargeError(path, most)
    return data


def read_text(path: Path, most: int | None = None) -> str:
    """Reads a file as UTF-8 text. Removes a byte order mark, and replaces CR LF by LF.

    Raises the errors of `read`, and `UnicodeDecodeError`. A zero byte is an error, because it is typical of binary
    files and of UTF-16 text.
    """
    data = read(path, most)
    if (zero := data.find(0)) >= 0:
        raise UnicodeDecodeError("utf-8", data, zero, zero + 1, "a zero byte")
    return data.decode("utf-8-sig").replace("\r\n", "\n")


@contextlib.contextmanager
def beside(path: Path) -> Generator[Path]:
    """Yields the path of a temporary file, which is renamed to `path` at the end.

    If `path` is a symbolic link, its target is replaced. An error removes the temporary file and leaves `path` as it
    was. If `path` is a pipe or a device, yields `path` itself.
    """
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        yield path
        return
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{secrets.token_hex(6)}{path.suffix}{WRITING}")
    try:
        yield aside
        aside.replace(target)
    except BaseException as error:
        aside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None and str(error.filename) == str(aside):
            error.filename = str(path)
        raise


def make_folder(folder: Path) -> None:
    """Makes a folder if it does not exist, with the folders above it; for a symbolic link, makes its target.

    Raises `OSError`.
    """
    try:
        Path(os.path.realpath(folder)).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None


def lock(file: int, *, wait: bool = False, shared: bool = False) -> bool:
    """Locks a file. Without `wait`, returns false if the lock is held elsewhere.

    Many processes can hold a `shared` lock. On a file system that does not support locks, nothing is locked and the
    result is true, so only one process may write to a store there.
    """
    return take_lock(file, wait=wait, shared=shared) != "in use"


def take_lock(file: int, *, wait: bool = False, shared: bool = False) -> Lock:
    """Locks a file like `lock`; returns whether the lock is held, in use elsewhere, or not supported."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return "in use"
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
            raise
        return "not supported"
    return "held"


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = False) -> Generator[Lock]:
    """Holds the lock of a folder within this context.

    Without `wait`, yields "in use" if another process or context holds the lock.
    """
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            state = take_lock(file, wait=wait)
        except OSError as error:
            if error.errno != errno.EBADF:  # NFS locks only files that are open for writing, which no folder is
                raise
            state = "not supported"
        yield state
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


#: The marks of bloatlab in the figures that it writes, by suffix, and in the heads of its pages.
_MARKS = {
    ".svg": b"<dc:title>bloatlab</dc:title>",
    ".png": b"tEXtSoftware\0bloatlab",
    ".pdf": b"/Creator (bloatlab)",
}
_PAGE_MARK = b'<meta name="generator" content="bloatlab">'


def drawn_here(path: Path) -> bool:
    """Returns whether bloatlab wrote this page or figure.

    A page of another program does not count, even if it contains a figure of bloatlab.
    """
    if (mark := _MARKS.get(path.suffix.lower())) is not None:
        return has(path, mark)
    return has(path, _PAGE_MARK, before=re.compile(rb"<(body|svg)\b", re.IGNORECASE))


def has(path: Path, mark: bytes, *, before: re.Pattern[bytes] | None = None) -> bool:
    """Returns whether a file contains `mark`, before the first match of `before`; false if it cannot be read."""
    try:
        data = read(path)
    except OSError:
        return False
    end = None if before is None else before.search(data)
    return mark in (data if end is None else data[: end.start()])


def write(path: Path, data: bytes | str, *, flush: bool = False) -> None:
    """Writes a file atomically; with `flush`, the data is on disk before the file is renamed. Raises `OSError`.

    If the text `data` contains a file's name with bytes that are not UTF-8, these bytes are escaped.
    """
    with beside(path) as aside:
        try:
            with aside.open("wb") as file:
                file.write(data.encode(errors="backslashreplace") if isinstance(data, str) else data)
                file.flush()
                if flush:
                    os.fsync(file.fileno())
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None


def parquet(frame: DataFrame, **options: Any) -> bytes:
    """Encodes a frame as a Parquet file.

    The caller writes the bytes with Python's own functions, because polars does not report a full disk.
    """
    data = io.BytesIO()
    frame.write_parquet(data, compression="zstd", **options)
    return data.getvalue()


def utf_8(name: str) -> str:
    """Replaces the bytes of a file's name that are not UTF-8 with escapes, for the core and Parquet."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def escaped(text: str) -> str:
    """Replaces control and invisible characters, which may affect a terminal, with escapes of their code points."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
