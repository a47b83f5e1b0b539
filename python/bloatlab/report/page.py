"""A page is data until it is rendered: sections of blocks, each a text, a table, a figure or a row of facts.

Nothing here knows what was simulated. The result needs no network, no script and no other file.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bloatlab.tables import TextTable, Tone

if TYPE_CHECKING:
    from jinja2 import Environment


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
class FigureBlock:
    """A drawing (an `<svg>` element, trusted: we drew it) under a number and a caption."""

    svg: str
    caption: str
    number: str = ""
    kind: str = "figure"


Block = Facts | Prose | TableBlock | FigureBlock


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with blocks; `anchor` is its place in the page's contents."""

    title: str
    anchor: str
    blocks: Sequence[Block]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page. `footer` says where it came from."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    lead: Sequence[str] = ()
    facts: Sequence[Fact] = field(default_factory=tuple)
    warning: str = ""
    footer: Sequence[str] = ()


def render(page: Page) -> str:
    """The page as HTML."""
    return _environment().get_template("page.html.j2").render(page=page)


def write(page: Page, path: Path) -> Path:
    """The page as a file; returns its path."""
    path.write_text(render(page), encoding="utf-8")
    return path


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  only reports need it

    return Environment(
        loader=PackageLoader("bloatlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
