"""Simulations driven step by step: without changes, they give the bytes of `bloatlab.run`; changes act as scheduled."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import pickle
import re
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab import LawError, Result, ScenarioError, Simulation
from bloatlab.driving import _UNITS
from bloatlab.scenario import from_dict, problems, schema

ROOT = Path(__file__).resolve().parents[2]

#: A call beside an upload. `down` is a plain link: when the core enqueues a packet there, it also computes the time at
#: which the packet will leave.
HOME = """
name = "home"
duration = "4s"
record.warm_up = "500ms"
[link.up]
from = "home"
to = "net"
rate = "4mbit"
delay = "10ms"
queue = "codel"
[link.down]
from = "net"
to = "home"
rate = "20mbit"
delay = "10ms"
[app.upload]
from = "home"
to = ["net"]
traffic.ftp.flows = 2
[app.call]
from = "home"
to = ["net"]
traffic = "voip"
"""


def opened(text: str = HOME, **sets: Any) -> Simulation:
    return bloatlab.open(bloatlab.parse(text), sets={key.replace("__", "."): value for key, value in sets.items()})


def digest(result: Result, *, events: bool = True) -> str:
    """Returns the SHA-256 of a result's summary and tables; without `events`, the number of events is left out."""
    summary = {key: value for key, value in result.summary.items() if events or key != "events"}
    text = json.dumps(summary) + "".join(name + result.table(name).write_csv() for name in sorted(result.tables))
    return hashlib.sha256(text.encode()).hexdigest()


def refused(act: Any, *args: Any, **keys: Any) -> str:
    """Returns the one-line message with which a call is refused."""
    with pytest.raises(ScenarioError) as error:
        act(*args, **keys)
    (line,) = problems(error.value)
    assert "\n" not in line
    assert "_core" not in line
    assert "Driven" not in line
    return line


@pytest.mark.parametrize("queue", ["codel", "cake", "dualpi2", "fq_codel", "droptail"])
def test_a_run_that_nothing_changes_has_the_bytes_of_run(queue: str):
    sets = {"link.up.queue": queue}
    straight = bloatlab.run(bloatlab.parse(HOME), sets=sets)
    sim = bloatlab.open(bloatlab.parse(HOME), sets=sets)
    for time in (0, "1ms", 1.2345, "2s", 2):
        sim.run_until(time)
        assert sim.link("up").read().keys() == sim.link("down").read().keys()
        assert repr(sim.flow("upload", 1)).startswith("<Flow upload/1: ")
    fork, snapshot = sim.fork(), sim.snapshot()
    assert digest(sim.finish()) == digest(straight)
    assert digest(fork.finish()) == digest(straight)
    sim.restore(snapshot)
    assert (sim.now, sim.over) == (2.0, False)
    result = sim.finish()
    assert digest(result) == digest(straight)
    assert result.scenario == straight.scenario


def test_where_links_follow_one_another_only_the_number_of_events_differs():
    line = {"rate": "5mbit", "delay": "1ms"}
    hops: Any = {f"{a}{b}": {"from": a, "to": b} | line for a, b in ("hr", "rs", "sn", "ns", "sr", "rh")}
    upload: Any = {"from": "h", "to": ["n"], "traffic": "ftp"}
    scenario = from_dict({"duration": "3s", "link": hops, "app": {"upload": upload}})
    straight, driven = bloatlab.run(scenario), bloatlab.open(scenario).finish()
    assert digest(driven, events=False) == digest(straight, events=False)
    assert driven.summary["events"] > straight.summary["events"]


@pytest.mark.parametrize("link", ["up", "down"])
def test_a_change_acts_as_one_of_the_scenario(link: str):
    sim = opened()
    sim.run_until(1.5)
    sim.link(link).set(rate="1mbit", delay=0.03)
    sim.run_until("2500ms")
    sim.link(link).set(rate=6_000_000, loss=0.01)
    result = sim.finish()
    changes = [{"at": "1.5s", "rate": "1mbit", "delay": "30ms"}, {"at": "2.5s", "rate": "6mbit", "loss": 0.01}]
    planned = bloatlab.run(bloatlab.parse(HOME), sets={f"link.{link}.changes": changes})
    assert digest(result, events=False) == digest(planned, events=False)
    assert result.scenario == planned.scenario
    assert digest(result, events=False) != digest(bloatlab.run(bloatlab.parse(HOME)), events=False)


def test_a_bin_ends_before_what_happens_at_its_end():
    # in this run, the ACK that sets the threshold of a flow arrives at exactly 97 ms, the end of a bin
    sets = {"duration": "300ms", "seed": 1, "record.interval": "1ms", "record.warm_up": "0s"}
    scenario = bloatlab.load(ROOT / "examples" / "home-router.toml", sets)

    def thresholds(result: Result) -> list[float]:
        rows = result.table("flow_series").filter(app="photos", flow=5, direction="forward")
        return rows["ssthresh_bytes"].to_list()

    straight = thresholds(bloatlab.run(scenario))
    sim = bloatlab.open(scenario)
    sim.run_until("97ms")
    assert sim.flow("photos", 5).ssthresh is None
    assert all(map(math.isnan, straight[:97]))
    assert straight[97] == 10_136
    fork = sim.fork()
    fork.flow("photos", 5).ssthresh = 20 * 1448
    assert all(map(math.isnan, thresholds(fork.finish())[:97]))
    sim.link("down").set(rate="7mbit")
    result = sim.finish()
    assert digest(result, events=False) == digest(bloatlab.run(sim.scenario), events=False)


def test_a_link_can_be_set_to_all_that_a_scenario_can_change():
    assert {*_UNITS, "at"} == set(schema()["$defs"]["Change"]["properties"])


def test_both_directions_of_a_link_change_together():
    text = HOME.split("[link.down]", maxsplit=1)[0] + "both_ways = true\n[app." + HOME.split("[app.", 1)[1]
    sim = opened(text)
    sim.run_until(1)
    sim.link("up").set(rate="1mbit")
    assert [sim.link(name).rate for name in ("up", "~up")] == [1_000_000, 1_000_000]
    assert refused(sim.link("~up").set, rate="2mbit").startswith('link.~up: this is the reverse of "up"')
    long = opened(text.replace("[link.up]", "[link.uplink-of-the-home]"))
    assert refused(long.link("~uplink-of-the-home").set, rate="2mbit").endswith("which changes both directions")
    planned = bloatlab.run(bloatlab.parse(text), sets={"link.up.changes": [{"at": "1s", "rate": "1mbit"}]})
    assert digest(sim.finish(), events=False) == digest(planned, events=False)


def test_forks_share_nothing():
    sim = opened()
    sim.run_until(1)
    fork, same, deep = sim.fork(), copy.copy(sim), copy.deepcopy(sim)
    fork.link("up").set(rate="100kbit")
    fork.flow("upload").cwnd = 3_000
    fork.run_until(3)
    assert (sim.now, sim.link("up").rate, fork.link("up").rate) == (1.0, 4_000_000, 100_000)
    assert digest(sim.finish()) == digest(same.finish()) == digest(deep.finish()) != digest(fork.finish())


def test_the_queue_of_a_link_is_read():
    # At 4 Mbit/s, a packet of 1500 bytes takes 3 ms. The upload fills the queue up to its limit of 20 packets, so the
    # first packet has waited for at most 20 * 3 ms = 60 ms.
    sim = opened(link__up__queue={"droptail": {"limit": "20p"}}, app__upload__traffic={"ftp": {"flows": 1}})
    sim.run_until(2)
    link = sim.link("up")
    assert 5 <= link.packets <= 20
    assert link.packets * 40 <= link.bytes <= 20 * 1500
    assert 0 < link.sojourn <= 0.06
    assert link.dropped_packets == sum(link.drops.values()) == link.drops["tail_full"]
    assert link.offered_packets == (
        link.delivered_packets + link.dropped_packets + link.packets + link.in_flight_packets
    )
    # in 3 ms, the link sends one full packet, give or take one
    state = link.read()
    sim.run_until(2.003)
    assert link.delivered_packets - state["delivered_packets"] in (0, 1, 2)
    assert repr(link) == f"<Link up: {link.packets} packets queued, 4 Mbit/s>"


def test_a_window_that_is_set_is_used():
    sim = opened(app__upload__traffic={"ftp": {"flows": 1}})
    sim.run_until(2)
    flow = sim.flow("upload")
    mss, before = flow.mss, flow.read()
    flow.cwnd = 4 * mss
    assert (flow.cwnd, flow.in_flight) == (4 * mss, before["in_flight"])
    flow.ssthresh = "3KB"
    # the slow-start threshold stays below the window, so the sender is in congestion avoidance, and its window grows by
    # one segment per round trip
    sim.run_until(2.5)
    assert flow.cwnd < 20 * mss
    flow.cwnd = 60 * mss
    assert flow.in_flight > 30 * mss, "a larger window is used at once"
    flow.ssthresh = None
    assert flow.ssthresh is None
    assert before["delivered"] < flow.delivered
    assert (flow.connection, flow.direction, flow.state) == (1, "forward", flow.read()["state"])


def test_a_flow_that_has_not_started_has_no_sender():
    # the first connection of the run is the upload's, because the call starts last; `late` must not get its sender
    sim = opened(app__call__start="3s", app__late={"from": "home", "to": ["net"], "start": "2s", "traffic": "ftp"})
    sim.run_until(1)
    assert refused(lambda: sim.flow("late").cwnd) == "app.late: flow 0 has no open connection at 1s"
    sim.run_until(3)
    assert sim.flow("late").cwnd > 0


def test_a_pacing_rate_that_is_set_stays():
    # a sender that is paced at 400 kbit/s of payload sends 100 kB in 2 s
    sim = opened(app__upload__traffic={"ftp": {"flows": 1}})
    sim.run_until(1)
    flow = sim.flow("upload")
    flow.pacing_rate = "400kbit"
    sim.run_until(1.5)
    before = flow.delivered
    sim.run_until(3.5)
    assert flow.pacing_rate == 400_000
    assert 90_000 <= flow.delivered - before <= 110_000
    flow.pacing_rate = None
    sim.run_until(4)
    assert flow.pacing_rate is None
    assert flow.delivered - before > 200_000


def test_numbers_of_numpy_are_numbers():
    sim = opened()
    times: list[Any] = [np.int64(1), np.float32(1.5), np.array(2)]
    for time in times:
        sim.run_until(time)
    assert sim.now == 2.0
    settings: dict[str, Any] = {"rate": np.int64(10**6), "delay": np.float32(0.25), "loss": np.float32(0.5)}
    sim.link("up").set(**settings)
    (change,) = sim.scenario.data["link"]["up"]["changes"]
    assert (change["rate"], change["delay"], change["loss"]) == ("1mbit", "250ms", 0.5)
    number: Any = np.int64(1)
    flow = sim.flow("upload", number)
    flow.cwnd = np.int64(20 * flow.mss)
    assert flow.cwnd == 20 * flow.mss


def test_copies_of_links_flows_and_snapshots():
    sim = opened()
    sim.run_until(1)
    snapshot = sim.snapshot()
    parts = {"link": sim.link("up"), "flow": sim.flow("upload")}
    for noun, part in parts.items():
        assert copy.copy(part).read() == part.read()
        for act in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=rf"^a {noun} of a simulation cannot be pickled or copied on its own; "):
                act(part)
        # looking up an attribute that does not exist must not read the run, which is in use here
        with sim._core.use():
            assert not hasattr(part, "__dict__")
    with pytest.raises(TypeError, match=r"^a snapshot cannot be pickled"):
        pickle.dumps(snapshot)
    for copied in (copy.copy(snapshot), copy.deepcopy(snapshot)):
        sim.run_until(2)
        sim.restore(copied)
        assert sim.now == 1.0


def test_values_that_are_not_valid_are_named():
    sim = opened()
    assert refused(sim.run_until, "5s") == "run_until: 5s is not valid; expected 0s (now) to 4s (the end)"
    assert refused(sim.run_until, -1).startswith("run_until: -1 is not valid; expected a time of 0 to 4 s")
    for value in (float("nan"), float("inf"), None, True, 10**400, Decimal(1), np.float64("nan")):
        assert refused(sim.run_until, value).startswith("run_until: ")
    assert refused(sim.run_until, Decimal(1)).startswith("run_until: Decimal('1') is not valid")
    assert refused(sim.run_until, "10mbit").startswith("run_until: '10mbit' is not valid")
    assert refused(sim.link, "upp") == 'unknown link "upp"; did you mean "up"? (known: down, up)'
    assert refused(sim.flow, "uplod") == 'unknown application "uplod"; did you mean "upload"? (known: call, upload)'
    assert refused(sim.flow, "call") == "app.call: voip sends datagrams, without a TCP sender"
    assert refused(sim.link, 3) == 'unknown link "3"; did you mean "up"? (known: down, up)'
    assert refused(sim.flow, None) == 'unknown application "None" (known: call, upload)'
    assert refused(sim.flow, "upload", "0") == "app.upload: flow '0' is not valid; expected 0 to 1"
    assert refused(sim.flow, "upload", 2) == "app.upload: flow 2 is not valid; expected 0 to 1"
    assert refused(lambda: sim.flow("upload").cwnd) == "app.upload: flow 0 has no open connection at 0s"
    assert repr(sim.flow("upload")) == "<Flow upload/0: no open connection>"
    sim.run_until(2)
    assert refused(sim.run_until, 1) == "run_until: 1s is not valid; expected 2s (now) to 4s (the end)"
    line = refused(sim.link("up").set, rat="1mbit")
    assert line.startswith('link.up: unknown key "rat"; did you mean "rate"? (valid: rate, max_sustained_rate, ')
    assert '"at"' not in line
    assert refused(sim.link("up").set, rate="fast").startswith("link.up.rate: ")
    assert refused(sim.link("up").set, loss=2).startswith("link.up.loss: ")
    for value in (float("inf"), float("nan"), None, True, 10**400, Decimal(1), [1], b"1"):
        for key in ("rate", "delay", "loss"):
            line = refused(sim.link("up").set, **{key: value})
            assert line.startswith(f"link.up.{key}: {value!r:.80} is not valid; expected a number")
    for value in ("3s", 3, None):
        assert refused(sim.link("up").set, at=value).startswith("link.up.at: not valid here")
    assert refused(sim.link("up").set).startswith("link.up: nothing to set; expected rate, ")
    assert refused(sim.link("up").set, max_grant="2KB").startswith("link.up.max_grant: only a modem")
    flow = sim.flow("upload")
    line = refused(setattr, flow, "cwnd", None)
    assert line == 'app.upload.cwnd: None is not valid; expected bytes, or a string such as "30KB"'
    for key in ("cwnd", "ssthresh"):
        for value in (0, -1, "10mbit", 2**40, True, "nothing"):
            assert refused(setattr, flow, key, value).startswith(f"app.upload.{key}: ")
    assert refused(setattr, flow, "pacing_rate", 0).endswith("expected 1 to 1000000000000 bit/s, or None")
    with pytest.raises(AttributeError, match=r"app.upload.cwnf cannot be set; .* did you mean \"cwnd\""):
        flow.cwnf = 3
    with pytest.raises(AttributeError, match=r"has no cwn; .*did you mean \"cwnd\""):
        _ = flow.cwn
    with pytest.raises(AttributeError, match="rate cannot be set"):
        sim.link("up").rate = 3
    # reading the state must not change the run
    assert digest(sim.finish()) == digest(bloatlab.run(bloatlab.parse(HOME)))


def test_a_sender_that_paces_itself_keeps_its_rate():
    sim = opened(app__upload__tcp="bbr")
    sim.run_until(2)
    assert sim.flow("upload").pacing_rate > 0
    assert "sets its own pacing rate" in refused(setattr, sim.flow("upload"), "pacing_rate", "1mbit")


def test_after_the_end():
    sim = opened()
    snapshot = sim.snapshot()
    first, again = sim.finish(), sim.finish()
    assert digest(first) == digest(again)
    assert (sim.over, sim.now, repr(sim)) == (True, 4.0, "<Simulation home: 4 s of 4 s, over>")
    for act in (lambda: sim.run_until(4), lambda: sim.link("up").set(rate="1mbit")):
        assert refused(act).startswith("the run ended at 4s; ")
    assert sim.link("up").delivered_packets > 0
    sim.restore(snapshot)
    assert (sim.now, repr(snapshot)) == (0.0, "<Snapshot home: 0 s>")
    assert digest(sim.finish()) == digest(first)


def test_snapshots_of_other_scenarios_are_refused():
    sim, other = opened(), opened(duration="3s")
    assert refused(sim.restore, other.snapshot()) == "restore: the snapshot is of another scenario, home"
    with pytest.raises(TypeError, match="expected a snapshot, not Simulation"):
        sim.restore(other)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(sim)


LAW = """
class Mine:
    def __init__(self):
        self.seen = {SEEN}

    def arrive(self, packet, view):
        self.last = view.random()
        {COUNT}
        return "drop" if self.last < 0.01 else "pass"
"""


def with_law(folder: Path, seen: str, count: str, queue: str = "python") -> bloatlab.Scenario:
    (folder / "law.py").write_text(LAW.replace("{SEEN}", seen).replace("{COUNT}", count))
    law = {"python": {"law": "law.py:Mine"}}
    sets = {"link.up.queue": law if queue == "python" else {queue: {"law": law}}}
    return bloatlab.parse(HOME, folder=folder, sets=sets)


@pytest.mark.parametrize("queue", ["python", "sfq_hss"])
def test_laws_in_python_are_copied(tmp_path: Path, queue: str):
    scenario = with_law(tmp_path, "[]", "self.seen.append(packet.size)", queue)
    straight = digest(bloatlab.run(scenario))
    sim = bloatlab.open(scenario)
    sim.run_until(1)
    fork, snapshot = sim.fork(), sim.snapshot()
    fork.link("up").set(rate="1mbit")
    assert digest(fork.finish()) != straight
    sim.run_until(3)
    sim.restore(snapshot)
    assert digest(sim.fork().finish()) == digest(sim.finish()) == straight


def test_a_law_that_cannot_be_copied_says_so(tmp_path: Path):
    sim = bloatlab.open(with_law(tmp_path, "(x for x in ())", "pass"))
    sim.run_until(1)
    with pytest.raises(LawError) as error:
        sim.fork()
    (line,) = problems(error.value)
    # the first method of the class begins in line 3 of LAW
    assert line.startswith("link.up.queue.python: law.py:3: this law cannot be forked")
    assert "generator" in line
    assert digest(sim.finish()) == digest(bloatlab.run(with_law(tmp_path, "(x for x in ())", "pass")))


def test_a_law_that_fails_in_a_fork_leaves_the_original(tmp_path: Path):
    scenario = with_law(tmp_path, "{'limit': 10**9}", "assert view.rate > 2_000_000, 'too slow'")
    sim = bloatlab.open(scenario)
    sim.run_until(1)
    fork = sim.fork()
    fork.link("up").set(rate="1mbit")
    for _ in range(2):
        with pytest.raises(LawError, match="too slow"):
            fork.finish()
    assert digest(sim.finish()) == digest(bloatlab.run(scenario))


def test_a_simulation_is_used_by_one_call_at_a_time():
    sim = opened()
    errors: list[Exception] = []

    def read() -> None:
        try:
            _ = sim.now
        except RuntimeError as error:
            errors.append(error)

    with sim._core.use():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert re.search("this simulation is running", str(errors[0]))
    assert sim.now == 0


def test_the_page_is_executed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "driving.md").read_text()
    ((code, printed),) = re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, "driving.md", "exec"), {})  # noqa: S102  our own page
    assert capsys.readouterr().out == printed


def test_what_a_flow_has_sent_is_counted_over_all_its_connections():
    # the sums are those in the run's table `flows`, but include the warm-up if there is one
    sets = {
        "app": {"upload": {"from": "home", "to": ["net"], "traffic": {"ftp": {"size": "50KB", "count": 8}}}},
        "link.up.loss": "2%",
        "duration": "20s",
        "record.warm_up": "0s",
    }
    sim = bloatlab.open(bloatlab.parse(HOME), sets=sets)
    sim.run_until("20s")
    sent = sim.flow("upload").sent()
    flow = (
        bloatlab.run(bloatlab.parse(HOME), sets=sets)
        .table("flows")
        .row(by_predicate=pl.col("direction") == "forward", named=True)
    )
    assert sent["delivered"] == flow["goodput_bytes"] == 8 * 50_000
    assert sent["retransmits"] == flow["retransmits"] > 0
    assert sent["timeouts"] == flow["timeouts"]
    assert sim.flow("upload").sent("reverse")["delivered"] == 0
    warm = bloatlab.open(bloatlab.parse(HOME), sets=sets | {"record.warm_up": "2s"})
    warm.run_until("20s")
    assert warm.flow("upload").sent() == sent
    # a file of 50 kB takes more than 100 ms: at 180 ms the first connection is open, and at 300 ms the second
    part = bloatlab.open(bloatlab.parse(HOME), sets=sets)
    for connection, at, before in ((1, "180ms", 0), (2, "300ms", 50_000)):
        part.run_until(at)
        state = part.flow("upload").read()
        assert (state["connection"], 0 < state["delivered"] < 50_000) == (connection, True)
        assert part.flow("upload").sent()["delivered"] == before + state["delivered"]
    assert (part.flow("upload").active(), sim.flow("upload").active()) == ([2], [])
    assert refused(sim.flow("upload").sent, "down") == (
        'direction: \'down\' is not valid; expected "forward" or "reverse"'
    )


def test_what_a_flow_has_sent_can_be_read_after_the_end():
    sim = bloatlab.open(bloatlab.parse(HOME), sets={"record.warm_up": "0s", "link.up.loss": "1%"})
    sim.run_until("4s")
    before = [sim.flow("upload", number).sent() for number in (0, 1)]
    flows = sim.finish().table("flows").filter(pl.col("app") == "upload", pl.col("direction") == "forward")
    after = [sim.flow("upload", number).sent() for number in (0, 1)]
    # at the end, a few segments have been received but not acknowledged
    assert [0 <= b["delivered"] - a["delivered"] < 50_000 for a, b in zip(before, after, strict=True)] == [True, True]
    assert [sent["delivered"] for sent in after] == flows["goodput_bytes"].to_list()
    assert (
        [sent["retransmits"] for sent in after]
        == [sent["retransmits"] for sent in before]
        == flows["retransmits"].to_list()
    )


def test_the_sender_of_the_latest_open_connection_is_read():
    # a measurement of responsiveness adds a connection every second, and its probes open and close others
    rpm = {"from": "home", "to": ["net"], "traffic": {"rpm": {}}}
    sim = bloatlab.open(bloatlab.parse(HOME), sets={"app": {"rpm": rpm}})
    flow = sim.flow("rpm")
    latest: list[int] = []
    for ms in range(500, 4000, 50):
        sim.run_until(ms / 1000)
        assert flow.connection >= max(flow.active())
        latest.append(flow.connection)
    # when a probe has closed, the latest open connection is an earlier one
    assert latest != sorted(latest)
