"""docs/validation.md and the explanations agree with a run of `bloatlab validate`."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from bloatlab.cli.main import call
from bloatlab.validate import load, public
from bloatlab.validate.judge import explanations

PAGE = (Path(__file__).parents[2] / "docs" / "validation.md").read_text("utf-8")


@pytest.mark.skipif(not os.environ.get("BLOATLAB_SLOW"), reason="takes a minute: BLOATLAB_SLOW=1")
def test_the_tables_have_the_values_of_a_run(tmp_path: Path):
    assert call(["validate", "-o", str(tmp_path)]) == 0
    cells = [c for c in json.loads((tmp_path / "validate.json").read_text())["cells"] if c["within"] is not None]
    kernel_of = {entry.name: path for path in public() for entry in load(path)}
    tested = Counter((kernel_of[c["scenario"]], c["grade"]) for c in cells)
    within = Counter((kernel_of[c["scenario"]], c["grade"]) for c in cells if c["within"])
    assert len(tested) == 6
    for group, of in tested.items():
        share = f"{100 * within[group] / of:.1f}".removesuffix(".0")
        assert f"| {group[1]} | {within[group]} | {of} | {share} % |" in PAGE, group
    outside = {(c["scenario"], c["metric"]): c for c in cells if not c["within"]}
    assert f"{sum('6.12' not in kernel_of[name].name for name, _ in outside)} are outside their tolerance" in PAGE
    for (name, metric), cell in outside.items():
        if "6.12" in kernel_of[name].name:
            assert f"| {name}, {metric} | {cell['grade']} |" in PAGE
    # an explanation of a value that is within its tolerance is out of date
    assert explanations().keys() <= outside.keys()
