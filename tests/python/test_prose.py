"""The prose checker (tools/prose.py) reports the sentences of prose_pairs.txt, and accepts their replacements.

It also reports citations of sources that docs/sources.md does not list.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROSE = runpy.run_path(str(HERE.parents[1] / "tools" / "prose.py"), run_name="prose")
PATTERNS = PROSE["PATTERNS"]

#: Pairs of sentences: the original ("- ") and its replacement ("+ ").
LINES = (HERE / "prose_pairs.txt").read_text().splitlines()
PAIRS = [
    (before.removeprefix("- "), after.removeprefix("+ ")) for before, after in zip(LINES[::2], LINES[1::2], strict=True)
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_rewritten_sentence_is_found_and_its_replacement_is_not(before: str, after: str) -> None:
    assert any(pattern.search(before) for pattern in PATTERNS.values())
    assert [advice for advice, pattern in PATTERNS.items() if pattern.search(after)] == []


def test_there_are_thirty_pairs() -> None:
    assert len(PAIRS) == 30


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Source: RFC 8033 §4.2, CableLabs 2012 §2.2.2, Floyd & Jacobson 1993 §4, MULPI C.2.2.7.11.", []),
        ("as in draft-ietf-ccwg-bbr-04 (RFC 6937), [RFC 9332](x), May 2012 and in November 2026", []),
        (f"a bound (RFC {9000})\n", [f"1: RFC {9000}"]),
        (f"\n/// Source: Knuth\n/// {1973}.", [f"2: Knuth /// {1973}"]),
        (f"{'draft'}-never-written-00", [f"1: {'draft'}-never-written"]),
        (f"arXiv:{2301}.00001", [f"1: arXiv:{2301}.00001"]),
    ],
)
def test_citations_are_those_of_the_sources_page(text: str, found: list[str]) -> None:
    assert [f"{line}: {words.split(': ', 1)[1]}" for line, words in PROSE["unlisted"](text)] == found


@pytest.mark.parametrize(
    "text", ["RFC 8033 section 4.2", "RFC 8033, 4.2", "RFC8033 §4.2", "section 4.2 of RFC 8033", "RFC 9332 appendix A"]
)
def test_citations_have_one_grammar(text: str) -> None:
    assert any("RFC 8033 §4.2" in words for _, words in PROSE["sentences"](text, PROSE["page"]))


def test_lines_of_a_page_have_a_width() -> None:
    wide = "x" * 81
    text = f"{wide}\n\n    {wide}\n| {wide} |\nhttps://{wide}\n{wide[:80]}\n"
    assert [line for line, _ in PROSE["wide"](text, 80)] == [1]


def test_command_ends_with_its_count() -> None:
    command = [sys.executable, "tools/prose.py", "docs/sources.md", "tools/prose.py"]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 findings in 2 files\n")


def test_paths_are_those_of_the_working_directory() -> None:
    command = [sys.executable, "../tools/prose.py", "sources.md"]
    done = subprocess.run(command, cwd=HERE.parents[1] / "docs", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 findings in 1 files\n")
    done = subprocess.run(
        [*command, "nosuch.md"], cwd=HERE.parents[1] / "docs", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
