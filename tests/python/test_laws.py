"""Laws in Python: the RFC's CoDel acts as the core's CoDel does, and an error is reported in one line that names the
faulty line of the law.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import LawError
from bloatlab.cli.main import call
from bloatlab.scenario import problems
from conftest import interrupt

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "laws"
HOME = EXAMPLES / "home.toml"

#: 8 Mbit/s of datagrams of 1000 bytes enter a link of 4 Mbit/s for 2 s: one arrives every ms, and one leaves every 2
#: ms.
OVERLOAD = """
duration = "2s"
[link.up]
from = "home"
to = "net"
rate = "4mbit"
queue.python = {{ law = "law.py:Mine", limit = "100p" {more} }}
[link.down]
from = "net"
to = "home"
[app.blast]
from = "home"
to = ["net"]
start_spread = "0s"
traffic.cbr = {{ rate = "8mbit", size = 1000, spread = "0s" }}
"""

Write = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Returns a function that writes a law (an AQM in Python) to a file, and a scenario that uses this law."""

    def write(law: str, more: str = "") -> Path:
        (tmp_path / "law.py").write_text(textwrap.dedent(law))
        (tmp_path / "own.toml").write_text(OVERLOAD.format(more=more).replace(', spread = "0s"', ""))
        return tmp_path / "own.toml"

    return write


def equal(one: bloatlab.Result, two: bloatlab.Result) -> bool:
    return one.summary == two.summary and all(one.table(n).equals(two.table(n)) for n in one.tables)


# --------------------------------------------------------------------------- the same law in Python and in the core


@pytest.mark.parametrize("values", [{}, {"target": "15ms", "interval": "300ms"}, {"target": "1ms", "interval": "20ms"}])
@pytest.mark.parametrize("host", ["alone", "sfq_hss", "drr"])
def test_codel_of_the_rfc_in_python_is_codel_of_the_core(host: str, values: dict[str, str]):
    own: dict[str, Any] = {"python": {"law": "codel.py:CoDel", "limit": "300p", **values}}
    core: dict[str, Any] = {"codel": {"limit": "300p", **values}}
    if host != "alone":
        own, core = {host: {"law": own}}, {host: {"law": core}}
    ours = bloatlab.run(HOME, sets={"link.up.queue": own, "app.upload.traffic": {"ftp": {"flows": 4}}})
    theirs = bloatlab.run(HOME, sets={"link.up.queue": core, "app.upload.traffic": {"ftp": {"flows": 4}}})
    assert equal(ours, theirs)
    assert ours.summary["links"]["up"]["dropped_packets"] > 100


def test_the_example_keeps_its_promise():
    up = bloatlab.run(HOME).summary["links"]["up"]
    assert up["sojourn_ms"]["max"] <= 20
    assert up["dropped_packets"] > 100


# ------------------------------------------------------------------------------------------------------------ calls


def test_every_moment_comes_as_often_as_it_should(written: Write):
    calls: dict[str, list[Any]] = {}

    class Watching:
        def __init__(self) -> None:
            calls.clear()
            self.next_tick_ns = 0

        def arrive(self, packet: Any, view: Any) -> None:
            calls.setdefault("arrive", []).append((packet.size, view.packets, view.bytes, view.rate, view.sojourn_ns))

        def head(self, packet: Any, view: Any) -> str:
            calls.setdefault("head", []).append(view.now_ns - packet.enqueued_ns - view.sojourn_ns)
            return "drop" if len(calls["head"]) % 10 == 0 else "pass"

        def left(self, packet: Any, view: Any) -> None:
            calls.setdefault("left", []).append((packet.flow, packet.ect, packet.dscp, packet.pure_ack))

        def empty(self, now_ns: int) -> None:
            calls.setdefault("empty", []).append(now_ns)

        def overflow(self, now_ns: int) -> None:
            calls.setdefault("overflow", []).append(now_ns)

        def tick(self, view: Any) -> None:
            calls.setdefault("tick", []).append(view.now_ns)
            self.next_tick_ns = view.now_ns + 250_000_000

    file = written("class Mine:\n    def head(self, packet, view): pass\n")
    sets: dict[str, Any] = {"link.up.queue": {"python": {"law": "watching", "limit": "100p"}}, "app.blast.stop": "1s"}
    up = bloatlab.run(file, sets=sets, laws={"watching": Watching}).summary["links"]["up"]
    # a packet arrives every ms for 1 s, so there are 1000 calls; the first finds an empty queue
    assert len(calls["arrive"]) == 1000
    assert calls["arrive"][0] == (1000, 0, 0, 4_000_000, 0)
    assert max(packets for _, packets, *_ in calls["arrive"]) == 100
    assert len(calls["overflow"]) == up["dropped_packets"] - len(calls["head"]) // 10
    assert len(calls["left"]) == up["delivered_packets"] == len(calls["head"]) - len(calls["head"]) // 10
    assert set(calls["head"]) == {0}
    assert set(calls["left"]) == {(calls["left"][0][0], False, 0, False)}
    # `empty` is called when the link finds the queue empty, which it does at the end
    assert len(calls["empty"]) >= 1
    assert calls["tick"] == [0, 250_000_000, 500_000_000, 750_000_000, *range(10**9, 2 * 10**9, 250_000_000)]


def test_marks_are_marks(written: Write):
    file = written("""
        class Mine:
            def __init__(self, above=5_000_000):
                self.above = above
            def arrive(self, packet, view):
                if packet.ect and view.expected_delay_ns(view.bytes) > self.above:
                    return "mark"
    """)
    sets = {
        "app.blast.traffic": {"ftp": {}},
        "app.blast.tcp": "ecn",
        "tcp": {"ecn": {"preset": "linux-6", "ecn": True}},
    }
    up = bloatlab.run(file, sets=sets).summary["links"]["up"]
    assert up["marked_packets"] > 3
    assert up["dropped_packets"] == 0


def test_its_numbers_are_drawn_from_a_stream_of_its_own(written: Write):
    file = written("""
        class Mine:
            def __init__(self, share=0.1):
                self.share = share
            def arrive(self, packet, view):
                return "drop" if view.random() < self.share else "pass"
    """)
    sets = {"link.up.rate": "100mbit", "duration": "20s"}
    one, same, other = (bloatlab.run(file, seed, sets=sets) for seed in (1, 1, 2))
    assert equal(one, same)
    drops = [r.summary["links"]["up"]["dropped_packets"] for r in (one, other)]
    assert drops[0] != drops[1] or not equal(one, other)
    # each of 20 000 packets is dropped with probability 0.1, which gives a mean of 2000 drops with a standard deviation
    # of 42
    assert all(abs(n - 2000) < 5 * 42 for n in drops)
    # in a fair discipline, each queue has its own law and random stream; two runs are still equal
    hosted = {**sets, "link.up.queue": {"sfq_hss": {"law": {"python": {"law": "law.py:Mine", "share": 0.2}}}}}
    assert equal(bloatlab.run(file, sets=hosted), bloatlab.run(file, sets=hosted))


# ------------------------------------------------------------------------------ code and parameters in the scenario


def test_a_scenario_holds_the_file_and_every_parameter(written: Write, tmp_path: Path):
    law = "class Mine:\n"
    law += "    def __init__(self, most=20_000_000, gain=0.5, name='x', on=False, none=None): self.most = most\n"
    law += "    def head(self, packet, view): return 'drop' if view.sojourn_ns > self.most else 'pass'\n"
    file = written(law, ', most = "5ms", gain = 2')
    found = bloatlab.load(file)
    held = found.data["link"]["up"]["queue"]["python"]
    assert held.pop("source") == {"law.py": law}
    own = {"most": 5_000_000, "gain": 2.0, "name": "x", "on": False, "none": None}
    assert held == {"law": "law.py:Mine", "limit": "100p", **own}
    # the scenario contains the text of the law, so the file is not needed
    result = bloatlab.run(found)
    (tmp_path / "law.py").unlink()
    assert equal(bloatlab.run(found), result)
    assert bloatlab.parse(found.as_toml()) == found
    assert (
        found.with_sets(("link.up.queue.python.most", "7ms")).data["link"]["up"]["queue"]["python"]["most"] == 7_000_000
    )
    bloatlab.save(result, tmp_path / "kept")
    assert bloatlab.open_result(tmp_path / "kept").scenario == found
    # if the text of the law changes, the scenario counts as a different one
    (tmp_path / "law.py").write_text(law + "# changed\n")
    assert bloatlab.load(file).hash != found.hash


def test_opening_a_result_runs_nothing(written: Write, tmp_path: Path):
    touch = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    file = written(f"{touch}class Mine:\n    def head(self, packet, view): pass\n")
    bloatlab.save(bloatlab.run(file), tmp_path / "kept")
    (tmp_path / "ran").unlink()
    bloatlab.open_result(tmp_path / "kept")
    assert not (tmp_path / "ran").exists()


def test_each_run_begins_with_a_fresh_module(written: Write):
    file = written("""
        seen = []
        class Mine:
            def arrive(self, packet, view):
                seen.append(0)
                return "drop" if len(seen) > 500 else "pass"
    """)
    found = bloatlab.load(file, {"link.up.rate": "100mbit"})
    assert equal(bloatlab.run(found), bloatlab.run(found))


# ------------------------------------------------------------------------------------------------------------ errors

HEAD = "    def head(self, packet, view): pass\n"


@pytest.mark.parametrize(
    ("law", "more", "words"),
    [
        ("class Mine:\n    def head(self, packet view): pass\n", "", ["law.py:2:", "SyntaxError"]),
        ("import nothing_of_the_kind\n", "", ["law.py:1:", "ModuleNotFoundError", "nothing_of_the_kind"]),
        ("x = 1 / 0\n", "", ["law.py:1:", "ZeroDivisionError"]),
        ("\nimport random\n", "", ["law.py:2:", "imports random", "view.random()"]),
        ("import numpy, time\n", "", ["law.py:1:", "imports time", "view.now_ns"]),
        ("from . import other\n", "", ["law.py:1:", "one file"]),
        ("raise SystemExit(3)\n", "", ["law.py:1:", "SystemExit: 3"]),
        (f"class Mien:\n{HEAD}", "", ["law.py has no class Mine", "Mien", 'did you mean "Mien"']),
        ("class Mine:\n    def hed(self, packet, view): pass\n", "", ["law.py:2:", "neither", 'did you mean "head"']),
        (
            "class Mine:\n    def head(self, packet): pass\n",
            "",
            ["law.py:2:", "head is called with (self, packet, view)"],
        ),
        (f"class Mine:\n    def __init__(self, a='5ms'): pass\n{HEAD}", "", ["law.py:2:", "5000000"]),
        (f"class Mine:\n    def __init__(self, a=[]): pass\n{HEAD}", "", ["law.py:2:", "the default of a"]),
        (f"class Mine:\n    def __init__(self, a=float('inf')): pass\n{HEAD}", "", ["law.py:2:", "a is inf", "finite"]),
        (f"class Mine:\n    def __init__(self, a=float('nan')): pass\n{HEAD}", "", ["law.py:2:", "a is nan", "finite"]),
        (f"class Mine:\n    def __init__(self, limit=3): pass\n{HEAD}", "", ["law.py:2:", "limit is the queue's"]),
        (f"class Mine:\n    def __init__(self, a): pass\n{HEAD}", "", ["python.a: missing", "law.py"]),
        (f"class Mine:\n{HEAD}", ", a = 1", ["python.a: Mine (law.py) has no such parameter (none)"]),
        (f"class Mine:\n    def __init__(self, most=1): pass\n{HEAD}", ", msot = 1", ['did you mean "most"']),
        (f"class Mine:\n{HEAD}", ", limt = '3p'", ["python.limt", 'did you mean "limit"']),
        (f"class Mine:\n    def __init__(self, a=1): pass\n{HEAD}", ", a = 1.5", ["python.a: 1.5", "a whole number"]),
        (f"class Mine:\n    def __init__(self, a=1): pass\n{HEAD}", ", a = 'x'", ['python.a: "x"', "a whole number"]),
        (f"class Mine:\n    def __init__(self, a=True): pass\n{HEAD}", ", a = 1", ["python.a: 1", "true or false"]),
        (f"class Mine:\n    def __init__(self, a='x'): pass\n{HEAD}", ", a = 1", ["python.a: 1", "a string"]),
        (f"class Mine:\n{HEAD}", ", limit = '0p'", ["link.up.queue.python"]),
    ],
)
def test_a_law_that_cannot_be_used_is_one_line(written: Write, law: str, more: str, words: list[str]):
    file = written(law, more)
    if "limit = '0p'" in more:
        file.write_text(file.read_text().replace('limit = "100p" ,', ""))
    with pytest.raises(bloatlab.ScenarioError) as refused:
        bloatlab.load(file)
    (line,) = problems(refused.value)
    assert all(word in line for word in ["own.toml: link.up.queue.python", *words]), line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "def head(self, packet, view):\n        return 1 / (view.packets - view.packets)",
            ["law.py:5: head raised ZeroDivision"],
        ),
        ("def head(self, packet, view):\n        return True", ["law.py:4:", "head returned True", '"drop"']),
        ("def arrive(self, packet, view):\n        return 'drpo'", ["law.py:4:", "arrive returned 'drpo'"]),
        ("def arrive(self, packet, view):\n        return 'mark'", ["law.py:4:", "not ECN-capable"]),
        ("def head(self, packet, view):\n        return packet.sise", ["law.py:5: head raised AttributeError"]),
        ("def head(self, packet, view): pass\n    def tick(self, view): pass", ["law.py:4: next_tick_ns is missing"]),
        (
            "next_tick_ns = 0\n    def head(self, packet, view): pass\n    def tick(self, view): pass",
            ["law.py:6:", "tick left next_tick_ns at 0"],
        ),
        (
            "next_tick_ns = 0.5\n    def head(self, p, v): pass\n    def tick(self, view): pass",
            ["law.py:5: next_tick_ns is 0.5; expected whole nanoseconds or None"],
        ),
        (
            "def head(self, p, v): return 'drop'\n    def empty(self, now_ns): raise KeyError('x')",
            ["law.py:5: empty raised KeyError: 'x'"],
        ),
        ("def head(self, p, v): pass\n    def overflow(self, now_ns): exit(1)", ["law.py:5:", "SystemExit: 1"]),
        ("def __init__(self): self.x = y\n    def head(self, p, v): pass", ["law.py:4:", "NameError"]),
    ],
)
def test_a_law_that_breaks_is_one_line_with_its_own(
    written: Write, capsys: pytest.CaptureFixture[str], body: str, words: list[str]
):
    file = written(f'"""Mine."""\n\nclass Mine:\n    {body}\n')
    with pytest.raises(LawError) as broken:
        bloatlab.run(file)
    (line,) = problems(broken.value)
    assert all(word in line for word in ["link.up.queue.python: ", *words]), line
    assert call(["run", str(file), "-q"]) == 2
    said = capsys.readouterr().err
    assert said == line + "\n"


def test_a_broken_law_ends_its_run_soon(written: Write):
    file = written("class Mine:\n    def arrive(self, packet, view): return 1\n")
    told: list[float] = []
    with pytest.raises(LawError):
        bloatlab.run(file, None, told.append, sets={"duration": "10h"})
    assert max(told, default=0.0) < 0.01


def test_a_missing_file_is_one_line(tmp_path: Path, written: Write):
    file = written("")
    (tmp_path / "law.py").unlink()
    with pytest.raises(LawError, match=r"link\.up\.queue\.python\.law: .*law\.py: no such file"):
        bloatlab.load(file)


def test_classes_are_given_by_name(written: Write):
    class Other:
        def __init__(self, most: int = 3, never: float = math.inf) -> None:
            self.most = most

        def arrive(self, packet: Any, view: Any) -> str:
            return "drop" if view.packets >= self.most else "pass"

    file = written("class Mine:\n    def head(self, packet, view): pass\n")
    sets = {"link.up.queue": {"python": {"law": "other", "most": 7}}}
    assert bloatlab.run(file, sets=sets, laws={"other": Other}).summary["links"]["up"]["queue_packets"]["max"] <= 8
    for laws, words in (
        ({}, 'no class "other" was passed'),
        ({"othre": Other}, 'no class "other" was passed (othre)'),
        ({"other": Other, "more": Other}, 'no queue of the scenario names "more"'),
        ({"other": 3}, "is not a class but int"),
    ):
        with pytest.raises(LawError, match=re.escape(words)):
            bloatlab.run(file, sets=sets, laws=laws)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LawError, match="no such parameter"):
        bloatlab.run(file, sets={"link.up.queue": {"python": {"law": "other", "x": 7}}}, laws={"other": Other})


def test_nothing_but_a_simulation_asks_it(capsys: pytest.CaptureFixture[str]):
    assert call(["play", str(HOME)]) == 2
    assert call(["live", str(HOME)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("link.up.queue.python: a law in Python cannot run") for line in lines)
    with pytest.raises(bloatlab.ScenarioError, match="only runs started from Python"):
        bloatlab.machines.discipline("python", law="law.py:Mine")


# ----------------------------------------------------------------------------------------------------------- sweeps

GRID = """
scenario = "own.toml"
seeds = 2
[axes]
"link.up.queue.python.most" = ["5ms", "50ms"]
"""
PATIENCE = (EXAMPLES / "patience.py").read_text().replace("Patience", "Mine")


@pytest.fixture
def grid(written: Write, tmp_path: Path) -> Path:
    written(PATIENCE)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"


def swept(grid: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    code = call(["sweep", str(grid), "--store", str(grid.parent / "store"), "-f", "csv", *more])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_sweep_keeps_its_runs_until_the_file_changes(grid: Path, capsys: pytest.CaptureFixture[str]):
    code, first, said = swept(grid, capsys, "--jobs", "2")
    assert (code, "4 runs, 0 of them from the store" in said) == (0, True), said
    code, second, said = swept(grid, capsys, "--jobs", "1")
    assert (code, second, "4 runs, 4 of them from the store" in said) == (0, first, True), said
    (grid.parent / "law.py").write_text(PATIENCE.replace("> self.most", "> self.most / 2"))
    code, third, said = swept(grid, capsys)
    assert (code, third != first, "4 runs, 0 of them from the store" in said) == (0, True, True), said


def test_a_law_that_breaks_in_a_sweep_is_one_line(grid: Path, capsys: pytest.CaptureFixture[str]):
    (grid.parent / "law.py").write_text(PATIENCE.replace("> self.most", "> self.mots"))
    code, _, said = swept(grid, capsys)
    assert code == 2
    (line,) = [s for s in said.splitlines() if "law.py" in s]
    assert "law.py:11: head raised AttributeError" in line
    assert "Traceback" not in said


def test_a_cluster_needs_no_file(grid: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("distributed")
    code, here, said = swept(grid, capsys, "--jobs", "1")
    assert code == 0, said
    shutil.rmtree(grid.parent / "store")
    code, there, said = swept(grid, capsys, "--dask", "local", "--jobs", "1")
    assert (code, there) == (0, here), said
    (grid.parent / "law.py").write_text(PATIENCE.replace("> self.most", "> self.mots"))
    code, _, said = swept(grid, capsys, "--dask", "local", "--jobs", "1")
    assert (code, "law.py:11: head raised AttributeError" in said, "Traceback" in said) == (2, True, False), said


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_ctrl_c_ends_a_law_that_never_answers(command: str, written: Write):
    file = written("""
        class Mine:
            def head(self, packet, view):
                print("waiting", flush=True)
                while True:
                    pass
    """)
    if command == "sweep":
        grid = file.with_name("grid.toml")
        grid.write_text(f"scenario = '{file.name}'\nseeds = 2\n[axes]\nduration = ['1s', '2s']\n")
        file = grid
    program = "from bloatlab.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, command, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert re.fullmatch("waiting\\n" if command == "run" else "(waiting)+\\n", process.stdout.readline())
        _, said = interrupt(process)
    words = (
        "interrupted\\n"
        if command == "run"
        else r"interrupted: 0 of 4 runs are stored in \S+; the same command continues from there\n"
    )
    assert process.returncode == 130
    assert re.fullmatch(words, said), said


def test_list_and_schema_have_it(capsys: pytest.CaptureFixture[str]):
    assert call(["list", "python", "-f", "json"]) == 0
    ((entry,),) = json.loads(capsys.readouterr().out).values()
    assert (entry["type"], [p["name"] for p in entry["params"]]) == ("B", ["law", "limit", "source"])
