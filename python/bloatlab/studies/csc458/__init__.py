"""CSC458, the Mininet bufferbloat lab, simulated and on kernels. See README.md beside this file."""

from bloatlab.studies.csc458.build import EXPERIMENTS
from bloatlab.studies.csc458.study import reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
