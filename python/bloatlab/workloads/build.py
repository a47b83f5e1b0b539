"""The type of a workload, and functions that build parts of scenarios as plain values."""

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from bloatlab import _core
from bloatlab.errors import InputError, nearest

#: A scenario's values, or a part of them.
Data = dict[str, Any]
#: A (path, value) pair that overrides a value of a scenario.
Override = tuple[str, str]

#: Packet size in bytes, used to convert bandwidth-delay products to packets.
PACKET = 1500

#: DSCPs, by the names used in flent's tests.
DSCP: Mapping[str, int] = {**{f"CS{n}": 8 * n for n in range(8)}, "BE": 0, "BK": 8, "EF": 46}


class WorkloadError(InputError):
    """Raised for an invalid parameter of a workload. The message is a single line."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The values of a workload's parameters, as strings."""

    workload: str
    values: Mapping[str, str]

    def text(self, name: str) -> str:
        """Returns a parameter's string, without quotes."""
        return self.values[name].strip().strip("\"'")

    def quantity(self, name: str, kind: Literal["duration", "rate"]) -> float:
        """Reads a duration in s or a rate in bit/s, which must be greater than 0. Raises `WorkloadError`."""
        found = _core.quantity(self.text(name))
        if found is None or found[0] != kind or found[1] <= 0:
            example = "60s" if kind == "duration" else "10mbit"
            raise self.refusal(name, f"is not a {kind} above 0; for example {example}")
        return found[1] / 1e9 if kind == "duration" else float(found[1])

    def number(self, name: str, least: int, most: int) -> int:
        """Reads a whole number within bounds. Raises `WorkloadError`."""
        text = self.text(name)
        if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= most:
            raise self.refusal(name, f"is not valid; expected {least} to {most}")
        return int(text)

    def queue(self, name: str = "queue") -> Any:
        """Reads a queue: a keyword, a text in tc's syntax or a table, as in a scenario."""
        try:
            return tomllib.loads(f"queue = {self.values[name]}")["queue"]
        except tomllib.TOMLDecodeError:
            return self.text(name)

    def refusal(self, name: str, why: str) -> WorkloadError:
        """Returns the error for a parameter with an invalid value; `why` is the reason."""
        return WorkloadError(f"{self.workload}: {name}: {json.dumps(self.text(name)[:80])} {why}")


@dataclass(frozen=True, slots=True)
class Workload:
    """A scenario by name: its description, its parameters with their defaults, and its builder.

    `series` contains flent's names for the flows and probes, by application.
    """

    name: str
    words: str
    source: str
    parameters: Mapping[str, str]
    make: Callable[[Parameters], Data]
    series: Mapping[str, str] = field(default_factory=dict[str, str])

    def build(self, sets: Sequence[Override] = ()) -> tuple[str, list[Override]]:
        """Returns the scenario as JSON, and the items of `sets` that are not parameters of the workload.

        Items of `sets` that are parameters are used to build the scenario. Raises `WorkloadError`.
        """
        given = {path.strip(): value for path, value in sets if path.strip() in self.parameters}
        rest = [(path, value) for path, value in sets if path.strip() not in self.parameters]
        for path, _ in rest:
            if path.strip() not in _keys() and "." not in path:
                hint = nearest(path, [*self.parameters, *_keys()])
                valid = f"(valid: {', '.join(self.parameters)}, and every key of a scenario)"
                raise WorkloadError(f"{self.name}: {json.dumps(path[:80])} is not a parameter {valid}{hint}")
        data = self.make(Parameters(self.name, {**self.parameters, **given}))
        return json.dumps({"name": self.name, **data}, ensure_ascii=False), rest

    def beside(self) -> float:
        """Returns the time in s by which a run is longer than the parameter `length`; 0 without this parameter."""
        if "length" not in self.parameters:
            return 0.0
        usual = Parameters(self.name, self.parameters)
        run = Parameters(self.name, {"duration": self.make(usual)["duration"]})
        return run.quantity("duration", "duration") - usual.quantity("length", "duration")


@cache
def _keys() -> frozenset[str]:
    return frozenset(json.loads(_core.schema())["properties"])


# ------------------------------------------------------------------------------------------------ values in scenarios


def ns(seconds: float) -> str:
    """Formats a duration in s for a scenario, to the nanosecond."""
    return f"{round(seconds * 1e9)}ns"


def bps(rate: float) -> str:
    """Formats a rate in bit/s for a scenario."""
    return f"{round(rate)}bit"


def pareto_mean(shape: float, low: float, high: float) -> float:
    """Returns the mean size of `traffic.short`: a Pareto distribution from `low`, capped at `high`."""
    return (shape * low - low**shape * high ** (1 - shape)) / (shape - 1)


def link(a: str, b: str, rate: float | None, delay: float, queue: Any = None) -> Data:
    """Makes a link from `a` to `b`: rate in bit/s (None: unlimited), delay in s."""
    made: Data = {"from": a, "to": b, "delay": ns(delay)}
    if rate is not None:
        made["rate"] = bps(rate)
    if queue is not None:
        made["queue"] = queue
    return made


def app(ends: tuple[str, Sequence[str]], traffic: Data, **more: Any) -> Data:
    """Makes an application; `ends` are its client and its servers, and `more` its additional keys."""
    return {"from": ends[0], "to": list(ends[1]), **more, "traffic": traffic}


def buffered(queue: Any, packets: int) -> Any:
    """Sets the limit of a queue to `packets`, if its discipline has the parameter `limit` and `queue` does not set it.

    `queue` is the name of a discipline, a text in tc's syntax, or a table that contains the parameters under the name.
    """
    if isinstance(queue, str) and (table := _core.tc_table(queue)):
        queue = json.loads(table)
    if isinstance(queue, Mapping) and len(queue) == 1:
        ((name, values),) = queue.items()
        if name in _with("limit") and isinstance(values, Mapping):
            return {name: {"limit": f"{packets}p", **values}}
    return queue


def marking(queue: Any) -> Any:
    """Turns on ECN in a queue that is given as a table, if its discipline has the parameter `ecn`."""
    if isinstance(queue, Mapping) and len(queue) == 1:
        ((name, values),) = queue.items()
        if name in _with("ecn") and isinstance(values, Mapping):
            return {name: {**values, "ecn": True}}
    return queue


@cache
def _with(parameter: str) -> frozenset[str]:
    """Returns the disciplines that have a parameter with this name."""
    entries = json.loads(_core.catalogue())["qdiscs"]
    return frozenset(e["name"] for e in entries if any(p["name"] == parameter for p in e.get("params") or []))


def bdp(rate: float, rtt: float) -> int:
    """Returns the bandwidth-delay product in packets, rounded up, at least 2; `rate` in bit/s, `rtt` in s."""
    return max(2, math.ceil(rate * rtt / 8 / PACKET - 1e-9))


def flows_for(loss: float, segments: float) -> int:
    """Returns the number of Reno flows that lose this share of their packets, at least 1. Source: RFC 7928 §8.2.1.

    `segments` is the sum of the bandwidth-delay product and the buffer, and loss = 0.76 n² / segments² for n flows.
    """
    return max(1, round(segments * math.sqrt(loss / 0.76)))
