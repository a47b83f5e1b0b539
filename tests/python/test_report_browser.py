"""Reports in Chromium: charts follow the pointer, reasons open by keyboard, pages make no requests, no text is cut."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from bloatlab.report import Page, Section, TableBlock, figure_block, write
from bloatlab.tables import TextCell, TextTable
from browser import opened, pointed, serious
from test_report import EVIL, drawn, page


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(page(EVIL, figure=True), tmp_path_factory.mktemp("page") / "report.html")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_is_quiet_right_and_readable(browser: Any, file: Path, width: int, scheme: Any):
    with opened(browser, file, width=width, scheme=scheme) as on:
        on.page.wait_for_selector(".uplot canvas")
        for now in ("dark", "light"):
            on.page.emulate_media(color_scheme=now)
            assert on.page.evaluate("document.documentElement.scrollWidth") <= width
            assert on.page.locator("h1").inner_text() == f"Is {EVIL} better?"
            assert on.page.locator(".uplot").count() == 2
            assert not on.page.locator(".static").first.is_visible()
            assert serious(on.page) == []


def test_the_value_under_the_pointer_is_shown(browser: Any, file: Path):
    with opened(browser, file) as on:
        chart = on.page.locator(".uplot").first
        time, one, two = pointed(chart, chart.locator(".u-over").bounding_box()["width"] / 2, 145.0, 155.0)[:3]
        assert float(one) == pytest.approx(math.sin(float(time) / 20.0), abs=0.05)
        assert float(two) == pytest.approx(math.cos(float(time) / 20.0), abs=0.05)


def test_series_are_switched_by_keyboard(browser: Any, file: Path):
    with opened(browser, file) as on:
        button = on.page.locator(".u-legend [role=button]").first
        button.focus()
        on.page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "false"
        on.page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"


def test_charts_with_one_link_zoom_together_and_back(browser: Any, tmp_path: Path):
    blocks = [figure_block(drawn(name, "run")) for name in ("one", "other")]
    both = Page("p", "", [Section("Figures", "figures", blocks)])
    with opened(browser, write(both, tmp_path / "linked.html"), height=1400) as on:
        on.page.locator(".uplot").nth(3).wait_for(state="attached")
        labels = "[...document.querySelectorAll('figure')].map(f => f.querySelector('button.whole').hidden)"
        assert on.page.evaluate(labels) == [True, True]
        box = on.page.locator(".u-over").first.bounding_box()
        on.page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 30)
        on.page.mouse.down()
        on.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30, steps=4)
        on.page.mouse.up()
        assert on.page.evaluate(labels) == [False, False]
        other = on.page.locator("figure").nth(1)
        # the selection began at a third of the 300 s, so the zoomed view begins at 100 s
        pointed(other.locator(".uplot").first, 2, 95.0, 110.0)
        on.page.locator("button.whole").first.click()
        assert on.page.evaluate(labels) == [True, True]
        pointed(other.locator(".uplot").first, 2, -1.0, 10.0)


@pytest.mark.parametrize("javascript", [True, False])
def test_a_reason_opens_by_touch_and_keyboard(browser: Any, file: Path, javascript: bool):
    with opened(browser, file, width=390, javascript=javascript) as on:
        button = on.page.get_by_role("button", name="2.20").first
        button.focus()
        on.page.keyboard.press("Enter")
        reason = on.page.locator(".reason:popover-open")
        assert reason.inner_text() == 'within "tolerance" & more'
        box = reason.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        on.page.keyboard.press("Escape")
        assert on.page.locator(".reason:popover-open").count() == 0


def test_without_javascript_and_on_paper_the_picture_stands(browser: Any, file: Path):
    with opened(browser, file, javascript=False) as on:
        assert on.page.locator(".static svg").first.is_visible()
    with opened(browser, file) as on:
        on.page.wait_for_selector(".uplot canvas")
        on.page.emulate_media(media="print")
        assert on.page.locator(".static svg").first.is_visible()
        assert not on.page.locator(".uplot").first.is_visible()


def test_a_wide_table_scrolls_under_its_first_column(browser: Any, tmp_path: Path):
    wide = TextTable(
        "Wide", ["case", *map(str, range(30))], [[TextCell(f"row {n}") for n in range(31)] for _ in range(3)]
    )
    on_page = Page("p", "", [Section("s", "s", [TableBlock(wide)])])
    with opened(browser, write(on_page, tmp_path / "wide.html"), width=390) as on:
        assert on.page.evaluate("document.documentElement.scrollWidth") <= 390
        head = on.page.locator("tbody th").first
        before = head.bounding_box()["x"]
        on.page.evaluate("document.querySelector('.frame').scrollLeft = 400")
        assert head.bounding_box()["x"] == pytest.approx(before, abs=1.0)
