"""The answers in docs/classroom.md are what the program computes, and its sentences follow from them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from browser import opened

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = (ROOT / "docs" / "classroom.md").read_text()
HANDOUT = (ROOT / "docs" / "classroom-handout.md").read_text()
ESSAY = (ROOT / "web" / "essays" / "class.md").read_text()
TITLES = re.findall(r"^## (.*)$", ESSAY, re.MULTILINE)


def test_answers_are_what_the_program_computes() -> None:
    done = subprocess.run(
        [sys.executable, "tools/classroom_doc.py", "--check"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"run `make docs` to write the tables again\n{done.stderr}"


def answers(name: str) -> list[list[str]]:
    """Returns the cells of a table of the page, without its head."""
    (text,) = re.findall(rf"<!-- {name}, written .*? -->\n(.*?)<!-- end -->", ANSWERS, re.DOTALL)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.strip().splitlines()]
    assert len(rows) > 3 or name == "bucket", name
    return rows[2:]


def test_sentences_about_buffers_hold() -> None:
    for _, bdp, one, eight in answers("buffers"):
        assert int(eight) <= int(one) <= int(bdp), "eight flows need no more than one, and one no more than a BDP"
    *_, longest = answers("buffers")
    assert int(longest[3]) < int(longest[2]), "eight flows need less on longer paths"


def test_sentences_about_who_loses_hold() -> None:
    (_, call, page, _), (_, short_call, short_page, _), (_, _, codel_page, _), _ = answers("losers")
    assert float(call) < 2
    assert float(short_call) > 4, "a short buffer helps the call"
    assert float(short_page) > 1.5 * float(codel_page), "but pages are slow"
    assert float(page) > float(short_page)


def test_sentences_about_bbr_and_cubic_hold() -> None:
    (_, alone_wait, alone_call, *_), (_, wait, call, bbr, cubic), (_, _, fair_call, *fair) = answers("BBR and CUBIC")
    assert float(wait) > 4 * float(alone_wait)
    assert float(cubic) > 1.5 * float(bbr), "CUBIC gets most of the link"
    assert float(call) < 2
    assert min(float(alone_call), float(fair_call)) > 4
    assert abs(float(fair[0]) - float(fair[1])) <= 0.3, "fq_codel shares the link equally"


def test_sentences_about_grades_hold() -> None:
    fq_codel, pie, short = answers("grades")
    assert fq_codel[3] == pie[3] > short[3], "the same grade, and a better one"
    assert float(fq_codel[5]) > 4 > float(pie[5]) > float(short[5]), "the best grade has the worst call"


def test_sentences_about_the_modem_hold() -> None:
    (_, before), (_, after) = answers("bucket")
    assert 3 < float(after) / float(before) < 4.5


def test_the_plan_takes_45_minutes() -> None:
    plan = ANSWERS.split("## A lesson of 45 minutes", 1)[1].split("\n## ", 1)[0]
    assert sum(int(minutes) for minutes in re.findall(r"^\| (\d+) \|", plan, re.MULTILINE)) == 45
    for anchor in re.findall(r"\(#([\w-]+)\)", plan):
        assert anchor in [
            re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in re.findall(r"^## (.*)", ANSWERS, re.MULTILINE)
        ]


def test_the_handout_has_every_question_and_fits_a_page() -> None:
    asked = re.findall(r"^\*\*\d\. (.*)\*\*$", HANDOUT, re.MULTILINE)
    assert asked == TITLES == re.findall(r"^## \d\. (.*)$", ANSWERS, re.MULTILINE)
    # a page of A4 holds 60 lines of 100 characters
    lines = sum(1 + len(line) // 100 for line in HANDOUT.splitlines() if line and not line.startswith("<!--"))
    assert lines <= 60


@pytest.mark.parametrize("name", ["buffers", "losers", "BBR and CUBIC", "grades", "bucket"])
def test_the_handout_has_no_answer(name: str) -> None:
    figures = {cell for row in answers(name) for cell in row[1:] if re.fullmatch(r"\d+\.\d+|[A-F]\+?", cell)}
    cells = {cell.strip() for line in HANDOUT.splitlines() if line.startswith("|") for cell in line.split("|")}
    assert not figures & cells


def test_printing_the_open_questions_prints_them_alone_and_whole(browser: Any, tmp_path: Path) -> None:
    """The page here is the playground's HTML without its script, with questions that are longer than a screen."""
    web = ROOT / "web" / "src"
    text = (web / "page.html").read_text()
    asked = "".join(
        f"<li><h3>{title}</h3><p>{'word ' * 120}<button class='term'>MOS</button></p><button>Open</button></li>"
        for title in TITLES
    )
    text = text.replace('<ol id="questions"></ol>', f'<ol id="questions">{asked}</ol>')
    file = tmp_path / "page.html"
    file.write_text(f"<style>{(web / 'style.css').read_text()}</style>{text}")
    with opened(browser, file, height=600, scheme="dark") as page:
        page.page.evaluate("document.getElementById('class').showModal()")
        page.page.emulate_media(media="print")
        seen = page.page.evaluate("""() => {
            const shown = [...document.body.children].filter((e) => e.checkVisibility() && e.tagName !== "STYLE");
            const dialog = document.getElementById("class"), style = getComputedStyle(dialog);
            return { shown: shown.map((e) => e.id), whole: dialog.clientHeight >= dialog.scrollHeight,
                position: style.position, ink: style.color, paper: style.backgroundColor,
                buttons: [...dialog.querySelectorAll("button")].filter((b) => b.checkVisibility())
                    .map((b) => b.className) };
        }""")
    assert seen == {
        "shown": ["class"],
        "whole": True,
        "position": "absolute",
        "ink": "rgb(0, 0, 0)",
        "paper": "rgb(255, 255, 255)",
        "buttons": ["term"] * len(TITLES),
    }
