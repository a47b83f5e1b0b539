"""Reads reference files, which contain values measured on a real kernel. Error messages are one line long.

A file is a JSON object of scenarios by name; `data/METHOD.md` describes how its values were measured. A scenario
contains the network, the traffic, and for each metric `value`, `tol` and `grade`. The values of grade A are precise,
those of grade B are rough, and those of grade C serve only to rank scenarios.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from bloatlab import files
from bloatlab.errors import InputError

Grade = Literal["A", "B", "C"]
GRADES: tuple[Grade, ...] = ("A", "B", "C")

#: The references included in the package, one per kernel.
PUBLIC = ("reference_public_6.12.json", "reference_public_7.3.json")


class NoReferenceError(InputError):
    """Raised for a file that is not a valid reference. The message is a single line."""


@dataclass(frozen=True, slots=True)
class Value:
    """The kernel's value for a metric."""

    value: float
    tol: float
    grade: Grade


@dataclass(frozen=True, slots=True)
class Flows:
    """A group of `n` identical flows: `cc` is their congestion control, `rest` contains all other keys of the group."""

    n: int
    cc: str
    rest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Udp:
    """A stream of datagrams with `payload` bytes each, sent from `start_s` to `stop_s`.

    `bps` is the rate of the payload in bit/s.
    """

    start_s: float
    stop_s: float
    bps: float
    payload: int
    tos: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario in a file: its network, its traffic, and the values measured on the kernel."""

    name: str
    group: str
    qdisc: str
    rate_bps: int
    rtt_ms: float
    duration_s: float
    warmup_s: float
    flows: Sequence[Flows]
    udp: Sequence[Udp]
    pings: Sequence[int]
    metrics: Mapping[str, Value]
    #: Rate of the bottleneck on the ACKs' path, in bit/s; None if there is no such bottleneck.
    up_bps: int | None
    #: All keys of the scenario except `_READ` and `_COMMENTS`. `up_bps` is among them, too.
    rest: Mapping[str, Any]


#: `_NEEDED`: keys that an entry must have. `_READ`: keys left out of `Entry.rest`. `_COMMENTS`: keys that are ignored.
_NEEDED = ("qdisc", "rate_bps", "rtt_ms", "duration_s", "warmup_s", "flows", "metrics")
_READ = (*_NEEDED, "group", "udp", "pings")
_COMMENTS = ("twin", "seeds", "gso1", "htb", "note")

#: The datagram stream of a scenario in group d (METHOD.md) that lists no stream.
_BLAST = Udp(30.0, 60.0, 10e6, 1000, 0)


def public() -> list[Path]:
    """Returns the paths of the packaged references."""
    data = resources.files("bloatlab.validate").joinpath("data")
    return [Path(str(data.joinpath(name))) for name in PUBLIC]


def load(path: Path) -> list[Entry]:
    """Loads a file's scenarios, in file order. Raises `NoReferenceError`, `OSError` or `UnicodeDecodeError`."""
    try:
        data: Any = json.loads(files.read_text(path), object_pairs_hook=lambda pairs: _once(path, pairs))
    except json.JSONDecodeError as error:
        raise NoReferenceError(f"{path}: line {error.lineno}: not JSON: {error.msg.lower()}") from None
    except RecursionError:
        raise NoReferenceError(f"{path}: not a reference: nested too deeply") from None
    return read(data, str(path))


def _once(path: Path, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of a reference. Raises `NoReferenceError` if it has a key twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise NoReferenceError(f'{path}: duplicate key "{key[:60]}"')
        found[key] = value
    return found


def read(data: Any, source: str) -> list[Entry]:
    """Reads the scenarios in a parsed file. `source` names the file in error messages. Raises `NoReferenceError`."""
    if not isinstance(data, dict) or not data:
        raise NoReferenceError(f"{source}: not a reference: expected an object of scenarios by name")
    return [_entry(f"{source}: {str(name)[:60]}", str(name), given) for name, given in data.items()]


def _entry(where: str, name: str, given: Any) -> Entry:
    if not isinstance(given, dict):
        raise NoReferenceError(f"{where}: expected an object")
    for key in _NEEDED:
        if key not in given:
            raise NoReferenceError(f"{where}: {key} is missing")
    duration, warmup = _number(where, given, "duration_s"), _number(where, given, "warmup_s", least=0.0)
    if warmup >= duration:
        raise NoReferenceError(f"{where}.warmup_s: {warmup:g} is not before duration_s, {duration:g}")
    if not isinstance(given["qdisc"], str):
        raise NoReferenceError(f"{where}.qdisc: expected a string as for tc")
    group = str(given.get("group", ""))
    udp = [_udp(f"{where}.udp", u) for u in _list(where, given, "udp")] if "udp" in given else []
    return Entry(
        name=name,
        group=group,
        qdisc=given["qdisc"],
        rate_bps=round(_number(where, given, "rate_bps")),
        rtt_ms=_number(where, given, "rtt_ms", least=0.0),
        duration_s=duration,
        warmup_s=warmup,
        flows=[_flows(f"{where}.flows", f) for f in _list(where, given, "flows")],
        udp=udp if udp or group != "d" else [_BLAST],
        pings=[round(_number(f"{where}.pings", p, "tos", least=0.0)) for p in _list(where, given, "pings")]
        if "pings" in given
        else [0],
        metrics=_metrics(f"{where}.metrics", given["metrics"]),
        up_bps=round(_number(where, given, "up_bps", least=1.0)) if "up_bps" in given else None,
        rest={k: v for k, v in given.items() if k not in _READ and k not in _COMMENTS},
    )


def _flows(where: str, given: Any) -> Flows:
    n = round(_number(where, given, "n", least=1.0))
    if n > 1000:
        raise NoReferenceError(f"{where}.n: {n} flows are more than the 1000 that are run")
    cc = given.get("cc")
    if not isinstance(cc, str):
        raise NoReferenceError(f"{where}.cc: expected the name of a congestion control")
    return Flows(n, cc, {k: v for k, v in given.items() if k not in {"n", "cc"}})


def _udp(where: str, given: Any) -> Udp:
    read = {k: _number(where, given, k, least=0.0) for k in ("start_s", "stop_s", "bps", "payload")}
    tos = _number(where, given, "tos", least=0.0) if "tos" in given else 0.0
    if read["stop_s"] <= read["start_s"] or read["bps"] < 1 or not 1 <= read["payload"] <= 65_000:
        raise NoReferenceError(f"{where}: expected start_s before stop_s, bps and payload above 0")
    return Udp(read["start_s"], read["stop_s"], read["bps"], round(read["payload"]), int(tos))


def _metrics(where: str, given: Any) -> dict[str, Value]:
    if not isinstance(given, dict) or not given:
        raise NoReferenceError(f"{where}: expected an object of values by name")
    found: dict[str, Value] = {}
    for name, of in given.items():
        at = f"{where}.{str(name)[:60]}"
        value, tol = _number(at, of, "value", least=None), _number(at, of, "tol", least=0.0)
        grade = of.get("grade")
        if grade not in GRADES:
            raise NoReferenceError(f"{at}.grade: expected A, B or C")
        found[str(name)] = Value(value, tol, grade)
    return found


def _list(where: str, given: Mapping[str, Any], key: str) -> list[Any]:
    value = given[key]
    if not isinstance(value, list) or not value:
        raise NoReferenceError(f"{where}.{key}: expected a list of objects")
    return value


#: The minimum accepted value for a number that must be above 0.
_ABOVE = 1e-9


def _number(where: str, given: Any, key: str, least: float | None = _ABOVE) -> float:
    """Reads the number at `key`, which must be at least `least` (None: no lower limit) and below 1e15 in magnitude."""
    value = given.get(key) if isinstance(given, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise NoReferenceError(f"{where}.{key}: expected a number")
    if least is not None and value < least:
        raise NoReferenceError(f"{where}.{key}: {value:g} is not {'above' if least else 'at least'} 0")
    return float(value)
