"""`published.csv` in a study's folder: every quantitative statement of its paper. Nothing in it was measured by us.

The notes begin with what a row is: a parameter, a theory (computable), a result, a claim in prose, an observation.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the file, as written."""

    case: str
    metric: str
    value: str
    unit: str
    where: str
    note: str


@functools.cache
def rows(study: str) -> Sequence[Row]:
    """Every row of the file of the study called `study`, in the file's order."""
    text = resources.files(f"bloatlab.studies.{study}").joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(
        Row(r["case"], r["metric"], r["value"], r["unit"], r["where"], r["note"])
        for r in csv.DictReader(text.splitlines())
    )
