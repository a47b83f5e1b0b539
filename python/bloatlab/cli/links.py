"""`bloatlab links`: link rates from recordings, and delivery traces."""

import json
import sys
from pathlib import Path
from typing import Literal

from cyclopts import App

from bloatlab import files
from bloatlab.cli.common import BadInput, not_input, reading, replaceable, scenario, writing
from bloatlab.cli.options import ForceReplace, Output, OutputFile, ScenarioFile, Sets, TextJson
from bloatlab.deliveries import BYTES, read, written
from bloatlab.recordings import of_file
from bloatlab.scenario import quantity
from bloatlab.tables import counted
from bloatlab.terminal import emit

app = App(name="links", help="Derive link rates from recordings.", help_format="markdown", result_action="return_value")


@app.command
def rates(
    file: Path,
    /,
    *,
    output: Output = None,
    step: str = "1s",
    way: Literal["upload", "download"] | None = None,
    to: str | None = None,
    into: Path | None = None,
    link: str | None = None,
    force: ForceReplace = False,
) -> int:
    """Derive a link's rate over time from a flent data file or a packet capture.

    Prints the link's rate and its changes as TOML, to paste into a scenario; with --into, prints that scenario with the
    rates applied: bloatlab links rates home.flent.gz --into modem.toml --link up -o replay.toml. The traffic shows the
    line's rate only while the line is full, so record under load.

    Args:
        file: Flent data file (.flent.gz) or capture (pcap or pcapng: tcpdump -w, Wireshark).
        output: File to write. Default: standard output.
        step: Averaging time of each rate.
        way: Direction, if the flent data has both: upload or download.
        to: Destination address of the packets to count in a capture. Default: the one that receives the most bytes.
        into: Scenario to apply the rates to.
        link: Name of the link. Default: line, or with --into the scenario's only link.
    """
    not_input(output, file, into)
    replaceable(output, force=force)
    try:
        seconds = quantity(step)
    except ValueError:
        raise BadInput(f'--step {step}: expected a time, such as "200ms" or "1s"') from None
    found = reading(file, lambda: of_file(file, step=seconds, way=way, to=to))
    if found.cut:
        sys.stderr.write(f"{file}: cut off within a packet; the packets before it are used\n")
    if into is None:
        text = found.link_toml(link or "line")
    else:
        base = scenario(into, ())
        names = list(base.data["link"])
        if link is None and len(names) > 1:
            raise BadInput(f"--into {into}: it has the links {', '.join(names)}; choose one, such as --link {names[0]}")
        text = f"# {found.about}\n{found.laid_into(base, link or names[0]).as_toml()}"
    if output is None:
        emit(text)
    else:
        writing(output, lambda: files.write(output, text))
        sys.stderr.write(f"written to {output}\n")
    return 0


@app.command
def write(file: ScenarioFile, /, *, link: str, output: OutputFile, sets: Sets = (), force: ForceReplace = False) -> int:
    """Write a link's delivery opportunities over the scenario's duration as a trace in mahimahi's format.

    Needs a link with `delivery`. The trace is the one that the simulation plays with the scenario's seed. The delays of
    a Starlink link are left out, because the format cannot express them.

    Args:
        link: The link's name.
        output: File to write.
    """
    of = scenario(file, sets)
    traces = [(one.get("delivery") or {}).get("trace") for one in of.data["link"].values()]
    not_input(output, file, *(file.parent / trace["file"] for trace in traces if trace))
    replaceable(output, force=force)
    text = written(of.text, link)
    writing(output, lambda: files.write(output, text))
    sys.stderr.write(f"written to {output}\n")
    return 0


@app.command
def show(file: Path, /, *, form: TextJson = "text") -> int:
    """Describe a delivery trace in mahimahi's format: its rate, its length, its gaps.

    Args:
        file: The trace: one whole number of milliseconds per line.
    """
    trace = read(file)
    facts = {
        "lines": trace["lines"],
        "period_s": trace["period_ms"] / 1e3,
        "mean_mbit": trace["lines"] * BYTES * 8e-3 / trace["period_ms"],
        "longest_gap_ms": trace["longest_gap_ms"],
        "gaps_over_100ms": trace["gaps_over_100ms"],
    }
    if form == "json":
        emit(json.dumps(facts, indent=2) + "\n")
    else:
        noun = "opportunity" if facts["lines"] == 1 else "opportunities"
        emit(
            f"{file}: {facts['lines']} {noun} of {BYTES} bytes in {facts['period_s']:g} s, "
            f"{facts['mean_mbit']:.3f} Mbit/s\n"
            f"longest gap {facts['longest_gap_ms']} ms; {counted(trace['gaps_over_100ms'], 'gap')} over 100 ms\n"
        )
    return 0
