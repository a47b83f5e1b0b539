"""`bloatlab compare`: scenarios simulated and on kernels, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from bloatlab import live
from bloatlab.cli.common import BadInput, fresh, reading, scenario, writing
from bloatlab.cli.live import EXIT_INVALID
from bloatlab.cli.options import Output, Sets, TextJson
from bloatlab.results import ResultError, json_text, open_result, save, write_json
from bloatlab.scenario import Scenario, parse
from bloatlab.simulated_and_live import (
    COMPARED,
    Cell,
    Compared,
    Lateness,
    compare,
    invalid_because,
    late,
    lateness,
    quantities,
)
from bloatlab.simulation import Result, run
from bloatlab.studies.csc458.build import Lab, build, live_cases
from bloatlab.studies.folder import file_name
from bloatlab.terminal import Console, emit, show

#: The study whose cases may be named instead of files.
STUDY = "csc458"


@dataclass(frozen=True, slots=True)
class _Case:
    """A scenario by seed, under its name."""

    name: str
    scenario: Callable[[int], Scenario]


def command(
    *files: str,
    sets: Sets = (),
    output: Output = None,
    form: TextJson = "text",
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 10,
    seconds: Annotated[int, Parameter(name="--time", validator=validators.Number(gte=1))] = 60,
    only: tuple[str, ...] = (),
    exact: bool = False,
    saved: Path | None = None,
    force: bool = False,
) -> int:
    """Run scenarios simulated and on kernels, and lay the medians side by side.

    Round-trip time of pings, time of files, mean queue, throughput of endless transfers: each agrees within 15 % of the
    live value or 3 ms, whichever is larger. Each live run is made once; one that its own lateness rule calls invalid is
    shown, and judges nothing. The simulations have the lateness that the live run measured of itself, on the
    links into the hosts. Needs root and TUN, but for --saved. Exit codes: 0 all agree; 1 some differ; 3 no live run was
    valid.

    Parameters
    ----------
    files
        Scenarios; or csc458, for the cases of that study that run on kernels (Q = 5, 20, 100 with reno, cubic, bbr;
        codel, fq_codel, pie).
    sets
        Lay a value over each file's scenario.
    output
        Folder for compare.json and the live results.
    form
        text prints the table; json prints cells and summary, and nothing else on standard output.
    seeds
        Seeds of the simulations, from 1; ours is the median over them.
    seconds
        Length of csc458's runs, s.
    only
        Of csc458's cases those with this text in their name. May be given again.
    exact
        Simulate with exact clocks instead of the live run's lateness.
    saved
        Folder of an earlier comparison (its -o): judge the live runs kept there instead of making new ones.
    force
        Replace an earlier comparison in the folder.
    """
    cases = [case for name in files for case in _cases(name, sets, seconds, only)]
    if not cases:
        raise BadInput(f"nothing to compare: bloatlab compare FILE..., or bloatlab compare {STUDY}")
    if saved is not None and output is not None and saved.resolve() == output.resolve():
        raise BadInput("-o: is the folder of --saved; give another for compare.json, or none")
    fresh(output, COMPARED, force=force)
    runs = _run_live(output) if saved is None else _open_saved(saved)
    done = _compare(cases, seeds, runs, Console(stderr=True), exact=exact)
    if output is not None:
        writing(output, lambda: write_json(output / COMPARED, done.as_data()))
    if form == "json":
        emit(json_text(done.as_data()))
    else:
        console = Console()
        show(done.table(), console)
        judged = [c.agrees for c in done.cells if c.agrees is not None]
        console.print(
            f"{sum(judged)} of {len(judged)} judged cells agree; {len(done.invalid)} of {len(cases)} live runs invalid."
        )
    return EXIT_INVALID if done.agrees is None else 0 if done.agrees else 1


def _cases(name: str, sets: Sequence[str], seconds: int, only: Sequence[str]) -> list[_Case]:
    if name == STUDY:
        chosen = [c for c in live_cases() if not only or any(word in c.key for word in only)]
        return [_Case(c.key, lambda seed, c=c: build(c, seed, Lab(seconds=seconds))) for c in chosen]
    given = scenario(Path(name), sets)
    return [_Case(given.name, lambda seed: given.with_sets(("seed", str(seed))))]


def _run_live(output: Path | None) -> Callable[[_Case], Result]:
    """Makes a case's live run, and keeps it if there is a folder."""
    live.clean()

    def made(case: _Case) -> Result:
        begun = time.perf_counter()
        real = live.run(case.scenario(1))
        if output is not None:
            folder = output / file_name(case.name)
            took = time.perf_counter() - begun
            writing(folder, lambda: save(real, folder, seconds=took))
        return real

    return made


def _open_saved(saved: Path) -> Callable[[_Case], Result]:
    """Opens a case's live run of an earlier comparison."""

    def opened(case: _Case) -> Result:
        folder = saved / file_name(case.name)
        try:
            real = reading(folder, lambda: open_result(folder))
        except ResultError as error:
            raise BadInput(f"--saved: {error}") from None
        if "live" not in real.summary:
            raise BadInput(f"--saved: {folder}: is a simulation, no live run")
        # resolved anew, for keys that are younger than the run
        if parse(real.scenario.text, form="json") != case.scenario(1):
            raise BadInput(f"--saved: {folder}: is of another scenario than {case.name} here (--set, --time?)")
        return real

    return opened


def _compare(
    cases: Sequence[_Case], seeds: int, run_live: Callable[[_Case], Result], console: Console, *, exact: bool
) -> Compared:
    """The live runs one after another, each beside its simulations; nothing else runs meanwhile."""
    cells: list[Cell] = []
    invalid: dict[str, str] = {}
    measured: dict[str, Lateness] = {}
    for place, case in enumerate(cases, start=1):
        real = run_live(case)
        scenarios = [case.scenario(seed) for seed in range(1, seeds + 1)]
        if not exact:
            measured[case.name] = lateness(real)
            scenarios = [late(s, real) for s in scenarios]
        simulated = [quantities(run(s)) for s in scenarios]
        why = invalid_because(real)
        if why is not None:
            invalid[case.name] = why
        cells += compare(case.name, simulated, quantities(real), valid=why is None)
        console.print(
            f"{place} of {len(cases)}  {case.name}  {'valid' if why is None else 'invalid: ' + why}", highlight=False
        )
    return Compared(cells, invalid, seeds, measured)
