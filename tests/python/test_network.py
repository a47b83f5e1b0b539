"""Transports written in Python, in a simulated network."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import EndpointError, Network, Result, ScenarioError, results
from bloatlab.network import Address, Datagram

LINE = """
name = "line"
duration = "4s"
start_spread = "0s"
[link.up]
from = "client"
to = "server"
rate = "10mbit"
delay = "10ms"
queue = "codel ecn"
[link.down]
from = "server"
to = "client"
rate = "10mbit"
delay = "10ms"
[app.cubic]
from = "client"
to = ["server"]
tcp = "cubic"
traffic = "ftp"
"""

MS = 1_000_000


class Ticker:
    """Sends 1000 bytes to `to` every 5 ms; without `to`, only receives."""

    def __init__(self, to: Address | None = None) -> None:
        self.to, self.next, self.sent = to, 0, 0
        self.log: list[tuple[int, Address, int, bytes]] = []

    def handle(self, now_ns: int, datagram: Datagram) -> None:
        self.log.append((now_ns, datagram.sender, datagram.ecn, datagram.data))

    def poll_transmit(self, now_ns: int) -> tuple[Address, bytes, int] | None:
        if self.to is None or self.next > now_ns:
            return None
        self.next += 5 * MS
        self.sent += 1
        return self.to, self.sent.to_bytes(8, "big") + bytes(992), 2

    def next_timeout(self) -> int | None:
        return None if self.to is None else self.next

    def on_timeout(self, now_ns: int) -> None:
        pass


class Faulty(Ticker):
    """Misbehaves at 2 s."""

    fault: str = ""

    def poll_transmit(self, now_ns: int) -> Any:
        if now_ns < 2000 * MS:
            return super().poll_transmit(now_ns)
        match self.fault:
            case "raise":
                return self.log[0]
            case "interrupt":
                raise KeyboardInterrupt
            case "value":
                return self.to, "text", 2
            case "ecn":
                return self.to, b"", 4
            case "address":
                return ("server", 1), b"", 0
            case "mtu":
                return self.to, bytes(1473), 0
            case "endless":
                return self.to, b"", 0
            case _:
                return None


def ticking(**keys: Any) -> tuple[Network, Ticker, Ticker]:
    network = Network(bloatlab.parse(LINE), **keys)
    receiver = Ticker()
    sender = Ticker(network.add_endpoint("server", receiver))
    network.add_endpoint("client", sender)
    return network, sender, receiver


def digest(result: Result) -> str:
    summary = {key: value for key, value in result.summary.items() if key != "events"}  # a capture adds events
    text = repr(summary) + "".join(name + result.table(name).write_csv() for name in sorted(result.tables))
    return hashlib.sha256(text.encode()).hexdigest()


def test_bytes_and_marks_arrive():
    network, sender, receiver = ticking()
    result = network.finish()
    row = result.summary["apps"]["client"]
    assert (row["datagrams_sent"], row["goodput_bytes"]) == (sender.sent, 1000 * len(receiver.log)) == (800, 797_000)
    number = [int.from_bytes(data[:8], "big") for *_, data in receiver.log]
    assert number == sorted(number)
    # a datagram of 1028 bytes takes 822.4 us to transmit at 10 Mbit/s, and 10 ms to propagate. If CUBIC's SYN, which
    # has fewer than 74 bytes, is transmitted first, the datagram arrives up to 59.2 us later
    assert 10_822_400 <= receiver.log[0][0] <= 10_881_600
    assert receiver.log[0][1:3] == (("10.0.0.0", 4434), 2)
    marked = sum(ecn == 3 for _, _, ecn, _ in receiver.log)
    assert marked == row["ce_packets"] > 0
    assert result.summary["apps"]["cubic"]["goodput_mbit"] > 5


def test_an_endpoint_starts_with_the_run_whatever_the_spread():
    network = Network(bloatlab.parse(LINE.replace('start_spread = "0s"', 'start_spread = "1s"')))
    receiver = Ticker()
    sender = Ticker(network.add_endpoint("server", receiver))
    network.add_endpoint("client", sender)
    network.finish()
    assert sender.sent == 800
    assert receiver.log[0][0] == 10_822_400


def test_a_run_in_steps_is_the_same_run():
    straight, one, _ = ticking()
    stepped, two, _ = ticking()
    assert repr(stepped) == "<Network: 0 s of 4 s, endpoints server, client>"
    for time in (0, "1ms", 0.5, 1.2345, "3s", 3):
        stepped.run_until(time)
    assert (stepped.now, two.sent) == (3, 600)
    # a result taken before the end counts the datagrams sent so far
    assert stepped.result().summary["apps"]["client"]["datagrams_sent"] == 600
    assert digest(straight.finish()) == digest(stepped.finish())
    assert one.log == two.log
    assert digest(stepped.finish()) == digest(stepped.result())
    with pytest.raises(ScenarioError, match="the run is over"):
        stepped.run_until("4s")
    with pytest.raises(ScenarioError, match="the run is over"):
        stepped.add_endpoint("client", Ticker())


def test_a_capture_has_the_real_bytes_and_is_the_same_twice(tmp_path: Path):
    found: list[bytes] = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        network, _, _ = ticking()
        network.capture(folder, "up")
        captured = digest(network.finish())
        assert captured == digest(ticking()[0].finish())
        found.append((folder / "left.pcap").read_bytes() + (folder / "right.pcap").read_bytes())
    assert found[0] == found[1]
    # both captures contain datagram 1; only the sender's side has datagram 800, which is still on its way at the end
    assert found[0].count((800).to_bytes(8, "big") + bytes(992)) == 1
    assert found[0].count((1).to_bytes(8, "big") + bytes(992)) == 2
    network, _, _ = ticking()
    with pytest.raises(ScenarioError, match='unknown link "upp"; did you mean "up"'):
        network.capture(tmp_path / "three", "upp")
    assert not (tmp_path / "three").exists()
    network.capture(tmp_path / "three", "up")
    network.finish()
    assert (tmp_path / "three" / "left.pcap").read_bytes() + (tmp_path / "three" / "right.pcap").read_bytes() == found[
        0
    ]


def test_a_result_is_saved_and_opened_again_but_not_run_from_its_scenario(tmp_path: Path):
    network, _, _ = ticking(seed=7, sets={"name": "mine"})
    result = network.finish()
    again = bloatlab.open_result(results.save(result, tmp_path / "run"))
    assert (again.seed, again.summary, again.scenario) == (7, result.summary, result.scenario)
    with pytest.raises(ScenarioError, match="only a program can supply"):
        bloatlab.run(result.scenario)


def failing(fault: str, of: type[Faulty] = Faulty) -> tuple[Network, str]:
    """Returns a network whose sender misbehaves, and the error message, which is a single line."""
    network = Network(bloatlab.parse(LINE))
    sender = of(network.add_endpoint("server", Ticker()))
    sender.fault = fault
    network.add_endpoint("client", sender, name="bad")
    with pytest.raises(EndpointError) as first:
        network.finish()
    with pytest.raises(EndpointError) as second:
        network.run_until("4s")
    (line,) = first.value.args
    assert second.value.args == (line,)
    assert "\n" not in line
    # the results of the other applications are kept; in the first 2 s, the faulty endpoint sent at 1.6 of the 10
    # Mbit/s, and the CUBIC flow could use the rest
    assert network.result().summary["apps"]["cubic"]["goodput_mbit"] > 5
    assert network.now == 2
    return network, line


def line_of(text: str) -> int:
    """Returns the number of the first line of this file that contains `text`."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


POLL = "poll_transmit returned (('10.0.0.1', 4433), "
VALID = "expected None or ((address, port), bytes, ECN field from 0 to 3)"


@pytest.mark.parametrize(
    ("fault", "at", "action"),
    [
        ("raise", "return self.log[0]", "poll_transmit raised IndexError: list index out of range"),
        ("value", "def poll_transmit(self, now_ns: int) -> Any", f"{POLL}'text', 2); {VALID}"),
        ("ecn", "def poll_transmit(self, now_ns: int) -> Any", f"{POLL}b'', 4); {VALID}"),
        (
            "address",
            "def poll_transmit(self, now_ns: int) -> Any",
            f"poll_transmit returned (('server', 1), b'', 0); {VALID}",
        ),
        (
            "mtu",
            "def poll_transmit(self, now_ns: int) -> Any",
            "sent an IP packet of 1501 bytes, more than the MTU of 1500 bytes",
        ),
        (
            "endless",
            "def poll_transmit(self, now_ns: int) -> Any",
            "sent 65536 datagrams at one moment, and there are more",
        ),
        (
            "timeout",
            "def next_timeout",
            "1000 times in a row for a timeout that is not in the future",
        ),
    ],
)
def test_a_stack_that_misbehaves_ends_the_run_with_one_line(fault: str, at: str, action: str):
    network, line = failing(fault)
    assert line.startswith(f'endpoint "bad" at 2.000000000 s: test_network.py:{line_of(at)}: ')
    assert line.endswith(action)
    assert network.result().summary["apps"]["bad"]["datagrams_sent"] >= 400


class Late(Faulty):
    now = 0

    def poll_transmit(self, now_ns: int) -> Any:
        self.now = now_ns
        return super().poll_transmit(now_ns)

    def next_timeout(self) -> Any:
        return self.next if self.now < 2000 * MS else 2000.5


def test_a_timeout_is_a_whole_number():
    _, line = failing("", Late)
    assert line.endswith("next_timeout returned 2000.5; expected whole nanoseconds or None")


def test_an_exception_is_the_cause_and_ctrl_c_stays_itself():
    network = Network(bloatlab.parse(LINE))
    sender = Faulty(network.add_endpoint("server", Ticker()))
    network.add_endpoint("client", sender)
    sender.fault = "interrupt"
    with pytest.raises(KeyboardInterrupt):
        network.finish()
    network = Network(bloatlab.parse(LINE))
    sender = Faulty(network.add_endpoint("server", Ticker()))
    network.add_endpoint("client", sender)
    sender.fault = "raise"
    with pytest.raises(EndpointError) as error:
        network.finish()
    assert isinstance(error.value.__cause__, IndexError)


def test_a_stack_may_not_run_its_own_network():
    class Nested(Ticker):
        def on_timeout(self, now_ns: int) -> None:
            network.run_until("4s")

    network = Network(bloatlab.parse(LINE))
    network.add_endpoint("client", Nested(network.add_endpoint("server", Ticker())))
    with pytest.raises(EndpointError, match="on_timeout raised RuntimeError: this simulation is running"):
        network.finish()


class Halting(Ticker):
    handle = None  # type: ignore[assignment]


class Eager(Ticker):
    def on_timeout(self) -> None:  # type: ignore[override]
        pass


class Framed(Ticker):
    framing = "ethernet"


@pytest.mark.parametrize(
    ("act", "line"),
    [
        (lambda n: n.add_endpoint("clint", Ticker()), 'did you mean "client"?'),
        (lambda n: n.add_endpoint("client", Ticker(), name="cubic"), "endpoint.cubic: another application has this"),
        (lambda n: n.add_endpoint("client", Halting()), "endpoint: Halting has no method handle(now_ns, datagram)"),
        (
            lambda n: n.add_endpoint("client", Eager()),
            "endpoint: Eager.on_timeout cannot be called as on_timeout(now_ns)",
        ),
        (lambda n: n.add_endpoint("client", Framed()), "endpoint.client: framing is 'ethernet'; expected \"udp\" or"),
        (lambda n: n.add_endpoint("client", Ticker(), mtu=100), "endpoint.client: mtu 100 is not valid"),
        (lambda n: (n.add_endpoint("client", Ticker()), n.finish()), "there is no endpoint at another node"),
        (lambda n: n.run_until("5 apples"), "run_until: '5 apples' is not valid; expected a time of 0 to 4 s"),
        (lambda n: (n.run_until(1), n.run_until(0.5)), "run_until: this time has passed"),
        (lambda n: (n.run_until(1), n.add_endpoint("client", Ticker())), "the network has already run"),
    ],
)
def test_problems_are_found_with_one_line(act: Any, line: str):
    with pytest.raises(ScenarioError) as error:
        act(Network(bloatlab.parse(LINE)))
    (text,) = error.value.args[0]
    assert line in text


def test_whole_packets_and_laws_in_python():
    class Head:
        def head(self, packet: Any, view: Any) -> str | None:
            return "mark" if packet.ect else None

    class Whole(Ticker):
        framing = "ipv4"

        def poll_transmit(self, now_ns: int) -> tuple[Address, bytes, int] | None:
            sent = super().poll_transmit(now_ns)
            if sent is None:
                return None
            header = bytes([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10, 0, 0, 1])
            return sent[0], header + bytes(20), 2

    queue = {"link.up.queue": {"python": {"law": "head"}}}
    network = Network(bloatlab.parse(LINE), sets=queue, laws={"head": Head})
    receiver = Ticker()
    network.add_endpoint("client", Whole(network.add_endpoint("server", receiver)))
    network.finish()
    # the law's mark is also in the IP header that the receiver gets
    assert {(ecn, data[1] & 3, len(data)) for _, _, ecn, data in receiver.log} == {(3, 3, 40)}


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    root = Path(__file__).resolve().parents[2]
    code = (root / "docs" / "transports.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "ticker.toml").write_text((root / "crates/net/examples/ticker.toml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "transports.md", "exec"), {"__name__": "page"})  # noqa: S102
    *marks, goodput = capsys.readouterr().out.splitlines()
    # 1200 bytes every millisecond is 9.6 Mbit/s, but the packets sent in the last 10 ms have not arrived
    assert 9.5 < float(goodput) < 9.6
    assert marks
    assert all(line.endswith(" s: marked") for line in marks)


# ---------------------------------------------------------------------------------------------------------------- forks


def ends(network: Network) -> tuple[str, Any]:
    """Runs the network to the end; returns the digest of its result, and the log of the receiver."""
    result = network.finish()
    receiver = network.endpoints["server"]
    assert isinstance(receiver, Ticker)
    return digest(result), receiver.log


@pytest.mark.parametrize("queue", ["droptail", "codel ecn", "cake", "dualpi2", "fq_codel"])
@pytest.mark.parametrize("at", [0, "7.000001ms", 1.2345, "3999ms"])
def test_a_fork_continues_to_the_same_bytes(queue: str, at: float | str):
    straight = ends(ticking(sets={"link.up.queue": queue})[0])
    network, sender, receiver = ticking(sets={"link.up.queue": queue})
    network.run_until(at)
    fork, sent = network.fork(), sender.sent
    assert ends(fork) == straight
    assert (sender.sent, network.now, fork.now) == (sent, pytest.approx(network.now), 4)
    assert ends(network) == straight
    assert fork.endpoints["server"] is not receiver is network.endpoints["server"]


def test_a_fork_that_differs_changes_nothing_elsewhere():
    straight = ends(ticking()[0])
    network, *_ = ticking()
    network.run_until(1)
    louder = copy.deepcopy(network)
    sender = louder.endpoints["client"]
    assert isinstance(sender, Ticker)
    sender.next = 999_999 * MS
    assert ends(louder)[1] != straight[1]
    assert ends(network) == straight


def test_stacks_that_share_an_object_share_one_copy_of_it():
    network, sender, receiver = ticking()
    sender.log = receiver.log
    fork = copy.copy(network)
    one, other = fork.endpoints["client"], fork.endpoints["server"]
    assert isinstance(one, Ticker)
    assert isinstance(other, Ticker)
    assert one.log is other.log is not receiver.log


def test_a_stack_that_cannot_be_copied_is_named():
    network, sender, _ = ticking()
    sender.extra = (n for n in range(3))  # type: ignore[attr-defined]
    with pytest.raises(EndpointError) as error:
        network.fork()
    reason = "copy.deepcopy raised TypeError: cannot pickle 'generator' object"
    assert str(error.value) == f'endpoint "client": this stack cannot be forked, because {reason}'
    del sender.extra  # type: ignore[attr-defined]
    monolith = Network(bloatlab.parse(LINE))
    monolith.add_endpoint("server", Alone())
    with pytest.raises(EndpointError, match=r"because copy\.deepcopy does not copy a Alone$"):
        monolith.fork()
    network.fork()


class Alone(Ticker):
    """A stack that `copy.deepcopy` does not copy: it returns the stack itself."""

    def __deepcopy__(self, _memo: object) -> Alone:
        return self


def test_what_cannot_be_forked(tmp_path: Path):
    network, *_ = ticking()
    network.capture(tmp_path)
    with pytest.raises(ScenarioError, match="fork: a network that captures cannot be forked"):
        network.fork()
    network.finish()
    with pytest.raises(ScenarioError, match="fork: the run is over; fork it earlier"):
        network.fork()


def test_an_error_in_a_fork_is_that_of_the_fork():
    network = Network(bloatlab.parse(LINE))
    sender = Faulty(network.add_endpoint("server", Ticker()))
    network.add_endpoint("client", sender)
    network.run_until(1)
    fork = network.fork()
    copied = fork.endpoints["client"]
    assert isinstance(copied, Faulty)
    copied.fault = "raise"
    sent = sender.sent
    with pytest.raises(EndpointError, match=r'endpoint "client" at 2\.00.*raised IndexError'):
        fork.finish()
    assert sender.sent == sent
    network.run_until("1900ms")
    assert sender.sent > sent


def test_a_second_copy_of_a_datagram_does_not_count():
    # as in an application of the core, only the first copy of a datagram counts
    scenario = bloatlab.parse(LINE, sets={"link.up.impairments": {"duplicates": 0.5}, "link.up.rate": "100mbit"})
    network = Network(scenario)
    receiver = Ticker()
    sender = Ticker(network.add_endpoint("server", receiver))
    network.add_endpoint("client", sender)
    client = network.finish().summary["apps"]["client"]
    # 800 datagrams are sent in 4 s; those of the last 10 ms are still on the wire. The receiving stack gets all copies
    first = {data[:8] for *_, data in receiver.log}
    assert client["packets"] == len(first) == sender.sent - 2
    assert client["goodput_bytes"] == 1000 * len(first)
    assert len(receiver.log) == pytest.approx(1.5 * len(first), abs=3 * (0.25 * 800) ** 0.5)
