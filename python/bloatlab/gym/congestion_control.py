"""An agent as the congestion controller of a TCP sender.

    action a in [-1, 1]:  window *= 2^a (with control = "rate": pacing rate *= 2^a), then a step (default: one RTT)
    reward:               throughput * delay - loss
    throughput            payload delivered / payload that the bottleneck can carry in this time
    delay                 round trip without a queue / smoothed round trip, at most 1
    loss                  segments retransmitted / segments delivered and retransmitted

`throughput * delay` is the power of the connection (Kleinrock 1979), as a share of its maximum: it is 1 for a
constant window of one bandwidth-delay product, which keeps the link busy and the queue empty.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from bloatlab.driving import Flow
from bloatlab.errors import nearest
from bloatlab.gym.driven import DrivenEnv, seconds
from bloatlab.gym.episodes import Episode, Given
from bloatlab.scenario import ScenarioError, catalogue, overrides, quantity

#: A sender, a bottleneck with a drop-tail queue, and a receiver. No time series are recorded.
LINE: Mapping[str, Any] = {
    "name": "line",
    "duration": "10s",
    "link": {
        "line": {
            "from": "client",
            "to": "server",
            "both_ways": True,
            "rate": "10mbit",
            "delay": "20ms",
            "queue": {"droptail": {"limit": "100ms"}},
        }
    },
    "app": {"agent": {"from": "client", "to": ["server"], "traffic": {"ftp": {}}}},
    "record": {"interval": "1s", "links": [], "apps": []},
}
#: The values of `LINE` drawn for each episode: access lines from slow DSL to fibre, with small and bloated buffers.
LINE_AXES: Mapping[str, Any] = {
    "link.line.rate": {"from": "2mbit", "to": "50mbit", "log": True},
    "link.line.delay": {"from": "5ms", "to": "50ms", "log": True},
    "link.line.queue.droptail.limit": {"from": "20ms", "to": "500ms", "log": True},
}

#: If `interval` is not given, a step lasts one round trip (the minimum measured so far), but at least this time in s.
SHORTEST = 0.01
#: The agent's smallest window in segments (`LEAST`; twice as many with control = "rate"), and its largest in bytes
#: (`MOST`). After a timeout, the stack sets the window to one segment more than the data in flight.
LEAST, MOST = 2.0, 2.0**26
#: Maximum pacing rate, in bit/s.
FASTEST = 1e11
#: Number of steps over which the maximum delivery rate is taken, like the ten round trips of BBR version 1.
MEMORY = 10
#: While a connection opens, its state is polled at this interval, in s. It is shorter than a typical round trip, so the
#: first RTT that is read is that of the handshake.
LOOK = 0.001


def _headers(stack: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the bytes of a stack's IP and TCP headers, with options, in a data segment and in a SYN."""
    presets = {preset["name"]: preset["params"] for preset in catalogue()["tcp"]}
    full = {**presets[stack["preset"]], **stack}
    stamp = full["timestamp_bytes"] if full["timestamps"] else 0
    return full["header_bytes"] + stamp, full["header_bytes"] + full["syn_option_bytes"]


class CongestionControl(DrivenEnv):
    """The agent sets the window or the pacing rate of a TCP sender in each step, by default a round trip.

    The agent observes only what a real sender can. All other flows of the scenario are cross traffic. See docs/gym.md.
    """

    OPTION = "controller"
    OBSERVED: ClassVar[Mapping[str, tuple[float, float]]] = {
        "delay": (0.0, 8.0),
        "delay_change": (-4.0, 4.0),
        "delivery": (0.0, 1.0),
        "excess": (-8.0, 8.0),
        "window": (0.0, 20.0),
        "loss": (0.0, 1.0),
        "marks": (0.0, 1.0),
        "timeout": (0.0, 1.0),
        "action": (-1.0, 1.0),
    }
    PARTS = ("throughput", "delay", "loss", "rtt")

    def __init__(
        self,
        scenario: Given = LINE,
        axes: Mapping[str, Any] | None = None,
        *,
        app: str = "agent",
        link: str | None = None,
        control: Literal["window", "rate"] = "window",
        interval: float | str | None = None,
        stack: Mapping[str, Any] | None = None,
        reward: Callable[[Mapping[str, float]], float] | None = None,
        render_mode: None = None,
    ) -> None:
        """Prepares the environment; `scenario` and `axes` are the distribution of episodes (`bloatlab.gym.episodes`).

        `app` is the application whose first flow the agent controls, and `link` the bottleneck, by default the slowest
        link. `control` selects whether the agent sets the window or the pacing rate. `interval` is the length of a step
        in s, or a string such as "20ms"; by default, it is a round trip. `stack` contains parameters of the TCP stack
        at both ends (`{"ecn": True}`). `reward` computes the reward from its parts.

        Raises `ScenarioError`, `GridError` for the axes, `OSError` for a file, `ValueError` for the other arguments.
        """
        if control not in {"window", "rate"}:
            raise ValueError(f'control: {control!r} is not valid; expected "window" or "rate"')
        super().__init__(scenario, (LINE_AXES if scenario is LINE else {}) if axes is None else axes, link)
        self.render_mode = render_mode
        self._tcp = f"app.{json.dumps(app, ensure_ascii=False)}.tcp"
        self._episodes.refuse("tcp.agent", self._tcp, f"{self._tcp}_server")
        self._app, self._control = app, control
        self._length = None if interval is None else seconds("interval", interval)
        self._stack = dict(stack or {})
        for key in ("congestion_control", "python"):
            if key in self._stack:
                raise ValueError(f"stack: {key} is not valid, because the agent is the controller")
        self._reward = reward or (lambda parts: parts["throughput"] * parts["delay"] - parts["loss"])

    def _episode(self, builtin: Any) -> Episode:
        known = [preset["name"] for preset in catalogue()["tcp"]]
        if builtin is not None and builtin not in known:
            valid = f"one of {', '.join(known)}{nearest(str(builtin), known)}"
            raise ValueError(f"options: controller {builtin!r} is not valid; expected {valid}")
        own = {"preset": "linux-6", "congestion_control": "fixed", "paced": self._control == "window"}
        tcp = self._stack | {"preset": builtin} if builtin else own | self._stack
        # the server, which sends in a download, has the same stack
        sets = overrides({"tcp.agent": tcp, self._tcp: "agent", f"{self._tcp}_server": "agent"})
        state = self.np_random.bit_generator.state
        try:
            return self._episodes.draw(self.np_random, sets)
        except ScenarioError:
            # the overrides in `sets` cannot be applied if the scenario has no application `app`, so draw again without
            # them to list the valid names
            self.np_random.bit_generator.state = state
            apps = self._episodes.draw(self.np_random, []).scenario.data["app"]
            if self._app in apps:
                raise
            hint = f"({', '.join(apps)}){nearest(self._app, apps)}"
            raise ScenarioError([f"app: {self._app!r} is not an application of the scenario {hint}"]) from None

    def _begin(self, episode: Episode, watching: bool) -> list[float]:
        self._open(episode)
        self._watching = watching
        self._flow = self.simulation.flow(self._app)
        self._header, self._syn = _headers(episode.scenario.data["tcp"]["agent"])
        self._state = self._connect(episode)
        self._connections = self._active(self._state)
        self._sent = self._totals(self._state["direction"], self._state)
        srtt, window = self._state["srtt"], self._state["cwnd"]
        self._least = srtt
        self._window, self._pace = float(window), 8 * window / srtt
        self._rates = deque([8 * window / srtt], maxlen=MEMORY)
        self._action = 0.0
        return self._observation(0.0, 0.0, 0.0, 0.0, 0.0)

    def _connect(self, episode: Episode) -> dict[str, Any]:
        """Runs until the connection has an RTT sample; returns the sender's state at that time.

        Raises `ScenarioError`.
        """
        end = self.simulation.duration
        self._advance(min(quantity(episode.scenario.data["app"][self._app].get("start", "0s")), end))
        while self._now < end:
            state = self._read()
            if state is not None and state["srtt"] is not None:
                return state
            self._advance(min(self._now + LOOK, end))
        raise ScenarioError([f"app.{self._app}: it has no connection with a round trip before the end of the run"])

    def _read(self) -> dict[str, Any] | None:
        """Returns the sender's state; None while it has no connection."""
        try:
            return self._flow.read()
        except ScenarioError:
            return None

    def _active(self, state: dict[str, Any] | None) -> set[int]:
        """Returns the flow's connections over which payload may still arrive, and the connection of `state`.

        The connection of `state` may still await ACKs after all its payload has arrived.
        """
        return {*self._flow.active(), *([] if state is None else [state["connection"]])}

    def _totals(self, direction: Any, state: dict[str, Any] | None) -> dict[str, int]:
        """Returns `Flow.sent` for a direction, and the SACKed bytes of `state` (0 for the other direction)."""
        sacked = state["sacked"] if state is not None and state["direction"] == direction else 0
        return self._flow.sent(direction) | {"sacked": sacked}

    def _interval(self) -> float:
        return max(self._least, SHORTEST) if self._length is None else self._length

    def _act(self, action: float) -> None:
        if self._watching:
            return
        self._action = action
        mss, srtt = self._state["mss"], self._state["srtt"]
        if self._control == "rate":
            self._pace = min(max(self._pace * 2**action, 8 * mss / self._least), FASTEST)
            # if the agent controls the rate, the window is twice the data that this rate sends in a round trip, so it
            # only limits the data in flight on a stalled path
            self._window = min(max(2 * self._pace * srtt / 8, 2 * LEAST * mss), MOST)
            self._flow.pacing_rate = int(self._pace)
        else:
            self._window = min(max(self._window * 2**action, LEAST * mss), MOST)
        self._flow.ssthresh = int(self._window)
        # after a timeout, slow start grows the window up to the agent's window
        slow = self._state["state"] == "loss"
        self._flow.cwnd = max(int(min(self._window, self._state["cwnd"]) if slow else self._window), mss)

    def _run(self, until: float) -> tuple[float, list[float], bool, dict[str, Any]]:
        before, began = self._state, self._now
        taken = until - began
        rate = self._advance(until) / taken
        now = self._read()
        connections = self._active(now)
        closed = self._connections.isdisjoint(connections)
        self._connections = connections
        state = before if now is None or closed else now
        sent = self._totals(before["direction"], None if closed else now)
        delivered, sacked, again, timeouts, marks = (
            sent[key] - self._sent[key] for key in ("delivered", "sacked", "retransmits", "timeouts", "marks")
        )
        same = state["direction"] == before["direction"]
        self._sent = sent if same else self._totals(state["direction"], state)
        # a timeout may discard SACK information: `sacked` is then negative, and so may be the sum of `delivered` and
        # `sacked`
        delivered = max(delivered + sacked, 0)
        srtt, mss = state["srtt"] or before["srtt"], state["mss"]
        self._state = {**state, "srtt": srtt}
        self._least = min(self._least, srtt)
        segments = delivered / mss
        loss = again / (again + segments) if again else 0.0
        marked = min(marks / segments, 1.0) if segments else 0.0
        carried = rate * taken / 8 * mss / (mss + self._header)
        # the minimum round trip is usually that of the handshake; a data segment is larger than a SYN, so it takes
        # longer to send
        base = self._least + 8 * (mss + self._header - self._syn) / rate
        self._rates.append(8 * delivered / taken)
        parts = {"throughput": delivered / carried, "delay": min(base / srtt, 1.0), "loss": loss}
        reward = self._reward(parts)
        observation = self._observation(
            (srtt - before["srtt"]) / self._least,
            self._rates[-1] / (max(self._rates) or 1.0),
            loss,
            marked,
            min(timeouts, 1),
        )
        info = {**parts, "seconds": taken, "rtt": srtt, "rate": self._rates[-1], "cwnd": state["cwnd"]}
        return reward, observation, closed, info

    def _observation(self, change: float, delivery: float, loss: float, marked: float, timeouts: float) -> list[float]:
        state = self._state
        window = self._pace * self._least / 8 if self._control == "rate" and not self._watching else state["cwnd"]
        product = max(max(self._rates) * self._least / 8, 1.0)
        return [
            math.log2(state["srtt"] / self._least), change, delivery, math.log2(window / product),
            math.log2(max(window / state["mss"], 1.0)), loss, marked, timeouts, self._action,
        ]  # fmt: skip

    _flow: Flow
