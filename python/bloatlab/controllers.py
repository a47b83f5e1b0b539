"""Congestion controllers written in Python: a class that sets the window of a TCP sender.

    tcp.mine = { preset = "linux-6", python = { controller = "mine.py:Mine", gain = 2 } }   # in a scenario
    bloatlab.run(scenario, controllers={"mine": Mine})                                      # for controller = "mine"

The path is relative to the scenario's folder. When a scenario is read, it gets a copy of the file's source and of
every parameter of the class, as for laws. See docs/adding-a-controller-in-python.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bloatlab import _core
from bloatlab.classes import ClassError, Kind

#: The object that a controller's method may return instead of a number or None.
Drive = _core.Drive

#: The types of the arguments that are passed to a controller's methods.
Start = _core.ControllerStart
Moment = _core.ControllerMoment
Sample = _core.ControllerSample
Rate = _core.ControllerRate
Loss = _core.ControllerLoss

#: The methods of a controller and their arguments after `self`; `crates/tcp/src/cc/control.rs` says when each is
#: called.
METHODS: Mapping[str, tuple[str, ...]] = {
    "begin": ("start",),
    "on_handshake": ("moment", "rtt_us"),
    "on_ack": ("sample",),
    "on_congestion": ("moment", "kind", "base"),
    "on_rto": ("moment",),
    "on_lost": ("moment", "loss"),
    "on_undo": ("moment", "before"),
    "on_idle": ("moment", "idle_ns", "app_limited"),
    "on_timer": ("moment", "name"),
    "probe": (),
}

#: The features of the TCP stack that a controller's class may list in its attribute `needs`.
NEEDS = ("rates", "one_way", "repair", "marks")


class ControllerError(ClassError):
    """A Python controller is invalid, or failed in a run. `args[0]` is a list of one line; the cause is chained."""


def _tables(tree: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields, for each Python controller, the path "tcp.NAME" of its stack, the path of its table, and this table."""
    for name, stack in tree.get("tcp", {}).items():
        if isinstance(stack.get("python"), dict):
            yield f"tcp.{name}", f"tcp.{name}.python", stack["python"]


KIND = Kind(
    noun="controller",
    reserved=("controller", "source"),
    owner="the stack's",
    methods=METHODS,
    required=(("on_ack",), ("on_congestion",)),
    instead={"random": "sample.random()", "secrets": "sample.random()", "time": "sample.now_ns"},
    argument="controllers",
    written="tcp.mine.python",
    place="stack",
    example="mine.py:Mine",
    error=ControllerError,
    tables=_tables,
    needs=NEEDS,
)
