"""The study `cablelabs2012` on the core: its scenarios resolve, its runs satisfy identities, and its command works."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab._core import emodel
from bloatlab.cli.main import call
from bloatlab.studies.cablelabs2012 import published
from bloatlab.studies.cablelabs2012.build import build
from bloatlab.studies.cablelabs2012.experiments import EXPERIMENTS, READINGS, UNKNOWNS, plateau, tables, trials
from bloatlab.studies.cablelabs2012.rules import read_back
from bloatlab.studies.published import places
from bloatlab.studies.scorecard import Verdict
from bloatlab.workloads.cable_home import Setup, describe
from bloatlab.workloads.cable_loads import Case, Queue, grid
from browser import opened, serious


@pytest.mark.parametrize("name", ["tables", "plateau", *EXPERIMENTS])
def test_every_scenario_resolves(name: str):
    given = {"tables": tables, "plateau": plateau}.get(name, lambda: trials(name))()
    assert given
    for trial in given:
        assert build(trial.case, 1, trial.setup).name == f"cablelabs2012 {trial.case.key}"
    assert len({t.key for t in given}) == len(given)


def test_the_system_of_figure_1():
    scenario: Any = describe(Case(5, Queue.DROPTAIL_417), 1, Setup())
    links = scenario["link"]
    up = links["up"]
    assert up["docsis"]["flow"] == {
        "max_sustained_rate": "5mbit",
        "max_traffic_burst": "10MB",
        "peak_traffic_rate": "20mbit",
        "peak_burst": "1522B",
    }
    # a round trip of 100 ms is 2 x (1 + 49) ms: in each direction, 1 ms on the modem's link and 49 ms on the link to
    # the server. The round trips to the web servers are 20, 30, 50 and 100 ms
    assert links["ftp"]["delay"] == "49ms"
    assert [links[f"web{n}"]["delay"] for n in range(1, 5)] == ["9ms", "14ms", "24ms", "49ms"]
    assert links["phone"]["delay"] == links["cbr"]["delay"] == "0ms"
    assert up["queue"] == {"droptail": {"limit": "417p", "ns2_off_by_one": True}}


def test_the_modem_is_the_papers():
    """The modem has the properties that §2.2.2 of the paper describes.

    A MAP moves REQ(1) into REQ(0), and only then records the new REQ(1). Both queues are ns-2's DropTail, which holds
    one packet less than its limit, and a full transmit queue drops packets.
    """
    up: Any = describe(Case(5, Queue.DROPTAIL_21), 1, Setup()).get("link", {})["up"]
    assert up["docsis"]["request_vector"] == "recorded"
    assert up["queue"] == {"droptail": {"limit": "21p", "ns2_off_by_one": True}}
    assert (up["docsis"]["transmit_limit"], up["docsis"]["transmit_queue"]) == ("31p", "drop")
    whole: Any = describe(Case(5, Queue.DROPTAIL_21), 1, Setup(ns2_droptail=False)).get("link", {})["up"]
    assert (whole["docsis"]["transmit_limit"], whole["queue"]["droptail"]["ns2_off_by_one"]) == ("32p", False)


def test_one_window_for_all_transfers():
    tcp: Any = describe(Case(8, Queue.DROPTAIL_417), 1, Setup()).get("tcp", {})
    assert tcp["bursty"]["window_clamp"] == tcp["bulk"]["window_clamp"] == 672
    tcp = describe(Case(8, Queue.DROPTAIL_417), 1, Setup(**READINGS["bursty_window"].changes)).get("tcp", {})
    assert (tcp["bursty"]["window_clamp"], tcp["bulk"]["window_clamp"]) == (96, 672)
    tcp = describe(Case(3, Queue.CODEL), 1, Setup(**READINGS["bulk_acks_of_two"].changes)).get("tcp", {})
    assert [tcp[stack]["ack_every"] for stack in ("bulk", "bursty", "web")] == [2, 1, 1]


def test_round_trips_apart():
    scenario: Any = describe(Case(5, Queue.CODEL), 1, Setup(**READINGS["round_trips_apart"].changes))
    names = ["ftp", "ftp2", "ftp3", "ftp4", "ftp5"]
    # the round trips are 100, 102, ... 108 ms. The DOCSIS link contributes 2 ms to each of them, and the link to the
    # server contributes the rest, half of it in each direction
    assert [scenario["link"][n]["delay"] for n in names] == ["49ms", "50ms", "51ms", "52ms", "53ms"]
    assert [scenario["app"][n]["traffic"]["ftp"]["flows"] for n in names] == [1] * 5
    single: Any = describe(Case(3, Queue.CODEL), 1, Setup(**READINGS["round_trips_apart"].changes))
    assert single == describe(Case(3, Queue.CODEL), 1, Setup())


def test_parameters_are_read_back():
    found = read_back()
    assert len(found) == len(places("cablelabs2012"))
    assert [cell.metric for cell in found if cell.verdict is not Verdict.PARAMETER] == []


def test_free_parameters_are_one_set_with_arguments():
    named = {u.field for u in UNKNOWNS}
    for unknown in UNKNOWNS:
        assert getattr(Setup(), unknown.field) not in unknown.others
        assert len(unknown.why) > 20
    # experiments do not vary these parameters, because they depend on another parameter, or have no effect
    companions = {"file_pause_spread", "down_link_rate", "ftp_start"}
    # the paper states the values of these parameters, but experiments vary them nevertheless
    stated = {"transmit_queue", "sojourn_both", "page", "limit", "target", "queue", "round_trip_step_ms", "seconds"}
    stated |= {"bursty_window", "bulk_ack_every"}  # by default, the same as `bulk_window` and `ack_every`
    assert {f for f in Setup.__slots__ if f not in named} == companions | stated


def test_seeds_differ_in_starts_and_cases_share_them():
    one: Any = describe(Case(4, Queue.CODEL), 1, Setup())
    two: Any = describe(Case(4, Queue.CODEL), 2, Setup())
    assert one["app"]["web"]["start"] != two["app"]["web"]["start"]
    other: Any = describe(Case(2, Queue.DROPTAIL_21), 1, Setup())
    assert one["app"]["web"]["start"] == other["app"]["web"]["start"]


def test_appendix_a_is_the_same_list_in_both_languages(tmp_path: Path):
    """The objects of the core's web page have the sizes in the paper's Appendix A.

    If each object is sent once, a page load delivers 614 402 B of objects and 102 400 B of HTML.
    """
    total = 614_402 + 102_400
    trial = next(t for t in trials("pages") if t.key == "D01/417 listed sizes")
    each_once = replace(trial.setup, seconds=60, web_quota="asked")
    result = bloatlab.run(build(trial.case, 1, each_once))
    web = result.summary["apps"]["web"]
    pages = web["goodput_bytes_reverse"] / total
    assert web["web"]["pages"] <= pages < web["web"]["pages"] + 1


def test_mos_of_all_published_cells():
    """In every cell of the paper's tables, the E-model without delay computes the printed MOS from the printed loss."""
    for c in grid():
        loss = published.by_key()[c.key, published.PLR].values[0]
        mos = emodel(loss / 100.0, 0.0)[1]
        assert published.by_key()[c.key, published.MOS].values[0] == pytest.approx(mos, abs=0.0501), c.key


def test_shaper_ceiling():
    """A busy modem sends what the shaper allows, 10 MB + 5 Mbit/s x 600 s = 385.000 MB, or up to 0.5 MB less."""
    result = bloatlab.run(build(Case(4, Queue.DROPTAIL_417), 1))
    sent = result.summary["links"]["up"]["delivered_bytes"]
    assert 384_500_000 < sent <= 385_000_000 + 1522


def test_thirty_thousand_voice_packets():
    scenario = build(Case(1, Queue.CODEL), 1, Setup(start_spread_ms=0.0))
    assert bloatlab.run(scenario).summary["apps"]["voip"]["voip"]["sent"] == 30_000


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    assert call(["reproduce", "cablelabs2012", "--quick", "-o", str(out), "-e", "bytes", "-f", "json"]) == 0
    return out


def test_quick_look_proves_nothing_and_leaves_everything(quick: Path):
    data = json.loads((quick / "scorecard.json").read_text())
    assert data["summary"]["met"] is None
    assert "prove nothing" in data["summary"]["note"]
    assert len(data["cells"]) == 216 + 90
    assert {c["claim"] for c in data["claims"]} >= {"plateau", "syn-times", "nearly-full"}
    assert len(list((quick / "figures").glob("fig[2-9]_*.svg"))) == 8
    assert len(list((quick / "figures").glob("fig[2-9]_*.png"))) == 8
    page = (quick / "report.html").read_text()
    assert page.count("<svg") == 1 + 2 + 8  # a figure in the answer, two overlays, Figures 2 to 9
    assert "A quick look" in page
    assert "bytes: a DropTail buffer" in page
    runs = pl.read_parquet(quick / "runs.parquet")
    # 27 cases of the tables, 2 of the plateau, 18 of the experiment `bytes` and 10 without pages, with two seeds each
    assert runs.height == (27 + 2 + 18 + 10) * 2
    assert set(runs["seed"]) == {1, 2}


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_a_stranger_finds_the_answer_on_the_first_screen(browser: Any, quick: Path, width: int, height: int):
    """The question, the answer and the list of who benefits are visible without scrolling, and the page has at most 3
    MB.
    """
    file = quick / "report.html"
    assert file.stat().st_size < 3_000_000
    with opened(browser, file, width=width, height=height) as on:
        on.page.wait_for_selector(".uplot canvas")
        assert on.page.locator("h1").inner_text() == "Is CoDel better than a 50 ms buffer, and for whom?"
        # on a phone's screen, the answer and the list of who benefits fit below the warning that this report is only a
        # quick look, but the figure does not fit
        for place in ["h1", ".sentence", ".points", *([".uplot"] if width > 1000 else [])]:
            box = on.page.locator(place).first.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height, place
            assert box["x"] + box["width"] <= width, place
        assert [on.page.locator(".points dt").nth(n).inner_text() for n in range(3)] == [
            "For pages",
            "For calls",
            "For uploads",
        ]
        assert on.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(on.page) == []
