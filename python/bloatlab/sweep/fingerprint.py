"""Fingerprints of the code on which a stored result depends: the compiled core, and the functions that reduce a run.

The version of bloatlab does not change with every edit, so files are hashed: the core's file, the source of the modules
that contain the reducing functions, and the source of all modules that these import, except libraries. For libraries,
only the versions of Python, polars and numpy are hashed. A program can change the values in a function's closure, its
defaults, and the constants and functions of its own module that it reads, so these are also hashed.

Three things are not hashed: data files that a reducing function reads; the lists, tables and objects of its module; and
the variables of other modules. When one of these changes, give the `Measure` a new `version`.
"""

import ast
import dis
import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, EllipsisType, FunctionType, NoneType
from typing import Any

import numpy as np
import polars as pl

from bloatlab.classes import libraries, parsed
from bloatlab.simulation import core_file

#: The time when this module was loaded. If a source file has changed since then, the loaded code may be older than the
#: file.
_LOADED = time.time()

_OWN = __name__.partition(".")[0]

#: Types whose `repr` describes the value completely. Values of the last two types occur in compiled code.
_CONSTANTS = (NoneType, bool, int, float, complex, np.number, np.bool_, str, bytes, slice, EllipsisType)


class Unsure(Exception):  # noqa: N818  the run has no error, but it must not be stored
    """A result cannot be stored safely; the message says why."""


@functools.cache
def core() -> str:
    """Returns the SHA-256 of the compiled core. Raises `Unsure` if its file is newer than this process."""
    return hashlib.sha256(_unchanged(core_file())).hexdigest()


@functools.cache
def build() -> str:
    """Returns the SHA-256 of all of bloatlab, as loaded in this process.

    It covers the core, the Python files, and the versions that `code` includes.

    Raises `Unsure` if a file is newer than this process.
    """
    sha = hashlib.sha256(_versions() + core().encode())
    package = Path(__file__).resolve().parents[1]
    for path in sorted(package.rglob("*.py")):
        sha.update(f"\0{path.relative_to(package)}\0".encode() + _unchanged(path))
    return sha.hexdigest()


def travelling(*functions: Callable[..., Any]) -> str | None:
    """Returns the hash of the source of `functions` if another process can import them, or else None.

    Another process cannot import functions of `__main__`, so their code must be sent to it. Functions whose hash cannot
    be computed are treated in the same way. The result is also None if there are no functions.

    Values are not hashed: some are sent with the functions, and others, such as caches, change in a worker's own runs.
    """
    found: dict[FunctionType, bool] = {}
    try:
        _described(functions, found)
        modules = {function.__module__ for function in found}
        return None if "__main__" in modules or not modules else _hash([], modules)
    except Unsure:
        return None


def _versions() -> bytes:
    return f"{sys.version_info[:2]} polars {pl.__version__} numpy {np.__version__}".encode()


def code(*functions: Callable[..., Any]) -> str:
    """Returns the SHA-256 of what `functions` depend on: their names, their source, and the values that they read.

    Raises `Unsure` for a function whose source or closure cannot be determined.
    """
    found: dict[FunctionType, bool] = {}
    described = _described(functions, found)
    modules = {function.__module__ for function in found}
    read: set[str] = set()
    waiting = list(found)
    while waiting:  # the loop ends, because each function is added only once
        seen = set(found)
        read.update(_globals(waiting.pop(), found))
        waiting += found.keys() - seen
    return _hash([*described, *sorted(read)], modules)


def _hash(described: list[str], modules: set[str]) -> str:
    sha = hashlib.sha256(_versions())
    for text in described:
        sha.update(text.encode())
    for name, path in sorted(_reached(frozenset(modules)).items()):
        sha.update(f"\0{name}\0".encode() + _unchanged(path))
    return sha.hexdigest()


def _described(functions: Iterable[Callable[..., Any]], found: dict[FunctionType, bool]) -> list[str]:
    try:
        return [json.dumps(_named(function, found), sort_keys=True) for function in functions]
    except RecursionError:
        raise Unsure("a reducing function closes over a list or table that contains itself") from None


def _named(function: Any, found: dict[FunctionType, bool], module: dict[str, Any] | None = None) -> Any:
    """Describes a function as plain values: its place in the source, its closure, its defaults.

    Adds to `found` this function, and the functions in its closure and defaults. The value of a function in `found` is
    true while the function is being described. For `module`, see `_plain`.
    """
    if isinstance(function, functools.partial):
        return [_named(function.func, found), _plain(function.args, found), _plain(function.keywords, found)]
    if not isinstance(function, FunctionType):
        raise Unsure(f"{function!r} is not a plain function, so what it does cannot be known")
    compiled = function.__code__
    place = [function.__module__, function.__qualname__, compiled.co_firstlineno]
    if found.get(function):  # a function can be in its own closure
        return place
    found[function] = True
    try:
        cells = [_plain(c.cell_contents, found, module) for c in function.__closure__ or ()]
    except ValueError:
        raise Unsure(f"{function.__qualname__} closes over a variable that has no value yet") from None
    described = [*place, cells, _plain(function.__defaults__ or (), found, module)]
    if function.__kwdefaults__:
        described.append([[name, _plain(v, found, module)] for name, v in sorted(function.__kwdefaults__.items())])
    # file and line do not identify a lambda (a line can have several), nor code given to `exec` (it is in no file)
    if compiled.co_name == "<lambda>" or compiled.co_filename.startswith("<"):
        described.append(_plain(compiled, found))
    found[function] = False
    return described


def _globals(function: FunctionType, found: dict[FunctionType, bool]) -> Iterator[str]:
    """Describes the variables that a user's function reads from its module; adds this module's functions to `found`."""
    module = function.__globals__
    home = str(module.get("__name__"))
    if home.partition(".")[0] != _OWN:  # programs do not change bloatlab's own variables
        for name in _loaded(function.__code__) & module.keys():
            if (value := _plain(module[name], found, module)) is not None:
                yield json.dumps([home, name, value])


def _loaded(code: CodeType) -> set[str]:
    """Returns the names of the global variables that compiled code reads, including the functions inside it."""
    loads = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in loads}
    return names.union(*(_loaded(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def _plain(value: Any, found: dict[FunctionType, bool], module: dict[str, Any] | None = None) -> Any:
    """Describes a value as text, lists and tables. Raises `Unsure` for an object.

    With `module` (the variables of a user's module), only constants and functions are described, and functions of other
    modules only by name. For other values, which a run can change, the result is None.
    """
    match value:
        case _ if isinstance(value, _CONSTANTS):
            return repr(value)
        case tuple():
            return [_plain(v, found, module) for v in value]
        case FunctionType() if module is None or value.__globals__ is module:
            return _named(value, found, module)
        case _ if module is not None:
            return _name(value)
        case list():
            return [_plain(v, found) for v in value]
        case dict():
            return {str(_plain(k, found)): _plain(v, found) for k, v in value.items()}
        case set() | frozenset():
            return sorted(repr(_plain(v, found)) for v in value)
        case CodeType():
            return [value.co_code.hex(), value.co_names, _plain(value.co_consts, found)]
        case _ if callable(value):
            return _named(value, found)
        case _:
            raise Unsure(f"a reducing function closes over {type(value).__name__}, which has no plain value")


def _name(value: Any) -> list[Any] | None:
    """Returns the module and the name of a function, or None for another value."""
    name = [getattr(value, "__module__", None), getattr(value, "__qualname__", None)]
    return name if callable(value) and all(isinstance(part, str) for part in name) else None


@functools.cache
def _reached(names: frozenset[str]) -> dict[str, Path]:
    """Returns the source files of these modules and of all modules that they import.

    Includes only the modules of bloatlab and of the user, not those of libraries.
    """
    found: dict[str, Path] = {}
    own = {_OWN, *(name.partition(".")[0] for name in names)}
    for name in names:
        if _source(name, own) is None:
            raise Unsure(f"the source of {name} cannot be read")
    seen = set(names)
    waiting = list(names)
    while waiting:  # the loop ends, because each name is added only once
        name = waiting.pop()
        if (path := _source(name, own)) is not None:
            found[name] = path
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            new = _imports(package, path.read_bytes()) - seen
            seen |= new
            waiting += new
    return found


def _source(name: str, own: set[str]) -> Path | None:
    """Returns the source file of a module of bloatlab or of the user.

    Returns None for modules of libraries, and for names that are not modules with Python source.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    if name not in sys.modules and name.partition(".")[0] in own:  # the package imports this module on first use
        spec = _spec(name)
        file = spec.origin if spec is not None else None
    if not file or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    library = any(path.is_relative_to(folder) for folder in libraries())
    return path if name.partition(".")[0] == _OWN or not library else None


def _spec(name: str) -> ModuleSpec | None:
    """Finds a module. Unlike `importlib.util.find_spec`, does not import the packages that contain the module."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__spec__", None)
    above = name.rpartition(".")[0]
    if not above:
        return PathFinder.find_spec(name)
    package = _spec(above)
    folders = package.submodule_search_locations if package is not None else None
    return None if folders is None else PathFinder.find_spec(name, folders)


@functools.cache
def _imports(package: str, source: bytes) -> frozenset[str]:
    """Returns all names that the source of a module in `package` imports.

    Some names are not modules; `_source` returns None for these.
    """
    names: set[str] = set()
    for node in _statements(parsed(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yields every statement of a module, but no expressions: these make up most of a tree, and import nothing."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:  # the loop ends, because each node of the tree is added only once
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())


def _unchanged(path: Path) -> bytes:
    """Returns the bytes of a file. Raises `Unsure` if the file may have changed since it was loaded."""
    if path.stat().st_mtime > _LOADED:
        raise Unsure(f"{path} was written after this process began, so its code may not be what runs")
    return path.read_bytes()
