"""`bloatlab live`: a scenario on the wall clock, with real programs."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import Parameter
from rich.live import Live
from rich.table import Table

from bloatlab import live
from bloatlab.cli.common import BadInput, fresh, say_notes, scenario, writing
from bloatlab.cli.options import Output, Quiet, Sets, TableForm
from bloatlab.cli.show import print_result
from bloatlab.results import FILES, save
from bloatlab.scenario import Scenario
from bloatlab.simulation import Result
from bloatlab.terminal import Console

#: A run whose own lateness rule says that its numbers are not to be used.
EXIT_INVALID = 3

#: Set in the environment of a run that has started over in a user namespace.
_WITHIN = "BLOATLAB_USER_NAMESPACE"


def command(
    file: Path | None = None,
    /,
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    sets: Sets = (),
    output: Output = None,
    form: TableForm = "parquet",
    side: live.Side = "left",
    serve: str | None = None,
    shell: live.Side | None = None,
    cong: str | None = None,
    pcap: bool = False,
    max_rate: str | None = None,
    user: bool = False,
    clean: bool = False,
    force: bool = False,
    quiet: Quiet = False,
) -> int:
    """Run a scenario on the wall clock: its queues between two network namespaces, real programs over kernel TCP.

    The scenario's applications run as in a simulation, over sockets. A command after -- runs beside them, and the run
    ends with it: bloatlab live lab.toml -- sh -c 'curl -so /dev/null http://$BLOATLAB_RIGHT/'. Needs root, or --user.
    Exit codes: 3 the run was too late too often, and its numbers are not to be used; else the command's own, or 0.

    Parameters
    ----------
    file
        Scenario in TOML (or JSON, by its suffix).
    words
        After --: a command and its arguments, run in the namespace of --side.
    sets
        Lay a value over the scenario: --set link.up.rate=5mbit. May be given again; later ones win.
    output
        Folder for the result; without it nothing is kept.
    form
        Form of the tables in the folder.
    side
        Where the command runs: left (the first application's `from`) or right (its `to`).
    serve
        A command line for the other side, started before the command and ended with it: --serve "iperf3 -s".
    shell
        A shell in that namespace; the run ends with it.
    cong
        The kernel's congestion control (reno, cubic, bbr) in place of every application's TCP stack, and what the
        sockets of a command begin with.
    pcap
        Keep left.pcap and right.pcap in the output folder.
    max_rate
        Allow paths up to this rate, beyond what the bench has been measured for.
    user
        Run without root, in a user namespace, where the kernel and /dev/net/tun allow it.
    clean
        End what a killed run has left behind, and do nothing else.
    force
        Replace what an earlier run has left in the folder.
    quiet
        Print nothing but errors.
    """
    if not live.available():
        raise BadInput("live: this build of bloatlab has no live bench; that needs Linux (docs/install.md)")
    if clean:
        return _clean(quiet=quiet)
    if file is None:
        raise BadInput("a scenario file is missing: bloatlab live FILE")
    if user and _WITHIN not in os.environ:
        _in_user_namespace()
    if pcap and output is None:
        raise BadInput("--pcap: give a folder for the captures with -o")
    if shell is not None and words:
        raise BadInput("--shell and a command exclude each other")
    resolved = scenario(file, sets)
    served = _words(serve)
    fresh(output, *FILES, force=force)  # before the run, not after it
    console = Console(stderr=True)
    say_notes(console, resolved, quiet=quiet)
    live.clean()
    begun = time.perf_counter()
    result = _run(
        resolved,
        _command(words, side, served, shell),
        console if console.is_terminal and not quiet else None,
        cong=cong,
        max_rate=max_rate,
        captures=output if pcap else None,
    )
    seconds = time.perf_counter() - begun
    if output is not None:
        writing(output, lambda: save(result, output, form=form, seconds=seconds))
    if not quiet:
        print_result(result, Console())
    return _verdict(result, console, quiet=quiet)


def _clean(*, quiet: bool) -> int:
    count = live.clean()
    if not quiet:
        sys.stdout.write(f"{count} processes of dead runs ended\n" if count else "nothing to clean\n")
    return 0


def _words(serve: str | None) -> list[str]:
    """The words of --serve, as a shell would split them. Raises `BadInput`."""
    try:
        words = shlex.split(serve or "")
    except ValueError as error:
        raise BadInput(f"--serve {serve}: {str(error).lower()}; for example --serve 'iperf3 -s'") from None
    if serve is not None and not words:
        raise BadInput("--serve: an empty command line; for example --serve 'iperf3 -s'")
    return words


def _command(
    words: tuple[str, ...], side: live.Side, server: list[str], shell: live.Side | None
) -> live.Command | None:
    if shell is not None:
        return live.Command([os.environ.get("SHELL", "/bin/sh")], shell, serve=server, unbounded=True)
    if server and not words:
        raise BadInput("--serve: there is no command that it could serve; give one after --, or --shell")
    return live.Command(words, side, serve=server) if words else None


def _run(
    resolved: Scenario,
    command: live.Command | None,
    console: Console | None,
    *,
    cong: str | None,
    max_rate: str | None,
    captures: Path | None,
) -> Result:
    # a command has the terminal to itself
    if console is None or command is not None:
        return live.run(resolved, congestion=cong, max_rate=max_rate, command=command, captures=captures)
    views: list[live.View] = []
    with Live(_table(resolved.name, views), console=console, transient=True, auto_refresh=False) as screen:

        def look(view: live.View) -> None:
            views[:] = [*(v for v in views if v["t_s"] > view["t_s"] - 1.05), view]
            screen.update(_table(resolved.name, views), refresh=True)

        return live.run(resolved, congestion=cong, max_rate=max_rate, captures=captures, look=look)


def _verdict(result: Result, console: Console, *, quiet: bool) -> int:
    facts = result.summary["live"]
    late = facts["lateness_ms"]
    if not quiet:
        p99 = "-" if late["p99"] is None else f"{late['p99']:.3f} ms"
        console.print(f"live {result.summary['duration_s']:.1f} s, lateness p99 {p99}", highlight=False)
    if not facts["valid"]:
        console.print(f"[red]invalid[/]: {facts['invalid_because']}", highlight=False)
    if facts["command_exit_code"]:
        return facts["command_exit_code"]
    return 0 if facts["valid"] else EXIT_INVALID


def _in_user_namespace() -> NoReturn:
    """Start over as root of a user namespace of one's own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise BadInput("--user: the command unshare (package util-linux) is not there")
    again = "import sys; from bloatlab.cli import main; main(sys.argv[1:])"
    words = [unshare, "--user", "--map-root-user", "--", sys.executable, "-c", again, *sys.argv[1:]]
    os.execve(unshare, words, {**os.environ, _WITHIN: "1"})  # noqa: S606


def _table(name: str, views: Sequence[live.View]) -> Table:
    """The links of a run: what there is now, and what happened since the first of `views`, in the last second."""
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
