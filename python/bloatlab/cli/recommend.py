"""`bloatlab recommend`: recommends the settings of a device's buffer and queue."""

import shlex
import sys
import time
from typing import Annotated

from cyclopts import Parameter, validators

from bloatlab.advice import Recommendation, answered, asked
from bloatlab.cli.common import BadInput, fresh, writing
from bloatlab.cli.options import Count, Force, Output, TextJson
from bloatlab.cli.runs import RUNNING, Running
from bloatlab.results import json_text
from bloatlab.sweep import watch
from bloatlab.tables import counted
from bloatlab.terminal import Console, emit, show

#: The report in the folder of `-o`.
REPORT = "report.html"

#: Largest number of seeds.
MOST_SEEDS = 1000


def command(
    *,
    up: str,
    rtt: str,
    device: str,
    load: str = "home",
    down: str | None = None,
    peak: str | None = None,
    burst: str | None = None,
    objective: str = "balanced",
    weights: Annotated[tuple[str, ...], Parameter(name="--weight")] = (),
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=2, lte=MOST_SEEDS))] = 10,
    runs: Count | None = None,
    quick: bool = False,
    seconds: float | None = None,
    output: Output = None,
    form: TextJson = "text",
    everything: Annotated[bool, Parameter(name="--all")] = False,
    run: Running = RUNNING,
    force: Force = False,
) -> int:
    """Recommend a buffer and a queue discipline for a modem or router, by simulation.

    Tries every setting the device has and prints which to choose, why, how certain that is, what to type (DOCSIS TLVs,
    tc), all settings next to today's, and the cost if the round-trip time is not what you assumed. Settings that are
    clearly worse are dropped early. Ctrl-C loses only the runs in progress. See docs/recommend.md.

    Args:
        up: Upstream rate, such as 10mbit: a service flow's Maximum Sustained Traffic Rate, or a line's rate.
        rtt: Round-trip time of transfers, or a range or list of them: 50ms, 20ms..200ms, 20ms,100ms.
        device: docsis3.0, docsis3.1, linux, cake, or a device.toml; from the papers: cablelabs2012, scte2013-a,
            scte2013-c.
        load: home, office, gamer, a load.toml, or the applications of a scenario.toml; from the papers: cablelabs2012,
            scte2013.
        down: Downstream rate. Default: five times the upstream rate.
        peak: Peak Traffic Rate during a burst, such as 20mbit.
        burst: Maximum Traffic Burst, such as 10MB.
        objective: Goal: balanced, scte2013, or an objective.toml with thresholds and weights.
        weights: Override the weight of a measure: --weight call=3. Repeatable.
        seeds: Maximum number of seeds per setting. More seeds separate settings that are closer.
        runs: Maximum number of runs in total. Default: 66, or 1.5 times settings times round-trip times if larger.
        quick: A quick look with one seed, without a verdict.
        seconds: Simulated duration of each run, instead of the load's.
        output: Folder for report.html, recommendation.json, options.csv, figures, and the chosen setting as
            scenario.toml.
        everything: Print every option, not only the Pareto front, the ties and today's setting.
    """
    console = Console(stderr=True)
    question = asked(
        up=up, rtt=rtt, device=device, load=load, down=down, peak=peak, burst=burst, objective=objective,
        weights=_weights(weights), seeds=seeds, runs=runs, quick=quick, seconds=seconds,
    )  # fmt: skip
    fresh(output, REPORT, force=force)
    kept = run.opened(console)
    begun = time.perf_counter()
    with run.executor(console) as executor:
        done = answered(
            question, store=kept, executor=executor, watch=lambda runs: watch(counted(runs, "run"), console)
        )
    seconds_taken = time.perf_counter() - begun
    if output is not None:
        from bloatlab.advice.page import bind  # noqa: PLC0415  draws, which takes a second to load

        # the command line as the user typed it
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
    from bloatlab.advice.settings import settings, typed  # noqa: PLC0415
    from bloatlab.advice.tables import options_table, ranked, told_first, wrong_table  # noqa: PLC0415

    out = Console()
    for paragraph in [answer_sentence(of), *sure(of)]:
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
    show(options_table(of, ranked(of) if everything else told_first(of)), out)
    out.print()
    show(wrong_table(of), out)
    for paragraph in wrong(of):
        out.say_wrapped(paragraph)
