"""Follows docs/ci-for-your-transport.md to the letter in an empty directory. `make transports` runs this test.

Departs: the submodule is a clone of this repository, and `.venv` is this test's own environment, because the
installation would compile the simulator again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "ci-for-your-transport.md").read_text(encoding="utf-8")
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    (\S.*)$", re.MULTILINE)
LIMIT = "apps.ping.ping.rtt_ms.p95"
#: Commands for a new environment; skipped, because this test already has one.
SKIPPED = ("python3 -m venv ", ".venv/bin/pip ", "pip ", "test -d wheels ")


class Reader:
    """Follows sections of the page in an empty directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        git = {"url." + str(ROOT) + ".insteadOf": "https://github.com/OWNER/bloatlab", "protocol.file.allow": "always"}
        config = {f"GIT_CONFIG_{what}_{i}": text for i, pair in enumerate(git.items())
                  for what, text in zip(("KEY", "VALUE"), pair, strict=True)}  # fmt: skip
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        output = {"GITHUB_OUTPUT": str(folder / "output"), "CARGO_TERM_COLOR": "never"}
        self.env = {**os.environ, **config, "GIT_CONFIG_COUNT": "2", "PATH": path, **output}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "CARGO_TARGET_DIR"):
            self.env.pop(name, None)

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command; returns its exit code and output."""
        if command.startswith(SKIPPED):
            return 0, ""
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def follow(self, title: str, test: str = "") -> list[tuple[int, str]]:
        """Writes the files of a section and runs its commands.

        Returns the results of the command `test`, the only one that may fail.
        """
        (section,) = [s for s in PAGE.split("\n## ") if s.startswith(f"{title}\n")]
        for name, text in FILE.findall(section):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        found: list[tuple[int, str]] = []
        for command in COMMAND.findall(re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL)):
            code, output = self.run(command)
            if command == test:
                found.append((code, output))
            else:
                assert code == 0, f"{command}\n{output}"
        return found

    def measured(self) -> tuple[bool, float, float]:
        """Runs `bloatlab check` as the page does.

        Returns true if all expectations are met, the 95th percentile of the RTT in ms, and the goodput in Mbit/s.
        """
        code, output = self.run(".venv/bin/bloatlab check runs/line --junit line.xml")
        failures = ET.parse(self.folder / "line.xml").getroot().get("failures")  # noqa: S314
        assert (code, failures) in {(0, "0"), (1, "1")}, output
        rtt, goodput = (re.findall(rf"{re.escape(path)} +\S+ \S+ +(\S+)\s", output) for path in
                        (LIMIT, "apps.client.goodput_mbit"))  # fmt: skip
        return code == 0, float(rtt[0]), float(goodput[0])


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone of a repository")
    made = Reader(tmp_path_factory.mktemp("reader") / "transport")
    made.folder.mkdir()
    (made.folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    made.follow("The line")
    return made


def breaks(reader: Reader, title: str, test: str) -> None:
    """Follows a section: the test passes, fails and passes again, with the line and the numbers that the page shows."""
    (passed, good), (failed, bad) = reader.follow(title, test)
    (section,) = [s for s in PAGE.split("\n## ") if s.startswith(f"{title}\n")]
    (line,) = re.findall(r"^```text\n(.*)\n```$", section, re.MULTILINE)
    assert passed == 0, good
    assert failed != 0
    assert line in bad
    met, broken, _ = reader.measured()
    assert not met
    assert f"measured {broken:.6g}"[:-1] in line
    assert reader.run(test)[0] == 0
    met, rtt, goodput = reader.measured()
    assert met
    assert re.search(rf"passes: .*{rtt:.1f} ms,.*{goodput:.1f}\sMbit/s", section)


def test_the_page_in_rust(reader: Reader):
    breaks(reader, "A stack in Rust", "cargo test")


def test_the_page_in_python(reader: Reader):
    breaks(reader, "A stack in Python", ".venv/bin/pytest test_line.py")


def test_the_workflow(reader: Reader):
    reader.follow("The result")
    reader.follow("In CI")
    reader.run("git add . && git -c user.name=a -c user.email=a@b.invalid commit -qm transport")
    workflow = yaml.safe_load((reader.folder / ".github/workflows/transport.yml").read_text(encoding="utf-8"))
    for name in ("runs", "line.xml", "line.svg"):
        of = reader.folder / name
        shutil.rmtree(of) if of.is_dir() else of.unlink()
    steps = [step["run"] for step in workflow["jobs"]["line"]["steps"] if "run" in step]
    assert [step.split()[:2] for step in steps[-3:]] == [["cargo", "test"], ["bloatlab", "check"], ["bloatlab", "plot"]]
    for step in steps:
        code, output = reader.run(step)
        assert code == 0, f"{step}\n{output}"
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (reader.folder / "output").read_text(encoding="utf-8") == f"revision={revision}"
    assert (reader.folder / "line.svg").stat().st_size > 10_000
    shutil.rmtree(reader.folder / "target")
