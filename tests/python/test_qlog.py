"""qlog files agree with the result and with the traces, and conform to the schema of the drafts."""

from __future__ import annotations

import functools
import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab import qlog
from bloatlab.cli.main import call
from bloatlab.qlog import QlogError
from bloatlab.traces import packets

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """
name = "bottleneck"
duration = "6s"
start_spread = "0s"
trace = { flows = true, packets = true, interval = "change" }
[link.up]
from = "home"
to = "net"
rate = "10mbit"
delay = "20ms"
queue.droptail = { limit = "40p" }
[link.down]
from = "net"
to = "home"
rate = "50mbit"
delay = "20ms"
[app.upload]
from = "home"
to = ["net"]
traffic.ftp = { flows = 2 }
[app.download]
from = "home"
to = ["net"]
tcp = "bbr"
traffic.ftp = { direction = "down" }
"""

#: A short run. examples/transports/tests/qlog.rs opens the qlog file of this run with quiche's reader.
SHORT = ROOT / "examples" / "transports" / "tests" / "qlog.toml"

#: `EVENTS`: for each event, the fields that bloatlab writes, each with its type in the draft's CDDL, and true if the
#: draft requires the field. Source: draft-ietf-quic-qlog-quic-events-12.
UINT, FLOAT, TEXT = int, (int, float), str
EVENTS: dict[str, dict[str, tuple[Any, bool]]] = {
    "quic:recovery_metrics_updated": {
        "min_rtt": (FLOAT, False),
        "smoothed_rtt": (FLOAT, False),
        "rtt_variance": (FLOAT, False),
        "congestion_window": (UINT, False),
        "bytes_in_flight": (UINT, False),
        "ssthresh": (UINT, False),
        "pacing_rate": (UINT, False),
    },
    "quic:congestion_state_updated": {"old": (TEXT, False), "new": (TEXT, True)},
    "quic:packet_sent": {"header": (dict, True), "frames": (list, False), "raw": (dict, False)},
    "quic:packet_lost": {"header": (dict, False)},
    "quic:packets_acked": {"packet_numbers": (list, False)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a saved run with traces and its qlog files."""
    place = tmp_path_factory.mktemp("qlog")
    (place / "bottleneck.toml").write_text(SCENARIO)
    assert call(["run", str(place / "bottleneck.toml"), "-o", str(place / "out"), "-q"]) == 0
    assert call(["export", str(place / "out"), "--format", "qlog", "-o", str(place / "qlog")]) == 0
    return place


@functools.cache
def records(file: Path) -> list[dict[str, Any]]:
    """Reads JSON text sequences (RFC 7464): each record between a separator and a line feed."""
    first, *texts = file.read_text().split("\x1e")
    assert first == ""
    assert all(text.endswith("\n") for text in texts)
    return [json.loads(text) for text in texts]


def of_kind(file: Path, name: str) -> list[tuple[float, dict[str, Any]]]:
    """Returns the time and the data of every event with this name."""
    return [(e["time"], e["data"]) for e in records(file)[1:] if e["name"] == f"quic:{name}"]


def senders(folder: Path) -> list[Path]:
    return sorted((folder / "qlog").iterdir())


def test_each_sender_has_a_file(folder: Path):
    names = [file.name for file in senders(folder)]
    assert names == ["download-1-reverse.sqlog", "upload-1.sqlog", "upload-2.sqlog"]


def test_files_follow_the_schema(folder: Path):
    for file in senders(folder):
        header, *events = records(file)
        assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
        assert header["serialization_format"] == "application/qlog+json-seq"
        assert header["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-12"]
        # the epoch of a monotonic clock is unknown
        assert header["trace"]["common_fields"]["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
        assert header["trace"]["vantage_point"]["type"] == ("server" if "reverse" in file.name else "client")
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert 0 <= times[0] < times[-1] < 6000
        for event in events:
            assert set(event) == {"time", "name", "data"}
            fields = EVENTS[event["name"]]
            assert event["data"]
            assert set(event["data"]) <= set(fields)
            assert {name for name, (_, required) in fields.items() if required} <= set(event["data"])
            for name, value in event["data"].items():
                assert isinstance(value, fields[name][0]), (event, name)
        # the download uses BBR, which loses no packet in this run
        assert set(EVENTS) - {event["name"] for event in events} <= {"quic:packet_lost"}


def test_packets_are_numbered_and_each_is_lost_or_acknowledged_once(folder: Path):
    for file in senders(folder):
        sent = [data["header"]["packet_number"] for _, data in of_kind(file, "packet_sent")]
        assert sent == list(range(len(sent)))
        lost = [data["header"]["packet_number"] for _, data in of_kind(file, "packet_lost")]
        acked = [number for _, data in of_kind(file, "packets_acked") for number in data["packet_numbers"]]
        ends = Counter(lost + acked)
        assert set(ends.values()) == {1}
        assert set(ends) <= set(sent)


def test_losses_are_the_retransmissions_and_bytes_are_those_that_were_acknowledged(folder: Path):
    result = bloatlab.open_result(folder / "out")
    last = result.trace("flows").group_by("app", "connection").agg(pl.all().last())
    dropped = 0
    for app, connection, retransmits, acked_bytes, cwnd in last.select(
        "app", "connection", "retransmits", "acked_bytes", "cwnd_bytes"
    ).iter_rows():
        (file,) = (folder / "qlog").glob(f"{app}-{connection}*.sqlog")
        lost = len(of_kind(file, "packet_lost"))
        assert lost == retransmits
        dropped += lost
        acked = sum(len(data["packet_numbers"]) for _, data in of_kind(file, "packets_acked"))
        assert acked == acked_bytes / 1448  # the payload of each segment
        windows = [data["congestion_window"] for _, data in of_kind(file, "recovery_metrics_updated")
                   if "congestion_window" in data]  # fmt: skip
        assert windows[-1] == cwnd
    assert dropped > 10


#: The sender's first link has no rate, and drops packets.
WIRE = """
duration = "6s"
trace = { flows = true, packets = true, interval = "change" }
[link.wire]
from = "home"
to = "router"
both_ways = true
delay = "1ms"
loss = 0.05
[link.up]
from = "router"
to = "net"
both_ways = true
rate = "10mbit"
delay = "20ms"
[app.upload]
from = "home"
to = ["net"]
traffic = "ftp"
"""


def test_losses_on_a_first_link_without_a_rate_are_logged(tmp_path: Path):
    result = bloatlab.run(bloatlab.parse(WIRE), packets=tmp_path / "packets")
    (file,) = qlog.write(result, tmp_path / "qlog", packets=packets(tmp_path))
    retransmits = result.summary["apps"]["upload"]["retransmits"]
    assert len(of_kind(file, "packet_lost")) == retransmits > 10
    numbers = [data["header"]["packet_number"] for _, data in of_kind(file, "packet_sent")]
    assert len(numbers) == result.summary["links"]["wire"]["offered_packets"]


def test_every_retransmission_is_logged_if_acks_arrive_together(tmp_path: Path):
    # the sender retransmits and receives several ACKs in one nanosecond; no trace records the order of these events
    sets = {
        "link.down.impairments": '{ batches = "5ms" }',
        "link.up.delay": "5ms",
        "link.up.rate": "20mbit",
        "link.up.queue.droptail.limit": "30p",
        "app.upload.traffic.ftp.flows": "1",
    }
    text = SCENARIO[: SCENARIO.index("[app.download]")]
    result = bloatlab.run(bloatlab.parse(text), sets=sets, packets=tmp_path / "packets")
    (file,) = qlog.write(result, tmp_path / "qlog", packets=packets(tmp_path))
    lost = [data["header"]["packet_number"] for _, data in of_kind(file, "packet_lost")]
    assert len(lost) == result.summary["apps"]["upload"]["retransmits"] > 10
    acked = [number for _, data in of_kind(file, "packets_acked") for number in data["packet_numbers"]]
    assert len(acked) == result.trace("flows")["acked_bytes"].to_numpy().max() / 1448
    assert set(Counter(lost + acked).values()) == {1}


def test_equal_packets_of_a_moment_are_all_logged(tmp_path: Path):
    # the segments from a server arrive together, so a client sends several duplicate ACKs at once, and its short queue
    # drops some of them
    ends = '{ from = "home", to = ["net", "net", "net", "net"], traffic.web = {} }'
    sets = {
        "app": f"{{ web = {ends} }}",
        "link.down.impairments": '{ batches = "10ms" }',
        "link.down.queue.droptail.limit": "20p",
        "link.up.queue.droptail.limit": "6p",
    }
    result = bloatlab.run(bloatlab.parse(SCENARIO), sets=sets, packets=tmp_path / "packets")
    at_once = packets(tmp_path).filter(pl.col("link") == "up", pl.col("fate").is_in(["enqueued", "dropped"])).collect()
    equal = at_once.filter(pl.struct("t_s", "app", "connection", "seq").is_duplicated())
    assert {*equal["fate"]} == {"enqueued", "dropped"}
    clients = [
        file for file in qlog.write(result, tmp_path / "qlog", packets=packets(tmp_path)) if "reverse" not in file.name
    ]
    sent = sum(len(of_kind(file, "packet_sent")) for file in clients)
    assert sent == result.summary["links"]["up"]["offered_packets"]


@pytest.mark.parametrize("queue", ["codel", "pie", "cake", "fq_codel"])
def test_a_packet_dropped_as_it_is_enqueued_is_logged_once(tmp_path: Path, queue: str):
    sets = {
        "link.up.queue": queue,
        "link.up.loss": "2%",
        "link.up.rate": "100mbit",
        "app.upload.traffic.ftp.flows": "1",
    }
    text = SCENARIO[: SCENARIO.index("[app.download]")]
    result = bloatlab.run(bloatlab.parse(text), sets=sets, packets=tmp_path / "packets")
    at_once = packets(tmp_path).filter(pl.col("fate") == "dropped", pl.col("sojourn_ms") == 0).collect()
    assert at_once.height > 0
    (file,) = qlog.write(result, tmp_path / "qlog", packets=packets(tmp_path))
    assert len(of_kind(file, "packet_sent")) == result.summary["links"]["up"]["offered_packets"]


def test_a_retransmission_before_its_ack_is_lost_and_acknowledged():
    # at 1 s, an ACK releases the retransmission of the first segment, and the next ACK covers both segments
    size, keys = 1500, {"state": "open", "cwnd_bytes": 2896.0, "ssthresh_bytes": 2896.0}
    states = pl.DataFrame([{"t_s": t, "acked_bytes": acked, **keys} for t, acked in ((0.0, 0), (1.0, 0), (1.0, 2896))])
    sent = pl.DataFrame([{"t_s": t, "seq": seq, "size_bytes": size} for t, seq in ((0.0, 1), (0.0, 1449), (1.0, 1))])
    events = [(e["time"], e["name"].removeprefix("quic:"), e["data"]) for e in qlog._events(states, sent)]
    fates = [(time, name, data) for time, name, data in events if name in {"packet_lost", "packets_acked"}]
    lost = {"header": {"packet_type": "1RTT", "packet_number": 0}}
    assert fates == [(1000, "packet_lost", lost), (1000, "packets_acked", {"packet_numbers": [2, 1]})]


@pytest.mark.parametrize("links", [["up", "~up"], ["~up"]])  # with ~up alone, the trace has no packet of the sender
def test_a_trace_of_packets_without_the_first_link_is_refused(tmp_path: Path, links: list[str]):
    result = bloatlab.run(bloatlab.parse(WIRE), sets={"trace.packets": links}, packets=tmp_path / "packets")
    why = "the trace of packets lacks the first link of the forward packets of upload; trace the packets of all links"
    with pytest.raises(QlogError, match=why):
        qlog.write(result, tmp_path / "qlog", packets=packets(tmp_path))
    assert not (tmp_path / "qlog").exists()


def test_the_round_trip_is_that_of_the_packets(folder: Path):
    # the ACK of the first segment arrives after at least 40 ms of propagation and the transmission times of a segment
    # and an ACK
    file = folder / "qlog" / "upload-1.sqlog"
    times = {data["header"]["packet_number"]: time for time, data in of_kind(file, "packet_sent") if "frames" in data}
    first = min(times)
    (acked,) = [time for time, data in of_kind(file, "packets_acked") if first in data["packet_numbers"]]
    assert 41.2 <= acked - times[first] < 45


def test_states_follow_one_another(folder: Path):
    for file in senders(folder):
        states = [data for _, data in of_kind(file, "congestion_state_updated")]
        assert "old" not in states[0]
        assert all(new["old"] == old["new"] != new["new"] for old, new in pairwise(states))
    cubic = {data["new"] for _, data in of_kind(folder / "qlog" / "upload-1.sqlog", "congestion_state_updated")}
    assert cubic == {"slow_start", "congestion_avoidance", "recovery"}
    bbr = {data["new"] for _, data in of_kind(folder / "qlog" / "download-1-reverse.sqlog", "congestion_state_updated")}
    assert "startup" in bbr


def test_a_controller_with_fractions_of_segments_is_in_slow_start_once(tmp_path: Path):
    # when gentle.py lowers the window, it sets the threshold to the same number, which may have a fraction
    sets = {
        "duration": "8s",
        "tcp.mine.python": '{ controller = "gentle.py:Gentle" }',
        "trace": {"flows": True, "interval": "change"},
    }
    result = bloatlab.run(ROOT / "examples" / "controllers" / "home.toml", sets=sets)
    thresholds = result.trace("flows")["ssthresh_bytes"].drop_nans()
    assert (thresholds % 1448 != 0).any()
    for file in qlog.write(result, tmp_path):
        states = [data["new"] for _, data in of_kind(file, "congestion_state_updated")]
        assert states[:2] == ["slow_start", "congestion_avoidance"]
        assert "slow_start" not in states[1:]


def test_equal_results_give_equal_bytes_and_packets_are_optional(folder: Path, tmp_path: Path):
    result = bloatlab.open_result(folder / "out")
    files = qlog.write(result, tmp_path / "again", packets=packets(folder / "out"))
    assert [file.read_bytes() for file in sorted(files)] == [file.read_bytes() for file in senders(folder)]
    (first, *_) = qlog.write(result, tmp_path / "states")
    assert {e["name"].removeprefix("quic:") for e in records(first)[1:]} == {
        "recovery_metrics_updated",
        "congestion_state_updated",
    }


def test_the_file_for_the_reader_of_quiche_is_current(tmp_path: Path):
    assert call(["run", str(SHORT), "-o", str(tmp_path / "out"), "-q"]) == 0
    assert call(["export", str(tmp_path / "out"), "--format", "qlog", "-o", str(tmp_path / "qlog")]) == 0
    assert (tmp_path / "qlog" / "upload-1.sqlog").read_bytes() == (SHORT.parent / "upload-1.sqlog").read_bytes()


def test_files_of_another_run_are_not_mixed_in(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    place = tmp_path / "qlog"
    place.mkdir()
    (place / "other-1.sqlog").write_bytes(senders(folder)[0].read_bytes())
    mine = tmp_path / "mine.sqlog"
    mine.write_text("mine")
    command = ["export", str(folder / "out"), "--format", "qlog", "-o", str(place)]
    assert call(command) == 2
    assert "already has other-1.sqlog; give --force" in capsys.readouterr().err
    mine = mine.rename(place / "mine.sqlog")
    assert call([*command, "--force"]) == 0
    assert mine.read_text() == "mine"  # --force removes only the files of an earlier export
    mine.unlink()
    assert [p.name for p in senders(tmp_path)] == [p.name for p in senders(folder)]


def test_what_is_refused_is_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plain = bloatlab.save(bloatlab.run(bloatlab.parse(SCENARIO), trace=False), tmp_path / "plain")
    assert call(["export", str(plain), "--format", "qlog", "-o", str(tmp_path / "x")]) == 2
    assert "has no trace of flows; record it with bloatlab run" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    base = bloatlab.parse(SCENARIO).data
    for kind in ("media", "voip"):
        app = {"x": {"from": "home", "to": ["net"], "traffic": {kind: {}}}}
        result = bloatlab.run({**base, "app": app, "duration": "1s", "trace": {"flows": True}})
        assert call(["export", str(bloatlab.save(result, tmp_path / kind)), "--format", "qlog", "-o", "x"]) == 2
        assert f"{kind}: has no trace of a TCP sender, although flows are traced" in capsys.readouterr().err
    live = replace(result, summary=result.summary | {"live": {}})
    with pytest.raises(QlogError, match="a live result has no trace of flows"):
        qlog.write(live, tmp_path / "x")
    app |= {"y": {"from": "home", "to": ["net"], "traffic": {"media": {}}}, "z": {**app["x"], "traffic": {"ftp": {}}}}
    both = bloatlab.run({**base, "app": app, "duration": "1s", "trace": {"flows": True}})
    assert [path.name for path in qlog.write(both, tmp_path / "both")] == ["z-1.sqlog"]
    untraced = bloatlab.run(both.scenario, sets={"record.apps": []}, trace=False)
    with pytest.raises(QlogError, match="has no trace of flows; record it with bloatlab run"):
        qlog.write(untraced, tmp_path / "x")
    (tmp_path / "file").write_text("")
    assert call(["export", str(folder / "out"), "--format", "qlog", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert call(["export", str(folder / "out"), "--format", "qlog", "-o", "x", "--title", "a"]) == 2
    assert "only flent has a title" in capsys.readouterr().err
