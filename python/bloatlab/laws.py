"""Laws written in Python: a class that decides about every packet, as the core's own laws do.

    queue.python = { law = "mylaw.py:MyLaw", target = "5ms" }   # in a scenario; path relative to its folder
    bloatlab.run(scenario, laws={"mine": MyLaw})                # for queue.python = { law = "mine" }

When a scenario is read, the file's text and every parameter of the class are copied into it. If the file changes, it
counts as a new scenario; results and stores record the law itself, and a cluster's workers need no file. Each run
executes the text again. See docs/adding-a-law-in-python.md.
"""

import ast
import functools
import importlib.util
import inspect
import itertools
import json
import linecache
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from bloatlab import _core
from bloatlab.errors import line_in, nearest

#: A law's verdict on a packet; None is "pass".
Verdict = Literal["pass", "drop", "mark"]

#: The arguments of a law's methods: a packet, and a view of its queue and link.
Packet = _core.LawPacket
View = _core.LawView

#: The methods of a law and their arguments after `self`; `crates/qdisc/src/law/mod.rs` says when each is called.
METHODS: Mapping[str, tuple[str, ...]] = {
    "arrive": ("packet", "view"),
    "head": ("packet", "view"),
    "left": ("packet", "view"),
    "empty": ("now_ns",),
    "overflow": ("now_ns",),
    "at_rest": ("now_ns",),
    "tick": ("view",),
    "probe": (),
}

#: Keys of `queue.python` that belong to the queue, not to the class.
_QUEUES = ("law", "limit", "source")
#: Text that every resolved scenario with a law in Python contains.
_SIGN = '"python":{'
#: Modules that would make two runs of one scenario differ, and what to use instead.
_UNSTEADY = {"random": "view.random()", "secrets": "view.random()", "time": "view.now_ns"}

_counter = itertools.count()


class LawError(_core.ScenarioError):
    """A law in Python that is invalid, or that failed in a run. `args[0]` has one line; the cause is chained."""


@dataclass(frozen=True)
class Law:
    """A law's class. `label` names its file in messages, `file` in tracebacks."""

    of: type
    label: str
    file: str

    def parameters(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Returns the value of every parameter: from `given`, or else its default. Raises `LawError`."""
        known = self._signature(path)
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            hint = nearest(unknown, [*known, *_QUEUES])
            has = ", ".join(known) or "none"
            raise LawError([f"{path}.{unknown}: {self.of.__name__} ({self.label}) has no such parameter ({has}){hint}"])
        values: dict[str, Any] = {}
        for name, default in known.items():
            if name not in given and default is inspect.Parameter.empty:
                raise LawError([f"{path}.{name}: missing; {self.of.__name__} ({self.label}) has no default for it"])
            values[name] = _value(given[name], default, f"{path}.{name}") if name in given else default
        return values

    def _signature(self, path: str) -> dict[str, Any]:
        """Returns the class's parameters and their defaults."""
        found: dict[str, Any] = {}
        for name, p in inspect.signature(self.of).parameters.items():
            if p.kind in {p.VAR_KEYWORD, p.VAR_POSITIONAL}:
                continue
            why = ""
            if name in _QUEUES:
                why = f"{name} is the queue's own key; give it another name"
            elif not _plain(p.default):
                why = f"the default of {name} is not a number, text, bool or None"
            elif isinstance(p.default, str) and (number := _number(p.default)) is not None:
                why = f'the default of {name} is the text "{p.default}"; write a number, {number}'
            if why:
                raise LawError([f"{path}.law: {self.label}:{line_of(self.of, '__init__')}: {why}"])
            found[name] = p.default
        return found

    def check(self, path: str) -> None:
        """Checks the methods and their signatures. Raises `LawError`."""
        name = self.of.__name__
        if not any(callable(getattr(self.of, m, None)) for m in ("arrive", "head")):
            own = [m for m, f in vars(self.of).items() if inspect.isfunction(f) and not m.startswith("_")]
            hint = next(filter(None, (nearest(o, METHODS) for o in own)), "")
            has = ", ".join(own) or "none"
            text = f"{name} has neither arrive(self, packet, view) nor head(self, packet, view), but {has}{hint}"
            raise LawError([f"{path}.law: {self.label}:{line_of(self.of)}: {text}"])
        for method, arguments in METHODS.items():
            function = getattr(self.of, method, None)
            if function is None:
                continue
            try:
                inspect.signature(function).bind(None, *arguments)
            except (TypeError, ValueError):
                text = f"{method} is called with ({', '.join(('self', *arguments))})"
                raise LawError([f"{path}.law: {self.label}:{line_of(self.of, method)}: {text}"]) from None

    def line(self, method: str, error: BaseException) -> str:
        """Describes a law's error in one line: file, line, method and exception."""
        text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        return f"{self.label}:{line_in(error, self.file) or line_of(self.of, method)}: {method} raised {text[:300]}"


def _number(text: str) -> int | None:
    """Parses a duration in ns, a rate in bit/s or a size in bytes; None for any other text."""
    match _core.quantity(text):
        case ("duration" | "rate" | "size", number):
            return int(number)
        case _:
            return None


def _plain(value: Any) -> bool:
    return value is inspect.Parameter.empty or value is None or isinstance(value, (bool, int, float, str))


def _value(given: Any, default: Any, path: str) -> Any:
    """Returns a parameter's value, with quantities as numbers.

    Raises `LawError` if its type is not that of the default.
    """
    number = _number(given) if isinstance(given, str) and not isinstance(default, str) else None
    value = given if number is None else number
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    match default:
        case bool():
            fits, valid = isinstance(value, bool), "true or false"
        case int():
            whole = numeric and float(value).is_integer()
            fits, valid = whole, "a whole number, or a quantity such as 5ms (ns), 10mbit (bit/s), 3KB (bytes)"
            value = int(value) if whole else value
        case float():
            fits, valid = numeric, "a number, or a quantity such as 5ms (ns), 10mbit (bit/s), 3KB (bytes)"
            value = float(value) if numeric else value
        case str():
            fits, valid = isinstance(value, str), "a text"
        case _:
            fits, valid = _plain(value), "a number, a text, true or false"
    if not fits:
        raise LawError([f"{path}: {json.dumps(given)[:80]} is not valid; expected {valid}"])
    return value


def completed(text: str, folder: Path | None, source: str) -> str:
    """Copies the source and parameters of laws in Python into a resolved scenario; returns `text` if it has none.

    Paths are relative to `folder`. `source` names the scenario in messages. Raises `LawError`.
    """
    if _SIGN not in text:
        return text
    tree = json.loads(text)
    for _, path, table in _tables(tree):
        label, colon, name = table["law"].rpartition(":")
        if not colon:  # without a colon, `law` names a class that is passed to `run`
            continue
        at = f"{source}: {path}" if source else path
        held = table.get("source", {})
        table["source"] = {label: held[label] if label in held else _read(label, folder or Path(), at)}
        law = _checked(label, name, table["source"][label], at)
        own = {key: table.pop(key) for key in list(table) if key not in _QUEUES}
        table.update(law.parameters(own, at))
    return json.dumps(tree)


def refuse(text: str, where: str) -> None:
    """Raises `LawError` if a resolved scenario has a law in Python. The message says `where` such laws cannot run."""
    for _, path, _ in _tables(json.loads(text)) if _SIGN in text else ():
        why = "only simulations support it (`bloatlab run`, `sweep`, `check`)"
        raise LawError([f"{path}: a law in Python cannot run {where}; {why}"])


def _tables(tree: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields the link, path and table of each law in Python."""
    for name, link in tree["link"].items():
        for kind, table in link["queue"].items():
            path = f"link.{name}.queue.{kind}"
            if kind == "python":
                yield name, path, table
            elif isinstance(table.get("law"), dict) and "python" in table["law"]:
                yield name, f"{path}.law.python", table["law"]["python"]


def _read(label: str, folder: Path, at: str) -> str:
    try:
        return (folder / label).read_text(encoding="utf-8")
    except OSError as error:
        raise LawError([f"{at}.law: {folder / label}: {(error.strerror or str(error)).lower()}"]) from None
    except UnicodeDecodeError:
        raise LawError([f"{at}.law: {folder / label}: not a text file"]) from None


@functools.lru_cache(maxsize=64)
def _checked(label: str, name: str, source: str, at: str) -> Law:
    """Loads and checks a law's class, cached; used for its parameters, not in runs."""
    law = loaded(label, name, source, at)
    law.check(at)
    return law


def loaded(label: str, name: str, source: str, at: str) -> Law:
    """Executes the text of a file and finds its class. Raises `LawError`."""
    file = label
    try:
        tree = ast.parse(source, file)
        _steady(tree, label, at)
        module = ModuleType(f"bloatlab_law_{next(_counter)}")
        module.__file__ = file
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        sys.modules[module.__name__] = module  # dataclasses look up names of annotations in sys.modules
        try:
            exec(compile(tree, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  the user's own program
        finally:
            del sys.modules[module.__name__]
    except LawError:
        raise
    except (Exception, SystemExit) as error:
        line, what = line_in(error, file), str(error)
        if isinstance(error, SyntaxError) and error.filename == file:
            line, what = error.lineno, error.msg
        text = " ".join(f"{type(error).__name__}: {what}".split())
        raise LawError([f"{at}.law: {label}:{line or 1}: {text}"]) from error
    of = vars(module).get(name)
    if not isinstance(of, type):
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__]
        has = ", ".join(classes) or "none"
        raise LawError([f"{at}.law: {label} has no class {name} ({has}){nearest(name, classes)}"])
    return Law(of, label, file)


def _steady(tree: ast.Module, label: str, at: str) -> None:
    """Raises `LawError` for imports that a scenario cannot contain: other files, clocks, other random numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." if node.level else node.module or ""]
        else:
            continue
        for name in (n.partition(".")[0] for n in names):
            if name in _UNSTEADY:
                why = f"imports {name}; a law uses {_UNSTEADY[name]}, so that equal seeds give equal runs"
            elif not _library(name):
                why = f"imports {name or 'a file beside it'}, which is not an installed package; a law is one file"
            else:
                continue
            raise LawError([f"{at}.law: {label}:{node.lineno}: {why}"])


@functools.cache
def libraries() -> list[Path]:
    """Returns the folders of Python's library and of installed packages."""
    return [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")]


def _library(name: str) -> bool:
    """Returns whether a module that a law imports belongs to Python, to bloatlab or to an installed package.

    Python reports a missing one.
    """
    if name == __name__.partition(".")[0] or name in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(name) if name else None
    if spec is None:
        return bool(name)
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return any(Path(place).resolve().is_relative_to(folder) for place in places for folder in libraries())


def line_of(of: type, method: str = "") -> int:
    """Returns the first line of a method of a class, or of its first method; 1 if unknown."""
    functions: list[Any] = [getattr(of, method, None)] if method else list(vars(of).values())
    lines = [
        f.__code__.co_firstlineno for f in functions if inspect.isfunction(f) and f.__code__.co_filename != "<string>"
    ]
    return min(lines, default=1)


# ------------------------------------------------------------------------------------------------------- for a run


@dataclass(frozen=True)
class Maker:
    """Makes law objects for one queue: instances of the class with the scenario's parameters."""

    law: Law
    values: Mapping[str, Any]
    path: str

    def __call__(self) -> object:
        """Makes a new instance."""
        return self.law.of(**self.values)


def makers(text: str, given: Mapping[str, type]) -> dict[str, Maker]:
    """Returns the law makers of a resolved scenario, by link; `given` has classes by name. Raises `LawError`."""
    laws: dict[str, Maker] = {}
    used: set[str] = set()
    for link, path, table in _tables(json.loads(text)) if _SIGN in text or given else ():
        label, colon, name = table["law"].rpartition(":")
        if colon:
            law = loaded(label, name, table["source"][label], path)
        elif name in given:
            law = _given(given[name], name, path)
        else:
            names = f" ({', '.join(given)})" if given else ""
            text = f'no class "{name}" was passed{names}; expected a file and a class, "mylaw.py:MyLaw", or'
            raise LawError([f'{path}.law: {text} bloatlab.run(..., laws={{"{name}": CLASS}})'])
        used.add(name)
        law.check(path)
        own = {key: value for key, value in table.items() if key not in _QUEUES}
        laws[link] = Maker(law, law.parameters(own, path), path)
    if rest := [name for name in given if name not in used]:
        raise LawError([f'laws: no queue of the scenario names "{rest[0]}": queue.python = {{ law = "{rest[0]}" }}'])
    return laws


def _given(of: Any, name: str, path: str) -> Law:
    if not isinstance(of, type):
        raise LawError([f"{path}.law: laws[{name!r}] is not a class but {type(of).__name__}"])
    files = [f.__code__.co_filename for f in vars(of).values() if inspect.isfunction(f)]
    file = next((f for f in files if f != "<string>"), name)
    return Law(of, Path(file).name, file)


def explained(failure: Exception, laws: Mapping[str, Maker]) -> LawError:
    """Makes the error for a law that failed in a run: its file, line, method, and what it raised or returned."""
    link, method, text = failure.args
    maker = laws[link]
    cause = failure.__cause__
    if text is None and cause is not None:
        line = maker.law.line(method, cause)
    else:
        line = f"{maker.law.label}:{line_of(maker.law.of, method)}: {text}"
    error = LawError([f"{maker.path}: {line}"])
    error.__cause__ = cause
    return error
