"""`bloatlab compare`: simulations and live runs of the same scenarios, side by side."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab import live
from bloatlab.cli.common import BadInput, fresh, overrides, reading, scenario, writing
from bloatlab.cli.live import EXIT_INVALID
from bloatlab.cli.options import Count, Output, Sets, TextJson
from bloatlab.results import ResultError, json_text, open_result, save, write_json
from bloatlab.scenario import Scenario, parse
from bloatlab.simulated_and_live import (
    COMPARED,
    Cell,
    Compared,
    Lateness,
    compare,
    late,
    lateness,
    quantities,
)
from bloatlab.simulation import Result, run
from bloatlab.studies.csc458.build import Lab, build, live_cases
from bloatlab.studies.reproduce import file_name
from bloatlab.terminal import Console, emit, show

#: The study whose name may be given instead of files.
STUDY = "csc458"


@dataclass(frozen=True, slots=True)
class _Case:
    """A case to compare: its name, and a function that returns the case's scenario for a seed."""

    name: str
    scenario: Callable[[int], Scenario]


def command(
    *files: str | Path,  # str keeps the ./ of a file named like the study; Path makes shells complete file names
    sets: Sets = (),
    output: Output = None,
    form: TextJson = "text",
    seeds: Count = 10,
    seconds: Annotated[Count | None, Parameter(name="--time")] = None,
    only: tuple[str, ...] = (),
    exact: bool = False,
    saved: Path | None = None,
    force: bool = False,
) -> int:
    """Run scenarios both in simulation and live over this machine's kernel, and compare the medians.

    Compares ping round-trip times, file transfer times, mean queues and the throughput of endless transfers. A value
    agrees if it is within 15 % of the live one. Times and queues also agree if they differ by at most 3 ms. Each live
    run is made once; one that was too late to be valid is shown but not judged. The simulations add the lateness
    measured in the live run to the links into the hosts. Needs root and TUN, except with --saved. Exit codes: 0 all
    agree; 1 some differ; 3 no live run was valid.

    Args:
        files: Scenarios; or csc458 for that study's live cases (Q = 5, 20, 100 with reno, cubic, bbr; codel, fq_codel,
            pie).
        output: Folder for compare.json and the live results.
        seeds: Simulate seeds 1 to SEEDS and compare their median.
        seconds: Duration of csc458's runs in seconds. Default: 60.
        only: Only csc458's cases with this text in their name. Repeatable.
        exact: Simulate with exact clocks, without the live run's lateness.
        saved: Folder of an earlier comparison (its -o): reuse its live runs instead of making new ones.
        force: Replace an earlier comparison in the folder.
    """
    overrides(sets, seeds=True)
    cases = _distinct([(name, case) for name in files for case in _cases(name, sets, seconds, only)])
    if not cases:
        raise BadInput(f"nothing to compare: bloatlab compare FILE..., or bloatlab compare {STUDY}")
    if STUDY not in files and seconds is not None:
        raise BadInput(f"--time {seconds}: is for {STUDY} only; for a file, give --set duration={seconds}s")
    if STUDY not in files and only:
        raise BadInput(f"--only {only[0]}: is for {STUDY} only; a file has one case")
    if sets and set(files) == {STUDY}:
        raise BadInput(f"--set {sets[0]}: is for files only, not for {STUDY}")
    if saved is not None and output is not None and saved.resolve() == output.resolve():
        raise BadInput("-o: is the folder of --saved; give another one, or leave it out")
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


def _cases(name: Path | str, sets: Sequence[str], seconds: int | None, only: Sequence[str]) -> list[_Case]:
    if name == STUDY:
        chosen = [c for c in live_cases() if not only or any(word in str(c) for word in only)]
        if not chosen:
            raise BadInput(f"--only {only[0]}: no case of {STUDY} has it in its name, such as {live_cases()[0]}")
        return [_Case(str(c), lambda seed, c=c: build(c, seed, Lab(seconds=seconds or 60))) for c in chosen]
    given = scenario(Path(name), sets)
    return [_Case(given.name, lambda seed: given.with_sets(("seed", str(seed))))]


def _distinct(named: Sequence[tuple[Path | str, _Case]]) -> list[_Case]:
    """Returns the cases. Raises `BadInput` if two names, equal or not, give the same folder."""
    first: dict[str, tuple[Path | str, _Case]] = {}
    for name, case in named:
        other, like = first.setdefault(file_name(case.name), (name, case))
        if like is not case:
            both = f'its name "{case.name}" and the name "{like.name}" of {other}'
            raise BadInput(f"{name}: {both} give the same folder; give each scenario another name")
    return [case for _, case in named]


def _run_live(output: Path | None) -> Callable[[_Case], Result]:
    """Returns a function that runs a case live and, if `output` is given, saves the result in a folder of `output`."""
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
    """Returns a function that opens a case's live run in the folder of an earlier comparison."""

    def opened(case: _Case) -> Result:
        folder = saved / file_name(case.name)
        try:
            real = reading(folder, lambda: open_result(folder))
        except ResultError as error:
            raise BadInput(f"--saved: {error}") from None
        if "live" not in real.summary:
            raise BadInput(f"--saved: {folder}: is a simulation, not a live run")
        # the saved scenario is resolved again, because bloatlab may have new keys by now
        if parse(real.scenario.text, form="json") != case.scenario(1):
            raise BadInput(f"--saved: {folder}: its scenario differs from {case.name} (check --set and --time)")
        return real

    return opened


def _compare(
    cases: Sequence[_Case], seeds: int, run_live: Callable[[_Case], Result], console: Console, *, exact: bool
) -> Compared:
    """Gets the live run of each case from `run_live`, then simulates the case; nothing runs in parallel.

    If `exact` is false, the simulated links into hosts deliver packets with the lateness measured in the live run.
    """
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
        why = real.invalid_because
        if why is not None:
            invalid[case.name] = why
        cells += compare(case.name, simulated, quantities(real), valid=why is None)
        console.print(
            f"{place} of {len(cases)}  {case.name}  {'valid' if why is None else 'invalid: ' + why}", highlight=False
        )
    return Compared(cells, invalid, seeds, measured)
