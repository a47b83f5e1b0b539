"""The base of both environments: it runs episodes step by step, following Gymnasium's conventions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Box
from numpy.typing import NDArray

from bloatlab.driving import Simulation, open  # noqa: A004  bloatlab.open
from bloatlab.errors import nearest
from bloatlab.gym.episodes import Episode, Episodes, Given
from bloatlab.scenario import Scenario, ScenarioError, amount, plain, quantity

#: The type of observations and actions.
Vector = NDArray[np.float32]


def slowest(scenario: Scenario) -> str:
    """Returns the name of the link with the lowest rate. Raises `ScenarioError` if no link has a rate."""
    rates = {name: rate for name, (rate, _) in scenario.link_rates().items() if rate}
    if not rates:
        raise ScenarioError(["link: no link has a rate; name the bottleneck: link=NAME"])
    return min(rates, key=lambda name: rates[name])


def seconds(name: str, given: float | str) -> float:
    """Returns a duration in s, from a number of seconds or a string such as "20ms". Raises `ValueError`."""
    value = plain(given)
    found = ("duration", value * 1e9) if isinstance(value, (int, float)) else None
    if isinstance(value, str):
        found = amount(value)
    if found is None or found[0] != "duration" or not found[1] >= 1:
        valid = 'at least 1 ns: a number of seconds, or a string such as "20ms"'
        raise ValueError(f"{name}: {str(given)[:80]!r} is not valid; expected {valid}")
    return found[1] / 1e9


class DrivenEnv(gymnasium.Env[Vector, Vector]):
    """An environment around a simulation. An action changes the simulation, which then runs for an interval.

    An episode ends with the scenario, and `truncated` is then true; or earlier, with `terminated`, if the flow ends.
    Nothing is rendered.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  as in the base class
    #: The key in the `options` of `reset` for the built-in controller or law that acts instead of the agent.
    OPTION: ClassVar[str]
    #: The names and bounds of the observations.
    OBSERVED: ClassVar[Mapping[str, tuple[float, float]]]
    #: The keys of `info` that `judge` averages: the parts of the reward, and the round trip or the queueing delay.
    PARTS: ClassVar[tuple[str, ...]]

    def __init__(self, scenario: Given, axes: Mapping[str, Any], link: str | None) -> None:
        """Reads the scenarios and axes."""
        low, high = np.array(list(self.OBSERVED.values()), np.float32).T
        self.observation_space = Box(low, high)
        self.action_space = Box(-1.0, 1.0, (1,))
        self._episodes = Episodes(scenario, axes)
        self._named = link
        self._simulation: Simulation | None = None
        #: The time of the simulation in s. Reading `simulation.now` takes longer.
        self._now = 0.0
        self._over = True

    @property
    def simulation(self) -> Simulation:
        """The simulation of this episode; do not change it. Raises `ResetNeeded` if there is none: call `reset`."""
        if self._simulation is None:
            raise ResetNeeded("the environment has no episode yet: call reset() first")
        return self._simulation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Begins an episode; returns its first observation, and an `info` with the seed, the drawn values and the time.

        If `options` contains the key `OPTION`, the built-in controller or law that it names acts instead of the agent,
        and actions have no effect. Raises `ScenarioError`, and `ValueError` for an unknown option.
        """
        super().reset(seed=seed)
        for key in options or {}:
            if key != self.OPTION:
                raise ValueError(
                    f"options: unknown option {key!r}; expected {self.OPTION!r}{nearest(str(key), [self.OPTION])}"
                )
        builtin = (options or {}).get(self.OPTION)
        episode = self._episode(builtin)
        self._over = False
        observation = self._begin(episode, builtin is not None)
        info = {"seed": episode.scenario.seed, "axes": dict(episode.drawn), "time": self._now}
        return self._bounded(observation), info

    def step(self, action: Vector) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Applies an action and runs for an interval.

        Raises `InvalidAction` for an action outside the action space, `ResetNeeded` outside an episode.
        """
        if self._over:
            raise ResetNeeded("the episode is over, or has not begun: call reset() before step()")
        given = np.asarray(action, np.float32)
        if not self.action_space.contains(given):
            raise InvalidAction(f"the action {action!r} is not in the action space {self.action_space}")
        now, interval, end = self._now, self._interval(), self.simulation.duration
        # if at most half an interval would remain after this step, the step lasts until the end of the scenario
        until = now + interval if now + 1.5 * interval < end else end
        self._act(float(given[0]))
        reward, observation, terminated, info = self._run(until)
        self._over = terminated or until == end
        info["time"] = self._now
        return self._bounded(observation), float(reward), terminated, self._over and not terminated, info

    def close(self) -> None:
        """Ends the episode."""
        self._simulation, self._over = None, True

    def _open(self, episode: Episode, laws: Mapping[str, type] | None = None) -> None:
        """Opens the simulation of an episode. Raises `ScenarioError` if the bottleneck has no rate."""
        self._simulation, self._now = open(episode.scenario, laws=laws), 0.0
        name = self._named or slowest(episode.scenario)
        link = self._simulation.link(name)
        if not link.rate:
            raise ScenarioError([f"link: {link!r} has no rate, with which the reward compares; expected another link"])
        shaped = episode.scenario.link_rates()[name.removeprefix("~")][1]
        self._link, self._shaped = link, math.inf if shaped is None else float(shaped)
        self._rate = min(float(link.rate), self._shaped)
        links = episode.scenario.data["link"].values()
        self._changes = deque(sorted({quantity(change["at"]) for one in links for change in one.get("changes", ())}))

    def _advance(self, until: float) -> float:
        """Runs to a time in s; returns the bits that the bottleneck can carry until then.

        `_rate` is the bottleneck's rate in bit/s, during an outage its rate before the outage. It is at most `_shaped`,
        the rate of the queue's own shaper.
        """
        simulation, bits, now = self.simulation, 0.0, self._now
        until = round(until, 9)  # rounded to whole ns, like the times of changes
        while self._changes and self._changes[0] < until:
            at = self._changes.popleft()
            bits, now = bits + self._rate * (at - now), at
            simulation.run_until(min(at + 1e-9, until))  # 1 ns later, the change has been made
            self._rate = min(float(self._link.rate or self._rate), self._shaped)
        simulation.run_until(until)
        self._now = until
        return bits + self._rate * (until - now)

    def _bounded(self, observation: list[float]) -> Vector:
        space = self.observation_space
        assert isinstance(space, Box)  # noqa: S101  made above
        return np.clip(np.array(observation, np.float32), space.low, space.high)

    @abstractmethod
    def _episode(self, builtin: Any) -> Episode:
        """Draws an episode. `builtin` is the controller or law that acts instead of the agent, if any."""

    @abstractmethod
    def _begin(self, episode: Episode, watching: bool) -> list[float]:
        """Opens an episode; returns the first observation.

        With `watching`, a built-in controller or law acts, and the agent's actions have no effect.
        """

    @abstractmethod
    def _interval(self) -> float:
        """Returns the length of the next step, in s."""

    @abstractmethod
    def _act(self, action: float) -> None:
        """Applies an action of -1 to 1."""

    @abstractmethod
    def _run(self, until: float) -> tuple[float, list[float], bool, dict[str, Any]]:
        """Runs to a time in s; returns the reward, the observation, whether the flow has ended, and an `info`."""
