"""Scenarios: loading, validation and types. The schema is defined in Rust; this module types its main parts.

A scenario is TOML, JSON or a dict of plain values until the core resolves it: parses and validates it, fills in every
default, and writes it as canonical JSON. After that it is an immutable `Scenario`, equal to every scenario with the
same meaning, and identified by its hash.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from bloatlab import _core, deliveries, files, outside, workloads

#: A (path, value) pair that overrides a scenario's value, as in `--set link.up.rate=5mbit`.
Override = tuple[str, str]

#: Overrides: pairs of strings, or a mapping from paths to strings or plain values, such as
#: `{"link.up.queue": {"codel": {}}}`.
Sets = Iterable[Override] | Mapping[str, Any]

#: An invalid scenario; `problems` returns the lines of its message.
ScenarioError = _core.ScenarioError

#: A scenario, a link and an application as plain values, typed for static checkers (`_core.pyi` lists their keys).
if TYPE_CHECKING:
    AppDict = _core.AppDict
    LinkDict = _core.LinkDict
    ScenarioDict = _core.ScenarioDict
else:
    AppDict = LinkDict = ScenarioDict = dict


#: The largest seed in TOML, which has no larger integers. JSON can contain seeds up to 2^64 - 1.
MOST_SEED = 2**63 - 1

#: Matches the beginning of canonical JSON, up to the seed.
_SEED = re.compile(r'\{"name":"(?:[^"\\]|\\.)*","seed":([0-9]+)')


@dataclass(frozen=True, slots=True)
class Scenario:
    """A validated scenario with all defaults filled in.

    `text` is canonical JSON: scenarios with the same meaning have the same text. Use `load`, `parse` or `from_dict` to
    make one.
    """

    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain values; a new copy on each access."""
        return json.loads(self.text)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.data["name"]

    @property
    def seed(self) -> int:
        """The seed of a run for which no other seed is given."""
        found = _SEED.match(self.text)
        return self.data["seed"] if found is None else int(found[1])

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text, in hexadecimal. The key `trace` is left out: tracing changes no measure."""
        text = self.text
        if '"trace":' in text:
            text = canonical({key: value for key, value in self.data.items() if key != "trace"})
        return hashlib.sha256(text.encode()).hexdigest()

    def traces(self, what: str) -> bool:
        """Returns whether the scenario turns on the trace `what`: "links", "queues", "flows" or "packets"."""
        return bool(self.data.get("trace", {}).get(what, False))

    def as_toml(self) -> str:
        """Returns the scenario as TOML, without values that equal the defaults. Parsing the text gives this scenario.

        Raises `ScenarioError` for a value that TOML cannot express: a seed above 2^63 - 1.
        """
        return _core.as_toml(self.text)

    def tc(self, link: str | None = None) -> str:
        """Returns tc commands that make Linux behave like the scenario's links, or only like the link `link`.

        Comments in the commands name what tc cannot do. Raises `ScenarioError` if no link has that name.
        """
        return _core.tc_commands(self.text, link)

    def link_rates(self) -> Mapping[str, tuple[int | None, int | None]]:
        """Returns two rates of each link, in bit/s; None for a rate that it does not have.

        The first is the lowest rate that limits the link. The second is the rate of its queue's own shaper.
        """
        return _core.link_rates(self.text)

    def with_seed(self, seed: int) -> Scenario:
        """Returns `with_sets(("seed", str(seed)))`, but several hundred times faster: sweeps call it for every run."""
        found = _SEED.match(self.text)
        if found is None or type(seed) is not int or not 0 <= seed <= MOST_SEED:
            return self.with_sets(("seed", str(seed)))
        return Scenario(f"{self.text[: found.start(1)]}{seed}{self.text[found.end(1) :]}")

    def with_sets(self, *sets: Override) -> Scenario:
        """Returns this scenario with some values replaced. Raises `ScenarioError`."""
        return parse(self.text, form="json", source=self.name, sets=sets)


def parse(
    text: str,
    *,
    form: Literal["toml", "json"] = "toml",
    source: str = "scenario",
    sets: Sets = (),
    folder: Path | None = None,
) -> Scenario:
    """Resolves the scenario in `text`, with the overrides `sets`.

    `source` names the text in messages. The paths of Python files and delivery traces are relative to `folder`, by
    default the working folder. Raises `ScenarioError` with one line per problem.
    """
    source = files.utf_8(source)
    given = _core.resolve(text, form, source, overrides(sets))
    whole = deliveries.completed(outside.completed(given, folder, source), folder, source)
    return Scenario(given if whole is given else _core.resolve(whole, "json", source))


def load(path: str | Path, sets: Sets = ()) -> Scenario:
    """Loads the scenario in the file `path` (JSON if it ends in `.json`, else TOML), with the overrides `sets`.

    If there is no such file, `path` may be the name of a workload, such as "rrul" or "rfc7928-5.1.1".
    Raises `ScenarioError`, and `OSError` or `UnicodeDecodeError` if the file cannot be read as text.
    """
    return opened(path)(sets, str(path))


def opened(given: Scenario | str | Path | Mapping[str, object]) -> Callable[[Sets, str], Scenario]:
    """Returns a function that resolves a scenario with overrides. The scenario is read only once, by `opened` itself.

    `given` is a scenario, the path of a file, the name of a workload, or plain values. The arguments of the returned
    function are the overrides and the name by which error messages refer to the scenario. Both functions raise
    `ScenarioError`. If the file cannot be read, `opened` raises `OSError` or `UnicodeDecodeError`.
    """
    if not isinstance(given, (str, Path)):
        values = given.text if isinstance(given, Scenario) else _json(given)
        return lambda sets, source: parse(values, form="json", source=source, sets=sets)
    if given == "":
        raise ScenarioError(['scenario: "" is not valid; expected the path of a file, or the name of a workload'])
    workload = workloads.find(given)
    if workload is not None:
        return functools.partial(_of_workload, workload)
    path = Path(given)
    text = files.read_text(path)
    form: Literal["toml", "json"] = "json" if path.suffix == ".json" else "toml"
    return lambda sets, source: parse(text, form=form, source=source, sets=sets, folder=path.parent)


def _of_workload(workload: workloads.Workload, sets: Sets, source: str) -> Scenario:
    try:
        text, rest = workload.build(overrides(sets))
    except workloads.WorkloadError as error:
        raise ScenarioError([str(error)]) from None
    return parse(text, form="json", source=source, sets=rest)


def from_dict(data: ScenarioDict, *, source: str = "scenario", sets: Sets = ()) -> Scenario:
    """Resolves a scenario from plain values. Raises `ScenarioError`."""
    return parse(_json(data), form="json", source=source, sets=sets)


def _json(given: object) -> str:
    """Writes a scenario of plain values as JSON.

    Raises `ScenarioError` if `given` is not a table, or contains values that are not plain.
    """
    if not isinstance(given, Mapping):
        valid = "a Scenario, the path of a file, the name of a workload, or a table of plain values"
        raise ScenarioError([f"scenario: {given!r:.80} is not valid; expected {valid}"])
    try:
        text = json.dumps(given, default=_plain_value)
    except ScenarioError:
        raise
    except (TypeError, ValueError, RecursionError) as error:  # such as a tuple as a key; a list inside itself
        why = str(error)
        raise ScenarioError([f"scenario: {why[:1].lower()}{why[1:]}"]) from None
    if "Infinity" in text or "NaN" in text:  # JSON lacks these numbers; but a name may contain the words
        _check_finite(json.loads(text), "scenario")
    return text


def _check_finite(value: Any, path: str) -> None:
    """Raises `ScenarioError` with the path of a number that is infinite or NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        where = path.replace(".", ": ", 1)
        raise ScenarioError([f"{where}: {value} is not valid; expected a finite number or a string"])
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        _check_finite(one, f"{path}.{key}")


def _plain_value(value: object) -> Any:
    """Converts what JSON lacks: numpy's values, and mappings other than dicts. Raises `ScenarioError` for the rest."""
    if (own := plain(value)) is not value:
        return own
    if isinstance(value, Mapping):
        return dict(value)
    raise ScenarioError([f"scenario: {_unwritable(value)}"])


def _unwritable(value: object) -> str:
    return f"{value}: a scenario cannot have a {type(value).__name__}"


def plain(value: Any, place: str = "scenario") -> Any:
    """Converts numpy's numbers and arrays to Python's, also inside lists and dicts, and tuples to lists.

    Returns other values unchanged.

    Raises `ScenarioError`, which names `place`, for a list or a dict that contains itself.
    """
    try:
        match value:
            case list() | tuple():
                return [plain(v, place) for v in value]
            case dict():
                return {key: plain(v, place) for key, v in value.items()}
            case _ if hasattr(value, "tolist"):
                return value.tolist()
            case _:
                return value
    except RecursionError:
        raise ScenarioError([f"{place}: a list or table contains itself, or is nested too deeply"]) from None


def resolved(given: Scenario | str | Path | Mapping[str, object], sets: Sets = ()) -> Scenario:
    """Resolves a scenario, a file, a workload or plain values, with the overrides `sets`.

    Raises `ScenarioError`, and `OSError` or `UnicodeDecodeError` if the file cannot be read as text.
    """
    if isinstance(given, Scenario):
        return given.with_sets(*overrides(sets)) if sets else given
    return opened(given)(sets, str(given) if isinstance(given, (str, Path)) else "scenario")


def overrides(sets: Sets) -> list[Override]:
    """Converts overrides to pairs of strings.

    A string is used as it would be after `--set path=`; other values are written as TOML. Raises `ScenarioError`.
    """
    if not isinstance(sets, Mapping):
        pairs: list[Override] = []
        for pair in [sets] if isinstance(sets, str) or not hasattr(sets, "__iter__") else sets:
            match cast("Any", pair):
                case [str() as path, str() as value]:
                    pairs.append((path, value))
                case _:
                    valid = 'pairs such as ("link.up.rate", "5mbit"), or a mapping'
                    raise ScenarioError([f"sets: {pair!r:.80} is not valid; expected {valid}"])
        return pairs
    given = cast("Mapping[Any, Any]", sets)
    for path in given:
        if not isinstance(path, str):
            raise ScenarioError([f'sets: {path!r:.80} is not valid; expected a path, such as "link.up.rate"'])
    return [(path, value if isinstance(value, str) else toml_value(value, path)) for path, value in given.items()]


def toml_value(value: Any, path: str = "") -> str:
    """Writes a value as TOML, on one line; `path` names it in messages.

    Raises `ScenarioError` for types that a scenario cannot contain, such as a date.
    """
    match plain(value, path or "scenario"):
        case bool():
            return "true" if value else "false"
        case (int() | float()) as number:
            return repr(number)
        case str() as text:
            return json.dumps(text, ensure_ascii=False)
        case list() as several:
            return f"[{', '.join(toml_value(v, path) for v in several)}]"
        case Mapping() as table:
            pairs = [f"{json.dumps(str(k), ensure_ascii=False)} = {toml_value(v, path)}" for k, v in table.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case _:
            raise ScenarioError([f"{path}: {_unwritable(value)}" if path else _unwritable(value)])


def amount(text: str) -> tuple[Literal["duration", "rate", "size", "packets", "share"], float] | None:
    """Parses a string with a unit. Returns its kind and its value; None if the string is not valid.

    The value is a number of ns, bit/s, bytes or packets, or a fraction.
    """
    return _core.quantity(text)


def quantity(text: str) -> float:
    """Parses a duration to s, or a rate to bit/s: "250ms" is 0.25. Raises `ValueError`."""
    match amount(text):
        case ("duration", ns):
            return ns / 1e9
        case ("rate", rate):
            return float(rate)
        case _:
            raise ValueError(f"{text}: neither a duration nor a rate")


#: Matches a string, or a number with an exponent.
_STRING_OR_EXPONENT = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9.]+e[+-][0-9]+')


def canonical(data: Mapping[str, Any]) -> str:
    """Writes the values of a resolved scenario as the core does, without checking them.

    The hash of a scenario is computed from this text. So a scenario that another version wrote keeps its hash, even if
    this version rejects it or adds defaults.
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return _STRING_OR_EXPONENT.sub(lambda found: _number(found[0]), text)


def _number(word: str) -> str:
    """Converts a number with an exponent from Python's form to Rust's; returns strings unchanged.

    Python writes 1.5e-05, 1.5e-06 and 1e+16; Rust writes 0.000015, 1.5e-6 and 1e16.
    """
    if word.startswith('"'):
        return word
    return f"{Decimal(word):f}" if word.endswith("e-05") else word.replace("e-0", "e-").replace("e+", "e")


def problems(error: ValueError) -> list[str]:
    """Returns the message lines of a `ScenarioError`, one per problem."""
    first = error.args[0] if error.args else ""
    return [str(line) for line in first] if isinstance(first, list) else str(error).splitlines()


@functools.cache
def schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenario files."""
    return json.loads(_core.schema())


@functools.cache
def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Returns the core's catalogue: `qdiscs`, `links`, `apps`, `tcp` and `grades`, each a list of entries.

    All entries except those of `grades` have their parameters under `params`.
    """
    return json.loads(_core.catalogue())


def tcp_apps(of: Scenario) -> list[str]:
    """Returns the names of the applications that use TCP and start before the end."""
    transports = {entry["name"]: entry["transport"] for entry in catalogue()["apps"]}
    data = of.data
    return [
        name
        for name, app in data["app"].items()
        if quantity(app["start"]) < quantity(data["duration"])
        and all(traffic.get("transport", transports[kind]) == "tcp" for kind, traffic in app["traffic"].items())
    ]


def measures() -> dict[str, list[dict[str, Any]]]:
    """Returns the core's lists of all measures that a summary can contain, and of their units.

    `bloatlab.measures` describes the entries.
    """
    return json.loads(_core.measures())


def version() -> str:
    """Returns the version of bloatlab."""
    return _core.version()
