"""SCTE 2013: taxonomy of bufferbloat management in DOCSIS 3.0 modems. See README.md beside this file."""

from bloatlab.studies.scte2013.study import Reproduction, reproduce
from bloatlab.studies.scte2013.text import EXPERIMENTS

NAME = "scte2013"
TITLE = "Minimizing Bufferbloat and Optimizing Packet Stream Performance in DOCSIS 3.0 CMs and CMTSs"
SOURCE = "T. Cloonan, J. Allen, T. Cotter, B. Widrevitz, J. Howe (ARRIS): the same. SCTE, 2013."

__all__ = ["EXPERIMENTS", "NAME", "SOURCE", "TITLE", "Reproduction", "reproduce"]
