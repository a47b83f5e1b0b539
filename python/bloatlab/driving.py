"""Simulations that are driven step by step: between two steps, a simulation can be read, changed and forked.

    sim = bloatlab.open("modem.toml")
    sim.run_until("2s")
    sim.link("up").set(rate="1mbit")
    other = sim.fork()
    sim.flow("upload").cwnd = 30_000
    result = sim.finish()

If nothing is changed, the result of the simulation and that of each fork are byte for byte those of `bloatlab.run`,
except for two things. The tables of a trace are missing, and the number of `events` may differ, because `bloatlab.run`
needs fewer events to pass packets from link to link. See docs/driving.md.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

from bloatlab import _core, outside
from bloatlab.errors import nearest
from bloatlab.scenario import Scenario, ScenarioError, Sets, amount, plain, quantity, resolved
from bloatlab.simulation import Result, frames, summary_of

#: A run in the compiled core.
Run = TypeVar("Run")

#: The unit in which the core takes a number, for each key of `Link.set`. Callers give times in s, which are converted.
#: A loss has no unit.
_UNITS = {
    "rate": "bit",
    "max_sustained_rate": "bit",
    "peak_traffic_rate": "bit",
    "delay": "ns",
    "jitter": "ns",
    "max_grant": "B",
    "loss": None,
}

#: The attributes of a flow that can be set. Each accepts a number, or a string whose unit is of the kind given here.
_SETTINGS = {"cwnd": "size", "ssthresh": "size", "pacing_rate": "rate"}


def open(  # noqa: A001  bloatlab.open, as in gzip.open
    scenario: Scenario | str | Path | Mapping[str, object],
    seed: int | None = None,
    *,
    sets: Sets = (),
    laws: Mapping[str, type] | None = None,
    controllers: Mapping[str, type] | None = None,
) -> Simulation:
    """Opens a scenario as a simulation at time 0; the arguments are as for `bloatlab.run`. Nothing is traced."""
    scenario, factories = prepared(scenario, seed, sets, laws, controllers)
    with _explained(factories):
        return Simulation(scenario, factories, _core.DrivenRun(scenario.text, factories or None))


def prepared(
    scenario: Scenario | str | Path | Mapping[str, object],
    seed: int | None,
    sets: Sets,
    laws: Mapping[str, type] | None,
    controllers: Mapping[str, type] | None,
) -> tuple[Scenario, outside.Factories]:
    """Returns the scenario with `seed`, if given, and factories for laws and controllers. Raises `ScenarioError`."""
    scenario = resolved(scenario, sets)
    if seed is not None and seed != scenario.seed:
        scenario = scenario.with_sets(("seed", str(seed)))
    return scenario, outside.factories(scenario.text, laws, controllers)


@contextmanager
def _explained(factories: outside.Factories) -> Generator[None]:
    """Turns a failure inside a law or controller written in Python into a `ClassError`."""
    try:
        yield
    except _core.ClassFailure as failure:
        raise outside.explained(failure, factories) from failure.__cause__


class Core(Generic[Run]):
    """A run in the core, shared by a simulation and its links and flows. Only one call at a time can use the run."""

    def __init__(self, run: Run, factories: outside.Factories) -> None:
        self.run, self.factories = run, factories
        self._busy = threading.Lock()

    @contextmanager
    def use(self) -> Generator[Run]:
        """Yields the run. Raises `RuntimeError` while another call uses it."""
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("this simulation is running: another thread uses it, or its own law or endpoint does")
        try:
            with _explained(self.factories):
                yield self.run
        finally:
            self._busy.release()


class Snapshot:
    """The state of a simulation at one moment; `Simulation.restore` returns to it, any number of times."""

    __slots__ = ("run", "scenario")

    def __init__(self, scenario: Scenario, run: _core.DrivenRun) -> None:
        """Stores `run`, a copy of the simulation's run. This copy never advances; `Simulation.restore` forks it."""
        self.scenario = scenario
        self.run = run

    @property
    def now(self) -> float:
        """The time of the snapshot in s."""
        return self.run.now_ns / 1e9

    def __copy__(self) -> Snapshot:
        """Returns the snapshot itself, which never changes."""
        return self

    def __deepcopy__(self, _memo: object) -> Snapshot:
        """Returns the snapshot itself, which never changes."""
        return self

    def __reduce__(self) -> str:
        """Raises `TypeError`, because a snapshot cannot be pickled."""
        raise TypeError("a snapshot cannot be pickled or sent to a process; send its scenario, and run it there")

    def __repr__(self) -> str:
        """Returns the scenario and the time as text."""
        return f"<Snapshot {self.scenario.name}: {self.now:g} s>"


class Simulation:
    """A simulation in progress.

    Times are in s, rates in bit/s and sizes in bytes, unless given as a string with a unit.

    A change takes effect before all other events at the same time, like the `changes` of a link in a scenario.
    """

    def __init__(self, scenario: Scenario, factories: outside.Factories, run: _core.DrivenRun) -> None:
        """Wraps a run of the core. Call `bloatlab.open` instead of this constructor."""
        self._opened, self._core = scenario, Core(run, factories)
        #: The end of the run, in s.
        self.duration = quantity(scenario.data["duration"])

    @property
    def now(self) -> float:
        """The time in s. All events before this time have happened, but no event at this time or later.

        After Ctrl-C has stopped `run_until` or `finish`, some events at this time may have happened.
        """
        with self._core.use() as run:
            return run.now_ns / 1e9

    @property
    def over(self) -> bool:
        """Whether `finish` has run to the end."""
        with self._core.use() as run:
            return run.over

    @property
    def scenario(self) -> Scenario:
        """The scenario, including link changes so far but not flow settings."""
        with self._core.use() as run:
            text = run.scenario
        return self._opened if text == self._opened.text else Scenario(text)

    def run_until(self, time: float | str) -> None:
        """Runs to a time: a number of seconds, or a string such as "250ms". Events at that time are not handled yet.

        Raises `ScenarioError` for a time before now or after the end.
        """
        ns = nanoseconds(time, self.duration)
        with self._core.use() as run:
            run.run_until(ns)

    def flow(self, app: str, number: int = 0) -> Flow:
        """Returns the sender of an application's flow, in the flow's latest open connection. Flows are numbered from 0.

        Raises `ScenarioError` if the application is unknown or sends datagrams, or has no flow with this number.
        """
        app = str(app)
        with self._core.use() as run:
            flows = run.flows(app)
        if not (hasattr(number, "__index__") and 0 <= number < flows):
            valid = "0, its only flow" if flows == 1 else f"0 to {flows - 1}"
            raise ScenarioError([f"app.{app}: flow {number!r:.80} is not valid; expected {valid}"])
        return Flow(self._core, app, number)

    def link(self, name: str) -> Link:
        """Returns a link by its name; a `~` in front means its reverse direction.

        Only links with `both_ways` have a reverse direction. Raises `ScenarioError`.
        """
        name = str(name)
        with self._core.use() as run:
            run.link(name)
        return Link(self._core, name)

    def fork(self) -> Simulation:
        """Returns an independent second simulation in the same state.

        Only data in the module or the class of a law or controller in Python is shared.

        Raises `LawError` or `ControllerError` for a law or controller in Python that `copy.deepcopy` cannot copy.
        """
        with self._core.use() as run:
            return Simulation(self._opened, self._core.factories, run.fork())

    def __copy__(self) -> Simulation:
        """Returns a fork."""
        return self.fork()

    def __deepcopy__(self, _memo: object) -> Simulation:
        """Returns a fork."""
        return self.fork()

    def __reduce__(self) -> str:
        """Raises `TypeError`, because a simulation cannot be pickled."""
        raise TypeError("a simulation cannot be pickled or sent to a process; send its scenario, and open it there")

    def snapshot(self) -> Snapshot:
        """Returns the present state, to which `restore` can return. Raises the same errors as `fork`."""
        with self._core.use() as run:
            return Snapshot(self._opened, run.fork())

    def restore(self, snapshot: Snapshot) -> None:
        """Returns to the state of a snapshot, taken from this simulation or from another of the same scenario."""
        if not isinstance(snapshot, Snapshot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"restore: expected a snapshot, not {type(snapshot).__name__}")
        if snapshot.scenario != self._opened:
            raise ScenarioError([f"restore: the snapshot is of another scenario, {snapshot.scenario.name}"])
        with self._core.use():
            self._core.run = snapshot.run.fork()

    def finish(self) -> Result:
        """Runs to the end; returns the result, whose scenario records changes of links but not changes of flows."""
        with self._core.use() as run:
            output = run.finish()
        return Result(self.scenario, summary_of(output["summary"]), frames(output["tables"]))

    def __repr__(self) -> str:
        """Returns the scenario, the time and the duration as text."""
        over = ", over" if self.over else ""
        return f"<Simulation {self._opened.name}: {self.now:g} s of {self.duration:g} s{over}>"


def _whole(value: object, kind: str, scale: float = 1) -> int | None:
    """Converts a number (times `scale`), or a string whose unit is of this kind, to an integer.

    Returns None for a negative number, for a number that would give 2^63 or more, and for other values.
    """
    value = plain(value)
    if isinstance(value, str):
        found = amount(value)
        return int(found[1]) if found is not None and found[0] == kind else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return round(value * scale) if 0 <= value < 2**63 / scale else None


def nanoseconds(time: float | str, end: float) -> int:
    """Converts the argument of `run_until` to ns; the error message names `end`, in s. Raises `ScenarioError`."""
    ns = _whole(time, "duration", 1e9)
    if ns is None:
        valid = f'a time of 0 to {end:g} s: a number of seconds, or a string such as "250ms"'
        raise ScenarioError([f"run_until: {_shown(time)} is not valid; expected {valid}"])
    return ns


def _shown(value: object) -> str:
    return f"{plain(value)!r:.80}"


class _Part(ABC):
    """A part of a simulation whose attributes are read from the core on each access."""

    __slots__ = ("_core", "_name")
    NOUN: str
    ATTRIBUTES: tuple[str, ...] = ()

    def __init__(self, core: Core[_core.DrivenRun], name: str) -> None:
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_name", name)

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """Returns all attributes at once."""

    def __getattr__(self, name: str) -> Any:
        if name in self.ATTRIBUTES:
            return self.read()[name]
        # the message must not read the part, because this method is also called before the part is initialised
        valid = f"{', '.join(self.ATTRIBUTES)}{nearest(name, self.ATTRIBUTES)}"
        raise AttributeError(f"a {self.NOUN} has no {name}; expected {valid}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.NOUN} {self._name}: {name} cannot be set to {_shown(value)}; use its methods")

    def __copy__(self) -> Self:
        """Returns the part itself, which only refers to the simulation."""
        return self

    def __reduce__(self) -> str:
        """Raises `TypeError`, because a part only refers to its simulation: it cannot be pickled or deep-copied."""
        own = f"copy its simulation, and call `{self.NOUN}` of the copy"
        raise TypeError(f"a {self.NOUN} of a simulation cannot be pickled or copied on its own; {own}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.ATTRIBUTES]


class Link(_Part):
    """A link of a simulation.

    The attributes of the queue are `packets`, `bytes` and `sojourn`. `sojourn` is the time in s that the first packet
    has waited (with several queues, the longest of these times), or None if no packet waits or the time is not known.
    `rate` is in bit/s, None for a link without a rate. The counters since the start are `offered_packets`,
    `offered_bytes`, `delivered_packets`, `delivered_bytes`, `dropped_packets`, `dropped_bytes`, `marked_packets`, and
    `drops` (packets by reason). `in_flight_packets` is the number of packets that have left the queue but have not yet
    arrived.
    """

    __slots__ = ()
    NOUN = "link"
    ATTRIBUTES = (
        "packets", "bytes", "sojourn", "rate", "offered_packets", "offered_bytes", "delivered_packets",
        "delivered_bytes", "dropped_packets", "dropped_bytes", "marked_packets", "in_flight_packets", "drops",
    )  # fmt: skip

    def read(self) -> dict[str, Any]:
        """Returns all attributes at once."""
        with self._core.use() as run:
            return run.link(self._name)

    def set(self, **change: float | str) -> None:
        """Changes the link now: `set(rate="1mbit", delay=0.02, loss=0.01)`.

        If the link has `both_ways`, both directions change. The keys are those of `changes` in a scenario: rate, delay,
        jitter, loss, max_sustained_rate, peak_traffic_rate, max_grant. A packet in transmission finishes at the old
        rate. Raises `ScenarioError`.
        """
        path = f"link.{self._name}"
        for key in change:
            if key not in _UNITS and key != "at":  # for `at`, the core's message names the method to call
                valid = f"{nearest(key, _UNITS)} (valid: {', '.join(_UNITS)})"
                raise ScenarioError([f'{path}: unknown key "{key}"{valid}'])
        if not change:
            raise ScenarioError([f"{path}: nothing to set; expected {', '.join(_UNITS)}"])
        values = {
            key: _with_unit(f"{path}.{key}", value, _UNITS[key]) if key in _UNITS else str(value)
            for key, value in change.items()
        }
        with self._core.use() as run:
            run.set_link(self._name, json.dumps(values))

    def __repr__(self) -> str:
        """Returns the link's name, queue and rate as text."""
        state = self.read()
        rate = "" if state["rate"] is None else f", {state['rate'] / 1e6:g} Mbit/s"
        return f"<Link {self._name}: {state['packets']} packets queued{rate}>"


#: The units that error messages name, if they differ from those that the core reads.
_SHOWN_UNITS = {"ns": "s", "bit": "bit/s"}


def _with_unit(path: str, value: object, unit: str | None) -> object:
    """Converts a value in a change to the form read by the core. Raises `ScenarioError`."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if unit is None:
        share = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
        given, valid = value if share else None, 'a number from 0 to 1, or a string such as "1%"'
    else:
        number = _whole(value, "", 1e9 if unit == "ns" else 1)
        given = None if number is None else f"{number}{unit}"
        valid = f"a number ({_SHOWN_UNITS.get(unit, unit)}), or a string with a unit"
    if given is None:
        raise ScenarioError([f"{path}: {_shown(value)} is not valid; expected {valid}"])
    return given


class Flow(_Part):
    """The TCP sender in the latest open connection of an application's flow.

    The attributes in bytes are `cwnd`, `ssthresh` (None while it is infinite), `in_flight`, `delivered` (acknowledged
    payload of the connection), `sacked` (payload SACKed above a hole) and `mss`. `srtt` is in s (None before the first
    sample), `pacing_rate` in bit/s of payload (None without pacing). `retransmits` (segments), `timeouts` and `marks`
    (CE-marked packets reported by ACKs) are counted since the connection began. `state` is open, cwr, recovery or loss.
    `connection` is the number of the connection within its application, from 1. `direction` is forward, or reverse if
    only the server sends.

    `cwnd`, `ssthresh` and `pacing_rate` can be set to a number, or to a string such as "30KB" or "10mbit". With None,
    `ssthresh` becomes infinite, and `pacing_rate` turns pacing off.

    After a change of the window, the controller continues from the new window, and may change it at the next ACK. A
    pacing rate can be set only if neither the controller nor the stack paces. The rate then stays as set.
    """

    __slots__ = ("_number",)
    NOUN = "flow"
    ATTRIBUTES = (
        "cwnd", "ssthresh", "in_flight", "delivered", "sacked", "srtt", "pacing_rate", "retransmits", "timeouts",
        "marks", "state", "connection", "direction", "mss",
    )  # fmt: skip

    def __init__(self, core: Core[_core.DrivenRun], app: str, number: int) -> None:
        """Refers to a flow of an application. Call `Simulation.flow` instead, which checks that the flow exists."""
        super().__init__(core, app)
        object.__setattr__(self, "_number", number)

    def read(self) -> dict[str, Any]:
        """Returns all attributes at once."""
        with self._core.use() as run:
            return run.sender(self._name, self._number)

    def active(self) -> list[int]:
        """Returns the numbers of the flow's connections over which payload may still arrive.

        A connection that both ends have closed is left out as soon as all payload has arrived.
        """
        with self._core.use() as run:
            return run.active(self._name, self._number)

    def sent(self, direction: Literal["forward", "reverse"] = "forward") -> dict[str, int]:
        """Returns `delivered`, `retransmits`, `timeouts` and `marks`, summed over all connections of the flow so far.

        The sums are over the senders at the clients; with "reverse", over those at the servers. Raises `ScenarioError`.
        """
        if direction not in ("forward", "reverse"):
            raise ScenarioError([f'direction: {_shown(direction)} is not valid; expected "forward" or "reverse"'])
        with self._core.use() as run:
            return run.sent(self._name, self._number, direction == "reverse")

    def __setattr__(self, name: str, value: object) -> None:
        """Sets `cwnd`, `ssthresh` or `pacing_rate`. Raises `AttributeError` for other names, and `ScenarioError`."""
        if name not in _SETTINGS:
            valid = "cwnd, ssthresh or pacing_rate"
            raise AttributeError(f"app.{self._name}.{name} cannot be set; expected {valid}{nearest(name, _SETTINGS)}")
        with self._core.use() as run:
            number = _number(f"app.{self._name}.{name}", value, _SETTINGS[name], none=name != "cwnd")
            run.set_sender(self._name, self._number, name, number)

    def __repr__(self) -> str:
        """Returns the application, the flow's number and its window as text."""
        try:
            state = f"cwnd {self.read()['cwnd']} bytes"
        except ScenarioError:
            state = "no open connection"
        return f"<Flow {self._name}/{self._number}: {state}>"


def _number(path: str, value: object, kind: str, *, none: bool) -> int | None:
    """Converts a setting to a whole number of bytes or bit/s; None stays None if `none`. Raises `ScenarioError`."""
    number = _whole(value, kind)
    if number is None and not (none and value is None):
        valid = 'bytes, or a string such as "30KB"' if kind == "size" else 'bit/s, or a string such as "10mbit"'
        raise ScenarioError([f"{path}: {_shown(value)} is not valid; expected {valid}"])
    return number
