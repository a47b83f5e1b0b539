"""Recommends the settings of a device's buffer and queue, by simulation. `recommend` is the entry point."""

from bloatlab.advice.catalogue import AdviceError, Device, Load, Objective, names
from bloatlab.advice.question import Asked, Question, asked
from bloatlab.advice.recommend import answered, recommend
from bloatlab.advice.recommendation import Recommendation

__all__ = ["AdviceError", "Asked", "Device", "Load", "Objective", "Question", "Recommendation"]
__all__ += ["answered", "asked", "names", "recommend"]
