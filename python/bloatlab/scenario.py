"""The typed face of a scenario. The schema lives in Rust; here are the names that Python code may rely on.

A scenario is text (TOML, JSON or a dict of plain values) until the core has resolved it: parsed, validated, every
default filled in, written as canonical JSON. From then on it is an immutable `Scenario`, equal to every other scenario
that means the same, with a hash that names it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from bloatlab import _core, deliveries, files, laws, workloads

#: (path, value) laid over a scenario, as `--set link.up.rate=5mbit` does.
Override = tuple[str, str]

#: Overrides as pairs of texts; or by path, as text or as plain values: `{"link.up.queue": {"codel": {}}}`.
Sets = Sequence[Override] | Mapping[str, Any]

#: A scenario that cannot be built; `problems` gives its lines.
ScenarioError = _core.ScenarioError

#: An assertion of the core has failed. Like `KeyboardInterrupt` no `Exception`, so that nothing takes it for an answer.
Bug = _core.PanicException


#: One directed link (two with `both_ways`). Its ends name the nodes; quantities are text with a unit ("5mbit", "10ms").
LinkDict = TypedDict(
    "LinkDict",
    {
        "from": str,
        "to": str,
        "both_ways": bool,
        "rate": str,
        "delay": str,
        "jitter": str,
        "lateness": Mapping[str, str],
        "reorder": bool,
        "loss": float | str,
        "lose": Sequence[int],
        "queue": str | Mapping[str, Any],
        "shaper": str | Mapping[str, Any],
        "docsis": Mapping[str, Any],
        "docsis31": Mapping[str, Any],
        "delivery": str | Mapping[str, Any],
        "changes": Sequence[Mapping[str, Any]],
    },
    total=False,
)

#: One application: where its traffic starts and ends, over which TCP, and what it sends.
AppDict = TypedDict(
    "AppDict",
    {
        "from": str,
        "to": Sequence[str],
        "start": str,
        "start_spread": str,
        "stop": str,
        "tcp": str,
        "tcp_server": str,
        "dscp": int,
        "datagram_ecn": str,
        "traffic": str | Mapping[str, Any],
    },
    total=False,
)


class RecordDict(TypedDict, total=False):
    """What to measure: width of the bins of series, and the links and applications that have series."""

    interval: str
    links: Sequence[str]
    apps: Sequence[str]
    warm_up: str


class ScenarioDict(TypedDict, total=False):
    """A whole scenario as plain values. `link`, `app` and `tcp` are keyed by the names that results use."""

    name: str
    seed: int
    duration: str
    start_spread: str
    link: Mapping[str, LinkDict]
    app: Mapping[str, AppDict]
    tcp: Mapping[str, Mapping[str, Any]]
    route: Sequence[Mapping[str, str]]
    record: RecordDict
    trace: Mapping[str, Any]
    max_packets: int
    grade: Mapping[str, Any]
    expect: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A validated scenario with every default filled in.

    `text` is canonical JSON: two scenarios that mean the same have the same text. Make one with `load`, `parse` or
    `from_dict`, never by hand.
    """

    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The scenario as plain values; a fresh copy each time."""
        return json.loads(self.text)

    @property
    def name(self) -> str:
        """The scenario's own name."""
        return self.data["name"]

    @property
    def seed(self) -> int:
        """The seed that a run uses unless told otherwise."""
        return self.data["seed"]

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text, in hexadecimal; without `trace`, which changes no result."""
        return hashlib.sha256(self._untraced.encode()).hexdigest()

    @property
    def _untraced(self) -> str:
        if '"trace":' not in self.text:
            return self.text
        rest = {key: value for key, value in self.data.items() if key != "trace"}
        return parse(json.dumps(rest), form="json", source=self.name).text

    def traces(self, what: str) -> bool:
        """Whether its `trace` asks for this: "links", "queues", "flows" or "packets"."""
        return bool(self.data.get("trace", {}).get(what, False))

    def as_toml(self) -> str:
        """The scenario as TOML, without what its defaults say. Read back, it is this scenario.

        Raises `ScenarioError` for what TOML cannot say: a seed beyond 2^63 - 1.
        """
        return _core.as_toml(self.text)

    def tc(self, link: str | None = None) -> str:
        """Shell commands that set Linux up like the links, or like one of them: tc's words, and comments for the rest.

        Raises `ScenarioError` where no link has that name.
        """
        return _core.tc_commands(self.text, link)

    def with_sets(self, *sets: Override) -> Scenario:
        """This scenario with some values replaced. Raises `ScenarioError`."""
        return parse(self.text, form="json", source=self.name, sets=sets)


def parse(
    text: str,
    *,
    form: Literal["toml", "json"] = "toml",
    source: str = "scenario",
    sets: Sets = (),
    folder: Path | None = None,
) -> Scenario:
    """The scenario that `text` describes, with `sets` laid over it.

    `source` names the text in messages; from `folder`, or the working folder, the files that it names are looked for:
    laws in Python and delivery traces. Raises `ScenarioError` with one line per problem.
    """
    given = _core.resolve(text, form, source, overrides(sets))
    whole = deliveries.completed(laws.completed(given, folder, source), folder, source)
    return Scenario(given if whole is given else _core.resolve(whole, "json", source))


def load(path: str | Path, sets: Sets = ()) -> Scenario:
    """The scenario in the file `path` (`.json` is JSON, anything else TOML), with `sets` laid over it.

    Where there is no such file, `path` may be the name of a workload: "rrul", "rfc7928-5.1.1".
    Raises `ScenarioError`, and `OSError` or `UnicodeDecodeError` when the file cannot be read as text.
    """
    return opened(path)(sets, str(path))


def opened(given: Scenario | str | Path | Mapping[str, object]) -> Callable[[Sets, str], Scenario]:
    """A scenario, file, workload or plain values, read once: scenarios of it by what is laid over and what to call it.

    Raises `OSError` or `UnicodeDecodeError` when the file cannot be read; what it returns raises `ScenarioError`.
    """
    if not isinstance(given, (str, Path)):
        values = given.text if isinstance(given, Scenario) else json.dumps(given)
        return lambda sets, source: parse(values, form="json", source=source, sets=sets)
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
    """The scenario that plain values describe. Raises `ScenarioError`."""
    return parse(json.dumps(data), form="json", source=source, sets=sets)


def resolved(given: Scenario | str | Path | Mapping[str, object], sets: Sets = ()) -> Scenario:
    """A scenario, a file's path or plain values as a scenario, with `sets` laid over it. Raises as `load` does."""
    if isinstance(given, Scenario):
        return given.with_sets(*overrides(sets)) if sets else given
    return opened(given)(sets, str(given) if isinstance(given, (str, Path)) else "scenario")


def overrides(sets: Sets) -> list[Override]:
    """Overrides as pairs of texts. A text stands as it would after `--set path=`; other values as in TOML."""
    if not isinstance(sets, Mapping):
        return list(sets)
    return [(path, value if isinstance(value, str) else toml(value)) for path, value in sets.items()]


def toml(value: Any) -> str:
    """A value as it stands in TOML, on one line. Raises `ScenarioError` for what a scenario cannot have (a date)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(map(toml, value))}]"
        case Mapping():
            pairs = ", ".join(f"{json.dumps(str(k), ensure_ascii=False)} = {toml(v)}" for k, v in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case _:
            raise ScenarioError([f"{value}: {type(value).__name__} has no place in a scenario"])


def amount(text: str) -> tuple[Literal["duration", "rate", "size", "packets", "share"], float] | None:
    """What a text with a unit says, and the number: ns, bit/s, bytes, packets or a part of one; None for others."""
    return _core.quantity(text)


def quantity(text: str) -> float:
    """A duration of a scenario in s, or a rate in bit/s: "250ms" is 0.25. Raises `ValueError` for others."""
    match amount(text):
        case ("duration", ns):
            return ns / 1e9
        case ("rate", rate):
            return float(rate)
        case _:
            raise ValueError(f"{text}: neither a duration nor a rate")


def problems(error: ValueError) -> list[str]:
    """The lines of a `ScenarioError`, one per problem."""
    first = error.args[0] if error.args else ""
    return [str(line) for line in first] if isinstance(first, list) else str(error).splitlines()


@functools.cache
def schema() -> dict[str, Any]:
    """The JSON Schema that scenario files obey."""
    return json.loads(_core.schema())


@functools.cache
def catalogue() -> dict[str, list[dict[str, Any]]]:
    """What the core can build: `qdiscs`, `apps` and `tcp`, each a list of named entries with their parameters."""
    return json.loads(_core.catalogue())


def measures() -> dict[str, list[dict[str, Any]]]:
    """What a summary may have, and the units: see `bloatlab.measures`."""
    return json.loads(_core.measures())


def version() -> str:
    """The version of bloatlab."""
    return _core.version()


def emodel(loss: float, delay_ms: float = 0.0) -> tuple[float, float]:
    """(R, MOS) of the E-model for a loss fraction and a one-way delay in milliseconds."""
    return _core.emodel(loss, delay_ms)
