"""`bloatlab validate`: compares bloatlab with a real Linux kernel."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from bloatlab.cli.common import BadInput, fresh, overrides, reading, writing
from bloatlab.cli.options import Force, Jobs, Output, Sets, TextJson
from bloatlab.results import write_json
from bloatlab.sweep import default_jobs, watch
from bloatlab.tables import counted
from bloatlab.terminal import Console, show
from bloatlab.validate import Entry, Validated, load, public, validate

#: Width of validate.txt in characters.
WIDTH = 80


def command(
    *files: Path,
    output: Output = None,
    form: TextJson = "text",
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=1000))] = 5,
    jobs: Jobs = None,
    only: tuple[str, ...] = (),
    sets: Sets = (),
    force: Force = False,
) -> int:
    """Simulate scenarios that were measured on a real Linux kernel, and test if each value is within tolerance.

    The references hold measurements of a kernel's queue disciplines and TCPs over one bottleneck: goodput, ping times,
    drops, queue lengths, windows, page times. bloatlab builds the same network, takes the same measurements, and
    reports which are within tolerance. Exit code 1 if fewer than 90 % of grade A's values, or fewer than 80 % of grade
    B's values, are within tolerance. See docs/validation.md.

    Args:
        files: References in the format of docs/validation.md. Default: the two in bloatlab, from Linux 6.12 and 7.3.
        output: Folder for validate.json and validate.txt.
        seeds: Run seeds 1 to SEEDS. Our value is the mean over seeds; the kernel's value is the mean over its runs.
        only: Only scenarios with this text in their name. Repeatable.
    """
    console = Console(stderr=True)
    entries = _entries(files or public(), only)
    fresh(output, "validate.json", "validate.txt", force=force)
    begun = time.perf_counter()
    bar = watch(f"{len(entries)} scenarios x {seeds}", console)
    done = validate(
        entries, seeds=seeds, jobs=jobs or default_jobs(), sets=tuple(overrides(sets, seeds=True)), watch=bar
    )
    seconds = time.perf_counter() - begun
    if output is not None:
        writing(output, lambda: _write(done, output))
    if form == "json":
        sys.stdout.write(json.dumps(done.as_data(), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(done, Console())
    console.print(f"{counted(seeds, 'seed')} in {seconds:.1f} s", highlight=False)
    return 0 if done.met else 1


def _entries(files: Sequence[Path], only: Sequence[str]) -> list[Entry]:
    """Returns the requested scenarios. Raises `BadInput`."""
    entries = [entry for path in files for entry in reading(path, lambda p=path: load(p))]
    chosen = [e for e in entries if not only or any(word in e.name for word in only)]
    if not chosen:
        raise BadInput(f"--only {' '.join(only)}: in no scenario's name; the first scenario is {entries[0].name}")
    return chosen


def _write(done: Validated, folder: Path) -> None:
    write_json(folder / "validate.json", done.as_data(), sort_keys=False)
    with (folder / "validate.txt").open("w", encoding="utf-8") as file:
        _print(done, Console(file=file, width=WIDTH))


def _print(done: Validated, console: Console) -> None:
    """Prints a table for each scenario, the unsupported scenarios, the values outside tolerance, and the shares."""
    for scenario in done.scenarios:
        if scenario.cells:
            show(scenario.table(), console)
            console.print()
    for scenario in done.unsupported():
        console.print(f"{scenario.entry.name}: not supported: {scenario.unsupported}", markup=False, highlight=False)
    outside = done.outside()
    if outside.rows:
        show(outside, console)
        console.print()
    show(done.shares(), console)
    aside = len(done.unsupported())
    if aside:
        console.print(f"{aside} of {len(done.scenarios)} scenarios are not supported and not counted.", highlight=False)
