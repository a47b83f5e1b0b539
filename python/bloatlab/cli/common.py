"""Functions that the subcommands share: they read input, save results, and report errors in one line."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bloatlab.errors import InputError
from bloatlab.files import NOT_TEXT, drawn_here, locked, make_folder
from bloatlab.results import FILES, SUMMARY, Form, check_tables, has_result, remove_unfinished, replacing, write
from bloatlab.scenario import Override, Scenario, load, quantity
from bloatlab.simulation import Result
from bloatlab.traces import CAPTURES, PACKETS, check_no_others
from bloatlab.workloads import near

if TYPE_CHECKING:
    from bloatlab.terminal import Console

T = TypeVar("T")

#: The locks of output folders, which a command holds until it ends.
held = contextlib.ExitStack()


class BadInput(InputError):  # noqa: N818  the user's input is wrong, not the program
    """A request that cannot be met; the message is one line for the user."""


def overrides(sets: Sequence[str], *, seeds: bool = False) -> list[Override]:
    """Splits `path=value` strings into pairs. Raises `BadInput`, with `seeds` also for the path "seed"."""
    pairs: list[Override] = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadInput(f"--set {text}: expected path=value, for example --set link.up.rate=5mbit")
        if seeds and path.strip() == "seed":
            raise BadInput("--set seed: --seeds varies it")
        pairs.append((path.strip(), value.strip()))
    return pairs


def scenario(path: Path, sets: Sequence[str]) -> Scenario:
    """Reads a scenario file and applies the `--set` options. Raises `BadInput` or `ScenarioError`."""
    pairs = overrides(sets)
    return reading(path, lambda: load(path, pairs))


#: Matches a rate below 1 kbit/s, as written in a resolved scenario.
_SLOW = re.compile(r"([1-9][0-9]{0,2})bit")


def noted(of: Scenario) -> list[str]:
    """Returns notes on valid values that are probably mistakes: a rate below 1 kbit/s, a start at or after the end."""
    data = json.loads(of.text)
    slow = list(_slow_rates(data, "")) if re.search(f'"{_SLOW.pattern}"', of.text) else []
    end = quantity(data["duration"])
    late = [
        f"app.{name}.start: {app['start']} is not before the end ({data['duration']}), so it never starts"
        for name, app in data["app"].items()
        if quantity(app["start"]) >= end
    ]
    return slow + late


def _slow_rates(value: Any, path: str) -> Iterator[str]:
    """Yields a note for each rate below 1 kbit/s: perhaps a number without a unit, which means bit/s, as in tc."""
    match value:
        case dict():
            for key, one in value.items():
                yield from _slow_rates(one, f"{path}.{key}" if path else str(key))
        case list():
            for place, one in enumerate(value):
                yield from _slow_rates(one, f"{path}.{place}")
        case str() if found := _SLOW.fullmatch(value):
            yield f'{path}: {found[1]} bit/s is very slow; did you mean "{found[1]}mbit"? (a bare number is bit/s)'
        case _:
            pass


def say_notes(console: Console, *scenarios: Scenario, quiet: bool = False) -> None:
    """Prints the notes on all scenarios, each line once; prints nothing if `quiet`."""
    for line in () if quiet else dict.fromkeys(line for of in scenarios for line in noted(of)):
        console.say(f"note: {line}")


def reading(path: Path, read: Callable[[], T]) -> T:
    """Calls `read` and returns its result. Raises `BadInput` if a file cannot be read: `path`, or one that it names."""
    try:
        return read()
    except OSError as error:
        place = Path(error.filename or path)
        if isinstance(error, NotADirectoryError):  # a folder in the path is a file; report that file
            place = next((above for above in place.parents if above.is_file()), place)
        hint = near(place) if isinstance(error, FileNotFoundError) else ""
        if isinstance(error, IsADirectoryError) and (place / "summary.json").exists():
            hint = "; bloatlab show prints a result"
        raise BadInput(f"{place}: {(error.strerror or str(error)).lower()}{hint}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: {NOT_TEXT}") from None


def writing(path: Path, write: Callable[[], T]) -> T:
    """Calls `write` and returns its result. Raises `BadInput` if the path cannot be written."""
    try:
        return write()
    except OSError as error:
        raise BadInput(f"{error.filename or path}: cannot write: {(error.strerror or str(error)).lower()}") from None


def not_input(output: Path | None, *inputs: Path | None) -> None:
    """Raises `BadInput` if `output` is one of the files that the command reads."""
    for path in inputs:
        if output is not None and path is not None and output.exists() and path.exists() and output.samefile(path):
            raise BadInput(f"--output {output}: is read by this command; expected another file")


def replaceable(
    output: Path | None, *, force: bool, ours: Callable[[Path], bool] = lambda _: False, kind: str = ""
) -> None:
    """Raises `BadInput` if `output` is a file that the command has not written, unless `force` is given.

    `ours` returns whether an earlier run wrote a file. `kind` names such files in the message, for example "a table of
    this sweep". An empty file, a device and a pipe contain nothing that could be lost.
    """
    if output is None or force or not writing(output, lambda: output.is_file() and output.stat().st_size):
        return
    if not ours(output):
        state = f"is not {kind}" if kind else "already exists"
        raise BadInput(f"{output}: {state}; give --force to replace it, or another name")


def replaceable_figure(output: Path | None, *, force: bool) -> None:
    """Raises `BadInput` if the file exists and is not a figure or a page of bloatlab, unless `force` is given."""
    replaceable(output, force=force, ours=drawn_here, kind="a figure of bloatlab")


def fresh_result(folder: Path | None, *, force: bool, captures: bool, packets: bool = False) -> None:
    """Makes a result's folder. `captures` and `packets` say what the run writes besides its summary and tables.

    Raises `BadInput` like `fresh`, and for captures without a result if this run makes no captures; `ResultError` for
    tables that are not those of a result; and `InputError` if a run that writes `packets` finds other files in their
    folder.
    """
    alone = fresh(folder, *FILES, force=force)
    if folder is not None:
        check_tables(folder)
        there = next((name for name in CAPTURES if (folder / name).exists()), None)
        if there is not None and not captures and not has_result(folder):
            raise BadInput(f"{folder}: has {there}, but no {SUMMARY} of an earlier run; give another folder")
        if packets:
            writing(folder, lambda: check_no_others(folder / PACKETS))
        if alone:
            remove_unfinished(folder)


def saved(
    folder: Path | None,
    form: Form,
    run: Callable[[Path | None], Result],
    *,
    failed: Callable[[Path], None] = lambda _: None,
) -> tuple[Result, float]:
    """Makes a run and, if `folder` is given, saves its result there, replacing an earlier result.

    `run` receives the folder for captures and packets, which is None without `folder`. After an error or Ctrl-C, this
    folder is removed, but `failed` is called with its path first. Returns the result and the wall time of the run in
    seconds. Raises `BadInput` if `folder` cannot be written.
    """

    def save() -> tuple[Result, float]:
        with contextlib.nullcontext() if folder is None else replacing(folder, recordings=True) as aside:
            begun = time.perf_counter()
            try:
                result = run(aside)
                seconds = time.perf_counter() - begun
                if aside is not None:
                    write(result, aside, form=form, seconds=seconds)
            except BaseException:
                if aside is not None:
                    failed(aside)
                raise
        return result, seconds

    return save() if folder is None else writing(folder, save)


def fresh(folder: Path | None, *names: str, force: bool) -> bool:
    """Makes and locks the folder of `-o`; returns false if it is not locked, like `hold`.

    Raises `BadInput` like `hold`, or if the folder already contains one of `names`, unless `force` is given.
    """
    if folder is None:
        return False
    alone = hold(folder)
    there = next((name for name in names if (folder / name).exists()), None)
    if there is not None and not force:
        raise BadInput(f"{folder}: already has {there}; give --force to replace it, or another folder")
    return alone


def hold(folder: Path) -> bool:
    """Makes the folder of `-o` and locks it until the command ends. Raises `BadInput` if another command holds it.

    Returns false on a file system that does not support locks, where other commands may write into the folder.
    """
    writing(folder, lambda: make_folder(folder))
    lock = writing(folder, lambda: held.enter_context(locked(folder)))
    if lock == "in use":
        raise BadInput(f"{folder}: another command is writing into it; wait until it ends, or give another folder")
    return lock == "held"
