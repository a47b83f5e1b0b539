"""An agent as the control law of a queue.

    action a in [-1, 1]:  adds 0.1 a to p', the square root of the probability, within [0, 1]. Until the next action,
                          every arrival is dropped with the probability p'^2, or marked if it is ECN-capable
    reward:               utilisation * delay - loss
    utilisation           bytes that have left the queue / bytes that the link can carry in this time
    delay                 half / (half + time to drain the queue), mean of the samples in the interval
    loss                  packets dropped by the queue / packets offered

The rate of a TCP such as Reno is proportional to 1 / sqrt(p). With p = p'^2, the rate is proportional to 1 / p'
(RFC 9332 §2.1 uses the same square). An action is a change of p', as PIE computes a change of its probability
(RFC 8033 §4.2).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from bloatlab.gym.driven import DrivenEnv, seconds, slowest
from bloatlab.gym.episodes import Episode, Given
from bloatlab.laws import Packet, Verdict, View
from bloatlab.scenario import Scenario, ScenarioError, overrides

#: Uploads through a bottleneck whose queue is controlled by the agent.
HOME: Mapping[str, Any] = {
    "name": "home",
    "duration": "10s",
    "link": {
        "up": {"from": "home", "to": "net", "rate": "10mbit", "delay": "20ms"},
        "down": {"from": "net", "to": "home", "delay": "20ms"},
    },
    "app": {"uploads": {"from": "home", "to": ["net"], "traffic": {"ftp": {"flows": 2}}}},
    "record": {"interval": "1s", "links": [], "apps": []},
}
#: The values of `HOME` that are drawn for each episode, each from its range or list.
HOME_AXES: Mapping[str, Any] = {
    "link.up.rate": {"from": "2mbit", "to": "50mbit", "log": True},
    "link.up.delay": {"from": "2ms", "to": "50ms", "log": True},
    "app.uploads.traffic.ftp.flows": [1, 2, 4, 8],
}

#: An action of 1 increases p', the square root of the probability, by this much.
STEP = 0.1
#: Number of samples of the queue in an interval.
SAMPLES = 4
#: Packet size used in observations of packet rates, in bytes.
PACKET = 1500


class _Dial:
    """The drop or mark probability. The environment sets it, and the law that acts for the agent reads it."""

    probability = 0.0


def _law(dial: _Dial) -> type:
    """Returns the class of the law that acts for the agent. The law takes its probability from `dial`."""

    class Agent:
        """Drops or marks arrivals with the dial's probability."""

        def arrive(self, packet: Packet, view: View) -> Verdict:
            """Drops, marks or accepts an arrival."""
            p = dial.probability
            if p > 0.0 and view.random() < p:
                return "mark" if packet.ect else "drop"
            return "pass"

    return Agent


def _queue(link: str) -> str:
    """Returns the path of a link's queue."""
    return f"link.{json.dumps(link, ensure_ascii=False)}.queue"


def _handled(state: Mapping[str, Any]) -> tuple[int, float]:
    """Returns the number of packets that a link's queue has dropped, and the number of bytes that have left the queue.

    Packets that the wire loses later have left the queue. Their bytes are not counted separately, so their mean size is
    assumed to be that of the other packets that have left. Packets that a modem drops behind the queue are in neither
    number, because the link does not carry them.
    """
    lost = state["drops"].get("link_loss", 0)
    dropped = state["dropped_packets"] - lost - state["drops"].get("transmit_queue_full", 0)
    kept = state["offered_packets"] - state["packets"] - state["dropped_packets"]
    left = state["offered_bytes"] - state["bytes"] - state["dropped_bytes"]
    return dropped, left * (1 + lost / kept) if kept else float(left)


def _slow_by_its_queue(scenario: Scenario, link: str) -> bool:
    """Returns whether the shaper of a link's queue sets the link's rate, so that another queue would change it."""
    rate, shaped = scenario.link_rates()[link]
    return rate == shaped and scenario.with_sets((_queue(link), "droptail")).link_rates()[link][0] != rate


class Aqm(DrivenEnv):
    """The agent sets the probability with which a queue drops or marks arrivals, once per interval; see docs/gym.md.

    The agent observes only what a real queue can: its length, its link, and the packets it has handled.
    """

    OPTION = "law"
    OBSERVED: ClassVar[Mapping[str, tuple[float, float]]] = {
        "delay": (0.0, 20.0),
        "delay_change": (-20.0, 20.0),
        "utilisation": (0.0, 2.0),
        "arrivals": (0.0, 4.0),
        "loss": (0.0, 1.0),
        "marks": (0.0, 1.0),
        "probability": (0.0, 1.0),
    }
    PARTS = ("utilisation", "delay", "loss", "queue")

    def __init__(
        self,
        scenario: Given = HOME,
        axes: Mapping[str, Any] | None = None,
        *,
        link: str | None = None,
        limit: str = "1000p",
        interval: float | str = "20ms",
        half: float | str = "15ms",
        reward: Callable[[Mapping[str, float]], float] | None = None,
        render_mode: None = None,
    ) -> None:
        """Prepares the environment; `scenario` and `axes` are the distribution of episodes (`bloatlab.gym.episodes`).

        `link` is the link whose queue the agent controls, by default the slowest. Its queue becomes a FIFO with the
        limit `limit` ("1000p", "100KB", "100ms"). `interval` is the length of a step. `half` is the queueing delay at
        which the part `delay` of the reward is 1/2. Both `interval` and `half` are a number of seconds, or a string
        such as "20ms". `reward` computes the reward from its parts.

        Raises `ScenarioError`, `GridError` for the axes, `OSError` for a file, `ValueError` for the other arguments.
        """
        super().__init__(scenario, (HOME_AXES if scenario is HOME else {}) if axes is None else axes, link)
        if link is not None:
            self._episodes.refuse(_queue(link))
        self.render_mode = render_mode
        self._limit, self._length, self._half = limit, seconds("interval", interval), seconds("half", half)
        self._reward = reward or (lambda parts: parts["utilisation"] * parts["delay"] - parts["loss"])
        self._dial = _Dial()

    def _episode(self, builtin: Any) -> Episode:
        law: Any = {builtin: {}} if isinstance(builtin, str) else builtin or {"python": {"law": "agent"}}
        if not isinstance(law, Mapping) or len(law) != 1 or not isinstance(next(iter(law.values())), Mapping):
            valid = 'a discipline, such as "codel" or {"codel": {"target": "5ms"}}'
            raise ValueError(f"options: law {builtin!r} is not valid; expected {valid}")
        ((word, own),) = law.items()
        episode = self._episodes.draw(self.np_random, [])
        name = self._named or slowest(episode.scenario)
        if self._named is None and _slow_by_its_queue(episode.scenario, name):
            why = (
                "is the slowest only because of its queue's own shaper, and the agent's queue would replace this queue"
            )
            raise ScenarioError([f"link.{name}: {why}; use the link's `shaper`, or name the bottleneck: link=NAME"])
        if episode.scenario.data["link"].get(name, {}).get("both_ways"):
            raise ScenarioError(
                [f"link.{name}: both_ways gives both directions the same queue; declare them as two links"]
            )
        queue = _queue(name)
        self._episodes.refuse(queue)
        sets = overrides({queue: {word: {"limit": self._limit} | dict(own)}})
        return Episode(episode.scenario.with_sets(*sets), episode.drawn)

    def _begin(self, episode: Episode, watching: bool) -> list[float]:
        self._root = self._dial.probability = 0.0
        self._watching = watching
        self._open(episode, None if watching else {"agent": _law(self._dial)})
        self._state = self._link.read()
        self._delay = 0.0
        return [0.0] * len(self.OBSERVED)

    def _interval(self) -> float:
        return self._length

    def _act(self, action: float) -> None:
        self._root = min(max(self._root + STEP * action, 0.0), 1.0)
        self._dial.probability = self._root**2

    def _run(self, until: float) -> tuple[float, list[float], bool, dict[str, Any]]:
        before, began = self._state, self._now
        delays: list[float] = []
        shares: list[float] = []
        state, carried = before, 0.0
        for n in range(1, SAMPLES + 1):
            carried += self._advance(until if n == SAMPLES else began + (until - began) * n / SAMPLES) / 8
            state = self._link.read()
            delays.append(8 * state["bytes"] / self._rate)
            shares.append(self._half / (self._half + delays[-1]))
        taken, self._state = until - began, state
        offered, marked = (state[key] - before[key] for key in ("offered_packets", "marked_packets"))
        dropped, left = (now - then for now, then in zip(_handled(state), _handled(before), strict=True))
        delay, used = sum(delays) / SAMPLES, left / carried
        loss = min(dropped / offered, 1.0) if offered else 0.0
        parts = {"utilisation": used, "delay": sum(shares) / SAMPLES, "loss": loss}
        reward = self._reward(parts)
        observation = [
            delay / self._half, (delay - self._delay) / self._half, used, offered * PACKET / carried, loss,
            marked / max(offered, 1), self._root,
        ]  # fmt: skip
        self._delay = delay
        info = {**parts, "seconds": taken, "queue": delay, "probability": self._dial.probability}
        return reward, observation, False, info
