"""A sweep simulates the initial segments that its runs share (pasts) only once: the tests check which runs share a
past, and that sharing changes no byte of any result.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab import _core
from bloatlab.scenario import Scenario, parse
from bloatlab.simulation import Result
from bloatlab.sweep import Cancelled, Interrupted, Measure, Point, RunError, Store, Watch, gather, grid_file, pasts

HOME = """
duration = "4s"
[link.up]
from = "home"
to = "net"
both_ways = true
rate = "4mbit"
delay = "10ms"
queue = "codel"
changes = [{ at = "3s", rate = "2mbit" }]
[app.upload]
from = "home"
to = ["net"]
traffic.ftp.flows = 2
[app.load]
from = "home"
to = ["net"]
start = "2s"
stop = "3500ms"
start_spread = "0s"
traffic.ping = {}
"""


def scenario(*sets: tuple[str, str]) -> Scenario:
    return parse(HOME, sets=sets)


def plan(*sets: Sequence[tuple[str, str]]) -> list[tuple[int, float | None]]:
    """Plans the runs of scenarios with these values, and returns them in the order in which they would be simulated.

    A run is given as its index and the time in s up to which it shares its start with other runs (None: it shares
    nothing).
    """
    found = pasts.planned([scenario(*given) for given in sets])
    return [(index, None if past is None else past.at_ns / 1e9) for index, past in found]


def everything(result: Result) -> Mapping[str, Any]:
    """Returns a hash of a result's tables, and the values of its summary, including the number of events."""
    tables = "".join(name + result.table(name).write_csv() for name in sorted(result.tables))
    return {"tables": hashlib.sha256(tables.encode()).hexdigest(), **grid_file.summary(result)}


def series(result: Result) -> Mapping[str, pl.DataFrame]:
    return {"queue": result.table("queue_series")}


MEASURE = Measure("all", everything, series)


def measured(scenarios: Sequence[Scenario], **options: Any) -> list[tuple[Mapping[str, Any], bytes]]:
    """Makes the runs with `gather`; returns the row of each run, and its queue series as bytes."""
    points = [Point(index, of, of.seed) for index, of in enumerate(scenarios)]
    values = gather(points, MEASURE, **options).values
    return [(value.row, value.frames["queue"].write_csv().encode()) for value in values]


def alone(scenarios: Sequence[Scenario], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mapping[str, Any], bytes]]:
    """Does the same as `measured`, but simulates every run from its start, so that runs share no initial segment."""
    with monkeypatch.context() as patched:
        patched.setattr(pasts, "planned", lambda of: [(index, None) for index in range(len(of))])
        return measured(scenarios)


# ----------------------------------------------------------------------------------------------------------- the rule


def test_what_acts_when():
    always, acts = _core.timeline(scenario(("app.upload.start", "1s"), ("app.upload.start_spread", "0s")).text) or (
        "",
        [],
    )
    assert '"rate":"4mbit"' in always
    heads = [(at / 1e9, act[:12]) for at, act in acts]
    assert heads == [
        (1.0, "app upload: "), (1.0, "the load beg"), (2.0, 'app load: Ap'),
        (3.0, "link up: Cha"), (3.0, "link ~up: Ch"), (3.5, "app load: st"), (4.0, "end"),
    ]  # fmt: skip


def test_runs_share_what_comes_before_their_first_difference():
    rates = [[("link.up.changes.0.rate", f"{n}mbit")] for n in (1, 2, 3)]
    assert plan(*rates) == [(0, 3.0), (1, 3.0), (2, 3.0)]
    # the loads differ from 2 s onwards, and the rates from 3 s onwards, so two runs with the same load share their
    # first 3 s; runs with the same load are next to each other
    ping, voip = ("app.load.traffic", "{ ping = {} }"), ("app.load.traffic", "{ voip = {} }")
    assert plan([*rates[0], ping], [*rates[0], voip], [*rates[1], voip], [*rates[1], ping]) == [
        (0, 3.0), (3, 3.0), (1, 3.0), (2, 3.0)
    ]  # fmt: skip
    starts = [[("app.load.start", f"{n}ms")] for n in (1000, 2000, 3000)]
    assert plan(*starts) == [(0, 1.0), (1, 2.0), (2, 2.0)]
    assert plan([("app.load.stop", "3s")], [("app.load.stop", "3900ms")], []) == [(0, 3.0), (1, 3.5), (2, 3.5)]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("link.up.rate", ("4mbit", "5mbit")),
        ("link.up.queue", ("codel", "pie")),
        ("link.up.changes", ('[{ at = "3s", rate = "1mbit" }]', "[]")),
        ("record.warm_up", ("2s", "3s")),
        ("record.interval", ("10ms", "20ms")),
        ("duration", ("4s", "5s")),
        ("app.upload.tcp", ("cubic", "bbr")),
        ("seed", ("1", "2")),
    ],
)
def test_what_acts_from_the_start_is_not_shared(path: str, values: Sequence[str]):
    assert plan(*([(path, value)] for value in values)) == [(0, None), (1, None)]


def test_names_and_expectations_act_never():
    assert plan([("name", '"a"')], [("expect", '{ "links.up.loss" = "< 1" }')]) == [(0, 4.0), (1, 4.0)]


def test_a_past_of_less_than_a_twentieth_is_not_worth_it():
    assert plan([("app.load.start", "190ms")], [("app.load.start", "400ms")]) == [(0, None), (1, None)]
    assert plan([("app.load.start", "200ms")], [("app.load.start", "400ms")]) == [(0, 0.2), (1, 0.2)]


def test_runs_that_share_follow_one_another_where_the_first_was():
    queues = [("link.up.queue", queue) for queue in ("codel", "pie", "red")]
    rates = [("link.up.changes.0.rate", f"{n}mbit") for n in (3, 1, 2)]
    grid = [[rate, queue] for rate in rates for queue in queues]
    assert [index for index, _ in plan(*grid)] == [0, 3, 6, 1, 4, 7, 2, 5, 8]


# ------------------------------------------------------------------------------------------------ results do not change


@pytest.mark.parametrize("scale", ["waveform", "rpm"])
def test_echoes_before_the_load_are_idle_in_every_run(scale: str, monkeypatch: pytest.MonkeyPatch):
    # the load begins at another time in each run; with `start_spread`, the upload starts up to 1 s later
    ping = ("app.load", '{ from = "home", to = ["net"], start_spread = "0s", traffic.ping = { interval = "20ms" } }')
    base = [ping, ("grade.scale", f'"{scale}"'), ("app.upload.start_spread", "1s")]
    starts = [scenario(*base, ("app.upload.start", f"{n}s")) for n in (1, 2, 3)]
    assert [past and past.at_ns / 1e9 for _, past in pasts.planned(starts)] == [1.0, 2.0, 2.0]
    # the load ends at another time in each run, but nothing else differs: `length` ends the upload 2 s or 3 s after its
    # start, and `stop` ends the call at 2 s or 3 s
    ends = [scenario(*base, ("app.upload.traffic.ftp.length", f"{n}s")) for n in (2, 3)]
    stops = [scenario(*base, ("app.upload.traffic", "{ voip = {} }"), ("app.upload.stop", f"{n}s")) for n in (2, 3)]
    for runs in (starts, ends, stops):
        assert measured(runs, jobs=1) == alone(runs, monkeypatch)


QUEUES = ("codel", "pie", "fq_codel", "cake", "red", "droptail", "dualpi2", "fq_pie")
STACKS = ("cubic", "bbr", "reno", "prague", "ns2-cubic-2.6.22", "bbr3")
TRAFFIC = ("ftp = {}", "ftp = { flows = 3 }", "voip = {}", "ping = {}", "web = {}", 'cbr = { rate = "1mbit" }')


def family(number: int) -> list[Scenario]:
    """Returns the scenarios of a random sweep over values that take effect at the start of a run, later, or never."""
    dice = random.Random(number)  # noqa: S311  a test
    base = [
        ("link.up.queue", dice.choice(QUEUES)),
        ("app.upload.tcp", dice.choice(STACKS)),
        ("record.warm_up", dice.choice(["0s", "1s"])),
        ("seed", str(dice.randrange(1000))),
        ("app.load.to", '["net", "net", "net", "net"]'),
    ]
    choices = {
        "link.up.changes.0.rate": lambda: f"{dice.randint(500, 8000)}kbit",
        "link.up.changes.0.at": lambda: f"{dice.randint(100, 3900)}ms",
        "app.load.start": lambda: f"{dice.randint(0, 3000)}ms",
        "app.load.stop": lambda: f"{dice.randint(3001, 5000)}ms",
        "app.load.tcp": lambda: dice.choice(STACKS),
        "app.load.traffic": lambda: f"{{ {dice.choice([t for t in TRAFFIC if t != 'ftp = {}'])} }}",
        "app.upload.dscp": lambda: str(dice.choice([0, 0, 46])),
        "name": lambda: f'"n{dice.randrange(9)}"',
    }
    runs: list[Scenario] = []
    while len(runs) < 7:
        sets = [(path, make()) for path, make in dice.sample(list(choices.items()), dice.randint(1, 3))]
        if not any("ftp" in value for _, value in sets):
            runs.append(scenario(*base, *sets))
        else:  # a transfer without a size does not stop
            runs.append(
                parse(HOME.replace('stop = "3500ms"\n', ""), sets=[*base, *[s for s in sets if "stop" not in s[0]]])
            )
    return runs


@pytest.mark.parametrize("number", range(8))
def test_a_shared_past_changes_no_byte(number: int, monkeypatch: pytest.MonkeyPatch):
    runs = family(number)
    assert sum(past is not None for _, past in pasts.planned(runs)) >= 2
    expected = alone(runs, monkeypatch)
    assert measured(runs, jobs=1) == expected
    assert measured(runs, jobs=3) == expected


def test_a_wrong_timeline_is_found(monkeypatch: pytest.MonkeyPatch):
    """If the timeline wrongly says that values take effect 300 ms later than they do, runs that share an initial
    segment give different bytes, and the comparison finds this.
    """
    honest = _core.timeline

    def late(text: str) -> Any:
        found = honest(text)
        return None if found is None else (found[0], [(at + 300_000_000, act) for at, act in found[1]])

    runs = [family(number) for number in range(3)]
    expected = [alone(of, monkeypatch) for of in runs]
    monkeypatch.setattr(_core, "timeline", late)
    assert sum(measured(of) != right for of, right in zip(runs, expected, strict=True)) >= 2


# --------------------------------------------------------------------------- how often shared segments are simulated


class Counted:
    """Wraps a past (an initial segment that runs share) and logs the end of each segment that is simulated."""

    def __init__(self, past: Any, log: list[float]) -> None:
        self.past, self.log = past, log

    def advance(self, text: str, until_ns: int, progress: Any) -> Counted:
        self.log.append(until_ns / 1e9)
        return Counted(self.past.advance(text, until_ns, progress), self.log)

    def finish(self, text: str, progress: Any) -> Any:
        return self.past.finish(text, progress)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    times: list[float] = []
    real = _core.Past
    monkeypatch.setattr(_core, "Past", lambda text: Counted(real(text), times))
    return times


RATES = [scenario(("link.up.changes.0.rate", f"{n}mbit"), ("seed", str(s))) for s in (1, 2) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("jobs", [1, 4])
def test_each_past_is_simulated_once(jobs: int, log: list[float]):
    measured(RATES, jobs=jobs)
    assert log == [3.0, 3.0]


def test_a_past_continues_the_past_before_it(log: list[float]):
    measured([scenario(("app.load.start", f"{n}ms")) for n in (1000, 2000, 3000)], jobs=1)
    assert log == [1.0, 2.0]


def test_few_pasts_are_kept(log: list[float], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pasts, "MOST_KEPT", 1)
    kept = pasts.Pasts()
    shared = dict(pasts.planned(RATES))
    for index in (0, 4, 0):
        past = shared[index]
        assert past is not None
        kept.run(RATES[index], past, lambda _fraction: None)
    assert log == [3.0, 3.0, 3.0]


def test_an_interrupted_sweep_goes_on_from_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = Store(tmp_path)

    class Impatient(Watch):
        def __init__(self) -> None:
            self.heard = 0

        def done(self, index: int) -> None:
            self.heard += 1
            if self.heard == 3:
                raise KeyboardInterrupt

    with pytest.raises((Interrupted, RunError)):
        measured(RATES, jobs=1, store=store, watch=Impatient())
    points = [Point(index, of, of.seed) for index, of in enumerate(RATES)]
    again = gather(points, MEASURE, store=store)
    assert again.found >= 3
    assert again.found + again.ran == len(RATES)
    assert [(v.row, v.frames["queue"].write_csv().encode()) for v in again.values] == alone(RATES, monkeypatch)


def test_a_thread_that_waits_for_a_past_can_be_cancelled(monkeypatch: pytest.MonkeyPatch):
    begun, cancelled = threading.Event(), threading.Event()

    class Slow:
        def advance(self, _text: str, _until_ns: int, progress: Any) -> Any:
            begun.set()
            while not cancelled.wait(0.01):
                progress(0.1)
            raise Cancelled

    monkeypatch.setattr(_core, "Past", lambda _text: Slow())
    kept = pasts.Pasts()
    past = pasts.planned(RATES)[0][1]
    assert past is not None

    def first() -> None:
        with pytest.raises(Cancelled):
            kept.run(RATES[0], past, lambda _fraction: None)

    def stop(_fraction: float) -> None:
        raise Cancelled

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(5)
    with pytest.raises(Cancelled):
        kept.run(RATES[1], past, stop)
    cancelled.set()
    thread.join()


def test_a_scenario_that_fails_shares_nothing(monkeypatch: pytest.MonkeyPatch):
    def refused(_text: str) -> None:
        raise _core.ScenarioError(["link.up: refused"])

    monkeypatch.setattr(_core, "timeline", refused)
    assert pasts.planned(RATES[:2]) == [(0, None), (1, None)]
