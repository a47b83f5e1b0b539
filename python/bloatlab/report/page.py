"""Pages as data, and their rendering as HTML: an answer, sections of blocks, provenance.

This module does not depend on what a page contains. A page is one file that loads nothing: it opens without a network,
and its pictures and tables work without JavaScript.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bloatlab import files
from bloatlab.report.chart import FigureBlock
from bloatlab.report.reasons import Reasons, has_why, letters
from bloatlab.tables import TextTable, Tone

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Point:
    """A part of the answer, such as one for a group of users: its subject, the verdict in a few words, the numbers."""

    who: str
    verdict: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, its answer in one sentence, the parts of the answer, and a figure.

    `basis` describes the numbers, such as medians of certain runs. `table` compares results side by side.
    """

    question: str
    sentence: str
    points: Sequence[Point] = ()
    figure: FigureBlock | None = None
    basis: str = ""
    table: TextTable | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """An important number, its name, and a line of context."""

    value: str
    name: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of facts."""

    facts: Sequence[Fact]
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]
    kind: str = "prose"


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table. Wide tables scroll in their own frame; `folded` tables open on demand."""

    table: TextTable
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to copy, such as commands; `note` explains them below."""

    title: str
    lines: Sequence[str]
    note: str = ""
    kind: str = "lines"


Block = Facts | Prose | TableBlock | FigureBlock | Lines


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with blocks; `anchor` is its id on the page."""

    title: str
    anchor: str
    blocks: Sequence[Block]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a page: names and values (version, command, source), and links to publications."""

    rows: Sequence[tuple[str, str]]
    links: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    answer: Answer | None = None
    lead: Sequence[str] = ()
    facts: Sequence[Fact] = field(default_factory=tuple)
    warning: str = ""
    provenance: Provenance = Provenance(())

    def contents(self) -> list[Section]:
        """Returns the sections for the table of contents: those to which the answer's table has no link."""
        rows = self.answer.table.rows if self.answer is not None and self.answer.table is not None else []
        linked = {cell.link for cells in rows for cell in cells}
        return [section for section in self.sections if f"#{section.anchor}" not in linked]

    def figures(self) -> Iterator[FigureBlock]:
        """Yields every figure, beginning with the answer's figure."""
        if self.answer is not None and self.answer.figure is not None:
            yield self.answer.figure
        for section in self.sections:
            yield from (block for block in section.blocks if isinstance(block, FigureBlock))

    def tables(self) -> Iterator[TextTable]:
        """Yields every table, in order."""
        if self.answer is not None and self.answer.table is not None:
            yield self.answer.table
        for section in self.sections:
            yield from (block.table for block in section.blocks if isinstance(block, TableBlock))


def render(page: Page) -> str:
    """Renders the page as HTML."""
    template = _environment().get_template("page.html.j2")
    interactive = any(figure.data for figure in page.figures())
    return template.render(page=page, reasons=Reasons(page.tables()), interactive=interactive)


def write(page: Page, path: Path) -> Path:
    """Writes the page to a file; returns its path."""
    files.write(path, render(page))
    return path


def asset(name: str) -> str:
    """Returns the contents of a vendored file; assets.json lists packages and versions."""
    return resources.files("bloatlab.report").joinpath("assets").joinpath(name).read_text(encoding="utf-8").strip()


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  only reports need jinja2

    made = Environment(
        loader=PackageLoader("bloatlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    cast("dict[str, Any]", made.globals).update(asset=asset, has_why=has_why, letters=letters)
    return made
