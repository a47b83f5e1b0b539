"""The prose checker finds each sentence that had to be rewritten, and nothing in the sentence that replaced it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PATTERNS = runpy.run_path(str(HERE.parents[1] / "tools" / "prose.py"), run_name="prose")["PATTERNS"]

#: Sentences before ("- ") and after ("+ ") they were rewritten, in turn.
LINES = (HERE / "prose_pairs.txt").read_text().splitlines()
PAIRS = [
    (before.removeprefix("- "), after.removeprefix("+ ")) for before, after in zip(LINES[::2], LINES[1::2], strict=True)
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_rewritten_sentence_is_found_and_its_replacement_is_not(before: str, after: str) -> None:
    assert any(pattern.search(before) for pattern in PATTERNS.values())
    assert [advice for advice, pattern in PATTERNS.items() if pattern.search(after)] == []
