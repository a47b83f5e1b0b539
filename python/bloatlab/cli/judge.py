"""`bloatlab judge`: the test cases of a document, with a verdict for each criterion."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, hold, replaceable, writing
from bloatlab.cli.options import ForceFile
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.files import has, write
from bloatlab.judge import STACK, Judged, Suite, judged, names, suite
from bloatlab.judge.page import claim, tables, write_pages
from bloatlab.judge.verdicts import junit
from bloatlab.sweep import watch
from bloatlab.terminal import Console, show

#: The beginning of the JUnit files that this command writes.
_JUNIT = b'<testsuites name="bloatlab judge"'


def command(
    *,
    suite_name: Annotated[str | None, Parameter(name="--suite")] = None,
    cc: tuple[str, ...] = (),
    queue: tuple[str, ...] = (),
    case: str | None = None,
    out: Path | None = None,
    junit_to: Annotated[Path | None, Parameter(name="--junit")] = None,
    force: ForceFile = False,
    run: Running = RUNNING,
) -> int:
    """Run the test cases of an RFC or draft for a congestion controller or a queue, with a verdict for each criterion.

    A criterion is met, not met, not applicable (with the reason), or cannot be judged here. Exit code 1 if a case is
    not met. See docs/judge.md.

        bloatlab judge --suite bbr --cc bbr3
        bloatlab judge --suite bbr --cc mine.py:Mine --case A.10
        bloatlab judge --suite rfc9743 --cc mine.py:Mine --cc cubic --out mine
        bloatlab judge --suite aqm --queue 'fq_codel target 15ms'
        bloatlab judge --suite all --cc all --out matrix

    Args:
        suite_name: The suite, such as bbr or rfc9743 (bloatlab list suites), or all.
        cc: The controller: a name (bloatlab list tcp), FILE.py:CLASS (a controller or a transport), FILE.toml:STACK, or
            all. For rfc8867, a media controller. Repeat the option to compare several.
        queue: The queue, for aqm: as in a scenario ("codel target 15ms"), a law in FILE.py:CLASS, FILE.toml:LINK, or
            all. Repeat the option to compare several.
        case: Run only this case, such as A.10.
        out: Folder for the page, the verdicts as JSON, JUnit, CSV and LaTeX, and the scenarios that were run.
        junit_to: Write the verdicts to this file as JUnit XML, for CI systems.
    """
    suites = _suites(suite_name, cc, queue, case)
    asked = cc or queue
    replaceable(junit_to, force=force, ours=lambda of: has(of, _JUNIT), kind="a file of `bloatlab judge --junit`")
    if out is not None:
        hold(out)
        writing(out, lambda: claim(out))
    console = Console(stderr=True)
    kept = run.opened(console)
    done: list[Judged] = []
    with run.executor(console) as executor:
        for one in suites:
            done += judged(one, asked, store=kept, watch=watch(f"judge {one.name}", console), executor=executor)
    if junit_to is not None:
        writing(junit_to, lambda: write(junit_to, junit(done)))
    if out is not None:
        writing(out, lambda: write_pages(done, out, asked))
    _show(done, len(suites))
    return 0 if all(one.kept for one in done) else 1


def _suites(asked: str | None, cc: Sequence[str], queue: Sequence[str], case: str | None) -> list[Suite]:
    """Returns the suites to run. Raises `BadInput`, `JudgeError`."""
    if asked is None or not (cc or queue):
        known = ", ".join([*names(), "all"])
        given = "--queue" if queue else "--cc"
        option = given if asked in (None, "all") else suite(asked).option
        example = {"--cc": "--suite bbr --cc bbr3", "--queue": "--suite aqm --queue codel"}[option]
        raise BadInput(f"judge: give --suite ({known}) and {option}, such as: bloatlab judge {example}")
    if cc and queue:
        raise BadInput("judge: --cc and --queue cannot be combined; a suite judges one of them")
    if case is not None and asked == "all":
        raise BadInput(f"judge: --case {case} needs one suite: {', '.join(names())}")
    suites = [suite(name) for name in (names() if asked == "all" else [asked])]
    given = "--queue" if queue else "--cc"
    if asked != "all" and suites[0].option != given:
        fitting = " or ".join(name for name in names() if suite(name).option == given)
        raise BadInput(f"judge: --suite {asked} takes {suites[0].option}; {given} is for --suite {fitting}")
    if queue:
        suites = [one for one in suites if one.queues]
    elif asked == "all" and any(name != "all" for name in cc):  # only suites of `STACK` judge TCP controllers
        suites = [one for one in suites if one.subject == STACK]
    return suites if case is None else [one.only(case) for one in suites]


def _show(done: list[Judged], suites: int) -> None:
    """Prints one line for each verdict of a suite on a controller, queue or transport.

    If there are no more verdicts than suites, each line is followed by a table of criteria for each case.
    """
    screen = Console()
    for one in done:
        screen.print(
            one.sentence if suites == 1 else f"{one.suite.name}, {one.sentence}", highlight=False, soft_wrap=True
        )
        if len(done) <= suites:
            screen.print()
            for case in tables(one):
                show(case, screen)
                screen.print()
