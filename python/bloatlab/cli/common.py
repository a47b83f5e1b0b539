"""What subcommands share: reading input, and refusing it in one line."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from cyclopts import Token, convert
from rich.console import Console

from bloatlab.scenario import Override, Scenario, load
from bloatlab.sweep import ClusterError, Executor, Store, Threads, default_jobs, default_store
from bloatlab.sweep.cluster import connected
from bloatlab.workloads.names import near

T = TypeVar("T")


class BadInput(Exception):  # noqa: N818  it is the input that is bad
    """What a person asked for cannot be done; the message is one line for them."""


def overrides(sets: Sequence[str]) -> list[Override]:
    """`path=value` texts as pairs. Raises `BadInput`."""
    pairs: list[Override] = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadInput(f"--set {text}: not path=value; for example --set link.up.rate=5mbit")
        pairs.append((path.strip(), value.strip()))
    return pairs


def scenario(path: Path, sets: Sequence[str]) -> Scenario:
    """The scenario in a file with `--set`s laid over it. Raises `BadInput` or `ScenarioError`."""
    pairs = overrides(sets)
    return reading(path, lambda: load(path, pairs))


def reading(path: Path, read: Callable[[], T]) -> T:
    """What `read` returns; a file that cannot be read is bad input, in one line."""
    try:
        return read()
    except OSError as error:
        hint = near(path) if isinstance(error, FileNotFoundError) else ""
        raise BadInput(f"{path}: {(error.strerror or str(error)).lower()}{hint}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not a text file") from None


def writing(path: Path, write: Callable[[], T]) -> T:
    """What `write` returns; a place that cannot be written is bad input, in one line."""
    try:
        return write()
    except OSError as error:
        raise BadInput(f"{error.filename or path}: cannot write: {(error.strerror or str(error)).lower()}") from None


def fresh(folder: Path | None, *files: str, force: bool) -> None:
    """Make the folder of `-o`. Raises `BadInput` where one of `files` is in it already, unless `force` allows it."""
    if folder is None:
        return
    there = next((name for name in files if (folder / name).exists()), None)
    if there is not None and not force:
        raise BadInput(f"{folder}: holds {there} of an earlier run; --force replaces it, or give another folder")
    writing(folder, lambda: folder.mkdir(parents=True, exist_ok=True))


_NUMBERS: dict[type, tuple[str, str]] = {
    int: (r"[+-]?[0-9]+", "a whole number, such as 10"),
    float: (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", "a number, such as 2.5"),
}


def converted(hint: Any, tokens: Sequence[Token]) -> Any:
    """What a flag's words mean; numbers in plain digits only: no `nan`, no `1_0`, no digits of other scripts."""
    kinds = {hint, *get_args(hint)}
    for kind, (pattern, valid) in _NUMBERS.items():
        for token in tokens if kind in kinds and str not in kinds else ():
            if not re.fullmatch(pattern, token.value.strip(" ")):
                raise ValueError(f"{token.value!r} is not {valid}")
    return convert(hint, tokens)


def store_at(folder: Path | None, console: Console, *, refused: bool) -> Store | None:
    """The store that the flags ask for; its notices go to `console`. Raises `BadInput` where it cannot be."""
    if refused:
        if folder is not None:
            raise BadInput("--store and --no-store: one of them")
        return None
    place = folder if folder is not None else default_store()
    writing(place, lambda: place.mkdir(parents=True, exist_ok=True))

    def notice(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return Store(place, notice)


@contextlib.contextmanager
def running(dask: str | None, jobs: int | None, console: Console) -> Generator[Executor]:
    """What runs points: threads of this process, or the Dask cluster that the flag names. Raises `BadInput`."""
    if dask is None:
        yield Threads(jobs)
        return
    if jobs is not None and dask != "local":
        raise BadInput("--jobs: how many runs at a time is the cluster's to say; it goes with --dask local only")

    def notice(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    try:
        with connected(dask, jobs or default_jobs(), notice) as executor:
            yield executor
    except ClusterError as error:
        raise BadInput(f"--dask {error}") from None


def nearest(word: str, known: Iterable[str]) -> str:
    """'; did you mean "x"?' for the known word nearest to `word`, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""
