"""Scenarios by name: the RRUL family of flent, and those of RFC 7928. A name stands where a scenario's file may.

    bloatlab run rrul --set rate=20mbit --set queue=fq_codel

A workload has parameters of its own (`rate`, `rtt`, `queue` ...), set like the values of a scenario; every other path
is one of the scenario that it becomes. `find` is the door.
"""

from bloatlab.workloads.build import Workload, WorkloadError
from bloatlab.workloads.names import WORKLOADS, find
from bloatlab.workloads.rrul import SILENCE

__all__ = ["SILENCE", "WORKLOADS", "Workload", "WorkloadError", "find"]
