"""Tests of TCP connections on the live bench (files, ECN, limits), and of conversations of other protocols."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import bloatlab
from bloatlab import live
from bloatlab.results import open_result
from kernel import bench
from test_live import bloatlab_live, packets

pytestmark = pytest.mark.live

LINK = """
[link.wire]
from = "h1"
to = "h2"
both_ways = true
rate = "10mbit"
delay = "5ms"
queue.{}
"""


def link(queue: str) -> str:
    return LINK.format(queue)


def app(name: str, traffic: str, more: str = "") -> str:
    return f'[app.{name}]\nfrom = "h1"\nto = ["h2"]\n{more}\ntraffic.{traffic}\n'


@bench
@pytest.mark.alone
def test_each_file_counts_in_the_row_of_its_flow():
    # each of two flows sends three files of 10 kB, and at most one connection is open at any time. 30 kB in 1.5 s is
    # 0.16 Mbit/s
    files = 'ftp = { flows = 2, size = "10KB", count = 3, interval = "400ms", stagger = "200ms" }'
    scenario = bloatlab.parse('duration = "1.5s"\n' + link("droptail = {}") + app("files", files))
    for run in (bloatlab.run, live.run):
        goodput = run(scenario).table("flows").filter(direction="forward")["goodput_mbit"].to_list()
        assert goodput == pytest.approx([0.16, 0.16])


@bench
@pytest.mark.parametrize("direction", ["up", "down"])
def test_only_connections_between_two_stacks_with_ecn_use_it(direction: str, tmp_path: Path):
    ftp = f'ftp = {{ direction = "{direction}" }}'
    stacks = '[tcp.with]\npreset = "linux-6"\necn = true\n'
    scenario = bloatlab.parse(
        'duration = "3s"\n'
        + link("codel = { ecn = true }")
        + stacks
        + app("both", ftp, 'tcp = "with"')
        + app("client", ftp, 'tcp = "with"\ntcp_server = "linux-6"')
        + app("neither", ftp, 'tcp = "linux-6"')
        + app("server", ftp, 'tcp = "linux-6"\ntcp_server = "with"')
    )
    result = live.run(scenario, captures=tmp_path)
    simulated = bloatlab.run(scenario)
    assert result.table("flows").schema == simulated.table("flows").schema
    segments = [
        p for side in ("left", "right") for p in packets(tmp_path / f"{side}.pcap") if p[0] == 0x45 and p[9] == 6
    ]
    asks, uses = {}, {}
    for port, name in enumerate(["both", "client", "neither", "server"], start=5001):
        ours = [p for p in segments if port.to_bytes(2, "big") in (p[20:22], p[22:24])]
        # flags of a SYN: 0x02 is SYN, 0x10 is ACK, 0xc0 is ECE and CWR
        asks[name] = {p[33] & 0xC0 == 0xC0 for p in ours if p[33] & 0x12 == 0x02}
        uses[name] = any(p[1] & 3 for p in ours)
    assert asks == {"both": {True}, "client": {True}, "neither": {False}, "server": {False}}
    assert uses == {"both": True, "client": False, "neither": False, "server": False}
    for results in (result, simulated):
        marked = {name: numbers["ce_packets"] > 0 for name, numbers in results.summary["apps"].items()}
        assert marked == uses


@bench
def test_programs_of_the_user_have_ecn_if_all_stacks_have(tmp_path: Path):
    path = tmp_path / "lab.toml"
    see = ["--", "cat", "/proc/sys/net/ipv4/tcp_ecn"]
    ecn = '[tcp.with]\npreset = "linux-6"\necn = true\n'
    one = app("one", "ftp = {}", 'tcp = "with"')
    for more, expected in [("", "1"), (app("two", "ftp = {}"), "0"), (app("two", "ping = {}"), "1")]:
        path.write_text('duration = "1s"\n' + link("codel = {}") + ecn + one + more)
        done = bloatlab_live(path, "-q", *see)
        assert done.stdout.strip() == expected, (more, done.stderr)


@bench
@pytest.mark.alone
def test_a_transfer_is_limited_to_its_rates():
    limited = 'ftp = {{ direction = "{}", rates = [{{ at = "{}", rate = "2mbit" }}] }}'
    scenario = bloatlab.parse(
        'duration = "2s"\n'
        + link('droptail = { limit = "100p" }')
        + app("always", limited.format("up", "0s"))
        + app("later", limited.format("down", "1s"))
    )
    apps = live.run(scenario).summary["apps"]
    # 2 Mbit/s are 0.5 MB in 2 s
    assert 300_000 < apps["always"]["goodput_bytes"] <= 500_000
    # until the limit takes effect at 1 s, at most 1.25 MB cross the link of 10 Mbit/s. After that, at most 64 kB from
    # the socket, 150 kB from the queue and 13 kB in flight (10 Mbit/s x 10 ms) arrive, and the limit permits 0.25 MB
    # until 2 s
    assert 750_000 < apps["later"]["goodput_bytes_reverse"] < 1_727_000


@bench
@pytest.mark.alone
def test_a_socket_holds_no_more_unsent_bytes_than_its_limit():
    """A self probe waits behind the unsent bytes of its connection. A full kernel buffer of 64 KB takes 105 ms at 5
    Mbit/s, but the limit allows only one segment.
    """
    rpm = 'rpm = { interval = "1s", direction = "down", most = 1, notsent_lowat = "1B" }'
    sets = {"link.wire.rate": "5mbit"}
    scenario = bloatlab.parse('duration = "4s"\n' + link("fq_codel = {}") + app("rpm", rpm), sets=sets)
    assert live.run(scenario).summary["apps"]["rpm"]["rpm"]["http_loaded_ms"] < 80


@bench
def test_fragments_and_other_protocols_have_conversations_of_their_own(tmp_path: Path):
    path = tmp_path / "lab.toml"
    path.write_text('duration = "2s"\n' + link("fq_codel = {}"))
    program = tmp_path / "program.py"
    program.write_text(
        "import os, socket\n"
        "right = os.environ['BLOATLAB_RIGHT']\n"
        "datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        # 4000 bytes are 3 fragments
        "datagrams.sendto(bytes(4000), (right, 9))\n"
        "for number in (132, 47):\n"
        "    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, number)\n"
        "    for port in (1000, 1001, 1001):\n"
        "        raw.sendto(port.to_bytes(2, 'big') + bytes([0, 80]) + bytes(50), (right, 0))\n"
    )
    done = bloatlab_live(path, "-q", "-o", tmp_path / "r", "--", sys.executable, program)
    rows = open_result(tmp_path / "r").table("conversations").filter(src="10.77.0.1")
    found = [tuple(row[k] for k in ("protocol", "sport", "dport", "packets")) for row in rows.to_dicts()]
    expected = [("udp", 0, 0, 3), ("sctp", 1000, 80, 1), ("sctp", 1001, 80, 2), ("47", 0, 0, 3)]
    assert found == expected, done.stderr
