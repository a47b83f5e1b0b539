"""Judges a user's transport: its endpoints replace the judged TCP flows of a case.

    class Stack:
        def __init__(self, to=None): ...    # sends without end to the address `to`; receives if `to` is None

The methods are those of `bloatlab.network.Endpoint`. Each judged flow is a pair of objects, which send through
`bloatlab.Network` beside the other applications of the case. Criteria about packets apply to a transport, but criteria
about phases do not, because it traces no phases. A case applies only if its judged flows are long transfers.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import random
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import files, network
from bloatlab.classes import ClassError, Kind, UserClass, checked, loaded, parsed, read
from bloatlab.judge.measures import FAILURE
from bloatlab.judge.suites import STACK
from bloatlab.network import Address, Endpoint, EndpointError, Network
from bloatlab.scenario import Scenario, parse, quantity
from bloatlab.simulation import Progress, Result

#: A run is divided into this number of parts. Progress is reported between parts, so that Ctrl-C is handled.
PARTS = 100

#: If a case sets no `start_spread`, each flow starts at a random time within an interval of this length. The traffic
#: `ftp` has the same default.
_START_SPREAD = "100ms"

#: The address passed to a sender when its class is tested.
_ADDRESS: Address = ("10.0.0.1", 4433)

#: The name of the judged TCP stack in the scenario of a case.
_NAME = STACK.rpartition(".")[2]

#: Keys of `traffic.ftp` that a case for transports can set; all other keys must have their defaults.
_LONG = ("flows", "stagger")

#: In an endpoint's name, the text between the name of the application and the number of an additional flow.
_AGAIN = " flow "

#: In a receiver's name, the text between the name of the application and the number of the flow.
_RECEIVER = " receiver "

#: A lock held during each run, because two runs in parallel could change the same global variables of a library. The
#: lock costs little time, because threads cannot run Python code in parallel anyway.
_ALONE = threading.Lock()

KIND = Kind(
    noun="transport",
    reserved=(),
    owner="",
    methods=network.METHODS,
    required=tuple((name,) for name in network.METHODS),
    instead={"secrets": "random.Random(SEED)"},
    argument="",
    written="",
    place="",
    example="stack.py:Stack",
    error=ClassError,
    tables=lambda _tree: iter(()),
    modules=True,
)


@dataclass(frozen=True, slots=True)
class Transport:
    """A class in a Python file: the file's name, the class, its source, and a hash of the modules it imports.

    `key` is a hash of the file's path and the name of the class. It stays the same if the source changes.
    """

    key: str
    label: str
    name: str
    source: str
    packages: str

    def runner(self) -> functools.partial[Result]:
        """Returns the function that runs a case with this transport. It is the `run` argument of a `sweep.Measure`."""
        return functools.partial(_run, label=self.label, name=self.name, source=self.source, packages=self.packages)


def transport(file: Path, name: str, at: str) -> Transport:
    """Reads and checks the class of a transport. Raises `ClassError`; its message begins with the text `at`."""
    source = read(KIND, file.name, file.parent, at)
    user = checked(KIND, file.name, name, source, at)
    for arguments, use in (((), f"{name}() for a receiver"), ((_ADDRESS,), f"{name}(address) for a sender")):
        try:
            inspect.signature(user.of).bind(*arguments)
        except TypeError:
            raise ClassError([f"{at}: {name} cannot be called as {use}"]) from None
        try:
            user.of(*arguments)
        except Exception as error:
            raise ClassError([f"{at}: {user.line('__init__', error)}, called as {use}"]) from error
    key = hashlib.sha256(f"{file.resolve()}:{name}".encode()).hexdigest()[:8]
    return Transport(key, file.name, name, source, _packages(source))


def is_transport(file: Path, name: str) -> bool:
    """Returns whether a class has the method `poll_transmit` of a transport, but not `on_ack` of a controller.

    Only the source is read; methods count if the class or a base class in the same file defines them.
    """
    try:
        tree = parsed(files.read_text(file))
    except (SyntaxError, ValueError):
        return False  # the caller then reads the file as a controller, which reports the error
    classes = {of.name: of for of in ast.walk(tree) if isinstance(of, ast.ClassDef)}
    methods: set[str] = set()
    waiting = [name]
    while waiting:  # the loop ends, because each class visited is removed
        if (found := classes.pop(waiting.pop(), None)) is not None:
            methods.update(of.name for of in found.body if isinstance(of, ast.FunctionDef))
            waiting += [base.id for base in found.bases if isinstance(base, ast.Name)]
    return "poll_transmit" in methods and "on_ack" not in methods


def _packages(source: str) -> str:
    """Returns the SHA-256 of the modules and packages that a source imports.

    The hash covers the contents of their Python files, and the sizes of other files except `.pyc`. It does not cover
    modules that only these modules import. It does not need to cover Python's standard library, because a store keeps
    runs with different versions of Python apart.
    """
    sha = hashlib.sha256()
    for name in sorted({name.partition(".")[0] for name in _imported(source)} - sys.stdlib_module_names - {"bloatlab"}):
        spec = find_spec(name) if name else None
        if spec is None:
            continue
        found = [path for folder in spec.submodule_search_locations or () for path in sorted(Path(folder).rglob("*"))]
        for path in found or [Path(spec.origin or "")]:
            if path.is_file() and path.suffix != ".pyc":
                own = path.read_bytes() if path.suffix == ".py" else str(path.stat().st_size).encode()
                sha.update(f"\0{name} {path.name}\0".encode() + own)
    return sha.hexdigest()


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def why_not(scenario: Scenario) -> str:
    """Returns the reason why a transport cannot run a case, or an empty string if it can."""
    for name, app in _judged(scenario).items():
        ftp = app["traffic"].get("ftp")
        if ftp is None:
            return f"app.{name} sends {next(iter(app['traffic']))}, but a transport here only sends without end"
        usual = {key: value for key, value in ftp.items() if key not in _LONG}
        if usual != _usual() or app["stop"] is not None or app["tcp_server"] is not None:
            return f"app.{name} sends files, pauses or changes its rate, but a transport here only sends without end"
    return ""


def network_of(scenario: Scenario) -> Scenario:
    """Returns a case's scenario without the judged flows, which are replaced by the transport's endpoints."""
    tree = scenario.data
    for name in _judged(scenario):
        del tree["app"][name]
    del tree["tcp"][_NAME]
    tree.pop("trace", None)
    return parse(json.dumps(tree), form="json", source=scenario.name)


def _judged(scenario: Scenario) -> dict[str, Any]:
    return {name: app for name, app in scenario.data["app"].items() if app.get("tcp") == _NAME}


@functools.cache
def _usual() -> dict[str, Any]:
    """Returns the default parameters of a long transfer, except those in `_LONG`."""
    tree = {
        "duration": "1s",
        "link": {"line": {"from": "a", "to": "b", "both_ways": True, "rate": "1mbit"}},
        "app": {"long": {"from": "a", "to": ["b"], "traffic": "ftp"}},
    }
    ftp = parse(json.dumps(tree), form="json").data["app"]["long"]["traffic"]["ftp"]
    return {key: value for key, value in ftp.items() if key not in _LONG}


class _Later:
    """A stack that begins sending at a given time in ns."""

    def __init__(self, stack: Endpoint, start_ns: int) -> None:
        self._stack, self._start, self._begun = stack, start_ns, False
        self.framing = getattr(stack, "framing", "udp")
        self.handle = stack.handle
        self.__wrapped__ = stack

    def poll_transmit(self, now_ns: int) -> tuple[Address, bytes, int] | None:
        self._begun = self._begun or now_ns >= self._start
        return self._stack.poll_transmit(now_ns) if self._begun else None

    def next_timeout(self) -> int | None:
        return self._stack.next_timeout() if self._begun else self._start

    def on_timeout(self, now_ns: int) -> None:
        if self._begun:
            self._stack.on_timeout(now_ns)


def _run(
    scenario: Scenario, seed: int, progress: Progress | None, *, label: str, name: str, source: str, packages: str
) -> Result:
    """Runs a case with a transport.

    `packages`, the hash of the imported modules, is not used here. It is an argument because a store keeps runs with
    different arguments apart.

    If the transport fails, the result ends at the failure, and its summary contains the reason under `FAILURE`.
    """
    del packages
    scenario = scenario if scenario.seed == seed else scenario.with_sets(("seed", str(seed)))
    with _ALONE:
        user = loaded(KIND, label, name, source, label)
        run = Network(network_of(scenario))
        for app in _judged(scenario):
            _add_flows(run, user, scenario, app)
        failure = ""
        try:
            for part in range(PARTS):
                run.run_until(run.duration * part / PARTS)
                if progress is not None:
                    progress(part / PARTS)
            result = run.finish()
        except EndpointError as error:
            failure, result = str(error), run.result()
    tables = dict(result.tables) | {"flow_series": _with_one_app_of(result.tables["flow_series"])}
    return Result(scenario, _with_one_app(result.summary) | ({FAILURE: failure} if failure else {}), tables)


def _add_flows(run: Network, user: UserClass, scenario: Scenario, name: str) -> None:
    """Adds the pairs of endpoints of one application: the senders are called NAME, NAME flow 2, NAME flow 3 ..."""
    tree = scenario.data
    app = tree["app"][name]
    ftp = app["traffic"]["ftp"]
    spread = quantity(app.get("start_spread") or tree.get("start_spread") or _START_SPREAD)
    ends = [app["from"], app["to"][0]]
    source, sink = ends if ftp["direction"] == "up" else ends[::-1]
    for flow in range(ftp["flows"]):
        start = quantity(app["start"]) + flow * quantity(ftp["stagger"])
        start += spread * random.Random(f"{scenario.seed} {name} {flow}").random()  # noqa: S311
        address = run.add_endpoint(sink, user.of(), name=f"{name}{_RECEIVER}{flow + 1}")
        own = name if flow == 0 else f"{name}{_AGAIN}{flow + 1}"
        run.add_endpoint(source, _Later(user.of(address), round(start * 1e9)), name=own)


def _with_one_app(summary: dict[str, Any]) -> dict[str, Any]:
    """Adds the goodput of an application's other flows to the goodput of its first flow."""
    apps = summary["apps"]
    for name, further in apps.items():
        first, again, _ = name.partition(_AGAIN)
        if again:
            for key in ("goodput_mbit", "goodput_bytes"):
                apps[first][key] += further[key]
    return summary


def _with_one_app_of(series: pl.DataFrame) -> pl.DataFrame:
    """Assigns each sender's rows to its application. Leaves out the rows of receivers.

    The senders of the judged application are its flows, numbered from 0. Other applications keep their flows.
    """
    series = series.filter(~pl.col("app").str.contains(_RECEIVER, literal=True))
    parts = series["app"].str.split_exact(_AGAIN, 1)
    first, number = (parts.struct.field(f"field_{n}") for n in range(2))
    return series.with_columns(app=first, flow=pl.coalesce(number.cast(pl.UInt64) - 1, pl.col("flow")))
