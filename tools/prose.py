#!/usr/bin/env python3
"""Finds sentences that readers would have to read twice, in comments, docstrings and pages (`make prose`).

    tools/prose.py [PATH...]        every file that git tracks or would track, or these files and folders

* Sentences matching prose.toml: fronted genitives ("Of them, those of which"), clauses used as nouns ("Whether
  what is told differs"), verbs of people for code ("hear", "believe"), idioms of other languages, American spelling.
* Citations (an RFC, a draft, an arXiv number, or a name and a year) that docs/sources.md does not list.
* Lines in a page that are too long, except in tables, code and addresses.

Prints `file:line: advice: match: text`. Exit code 0: nothing found; 1: something found; 2: no such file.
`codespell` checks the spelling.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: The regular expressions in prose.toml, keyed by the advice printed with a match.
PATTERNS: dict[str, re.Pattern[str]] = {
    advice: re.compile("|".join(patterns))
    for advice, patterns in tomllib.loads((ROOT / "tools" / "prose.toml").read_text()).items()
}
#: Matches code, links, quotations and titles, which are removed before the search. Quotations and titles are other
#: people's words.
QUOTED = re.compile(r"`[^`]*`|\[[^]]*\]\([^)]*\)|\"[^\"]*\"|“[^”]*”|(?<!\*)\*\w[^*]*\w\*(?!\*)")
#: Matches a citation: an RFC, a draft, an arXiv number, or a name and a year, such as `Floyd & Jacobson 1993`. A name
#: and its year may be on two lines of a comment.
CITED = re.compile(
    r"\bRFC (\d+)|\b(draft-[a-z-]+[a-z](?:\d+[a-z-]+[a-z]\d?)?)|arXiv[: ](\d{4}\.\d{5})"
    r"|(?<![:\w])(?!\w+(?:ary|ber)\b|March|April|May|Ju|August|In\b|Since\b)([A-Z]\w+)"
    r",?\s(?:[ /#!]*)\(?((?:19|20)\d\d)\b(?![-.:]\d)"
)
SOURCES = (ROOT / "docs" / "sources.md").read_text().splitlines()
#: Maximum line width in characters: WIDTH for most pages, NARROW for the pages that are also read in a terminal.
WIDTH, NARROW = 140, {"README.md": 80, "CONTRIBUTING.md": 80, "CODE_OF_CONDUCT.md": 80, "SECURITY.md": 80}

Prose = Iterator[tuple[int, str]]


def comments(text: str, mark: str = "//[/!]?") -> Prose:
    """Yields the comments that are on lines of their own."""
    yield from joined(
        (n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := re.match(rf"\s*{mark} ?(.*)", line))
    )


def python(text: str) -> Prose:
    """Yields the docstrings and comments of a Python file."""
    found: list[tuple[int, str]] = []
    before, outside = tokenize.INDENT, {tokenize.INDENT, tokenize.NEWLINE, tokenize.NL, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.append((token.start[0], token.string.lstrip("#: ")))
        elif token.type == tokenize.STRING and before in outside:
            found += [(token.start[0] + i, line.strip(' "')) for i, line in enumerate(token.string.splitlines())]
        before = token.type
    yield from joined(found)


def page(text: str) -> Prose:
    """Yields the paragraphs of a page, without code."""
    code = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$", re.MULTILINE | re.DOTALL)
    plain = code.sub(lambda m: "\n" * m[0].count("\n"), text)
    yield from joined((n, line.strip()) for n, line in enumerate(plain.splitlines(), 1))


def joined(lines: Iterable[tuple[int, str]]) -> Prose:
    """Joins adjacent lines into one string, and removes what QUOTED matches."""
    texts, last = list[tuple[int, str]](), 0
    for n, text in [*lines, (0, "")]:
        if texts and (n != last + 1 or not text):
            yield texts[0][0], QUOTED.sub("x", " ".join(text for _, text in texts))
            texts.clear()
        if text:
            texts.append((n, text))
        last = n


#: In TypeScript, documentation is in blocks that begin with `/**`.
SCRIPT = partial(comments, mark=r"(?://|/\*\*|\*(?!/))")
READERS = {
    ".rs": comments,
    ".ts": SCRIPT,
    ".mjs": SCRIPT,
    ".toml": partial(comments, mark="#"),
    ".py": python,
    ".md": page,
}


def sentences(text: str, read: Callable[[str], Prose]) -> Prose:
    """Yields sentences that match a pattern in prose.toml."""
    for line, paragraph in read(text):
        for sentence in re.split(r"(?<=[.:;]) ", paragraph):
            yield from (
                (line, f"{advice}: {match[0]}: {sentence[:100]}")
                for advice, pattern in PATTERNS.items()
                if (match := pattern.search(sentence))
            )


def unlisted(text: str) -> Prose:
    """Yields citations that docs/sources.md does not list."""
    for match in CITED.finditer(text):
        wanted = [part for part in match.groups() if part]
        if not any(all(re.search(rf"\b{part}\b|rfc{part}\b", row) for part in wanted) for row in SOURCES):
            yield text.count("\n", 0, match.start()) + 1, f"list it in docs/sources.md: {' '.join(match[0].split())}"


def wide(text: str, width: int) -> Prose:
    """Yields the lines of a page that are longer than `width`."""
    for n, line in enumerate(text.splitlines(), 1):
        if len(line) > width and not re.match(r"\||    |.*(?:https?://|<a id=)", line):
            yield n, f"break the line: {len(line)} characters, at most {width}"


def findings(path: Path) -> Iterator[str]:
    """Yields one line for each finding in a file."""
    text = path.read_text()
    found = [*sentences(text, READERS[path.suffix]), *unlisted(text)]
    if path.suffix == ".md":
        found += wide(text, NARROW.get(path.relative_to(ROOT).as_posix(), WIDTH))
    yield from (f"{path.relative_to(ROOT)}:{line}: {words}" for line, words in sorted(found))


if __name__ == "__main__":
    asked = [Path(name).absolute() for name in sys.argv[1:]]
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--error-unmatch", "--", *asked]
    listed = subprocess.run(listing, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=False)
    if listed.returncode:  # the message is git's
        sys.exit(2)
    paths = [ROOT / name for name in listed.stdout.split() if Path(name).suffix in READERS]
    found = [line for path in paths for line in findings(path)]
    print("\n".join([*found, f"{len(found)} findings in {len(paths)} files"]))
    sys.exit(1 if found else 0)
