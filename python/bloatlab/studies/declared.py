"""The declarations of a study, in files beside it.

`study.toml` contains its text, tables and figures, `claims.toml` its claims.

A claim is an expression and a sentence over named values. Each value is the median of a measure of a case:

    [red-latency]
    where = "RED L78"
    says = "RED's average latency is lower"
    published = "qualitative"
    values.red = "tcp_before_wait_ms of red"
    values.tail = "tcp_before_wait_ms of fifo"
    holds = "red < tail"
    ours = "RED {red:.1f} ms, drop-tail {tail:.1f} ms waiting"

A value may also be a list of medians, or an expression. The expression yields a function of the runs, a pair (case,
measure) that stands for a median, or a list of functions and pairs. `let` names additional expressions over the values.
With `value` and `band` in place of `values`, `holds` and `ours`, the claim is a quantity. Expressions are in Python,
and can use the values and the names that the study supplies. They come only from files in this package. Other strings
can contain such expressions in braces.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter
from types import MappingProxyType
from typing import Any, TypeVar

from bloatlab.plots import Mark, Panel, Series
from bloatlab.report import Answer, Drawn, Point, figure_block
from bloatlab.studies import page
from bloatlab.studies.claims import Claim, Quantity, Value, near
from bloatlab.studies.published import text, toml
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.study import About, PageSection, Publication, Quick, Study
from bloatlab.tables import TextTable, counted

K = TypeVar("K")
V = TypeVar("V")

#: Matches the beginning of a string such as "MEASURE of CASE".
MEASURED = re.compile(r"[\w ]+ of ")

#: The names allowed in an expression, and the value of each.
Names = Mapping[str, Any]
NONE: Names = MappingProxyType({})

#: A column of a table: measure, heading, digits.
Column = tuple[str, str, int]

#: Labels of an axis, each with its position.
Ticks = Sequence[tuple[float, str]]


def evaluate(expression: str, names: Names) -> Any:
    """Evaluates an expression from a study's file."""
    return eval(expression, {"Band": Band, "near": near, **names})  # noqa: S307  the expression comes from a file in this package


def filled(template: str, names: Names) -> str:
    """Replaces the expressions in braces in a string with their values, in the given formats."""
    parts = Formatter().parse(template)
    return "".join(
        literal + ("" if field is None else format(evaluate(field, names), spec or ""))
        for literal, field, spec, _ in parts
    )


def judgement(table: Mapping[str, Any], names: Names) -> tuple[list[Value], Callable[..., bool], Callable[..., str]]:
    """Returns the values of a claim, a function that evaluates its expression, and one that returns its sentence.

    The arguments of both functions are the results of the values, in the order of the values.
    """
    values = {name: _values(of, names) for name, of in table["values"].items()}

    def bound(found: Iterable[Any]) -> Names:
        rest = iter(found)
        own = {name: [next(rest) for _ in of] if isinstance(of, list) else next(rest) for name, of in values.items()}
        for name, expression in table.get("let", {}).items():
            own[name] = evaluate(expression, {**names, **own})
        return {**names, **own}

    flat = [value for of in values.values() for value in (of if isinstance(of, list) else [of])]
    return (
        flat,
        lambda *found: bool(evaluate(table["holds"], bound(found))),
        lambda *found: filled(table["ours"], bound(found)),
    )


def _values(declared: str | list[str], names: Names) -> Value | list[Value]:
    if isinstance(declared, list):
        return [_measured(of) for of in declared]
    return _measured(declared) if MEASURED.match(declared) else evaluate(declared, names)


def _measured(declared: str) -> tuple[str, str]:
    """Splits a string such as "MEASURE of CASE", and returns the case and the measure."""
    measure, _, case = declared.partition(" of ")
    return case, measure


def claim(ident: str, table: Mapping[str, Any], names: Names) -> Quantity | Claim:
    """Makes the claim declared by a table in `claims.toml`."""
    head = (ident, table["where"], table["says"], table["published"])
    origin = Origin(table.get("origin", "paper"))
    if "value" not in table:
        return Claim(*head, *judgement(table, names), origin)
    band = table["band"]
    accepted = evaluate(band, names) if isinstance(band, str) else Band(*band)
    more = {name: table[name] for name in ("unit", "digits", "scale") if name in table}
    return Quantity(*head, *_measured(table["value"]), accepted, **more, origin=origin)


@dataclass(frozen=True)
class Declared:
    """The declarations of a study."""

    name: str

    @functools.cached_property
    def _file(self) -> Mapping[str, Any]:
        return toml(self.name, "study.toml")

    @property
    def experiments(self) -> dict[str, str]:
        """The question of each experiment, by name."""
        return dict(self._file["experiments"])

    def study(self, blocks: Mapping[str, page.Blocks], **fields: Any) -> Study:
        """Makes the study from `study.toml` and from `fields`, which are fields of `Study`.

        `blocks` contains, by anchor, the functions that make the blocks of the page's sections (see `sections`).
        """
        publication, about = Publication(**self._file["publication"]), About(**self._file["about"])
        return Study(name=self.name, publication=publication, about=about, sections=self.sections(blocks), **fields)

    def quick(self, cases: Sequence[Any] = (), **names: Any) -> Quick:
        """Returns the settings for `reproduce --quick`: seeds, cases, duration, and the text of the warning."""
        found = Quick(**self._file["quick"], cases=cases)
        about = {"seeds": found.seeds, "seconds": found.seconds, **names}
        return replace(found, warning=filled(found.warning, about))

    def text(self, name: str, /, **names: Any) -> str:
        """Returns the text `name` for a table, figure or answer, with its expressions filled in."""
        return filled(self._file["texts"][name], names)

    def answer(
        self, seeds: int, drawn: Drawn, values: Mapping[K, V | None],
        sentence: Callable[[dict[K, V]], str], points: Callable[[dict[K, V]], Sequence[Point]], **names: Any,
    ) -> Answer:  # fmt: skip
        """Returns the answer to the study's question, with the figure `drawn`.

        `sentence` and `points` make the answer's text from `values`; if a value is missing, the text says so. `names`
        contains the values of names that occur in the text `basis` in `study.toml`.
        """
        known = {key: value for key, value in values.items() if value is not None}
        whole = len(known) == len(values)
        missing = "A quick look skips runs that this question needs; run it without --quick."
        text, details = (sentence(known), points(known)) if whole else (missing, ())
        basis = self.text("basis", seeds=counted(seeds, "seed"), **names)
        return Answer(self.text("question"), text, details, figure_block(drawn), basis)

    def columns(self, name: str) -> list[Column]:
        """Returns the columns of a table."""
        return [(measure, head, digits) for measure, head, digits in self._file["columns"][name]]

    def table(self, name: str) -> Any:
        """Returns the table (or list of tables) `name` in `study.toml`, for tables that no other study has."""
        return self._file[name]

    def tolerances(self, names: Names) -> list[tuple[str, str]]:
        """Returns the tolerances as text."""
        return [(filled(what, names), filled(words, names)) for what, words in self._file["tolerances"].items()]

    def claims(self, names: Names) -> list[Quantity | Claim]:
        """Returns the claims in `claims.toml`, in order."""
        return [claim(ident, table, names) for ident, table in toml(self.name, "claims.toml").items()]

    def sections(self, blocks: Mapping[str, page.Blocks]) -> list[PageSection]:
        """Returns the sections of the page, each with the blocks given for its anchor.

        Blocks shared by all studies need not be given.
        """
        known = {**page.SHARED, **blocks}
        return [PageSection(blocks=known[section["anchor"]], **section) for section in self._file["sections"]]

    def rules(self, more: Callable[[], Sequence[TextTable]] = tuple) -> page.Blocks:
        """Returns a function that makes the section on rules.

        The section contains the text of `rules.md`, the tolerances, the shares of values within tolerance, and the
        tables made by `more`.
        """
        return page.rules(text(self.name, "rules.md"), more)

    def drawn(self, name: str, *lines: Sequence[Series], names: Names = NONE, x_ticks: Ticks = ()) -> Drawn:
        """Makes a figure. `lines` contains the series of each panel, in the order of the panels in `study.toml`."""
        declared = self._file["figures"][name]["panels"]
        panels = [self.panel(of, series, names, x_ticks) for of, series in zip(declared, lines, strict=True)]
        return self.figure(name, panels, names)

    def figure(self, name: str, panels: Sequence[Panel], names: Names = NONE) -> Drawn:
        """Makes a figure from its panels."""
        table: dict[str, Any] = {"number": "", "name": name, **self._file["figures"][name], "panels": panels}
        texts: dict[str, Any] = {key: filled(table.pop(key), names) for key in ("number", "name", "caption")}
        return Drawn(**texts, **table)

    def panel(
        self, declared: Mapping[str, Any], series: Sequence[Series], names: Names = NONE, x_ticks: Ticks = ()
    ) -> Panel:
        """Makes a panel that shows `series`, with the settings in the table `declared`.

        A `kind` in this table names settings that several panels share. If there are `x_ticks` and the table has no
        `x_range`, their positions must be 0, 1, 2, ..., because the range of the x axis is computed from their number.
        """
        table = dict(declared)
        if "kind" in table:
            table = {**self._file["kinds"][table.pop("kind")], **table}
        limits = {name: _limits(table.pop(name)) for name in ("x_range", "y_range") if name in table}
        if x_ticks:
            table["x_ticks"], limits = x_ticks, {"x_range": (-0.5, len(x_ticks) - 0.5), **limits}
        marks = [Mark(label, float(at), "y") for label, at in table.pop("y_marks", {}).items()]
        marks += [Mark(label, float(at), "x") for label, at in table.pop("x_marks", {}).items()]
        title = filled(table.pop("title"), names)
        return Panel(title, table.pop("x"), table.pop("y"), series, marks=marks, **limits, **table)


def _limits(declared: Sequence[float | str]) -> tuple[float | None, float | None]:
    """Reads the two limits of an axis. The string "data" becomes None, so that this limit follows the data."""
    low, high = (None if limit == "data" else float(limit) for limit in declared)
    return low, high
