"""The subjects of suites: a controller of ours, a class in a Python file, or a stack of a scenario's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab.errors import nearest
from bloatlab.judge.suites import STACK, JudgeError, Suite
from bloatlab.scenario import catalogue, load, schema

#: Controllers without a behaviour of their own to judge.
_NOT_OURS = ("python",)


@dataclass(frozen=True, slots=True)
class Subject:
    """The judged controller: its name, its stack as a table of a scenario, and the folder of its Python file."""

    name: str
    stack: Mapping[str, Any]
    folder: Path | None = None

    def placed(self, tree: dict[str, Any], place: str | Sequence[str]) -> dict[str, Any]:
        """Puts the stack into a scenario at `STACK`, beside its other keys; at other places, puts the name there."""
        for one in [place] if isinstance(place, str) else place:
            *path, last = one.split(".")
            for found in _tables(tree, path):
                if one == STACK:
                    own = {k: v for k, v in found[last].items() if k not in ("preset", "congestion_control")}
                    found[last] = {**own, **self.stack}
                else:
                    found[last] = self.name
        return tree


def _tables(tree: dict[str, Any], path: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the tables at a path; `*` stands for each key whose table has the rest of the path."""
    if not path:
        return [tree]
    first, *rest = path
    if first != "*":
        return _tables(tree[first], rest) if first in tree else []
    return [found for table in tree.values() for found in _tables(table, rest)]


def chosen(suite: Suite, cc: str) -> list[Subject]:
    """Returns what a suite judges for the argument of `--cc`. Raises `JudgeError`, `ScenarioError`."""
    if suite.everyone and cc not in (*suite.everyone, "all"):
        valid = f"expected {', '.join(suite.everyone)}, or all{nearest(cc, suite.everyone)}"
        raise JudgeError(f"judge: suite {suite.name} does not know {cc}; {valid}")
    if cc != "all":
        return [subject(cc, suite.subject)]
    return [subject(name, suite.subject) for name in suite.everyone or sorted({*_words(), "bbr3-linux"})]


def subject(name: str, place: str | Sequence[str] = STACK) -> Subject:
    """Finds a controller: a name of ours, FILE.py:CLASS, or FILE.toml:STACK; at another place, any value.

    Raises `JudgeError`, `ScenarioError`.
    """
    if place != STACK:
        return Subject(name, {})
    file, _, part = name.rpartition(":")
    if file.endswith((".py", ".toml", ".json")):
        return _in_file(name, file, part)
    presets = [entry["name"] for entry in catalogue()["tcp"]]
    if name in presets:
        return Subject(name, {"preset": name})
    if name in _words():
        return Subject(name, {"preset": "linux-6", "congestion_control": name})
    if name.endswith((".py", ".toml", ".json")):
        raise JudgeError(f"judge: {name}: name the class or stack in it, such as {name}:mine")
    known = sorted({*presets, *_words()})
    valid = f"{', '.join(known)}, FILE.py:CLASS or FILE.toml:STACK"
    raise JudgeError(f"judge: no controller {name}; expected {valid}{nearest(name, known)}")


def _in_file(name: str, file: str, part: str) -> Subject:
    """Finds a class in a Python file, or a stack in a scenario's file. Raises `JudgeError`, `ScenarioError`."""
    if not Path(file).is_file():
        raise JudgeError(f"judge: {file}: no such file")
    folder = Path(file).parent
    if file.endswith(".py"):
        return Subject(name, {"preset": "linux-6", "python": {"controller": f"{Path(file).name}:{part}"}}, folder)
    try:
        stacks = load(file).data["tcp"]
    except UnicodeDecodeError:
        raise JudgeError(f"judge: {file}: not a text file") from None
    if part not in stacks:
        raise JudgeError(f"judge: {file} has no stack tcp.{part}{nearest(part, stacks)}")
    return Subject(name, stacks[part], folder)


def _words() -> list[str]:
    """Returns the names of the controllers, from the schema."""
    types = schema()["$defs"]
    found = next(
        of["properties"]["congestion_control"]
        for of in types.values()
        if "congestion_control" in of.get("properties", {})
    )
    refs = [
        v["$ref"].rpartition("/")[2] for v in (found, *found.get("anyOf", []), *found.get("allOf", [])) if "$ref" in v
    ]
    words = [
        w
        for t in [found, *(types[r] for r in refs)]
        for w in (*t.get("enum", []), *(o.get("const") for o in t.get("oneOf", [])))
    ]
    return [word for word in words if word is not None and word not in _NOT_OURS]
