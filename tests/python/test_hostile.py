"""Endless files, compression bombs and full disks cause an error of one line; odd names are shown without harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab import files, flent
from bloatlab.cli.main import call
from bloatlab.results import csv_text, open_result, read_table, write_table

COMMAND = [sys.executable, "-m", "bloatlab"]
HOSTILE = "=x\x1b]0;title\x07\u202e"


@pytest.fixture
def result(scenario_file: Path, tmp_path: Path) -> Path:
    """Makes a result with tables in CSV."""
    folder = tmp_path / "result"
    assert call(["run", str(scenario_file), "-o", str(folder), "-f", "csv", "-q", "--set", "duration=1s"]) == 0
    return folder


@pytest.fixture
def refused(capsys) -> Callable[..., str]:
    """Returns a function that calls a command with bad input, checks that it prints one line, and returns the line."""

    def check(*arguments: str) -> str:
        capsys.readouterr()
        assert call(list(arguments)) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1), err
        return err

    return check


# --------------------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["run", "{}"], "x.toml"),
        (["sweep", "{}"], "x.toml"),
        (["check", "{}"], "x.toml"),
        (["plot", "{}", "-o", "x.svg"], "x.flent"),
        (["links", "rates", "{}"], "x.pcap"),
        (["validate", "{}"], "x.json"),
    ],
)
def test_an_endless_file_is_refused(refused, tmp_path: Path, monkeypatch, words: list[str], name: str):
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(flent, "MOST_BYTES", 1 << 20)
    monkeypatch.chdir(tmp_path)
    endless = tmp_path / name
    endless.symlink_to("/dev/zero")
    said = refused(*[word.format(endless) for word in words])
    assert str(endless) in said or name in said
    assert "larger than the limit of 1048576 bytes" in said or "not a capture" in said


def test_an_endless_trace_is_refused(refused, scenario_file: Path, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    text = scenario_file.read_text().replace('rate = "20mbit"', 'delivery.trace = { file = "/dev/zero" }')
    scenario_file.write_text(text)
    assert "link.down.delivery.trace.file: /dev/zero: larger than the limit of 1048576 bytes" in refused(
        "run", str(scenario_file)
    )


def test_a_bomb_is_refused(refused, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(flent, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "x.flent.gz"
    bomb.write_bytes(gzip.compress(b" " * (8 << 20)))
    assert "larger than the limit of 1048576 bytes" in refused("plot", str(bomb), "-o", str(tmp_path / "x.svg"))


@pytest.mark.parametrize("length", [0xFFFFFFFF, 0x7FFFFFFF, 20 << 20])
def test_a_record_of_4_gigabytes_is_refused(refused, tmp_path: Path, length: int):
    capture = tmp_path / "x.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    capture.write_bytes(head + struct.pack("<IIII", 0, 0, length, length) + bytes(64))
    assert f"{capture}: a record of {length} bytes; at most 16 MiB are supported" in refused(
        "links", "rates", str(capture)
    )


@pytest.mark.parametrize("seeds", ["1e9", "1000000000", "0", "[1, 1]"])
def test_too_many_seeds_name_the_most(refused, scenario_file: Path, seeds: str):
    grid = scenario_file.with_name("grid.toml")
    grid.write_text(f'scenario = "dumbbell.toml"\nseeds = {seeds}\n[axes]\n"link.up.rate" = ["1mbit"]\n')
    assert re.search(r"seeds: .* a whole number from 1 to [1-9]\d+ nor a list", refused("sweep", str(grid)))


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        {"x_values": [0, 1, 2], "results": {"Ping (ms) ICMP": [1.0], "TCP upload": [1]}, "metadata": {"NAME": "x"}},
        {"x_values": [0], "results": {"TCP upload": [1, 2, 3]}, "metadata": {}},
        {"x_values": [], "results": {}, "metadata": {"STEP_SIZE": 0.2}},
        {"x_values": [0, 1], "results": {"TCP upload": [1e308, 1e308]}, "metadata": {"STEP_SIZE": 1e-300}},
        {"x_values": [0, 0], "results": {"TCP upload": [1, 1]}, "metadata": {}},
        {"x_values": [[0], [1]], "results": {"Ping (ms)": [[1], [2]]}, "metadata": {}},
    ],
)
def test_a_bent_data_file_of_flent_is_refused(refused, tmp_path: Path, data):
    place = tmp_path / "x.flent"
    place.write_bytes(data if isinstance(data, bytes) else json.dumps(data | {"version": 4}).encode())
    assert "x.flent: " in refused("plot", str(place), "-o", str(tmp_path / "x.svg")).replace("x: has", "x.flent: has")


# ---------------------------------------------------------------------------------------------- full disks


def run(*arguments: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system of 64 kB that has only a few kB left."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system of 64 kB cannot be mounted here: needs root")
    (place / "ballast").write_bytes(bytes(60 << 10))
    yield place
    subprocess.run(["/bin/umount", place], check=True)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "{scenario}", "-o", "{disk}/o", "--set", "duration=1s"],
        ["run", "{scenario}", "-o", "{disk}/o", "--set", "duration=1s", "--trace", "packets"],
        ["plot", "{result}", "-o", "{disk}/x.svg"],
        ["plot", "{result}", "-o", "{disk}/x.png"],
        ["report", "{result}", "-o", "{disk}/x.html"],
    ],
)
def test_a_full_disk_is_refused_and_leaves_no_empty_file(
    refused, scenario_file: Path, result: Path, full_disk: Path, words: list[str]
):
    said = refused(*[word.format(scenario=scenario_file, result=result, disk=full_disk) for word in words])
    assert said.startswith(f"{full_disk}/")
    assert said.endswith("cannot write: no space left on device\n")
    assert [path for path in full_disk.rglob("*") if path.is_file() and not path.stat().st_size] == []
    assert not list(full_disk.rglob(".*"))


def test_a_file_is_as_it_was_when_it_cannot_be_replaced(tmp_path: Path, monkeypatch):
    place = tmp_path / "x.txt"
    files.write(place, "before")

    class Full(io.FileIO):
        """A file on a device with room for two bytes."""

        def write(self, data: Any) -> int:
            super().write(bytes(data[:2]))
            raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", Full)
        with pytest.raises(OSError, match=re.escape(str(place))):
            files.write(place, "after")
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_a_full_device_for_output_is_refused(result: Path):
    with Path("/dev/full").open("w") as full:
        done = run("show", str(result), stdout=full)
    assert (done.returncode, done.stderr) == (2, "standard output: cannot write: no space left on device\n")


@pytest.mark.parametrize("closed", ["the pipe's other end", "before the start"])
@pytest.mark.parametrize(("file", "code"), [("", 0), ("no.toml", 2)])
def test_a_closed_standard_error_does_not_end_a_command(
    scenario_file: Path, tmp_path: Path, closed: str, file: str, code: int
):
    reader, writer = os.pipe()
    os.close(reader)
    shell = 'exec "$@" 2>&-' if closed == "before the start" else 'exec "$@"'
    # because the rate is below 1 kbit/s, the command prints a note on standard error before the run
    words = ["run", file or str(scenario_file), "--set", "link.up.rate=900bit", "--set", "duration=1s", "-o", "out"]
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", *COMMAND, *words], stderr=writer, cwd=tmp_path, timeout=120, check=False
    )
    os.close(writer)
    assert done.returncode == code
    assert (tmp_path / "out" / "summary.json").is_file() == (code == 0)


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("run {} -o out --set duration=1s", ">&-", 0),
        ("list", ">&-", 0),
        ("list", "<&- >&- 2>&-", 0),
        ("schema", "<&- >&-", 0),
        ("--version", ">&-", 0),
        ("show none", ">&-", 2),
    ],
)
def test_a_closed_standard_output_does_not_end_a_command(
    scenario_file: Path, tmp_path: Path, words: str, closed: str, code: int
):
    shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *words.format(scenario_file).split()]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == code
    assert "bug" not in done.stderr
    assert (tmp_path / "out" / "summary.json").is_file() == words.startswith("run")


def test_a_command_leaves_standard_error_as_it_was(tmp_path: Path):
    lines = """
        import contextlib, io, sys
        from bloatlab.cli.main import main

        def refused():
            with contextlib.suppress(SystemExit):
                main(["run", "no.toml"])

        refused()
        refused()
        with contextlib.redirect_stderr(io.StringIO()) as own:
            refused()
        sys.stdout.write(own.getvalue())
        sys.stderr = sys.__stderr__
        sys.stderr.write("end\\n")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(lines)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    line = "no.toml: no such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, f"{line}{line}end\n")


def test_output_of_ascii_is_no_bug(result: Path):
    done = run("show", str(result), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("module", ["numpy", "polars", "bloatlab._core"])
def test_ctrl_c_while_a_module_loads_is_no_bug(scenario_file: Path, tmp_path: Path, module: str):
    """Ctrl-C is reported as such, even if a module that is being imported turns it into an error of its own."""
    code = f"""
import builtins, sys
real = builtins.__import__
def load(name, *more, **others):
    if name.split(".")[0] == {module!r}.split(".")[0] and not name.startswith("bloatlab.cli") and {module!r} in (
        name, name + "._core"
    ) and "bloatlab.cli.main" in sys.modules:
        builtins.__import__ = real
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("no module: it did not load") from error
    return real(name, *more, **others)
from bloatlab.cli.main import main
builtins.__import__ = load
main(["run", {str(scenario_file)!r}, "-o", {str(tmp_path / "result")!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_ctrl_c_at_any_instant_of_the_start_is_no_bug(scenario_file: Path):
    for wait in (0.3, 0.6, 0.9, 1.2):
        child = subprocess.Popen(
            [*COMMAND, "run", str(scenario_file), "--set", "duration=1000s"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert "a bug" not in err
        assert child.returncode != 70


# ------------------------------------------------------------------------------------------------- names


def test_a_terminal_obeys_no_name_of_a_result(result: Path, capsys):
    for place in [result / "summary.json", result / "scenario.resolved.json", *(result / "tables").iterdir()]:
        text = place.read_text()
        name = HOSTILE if place.suffix == ".csv" else json.dumps(HOSTILE)[1:-1]
        place.write_text(text.replace("voip", name))
    capsys.readouterr()
    for words in (
        ["show", str(result)],
        ["show", str(result), "--format", "json"],
        *(["show", str(result), "--table", "flows", "-f", form] for form in ("text", "csv", "json")),
        ["diff", str(result), str(result)],
    ):
        code = call(words)
        out, err = capsys.readouterr()
        assert code in {0, 2}, err
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert "\u202e" not in out + err


def test_no_text_of_a_csv_is_a_formula(tmp_path: Path):
    texts = ["=1+1", "+x", "-x", "@x", "'x", "-", "a=b", "-1.5", "+3", "-1e9", "-inf", "", None, "=\nx"]
    frame = pl.DataFrame({"=name": texts, "n": [-1.5] * len(texts)})
    lines = csv_text(frame).splitlines()
    assert lines[0] == "'=name,n"
    assert [line.split(",")[0] for line in lines[1:14]] == [
        "'=1+1", "'+x", "'-x", "'@x", "''x", "-", "a=b", "-1.5", "+3", "-1e9", "-inf", '""', "",
    ]  # fmt: skip
    place = tmp_path / "x.csv"
    write_table(frame, place)
    assert read_table(place)["=name"].to_list() == texts
    assert read_table(place).columns == ["=name", "n"]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_table_is_read_with_the_names_and_the_order_of_its_columns(form: str, tmp_path: Path):
    names = ['app."f.tp 2".flows', 'a "" b', "'c", "d,e", "seed", *(f"m{n}" for n in range(9))]
    frame = pl.DataFrame({name: [1.5, None] for name in names})
    write_table(frame, tmp_path / f"x.{form}")
    assert read_table(tmp_path / f"x.{form}").equals(frame)
    assert read_table(tmp_path / f"x.{form}").columns == names


def test_names_of_every_kind_are_drawn_and_told_as_they_are(scenario_file: Path, tmp_path: Path, capsys):
    text = scenario_file.read_text()
    for name in ("_x", ":x:", "=cmd()", "$x^$", "a [bold]b", "\U0001f600", "x" * 60):
        text += f'[app.{json.dumps(name, ensure_ascii=False)}]\nfrom = "home"\nto = ["net"]\ntraffic.voip = {{}}\n'
    scenario_file.write_text(text)
    folder = str(tmp_path / "o")
    assert call(["run", str(scenario_file), "-o", folder, "--set", "duration=1s", "-f", "csv"]) == 0
    out, _ = capsys.readouterr()
    for name in ("_x", ":x:", "=cmd()", "$x^$", "a [bold]b"):
        assert name in out
    assert set(open_result(folder).table("flows")["app"]) >= {"=cmd()", "_x"}
    for words in (["report", folder, "-o", str(tmp_path / "o.html")], ["plot", folder, "-o", str(tmp_path / "o.svg")]):
        assert call(words) == 0


def test_a_message_has_no_pictures(refused):
    assert ":x:.toml: no such file" in refused("run", ":x:.toml")
