"""Why a cell says what it says: opened by touch or keyboard, and what several cells share is printed once.

A hint such as "off by +0.6; experiment live: 0.67 %, within: the words can be read otherwise" has a part of its own and
a part that other cells have, too. The shared part becomes a numbered explanation; its cells refer to it, it names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bloatlab.tables import TextCell, TextTable

#: A shared ending shorter than this (characters) stays where it is: a reference would be no shorter.
LEAST = 40

#: What has more digits than this part of its characters is a cell's own measurement.
DIGITS = 0.03

#: How many of its cells an explanation names.
NAMED = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """A text that several cells share, its number, and those cells in words."""

    number: int
    text: str
    cells: list[str] = field(default_factory=list[str])

    @property
    def named(self) -> Sequence[str]:
        """The first of its cells."""
        return self.cells[:NAMED]

    @property
    def more(self) -> int:
        """How many cells are not named."""
        return max(0, len(self.cells) - NAMED)


@dataclass(frozen=True, slots=True)
class Reason:
    """A text as it is shown: its own part, and the explanation that it refers to. `anchor` is its popover's id."""

    anchor: str
    own: str
    explanation: Explanation | None


class Reasons:
    """All reasons of a page."""

    def __init__(self, tables: Iterable[TextTable]) -> None:
        tables = list(tables)
        places = [place for table in tables for place in _places(table)]
        shared = shared_endings(text for text, _ in places)
        used = dict.fromkeys(shared[text] for text, _ in places if shared[text])
        numbers = {ending: n for n, ending in enumerate(used, start=1)}
        self.explanations = [Explanation(number, text) for text, number in numbers.items()]
        self._by_text: dict[str, Reason] = {}
        for n, text in enumerate(dict.fromkeys(text for text, _ in places), start=1):
            ending = shared[text]
            own = text.removesuffix(ending).rstrip(" ;:") if ending else text
            explanation = self.explanations[numbers[ending] - 1] if ending else None
            self._by_text[text] = Reason(f"why{n}", own, explanation)
        for text, words in places:
            reason = self._by_text[text]
            if reason.explanation is not None and words not in reason.explanation.cells:
                reason.explanation.cells.append(words)
        self._opened: set[str] = set()

    def of(self, text: str) -> Reason:
        """The reason of a text that a table of the page has."""
        return self._by_text[text]

    def first(self, reason: Reason) -> bool:
        """Whether this is asked for the first time: two cells with the same text share what opens."""
        new = reason.anchor not in self._opened
        self._opened.add(reason.anchor)
        return new


def shared_endings(texts: Iterable[str]) -> dict[str, str]:
    """For each text the ending that most texts share, the longest of those; "" where none is worth a reference."""
    texts = list(texts)
    count = Counter(ending for text in texts for ending in endings(text))
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        common = [ending for ending in endings(text) if count[ending] > 1]
        found[text] = max(common, key=lambda ending: (count[ending], len(ending)), default="")
    return found


def endings(text: str) -> Iterator[str]:
    """The text and what follows each of its semicolons and colons, as far as it is long enough and words."""
    starts = [0, *(match.end() for match in re.finditer(r"[;:] ", text))]
    return (text[start:] for start in starts if len(text) - start >= LEAST and _words(text[start:]))


def _words(text: str) -> bool:
    return sum(character.isdigit() for character in text) <= DIGITS * len(text)


def _places(table: TextTable) -> Iterator[tuple[str, str]]:
    """Every reason of a table, and in words which cell has it."""
    groups = [name for name, width in table.groups for _ in range(width)] or [""] * len(table.columns)
    for row in table.rows:
        label = " ".join(cell.text for cell in row[: min(2, table.left)])
        for place, cell in enumerate(row):
            if cell.hint:
                # "ours" stands beside the published value, whose heading says what it is
                column = table.columns[place - (table.columns[place] == "ours")]
                words = (label, groups[place], column) if place else (label,)
                yield cell.hint, ", ".join(word for word in words if word)
        if has_why(table) and row[-1].text:
            yield row[-1].text, label


def has_why(table: TextTable) -> bool:
    """Whether the last column says why."""
    return table.below or table.columns[-1] == "why"


def letters(cell: TextCell) -> bool:
    """Whether a cell says its verdict in words itself."""
    return any(character.isalpha() for character in cell.text)
