"""`bloatlab reproduce`: reproduces a published study and compares every number."""

import contextlib
import json
import os
import shlex
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, hold, overrides, reading, writing
from bloatlab.cli.options import Count, Output, Sets, TextJson
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.errors import InputError, nearest
from bloatlab.live import LiveError
from bloatlab.results import PROVENANCE, SUMMARY, json_text
from bloatlab.scenario import ScenarioError
from bloatlab.studies import STUDIES, Options, Study, StudyError, report, reproduce, study, study_in
from bloatlab.studies.registry import place
from bloatlab.studies.study import REPORT
from bloatlab.sweep import RunError, Stopped
from bloatlab.tables import counted
from bloatlab.terminal import Console, emit

#: The default number of seeds.
SEEDS = 10

#: Files and folders that a study writes besides its scorecard.
_WRITTEN = (REPORT, "runs.parquet", "figures", "scenarios", PROVENANCE)


def command(
    name: str,
    /,
    *,
    output: Output = None,
    form: TextJson = "text",
    seeds: Count | None = None,
    quick: bool = False,
    full: bool = False,
    experiments: Annotated[tuple[str, ...], Parameter(name=["--experiment", "-e"])] = (),
    sets: Sets = (),
    force: bool = False,
    on_kernels: Annotated[bool, Parameter(name="--live")] = False,
    run: Running = RUNNING,
) -> int:
    """Reproduce a published study: run its cases, judge every published value, write tables, figures and a report.

    Each value is "within" or "outside" by rules that were fixed before the runs; "calibration" and "derived" values are
    shown but not counted. Exit code 0 if the share of values within reaches the study's own target, 1 if not. With
    --set nothing is judged, because the published values do not apply.

    Args:
        name: Name of a study (`bloatlab list studies`), or the file of your own: ./mine.py (docs/adding-a-study.md).
        output: Folder for report, figures and data. Default: runs/NAME.
        seeds: Run seeds 1 to SEEDS. Our value is their median, its interval the central 80 %. Default: 10.
        quick: A quick look with shorter runs and fewer seeds. Judges nothing; the exit code is 0.
        full: Print every table, with published values next to ours, before the main result. The report always has them.
        experiments: Experiments beyond the published tables to run, by name, or "all". Repeatable.
        force: Write into a folder even if it holds another study or the result of a run.
        on_kernels: Also run the cases over this machine's kernel, once each, in real time. Needs root and TUN; not
            every study supports it.
    """
    wanted = _study(name)
    if on_kernels and wanted.on_kernels is None:
        able = ", ".join(known for known in STUDIES if study(known).on_kernels is not None)
        raise BadInput(f"--live: {wanted.name} has no live cases; these studies have: {able}")
    if quick and seeds is not None:
        runs = counted(wanted.quick.seeds, "seed")
        raise BadInput(f"--seeds {seeds}: has no effect with --quick, which runs {runs}; give one of them")
    if run.dask is not None and name not in STUDIES:
        raise BadInput(f"--dask: the workers do not have {name}; your own study runs only on this machine")
    pairs = overrides(sets, seeds=True)
    asked = _asked(wanted.name, experiments, wanted.experiments)
    out = output or Path("runs") / wanted.name
    hold(out)
    if not force:
        _no_other(out, wanted.name)
    console = Console(stderr=True)
    kept = run.opened(console)
    given = [
        *(["--seeds", str(seeds)] if seeds is not None else []),
        *(["--quick"] if quick else []),
        *(word for one in experiments for word in ("--experiment", one)),
        *(word for one in sets for word in ("--set", one)),
        *(["--live"] if on_kernels else []),
    ]
    # without -o and -j, so that equal runs have equal reports
    typed = shlex.join(["bloatlab", "reproduce", name, *given])
    options = Options(out, seeds or SEEDS, run.jobs, quick, asked, console, kept, on_kernels, sets=pairs, command=typed)
    with _errors_of(name), contextlib.nullcontext() if run.dask is None else run.executor(console) as executor:
        results = writing(out, lambda: reproduce(wanted, replace(options, executor=executor)))
        if form == "json":
            emit(json_text(results.as_data()))
            console.print(f"Report: {results.report}", highlight=False, soft_wrap=True)
        else:
            report(results, Console(), full=full)
    return 1 if results.met is False else 0


def _study(name: str) -> Study:
    """Finds a study by name, or loads it from a file. Raises `BadInput`, `StudyError`."""
    if name in STUDIES:
        return study(name)
    path = Path(name)
    if path.suffix != ".py" and path.name == name:
        given = name or '""'
        raise BadInput(
            f"{given}: no such study{nearest(name, STUDIES)} ({', '.join(STUDIES)}, or the file of your own)"
        )
    return reading(path, lambda: study_in(path))


@contextlib.contextmanager
def _errors_of(name: str) -> Generator[None]:
    """Turns an error of a live run, or an exception in a user's study file, into a `BadInput` that names the place."""
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
        # the message of a RunError already says which run failed and why
        kind = "" if isinstance(error, RunError) else f"{type(error).__name__}: "
        raise BadInput(f"{place(Path(name), error) or name}: {kind}{error}") from None


def _no_other(folder: Path, name: str) -> None:
    """Raises `BadInput` if the folder has a result, a comparison, or a study's files without a scorecard of `name`."""
    other = next((file for file in (SUMMARY, "compare.json") if (folder / file).exists()), None)
    card = folder / "scorecard.json"
    if other is None and card.exists():
        try:
            study = json.loads(card.read_text(encoding="utf-8"))["summary"]["study"]
        except (OSError, ValueError, KeyError, TypeError):
            study = None
        other = None if study == name else f"scorecard.json of {study or 'something else'}"
    elif other is None:
        other = next((file for file in _WRITTEN if (folder / file).exists()), None)
    if other is not None:
        raise BadInput(f"{folder}: has {other}; give --force to write into it, or another folder")


def _asked(name: str, given: tuple[str, ...], known: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names of the requested experiments, without repetition. Raises `BadInput`."""
    if given and not known:
        raise BadInput(f"--experiment {given[0]}: {name} has no experiments")
    if "all" in given:
        return tuple(known)
    for one in given:
        if one not in known:
            raise BadInput(f"--experiment {one}: expected {', '.join(known)} or all{nearest(one, known)}")
    return tuple(dict.fromkeys(given))
