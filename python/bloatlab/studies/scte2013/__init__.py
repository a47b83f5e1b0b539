"""SCTE 2013: taxonomy of bufferbloat management in DOCSIS 3.0 modems. See README.md beside this file."""

from bloatlab.studies.scte2013.study import reproduce
from bloatlab.studies.scte2013.text import EXPERIMENTS

__all__ = ["EXPERIMENTS", "reproduce"]
