"""Pages: complete, escaped, self-contained."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from bloatlab.report import Fact, Facts, FigureBlock, Page, Prose, Section, TableBlock, render
from bloatlab.tables import TextCell, TextTable

TABLE = TextTable(
    "Table 3. Voice",
    ["case", "lost %", "ours"],
    [[TextCell("04"), TextCell("2.15"), TextCell("2.20", "good", 'within "tolerance" & more')]],
    note="a note",
    groups=[("", 1), ("DropTail", 2)],
)


def page() -> Page:
    sections = [
        Section("Tables", "tables", [TableBlock(TABLE), TableBlock(TABLE, folded=True)], "A lead."),
        Section("Figures", "figures", [FigureBlock("<svg><g/></svg>", "Caption <b>", "Figure 2.")]),
        Section("Words", "words", [Prose(["one <script>", "two"]), Facts([Fact("9", "things", "note", "bad")])]),
    ]
    return Page("A <title>", "sub", sections, ["lead"], [Fact("90 %", "of cells")], "careful", ["made by"])


def test_page_has_everything_and_escapes_text():
    html = render(page())
    for text in (
        "A &lt;title&gt;",
        "Table 3. Voice",
        "one &lt;script&gt;",
        "Figure 2.",
        "Caption &lt;b&gt;",
        "careful",
    ):
        assert text in html
    assert "<svg><g/></svg>" in html
    assert "<script" not in html
    assert 'title="within &#34;tolerance&#34; &amp; more"' in html
    assert '<th colspan="2">DropTail</th>' in html


def test_verdicts_have_a_glyph_and_words_beside_their_colour():
    html = render(page())
    assert '<span class="glyph">✓</span> 2.20' in html
    assert '<span class="glyph">✗</span> 9' in html
    assert "✓ within tolerance, or holds; ✗ outside, or differs" in html


def test_page_needs_nothing_from_outside():
    html = render(page())
    assert not re.search(r"""(src|href)=["'](?!#)""", html)
    assert "@import" not in html
    assert "url(" not in html


def test_tags_are_balanced():
    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in {"meta", "link", "br"}:
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Balance()
    parser.feed(render(page()))
    assert parser.open == []


def test_every_section_can_be_reached():
    html = render(page())
    for anchor in re.findall(r'href="#([^"]+)"', html):
        assert f'id="{anchor}"' in html
