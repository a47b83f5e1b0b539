"""Tests `record.warm_up = "auto"`: MSER-5 finds the warm-up, the run reports it, and a run in which the reported number
is set has the same results.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.warm_up import asked, find

#: Nothing is sent for 4 s. Then a constant overload fills a queue of 20 packets within 0.4 s and keeps it full. Each
#: packet takes 10 ms to send.
LATE = """
duration = "20s"
record.interval = "20ms"
[link.up]
from = "a"
to = "b"
both_ways = true
rate = "1.2mbit"
queue.droptail = { limit = "20p" }
[app.load]
from = "a"
to = ["b"]
start = "4s"
traffic.cbr = { rate = "1.8mbit", size = 1500 }
"""


def test_what_comes_before_the_load_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "late.toml"
    path.write_text(LATE)
    found = find(bloatlab.run(path))
    assert found.steady
    # the queue is full at about 4.4 s, and the warm-up is a multiple of five bins, 0.1 s
    assert 4.3 <= found.seconds <= 4.6
    assert (found.of, found.override) == ("queue of link up", ("record.warm_up", f"{round(found.seconds * 1e9)}ns"))
    assert call(["run", str(path), "--set", "record.warm_up=auto", "-o", str(tmp_path / "auto")]) == 0
    said = capsys.readouterr().err
    assert f"warm-up: {found.seconds:g} s, found by MSER-5: queue of link up takes longest to become steady" in said
    assert (
        call(["run", str(path), "--set", f"record.warm_up={found.seconds}s", "-o", str(tmp_path / "hand"), "-q"]) == 0
    )
    for name in ("summary.json", "scenario.resolved.json"):
        assert (tmp_path / "auto" / name).read_bytes() == (tmp_path / "hand" / name).read_bytes()
    up = bloatlab.open_result(tmp_path / "auto").summary["links"]["up"]
    assert up["queue_packets"]["mean"] == pytest.approx(20.0, abs=0.7)
    assert up["utilisation"] == pytest.approx(1.0, abs=0.001)


def test_a_run_that_never_becomes_steady_says_so(tmp_path: Path):
    growing = LATE.replace("20p", "100000p")
    (tmp_path / "x.toml").write_text(growing)
    found = find(bloatlab.run(tmp_path / "x.toml"))
    assert (found.steady, found.seconds) == (False, pytest.approx(10.0))
    assert "never became steady" in str(found)


def test_a_sweep_finds_one_for_each_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "late.toml").write_text(LATE)
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'scenario = "late.toml"\nseeds = 2\n[set]\n"record.warm_up" = "auto"\n[axes]\n"app.load.start" = ["1s", "6s"]\n'
    )
    out = tmp_path / "runs.parquet"
    arguments = ["sweep", str(grid), "-o", str(out), "--store", str(tmp_path / "store")]
    explain = [*arguments[:2], *arguments[4:], "--explain"]
    assert call(explain) == 0
    runs = "2 points with 2 seeds, and 2 runs to find the warm-up: 6 runs"
    assert f"{runs}, 0 of them stored; " in capsys.readouterr().out
    assert call(arguments) == 0
    low, high = re.findall(r"warm-up by MSER-5: ([\d.]+) to ([\d.]+) s", capsys.readouterr().err)[0]
    frame = pl.read_parquet(out)
    assert frame["warm_up_s"].to_list() == [pytest.approx(float(s)) for s in (low, high, low, high)]
    assert 1.3 <= float(low) <= 1.6
    assert 6.3 <= float(high) <= 6.6
    assert call(arguments) == 0
    assert "4 runs, 4 of them from the store" in capsys.readouterr().err
    assert call(explain) == 0
    assert capsys.readouterr().out == f"{runs}, 6 of them stored\n"
    # a third point, whose warm-up is not known yet: a run for it, and one with each seed
    grid.write_text(grid.read_text().replace('"6s"]', '"6s", "7s"]'))
    assert call(explain) == 0
    third = "3 points with 2 seeds, and 3 runs to find the warm-up: 9 runs, 6 of them stored; "
    assert third in capsys.readouterr().out
    # if a key has several values, the last value applies
    assert call([*arguments, "--force", "--set", "record.warm_up=3s"]) == 0
    assert set(pl.read_parquet(out)["warm_up_s"]) == {3.0}


def test_the_last_word_holds():
    assert asked([("record.warm_up", "auto"), ("seed", "1")]) == ([("seed", "1")], True)
    assert asked([("record.warm_up", '"auto"'), ("record.warm_up", "3s")]) == ([("record.warm_up", "3s")], False)
    assert asked([("record.warm_up", "3s"), ("record.warm_up", "auto")]) == ([("record.warm_up", "3s")], True)
    assert asked([]) == ([], False)
