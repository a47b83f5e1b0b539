"""Verdicts on a criterion, a case or a controller: met, not met, not applicable, or cannot be judged here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree as ET

from bloatlab.expectations import keeps
from bloatlab.judge.measures import FAILURE, MISSING
from bloatlab.judge.suites import Case, Criterion, Outside, Suite
from bloatlab.scenario import Scenario
from bloatlab.statistics import Interval, interval
from bloatlab.tables import Tone

Word = Literal["met", "not met", "not applicable", "cannot be judged here"]
WORDS: Sequence[Word] = ("met", "not met", "not applicable", "cannot be judged here")
TONES: Mapping[Word, Tone] = {
    "met": "good",
    "not met": "bad",
    "not applicable": "muted",
    "cannot be judged here": "muted",
}

#: A run's numbers, by name.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on one criterion, the measured value (`figure`), and the reason if there is no value.

    If the value is a ratio, `parts` are the means of its two terms: the judged subject's and the other subject's.
    """

    criterion: Criterion
    word: Word
    over: Interval | None = None
    reason: str = ""
    parts: tuple[float, float] | None = None

    @property
    def figure(self) -> float | None:
        """The mean of the measured values over seeds."""
        return None if self.over is None else self.over.mean

    @property
    def measured(self) -> str:
        """The mean as text, with its 95 % interval if there are several seeds, and with both terms if it is a ratio.

        If there is no mean, the text says why.
        """
        if self.over is None:
            return self.reason
        low, high = self.over.ends
        seeds = [f"{low:.3g} to {high:.3g}, {self.over.n} seeds"] if self.over.n > 1 else []
        parts = [f"{self.parts[0]:.4g} / {self.parts[1]:.4g}"] if self.parts is not None else []
        more = "; ".join([*seeds, *parts])
        return f"{self.over.mean:.4g}" + (f" ({more})" if more else "")


@dataclass(frozen=True, slots=True)
class Tried:
    """A case with its verdicts and the scenario that was run (None if it was not run)."""

    case: Case
    rulings: Sequence[Ruling]
    scenario: Scenario | None = None
    frames: Mapping[str, Any] | None = None

    @property
    def word(self) -> Word:
        """The verdict on the case: not met if any criterion is not met; otherwise met if at least one is met.

        Criteria that are conditions do not count here, but if one of them is not met, the case is not judged.
        """
        if any(r.word == "not met" for r in self.rulings if r.criterion.condition):
            return "cannot be judged here"
        words = {ruling.word for ruling in self.rulings if not ruling.criterion.condition}
        order: Sequence[Word] = ("not met", "met", "cannot be judged here", "not applicable")
        return next(word for word in order if word in words)

    @property
    def misses_only_ours(self) -> bool:
        """Whether the verdict is "not met", but only because of limits that we chose and the document does not give."""
        missed = [r for r in self.rulings if r.word == "not met" and not r.criterion.condition]
        return self.word == "not met" and all(r.criterion.by == "ours" for r in missed)


@dataclass(frozen=True, slots=True)
class Judged:
    """A suite's verdicts on one controller, queue or transport.

    The scenarios of a transport do not contain the judged flows, because the transport's code is not part of a
    scenario.
    """

    suite: Suite
    name: str
    tried: Sequence[Tried]
    is_transport: bool = False

    @property
    def outside(self) -> Sequence[Outside]:
        """The sections of the document that runs cannot test."""
        return self.suite.outside

    @property
    def kept(self) -> bool:
        """Whether no case has the verdict "not met"."""
        return all(one.word != "not met" for one in self.tried)

    @property
    def count(self) -> Mapping[Word, int]:
        """The number of cases for each verdict. Each section in `outside` counts as "cannot be judged here"."""
        words = [*(one.word for one in self.tried), *("cannot be judged here" for _ in self.outside)]
        return {word: words.count(word) for word in WORDS}

    @property
    def sentence(self) -> str:
        """One line with the number of cases for each verdict.

        The line also says how many of the cases with the verdict "not met" miss only limits that we chose, rather than
        limits from the document.
        """
        count = self.count
        parts = {word: f"{count[word]} {word}" for word in WORDS if count[word] or word == "met"}
        ours = sum(one.misses_only_ours for one in self.tried)
        if ours:
            parts["not met"] += f" ({'' if ours == count['not met'] else f'{ours} '}only by limits of ours)"
        return f"{self.name}: {', '.join(parts.values())}"

    def as_data(self) -> dict[str, Any]:
        """Returns the verdicts as plain data for JSON."""
        return {
            "suite": self.suite.name,
            "document": self.suite.document,
            "controller": self.name,
            "answer": self.sentence,
            "cases": [_as_data(one) for one in self.tried]
            + [
                {
                    "section": o.section,
                    "title": o.title,
                    "verdict": "cannot be judged here",
                    "reason": o.reason,
                    "criteria": [],
                }
                for o in self.outside
            ],
        }


def _as_data(one: Tried) -> dict[str, Any]:
    criteria = [
        {
            "says": r.criterion.says,
            "measure": r.criterion.measure,
            "against": list(r.criterion.against),
            "expected": r.criterion.expect,
            "limit_by": r.criterion.by,
            "condition": r.criterion.condition,
            "changed_after_run": r.criterion.changed or None,
            "verdict": r.word,
            "figure": r.figure,
            "compared": list(r.parts) if r.parts is not None else None,
            "interval": list(r.over.ends) if r.over is not None and r.over.n > 1 else None,
            "reason": r.reason or None,
        }
        for r in one.rulings
    ]
    return {"section": one.case.section, "title": one.case.title, "verdict": one.word, "criteria": criteria}


def untraced(missing: str) -> str:
    """Returns the reason for a missing value: the controller does not trace the column or table that a query needs."""
    name = missing.removeprefix(MISSING)
    return f"the controller traces no {'phases' if name in ('visits', 'visit', 'phase') else name}"


def ruling(
    criterion: Criterion, rows: Sequence[Row], others: Sequence[Sequence[Row]], phases: Collection[str]
) -> Ruling:
    """Judges a criterion from the numbers of a case's runs, one per seed.

    If the criterion compares with other subjects (`against`), `others` contains their numbers for each seed. The
    criterion's value is then a ratio: the judged subject's number divided by another subject's number. If there are
    several other subjects, the divisor for each seed is their smallest number if the ratio has a lower limit (">",
    ">="), and otherwise their largest. `phases` contains each phase that the controller reached in any run.

    If a transport raises an error, the case and its criteria are "not met". Its conditions are "cannot be judged here",
    because a condition that is not met would prevent the verdict "not met" on the case.
    """
    failure = next((str(row[FAILURE]) for row in rows if FAILURE in row), "")
    if failure:  # a transport raised an error during a run
        return Ruling(criterion, "cannot be judged here" if criterion.condition else "not met", reason=failure)
    seen = {phase for row in rows for phase in row["phases"].split()}
    if criterion.needs and criterion.needs not in seen:
        if not phases:
            return Ruling(criterion, "not applicable", reason="the controller traces no phases")
        if criterion.needs not in phases:
            return Ruling(criterion, "not applicable", reason=f"the controller has no phase {criterion.needs}")
        return Ruling(criterion, "not met", reason=f"the run never reached {criterion.needs}")
    values = [row.get(criterion.measure) for row in rows]
    missing = next((value for value in values if isinstance(value, str)), None)
    if missing is not None:
        return Ruling(criterion, "not applicable", reason=untraced(missing))
    figures = [float(value) for value in values if value is not None and math.isfinite(value)]
    if len(figures) < len(values):
        return Ruling(criterion, "not met", reason="no value")
    parts: tuple[float, float] | None = None
    if criterion.against:
        rivals = [[other.get(criterion.measure) for other in ones] for ones in others]
        easier = min if criterion.expect.startswith(">") else max
        easiest = [easier((float(v) for v in ones if v is not None), default=0.0) for ones in rivals]
        if not all(easiest):
            reason = f"{' and '.join(criterion.against)} give no figure"
            return Ruling(criterion, "cannot be judged here", reason=reason)
        parts = (sum(figures) / len(figures), sum(easiest) / len(easiest))
        figures = [figure / rival for figure, rival in zip(figures, easiest, strict=True)]
    over = interval(figures).of_amount()
    return Ruling(criterion, "met" if keeps(criterion.expect, *over.ends) else "not met", over, parts=parts)


def junit(every: Sequence[Judged]) -> str:
    """Writes the verdicts as JUnit XML: one suite per controller and document, one case per criterion.

    A test fails only if its criterion counts towards a verdict "not met". So a condition never fails, and all criteria
    of a case that cannot be judged are skipped.
    """
    root = ET.Element("testsuites", {"name": "bloatlab judge"})
    for judged in every:
        rulings = [(one, r) for one in judged.tried for r in one.rulings]
        suite = ET.SubElement(root, "testsuite", {"name": f"{judged.suite.name} {judged.name}", "errors": "0"})
        suite.set("tests", str(len(rulings)))
        for one, r in rulings:
            name = f"{one.case.section} {r.criterion.says}"
            case = ET.SubElement(suite, "testcase", classname=f"{judged.suite.name}.{judged.name}", name=name)
            text = f"expected {r.criterion.expect}, measured {r.measured}"
            if one.word == "cannot be judged here" or (r.criterion.condition and r.word == "not met"):
                why = r.reason or f"a condition of the case is not met; here, {text}"
                ET.SubElement(case, "skipped", message=f"cannot be judged here: {why}")
            elif r.word == "not met":
                ET.SubElement(case, "failure", message=text, type="criterion").text = f"{name}: {text}"
            elif r.word != "met":
                ET.SubElement(case, "skipped", message=f"{r.word}: {r.reason}")
        for outcome, count in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(outcome, str(len(suite.findall(f"testcase/{count}"))))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
