"""Traces have the right contents, recording them changes no other result, and every column is documented."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab import _core
from bloatlab.cli.main import call
from bloatlab.plots import Unfit, plot
from bloatlab.scenario import ScenarioError
from bloatlab.traces import packets
from conftest import digest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/traces.md").read_text(encoding="utf-8")

LINE = """
name = "line"
duration = "5s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "10ms"
queue.codel = {}
[link.down]
from = "b"
to = "a"
rate = "50mbit"
delay = "10ms"
[app.long]
from = "a"
to = ["b"]
traffic.ftp = { flows = 2 }
"""


def traced(**trace: Any) -> bloatlab.Scenario:
    return bloatlab.parse(LINE, sets=[(f"trace.{key}", str(value).lower()) for key, value in trace.items()])


def law(queue: str, **sets: Any) -> pl.DataFrame:
    """Runs a link with this queue; returns the columns of the trace that belong to the queueing discipline."""
    of = bloatlab.parse(LINE, sets=[("link.up.queue", queue), ("trace.links", "true"), ("duration", "2s")])
    frame = bloatlab.run(of, **sets).trace("links").filter(pl.col("link") == "up")
    return frame.select(frame.columns[frame.columns.index("sojourn_ms") + 1 :])


def test_a_trace_changes_no_result_and_no_hash(tmp_path: Path):
    plain, kept = bloatlab.parse(LINE), traced(links=True, queues=True, flows=True, packets=True, interval="change")
    one, other = bloatlab.run(plain), bloatlab.run(kept, packets=tmp_path / "packets")
    assert plain.hash == kept.hash
    assert plain != kept
    assert one.summary | {"events": 0} == other.summary | {"events": 0}
    assert all(frame.equals(other.table(name)) for name, frame in one.tables.items())
    assert {"trace_links", "trace_flows"} == set(other.tables) - set(one.tables)


def test_the_command_keeps_tables_and_packets_and_the_same_bytes_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    for folder in ("one", "two"):
        assert call(["run", str(file), "-o", str(tmp_path / folder), "-q", "--trace", "links,flows,packets"]) == 0
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    result = bloatlab.open_result(tmp_path / "one")
    # in 5 s there are 500 samples, one every 10 ms, so each of the two links has 500 rows. Each of the two senders has
    # almost as many, because it starts later
    assert len(result.trace("links")) == 1000
    assert 900 < len(result.trace("flows")) <= 1000
    fates = packets(tmp_path / "one")
    count = fates.group_by("fate", "link").len().collect()
    up = result.summary["links"]["up"]

    def many(fate: str) -> int:
        return sum(count.filter(pl.col("fate") == fate, pl.col("link") == "up")["len"].to_list())

    assert many("dropped") == up["dropped_packets"] > 0
    assert many("enqueued") - many("dequeued") - many("dropped") == up["backlog_packets"]
    assert set(fates.select("reason").unique().collect()["reason"]) == {None, "early_head"}
    # a new run in the same folder removes the packets of the earlier run
    assert call(["run", str(file), "-o", str(tmp_path / "one"), "-q", "--force"]) == 0
    assert not (tmp_path / "one/packets").exists()
    with pytest.raises(FileNotFoundError, match="--trace packets"):
        packets(tmp_path / "one")
    # `bloatlab.run` writes the packets into the folder that its argument `packets` names
    bloatlab.run(file, sets={"trace.packets": True}, packets=tmp_path / "own")
    assert packets(tmp_path / "own").collect().equals(packets(tmp_path / "two").collect())
    # brackets in the name of a folder are not a pattern
    shutil.copytree(tmp_path / "two", tmp_path / "run[2]")
    assert packets(tmp_path / "run[2]").collect().equals(packets(tmp_path / "two").collect())
    capsys.readouterr()


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            ["--trace", "link"],
            '--trace: "link" is not a trace (valid: links, queues, flows, packets); did you mean "links"?',
        ),
        (["--trace", "packets"], "trace.packets: give a folder for the packets with -o"),
        (["--trace-interval", "1ms"], "--trace-interval: needs --trace, such as --trace links,flows"),
        (["--trace", "links", "--trace-interval", "1"], "trace.interval: 1 is not valid; expected a duration"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], line: str):
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    assert call(["run", str(file), *flags]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_a_trace_that_was_not_kept_says_how():
    result = bloatlab.run(traced(links=True))
    with pytest.raises(KeyError, match=r"no trace of 'flows' \(recorded: links\); .*flows = true"):
        result.trace("flows")
    result = bloatlab.run(traced(queues=True), sets={"link.up.queue": {"droptail": {}}})
    for of, how in (
        ("packets", "read them with bloatlab.traces.packets"),
        ("flow", "no trace 'flow'; expected links, queues, flows, packets; did you mean \"flows\"?"),
        ("queues", "the scenario requests it, but the run has no queues to trace"),
    ):
        with pytest.raises(KeyError) as error:
            result.trace(of)
        assert how in error.value.args[0]
    with pytest.raises(
        KeyError, match=r"made with trace=False, or by bloatlab\.open or bloatlab\.Network, which trace"
    ):
        bloatlab.open(traced(links=True)).finish().trace("links")


def test_every_column_is_explained():
    words = set(re.findall(r"`([a-z0-9_]+)`", PAGE))
    # the column of an average ends in the unit of the thresholds (packets, bytes or ms), so docs/traces.md gives the
    # name of the column without the unit
    units = ("_packets", "_bytes", "_ms")

    def explained(column: str) -> bool:
        return column in words or any(column.removesuffix(unit) in words for unit in units)

    told: dict[str, list[str]] = {}
    outside = ("python",)
    for info in (entry["name"] for entry in json.loads(_core.catalogue())["qdiscs"]):
        if info not in outside:
            told[info] = law(info).columns
    for control in ("reno", "cubic", "cubic-2.6.22", "westwood", "bbr", "bbr3", "ledbat", "ledbat++"):
        sets = [("app.long.tcp", "mine"), ("tcp.mine.preset", "linux-6"), ("tcp.mine.congestion_control", control)]
        sets += [("tcp.mine.timestamps", "true"), ("trace.flows", "true"), ("trace.links", "true"), ("duration", "2s")]
        result = bloatlab.run(bloatlab.parse(LINE, sets=sets))
        told[control] = result.trace("flows").columns
        told["links"] = result.trace("links").columns
    missing = {(who, column) for who, columns in told.items() for column in columns if not explained(column)}
    assert missing == set()


class Counting:
    """An AQM law that drops nothing and counts the calls of its method `head`."""

    def __init__(self) -> None:
        self.heads = 0

    def head(self, _packet: Any, _view: Any) -> None:
        self.heads += 1

    def probe(self) -> dict[str, Any]:
        late = self.heads > 10
        return {"heads": self.heads, "late": late, "nothing_ms": None, "phase": "late" if late else "early"}


class Nameless(Counting):
    """An AQM law that reports a value without a name."""

    def probe(self) -> dict[str, Any]:
        return {"": 1}


class Mute(Counting):
    """An AQM law that reports a state which is neither a number nor a word."""

    def probe(self) -> dict[str, Any]:
        return {"heads": [1]}


def test_a_law_in_python_reports_its_state():
    told = law("{ python = { law = 'mine' } }", laws={"mine": Counting})
    assert told.columns == ["heads", "late", "nothing_ms", "phase"]
    assert told.filter(told["late"] != (told["phase"] == "late")).is_empty()
    assert set(told["phase"]) == {"early", "late"}
    assert told["heads"].is_sorted()
    assert told["heads"].to_list()[-1] > 100
    assert told["late"].dtype == pl.Boolean
    assert told["late"][-1] is True
    assert told["nothing_ms"].is_nan().all()
    with pytest.raises(ScenarioError, match='for "heads"; expected a dict of names, and numbers or words'):
        law("{ python = { law = 'mine' } }", laws={"mine": Mute})
    with pytest.raises(ScenarioError, match="probe returned the key ''; expected a dict of names"):
        law("{ python = { law = 'mine' } }", laws={"mine": Nameless})


def test_an_exception_that_cannot_be_shown_is_one_line():
    def unshown(_: object) -> str:
        raise ValueError

    def head(*_: object) -> None:
        raise type("Odd", (Exception,), {"__str__": unshown})

    with pytest.raises(ScenarioError, match="head raised Odd: it cannot be shown"):
        law("{ python = { law = 'mine' } }", laws={"mine": type("Failing", (Counting,), {"head": head})})


def test_a_probe_cannot_use_the_names_of_the_traces_own_columns():
    result = bloatlab.run(traced(links=True, flows=True))
    links, flows = (result.trace(name).columns for name in ("links", "flows"))
    for name in [*links[: links.index("sojourn_ms") + 1], "queue"]:
        colliding = type("Colliding", (Counting,), {"probe": lambda _, name=name: {name: 1}})
        with pytest.raises(ScenarioError, match=f'returned the name "{name}"; the trace already has a column'):
            law("{ python = { law = 'mine' } }", laws={"mine": colliding})
    stack = "{ preset = 'linux-6', python = { controller = 'mine' } }"
    scenario = bloatlab.parse(LINE, sets=[("tcp.mine", stack), ("app.long.tcp", "mine"), ("trace.flows", "true")])
    for name in flows[: flows.index("timeouts") + 1]:
        methods = {"on_ack": lambda *_: None, "on_congestion": lambda *_: 2, "probe": lambda _, name=name: {name: 1}}
        with pytest.raises(ScenarioError, match=f'returned the name "{name}"; the trace already has a column'):
            bloatlab.run(scenario, controllers={"mine": type("Colliding", (), methods)})


@pytest.mark.parametrize("control", ["fixed", "gcc", "screamv2"])
def test_live_video_is_drawn_without_tcp(control: str):
    text = LINE.replace("app.long", "app.camera").replace("ftp = { flows = 2 }", f"media.control = '{control}'")
    result = bloatlab.run(bloatlab.parse(text, sets=[("trace.flows", "true")]))
    labels = [axes.get_ylabel() for axes in plot(result, kind="trace").axes]
    assert labels[0].startswith("camera: ")
    assert "target (Mbit/s)" in " ".join(labels)


def test_a_trace_is_drawn_and_others_are_refused(tmp_path: Path):
    result = bloatlab.run(traced(links=True, flows=True, interval="change"))
    figure = plot(result, kind="trace", output=tmp_path / "trace.svg")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[0] == "up: sojourn (ms)"
    assert {"count", "to the next drop (ms)", "long 2: window (kB)", "round trip (ms)"} <= set(labels)
    assert len(plot(result, kind="trace", of="long").axes) == 2
    with pytest.raises(Unfit, match="has no trace; expected up, down, long"):
        plot(result, kind="trace", of="nothing")
    with pytest.raises(Unfit, match="has no trace; record one with bloatlab run FILE -o DIR --trace links,flows"):
        plot(bloatlab.run(LINE_PLAIN), kind="trace")


LINE_PLAIN = bloatlab.parse(LINE)


def test_every_number_of_a_probe_is_drawn():
    law_values = {"pressure": 0.25, "over_ms": -3.0, "busy": True, "mode": "low", "p": 0.5, "unknown": None}
    controller_values = {"queued_ms": 4.0, "phase": "up", "rounds": 2}
    law_methods = {"head": lambda *_: "pass", "probe": lambda _: law_values}
    methods = {"on_ack": lambda *_: None, "on_congestion": lambda *_: 2, "probe": lambda _: controller_values}
    sets = [
        ("link.up.queue", "{ python = { law = 'mine' } }"),
        ("tcp.mine", "{ preset = 'linux-6', python = { controller = 'mine' } }"),
        ("app.long.tcp", "mine"),
        ("trace", "{ links = true, flows = true }"),
    ]
    result = bloatlab.run(
        bloatlab.parse(LINE, sets=sets),
        laws={"mine": type("Law", (), law_methods)},
        controllers={"mine": type("Controller", (), methods)},
    )
    figures = [plot(result, kind="trace", of=of) for of in ("up", "long")]
    panels = {axes.get_ylabel(): axes for figure in figures for axes in figure.axes}
    for label, value in (("pressure", 0.25), ("over (ms)", -3.0), ("busy", 1.0), ("queued (ms)", 4.0), ("rounds", 2.0)):
        (line,) = panels[label].lines
        drawn = np.asarray(line.get_ydata(), dtype=float)
        assert set(drawn) == {value}
        low, high = panels[label].get_ylim()
        assert low <= value <= high
    # the other panels are those that every law and sender has
    of_the_probes = {"pressure", "over (ms)", "busy", "queued (ms)", "rounds", "probability"}
    assert set(panels) - of_the_probes == {"up: sojourn (ms)", "long 1: window (kB)", "round trip (ms)"}
    # a built-in law or controller has panels for only some numbers of its state, and none for `w_max`
    plain = plot(bloatlab.run(traced(flows=True)), kind="trace")
    assert "w_max (segments)" not in [axes.get_ylabel() for axes in plain.axes]


def test_the_trace_of_a_link_beside_an_idle_one_is_drawn():
    idle = {"from": "net", "to": "far", "rate": "1mbit", "delay": "1ms", "both_ways": True}
    busy = {"from": "home", "to": "net", "rate": "1mbit", "delay": "1ms", "both_ways": True, "queue": {"codel": {}}}
    app = {"load": {"from": "home", "to": ["net"], "traffic": {"ping": {}}}}
    base = {"duration": "3s", "link": {"a": idle, "z": busy}, "app": app, "trace": {"links": True}}
    # neither link drops a packet, so the number of drops does not choose between them
    result = bloatlab.run(base)
    for of in (None, "z"):
        assert plot(result, kind="trace", of=of).axes[0].get_ylabel().startswith("z: ")
