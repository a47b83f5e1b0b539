"""L4S: RFC 9330, RFC 9332 and the L4S tests' tables. See README.md beside this file."""

from bloatlab.studies.l4s.study import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
