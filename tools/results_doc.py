#!/usr/bin/env python3
"""Writes the measure tables in docs/results.md and docs/live.md, from the declarations exported by the core.

Run with the Python of `make venv`. Without an argument it writes the tables between the markers
`<!-- measures of NAME ... -->` and `<!-- end -->` of a page; with --check it compares and writes nothing.

Exit code 0: written, or current. 1: --check, and the committed pages are not current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from bloatlab.measures import Measure, declarations

DOCS = Path(__file__).resolve().parents[1] / "docs"

#: By the name of a table in its marker (BEGIN): the prefix that the paths of its measures have in common. The page
#: omits the prefix. A table with another name lists the measures that have none of these prefixes.
TABLES = {"links": "links.*.", "apps": "apps.*.", "live": "live."}

#: Some parts of a summary have the same keys as another part. Instead of listing the keys again, the table has one row
#: for such a part. This dict contains these rows, keyed by the prefix of the part's paths.
SAME = {
    "apps.*.voip_reverse.": (
        "`voip_reverse`",
        (
            'The keys of `voip` for speech from the server, with `direction = "both"`; '
            "`voip` then covers speech to the server."
        ),
    )
}

BEGIN = re.compile(r"<!-- measures of (\w+), written by `make docs`: do not edit -->\n(.*?)<!-- end -->\n", re.DOTALL)


def table(mark: str) -> str:
    """Returns the table for the marker with the name `mark`."""
    begin = TABLES.get(mark, "")
    others = tuple(TABLES.values())
    mine = [m for m in declarations() if (m.path.startswith(begin) if begin else not m.path.startswith(others))]
    rows: dict[str, None] = {}
    first: dict[str, str] = {}  # a sentence that lists statistics, and the first key of the table that has it
    for measure in mine:
        same = next((row for path, row in SAME.items() if measure.path.startswith(path)), None)
        if same is not None:
            rows[f"| {same[0]} | | {same[1]} |"] = None
            continue
        names = statistics(measure)
        for key, unit, doc in cells(measure, begin):
            short = doc.replace(names, f" Keys: as for `{first[names]}`.") if names in first else doc
            rows[f"| `{key}` | {unit} | {short} |".replace("|  |", "| |")] = None
            if names:
                first.setdefault(names, key)
    return "\n".join(["| key | unit | meaning |", "|---|---|---|", *rows, ""])


def cells(measure: Measure, begin: str) -> Iterator[tuple[str, str, str]]:
    """Yields the key, unit and meaning of a measure, or of each of its statistics if these are described separately."""
    if any(part.doc for part in measure.parts):
        for part in measure.parts:
            yield from cells(part, begin)
        return
    key = measure.path.removeprefix(begin).replace("each.*", "each.N").replace("*", "NAME")
    yield key, measure.unit, linked(measure.doc + statistics(measure))


def statistics(measure: Measure) -> str:
    """Returns a sentence that lists the statistics of a distribution, or an empty string for other measures."""
    names = [
        (part.path.rsplit(".", 1)[-1], part.unit == measure.unit or part.path.endswith("count"))
        for part in measure.parts
    ]
    if not names or names[0][0] == "*":
        return ""
    plain = ", ".join(f"`{name}`" for name, of_unit in names if of_unit)
    bare = "".join(f", and `{name}` (no unit)" for name, of_unit in names if not of_unit)
    return f" Keys: {plain}{bare}."


def linked(text: str) -> str:
    """Turns page names into links, for a page in docs/."""
    return re.sub(r"\bdocs/(\w+\.md)", r"[\1](\1)", text)


def page(text: str) -> str:
    """Returns the page with its tables replaced by current ones."""
    return BEGIN.sub(lambda m: m[0].replace(m[2], table(m[1])), text)


def main() -> int:
    """Writes or compares the pages; returns the exit code."""
    stale = False
    for path in (DOCS / "results.md", DOCS / "live.md"):
        text = path.read_text()
        written = page(text)
        if "--check" not in sys.argv[1:]:
            path.write_text(written)
        elif written != text:
            print(f"{path}: not current; run `make docs`", file=sys.stderr)
            stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
