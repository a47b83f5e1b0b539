"""Tests a wheel in the way users install it: in an empty environment without Rust, the README's commands must give the
results that the README shows.

When run on its own, this test uses the build of `make venv` and the packages of its environment. `make test-wheel` uses
the wheel that `make wheel` wrote to dist/ (BLOATLAB_DIST). It installs the wheel, and its dependencies from the package
index, in an environment for every Python on this machine; then it builds the sdist.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from kernel import why_no_bench

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()

#: The README and the pages that a newcomer reads next.
SHOWN = "\n".join([README, *((ROOT / "docs" / name).read_text() for name in ("tour.md", "overview.md"))])
PAGE = "bloatlab/playground/index.html"

#: The folder with the files built by `make wheel`, if `make test-wheel` runs this test; otherwise None.
DIST = Path(os.environ["BLOATLAB_DIST"]) if "BLOATLAB_DIST" in os.environ else None
by_name = pytest.mark.skipif(DIST is None, reason="takes minutes: make wheel, then make test-wheel")


def run(*words: str | Path, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; `more` is added to its environment."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "BLOATLAB", "COLUMNS"))} | more
    return subprocess.run([str(w) for w in words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def done(process: subprocess.CompletedProcess[str]) -> str:
    """Returns the output of a command that must succeed."""
    assert process.returncode == 0, f"{shlex.join(process.args)}\n{process.stdout}{process.stderr}"
    return process.stdout


# -------------------------------------------------------------------------------------------------------------- builds


def maturin(*words: str | Path) -> None:
    """Runs the build tool maturin from this interpreter's environment. Skips the test without maturin or cargo."""
    program = Path(sys.executable).with_name("maturin")
    if not program.exists() or shutil.which("cargo") is None:
        pytest.skip("no maturin or no cargo here: make venv")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done(run(program, *words, PATH=path))


def built(pattern: str, folder: Path) -> Path:
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if DIST is not None:
        return built("*manylinux*_x86_64.whl", DIST)
    folder = tmp_path_factory.mktemp("wheel")
    # the files compiled by `make venv` are reused, so the build takes a second
    maturin("build", "--quiet", "--profile", "editable", "--compatibility", "linux", "--out", folder)
    return built("*.whl", folder)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if DIST is not None:
        return built("*.tar.gz", DIST)
    folder = tmp_path_factory.mktemp("sdist")
    maturin("sdist", "--out", folder)
    return built("*.tar.gz", folder)


def test_the_wheel_is_for_every_python_from_3_11_on(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (tags,) = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".dist-info/WHEEL")]
        (metadata,) = [archive.read(n) for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
    assert set(re.findall(r"^Tag: (\w+-\w+)-", tags, re.MULTILINE)) == {"cp311-abi3"}
    facts = message_from_bytes(metadata)
    assert facts["Requires-Python"] == ">=3.11"
    assert facts["Version"] == re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[0]
    assert {"pandas", "cluster", "plot"} <= set(facts.get_all("Provides-Extra", []))
    if DIST is not None:
        assert "manylinux_2_17_x86_64" in wheel.name


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {n.partition("/")[0].partition("-")[0] for n in names} == {"bloatlab"}
    compiled = {n for n in names if n.endswith(".so")}
    assert compiled == {"bloatlab/_core.abi3.so"}
    # files that are not committed yet are part of the source, too
    source = done(run("git", "ls-files", "--cached", "--others", "--exclude-standard", "python/bloatlab")).split()
    wanted = {name.removeprefix("python/") for name in source if (ROOT / name).exists()}
    if (ROOT / "python" / PAGE).exists():
        wanted.add(PAGE)
    assert {n for n in names if ".dist-info/" not in n} - compiled == wanted
    licences = {Path(n).name for n in names if "/licenses/" in n}
    assert licences == {"LICENSE-APACHE", "LICENSE-MIT"}


def test_the_sdist_has_what_a_build_needs(sdist: Path):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "Cargo.toml", "Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"} <= names
    assert {"crates/py/src/lib.rs", "crates/live/Cargo.toml", "python/bloatlab/__init__.py"} <= names
    assert not [n for n in names if n.startswith(("target/", "runs/", "docs/", ".")) or n.endswith((".so", ".pyc"))]


# ------------------------------------------------------------------------------------------------------- environments


def pythons() -> dict[str, Path]:
    """Returns every Python interpreter from version 3.11 on that can create a virtual environment, keyed by version.

    If several interpreters have the same version, the interpreter of this test is preferred, then the first on PATH,
    then the one that pyenv installed.
    """
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 31)]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for candidate in [Path(sys.executable), *(Path(n) for n in names if n), *sorted(kept.glob("3.*/bin/python3"))]:
        tell = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
        version = run(candidate, "-c", tell).stdout.strip()
        if version and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, candidate)
    return found


PYTHONS = pythons() if DIST is not None else {"%d.%d" % sys.version_info[:2]: Path(sys.executable)}


class Place:
    """An environment with the wheel, and a folder to work in. Its PATH has no Rust."""

    def __init__(self, folder: Path, python: Path, wheel: Path) -> None:
        self.folder, self.bin = folder, folder / ".venv" / "bin"
        if DIST is not None:
            done(run(python, "-m", "venv", folder / ".venv"))
            done(run(self.bin / "python", "-m", "pip", "install", "--quiet", wheel))
        else:
            # the environment has no pip of its own, whose installation would take most of the time
            done(run(python, "-m", "venv", "--without-pip", folder / ".venv"))
            there = ["--python", self.bin / "python", "install", "--quiet", "--no-deps", "--no-index"]
            done(run(python, "-m", "pip", *there, wheel))
            (lib,) = (folder / ".venv" / "lib").glob("python*/site-packages")
            # makes the packages of this test's environment available, but not bloatlab's source tree: a .pth file adds
            # the tree to this test's environment, and Python reads no .pth files in folders added by another .pth file
            places = [p for p in sys.path if p.endswith("site-packages")]
            (lib / "neighbours.pth").write_text("\n".join(places) + "\n")
        tools = folder / "tools"
        tools.mkdir()
        for name in ("sh", "curl", "true", "dirname", "ip", "mount", "unshare", "ping"):
            if (program := shutil.which(name)) is not None:
                (tools / name).symlink_to(program)
        self.path = f"{self.bin}{os.pathsep}{tools}"

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        # the command `true` is used as the browser, so no page opens
        return run(*words, cwd=self.folder, PATH=self.path, BROWSER="true", MPLBACKEND="agg")


@pytest.fixture(scope="module", params=PYTHONS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Place:
    folder = tmp_path_factory.mktemp(f"python{request.param}-")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return Place(folder, PYTHONS[request.param], wheel)


def test_the_environment_is_the_wheel_alone(place: Place):
    assert shutil.which("cargo", path=place.path) is None
    assert shutil.which("rustc", path=place.path) is None
    tell = "import bloatlab._core as c, sys; print(c.__file__, '%d.%d' % sys.version_info[:2])"
    where, version = done(place.call("python", "-c", tell)).split()
    assert Path(where).is_relative_to(place.folder)
    assert version in PYTHONS


def test_the_wheel_has_the_live_bench(place: Place):
    assert done(place.call("python", "-c", "import bloatlab; print(bloatlab.live.available())")) == "True\n"


# --------------------------------------------------------------------------------------------------- README's commands


def blocks(section: str) -> list[str]:
    """Returns the indented blocks in the section of SHOWN with this heading, without their indentation."""
    (text,) = [s for s in re.split(r"^## ", SHOWN, flags=re.MULTILINE) if s.startswith(section)]
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, flags=re.MULTILINE)
    return ["\n".join(line[4:] for line in block.strip("\n").splitlines()) + "\n" for block in found]


#: Subcommands that take minutes or need a certain kernel. The tests run them if they are in an indented block, but not
#: if they are only named in a sentence.
LONG = frozenset({"compare", "lab", "validate", "live"})

#: A word in capitals, a placeholder that the reader replaces.
STANDS_FOR = re.compile(r"\b[A-Z]{3,}\b")


def commands() -> list[list[str]]:
    """Returns the commands shown in SHOWN: first those in indented blocks, then those in backquotes that have no
    placeholder and are not in LONG.
    """
    own = re.findall(r"^    (?:sudo )?\.venv/bin/(bloatlab .*?)(?:  .*)?$", SHOWN, flags=re.MULTILINE)
    within = [" ".join(c.split()) for c in re.findall(r"`(bloatlab [^`]*)`", SHOWN)]
    found = [shlex.split(c) for c in dict.fromkeys(own)]
    found += [shlex.split(c) for c in within if not STANDS_FOR.search(c) and c.split()[1] not in LONG]
    return found


def test_readme_names_commands():
    """Checks that the tests below have commands to run."""
    named = [words[1] for words in commands()]
    expected = {"run", "play", "plot", "diff", "report", "sweep", "check", "live", "show", "list", "collisions"}
    assert expected <= set(named)
    assert named[:1] == ["run"]
    assert len(named) > 12


@pytest.fixture(scope="module")
def ready(place: Place) -> Place:
    """Runs README's first command and its Python code in the environment, because the other commands read their
    results.
    """
    text, command, shown = blocks("A scenario")
    (place.folder / "upload.toml").write_text(text)
    assert done(place.call(*shlex.split(command.removeprefix(".venv/bin/")))) == shown
    code, *_ = blocks("From Python")
    assert done(place.call("python", "-c", code)).splitlines() == re.findall(r"# prints (.*)", code)
    # in the tour, `bloatlab plot home.flent.gz` plots a measurement that the reader would make with flent; here, an
    # exported run is used instead
    done(place.call("bloatlab", "export", "runs/upload", "-o", "home.flent.gz"))
    return place


@pytest.mark.parametrize(
    "words",
    [pytest.param(c, marks=[pytest.mark.live] if c[1] == "live" else []) for c in commands()],
    ids=" ".join,
)
def test_a_command_of_readme_works(ready: Place, words: list[str]):
    if words[1] == "run":
        assert (ready.folder / "runs/upload/summary.json").exists()
        return  # `ready` has already run this command
    if words[1] == "live" and (why_no_bench() or shutil.which("curl") is None):
        pytest.skip(f"live bench: {why_no_bench() or 'curl is not installed'}")
    answer = ready.call(*words)
    if words[1] == "play" and not (ROOT / "python" / PAGE).exists():
        assert answer.returncode == 2
        assert "make playground" in answer.stderr
        return
    if words[1] == "live":
        assert answer.returncode in {0, 3}, answer.stderr  # 3 means that this machine was too busy for valid numbers
        assert "bottleneck" in answer.stdout
        return
    done(answer)
    for flag, file in itertools.pairwise(words):
        assert flag != "-o" or (ready.folder / file).exists()


# ------------------------------------------------------------------------------------------ only with make test-wheel


@by_name
def test_the_sdist_builds_where_rust_is(sdist: Path, tmp_path: Path):
    done(run(sys.executable, "-m", "venv", tmp_path / "venv"))
    python = tmp_path / "venv" / "bin" / "python"
    done(run(python, "-m", "pip", "install", "--quiet", "--no-deps", sdist))
    tell = "import bloatlab._core as core; print(core.version())"
    assert done(run(python, "-c", tell, cwd=tmp_path)).strip() in sdist.name
