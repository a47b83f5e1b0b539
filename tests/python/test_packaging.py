"""The set-up of a fresh clone: pinned requirements, messages for missing programs, and the parts of `make check`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "least"), [("run.txt", 10), ("dev.txt", 10), ("lint.txt", 4), ("wheel.txt", 3), ("sb3.txt", 10)]
)
def test_requirements_are_hashed_and_name_no_place(name: str, least: int):
    text = (ROOT / "requirements" / name).read_text()
    assert "http" not in text
    assert "index" not in text
    pins = re.findall(
        r"^[a-z0-9-]+==\S+.*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, flags=re.MULTILINE
    )
    assert len(pins) == len(re.findall(r"^\S+==", text, flags=re.MULTILINE)) >= least


def test_build_tool_is_pinned_alike_everywhere():
    (wanted,) = set(re.findall(r"maturin==([\d.]+)", (ROOT / "pyproject.toml").read_text()))
    for name in ("run.txt", "dev.txt", "wheel.txt"):
        assert re.findall(r"^maturin==([\d.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE) == [wanted]


def preflight(python: str, *parts: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path} if path is not None else None
    command = ["/bin/sh", "tools/preflight.sh", python, *parts]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_this_machine_is_complete():
    assert preflight("python3", "python", "rust").returncode == 0


def test_a_missing_python_is_named_with_its_package():
    done = preflight("no-such-python", "python")
    assert done.returncode == 1
    assert "apt-get install python3 python3-venv" in done.stderr


def test_a_missing_venv_is_named_with_its_package(tmp_path: Path):
    fake = tmp_path / "python3"
    fake.write_text('#!/bin/sh\ncase "$2" in *version_info\\[*) echo 3.11;; import*) exit 1;; esac\n')
    fake.chmod(0o755)
    done = preflight(str(fake), "python")
    assert done.returncode == 1
    assert "the Python module venv" in done.stderr
    assert "apt-get install python3.11-venv" in done.stderr


def test_a_missing_compiler_is_named_with_its_package(tmp_path: Path):
    for tool in ("sed", "head", "sort"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = preflight("python3", "rust", path=str(tmp_path))
    assert done.returncode == 1
    assert "apt-get install gcc" in done.stderr
    assert "apt-get install cargo" in done.stderr


def executable(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_ci_runs_every_check(tmp_path: Path):
    for name in ("make", "id", "apt-get", "timeout"):
        executable(tmp_path / name, 'test "$(basename "$0")" = make && echo "made: $*"; echo 1')
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    (tmp_path / "basename").symlink_to("/usr/bin/basename")
    command = ["/bin/sh", str(ROOT / ".ci" / "run")]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    made = [line for line in done.stdout.splitlines() if line.startswith("made")]
    assert (done.returncode, made) == (
        0,
        [
            "made: -j2 --output-sync=target --keep-going check-rust check-python",
            "made: test --keep-going",
            "made: target/aioquic/.stamp",
            "made: -j2 --output-sync=target --keep-going ROUNDS=1 transports-python fuzz",
        ],
    )


def test_check_is_lints_types_documentation_layers_and_then_tests():
    command = ["make", "--no-print-directory", "-n", "check", "PYTHON=python3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps = ["cargo fmt", "cargo clippy", "cargo doc", "layers.py", "ruff format --check", "ruff check", "basedpyright",
             "lint-imports", "cargo test", "pytest"]  # fmt: skip
    places = [done.stdout.index(step) for step in steps]
    assert places == sorted(places)
    assert "pytest" in done.stdout.splitlines()[-1]


def test_what_the_playground_needs_is_named(tmp_path: Path):
    for tool in ("sed", "head", "sort"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = preflight("python3", "web", path=str(tmp_path))
    assert done.returncode == 1
    assert "npm is missing" in done.stderr
    assert "apt-get install nodejs" in done.stderr
    assert "rustup target add wasm32-unknown-unknown" in done.stderr


def test_with_rustup_no_package_is_named_for_what_rustup_brings(tmp_path: Path):
    for tool in ("sed", "head", "sort"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    for tool in ("rustup", "cc", "npm", "node"):
        executable(tmp_path / tool, "exit 0")
    executable(tmp_path / "rustc", "echo rustc 1.1.0")
    executable(tmp_path / "cargo", "exit 1")
    done = preflight("python3", "rust", "lint", "web", "aarch64-unknown-linux-musl", path=str(tmp_path))
    assert done.returncode == 1
    assert "apt-get" not in done.stderr
    for command in (
        "update stable",
        "component add rustfmt",
        "component add clippy",
        "target add wasm32-unknown-unknown",
        "target add aarch64-unknown-linux-musl",
    ):
        assert f"Run: rustup {command}" in done.stderr


def test_a_node_of_today_is_new_enough(tmp_path: Path):
    (tmp_path / "npm").write_text("#!/bin/sh\n")
    for version, enough in (("v20.20.2", True), ("v16.1.0", False)):
        node = tmp_path / "node"
        number = version.removeprefix("v").partition(".")[0]
        # this script replaces node. Like a new version of node, it fails (7) if `process.exit` gets a boolean; if
        # `process.exit` gets a number, the script succeeds from version 18 on
        node.write_text(
            f'#!/bin/sh\ncase "$1" in --version) echo {version};; '
            f'*) case "$2" in *"? 1 : 0"*) [ {number} -ge 18 ];; *) exit 7;; esac;; esac\n'
        )
        for program in (node, tmp_path / "npm"):
            program.chmod(0o755)
        done = preflight("python3", "web", path=str(tmp_path))
        assert ("Node 18 or newer" not in done.stderr) == enough
