"""`bloatlab reproduce`: a published study, every number beside ours."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from bloatlab.cli.common import BadInput, overrides, reading, writing
from bloatlab.cli.runs import running, store_at
from bloatlab.errors import InputError, nearest
from bloatlab.live import LiveError
from bloatlab.results import SUMMARY, json_text
from bloatlab.scenario import ScenarioError
from bloatlab.studies import STUDIES, Options, Study, StudyError, report, reproduce, study, study_in
from bloatlab.studies.registry import place
from bloatlab.sweep import RunError, Stopped
from bloatlab.terminal import Console, emit


def command(
    name: str,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    form: Annotated[Literal["text", "json"], Parameter(name=["--format", "-f"])] = "text",
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 10,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=validators.Number(gte=1))] = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
    full: Annotated[bool, Parameter(negative=())] = False,
    experiments: Annotated[tuple[str, ...], Parameter(name=["--experiment", "-e"], negative=())] = (),
    sets: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    store: Path | None = None,
    no_store: Annotated[bool, Parameter(negative=())] = False,
    force: Annotated[bool, Parameter(negative=())] = False,
    on_kernels: Annotated[bool, Parameter(name="--live", negative=())] = False,
    dask: str | None = None,
) -> int:
    """Reproduce a published study: run its cases, judge every published cell, write tables, figures and a report.

    Exit code 0 when the shares that the study set itself are met, 1 when they are not. Each cell is "within" or
    "outside" by rules fixed before the runs; "calibration" and "derived" cells are shown and not counted.

    Parameters
    ----------
    name
        The study; `bloatlab list studies` names them. Or the file of your own: ./mine.py (docs/adding-a-study.md).
    output
        Folder for report, figures and data. Default: runs/NAME.
    form
        text prints what was reached and the answer; json prints the scorecard (cells, claims, summary) and nothing
        else on standard output.
    seeds
        How many seeds, from 1. Ours is the median over them, the interval the central 80 %.
    jobs
        How many runs at a time; does not change a number. Default: as many as there are cores.
    quick
        Shorter runs and fewer seeds, for a first look. Proves nothing, judges nothing, exits with 0.
    full
        Print every table, published beside ours, before the answer. The report has them in any case.
    experiments
        Further runs beyond the published tables, by name, or "all". May be given again.
    sets
        Lay a value over every scenario of the study: --set link.up.rate=5mbit. Then nothing is judged: the published
        values are of other runs. May be given again; later ones win.
    store
        Folder where runs are kept, so that none is done twice. Default: BLOATLAB_STORE, or .bloatlab/store.
    no_store
        Run everything and keep nothing but the report.
    force
        Write into a folder that holds something else: another study, or the result of a run.
    on_kernels
        Run the cases on kernels, too, each once on the wall clock. Needs root and TUN; not every study has it.
    dask
        Run on the workers of a Dask cluster, as `bloatlab sweep --dask` does. See docs/cluster.md.
    """
    wanted = _study(name)
    if on_kernels and wanted.on_kernels is None:
        able = ", ".join(known for known in STUDIES if study(known).on_kernels is not None)
        raise BadInput(f"--live: {wanted.name} has no cases for kernels; there is {able}")
    if dask is not None and name not in STUDIES:
        raise BadInput(f"--dask: workers do not have {name}; a study of your own runs on this machine")
    asked = _asked(wanted.name, experiments, wanted.experiments)
    out = output or Path("runs") / wanted.name
    if not force:
        _no_other(out, wanted.name)
    writing(out, lambda: out.mkdir(parents=True, exist_ok=True))
    console = Console(stderr=True)
    kept = store_at(store, console, refused=no_store)
    options = Options(out, seeds, jobs, quick, asked, console, kept, on_kernels, sets=overrides(sets))
    with _errors_of(name), contextlib.nullcontext() if dask is None else running(dask, jobs, console) as executor:
        results = writing(out, lambda: reproduce(wanted, replace(options, executor=executor)))
        if form == "json":
            emit(json_text(results.as_data()))
            console.print(f"Report: {results.report}", highlight=False, soft_wrap=True)
        else:
            report(results, Console(), full=full)
    return 1 if results.met is False else 0


def _study(name: str) -> Study:
    """A study by its name, or in a file by its path. Raises `BadInput`."""
    if name in STUDIES:
        return study(name)
    path = Path(name)
    if path.suffix != ".py" and path.name == name:
        raise BadInput(
            f"{name}: no such study{nearest(name, STUDIES)}; there is {', '.join(STUDIES)}, or the file of your own"
        )
    return reading(path, lambda: study_in(path))


@contextlib.contextmanager
def _errors_of(name: str) -> Generator[None]:
    """An exception in the file of a study is told with its line. Raises `BadInput`."""
    try:
        yield
    except LiveError as error:
        raise BadInput(f"--live: {error}") from None
    except StudyError as error:
        raise BadInput(f"{name}: {error}") from None
    except Exception as error:
        expected = isinstance(error, (InputError, ScenarioError, Stopped, OSError))
        if name in STUDIES or expected or os.environ.get("BLOATLAB_TRACEBACK"):
            raise
        # a RunError names the run and its cause
        kind = "" if isinstance(error, RunError) else f"{type(error).__name__}: "
        raise BadInput(f"{place(Path(name), error) or name}: {kind}{error}") from None


def _no_other(folder: Path, name: str) -> None:
    """A study goes on in its own folder; one of something else is refused. Raises `BadInput`."""
    other = next((file for file in (SUMMARY, "compare.json") if (folder / file).exists()), None)
    card = folder / "scorecard.json"
    if other is None and card.exists():
        try:
            study = json.loads(card.read_text(encoding="utf-8"))["summary"]["study"]
        except (OSError, ValueError, KeyError, TypeError):
            study = None
        other = None if study == name else f"scorecard.json of {study or 'something else'}"
    if other is not None:
        raise BadInput(f"{folder}: holds {other}; --force writes into it, or give another folder")


def _asked(name: str, given: tuple[str, ...], known: Mapping[str, str]) -> tuple[str, ...]:
    """The experiments by name, each once. Raises `BadInput`."""
    if given and not known:
        raise BadInput(f"--experiment {given[0]}: {name} has no experiments")
    if "all" in given:
        return tuple(known)
    for one in given:
        if one not in known:
            raise BadInput(f"--experiment {one}: there is {', '.join(known)} and all{nearest(one, known)}")
    return tuple(dict.fromkeys(given))
