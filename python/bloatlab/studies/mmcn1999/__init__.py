"""MMCN 1999: class-based thresholds against unresponsive traffic. See README.md beside this file."""

from bloatlab.studies.mmcn1999.build import EXPERIMENTS
from bloatlab.studies.mmcn1999.study import Reproduction, reproduce

NAME = "mmcn1999"
TITLE = "Lightweight Active Router-Queue Management for Multimedia Networking"
SOURCE = (
    "M. Parris, K. Jeffay, F. D. Smith: Lightweight Active Router-Queue Management for Multimedia Networking. "
    "Multimedia Computing and Networking, January 1999 (slides)."
)

__all__ = ["EXPERIMENTS", "NAME", "SOURCE", "TITLE", "Reproduction", "reproduce"]
