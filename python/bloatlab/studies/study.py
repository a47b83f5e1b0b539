"""A study as a value: its runs, the published values, and the tables, figures and answer that compare them.

    STUDY = Study(name="buffers", publication=..., cases=CASES, build=build, measure=measure, published=PUBLISHED)

Everything specific to a study is a field of `Study`; `reproduce` does the rest. docs/adding-a-study.md shows a complete
study.
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
from bloatlab.studies.claims import Checked, Claim, Measures, Published, Quantity, Runs, check_all, count
from bloatlab.studies.scorecard import Cell, Goal, Origin, Scorecard, share_of
from bloatlab.sweep import At, Executor, Gathered, Grid, Measure, Store, default_jobs
from bloatlab.tables import Spread, TextTable, counted
from bloatlab.terminal import Console

#: Name of the report in a study's folder.
REPORT = "report.html"

#: Valid study names, which are also folder names.
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class StudyError(InputError):
    """A study that cannot be reproduced as declared; the message is one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options for a reproduction. Progress is printed on `console`.

    `store` keeps runs so that they need not be repeated; without a store, every run is made. The runs are made by
    `executor`, or by `jobs` threads of this process. `live` also runs the cases on kernels, in a study with
    `on_kernels`. `sets` are values that override the values of every scenario, as in `bloatlab run --set`. `command` is
    the command line that the report prints, without the options that do not change the report; it is empty for a call
    in Python.
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
    command: str = ""

    @property
    def workers(self) -> str:
        """A phrase for the first line that a reproduction prints: "4 workers", "on a cluster"."""
        return "on a cluster" if self.executor is not None else counted(self.jobs or default_jobs(), "worker")


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication that a study reproduces: its title, its citation, and its web address ("" if it has none)."""

    title: str
    cited: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """The top of a study's page: the heading, the line below it, and a paragraph on the set-up."""

    heading: str
    subtitle: str
    lead: str


@dataclass(frozen=True, slots=True)
class Quick:
    """A quick look: the number of seeds, and a sentence saying why the result proves nothing.

    A study without `batches` may limit the quick look to `cases`, and its runs to `seconds`. For the latter, `build`
    must have a parameter named `seconds`.
    """

    seeds: int = 1
    warning: str = "A quick look: one seed, so that it proves nothing."
    cases: Sequence[Any] = ()
    seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Runs made together: every case with every seed (see `most_seeds`). Each result is reduced by `measure`.

    `build` makes the scenario of a case and a seed. For cases with several axes, `grid` replaces `cases` and
    `build`, and `key` then makes a run's name from its grid point. The study's folder contains the scenarios of the
    first batch.
    """

    name: str
    measure: Measure
    cases: Sequence[Any] = ()
    build: Callable[[Any, int], Scenario] | None = None
    grid: Callable[[Sequence[int]], Grid] | None = None
    key: Callable[[At], str] = lambda at: str(at["case"])
    #: The maximum number of seeds; None for no limit.
    most_seeds: int | None = None
    #: Whether `Results.runs` leaves out the runs of this batch. `Results.ran` always contains them.
    apart: bool = False
    #: Additional columns of runs.parquet, with one value for all rows of this batch; None leaves the batch out of that
    #: file.
    columns: Mapping[str, str] | None = field(default_factory=dict[str, str])

    def of_seeds(self, seeds: range) -> Grid:
        """Returns the grid of the batch's runs, with the first `most_seeds` of these seeds."""
        few = seeds if self.most_seeds is None else seeds[: self.most_seeds]
        if self.grid is not None:
            return self.grid(few)
        return Grid({"case": self.cases}, self._scenario, few)

    def _scenario(self, *, case: Any, seed: int) -> Scenario:
        assert self.build is not None, self.name  # noqa: S101  a batch without a grid has `build`
        scenario = cast("object", self.build(case, seed))
        if not isinstance(scenario, Scenario):
            raise StudyError(f"build gives no scenario for case {case} (but {type(scenario).__name__})")
        return scenario


@dataclass(frozen=True)
class Ran:
    """A batch and the results of its runs."""

    batch: Batch
    gathered: Gathered[At]

    @functools.cached_property
    def runs(self) -> Runs:
        """The measures of every case by its key, in seed order."""
        return {self.batch.key(at): rows for at, rows in self.gathered.rows().items()}

    @functools.cached_property
    def frames(self) -> Mapping[str, Mapping[str, pl.DataFrame]]:
        """The frames of seed 1 by case; cases without frames are left out."""
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
    """The cases that can also run on kernels.

    `scenarios` returns the scenarios of these cases by key, and `measure` measures a live run.
    """

    scenarios: Callable[[Options], Mapping[str, Scenario]]
    measure: Callable[[Result], Measures]


@dataclass(frozen=True, slots=True)
class Live:
    """The runs on kernels: the measures of every case, and for each invalid case the reason."""

    measures: Mapping[str, Measures]
    invalid: Mapping[str, str]

    def as_data(self) -> dict[str, Any]:
        """Returns the measures and the verdicts as plain data for JSON."""
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
    """A section of a study's page. `blocks` makes its contents; if there are none, the section is left out."""

    title: str
    anchor: str
    blocks: Callable[[Results], Iterable[TextTable | Block]]
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study: its runs, published values, claims, tables, figures and answer.

    A simple study has `cases`, `build` and `measure`, and `published` values for these cases. A study with several
    kinds of runs has `batches` instead; a study with its own rules for published values has `cells`.
    """

    name: str
    publication: Publication
    about: About

    # --------------------------------------------------------------------------------------------------------- runs
    cases: Sequence[Any] = ()
    build: Callable[..., Scenario] | None = None
    measure: Callable[[Result], Measures] | None = None
    batches: Callable[[Options], Sequence[Batch]] | None = None
    #: Returns the size of a reproduction, such as "27 cases", for the first line that the reproduction prints.
    extent: Callable[[Options], str] | None = None
    quick: Quick = Quick()
    #: The question that each experiment answers, by the name of the experiment. Experiments can be requested with
    #: `Options.experiments`, and `batches` must return the batches of all requested experiments.
    experiments: Mapping[str, str] = field(default_factory=dict[str, str])
    on_kernels: OnKernels | None = None
    #: `further` returns batches that depend on the results so far. It is called if there are at least `further_from`
    #: seeds, but not in a quick look. `explain_cells` and `explain_claims` use the results to add reasons to the cells
    #: and claims.
    further: Callable[[Results], Sequence[Batch]] | None = None
    further_from: int = 1
    explain_cells: Callable[[Results, Sequence[Cell]], Sequence[Cell]] = lambda _, cells: cells
    explain_claims: Callable[[Results, Sequence[Checked]], Sequence[Checked]] = lambda _, claims: claims

    # --------------------------------------------------------------------------------------------------- comparison
    published: Sequence[Published] = ()
    #: Returns why a published value differs from ours, or "" if there is no explanation.
    explain: Callable[[Runs, Published, Spread], str] | None = None
    cells: Callable[[Runs], Sequence[Cell]] | None = None
    #: Shares of values that should be within tolerance. If there are no goals, all judged values should be within
    #: tolerance.
    goals: Sequence[Goal] = ()
    #: The tolerances as text, as printed on the page.
    rules: Sequence[tuple[str, str]] = ()
    claims: Sequence[Quantity | Claim] = ()

    # ------------------------------------------------------------------------------------------------------- output
    answer: Callable[[Results], Answer] | None = None
    #: Makes the tables that a terminal shows with `--full`, before the claims and the shares. If it is None, the
    #: terminal shows the tables of the page.
    tables: Callable[[Results], Iterable[TextTable]] | None = None
    figures: Callable[[Results], Sequence[Drawn]] = lambda _: ()
    sections: Sequence[PageSection] = ()
    #: Additional keys of scorecard.json.
    data: Callable[[Results], Mapping[str, Any]] = lambda _: {}

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"study {self.name!r}: a name has small letters, digits, dots, dashes")
        if self.batches is None:
            self._check_cases()

    def _check_cases(self) -> None:
        """Checks a study without `batches`: it needs `cases`, `build` and `measure`, and must not have experiments.

        Each case must have its own key, and published values and claims must refer to known cases. Otherwise, raises
        `ValueError`.
        """
        missing = [what for what in ("cases", "build", "measure") if not getattr(self, what)]
        if missing:
            raise ValueError(f"study {self.name}: give {' and '.join(missing)}, or batches")
        if self.experiments:
            raise ValueError(f"study {self.name}: experiments are runs of their own; give batches")
        keys = Counter(map(str, self.cases))
        key, times = keys.most_common(1)[0]
        if times > 1:
            raise ValueError(f"study {self.name}: {times} cases are called {key!r}; a case is called by its str()")
        for what, key, _ in self.compared():
            if key not in keys:
                raise ValueError(f"study {self.name}: {what} is of case {key!r}; expected {', '.join(keys)}")

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Yields (name, case, measure) for each published value, and for each pair (case, measure) in a claim."""
        yield from ((f"published {p.metric!r}", p.run, p.measure) for p in self.published)
        for claim in self.claims:
            of = [(claim.case, claim.measure)] if isinstance(claim, Quantity) else []
            values = claim.values if isinstance(claim, Claim) else of
            pairs = [value for value in values if isinstance(value, tuple)]
            yield from ((f"claim {claim.ident!r}", case, measure) for case, measure in pairs)

    def plan(self, options: Options) -> Sequence[Batch]:
        """Returns the batches of a reproduction, including the requested experiments."""
        if self.batches is not None:
            return self.batches(options)
        assert self.build is not None and self.measure is not None  # noqa: S101, PT018  `__post_init__` has checked this
        cases, build = self.cases, self.build
        if options.quick:
            cases = self.quick.cases or cases
            build = functools.partial(build, seconds=self.quick.seconds) if self.quick.seconds else build
        return [Batch(name="all cases", cases=cases, build=build, measure=Measure(self.name, self.measure))]

    def scorecard(self, runs: Runs, proves_nothing: str = "") -> Scorecard:
        """Judges every published value, or none if the runs prove nothing for the given reason."""
        if self.cells is None:
            reason = functools.partial(self.explain, runs) if self.explain else None
            found: Sequence[Cell] = [cell for p in self.published if (cell := p.cell(runs, reason)) is not None]
        else:
            found = self.cells(runs)
        if proves_nothing:
            found = [cell.unjudged() for cell in found]
        seeds = max((len(of) for of in runs.values()), default=0)
        shares = [goal.share(found) for goal in self.goals]
        if not proves_nothing:  # a goal that wants values within tolerance is not reached if no value was judged
            shares = [replace(share, unjudged=False) if share.wanted else share for share in shares]
        return Scorecard(self.name, seeds, found, shares, proves_nothing)

    def check(self, runs: Runs, proves_nothing: str = "") -> list[Checked]:
        """Checks every claim, or none if the runs prove nothing for the given reason."""
        found = check_all(self.claims, runs)
        return [claim.unjudged() for claim in found] if proves_nothing else found


@dataclass(frozen=True)
class Results:
    """A reproduced study: its runs, and everything computed from them."""

    study: Study
    options: Options
    ran: Mapping[str, Ran]
    #: The reason why these runs prove nothing (a quick look, or values of --set); empty for a full reproduction.
    proves_nothing: str = ""
    live: Live | None = None
    seconds: float = 0.0

    @functools.cached_property
    def runs(self) -> Runs:
        """The measures of every case by its key, in seed order. Batches marked `apart` are left out."""
        return {key: rows for ran in self.ran.values() if not ran.batch.apart for key, rows in ran.runs.items()}

    @functools.cached_property
    def scorecard(self) -> Scorecard:
        """The judged values."""
        card = self.study.scorecard(self.runs, self.proves_nothing)
        return replace(card, cells=self.study.explain_cells(self, card.cells))

    @functools.cached_property
    def claims(self) -> Sequence[Checked]:
        """The checked claims."""
        return self.study.explain_claims(self, self.study.check(self.runs, self.proves_nothing))

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
        """The requested experiments that were run."""
        return [name for name in self.options.experiments if name in self.ran]

    @property
    def made(self) -> int:
        """The number of runs."""
        return sum(len(ran.gathered.points) for ran in self.ran.values())

    @property
    def found(self) -> int:
        """The number of runs taken from the store."""
        return sum(ran.gathered.found for ran in self.ran.values())

    @property
    def met(self) -> bool | None:
        """Whether the study's goals are met; None if the runs prove nothing."""
        return self.scorecard.met

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.options.out / REPORT

    def as_data(self) -> dict[str, Any]:
        """Returns the scorecard as plain data for JSON.

        The keys are `cells`, `claims`, `summary` and those that `Study.data` adds. With --live, there is also `live`.
        """
        data = self.scorecard.as_data()
        data["summary"]["claims"] = {str(origin): count(self.claims, origin).as_data() for origin in Origin}
        data |= {"claims": [claim.as_data() for claim in self.claims], **self.study.data(self)}
        return data if self.live is None else data | {"live": self.live.as_data()}


def _verdict(results: Results) -> Answer:
    """Makes the default answer: how many published (or else judged) values agree, and how many claims hold."""
    card, claims = results.scorecard, count(results.claims)
    share, what = share_of("published values", card.cells), "published values"
    if not share.cells:
        share, what = card.of_judged, "judged values" if card.of_judged.cells else what
    sentence = f"{share.within} of {share.cells} {what} agree"
    sentence += f", and {claims.hold} of {claims.checked} claims hold" if claims.checked else ""
    if results.proves_nothing:
        sentence = "These runs judge nothing"
    return Answer(
        f"{results.study.publication.title}: does it hold?",
        f"{sentence}.",
        basis=f"Medians of {counted(results.seeds, 'seed')}.",
    )
