"""What thirteen years have changed: the loads of CableLabs 2012 on the equipment of then and of today. See README.md."""

from bloatlab.studies.today.study import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
