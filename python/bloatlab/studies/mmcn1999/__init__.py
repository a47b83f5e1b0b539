"""MMCN 1999: class-based thresholds against unresponsive traffic. See README.md beside this file."""

from bloatlab.studies.mmcn1999.build import EXPERIMENTS
from bloatlab.studies.mmcn1999.study import reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
