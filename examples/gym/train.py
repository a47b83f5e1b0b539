"""Trains an agent with Stable-Baselines3's PPO, and compares it with built-in algorithms in episodes it has not seen.

    make train                                   installs what this needs (5 GB), trains both agents, prints the tables
    train.py congestion-control [--steps N] [--seed N] [--episodes N] [--save FILE.zip]
    train.py aqm ...

The test episodes use seeds that were not used in training. There is one table for each scenario: first that of the
training, and then the files in this folder, which were not used in training.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import torch
from gymnasium.wrappers import FlattenObservation, FrameStackObservation
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import bloatlab.gym

HERE = Path(__file__).parent
#: Number of environments stepped together.
ENVIRONMENTS = 8
#: Number of latest observations that the agent sees.
FRAMES = 4
#: First seed of the test episodes. Training uses `--seed` and the next `ENVIRONMENTS` - 1 seeds, one per environment.
UNSEEN = 1_000_000


@dataclass(frozen=True)
class Task:
    """An environment, the numbers of training steps and test episodes, the rivals, and the test scenarios."""

    env: str
    steps: int
    episodes: int
    rivals: tuple[str, ...]
    scenarios: tuple[str, ...]


TASKS = {
    "congestion-control": Task(
        "bloatlab/CongestionControl-v0",
        250_000,
        40,
        ("reno", "cubic", "bbr", "bbr3", "ledbat"),
        ("codel", "fast", "lossy", "shared", "varying"),
    ),
    "aqm": Task("bloatlab/Aqm-v0", 50_000, 20, ("droptail", "codel", "pie"), ("bbr-uploads", "mixed", "step")),
}


def made(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """Makes an environment that combines its last `FRAMES` observations into one vector."""
    return FlattenObservation(
        FrameStackObservation(gymnasium.make(name, disable_env_checker=True, **arguments), FRAMES)
    )


def trained(task: Task, steps: int, seed: int) -> PPO:
    """Trains an agent."""
    torch.set_num_threads(1)
    envs = DummyVecEnv([lambda: made(task.env) for _ in range(ENVIRONMENTS)])
    envs.seed(seed)
    model = PPO(
        "MlpPolicy", envs, seed=seed, device="cpu", n_steps=512, batch_size=512, n_epochs=10, learning_rate=5e-4,
        gamma=0.98, policy_kwargs={"log_std_init": -1.0, "net_arch": [64, 64]},
    )  # fmt: skip
    return model.learn(steps)


def table(task: Task, agent: Callable[[Any], Any], scenario: str | None, episodes: int) -> pl.DataFrame:
    """Returns the mean of each measure over the test episodes of a scenario, one row per policy."""
    env = made(task.env) if scenario is None else made(task.env, scenario=HERE / f"{scenario}.toml")
    policies: Mapping[str, Any] = {"agent": agent} | {name: name for name in task.rivals}
    judged = bloatlab.gym.judge(env, policies, episodes, UNSEEN)
    means = judged.group_by("policy", maintain_order=True).agg(pl.selectors.float().exclude("episode").mean())
    return means.insert_column(0, pl.Series("scenario", [scenario or "own"] * len(means)))


def main() -> None:
    """Trains an agent and compares it with its rivals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--save", type=Path, help="keep the agent in this file, which PPO.load reads")
    given = parser.parse_args()
    task = TASKS[given.task]
    steps, episodes = given.steps or task.steps, given.episodes or task.episodes
    begun = time.perf_counter()
    model = trained(task, steps, given.seed)
    wall, cpu = time.perf_counter() - begun, time.process_time()
    print(f"{given.task}: {steps} steps in {wall:.0f} s, {cpu:.0f} s of CPU time", flush=True)
    if given.save:
        model.save(given.save)

    def agent(observation: Any) -> Any:
        return np.clip(model.predict(observation, deterministic=True)[0], -1.0, 1.0)

    for scenario in (None, *task.scenarios):
        print(
            table(task, agent, scenario, episodes if scenario is None else max(episodes // 4, 1)),
            flush=True,
        )


if __name__ == "__main__":
    main()
