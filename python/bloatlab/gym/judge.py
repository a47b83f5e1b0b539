"""Compares agents with built-in controllers and laws, in the same episodes and with the same reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import polars as pl

from bloatlab.gym.driven import DrivenEnv, Vector
from bloatlab.sweep.axes import GridError

#: An agent, which is a function from an observation to an action; or the name of a built-in controller or law; or a
#: table that contains a law and its parameters.
Policy = Callable[[Vector], Vector] | str | Mapping[str, Any]


def judge(
    env: gymnasium.Env[Any, Any], policies: Mapping[str, Policy], episodes: int = 20, seed: int = 0
) -> pl.DataFrame:
    """Runs every policy in the same episodes; returns one row per policy and episode.

    The rows are in the order of `policies`, then of episodes. `policies` maps the names in the table to policies.
    Episode n begins with `env.reset(seed=seed + n)`. Each row contains the drawn values, and the means over time of the
    reward and of the environment's `PARTS`. Raises `ScenarioError`, `GridError` if an axis has the name of another
    column, and `ValueError` for an unknown controller.
    """
    return pl.DataFrame(
        [
            {"policy": name, "episode": n} | _episode(env, policy, seed + n)
            for name, policy in policies.items()
            for n in range(episodes)
        ]
    )


def _episode(env: gymnasium.Env[Any, Any], policy: Policy, seed: int) -> dict[str, Any]:
    """Runs one episode; returns the values drawn for its axes, and the means over time of the reward and of `PARTS`."""
    driven = env.unwrapped
    if not isinstance(driven, DrivenEnv):
        raise TypeError(f"judge: {env} is not an environment of bloatlab")
    acts = policy if callable(policy) else None
    observation, info = env.reset(seed=seed, options={} if acts else {driven.OPTION: policy})
    rest = np.zeros(1, np.float32)
    means = ("reward", *driven.PARTS)
    columns = ("policy", "episode", *means)
    if (name := next((axis for axis in info["axes"] if axis in columns), None)) is not None:
        others = ", ".join(columns)
        raise GridError(f"axes: {name} is the name of a column of judge's table; expected another (not {others})")
    sums: dict[str, float] = {}
    drawn, time, over = info["axes"], 0.0, False
    while not over:
        action = acts(observation) if acts else rest
        observation, reward, terminated, truncated, info = env.step(action)
        over, taken = terminated or truncated, info["seconds"]
        time += taken
        for key in means:
            sums[key] = sums.get(key, 0.0) + taken * (float(reward) if key == "reward" else info[key])
    return dict(drawn) | {key: value / time for key, value in sums.items()}
