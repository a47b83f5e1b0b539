"""Controllers in Python: Reno and Westwood+ send the same packets as the core's, and an error is reported in one line
that names its location.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import ControllerError
from bloatlab.cli.main import call
from bloatlab.controllers import Drive
from bloatlab.scenario import problems

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "controllers"
HOME = EXAMPLES / "home.toml"

#: A scenario in which the TCP stack `mine` uploads to a server over a 10 Mbit/s link with a round trip of 40 ms.
PLAIN = """
duration = "10s"
[link.up]
from = "home"
to = "net"
rate = "10mbit"
delay = "20ms"
queue.droptail = { limit = "60p" }
[link.down]
from = "net"
to = "home"
rate = "50mbit"
delay = "20ms"
[tcp.mine]
preset = "linux-6"
python = { controller = "mine.py:Mine" %s }
[app.upload]
from = "home"
to = ["net"]
tcp = "mine"
start_spread = "0s"
traffic.ftp = {}
"""

#: Changes to `PLAIN`, by name. Each is run with the core's Reno and Westwood+, and with those in Python.
TWINS: dict[str, dict[str, Any]] = {
    "one flow": {},
    "loss": {"link.up.loss": 0.01},
    "loss of ACKs": {"link.down.loss": 0.05, "link.up.loss": 0.002},
    "ecn": {"link.up.queue": {"codel": {"ecn": True}}, "tcp.mine.ecn": True},
    "codel": {"link.up.queue": {"codel": {}}, "app.upload.traffic": {"ftp": {"flows": 3}}},
    "reordering": {"link.up.jitter": "15ms", "link.up.reorder": True},
    "a small buffer": {"link.up.queue": {"droptail": {"limit": "4p"}}, "app.upload.traffic": {"ftp": {"flows": 2}}},
    "ten flows": {"app.upload.traffic": {"ftp": {"flows": 10}}},
    "timeouts": {"link.up.loss": 0.15, "duration": "30s"},
    "spurious timeouts": {
        "link.up.changes": [{"at": "3s", "delay": "900ms"}, {"at": "6s", "delay": "20ms"}],
        "duration": "12s",
    },
    "files with pauses": {"app.upload.traffic": {"ftp": {"size": "200KB", "pause": "1500ms", "new_connection": False}}},
    "files from the server": {
        "app.upload.traffic": {"ftp": {"size": "100KB", "direction": "down"}},
        "link.down.loss": 0.01,
    },
    "NewReno of ns-2": {"tcp.mine.preset": "ns2-reno", "link.up.loss": 0.01},
    "delayed ACKs, paced": {"tcp.mine.paced": True, "tcp.mine.ack_every": 4, "link.up.loss": 0.003},
}

Write = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Returns a function that writes a scenario and the file of its controller."""

    def write(controller: str, more: str = "") -> Path:
        (tmp_path / "mine.py").write_text(textwrap.dedent(controller))
        (tmp_path / "own.toml").write_text(PLAIN % more)
        return tmp_path / "own.toml"

    return write


def equal(one: bloatlab.Result, two: bloatlab.Result) -> bool:
    return one.summary == two.summary and all(one.table(n).equals(two.table(n)) for n in one.tables)


# -------------------------------------------------------------------- the same controller in Python and in the core


@pytest.mark.parametrize("case", TWINS)
@pytest.mark.parametrize("name", ["reno", "westwood"])
def test_a_controller_in_python_sends_the_packets_of_the_core(name: str, case: str, written: Write, tmp_path: Path):
    file = written((EXAMPLES / f"{name}.py").read_text())
    sets = TWINS[case]
    own = {"tcp.mine.python": {"controller": f"mine.py:{name.title()}"}, **sets}
    ours = bloatlab.run(file, sets=own, captures=tmp_path / "ours")
    tree = bloatlab.load(file, own).data
    del tree["tcp"]["mine"]["python"]
    tree["tcp"]["mine"]["congestion_control"] = name
    theirs = bloatlab.run(tree, captures=tmp_path / "theirs")
    assert equal(ours, theirs)
    for end in ("left", "right"):
        packets = (tmp_path / "ours" / f"{end}.pcap").read_bytes()
        assert packets == (tmp_path / "theirs" / f"{end}.pcap").read_bytes()
        assert len(packets) > 10_000


# ------------------------------------------------------------------------------------------------------------ calls


class Fixed:
    """A window that never changes."""

    def on_ack(self, sample: Any) -> float:
        return 10.0

    def on_congestion(self, moment: Any, kind: str, base: float) -> float:
        return 10.0


def test_the_window_is_the_one_that_it_returns(written: Write):
    file = written("")
    upload = bloatlab.run(
        file, sets={"tcp.mine.python": {"controller": "fixed"}, "link.up.rate": "100mbit"}, controllers={"fixed": Fixed}
    ).summary["apps"]["upload"]
    # in each round trip of 40.2 ms (40 ms of delay, and the rest for transmission), a window of 10 segments of 1448
    # bytes is delivered; the run lasts 10 s
    assert upload["goodput_bytes"] == pytest.approx(10 * 1448 * 10 / 0.0402, rel=0.03)


def test_every_moment_comes_with_its_facts(written: Write):  # noqa: C901  a method for each moment
    seen: dict[str, list[Any]] = {}

    class Watching:
        def __init__(self) -> None:
            self.timers: dict[str, int | None] = {}

        def note(self, name: str, *facts: Any) -> None:
            seen.setdefault(name, []).append(facts)

        def begin(self, start: Any) -> Drive:
            self.note("begin", start.cwnd, start.mss, start.whole_segments, start.paced, start.counts_marks)
            return Drive(cwnd=4)

        def on_handshake(self, moment: Any, rtt_us: int) -> None:
            self.note("handshake", moment.now_ns, rtt_us, moment.cwnd)
            self.timers = {"late": moment.now_ns + 200_000_000, "soon": moment.now_ns + 100_000_000, "never": None}

        def on_ack(self, sample: Any) -> float | None:
            self.note("ack", sample.now_ns, sample.rtt_us, sample.acked, sample.state, sample.rate, sample.random())
            return None if sample.rests else sample.cwnd + sample.acked

        def on_congestion(self, moment: Any, kind: str, base: float) -> float:
            self.note("congestion", moment.now_ns, kind, base)
            return base / 2

        def on_rto(self, moment: Any) -> None:
            self.note("rto", moment.now_ns)

        def on_undo(self, moment: Any, before: Any) -> Drive:
            self.note("undo", moment.now_ns, before)
            return Drive(*before)

        def on_idle(self, moment: Any, idle_ns: int, app_limited: bool) -> None:
            self.note("idle", moment.now_ns, idle_ns)

        def on_timer(self, moment: Any, name: str) -> None:
            self.note("timer", moment.now_ns, name)
            if len(seen["timer"]) < 6:
                self.timers[name] = moment.now_ns + 500_000_000

        def probe(self) -> dict[str, Any]:
            return {"acks": len(seen.get("ack", []))}

    sets: dict[str, Any] = {
        "tcp.mine.python": {"controller": "watching"},
        "link.up.changes": [{"at": "3s", "delay": "900ms"}, {"at": "6s", "delay": "20ms"}],
    }
    bloatlab.run(written(""), sets=sets, controllers={"watching": Watching})
    assert seen["begin"][0] == (10, 1448, True, False, False)
    now_ns, rtt_us, cwnd = seen["handshake"][0]
    assert (cwnd, now_ns // 1000) == (4, rtt_us)
    assert 40_000 < rtt_us < 42_000
    assert [name for _, name in seen["timer"][:4]] == ["soon", "late", "soon", "late"]
    assert seen["timer"][0][0] == now_ns + 100_000_000
    assert seen["timer"][2][0] == now_ns + 600_000_000
    assert {kind for _, kind, _ in seen["congestion"]} == {"loss"}
    assert all(a[0] <= b[0] for a, b in zip(seen["congestion"], seen["congestion"][1:], strict=False))
    assert seen["rto"]
    assert {state for _, _, _, state, _, _ in seen["ack"]} >= {"open", "loss"}
    assert {rate for *_, rate, _ in seen["ack"]} == {None}
    assert len({number for *_, number in seen["ack"]}) > 100
    # because of the reordering, the sender considers packets lost, until D-SACK shows that they have arrived
    reordered = {"tcp.mine.python": {"controller": "watching"}, "link.up.jitter": "15ms", "link.up.reorder": True}
    bloatlab.run(written(""), sets=reordered, controllers={"watching": Watching})
    assert seen["undo"]
    # the upload sends a file of 100 kB, pauses for a second, and repeats this
    sets = {
        "tcp.mine.python": {"controller": "watching"},
        "app.upload.traffic": {"ftp": {"size": "100KB", "pause": "1s", "pause_spread": "0s", "new_connection": False}},
    }
    seen.clear()
    bloatlab.run(written(""), sets=sets, controllers={"watching": Watching})
    assert [idle_ns > 900_000_000 for _, idle_ns in seen["idle"]].count(True) >= 5


def test_a_controller_that_names_rates_is_paced_by_its_own(written: Write):
    losses: list[int] = []

    class Paced:
        needs = ("rates", "repair")

        def __init__(self, rate: float = 4e6) -> None:
            self.rate = rate

        def begin(self, start: Any) -> Drive:
            return Drive(cwnd=1000, pacing_rate=self.rate, reduction=False)

        def on_ack(self, sample: Any) -> None:
            # the first second is left out, because Linux does not pace the first ten packets
            if sample.rate is not None and sample.now_ns > 10**9:
                rate = 8e9 * sample.rate.bytes / sample.rate.interval_ns
                assert rate < 1.3 * self.rate

        def on_lost(self, moment: Any, loss: Any) -> None:
            losses.append(loss.bytes)

        def on_congestion(self, moment: Any, kind: str, base: float) -> None:
            pass

    sets = {"tcp.mine.python": {"controller": "paced", "rate": "4mbit"}, "link.up.loss": 0.02}
    upload = bloatlab.run(written(""), sets=sets, controllers={"paced": Paced}).summary["apps"]["upload"]
    assert upload["goodput_bytes"] == pytest.approx(0.98 * 4e6 / 8 * 10, rel=0.03)
    assert losses
    assert set(losses) == {1448}
    with pytest.raises(bloatlab.ScenarioError, match=r"tcp\.mine\.recovery: python estimates the path from SACK"):
        bloatlab.run(written(""), sets={**sets, "tcp.mine.preset": "ns2-reno"}, controllers={"paced": Paced})


def test_marks_are_left_to_a_controller_that_names_them(written: Write):
    counted: list[int] = []

    class Marks:
        needs = ("marks",)

        def on_ack(self, sample: Any) -> float:
            counted.append(sample.ce_packets)
            return max(sample.cwnd + sample.acked / sample.cwnd - sample.ce_packets / 2, 2)

        def on_congestion(self, moment: Any, kind: str, base: float) -> float:
            assert kind == "loss"
            return base / 2

    sets = {
        "tcp.mine": {"preset": "dctcp", "python": {"controller": "marks"}, "congestion_control": "python"},
        "link.up.queue": {"codel": {"ecn": True}},
    }
    result = bloatlab.run(written(""), sets=sets, controllers={"marks": Marks})
    marked = result.summary["links"]["up"]["marked_packets"]
    assert marked > 10
    assert sum(counted) == pytest.approx(marked, abs=20)
    with pytest.raises(bloatlab.ScenarioError, match=r"tcp\.mine\.ecn: false is not valid with python"):
        bloatlab.run(written(""), sets={"tcp.mine.python": {"controller": "marks"}}, controllers={"marks": Marks})


# ------------------------------------------------------------------------------ code and parameters in the scenario


def test_a_scenario_holds_the_file_and_every_parameter(written: Write, tmp_path: Path):
    text = (EXAMPLES / "aimd.py").read_text().replace("Aimd", "Mine")
    file = written(text, ", increase = 2")
    found = bloatlab.load(file)
    held = found.data["tcp"]["mine"]["python"]
    assert held == {"controller": "mine.py:Mine", "source": {"mine.py": text}, "increase": 2.0, "kept": 0.5}
    result = bloatlab.run(found)
    (tmp_path / "mine.py").unlink()
    assert equal(bloatlab.run(found), result)
    assert bloatlab.parse(found.as_toml()) == found
    bloatlab.save(result, tmp_path / "kept")
    assert bloatlab.open_result(tmp_path / "kept").scenario == found
    (tmp_path / "mine.py").write_text(text + "# changed\n")
    assert bloatlab.load(file).hash != found.hash
    other = found.with_sets(("tcp.mine.python.kept", "0.8"))
    assert not equal(bloatlab.run(other), result)


def test_forks_and_snapshots_go_on_as_the_original(written: Write):
    file = written((EXAMPLES / "westwood.py").read_text().replace("class Westwood", "class Mine"))
    sets = {"link.up.loss": 0.01, "app.upload.traffic": {"ftp": {"size": "300KB", "pause": "200ms"}}}
    straight = bloatlab.run(file, sets=sets)
    sim = bloatlab.open(file, sets=sets)
    sim.run_until(2)
    fork, snapshot = sim.fork(), sim.snapshot()
    fork.link("up").set(rate="1mbit")
    assert not equal(fork.finish(), straight)
    sim.run_until(5)
    sim.restore(snapshot)
    assert equal(sim.fork().finish(), straight)
    assert equal(sim.finish(), straight)


def test_a_failure_in_a_fork_leaves_the_original(written: Write):
    file = written("""
        class Mine:
            def on_ack(self, sample):
                assert sample.rtt_us is None or sample.rtt_us < 500_000, "too slow"
            def on_congestion(self, moment, kind, base):
                return base / 2
    """)
    straight = bloatlab.run(file)
    sim = bloatlab.open(file)
    sim.run_until(2)
    fork = sim.fork()
    fork.link("up").set(rate="200kbit")
    for _ in range(2):
        with pytest.raises(ControllerError, match="too slow"):
            fork.finish()
    assert equal(sim.finish(), straight)


GRID = """
scenario = "own.toml"
seeds = 2
[axes]
"tcp.mine.python.kept" = [0.5, 0.7]
"""


def test_a_sweep_and_a_cluster_run_it(written: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    aimd = (EXAMPLES / "aimd.py").read_text().replace("Aimd", "Mine")
    written(aimd)
    (tmp_path / "grid.toml").write_text(GRID)

    def swept(*more: str) -> tuple[int, str, str]:
        code = call(["sweep", str(tmp_path / "grid.toml"), "--store", str(tmp_path / "store"), "-f", "csv", *more])
        out = capsys.readouterr()
        return code, out.out, out.err

    code, first, said = swept("--jobs", "2")
    assert (code, "4 runs, 0 of them from the store" in said) == (0, True), said
    code, second, said = swept("--jobs", "1")
    assert (code, second, "4 runs, 4 of them from the store" in said) == (0, first, True), said
    (tmp_path / "mine.py").write_text(aimd.replace("sample.acked", "sample.aked"))
    code, _, said = swept("--jobs", "1")
    (line,) = [s for s in said.splitlines() if "mine.py" in s]
    assert (code, "mine.py:14: on_ack raised AttributeError" in line, "Traceback" in said) == (2, True, False), said
    pytest.importorskip("distributed")
    (tmp_path / "mine.py").write_text(aimd)
    shutil.rmtree(tmp_path / "store")
    code, there, said = swept("--dask", "local", "--jobs", "1")
    assert (code, there) == (0, first), said


# ------------------------------------------------------------------------------------------------------------ errors

CONGESTION = "    def on_congestion(self, moment, kind, base): return base / 2\n"
GOOD = f"class Mine:\n    def on_ack(self, sample): pass\n{CONGESTION}"


@pytest.mark.parametrize(
    ("controller", "more", "words"),
    [
        ("class Mine:\n    def on_ack(self sample): pass\n", "", ["mine.py:2:", "SyntaxError"]),
        ("import time\n", "", ["mine.py:1:", "imports time; a controller uses sample.now_ns"]),
        ("from random import random\n", "", ["mine.py:1:", "a controller uses sample.random()"]),
        (GOOD.replace("Mine", "Mien"), "", ["mine.py has no class Mine", 'did you mean "Mien"']),
        (f"class Mine:\n{CONGESTION}", "", ["mine.py:2:", "Mine has no on_ack(self, sample)"]),
        ("class Mine:\n    x = 1\n", "", ["Mine has no on_ack(self, sample), and no other methods"]),
        (
            "class Mine:\n    def on_ack(self, sample): pass\n",
            "",
            ["Mine has no on_congestion(self, moment, kind, base)"],
        ),
        (GOOD.replace("(self, sample)", "(self)"), "", ["mine.py:2:", "on_ack is called with (self, sample)"]),
        (GOOD.replace("Mine:\n", "Mine:\n    needs = ['rate']\n"), "", ["needs has 'rate'", 'did you mean "rates"']),
        (GOOD.replace("Mine:\n", "Mine:\n    needs = 7\n"), "", ["needs has 7"]),
        (GOOD, ", kept = 1", ["python.kept: Mine (mine.py) has no such parameter (none)"]),
        (GOOD, ", contrller = 1", ["python.contrller", 'did you mean "controller"']),
    ],
)
def test_a_controller_that_cannot_be_used_is_one_line(written: Write, controller: str, more: str, words: list[str]):
    file = written(controller, more)
    with pytest.raises(ControllerError) as refused:
        bloatlab.load(file)
    (line,) = problems(refused.value)
    assert all(word in line for word in ["own.toml: tcp.mine.python", *words]), line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def on_ack(self, sample): return 1 / 0", ["mine.py:2: on_ack raised ZeroDivisionError"]),
        ("def on_ack(self, sample): return float('nan')", ["mine.py:2: on_ack returned cwnd NaN"]),
        ("def on_ack(self, sample): return 0", ["on_ack returned cwnd 0; expected more than 0"]),
        ("def on_ack(self, sample): return 'x'", ["on_ack returned 'x'; expected a number, a Drive or nothing"]),
        ("def on_ack(self, sample): return True", ["on_ack returned True"]),
        ("def on_ack(self, sample): return sample.rtt", ["on_ack raised AttributeError"]),
        ("def on_ack(self, sample): raise KeyError('x')", ["on_ack raised KeyError: 'x'"]),
        ("def on_ack(self, sample): exit(1)", ["SystemExit: 1"]),
        (
            "def on_ack(self, s):\n      from bloatlab.controllers import Drive\n      return Drive(ssthresh=-1)",
            ["on_ack returned ssthresh -1"],
        ),
        (
            "def on_ack(self, s):\n      from bloatlab.controllers import Drive\n      return Drive(pacing_rate=-8)",
            ["on_ack returned pacing_rate -8"],
        ),
        *(
            (
                f"def on_ack(self, s):\n      from bloatlab.controllers import Drive\n      return Drive({name}=1000)",
                [f'mine.py:2: on_ack returned {name}, which requires "rates" in the class\'s `needs`'],
            )
            for name in ("pacing_rate", "quantum", "max_payload")
        ),
        *(
            (
                f"def on_ack(self, s):\n      from bloatlab.controllers import Drive\n      return Drive({given})",
                [f"mine.py:4: on_ack raised ValueError: {shown}", f"; expected {valid}"],
            )
            for given, shown, valid in (
                ("quantum=-1", "quantum -1", "1 to 4294967295 segments"),
                ("max_payload=100000", "max_payload 100000", "0 bytes to the MSS"),
                ("10**400", "cwnd 1000000", "more than 0 and at most 1e9 segments"),
            )
        ),
        (
            "def on_ack(self, s): pass\n    def on_timer(self, m, name): pass",
            ["timers is missing; expected a dict of names and times in ns"],
        ),
        (
            "timers = {'x': 0.5}\n    def on_ack(self, s): pass\n    def on_timer(self, m, name): pass",
            ["timers is {'x': 0.5}; expected a dict of names and times in ns"],
        ),
        (
            "timers = {'x': 3}\n    def on_ack(self, s): pass\n    def on_timer(self, m, x): self.timers[x] = m.now_ns",
            ["mine.py:4: on_timer was called 100 times at once", "at 0."],
        ),
        ("def __init__(self): self.x = y\n    def on_ack(self, s): pass", ["mine.py:2: __init__ raised NameError"]),
    ],
)
def test_a_controller_that_breaks_is_one_line(
    written: Write, capsys: pytest.CaptureFixture[str], body: str, words: list[str]
):
    file = written(f"class Mine:\n    {body}\n{CONGESTION}")
    with pytest.raises(ControllerError) as broken:
        bloatlab.run(file)
    (line,) = problems(broken.value)
    assert all(word in line for word in ["tcp.mine.python: mine.py:", *words]), line
    assert call(["run", str(file), "-q"]) == 2
    assert capsys.readouterr().err == line + "\n"


def test_the_line_names_the_flow_and_the_moment(written: Write):
    file = written(f"class Mine:\n    def on_ack(self, sample): assert sample.now_ns < 10**9\n{CONGESTION}")
    with pytest.raises(ControllerError) as broken:
        bloatlab.run(file)
    (line,) = problems(broken.value)
    found = re.fullmatch(
        r"tcp\.mine\.python: mine\.py:2: on_ack raised AssertionError "
        r"\(app\.upload, connection 1 forward, at (1\.\d{9}) s\)",
        line,
    )
    assert found, line
    assert float(found[1]) < 1.1


def test_a_broken_controller_ends_its_run_soon(written: Write):
    file = written(GOOD.replace("pass", "return -1"))
    told: list[float] = []
    with pytest.raises(ControllerError):
        bloatlab.run(file, None, told.append, sets={"duration": "10h"})
    assert max(told, default=0.0) < 0.01


def test_classes_are_given_by_name(written: Write):
    file = written(GOOD)
    sets = {"tcp.mine.python": {"controller": "fixed"}}
    for given, words in (
        ({}, 'no class "fixed" was passed'),
        ({"fxied": Fixed}, 'no class "fixed" was passed (fxied)'),
        ({"fixed": Fixed, "more": Fixed}, 'no stack of the scenario names "more"'),
        ({"fixed": 3}, "is not a class but int"),
    ):
        with pytest.raises(ControllerError, match=re.escape(words)):
            bloatlab.run(file, sets=sets, controllers=given)  # pyright: ignore[reportArgumentType]
    network = bloatlab.Network(file, sets=sets, controllers={"fixed": Fixed})
    assert equal(network.finish(), bloatlab.run(file, sets=sets, controllers={"fixed": Fixed}))
