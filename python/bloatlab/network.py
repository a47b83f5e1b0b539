"""Your own transports in a simulated network: Python objects that send real datagrams through its queues.

    network = bloatlab.Network("line.toml")
    server = network.add_endpoint("server", Receiver())
    network.add_endpoint("client", Sender(server))
    result = network.finish()

A stack needs no sockets and no threads, only the four methods of `Endpoint`. Two runs with the same
stacks and the same seed give identical results. See docs/transports.md.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from bloatlab import _core
from bloatlab.classes import line_of
from bloatlab.driving import Core, nanoseconds, prepared
from bloatlab.errors import line_in, nearest
from bloatlab.scenario import Scenario, ScenarioError, Sets, quantity
from bloatlab.simulation import Result, frames, summary_of
from bloatlab.traces import check_named

#: IPv4 address and UDP port.
Address = tuple[str, int]
#: An arriving datagram: its `sender` (an address), its `ecn` field and its `data`.
Datagram = _core.Datagram

#: The methods of an endpoint and their arguments after `self`.
METHODS: Mapping[str, tuple[str, ...]] = {
    "handle": ("now_ns", "datagram"),
    "poll_transmit": ("now_ns",),
    "next_timeout": (),
    "on_timeout": ("now_ns",),
}


class EndpointError(RuntimeError):
    """An endpoint that misbehaved. The message is one line: endpoint, time, file and line, and what it did."""


class Endpoint(Protocol):
    """A stack at a node: a state machine without I/O, in virtual time. Times are in ns since the start of the run.

    After each call of `handle` or `on_timeout`, and once at the start, the network calls `poll_transmit` until it
    returns None, and then `next_timeout`. An ECN field is 0 (not ECN-capable), 1 (ECT(1)), 2 (ECT(0)) or 3 (CE).

    The bytes of a datagram are the payload of UDP over IPv4. If the stack has an attribute `framing = "ipv4"`, they are
    a whole IPv4 packet.
    """

    def handle(self, now_ns: int, datagram: Datagram, /) -> None:
        """Receives a datagram that arrives now."""

    def poll_transmit(self, now_ns: int, /) -> tuple[Address, bytes, int] | None:
        """Returns the next datagram to send now, as destination, bytes and ECN field; None if there is none."""

    def next_timeout(self) -> int | None:
        """Returns the time of the next timeout, or None if none is pending. A time in the past means now."""

    def on_timeout(self, now_ns: int, /) -> None:
        """Handles the timeout announced by `next_timeout`."""


class Network:
    """The network of a scenario, with endpoints at its nodes.

    The first `run_until`, `finish`, `result` or `fork` builds it; after that, no endpoint can be added.
    Times are in seconds unless given as a string with a unit.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, object],
        seed: int | None = None,
        *,
        sets: Sets = (),
        laws: Mapping[str, type] | None = None,
        controllers: Mapping[str, type] | None = None,
    ) -> None:
        """Opens a scenario; the arguments are those of `bloatlab.run`."""
        scenario, factories = prepared(scenario, seed, sets, laws, controllers)
        self._core = Core(_core.NetworkRun(scenario.text, factories or None), factories)
        self._endpoints: dict[str, Endpoint] = {}
        #: The end of the run, in s.
        self.duration = quantity(scenario.data["duration"])

    def add_endpoint(self, node: str, endpoint: Endpoint, *, name: str | None = None, mtu: int = 1500) -> Address:
        """Adds a stack at a node; returns its address. `mtu` is the maximum size of its IP packets in bytes.

        In the results, the stack is an application called `name`; by default, this is the node's name, followed by a
        number if the name is taken. Raises `ScenarioError` for an unknown node, a `name` that is taken, an `mtu` below
        576 or above 65 535, a stack with an unknown `framing` or without the four methods, or a network that is built.
        """
        _check_methods(endpoint)
        framing = getattr(endpoint, "framing", "udp")
        if framing not in {"udp", "ipv4"}:
            raise ScenarioError([f'endpoint.{name or node}: framing is {framing!r}; expected "udp" or "ipv4"'])
        if not 576 <= mtu <= 65_535:
            raise ScenarioError([f"endpoint.{name or node}: mtu {mtu} is not valid; expected 576 to 65535 bytes"])
        with self._core.use() as run:
            address, used = run.add_endpoint(node, endpoint, name, mtu, framing == "ipv4")
        self._endpoints[used] = endpoint
        return address

    def capture(self, folder: str | Path, link: str | None = None) -> None:
        """Captures whole packets at both ends of a link, as left.pcap and right.pcap in a folder.

        The folder is created if it does not exist; files of these names in it are replaced. The default is the slowest
        link; the link's `from` node is left. The files are complete after `finish`, or after a failure. Raises
        `ScenarioError` for an unknown link, on a second call, or after the network has run.
        """
        check_named("capture", folder)
        with self._core.use() as run:
            run.capture(folder, link)

    @property
    def now(self) -> float:
        """The time in s. Events before it have happened; those at this time have not, unless an endpoint failed."""
        with self._core.use() as run:
            return run.now_ns / 1e9

    def run_until(self, time: float | str) -> None:
        """Runs to a time: a number of seconds, or a string such as "250ms". Events at that time are not handled yet.

        A time after the end means the end. Raises `ScenarioError` for a time before now, or after `finish`. Raises
        `EndpointError` if an endpoint misbehaves, which ends the run; `result` then covers the time up to this error.
        """
        ns = nanoseconds(time, self.duration)
        with self._explained() as run:
            run.run_until(ns)

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The stacks by the names of their applications; a fork has its own copies."""
        return dict(self._endpoints)

    def fork(self) -> Network:
        """Returns a second network in the same state, which shares nothing with this one.

        `copy.deepcopy` copies all stacks with one memo, so an object shared by two stacks is copied once. A network
        that has not run yet is built first. Raises `EndpointError` for a stack that cannot be copied, `LawError` or
        `ControllerError` for a law or controller in Python that cannot be copied, and `ScenarioError` for a network
        that captures or whose run is over.
        """
        copies: dict[str, Endpoint] = {}
        memo: dict[int, Any] = {}
        fork = object.__new__(Network)
        with self._core.use() as run:
            for name, endpoint in self._endpoints.items():
                copies[name] = _copied(name, endpoint, memo)
            fork._core = Core(run.fork([*copies.values()]), self._core.factories)
        fork._endpoints, fork.duration = copies, self.duration
        return fork

    def __copy__(self) -> Network:
        """Returns a fork."""
        return self.fork()

    def __deepcopy__(self, _memo: object) -> Network:
        """Returns a fork."""
        return self.fork()

    def finish(self) -> Result:
        """Runs to the end; returns the result. Raises `EndpointError`."""
        with self._explained() as run:
            run.finish()
        return self.result()

    def result(self) -> Result:
        """Returns the result of the time so far. Its scenario lists each endpoint as an application."""
        with self._core.use() as run:
            output, text = run.outcome(), run.scenario
        return Result(Scenario(text), summary_of(output["summary"]), frames(output["tables"]))

    @contextmanager
    def _explained(self) -> Generator[_core.NetworkRun]:
        """Yields the run, and turns a failure of an endpoint in it into an `EndpointError`."""
        try:
            with self._core.use() as run:
                yield run
        except _core.EndpointFailure as failure:
            name, at_ns, method, action = failure.args
            endpoint = self._endpoints[name]
            place = _place(type(getattr(endpoint, "__wrapped__", endpoint)), method, failure.__cause__)
            line = f'endpoint "{name}" at {at_ns / 1e9:.9f} s: {place}{action}'
            raise EndpointError(line) from failure.__cause__

    def __repr__(self) -> str:
        """Returns the time and the endpoints as text."""
        return f"<Network: {self.now:g} s of {self.duration:g} s, endpoints {', '.join(self._endpoints) or 'none'}>"


def _copied(name: str, endpoint: Endpoint, memo: dict[int, Any]) -> Endpoint:
    """Returns a deep copy of an endpoint. Raises `EndpointError` if it cannot be copied."""
    try:
        copied = copy.deepcopy(endpoint, memo)
    except Exception as error:
        reason = f"copy.deepcopy raised {type(error).__name__}: {' '.join(str(error).split())}"
        raise EndpointError(f'endpoint "{name}": this stack cannot be forked, because {reason}') from error
    if copied is endpoint:
        reason = f"copy.deepcopy does not copy a {type(endpoint).__name__}"
        raise EndpointError(f'endpoint "{name}": this stack cannot be forked, because {reason}')
    return copied


def _check_methods(endpoint: object) -> None:
    """Raises `ScenarioError` if an endpoint method is missing or has the wrong arguments."""
    kind = type(endpoint).__name__
    for name, arguments in METHODS.items():
        method = getattr(endpoint, name, None)
        call = f"{name}({', '.join(arguments)})"
        if not callable(method):
            own = [m for m in dir(endpoint) if not m.startswith("_")]
            raise ScenarioError([f"endpoint: {kind} has no method {call}{nearest(name, own)}"])
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            raise ScenarioError([f"endpoint: {kind}.{name} cannot be called as {call}"]) from None


def _place(of: type, method: str, error: BaseException | None) -> str:
    """Returns the method's file, with the line of the exception in it or else of the method; empty if unknown."""
    code = getattr(getattr(of, method, None), "__code__", None)
    if code is None:
        return ""
    file = code.co_filename
    line = line_in(error, file) if error is not None else None
    return f"{Path(file).name}:{line or line_of(of, method)}: "
