"""Tests of aioquic behind every queue. `make transports` runs them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from aioquic.quic.logger import QuicLogger

from bench import QUEUES, network

#: SHA-256 of the captures, including their encrypted bytes, by queue.
HASHES = Path(__file__).with_name("captures.sha256")


@pytest.mark.parametrize("queue", QUEUES)
def test_a_transfer_fills_the_line(queue: str):
    own = network(queue, 10, 10, beside_cubic=False).finish().summary["apps"]["client"]
    assert 8 < own["goodput_mbit"] < 10
    assert own["ce_packets"] == 0
    # aioquic has no ECN, so every queue drops packets. After a loss, it retransmits only lost data: drops are few
    assert 0 < own["dropped_packets"] < 0.02 * own["datagrams_sent"]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_transfer_shares_the_line_with_our_cubic(queue: str):
    apps = network(queue, 10, 10, beside_cubic=True).finish().summary["apps"]
    own, cubic = (apps[name]["goodput_mbit"] for name in ("client", "cubic"))
    assert own > 2
    assert cubic > 2
    assert own + cubic > 8.5


def capture(queue: str, folder: Path) -> str:
    """Returns the SHA-256 of both files of a capture at the bottleneck."""
    made = network(queue, 10, 2, beside_cubic=True)
    made.capture(folder, "up")
    made.finish()
    return hashlib.sha256((folder / "left.pcap").read_bytes() + (folder / "right.pcap").read_bytes()).hexdigest()


def test_captures_are_the_same_in_every_run(tmp_path: Path):
    found = [(queue, capture(queue, tmp_path / queue)) for queue in QUEUES]
    assert found == [(queue, capture(queue, tmp_path / "again")) for queue in QUEUES]
    text = "".join(f"{digest}  {queue}\n" for queue, digest in found)
    assert text == HASHES.read_text(), f"the captures are not those of {HASHES.name}:\n{text}"


def own_log() -> str:
    """Returns aioquic's own qlog for the client."""
    log = QuicLogger()
    network("codel", 10, 2, beside_cubic=False, quic_logger=log).finish()
    return json.dumps(log.to_dict())


def test_its_own_qlog_has_the_time_of_the_network_and_is_the_same_in_every_run():
    text = own_log()
    (trace,) = json.loads(text)["traces"]
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)
    # times in ms: the run takes 2 s, and the last event is shortly before its end
    assert 0 <= times[0] < 1
    assert 1900 < times[-1] < 2000
    assert text == own_log()
