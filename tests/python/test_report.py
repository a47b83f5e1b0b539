"""Tests of report pages: they are complete, escaped and self-contained, the answer comes first, and an explanation that
several cells share is printed once.
"""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bloatlab.plots import Mark, Panel, Series
from bloatlab.report import (
    Answer,
    Drawn,
    Fact,
    Facts,
    FigureBlock,
    Page,
    Point,
    Prose,
    Provenance,
    Section,
    TableBlock,
    figure_block,
    render,
)
from bloatlab.report.page import asset
from bloatlab.report.reasons import Reasons, shared_endings
from bloatlab.tables import TextCell, TextTable

ROOT = Path(__file__).resolve().parents[2]
EVIL = "</script><script>alert(1)</script>"
LONG = "the sender's window decides it, and the paper does not give it"

TABLE = TextTable(
    "Table 3. Voice",
    ["case", "lost %", "ours"],
    [
        [TextCell("04"), TextCell("2.15"), TextCell("2.20", "good", 'within "tolerance" & more', "within")],
        [TextCell("05"), TextCell("1.00"), TextCell("3.20", "bad", f"off by +2.2; {LONG}", "outside")],
        [TextCell("06"), TextCell("1.00"), TextCell("3.30", "bad", f"off by +2.3; {LONG}", "outside")],
    ],
    note="a note",
    groups=[("", 1), ("DropTail", 2)],
)
BELOW = TextTable(
    "Outside",
    ["case", "ours", "why"],
    [[TextCell("06"), TextCell("3.30"), TextCell(f"off by +2.3; {LONG}")]],
    words_last=True,
    below=True,
)


def drawn(label: str = "one", link: str = "") -> Drawn:
    t = np.linspace(0.0, 600.0, 6000)
    lines = [Series(label, t, np.sin(t / 20.0)), Series("two", t, np.cos(t / 20.0), "step", dashed=True)]
    marks = (Mark("peak", 0.5), Mark("begin", 5.0, "x"))
    time = Panel("Over time", "time (s)", "rate (Mbit/s)", lines, (0.0, 300.0), (-1.0, 1.0), marks)
    points = [Series(label, [1.0, 2.0, 2.0], [3.0, 4.0, 5.0], "points", band=([2.0, 3.0, 4.0], [4.0, 5.0, 6.0]))]
    ticks = ((1.0, "none\n20"), (2.0, "five"))
    other = Panel("By load", "load", "delay (ms)", points, (0.5, 2.5), (1.0, 10.0), log_y=True, x_ticks=ticks)
    return Drawn("2", "figure", f"Caption of {label}.", [time, other], link=link)


def page(name: str = "Voice", *, figure: bool = False) -> Page:
    sections = [
        Section("Tables", "tables", [TableBlock(TABLE), TableBlock(BELOW), TableBlock(TABLE, folded=True)], "A lead."),
        Section("Figures", "figures", [FigureBlock("<svg><g/></svg>", "Caption <b>", "Figure 2.")]),
        Section("Words", "words", [Prose([f"one {EVIL}", "two"]), Facts([Fact("9", "things", "note", "bad")])]),
    ]
    answer = Answer(
        f"Is {name} better?",
        "Behind 417 packets the call is worth 1.0; behind CoDel 4.4.",
        [Point("For calls", "better", "4.4 beside 1.0", "good")],
        figure_block(drawn(name)) if figure else None,
        "Medians of 10 seeds.",
    )
    rows = [("Written by", f"bloatlab report {name}")]
    return Page(
        f"A <title> {name}", "sub", sections, answer, ["lead"], [Fact("90 %", "of cells")], "careful", Provenance(rows)
    )


class Outline(HTMLParser):
    """Checks that tags are balanced, and collects the text of each kind of element."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    assert parser.open == []
    return parser


def test_page_has_everything_and_escapes_text():
    html = render(page())
    for text in (
        "A &lt;title&gt;",
        "Table 3. Voice",
        "Figure 2.",
        "Caption &lt;b&gt;",
        "careful",
        "bloatlab report Voice",
    ):
        assert text in html
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html
    assert "<svg><g/></svg>" in html
    assert '<th colspan="2" scope="colgroup">DropTail</th>' in html
    assert "<script" not in html  # without a chart there is no script


def test_the_answer_comes_first_and_is_the_heading():
    parsed = outline(render(page(figure=True)))
    assert parsed.text["h1"] == ["Is Voice better?"]
    first = parsed.seen.index
    assert first("h1") < first("svg") < first("nav") < first("table")


def test_verdicts_have_a_glyph_and_a_word_beside_their_colour():
    html = render(page())
    assert "✓</span> 2.20 <small>within</small>" in html
    assert "✗</span> 3.20 <small>outside</small>" in html
    assert "✓</span> better" in html
    bare = TextTable(
        "t", ["a", "b"], [[TextCell("x"), TextCell("1", "marked")], [TextCell("y"), TextCell("agrees", "good")]]
    )
    html = render(Page("p", "", [Section("s", "s", [TableBlock(bare)])]))
    assert "○</span> 1 <small>not counted</small>" in html
    assert "✓</span> agrees<" in html


def test_reasons_open_by_button_and_never_in_a_title():
    html = render(page())
    assert " title=" not in html
    (anchor,) = set(re.findall(r'popovertarget="(why\d+)"><span[^>]*>✓</span> 2.20', html))
    (reason,) = re.findall(rf'<span class="reason" popover id="{anchor}">([^<]*)</span>', html)
    assert reason == "within &#34;tolerance&#34; &amp; more"


def test_an_explanation_that_cells_share_is_printed_once_and_names_them():
    html = render(page())
    assert html.count(LONG.replace("'", "&#39;")) == 1
    assert html.count('href="#explanation-1"') == 3  # one link in each of two popovers, and one in the row below
    (cells,) = re.findall(r'<p class="cells">Cells: ([^<]*)</p>', html)
    assert cells == "05, DropTail, lost %; 06, DropTail, lost %; 06"


def test_endings_are_shared_by_most_and_not_by_chance():
    first, second = f"off by 1; {LONG}", f"experiment live: 2 %, within: {LONG}"
    assert shared_endings([first, second, "within tolerance", "within tolerance"]) == {
        first: LONG,
        second: LONG,
        "within tolerance": "",
    }
    assert Reasons([TABLE]).of(f"off by +2.2; {LONG}").own == "off by +2.2"


def test_page_needs_nothing_from_outside():
    html = render(page(figure=True))
    assert not re.search(r"""(src|href)=["'](?!#)""", html)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    assert "default-src 'none'" in html


def test_tags_are_balanced_and_sections_can_be_reached():
    html = render(page())
    outline(html)
    for anchor in re.findall(r'href="#([^"]+)"', html):
        assert f'id="{anchor}"' in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def data_of(html: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    return [json.loads(text) for text in found]


def test_names_are_text_in_a_chart_too():
    html = render(page(EVIL, figure=True))
    assert "<script>alert" not in html
    (chart,) = data_of(html)
    assert chart["panels"][0]["series"][0]["label"] == EVIL


def test_the_picture_stays_and_the_chart_begins_with_the_same_view():
    figure = drawn()
    html = render(page(figure=True))
    assert '<svg role="img"' in html
    (chart,) = data_of(html)
    time, load = chart["panels"]
    assert time["x"]["range"] == list(figure.figure().axes[0].get_xlim())
    assert load["y"] == {"label": "delay (ms)", "range": [1.0, 10.0], "log": True}
    assert load["x"]["ticks"] == [[1.0, "none\n20"], [2.0, "five"]]
    assert [m["label"] for m in time["marks"]] == ["peak", "begin"]


def test_a_long_series_is_thinned_to_its_extremes_and_x_values_differ():
    t = np.arange(100_000.0)
    y = np.zeros(100_000)
    y[31_415] = 9.0
    panel = Panel(
        "p", "time (s)", "y (ms)", [Series("a", t, y), Series("b", [1.0, 1.0, 0.5], [1.0, 2.0, 3.0], "points")]
    )
    block = figure_block(Drawn("", "f", "c", [panel], 1))
    of = json.loads(block.data)["panels"][0]
    first, second = of["series"]
    assert len(first["y"]) < 3000
    assert max(first["y"]) == 9.0
    assert second["y"] == [3.0, 1.0, 2.0]
    for x in of["xs"]:
        assert np.all(np.diff(x) > 0)
    assert len(block.data) < 100_000


def test_pictures_take_the_page_s_colours_and_have_ids_of_their_own():
    one, two = (figure_block(drawn(name)).svg for name in ("one", "other"))
    assert "var(--c0,#0072b2)" in one
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, two)]
    assert ids[0].isdisjoint(ids[1])
    for anchor in re.findall(r"url\(#([^)]+)\)", one):
        assert anchor in ids[0]


def test_what_is_vendored_is_what_is_recorded():
    folder = resources.files("bloatlab.report").joinpath("assets")
    recorded: Any = json.loads(asset("assets.json"))
    for name, sha in recorded["sha256"].items():
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == sha, name
    assert "Permission is hereby granted" in folder.joinpath("uPlot.LICENSE").read_text(encoding="utf-8")
    assert recorded["version"] in folder.joinpath("uPlot.iife.min.js").read_text(encoding="utf-8")[:200]


def test_what_is_vendored_is_what_the_playground_uses():
    package = ROOT / "web" / "package.json"
    if not package.exists():
        pytest.skip("no web/package.json here")
    recorded: Any = json.loads(asset("assets.json"))
    wanted = json.loads(package.read_text(encoding="utf-8"))
    asked = {**wanted.get("dependencies", {}), **wanted.get("devDependencies", {})}.get("uplot")
    assert asked is None or asked.lstrip("^~=") == recorded["version"]
    installed = ROOT / "web" / "node_modules" / "uplot" / "dist"
    if not installed.exists():
        pytest.skip("web/node_modules is not installed: npm ci in web/")
    for name, sha in recorded["sha256"].items():
        assert hashlib.sha256((installed / name).read_bytes()).hexdigest() == sha, name
