"""Captures of simulations: other tools read them, Python and the command write equal bytes, results do not change."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.errors import InputError
from bloatlab.scenario import ScenarioError

LINE = """
name = "line"
duration = "3s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "10ms"
queue.droptail = { limit = "15p" }
[link.down]
from = "b"
to = "a"
rate = "50mbit"
delay = "10ms"
[app.long]
from = "a"
to = ["b"]
traffic.ftp = {}
[app.ping]
from = "a"
to = ["b"]
traffic.ping = { interval = "100ms" }
"""


def packets(path: Path) -> list[bytes]:
    """Returns the recorded bytes of every packet of a capture."""
    data = path.read_bytes()
    magic, major, minor, _, _, snap, link = struct.unpack("<IHHiIII", data[:24])
    assert (magic, major, minor, snap, link) == (0xA1B23C4D, 2, 4, 128, 101)
    found: list[bytes] = []
    at = 24
    while at < len(data):
        kept = int(struct.unpack("<I", data[at + 8 : at + 12])[0])
        found.append(data[at + 16 : at + 16 + kept])
        at += 16 + kept
    return found


def test_both_entrances_write_the_same_and_change_nothing(tmp_path: Path):
    scenario = bloatlab.parse(LINE)
    plain, captured = bloatlab.run(scenario), bloatlab.run(scenario, captures=tmp_path)
    assert plain.summary | {"events": 0} == captured.summary | {"events": 0}
    assert all(frame.equals(captured.table(name)) for name, frame in plain.tables.items())
    file, folder = tmp_path / "line.toml", tmp_path / "cli"
    file.write_text(LINE)
    assert call(["run", str(file), "-q", "-o", str(folder), "--pcap-link", "up"]) == 0
    for name in ("left.pcap", "right.pcap"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()
    left, right = packets(tmp_path / "left.pcap"), packets(tmp_path / "right.pcap")
    up = plain.summary["links"]["up"]
    assert sum(p[19] == 1 for p in left) == up["offered_packets"]
    assert sum(p[19] == 1 for p in right) == up["delivered_packets"]
    # in the capture, pings are ICMP, each with an identifier and a number
    pings = [p for p in left if p[9] == 1 and p[19] == 1]
    assert [p[20] for p in pings] == [8] * 30
    assert [int.from_bytes(p[26:28]) for p in pings] == list(range(30))


def test_tshark_finds_nothing_wrong(tmp_path: Path):
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    bloatlab.run(bloatlab.parse(LINE), captures=tmp_path)
    fields = ["-e", "_ws.malformed", "-e", "ip.checksum.status", "-e", "tcp.analysis.ack_lost_segment"]
    options = ["-o", "ip.check_checksum:TRUE", "-T", "fields", *fields]
    for name in ("left.pcap", "right.pcap"):
        said = subprocess.run(
            [tshark, "-r", tmp_path / name, *options], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert len(said) == len(packets(tmp_path / name))
        # tshark prints the status of the checksum (1: good) and nothing else, so every packet is well formed and
        # acknowledges only segments that are in the capture
        assert {line.strip() for line in said} == {"1"}


@pytest.mark.parametrize("kind", [Path, str])
def test_the_folder_of_captures_is_made(tmp_path: Path, kind: type):
    folder = tmp_path / "new" / "folder"
    app = '[app.long]\nfrom = "a"\nto = ["b"]\ntraffic.ftp = {}'
    line = bloatlab.parse(f"{LINE.partition('[link.down]')[0]}both_ways = true\n{app}")
    bloatlab.run(line, captures=kind(folder), capture_link="~up")
    assert {p.name for p in folder.iterdir()} == {"left.pcap", "right.pcap"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"capture_link": "up"}, "capture_link: nothing would be captured; add captures=FOLDER"),
        ({"captures": ""}, 'captures: "" is not valid; expected the path of a folder'),
        ({"packets": ""}, 'packets: "" is not valid; expected the path of a folder'),
        ({"packets": "p"}, "packets: no packets would be written, because the scenario traces none; add sets="),
        (
            {"packets": "p", "sets": {"trace.packets": True}, "trace": False},
            "packets: no packets would be written, bec",
        ),
        ({"trace": ["flows"]}, "is not valid; expected True or False; what is traced is part of the scenario"),
    ],
)
def test_an_argument_without_effect_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], line: str
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ScenarioError, InputError)) as error:
        bloatlab.run(bloatlab.parse(LINE), **arguments)
    assert line in str(error.value)
    assert not list(tmp_path.iterdir())


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    scenario = bloatlab.parse(LINE)
    with pytest.raises(ScenarioError, match='unknown link "upp"; did you mean "up"'):
        bloatlab.run(scenario, captures=tmp_path / "run", capture_link="upp")
    assert not list(tmp_path.iterdir())  # no file is in the way of the corrected command
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    with pytest.raises(OSError, match=r"line\.toml"):
        bloatlab.run(scenario, captures=file / "within")
    assert call(["run", str(file), "--pcap"]) == 2
    assert "-o" in capsys.readouterr().err


def test_no_file_of_the_user_is_deleted_or_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    line = bloatlab.parse(LINE, sets=[("duration", "500ms"), ("trace.packets", "true")])
    thesis = tmp_path / "thesis.parquet"
    thesis.write_text("mine")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"packets \.: already has thesis.parquet; expected a new or empty folder"):
        bloatlab.run(line, packets=".")
    assert thesis.read_text() == "mine"
    both = tmp_path / "both"
    both.mkdir()
    bloatlab.run(line, captures=both, packets=both)
    assert {path.name for path in both.iterdir()} == {"left.pcap", "right.pcap", "00000.parquet"}
    # a second run into the same folders, such as that of a repeated script, replaces the files of the first
    for seed in (1, 2):
        bloatlab.run(line, seed, captures=tmp_path / "pcaps", packets=tmp_path / "packets")
    alone = tmp_path / "alone"
    bloatlab.run(line, 2, captures=alone / "pcaps", packets=alone / "packets")
    for name in ("pcaps/left.pcap", "pcaps/right.pcap", "packets/00000.parquet"):
        assert (tmp_path / name).read_bytes() == (alone / name).read_bytes()


def test_force_replaces_only_what_a_run_has_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file, out = tmp_path / "line.toml", tmp_path / "out"
    file.write_text(LINE)
    run = ["run", str(file), "-q", "-o", str(out), "--force", "--set", "duration=500ms"]
    (out / "tables").mkdir(parents=True)
    other = out / "tables/links.csv"
    other.write_text("mine")
    assert call(run) == 2
    assert "tables: has files, but" in capsys.readouterr().err
    assert other.read_text() == "mine"
    other.unlink()
    assert call([*run, "--pcap", "--trace", "packets"]) == 0
    recorded = [out / "left.pcap", out / "right.pcap", out / "packets/00000.parquet"]
    assert call([*run, "--trace", "packets", "--pcap-link", "upp"]) == 2
    assert 'unknown link "upp"' in capsys.readouterr().err
    assert [path.exists() for path in recorded] == [True] * 3
    assert call([*run, "--pcap"]) == 0
    assert not (out / "packets").exists()
    pcaps = [out / "left.pcap", out / "right.pcap"]
    mine = [out / "tables/thesis.parquet", out / "packets/thesis.parquet", out / "packets/notes.txt"]
    (out / "packets").mkdir()
    for path in mine:
        path.write_text("mine")
    ours = out / "packets/00000.parquet"
    ours.write_text("packets of an earlier run")
    assert call([*run, "--trace", "packets"]) == 2
    assert "packets: already has notes.txt; expected a new or empty folder" in capsys.readouterr().err
    assert [path.exists() for path in (ours, *pcaps)] == [True] * 3  # refused before anything is removed
    assert call(run) == 0
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert [path.exists() for path in (ours, *pcaps)] == [False] * 3  # none of the earlier run's files is left


@pytest.mark.parametrize("command", ["run", "live"])
def test_captures_beside_no_result_are_neither_deleted_nor_taken_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
):
    file, own = tmp_path / "line.toml", tmp_path / "own"
    file.write_text(LINE)
    own.mkdir()
    (own / "left.pcap").write_text("mine")
    run = [command, str(file), "-q", "-o", str(own), "--set", "duration=500ms"]
    for more, line in (
        ([], "already has left.pcap; give --force to replace it, or another folder"),
        (["--pcap"], "already has left.pcap; give --force to replace it, or another folder"),
        (["--force"], "has left.pcap, but no summary.json of an earlier run; give another folder"),
    ):
        assert call([*run, *more]) == 2
        assert capsys.readouterr().err == f"{own}: {line}\n"
    assert [path.read_text() for path in own.iterdir()] == ["mine"]
