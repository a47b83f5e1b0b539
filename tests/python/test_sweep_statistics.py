"""The output of `bloatlab sweep` with several seeds: intervals, differences, effects, and the estimated time."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.statistics import interval
from bloatlab.sweep import grid_file, over_seeds
from bloatlab.sweep.effects import effects, levels
from bloatlab.sweep.explain import Estimate, estimate
from bloatlab.sweep.over_seeds import differences
from bloatlab.sweep.zipped import together

GRID = """
scenario = "dumbbell.toml"
seeds = 4
columns = ["links.up.sojourn_ms.mean", "apps.voip.voip.mos"]

[set]
duration = "2s"
"link.up.jitter" = "5ms"

[axes]
"link.up.rate" = ["1mbit", "5mbit"]

[axes.queue]
small = { "link.up.queue" = { droptail = { limit = "5p" } } }
codel = { "link.up.queue" = { codel = {} } }
"""


@pytest.fixture
def grid(scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "80")
    path = scenario_file.with_name("grid.toml")
    path.write_text(GRID)
    return path


def test_the_table_is_of_means_with_intervals(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    runs, over = tmp_path / "runs.parquet", tmp_path / "over.parquet"
    assert call(["sweep", str(grid), "-o", str(runs), "--summary", str(over), "--against", "queue=codel"]) == 0
    text, said = capsys.readouterr()
    assert f"16 rows written to {runs}, intervals to {over}" in said
    frame, rows = pl.read_parquet(runs), pl.read_parquet(over)
    assert rows.height == 4 * 2
    for row in rows.iter_rows(named=True):
        place = frame.filter(**{axis: row[axis] for axis in ("link.up.rate", "queue")})
        values = place[row["column"]].to_list()
        for method in ("t", "bootstrap"):
            found = interval(values, method)
            assert (row[f"{method}_low"], row[f"{method}_high"]) == (found.low, found.high)
        assert (row["n"], row["mean"]) == (4, pytest.approx(sum(values) / 4))
        base = frame.filter(pl.col("queue") == "codel", pl.col("link.up.rate") == row["link.up.rate"])
        if row["queue"] == "small":
            found = interval([a - b for a, b in zip(values, base[row["column"]].to_list(), strict=True)])
            assert (row["pairs"], row["difference"], row["difference_t_low"]) == (4, found.mean, found.low)
        else:
            assert (row["pairs"], row["difference"]) == (0, None)
    mean = rows.row(0, named=True)
    half = (mean["t_high"] - mean["t_low"]) / 2
    printed = re.findall(r"1mbit +small +([\d.]+) ±([\d.]+)", text)
    assert float(printed[0][0]) == pytest.approx(mean["mean"], rel=0.05)
    assert float(printed[0][1]) == pytest.approx(half, rel=0.05)
    assert "Mean over 4 seeds, ± half its 95 % interval (Student's t)." in text
    assert re.search(r"Difference from queue=codel\n(.*\n)+5mbit +small +.*\*", text)
    assert call(["sweep", str(grid), "--interval", "bootstrap"]) == 0
    assert re.search(r"1mbit +small +[\d.]+  [\d.]+\.\.[\d.]+ ", capsys.readouterr().out)


def test_what_matters_is_printed(grid: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["sweep", str(grid), "--effects"]) == 0
    text = capsys.readouterr().out
    shares = {name: float(share) for name, share in re.findall(r"^(\S.*?)  +([\d.]+)%", text, re.MULTILINE)}
    assert set(shares) == {"link.up.rate", "queue", "link.up.rate × queue", "rest", "seeds"}
    assert sum(shares.values()) == pytest.approx(100.0, abs=0.3)
    assert text.count("Main effect: mean over everything else.") == 2


def test_zipped_axes_are_one_axis():
    # y = 10 d + q and the seeds add 0 or 1; d is 0, 1 or 4 and q is 0 or 1. In a full grid, the sums of squares are
    # 4 * 100 * (0 - 5/3)^2 + ..., that is 4 * 100 * 26/3, then 12 * 0.25 for q and 12 * 0.25 for the seeds
    rows = [
        {"up": f"{d}ms", "down": f"{d}ms", "queue": "ab"[q], "seed": seed, "y": 10.0 * d + q + seed}
        for d in (0, 1, 4)
        for q in (0, 1)
        for seed in (0, 1)
    ]
    axes, total = ["up", "down", "queue"], 4 * 100 * 26 / 3 + 3.0 + 3.0
    found = effects(pl.DataFrame(rows), axes, "y")
    assert {of.name: of.share for of in found} == pytest.approx({
        "up, down": 4 * 100 * 26 / 3 / total, "queue": 3.0 / total, "(up, down) × queue": 0.0, "rest": 0.0,
        "seeds": 3.0 / total,
    })  # fmt: skip
    assert found[2].axes == ("up", "down", "queue")
    assert levels(pl.DataFrame(rows), ["up", "down"], "y") == {"0ms": 1.0, "1ms": 11.0, "4ms": 41.0}
    # two axes of numbers in no common order are a sample, unless the grid zips them
    mixed = pl.DataFrame([{**row, "down": {"0ms": 3, "1ms": 9, "4ms": 1}[str(row["up"])]} for row in rows])
    assert together(mixed, axes) == [["up"], ["down"], ["queue"]]
    assert together(mixed, axes, zips=[["up", "down"]]) == [["up", "down"], ["queue"]]
    falling = mixed.with_columns(down=-pl.col("y").floordiv(10))
    assert together(falling, axes) == [["up", "down"], ["queue"]]
    assert together(falling, axes, sampled=["up", "down"]) == [["up"], ["down"], ["queue"]]


def test_the_shares_of_a_zipped_grid_add_up(grid: Path, capsys: pytest.CaptureFixture[str]):
    zipped = GRID.replace("[axes]", '[axes]\n"link.up.delay" = ["5ms", "20ms"]')
    grid.write_text('zip = [["link.up.rate", "link.up.delay"]]' + zipped)
    assert call(["sweep", str(grid), "--effects"]) == 0
    text = capsys.readouterr().out
    shares = dict(re.findall(r"^(\S.*?)  +([\d.]+)%", text, re.MULTILINE))
    both = "link.up.delay, link.up.rate"
    assert set(shares) == {both, "queue", f"({both}) × queue", "rest", "seeds"}
    assert sum(map(float, shares.values())) == pytest.approx(100.0, abs=0.3)
    assert re.search(r"^5ms, 1mbit +[\d.]+", text, re.MULTILINE)
    assert text.count("Main effect: mean over everything else.") == 2


def test_names_of_axes_do_not_disturb_the_statistics():
    # y = 10 a + 3 b + seed, so the shares of a, b and the seeds are 8 * 25, 8 * 2.25 and 8 * 0.25 of 8 * 27.5
    names = ("within", "baseline")
    rows = [
        {"within": a, "baseline": b, "seed": seed, "scenario_hash": "", "y": 10.0 * a + 3.0 * b + seed}
        for a in (0, 1)
        for b in (True, False)
        for seed in (0, 1)
    ]
    frame = pl.DataFrame(rows)
    shares = {of.name: of.share for of in effects(frame, names, "y")}
    assert shares == pytest.approx(
        {"within": 25 / 27.5, "baseline": 2.25 / 27.5, "within × baseline": 0.0, "rest": 0.0, "seeds": 0.25 / 27.5}
    )
    assert levels(frame.rename({"within": "mean"}), "mean", "y") == {"0": 2.0, "1": 12.0}
    assert levels(frame, "baseline", "y") == {"true": 8.5, "false": 5.5}
    found = differences(frame, names, "y", "baseline=false")
    assert [(of.place, of.interval.mean) for of in found] == [
        ({"within": 0, "baseline": True}, 3.0), ({"within": 1, "baseline": True}, 3.0),
    ]  # fmt: skip
    assert over_seeds.arm(pl.DataFrame({"loss": [0.0, 0.01]}), ["loss"], "loss=0") == ("loss", 0.0)
    with pytest.raises(ValueError, match=r"baseline is never maybe; it is true, false"):
        differences(frame, names, "y", "baseline=maybe")
    with pytest.raises(ValueError, match="mean: an axis cannot have the name of a column of statistics"):
        over_seeds.intervals(frame.rename({"within": "mean"}), ["mean", "baseline"], ["y"])


def test_a_line_of_80_always_shows_the_axes(grid: Path, capsys: pytest.CaptureFixture[str]):
    grid.write_text(GRID.replace("columns = [", 'columns = ["links.up.*_packets", '))
    assert call(["sweep", str(grid)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    blocks = [block for block in text.split("\n\n") if block.strip()]
    assert len(blocks) > 1
    for block in blocks:
        assert re.search(r"^1mbit +codel ", block, re.MULTILINE), block
    named = "\n".join(
        f"""[axes.{axis}]
a-very-long-name-without-a-blank = {{ "link.{axis}.delay" = "10ms" }}
another-name-as-long-as-the-first = {{ "link.{axis}.delay" = "20ms" }}"""
        for axis in ("up", "down")
    )
    grid.write_text(GRID[: GRID.index("[axes]")] + named)
    assert call(["sweep", str(grid)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    listed = "2  up = a-very-long-name-without-a-blank, down = another-name-as-long-as-the-first"
    assert listed in re.sub(r"\n\s+", " ", text)
    assert re.search(r"^2 +[\d.]+ ±[\d.]+ ", text, re.MULTILINE)


def test_explain_runs_nothing(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["sweep", str(grid), "--explain", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(
        r"4 points with 4 seeds: 16 runs, 0 of them stored; [\d.]+ m?s each \(8 trials\): "
        r"about (a second|\d+ (s|min)) with 1 run in parallel\n",
        out,
    )
    assert (err, list((tmp_path / "store").rglob("*.parquet"))) == ("", [])
    assert call(["sweep", str(grid)]) == 0
    capsys.readouterr()
    assert call(["sweep", str(grid), "--explain"]) == 0
    assert capsys.readouterr().out == "4 points with 4 seeds: 16 runs, 16 of them stored\n"


def test_runs_with_python_code_are_estimated_one_at_a_time(grid: Path, capsys: pytest.CaptureFixture[str]):
    grid.with_name("law.py").write_text("class Free:\n    def head(self, packet, view):\n        return None\n")
    grid.write_text(GRID.replace('{ droptail = { limit = "5p" } }', '{ python = { law = "law.py:Free" } }'))
    of = grid_file.load(grid)
    mixed = estimate(of.grid, grid_file.SUMMARY, None)
    assert 0.0 < mixed.in_turn < 1.0
    assert mixed.wall(16) == pytest.approx(mixed.seconds * 16 * mixed.in_turn)
    only = estimate(of.grid.where(lambda at: at["queue"] == "small"), grid_file.SUMMARY, None)
    assert (only.in_turn, only.wall(2)) == (1.0, pytest.approx(only.seconds * 8))
    assert Estimate(8, 0, 0.5, 8).wall(2) == 2.0
    turns = "(those with Python code one at a time; in parallel with --dask local)"
    for options, expected in (
        (["--jobs", "2"], True),
        (["--dask", "local", "--jobs", "2"], False),
        (["--jobs", "1"], False),
    ):
        assert call(["sweep", str(grid), "--explain", *options]) == 0
        assert (turns in capsys.readouterr().out) is expected


def test_seeds_that_say_nothing_are_said(grid: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["sweep", str(grid)]) == 0
    assert "note" not in capsys.readouterr().err
    grid.write_text(GRID.replace('"link.up.jitter" = "5ms"', ""))
    assert call(["sweep", str(grid)]) == 0
    out, err = capsys.readouterr()
    # without jitter, the seed still determines start times and phases, so the results differ and there is no note
    assert ("note" in err, "±" in out.replace("± half", "")) == (False, True)
    grid.write_text(GRID.replace('"link.up.jitter" = "5ms"', 'start_spread = "0s"'))
    assert call(["sweep", str(grid)]) == 0
    out, err = capsys.readouterr()
    assert "note: all seeds gave the same result everywhere: nothing is random there" in err
    assert "±" not in out.replace("± half", "")
    assert call(["sweep", str(grid), "--seeds", "1"]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_baseline_on_a_zipped_axis(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    zipped = GRID.replace("[axes]", '[axes]\n"app.voip.start" = ["1s", "1.5s"]')
    grid.write_text('zip = [["link.up.rate", "app.voip.start"]]' + zipped)
    over = tmp_path / "over.parquet"
    assert call(["sweep", str(grid), "--against", "link.up.rate=1mbit", "--summary", str(over)]) == 0
    _, _, table = capsys.readouterr().out.partition("Difference from link.up.rate=1mbit")
    assert (table.count("5mbit"), table.count("1mbit")) == (2, 0)
    pairs = pl.read_parquet(over).filter(pl.col("link.up.rate") == "5mbit")["pairs"].to_list()
    assert pairs == [4] * 4


@pytest.mark.parametrize(("against", "other"), [("queue=small", "link.up.rate"), ("link.up.rate=1mbit", "queue")])
def test_axes_that_vary_together_but_are_not_zipped_are_not_compared(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], against: str, other: str
):
    # these conditions leave two points: 1mbit with the small queue, and 5mbit with codel
    where = ["link.up.rate == 1mbit or queue == codel", "link.up.rate == 5mbit or queue == small"]
    grid.write_text(f"where = {where}{GRID}")
    assert call(["sweep", str(grid), "--against", against]) == 2
    axis = against.partition("=")[0]
    assert f"--against {against}: no point with another {axis} has the same {other}" in capsys.readouterr().err
    assert not list((tmp_path / "store").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--against", "queue=codle"], "--against queue=codle: queue is never codle; it is small, codel"),
        (["--against", "queue"], "--against queue: not axis=value; for example link.up.rate=1mbit"),
        (["--against", "aqm=codel"], "no axis aqm; expected link.up.rate, queue"),
        (["--summary", "over.xlsx"], "a table's name ends in"),
        (["--summary", "one.csv", "-o", "./one.csv"], "--summary one.csv: is the file of -o, too"),
        (["--interval", "normal"], "--interval"),
    ],
)
def test_bad_wishes_are_said_before_the_runs(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
):
    assert call(["sweep", str(grid), *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err
    assert not list((tmp_path / "store").rglob("*.parquet"))
