"""Reads and checks the user's classes that a run calls, and describes their errors.

`laws`, `controllers` and `judge.transports` each define a `Kind`, which contains everything specific to their classes.
When a scenario is read, the source and every parameter of each law and controller that it names by file and class are
copied into it. Each run executes the source again. Classes passed to `bloatlab.run` are used as they are.
"""

import ast
import functools
import gc
import importlib.util
import inspect
import itertools
import json
import linecache
import math
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bloatlab import _core, files
from bloatlab.errors import line_in, nearest


class ClassError(_core.ScenarioError):
    """A user's class is invalid, or failed in a run. `args[0]` is a list of one line; the cause is chained."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Describes one kind of class that users write, for example laws.

    A kind defines how a scenario names such a class, which methods the class has, and the words in error messages.
    """

    #: The noun for such a class, for example "law". It is also the key that gives the class in a scenario:
    #: `python = { law = "mine.py:Mine" }`.
    noun: str
    #: Keys of the table `python` that are not parameters of the class. All other keys are.
    reserved: tuple[str, ...]
    #: The part of a scenario to which the reserved keys belong, as a possessive for error messages: "the queue's".
    owner: str
    #: The methods and their arguments after `self`.
    methods: Mapping[str, tuple[str, ...]]
    #: At least one method of each group is required.
    required: tuple[tuple[str, ...], ...]
    #: Forbidden modules, which would make two runs of one scenario differ, and what to use instead.
    instead: Mapping[str, str]
    #: Name of the argument of `bloatlab.run` that maps names to the user's classes.
    argument: str
    #: Path of the table in a scenario that names the class, for error messages ("queue.python").
    written: str
    #: The noun for the part of a scenario that uses the class, such as "stack".
    place: str
    #: An example of a valid name, with file and class ("mylaw.py:MyLaw"), for error messages.
    example: str
    error: type[ClassError]
    #: Finds the classes in a resolved scenario. For each class, the function yields the part of the scenario that uses
    #: the class (such as "link.up"), the path of the table that names the class, and this table.
    tables: Callable[[Mapping[str, Any]], Iterator[tuple[str, str, dict[str, Any]]]]
    #: Names allowed in a class's `needs` attribute.
    needs: tuple[str, ...] = ()
    #: Whether the file may import modules that are not installed packages.
    modules: bool = False


_counter = itertools.count()


@dataclass(frozen=True)
class UserClass:
    """A user's class. `label` is the name of the class's file in messages, and `file` is its name in tracebacks."""

    kind: Kind
    of: type
    label: str
    file: str

    def parameters(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Returns the value of every parameter: from `given`, or its default. Raises `ClassError`."""
        known = self._signature(path)
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            hint = nearest(unknown, [*known, *self.kind.reserved])
            has = ", ".join(known) or "none"
            raise self.kind.error(
                [f"{path}.{unknown}: {self.of.__name__} ({self.label}) has no such parameter ({has}){hint}"]
            )
        values: dict[str, Any] = {}
        for name, default in known.items():
            if name not in given and default is inspect.Parameter.empty:
                raise self.kind.error(
                    [f"{path}.{name}: missing; {self.of.__name__} ({self.label}) has no default for it"]
                )
            values[name] = self._value(given[name], default, f"{path}.{name}") if name in given else default
        return values

    def stored(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Returns the values of `parameters`, for storing them in a scenario.

        Raises `ClassError`, also for a default that is infinite or NaN, which a scenario cannot hold.
        """
        values = self.parameters(given, path)
        for name, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                why = f"the default of {name} is {value}, which a scenario cannot hold; use None or a finite number"
                raise self._invalid(path, "__init__", why)
        return values

    def _signature(self, path: str) -> dict[str, Any]:
        """Returns the class's parameters and their defaults."""
        found: dict[str, Any] = {}
        for name, p in inspect.signature(self.of).parameters.items():
            if p.kind in {p.VAR_KEYWORD, p.VAR_POSITIONAL}:
                continue
            why = ""
            if name in self.kind.reserved:
                why = f"{name} is {self.kind.owner} own key; give it another name"
            elif not _plain(p.default):
                why = f"the default of {name} is not a number, text, bool or None"
            elif isinstance(p.default, str) and (number := _number(p.default)) is not None:
                why = f'the default of {name} is the text "{p.default}"; write a number, {number}'
            if why:
                raise self._invalid(path, "__init__", why)
            found[name] = p.default
        return found

    def check(self, path: str) -> None:
        """Checks the methods, their signatures and the attribute `needs`. Raises `ClassError`."""
        name, methods = self.of.__name__, self.kind.methods
        for group in self.kind.required:
            if any(callable(getattr(self.of, m, None)) for m in group):
                continue
            own = [m for m, f in vars(self.of).items() if inspect.isfunction(f) and not m.startswith("_")]
            hint = next(filter(None, (nearest(o, methods) for o in own if o not in methods)), "")
            calls = [f"{m}({', '.join(('self', *methods[m]))})" for m in group]
            lacks = f"neither {' nor '.join(calls)}" if len(calls) > 1 else f"no {calls[0]}"
            rest = f"but {', '.join(own)}" if own else "and no other methods"
            raise self._invalid(path, "", f"{name} has {lacks}, {rest}{hint}")
        for need in self.needs():
            if need not in self.kind.needs:
                valid = ", ".join(self.kind.needs) or "none"
                text = f"needs has {need!r}; expected some of: {valid}{nearest(str(need), self.kind.needs)}"
                raise self._invalid(path, "", text)
        for method, arguments in methods.items():
            function = getattr(self.of, method, None)
            if function is None:
                continue
            try:
                inspect.signature(function).bind(None, *arguments)
            except (TypeError, ValueError):
                text = f"{method} is called with ({', '.join(('self', *arguments))})"
                raise self._invalid(path, method, text) from None

    def needs(self) -> list[Any]:
        """Returns the features named in the class's `needs` attribute."""
        needs = getattr(self.of, "needs", ())
        return [needs] if isinstance(needs, str) or not isinstance(needs, Iterable) else list(needs)

    def _value(self, given: Any, default: Any, path: str) -> Any:
        """Returns a parameter's value. A quantity such as "5ms" becomes a number, unless `default` is a string.

        Raises `ClassError` if the value does not fit the type of the default.
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
                fits, valid = isinstance(value, str), "a string"
            case _:
                fits, valid = _plain(value), "a number, a string, true or false"
        if not fits:
            raise self.kind.error([f"{path}: {json.dumps(given)[:80]} is not valid; expected {valid}"])
        return value

    def _invalid(self, path: str, method: str, text: str) -> ClassError:
        """Makes an error about the class itself, which names the line where `method` begins.

        If `method` is empty, the error names the line where the first method of the class begins.
        """
        return self.kind.error([f"{path}.{self.kind.noun}: {self.label}:{line_of(self.of, method)}: {text}"])

    def line(self, method: str, error: BaseException) -> str:
        """Describes an error in one line: file, line, method and exception."""
        try:
            said = str(error)
        except Exception:  # noqa: BLE001, `__str__` of the user's exception may fail
            said = "it cannot be shown"
        text = " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
        return f"{self.label}:{line_in(error, self.file) or line_of(self.of, method)}: {method} raised {text[:300]}"


def _number(text: str) -> int | None:
    """Parses a duration to ns, a rate to bit/s or a size to bytes; returns None for any other string."""
    match _core.quantity(text):
        case ("duration" | "rate" | "size", number):
            return int(number)
        case _:
            return None


def _plain(value: Any) -> bool:
    return value is inspect.Parameter.empty or value is None or isinstance(value, (bool, int, float, str))


def read(kind: Kind, label: str, folder: Path, at: str) -> str:
    """Reads the user's file `label` in `folder`. Raises `ClassError`.

    `at` is the path of the scenario's table that names the class; it appears in error messages.
    """
    try:
        return files.read_text(folder / label)
    except OSError as error:
        raise kind.error([f"{at}.{kind.noun}: {folder / label}: {(error.strerror or str(error)).lower()}"]) from None
    except UnicodeDecodeError:
        raise kind.error([f"{at}.{kind.noun}: {folder / label}: {files.NOT_TEXT}"]) from None


@functools.lru_cache(maxsize=64)
def checked(kind: Kind, label: str, name: str, source: str, at: str) -> UserClass:
    """Loads and checks a class, and caches the result. Raises `ClassError`.

    The returned class is used to check the user's file and to read the parameters and their defaults; each run loads
    the class again.
    """
    found = loaded(kind, label, name, source, at)
    found.check(at)
    return found


def loaded(kind: Kind, label: str, name: str, source: str, at: str) -> UserClass:
    """Executes the source of a file and finds its class. Raises `ClassError`."""
    file = label
    try:
        tree = parsed(source, file)
        _steady(kind, tree, label, at)
        module = ModuleType(f"bloatlab_{kind.noun}_{next(_counter)}")
        module.__file__ = file
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        sys.modules[module.__name__] = module  # dataclasses look up names of annotations in sys.modules
        try:
            exec(compile(tree, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  the user's own program
        finally:
            del sys.modules[module.__name__]
    except ClassError:
        raise
    except (Exception, SystemExit) as error:
        line, what = line_in(error, file), str(error)
        if isinstance(error, SyntaxError) and error.filename == file:
            line, what = error.lineno, error.msg
        text = " ".join(f"{type(error).__name__}: {what}".split())
        raise kind.error([f"{at}.{kind.noun}: {label}:{line or 1}: {text}"]) from error
    of = vars(module).get(name)
    if not isinstance(of, type):
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__]
        has = ", ".join(classes) or "none"
        raise kind.error([f"{at}.{kind.noun}: {label} has no class {name} ({has}){nearest(name, classes)}"])
    return UserClass(kind, of, label, file)


#: A lock held while a text is parsed; the garbage collector is off during this time.
_PARSING = threading.Lock()


def parsed(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """Parses the source of a Python file. Raises `SyntaxError`, and `ValueError` for null bytes.

    CPython 3.11 may raise SystemError if threads parse at the same time (gh-106905), and formatting a traceback also
    parses. Another thread can only run during the parse if the garbage collector calls Python code, so the
    collector is off.
    """
    with _PARSING:
        collects = gc.isenabled()
        gc.disable()
        try:
            return ast.parse(source, file)
        finally:
            if collects:
                gc.enable()


def _steady(kind: Kind, tree: ast.Module, label: str, at: str) -> None:
    """Raises `ClassError` if the file of a class imports a module that a class must not use.

    The modules in `kind.instead`, such as clocks and random numbers, are forbidden because equal seeds would not give
    equal runs. Modules that are not installed packages, such as other files of the user, are allowed only if
    `kind.modules` is set.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." if node.level else node.module or ""]
        else:
            continue
        for name in (n.partition(".")[0] for n in names):
            if name in kind.instead:
                why = f"imports {name}; a {kind.noun} uses {kind.instead[name]}, so that equal seeds give equal runs"
            elif not (kind.modules or _library(name)):
                unknown = f"imports {name or 'a file beside it'}, which is not an installed package"
                why = f"{unknown}; a {kind.noun} is one file"
            else:
                continue
            raise kind.error([f"{at}.{kind.noun}: {label}:{node.lineno}: {why}"])


@functools.cache
def libraries() -> list[Path]:
    """Returns the folders of Python's library and of installed packages."""
    return [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")]


def _library(name: str) -> bool:
    """Returns whether a module that a class imports belongs to Python, to bloatlab or to an installed package.

    A missing module counts as installed, because Python itself reports it on import.
    """
    if name == __name__.partition(".")[0] or name in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(name) if name else None
    if spec is None:
        return bool(name)
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return any(Path(place).resolve().is_relative_to(folder) for place in places for folder in libraries())


def line_of(of: type, method: str = "") -> int:
    """Returns the number of the line where a method begins; 1 if it is unknown.

    Without `method`, or if the class has no such method, this is the line where its first method begins.
    """
    own = getattr(of, method, None) if method else None
    groups = ([own], *(vars(part).values() for part in of.__mro__))
    for functions in groups:
        lines = [
            f.__code__.co_firstlineno
            for f in functions
            if inspect.isfunction(f) and f.__code__.co_filename != "<string>"
        ]
        if lines:
            return min(lines)
    return 1
