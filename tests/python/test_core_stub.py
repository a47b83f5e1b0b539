"""`_core.pyi` agrees with the compiled module in names and parameters."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from bloatlab import _core

STUB = Path(_core.__file__).with_name("_core.pyi")

#: Placeholder for a default that the stub or the module abbreviates; it matches any default.
SOME = "..."


def module_names(of: Any) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


def stub_defs(body: list[ast.stmt]) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Returns functions and classes by name, except typed dictionaries, which are used only in annotations."""
    found = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    typed = {
        n for n, node in found.items() if isinstance(node, ast.ClassDef) and "TypedDict" in map(ast.unparse, node.bases)
    }
    return {name: node for name, node in found.items() if name not in typed}


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, str, str | None]]:
    """Returns (name, kind, default) of each parameter, without `self` and `cls`."""
    args = function.args
    assert not any((args.posonlyargs, args.vararg, args.kwarg))
    defaults = [None] * (len(args.args) - len(args.defaults)) + args.defaults
    pairs = [(arg.arg, "plain", default) for arg, default in zip(args.args, defaults, strict=True)]
    pairs += [(arg.arg, "keyword", default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return [
        (name, kind, None if default is None else ast.unparse(default))
        for name, kind, default in pairs
        if name not in {"self", "cls"}
    ]


def module_parameters(called: Any) -> list[tuple[str, str, str | None]]:
    """Returns the parameters of a callable of the compiled module."""
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "plain", inspect.Parameter.KEYWORD_ONLY: "keyword"}
    found: list[tuple[str, str, str | None]] = []
    for p in inspect.signature(called).parameters.values():
        if p.name == "self":
            continue
        default = None if p.default is p.empty else SOME if p.default is ... else repr(p.default)
        found.append((p.name, kinds[p.kind], default))
    return found


def agree(stub: list[tuple[str, str, str | None]], real: list[tuple[str, str, str | None]]) -> bool:
    def alike(one: str | None, two: str | None) -> bool:
        return one == two or (one is not None and two is not None and SOME in {one, two})

    return [p[:2] for p in stub] == [p[:2] for p in real] and all(
        alike(s[2], r[2]) for s, r in zip(stub, real, strict=True)
    )


DEFS = stub_defs(ast.parse(STUB.read_text()).body)
CLASSES = {name: node for name, node in DEFS.items() if isinstance(node, ast.ClassDef)}
FUNCTIONS = [
    *((_core, node) for node in DEFS.values() if isinstance(node, ast.FunctionDef)),
    *((getattr(_core, name), f) for name, node in CLASSES.items() for f in stub_defs(node.body).values()),
]


def test_names_are_those_of_the_module():
    assert set(DEFS) == module_names(_core)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_members_of_the_stub(name: str):
    stub = set(stub_defs(CLASSES[name].body)) - {"__new__"}
    real = getattr(_core, name)
    if not issubclass(real, BaseException):
        assert stub == module_names(real)


@pytest.mark.parametrize(("of", "function"), FUNCTIONS, ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")))
def test_a_function_is_called_as_the_stub_says(of: Any, function: ast.FunctionDef):
    if any(ast.unparse(d) == "property" for d in function.decorator_list):
        assert inspect.isdatadescriptor(vars(of)[function.name])
        return
    real = of if function.name == "__new__" else getattr(of, function.name)
    stub, found = stub_parameters(function), module_parameters(real)
    assert agree(stub, found), f"stub: {stub}; module: {found}"


@pytest.mark.parametrize(
    ("name", "definition"), [("ScenarioDict", None), ("LinkDict", "Link"), ("AppDict", "App"), ("RecordDict", "Record")]
)
def test_the_types_of_plain_values_have_the_keys_of_the_schema(name: str, definition: str | None):
    """The stub's typed dictionaries of scenarios, links, applications and records have the keys of the schema.

    The stub defines a typed dictionary either as a class, or by assigning `TypedDict("Name", {key: type})`.
    """
    keys: dict[str, set[str]] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            keys[node.name] = {ast.unparse(field.target) for field in node.body if isinstance(field, ast.AnnAssign)}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            words = [key.value for key in ast.walk(node.value.args[1]) if isinstance(key, ast.Constant)]
            keys[ast.unparse(node.targets[0])] = set(map(str, words))
    schema = json.loads(_core.schema())
    declared = schema if definition is None else schema["$defs"][definition]
    assert keys[name] == set(declared["properties"])
