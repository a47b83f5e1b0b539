#!/usr/bin/env python3
"""Finds sentences that a reader must read twice, in comments, docstrings and pages.

    tools/prose.py [PATH...]        every file that git tracks or would track, or these files and folders

The patterns of prose.toml are grammatical and slow to read: fronted genitives ("Of them, those of which"), clauses used
as nouns ("Whether what is told differs"), verbs of people for code ("hear", "believe"), and idioms of other languages.

Prints `file:line: pattern: text`. Exit code 0: nothing found; 1: something found.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: The regular expressions of prose.toml, by the advice that is printed for them.
PATTERNS: dict[str, re.Pattern[str]] = {
    advice: re.compile("|".join(patterns))
    for advice, patterns in tomllib.loads((ROOT / "tools" / "prose.toml").read_text()).items()
}

#: Code, links and quotations: other people's words.
QUOTED = re.compile(r"`[^`]*`|\[[^]]*\]\([^)]*\)|\"[^\"]*\"|“[^”]*”")

Prose = Iterator[tuple[int, str]]


def rust(text: str) -> Prose:
    """The comments of a Rust file."""
    yield from joined(
        (n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := re.match(r"\s*//[/!]? ?(.*)", line))
    )


def python(text: str) -> Prose:
    """The docstrings and comments of a Python file."""
    found: list[tuple[int, str]] = []
    before = tokenize.INDENT
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.append((token.start[0], token.string.lstrip("#: ")))
        elif token.type == tokenize.STRING and before in {
            tokenize.INDENT,
            tokenize.NEWLINE,
            tokenize.NL,
            tokenize.DEDENT,
        }:
            found += [(token.start[0] + i, line.strip(' "')) for i, line in enumerate(token.string.splitlines())]
        before = token.type
    yield from joined(found)


def page(text: str) -> Prose:
    """The paragraphs of a page, without its code."""
    code = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$", re.MULTILINE | re.DOTALL)
    plain = code.sub(lambda m: "\n" * m[0].count("\n"), text)
    yield from joined((n, line.strip()) for n, line in enumerate(plain.splitlines(), 1))


def joined(lines: Iterable[tuple[int, str]]) -> Prose:
    """Neighbouring lines as one text, with what is quoted taken out."""
    texts, last = list[tuple[int, str]](), 0
    for n, text in [*lines, (0, "")]:
        if texts and (n != last + 1 or not text):
            yield texts[0][0], QUOTED.sub("x", " ".join(text for _, text in texts))
            texts.clear()
        if text:
            texts.append((n, text))
        last = n


READERS = {".rs": rust, ".py": python, ".md": page}


def findings(path: Path) -> Iterator[str]:
    """One line for each finding in a file."""
    for line, text in READERS[path.suffix](path.read_text()):
        for advice, pattern in PATTERNS.items():
            for sentence in re.split(r"(?<=[.:;]) ", text):
                if match := pattern.search(sentence):
                    yield f"{path.relative_to(ROOT)}:{line}: {advice}: {match[0]}: {sentence[:100]}"


if __name__ == "__main__":
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *sys.argv[1:]]
    names = subprocess.check_output(listing, cwd=ROOT, text=True).split()
    paths = [ROOT / name for name in names if Path(name).suffix in READERS]
    found = [line for path in paths for line in findings(path)]
    print("\n".join([*found, f"{len(found)} findings in {len(paths)} files"]))
    sys.exit(1 if found else 0)
