"""CableLabs 2012: CoDel on a DOCSIS 3.0 cable modem. See README.md beside this file."""

from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS
from bloatlab.studies.cablelabs2012.study import Reproduction, reproduce

NAME = "cablelabs2012"
TITLE = "Preliminary Study of CoDel AQM in a DOCSIS Network"
SOURCE = "G. White, J. Padden: Preliminary Study of CoDel AQM in a DOCSIS Network. CableLabs, November 2012."

__all__ = ["EXPERIMENTS", "NAME", "SOURCE", "TITLE", "Reproduction", "reproduce"]
