"""The command line refuses numbers that are not written in the digits 0 to 9, empty paths, server commands with an open
quotation mark, and output folders that contain earlier results.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bloatlab import live
from bloatlab.cli.common import BadInput
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


@pytest.mark.parametrize("number", ["inf", "two"])
def test_a_number_that_is_not_one_is_refused_with_its_option(refused, number: str):
    line = refused("plot", "runs", "--xlim", "0", number)
    assert line == f"Invalid value for --xlim: {number!r} is not a number, such as 2.5"


@pytest.mark.parametrize("sessions", ["٣", "1..٣", "²"])
def test_numbers_of_sessions_are_in_plain_digits(refused, sessions: str):
    assert "is neither a number nor a range" in refused("collisions", "--sessions", sessions)


def test_plain_numbers_are_taken(tmp_path: Path):
    flags = ["--bw-net", "2.5", "--delay", "1e0", "--maxq", "20", "--time", "9", "-q"]
    assert call(["lab", *flags, "--dir", str(tmp_path / "lab")]) == 0


@pytest.mark.parametrize("serve", ["'unterminated", 'iperf3 "-s', "iperf3 \\", ""])
def test_a_server_that_is_no_command_line_is_refused(refused, scenario_file: Path, serve: str):
    assert refused("live", scenario_file, "--serve", serve, "--", "true").startswith("--serve")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "SCENARIO", "-q", "-o", ""],
        ["run", "SCENARIO", "-q", "-p", ""],
        ["run", ""],
        ["check", "SCENARIO", "--junit", ""],
        ["plot", ""],
        ["plot", "runs", "-o", ""],
        ["report", "runs", "", "-o", "x.html"],
        ["validate", ""],
        ["compare", ""],
        ["judge", "--suite", "none", "--cc", "bbr3", "--out", ""],
        ["sweep", "SCENARIO", "--store", ""],
        ["store", "--store", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_working_folder(
    refused, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    line = refused(*(str(scenario_file) if a == "SCENARIO" else a for a in arguments))
    assert line.endswith('"" is not a path; expected the name of a file or folder')
    before = arguments[arguments.index("") - 1]
    assert before in line or not before.startswith("-")
    assert line.startswith("Invalid value for ")  # then the name of the option or argument
    assert not list(Path().iterdir())


def test_an_empty_name_is_neither_a_study_nor_a_file(refused, tmp_path: Path):
    assert refused("reproduce", "").startswith('"": no such study (')
    grid = tmp_path / "grid.toml"
    grid.write_text('scenario = ""\n[axes]\n"seed" = [1]\n')
    assert refused("sweep", grid).startswith(f"{grid}: scenario: the file to vary is missing")
    assert refused("check", grid).startswith(f"{grid}: scenario: the file to vary is missing")


def test_a_result_is_not_overwritten_unless_asked(refused, scenario_file: Path, tmp_path: Path):
    out = tmp_path / "r"
    again = ["run", str(scenario_file), "-q", "-o", str(out)]
    assert call(again) == 0
    before = (out / "summary.json").read_text()
    line = refused(*again, "--seed", "9")
    assert line == f"{out}: already has summary.json; give --force to replace it, or another folder"
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


def test_the_file_that_is_missing_is_named(refused, scenario_file: Path, tmp_path: Path):
    grid, there, missing = tmp_path / "grid.toml", tmp_path / "there", tmp_path / "none"
    grid.write_text('scenario = "none"\n[axes]\n"seed" = [1]\n')
    assert call(["run", str(scenario_file), "-q", "-o", str(there)]) == 0
    for command in (["report", there, missing, "-o", tmp_path / "x.html"], ["plot", there, missing], ["sweep", grid]):
        assert refused(*command) == f"{missing}: no such file or directory"


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


@pytest.mark.parametrize(
    ("used", "stacks"),
    [
        ('tcp = "plain", tcp_server = "cubic"', ""),
        ('tcp = "own"', "own"),
        ('tcp_server = "dctcp"', "dctcp"),
        ('tcp = "named", tcp_server = "dctcp"', "dctcp, named"),
    ],
)
def test_a_live_run_with_cong_names_the_stacks_that_run_without_ecn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch, used: str, stacks: str
):
    def run(*_: object, **__: object) -> None:
        raise BadInput("no live run")

    monkeypatch.setattr(live, "available", lambda: True)
    monkeypatch.setattr(live, "clean", lambda: 0)
    monkeypatch.setattr(live, "run", run)
    file = tmp_path / "a.toml"
    file.write_text(f"""
duration = "5s"
tcp.own = {{ preset = "linux-6", ecn = true }}
tcp.named = {{ preset = "dctcp" }}
tcp.plain = {{ preset = "linux-6", congestion_control = "reno" }}
link.up = {{ from = "a", to = "b", rate = "1mbit", both_ways = true }}
app.x = {{ from = "a", to = ["b"], traffic = "ftp", {used} }}
app.y = {{ from = "a", to = ["b"], traffic = "ping" }}
""")
    note = f"note: --cong reno: without ECN, which the scenario's {stacks} would use\n" if stacks else ""
    for words, said in ((["--cong", "reno"], note), (["--cong", "reno", "-q"], ""), ([], "")):
        assert call(["live", str(file), *words]) == 2
        assert capsys.readouterr().err == f"{said}no live run\n"
