"""All workloads by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from bloatlab.workloads import rfc7928, rrul
from bloatlab.workloads.build import Workload

#: Every workload, in the order in which they are listed.
WORKLOADS: Mapping[str, Workload] = {of.name: of for of in (*rrul.FAMILY, *rfc7928.FAMILY)}


def find(given: str | Path) -> Workload | None:
    """The workload of this name; none where there is a file of it, or no such name."""
    name = str(given)
    return WORKLOADS[name] if name in WORKLOADS and not Path(given).is_file() else None


def near(given: str | Path) -> str:
    """'; did you mean "rrul"?' for what is no file and nearly a name, or nothing."""
    ends = [name for name in WORKLOADS if name.endswith(f"-{given}")]
    found = ends or difflib.get_close_matches(str(given), list(WORKLOADS), n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""
