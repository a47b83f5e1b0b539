"""Output of the playground: pictures and tables of charts, the embedded page, `window.bloatlab`, the index."""

from __future__ import annotations

import csv
import json
import re
import struct
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bloatlab import _core
from bloatlab.cli.play import fragment
from browser import Opened
from playground import HOME, NASTY, PAGE, Open, held, runs, scenario_of, settled

CHARTS = {"delay": "mean", "rate": "call", "cdf": "queue"}
SVG = "{http://www.w3.org/2000/svg}"


def native(scenario: dict[str, Any]) -> Any:
    return json.loads(_core.run(scenario_of(scenario).text)["summary"])


def saved(found: Opened, chart: str, kind: str) -> tuple[str, bytes]:
    """Presses the button that saves a chart; returns the name of the saved file and its bytes."""
    with found.page.expect_download() as waiting, tempfile.TemporaryDirectory() as folder:
        found.page.get_by_label(f"save the {chart} chart as {kind}", exact=True).click()
        download = waiting.value
        download.save_as(path := Path(folder) / "file")
        return download.suggested_filename, path.read_bytes()


def test_a_chart_is_saved_as_a_table_a_drawing_and_a_picture(page: Open):
    found = page(HOME)
    for chart in CHARTS:
        check_table(found, chart)
        check_drawing(found, chart)
        name, data = saved(found, chart, "PNG")
        assert name == f"bloatlab-{chart}.png"
        assert data.startswith(b"\x89PNG\r\n"), chart
        assert struct.unpack(">II", data[16:24]) == (1920, 840), chart


def check_table(found: Opened, chart: str) -> None:
    name, data = saved(found, chart, "CSV")
    assert name == f"bloatlab-{chart}.csv"
    head, *rows = csv.reader(data.decode().splitlines())
    assert any(CHARTS[chart] in column for column in head)
    assert len(rows) > 50
    assert {len(row) for row in rows} == {len(head)}
    greatest = float(found.page.get_attribute(f"#{chart}-chart", "data-greatest"))
    columns = [i for i, column in enumerate(head) if i > 0 and not column.endswith("(packets)")]
    assert max(float(row[i]) for row in rows for i in columns if row[i]) == pytest.approx(greatest)


def check_drawing(found: Opened, chart: str) -> None:
    name, data = saved(found, chart, "SVG")
    assert name == f"bloatlab-{chart}.svg"
    root = ET.fromstring(data)  # noqa: S314 - the page's own file
    # in the SVG file, labels are text elements, and everything else is drawn with shapes
    assert {e.tag.removeprefix(SVG) for e in root.iter()} == {"svg", "rect", "text", "path"}
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert found.page.inner_text(f"#{chart}-title") in texts
    lines = [e for e in root.iter(f"{SVG}path") if e.get("fill") == "none"]
    drawn = found.page.get_attribute(f"#{chart}-chart", "data-lines").split("|")
    assert len(lines) == len([name for name in drawn if name not in {"drops", "marks"}])
    if chart == "rate":
        assert NASTY in texts


def test_a_name_that_a_spreadsheet_would_compute_is_a_text(page: Open):
    scenario = json.loads(json.dumps(HOME))
    scenario["app"]['=1+1,"x"'] = scenario["app"].pop(NASTY)
    _, data = saved(page(scenario), "rate", "CSV")
    assert any(cell.startswith('\'=1+1,"x"') for cell in next(csv.reader(data.decode().splitlines())))


def test_a_script_changes_runs_and_reads(page: Open):
    found = page(HOME)
    tree = found.page.evaluate("bloatlab.scenario()")
    assert tree == HOME
    before = runs(found)
    summary = found.page.evaluate(
        "() => { bloatlab.set('link.up.queue', 'fq_codel'); bloatlab.set('seed', 3); return bloatlab.run(); }"
    )
    tree["link"]["up"]["queue"], tree["seed"] = "fq_codel", 3
    assert summary == native(tree)
    assert found.page.evaluate("bloatlab.summary()") == summary
    assert runs(found) > before
    assert held(found)["scenario"] == tree
    other = {"duration": "1s", "link": {"a": {"from": "x", "to": "y", "rate": "1mbit"}}}
    assert found.page.evaluate("(s) => bloatlab.run(s)", other) == native(other)
    assert len(found.page.evaluate("bloatlab.charts().t_s")) > 50


def test_a_script_is_told_what_is_wrong(page: Open):
    found = page(HOME)
    line = found.page.evaluate(
        "() => { bloatlab.set('link.up.rate', '5mbi'); return bloatlab.run().then(() => '', (e) => e.message); }"
    )
    assert line.startswith("link.up.rate: ")
    # `scenario()` returns a copy, so a script cannot change the page's own scenario; a path given to `set` cannot
    # change the prototype of all objects
    found.page.evaluate("() => { bloatlab.set('__proto__.polluted', 1); bloatlab.scenario().seed = 9; }")
    assert found.page.evaluate("({}).polluted === undefined && bloatlab.scenario().seed === undefined")


def test_the_index_names_every_preset_and_essay(page: Open):
    found = page()
    index = json.loads(found.page.evaluate("document.getElementById('index').textContent"))
    assert index == found.page.evaluate("bloatlab.index()")
    options = found.page.locator("#preset option:not([value=''])")
    listed = options.evaluate_all("all => all.map(o => [o.value, o.textContent])")
    assert [[p["id"], p["title"]] for p in index["presets"]] == listed
    assert len({p["id"] for p in index["presets"]}) == len(listed)
    settled(found, lambda: found.page.evaluate("location.hash = '#preset/cable-modem'"))
    assert found.page.input_value("#preset") == "cable-modem"
    assert {e["id"] for e in index["essays"]} >= {"bloat", "codel", "modem"}
    assert all(len(e["steps"]) >= 4 for e in index["essays"])


@contextmanager
def framed(browser: Any, tmp_path: Path, end: str, width: int = 640) -> Generator[Any]:
    """Opens a course page with the playground in a frame, and yields the frame.

    The page must be closed at the end; otherwise its animation would use half a core until the last test has run.
    """
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")
    course = tmp_path / "course.html"
    course.write_text(f'<iframe id="lab" src="{PAGE.as_uri()}?embed{end}" width="{width}" height="560"></iframe>')
    with closing(browser.new_context(viewport={"width": 800, "height": 700}, offline=True)) as context:
        shown = context.new_page()
        shown.goto(course.as_uri())
        frame = shown.frame_locator("#lab")
        frame.locator("body[data-runs]").wait_for(timeout=30_000)
        yield frame


def test_a_course_page_embeds_a_result_in_one_line(browser: Any, tmp_path: Path):
    with framed(browser, tmp_path, fragment(scenario_of(HOME))) as frame:
        for shown in ("#why", "#delay-figure", "#call-figure", "#cards"):
            assert frame.locator(shown).is_visible(), shown
        for hidden in ("header", "#controls", "footer", "#first"):
            assert frame.locator(hidden).is_hidden(), hidden
        width = frame.locator("html").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert width[0] <= width[1]
        whole = frame.locator("#whole a")
        until_link = "e => new Promise(d => setTimeout(() => d(e.href), 1000))"
        assert whole.evaluate(until_link).startswith(PAGE.as_uri() + "#1=")
        assert whole.get_attribute("rel") == "noopener"


def test_a_course_page_embeds_a_step_of_an_essay(browser: Any, tmp_path: Path):
    with framed(browser, tmp_path, "#essay/codel/2") as frame:
        frame.locator(".guess button").first.click()
        frame.locator(".answer .look").wait_for()
        assert re.match("You guessed right|Not so: ", frame.locator("#essay .verdict").inner_text())
