"""What to set a device's buffer and queue to: simulated, judged, said in words. `recommend` is the door."""

from bloatlab.advice.catalogue import AdviceError, Device, Load, Objective, names
from bloatlab.advice.question import Question
from bloatlab.advice.recommend import answered, asked, recommend
from bloatlab.advice.recommendation import Recommendation

__all__ = [
    "AdviceError",
    "Device",
    "Load",
    "Objective",
    "Question",
    "Recommendation",
    "answered",
    "asked",
    "names",
    "recommend",
]
