"""Environments for reinforcement learning, with the interface of Gymnasium, which is installed by the extra `gym`.

    import gymnasium
    import bloatlab.gym

    env = gymnasium.make("bloatlab/CongestionControl-v0")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

The import registers `bloatlab/CongestionControl-v0`, in which the agent sets the window or the pacing rate of a TCP
sender, and `bloatlab/Aqm-v0`, in which it sets the drop or mark probability of a queue. `judge` compares agents with
the built-in controllers and laws in the same episodes. See docs/gym.md.
"""

try:
    import gymnasium
except ModuleNotFoundError:
    raise ImportError("bloatlab.gym: gymnasium is not installed: pip install gymnasium") from None

from bloatlab.gym.aqm import Aqm
from bloatlab.gym.congestion_control import CongestionControl
from bloatlab.gym.judge import judge

__all__ = ["Aqm", "CongestionControl", "judge"]

# after a failed first reset, gymnasium's checker fails at every step, even if a later reset succeeds
gymnasium.register("bloatlab/CongestionControl-v0", "bloatlab.gym:CongestionControl", disable_env_checker=True)
gymnasium.register("bloatlab/Aqm-v0", "bloatlab.gym:Aqm", disable_env_checker=True)
