"""Devices, loads and objectives: data in TOML, packaged or a person's own.

A *device* is what can be set on it: disciplines, each with the sizes of buffer that are worth a look. A *load* is the
applications behind it. An *objective* says what is wanted of them: measures with thresholds and weights. Each file says
its sources; `data/` holds those that come with bloatlab.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from bloatlab import files, workloads

Kind = Literal["device", "load", "objective"]


class AdviceError(ValueError):
    """What a recommendation cannot be made of; the message is one line."""


@dataclass(frozen=True, slots=True)
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
    source: str
    settable: bool = True
    note: str = ""
    aqm_target_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Down:
    """The queue of the downstream, which no option changes: a scenario's with {bytes}, and its buffer ("100ms")."""

    queue: Mapping[str, Any]
    buffer: str
    source: str


#: Where a device's file does not describe its downstream.
PLAIN_DOWN = Down({"droptail": {"limit": "{bytes}B"}}, "100ms", "not in the device's file: drop-tail, 100 ms")


@dataclass(frozen=True, slots=True)
class Device:
    """A device: its disciplines, what stands before the wire ("modem" or "line"), what is printed for it.

    `today` is what it has where nobody has set anything, "droptail 1s"; `standard` what its standard or a guideline
    names, the first first. `down` is None for a device whose setting holds for both directions. `transmit` limits a
    modem's transmit queue ("32p"); empty, it is in bytes and grows with the rate. `prints` has "buffer-control", "aqm"
    and "tc".
    """

    name: str
    words: str
    link: Literal["modem", "line"]
    today: str
    disciplines: Sequence[Discipline]
    source: str
    prints: Sequence[str] = ()
    standard: Sequence[str] = ()
    down: Down | None = PLAIN_DOWN
    transmit: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Applications, their TCP stacks, how long they run and how much of the start is left out, in s."""

    name: str
    words: str
    apps: Mapping[str, Mapping[str, Any]]
    source: str
    tcp: Mapping[str, Mapping[str, Any]]
    seconds: float = 60.0
    warm_up: float = 0.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """One measure of an objective: where its value is, which way is better, and from where to where it matters.

    The value is that of the applications of these kinds, on average, less another if `less` says so; or that of the
    line in one `direction`. Of file transfers, those in this direction count. A difference of less than `noticed`, in
    its unit, nobody would notice.
    """

    name: str
    words: str
    unit: str
    value: str
    better: Literal["more", "less"]
    good: float
    bad: float
    source: str
    kinds: Sequence[str] = ()
    less: str = ""
    log: bool = False
    digits: int = 2
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


@dataclass(frozen=True, slots=True)
class Objective:
    """What is wanted: measures. `noticed` is how many points of 100 somebody would notice.

    `scatter` is the standard deviation, in points, that a race assumes at least of the difference of two runs. A
    measure with fewer points than `floor` has failed.
    """

    name: str
    words: str
    measures: Sequence[Wanted]
    noticed: float
    scatter: float = 5.0
    floor: float = 10.0

    def weighted(self, weights: Mapping[str, float]) -> Objective:
        """The same with other weights, by the names of its measures. Raises `AdviceError`."""
        known = [m.name for m in self.measures]
        for name, weight in weights.items():
            if name not in known:
                raise AdviceError(
                    f"weight {name}: no such measure in {self.name}{near(name, known)} ({', '.join(known)})"
                )
            if not (math.isfinite(weight) and weight >= 0.0):
                raise AdviceError(f"weight {name}: {weight:g} is not a number from 0 on")
        measures = [replace(m, weight=weights.get(m.name, m.weight)) for m in self.measures]
        if not any(m.weight for m in measures):
            raise AdviceError(f"weights of {self.name}: all are 0, so that nothing is wanted")
        return replace(self, measures=measures)


def near(word: str, known: Iterable[str]) -> str:
    """'; did you mean "x"?' for the known word nearest to `word`, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""


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
        raise AdviceError(f"--{kind} {given}: no such {kind}{near(given, known)} ({', '.join(known)}, or a file.toml)")
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
    prints = told.texts("prints", ())
    for what in prints:
        told.check("prints", what, ("buffer-control", "aqm", "tc"))
    disciplines = [_discipline(_Told(f"{name}: discipline {n}", d)) for n, d in enumerate(told.tables("discipline"), 1)]
    same = [d.name for d in disciplines]
    if not any(d.settable for d in disciplines) or len(set(same)) < len(same):
        raise AdviceError(f"{name}: discipline: at least one that is settable, each with a name of its own")
    made = Device(
        name,
        told.text("words", name),
        "modem" if link == "modem" else "line",
        told.text("today"),
        disciplines,
        told.text("source", ""),
        prints,
        told.texts("standard", ()),
        _down(told),
        told.text("transmit", ""),
    )
    told.end()
    return made


def _down(told: _Told) -> Down | None:
    """The downstream of a device; None if its setting holds there, too."""
    given = told.text_or_table("down")
    if given is None:
        return PLAIN_DOWN
    if isinstance(given, str):
        told.check("down", given, ("same",))
        return None
    inner = _Told(f"{told.where}: down", given)
    made = Down(inner.table("queue"), inner.text("buffer"), inner.text("source", ""))
    inner.end()
    return made


def _discipline(told: _Told) -> Discipline:
    made = Discipline(
        told.text("name"),
        told.text("words"),
        told.table("queue"),
        told.texts("buffers"),
        told.text("source", ""),
        told.truth("settable", default=True),
        told.text("note", ""),
        told.whole("aqm_target_ms"),
    )
    told.end()
    return made


def load(given: str) -> Load:
    """A load by its name or file; of a scenario's file, its applications. Raises as `device` does."""
    name, data = _read("load", given)
    if "link" in data:
        return _of_scenario(name, data)
    told = _Told(name, data)
    apps = told.table("app")
    for app, of in apps.items():
        if not isinstance(of, Mapping) or not isinstance(of.get("to"), list) or "traffic" not in of or "from" in of:
            raise AdviceError(f'{name}: app.{app}: has to = ["far"] and traffic, and no from: it is at home')
    made = Load(
        name,
        told.text("words", name),
        apps,
        told.text("source", ""),
        told.table("tcp", {}),
        told.number("seconds", 60.0),
        told.number("warm_up", 0.0),
    )
    told.end()
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
    return Load(name, f"the applications of {name}", apps, name, data.get("tcp", {}))


def objective(given: str) -> Objective:
    """An objective by its name or file. Raises as `device` does."""
    name, data = _read("objective", given)
    told = _Told(name, data)
    of = told.table("measure")
    measures = [_wanted(key, _Told(f"{name}: measure.{key}", table)) for key, table in of.items()]
    made = Objective(
        name,
        told.text("words", name),
        measures,
        told.number("noticed", 2.0),
        told.number("scatter", 5.0),
        told.number("floor", 10.0),
    )
    told.end()
    if made.noticed < 0.0 or made.scatter <= 0.0 or not 0.0 <= made.floor <= 100.0:
        raise AdviceError(f"{name}: noticed is 0 or more, scatter above 0, floor 0 to 100")
    if not measures:
        raise AdviceError(f"{name}: measure: none, so that nothing is wanted")
    return made.weighted({})


def _wanted(key: str, told: _Told) -> Wanted:
    link, kind = told.text("link", ""), told.text("kind", "")
    direction = told.text("direction", link)
    if bool(link) == bool(kind) or link not in {"", "up", "down"}:
        raise AdviceError(f'{told.where}: kind = "voip" (an application\'s), or link = "up" or "down"')
    told.check("direction", direction, ("", "up", "down") if kind else (link,))
    made = Wanted(
        key,
        told.text("words", key),
        told.text("unit", ""),
        told.text("value"),
        "more" if told.one_of("better", ("more", "less")) == "more" else "less",
        told.number("good"),
        told.number("bad"),
        told.text("source", ""),
        () if link else (kind, *told.texts("also", ())),
        told.text("less", ""),
        told.one_of("scale", ("linear", "log"), "linear") == "log",
        told.whole("digits") or 0,
        told.number("noticed", 0.0),
        told.number("weight", 1.0),
        direction,
    )
    told.end()
    if made.good == made.bad or (made.good > made.bad) != (made.better == "more"):
        raise AdviceError(
            f"{told.where}: good {made.good:g} is not {made.better} than bad {made.bad:g}, but better is {made.better}"
        )
    if made.log and min(made.good, made.bad) <= 0.0:
        raise AdviceError(f'{told.where}: scale = "log" needs good and bad above 0')
    return made


class _Told:
    """What a file says, taken key by key; what is left over is not known. Raises `AdviceError`."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise AdviceError(f"{where}: is no table")
        self.where = where
        self._data = dict(data)
        self._asked: list[str] = []

    def _take(self, key: str, kinds: tuple[type, ...], what: str, default: Any) -> Any:
        self._asked.append(key)
        value = self._data.pop(key, default)
        if value is _MISSING:
            raise AdviceError(f"{self.where}: {key} is missing, {what}")
        if value is not default and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise AdviceError(f"{self.where}: {key}: {str(value)[:80]} is not {what}")
        return value

    def text(self, key: str, default: Any = ...) -> str:
        return self._take(key, (str,), "a text", _MISSING if default is ... else default)

    def number(self, key: str, default: Any = ...) -> float:
        value = self._take(key, (int, float), "a number", _MISSING if default is ... else default)
        if not math.isfinite(value):
            raise AdviceError(f"{self.where}: {key}: {value} is not a finite number")
        return float(value)

    def whole(self, key: str) -> int | None:
        return self._take(key, (int,), "a whole number", None)

    def truth(self, key: str, *, default: bool) -> bool:
        return self._take(key, (bool,), "true or false", default)

    def table(self, key: str, default: Any = ...) -> Mapping[str, Any]:
        return self._take(key, (dict,), "a table", _MISSING if default is ... else default)

    def text_or_table(self, key: str) -> str | Mapping[str, Any] | None:
        return self._take(key, (str, dict), "a text or a table", None)

    def tables(self, key: str) -> Sequence[Any]:
        return self._take(key, (list,), "tables", _MISSING)

    def texts(self, key: str, default: Any = ...) -> Sequence[str]:
        found = self._take(key, (list,), "a list of texts", _MISSING if default is ... else default)
        for one in found:
            if not isinstance(one, str):
                raise AdviceError(f"{self.where}: {key}: {str(one)[:80]} is not a text")
        return tuple(found)

    def one_of(self, key: str, words: Sequence[str], default: Any = ...) -> str:
        found = self.text(key, default)
        self.check(key, found, words)
        return found

    def check(self, key: str, word: str, words: Sequence[str]) -> None:
        if word not in words:
            raise AdviceError(f"{self.where}: {key}: {word[:80]} is not one of {', '.join(words)}{near(word, words)}")

    def end(self) -> None:
        for key in self._data:
            raise AdviceError(f"{self.where}: {key}: no such key{near(key, self._asked)} ({', '.join(self._asked)})")


_MISSING = object()
