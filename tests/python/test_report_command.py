"""`bloatlab report`: pages of one run, of several, of sweeps and of comparisons; bad input is refused in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bloatlab.cli.main import call
from bloatlab.plots import Panel, Series
from bloatlab.report.results import alike
from bloatlab.results import write_json
from bloatlab.simulated_and_live import Cell, Compared
from browser import opened, serious
from test_report import data_of, outline

EVIL = "<script>alert(1)</script>"

SCENARIO = """
name = "home <b>"
seed = 7
duration = "10s"

[link.up]
from = "home"
to = "net"
rate = "2mbit"
delay = "10ms"
queue.droptail = { limit = "100p" }

[link.down]
from = "net"
to = "home"
rate = "20mbit"
delay = "10ms"

[app."NAME"]
from = "home"
to = ["net"]
tcp = "rfc"
traffic.ftp = {}

[app.call]
from = "home"
to = ["net"]
traffic.voip = {}

[app.ping]
from = "home"
to = ["net"]
traffic.ping = {}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "video.toml").write_text(SCENARIO.replace("[app.call]", "[app.camera]").replace("voip", "media"))
    assert call(["run", str(folder / "video.toml"), "-o", str(folder / "video")]) == 0
    for name, of in (("plain", "file"), ("evil", EVIL)):
        scenario = folder / f"{name}.toml"
        scenario.write_text(SCENARIO.replace("NAME", of))
        assert call(["run", str(scenario), "-o", str(folder / name)]) == 0
    queue = "{ codel = {} }"
    assert (
        call(["run", str(folder / "plain.toml"), "--set", f"link.up.queue={queue}", "-o", str(folder / "codel")]) == 0
    )
    grid = folder / "grid.toml"
    grid.write_text(
        'scenario = "plain.toml"\nseeds = 2\n[set]\nduration = "4s"\n[axes]\n"link.up.rate" = ["1mbit", "4mbit"]\n'
        '[axes.queue]\nlong = { "link.up.queue" = { droptail = { limit = "100p" } } }\n'
        'codel = { "link.up.queue" = { codel = {} } }\n'
    )
    assert call(["sweep", str(grid), "-o", str(folder / "grid.csv"), "--store", str(folder / "store")]) == 0
    return folder


def made(ran: Path, *of: str) -> Path:
    """Returns the report of these results, and writes it if it does not exist yet."""
    out = ran / f"{'-'.join(of)}.html"
    if not out.exists():
        assert call(["report", *(str(ran / name) for name in of), "-o", str(out)]) == 0
    return out


def test_a_run_says_what_happened(ran: Path):
    html = made(ran, "plain").read_text()
    parsed = outline(html)
    assert parsed.text["h1"] == ["What happened in home <b>?"]
    summary = json.loads((ran / "plain" / "summary.json").read_text())
    (sentence,) = re.findall(r'<p class="sentence">([^<]*)</p>', html)
    assert f"{summary['links']['up']['sojourn_ms']['p50']:.0f} ms" in sentence
    titles = {panel["title"] for chart in data_of(html) for panel in chart["panels"]}
    assert {"Longest wait in the queue of up", "Rate of each flow", "Round-trip time", "One-way delay"} <= titles
    # all time-series charts are linked to each other, and so are all charts of distributions
    assert len({chart["link"] for chart in data_of(html)}) == 2
    assert "seed 7" in html
    assert f"Grade of the delay that load adds: plain: {summary['latency']['grade']} (p99)." in html


def test_every_series_of_a_run_has_a_titled_panel(ran: Path):
    titles = {panel["title"] for chart in data_of(made(ran, "video").read_text()) for panel in chart["panels"]}
    assert {"Target rate of live video", "Frame delay of live video", "Queue"} <= titles


def test_two_runs_lie_in_one_chart_and_differ(ran: Path):
    html = made(ran, "plain", "codel").read_text()
    (first, *_) = data_of(html)
    lines = [series["label"] for series in first["panels"][0]["series"]]
    assert len(lines) == 2
    assert any("codel" in label for label in lines)
    mos = [
        json.loads((ran / n / "summary.json").read_text())["apps"]["call"]["voip"]["mos"] for n in ("plain", "codel")
    ]
    (sentence,) = re.findall(r'<p class="sentence">([^<]*)</p>', html)
    assert all(f"{value:.2f}" in sentence for value in mos)
    assert "link.up.queue" in html
    assert re.search(r"✓</span> better", html)


def test_a_sweep_says_where_it_is_best(ran: Path):
    html = made(ran, "grid.csv").read_text()
    (sentence,) = re.findall(r'<p class="sentence">([^<]*)</p>', html)
    assert sentence.startswith("Time in queue of link up (99 %): ")
    assert " ms with rate 4mbit, queue codel" in sentence
    assert "sojourn_ms" not in sentence
    assert "codel" in sentence.split(" and ")[0]  # the better result is named first
    assert "queue long" in sentence.split(" and ")[1]
    table = re.findall(r"<tbody>(.*?)</tbody>", html, re.DOTALL)[-1]
    assert table.count("<tr>") == 4


def test_a_comparison_says_how_far_it_agrees(tmp_path: Path):
    cells = [
        Cell("Q=20", "ping RTT", "ms", 26.0, 27.0, 4.0, True),
        Cell("Q=20", "page time", "s", 0.9, 0.6, 0.09, False),
        Cell("Q=100", "ping RTT", "ms", 100.0, 90.0, 13.0, None),
    ]
    done = Compared(cells, {"Q=100": "late"}, 3)
    write_json(tmp_path / "compare.json", done.as_data())
    assert call(["report", str(tmp_path), "-o", str(tmp_path / "c.html")]) == 0
    html = (tmp_path / "c.html").read_text()
    (sentence,) = re.findall(r'<p class="sentence">([^<]*)</p>', html)
    assert sentence == (
        "In 1 of 2 judged quantities; the farthest off is page time of Q=20: 0.900 s simulated, 0.600 s on kernels."
    )
    assert "invalid:" in html


def test_bad_input_is_one_line(ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "study").mkdir()
    for name in ("scorecard.json", "report.html"):
        (tmp_path / "study" / name).write_text("{}")
    cell = {"case": "a", "quantity": "b", "unit": "", "simulated": 1.0, "live": "x", "allowed": 0.0, "agrees": None}
    damaged = json.dumps({"cells": [cell], "invalid": {}, "summary": {"seeds": 1}})
    for name, text in (("broken", "[]"), ("damaged", damaged)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compare.json").write_text(text)
    out = ["-o", str(tmp_path / "x.html")]
    for arguments, words in (
        ([str(tmp_path / "none"), *out], "none"),
        ([*out], "give a result"),
        ([str(ran / "plain"), "-o", str(tmp_path / "x.pdf")], "ends in .html"),
        ([str(tmp_path / "study"), *out], "study's folder, and has a report already"),
        ([str(tmp_path / "broken"), *out], "not a comparison written by bloatlab"),
        ([str(tmp_path / "damaged"), *out], "not a comparison written by bloatlab"),
        ([str(ran / "plain"), str(ran / "grid.csv"), *out], "table of many runs"),
        ([str(tmp_path), *out], "not a result folder"),
        ([str(ran / "plain" / "summary.json"), *out], "not a table of a sweep"),
        ([str(ran / "plain" / "provenance.json"), *out], "not a table of a sweep"),
    ):
        assert call(["report", *arguments]) == 2, arguments
        lines = capsys.readouterr().err.strip().splitlines()
        assert words in " ".join(lines), arguments
        assert "Traceback" not in " ".join(lines)
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("names", [("evil",), ("evil", "codel"), ("grid.csv",)])
def test_pages_are_quiet_and_readable_whatever_is_called_how(browser: Any, ran: Path, names: tuple[str, ...]):
    file = made(ran, *names)
    assert file.stat().st_size < 3_000_000
    for width in (1280, 390):
        with opened(browser, file, width=width, scheme="dark") as on:
            on.page.wait_for_selector(".uplot canvas")
            assert on.page.evaluate("document.documentElement.scrollWidth") <= width
            assert serious(on.page) == []
            if names[0] == "evil":
                assert EVIL in on.page.locator("body").inner_text()


def test_no_word_of_a_table_s_head_is_broken(browser: Any, ran: Path):
    file = made(ran, "plain", "codel", "plain", "codel", "plain", "codel")
    assert ">Which of 6 results is best?</h1>" in file.read_text()
    for width in (1280, 390):
        with opened(browser, file, width=width) as on:
            broken = on.page.evaluate("""
                [...document.querySelectorAll(".answer table :is(thead th, tbody th)")].flatMap((cell) => {
                  const text = [...cell.childNodes].find((node) => node.data);
                  const found = [...(text ? text.data : "").matchAll(/\\S+/g)];
                  return found.filter((word) => {
                    const range = document.createRange();
                    range.setStart(text, word.index);
                    range.setEnd(text, word.index + word[0].length);
                    return new Set([...range.getClientRects()].map((box) => box.top)).size > 1;
                  }).map((word) => word[0]);
                })""")
            assert broken == []


def test_the_same_quantity_has_the_same_axis_in_every_run():
    def panel(top: float, end: float) -> Panel:
        return Panel("Queue", "time (s)", "packets", [Series("up", [0.0, 1.0], [0.0, top])], (0.0, end))

    (one,), (two,) = alike([[panel(1000.0, 20.0)], [panel(5.0, 10.0)]])
    assert one.y_range == two.y_range == (0.0, 1050.0)
    assert one.x_range == two.x_range == (0.0, 20.0)
    ((alone,),) = alike([[panel(0.0, 20.0)]])
    assert alone.y_range == (0.0, None)


def smallest_type(page: Any) -> float:
    """Returns the smallest size of the text in pictures, in px on the screen."""
    return page.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().width > 0)"
        ".map(t => Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b) * parseFloat(getComputedStyle(t).fontSize)))"
    )


def test_pictures_can_be_read_on_a_phone(ran: Path, browser: Any, tmp_path: Path):
    picture = tmp_path / "picture.html"
    assert call(["plot", str(ran / "plain"), "-o", str(picture)]) == 0
    for file in (made(ran, "plain"), picture):
        for width in (390, 1280):
            with opened(browser, file, width=width, javascript=False) as on:
                assert smallest_type(on.page) >= 8.5, width
                assert on.page.evaluate("document.documentElement.scrollWidth") <= width
