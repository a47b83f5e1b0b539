"""Tests of the live bench with real namespaces, devices and programs: the fates of packets, the counters, and the state
of the host afterwards, but no timing. Tests that expect a rate or a valid run are marked `alone`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bloatlab
from bloatlab import _core, captures, live
from bloatlab.cli.live import EXIT_INVALID
from bloatlab.cli.main import call
from bloatlab.results import open_result
from bloatlab.scenario import ScenarioError
from kernel import bench

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import live_torture  # pyright: ignore[reportMissingImports]

pytestmark = pytest.mark.live

LAB = """
name = "lab"
duration = "2s"
[link.wire]
from = "h1"
to = "h2"
both_ways = true
rate = "10mbit"
delay = "5ms"
queue.droptail = { limit = "20p" }
[app.long]
from = "h1"
to = ["h2"]
traffic.ftp = {}
[app.ping]
from = "h1"
to = ["h2"]
traffic.ping = { interval = "100ms", count = 15 }
[app.talk]
from = "h2"
to = ["h1"]
traffic.voip = {}
"""


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LAW = f'{{ python = {{ law = "{EXAMPLES}/laws/codel.py:CoDel" }} }}'
CONTROLLER = f'{{ preset = "linux-6", python = {{ controller = "{EXAMPLES}/controllers/aimd.py:Aimd" }} }}'
DOCSIS31 = (
    '{ from = "h1", to = "h2", both_ways = true, delay = "5ms", '
    'docsis31 = { flow = { max_sustained_rate = "10mbit" } } }'
)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(LAB)
    return path


COMMAND = [sys.executable, "-c", "from bloatlab.cli import main; main()", "live"]


def bloatlab_live(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def say(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = call(["live", *(str(a) for a in arguments)])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out + err


@bench
@pytest.mark.alone
def test_a_run_has_a_simulations_tables_and_its_books_balance():
    scenario = bloatlab.parse(LAB)
    before = live_torture.host_state()
    result = live.run(scenario)
    assert live_torture.differences(before, live_torture.host_state()) == []
    simulated = bloatlab.run(scenario)
    assert set(result.tables) == set(simulated.tables) | {"conversations"}
    for name, frame in simulated.tables.items():
        assert result.table(name).schema == frame.schema, name
    for name, link in result.summary["links"].items():
        gone = link["delivered_packets"] + link["dropped_packets"] + link["backlog_packets"]
        # the packets that are not counted are still on the wire
        assert 0 <= link["offered_packets"] - gone < 200, name
        assert link["dropped_packets"] == sum(link["drops"].values())
    wire = result.summary["links"]["wire"]
    assert wire["queue_packets"]["max"] == 20
    assert wire["drops"]["tail_full"] > 0
    apps = result.summary["apps"]
    assert apps["long"]["goodput_bytes"] > 500_000
    assert apps["long"]["retransmits"] > 0
    # values that the kernel does not report are null, not 0
    assert apps["long"]["fast_recoveries"] is None
    assert result.table("flows")["fast_recoveries"].null_count() == result.table("flows").height > 0
    since = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    assert (apps["long"]["timeouts"] is not None) == (since >= (6, 7))
    assert apps["ping"]["ping"]["sent"] == 15
    assert apps["ping"]["ping"]["rtt_ms"]["min"] > 10.0
    assert apps["talk"]["voip"]["received"] > 0
    # only protocols of the applications have crossed the bench
    crossed = result.table("conversations")
    assert sorted(crossed["protocol"].unique()) == ["icmp", "tcp", "udp"]
    windows = result.table("flow_series").filter(app="long", direction="forward")["cwnd_bytes"].drop_nans()
    assert max(windows.to_list()) > 10 * 1400
    facts = result.summary["live"]
    assert (facts["left"], facts["right"]) == ({"h1": "10.77.0.1"}, {"h2": "10.77.0.2"})
    assert facts["unwritten_packets"] == 0
    assert facts["valid"] == (facts["invalid_because"] is None)
    assert facts["processors_awake"] == Path("/dev/cpu_dma_latency").exists()


@bench
def test_a_command_runs_between_the_namespaces(lab: Path, tmp_path: Path):
    script = "cat /proc/net/dev; echo $BLOATLAB_SIDE $BLOATLAB_LEFT $BLOATLAB_RIGHT6; exit 7"
    done = bloatlab_live(lab, "-q", "--side", "right", "-o", tmp_path / "r", "--pcap", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    devices = set(re.findall(r"^ *(\w+):", done.stdout, re.MULTILINE)) - {
        "sit0",
        "tunl0",
        "gre0",
        "gretap0",
        "erspan0",
        "ip6tnl0",
    }
    assert devices >= {"lo", "bl0"}
    assert "eth0" not in devices
    assert "right 10.77.0.1 fd77::2" in done.stdout
    for side in ("left", "right"):
        head = (tmp_path / "r" / f"{side}.pcap").read_bytes()[:24]
        assert head[:4] == bytes.fromhex("4d3cb2a1")
        assert head[20] == 101
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["live"]["command_exit_code"] == 7


@bench
def test_sockets_of_a_command_begin_with_the_congestion_control_that_was_asked_for(lab: Path):
    default = "/proc/sys/net/ipv4/tcp_congestion_control"
    look = f"cat {default}"
    other = next((n for n in ("reno", "cubic") if n != Path(default).read_text().strip()), "reno")
    done = bloatlab_live(lab, "-q", "--cong", other, "--serve", look, "--", "sh", "-c", f"sleep 0.3; {look}")
    assert done.stdout.split() == [other, other], done.stderr
    assert Path(default).read_text().strip() != other


def packets(path: Path) -> list[bytes]:
    """Returns the packets of a capture with time stamps in ns."""
    data, at, found = path.read_bytes(), 24, []
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def checksum_holds(packet: bytes) -> bool:
    """Returns whether the TCP checksum of an IPv4 packet is valid (RFC 1071: the sum is 0 modulo 65 535)."""
    pseudo = packet[12:20] + (6).to_bytes(2, "big") + (len(packet) - 20).to_bytes(2, "big")
    whole = pseudo + packet[20:] + bytes(len(packet) % 2)
    return int.from_bytes(whole, "big") % 65535 == 0


@bench
@pytest.mark.alone
def test_queues_see_segments_whatever_the_kernel_passes_on(lab: Path, tmp_path: Path):
    """Queues see single segments, although the sender's kernel passes on up to 64 KB at once. The bench then joins the
    segments again, and the receiver's kernel accepts the result.
    """
    fast = ["--set", "link.wire.rate=400mbit", "--set", "link.wire.queue.droptail.limit=10000p", "--set", "duration=1s"]
    # reads the statistics of the receiving kernel before the run ends
    look = ["--side", "right", "--", "sh", "-c", "sleep 0.8; cat /proc/net/snmp"]
    done = bloatlab_live(lab, "-q", "--pcap", "-o", tmp_path / "r", *fast, *look)
    assert done.returncode in (0, EXIT_INVALID), done.stderr
    names, values = (line.split() for line in done.stdout.splitlines() if line.startswith("Tcp:"))
    assert {n: v for n, v in zip(names, values, strict=True) if n in ("InErrs", "InCsumErrors")} == {
        "InErrs": "0",
        "InCsumErrors": "0",
    }
    for side in ("left", "right"):
        times = [time for time, _ in captures.Packets(tmp_path / "r" / f"{side}.pcap")]
        assert times == sorted(times)
    sent, arrived = (packets(tmp_path / "r" / f"{side}.pcap") for side in ("left", "right"))
    data = [p for p in sent if p[0] == 0x45 and p[9] == 6]
    assert len(data) > 1000
    assert max(map(len, data)) == 1500
    assert all(map(checksum_holds, data))
    # segments arrive in the order in which they were sent; only the last ones may still be on the way when the run ends
    there = [p for p in arrived if p[12:16] == data[0][12:16] and p[9] == 6]
    assert there == [p for p in data if p[12:16] == data[0][12:16]][: len(there)]
    assert len(there) > 1000


def test_a_build_without_the_bench_says_so_in_one_line(
    lab: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_core, "has_live", lambda: False)
    for words in ([str(lab)], [str(lab), "--user"], ["--clean"]):
        assert call(["live", *words]) == 2
        said = capsys.readouterr()
        assert said.err == "live: this build of bloatlab has no live bench; that needs Linux (docs/install.md)\n"
        assert not said.out


@bench
@pytest.mark.skipif(shutil.which("curl") is None, reason="live bench: curl is not installed")
def test_curl_fetches_the_page(lab: Path):
    curl = 'curl -gso /dev/null -w "%{http_code} %{size_download}\\n"'
    fetch = f'{curl} "http://$BLOATLAB_RIGHT/"; {curl} "http://[$BLOATLAB_RIGHT6]/"'
    done = bloatlab_live(lab, "-q", "--set", "duration=20s", "--", "sh", "-c", fetch)
    assert done.stdout.splitlines()[0] == "200 177669", done.stderr
    if Path("/proc/net/if_inet6").exists():
        assert done.stdout.splitlines()[1] == "200 177669"


@bench
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="live bench: iperf3 is not installed")
@pytest.mark.alone
def test_iperf3_sends_through(lab: Path, tmp_path: Path):
    # iperf3 writes its report to a file, because the server's messages go to the same standard output
    found = tmp_path / "iperf3.json"
    send = f'sleep 0.5; iperf3 -J -t 2 -c "$BLOATLAB_RIGHT" > {found}'
    done = bloatlab_live(lab, "-q", "--set", "duration=20s", "--serve", "iperf3 -s -1", "--", "sh", "-c", send)
    assert found.exists(), done.stderr
    assert 1e6 < json.loads(found.read_text())["end"]["sum_received"]["bits_per_second"] < 10e6, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "no-such-program"], '"no-such-program": there is no such command'),
        (["--set", "app.long.tcp=rfc"], "exists only in simulation"),
        (["--set", 'tcp.own={ preset = "linux-6", hystart = "search" }', "--set", "app.long.tcp=own"], "(hystart)"),
        (["--set", 'tcp.own={ preset = "linux-6", hystart = "off" }', "--set", "app.long.tcp=own"], "(hystart)"),
        (["--set", "link.wire.rate=10gbit"], "has been measured up to"),
        (["--set", "app.talk.traffic.voip.size=3000B"], "app.talk.traffic.voip.size: a datagram of 3KB cannot be live"),
        (
            ["--set", 'app.talk.traffic={ burst = { transport = "udp", bytes = "3030B" } }'],
            "burst.bytes: a datagram of 30B",
        ),
        (
            ["--set", "record.interval=10ms", "--shell", "left"],
            "record.interval: 10ms is too short for a run that ends",
        ),
        (["--set", 'app.back={ from = "h2", to = ["h1"], tcp = "ns2-reno", traffic = { ftp = {} } }'], "ns2-reno"),
        (["--set", f"link.wire={DOCSIS31}"], "the bench is not punctual enough for the frames of 135us"),
        (["--set", "trace={ links = true }"], "trace: a live run keeps no trace"),
        (["--set", f"link.wire.queue={LAW}"], "link.wire.queue.python: a law in Python cannot run live"),
        (["--set", f"tcp.m={CONTROLLER}", "--set", "app.long.tcp=m"], "a controller in Python cannot run live"),
        (["--set", "app.talk.traffic={ media = {} }"], "cannot read the ECN field of a datagram"),
        (["--set", "link.wire.impairments={ duplicate = 0.1 }"], 'did you mean "duplicates"?'),
        (["--pcap"], "-o"),
        (["--serve", "sleep 1"], "there is no program to serve"),
        (["--shell", "left", "--", "true"], "cannot be combined"),
    ],
)
def test_refusals_in_one_line(capsys: pytest.CaptureFixture[str], lab: Path, arguments: list[str], message: str):
    code, said = say(capsys, lab, *arguments)
    assert (code, len(said.strip().splitlines())) == (2, 1)
    assert message in said


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="gives up root's rights with setpriv")
def test_without_rights_it_says_which_are_missing(lab: Path):
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run([*bare, *COMMAND, str(lab)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "this needs CAP_SYS_ADMIN" in done.stderr


def test_hosts_that_cannot_be_put_apart_are_refused():
    circle = bloatlab.parse(
        LAB + '[link.side]\nfrom = "h2"\nto = "h3"\ndelay = "1ms"\nboth_ways = true\n'
        '[link.round]\nfrom = "h3"\nto = "h1"\ndelay = "1ms"\nboth_ways = true\n'
        '[app.x]\nfrom = "h2"\nto = ["h3"]\ntraffic.ftp = {}\n[app.y]\nfrom = "h3"\nto = ["h1"]\ntraffic.ftp = {}\n'
    )
    with pytest.raises(ScenarioError, match="fall into the same namespace"):
        live.run(circle)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cong", "cubik"], 'no TCP congestion control "cubik"; did you mean "cubic"? (it has '),
        (
            ["--set", "app.long.tcp=own", "--set", 'tcp.own={ preset = "linux-6", congestion_control = "ledbat" }'],
            'app.long.tcp: this kernel has no TCP congestion control "ledbat"',
        ),
    ],
)
def test_a_congestion_control_that_the_kernel_lacks_is_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch, lab: Path, arguments: list[str], message: str
):
    if not Path("/proc/sys/net/ipv4/tcp_available_congestion_control").exists():
        pytest.skip("this kernel does not say which congestion controls it has")
    # this fault makes the first step of the set-up fail, so its error would be reported if the run got that far
    monkeypatch.setenv("BLOATLAB_LIVE_FAULT", "space")
    code, said = say(capsys, lab, *arguments)
    assert (code, len(said.strip().splitlines())) == (2, 1)
    assert message in said


@bench
@pytest.mark.parametrize(("interval", "milliseconds"), [("100ms", 100), (None, 864)])
def test_a_shell_has_the_terminal_and_the_run_ends_with_it(
    lab: Path, tmp_path: Path, interval: str | None, milliseconds: int
):
    """A run with a shell lasts until the shell exits, although the scenario's duration is shorter, and returns the
    shell's exit code. The bins of its series have the length `record.interval`, by default 864 ms.
    """
    sets = ["--set", "duration=500ms", *([] if interval is None else ["--set", f"record.interval={interval}"])]
    before = live_torture.host_state()
    pid, terminal = pty.fork()
    if pid == 0:
        words = [*COMMAND, str(lab), "-q", *sets, "--shell", "right", "-o", str(tmp_path / "r")]
        os.execve(words[0], words, {**os.environ, "SHELL": "/bin/sh", "PS1": "typed> "})  # noqa: S606
    said = b""

    def until(what: bytes) -> None:
        nonlocal said
        for _ in range(600):
            if what in said:
                return
            if select.select([terminal], [], [], 0.1)[0]:
                said += os.read(terminal, 4096)
        raise AssertionError(said)

    until(b"typed> ")
    os.write(terminal, b"sleep 1; echo on-the-$BLOATLAB_SIDE-$((6 * 7)); test -t 0 && echo is-a-$(basename $SHELL)\n")
    until(b"on-the-right-42")
    until(b"is-a-sh")
    os.write(terminal, b"exit 5\n")
    with contextlib.suppress(OSError):  # the other end of the terminal is closed
        while os.read(terminal, 4096):
            pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(terminal)
    result = open_result(tmp_path / "r")
    assert result.scenario.data["record"]["interval"] == f"{milliseconds}ms"
    bins = result.table("queue_series").filter(link="wire")["t_s"].to_list()
    assert len(bins) >= 2  # the shell was open for more than 1 s
    assert bins == pytest.approx([place * milliseconds / 1000 for place in range(len(bins))])
    assert live_torture.differences(before, live_torture.host_state()) == []


@bench
def test_a_user_namespace_is_enough(lab: Path, tmp_path: Path):
    """If the kernel permits user namespaces, a run works in one, although its root has no rights on the host, not even
    SCHED_FIFO.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare (util-linux) is not installed")
    if subprocess.run([unshare, "--user", "--map-root-user", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel gives users no namespaces of their own")
    # ping succeeds if one reply arrives; the queue drops some of the packets
    script = "cat /proc/self/uid_map; ping -c 20 -i 0.2 $BLOATLAB_RIGHT >/dev/null; exit $?"
    words = ["-q", "--user", "--set", "duration=20s", "-o", tmp_path / "r", "--", "sh", "-c", script]
    done = bloatlab_live(lab, *words)
    # exactly one user of the host is mapped
    assert done.stdout.split() == ["0", str(os.geteuid()), "1"], done.stderr
    facts = json.loads((tmp_path / "r" / "summary.json").read_text())["live"]
    assert facts["command_exit_code"] == (0 if shutil.which("ping") else 127)
    assert not facts["real_time"]


@bench
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_host_is_as_before_after_a_signal(lab: Path, number: int):
    before = live_torture.host_state()
    stubborn = "trap '' TERM INT; sleep 60 & sleep 60"
    command = [*COMMAND, str(lab), "-q", "--set", "duration=60s", "--", "sh", "-c", stubborn]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        if len(live_torture.host_state()["processes"]) >= len(before["processes"]) + 3:
            break
        time.sleep(0.1)
    run.send_signal(number)
    run.wait(20)
    if number == signal.SIGKILL:
        live.clean()
    else:
        assert run.returncode == 130
    assert live_torture.differences(before, live_torture.host_state()) == []


@bench
@pytest.mark.parametrize("step", [*live_torture.STEPS, *(f"{step}!" for step in live_torture.STEPS)])
def test_an_error_at_any_step_is_one_line_and_leaves_nothing(lab: Path, step: str):
    """An error at any step (exit code 2) or a panic (70) prints one line, and leaves the host as it was."""
    before = live_torture.host_state()
    environment = {**os.environ, "BLOATLAB_LIVE_FAULT": step}
    words = [*COMMAND, str(lab), "-q", "--", "sleep", "30"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert (done.returncode, len(said.splitlines())) == (70 if step.endswith("!") else 2, 1), said
    kind = "panic" if step.endswith("!") else "fault"
    assert f'injected {kind} at "{step.removesuffix("!")}"' in said
    assert live_torture.differences(before, live_torture.host_state()) == []


def test_clean_without_anything_to_clean(capsys: pytest.CaptureFixture[str]):
    code, said = say(capsys, "--clean")
    assert code == 0
    assert said


@bench
def test_a_run_in_another_pid_namespace_is_left_alone(lab: Path):
    """If a run is in another PID namespace, the run's owner has a different PID here, or none. Even so, `--clean` and
    other runs leave the processes of the run alone.
    """
    unshare = [shutil.which("unshare") or "unshare", "--pid", "--fork", "--mount-proc"]
    try:
        subprocess.run([*unshare, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no PID namespace of its own: {error}")
    words = [*unshare, *COMMAND, str(lab), "-q", "--set", "duration=60s", "--"]
    words += ["sh", "-c", "echo ready; sleep 5; echo done"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == "ready\n"
        live.clean()
        # on a busy machine the run may be invalid, but it must complete
        assert bloatlab_live(lab, "-q", "--set", "duration=1s").returncode in (0, EXIT_INVALID)
        # the command in the other namespace has run to its end
        assert inside.stdout.readline() == "done\n"
        assert inside.wait(60) in (0, EXIT_INVALID)


@pytest.mark.alone
def test_packets_without_a_destination_do_not_judge_the_bench():
    scenario = bloatlab.parse(
        "duration = '1s'\nlink.wire = { from = 'h1', to = 'h2', both_ways = true, rate = '10mbit' }"
    )
    result = live.run(scenario)
    # with IPv6, a namespace that starts sends multicast packets, which have no destination on the bench
    assert result.summary["live"]["unread_ms"]["count"] == 0
    assert result.summary["live"]["valid"]
