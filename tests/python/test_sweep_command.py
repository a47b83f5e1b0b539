"""`bloatlab sweep` and `bloatlab store`: a grid in a file becomes a table; after an interruption the same command
continues.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.sweep import Store, grid_file

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("bloatlab"))

GRID = """
scenario = "dumbbell.toml"
seeds = 2

[set]
duration = "2s"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]

[axes.queue]
small = { "link.up.queue" = { droptail = { limit = "5p" } } }
codel = { "link.up.queue" = { codel = {} }, "link.up.delay" = "20ms" }
"""


@pytest.fixture
def grid(scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    path = scenario_file.with_name("grid.toml")
    path.write_text(GRID)
    return path


def kept_in(store: Path) -> int:
    return sum(stock.runs for stock in Store(store).shelves())


def test_a_grid_file_is_its_scenarios(grid: Path, scenario_file: Path):
    points = grid_file.load(grid).grid.points()
    assert [(dict(p.key), p.seed) for p in points[:4]] == [
        ({"link.up.rate": rate, "queue": queue}, 1) for rate in ("1mbit", "5mbit") for queue in ("small", "codel")
    ]
    assert len(points) == 8
    by_hand = [("duration", "2s"), ("seed", "2"), ("link.up.rate", "5mbit"), ("link.up.queue", "{ codel = {} }")]
    assert points[-1].scenario == bloatlab.load(scenario_file, [*by_hand, ("link.up.delay", "20ms")])
    assert len(grid_file.load(grid, seeds=5).grid.points()) == 20
    longer = grid_file.load(grid, [("duration", "3s")]).grid.points()
    assert {p.scenario.data["duration"] for p in longer} == {"3s"}


def test_the_table_is_what_single_runs_measure(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "table.parquet"
    assert call(["sweep", str(grid), "-o", str(out), "-f", "csv", "-c", "links.up.*"]) == 0
    printed, said = capsys.readouterr()
    table = pl.read_parquet(out)
    assert pl.read_csv(printed.encode(), infer_schema_length=None).columns == table.columns
    assert "8 runs, 0 of them from the store" in said
    for row, point in zip(table.iter_rows(named=True), grid_file.load(grid).grid.points(), strict=True):
        up = bloatlab.run(point.scenario).summary["links"]["up"]
        assert row["scenario_hash"] == point.scenario.hash
        assert row["links.up.sojourn_ms.p99"] == up["sojourn_ms"]["p99"]
        assert row["links.up.drops.tail_full"] == up["drops"]["tail_full"]
    assert not any(c.startswith("links.down") for c in table.columns)

    every = tmp_path / "every.csv"
    assert call(["sweep", str(grid), "-o", str(every), "--jobs", "1"]) == 0
    text, said = capsys.readouterr()
    assert "8 runs, 8 of them from the store" in said
    assert re.search(r"5mbit +codel +0\.\d+", text)
    assert "apps.voip.voip.mos" in pl.read_csv(every, infer_schema_length=None).columns


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("scenario", "scenarios"), ['unknown key "scenarios"', '"scenario"']),
        (('scenario = "dumbbell.toml"', ""), ["scenario: the file to vary is missing"]),
        (("dumbbell.toml", "nowhere.toml"), ["no such file"]),
        (("seeds = 2", "seeds = 0"), ["seeds: 0 is neither"]),
        (("seeds = 2", "seeds = [1, 1]"), ["seeds: [1, 1] is neither"]),
        (("seeds = 2", "seeds = [1, -1]"), ["seeds: [1, -1] is neither", "seeds from 0 to 9223372036854775807"]),
        (("seeds = 2", "seeds = true"), ["seeds: True is neither"]),
        (('["1mbit", "5mbit"]', "[]"), ["axes.link.up.rate: expected a list of values"]),
        (('["1mbit", "5mbit"]', '["1mbit", "1mbit"]'), ["axes.link.up.rate: a value is given twice"]),
        (('["1mbit", "5mbit"]', '["1mbps"]'), ["link.up.rate=1mbps", "link.up.rate", "1mbit"]),
        (("link.up.rate", "link.pu.rate"), ["link.pu"]),
        (("[set]", "[set]\n'link.up.rate' = '2mbit'"), ["set.link.up.rate: axes.link.up.rate varies it"]),
        (
            ("seeds = 2", "seeds = 2\ncolumns = ['links.up.sojourn.p99']"),
            ["links.up.sojourn.p99", "links.up.sojourn_ms"],
        ),
        (("[axes]", "[axes"), ["not valid TOML"]),
        (("small = {", "small = 5 #"), ["axes.queue.small: expected a table of values by path"]),
    ],
)
def test_bad_grids_are_said_in_a_line(
    grid: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], words: list[str]
):
    grid.write_text(GRID.replace(*change))
    assert call(["sweep", str(grid)]) == 2
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if " runs" not in line]
    assert (out, len(lines)) == ("", 1), err
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "link.up.rate=2mbit"], "--set link.up.rate: axes.link.up.rate varies it"),
        (["--set", "seed=2"], "--set seed: seeds varies it"),
        (["-o", "table.xlsx"], "a table's name ends in .csv, .json, .parquet"),
        (["-o", "/proc/nowhere/x.csv"], "cannot write"),
        (["--store", "a", "--no-store"], "--store and --no-store: give only one of them"),
        (["--store", "/proc/nowhere"], "cannot write"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_bad_flags_are_said_in_a_line(grid: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str):
    assert call(["sweep", str(grid), *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(grid: Path, tmp_path: Path):
    """After Ctrl-C interrupts a sweep in another process, runs that were already stored are not repeated."""
    grid.write_text(GRID.replace('"2s"', '"400s"').replace("seeds = 2", "seeds = 4"))
    command = [COMMAND, "sweep", str(grid), "--jobs", "1"]
    store = tmp_path / "store"
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    for _ in range(3000):
        if kept_in(store) >= 3 or child.poll() is not None:
            break
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, ""), err
    kept = int(re.findall(r"interrupted: (\d+) of 16 runs are stored in", err)[0])
    assert 3 <= kept < 16
    assert kept_in(store) == kept
    assert not list(store.rglob("*.writing"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"16 runs, {kept} of them from the store" in done.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "16 runs, 16 of them from the store" in again.stderr
    assert again.stdout == done.stdout


def test_two_processes_share_a_store(grid: Path, tmp_path: Path):
    command = [COMMAND, "sweep", str(grid), "-f", "csv", "--jobs", "2"]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {child.communicate(timeout=60)[0] for child in children}
    assert [child.returncode for child in children] == [0, 0, 0]
    assert len(outputs) == 1
    assert kept_in(tmp_path / "store") == 8


def test_store_shows_and_collects(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "store").mkdir()
    assert call(["store"]) == 0
    assert "no stored runs" in capsys.readouterr().out
    assert call(["sweep", str(grid)]) == 0
    capsys.readouterr()
    assert call(["store", "-f", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (shelf,) = told["shelves"]
    (asked,) = told["sweeps"]
    assert (asked["sweep"], asked["kept"], asked["asked"], asked["seeds"]) == ("grid", 8, 8, 2)
    assert 0.9 * shelf["bytes"] < asked["bytes"] <= shelf["bytes"]
    assert (shelf["measure"], shelf["runs"], shelf["current"]) == ("summary-1", 8, True)
    (now,) = (tmp_path / "store").glob("*/summary-*")
    core = now.parent
    newer = now.with_name(f"summary-1-{'0' * 16}")  # as if a sweep had used newer code of the measure
    newer.mkdir()
    (newer / "0.journal").touch()
    assert call(["store", "-f", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(s["runs"], s["current"]) for s in told["shelves"]] == [(8, False), (0, True)]
    assert told["sweeps"][0]["kept"] == 0
    assert call(["query", "SELECT count(*) FILTER (kept) FROM sweeps", "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "0"
    assert call(["store"]) == 0
    assert "this one, older code" in capsys.readouterr().out
    shutil.rmtree(newer)
    core.rename(core.with_name("0" * 16))
    assert call(["store", "gc"]) == 0
    assert "removed 8 runs" in capsys.readouterr().err
    assert call(["store"]) == 0
    assert "no stored runs" in capsys.readouterr().out


def test_no_store_keeps_nothing(grid: Path, tmp_path: Path):
    assert call(["sweep", str(grid), "--no-store"]) == 0
    assert not (tmp_path / "store").exists()


def test_where_is_a_list(scenario_file: Path):
    with pytest.raises(grid_file.GridError, match="where: expected conditions, such as"):
        bloatlab.sweep(scenario_file, {"link.up.rate": ["1mbit"]}, where="link.up.rate == 1mbit")


def test_advice_about_a_grid_is_in_the_form_of_a_grid(grid: Path, capsys: pytest.CaptureFixture[str]):
    # the scenario has droptail, so PIE's target can only be set with the whole queue. The advice is a line of the file,
    # not an option --set
    grid.write_text(GRID.replace('"link.up.queue" = { codel = {} }', '"link.up.queue.pie.target" = "9ms"'))
    assert call(["sweep", str(grid)]) == 2
    err = capsys.readouterr().err
    assert err.rstrip().endswith("""write 'link.up.queue' = { pie = { target = "9ms" } }""")
    advised = GRID.replace("""{ codel = {} }""", """{ pie = { target = "9ms" } }""")
    grid.write_text(advised)
    assert len(grid_file.load(grid).grid.points()) == 8


@pytest.mark.parametrize(
    ("axis", "sets", "advice"),
    [
        (
            '"link.up.queue.pie.target" = ["9ms"]',
            ["link.up.delay=1ms"],
            "'link.up.queue' = [{ pie = { target = \"9ms\" } }]",
        ),
        (
            'q.a = { "link.up.queue.pie.target" = "9ms" }',
            ["link.up.delay=1ms"],
            "'link.up.queue' = { pie = { target = \"9ms\" } }",
        ),
        (
            '"link.up.delay" = ["1ms"]',
            ["link.up.queue.pie.target=9ms"],
            "--set 'link.up.queue={ pie = { target = \"9ms\" } }'",
        ),
    ],
)
def test_advice_has_the_form_of_what_it_is_about(
    grid: Path, capsys: pytest.CaptureFixture[str], axis: str, sets: list[str], advice: str
):
    grid.write_text(f'scenario = "dumbbell.toml"\n[set]\n"link.up.queue" = {{ droptail = {{}} }}\n[axes]\n{axis}\n')
    assert call(["sweep", str(grid), *(word for given in sets for word in ("--set", given))]) == 2
    assert capsys.readouterr().err.rstrip().endswith(f"; write {advice}")


def test_an_axis_without_effect_is_refused(grid: Path):
    rates = 'scenario = "rrul"\n[axes]\nrate = ["1mbit", "5mbit"]\n"link.up.rate" = ["2mbit", "3mbit"]\n'
    grid.write_text(f'{rates}"link.down.rate" = ["2mbit"]\n')
    with pytest.raises(grid_file.GridError, match=r"toml: axes\.rate: 1mbit and 5mbit give the same scenario at every"):
        grid_file.load(grid)
    # without the axis link.down.rate, `rate` has an effect: it sets the downstream rate
    grid.write_text(rates)
    assert len({p.scenario.hash for p in grid_file.load(grid).grid.points()}) == 4
    # two values of an axis may give the same scenario, if another value gives a different one
    grid.write_text('scenario = "rrul"\naxes.rate = ["1mbit", "1000kbit", "2mbit"]\n')
    assert len({p.scenario.hash for p in grid_file.load(grid).grid.points()}) == 2
    with pytest.raises(grid_file.GridError, match=r"^axes\.rate: 1mbit and 1000kbit give the same scenario"):
        bloatlab.sweep("rrul", {"rate": ["1mbit", "1000kbit"]})


@pytest.mark.parametrize(("name", "points"), [("home-upload", 9), ("falling-rate", 40)])
def test_the_examples_are_grids(name: str, points: int):
    grid = grid_file.load(ROOT / "examples" / "sweeps" / f"{name}.toml", seeds=1)
    assert len(grid.grid.points()) == points


def test_the_code_of_the_manual_runs(tmp_path: Path):
    text = (ROOT / "docs" / "sweeps.md").read_text()
    (code,) = [b for b in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE) if "from pathlib" in b]
    script = tmp_path / "manual.py"
    lines = [line[4:] for line in code.splitlines()]
    script.write_text("\n".join(lines).replace(".bloatlab", str(tmp_path)) + "\nprint(gathered.frame().shape)\n")
    os.utime(script, (1e9, 1e9))
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "(12, 5)\n"
    assert kept_in(tmp_path / "store") == 12
