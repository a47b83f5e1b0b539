"""Devices, loads and objectives: data in TOML, packaged or a person's own.

A *device* is what can be set on it: disciplines, each with the sizes of buffer that are worth a look. A *load* is the
applications behind it. An *objective* says what is wanted of them: measures with thresholds and weights. Each file says
its sources; `data/` holds those that come with bloatlab.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from bloatlab import files, workloads
from bloatlab.errors import InputError, nearest

Kind = Literal["device", "load", "objective"]
Made = TypeVar("Made")


class AdviceError(InputError):
    """What a recommendation cannot be made of; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """One thing that a device can be set to.

    `queue` is a scenario's, with {bytes} and {packets} where the size of the buffer stands, and {rate} where the line's
    rate does. `buffers` are sizes
    ("50ms", "417p", "60KB"), multiples of the largest bandwidth-delay product ("4bdp"), or "around" for a row of sizes
    around it. What is not `settable` is shown beside the others and never recommended; `note` says why.
    """

    name: str
    words: str
    queue: Mapping[str, Any]
    buffers: Sequence[str]
    source: str = ""
    settable: bool = True
    note: str = ""
    aqm_target_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Down:
    """The queue of the downstream, which no option changes: a scenario's with {bytes}, and its buffer ("100ms")."""

    queue: Mapping[str, Any]
    buffer: str
    source: str = ""


#: Where a device's file does not describe its downstream.
PLAIN_DOWN = Down(
    queue={"droptail": {"limit": "{bytes}B"}}, buffer="100ms", source="not in the device's file: drop-tail, 100 ms"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device: its disciplines, what stands before the wire ("modem" or "line"), what is printed for it.

    `today` is what it has where nobody has set anything, "droptail 1s"; `standard` what its standard or a guideline
    names, the first first. `down` is None for a device whose setting holds for both directions. `transmit` limits a
    modem's transmit queue ("32p"); empty, it is in bytes and grows with the rate. `prints` has "buffer-control", "aqm"
    and "tc".
    """

    name: str
    words: str
    link: str
    today: str
    disciplines: Sequence[Discipline]
    source: str = ""
    prints: Sequence[str] = ()
    standard: Sequence[str] = ()
    down: Down | None = PLAIN_DOWN
    transmit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Applications, their TCP stacks, how long they run and how much of the start is left out, in s."""

    name: str
    words: str
    apps: Mapping[str, Mapping[str, Any]]
    source: str = ""
    tcp: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 60.0
    warm_up: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One measure of an objective: where its value is, which way is better, and from where to where it matters.

    The value is that of the applications of these kinds, on average, less another if `less` says so; or that of the
    line in one `direction`. Of file transfers, those in this direction count. A difference of less than `noticed`, in
    its unit, nobody would notice.
    """

    name: str
    words: str
    unit: str = ""
    value: str
    better: str
    good: float
    bad: float
    source: str = ""
    kinds: Sequence[str] = ()
    less: str = ""
    log: bool = False
    digits: int = 0
    noticed: float = 0.0
    weight: float = 1.0
    direction: str = ""

    def points(self, value: float | None) -> float:
        """0 to 100 for a value in its unit; nothing at all (a page that never loads) is 0."""
        if value is None or math.isnan(value):
            return 0.0
        if self.log:
            value = max(value, 1e-12)
            share = math.log(value / self.bad) / math.log(self.good / self.bad) if math.isfinite(value) else 0.0
        else:
            share = (value - self.bad) / (self.good - self.bad) if math.isfinite(value) else 0.0
        return 100.0 * min(max(share, 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What is wanted: measures. `noticed` is how many points of 100 somebody would notice.

    `scatter` is the standard deviation, in points, that a race assumes at least of the difference of two runs. A
    measure with fewer points than `floor` has failed.
    """

    name: str
    words: str
    measures: Sequence[Wanted]
    noticed: float = 2.0
    scatter: float = 5.0
    floor: float = 10.0

    def weighted(self, weights: Mapping[str, float]) -> Objective:
        """The same with other weights, by the names of its measures. Raises `AdviceError`."""
        known = [m.name for m in self.measures]
        for name, weight in weights.items():
            if name not in known:
                raise AdviceError(
                    f"weight {name}: no such measure in {self.name}{nearest(name, known)} ({', '.join(known)})"
                )
            if not (math.isfinite(weight) and weight >= 0.0):
                raise AdviceError(f"weight {name}: {weight:g} is not a number from 0 on")
        measures = [replace(m, weight=weights.get(m.name, m.weight)) for m in self.measures]
        if not any(m.weight for m in measures):
            raise AdviceError(f"weights of {self.name}: all are 0, so that nothing is wanted")
        return replace(self, measures=measures)


def names(kind: Kind) -> list[str]:
    """What comes with bloatlab."""
    return sorted(f.name.removesuffix(".toml") for f in _folder(kind).iterdir() if f.name.endswith(".toml"))


def _folder(kind: Kind) -> Any:
    return resources.files("bloatlab.advice").joinpath("data", f"{kind}s")


def _read(kind: Kind, given: str) -> tuple[str, dict[str, Any]]:
    """The name and the data of what is given: a packaged one by name, or a file. Raises `AdviceError`, `OSError`."""
    if given in names(kind):
        return given, tomllib.loads(_folder(kind).joinpath(f"{given}.toml").read_text(encoding="utf-8"))
    workload = workloads.find(given) if kind == "load" else None
    if workload is not None:
        return given, _without_end(json.loads(workload.build()[0]))
    path = Path(given)
    if path.suffix != ".toml" and not path.exists():
        known = names(kind)
        raise AdviceError(
            f"--{kind} {given}: no such {kind}{nearest(given, known)} ({', '.join(known)}, or a file.toml)"
        )
    try:
        return path.stem, tomllib.loads(files.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise AdviceError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise AdviceError(f"{path}: not a text file") from None


def _without_end(data: dict[str, Any]) -> dict[str, Any]:
    """A workload whose load lasts as long as it is run, whatever `length` is."""
    for app in data["app"].values():
        app["traffic"].get("ftp", {}).pop("length", None)
        app.pop("stop", None)
    return data


def device(given: str) -> Device:
    """A device by its name or file. Raises `AdviceError`, and `OSError` for a file that cannot be read."""
    name, data = _read("device", given)
    told = _Told(name, data)
    link = told.one_of("link", ("modem", "line"))
    for what in told.take("prints", "Sequence[str]", ()):
        told.check("prints", what, ("buffer-control", "aqm", "tc"))
    disciplines = [
        _Told(f"{name}: discipline {n}", d).into(Discipline) for n, d in enumerate(told.take("discipline", "list"), 1)
    ]
    same = [d.name for d in disciplines]
    if not any(d.settable for d in disciplines) or len(set(same)) < len(same):
        raise AdviceError(f"{name}: discipline: at least one that is settable, each with a name of its own")
    words = told.take("words", "str", name)
    return told.into(Device, name=name, words=words, link=link, disciplines=disciplines, down=_down(told))


def _down(told: _Told) -> Down | None:
    """The downstream of a device; None if its setting holds there, too."""
    given = told.take("down", "str | Mapping[str, Any]", None)
    if given is None:
        return PLAIN_DOWN
    if isinstance(given, str):
        told.check("down", given, ("same",))
        return None
    return _Told(f"{told.where}: down", given).into(Down)


def load(given: str) -> Load:
    """A load by its name or file; of a scenario's file, its applications. Raises as `device` does."""
    name, data = _read("load", given)
    if "link" in data:
        return _of_scenario(name, data)
    told = _Told(name, data)
    apps = told.take("app", "Mapping[str, Any]")
    for app, of in apps.items():
        if not isinstance(of, Mapping) or not isinstance(of.get("to"), list) or "traffic" not in of or "from" in of:
            raise AdviceError(f'{name}: app.{app}: has to = ["far"] and traffic, and no from: it is at home')
    made = told.into(Load, name=name, words=told.take("words", "str", name), apps=apps)
    if not (1.0 <= made.seconds <= 36000.0 and 0.0 <= made.warm_up < made.seconds):
        raise AdviceError(f"{name}: seconds is 1 to 36000, and warm_up is less")
    return made


def _of_scenario(name: str, data: Mapping[str, Any]) -> Load:
    """The applications of a scenario, at home; each keeps as many servers as it has, all of them far."""
    found = data.get("app")
    if not isinstance(found, Mapping) or not found:
        raise AdviceError(f"{name}: a scenario without applications is no load")
    apps: dict[str, Mapping[str, Any]] = {}
    for app, of in found.items():
        if not isinstance(of, Mapping) or not isinstance(of.get("to"), list) or "traffic" not in of:
            raise AdviceError(f"{name}: app.{app}: has no from, to and traffic")
        apps[app] = {k: v for k, v in of.items() if k not in {"from", "stop"}} | {"to": ["far"] * len(of["to"])}
    ends = {end for of in found.values() for end in of["to"]}
    if inside := sorted({str(of.get("from")) for of in found.values()} & ends):
        raise AdviceError(f"{name}: {inside[0]} is both a client and a server: all applications of a load are at home")
    words = f"the applications of {name}"
    return Load(name=name, words=words, apps=apps, source=name, tcp=data.get("tcp", {}))


def objective(given: str) -> Objective:
    """An objective by its name or file. Raises as `device` does."""
    name, data = _read("objective", given)
    told = _Told(name, data)
    tables = told.take("measure", "Mapping[str, Any]")
    measures = [_wanted(key, _Told(f"{name}: measure.{key}", table)) for key, table in tables.items()]
    made = told.into(Objective, name=name, words=told.take("words", "str", name), measures=measures)
    if made.noticed < 0.0 or made.scatter <= 0.0 or not 0.0 <= made.floor <= 100.0:
        raise AdviceError(f"{name}: noticed is 0 or more, scatter above 0, floor 0 to 100")
    if not measures:
        raise AdviceError(f"{name}: measure: none, so that nothing is wanted")
    return made.weighted({})


def _wanted(key: str, told: _Told) -> Wanted:
    link, kind = told.take("link", "str", ""), told.take("kind", "str", "")
    direction = told.take("direction", "str", link)
    if bool(link) == bool(kind) or link not in {"", "up", "down"}:
        raise AdviceError(f'{told.where}: kind = "voip" (an application\'s), or link = "up" or "down"')
    told.check("direction", direction, ("", "up", "down") if kind else (link,))
    made = told.into(
        Wanted,
        name=key,
        words=told.take("words", "str", key),
        better=told.one_of("better", ("more", "less")),
        kinds=() if link else (kind, *told.take("also", "Sequence[str]", ())),
        log=told.one_of("scale", ("linear", "log"), "linear") == "log",
        direction=direction,
    )
    if made.good == made.bad or (made.good > made.bad) != (made.better == "more"):
        raise AdviceError(
            f"{told.where}: good {made.good:g} is not {made.better} than bad {made.bad:g}, but better is {made.better}"
        )
    if made.log and min(made.good, made.bad) <= 0.0:
        raise AdviceError(f'{told.where}: scale = "log" needs good and bad above 0')
    return made


#: By the annotation of a field: what a file may say, and how a message names that.
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "float": ((int, float), "a number"),
    "int": ((int,), "a whole number"),
    "int | None": ((int,), "a whole number"),
    "bool": ((bool,), "true or false"),
    "list": ((list,), "tables"),
    "Sequence[str]": ((list,), "a list of texts"),
    "Mapping[str, Any]": ((dict,), "a table"),
    "str | Mapping[str, Any]": ((str, dict), "a text or a table"),
}


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of one of these types; true and false are no numbers."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


class _Told:
    """What a file says, taken key by key; what is left over is not known. Raises `AdviceError`."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise AdviceError(f"{where}: is no table")
        self.where = where
        self._data = dict(data)
        self._taken: dict[str, Any] = {}

    def take(self, key: str, kind: str, default: Any = MISSING) -> Any:
        """The value of a key, of a kind of `_KINDS`; the same each time."""
        if key in self._taken:
            return self._taken[key]
        kinds, what = _KINDS[kind]
        value: Any = self._data.pop(key, default)
        if value is MISSING:
            raise AdviceError(f"{self.where}: {key} is missing, {what}")
        if value is not default and not _fits(value, kinds):
            raise AdviceError(f"{self.where}: {key}: {str(value)[:80]} is not {what}")
        if kind == "float":
            value = float(value)
            if not math.isfinite(value):
                raise AdviceError(f"{self.where}: {key}: {value} is not a finite number")
        if kind == "Sequence[str]":
            value = tuple(value)
            if wrong := [one for one in value if not isinstance(one, str)]:
                raise AdviceError(f"{self.where}: {key}: {str(wrong[0])[:80]} is not a text")
        self._taken[key] = value
        return value

    def into(self, of: type[Made], **given: Any) -> Made:
        """A record with `given` fields, every other one from the key of its name; no key is left over."""
        for one in fields(of):  # pyright: ignore[reportArgumentType]  a dataclass
            if one.name not in given:
                default = one.default if one.default_factory is MISSING else one.default_factory()
                given[one.name] = self.take(one.name, str(one.type), default)
        for key in self._data:
            known = ", ".join(self._taken)
            raise AdviceError(f"{self.where}: {key}: no such key{nearest(key, self._taken)} ({known})")
        return of(**given)

    def one_of(self, key: str, words: Sequence[str], default: Any = MISSING) -> str:
        found = self.take(key, "str", default)
        self.check(key, found, words)
        return found

    def check(self, key: str, word: str, words: Sequence[str]) -> None:
        if word not in words:
            raise AdviceError(
                f"{self.where}: {key}: {word[:80]} is not one of {', '.join(words)}{nearest(word, words)}"
            )
