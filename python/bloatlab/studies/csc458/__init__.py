"""CSC458, the Mininet bufferbloat lab, simulated and on kernels. See README.md beside this file."""

from bloatlab.studies.csc458.build import EXPERIMENTS
from bloatlab.studies.csc458.study import Reproduction, reproduce

NAME = "csc458"
TITLE = "The Mininet bufferbloat lab (CSC458)"
SOURCE = "Z. Zhang: CSC458 Programming Assignment 2 Report: Bufferbloat Problem. University of Toronto."

__all__ = ["EXPERIMENTS", "NAME", "SOURCE", "TITLE", "Reproduction", "reproduce"]
