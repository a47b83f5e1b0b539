"""What the folders of all reproductions share."""

from __future__ import annotations

import datetime as dt
import os
import platform
import sys
import time
from typing import Any

import polars as pl

from bloatlab.scenario import version


def file_name(key: str) -> str:
    """The key of a run as the name of a file."""
    return key.replace("/", "-").replace(" ", "_")


def provenance(runs: int, seconds: float, found: int = 0) -> dict[str, Any]:
    """Where a reproduction came from: what no comparison of results may look at. `found` runs came from the store."""
    return {
        "bloatlab": version(),
        "written": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "runs": runs,
        "runs_from_store": found,
        "wall_seconds": round(seconds, 2),
        "process_seconds": round(time.process_time(), 2),
        "machine": platform.machine(),
        "system": platform.platform(),
        "host": platform.node(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "polars": pl.__version__,
        "command": sys.argv,
    }
