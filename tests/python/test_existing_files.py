"""`-o FILE` and similar options: a file that the command has not written is never lost without --force."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.plots import Panel, Series, figure, save_figure
from bloatlab.results import save

SCENARIO = """
duration = "2s"
[link.up]
from = "a"
to = "b"
both_ways = true
rate = "5mbit"
[app.upload]
from = "a"
to = ["b"]
traffic.ftp = {}
[app.ping]
from = "a"
to = ["b"]
traffic.ping = {}
[expect]
duration_s = "== 2"
"""

#: Commands that end with the file to write. True: the command replaces a file of its own without --force.
COMMANDS = [
    ("query 'SELECT 1' -o x.csv", False),
    ("links rates home.flent.gz -o x.toml", False),
    ("links write lte.toml --link up -o x.trace", False),
    ("plot result -o x.svg", True),
    ("plot result -o x.png", True),
    ("plot result -o x.pdf", True),
    ("plot result -o x.html", True),
    ("run s.toml -q -p x.svg", True),
    ("report result -o x.html", True),
    ("export result -o x.flent.gz", True),
    ("check s.toml --no-store --junit x.xml", True),
    ("sweep grid.toml -o x.csv", True),
    ("sweep grid.toml --summary x.csv", True),
]


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("material")
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "grid.toml").write_text('scenario = "s.toml"\n[axes]\n"link.up.rate" = ["5mbit", "6mbit"]\n')
    (folder / "lte.toml").write_text(SCENARIO.replace('rate = "5mbit"', 'delivery = "lte"'))
    save(bloatlab.run(folder / "s.toml"), folder / "result")
    assert call(["export", str(folder / "result"), "-o", str(folder / "home.flent.gz")]) == 0
    return folder


@pytest.fixture
def here(material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a working folder with links to the material."""
    for path in material.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    (tmp_path / "store").mkdir()
    return tmp_path


@pytest.mark.parametrize(("line", "recognised"), COMMANDS)
def test_a_file_of_yours_is_kept(here: Path, capsys: pytest.CaptureFixture[str], line: str, recognised: bool):
    arguments = shlex.split(line)
    file = here / arguments[-1]
    file.write_text("bloatlab, mine\n")
    assert call(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert file.name in err
    assert "give --force to replace it, or another name" in err
    assert file.read_text() == "bloatlab, mine\n"
    assert call([*arguments, "--force"]) == 0
    written = file.read_bytes()
    assert written != b"bloatlab, mine\n"
    assert call(arguments) == (0 if recognised else 2)
    # an empty file contains nothing that could be lost
    file.write_bytes(b"")
    assert call(arguments) == 0
    assert file.stat().st_size


def test_a_measurement_of_flent_is_kept(here: Path):
    text = gzip.decompress((here / "home.flent.gz").read_bytes())
    theirs = gzip.compress(text.replace(b'"FLENT_VERSION": "bloatlab ', b'"FLENT_VERSION": "2.1.1 '))
    (here / "x.flent.gz").write_bytes(theirs)
    assert call(["export", "result", "-o", "x.flent.gz"]) == 2
    assert (here / "x.flent.gz").read_bytes() == theirs


def test_the_default_names_of_figures_and_reports_of_another_command_are_kept(here: Path):
    (here / "result-overview.svg").write_text("<svg/>")
    assert call(["plot", "result"]) == 2
    assert (here / "result-overview.svg").read_text() == "<svg/>"
    (here / "x.xml").write_text('<testsuites name="bloatlab judge" />')
    assert call(["check", "s.toml", "--no-store", "--junit", "x.xml"]) == 2


def test_a_page_of_yours_with_a_figure_of_bloatlab_is_kept(here: Path):
    assert call(["plot", "result", "-o", "x.svg"]) == 0
    assert call(["report", "result", "-o", "report.html"]) == 0
    figure, report = ((here / name).read_text() for name in ("x.svg", "report.html"))
    for page in (f"<title>Mine</title><body>{figure}", f"<!doctype html><p>Mine{figure}", f"<BODY>{report}"):
        (here / "paper.html").write_text(page)
        for line in ("report result -o paper.html", "plot result -o paper.html"):
            assert call(line.split()) == 2
        assert (here / "paper.html").read_text() == page


def test_figures_of_studies_are_marked(here: Path):
    save_figure(figure([Panel("", "x", "y", [Series("s", [0, 1], [0, 1])])]), here / "fig1")
    for name in ("fig1.svg", "fig1.png"):
        assert call(["plot", "result", "-o", name]) == 0


def test_plot_refuses_a_file_before_it_reads_the_result(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "x.svg").write_text("mine")
    assert call(["plot", "no-such-result", "-o", "x.svg"]) == 2
    assert "x.svg: is not a figure of bloatlab; give --force" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["film s.toml -o x.gif", "judge --suite bbr --cc reno --no-store --junit x.xml"])
def test_long_commands_refuse_the_file_first(here: Path, capsys: pytest.CaptureFixture[str], line: str):
    arguments = shlex.split(line)
    (here / arguments[-1]).write_text("mine")
    assert call(arguments) == 2
    assert "give --force to replace it" in capsys.readouterr().err
    assert (here / arguments[-1]).read_text() == "mine"


def test_a_folder_of_yours_keeps_its_validation(here: Path, capsys: pytest.CaptureFixture[str]):
    (here / "out").mkdir()
    (here / "out/validate.txt").write_text("mine")
    assert call(["validate", "-o", "out"]) == 2
    assert "already has validate.txt; give --force" in capsys.readouterr().err
    assert (here / "out/validate.txt").read_text() == "mine"
