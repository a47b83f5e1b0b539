"""CITATION.cff, the CI workflow, CONTRIBUTING and the paper agree with the files to which they refer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {CARGO['version']}\n" in text
    assert f"repository-code: {CARGO['repository']}\n" in text


def test_every_command_of_the_workflow_and_of_contributing_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    wanted = set(re.findall(r"\bmake ([a-z][a-z-]+)", workflow)) | set(
        re.findall(r"`?make ([a-z-]+)(?:`|  )", contributing)
    )
    assert len(wanted) >= 8
    assert wanted <= targets


def test_actions_are_pinned_by_commit() -> None:
    uses = re.findall(r"uses: (\S+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", use)] == []


def test_every_reference_of_the_paper_is_in_its_bibliography_and_used() -> None:
    cited = set(re.findall(r"@([a-z]+\d+)", (ROOT / "docs" / "paper" / "paper.md").read_text()))
    cited.add("ns3")
    listed = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "paper" / "paper.bib").read_text(), re.MULTILINE))
    assert cited == listed
