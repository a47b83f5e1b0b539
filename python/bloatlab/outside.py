"""A scenario's Python code: the laws and controllers that it names.

When a scenario is read, the source and the parameters of each class that it names by file are added to it
(`completed`). A run makes the objects (`factories`). An error in an object ends the run with one line (`explained`).
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bloatlab import controllers as controllers_in_python
from bloatlab import laws as laws_in_python
from bloatlab.classes import ClassError, Kind, UserClass, checked, line_of, loaded, read

#: The kinds of classes that a scenario may name.
KINDS = (laws_in_python.KIND, controllers_in_python.KIND)
#: A scenario without this string in its JSON text uses no Python class, so its text need not be parsed.
_SIGN = '"python":{'


def _tables(text: str, kind: Kind) -> Iterator[tuple[str, str, dict[str, Any]]]:
    return kind.tables(json.loads(text)) if _SIGN in text else iter(())


def completed(text: str, folder: Path | None, source: str) -> str:
    """Copies the source and parameters of the classes that a resolved scenario names by file into the scenario.

    Paths are relative to `folder`. `source` names the scenario in messages. Raises `ClassError`.
    """
    if _SIGN not in text:
        return text
    tree = json.loads(text)
    for kind, (_, path, table) in ((each, found) for each in KINDS for found in each.tables(tree)):
        label, colon, name = table[kind.noun].rpartition(":")
        if not colon:  # without a colon, the string names a class passed to `run`
            continue
        at = f"{source}: {path}" if source else path
        held = table.get("source", {})
        table["source"] = {label: held[label] if label in held else read(kind, label, folder or Path(), at)}
        found = checked(kind, label, name, table["source"][label], at)
        own = {key: table.pop(key) for key in list(table) if key not in kind.reserved}
        table.update(found.stored(own, at))
    return json.dumps(tree)


def add_sources(value: Any, folder: Path, source: str, path: tuple[str, ...] = ()) -> None:
    """Adds the source of each class that `value` names by file to `value`, which becomes part of a scenario elsewhere.

    The paths of the classes' files are relative to `folder`. In messages, `source` and `path` (the keys that lead to
    `value`) name the place of a class. Raises `ClassError`.
    """
    if isinstance(value, dict) and path[-1:] == ("python",) and "source" not in value:
        for kind in KINDS:
            label, colon, _ = str(value.get(kind.noun, "")).rpartition(":")
            if colon:
                value["source"] = {label: read(kind, label, folder, f"{source}: {'.'.join(path)}")}
    parts = value.items() if isinstance(value, dict) else enumerate(value, 1) if isinstance(value, list) else ()
    for key, one in parts:
        add_sources(one, folder, source, (*path, str(key)))


def used(text: str) -> bool:
    """Returns whether a resolved scenario uses a Python class. Its runs then hold the GIL."""
    return any(True for kind in KINDS for _ in _tables(text, kind))


def refuse(text: str, where: str) -> None:
    """Raises `ClassError` if a resolved scenario uses a Python class.

    `where` completes the message "cannot run ...", as in "in the playground".
    """
    for kind in KINDS:
        for _, path, _ in _tables(text, kind):
            why = "only simulations support it (`bloatlab run`, `sweep`, `check`)"
            raise kind.error([f"{path}: a {kind.noun} in Python cannot run {where}; {why}"])


@dataclass(frozen=True)
class Factory:
    """Makes instances of the class named in one table of a scenario, with that table's parameters."""

    user: UserClass
    values: Mapping[str, Any]
    path: str

    @property
    def needs(self) -> list[str]:
        """The stack features used by the class: those in its `needs`, plus a timer if it has `on_timer`."""
        return [*self.user.needs(), *(["timer"] if hasattr(self.user.of, "on_timer") else [])]

    def __call__(self) -> object:
        """Makes a new instance."""
        return self.user.of(**self.values)


#: The factories for a run, by the part of the scenario that uses the class: "link.up", "tcp.mine".
Factories = Mapping[str, Factory]


def factories(text: str, laws: Mapping[str, type] | None, controllers: Mapping[str, type] | None) -> Factories:
    """Returns a factory for each Python law and controller that a resolved scenario names. Raises `ClassError`.

    `laws` and `controllers` contain the classes passed by the caller, by the names that the scenario uses.
    """
    found: dict[str, Factory] = {}
    for kind, given in zip(KINDS, (laws or {}, controllers or {}), strict=True):
        used: set[str] = set()
        for key, path, table in _tables(text, kind):
            label, colon, name = table[kind.noun].rpartition(":")
            if colon:
                user = loaded(kind, label, name, table["source"][label], path)
            elif name in given:
                user = _given(kind, given[name], name, path)
            else:
                names = f" ({', '.join(given)})" if given else ""
                valid = f'a file and a class, "{kind.example}", or for one run'
                line = f'no class "{name}" was passed{names}; expected {valid}'
                argument = f'{kind.argument}={{"{name}": CLASS}}'
                raise kind.error([f"{path}.{kind.noun}: {line} bloatlab.run(..., {argument})"])
            used.add(name)
            user.check(path)
            own = {key: value for key, value in table.items() if key not in kind.reserved}
            found[key] = Factory(user, user.parameters(own, path), path)
        if rest := [name for name in given if name not in used]:
            named = f'{kind.written} = {{ {kind.noun} = "{rest[0]}" }}'
            raise kind.error([f'{kind.argument}: no {kind.place} of the scenario names "{rest[0]}": {named}'])
    return found


def _given(kind: Kind, of: Any, name: str, path: str) -> UserClass:
    if not isinstance(of, type):
        line = f"{kind.argument}[{name!r}] is not a class but {type(of).__name__}"
        raise kind.error([f"{path}.{kind.noun}: {line}"])
    files = [f.__code__.co_filename for f in vars(of).values() if inspect.isfunction(f)]
    file = next((f for f in files if f != "<string>"), name)
    return UserClass(kind, of, Path(file).name, file)


def explained(failure: Exception, factories: Factories) -> ClassError:
    """Makes the error for a Python law or controller that failed in a run.

    The message names the file and the line, and the method's exception or the invalid value.
    """
    key, method, text, place = failure.args
    factory, cause = factories[key], failure.__cause__
    user = factory.user
    if text is None and cause is not None:
        line = user.line(method, cause)
    else:
        line = f"{user.label}:{line_of(user.of, method)}: {text}"
    error = user.kind.error([f"{factory.path}: {line}{f' ({place})' if place else ''}"])
    error.__cause__ = cause
    return error
