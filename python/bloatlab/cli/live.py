"""`bloatlab live`: runs a scenario in real time, with real programs."""

import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

from cyclopts import Parameter
from rich.live import Live
from rich.table import Table

from bloatlab import live
from bloatlab.cli.common import BadInput, fresh_result, saved, say_notes, scenario
from bloatlab.cli.options import Force, Quiet, SavedIn, Sets, TableForm
from bloatlab.cli.show import print_result
from bloatlab.scenario import Scenario, catalogue
from bloatlab.simulation import Result
from bloatlab.terminal import Console
from bloatlab.traces import CAPTURES

#: Exit code of a run that was late too often for its numbers to be used.
EXIT_INVALID = 3

#: The environment variable that marks a process restarted in a user namespace.
_WITHIN = "BLOATLAB_USER_NAMESPACE"


def command(
    file: Path | None = None,
    /,
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    sets: Sets = (),
    output: SavedIn = None,
    form: TableForm = "parquet",
    side: live.Side = "left",
    serve: str | None = None,
    shell: live.Side | None = None,
    cong: str | None = None,
    pcap: bool = False,
    max_rate: str | None = None,
    user: bool = False,
    clean: bool = False,
    force: Force = False,
    quiet: Quiet = False,
) -> int:
    """Run a scenario in real time, with real programs and the kernel's TCP between two network namespaces.

    The scenario's applications run over sockets. A program given after -- runs beside them, and the run ends when it
    ends: bloatlab live lab.toml -- sh -c 'curl -so /dev/null http://$BLOATLAB_RIGHT/'. Needs root, or --user. Exit
    code: that of the program if it fails; otherwise 3 if packets were so late that the numbers must not be used;
    otherwise 0.

    Args:
        file: Scenario in TOML (or JSON, by its suffix).
        program: After --: a program and its arguments, run in the namespace of --side.
        side: Where the program runs: left (the first application's `from`) or right (its `to`).
        serve: Command line to run on the other side, started before the program and stopped with it: --serve "iperf3
            -s".
        shell: Open a shell on this side; the run ends with it.
        cong: The kernel's congestion control (reno, cubic, bbr) for every application, whatever its TCP stack in the
            scenario, and the default of the program's sockets. Without ECN.
        pcap: Write left.pcap and right.pcap into the output folder.
        max_rate: Allow paths up to this rate, beyond the highest rate at which runs of the bench were valid.
        user: Run without root, in a user namespace, where the kernel and /dev/net/tun allow it.
        clean: End the processes that a killed run left behind, and do nothing else.
    """
    if not live.available():
        raise BadInput("live: this build of bloatlab has no live bench; that needs Linux (docs/install.md)")
    if clean:
        count = live.clean()
        if not quiet:
            sys.stdout.write(f"ended {count} processes of dead runs\n" if count else "nothing to clean\n")
        return 0
    if file is None:
        raise BadInput("a scenario file is missing: bloatlab live FILE")
    if user and _WITHIN not in os.environ:
        _in_user_namespace()
    if pcap and output is None:
        raise BadInput("--pcap: give a folder for the captures with -o")
    if shell is not None and program:
        raise BadInput("--shell: cannot be combined with a program after --")
    resolved = scenario(file, sets)
    served = _split(serve)
    # an existing result is refused before the run, which may take a long time
    fresh_result(output, force=force, captures=pcap)
    console = Console(stderr=True)
    say_notes(console, resolved, quiet=quiet)
    _say_without_ecn(console, resolved, None if quiet else cong)
    live.clean()

    def run(aside: Path | None) -> Result:
        return _run(
            resolved,
            _command(program, side, served, shell),
            console if console.is_terminal and not quiet else None,
            congestion=cong,
            max_rate=max_rate,
            captures=aside if pcap else None,
        )

    result, _ = saved(output, form, run, failed=lambda aside: _keep_captures(aside, output, console))
    if not quiet:
        print_result(result, Console())
    return _verdict(result, console, quiet=quiet)


def _keep_captures(aside: Path, output: Path | None, console: Console) -> None:
    """Renames the folder of a failed run to keep its captures, if it has any: they cannot be recorded again."""
    if output is not None and any((aside / name).is_file() for name in CAPTURES):
        kept = output / f"unfinished-{secrets.token_hex(4)}"
        aside.rename(kept)  # unlike a new folder, this needs no room on a full disk
        console.say(f"note: the captures of this run are in {kept}")


def _with_ecn(of: Scenario) -> list[str]:
    """Returns the names of the TCP stacks with ECN that a scenario's applications use."""
    presets = {entry["name"]: entry["params"] for entry in catalogue()["tcp"]}
    stacks = presets | {name: presets[own["preset"]] | own for name, own in of.data["tcp"].items()}
    used = {app[key] for app in of.data["app"].values() for key in ("tcp", "tcp_server") if app.get(key)}
    return sorted(name for name in used if stacks[name]["ecn"])


def _say_without_ecn(console: Console, of: Scenario, cong: str | None) -> None:
    if cong is not None and (stacks := _with_ecn(of)):
        console.say(f"note: --cong {cong}: without ECN, which the scenario's {', '.join(stacks)} would use")


def _split(serve: str | None) -> list[str]:
    """Splits --serve into words as a shell would. Raises `BadInput`."""
    try:
        words = shlex.split(serve or "")
    except ValueError as error:
        raise BadInput(f"--serve {serve}: {str(error).lower()}; for example --serve 'iperf3 -s'") from None
    if serve is not None and not words:
        raise BadInput("--serve: an empty command line; for example --serve 'iperf3 -s'")
    return words


def _command(
    program: tuple[str, ...], side: live.Side, server: list[str], shell: live.Side | None
) -> live.Command | None:
    if shell is not None:
        return live.Command([os.environ.get("SHELL", "/bin/sh")], shell, serve=server, unbounded=True)
    if server and not program:
        raise BadInput("--serve: there is no program to serve; give one after --, or --shell")
    return live.Command(program, side, serve=server) if program else None


def _run(resolved: Scenario, command: live.Command | None, console: Console | None, **options: Any) -> Result:
    # if a program runs, no table is shown, because the program itself uses the terminal
    if console is None or command is not None:
        return live.run(resolved, command=command, **options)
    views: list[live.View] = []
    with Live(_table(resolved.name, views), console=console, transient=True, auto_refresh=False) as screen:

        def look(view: live.View) -> None:
            views[:] = [*(v for v in views if v["t_s"] > view["t_s"] - 1.05), view]
            screen.update(_table(resolved.name, views), refresh=True)

        return live.run(resolved, look=look, **options)


def _verdict(result: Result, console: Console, *, quiet: bool) -> int:
    facts = result.summary["live"]
    late = facts["lateness_ms"]
    if not quiet:
        p99 = "-" if late["p99"] is None else f"{late['p99']:.3f} ms"
        console.print(f"live {result.summary['duration_s']:.1f} s, lateness p99 {p99}", highlight=False)
    if result.invalid_because is not None:
        console.print(f"[red]invalid[/]: {result.invalid_because}", highlight=False)
    if facts["command_exit_code"]:
        return facts["command_exit_code"]
    return 0 if facts["valid"] else EXIT_INVALID


def _in_user_namespace() -> NoReturn:
    """Restarts this process as root in a new user namespace."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise BadInput("--user: the command unshare (package util-linux) is not installed")
    again = "import sys; from bloatlab.cli import main; main(sys.argv[1:])"
    words = [unshare, "--user", "--map-root-user", "--", sys.executable, "-c", again, *sys.argv[1:]]
    os.execve(unshare, words, {**os.environ, _WITHIN: "1"})  # noqa: S606


def _table(name: str, views: Sequence[live.View]) -> Table:
    """Makes a table of a run's links: their current queues, and mean rates and sojourn times of the last second.

    The means cover the time from the first of `views`, which is at most 1.05 s old, to the last.
    """
    last = views[-1] if views else None
    late = "" if last is None or last["late_p99_ms"] is None else f"   lateness p99 {last['late_p99_ms']:.3f} ms"
    table = Table(title=f"{name}   {last['t_s'] if last else 0:.1f} s{late}", box=None, title_justify="left")
    table.add_column("link")
    for head in ("queue packets", "queue kB", "sojourn ms", "rate Mbit/s", "drops/s"):
        table.add_column(head, justify="right")
    if last is None:
        return table
    span = last["t_s"] - views[0]["t_s"]
    for now, then in zip(last["links"], views[0]["links"], strict=False):
        sent = now["sent_packets"] - then["sent_packets"]
        sojourn = (now["sojourn_ms_sum"] - then["sojourn_ms_sum"]) / sent if sent else 0.0
        rate = (now["sent_bytes"] - then["sent_bytes"]) * 8e-6 / span if span else 0.0
        drops = (now["dropped"] - then["dropped"]) / span if span else 0.0
        queue = f"{now['packets']}", f"{now['bytes'] / 1e3:.1f}"
        table.add_row(now["link"], *queue, f"{sojourn:.2f}", f"{rate:.2f}", f"{drops:.0f}")
    return table
