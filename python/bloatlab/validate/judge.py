"""Judges whether our value of each metric is within tolerance of the kernel's, and makes the tables.

within  iff  |ours - value| <= tol        ours, value: means over the seeds and over the kernel's runs

A value outside its tolerance may have an explanation: an experiment (changes to the scenario, as in `--set`), the value
that the experiment gives, and the conclusion. All other values outside tolerance are "not explained".
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from bloatlab.judgement import Share, finite, share, within_cell
from bloatlab.tables import TextCell, TextTable, row
from bloatlab.validate.reference import GRADES, Entry, Grade

#: The target share of metrics within tolerance, by grade. Grade C has none: its values serve only to rank scenarios.
WANTED: Mapping[Grade, float] = {"A": 0.90, "B": 0.80}


@dataclass(frozen=True, slots=True)
class Explanation:
    """An experiment that explains a metric's deviation from the kernel.

    `sets` are the experiment's changes to the scenario, as in `--set`. `gives` is the metric's value with these
    changes, and `says` is the conclusion.
    """

    sets: tuple[str, ...]
    gives: float
    says: str


def explanations() -> dict[tuple[str, str], Explanation]:
    """Returns all explanations, by scenario and metric."""
    file = resources.files("bloatlab.validate").joinpath("data", "explanations.toml")
    return {
        (given["scenario"], metric): Explanation(tuple(given["sets"]), float(gives), given["says"])
        for given in tomllib.loads(file.read_text(encoding="utf-8"))["experiment"]
        for metric, gives in given["gives"].items()
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric in a scenario. `ours` is NaN and `within` None if no seed has a value, or bloatlab lacks the metric."""

    scenario: str
    metric: str
    grade: Grade
    kernel: float
    tol: float
    by_seed: Sequence[float]
    explanation: Explanation | None = None

    @property
    def ours(self) -> float:
        """Our value: the mean over the seeds that have a value."""
        known = [v for v in self.by_seed if math.isfinite(v)]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def within(self) -> bool | None:
        """Whether bloatlab's value is within the tolerance; None if bloatlab has no value."""
        return None if math.isnan(self.ours) else abs(self.ours - self.kernel) <= self.tol

    def as_data(self) -> dict[str, Any]:
        """Returns the metric as plain data for JSON."""
        return {
            "scenario": self.scenario,
            "metric": self.metric,
            "grade": self.grade,
            "kernel": self.kernel,
            "tol": self.tol,
            "ours": finite(self.ours),
            "by_seed": [finite(v) for v in self.by_seed],
            "within": self.within,
            "explanation": None if self.explanation is None else asdict(self.explanation),
        }

    def texts(self) -> tuple[str, str, str]:
        """Formats the kernel's value, our value and the tolerance with four significant digits, as references do."""
        return f"{self.kernel:.4g}", "-" if math.isnan(self.ours) else f"{self.ours:.4g}", f"{self.tol:.4g}"


@dataclass(frozen=True, slots=True)
class Judged:
    """One scenario: its metrics, or the reason why the scenario is not supported."""

    entry: Entry
    cells: Sequence[Cell]
    unsupported: str = ""

    def table(self) -> TextTable:
        """Makes a table with one row per metric."""
        rows: list[list[TextCell]] = []
        for c in self.cells:
            kernel, ours, tol = c.texts()
            difference = "-" if math.isnan(c.ours) else f"{c.ours - c.kernel:+.3g}"
            verdict = within_cell(c.within, "within", "OUTSIDE", "not measured")
            rows.append(row(c.metric, c.grade, kernel, ours, difference, tol, verdict))
        outside = [c for c in self.cells if c.within is False]
        given: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for c in outside:
            if c.explanation is not None:
                of = c.explanation
                given.setdefault((of.sets, of.says), []).append(f"{c.metric} {of.gives:.4g}")
        notes = [
            f"{' '.join(f'--set {s}' for s in sets)} gives {', '.join(values)}: {says}"
            for (sets, says), values in given.items()
        ]
        bare = [c.metric for c in outside if c.explanation is None]
        notes += [f"not explained: {', '.join(bare)}"] if bare else []
        e = self.entry
        flows = " + ".join(f"{f.n} {f.cc}" for f in e.flows)
        title = f"{e.name}: {e.qdisc[:40]}, {e.rate_bps / 1e6:g} Mbit/s, {e.rtt_ms:g} ms, {flows}"
        heads = ["metric", "grade", "kernel", "ours", "difference", "tolerance", ""]
        return TextTable(title, heads, rows, "\n".join(notes), left=2)


@dataclass(frozen=True, slots=True)
class Validated:
    """The judged scenarios of a validation."""

    scenarios: Sequence[Judged]
    seeds: int

    @property
    def cells(self) -> list[Cell]:
        """All judged metrics of all scenarios."""
        return [c for s in self.scenarios for c in s.cells if c.within is not None]

    def share(self, grade: Grade) -> Share:
        """Returns the share of a grade's judged metrics that are within tolerance."""
        return share(grade, (c.within for c in self.cells if c.grade == grade), WANTED.get(grade))

    @property
    def met(self) -> bool:
        """Whether the target shares are reached; false if no grade A metric was judged."""
        return self.share("A").cells > 0 and all(self.share(grade).met is not False for grade in WANTED)

    def as_data(self) -> dict[str, Any]:
        """Returns the validation as plain data for JSON."""
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
        """Makes a table of the number of metrics within tolerance, by grade."""
        rows: list[list[TextCell]] = []
        for of in map(self.share, GRADES):
            percent = TextCell(f"{100.0 * of.share:.1f} %" if of.cells else "-", of.tone)
            rows.append(row(of.name, str(of.within), str(of.cells), percent, of.asked))
        return TextTable("Within tolerance", ["grade", "within", "judged", "share", "wanted"], rows)

    def outside(self) -> TextTable:
        """Makes a table of the metrics, in all scenarios, whose values are outside their tolerance."""
        rows = [row(c.scenario, c.metric, c.grade, *c.texts()) for c in self.cells if c.within is False]
        return TextTable("Outside tolerance", ["scenario", "metric", "", "kernel", "ours", "tolerance"], rows, left=2)

    def unsupported(self) -> Sequence[Judged]:
        """Returns the scenarios that could not be run, each with its reason."""
        return [s for s in self.scenarios if s.unsupported]


def judge(
    entry: Entry, by_seed: Sequence[Mapping[str, float]], explained: Mapping[tuple[str, str], Explanation]
) -> list[Cell]:
    """Compares bloatlab's values of a scenario's metrics, given for each seed, with the kernel's values."""
    cells: list[Cell] = []
    for metric, kernel in entry.metrics.items():
        values = [row.get(metric, math.nan) for row in by_seed]
        why = explained.get((entry.name, metric))
        cells.append(Cell(entry.name, metric, kernel.grade, kernel.value, kernel.tol, values, why))
    return cells
