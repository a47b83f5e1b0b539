"""The steps of the environments: they count all data of a transfer, and allow for changes of the rate in a step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from bloatlab import ScenarioError
from bloatlab.gym.aqm import HOME
from bloatlab.gym.congestion_control import LINE

CC, AQM = "bloatlab/CongestionControl-v0", "bloatlab/Aqm-v0"


def steps(env: Any, seed: int = 1, **options: Any) -> list[tuple[float, bool, bool, dict[str, Any]]]:
    """Runs an episode with actions of 0; returns the reward, `terminated`, `truncated` and the info of each step."""
    env.reset(seed=seed, options=options)
    seen: list[tuple[float, bool, bool, dict[str, Any]]] = []
    while not seen or not (seen[-1][1] or seen[-1][2]):
        _, reward, *rest = env.step(np.zeros(1, np.float32))
        seen.append((float(reward), *rest))
    return seen


def transfers(**ftp: Any) -> Any:
    """Returns the default scenario with a line of 12 Mbit/s, and with `ftp` as the parameters of its transfers."""
    link = {**LINE["link"]["line"], "rate": "12mbit"}
    app = {"agent": {"from": "client", "to": ["server"], "traffic": {"ftp": ftp}}}
    return {**LINE, "link": {"line": link}, "app": app}


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("size", [100_000, 500_000])
@pytest.mark.parametrize("options", [{}, {"controller": "cubic"}])
def test_an_episode_ends_with_its_first_connection_and_counts_all_of_it(
    direction: str, size: int, options: dict[str, Any]
):
    # the next file begins a second after the end of the first, so nothing of it is delivered in the last step
    env = gymnasium.make(CC, axes={}, scenario=transfers(size=f"{size}B", direction=direction, pause="1s"))
    seen = steps(env, **options)
    assert [one[1:3] for one in seen] == [(False, False)] * (len(seen) - 1) + [(True, False)]
    assert sum(one[3]["rate"] * one[3]["seconds"] / 8 for one in seen) == pytest.approx(size, abs=1e-3)
    # the link carries 1448 bytes of payload in a packet of 1500 bytes, which takes 1 ms
    shares = sum(one[3]["throughput"] * one[3]["seconds"] for one in seen)
    assert shares == pytest.approx(size / 1448 * 0.001)


def test_an_episode_ends_although_the_next_connection_is_open_at_the_end_of_a_step():
    seen = steps(gymnasium.make(CC, axes={}, scenario=transfers(size="100KB")))
    assert [one[1] for one in seen] == [False] * (len(seen) - 1) + [True]
    # the windows of slow start have 10, 20 and 40 segments, so the 70 segments of the file need three round trips of
    # 40 ms after the handshake
    assert seen[-1][3]["time"] < 0.4
    assert sum(one[3]["rate"] * one[3]["seconds"] / 8 for one in seen) == pytest.approx(100_000, abs=1e-3)


def test_connections_within_one_step_are_counted():
    env = gymnasium.make(CC, axes={}, scenario=transfers(size="100KB", count=5), interval="8s")
    ((_, terminated, truncated, info),) = steps(env)
    assert (terminated, truncated) == (True, False)
    assert info["rate"] * info["seconds"] / 8 == pytest.approx(500_000, abs=1e-3)


@pytest.mark.parametrize("kind", ["bittorrent", "rpm"])
def test_an_episode_goes_on_while_one_of_several_connections_is_open(kind: str):
    app = {"agent": {"from": "client", "to": ["server"], "traffic": {kind: {}}}}
    scenario = {**transfers(), "app": app, "duration": "6s"}
    seen = steps(gymnasium.make(CC, axes={}, scenario=scenario, interval="200ms"))
    assert [one[1:3] for one in seen] == [(False, False)] * (len(seen) - 1) + [(False, True)]
    assert seen[-1][3]["time"] == 6


def test_a_step_lasts_at_least_a_nanosecond():
    for name in (CC, AQM):
        with pytest.raises(ValueError, match=r"^interval: '4e-10' is not valid; expected at least 1 ns"):
            gymnasium.make(name, interval=4e-10)
        env = gymnasium.make(name, interval=np.float64(1e-9))
        env.reset(seed=1)
        start = env.unwrapped.simulation.now  # type: ignore[attr-defined]
        info = env.step(np.zeros(1, np.float32))[-1]
        assert info["time"] == env.unwrapped.simulation.now == pytest.approx(start + 1e-9, abs=1e-12)  # type: ignore[attr-defined]


#: A rate that falls and returns within a step of 1 s, and one that rises soon after the beginning of a step. The change
#: at the start does not change the rate.
CHANGES = [
    {"at": "0s", "delay": "1ms"},
    {"at": "2.3s", "rate": "2mbit"},
    {"at": "2.6s", "rate": "10mbit"},
    {"at": "4.2s", "rate": "30mbit"},
]


def test_a_busy_line_carries_all_that_it_can_while_its_rate_changes():
    line = {**LINE["link"]["line"], "rate": "10mbit", "delay": "1ms", "queue": "droptail", "changes": CHANGES}
    # the window is always larger than the bandwidth-delay product, so the queue is never empty. An ACK returns 2 ms
    # after its segment has left the queue, so the throughput of a step of 1 s differs from 1 by at most 2 ms * 30 / 10
    stack = {"initial_window": {"segments": 200}}
    env = gymnasium.make(CC, axes={}, scenario={**LINE, "link": {"line": line}}, interval="1s", stack=stack)
    seen = [one[3] for one in steps(env)][1:]
    assert len(seen) == 9
    assert [info["throughput"] for info in seen] == pytest.approx([1.0] * 9, abs=0.006)


def test_a_busy_queue_carries_all_that_its_link_can_while_its_rate_changes():
    up = {**HOME["link"]["up"], "rate": "10mbit", "changes": CHANGES}
    flood = {"flood": {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "40mbit"}}}}
    home = {**HOME, "link": {**HOME["link"], "up": up}, "app": flood}
    seen = [one[3] for one in steps(gymnasium.make(AQM, axes={}, scenario=home, interval="1s"))][1:]
    # a packet that is in transmission at a change leaves at the old rate
    assert len(seen) == 9
    assert [info["utilisation"] for info in seen] == pytest.approx([1.0] * 9, abs=0.003)


def flooded(**up: Any) -> Any:
    """Returns the default scenario of `Aqm-v0` with these keys of the uplink, and a flood that keeps the link busy."""
    flood = {"flood": {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "40mbit"}}}}
    return {**HOME, "link": {**HOME["link"], "up": {**HOME["link"]["up"], **up}}, "app": flood}


def test_a_busy_link_is_used_from_the_start_and_after_its_rate_changes():
    # a step of 20 ms carries at least 12 packets of 1000 bytes; at each edge, at most one is in transmission. The delay
    # of 50 ms does not count, although what leaves the queue arrives two or three steps later
    changes = [{"at": "4s", "rate": "5mbit"}, {"at": "6s", "rate": "20mbit"}]
    home = flooded(rate="20mbit", delay="50ms", changes=changes)
    seen = [one[3] for one in steps(gymnasium.make(AQM, axes={}, scenario=home, limit="20p"))]
    assert [info["utilisation"] for info in seen] == pytest.approx([1.0] * len(seen), abs=1 / 8)


def test_losses_of_the_wire_are_no_drops_of_the_queue():
    home = flooded(rate="10mbit", loss=0.1)
    seen = [one[3] for one in steps(gymnasium.make(AQM, axes={}, scenario=home, interval="1s"))]
    # the flood sends four times what the link carries, so the queue drops 3/4 of it once it is full. The wire loses a
    # tenth of the rest, which the queue does not see
    assert [info["loss"] for info in seen[3:]] == pytest.approx([0.75] * len(seen[3:]), abs=0.01)
    assert [info["utilisation"] for info in seen] == pytest.approx([1.0] * len(seen), abs=0.005)
    idle = {**home, "app": {"call": {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "2mbit"}}}}}
    assert {one[3]["loss"] for one in steps(gymnasium.make(AQM, axes={}, scenario=idle))} == {0.0}


def test_drops_of_a_modem_behind_its_queue_are_no_drops_of_the_queue():
    # at its peak rate the modem takes every packet from the queue at once, but its transmit queue holds only two
    flow = {"max_sustained_rate": "5mbit", "max_traffic_burst": "10MB", "peak_traffic_rate": "20mbit"}
    docsis = {"transmit_limit": "2p", "transmit_queue": "drop", "flow": flow}
    home = flooded(rate="100mbit", docsis=docsis)
    home["app"]["flood"]["traffic"]["cbr"]["rate"] = "12mbit"
    env = gymnasium.make(AQM, axes={}, scenario=home, link="up")
    assert {one[3]["loss"] for one in steps(env)} == {0.0}
    link = env.unwrapped.simulation.link("up")  # type: ignore[attr-defined]
    assert set(link.drops) == {"transmit_queue_full"}


# ---------------------------------------------------------------------------------------------------------- bottleneck

#: Keys that limit an uplink to 5 Mbit/s in four ways; in each case, the wire is faster.
LIMITS: dict[str, dict[str, Any]] = {
    "docsis": {"rate": "100mbit", "docsis": {"flow": {"max_sustained_rate": "5mbit"}}},
    "docsis31": {"docsis31": {"flow": {"max_sustained_rate": "5mbit"}}},
    "shaper": {"rate": "100mbit", "shaper": {"max_sustained_rate": "5mbit"}},
    "cake": {"rate": "100mbit", "queue": {"cake": {"bandwidth": "5mbit"}}},
}


def limited(limit: str) -> Any:
    """Returns a scenario with an upload through an uplink with this limit, and a downlink of 50 Mbit/s."""
    up = {"from": "client", "to": "server", "delay": "10ms", **LIMITS[limit]}
    down = {"from": "server", "to": "client", "delay": "10ms", "rate": "50mbit"}
    return {**LINE, "link": {"up": up, "down": down}}


@pytest.mark.parametrize("link", [None, "up"])
@pytest.mark.parametrize("limit", LIMITS)
def test_the_slowest_link_is_the_one_with_the_lowest_sustained_rate(limit: str, link: str | None):
    # the window is always larger than the bandwidth-delay product, 12.5 KB, so the link is always busy
    stack = {"initial_window": {"segments": 40}}
    env = gymnasium.make(CC, axes={}, scenario=limited(limit), interval="1s", stack=stack, link=link)
    seen = [one[3] for one in steps(env)][2:]
    # the links count headers differently, by at most 4 %; with the wrong link or rate, the throughput is 0.1 or 0.05
    assert np.mean([info["throughput"] for info in seen]) == pytest.approx(1.0, abs=0.04)


def test_the_queue_of_an_agent_is_that_of_the_modem():
    flood = {"flood": {"from": "client", "to": ["server"], "traffic": {"cbr": {"rate": "20mbit"}}}}
    env = gymnasium.make(AQM, axes={}, scenario={**limited("docsis"), "app": flood}, interval="1s")
    seen = [one[3] for one in steps(env)][2:]
    assert np.mean([info["utilisation"] for info in seen]) == pytest.approx(1.0, abs=0.03)


def test_a_queue_that_makes_its_link_the_slowest_is_not_replaced_unnoticed():
    with pytest.raises(ScenarioError, match=r"own shaper.*link=NAME"):
        gymnasium.make(AQM, axes={}, scenario=limited("cake")).reset(seed=1)
    gymnasium.make(AQM, axes={}, scenario=limited("cake"), link="up").reset(seed=1)
    # without the shaper, the link is as slow as with it
    same = flooded(rate="5mbit", queue={"cake": {"bandwidth": "5mbit"}})
    gymnasium.make(AQM, axes={}, scenario=same).reset(seed=1)


@pytest.mark.parametrize(
    "stack", [{"preset": "ns2-reno"}, {"timestamps": False}, {"header_bytes": 140}, {"preset": "ns2-cubic-2.6.22"}, {}]
)
def test_a_busy_link_carries_a_throughput_of_one_whatever_the_headers(stack: Any):
    # the window of 100 segments is larger than the bandwidth-delay product, 33 packets of 1500 bytes, so the link is
    # always busy
    env = gymnasium.make(CC, axes={}, interval="1s", stack={"initial_window": {"segments": 100}, **stack})
    seen = [one[3] for one in steps(env)][2:]
    assert [info["throughput"] for info in seen] == pytest.approx([1.0] * len(seen), abs=0.002)


# ----------------------------------------------------------------------------------------------------------- baselines


def stacks(env: Any, **options: Any) -> tuple[Any, Any]:
    """Returns the stack of each end of the agent's application."""
    env.reset(seed=1, options=options)
    data = env.unwrapped.simulation.scenario.data
    app = data["app"]["agent"]
    return data["tcp"][app["tcp"]], data["tcp"][app.get("tcp_server") or app["tcp"]]


def test_a_baseline_is_its_own_stack_whatever_stack_the_agent_has():
    env = gymnasium.make(CC, axes={}, stack={"preset": "rfc", "ecn": True})
    assert [one["preset"] for one in stacks(env)] == ["rfc", "rfc"]
    for name in ("cubic", "bbr", "reno"):
        assert stacks(env, controller=name) == ({"preset": name, "ecn": True},) * 2


def test_the_server_of_a_download_has_the_agents_stack():
    app = {"agent": {**transfers(direction="down")["app"]["agent"], "tcp_server": "cubic"}}
    env = gymnasium.make(CC, axes={}, scenario={**transfers(), "app": app})
    assert all(one["congestion_control"] == "fixed" for one in stacks(env))
    # an action of 0 keeps the window
    assert {one[3]["cwnd"] for one in steps(env)} == {10 * 1448}
    assert stacks(env, controller="bbr")[1]["preset"] == "bbr"


def test_the_smallest_pacing_rate_is_one_segment_per_round_trip():
    env = gymnasium.make(CC, axes={}, scenario=transfers(), control="rate")
    env.reset(seed=1)
    info = [env.step(np.array([-1.0], np.float32))[-1] for _ in range(60)][20:]
    # a segment of 1448 bytes in 40 ms
    assert env.unwrapped.simulation.flow("agent").pacing_rate == pytest.approx(8 * 1448 / 0.04, rel=0.01)  # type: ignore[attr-defined]
    assert np.mean([one["rate"] for one in info]) == pytest.approx(8 * 1448 / 0.04, rel=0.05)
