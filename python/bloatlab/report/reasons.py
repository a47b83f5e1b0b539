"""The reasons behind table cells, opened by touch or keyboard. Text shared by several reasons is printed only once.

An example of a reason is "off by +0.6; experiment live: 0.67 %, within: the paper's words allow both interpretations".
The part before the last colon belongs to a single cell, but the reasons of other cells have the same ending. The shared
ending becomes a numbered explanation, which lists the cells that share it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bloatlab.tables import TextCell, TextTable

#: Minimum length, in characters, of a shared ending that is replaced by a reference to an explanation. Replacing a
#: shorter ending would save little.
LEAST = 40

#: Maximum fraction of digits in a shared ending. Text with more digits contains measured values, which belong to a
#: single table cell.
DIGITS = 0.03

#: Maximum number of cells listed in an explanation.
NAMED = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """A text that is shared by several cells, with its number on the page and the labels of these cells."""

    number: int
    text: str
    cells: list[str] = field(default_factory=list[str])

    @property
    def named(self) -> Sequence[str]:
        """The listed cells."""
        return self.cells[:NAMED]

    @property
    def more(self) -> int:
        """The number of unlisted cells."""
        return max(0, len(self.cells) - NAMED)


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for the content of a cell, split into two parts.

    `own` is the text without its shared ending, and `explanation` contains this ending (None if there is none).
    `anchor` is the id of the popover that shows the reason.
    """

    anchor: str
    own: str
    explanation: Explanation | None


class Reasons:
    """All reasons on a page."""

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
        """Returns the reason whose full text is `text`. The text must occur in one of the page's tables."""
        return self._by_text[text]

    def first(self, reason: Reason) -> bool:
        """Returns whether this is the first call with `reason`.

        Cells with the same text share one popover, which must be written only once: when this method returns True.
        """
        new = reason.anchor not in self._opened
        self._opened.add(reason.anchor)
        return new


def shared_endings(texts: Iterable[str]) -> dict[str, str]:
    """Returns, for each text, the ending that the most texts have in common with it, or "" if it shares no ending.

    If several endings are equally common, the longest is chosen.
    """
    texts = list(texts)
    count = Counter(ending for text in texts for ending in endings(text))
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        common = [ending for ending in endings(text) if count[ending] > 1]
        found[text] = max(common, key=lambda ending: (count[ending], len(ending)), default="")
    return found


def endings(text: str) -> Iterator[str]:
    """Yields the endings of a text that may be shared: the whole text, and the rest after each semicolon and colon.

    Endings that are shorter than `LEAST`, or that contain too many digits, are left out.
    """
    starts = [0, *(match.end() for match in re.finditer(r"[;:] ", text))]
    return (text[start:] for start in starts if len(text) - start >= LEAST and _words(text[start:]))


def _words(text: str) -> bool:
    return sum(character.isdigit() for character in text) <= DIGITS * len(text)


def _places(table: TextTable) -> Iterator[tuple[str, str]]:
    """Yields the text of every reason in a table, with the label of the cell that it explains."""
    groups = [name for name, width in table.groups for _ in range(width)] or [""] * len(table.columns)
    for row in table.rows:
        label = " ".join(cell.text for cell in row[: min(2, table.left)])
        for place, cell in enumerate(row):
            if cell.hint:
                # the column before "ours" contains the published values and is headed by the name of the quantity, so
                # cells in "ours" are labelled with that heading
                column = table.columns[place - (table.columns[place] == "ours")]
                words = (label, groups[place], column) if place else (label,)
                yield cell.hint, ", ".join(word for word in words if word)
        if has_why(table) and row[-1].text:
            yield row[-1].text, label


def has_why(table: TextTable) -> bool:
    """Returns whether the last column contains reasons."""
    return table.below or table.columns[-1] == "why"


def letters(cell: TextCell) -> bool:
    """Returns whether a cell's text contains letters, as the text of a verdict does."""
    return any(character.isalpha() for character in cell.text)
