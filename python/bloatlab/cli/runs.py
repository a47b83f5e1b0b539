"""Where runs are kept, and who runs them: what the flags --store, --jobs and --dask ask for."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, writing
from bloatlab.cli.options import Jobs
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
    return Store(folder, console.say)


@contextlib.contextmanager
def running(dask: str | None, jobs: int | None, console: Console) -> Generator[Executor]:
    """What runs points: threads of this process, or the Dask cluster that the flag names. Raises `BadInput`."""
    if dask is None:
        yield Threads(jobs)
        return
    if jobs is not None and dask != "local":
        raise BadInput("--jobs: how many runs at a time is the cluster's to say; it goes with --dask local only")
    try:
        with connected(dask, jobs or default_jobs(), console.say) as executor:
            yield executor
    except ClusterError as error:
        raise BadInput(f"--dask {error}") from None


@Parameter(name="*")
@dataclass(frozen=True)
class Running:
    """Who runs, and where runs are kept.

    Parameters
    ----------
    jobs
        How many runs at a time; does not change a number. Default: as many as there are cores.
    store
        Folder where runs are kept. Default: BLOATLAB_STORE, or .bloatlab/store.
    no_store
        Run everything, and keep none of the runs.
    dask
        Run on the workers of a Dask cluster: a scheduler's address (tcp://10.0.0.1:8786), its file (.json), or local,
        for as many processes of this machine as --jobs. See docs/cluster.md.
    """

    jobs: Jobs = None
    store: Path | None = None
    no_store: bool = False
    dask: str | None = None

    def opened(self, console: Console) -> Store | None:
        """The store, unless none is wanted; its notices go to `console`. Raises `BadInput` where it cannot be."""
        return store_at(self.store, console, refused=self.no_store)

    def executor(self, console: Console) -> contextlib.AbstractContextManager[Executor]:
        """What runs points; its notices go to `console`. Raises `BadInput`."""
        return running(self.dask, self.jobs, console)


#: What runs unless options say otherwise.
RUNNING = Running()
