"""The subjects that suites judge: built-in controllers or queues, classes in Python files, parts of scenario files.

A class in a Python file is a controller, a transport, or the law of a queue.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import files
from bloatlab.errors import nearest
from bloatlab.judge.suites import STACK, JudgeError, Suite, of_queues
from bloatlab.judge.transports import Transport, is_transport, transport
from bloatlab.scenario import catalogue, load, parse, schema

#: Names in the schema's list of controllers that are not judged: "python" is a placeholder for a user's class.
_NOT_OURS = ("python",)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged, such as a controller, a queue or a transport: its name, its value, and the folder of its file.

    The value is inserted into each scenario. It is a stack if the suite judges congestion controllers, a queue if the
    suite judges queues, and the subject's name in other suites. A transport has no value.
    """

    name: str
    value: Any
    folder: Path | None = None
    transport: Transport | None = None

    def placed(self, tree: dict[str, Any], place: str | Sequence[str]) -> dict[str, Any]:
        """Puts the value into a scenario.

        If the place is `STACK`, the stack in the scenario keeps the settings that the value does not contain, except
        its preset and its congestion control. At any other place, the value replaces what was there. Raises
        `JudgeError` if the scenario has none of the places.
        """
        if self.transport is not None:
            return tree
        paths = [place] if isinstance(place, str) else place
        tables = {one: _tables(tree, (one if one == STACK else one.rpartition(".")[0]).split(".")) for one in paths}
        if not any(tables.values()):
            raise JudgeError(f"judge: {tree['name']}: the case names no {' or '.join(paths)}, the suite's subject")
        for one, places in tables.items():
            for found in places:
                if one == STACK:
                    own = {k: v for k, v in found.items() if k not in ("preset", "congestion_control")}
                    found.clear()
                    found.update(own | self.value)
                else:
                    found[one.rpartition(".")[2]] = self.value
        return tree


def _tables(tree: dict[str, Any], path: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the tables at a path; `*` matches each key whose table contains the rest of the path."""
    if not path:
        return [tree]
    first, *rest = path
    if first != "*":
        return _tables(tree[first], rest) if first in tree else []
    return [found for table in tree.values() for found in _tables(table, rest)]


def chosen(suite: Suite, asked: Sequence[str]) -> list[Subject]:
    """Returns the subjects that the options --cc or --queue select in a suite, each once.

    Raises `JudgeError`, `ScenarioError`.
    """
    found = [one for name in dict.fromkeys(asked) for one in _chosen(suite, name)]
    return list({one.name: one for one in found}.values())


def _chosen(suite: Suite, cc: str) -> list[Subject]:
    if suite.everyone and not suite.queues and cc not in (*suite.everyone, "all"):
        valid = f"expected {', '.join(suite.everyone)}, or all{nearest(cc, suite.everyone)}"
        raise JudgeError(f"judge: suite {suite.name} does not know {cc}; {valid}")
    if cc != "all":
        return [subject(cc, suite.subject)]
    return [subject(name, suite.subject) for name in suite.everyone or sorted({*_words(), "bbr3-linux"})]


def subject(name: str, place: str | Sequence[str] = STACK) -> Subject:
    """Finds the subject with this name; `place` says where in a scenario the suite inserts its subjects.

    At `STACK`, the subject is a controller (built-in, FILE.py:CLASS or FILE.toml:STACK) or a transport (FILE.py:CLASS).
    At the place of a queue, it is a queue. At any other place, the name itself is inserted.

    Raises `JudgeError`, `ScenarioError`.
    """
    if place != STACK:
        return queue(name) if of_queues(place) else Subject(name, name)
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


def queue(text: str) -> Subject:
    """Finds a queue: a string or table as in a scenario, a law in FILE.py:CLASS, or a link's queue, FILE.toml:LINK.

    Raises `JudgeError`, `ScenarioError`.
    """
    file, _, part = text.rpartition(":")
    folder, value = None, text
    if text.lstrip().startswith("{"):  # the table may contain a file's name, as in { python = { law = "law.py:Law" } }
        try:
            value = tomllib.loads(f"queue = {text}")["queue"]
        except tomllib.TOMLDecodeError as error:
            raise JudgeError(f"judge: --queue {text[:80]}: not a table of TOML ({error})") from None
    elif file.endswith(".py"):
        folder, value = _folder(file), {"python": {"law": f"{Path(file).name}:{part}"}}
    elif file.endswith((".toml", ".json")):
        folder = _folder(file)
        links = load(file).data["link"]
        if part not in links:
            raise JudgeError(f"judge: {file} has no link.{part}{nearest(part, links)}")
        tree = files.read_text(Path(file))
        value = (json if file.endswith(".json") else tomllib).loads(tree)["link"][part].get("queue", "droptail")
    known = _resolved(value, text, folder)
    if isinstance(value, str):
        # keep only the parameters that differ from their defaults, and the limit if the text names one. A queue without
        # a limit gets the buffer of the case
        ((name, table),) = known.items()
        named = {"limit"} & set(re.findall(r"\w+", value))
        usual = _resolved(name, text, None)[name] if name in _queues() else {}
        own = {key: of for key, of in table.items() if key in named or key not in usual or of != usual[key]}
        value = {name: own} if own else name
    return Subject(text, value, folder)


def _folder(file: str) -> Path:
    if not Path(file).is_file():
        raise JudgeError(f"judge: {file}: no such file")
    return Path(file).parent


def _queues() -> list[str]:
    return [entry["name"] for entry in catalogue()["qdiscs"] if entry["name"] != "python"]


def _resolved(value: Any, text: str, folder: Path | None) -> dict[str, Any]:
    """Returns a queue in its full form, `{DISCIPLINE: {...}}` with every parameter. Raises `ScenarioError`."""
    link = {"from": "a", "to": "b", "rate": "10mbit", "queue": value}
    tree = {"duration": "1s", "link": {"judged": link, "back": {"from": "b", "to": "a"}}}
    made = parse(json.dumps(tree), form="json", source=f"--queue {text[:80]}", folder=folder)
    return made.data["link"]["judged"]["queue"]


def _in_file(name: str, file: str, part: str) -> Subject:
    """Finds a class in a Python file, or a stack in a scenario file. Raises `JudgeError`, `ScenarioError`."""
    folder = _folder(file)
    if file.endswith(".py"):
        if is_transport(Path(file), part):
            return Subject(name, None, folder, transport(Path(file), part, f"judge: {name}"))
        return Subject(name, {"preset": "linux-6", "python": {"controller": f"{Path(file).name}:{part}"}}, folder)
    try:
        stacks = load(file).data["tcp"]
    except UnicodeDecodeError:
        raise JudgeError(f"judge: {file}: {files.NOT_TEXT}") from None
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
