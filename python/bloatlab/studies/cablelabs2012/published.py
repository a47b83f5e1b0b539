"""The paper's numbers, read from `published.csv`, which contains none of our measurements."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bloatlab.studies import published
from bloatlab.studies.declared import Declared
from bloatlab.studies.published import Row
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue

DECLARED = Declared("cablelabs2012")

#: The maximum that the shaper lets through in 600 s, in kB: a 10 MB burst, and 375 MB (5 Mbit/s for 600 s).
CEILING_KB = 385_000.0

#: Metrics measured in the paper, by their names in `published.csv`, in the order of its tables.
LOST = "VoIP lost"
LATE = "VoIP late"
PLR = "VoIP total plr"
MEDIAN = "page load time median"
MAD = "page load time MAD"
PAGES = "pages completed in 600 s"
MOS = "VoIP MOS"
FTP = "FTP kBytes in 600 s"
MEASURED = (LOST, LATE, PLR, MEDIAN, MAD, PAGES, MOS, FTP)

#: Metrics that the paper derives from its measurements: `MEDIAN_AGAIN` repeats the median page load time, and the other
#: three compare CoDel with DropTail.
MOS_DELTA = "MOS delta CoDel-DropTail"
FTP_RATIO = "FTP CoDel/DropTail"
MEDIAN_AGAIN = "median PLT"
MEDIAN_RATIO = "median PLT CoDel/DropTail"
DERIVED = (MOS_DELTA, FTP_RATIO, MEDIAN_AGAIN, MEDIAN_RATIO)

#: The unit, the number of digits and the heading of each metric.
UNITS, DIGITS, HEADS = (
    {name: metric[key] for name, metric in DECLARED.table("metrics").items()} for key in ("unit", "digits", "head")
)

_CASE = re.compile(r"^(D|C)(\d\d) (?:DropTail|CoDel) (\d+)pkt(?: run\d)? ")
_ROW = re.compile(r"^case (\d\d) vs (417|21)pkt ")
_TABLE = re.compile(r"^Table (\d) ")

_DROPTAIL = {"417": Queue.DROPTAIL_417, "21": Queue.DROPTAIL_21}


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """A cell in the paper: one value, or the values from the two runs of a CoDel configuration.

    `values` are numbers: infinity for ">600", empty for "-" and "N/A". `printed` is the printed text.
    """

    case: Case
    metric: str
    tables: tuple[int, ...]
    values: tuple[float, ...]
    printed: str


def rows() -> Sequence[Row]:
    """Returns every row of `published.csv`."""
    return published.rows("cablelabs2012")


@functools.cache
def measured() -> Sequence[PublishedCell]:
    """Returns the measured cells of Tables 3 to 8.

    The two CoDel runs form a single cell. A value printed in two tables is also a single cell.
    """
    found: dict[tuple[Case, str], list[Row]] = {}
    for row in rows():
        which = _case_of(row.case)
        if which is not None and row.metric in MEASURED and _TABLE.match(row.where):
            found.setdefault((which, row.metric), []).append(row)
    cases = [Case(n, q) for q in Queue for n in NUMBERS]
    return tuple(_merge(c, m, found[c, m]) for m in MEASURED for c in cases if (c, m) in found)


@functools.cache
def derived() -> Sequence[PublishedCell]:
    """Returns the cells that the paper derives from measured cells: repeated values, and comparisons of two values.

    A cell that compares DropTail with CoDel is stored under the DropTail case.
    """
    found = [row for row in rows() if row.metric in DERIVED]
    return tuple(_merge(which, row.metric, [row]) for row in found if (which := _case_of(row.case)) is not None)


@functools.cache
def by_key() -> Mapping[tuple[str, str], PublishedCell]:
    """Returns the measured cells by case key and metric."""
    return {(cell.case.key, cell.metric): cell for cell in measured()}


def number(text: str) -> float | None:
    """Parses a printed value.

    ">600" is infinity (no page completed), "-" and "N/A" are None, "+0.1" and "<0.6" are numbers.
    """
    if text in ("-", "N/A"):
        return None
    if text.startswith(">"):
        return math.inf
    return float(text.lstrip("<+").rstrip("%"))


def _case_of(text: str) -> Case | None:
    if match := _ROW.match(text):
        return Case(int(match[1]), _DROPTAIL[match[2]])
    match = _CASE.match(text)
    return match and Case(int(match[2]), Queue.CODEL if match[1] == "C" else _DROPTAIL[match[3]])


def _merge(which: Case, metric: str, given: Sequence[Row]) -> PublishedCell:
    """Makes one cell from all rows of the file that belong to the cell.

    If the rows are from two runs, the cell has two values, even if they are equal. If the rows are from a single run,
    they repeat the same value, and the cell has only one.
    """
    tables = sorted({int(m[1]) for r in given if (m := _TABLE.match(r.where))})
    runs = {r.case for r in given}
    distinct = given if len(runs) > 1 else given[:1]
    values = tuple(v for r in distinct if (v := number(r.value)) is not None)
    return PublishedCell(which, metric, tuple(tables), values, " / ".join(r.value for r in distinct))
