"""Laws and controllers: timers in the past, results that a sender ignores, objects that hold a run."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

import bloatlab
from bloatlab.controllers import Drive

#: An upload over a line of 10 Mbit/s with a round trip of 20 ms.
LINE: Mapping[str, Any] = {
    "duration": "4s",
    "link": {
        "up": {"from": "home", "to": "net", "rate": "10mbit", "delay": "10ms", "queue": {"droptail": {"limit": "50p"}}},
        "down": {"from": "net", "to": "home", "rate": "10mbit", "delay": "10ms"},
    },
    "app": {"upload": {"from": "home", "to": ["net"], "traffic": {"ftp": {}}}},
}
OWN: Mapping[str, Any] = {"tcp.mine": {"preset": "linux-6", "python": {"controller": "mine"}}, "app.upload.tcp": "mine"}


# -------------------------------------------------------------------------------------------------------------- timers


@pytest.mark.parametrize(
    "link",
    [
        {"rate": "5mbit"},
        {"delivery": "lte"},
        {"delivery": "wifi"},
        {"rate": "30mbit", "docsis": {"flow": {"max_sustained_rate": "5mbit"}}},
        {"docsis31": {"flow": {"max_sustained_rate": "5mbit"}}},
        {"rate": "10mbit", "shaper": {"max_sustained_rate": "5mbit"}},
    ],
    ids=["rate", "lte", "wifi", "docsis", "docsis31", "shaper"],
)
def test_a_tick_in_the_past_comes_now(link: dict[str, Any]):
    calls: list[tuple[str, int]] = []

    class Resumes:
        """Updates every 15 ms while packets wait. After an idle period, it resumes from its last update."""

        next_tick_ns: int | None = None

        def __init__(self) -> None:
            self.last = 0

        def arrive(self, packet: Any, view: Any) -> None:
            calls.append(("arrive", view.now_ns))
            if self.next_tick_ns is None:
                self.next_tick_ns = self.last + 15_000_000

        def tick(self, view: Any) -> None:
            calls.append(("tick", view.now_ns))
            self.last = view.now_ns
            self.next_tick_ns = self.last + 15_000_000 if view.packets else None

    up = {"from": "home", "to": "net", "delay": "10ms", "queue": {"python": {"law": "mine"}}, **link}
    # short transfers, so that the queue is often empty
    ftp = {"size": "30KB", "pause": "100ms"}
    app = {"upload": {"from": "home", "to": ["net"], "traffic": {"ftp": ftp}}}
    given = {**LINE, "link": {"up": up, "down": LINE["link"]["down"]}, "app": app}
    bloatlab.run(given, laws={"mine": Resumes})
    times = [at for _, at in calls]
    assert times == sorted(times)
    # an arrival after an idle period sets a time in the past: the tick follows at once
    late = [
        (before, after)
        for before, after in itertools.pairwise(calls)
        if before[0] == "arrive" and after == ("tick", before[1])
    ]
    assert len(late) > 10


# ---------------------------------------------------------------------------------------------- results of controllers


def test_pacing_that_an_ack_may_not_set_is_ignored():
    class Plain:
        needs = ("rates",)

        def begin(self, start: Any) -> float:
            return 100

        def on_ack(self, sample: Any) -> Drive | None:
            return None

        def on_congestion(self, moment: Any, kind: str, base: float) -> float:
            return max(base / 2, 2)

    class Paces(Plain):
        def on_ack(self, sample: Any) -> Drive | None:
            return Drive(pacing_rate=500e3) if sample.rests else None

    class Wrong(Plain):
        def on_ack(self, sample: Any) -> Drive | None:
            return Drive(pacing_rate=-8.0) if sample.rests else None

    plain, *others = (bloatlab.run(LINE, sets=OWN, controllers={"mine": of}).summary for of in (Plain, Paces, Wrong))
    assert plain["links"]["up"]["dropped_packets"] > 0, "there is a recovery, whose ACKs grow no window"
    assert all(one["apps"] == plain["apps"] for one in others)


@pytest.mark.parametrize("reduction", ["prr", "rate-halving", "instant"])
def test_congestion_without_a_threshold_keeps_the_window(reduction: str):
    seen: list[float] = []

    class Keeps:
        """Grows in the first 500 ms, and has no response to congestion."""

        def on_ack(self, sample: Any) -> float | None:
            seen.append(sample.cwnd)
            return sample.cwnd + sample.acked if sample.now_ns < 500_000_000 and not sample.rests else None

        def on_congestion(self, moment: Any, kind: str, base: float) -> None:
            congested.append(moment.cwnd)

    congested: list[float] = []
    sets = {**OWN, "tcp.mine": {**OWN["tcp.mine"], "reduction": reduction}}
    up = bloatlab.run(LINE, sets=sets, controllers={"mine": Keeps}).summary["links"]["up"]
    assert up["dropped_packets"] > 0
    assert congested
    assert max(seen) < 1000
    # only an instant reduction sets the window to the threshold, which here equals the window; the other reductions
    # follow the data in flight
    if reduction == "instant":
        assert seen[-1] >= congested[-1] - 1


# ------------------------------------------------------------------------------------------------------------- copies


def test_an_object_may_hold_a_run_of_its_own():
    class Planner:
        """A controller that sets its window by a simulation of its line."""

        def __init__(self) -> None:
            self.model = bloatlab.open(LINE)

        def on_ack(self, sample: Any) -> float:
            self.model.run_until(min(sample.now_ns / 1e9, 4.0))
            return 20.0 + self.model.link("up").packets % 7

        def on_congestion(self, moment: Any, kind: str, base: float) -> float:
            return 20.0

    simulation = bloatlab.open(LINE, sets=OWN, controllers={"mine": Planner})
    simulation.run_until(1)
    forks = [simulation.fork(), copy.deepcopy(simulation)]
    snapshot = simulation.snapshot()
    end = simulation.finish().summary
    assert [fork.finish().summary for fork in forks] == [end, end]
    simulation = bloatlab.open(LINE, sets=OWN, controllers={"mine": Planner})
    simulation.restore(snapshot)
    assert simulation.finish().summary == end


def test_a_model_that_cannot_be_copied_is_one_line():
    class Planner:
        def __init__(self) -> None:
            self.model = bloatlab.open(LINE, sets=OWN, controllers={"mine": Stuck})
            self.model.run_until(1)

        def on_ack(self, sample: Any) -> None:
            return None

        def on_congestion(self, moment: Any, kind: str, base: float) -> float:
            return 20.0

    class Stuck(Planner):
        def __init__(self) -> None:
            pass

        def __deepcopy__(self, memo: Any) -> Any:
            raise OSError("no copy")

    simulation = bloatlab.open(LINE, sets=OWN, controllers={"mine": Planner})
    simulation.run_until(1)
    for planner_runs in (simulation.fork, simulation.fork):
        with pytest.raises(bloatlab.ControllerError, match="cannot be forked"):
            planner_runs()
