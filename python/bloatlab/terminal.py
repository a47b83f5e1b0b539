"""Formats tables as lines of text of any width, for terminals, files and pipes.

Numbers and labels are never truncated. A table that is wider than the line

    1. wraps its text and headings, as far as they remain readable;
    2. if that is not enough, is split into blocks of columns, each with the row labels repeated.

Numbers never wrap. If the terminal is narrower than one label and one number, it breaks the line itself.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import console as rich_console
from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from bloatlab.files import escaped
from bloatlab.tables import TextCell, TextTable, Tone

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "bold red", "muted": "dim", "marked": "yellow"}

#: Spaces between columns.
_GAP = 2

#: `_LEAST_WORDS` is the minimum width of a wrapped text column. Only words longer than `_LONGEST_WORD` may be broken.
_LEAST_WORDS, _LONGEST_WORD = 14, 40


@dataclass(frozen=True, slots=True)
class _Column:
    """A column. `natural` is the width in characters at which no text wraps; `least` is the minimum readable width.

    `group` is the index of the column's group in the table's `groups`; -1 if the table has no groups.
    """

    head: str
    cells: Sequence[TextCell]
    words: bool
    group: int
    natural: int
    least: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Adjacent columns and their widths."""

    columns: Sequence[_Column]
    widths: Sequence[int]


class Console(rich_console.Console):
    """A console that prints names literally: no emoji codes, no terminal escapes."""

    def __init__(self, **options: Any) -> None:
        """Takes the options of rich's console."""
        super().__init__(emoji=False, **options)

    def on_broken_pipe(self) -> None:
        """Prints no more if the reader of standard output is gone, so that the command ends with its own exit code."""
        if self.stderr:
            super().on_broken_pipe()
        self.quiet = True
        discard_output()

    def say(self, text: str, style: str | None = None) -> None:
        """Prints text without markup or wrapping."""
        self.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def say_wrapped(self, text: str, style: str | None = None) -> None:
        """Prints text wrapped to the console's width."""
        for line in wrapped(text, self.width):
            self.say(line, style)

    def render(
        self, renderable: rich_console.RenderableType, options: rich_console.ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Renders like rich's console, with control characters escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


def emit(text: str) -> None:
    """Prints CSV or JSON with control characters escaped; a reader that is gone is no error."""
    try:
        sys.stdout.write(escaped(text))
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Discards what is still buffered for standard output, and all further output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(table: TextTable, console: Console) -> None:
    """Prints a table at the width of `console`, with its title above and its note below."""
    for line in lines(table, console.width):
        console.print(line, soft_wrap=True, highlight=False)


def lines(table: TextTable, width: int) -> Iterator[Text]:
    """Yields the lines of a table, none longer than `width` if possible."""
    if table.title:
        yield from (Text(part, style="bold") for part in wrapped(table.title, width))
    columns = _columns(table)
    keys = table.left if table.keep else _keys(columns, table.left, width)
    for place, block in enumerate(_blocks(columns, keys, width)):
        if place:
            yield Text()
        yield from _heads(block, table)
        below = table.below and place == 0
        for row in range(len(table.rows)):
            yield from _row(block, row)
            if below and table.rows[row][-1].text:
                yield from (Text(f"    {part}", style="dim") for part in wrapped(table.rows[row][-1].text, width - 4))
    for paragraph in table.note.splitlines():
        yield from (Text(part, style="dim") for part in wrapped(paragraph, width))


def wrapped(text: str, width: int) -> list[str]:
    """Wraps text at spaces to at most `width` cells per line. A longer word begins a line and is broken."""
    width = max(width, 1)
    found: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            if line and cell_len(line) + 1 + cell_len(word) > width:
                found.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
            if cell_len(line) > width:
                *full, line = _broken(line, width)
                found += full
        found.append(line)
    return found


def _broken(word: str, width: int) -> list[str]:
    """Splits a word into parts of at most `width` cells, at least one character each, in one pass."""
    pieces: list[str] = []
    start = wide = 0
    for place, character in enumerate(word):
        cells = cell_len(character)
        if wide + cells > width and place > start:
            pieces.append(word[start:place])
            start, wide = place, 0
        wide += cells
    return [*pieces, word[start:]]


def _wide(text: str) -> int:
    return max(cell_len(part) for part in text.split("\n"))


def _columns(table: TextTable) -> list[_Column]:
    """Returns the columns of a table, without the last column if its cells are printed below the rows."""
    groups = [(place, -(-(cell_len(name) + _GAP) // width) - _GAP) for place, (name, width) in enumerate(table.groups)
              for _ in range(width)]  # fmt: skip
    found: list[_Column] = []
    for index, head in enumerate(table.columns[: len(table.columns) - table.below]):
        words = index < table.left or (table.words_last and index == len(table.columns) - 1)
        cells = [row[index] for row in table.rows]
        # a group heading extends over the columns of its group; `share` is the width that this column must contribute
        group, share = groups[index] if groups else (-1, 0)
        widest = max((_wide(cell.text) for cell in cells), default=0)
        natural = max(_wide(head), widest, share)
        least = max(*(cell_len(word) for word in head.replace("\n", " ").split(" ")), share)
        if words:
            longest = max((cell_len(word) for cell in cells for word in cell.text.split(" ")), default=0)
            least = max(least, min(widest, max(_LEAST_WORDS, min(longest, _LONGEST_WORD))))
            if table.whole and index == 0:
                least = max(least, widest)
        else:
            least = max(least, widest)
        found.append(_Column(head, cells, words, group, natural, least))
    return found


def _keys(columns: Sequence[_Column], left: int, width: int) -> int:
    """Returns the number of label columns that are repeated in every block.

    These are all `left` text columns or, if they leave no room for other columns, the first of them.
    """
    words, rest = columns[:left], columns[left:]
    room = width - max((c.least for c in rest), default=0) - _GAP
    return len(words) if _total([c.least for c in words]) <= room else min(1, len(words))


def _blocks(columns: Sequence[_Column], keys: int, width: int) -> Iterator[_Block]:
    """Splits the columns into blocks that fit the width, if possible. Columns of a group stay together if they fit."""
    if _total([c.least for c in columns]) <= width or len(columns) <= keys + 1:
        yield _Block(columns, _widths(columns, width))
        return
    labels, rest = list(columns[:keys]), list(columns[keys:])
    # the labels may take half of the width, but must leave enough room for the widest of the other columns
    share = min(width // 2, width - max(c.least for c in rest) - _GAP)
    room = width - _total(_widths(labels, share)) - _GAP
    chosen: list[_Column] = []
    for unit in _units(rest, room):
        if chosen and _total([c.least for c in (*chosen, *unit)]) > room:
            yield _Block([*labels, *chosen], _widths([*labels, *chosen], width))
            chosen = []
        chosen += unit
    yield _Block([*labels, *chosen], _widths([*labels, *chosen], width))


def _units(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    """Yields groups of columns to keep together: those under one heading if they fit, otherwise one column each."""
    unit: list[_Column] = []
    for column in columns:
        if unit and (column.group < 0 or column.group != unit[0].group):
            yield from _fitting(unit, room)
            unit = []
        unit.append(column)
    yield from _fitting(unit, room)


def _fitting(unit: list[_Column], room: int) -> Iterator[list[_Column]]:
    if _total([c.least for c in unit]) <= room:
        yield unit
    else:
        yield from ([column] for column in unit)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1) if widths else 0


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Returns the width of each column. The widest shrink first, but none below its minimum readable width."""
    widths = [c.natural for c in columns]
    while (excess := _total(widths) - width) > 0:
        able = [i for i, c in enumerate(columns) if widths[i] > c.least]
        if not able:
            break
        widest = max(widths[i] for i in able)
        first = [i for i in able if widths[i] == widest]
        second = max((widths[i] for i in able if widths[i] < widest), default=0)
        for i in first:
            give = min(widest - max(second, columns[i].least), -(-excess // len(first)))
            widths[i] -= max(give, 1)
    return widths


def _heads(block: _Block, table: TextTable) -> Iterator[Text]:
    """Yields the group headings, if this block has any, and the column headings, aligned at the bottom."""
    if any(table.groups[c.group][0] for c in block.columns if c.group >= 0):
        yield _group_line(block, table)
    heads = [wrapped(c.head, w) for c, w in zip(block.columns, block.widths, strict=True)]
    deep = max(len(head) for head in heads)
    if not any(c.head for c in block.columns):
        return
    for level in range(deep):
        parts = [head[level - deep] if deep - level <= len(head) else "" for head in heads]
        yield _joined(block, [Text(part, style="bold") for part in parts])


def _group_line(block: _Block, table: TextTable) -> Text:
    """Returns the line of group headings, each at the left edge of its columns, unless the previous one is too long."""
    line = Text()
    place, before = 0, -1
    for column, width in zip(block.columns, block.widths, strict=True):
        name = table.groups[column.group][0]
        if column.group != before and name:
            line.append(" " * max(place - line.cell_len, 1 if line.plain.strip() else 0))
            line.append(name, style="dim")
        before = column.group
        place += width + _GAP
    return line


def _row(block: _Block, row: int) -> Iterator[Text]:
    cells = [column.cells[row] for column in block.columns]
    parts = [wrapped(cell.text, w) if c.words else [cell.text]
             for cell, c, w in zip(cells, block.columns, block.widths, strict=True)]  # fmt: skip
    for level in range(max(len(part) for part in parts)):
        texts = [part[level] if level < len(part) else "" for part in parts]
        yield _joined(block, [Text(t, style=_STYLES[cell.tone]) for t, cell in zip(texts, cells, strict=True)])


def _joined(block: _Block, parts: Sequence[Text]) -> Text:
    """Joins the cells of a line: text flush left, numbers flush right, no trailing spaces."""
    line = Text()
    for index, (part, column, width) in enumerate(zip(parts, block.columns, block.widths, strict=True)):
        gap = _GAP if index else 0
        blank = max(width - part.cell_len, 0)
        if column.words:
            line.append(" " * gap).append_text(part).append(" " * blank)
        else:
            line.append(" " * (gap + blank)).append_text(part)
    line.rstrip()
    return line
