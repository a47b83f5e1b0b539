"""Cells: the kernel's value and ours, within the reference's tolerance or outside it, and the tables of them.

within  iff  |ours - value| <= tol        ours = mean over seeds, as `value` is the kernel's
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.judgement import Share, finite, share, within_cell
from bloatlab.tables import TextCell, TextTable, row
from bloatlab.validate.explanations import Explanation
from bloatlab.validate.reference import GRADES, Entry, Grade

#: Shares that are to be within tolerance, by grade; C is for order only.
WANTED: Mapping[Grade, float] = {"A": 0.90, "B": 0.80}


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric of a scenario. `ours` is NaN and `within` None where bloatlab has no such measure."""

    scenario: str
    metric: str
    grade: Grade
    kernel: float
    tol: float
    by_seed: Sequence[float]
    explanation: Explanation | None = None

    @property
    def ours(self) -> float:
        """Mean over the seeds that have a value."""
        known = [v for v in self.by_seed if math.isfinite(v)]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def within(self) -> bool | None:
        """Whether it is within tolerance; None where there is nothing to judge."""
        return None if math.isnan(self.ours) else abs(self.ours - self.kernel) <= self.tol

    def as_data(self) -> dict[str, Any]:
        """The cell as JSON."""
        return {
            "scenario": self.scenario,
            "metric": self.metric,
            "grade": self.grade,
            "kernel": self.kernel,
            "tol": self.tol,
            "ours": finite(self.ours),
            "by_seed": [finite(v) for v in self.by_seed],
            "within": self.within,
            "explanation": None if self.explanation is None else self.explanation.as_data(),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """One scenario: its cells, or why it is not supported."""

    entry: Entry
    cells: Sequence[Cell]
    unsupported: str = ""

    def table(self) -> TextTable:
        """A row per metric, 80 columns at most."""
        rows = [_row(cell) for cell in self.cells]
        notes = [f"{c.metric}: {c.explanation.line()}" for c in self.cells if c.explanation and c.within is False]
        bare = [c.metric for c in self.cells if c.within is False and c.explanation is None]
        notes += [f"not explained: {', '.join(bare)}"] if bare else []
        title = f"{self.entry.name}: {self.entry.qdisc[:40]}, {headline(self.entry)}"
        return TextTable(
            title, ["metric", "grade", "kernel", "ours", "difference", "tolerance", ""], rows, "\n".join(notes), left=2
        )


@dataclass(frozen=True, slots=True)
class Validated:
    """All scenarios of all files."""

    scenarios: Sequence[Judged]
    seeds: int

    @property
    def cells(self) -> list[Cell]:
        """All that were judged."""
        return [c for s in self.scenarios for c in s.cells if c.within is not None]

    def share(self, grade: Grade) -> Share:
        """How many of the judged cells of a grade are within."""
        return share(grade, (c.within for c in self.cells if c.grade == grade), WANTED.get(grade))

    @property
    def met(self) -> bool:
        """Whether the wanted shares are within; nothing of grade A judged is not met."""
        return self.share("A").cells > 0 and all(self.share(grade).met for grade in WANTED)

    def as_data(self) -> dict[str, Any]:
        """Everything as JSON."""
        shares = {g: {"within": of.within, "judged": of.cells} for g in GRADES for of in [self.share(g)]}
        return {
            "seeds": self.seeds,
            "wanted_shares": dict(WANTED),
            "met": self.met,
            "grades": shares,
            "scenarios": [
                {"name": s.entry.name, "qdisc": s.entry.qdisc, "unsupported": s.unsupported} for s in self.scenarios
            ],
            "cells": [c.as_data() for s in self.scenarios for c in s.cells],
        }

    def shares(self) -> TextTable:
        """Cells within tolerance by grade."""
        rows = [
            row(
                of.name,
                str(of.within),
                str(of.cells),
                TextCell(f"{100.0 * of.share:.1f} %" if of.cells else "-", of.tone),
                of.asked,
            )
            for of in map(self.share, GRADES)
        ]
        return TextTable("Within tolerance", ["grade", "within", "judged", "share", "wanted"], rows)

    def outside(self) -> TextTable:
        """The judged cells that are outside, of all scenarios."""
        rows = [row(c.scenario, c.metric, c.grade, *_values(c)) for c in self.cells if c.within is False]
        return TextTable("Outside tolerance", ["scenario", "metric", "", "kernel", "ours", "tolerance"], rows, left=2)

    def unsupported(self) -> Sequence[Judged]:
        """What could not be run, each with its reason."""
        return [s for s in self.scenarios if s.unsupported]


def judge(
    entry: Entry, by_seed: Sequence[Mapping[str, float]], explained: Mapping[tuple[str, str], Explanation]
) -> list[Cell]:
    """The cells of a scenario: what each seed measured, beside the kernel."""
    return [
        Cell(
            entry.name,
            metric,
            kernel.grade,
            kernel.value,
            kernel.tol,
            [row.get(metric, math.nan) for row in by_seed],
            explained.get((entry.name, metric)),
        )
        for metric, kernel in entry.metrics.items()
    ]


def headline(entry: Entry) -> str:
    """Rate, round trip and flows in a few words."""
    flows = " + ".join(f"{f.n} {f.cc}" for f in entry.flows)
    return f"{entry.rate_bps / 1e6:g} Mbit/s, {entry.rtt_ms:g} ms, {flows}"


def figure(value: float) -> str:
    """Four significant digits, as the references have."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def _row(cell: Cell) -> list[TextCell]:
    verdict = within_cell(cell.within, "within", "OUTSIDE", "not measured")
    kernel, ours, tol = _values(cell)
    difference = "-" if math.isnan(cell.ours) else f"{cell.ours - cell.kernel:+.3g}"
    return row(cell.metric, cell.grade, kernel, ours, difference, tol, verdict)


def _values(cell: Cell) -> tuple[str, str, str]:
    return figure(cell.kernel), figure(cell.ours), figure(cell.tol)
