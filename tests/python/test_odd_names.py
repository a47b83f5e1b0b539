"""Names with brackets, and folders whose names are not UTF-8 or contain wildcards: sweeps, plots and queries."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.query import QueryError, Views
from bloatlab.sweep import Store, fingerprint, sweeps

BASE = """
duration = "2s"
[link.up]
from = "home"
to = "net"
rate = "5mbit"
delay = "10ms"
both_ways = true
[app."call[1]"]
from = "home"
to = ["net"]
traffic.voip = {}
[app.call1]
from = "home"
to = ["net"]
traffic.voip = {}
"""
GRID = 'scenario = "base.toml"\nseeds = 2\naxes."link.up.rate" = ["1mbit", "5mbit"]\n'
COLUMN = "apps.call[1].voip.mos"


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    (tmp_path / "base.toml").write_text(BASE)
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


@pytest.mark.parametrize("line", [f'columns = ["{COLUMN}"]', 'columns = ["apps.*[1].*.mos"]'])
def test_columns_with_brackets(line: str, grid: Path, tmp_path: Path):
    grid.write_text(f"{line}\n{GRID}")
    assert call(["sweep", str(grid), "-o", str(tmp_path / "a.csv")]) == 0
    assert pl.read_csv(tmp_path / "a.csv").columns == ["link.up.rate", "seed", "scenario_hash", COLUMN]
    assert call(["plot", str(tmp_path / "a.csv"), "-c", COLUMN, "-o", str(tmp_path / "a.svg")]) == 0


def test_a_target_with_brackets(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "base.toml").write_text(BASE[: BASE.index("[app.call1]")])
    grid.write_text(f'until."{COLUMN}" = "50%"\n{GRID}')
    assert call(["sweep", str(grid)]) == 0
    assert f"until {COLUMN} ±50 %: reached at 2 of 2 points" in capsys.readouterr().err


def test_a_folder_that_is_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcll"))
    folder.mkdir()
    (folder / "base.toml").write_text(BASE)
    name = os.fsdecode(b"gr\xfcn.toml")
    (folder / name).write_text(GRID)
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    for _ in range(2):
        assert call(["sweep", str(folder / name)]) == 0
    (of,) = sweeps.asked(Store(tmp_path / "store"))
    assert (of.name, len(of.hashes)) == ("gr\\xfcn", 4)
    assert str(of.grid).endswith("/M\\xfcll/gr\\xfcn.toml")
    with Views(Store(tmp_path / "store"), fingerprint.core()) as db:
        assert db.query('SELECT count(*) FROM "gr\\xfcn"').item() == 4


@pytest.mark.parametrize("name", ["a[b]", "a*", "a?b"])
def test_a_temporary_folder_with_wildcards_is_refused_in_a_line(
    name: str, grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert call(["sweep", str(grid)]) == 0
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    with pytest.raises(QueryError, match=r"has \*, \? or \[ in its path; set TMPDIR to another one"):
        Views(Store(tmp_path / "store"), fingerprint.core())


def test_a_target_that_only_some_grid_points_have(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    # as docs/sweeps.md says, a point gets `most_seeds` seeds if the column of the target has no value there
    second = '"app.more" = { from = "home", to = ["net"], traffic = { voip = {} } }'
    grid.write_text(
        'scenario = "base.toml"\nseeds = 2\nmost_seeds = 4\nuntil."apps.more.voip.mos" = "50%"\n'
        f'[axes.calls]\ntwo = {{ duration = "2s" }}\nthree = {{ {second} }}\n'
    )
    assert call(["sweep", str(grid), "-o", str(tmp_path / "a.csv")]) == 0
    assert pl.read_csv(tmp_path / "a.csv")["calls"].to_list().count("two") == 4
    said = capsys.readouterr().err
    assert "reached at 1 of 2 points" in said
    assert "farthest at calls=two: apps.more.voip.mos has no value" in said
    grid.write_text(grid.read_text().replace("apps.more", "apps.most"))
    assert call(["sweep", str(grid)]) == 2
    assert 'until.apps.most.voip.mos: no such number in the summary; did you mean "apps.more' in capsys.readouterr().err


def test_collecting_does_not_wait_for_a_reader(grid: Path, tmp_path: Path):
    assert call(["sweep", str(grid)]) == 0
    store = Store(tmp_path / "store")
    collected: list[tuple[int, int]] = []
    with Views(store, fingerprint.core()):
        thread = threading.Thread(target=lambda: collected.append(store.collect(fingerprint.core())), daemon=True)
        thread.start()
        thread.join(60)
    assert collected == [(0, 0)]


def test_a_sweep_in_python_finds_its_warm_up(grid: Path, tmp_path: Path):
    grid.write_text(f'columns = ["warm_up_s"]\n{GRID}set."record.warm_up" = "auto"\n')
    assert call(["sweep", str(grid), "-o", str(tmp_path / "a.parquet")]) == 0
    axes = {"link.up.rate": ["1mbit", "5mbit"]}
    found = bloatlab.sweep(str(tmp_path / "base.toml"), axes, 2, sets={"record.warm_up": "auto"}, columns=["warm_up_s"])
    assert found.equals(pl.read_parquet(tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["odd\udcff.toml", "esc\x1b[31m\ufffe.toml"])
def test_a_file_with_an_odd_name_gives_a_result_a_report_and_junit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The odd name is in provenance.json, on the page and in the XML, and all three are valid."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bloatlab", "run", name])
    Path(name).write_text(BASE + '[expect]\n"links.up.utilisation" = "<= 1"\n')
    assert call(["run", name, "-q", "-o", "kept"]) == 0
    command = json.loads((tmp_path / "kept" / "provenance.json").read_text("utf-8"))["command"]
    assert command[2].endswith(".toml")
    assert call(["report", "kept", "-o", "page.html"]) == 0
    assert call(["check", name, "--no-store", "--junit", "out.xml"]) == 0
    assert ET.parse(tmp_path / "out.xml").getroot().get("tests") == "1"  # noqa: S314  our own file
    capsys.readouterr()


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_the_table_of_a_sweep_may_have_a_name_that_is_not_utf_8(
    grid: Path, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    table = f"odd\udcff.{suffix}"
    assert call(["sweep", grid.name, "-o", table]) == 0
    assert call(["plot", table, "-o", "odd\udcff.svg"]) == 0
    assert call(["report", table, "-o", "odd\udcff.html"]) == 0
    assert table.encode(errors="backslashreplace") in Path("odd\udcff.html").read_bytes()


@pytest.mark.parametrize("words", [["run", "base.toml", "--set", "name=\udcff"], ["query", "\udcff"]])
def test_text_that_is_not_utf_8_is_refused_in_a_line(
    words: list[str], grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    del grid
    monkeypatch.chdir(tmp_path)
    assert call(words) == 2
    assert '\\xff" is not UTF-8 text' in capsys.readouterr().err


def test_a_title_with_control_characters_makes_a_valid_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("base.toml").write_text(BASE)
    assert call(["run", "base.toml", "-q", "-o", "kept"]) == 0
    assert call(["plot", "kept", "--title", "a\x01b\x1b", "-o", "a.svg"]) == 0
    assert ET.parse(tmp_path / "a.svg").getroot() is not None  # noqa: S314  our own file
