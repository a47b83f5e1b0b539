"""`bloatlab run`: simulates one scenario."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bloatlab.cli.common import (
    BadInput,
    fresh_result,
    overrides,
    reading,
    replaceable_figure,
    saved,
    say_notes,
)
from bloatlab.cli.options import Quiet, SavedIn, ScenarioFile, Sets, TableForm
from bloatlab.cli.show import print_result
from bloatlab.errors import nearest
from bloatlab.lazy import load as load_libraries
from bloatlab.scenario import MOST_SEED, load
from bloatlab.simulation import Result, run
from bloatlab.terminal import Console
from bloatlab.traces import KINDS, PACKETS
from bloatlab.warm_up import WarmUp, asked, find


def command(
    file: ScenarioFile,
    /,
    *,
    sets: Sets = (),
    output: SavedIn = None,
    seed: Annotated[
        int | None, Parameter(name=["--seed", "-s"], validator=validators.Number(gte=0, lte=MOST_SEED))
    ] = None,
    form: TableForm = "parquet",
    pcap: bool = False,
    pcap_link: str | None = None,
    trace: tuple[str, ...] = (),
    trace_interval: str | None = None,
    plot: Annotated[tuple[Path, ...] | None, Parameter(name=["--plot", "-p"], consume_multiple=(0, 1))] = None,
    force: bool = False,
    quiet: Quiet = False,
) -> int:
    """Simulate a scenario, print a summary, and save the result in a folder.

    The same file and seed give the same bytes on any machine. The folder has the resolved scenario (with all keys),
    summary.json, the tables, and provenance.json. `bloatlab schema` prints the format of scenarios, and `bloatlab list`
    the values they may have. --set record.warm_up=auto finds the warm-up by MSER-5 in a first run, and prints it.

    Args:
        seed: Random seed, instead of the scenario's own.
        pcap: Write left.pcap and right.pcap into the output folder: every packet at the two ends of a link, with
            headers for Wireshark.
        pcap_link: Link to capture. Implies --pcap. Default: the slowest.
        trace: Also record internal state: links (queue and law), queues (each queue of a fair discipline), flows (TCP
            senders), packets (every packet's fate, as Parquet in the output folder). Separate several with commas. See
            docs/traces.md.
        trace_interval: Sampling interval of links, queues and flows, or "change". Default: 10ms.
        plot: Also draw the overview into this file (.svg, .png, .pdf, .html); without a file name, into
            FILE-overview.svg in this folder. `bloatlab plot` draws other kinds.
        force: Replace the files of an earlier run in the folder, or a file of --plot that is not a figure of bloatlab.
    """
    pcap = pcap or pcap_link is not None
    if pcap and output is None:
        raise BadInput("--pcap: give a folder for the captures with -o")
    picture = None if plot is None else next(iter(plot), Path(f"{file.stem}-overview.svg"))
    if picture is not None:
        from bloatlab.plots import SUFFIXES  # noqa: PLC0415  most runs draw nothing

        if picture.suffix.lower() not in SUFFIXES:
            raise BadInput(f"--plot {picture}: the name of a plot ends in {', '.join(SUFFIXES)}")
    given, wants_warm_up = asked(overrides((*sets, *traced(trace, trace_interval))))
    resolved = reading(file, lambda: load(file, given))
    if resolved.traces(PACKETS) and output is None:
        raise BadInput("trace.packets: give a folder for the packets with -o")
    # an existing result or another file is refused before the run, which may take a long time
    replaceable_figure(picture, force=force)
    fresh_result(output, force=force, captures=pcap, packets=resolved.traces(PACKETS))
    console = Console(stderr=True)
    say_notes(console, resolved, quiet=quiet)
    load_libraries(
        polars=wants_warm_up or output is not None or any(map(resolved.traces, KINDS))
    )  # loaded here, so that the imports do not count in the measured time
    found: WarmUp | None = None

    def simulate(aside: Path | None) -> Result:
        nonlocal found
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        with Bar(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
            task = bar.add_task(resolved.name, total=1.0)

            def progress(fraction: float) -> None:
                bar.update(task, completed=fraction)

            found = find(run(resolved, seed, progress, trace=False)) if wants_warm_up else None
            steady = resolved if found is None else resolved.with_sets(found.override)
            packets = aside / PACKETS if aside is not None and steady.traces(PACKETS) else None
            captures = aside if pcap else None
            return run(steady, seed, progress, captures=captures, capture_link=pcap_link, packets=packets)

    result, seconds = saved(output, form, simulate)
    if picture is not None:
        from bloatlab.cli.plot import draw  # noqa: PLC0415

        draw([result], picture)
    if not quiet:
        print_result(result, Console())
        if found is not None:
            console.say(f"warm-up: {found}")
        where = "".join(f", {how} in {p}" for how, p in (("saved", output), ("drawn", picture)) if p is not None)
        console.print(f"simulated {result.summary['duration_s']:g} s in {seconds:.2f} s{where}", highlight=False)
    return 0


def traced(kinds: tuple[str, ...], interval: str | None) -> list[str]:
    """Translates --trace and --trace-interval into overrides. Raises `BadInput`."""
    named = [name.strip() for text in kinds for name in text.split(",")]
    for name in named:
        if name not in KINDS:
            raise BadInput(f'--trace: "{name}" is not a trace (valid: {", ".join(KINDS)}){nearest(name, KINDS)}')
    if interval is not None and not named:
        raise BadInput("--trace-interval: needs --trace, such as --trace links,flows")
    sets = [f"trace.{name}=true" for name in named]
    return sets if interval is None else [*sets, f"trace.interval={interval}"]
