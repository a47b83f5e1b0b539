"""The command line refuses numbers that are not written in the digits 0 to 9, server commands with an open quotation
mark, and output folders that contain earlier results.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bloatlab import parse
from bloatlab.cli.live import with_ecn
from bloatlab.cli.main import call

GRID = """
scenario = "dumbbell.toml"
[set]
duration = "1s"
[axes]
"link.up.rate" = ["1mbit", "2mbit"]
"""


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]):
    """Returns a function that calls a command, checks that it is refused in one line, and returns the line."""

    def command(*arguments: object) -> str:
        capsys.readouterr()
        code = call([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        (line,) = [line for line in err.splitlines() if "--help" not in line]
        assert "bug" not in line
        return line

    return command


@pytest.mark.parametrize(
    "arguments",
    [
        ["lab", "--time", "٣"],
        ["lab", "--time", "1_0"],
        ["lab", "--delay", "٣"],
        ["lab", "--delay", "nan"],
        ["lab", "--bw-net", "inf"],
        ["lab", "--maxq", "１０"],
        ["run", "SCENARIO", "--seed", "４"],
        ["sweep", "SCENARIO", "--seeds", "٣"],
        ["reproduce", "csc458", "--jobs", "²"],
        ["collisions", "--trials", "٣"],
    ],
    ids=" ".join,
)
def test_numbers_are_in_plain_digits(refused, scenario_file: Path, tmp_path: Path, arguments: list[str]):
    more = ["--dir", str(tmp_path / "lab")] if arguments[0] == "lab" else []
    line = refused(*(str(scenario_file) if a == "SCENARIO" else a for a in arguments), *more)
    assert arguments[-2] in line
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize("sessions", ["٣", "1..٣", "²"])
def test_numbers_of_sessions_are_in_plain_digits(refused, sessions: str):
    assert "is neither a number nor a range" in refused("collisions", "--sessions", sessions)


def test_plain_numbers_are_taken(tmp_path: Path):
    flags = ["--bw-net", "2.5", "--delay", "1e0", "--maxq", "20", "--time", "9", "-q"]
    assert call(["lab", *flags, "--dir", str(tmp_path / "lab")]) == 0


@pytest.mark.parametrize("serve", ["'unterminated", 'iperf3 "-s', "iperf3 \\", ""])
def test_a_server_that_is_no_command_line_is_refused(refused, scenario_file: Path, serve: str):
    assert refused("live", scenario_file, "--serve", serve, "--", "true").startswith("--serve")


def test_a_result_is_not_overwritten_unless_asked(refused, scenario_file: Path, tmp_path: Path):
    out = tmp_path / "r"
    again = ["run", str(scenario_file), "-q", "-o", str(out)]
    assert call(again) == 0
    before = (out / "summary.json").read_text()
    line = refused(*again, "--seed", "9")
    assert line == f"{out}: has summary.json from an earlier run; give --force to replace it, or another folder"
    assert (out / "summary.json").read_text() == before
    assert call([*again, "--seed", "9", "--force"]) == 0
    assert (out / "summary.json").read_text() != before
    assert "has summary.json" in refused("reproduce", "csc458", "-o", out)
    assert "has summary.json" in refused("live", scenario_file, "-o", out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/report.html").write_text("mine")
    assert "has report.html" in refused("reproduce", "csc458", "-o", tmp_path / "mine")


def test_a_lab_is_not_overwritten_unless_asked(refused, tmp_path: Path):
    lab = ["lab", "--bw-net", "2", "--time", "9", "-q", "--dir", str(tmp_path)]
    assert call(lab) == 0
    assert "--force" in refused(*lab)
    assert call([*lab, "--force"]) == 0


def test_a_sweep_goes_on_in_its_own_table_only(refused, scenario_file: Path, tmp_path: Path):
    grid, out = tmp_path / "grid.toml", tmp_path / "table.csv"
    grid.write_text(GRID)
    sweep = ["sweep", str(grid), "-o", str(out), "-f", "csv"]
    assert call(sweep) == 0
    assert call([*sweep, "--seeds", "2"]) == 0
    assert pl.read_csv(out).height == 4
    grid.write_text(GRID.replace('"link.up.rate"', '"link.down.rate"'))
    assert "not a table of this sweep" in refused("sweep", grid, "-o", out)
    out.write_text("mine,own\n1,2\n")
    assert "not a table of this sweep" in refused("sweep", grid, "-o", out)
    assert out.read_text() == "mine,own\n1,2\n"
    assert call([*sweep, "--force"]) == 0


def test_a_study_goes_on_in_its_own_folder_only(refused, tmp_path: Path):
    (tmp_path / "scorecard.json").write_text('{"summary": {"study": "scte2013"}}')
    assert "scorecard.json of scte2013" in refused("reproduce", "csc458", "-o", tmp_path)


def test_stacks_with_ecn_that_an_application_uses_are_found():
    def found(tcp: str, server: str) -> list[str]:
        text = f"""
duration = "5s"
tcp.mine = {{ preset = "linux-6", ecn = true }}
link.up = {{ from = "a", to = "b", rate = "1mbit", both_ways = true }}
app.x = {{ from = "a", to = ["b"], traffic = "ftp", tcp = "{tcp}", tcp_server = "{server}" }}
"""
        return with_ecn(parse(text))

    assert found("linux-6", "cubic") == []
    assert found("mine", "linux-6") == ["mine"]
    assert found("linux-6", "dctcp") == ["dctcp"]
