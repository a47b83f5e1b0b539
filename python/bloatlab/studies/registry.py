"""Which studies there are, and what each must offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bloatlab.scenario import Override
from bloatlab.sweep import Executor, Store, default_jobs
from bloatlab.tables import counted
from bloatlab.terminal import Console


@dataclass(frozen=True, slots=True)
class Options:
    """How to reproduce a study. `console` is where a person follows it; data goes elsewhere.

    `store` is where runs are kept and found again; None runs everything and keeps nothing. `executor` runs them, else
    `jobs` threads of this process. `live` runs the cases on kernels,
    too, in a study that is in `ON_KERNELS`. `sets` are laid over every scenario of the study, as `bloatlab run --set` does.
    """

    out: Path
    seeds: int = 10
    jobs: int | None = None
    quick: bool = False
    experiments: Sequence[str] = ()
    console: Console = field(default_factory=lambda: Console(stderr=True))
    store: Store | None = None
    live: bool = False
    executor: Executor | None = None
    sets: Sequence[Override] = ()

    @property
    def workers(self) -> str:
        """Who runs it, for its first line."""
        return "on a cluster" if self.executor is not None else counted(self.jobs or default_jobs(), "worker")


class Outcome(Protocol):
    """What a reproduction leaves behind."""

    @property
    def met(self) -> bool | None:
        """Whether the study's stated shares are reached; None when the run proves nothing."""
        ...

    @property
    def report(self) -> Path:
        """The HTML report."""
        ...

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON: `cells`, `claims` and a `summary`."""
        ...

    def print(self, console: Console, *, full: bool = False) -> None:
        """The answer and what was reached, for a person at a terminal; `full` puts every table before it."""
        ...


class Study(Protocol):
    """A published study as a command. Implemented by the modules of this package's folders."""

    EXPERIMENTS: dict[str, str]

    def reproduce(self, options: Options) -> Outcome:
        """Run it all, write the report under `options.out`, and return the comparison."""
        ...


@dataclass(frozen=True, slots=True)
class Publication:
    """What a study reproduces: its title, how to cite it, and where a reader finds it ("" where it is nowhere on the web)."""

    title: str
    cited: str
    link: str = ""


#: The publication of each study by the study's name, without importing the study.
PUBLICATIONS: dict[str, Publication] = {
    "cablelabs2012": Publication(
        "Preliminary Study of CoDel AQM in a DOCSIS Network (CableLabs)",
        "G. White, J. Padden: Preliminary Study of CoDel AQM in a DOCSIS Network. CableLabs, November 2012.",
        "https://www.scribd.com/document/234626792/Study-of-Codel-and-AQM",
    ),
    "scte2013": Publication(
        "Minimizing Bufferbloat and Optimizing Packet Stream Performance in DOCSIS 3.0 CMs and CMTSs (SCTE, 2013)",
        "T. Cloonan, J. Allen, T. Cotter, B. Widrevitz, J. Howe (ARRIS): Minimizing Bufferbloat and Optimizing Packet Stream "
        "Performance in DOCSIS 3.0 CMs and CMTSs. SCTE Cable-Tec Expo, 2013.",
    ),
    "csc458": Publication(
        "The Mininet bufferbloat lab (CSC458, University of Toronto)",
        "Z. Zhang: CSC458 Programming Assignment 2 Report: Bufferbloat Problem. University of Toronto.",
    ),
    "mmcn1999": Publication(
        "Lightweight Active Router-Queue Management for Multimedia Networking (UNC, January 1999)",
        "M. Parris, K. Jeffay, F. D. Smith: Lightweight Active Router-Queue Management for Multimedia Networking. Multimedia "
        "Computing and Networking, January 1999 (slides; the paper is Proc. SPIE 3654).",
        "https://doi.org/10.1117/12.333807",
    ),
    "l4s": Publication(
        "L4S: RFC 9330 and RFC 9332, and the tables of the L4S tests",
        "B. Briscoe et al.: RFC 9330, Low Latency, Low Loss, and Scalable Throughput (L4S) Internet Service: Architecture; "
        "K. De Schepper et al.: RFC 9332, Dual-Queue Coupled Active Queue Management for L4S. January 2023. P. Heist: L4S Tests, 2020.",
        "https://github.com/heistp/l4s-tests",
    ),
    "today": Publication(
        "Thirteen years of bufferbloat: the loads of 2012, today",
        "The loads and the line of CableLabs 2012 (G. White, J. Padden); the runs are nobody's but ours.",
    ),
}

#: Name of each study and the title of what it reproduces.
STUDIES: dict[str, str] = {name: publication.title for name, publication in PUBLICATIONS.items()}

#: Studies whose cases run on the live bench, too.
ON_KERNELS = frozenset({"csc458"})
