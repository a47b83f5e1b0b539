"""`bloatlab judge`: what it prints and writes: tables, pages, the matrix, CSV, LaTeX, and the list of suites."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from bloatlab.judge import judged, measures, names, suite
from bloatlab.judge.page import write_pages
from conftest import Say

ROOT = Path(__file__).parents[2]


def test_several_controllers_are_compared_in_a_matrix(say: Say, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", f"{ROOT}/examples/controllers/aimd.py:Aimd"
    case = ("--suite", "rfc9743", "--case", "5.1.1")
    code, text, err = say("judge", *case, "--cc", mine, "--cc", "cubic", "--cc", "cubic", "--out", out)
    assert (code, err) == (0, "")
    assert f"{mine}: 1 met" in text
    assert text.count("cubic: 1 met") == 1
    page = (out / "index.html").read_text()
    assert f"bloatlab judge --suite rfc9743 --cc {mine} --cc cubic --out FOLDER" in page
    assert len(list(out.glob("rfc9743/*/index.html"))) == 2
    table = pl.read_csv(out / "verdicts.csv")
    verdicts = json.loads((out / "verdicts.json").read_text())
    told = [(one["controller"], c["says"], c["figure"]) for one in verdicts for c in one["cases"][0]["criteria"]]
    assert table.select("controller", "criterion", "figure").rows() == told
    assert {"case_verdict", "expected", "limit_by", "low", "high", "reason"} <= set(table.columns)
    lines = (out / "verdicts.tex").read_text().splitlines()
    assert "    5.1.1 & Protection against congestion collapse & met & met \\\\" in lines
    assert "     & cases met & 1 & 1 \\\\" in lines


def test_the_latex_of_one_queue_has_its_figures_and_limits(tmp_path: Path) -> None:
    cases = suite("aqm").only("RFC 7928 4.4", "RFC 7567 4.3 at 1 Mbit/s")
    write_pages(judged(cases, "{ codel = { target = '15ms' } }"), tmp_path)
    text = (tmp_path / "verdicts.tex").read_text()
    assert r"\toprule" in text
    assert r"$\le$ 0.5 of droptail" in text
    assert "0.25 to 4" in text
    assert r"\caption{\{ codel = \{ target = '15ms' \} \} by " in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {4}
    assert len(rows) == 1 + sum(len(case.criteria) for case in cases.cases)


def test_names_that_differ_in_a_mark_get_pages_of_their_own(tmp_path: Path) -> None:
    queues = ("codel target 15ms", "codel-target 15ms")
    done = [replace(one, name=name) for name in queues for one in judged(suite("aqm").only("RFC 7928 4.5"), "codel")]
    for _ in range(2):
        write_pages(done, tmp_path)
        pages = sorted(path.parent.name for path in tmp_path.glob("aqm/*/index.html"))
        assert pages == ["codel-target-15ms", "codel-target-15ms-2"]
        assert 'href="aqm/codel-target-15ms-2/index.html"' in (tmp_path / "index.html").read_text()


def test_a_terminal_of_80_columns_shows_each_figure_beside_its_limit() -> None:
    codel = ("--suite", "aqm", "--queue", "codel", "--case", "4.3 at 1 Mbit/s", "--jobs", "1")
    command = [sys.executable, "-c", "from bloatlab.cli import main; main()", "judge", *codel]
    env = os.environ | {"COLUMNS": "80"}
    text = subprocess.run(command, env=env, check=False, capture_output=True, text=True).stdout
    heads = [line for line in text.splitlines() if "measured" in line]
    assert [head.split() for head in heads] == [["verdict", "criterion", "measured", "limit", "by"]]
    assert re.search(r"^met +95th percentile of +0\.\d+ .*<= 0\.5 of droptail +ours$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80


def test_the_suites_and_their_cases_are_listed(say: Say) -> None:
    code, text, _ = say("list", "suites")
    assert code == 0
    assert all(f"{one} {suite(one).title}" in text for one in names())
    text = say("list", "suites", "bbr")[1]
    assert "bloatlab judge --suite NAME" in text
    assert all(f"{case.section} {case.title}" in text for case in suite("bbr").cases)
    assert "suites" in say("list", "judge")[2]


def test_a_figure_without_the_last_phases_says_so(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_STAYS", 3)
    a3 = ("judge", "--suite", "bbr", "--cc", "bbr3", "--case", "A.3", "--no-store", "--jobs", "1")
    assert say(*a3, "--out", tmp_path)[0] == 0
    page = (tmp_path / "index.html").read_text()
    assert '"title":"Phase (only the first 3 stays)"' in page
