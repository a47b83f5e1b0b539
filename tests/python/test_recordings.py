"""Tests link rates that are read from flent's data or from a capture. They are compared with rates computed by hand,
and with a simulation that is recorded and replayed.
"""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import captures, flent
from bloatlab.cli.main import call
from bloatlab.recordings import RecordingError, of_file

ROOT = Path(__file__).resolve().parents[2]

#: A line of 10, then 4, then 8 Mbit/s, and an upload that fills it.
LINE = """
duration = "30s"
[link.up]
from = "home"
to = "net"
rate = "10mbit"
delay = "5ms"
queue = "pfifo limit 100"
changes = [{ at = "10s", rate = "4mbit" }, { at = "20s", rate = "8mbit" }]
[link.down]
from = "net"
to = "home"
rate = "50mbit"
delay = "5ms"
[app.upload]
from = "home"
to = ["net"]
start_spread = "0s"
traffic.ftp = {}
"""


def capture(path: Path, packets: list[tuple[float, str, int]], *, link: int = 101, order: str = "<") -> Path:
    """Writes a capture of IP packets, each given by its time in s, its destination address and its size in bytes."""
    data = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for t, to, size in packets:
        head = {101: b"", 1: bytes(12) + b"\x08\x00"}[link]
        packet = struct.pack(">BBHIBBH", 0x45, 0, size, 0, 64, 17, 0) + bytes(4) + bytes(map(int, to.split(".")))
        kept = head + packet
        at = (int(t), round((t - int(t)) * 1e6), len(kept), len(head) + size)
        data += struct.pack(f"{order}IIII", *at) + kept
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("link", "order"), [(101, "<"), (1, "<"), (101, ">")])
def test_bytes_of_a_capture_by_hand(tmp_path: Path, link: int, order: str) -> None:
    # packets of 1000 B arrive every 10 ms for 1 s, then every 5 ms for 1 s, and once more at 2 s; replies of 40 B do
    # not count
    packets = [(100.0 + k * 0.01, "10.0.0.2", 1000) for k in range(100)]
    packets += [(101.0 + k * 0.005, "10.0.0.2", 1000) for k in range(200)]
    packets += [(100.5 + k * 0.01, "10.0.0.1", 40) for k in range(50)]
    file = capture(tmp_path / "a.pcap", [*sorted(packets), (102.0, "10.0.0.2", 1000)], link=link, order=order)
    found = of_file(file, step=1.0)
    # the two complete steps of 1 s have 100 kB and 200 kB; the last step has a single packet, so it is incomplete and
    # left out
    assert list(found.rates) == [800_000, 1_600_000]
    assert found.changes() == [{"at": "1000ms", "rate": "1600000bit"}]
    assert list(of_file(file, step=0.1, to="10.0.0.1").rates) == [10 * 40 * 80] * 4
    assert list(of_file(file, step=0.5).rates) == [800_000, 800_000, 1_600_000, 1_600_000]


@pytest.mark.parametrize(
    ("step", "at"),
    [
        (0.0025, ["2500us", "5ms", "7500us"]),
        (0.0014, ["1400us", "2800us", "4200us"]),
        (0.001000001, ["1000001ns", "2000002ns", "3000003ns"]),
    ],
)
def test_steps_with_a_fraction_of_a_millisecond(tmp_path: Path, step: float, at: list[str]) -> None:
    # step k has one packet of (k + 1) x 100 bytes: at the beginning of the first step, and in the middle of the others
    packets = [(0.0, "10.0.0.2", 100), *((k * step + step / 2, "10.0.0.2", 100 * (k + 1)) for k in range(1, 5))]
    found = of_file(capture(tmp_path / "a.pcap", packets), step=step)
    assert list(found.rates) == [round(8 * 100 * (k + 1) / step) for k in range(4)]
    assert [change["at"] for change in found.changes()] == at
    # changes at or after the end of a scenario are left out
    assert [change["at"] for change in found.changes(until=round(2 * step, 9))] == at[:1]


def test_payload_of_flent_by_hand(tmp_path: Path) -> None:
    # the payload is 14.48 Mbit/s in 4 bins of 0.5 s and 7.24 Mbit/s in the next 6 bins, with silence before and after;
    # with headers, the rates are 15 and 7.5 Mbit/s. The last step of 1 s is left out
    values: list[float | None] = [None, 14.48, 14.48, 14.48, 14.48, 7.24, 7.24, 7.24, 7.24, 7.24, 7.24, None]
    data: dict[str, Any] = {
        "version": 4,
        "metadata": {"STEP_SIZE": 0.5, "T0": "2026-01-01T00:00:00.0Z", "TOTAL_LENGTH": 6.0},
        "x_values": [0.5 * k for k in range(len(values))],
        "results": {"TCP upload::1": values},
        "raw_values": {},
    }
    file = tmp_path / "home.flent.gz"
    file.write_bytes(gzip.compress(json.dumps(data).encode()))
    found = of_file(file, step=1.0)
    assert found.rates == pytest.approx([15e6, 15e6, 7.5e6, 7.5e6])
    assert "upload, payload x 1500/1448" in found.about


@pytest.mark.parametrize("form", ["flent", "pcap"])
def test_a_line_is_found_again(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "line.toml").write_text(LINE)
    if form == "flent":
        file = tmp_path / "line.flent.gz"
        flent.write(bloatlab.run(tmp_path / "line.toml"), file)
    else:
        bloatlab.run(tmp_path / "line.toml", captures=tmp_path, capture_link="up")
        file = tmp_path / "right.pcap"
    base = tmp_path / "base.toml"
    base.write_text(LINE.split("changes", maxsplit=1)[0] + LINE[LINE.index("[link.down]") :])
    replay = tmp_path / "replay.toml"
    assert call(["links", "rates", str(file), "--into", str(base), "--link", "up", "-o", str(replay)]) == 0
    again = bloatlab.load(replay).data["link"]["up"]
    rates = {0.0: bloatlab.scenario.quantity(again["rate"])}
    rates |= {bloatlab.scenario.quantity(c["at"]): bloatlab.scenario.quantity(c["rate"]) for c in again["changes"]}
    at = lambda t: rates[max(k for k in rates if k <= t)]  # noqa: E731
    # the steps of the recording are counted from its first byte, which is sent some ms after the start of the run, so
    # the rates agree within a few packets, except near changes, and where a recovery delivers data of one second in the
    # next
    for t, rate in ((5.0, 10e6), (15.0, 4e6), (26.5, 8e6)):
        assert at(t) == pytest.approx(rate, rel=0.01)
    first, second = (
        bloatlab.run(f).summary["links"]["up"]["delivered_bytes"] for f in (tmp_path / "line.toml", replay)
    )
    assert second == pytest.approx(first, rel=0.03)
    capsys.readouterr()


def test_the_table_of_a_link_is_toml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets = [(k * 0.01, "10.0.0.2", 1000) for k in range(200)] + [
        (2.0 + k * 0.1, "10.0.0.2", 1000) for k in range(21)
    ]
    file = capture(tmp_path / "a.pcap", packets)
    assert call(["links", "rates", str(file)]) == 0
    text = capsys.readouterr().out
    nodes = 'from = "a"\nto = "b"\n'
    whole = bloatlab.scenario.parse(f'duration = "5s"\n{text.replace("[link.line]", "[link.line]" + chr(10) + nodes)}')
    assert whole.data["link"]["line"]["rate"] == "800kbit"
    assert [c["at"] for c in whole.data["link"]["line"]["changes"]] == ["2s"]


def test_what_is_no_recording_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.pcap").write_text("no capture at all, but long enough for a head")
    both = {"TCP upload BE::1": [1.0, 1.0], "TCP download BE::1": [1.0, 1.0]}
    data = {
        "version": 4,
        "metadata": {"STEP_SIZE": 1, "T0": "2026-01-01T00:00:00.0Z"},
        "x_values": [0, 1],
        "results": both,
    }
    (tmp_path / "both.flent.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    (tmp_path / "line.toml").write_text(LINE)
    good = capture(tmp_path / "a.pcap", [(0.0, "10.0.0.2", 1000), (2.0, "10.0.0.2", 1000)])
    for arguments, said in (
        ([tmp_path / "text.pcap"], "not a capture; expected pcap or pcapng"),
        ([tmp_path / "both.flent.gz"], "choose --way upload or --way download"),
        ([tmp_path / "gone.pcap"], "no such file"),
        ([good, "--to", "nobody"], "--to nobody: not an address"),
        ([good, "--to", "10.0.0.9"], "no packet goes to 10.0.0.9"),
        ([good, "--way", "upload"], "--way is for flent data"),
        ([good, "--step", "soon"], "--step soon: expected a time"),
        ([good, "--step", "1us"], "--step: expected at least 1ms"),
        (
            [tmp_path / "both.flent.gz", "--way", "upload", "--step", "999ms"],
            "has a sample every 1 s; expected a multiple",
        ),
        ([good, "-o", good], "a.pcap: is read by this command; expected another file"),
        ([good, "--into", tmp_path / "line.toml", "-o", tmp_path / "line.toml"], "line.toml: is read by this command"),
        ([good, "--step", "60s"], "lasts 2 s from the first byte to the last; expected a shorter --step"),
    ):
        assert call(["links", "rates", *map(str, arguments)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert len(error.splitlines()) == 1, error
    assert (tmp_path / "line.toml").read_text() == LINE
    with pytest.raises(RecordingError, match="has changes; expected a link"):
        of_file(good, step=1.0).laid_into(bloatlab.load(tmp_path / "line.toml"), "up")
    with pytest.raises(RecordingError, match="has docsis31; expected a link"):
        of_file(good, step=1.0).laid_into(bloatlab.load(ROOT / "examples/low-latency-docsis.toml"), "up")
    with pytest.raises(RecordingError, match=r"no such link \(down, up\)"):
        of_file(good, step=1.0).laid_into(bloatlab.load(tmp_path / "line.toml"), "upp")


def test_what_a_trace_is_like(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.down").write_text("1\n1\n150\n200\n")
    assert call(["links", "show", str(tmp_path / "a.down")]) == 0
    said = capsys.readouterr().out
    # 4 x 1504 x 8 bit in 200 ms is 0.241 Mbit/s
    assert "4 opportunities of 1504 bytes in 0.2 s, 0.241 Mbit/s" in said
    assert "longest gap 149 ms; 1 gap over 100 ms" in said
    (tmp_path / "a.down").write_text("1\n")
    assert call(["links", "show", str(tmp_path / "a.down")]) == 0
    assert "1 opportunity of 1504 bytes" in capsys.readouterr().out
    (tmp_path / "a.down").write_text("1\nx\n")
    assert call(["links", "show", str(tmp_path / "a.down")]) == 2
    assert "a.down:2: " in capsys.readouterr().err.replace("\n", "")


def pcapng(path: Path, packets: list[tuple[float, bytes]], link: int) -> Path:
    """Writes the packets in Wireshark's format: a section, an interface with time stamps in us, and a block for each
    packet.
    """
    data = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + struct.pack(
        "<IIHHII", 1, 20, link, 0, 0, 20
    )
    for t, frame in packets:
        padded, stamp = frame + bytes(-len(frame) % 4), round(t * 1e6)
        head = struct.pack("<IIIIIII", 6, 32 + len(padded), 0, stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
        data += head + padded + struct.pack("<I", 32 + len(padded))
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("link", "head"), [(101, b""), (113, bytes(14) + b"\x08\x00"), (276, b"\x08\x00" + bytes(18))])
def test_wireshark_s_own_format(tmp_path: Path, link: int, head: bytes) -> None:
    ip = struct.pack(">BBHIBBH4B4B", 0x45, 0, 1000, 0, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2)
    six = struct.pack(">IHBB", 6 << 28, 960, 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
    frames = [(5.0 + k * 0.01, head + ip) for k in range(200)]
    file = pcapng(tmp_path / "a.pcapng", [*frames, (7.0, head + ip), (7.5, b"")], link)
    assert list(of_file(file, step=1.0).rates) == [800_000, 800_000]
    if link == 101:
        file = pcapng(tmp_path / "b.pcapng", [(k * 0.01, six) for k in range(101)], link)
        assert list(of_file(file, step=1.0, to="::2").rates) == [800_000]
        # the file is cut off within a packet; all packets before it are read
        (tmp_path / "c.pcapng").write_bytes(file.read_bytes()[:-30])
        assert len(list(captures.Packets(tmp_path / "c.pcapng"))) == 100


@pytest.mark.parametrize("end", [-5, -30, -60])
def test_a_file_that_is_cut_off_says_so(tmp_path: Path, end: int, capsys: pytest.CaptureFixture[str]) -> None:
    # each packet takes 36 bytes in the file: a record header of 16 and an IP header of 20. The file ends within the IP
    # header of the last packet, within the record header of the last packet, or within the packet before it
    whole = capture(tmp_path / "a.pcap", [(k * 0.01, "10.0.0.2", 1000) for k in range(300)])
    part = tmp_path / "part.pcap"
    part.write_bytes(whole.read_bytes()[:end])
    assert call(["links", "rates", str(whole)]) == 0
    assert not capsys.readouterr().err
    assert call(["links", "rates", str(part)]) == 0
    told = capsys.readouterr()
    assert "cut off within a packet" in told.err
    assert "up to where the file is cut off" in told.out
    assert "800000bit" in told.out
