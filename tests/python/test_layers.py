"""The layers of both languages: a module imports only from layers below it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "bloatlab"

_spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
assert _spec is not None
assert _spec.loader is not None
layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(layers)


def crate(name: str, *dependencies: str, kind: str | None = None) -> dict[str, object]:
    return {
        "name": f"bloatlab-{name}",
        "dependencies": [{"name": f"bloatlab-{d}", "path": f"/crates/{d}", "kind": kind} for d in dependencies],
    }


def test_rust_imports_go_down_only():
    assert layers.problems(layers.metadata(ROOT)) == []


def test_files_of_a_crate_import_one_another_without_cycles():
    assert layers.cycle_problems(layers.metadata(ROOT)) == []


def test_a_cycle_is_found_through_re_exports_braces_and_inline_paths(tmp_path: Path):
    def write(name: str, code: str) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)

    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::Far;\n")
    write("a.rs", "mod inner;\nuse crate::{Far as F, b::{self, Near}};\n")
    write("a/inner.rs", "use super::A;\n#[cfg(test)]\nmod tests {\n    use crate::c::Far;\n}\n")
    write("b.rs", "// use crate::a::A;\nfn b(_: std::vec::Vec<u8>) {}\n")
    write("c.rs", "#[cfg(test)]\nmod tests;\n")
    write("c/tests.rs", "use crate::a::A;\n")
    files = layers.sources(tmp_path)
    assert layers.imports(files)[("a",)] == {("b",), ("c",)}
    assert layers.cycles(layers.imports(files)) == []
    # an import in the other direction creates a cycle; in Rust, a path in an expression also counts as an import
    write("c.rs", "pub struct Far;\nfn back() { crate::a::go() }\n")
    assert layers.cycles(layers.imports(layers.sources(tmp_path))) == [[("a",), ("c",)]]


def test_modules_import_one_another_without_cycles():
    assert layers.python_cycle_problems(PACKAGE) == []


@pytest.mark.parametrize(
    "back",
    [
        "from house import top",
        "import house.top",
        "def late():\n    from house.top import Roof",
        "def late():\n    from house import Roof",
        "from .. import top",
        "if TYPE_CHECKING:\n    from house.top import Roof",
        "import importlib\ndef late():\n    importlib.import_module('house.top')",
        "from importlib import import_module\nNAME = 'top'\ndef late():\n    import_module(f'house.{NAME}')",
    ],
)
def test_a_planted_cycle_of_python_is_found(tmp_path: Path, back: str):
    house = tmp_path / "house"
    (house / "cellar").mkdir(parents=True)
    (house / "__init__.py").write_text("from house.top import Roof\n")
    (house / "top.py").write_text("from house.cellar import wine\nfrom house import _core\nclass Roof: ...\n")
    (house / "cellar" / "__init__.py").write_text('"""Says house.top, and imports nothing."""\n')
    (house / "cellar" / "wine.py").write_text("import json\nNAME = 'house.top'\n")
    assert layers.python_cycle_problems(house) == []
    (house / "cellar" / "wine.py").write_text(back + "\n")
    assert layers.python_cycle_problems(house) == ["house.cellar.wine, house.top import one another in a cycle"]


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ([crate("units", "packet")], "units (shelf 0) imports packet (shelf 1): upwards, normal dependency"),
        ([crate("tcp", "qdisc")], "tcp (shelf 2) imports qdisc (shelf 2): sideways, normal dependency"),
        ([crate("qdisc", "record", kind="dev")], "qdisc (shelf 2) imports record (shelf 3): upwards, dev dependency"),
        ([crate("kitchen")], "has no shelf"),
    ],
)
def test_rust_imports_that_are_refused(packages: list[dict[str, object]], words: str):
    (line,) = layers.problems({"packages": packages})
    assert words in line


def test_foreign_crates_are_not_ours_to_judge():
    serde = {"name": "serde", "path": None, "kind": None}
    assert layers.problems({"packages": [{"name": "bloatlab-units", "dependencies": [serde]}]}) == []


def test_python_imports_go_down_only():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_simulation_py_runs_the_core():
    """Only the modules listed here import the core. Only `simulation` calls `_core.run`, only `driving` calls
    `DrivenRun`, and only `network` calls `NetworkRun`.
    """
    knowing = {
        "scenario.py",
        "simulation.py",
        "driving.py",
        "network.py",
        "live.py",
        "machines.py",
        "classes.py",
        "controllers.py",
        "laws.py",
        "deliveries.py",
        "workloads/build.py",
        "sweep/pasts.py",
    }
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names = [a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names]
        if "_core" in names:
            assert path.relative_to(PACKAGE).as_posix() in knowing, path
        calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
        if any(c.attr == "run" and isinstance(c.value, ast.Name) and c.value.id == "_core" for c in calls):
            assert path.name == "simulation.py", path
        if any(c.attr == "DrivenRun" for c in calls):
            assert path.name == "driving.py", path
        if any(c.attr == "NetworkRun" for c in calls):
            assert path.name == "network.py", path


def test_files_stay_readable():
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "tests" / "python").glob("*.py")]:
        assert len(path.read_text().splitlines()) <= 500, path
