#!/usr/bin/env python3
"""Checks that crates depend only on crates on lower shelves, and that files do not import one another in a cycle.

docs/architecture.md explains the shelves. The rule also holds for dependencies of builds and tests, so that each crate
can be understood, tested and replaced without those above it. Reads `cargo metadata --no-deps`, which needs no network
and builds nothing.

The files of a crate must not import one another in a cycle, directly or through other files. An import is a path in the
code (`use crate::a::B`, `super::b()`), followed through re-exports to the file that defines the name; imports in tests
do not count.

The modules of the Python package must not import one another in a cycle either. Every `import` counts, at the top of a
file, inside a function or only for type checkers, and so does a string passed to `importlib.import_module`.
lint-imports checks that the package's imports only go down (`pyproject.toml`).

Exit code 0: no problem. 1: a dependency on a crate that is not lower, a crate without a shelf, or a cycle; prints one
line for each. 2: cargo failed.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PREFIX = "bloatlab-"

#: The shelf of every crate, counted from 0 at the bottom. A crate may depend only on crates on lower shelves.
SHELVES: dict[str, int] = {
    name: shelf
    for shelf, names in enumerate(
        (
            ("units",),
            ("packet",),
            ("qdisc", "tcp", "docsis", "traffic"),
            ("record",),
            ("measure",),
            ("port",),
            ("scenario",),
            ("live", "sim"),
            ("face", "net"),
            ("py", "web"),
            ("floor", "fuzz", "twins"),
            ("speed",),
        )
    )
    for name in names
}


#: The path of a module. In Rust it begins below the crate: ("cc", "bbr"). In Python it begins with the package:
#: ("bloatlab", "plots").
Module = tuple[str, ...]

TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+(\w+)\s*(;|\{)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
USE = re.compile(r"(?P<public>pub(?:\([a-z]+\))?\s+)?use\s+(?P<tree>[^;]+);")
INLINE = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def leaves(tree: str) -> Iterator[tuple[Module, str]]:
    """Yields the path and local name of each item in a `use`: `a::{b, c as d}` gives a::b as b and a::c as d."""
    tree = tree.strip()
    if tree.endswith("}"):
        head, _, inner = tree.partition("{")
        prefix = tuple(part.strip() for part in head.split("::") if part.strip())
        depth, start = 0, 0
        for at, char in enumerate(inner):
            depth += (char == "{") - (char == "}")
            if (char == "," and depth == 0) or depth < 0:
                if inner[start:at].strip():
                    for path, name in leaves(inner[start:at]):
                        yield prefix + path, name
                start = at + 1
        return
    path, _, name = tree.partition(" as ")
    parts = tuple(part.strip() for part in path.split("::"))
    if parts[-1] == "self":
        parts = parts[:-1]
    yield parts, name.strip() or (parts[-1] if parts else "")


def sources(root: Path) -> dict[Module, str]:
    """Returns the code of each file in a crate's `src`, by module, without comments and tests."""
    found: dict[Module, str] = {}
    tests: set[Module] = set()
    for path in sorted(root.rglob("*.rs")):
        relative = path.relative_to(root).with_suffix("").parts
        module = relative[:-1] if relative[-1] in ("lib", "main", "mod") else relative
        code = COMMENT.sub("", path.read_text(encoding="utf-8"))
        for match in TEST_MODULE.finditer(code):
            tests.add((*module, match[1]))
            if match[2] == "{":
                # tests are always at the end of a file
                code = code[: match.start()]
                break
        found[module] = code
    return {m: code for m, code in found.items() if not any(m[: len(t)] == t for t in tests)}


def imports(files: dict[Module, str]) -> dict[Module, set[Module]]:
    """Returns the files that each file imports from."""
    uses: dict[Module, list[tuple[Module, str]]] = {}
    exports: dict[Module, dict[str, Module]] = {}
    for module, code in files.items():
        named = [(leaf, m["public"]) for m in USE.finditer(code) for leaf in leaves(m["tree"])]
        inline = [(tuple(m[0].split("::")), "") for m in INLINE.finditer(USE.sub("", code))]
        uses[module] = [leaf for leaf, _ in named] + inline
        exports[module] = {name: path for (path, name), public in named if public}

    def resolve(path: Module, at: Module, depth: int = 0) -> Module | None:
        """Returns the file that defines the name `path`, seen from `at`; None if no module of this crate does."""
        here = at
        if path and path[0] == "crate":
            here, path = (), path[1:]
        elif path and path[0] in ("self", "super"):
            while path and path[0] in ("self", "super"):
                here, path = (here[:-1] if path[0] == "super" else here), path[1:]
        elif not path or (*at, path[0]) not in files:
            return None
        while path and (*here, path[0]) in files:
            here, path = (*here, path[0]), path[1:]
        onward = exports.get(here, {}).get(path[0]) if path else None
        if onward is not None and depth < 8:
            return resolve(onward + path[1:], here, depth + 1) or here
        return here

    edges: dict[Module, set[Module]] = {}
    for module, paths in uses.items():
        targets = {resolve(path, module) for path, _ in paths}
        edges[module] = {t for t in targets if t is not None and t != module and t in files}
    return edges


def cycles(edges: dict[Module, set[Module]]) -> list[list[Module]]:
    """Returns the cycles among files, each as a list of its modules. `edges` contains each file's imports."""
    reach: dict[Module, set[Module]] = {}
    for start in edges:
        seen: set[Module] = set()
        ahead = [start]
        while ahead:
            for target in edges[ahead.pop()] - seen:
                seen.add(target)
                ahead.append(target)
        reach[start] = seen
    found = {frozenset({m} | {n for n in reach[m] if m in reach[n]}) for m in edges if m in reach[m]}
    return sorted(sorted(cycle) for cycle in found)


def cycle_problems(metadata: dict[str, Any]) -> list[str]:
    """Returns one line per cycle among the files of a crate."""
    return [
        f"{package['name'].removeprefix(PREFIX)}: its files {', '.join('::'.join(m) or 'lib' for m in cycle)} "
        "import one another in a cycle"
        for package in metadata["packages"]
        for cycle in cycles(imports(sources(Path(package["manifest_path"]).parent / "src")))
    ]


def python_sources(package: Path) -> dict[Module, ast.Module]:
    """Parses the modules of a Python package, by name: ("bloatlab", "plots") is plots/__init__.py or plots.py."""
    found: dict[Module, ast.Module] = {}
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package.parent).with_suffix("").parts
        found[module[:-1] if module[-1] == "__init__" else module] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def python_imports(files: dict[Module, ast.Module]) -> dict[Module, set[Module]]:
    """Returns the modules that each module imports, anywhere in its code.

    If a package re-exports a name, the import counts for the file that defines the name.
    """
    packages = {module[:-1] for module in files}
    named = {module: dict(_named(module, module in packages, tree)) for module, tree in files.items()}

    def resolve(path: Module, depth: int = 0) -> Module:
        """Returns the file that defines the name `path`; () if it is not part of this package."""
        if path in files or not path:
            return path
        onward = named.get(path[:-1], {}).get(path[-1])
        if onward is not None and path[:-1] in packages and depth < len(files):
            return resolve(onward, depth + 1)
        return resolve(path[:-1], depth)

    edges: dict[Module, set[Module]] = {}
    for module, tree in files.items():
        # _core is not a Python file, so `from bloatlab import _core` resolves only to the package `bloatlab`. Such an
        # import does not count, because Python imports the package before any of its modules
        targets = {to for path in named[module].values() if len(to := resolve(path)) > 1 or path == to}
        loaded = _loaded(tree)
        targets |= {known for known in files for text in loaded if re.fullmatch(text, ".".join(known))}
        edges[module] = targets - {(), module}
    return edges


def _named(module: Module, is_package: bool, tree: ast.Module) -> Iterator[tuple[str, Module]]:
    """Yields each imported name and the path it stands for: `from a.b import c as d` gives d and a.b.c."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module[: len(module) - node.level + is_package] if node.level else ()
            base = above + tuple((node.module or "").split(".") if node.module else ())
            yield from ((alias.asname or alias.name, (*base, alias.name)) for alias in node.names)


def _loaded(tree: ast.Module) -> list[str]:
    """Returns regular expressions for the modules that a module may load with `importlib.import_module`.

    Every printable string in the module counts, except an f-string that begins with a {}. Any other {} matches any
    name.
    """
    if "import_module" not in ast.dump(tree):
        return []
    parts = [n.values if isinstance(n, ast.JoinedStr) else [n] for n in ast.walk(tree)]
    texts = [[v.value if isinstance(v, ast.Constant) else None for v in part] for part in parts]
    return [
        "".join(r"[^.]+" if t is None else re.escape(str(t)) for t in text)
        for text in texts
        if isinstance(text[0], str) and text[0].isprintable()
    ]


def python_cycle_problems(package: Path) -> list[str]:
    """Returns one line per cycle among the modules of a Python package."""
    return [
        f"{', '.join('.'.join(m) for m in cycle)} import one another in a cycle"
        for cycle in cycles(python_imports(python_sources(package)))
    ]


def problems(metadata: dict[str, Any]) -> list[str]:
    """Returns one line for each dependency that is not on a lower shelf, and for each crate that SHELVES does not list.

    `metadata` is the output of `cargo metadata --no-deps --format-version 1`.
    """
    found: list[str] = []
    for package in sorted(metadata["packages"], key=lambda p: p["name"]):
        crate = package["name"].removeprefix(PREFIX)
        if crate not in SHELVES:
            found.append(f"{package['name']}: has no shelf; give it one in tools/layers.py and docs/architecture.md")
            continue
        for dependency in package["dependencies"]:
            lower = dependency["name"].removeprefix(PREFIX)
            is_ours = dependency.get("path") is not None
            if not is_ours or lower not in SHELVES:
                continue
            if SHELVES[lower] >= SHELVES[crate]:
                way = "sideways" if SHELVES[lower] == SHELVES[crate] else "upwards"
                kind = dependency.get("kind") or "normal"
                shelves = f"{crate} (shelf {SHELVES[crate]}) imports {lower} (shelf {SHELVES[lower]})"
                found.append(f"{shelves}: {way}, {kind} dependency")
    return found


def metadata(root: Path) -> dict[str, Any]:
    """Returns cargo's metadata of the workspace at `root`, without external crates."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(root / "Cargo.toml")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Checks the workspace that this file belongs to; returns the exit code."""
    root = Path(__file__).resolve().parent.parent
    try:
        known = metadata(root)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"layers: cargo metadata failed: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
        return 2
    found = problems(known) + cycle_problems(known) + python_cycle_problems(root / "python" / "bloatlab")
    for line in found:
        print(f"layers: {line}", file=sys.stderr)
    if not found:
        print(
            f"layers: {len(known['packages'])} crates, imports go down only; no cycles among files of Rust and Python"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
