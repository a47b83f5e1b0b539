"""`bloatlab reproduce`: a published study, every number beside ours."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from bloatlab.cli.common import BadInput, nearest, overrides, writing
from bloatlab.cli.runs import running, store_at
from bloatlab.live import LiveError
from bloatlab.results import SUMMARY, json_text
from bloatlab.studies import ON_KERNELS, STUDIES, Options, study
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
        The study; `bloatlab list studies` names them.
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
    if name not in STUDIES:
        raise BadInput(f"{name}: no such study{nearest(name, STUDIES)}; there is {', '.join(STUDIES)}")
    wanted = study(name)
    if on_kernels and name not in ON_KERNELS:
        raise BadInput(f"--live: {name} has no cases for kernels; there is {', '.join(sorted(ON_KERNELS))}")
    asked = _asked(experiments, wanted.EXPERIMENTS)
    out = output or Path("runs") / name
    if not force:
        _no_other(out, name)
    writing(out, lambda: out.mkdir(parents=True, exist_ok=True))
    console = Console(stderr=True)
    kept = store_at(store, console, refused=no_store)
    options = Options(out, seeds, jobs, quick, asked, console, kept, on_kernels, sets=overrides(sets))
    try:
        with contextlib.nullcontext() if dask is None else running(dask, jobs, console) as executor:
            outcome = writing(out, lambda: wanted.reproduce(replace(options, executor=executor)))
    except LiveError as error:
        raise BadInput(f"--live: {error}") from None
    if form == "json":
        emit(json_text(outcome.as_data()))
        options.console.print(f"Report: {outcome.report}", highlight=False, soft_wrap=True)
    else:
        outcome.print(Console(), full=full)
    return 1 if outcome.met is False else 0


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


def _asked(given: tuple[str, ...], known: dict[str, str]) -> tuple[str, ...]:
    """The experiments by name, each once. Raises `BadInput`."""
    if "all" in given:
        return tuple(known)
    for name in given:
        if name not in known:
            raise BadInput(f"--experiment {name}: there is {', '.join(known)} and all{nearest(name, known)}")
    return tuple(dict.fromkeys(given))
