"""Devices, loads and objectives, read from TOML files in the package or of the user. A load may also be a workload.

A *device* lists the settings of a modem or router: queue disciplines, each with the buffer sizes to try. A *load* lists
the applications that share the line. An *objective* lists measures with thresholds and weights. Each file names its
sources; `data/` contains the packaged files.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from bloatlab import files, outside, workloads
from bloatlab.errors import InputError, nearest
from bloatlab.measures import numbers_of
from bloatlab.scenario import ScenarioError, problems

Kind = Literal["device", "load", "objective"]
Made = TypeVar("Made")


#: The kinds of a device's link: a DOCSIS 3.0 modem, a DOCSIS 3.1 modem, or a line behind a router that shapes.
LINKS = ("modem", "modem31", "line")

#: The largest weight of a measure.
MOST_WEIGHT = 1_000_000

#: The largest AQM Latency Target (ms): a modem's configuration file has one octet for it.
MOST_TARGET_MS = 255

#: The largest number of digits after the decimal point with which a measure is shown.
MOST_DIGITS = 9

#: Matches a placeholder in a device's queue, such as {bytes}, which is replaced by a number.
PLACEHOLDER = r"\{(bytes|packets|rate)\}"

#: Values of a link that are not in its summary, but computed from the summary.
OF_LINKS = ("share_percent", "dropped_percent")


class AdviceError(InputError):
    """Input for which no recommendation is possible; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """A discipline that a device offers.

    `queue` is a queue as in a scenario, in which {bytes} or {packets} stands for the buffer size and {rate} for the
    line's rate. `buffers` lists the buffer sizes to try. An entry is a size ("50ms", "417p", "60KB"), a multiple of the
    maximum bandwidth-delay product ("4bdp"), or "around", which means a series of sizes around the bandwidth-delay
    products. No buffer is smaller than `least`, which is also a size. A discipline that is not `settable` is shown
    alongside the others, but never recommended; `note` says why. `words` is the name for sentences, without the AQM
    Latency Target. `aqm_target_ms` is this target, if a modem's configuration file sets it.
    """

    name: str
    words: str
    queue: Mapping[str, Any]
    buffers: Sequence[str]
    source: str = ""
    least: str = "2p"
    settable: bool = True
    note: str = ""
    aqm_target_ms: int | None = None

    @property
    def label(self) -> str:
        """The name in legends: "drop-tail", "DOCSIS-PIE, target 40 ms"."""
        return self.words if self.aqm_target_ms is None else f"{self.words}, target {self.aqm_target_ms} ms"

    @property
    def placeholders(self) -> set[str]:
        """The names in braces in the queue's strings: "bytes", "packets", "rate"."""
        return set(re.findall(PLACEHOLDER, " ".join(_strings(self.queue))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Down:
    """A downstream queue that the device's setting does not change.

    `queue` is a queue as in a scenario, in which {bytes} or {packets} stands for the buffer size and {rate} for the
    downstream rate. `buffer` gives the size, such as "100ms".
    """

    queue: Mapping[str, Any]
    buffer: str
    source: str = ""


#: The downstream queue of a device whose file declares none.
PLAIN_DOWN = Down(
    queue={"droptail": {"limit": "{bytes}B"}}, buffer="100ms", source="not in the device's file: drop-tail, 100 ms"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device: the disciplines that it offers, and the kind of its link, one of `LINKS`.

    `today` is the device's default setting, such as "droptail 1s"; `standard` lists the settings that a standard or
    guideline names, in order of preference. `down` is None if the setting applies to both directions. `transmit` is the
    limit of a DOCSIS 3.0 modem's transmit queue, such as "32p"; if it is empty, the limit is in bytes and depends on
    the rate. `prints` lists the kinds of commands that are printed to apply a setting: "buffer-control", "aqm", "tc".
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
    """The applications that use the line, their TCP stacks, and how long to run them.

    Each run lasts `seconds`; measuring begins after the first `warm_up` seconds.
    """

    name: str
    words: str
    apps: Mapping[str, Mapping[str, Any]]
    source: str = ""
    tcp: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 60.0
    warm_up: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A measure of an objective, with its thresholds.

    `value` is a key of an application or a link in a run's summary, or one of `OF_LINKS`. If `kinds` is given, the
    measure describes applications: it is the mean of the value over all applications with these traffic models. If
    `less`, another key, is given too, its value is subtracted for each application. With the `direction` "down", only
    downloads of files count; with "up", all other applications of these kinds. Without `kinds`, the measure describes
    the link in `direction`.

    A value of `good` gives 100 points, a value of `bad` none. `noticed` is the smallest difference, in the measure's
    unit, that a user notices.
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

    @property
    def limits(self) -> tuple[float, float | None]:
        """The smallest and largest possible values. None: there is no largest value."""
        if self.unit == "MOS":
            return 1.0, 4.5
        return (0.0, 100.0) if self.unit == "%" else (0.0, None)

    def points(self, value: float | None) -> float:
        """Converts a value of the measure to points from 0 (`bad` or worse) to 100 (`good` or better).

        A missing value, for example the load time of a page that never loads, gives 0 points.
        """
        if value is None or not math.isfinite(value):
            return 0.0
        if self.log:
            share = math.log(max(value, 1e-12) / self.bad) / math.log(self.good / self.bad)
        else:
            share = (value - self.bad) / (self.good - self.bad)
        return 100.0 * min(max(share, 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The user's goal: measures, each with a weight. A setting gets 0 to 100 points in each measure.

    `noticed` is the smallest difference in points that a user notices. `scatter` is the standard deviation, in points,
    that is assumed for the difference between two settings with one seed and one round trip (see
    `bloatlab.always_valid`). A setting fails in a measure of an application if it gets fewer points there than `floor`.
    """

    name: str
    words: str
    measures: Sequence[Wanted]
    noticed: float = 2.0
    scatter: float = 5.0
    floor: float = 10.0

    def weighted(self, weights: Mapping[str, float]) -> Objective:
        """Returns this objective with new weights for the measures named in `weights`. Raises `AdviceError`."""
        known = [m.name for m in self.measures]
        for name in weights:
            if name not in known:
                hint = f"{nearest(name, known)} ({', '.join(known)})"
                raise AdviceError(f"weight {name}: no such measure in {self.name}{hint}")
        measures = [replace(m, weight=weights.get(m.name, m.weight)) for m in self.measures]
        for m in measures:
            if not 0.0 <= m.weight <= MOST_WEIGHT:
                raise AdviceError(f"weight {m.name}: {m.weight:g} is not between 0 and {MOST_WEIGHT}")
        if not any(m.weight for m in measures):
            raise AdviceError(f"weights of {self.name}: all are 0; at least one must be above 0")
        return replace(self, measures=measures)


def names(kind: Kind) -> list[str]:
    """Returns the names of the packaged files of a kind."""
    return sorted(f.name.removesuffix(".toml") for f in _folder(kind).iterdir() if f.name.endswith(".toml"))


def _folder(kind: Kind) -> Any:
    return resources.files("bloatlab.advice").joinpath("data", f"{kind}s")


def _read(kind: Kind, given: str) -> tuple[str, dict[str, Any]]:
    """Reads a packaged file, a workload or the user's own file, whichever `given` names; returns its name and data.

    Raises `AdviceError`, `OSError`.
    """
    known = names(kind)
    if given in known:
        return given, tomllib.loads(_folder(kind).joinpath(f"{given}.toml").read_text(encoding="utf-8"))
    workload = workloads.find(given) if kind == "load" else None
    if workload is not None:
        data = json.loads(workload.build()[0])
        for app in data["app"].values():  # in a load, every application lasts until the end of the run
            app["traffic"].get("ftp", {}).pop("length", None)
            app.pop("stop", None)
        return given, data
    path = Path(given)
    if path.suffix != ".toml" and not path.exists():
        hint = f"{nearest(given, known)} ({', '.join(known)}, or a file.toml)"
        raise AdviceError(f"--{kind} {given}: no such {kind}{hint}")
    try:
        data = tomllib.loads(files.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise AdviceError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise AdviceError(f"{path}: {files.NOT_TEXT}") from None
    try:
        outside.add_sources(data, path.parent, path.stem)
    except ScenarioError as error:
        raise AdviceError(problems(error)[0]) from None
    return path.stem, data


def device(given: str) -> Device:
    """Finds a device by its name or file. Raises `AdviceError`, and `OSError` if the file cannot be read."""
    name, data = _read("device", given)
    table = _Table(name, data)
    link = table.one_of("link", LINKS)
    for kind in table.take("prints", "Sequence[str]", ()):
        table.check("prints", kind, ("buffer-control", "aqm", "tc"))
    tables = table.take("discipline", "list")
    disciplines = [_Table(f"{name}: discipline {n}", d).into(Discipline) for n, d in enumerate(tables, 1)]
    for n, d in enumerate(disciplines, 1):
        if len(d.buffers) > 1 and not d.placeholders & {"bytes", "packets"}:
            why = "has neither {bytes} nor {packets}, so the sizes in buffers would have no effect"
            raise AdviceError(f"{name}: discipline {n}: queue: {why}")
        if d.aqm_target_ms is not None and not 0 <= d.aqm_target_ms <= MOST_TARGET_MS:
            valid = f"is not between 0 and {MOST_TARGET_MS}, the values of an octet"
            raise AdviceError(f"{name}: discipline {n}: aqm_target_ms: {d.aqm_target_ms} {valid}")
    if not any(d.settable for d in disciplines) or len({d.name for d in disciplines}) < len(disciplines):
        raise AdviceError(f"{name}: discipline: expected at least one settable discipline, each with a name of its own")
    down: Down | None = PLAIN_DOWN
    given_down = table.take("down", "str | Mapping[str, Any]", None)
    if isinstance(given_down, str):
        table.check("down", given_down, ("same",))
        down = None
    elif given_down is not None:
        down = _Table(f"{name}: down", given_down).into(Down)
    if link != "modem" and table.take("transmit", "str", ""):
        raise AdviceError(f'{name}: transmit: has no effect with link = "{link}"; only "modem" has a transmit queue')
    words = table.take("words", "str", name)
    return table.into(Device, name=name, words=words, link=link, disciplines=disciplines, down=down)


def _strings(of: Any) -> Iterator[str]:
    """Yields the strings of a queue that may contain placeholders: all but the source of a law in Python."""
    match of:
        case str():
            yield of
        case dict() | list():
            parts = of.items() if isinstance(of, dict) else enumerate(of)
            for key, one in parts:
                if key != "source":
                    yield from _strings(one)
        case _:
            pass


def load(given: str) -> Load:
    """Finds a load by its name or file. If it is a scenario file, the scenario's applications become the load.

    Raises `AdviceError`, and `OSError` if the file cannot be read.
    """
    name, data = _read("load", given)
    if "link" in data:
        return _of_scenario(name, data)
    table = _Table(name, data)
    apps = table.take("app", "Mapping[str, Any]")
    for app, of in apps.items():
        if not _is_app(of) or "from" in of:
            raise AdviceError(
                f'{name}: app.{app}: expected to = ["far"] and traffic, without from: every application is at home'
            )
    made = table.into(Load, name=name, words=table.take("words", "str", name), apps=apps)
    if not (1.0 <= made.seconds <= 36000.0 and 0.0 <= made.warm_up < made.seconds):
        raise AdviceError(f"{name}: seconds is 1 to 36000, and warm_up is less")
    return made


def _is_app(of: Any) -> bool:
    return isinstance(of, Mapping) and isinstance(of.get("to"), list) and "traffic" in of


def _of_scenario(name: str, data: Mapping[str, Any]) -> Load:
    """Returns a scenario's applications as a load: all clients are at home, and all servers are the host "far".

    Each application keeps the number of servers that it has in the scenario.
    """
    found = data.get("app")
    if not isinstance(found, Mapping) or not found:
        raise AdviceError(f"{name}: a scenario without applications is not a load")
    apps: dict[str, Mapping[str, Any]] = {}
    for app, of in found.items():
        if not _is_app(of):
            raise AdviceError(f"{name}: app.{app}: has no from, to and traffic")
        apps[app] = {k: v for k, v in of.items() if k not in {"from", "stop"}} | {"to": ["far"] * len(of["to"])}
    servers = {server for of in found.values() for server in of["to"]}
    if inside := sorted({str(of.get("from")) for of in found.values()} & servers):
        raise AdviceError(f"{name}: {inside[0]} is both a client and a server: all applications of a load are at home")
    return Load(name=name, words=f"the applications of {name}", apps=apps, source=name, tcp=data.get("tcp", {}))


def objective(given: str) -> Objective:
    """Finds an objective by its name or file. Raises `AdviceError`, and `OSError` if the file cannot be read."""
    name, data = _read("objective", given)
    table = _Table(name, data)
    tables = table.take("measure", "Mapping[str, Any]")
    measures = [_wanted(key, _Table(f"{name}: measure.{key}", of)) for key, of in tables.items()]
    made = table.into(Objective, name=name, words=table.take("words", "str", name), measures=measures)
    if made.noticed < 0.0 or made.scatter <= 0.0 or not 0.0 <= made.floor <= 100.0:
        raise AdviceError(f"{name}: noticed is 0 or more, scatter above 0, floor 0 to 100")
    if not measures:
        raise AdviceError(f"{name}: measure: none; an objective needs at least one")
    return made.weighted({})


def _wanted(key: str, table: _Table) -> Wanted:
    link, kind = table.take("link", "str", ""), table.take("kind", "str", "")
    direction = table.take("direction", "str", link)
    if bool(link) == bool(kind) or link not in {"", "up", "down"}:
        raise AdviceError(f'{table.where}: expected kind = "voip" (an application\'s), or link = "up" or "down"')
    table.check("direction", direction, ("", "up", "down") if kind else (link,))
    made = table.into(
        Wanted,
        name=key,
        words=table.take("words", "str", key),
        better=table.one_of("better", ("more", "less")),
        kinds=() if link else (kind, *table.take("also", "Sequence[str]", ())),
        log=table.one_of("scale", ("linear", "log"), "linear") == "log",
        direction=direction,
    )
    if made.good == made.bad or (made.good > made.bad) != (made.better == "more"):
        why = f"good {made.good:g} is not {made.better} than bad {made.bad:g}, but better is {made.better}"
        raise AdviceError(f"{table.where}: {why}")
    if not 0 <= made.digits <= MOST_DIGITS:
        raise AdviceError(f"{table.where}: digits: {made.digits} is not between 0 and {MOST_DIGITS}")
    if made.log and min(made.good, made.bad) <= 0.0:
        raise AdviceError(f'{table.where}: scale = "log" needs good and bad above 0')
    known = [*numbers_of("links"), *OF_LINKS] if link else numbers_of("apps")
    for name, value in (("value", made.value), ("less", made.less)):
        if value and not any(fnmatch.fnmatchcase(value, one) for one in known):
            of = "a link" if link else "an application"
            why = f"is not a number of {of} (bloatlab list measures){nearest(value, known)}"
            raise AdviceError(f"{table.where}: {name}: {value[:80]} {why}")
    return made


#: Maps the type annotation of a dataclass field to the types that a value read from a file may have, and to the words
#: that describe these types in error messages.
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a string"),
    "float": ((int, float), "a number"),
    "int": ((int,), "a whole number"),
    "int | None": ((int,), "a whole number"),
    "bool": ((bool,), "true or false"),
    "list": ((list,), "tables"),
    "Sequence[str]": ((list,), "a list of texts"),
    "Mapping[str, Any]": ((dict,), "a table"),
    "str | Mapping[str, Any]": ((str, dict), "a string or a table"),
}


class _Table:
    """A table in a file. Readers take the known keys one by one; any remaining key is an error (`AdviceError`)."""

    def __init__(self, where: str, data: Any) -> None:
        if not isinstance(data, Mapping):
            raise AdviceError(f"{where}: is not a table")
        self.where = where
        self._data = dict(data)
        self._taken: dict[str, Any] = {}

    def take(self, key: str, kind: str, default: Any = MISSING) -> Any:
        """Returns the value of a key, or `default` if the key is missing. From then on, the key counts as known.

        `kind` is a key of `_KINDS`, which gives the types that the value may have. Raises `AdviceError`.
        """
        if key in self._taken:
            return self._taken[key]
        kinds, expected = _KINDS[kind]
        value: Any = self._data.pop(key, default)
        if value is MISSING:
            raise AdviceError(f"{self.where}: {key} is missing, {expected}")
        numeric = bool not in kinds  # in Python, True is a number; in a file, a boolean for a number is a mistake
        if value is not default and (not isinstance(value, kinds) or (numeric and type(value) is bool)):
            raise AdviceError(f"{self.where}: {key}: {str(value)[:80]} is not {expected}")
        if kind == "float":
            value = float(value)
            if not math.isfinite(value):
                raise AdviceError(f"{self.where}: {key}: {value} is not a finite number")
        if kind == "Sequence[str]":
            value = tuple(value)
            if wrong := [one for one in value if not isinstance(one, str)]:
                raise AdviceError(f"{self.where}: {key}: {str(wrong[0])[:80]} is not a string")
        self._taken[key] = value
        return value

    def into(self, of: type[Made], **given: Any) -> Made:
        """Makes a dataclass object of type `of`. Fields that are not in `given` are read from the table's keys.

        Raises `AdviceError` if the table has other keys, or if a value is missing or has the wrong type.
        """
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
            valid = f"{', '.join(words)}{nearest(word, words)}"
            raise AdviceError(f"{self.where}: {key}: {word[:80]} is not one of {valid}")
