"""Queues in tc's syntax, and `bloatlab tc`, from Python and from the command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bloatlab
from bloatlab.cli.main import call

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def command(*arguments: object) -> tuple[int, str, str]:
        code = call([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def dumbbell(scenario_file: Path) -> bloatlab.Scenario:
    return bloatlab.load(scenario_file)


def _queue(scenario: bloatlab.Scenario) -> dict[str, object]:
    return scenario.data["link"]["up"]["queue"]


def test_words_and_tables_are_one_scenario(dumbbell: bloatlab.Scenario):
    words = dumbbell.with_sets(("link.up.queue", "fq_codel limit 1000p target 5ms ecn"))
    table = dumbbell.with_sets(("link.up.queue", '{ fq_codel = { limit = "1000p", target = "5ms", ecn = true } }'))
    assert (words.text, words.hash) == (table.text, table.hash)
    assert words != dumbbell


def test_a_bare_congestion_control_is_the_current_linux_stack(dumbbell: bloatlab.Scenario):
    # "cubic" selects the same stack as linux-6; "reno" and "bbr" select this stack with another congestion control
    runs = {
        tcp: bloatlab.run(dumbbell, sets={"app.file.tcp": tcp}).summary["apps"] for tcp in ("cubic", "linux-6", "reno")
    }
    assert runs["cubic"] == runs["linux-6"]
    assert runs["reno"] != runs["cubic"]
    assert bloatlab.run(dumbbell, sets={"app.file.tcp": "bbr"}).summary["apps"]["file"]["goodput_bytes"] > 0


def test_the_command_prints_what_the_queue_is_read_from(say: Say, scenario_file: Path):
    code, out, err = say("tc", scenario_file, "--set", "link.up.queue=codel limit 100 target 7ms", "--link", "up")
    assert (code, err) == (0, "")
    (line,) = re.findall(r"handle 10: (codel.*)", out)
    assert line == "codel limit 100 target 7ms interval 100ms noecn"
    given = bloatlab.load(scenario_file, {"link.up.queue": "codel limit 100 target 7ms"})
    again = bloatlab.load(scenario_file, {"link.up.queue": line})
    assert _queue(again) == _queue(given)
    assert "netem" in out
    assert "htb rate 5mbit" in out
    # a whole command can also be pasted as a queue
    pasted = next(text for text in out.splitlines() if "handle 10:" in text)
    assert _queue(bloatlab.load(scenario_file, {"link.up.queue": pasted.replace('"$DEV"', "eth0")})) == _queue(given)


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("link.up.queue=fq_codle limit 5", ['unknown keyword "fq_codle"', 'did you mean "fq_codel"?']),
        ("link.up.queue=fq_codel limmit 5", ['unknown keyword "limmit"', 'did you mean "limit"?']),
        ("link.up.queue=cake bandwith 20mbit", ['unknown keyword "bandwith"', 'did you mean "bandwidth"?']),
        ("link.up.queue=cake bandwidth 20mbit", ["20mbit is not valid on a link of", "at most the link's rate"]),
        ("link.up.queue=fq_codel + cake", ["cake"]),
        ("link.up.queue=codel target 20M", ['codel target: "20M" is not valid; expected a time']),
        ("link.up.rate=20M", ['"20M" is not valid; expected a rate in bits per second; write "20mbit"']),
    ],
)
def test_what_is_no_word_of_tc_is_one_line(say: Say, scenario_file: Path, override: str, parts: list[str]):
    code, out, err = say("tc", scenario_file, "--set", override)
    assert (code, out, err.count("\n")) == (2, "", 1)
    for part in parts:
        assert part in err


def test_another_link_names_those_there_are(say: Say, scenario_file: Path):
    code, _, err = say("tc", scenario_file, "--link", "upp")
    assert code == 2
    assert 'unknown link "upp"; did you mean "up"?' in err


def test_list_knows_the_names_and_words_of_tc(say: Say):
    code, out, _ = say("list", "pfifo")
    assert (code, out.startswith("droptail:")) == (0, True)
    assert "tc syntax: bfifo [limit BYTES]" in out
    words = " ".join(say("list", "codel")[1].split())
    assert "tc syntax: codel [limit PACKETS] [target TIME] [interval TIME] [ecn] [noecn] [ce_threshold TIME]" in words
    assert "tc syntax" not in say("list", "lred")[1]


#: Disciplines in tc's syntax, most of them with many of their keywords.
QUEUES = (
    "pfifo limit 417",
    "bfifo limit 64kb",
    "pfifo_head_drop limit 20",
    "codel limit 500 target 7ms interval 120ms ecn ce_threshold 1ms",
    "fq_codel limit 500 flows 32 quantum 300 memory_limit 4Mb target 7ms noecn ce_threshold 1ms drop_batch 8",
    "pie limit 300 target 20ms tupdate 30ms alpha 3 beta 21 ecn bytemode dq_rate_estimator",
    "fq_pie limit 300 flows 64 quantum 1000 memory_limit 5Mb target 20ms alpha 3 beta 21 ecn_prob 30 ecn",
    "sfq limit 200 perturb 10 quantum 3000 depth 64 divisor 256 headdrop",
    "red limit 60kb min 15kb max 45kb avpkt 1000 burst 20 probability 0.1 bandwidth 10mbit ecn harddrop",
    "red",
)


def _in_a_namespace(script: str) -> str:
    """Returns the output of `script`, run by a shell as root of a new network namespace; skips the test if that
    is not possible here.
    """
    programs = [shutil.which(name) for name in ("unshare", "tc", "ip", "bash")]
    if None in programs:
        pytest.skip("needs unshare, tc, ip")
    unshare, _, _, bash = (str(p) for p in programs)
    first = "ip tuntap add eth0 mode tap && ip link set eth0 up || exit 77\n"
    done = subprocess.run([unshare, "-n", bash, "-c", first + script], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("needs root and TUN")
    return done.stdout + done.stderr


@pytest.mark.live
@pytest.mark.parametrize("queue", QUEUES)
def test_iproute2_understands_what_is_said(scenario_file: Path, queue: str):
    """tc(8) itself parses the commands. Even if the kernel lacks a discipline, tc has parsed the whole command by the
    time the kernel refuses it.
    """
    sets = {"link.up.queue": queue, "link.up.jitter": "4ms", "link.up.loss": "1%"}
    text = bloatlab.load(scenario_file, sets).tc("up")
    commands = [c for c in text.splitlines() if c.startswith(("tc qdisc", "tc class")) and "ingress" not in c]
    assert any("netem" in c for c in commands)
    # the namespace has only one interface, so each additional command first removes the root discipline, and with it
    # the shaper and its class
    one = [re.sub(r"dev ifb\d+", "dev eth0", c).replace("parent 1:1 ", "root ") for c in commands]
    bare = "\ntc qdisc del dev eth0 root 2>/dev/null\n"
    script = "DEV=eth0\n" + "\n".join(one[:2]) + bare + bare.join(one[2:])
    said = _in_a_namespace(script)
    complaints = [line for line in said.splitlines() if "qdisc kind is unknown" not in line]
    assert complaints == [], said
    # tc detects a misspelt word
    assert "What is" in _in_a_namespace("tc qdisc replace dev eth0 root fq_codel limmit 5")


#: Sends datagrams with 500 bytes of payload through a TAP device with the commands of a scenario, makes its changes at
#: 0.5 s and at 1.5 s, and prints the number of packets that leave the device before, during and after the outage.
OUTAGE = """
import fcntl, os, select, socket, struct, subprocess, sys, time
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", b"tap0", 0x1002))
def run(commands):
    subprocess.run(["bash", "-ec", "DEV=tap0\\n" + commands], check=True)
run("ip link set tap0 up; ip addr add 10.9.0.1/24 dev tap0; ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tap0")
start, stop, go = sys.argv[1:]
run(start)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setblocking(False)
counts = []
for commands, until in (("", 0.5), (stop, 1.0), (go, 0.5)):
    if commands:
        run(commands)
    end, count = time.monotonic() + until, 0
    while time.monotonic() < end:
        try:
            sender.sendto(bytes(500), ("10.9.0.2", 9))
        except BlockingIOError:
            pass
        while select.select([tap], [], [], 0.001)[0]:
            count += b"\\x0a\\x09\\x00\\x02" in os.read(tap, 2000)
    counts.append(count)
print(*counts, flush=True)
run("tc qdisc show dev tap0")
"""


@pytest.mark.live
def test_an_outage_stops_linux_and_ends(scenario_file: Path):
    changes = [{"at": "1s", "rate": "0bit"}, {"at": "2s", "rate": "8mbit"}]
    text = bloatlab.load(scenario_file, {"link.up.queue": "pfifo limit 50", "link.up.changes": changes}).tc("up")
    start = "\n".join(c for c in text.splitlines() if c.startswith("tc ") and '"$DEV"' in c)
    _, stop, go = (re.sub("(?m)^#     ", "", part) for part in re.split(r"# at \ds:\n", text))
    arguments = " ".join(shlex.quote(part) for part in (OUTAGE, start, stop, go))
    said = _in_a_namespace(f"{shlex.quote(sys.executable)} -c {arguments}")
    counts, *kept = said.splitlines()
    before, during, after = map(int, counts.split())
    # a few packets still wait in the device when the outage begins
    assert during <= 20, said
    assert min(before, after) > 50, said
    assert any("pfifo" in line and "limit 50p" in line for line in kept), said
