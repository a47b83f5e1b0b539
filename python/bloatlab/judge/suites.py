"""Reads suites: the cases of a document as data.

    suites/NAME/suite.toml    [suite] title, document, source ...;  [[outside]] section, title, reason
    suites/NAME/*.toml        a scenario, and [judge] section, title, says, run;  [judge.moments];  [[judge.criteria]]

A case may build its scenario from a workload, with `[workload] name = ..., PARAMETER = ...`. The other keys of the case
are then added to that scenario, or replace its keys of the same names.

`subject` is the place in the scenario where the subject is inserted: `STACK`, or the path of any other key, or a list
of such paths; `*` in a path matches each key that contains the rest of the path. At a place other than `STACK`,
`everyone` lists the subjects selected by `all`. `phases_of` names a case whose run shows every phase. A criterion is a
number from the run with a condition on it. `by` says who chose the limit: the document or this suite.

A moment is a time determined by a first run, such as the entry into a phase. In the scenario, it is written `at =
"@NAME"` or `"@NAME + 20ms"`. The first run leaves out list entries that contain such a time. Runs are deterministic,
so the second run is equal to the first up to that time. The scenario of the second run contains only fixed times.
"""

from __future__ import annotations

import copy
import functools
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from bloatlab import files
from bloatlab.errors import InputError, nearest
from bloatlab.measures import declared, numbers_of
from bloatlab.scenario import ScenarioError, parse, problems, quantity, toml_value
from bloatlab.workloads import find, near

FOLDER = Path(__file__).with_name("suites")

#: The place in a scenario where a congestion controller is judged.
STACK = "tcp.judged"

#: If the paths in a suite's `subject` end with this key, the suite judges queues.
QUEUE = ".queue"

#: A criterion's measure that begins with this is a query; any other is a path of the summary.
QUERY = "select "

By = Literal["document", "ours"]


class JudgeError(InputError):
    """Something cannot be judged: for example, the suite does not exist. The message is one line."""


def of_queues(place: str | Sequence[str]) -> bool:
    """Returns true if `place`, which is a path or a sequence of paths, contains only paths of queues."""
    return all(path.endswith(QUEUE) for path in ([place] if isinstance(place, str) else place))


def case_id(section: str) -> str:
    """Returns a section in the form used in file names: "A.1" becomes "a1"."""
    return re.sub(r"[^a-z0-9]+", "-", section.lower().replace("a.", "a", 1)).strip("-")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A number from a run, and the condition that it must meet.

    `measure` is the path of a number in the summary, or an SQL query on the tables described in `judge/measures.py`.
    With `against`, the number is divided by the same number for another subject (the worst, if there are several), and
    the ratio is judged. `needs` names a phase: the criterion does not apply to a controller without this phase, and is
    not met if the run never reaches the phase. With `condition`, the criterion checks the run and not the controller:
    if it is not met, the case is not judged. If the limit or the measure was changed after a run, `changed` says why.
    """

    says: str
    measure: str
    expect: str
    by: By
    needs: str = ""
    against: Sequence[str] = ()
    condition: bool = False
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A case: the document's statement, the scenario as plain values, the moments (see the module) and the criteria.

    A case with several `seeds` is run with the seeds 1, 2, ... `seeds`. A criterion is then met if the whole 95 %
    interval of the mean meets its condition, as in `bloatlab check`.
    """

    suite: str
    section: str
    title: str
    says: str
    run: str
    tree: Mapping[str, Any]
    criteria: Sequence[Criterion]
    moments: Mapping[str, str] = field(default_factory=dict)
    level: str = ""
    seeds: int = 1

    @property
    def id(self) -> str:
        """The section in the form used in file names: "A.1" becomes "a1"."""
        return case_id(self.section)

    def scenario(self, moments: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Returns the scenario, with the name of each moment replaced by its time (`moments` contains times in s).

        Without `moments`, list entries whose `at` is a moment are left out.
        """
        return _timed(copy.deepcopy(dict(self.tree)), moments)


@dataclass(frozen=True, slots=True)
class Outside:
    """A section of the document that cannot be judged here, with the reason."""

    section: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases made from one or several documents, in the order of their sections."""

    name: str
    title: str
    document: str
    source: str
    cases: Sequence[Case]
    outside: Sequence[Outside]
    subject: str | Sequence[str] = STACK
    everyone: Sequence[str] = ()
    phases_of: str = ""

    @property
    def queues(self) -> bool:
        """Whether the suite judges queues."""
        return of_queues(self.subject)

    @property
    def option(self) -> str:
        """The command-line option that names the subject."""
        return "--queue" if self.queues else "--cc"

    def only(self, *sections: str) -> Suite:
        """Returns the suite with only the cases for these sections. Raises `JudgeError`.

        A section may be given without the name of its document ("5.2") if the suite has only one such section.
        """
        known = {case.section: case for case in self.cases}
        chosen = {self._section(section, known) for section in sections}
        return replace(self, cases=[case for section, case in known.items() if section in chosen], outside=())

    def _section(self, given: str, known: Iterable[str]) -> str:
        reasons = {one.section: one.reason for one in self.outside}
        every = [*known, *reasons]
        near = [given] if given in every else [one for one in every if f" {given} " in f" {one} "]
        if len(near) > 1:
            raise JudgeError(f"judge: {self.name} has {len(near)} cases {given}; expected one of {', '.join(near)}")
        if not near:
            valid = f"it has {', '.join(known)}{nearest(given, known)}"
            raise JudgeError(f"judge: {self.name} has no case {given}; {valid}")
        if near[0] in reasons:
            raise JudgeError(f"judge: {self.name} {near[0]} cannot be judged here: {reasons[near[0]]}")
        return near[0]


def names() -> list[str]:
    """Returns the names of the suites."""
    return sorted(path.parent.name for path in FOLDER.glob("*/suite.toml"))


def suite(name: str) -> Suite:
    """Reads a suite. Raises `JudgeError`."""
    if name not in names():
        raise JudgeError(f"judge: no suite {name}; expected {', '.join([*names(), 'all'])}{nearest(name, names())}")
    folder = FOLDER / name
    file = folder / "suite.toml"
    head = _toml(file, files.read_text(file))
    cases = [_case(name, path, files.read_text(path)) for path in folder.glob("*.toml") if path != file]
    cases.sort(key=lambda case: [int(part) for part in re.findall(r"\d+", case.section)])
    told = _checked(head.get("suite", {}), Suite, f"{file}: suite", "name", "cases", "outside")
    listed = head.get("outside", [])
    if not isinstance(listed, list):
        raise JudgeError(
            f"{file}: outside: {json.dumps(listed, default=str)[:80]} is not valid; expected tables [[outside]]"
        )
    outside = [Outside(**_checked(one, Outside, f"{file}: outside.{place}")) for place, one in enumerate(listed)]
    return Suite(name, cases=cases, outside=outside, **told)


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JudgeError(f"{path}: not valid TOML: {error}") from None


@functools.cache
def _case(name: str, path: Path, text: str) -> Case:
    """Parses a file's text as a case. Results are cached, because `judge` reads a suite several times."""
    tree = _toml(path, text)
    told = dict(_checked(tree.pop("judge", {}), Case, f"{path}: judge", "suite", "tree"))
    if not told["criteria"]:
        raise JudgeError(f"{path}: judge.criteria: none; a case needs at least one")
    for moment, query in told.get("moments", {}).items():
        if not isinstance(query, str):
            raise JudgeError(f"{path}: judge.moments.{moment}: {query!r} is not valid; expected a query")
    told["criteria"] = [
        _criterion(one, f"{path}: judge.criteria.{place}") for place, one in enumerate(told["criteria"])
    ]
    if all(one.condition for one in told["criteria"]):
        raise JudgeError(
            f"{path}: judge.criteria: all are conditions; a case needs at least one without condition = true"
        )
    case = Case(name, tree={"name": f"{name} {told['section']}", **tree}, **told)
    if case.seeds < 1:
        raise JudgeError(f"{path}: judge.seeds: {case.seeds} is not valid; expected at least 1")
    _check_paths(case, str(path))
    for at, moment in _moments(tree):
        if moment not in case.moments:
            known = f"judge.moments has {', '.join(case.moments) or 'none'}{nearest(moment, case.moments)}"
            raise JudgeError(f'{path}: {at}: unknown moment "{moment}"; {known}')
    return case


def _criterion(told: Mapping[str, Any], where: str) -> Criterion:
    one = Criterion(**_checked(told, Criterion, where))
    if one.by not in get_args(By):
        valid = f"expected {' or '.join(get_args(By))}{nearest(one.by, get_args(By))}"
        raise JudgeError(f'{where}.by: "{one.by}" is not valid; {valid}')
    try:
        text = json.dumps(_EXPECTING | {"expect": {"x": one.expect}})
        expect = parse(text, form="json", source=where).data["expect"]["x"]
    except ScenarioError as error:
        raise JudgeError(problems(error)[0].replace(": expect.x:", ".expect:", 1)) from None
    against = [one.against] if isinstance(one.against, str) else one.against
    return replace(one, expect=expect, against=against)


def _check_paths(case: Case, where: str) -> None:
    """Raises `JudgeError` if a criterion's measure is neither a query nor a path that the case's summary can have."""
    paths = {place: c.measure for place, c in enumerate(case.criteria) if not c.measure.startswith(QUERY)}
    tree = expanded(case.tree) if paths else {}
    # the scenario is checked later, so any of these values might not be a table
    apps, links = (of if isinstance(of := tree.get(key), dict) else {} for key in ("app", "link"))
    backward = [f"~{name}" for name, link in links.items() if isinstance(link, dict) and link.get("both_ways")]
    known = {f"apps.{name}.": numbers_of("apps") for name in apps}
    known |= {f"links.{name}.": numbers_of("links") for name in [*links, *backward]}
    for place, path in paths.items():
        below = path.startswith(("apps.", "links."))
        if not declared(path) or (below and not path.startswith(tuple(known))):
            near = nearest(path, (f"{start}{number}" for start, numbers in known.items() for number in numbers))
            why = f'is neither a query ("{QUERY}...") nor a number of the summary{near}'
            raise JudgeError(f"{where}: judge.criteria.{place}.measure: {json.dumps(path[:80])} {why}")


#: The smallest scenario. The core reads the limit of a criterion as an expectation of this scenario.
_EXPECTING = {"duration": "1s", "link": {"up": {"from": "a", "to": "b"}, "back": {"from": "b", "to": "a"}}}

#: For each annotation of a field: the types that its value may have in TOML, and their description in errors.
_TYPES: Mapping[Any, tuple[type | tuple[type, ...], str]] = {
    "str": (str, "a string"),
    "By": (str, "a string"),
    "str | Sequence[str]": ((str, list), "a string, or a list of strings"),
    "Sequence[str]": ((str, list), "a string, or a list of strings"),
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "Sequence[Criterion]": (list, "tables [[judge.criteria]]"),
    "Mapping[str, str]": (dict, "a table"),
}


def _checked(table: Mapping[str, Any], of: type, where: str, *ours: str) -> Mapping[str, Any]:
    """Checks that a table's keys and values fit the fields of `of` that are not in `ours`; returns the table.

    Raises `JudgeError`.
    """
    if not isinstance(table, dict):
        raise JudgeError(f"{where}: {json.dumps(table, default=str)[:80]} is not valid; expected a table")
    known = {one.name: one for one in fields(of) if one.name not in ours}
    for key, value in table.items():
        if key not in known:
            raise JudgeError(f'{where}: unknown key "{key}"{nearest(key, known)} (valid: {", ".join(sorted(known))})')
        kind, valid = _TYPES.get(known[key].type, (object, ""))
        wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
        if wrong or ("str" in valid and isinstance(value, list) and not all(isinstance(one, str) for one in value)):
            raise JudgeError(f"{where}.{key}: {json.dumps(value, default=str)[:80]} is not valid; expected {valid}")
    for key, one in known.items():
        if key not in table and one.default is MISSING and one.default_factory is MISSING:
            raise JudgeError(f'{where}: the key "{key}" is missing')
    return table


def expanded(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Builds the scenario of the tree's `workload`, if there is one, and adds the tree's other keys to it.

    These replace keys of the same names.

    Raises `JudgeError`, `WorkloadError`.
    """
    if "workload" not in tree:
        return dict(tree)
    rest = {key: value for key, value in tree.items() if key != "workload"}
    parameters = {k: v if isinstance(v, str) else toml_value(v) for k, v in tree["workload"].items()}
    name = parameters.pop("name")
    workload = find(name)
    if workload is None:
        raise JudgeError(f"judge: no workload {name}{near(name)}")
    text, unknown = workload.build(list(parameters.items()))
    if unknown:
        raise JudgeError(f"judge: {name} has no parameter {unknown[0][0]}{nearest(unknown[0][0], workload.parameters)}")
    return {**json.loads(text), **rest}


_MOMENT = re.compile(r"@(\w+)(?:\s*\+\s*(\S+))?")


def _timed(value: Any, moments: Mapping[str, float] | None) -> Any:
    match value:
        case dict():
            return {key: _timed(one, moments) for key, one in value.items()}
        case list():
            known = [_timed(one, moments) for one in value if moments is not None or not _at_a_moment(one)]
            # sorted by time, because a moment may come before or after the fixed times in the list
            if any(_at_a_moment(one) for one in value):
                known.sort(key=lambda one: quantity(one["at"]))
            return known
        case str() if (found := _MOMENT.fullmatch(value)) and moments is not None:
            return f"{round((moments[found[1]] + (quantity(found[2]) if found[2] else 0.0)) * 1e6)}us"
        case _:
            return value


def _moments(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the path and the name of each moment in a scenario."""
    match value:
        case dict() | list():
            for key, one in value.items() if isinstance(value, dict) else enumerate(value):
                yield from _moments(one, f"{path}.{key}" if path else str(key))
        case str() if found := _MOMENT.fullmatch(value):
            yield path, found[1]
        case _:
            pass


def _at_a_moment(entry: Any) -> bool:
    return isinstance(entry, dict) and _MOMENT.fullmatch(str(entry.get("at"))) is not None
