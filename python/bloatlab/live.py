"""Live runs: a scenario in real time, with real programs over kernel TCP through the same queues.

The part of bloatlab that makes live runs is called the bench. It needs Linux with TUN and permission to create network
namespaces (root, or a user namespace). Builds for other systems do not include it, and `available` then returns False.
A run cleans up after itself, however it ends, unless it is killed with `kill -9`. `clean` then ends the processes that
remain.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal

from bloatlab import _core, files, outside
from bloatlab.scenario import Scenario, Sets, resolved
from bloatlab.simulation import Result, frames, summary_of
from bloatlab.traces import check_named

#: One of the two namespaces: left contains the `from` node of the first application by name, right its `to` nodes. For
#: scenarios without applications, see docs/live.md.
Side = Literal["left", "right"]

#: Raised if the bench cannot run here: no TUN, no permission, no socket, or a build without the bench.
LiveError = _core.LiveError


#: The state of a run in progress.
if TYPE_CHECKING:
    View = _core.LiveView
else:
    View = dict

#: A function that is called with the state of the run about ten times a second. If it raises an exception, the run ends
#: and cleans up.
Look = Callable[[View], None]


@dataclass(frozen=True)
class Command:
    """A command line to run in one of the namespaces.

    The run ends when the command ends, or after the duration of the scenario, but see `unbounded`.

    Its environment contains the addresses of the first host on each side: BLOATLAB_LEFT, BLOATLAB_RIGHT (IPv4),
    BLOATLAB_LEFT6, BLOATLAB_RIGHT6.
    """

    words: Sequence[str]
    side: Side = "left"
    #: A command for the other side (a server), started first and stopped at the end of the run.
    serve: Sequence[str] = ()
    #: If true, the run lasts until the command ends, but at most a day or, if longer, the scenario's duration. The
    #: default of `record.interval`, the bin width of series, is then 1/100 000 of this maximum.
    unbounded: bool = False


def available() -> bool:
    """Returns whether this build of bloatlab includes the bench.

    Only builds for Linux have it; in other builds, `run` raises `LiveError`.
    """
    return _core.has_live()


def run(
    scenario: Scenario | str | Path | Mapping[str, object],
    *,
    sets: Sets = (),
    congestion: str | None = None,
    max_rate: str | None = None,
    command: Command | None = None,
    captures: str | Path | None = None,
    look: Look | None = None,
) -> Result:
    """Runs `scenario` live; the result is as for a simulation, with `summary["live"]` and the table `conversations`.

    `scenario` and `sets` are as for `bloatlab.run`. `congestion` names a kernel congestion control that replaces every
    application's stack and is the default for the command's sockets. `max_rate` allows paths faster than the bench has
    been tested with ("2gbit"). `captures` is a folder, made if necessary, for left.pcap and right.pcap, which are
    replaced. The result's scenario is `scenario`; for an `unbounded` command, it has the `record.interval` of the run.

    If the bench handled packets too late, `Result.invalid_because` says so; do not use the numbers of such a run.
    Raises `ScenarioError` for a scenario that cannot run live, `LiveError` if this machine cannot run it; Ctrl-C and
    SIGTERM end the run cleanly and raise `KeyboardInterrupt`.
    """
    scenario = resolved(scenario, sets)
    outside.refuse(scenario.text, "live")
    if captures is not None:
        check_named("captures", captures)
        files.make_folder(Path(captures))
    with _orderly_sigterm():
        output = _core.live(
            scenario.text,
            congestion=congestion,
            max_rate=max_rate,
            command=list(command.words) if command is not None else None,
            side=command.side if command is not None else "left",
            background=[list(command.serve)] if command is not None and command.serve else [],
            unbounded=command is not None and command.unbounded,
            captures=str(captures) if captures is not None else None,
            look=look,
        )
    return Result(Scenario(output["scenario"]), summary_of(output["summary"]), frames(output["tables"]))


def clean() -> int:
    """Ends the processes left behind by crashed runs; returns their number.

    Only processes whose environment contains a run's tag, and whose run has ended, are affected.
    """
    return _core.live_clean()


@contextlib.contextmanager
def _orderly_sigterm() -> Generator[None]:
    """Makes SIGTERM end the run like Ctrl-C, within this context, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
