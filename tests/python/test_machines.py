"""A discipline and a TCP sender, driven step by step and compared with arithmetic."""

from __future__ import annotations

import doctest
import math
from typing import Any

import pytest

from bloatlab import ScenarioError, machines
from bloatlab.scenario import problems

MS = 1_000_000


def test_examples_in_the_documentation_run():
    assert doctest.testmod(machines).failed == 0


def test_droptail_keeps_n_and_ns2_keeps_one_less():
    for off_by_one, kept in ((False, 21), (True, 20)):
        queue = machines.discipline("droptail", limit="21p", ns2_off_by_one=off_by_one)
        fates = [fate for _ in range(30) for fate in queue.enqueue(0, 1500)]
        assert (queue.packets, queue.bytes) == (kept, 1500 * kept)
        assert [f.number for f in fates] == list(range(kept, 30))
        assert {(f.what, f.reason, f.point) for f in fates} == {("dropped", "tail_full", "enqueue")}


def test_codel_drops_by_the_inverse_square_root():
    """By RFC 8289, with a standing queue of 1 s or more, drop n comes 100 ms x (1 + 1/sqrt 2 + ... + 1/sqrt(n-1)) after
    drop 1.
    """
    queue = machines.discipline("codel", limit="10000p", variant="rfc8289")
    for _ in range(5000):
        queue.enqueue(0, 1500)
    drops: list[float] = []
    for step in range(1_000_000, 3_000_000, 1000):  # a packet leaves every ms from 1 s on
        _, fates = queue.dequeue(step * 1000)
        drops += [step / 1000 for f in fates if f.what == "dropped"]
    offsets = [t - drops[0] for t in drops[:8]]
    wanted = [100.0 * sum(1.0 / math.sqrt(k) for k in range(1, n)) for n in range(1, 9)]
    assert offsets == pytest.approx(wanted, abs=1.0)


def test_codel_marks_what_can_be_marked():
    queue = machines.discipline("codel", ecn=True)
    for _ in range(900):
        queue.enqueue(0, 1500, ecn=2)
    seen = [queue.dequeue(t * MS) for t in range(1000, 1300)]
    marks = [f for _, fates in seen for f in fates]
    assert {f.what for f in marks} == {"marked"}
    assert sum(p is not None and p.ecn == 3 for p, _ in seen) == len(marks) > 1


def test_every_packet_has_one_fate():
    queue = machines.discipline("codel", limit="50p")
    lost, sent = set[int](), set[int]()
    for t in range(4000):
        lost |= {f.number for f in queue.enqueue(t * MS, 1500, flow=t % 3)}
        if t % 2:
            packet, fates = queue.dequeue(t * MS)
            lost |= {f.number for f in fates}
            sent |= {packet.number} if packet else set()
    assert not lost & sent
    assert len(lost) + len(sent) + queue.packets == 4000


def test_a_probe_tells_codels_state():
    queue = machines.discipline("codel", limit="10000p", variant="rfc8289")
    for _ in range(5000):
        queue.enqueue(0, 1500)
    assert queue.probe()["dropping"] is False
    for step in range(1000, 3000):
        queue.dequeue(step * MS)
    state = queue.probe()
    assert state["dropping"] is True
    # the next drop is in the future, interval / sqrt(count) after the last drop
    assert state["count"] > 5
    assert 2.999 <= state["drop_next_s"] <= 2.999 + 0.1 / math.sqrt(state["count"])


def test_a_probe_lists_the_queues_of_flows():
    queue = machines.discipline("fq_codel")
    for flow in range(3):
        queue.enqueue(0, 1500, flow=flow)
    assert len(queue.probe()["queues"]) == 3


def test_addresses_and_dscp_reach_the_discipline():
    # one host has nine flows and another has a single flow, but each host gets half of the link
    queue = machines.discipline("cake", isolation="dual_srchost")
    for n in range(200):
        for flow in range(10):
            source = "10.0.0.1" if flow else "10.0.0.2"
            queue.enqueue(n, 1500, flow=flow, addresses=(source, "10.9.9.9"))
    sent = [queue.dequeue((1 + n) * MS)[0] for n in range(200)]
    assert 90 <= sum(packet is not None and packet.flow == 0 for packet in sent) <= 110
    # according to RFC 4594, expedited forwarding (46) is for telephony
    queue = machines.discipline("cake", diffserv="diffserv4")
    queue.enqueue(0, 200, dscp=46)
    assert {q["queue"]: q["backlog_packets"] for q in queue.probe()["queues"]}["voice"] == 1
    with pytest.raises(ValueError, match=r'"10\.0\.0" is not valid; expected an IPv4 address'):
        queue.enqueue(2 * MS, 100, addresses=("10.0.0", "10.0.0.1"))
    with pytest.raises(ValueError, match="a DSCP of 0 to 63"):
        queue.enqueue(2 * MS, 100, dscp=64)


def test_time_never_goes_back():
    queue = machines.discipline("droptail")
    queue.enqueue(5, 100)
    with pytest.raises(ValueError, match="time 4 ns is before"):
        queue.dequeue(4)


@pytest.mark.parametrize(
    ("name", "params", "word"),
    [("cobel", {}, "codel"), ("codel", {"target": "5"}, "target"), ("droptail", {"limt": "1p"}, "limit")],
)
def test_bad_specs_are_one_line(name: str, params: dict[str, Any], word: str):
    with pytest.raises(ScenarioError) as error:
        machines.discipline(name, **params)
    (line,) = problems(error.value)
    assert word in line


def test_unknown_presets_are_refused():
    with pytest.raises(ScenarioError):
        machines.tcp_sender("lunix-6")


def test_slow_start_doubles_in_a_round_trip():
    sender = machines.tcp_sender("rfc", mss=1000, initial_window={"segments": 2})
    flight = sender.write(0, 10_000_000)
    for rtt in range(1, 6):
        assert len(flight) == 2**rtt
        ends = [s.seq + s.length for s in flight]
        flight = [s for end in ends for s in sender.ack(rtt * 100 * MS, end)]
    assert sender.cwnd_bytes == 64_000
    assert sender.ssthresh_bytes is None
    assert sender.srtt_ms == pytest.approx(100.0)


def test_sack_retransmits_what_is_missing_and_halves():
    sender = machines.tcp_sender("rfc", mss=1000, initial_window={"segments": 10}, limited_transmit=False)
    first, *rest = sender.write(0, 10_000_000)
    sent = []
    for n in range(1, 5):  # the first segment is lost; segments 2 to 5 arrive one by one
        sent += sender.ack(100 * MS, first.seq, [(rest[0].seq, rest[n - 1].seq + 1000)])
    again = [s for s in sent if s.retransmission]
    assert [s.seq for s in again] == [first.seq]
    assert sender.ssthresh_bytes == 5000


def test_timer_backs_off():
    sender = machines.tcp_sender("rfc", mss=1000)
    sender.write(0, 10_000)
    waits, now = [], 0
    for _ in range(3):
        due = sender.deadline_ns
        assert due is not None
        waits.append((due - now) / 1e9)
        now = due
        assert [s.retransmission for s in sender.timer(now)][:1] == [True]
    assert waits == pytest.approx([1.0, 2.0, 4.0])


def test_ecn_is_given_and_told_by_code_or_word():
    queue = machines.discipline("codel", ecn=True)
    for ecn in ("not-ect", "ect1", "ect0", "ce", 0, 1, 2, 3):
        queue.enqueue(0, 1500, ecn=ecn)
    packets = [queue.dequeue(0)[0] for _ in range(8)]
    told = [(p.ecn, p.ecn_word) for p in packets if p is not None]
    assert told == [(0, "not-ect"), (1, "ect1"), (2, "ect0"), (3, "ce")] * 2
    for wrong in ("ECT", 4, -1):
        with pytest.raises(ValueError, match='expected "not-ect"'):
            queue.enqueue(0, 1500, ecn=wrong)  # pyright: ignore[reportArgumentType]


def test_a_sender_knows_its_handshake_and_reports_its_state():
    """The round trip is 100 ms. RACK's reordering window is a quarter of it (RFC 8985), to which Linux adds 2 ms, so a
    segment counts as lost 100 / 4 + 2 ms after a SACK for a later segment.
    """
    sender = machines.tcp_sender("linux-6", mss=1000, congestion_control="reno", timer_tick="0s")
    assert (sender.srtt_ms, sender.rto_ms, sender.state) == (100.0, 300.0, "open")
    first, second, *_ = sender.write(0, 10_000)
    assert sender.ack(100 * MS, first.seq, [(second.seq, second.seq + 1000)]) == []
    assert (sender.deadline_ns, sender.lost_segments) == (127 * MS, 0)
    assert [s.seq for s in sender.timer(127 * MS)] == [first.seq]
    assert (sender.state, sender.lost_segments, sender.retransmits, sender.ssthresh_bytes) == ("recovery", 1, 1, 5000)
    # without a handshake, the sender takes its first RTT sample from the first ACK, which reports one segment as
    # received in a SACK block
    sender = machines.tcp_sender("linux-6", rtt=None)
    first, second, *_ = sender.write(0, 10_000)
    assert sender.ack(100 * MS, first.seq, [(second.seq, second.seq + 1448)]) == []
    assert sender.srtt_ms == 100.0
    # a sender that measures RTTs only by echoed time stamps has no sample yet, so RACK's window is 0, and the first
    # SACK indicates a loss
    sender = machines.tcp_sender("linux-6", rtt=None, rtt_source="echo")
    first, second, *_ = sender.write(0, 10_000)
    assert [s.seq for s in sender.ack(100 * MS, first.seq, [(second.seq, second.seq + 1448)])] == [first.seq]
    with pytest.raises(ScenarioError, match="rtt"):
        machines.tcp_sender(rtt="0s")


def test_an_echo_of_congestion_halves_without_loss():
    sender = machines.tcp_sender("rfc", mss=1000, initial_window={"segments": 10}, ecn=True)
    first, *_ = sender.write(0, 10_000_000)
    sender.ack(100 * MS, first.seq + 1000, ece=True)
    assert (sender.state, sender.ecn_reductions, sender.lost_segments) == ("cwr", 1, 0)
