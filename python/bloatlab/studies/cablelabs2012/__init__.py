"""CableLabs 2012: CoDel on a DOCSIS 3.0 cable modem. See README.md beside this file."""

from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.cablelabs2012.study import reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
