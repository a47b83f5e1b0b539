"""`bloatlab judge`: the test cases of a document, with a verdict for each criterion."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, writing
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.files import write
from bloatlab.judge import STACK, Judged, judged, names, suite
from bloatlab.judge.page import table, write_pages
from bloatlab.judge.verdicts import junit
from bloatlab.sweep import watch
from bloatlab.terminal import Console, show


def command(
    *,
    suite_name: Annotated[str | None, Parameter(name="--suite")] = None,
    cc: Annotated[str | None, Parameter(name=["--cc", "--queue"])] = None,
    case: str | None = None,
    out: Path | None = None,
    junit_to: Annotated[Path | None, Parameter(name="--junit")] = None,
    run: Running = RUNNING,
) -> int:
    """Run the test cases of a document for a congestion controller, with a verdict for each criterion.

    A criterion is met, not met, not applicable (with the reason), or cannot be judged here. Exit code 1 when one is not
    met. See docs/judge.md.

        bloatlab judge --suite bbr --cc bbr3
        bloatlab judge --suite bbr --cc mine.py:Mine --case A.10
        bloatlab judge --suite aqm --queue fq_codel
        bloatlab judge --suite all --cc all --out matrix

    Args:
        suite_name: The suite, such as bbr or rfc9743 (docs/judge.md lists them), or all.
        cc: The controller: a name (bloatlab list tcp), FILE.py:CLASS, FILE.toml:STACK, or all. For rfc8867, a media
            controller; for aqm, a queue.
        case: Run only this case, such as A.10.
        out: Folder for the page, the verdicts as JSON and JUnit, and the scenarios that were run.
        junit_to: Write the verdicts to this file as JUnit XML, for CI systems.
    """
    if suite_name is None or cc is None:
        known = ", ".join([*names(), "all"])
        raise BadInput(f"judge: give --suite ({known}) and --cc, such as: bloatlab judge --suite bbr --cc bbr3")
    if case is not None and suite_name == "all":
        raise BadInput(f"judge: --case {case} needs one suite: {', '.join(names())}")
    suites = [suite(name) for name in (names() if suite_name == "all" else [suite_name])]
    if case is not None:
        suites = [one.only(case) for one in suites]
    if suite_name == "all" and cc != "all":  # suites that judge something else have no such controller
        suites = [one for one in suites if one.subject == STACK]
    console = Console(stderr=True)
    kept = run.opened(console)
    done: list[Judged] = []
    with run.executor(console) as executor:
        for one in suites:
            done += judged(one, cc, store=kept, watch=watch(f"judge {one.name}", console), executor=executor)
    if junit_to is not None:
        writing(junit_to, lambda: write(junit_to, junit(done)))
    if out is not None:
        writing(out, lambda: write_pages(done, out))
    screen = Console()
    for one in done:
        screen.print(
            one.sentence if len(suites) == 1 else f"{one.suite.name}, {one.sentence}", highlight=False, soft_wrap=True
        )
        if len(done) <= len(suites):
            screen.print()
            show(table(one), screen)
            screen.print()
    return 0 if all(one.kept for one in done) else 1
