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


def test_the_examples_in_the_documentation_of_crates_are_run() -> None:
    """Crates without examples have `doctest = false`, because rustdoc takes a second for each crate to find none."""
    examples: set[str] = set()
    tested: set[str] = set()
    for manifest in (file for place in ("crates", "benches", "tests") for file in ROOT.glob(f"{place}/*/Cargo.toml")):
        crate = manifest.parent.name
        if tomllib.loads(manifest.read_text()).get("lib", {"doctest": False}).get("doctest", True):
            tested.add(crate)
        for file in manifest.parent.glob("src/**/*.rs"):
            fences = re.findall(r"^\s*//[/!]\s*(?:```|~~~)(.*)$", file.read_text(), re.MULTILINE)
            assert len(fences) % 2 == 0, file
            if any(words.strip() != "text" for words in fences[::2]):
                examples.add(crate)
    assert examples == tested
