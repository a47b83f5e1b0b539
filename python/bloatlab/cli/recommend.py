"""`bloatlab recommend`: recommends the settings of a device's buffer and queue."""

import shlex
import sys
import time
from typing import Annotated

from cyclopts import Parameter

from bloatlab.advice import Asked, Recommendation, answered
from bloatlab.advice.options import options
from bloatlab.cli.common import BadInput, fresh, say_notes, writing
from bloatlab.cli.options import Force, Output, TextJson
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.results import json_text
from bloatlab.sweep import watch
from bloatlab.tables import counted
from bloatlab.terminal import Console, emit, show

#: Name of the report in the `-o` folder.
REPORT = "report.html"


def command(
    *,
    asked: Annotated[Asked, Parameter(name="*")],
    weights: Annotated[tuple[str, ...], Parameter(name="--weight")] = (),
    output: Output = None,
    form: TextJson = "text",
    everything: Annotated[bool, Parameter(name="--all")] = False,
    run: Running = RUNNING,
    force: Force = False,
) -> int:
    """Recommend a buffer and a queue discipline for a modem or router, by simulation.

    Simulates every setting that the device has. Prints which to choose, why, how certain the choice is, what to type
    (DOCSIS TLVs, tc), a table of the settings, and the effect of a round-trip time that is not what you assumed. A
    setting that is clearly worse than another gets no further runs. Ctrl-C loses only the runs in progress. See
    docs/recommend.md.

    Args:
        weights: Override the weight of a measure: --weight call=3. Repeatable.
        output: Folder for report.html, recommendation.json, options.csv, figures, and the chosen setting as
            scenario.toml.
        everything: Print every setting, also those that are clearly worse than another.
    """
    console = Console(stderr=True)
    question = asked.question(_weights(weights))
    fresh(output, REPORT, force=force)
    say_notes(console, question.scenario(options(question.device, question.line)[0]))
    kept = run.opened(console)
    begun = time.perf_counter()
    with run.executor(console) as executor:
        done = answered(
            question, store=kept, executor=executor, watch=lambda runs: watch(counted(runs, "run"), console)
        )
    seconds_taken = time.perf_counter() - begun
    if output is not None:
        from bloatlab.advice.page import bind  # noqa: PLC0415  this module imports matplotlib, which takes a second

        typed_line = shlex.join(["bloatlab", "recommend", *(sys.argv[2:] if sys.argv[1:2] == ["recommend"] else [])])
        writing(output, lambda: bind(done, output, typed_line))
    if form == "json":
        from bloatlab.advice.tables import as_data  # noqa: PLC0415

        emit(json_text(as_data(done)))
    else:
        _print(done, everything=everything)
    where = "" if output is None else f"; report: {output / REPORT}"
    every = counted(done.runs + done.found, "run")
    console.say(f"{every}, {done.found} of them from the store, in {seconds_taken:.1f} s{where}")
    return 0


def _weights(given: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise BadInput(f"--weight {text}: expected measure=number, for example --weight call=3")
    return found


def _print(of: Recommendation, *, everything: bool) -> None:
    from bloatlab.advice.recommendation import answer_sentence, asked_words, sure, wrong  # noqa: PLC0415
    from bloatlab.advice.remarks import remarks  # noqa: PLC0415
    from bloatlab.advice.settings import settings, typed  # noqa: PLC0415
    from bloatlab.advice.tables import options_table, ranked, shown_first, wrong_table  # noqa: PLC0415

    out = Console()
    for paragraph in [answer_sentence(of), *remarks(of), *sure(of)]:
        out.say_wrapped(paragraph)
    out.say_wrapped(f"\n{asked_words(of.question)}.")
    for setting in settings(of):
        out.say_wrapped(f"\n{setting.name}")
        for line in setting.lines:
            for part in typed(line, out.width - 4):
                out.say(f"    {part}")
        if setting.note:
            out.say_wrapped(setting.note)
    out.print()
    show(options_table(of, ranked(of) if everything else shown_first(of)), out)
    out.print()
    show(wrong_table(of), out)
    for paragraph in wrong(of):
        out.say_wrapped(paragraph)
