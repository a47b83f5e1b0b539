"""Every command in the README and the docs is run, or only parsed if it needs something that a test cannot provide."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import MissingArgumentError

import bloatlab
import bloatlab.flent
import test_wheel
from bloatlab.cli.main import app, call

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "python").glob("**/README.md"))]

#: Commands that are only parsed here, because they need root or a browser, or take long; each with the file that tests
#: it.
PARSED = {
    "live": "test_live.py",
    "compare": "test_compare.py",
    "lab": "test_csc458.py",
    "validate": "test_validate.py",
    "judge": "test_judge.py",
    "reproduce": "test_studies.py and a file for each study",
    "recommend": "test_recommend.py",
    "play": "test_playground.py",
    "film": "test_film.py",
}
#: Matches commands that need something that this test does not have: a cluster, the reader's own query, or the folder
#: of an earlier comparison with live runs.
ELSEWHERE = re.compile(r"--dask|\bSQL\b|runs/compared")
#: The order in which commands are run: commands that write results come before commands that read them.
ORDER = ["run", "sweep", "check", "export", "links"]
#: Host addresses in the commands of the pages, and the addresses by which the test replaces them, because its captures
#: come from simulations.
ADDRESSES = {"192.168.1.10": "10.0.0.1"}


def shown(page: Path) -> Iterator[list[str]]:
    """Yields the commands in the code of a page.

    A backslash continues a line. Text after two spaces or a hash is a comment.
    """
    fence = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = fence.sub(lambda found: textwrap.indent(found[1], "    "), page.read_text())
    text = re.sub(r" *\\\n *", " ", text)
    for line in re.findall(r"^    (?:sudo )?(?:\.venv/bin/)?(bloatlab [a-z-].*)$", text, re.MULTILINE):
        yield shlex.split(re.split(r"  +|\s#\s", line)[0])


#: Commands whose output no other command reads. If test_wheel.py runs such a command, this file does not.
READS = {"check", "collisions", "diff", "list", "plot", "report", "show"}
INSTALLED = {tuple(words) for words in test_wheel.commands() if words[1] in READS}
FOUND = dict.fromkeys(tuple(words) for page in PAGES for words in shown(page) if "[--" not in words)
COMMANDS = sorted(
    (words for words in FOUND if words not in INSTALLED),
    key=lambda words: ORDER.index(words[1]) if words[1] in ORDER else len(ORDER),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with the files that the pages name: the examples, README's scenario, short results, recordings."""
    place = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", place / "examples")
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"^    duration = .*\n(?:    .*\n)+", readme, re.MULTILINE)
    text = re.sub(r"^    ", "", block, flags=re.MULTILINE).replace('"60s"', '"20s"')
    text += '[expect]\n"links.up.utilisation" = ">= 0"\n'
    for name in ("upload.toml", "home.toml", "mine.toml", "modem.toml", "lab.toml"):
        (place / name).write_text(text)
    result = bloatlab.run(bloatlab.load(place / "upload.toml"), captures=place)
    for name in ("upload", "codel", "modem", "droptail", "home", "line"):
        bloatlab.save(result, place / "runs" / name)
    (place / "left.pcap").rename(place / "home.pcap")
    bloatlab.flent.write(result, place / "home.flent.gz")
    shutil.copyfile(place / "home.flent.gz", place / "tcp_nup-2026-11-22.flent.gz")
    return place


def test_the_pages_have_commands():
    assert len(COMMANDS) > 80
    assert {words[1] for words in COMMANDS} >= {
        "run",
        "plot",
        "diff",
        "report",
        "sweep",
        "query",
        "links",
        "export",
        "list",
    }


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_command(words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    name, arguments = words[1], [ADDRESSES.get(word, word) for word in words[1:]]
    if "--" in arguments:
        arguments = arguments[: arguments.index("--")]
    if name in PARSED or ELSEWHERE.search(" ".join(arguments)):
        command, bound, *_ = app.parse_args(arguments, exit_on_error=False, print_error=False)
        assert callable(command)
        assert bound is not None
        return
    if name == "run" and words[2].endswith(".toml"):
        arguments += ["--set", "duration=12s", "--set", "record.warm_up=0s", "--force"]
    arguments = [str(path) for word in arguments for path in (folder.glob(word) if "*.toml" in word else [word])]
    assert call(arguments) == 0


def test_commands_within_sentences_name_commands_and_options_that_exist():
    """A command within a sentence may lack arguments, but must be valid otherwise."""
    within = {
        " ".join(found.split())
        for page in PAGES
        for found in re.findall(r"`(bloatlab [a-z][^`]*)`", page.read_text())
        if not re.search(r"\.\.\.|[\[|>]", found)
    }
    assert len(within) > 40
    for text in sorted(within):
        with contextlib.suppress(MissingArgumentError):
            app.parse_args(shlex.split(text)[1:], exit_on_error=False, print_error=False)
