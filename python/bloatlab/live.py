"""A scenario on the wall clock: real programs over kernel TCP, through the same queues. The only module that does it.

Needs Linux with TUN and the rights to make network namespaces (root, or a user namespace); a build for another system
has no bench (`available`). What a run makes is gone with it, whatever ends it; `clean` ends processes that a run killed
with `kill -9` has left behind.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal, TypedDict

from bloatlab import _core, laws
from bloatlab.scenario import Scenario, Sets, resolved
from bloatlab.simulation import Result, frames, summary_of

#: One of the two namespaces: that of the first application's `from`, or that of its `to`.
Side = Literal["left", "right"]

#: This machine cannot run the bench now: no TUN, no rights, a socket that cannot be made; or this build has none.
LiveError = _core.LiveError


class LinkView(TypedDict):
    """One link now (`packets`, `bytes` in its queue) and since the run began (the rest)."""

    link: str
    packets: int
    bytes: int
    sent_packets: int
    sent_bytes: int
    sojourn_ms_sum: float
    sojourn_ms_max: float
    dropped: int


class View(TypedDict):
    """What there is to see of a run while it goes."""

    t_s: float
    late_p99_ms: float | None
    links: list[LinkView]


#: Called about ten times a second; raising ends the run and takes everything down.
Look = Callable[[View], None]


@dataclass(frozen=True)
class Command:
    """A command line for one of the namespaces. The run ends with it.

    Its environment names the first host's addresses of both sides: BLOATLAB_LEFT, BLOATLAB_RIGHT (IPv4),
    BLOATLAB_LEFT6, BLOATLAB_RIGHT6.
    """

    words: Sequence[str]
    side: Side = "left"
    #: A command for the other side (a server), started first and ended with the run.
    serve: Sequence[str] = ()
    #: The run goes on until the command ends, whatever the scenario's duration.
    unbounded: bool = False


def available() -> bool:
    """Whether this build of bloatlab has the bench. Only that of Linux has; `run` elsewhere raises `LiveError`."""
    return _core.has_live()


def run(
    scenario: Scenario | str | Path | Mapping[str, object],
    *,
    sets: Sets = (),
    congestion: str | None = None,
    max_rate: str | None = None,
    command: Command | None = None,
    captures: Path | None = None,
    look: Look | None = None,
) -> Result:
    """Run `scenario` live; the result has the same tables as a simulation's, and `summary["live"]` beside.

    `scenario` and `sets` are as `bloatlab.run` takes them.
    `congestion` puts the kernel's control of this name in place of every application's stack, and is what the sockets
    of a command begin with. `max_rate` allows paths faster than the bench has been measured for ("2gbit"). `captures`
    is a folder for left.pcap and right.pcap.

    A run that was too late too often says so in `summary["live"]["valid"]`: its numbers are not to be used. Raises
    `ScenarioError` for what cannot be live, `LiveError` for what this machine cannot do; Ctrl-C and SIGTERM end the run
    in order and raise `KeyboardInterrupt`.
    """
    scenario = resolved(scenario, sets)
    laws.refuse(scenario.text, "live")
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
    return Result(scenario, summary_of(output["summary"]), frames(output["tables"]))


def clean() -> int:
    """End the processes that dead runs have left behind; returns how many there were.

    Only processes that bear a run's tag in their environment, and whose run's own process is dead, are touched.
    """
    return _core.live_clean()


@contextlib.contextmanager
def _orderly_sigterm() -> Generator[None]:
    """SIGTERM ends the run as Ctrl-C does, for as long as this lasts."""
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
