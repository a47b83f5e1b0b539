"""The options --store, --no-store, --jobs and --dask: where runs are stored, and which processes make them."""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, writing
from bloatlab.cli.options import Jobs, StoreFolder
from bloatlab.files import make_folder
from bloatlab.results import FORMS
from bloatlab.sweep import ClusterError, Executor, Store, Threads, default_jobs, default_store
from bloatlab.sweep.cluster import connected
from bloatlab.terminal import Console


def opened(folder: Path, console: Console) -> Store:
    """Opens the store in a folder; prints its notices on `console`."""
    return Store(folder, console.say)


def existing(folder: Path | None, console: Console) -> Store:
    """Opens an existing store, by default that of `default_store`. Raises `BadInput` if there is none."""
    place = folder or default_store()
    if not place.is_dir():
        raise BadInput(f"{place}: no store here; bloatlab sweep makes one, or give its folder with --store")
    return opened(place, console)


def check_table_name(output: Path | None) -> None:
    """Raises `BadInput` if a table's file name does not end in .parquet, .csv or .json."""
    if output is not None and output.suffix.removeprefix(".") not in FORMS:
        raise BadInput(f"--output {output}: a table's name ends in {', '.join(f'.{form}' for form in FORMS)}")


@Parameter(name="*")
@dataclass(frozen=True)
class Running:
    """Where runs are made and stored.

    Args:
        no_store: Run everything, and do not store the runs.
        dask: Run on the workers of a Dask cluster. Give its scheduler's address (tcp://10.0.0.1:8786) or file (.json),
            or the word "local" to start --jobs processes on this machine. See docs/cluster.md.
    """

    jobs: Jobs = None
    store: StoreFolder = None
    no_store: bool = False
    dask: str | None = None

    def opened(self, console: Console) -> Store | None:
        """Opens the store, whose notices are printed on `console`; None with --no-store. Raises `BadInput`."""
        if self.no_store:
            if self.store is not None:
                raise BadInput("--store and --no-store: give only one of them")
            return None
        place = self.store if self.store is not None else default_store()
        writing(place, lambda: make_folder(place))
        return opened(place, console)

    @contextlib.contextmanager
    def executor(self, console: Console) -> Generator[Executor]:
        """Yields the executor of the runs: threads of this process or, with --dask, a Dask cluster.

        The cluster's notices are printed on `console`. Raises `BadInput`.
        """
        if self.dask is None:
            yield Threads(self.jobs)
            return
        if self.jobs is not None and self.dask != "local":
            raise BadInput("--jobs: the cluster sets the number of parallel runs; with --dask, only local takes --jobs")
        try:
            with connected(self.dask, self.jobs or default_jobs(), console.say) as executor:
                yield executor
        except ClusterError as error:
            raise BadInput(f"--dask {error}") from None


RUNNING = Running()
