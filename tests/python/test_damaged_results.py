"""Damaged and incomplete results are refused in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab import results
from bloatlab.cli.main import call

SCENARIO = """
duration = "2s"
trace = { links = true, flows = true, packets = true, interval = "100ms" }
[link.up]
from = "a"
to = "b"
both_ways = true
rate = "5mbit"
queue.codel = {}
[app.upload]
from = "a"
to = ["b"]
traffic.ftp = {}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    (folder / "s.toml").write_text(SCENARIO)
    for form in results.FORMS:
        assert call(["run", str(folder / "s.toml"), "-q", "-o", str(folder / form), "-f", form]) == 0
    return folder


@pytest.fixture
def refused(kept: Path, tmp_path: Path, monkeypatch, capsys) -> Callable[..., str]:
    """Returns a function that damages a file of a result, checks that a command refuses it, and returns the line."""
    monkeypatch.chdir(tmp_path)

    def check(form: str, file: str, damage: Callable[[Path], object], command: str) -> str:
        shutil.copytree(kept / form, "r")
        damage(Path("r") / file)
        capsys.readouterr()
        assert call(command.split()) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err.strip()

    return check


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("NaN", "expected a JSON object"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=["empty", "NaN", "nested"],
)
@pytest.mark.parametrize("name", ["provenance.json", "summary.json"])
def test_json_of_another_kind(refused, name: str, text: str, why: str):
    line = refused("parquet", name, lambda file: file.write_text(text), "report r -o r.html")
    assert line == f"r: not a result folder: {name}: {why}"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("duration_s", None),
        ("duration_s", "x"),
        ("apps", None),
        ("links", None),
        ("links", [1]),
        ("links.up", "x"),
        ("links.up.drops", None),
        ("links.up.utilisation", "x"),
        ("links.up.sojourn_ms", "x"),
        ("apps.upload", 1),
        ("apps.upload.goodput_mbit", [1]),
        ("apps.upload.delay_ms.p95", "x"),
        ("live", 5),
        ("live.valid", "x"),
    ],
)
@pytest.mark.parametrize("command", ["report r -o x.html", "plot r -o x.svg", "check r", "export r -o x.flent.gz"])
def test_a_summary_with_values_that_no_run_writes(refused, path: str, value: Any, command: str):
    def bend(file: Path) -> None:
        summary = json.loads(file.read_text())
        *above, name = path.split(".")
        part = summary
        for key in above:
            part = part.setdefault(key, {})
        part[name] = value
        if value is None:
            del part[name]
        file.write_text(json.dumps(summary))

    line = refused("parquet", "summary.json", bend, command)
    assert line == f"r: summary.json is damaged: the value of {path} is missing or not valid"


@pytest.mark.parametrize("command", ["export r -o x.flent.gz", "show r", "plot r -o x.svg", "check r"])
def test_a_table_that_is_missing(refused, command: str):
    line = refused("csv", "tables/flow_series.csv", Path.unlink, command)
    assert line == "r: not a complete result: the table flow_series is missing"


@pytest.mark.parametrize(
    ("table", "old", "new", "column"),
    [
        ("trace_links", ",up,", ",up,x", "backlog_packets"),
        ("trace_links", ",up,", ",,", "link"),
        ("trace_flows", "0.1,upload,", "-0.1,upload,", "t_s"),
        ("trace_flows", "0.1,upload,", "1e300,upload,", "t_s"),
        ("flow_series", "forward,0.0,", "forward,inf,", "t_s"),
    ],
)
def test_a_value_that_no_run_writes(refused, table: str, old: str, new: str, column: str):
    def bend(file: Path) -> None:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    line = refused("csv", f"tables/{table}.csv", bend, "plot r -k trace -o x.svg")
    assert line == f"r: the table {table} is damaged: a value of {column} is not valid"


def test_a_table_that_is_cut(refused):
    def cut(file: Path) -> None:
        first, second = file.read_text().splitlines()[:2]
        file.write_text(f"{first}\n{second[:12]}")

    line = refused("csv", "tables/trace_flows.csv", cut, "plot r -k trace -o x.svg")
    assert line.startswith("r: the table trace_flows is damaged: a value of ")


def test_packets_that_are_cut(refused):
    def cut(file: Path) -> None:
        file.write_bytes(file.read_bytes()[:-100])

    line = refused("parquet", "packets/00000.parquet", cut, "export r --format qlog -o q")
    assert line.startswith("r: the packets cannot be read: ")


@pytest.mark.parametrize("changed", [{"t_s": float("inf")}, {"seq": None}, {"size_bytes": None}], ids=str)
def test_packets_with_values_that_no_run_writes(refused, changed: dict[str, float | None]):
    def bend(file: Path) -> None:
        frame = pl.read_parquet(file)
        ((column, value),) = changed.items()
        frame.with_columns(pl.lit(value).cast(frame[column].dtype).alias(column)).write_parquet(file)

    line = refused("parquet", "packets/00000.parquet", bend, "export r --format qlog -o q")
    assert line == "r: the packets are damaged: a time, number or size is not valid"
