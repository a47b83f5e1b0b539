"""Scenarios by name: flent's RRUL family, and the scenarios of RFC 7928. A name can be given instead of a file.

    bloatlab run rrul --set rate=20mbit --set queue=fq_codel

A workload has its own parameters (`rate`, `rtt`, `queue` ...), which are set like the values of a scenario. If `--set`
names anything else, it overrides a value in the scenario that the workload builds. `find` looks up a name.

`cable_home` and `cable_loads` are not workloads: they build a home with a cable modem, and its loads, for studies.
"""

from collections.abc import Mapping
from pathlib import Path

from bloatlab.errors import nearest
from bloatlab.workloads import rfc7928, rrul
from bloatlab.workloads.build import Workload, WorkloadError

__all__ = ["WORKLOADS", "Workload", "WorkloadError", "find", "near"]

#: Every workload, in listing order.
WORKLOADS: Mapping[str, Workload] = {of.name: of for of in (*rrul.FAMILY, *rfc7928.FAMILY)}


def find(given: str | Path) -> Workload | None:
    """Returns the workload with this name; None if there is none, or if a file has the same name."""
    name = str(given)
    return WORKLOADS[name] if name in WORKLOADS and not Path(given).is_file() else None


def near(given: str | Path) -> str:
    """Returns '; did you mean "rrul"?' for a string that resembles a workload's name; otherwise an empty string."""
    ends = [name for name in WORKLOADS if name.endswith(f"-{given}")]
    return nearest(ends[0] if ends else str(given), WORKLOADS)
