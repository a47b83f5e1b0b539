"""A page is data until it is rendered: an answer, then sections of blocks, then where it came from.

Nothing here knows what was simulated. The page is one file that asks for nothing: it opens without a network, and its
pictures and tables stay without JavaScript.
"""

from __future__ import annotations

import functools
import json
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
    """What an answer says about one of those concerned: who, the verdict in a word or two, and the numbers."""

    who: str
    verdict: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, its answer in a sentence that was computed from the data, for whom it holds, and one picture.

    `basis` says what the numbers are: medians of which runs. `table` is for what is compared side by side.
    """

    question: str
    sentence: str
    points: Sequence[Point] = ()
    figure: FigureBlock | None = None
    basis: str = ""
    table: TextTable | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that a reader should take away, its name, and a line of context."""

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
    """A table; wide ones scroll inside their own frame. `folded` ones open on demand."""

    table: TextTable
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to copy as they are: commands, values to type. `note` says below how they are meant."""

    title: str
    lines: Sequence[str]
    note: str = ""
    kind: str = "lines"


Block = Facts | Prose | TableBlock | FigureBlock | Lines


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with blocks; `anchor` is its place in the page's contents."""

    title: str
    anchor: str
    blocks: Sequence[Block]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a page came from: by name (version, command, source), and links to what it compares with."""

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

    def figures(self) -> Iterator[FigureBlock]:
        """Every figure, the answer's first."""
        if self.answer is not None and self.answer.figure is not None:
            yield self.answer.figure
        for section in self.sections:
            yield from (block for block in section.blocks if isinstance(block, FigureBlock))

    def tables(self) -> Iterator[TextTable]:
        """Every table, in order."""
        if self.answer is not None and self.answer.table is not None:
            yield self.answer.table
        for section in self.sections:
            yield from (block.table for block in section.blocks if isinstance(block, TableBlock))


def render(page: Page) -> str:
    """The page as HTML."""
    template = _environment().get_template("page.html.j2")
    interactive = any(figure.data for figure in page.figures())
    return template.render(page=page, reasons=Reasons(page.tables()), interactive=interactive)


def write(page: Page, path: Path) -> Path:
    """The page as a file; returns its path."""
    files.write(path, render(page))
    return path


def asset(name: str) -> str:
    """A vendored file (assets.json says which version of which package)."""
    return resources.files("bloatlab.report").joinpath("assets").joinpath(name).read_text(encoding="utf-8").strip()


def vendored() -> dict[str, object]:
    """What is vendored: package, version, licence, SHA-256 by file."""
    found: dict[str, object] = json.loads(asset("assets.json"))
    return found


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  only reports need it

    made = Environment(
        loader=PackageLoader("bloatlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    cast("dict[str, Any]", made.globals).update(asset=asset, has_why=has_why, letters=letters)
    return made
