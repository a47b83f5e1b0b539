"""`bloatlab check`: tests scenarios and sweeps against the [expect] tables in their files."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from bloatlab.cli.common import BadInput, overrides, reading, replaceable, writing
from bloatlab.cli.live import EXIT_INVALID
from bloatlab.cli.options import ForceFile, Sets
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.expectations import Checked, check, junit, table
from bloatlab.files import has, write
from bloatlab.sweep import grid_file, watch
from bloatlab.tables import counted
from bloatlab.terminal import Console, show

#: Text by which a JUnit file written by this command is recognised: the start of its root element.
_JUNIT = b'<testsuites name="bloatlab check"'


def command(
    *files: Path,
    sets: Sets = (),
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1, lte=grid_file.MOST_RUNS))] = None,
    junit_to: Annotated[Path | None, Parameter(name="--junit")] = None,
    force: ForceFile = False,
    run: Running = RUNNING,
) -> int:
    """Run scenarios and sweeps, and test the expectations in their files, for continuous integration.

    The table [expect] of a file has conditions on a run's summary: "apps.call.voip.mos" = ">= 4.0". With several seeds,
    the whole 95 % interval of the mean must meet the condition. Exit codes: 0 if all conditions are met; 1 if one is
    not; 3 if none is missed but a live run is invalid. See docs/check.md.

    Args:
        files: Scenarios and sweeps, or folders of results, which are tested without a run (and without --set, --seeds).
        seeds: Run seeds 1 to SEEDS instead of the file's own.
        junit_to: Write the verdicts to this file as JUnit XML, for CI systems.
    """
    if not files:
        raise BadInput("check: give a file, for example: bloatlab check modem.toml")
    replaceable(junit_to, force=force, ours=lambda of: has(of, _JUNIT), kind="a file of `bloatlab check --junit`")
    console = Console(stderr=True)
    kept, pairs = run.opened(console), overrides(sets, seeds=seeds is not None)
    done: list[Checked] = []
    with run.executor(console) as executor:
        for file in files:
            begun, bar = time.perf_counter(), watch(str(file), console)
            one = reading(file, partial(check, file, sets=pairs, seeds=seeds, store=kept, watch=bar, executor=executor))
            done.append(replace(one, seconds=time.perf_counter() - begun))
    if junit_to is not None:
        writing(junit_to, lambda: write(junit_to, junit(done)))
    out = Console()
    for one in done:
        show(table(one), out)
        out.print()
    verdicts = [v.kept for one in done for v in one.verdicts]
    failed, untested = verdicts.count(False), verdicts.count(None)
    counts = {"not met": failed, "not tested: invalid live run": untested}
    words = ", ".join(f"{count} {how}" for how, count in counts.items() if count) or "all met"
    out.print(f"{counted(len(verdicts), 'expectation')}, {words}")
    return 1 if failed else EXIT_INVALID if untested else 0
