"""Scenarios by name: the RRUL family of flent, and those of RFC 7928. A name stands where a scenario's file may.

    bloatlab run rrul --set rate=20mbit --set queue=fq_codel

A workload has parameters of its own (`rate`, `rtt`, `queue` ...), set like the values of a scenario; every other path
is one of the scenario that it becomes. `find` is the door.

`cable_home` and `cable_loads` are no workloads by name: the home, its modem and its loads that studies share.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bloatlab.errors import nearest
from bloatlab.workloads import rfc7928, rrul
from bloatlab.workloads.build import Workload, WorkloadError
from bloatlab.workloads.rrul import SILENCE

__all__ = ["SILENCE", "WORKLOADS", "Workload", "WorkloadError", "find", "near"]

#: Every workload, in the order in which they are listed.
WORKLOADS: Mapping[str, Workload] = {of.name: of for of in (*rrul.FAMILY, *rfc7928.FAMILY)}


def find(given: str | Path) -> Workload | None:
    """The workload of this name; none where there is a file of it, or no such name."""
    name = str(given)
    return WORKLOADS[name] if name in WORKLOADS and not Path(given).is_file() else None


def near(given: str | Path) -> str:
    """'; did you mean "rrul"?' for what is no file and nearly a name, or nothing."""
    ends = [name for name in WORKLOADS if name.endswith(f"-{given}")]
    return nearest(ends[0] if ends else str(given), WORKLOADS)
