"""Where runs are kept, and who runs them: what the flags --store, --jobs and --dask ask for."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

from bloatlab.cli.common import BadInput, writing
from bloatlab.sweep import ClusterError, Executor, Store, Threads, default_jobs, default_store
from bloatlab.sweep.cluster import connected
from bloatlab.terminal import Console


def store_at(folder: Path | None, console: Console, *, refused: bool) -> Store | None:
    """The store that the flags ask for; its notices go to `console`. Raises `BadInput` where it cannot be."""
    if refused:
        if folder is not None:
            raise BadInput("--store and --no-store: one of them")
        return None
    place = folder if folder is not None else default_store()
    writing(place, lambda: place.mkdir(parents=True, exist_ok=True))
    return opened(place, console)


def opened(folder: Path, console: Console) -> Store:
    """The store in a folder; its notices go to `console`."""
    return Store(folder, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))


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
