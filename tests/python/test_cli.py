"""The command line: exit codes, one line per error, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from importlib import resources
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from bloatlab.cli.main import app, call
from bloatlab.live import LiveError
from bloatlab.plots import Unfit
from bloatlab.studies import STUDIES, study
from conftest import interrupt


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]):
    """Returns a function that runs a command and returns its exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        code = call([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return command


def test_run_keeps_a_result_that_show_shows(say, scenario_file: Path, tmp_path: Path):
    folder = tmp_path / "result"
    code, out, err = say("run", scenario_file, "--set", "link.up.rate=2mbit", "-o", folder, "--seed", 4)
    assert (code, str(folder) in err) == (0, True)
    assert "Links" in out
    assert "Voice" in out
    names = {p.name for p in folder.iterdir()}
    assert names == {"scenario.resolved.json", "summary.json", "provenance.json", "tables"}
    resolved = json.loads((folder / "scenario.resolved.json").read_text())
    assert (resolved["seed"], resolved["link"]["up"]["rate"]) == (4, "2mbit")
    assert pl.read_parquet(folder / "tables" / "queue_series.parquet").height > 0

    shown = say("show", folder)[1]
    assert "Links" in shown
    assert "seed 4" in shown
    summary = json.loads(say("show", folder, "-f", "json")[1])
    assert summary == json.loads((folder / "summary.json").read_text())
    csv = say("show", folder, "--table", "queue_series", "-f", "csv")[1]
    assert csv.splitlines()[0].startswith("link,t_s,")
    # the output has every column, but only as many rows as fit on a screen
    text = say("show", folder, "--table", "queue_series")[1]
    assert set(csv.splitlines()[0].split(",")) <= set(text.split())
    first = csv.splitlines()[1].split(",")[0]
    assert text.count(f"\n{first} ") == 20 * text.count("\nlink ")
    assert "nan" not in text
    assert text.endswith("rows; -f csv prints all.\n")
    assert "no rows" in say("show", folder, "--table", "pages")[1]


def test_a_bare_number_that_is_a_rate_is_told_as_bits_per_second(say, scenario_file: Path, tmp_path: Path):
    note = 'note: link.up.rate: 5 bit/s is very slow; did you mean "5mbit"? (a bare number is bit/s)'
    code, _, err = say("run", scenario_file, "--set", "link.up.rate=5")
    assert (code, err.splitlines()[0]) == (0, note)
    assert "note" not in say("run", scenario_file, "--set", "link.up.rate=5", "-q")[2]
    assert "note" not in say("run", scenario_file, "--set", "link.up.rate=1kbit")[2]
    grid = tmp_path / "grid.toml"
    grid.write_text(f'scenario = "{scenario_file}"\nseeds = 2\naxes."link.up.rate" = ["5", "1mbit"]\n')
    assert say("sweep", grid, "--no-store")[2].count(note) == 1


def test_an_application_that_never_starts_is_told(say, scenario_file: Path):
    late = ("run", scenario_file, "--set", "app.file.start=1min", "--set", "duration=1500ms")
    code, _, err = say(*late)
    assert code == 0
    assert "note: app.file.start: 60s is not before the end (1500ms), so it never starts" in err.splitlines()
    assert "note" not in say("run", scenario_file, "--set", "app.file.start=1499ms", "--set", "duration=1500ms")[2]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list",), 0),
        (("judge", "--suite", "bbr", "--cc", "fixed", "--case", "A.17", "--no-store"), 1),
        (("check", "lossy.toml", "--no-store"), 1),
    ],
)
def test_a_pipe_that_nobody_reads_does_not_change_the_exit_code(
    tmp_path: Path, scenario_file: Path, arguments: tuple[str, ...], code: int
):
    """If the reader closes the pipe before the command writes anything, the command prints no error, and its exit code
    is the same.
    """
    expected = '\n[expect]\n"links.up.utilisation" = "> 1"\n'
    (tmp_path / "lossy.toml").write_text(scenario_file.read_text() + expected)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        command = [sys.executable, "-m", "bloatlab", *arguments]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_tables_in_each_form(say, scenario_file: Path, tmp_path: Path, form: str):
    assert say("run", scenario_file, "-q", "-o", tmp_path / "r", "-f", form)[:2] == (0, "")
    assert {p.suffix for p in (tmp_path / "r" / "tables").iterdir()} == {f".{form}"}


ZERO_MAP = 'link.up.docsis={ flow = { max_sustained_rate = "5mbit" }, map_interval = "0s" }'
BACKWARDS = 'link.up.changes=[{ at = "2s", rate = "1mbit" }, { at = "1s", rate = "2mbit" }]'
BEFORE = 'link.up.changes=[{ at = "-1s", rate = "1mbit" }]'


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.toml"], ["missing.toml: no such file"]),
        (["plot", "missing.parquet"], ["missing.parquet: no such file"]),
        (["run"], ["FILE"]),
        (["run", "SCENARIO", "--set", "link.up.rate"], ["--set link.up.rate: expected path=value"]),
        (["run", "SCENARIO", "--set", "link.up.rate=5mbps"], ["SCENARIO: link.up.rate", "5mbps"]),
        (["run", "SCENARIO", "--set", "link.up.rte=5mbit"], ["SCENARIO: link.up", "rte", "rate"]),
        (["run", "SCENARIO", "--seed", "x"], ["--seed"]),
        (["run", "SCENARIO", "-f", "xml"], ["xml", "csv"]),
        (["run", "SCENARIO", "-o", "/proc/nowhere"], ["/proc/nowhere: cannot write"]),
        (["rnu", "SCENARIO"], ['"rnu"', '"run"']),
        (["run", "SCENARIO", "-o", "SCENARIO"], ["SCENARIO: cannot write", "not a directory"]),
        (["run", "FOLDER"], ["FOLDER: is a directory"]),
        (["run", "SCENARIO", "--set", "link.up.rate=-5mbit"], ["SCENARIO: link.up.rate", "-5mbit", "5mbit"]),
        (["run", "SCENARIO", "--set", "link.up.rate=-5"], ["SCENARIO: link.up.rate", "-5 is negative"]),
        (["reproduce", "l4s", "--set", "seed=3"], ["--set seed: --seeds varies it"]),
        (["reproduce", "l4s", "--quick", "--set", "name=foo"], ["--set name: a study identifies its cases"]),
        (["validate", "--set", "seed=3"], ["--set seed: --seeds varies it"]),
        (["compare", "SCENARIO", "--set", "seed=3"], ["--set seed: --seeds varies it"]),
        (["check", "SCENARIO", "--seeds", "2", "--set", "seed=3"], ["--set seed: --seeds varies it"]),
        (["run", "SCENARIO", "--set", "=5"], ["--set =5: expected path=value"]),
        (["run", "SCENARIO", "--set", "a..b=5"], ["SCENARIO: ", "dotted path"]),
        (["run", "SCENARIO", "--set", "link.down.to=moon"], ["no route", "home"]),
        (["run", "SCENARIO", "--set", 'route=[{at="home",to="net",via="pu"}]'], ["route.0.via", "pu", "up"]),
        (["run", "SCENARIO", "--set", ZERO_MAP], ["link.up.docsis.map_interval", "0s", "more than 0s"]),
        (["run", "SCENARIO", "--set", BACKWARDS], ["link.up.changes.1.at", "1s is earlier than the previous change"]),
        (["run", "SCENARIO", "--set", BEFORE], ["link.up.changes.0.at", "-1s"]),
        (["run", "SCENARIO", "--set", "seed=-1"], ["SCENARIO: seed", "-1", "whole number"]),
        (["run", "SCENARIO", "--seed", "-1"], ["--seed", "-1"]),
        (["reproduce", "cablelabs2012", "-o", "SCENARIO"], ["SCENARIO: cannot write", "not a directory"]),
        (["reproduce", "cablelabs2012", "-o", "/proc/nowhere"], ["/proc/nowhere: cannot write"]),
        (["reproduce", "cablelabs2012", "--jobs", "0"], ["--jobs"]),
        (["show", "nowhere"], ["nowhere: not a result folder"]),
        (["show", "SCENARIO"], ["SCENARIO: not a directory"]),
        (["show", "/"], ["/: not a result folder"]),
        (["reproduce", "cablelabs2021"], ["no such study", '"cablelabs2012"']),
        (["reproduce", "cablelabs2012", "-e", "tragets"], ["tragets", '"targets"']),
        (["reproduce", "cablelabs2012", "--seeds", "0"], ["--seeds"]),
        (
            ["reproduce", "csc458", "--seeds", "5", "--quick"],
            ["--seeds 5: has no effect with --quick, which runs 2 seeds"],
        ),
        (["list", "qdsics"], ["qdsics", "qdiscs"]),
        (["list", "coddel"], ["list coddel", '"codel"']),
        (["list", "westwood"], ["list westwood: westwood is a congestion control without a preset; it is a value of"]),
    ],
)
def test_bad_input_is_said_in_a_line_and_ends_with_2(say, scenario_file: Path, arguments: list[str], words: list[str]):
    def placed(text: str) -> str:
        return text.replace("SCENARIO", str(scenario_file)).replace("FOLDER", str(scenario_file.parent))

    code, out, err = say(*map(placed, arguments))
    assert (code, out) == (2, "")
    assert all(placed(word) in err for word in words), err
    assert len([line for line in err.splitlines() if line.strip() and "--help" not in line]) == 1, err


def test_truncated_and_binary_files(say, scenario_file: Path, tmp_path: Path):
    scenario_file.write_text(scenario_file.read_text()[:-3])
    code, _, err = say("run", scenario_file)
    assert code == 2
    assert err.startswith(f"{scenario_file}: ")
    for encoding in ("utf-16", "utf-16-le", "latin-1"):  # utf-16-le is without a byte order mark
        (tmp_path / "other.toml").write_text("# f\u00fcr zuhause\n", encoding=encoding)
        says = f"{tmp_path / 'other.toml'}: not UTF-8 text; if it is a text file, save it as UTF-8\n"
        assert say("run", tmp_path / "other.toml")[::2] == (2, says)


@pytest.mark.parametrize(
    ("arguments", "line", "command"),
    [
        (["run"], "bloatlab run: FILE is missing", "bloatlab run"),
        (["run", "a.toml", "b.toml"], 'bloatlab run: "b.toml" is an unexpected argument', "bloatlab run"),
        (["report"], "bloatlab report: --output is missing", "bloatlab report"),
        (["store", "all"], 'bloatlab store: "all" is an unexpected argument', "bloatlab store"),
        (["run", "a.toml", "--seed"], 'Command "run" parameter --seed requires an argument.', "bloatlab run"),
    ],
)
def test_missing_and_extra_words_are_named_with_the_help_to_read(say, arguments: list[str], line: str, command: str):
    assert say(*arguments)[::2] == (2, f"{line}\nTry {command} --help.\n")


def test_a_scenario_given_as_a_grid_is_told_apart(say, scenario_file: Path):
    code, _, err = say("sweep", scenario_file)
    assert (code, f'a grid varies one: scenario = "{scenario_file.name}"' in err) == (2, True)


def test_schema_and_lists_are_json(say):
    assert json.loads(say("schema")[1])["properties"]["link"]
    lists = json.loads(say("list", "-f", "json")[1])
    assert set(lists) == {
        "qdiscs",
        "links",
        "modems",
        "apps",
        "tcp",
        "grades",
        "measures",
        "workloads",
        "studies",
        "suites",
    }
    assert "codel" in say("list", "qdiscs")[1]
    titles = {name: study(name).publication.title for name in STUDIES}
    assert {entry["name"]: entry["doc"] for entry in lists["studies"]} == titles
    listed = " ".join(say("list", "studies")[1].split())
    assert all(f"{name} {title}" in listed for name, title in titles.items())
    assert "https://doi.org/10.1117/12.333807" in say("list", "mmcn1999")[1]
    assert "ocument 0" not in say("list", "-f", "json")[1]
    # if a default is null, the list shows the meaning of null, such as "off", or refers to the description that
    # explains it ("see meaning")
    rows = [line.split(maxsplit=1) for line in say("list", "codel")[1].splitlines() if not line.startswith(" ")]
    codel = dict(row for row in rows if len(row) == 2)
    assert codel["reentry"].startswith("see meaning")
    assert codel["ce_threshold"].startswith("off")
    assert codel["limit"].startswith("1000p")


@pytest.mark.parametrize("what", [("codel",), ("studies",), ()])
def test_titles_and_the_entries_of_other_kinds_are_listed_without_importing_a_study(what: tuple[str, ...]):
    code = f"import sys; from bloatlab.cli.main import call; call({['list', *what]}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bloatlab.cli.listing" in done.stdout.split()
    assert "bloatlab.studies" not in done.stdout.split()


def test_list_is_a_page_and_list_name_is_one_entry(say):
    code, out, _ = say("list")
    assert (code, max(map(len, out.splitlines())) <= 80, len(out.splitlines()) <= 90) == (0, True, True)
    assert all(name in out for name in ("fq_codel", "voip", "linux-6", "scte2013"))
    assert "100ms" not in out
    codel = say("list", "codel")[1]
    assert [line.split()[:2] for line in codel.splitlines() if line.startswith("target")][-1] == ["target", "5ms"]
    words = (
        "When count is incremented; null: with_drop, if_still_above (draft01, kmn). Values: with_drop, if_still_above."
    )
    assert words in " ".join(codel.split())
    assert list(json.loads(say("list", "codel", "-f", "json")[1])) == ["qdiscs"]
    assert "congestion_control" in say("list", "rfc")[1]
    # the command lists a modem's parameters by their paths in a scenario, and the keywords that they accept
    docsis = say("list", "docsis")[1]
    assert "flow.max_traffic_burst" in docsis
    assert "Values: recorded, live" in " ".join(docsis.split())
    (modem,) = json.loads(say("list", "docsis", "-f", "json")[1])["modems"]
    assert {"name", "default", "description", "words"} == set(modem["params"][0])
    assert "downstream.channel" in say("list", "docsis31")[1]
    assert say("list", "htb")[1].startswith("shaper.htb: ")
    assert "cburst" in say("list", "htb")[1]
    assert "Scales of grades (grade.scale): p99, dslreports, waveform, vrecipes, rpm" in out
    assert (
        "Grades: A+ below 15 ms, A below 50, B below 100, C below 300, D below 500, else" in say("list", "vrecipes")[1]
    )
    assert "-e disciplines" in say("list", "cablelabs2012")[1]


def test_list_measures_says_what_a_summary_has(say):
    code, out, _ = say("list", "measures", "sojourn_ms")
    assert code == 0
    assert "Label: time in queue (ms)" in out
    assert "Comparison: less is better" in out
    assert "links.*.sojourn_ms.p99_9" in out
    found = json.loads(say("list", "measures", "-f", "json")[1])["measures"]
    assert {"links.*.utilisation", "apps.*.voip.mos", "latency.induced_ms"} <= {of["name"] for of in found}
    # `list rpm` finds the application and the grading scale, but not the measures whose names end in rpm
    assert list(json.loads(say("list", "rpm", "-f", "json")[1])) == ["apps", "grades"]
    code, _, err = say("list", "measures", "sojurn_ms")
    assert (code, 'did you mean "sojourn_ms"?' in err) == (2, True)
    code, out, _ = say("list", "measures", "game")
    assert code == 0
    assert re.findall(r"^apps\S+", out, re.MULTILINE) == [
        f"apps.*.game.{way}.{what}_percent" for way in ("up", "down") for what in ("lost", "late")
    ]
    assert "Source: IEEE 802.11-18/2009r6" in say("list", "game")[1]
    assert say("list", "loads")[2].endswith("bloatlab recommend --help lists the loads\n")
    assert say("list", "codel", "target")[2].startswith("list codel target: codel is not a kind (apps, ")


@pytest.mark.parametrize(
    ("line", "unused"),
    [
        ("--version", "cyclopts rich bloatlab.cli.main"),
        ("run examples/home-upload.toml --set duration=1s", "polars matplotlib bloatlab.plots bloatlab.sweep"),
        ("run --help", "polars numpy bloatlab.plots bloatlab.sweep"),
        ("tc examples/home-upload.toml", "polars numpy"),
        ("list qdiscs", "polars numpy bloatlab.studies"),
    ],
)
def test_commands_start_without_the_modules_that_they_do_not_use(line: str, unused: str):
    asked = [sys.executable, "-X", "importtime", "-m", "bloatlab", *line.split()]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    imported = {name.rpartition("|")[2].strip() for name in done.stderr.splitlines()}
    assert done.stdout
    assert "bloatlab.cli" in imported
    assert not imported & set(unused.split())


def test_help_of_all_loads_no_command_and_says_their_first_lines(say):
    code = "import sys; from bloatlab.cli.main import call; call(['--help']); print(sorted(sys.modules))"
    asked = subprocess.run([sys.executable, "-m", "bloatlab", "--help"], capture_output=True, text=True, check=True)
    assert asked.stdout.startswith("Usage: bloatlab COMMAND")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not any(f"'{heavy}'" in done.stdout for heavy in ("polars", "numpy", "matplotlib", "bloatlab.cli.run"))
    flat = " ".join(done.stdout.replace("│", " ").split())
    for name in (str(name) for name in app if not str(name).startswith("-")):
        of = app[name]
        whole = (of.default_command.__doc__ if of.default_command is not None else of.help) or ""
        assert f" {name} {whole.split(chr(10))[0]} " in flat, name
        # a command's own help contains its whole description, so the last words of the description are there
        if of.default_command is not None:
            last = whole.split("Args:")[0].split()[-3:]
            assert " ".join(last).replace("`", "") in " ".join(say(name, "--help")[1].replace("│", " ").split()), name


def test_no_example_of_the_help_is_wrapped(say, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = [line.rstrip() for line in say("--help")[1].splitlines()]
    given = resources.files("bloatlab.cli").joinpath("help.txt").read_text("utf-8").splitlines()
    assert [line for line in given if line not in shown] == []


@pytest.mark.parametrize("name", ["", *(str(name) for name in app if not str(name).startswith("-")), "store gc"])
def test_help_flows_and_says_no_empty_default(say, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = say(*name.split(), "--help")
    assert code == 0
    assert out.startswith("Usage: bloatlab")
    assert all(
        nothing not in out for nothing in ("[default: ()]", "[default: False]", "[default: None]", "[default: ]")
    )
    # if a text were wrapped for the width of the source and again for the terminal, some lines would consist of a
    # single word
    above = [line.strip() for line in out.split("╭")[0].splitlines()]
    alone = [line for before, line in pairwise(above) if before and line and len(before) + len(line) < 60]
    assert name == "" or not alone, alone


def test_a_bug_is_one_line_too(say, monkeypatch: pytest.MonkeyPatch, scenario_file: Path):
    def broken(*_a: object, **_k: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("bloatlab.cli.run.run", broken)
    code, _, err = say("run", scenario_file)
    assert (code, err.count("\n")) == (70, 1)
    assert "a bug: ZeroDivisionError: oh" in err


@pytest.mark.parametrize("error", [Unfit("a: is no b"), LiveError("a: no TUN here")])
def test_what_a_room_says_of_its_input_is_the_line(say, monkeypatch: pytest.MonkeyPatch, scenario_file: Path, error):
    def refused(*_a: object, **_k: object) -> None:
        raise error

    monkeypatch.setattr("bloatlab.cli.run.run", refused)
    assert say("run", scenario_file, "-q") == (2, "", f"{error}\n")


#: Scenarios that run for minutes. In `rateless`, many packets arrive at the same time; in `idle`, almost nothing
#: happens for a long time.
ENDLESS = {
    # the link has no rate, so whole windows of packets arrive at the same time
    "rateless": (
        "4s",
        'delay = "10us"\n[app.bulk]\nfrom = "x"\nto = ["y"]\ntraffic.ftp = { flows = 20 }\n',
    ),
    # the link has almost nothing to send, but still counts its opportunities to send
    "idle": (
        "4320000s",
        'delay = "10ms"\ndelivery.lte = {}\n[app.file]\nfrom = "x"\nto = ["y"]\ntraffic.ping = { count = 1 }\n',
    ),
}


def endless(folder: Path, what: str) -> Path:
    duration, rest = ENDLESS[what]
    head = f'duration = "{duration}"\nrecord.interval = "{duration}"\n'
    path = folder / f"{what}.toml"
    path.write_text(f'{head}[link.a]\nfrom = "x"\nto = "y"\nboth_ways = true\n{rest}')
    return path


@pytest.mark.parametrize("what", ENDLESS)
def test_ctrl_c_ends_a_run_whatever_simulated_time_does(what: str, tmp_path: Path):
    imported = "from bloatlab.cli import main; print('imported', flush=True); main()"
    command = [sys.executable, "-c", imported, "run", str(endless(tmp_path, what)), "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        time.sleep(3)
        assert process.poll() is None, process.communicate()
        _, err = interrupt(process)  # this takes less than a second on a quiet machine
    assert (process.returncode, err.splitlines()[-1]) == (130, "interrupted")


def test_a_window_that_nothing_slows_down_is_refused(say, tmp_path: Path):
    path = endless(tmp_path, "rateless")
    code, _, err = say("run", path, "--set", "app.bulk.traffic.ftp.flows=64", "--set", "duration=500ms")
    assert code == 2
    assert "packets may arrive at one moment; expected at most 100000" in err.replace("\n", " ")


@pytest.mark.parametrize(("what", "after_s"), [("run", 0.05), ("run", 1), ("reproduce", 1)])
def test_ctrl_c_ends_with_130_and_a_word(what: str, after_s: float, scenario_file: Path, tmp_path: Path):
    """Ctrl-C ends a command with exit code 130 and one word: after 0.05 s, before the simulation has started, and after
    1 s, when it is running (or, on a slow machine, about to start).
    """
    arguments = {
        "run": ["run", scenario_file, "--set", "duration=100000s", "--set", "record.interval=100s"],
        "reproduce": ["reproduce", "cablelabs2012", "--seeds", "1000", "-o", tmp_path / "study"],
    }[what]
    imported = "from bloatlab.cli import main; print('imported', flush=True); main()"
    command = [sys.executable, "-c", imported, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        time.sleep(after_s)
        assert process.poll() is None, process.communicate()
        out, err = interrupt(process)  # without Ctrl-C, both commands would run for minutes
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in out + err
