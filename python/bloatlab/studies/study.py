"""A study as a value: its runs, the published values that they are compared with, and its tables, figures and answer.

    STUDY = Study(name="buffers", publication=..., cases=CASES, build=build, measure=measure, published=PUBLISHED)

Everything that a study has of its own is a field of `Study`; `reproduce` does the rest. docs/adding-a-study.md shows a whole one.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from bloatlab.errors import InputError
from bloatlab.report import Answer, Block, Drawn
from bloatlab.scenario import Override, Scenario
from bloatlab.simulation import Result
from bloatlab.studies.cells import Published
from bloatlab.studies.claims import Checked, Claim, Measures, Quantity, Runs, check_all, count
from bloatlab.studies.scorecard import Cell, Goal, Origin, Scorecard
from bloatlab.studies.tables import statements_table
from bloatlab.sweep import At, Executor, Gathered, Grid, Measure, Store, default_jobs
from bloatlab.tables import TextTable, counted
from bloatlab.terminal import Console

#: The report of a study in its folder.
REPORT = "report.html"

#: Valid names of studies. Folders and files of the store have the same names.
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class StudyError(InputError):
    """A study that cannot be reproduced as it is declared; the message is one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to reproduce a study. `console` is where a person follows it; data goes elsewhere.

    `store` is where runs are kept and found again; None runs everything and keeps nothing. `executor` runs them, else
    `jobs` threads of this process. `live` runs the cases on kernels, too, in a study that has `on_kernels`. `sets` are
    laid over every scenario of the study, as `bloatlab run --set` does.
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
        """The workers, for the first line of a reproduction."""
        return "on a cluster" if self.executor is not None else counted(self.jobs or default_jobs(), "worker")


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication that a study reproduces: title, citation, and address on the web ("" without one)."""

    title: str
    cited: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """The top of a study's page: the heading, a line below it, and the set-up in a paragraph."""

    heading: str
    subtitle: str
    lead: str


@dataclass(frozen=True, slots=True)
class Quick:
    """A quick look: the number of seeds, and the sentence that says why it proves nothing."""

    seeds: int = 1
    warning: str = "A quick look: one seed, so that it proves nothing."


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Runs that are made together: every case with every seed, each reduced by `measure`.

    `build` makes the scenario of a case and a seed. `grid` replaces both for cases with several axes; `key` then names a
    run. The study's folder keeps the scenarios of its first batch.
    """

    name: str
    measure: Measure
    cases: Sequence[Any] = ()
    build: Callable[[Any, int], Scenario] | None = None
    grid: Callable[[Sequence[int]], Grid] | None = None
    key: Callable[[At], str] = lambda at: str(at["case"])
    #: The largest number of seeds; None: all that are asked for.
    most_seeds: int | None = None
    #: Left out of `Results.runs`; `Results.ran` has them.
    apart: bool = False
    #: Constant columns of its rows in runs.parquet; None leaves its runs out.
    columns: Mapping[str, str] | None = field(default_factory=dict[str, str])

    def of_seeds(self, seeds: range) -> Grid:
        """The grid of its runs."""
        few = seeds if self.most_seeds is None else seeds[: self.most_seeds]
        if self.grid is not None:
            return self.grid(few)
        return Grid({"case": self.cases}, self._scenario, few)

    def _scenario(self, *, case: Any, seed: int) -> Scenario:
        assert self.build is not None, self.name  # noqa: S101  a batch has a grid, or cases and a build
        scenario = cast("object", self.build(case, seed))
        if not isinstance(scenario, Scenario):
            raise StudyError(f"build gives no scenario for case {case} (but {type(scenario).__name__})")
        return scenario


@dataclass(frozen=True)
class Ran:
    """A batch after its runs."""

    batch: Batch
    gathered: Gathered[At]

    @functools.cached_property
    def runs(self) -> Runs:
        """The measures of every case by its key, in the order of the seeds."""
        return {self.batch.key(at): rows for at, rows in self.gathered.rows().items()}

    @functools.cached_property
    def frames(self) -> Mapping[str, Mapping[str, pl.DataFrame]]:
        """The frames kept of seed 1, by case; cases without frames are left out."""
        pairs = zip(self.gathered.points, self.gathered.values, strict=True)
        return {self.batch.key(p.key): value.frames for p, value in pairs if p.seed == 1 and value.frames}

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        """The scenario of every case with seed 1."""
        return {self.batch.key(p.key): p.scenario for p in self.gathered.points if p.seed == 1}

    @property
    def table(self) -> pl.DataFrame:
        """One row per run, for runs.parquet."""
        columns = {name: pl.lit(value) for name, value in (self.batch.columns or {}).items()}
        return self.gathered.frame().with_columns(**columns)


@dataclass(frozen=True, slots=True)
class OnKernels:
    """The cases that run on kernels, too: their scenarios by key, and the reduction of a live run."""

    scenarios: Callable[[Options], Mapping[str, Scenario]]
    measure: Callable[[Result], Measures]


@dataclass(frozen=True, slots=True)
class Live:
    """The runs on kernels: the measures of each, and why some are invalid."""

    measures: Mapping[str, Measures]
    invalid: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        """Measures and verdicts as JSON."""
        return {
            case: {
                "valid": case not in self.invalid,
                "invalid_because": self.invalid.get(case),
                **{name: value if value == value else None for name, value in own.items()},  # noqa: PLR0124  NaN is null
            }
            for case, own in self.measures.items()
        }


@dataclass(frozen=True, slots=True)
class PageSection:
    """A section of a study's page, made of its results. One without blocks is left out."""

    title: str
    anchor: str
    blocks: Callable[[Results], Iterable[TextTable | Block]]
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study: runs, published values, claims, tables, figures, answer.

    A simple one has `cases`, `build` and `measure`, and `published` values of those cases. One with several kinds of runs has
    `batches` instead; one with rules of its own for a published value has `cells`.
    """

    name: str
    publication: Publication
    about: About

    # --------------------------------------------------------------------------------------------------------- runs
    cases: Sequence[Any] = ()
    build: Callable[[Any, int], Scenario] | None = None
    measure: Callable[[Result], Measures] | None = None
    batches: Callable[[Options], Sequence[Batch]] | None = None
    #: The extent of a reproduction, for its first line: "27 cases".
    extent: Callable[[Options], str] | None = None
    quick: Quick = Quick()
    #: Further runs by name, and the question of each. Made on request: `Options.experiments`, which `batches` reads.
    experiments: Mapping[str, str] = field(default_factory=dict[str, str])
    on_kernels: OnKernels | None = None
    #: Runs that depend on the results of the others, and the reasons that they give for cells and claims that differ.
    further: Callable[[Results], Sequence[Batch]] | None = None
    explain_cells: Callable[[Results, Sequence[Cell]], Sequence[Cell]] = lambda _, cells: cells
    explain_claims: Callable[[Results, Sequence[Checked]], Sequence[Checked]] = lambda _, claims: claims

    # --------------------------------------------------------------------------------------------------- comparison
    published: Sequence[Published] = ()
    cells: Callable[[Runs], Sequence[Cell]] | None = None
    #: Shares of cells that should be within; without any, every judged cell should be.
    goals: Sequence[Goal] = ()
    #: The tolerances in words, for a reader.
    rules: Sequence[tuple[str, str]] = ()
    claims: Sequence[Quantity | Claim] = ()

    # ------------------------------------------------------------------------------------------------------- output
    answer: Callable[[Results], Answer] | None = None
    tables: Callable[[Results], Iterable[TextTable]] = lambda results: [
        statements_table(results.scorecard, "Published and ours")
    ]
    figures: Callable[[Results], Sequence[Drawn]] = lambda _: ()
    sections: Sequence[PageSection] = ()
    #: More keys of scorecard.json.
    data: Callable[[Results], Mapping[str, Any]] = lambda _: {}

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"study {self.name!r}: a name has small letters, digits, dots, dashes")
        if self.batches is None:
            self._check_cases()

    def _check_cases(self) -> None:
        """Refuses a simple study without one of its three fields, or with a value of an unknown case."""
        missing = [what for what in ("cases", "build", "measure") if not getattr(self, what)]
        if missing:
            raise ValueError(f"study {self.name}: without {' and '.join(missing)}; or give batches")
        if self.experiments:
            raise ValueError(f"study {self.name}: experiments are runs of their own; give batches")
        keys = Counter(map(str, self.cases))
        key, times = keys.most_common(1)[0]
        if times > 1:
            raise ValueError(f"study {self.name}: {times} cases are called {key!r}; a case is called by its str()")
        for what, key, _ in self.compared():
            if key not in keys:
                raise ValueError(f"study {self.name}: {what} is of case {key!r}; there is {', '.join(keys)}")

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Each published value and claim of a measure: its name, its case, its measure."""
        yield from ((f"published {p.metric!r}", p.run, p.measure) for p in self.published)
        for claim in self.claims:
            of = [(claim.case, claim.measure)] if isinstance(claim, Quantity) else []
            values = claim.values if isinstance(claim, Claim) else of
            pairs = [value for value in values if isinstance(value, tuple)]
            yield from ((f"claim {claim.ident!r}", case, measure) for case, measure in pairs)

    def plan(self, options: Options) -> Sequence[Batch]:
        """The batches of a reproduction, with those of the requested experiments."""
        if self.batches is not None:
            return self.batches(options)
        assert self.measure is not None  # noqa: S101  see __post_init__
        return [Batch(name="all cases", cases=self.cases, build=self.build, measure=Measure(self.name, self.measure))]

    def scorecard(self, runs: Runs, proves_nothing: str = "") -> Scorecard:
        """Every published value beside ours."""
        found = (
            [cell for p in self.published if (cell := p.cell(runs)) is not None]
            if self.cells is None
            else self.cells(runs)
        )
        seeds = max((len(of) for of in runs.values()), default=0)
        return Scorecard(self.name, seeds, found, [goal.share(found) for goal in self.goals], proves_nothing)

    def check(self, runs: Runs) -> list[Checked]:
        """Every claim beside ours."""
        return check_all(self.claims, runs)


@dataclass(frozen=True)
class Results:
    """A study reproduced: its runs, and everything that follows from them."""

    study: Study
    options: Options
    ran: Mapping[str, Ran]
    #: Why a quick look, or one with other values set, proves nothing; empty for a full one.
    proves_nothing: str = ""
    live: Live | None = None
    seconds: float = 0.0

    @functools.cached_property
    def runs(self) -> Runs:
        """The measures of every case by its key, in the order of the seeds; those of batches `apart` are left out."""
        return {key: rows for ran in self.ran.values() if not ran.batch.apart for key, rows in ran.runs.items()}

    @functools.cached_property
    def scorecard(self) -> Scorecard:
        """Every published value beside ours."""
        card = self.study.scorecard(self.runs, self.proves_nothing)
        return replace(card, cells=self.study.explain_cells(self, card.cells))

    @functools.cached_property
    def claims(self) -> Sequence[Checked]:
        """Every claim beside ours."""
        return self.study.explain_claims(self, self.study.check(self.runs))

    @functools.cached_property
    def figures(self) -> Sequence[Drawn]:
        """The study's figures."""
        return self.study.figures(self)

    @functools.cached_property
    def answer(self) -> Answer:
        """The answer to the study's question."""
        return (self.study.answer or _verdict)(self)

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return self.scorecard.seeds

    @property
    def asked(self) -> Sequence[str]:
        """The experiments that were made."""
        return [name for name in self.options.experiments if name in self.ran]

    @property
    def made(self) -> int:
        """The number of runs."""
        return sum(len(ran.gathered.points) for ran in self.ran.values())

    @property
    def found(self) -> int:
        """The number of runs that came from the store."""
        return sum(ran.gathered.found for ran in self.ran.values())

    @property
    def met(self) -> bool | None:
        """Whether the study's goals are met; None for a quick look."""
        return self.scorecard.met

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.options.out / REPORT

    def as_data(self) -> dict[str, Any]:
        """The scorecard as JSON: `cells`, `claims`, a `summary`, and the study's own keys; `live` with --live."""
        data = self.scorecard.as_data()
        data["summary"]["claims"] = {str(origin): count(self.claims, origin).as_data() for origin in Origin}
        data |= {"claims": [claim.as_data() for claim in self.claims], **self.study.data(self)}
        return data if self.live is None else data | {"live": self.live.as_data()}


def _verdict(results: Results) -> Answer:
    """The default answer: how many published values and claims hold."""
    share, claims = results.scorecard.of_judged, count(results.claims)
    sentence = f"{share.within} of {share.cells} published values agree"
    sentence += f", and {claims.hold} of {claims.checked} claims hold" if claims.checked else ""
    return Answer(
        f"{results.study.publication.title}: does it hold?",
        f"{sentence}.",
        basis=f"Medians of {counted(results.seeds, 'seed')}.",
    )
