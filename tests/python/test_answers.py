"""The studies' answers are computed from their runs, so different runs give a different answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
import pytest

from bloatlab.studies import STUDIES, study
from bloatlab.studies.cablelabs2012 import pages as cable
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.published import MOS
from bloatlab.studies.csc458 import pages as lab
from bloatlab.studies.mmcn1999 import pages as thresholds
from bloatlab.studies.mmcn1999.build import SCHEMES
from bloatlab.studies.scorecard import Band, Tolerance
from bloatlab.studies.scte2013 import pages as buffers
from bloatlab.studies.scte2013.experiments import BUFFERS_MS
from bloatlab.studies.scte2013.readings import place
from bloatlab.workloads.cable_loads import LOADED, NUMBERS, Case, Queue

Runs = dict[str, list[Measures]]


def test_cable_of_the_papers_own_numbers(as_published: Callable[[], Runs]):
    said = cable.answer(as_published(), 3)
    assert said.question == "Is CoDel better than a 50 ms buffer, and for whom?"
    # in each of the 8 loads in Tables 4, 6 and 8, pages load faster with CoDel, the MOS differs by at most 0.2, and the
    # FTP transfers differ by at most 2.5 %
    assert said.sentence.startswith("Yes, for web pages; no difference for calls and uploads.")
    assert [(p.who, p.verdict) for p in said.points] == [
        ("For pages", "CoDel is better:"),
        ("For calls", "no difference:"),
        ("For uploads", "no difference:"),
    ]
    assert "better in 8 of 8 loads" in said.points[0].text
    assert "Medians of 3 seeds" in said.basis


def test_cable_with_the_queues_exchanged_answers_the_other_way(as_published: Callable[[], Runs]):
    runs = as_published()
    for n in NUMBERS:
        small, codel = Case(n, Queue.DROPTAIL_21).key, Case(n, Queue.CODEL).key
        runs[small], runs[codel] = runs[codel], runs[small]
    said = cable.answer(runs, 3)
    assert said.sentence.startswith("No; CoDel is worse for web pages")
    assert said.points[0].tone == "bad"


def test_cable_counts_loads_by_what_is_noticed(as_published: Callable[[], Runs]):
    runs = as_published()
    for n in LOADED:
        codel, small = runs[Case(n, Queue.CODEL).key], runs[Case(n, Queue.DROPTAIL_21).key]
        for ours, theirs in zip(codel, small, strict=True):
            theirs[MOS] = 3.0
            ours[MOS] = 3.19 if n % 2 else 3.21
    of = cable.beside(runs, MOS, Queue.DROPTAIL_21, high_is_good=True)
    assert of is not None
    assert (of.better, of.worse, of.same) == (4, 0, 4)
    assert of.verdict == "it depends on the load"


def test_without_all_runs_nothing_is_said(as_published: Callable[[], Runs]):
    runs = as_published()
    del runs["D04/417"]
    assert cable.answer(runs, 3).sentence.startswith("A quick look skips runs")
    assert buffers.answer({}, 1).sentence.startswith("A quick look skips")
    assert lab.answer({}, 1).sentence.startswith("A quick look skips")
    assert thresholds.answer({}, {}, 1).sentence.startswith("A quick look skips")


def lab_runs(**fetch: float) -> Runs:
    pings = {"Q=5": 11.0, "Q=20": 37.0, "Q=100": 159.0, "codel": 15.0, "fq_codel": 5.0, "pie": 17.0}
    keys = {"Q=5": "Q=5 reno x2", "Q=20": "Q=20 reno x2", "Q=100": "Q=100 reno x2"}
    return {
        keys.get(name, f"{name} reno"): [
            {"rtt_median_ms": ms, "rtt_p95_ms": ms, "fetch_mean_s": fetch.get(name, 0.3), "throughput_mbit": 8.8}
        ]
        for name, ms in pings.items()
    }


def test_lab():
    said = lab.answer(lab_runs(**{"Q=5": 1.02, "Q=20": 0.84, "Q=100": 2.17}), 1).sentence
    assert said.startswith("In part: with 20 packets instead of 100 a ping takes 37 ms instead of 159")
    assert "but with 5 packets a page takes 1.02 s again" in said
    assert "fq_codel in place of the buffer: 5.0 ms" in said
    assert lab.answer(lab_runs(**{"Q=5": 0.5, "Q=20": 3.0, "Q=100": 2.17}), 1).sentence.startswith("No: ")


def test_buffers():
    game = {"fig2": 858.0, "fig11": 229.0, "fig5": 63.0, "fig16": 66.0}
    runs: Runs = {
        place(series, size): [
            {"gamer_mean_ms": ms if size == 960 else 65.0, "ftp_mean_ms": 900.0, "rate_mbit": 4.99, "loss_percent": 0.5}
        ]
        for series, ms in game.items()
        for size in BUFFERS_MS
    }
    said = buffers.answer(runs, 1).sentence
    assert said.startswith("SFQ (Type A) (and SFQ and LRED 200 ms within 10% of it): with a buffer of 960 ms")
    assert "take 63 ms, instead of 858 ms with drop-tail" in said
    assert "a buffer of only 50 ms, one bandwidth-delay product, has 65 ms" in said
    for size in BUFFERS_MS:
        runs[place("fig11", size)][0]["gamer_mean_ms"] = 30.0
    assert buffers.answer(runs, 1).sentence.startswith("LRED 200 ms (Type B): ")


def test_thresholds():
    tcp = {"fifo": 60.0, "red": 240.0, "fred": 900.0, "cbt": 1030.0, "cbq": 1027.0}
    drops = {"fifo": 63.0, "red": 26.0, "fred": 28.0, "cbt": 1.6, "cbq": 0.0}
    runs: Runs = {
        key: [{"tcp_kbs": kept, "tcp_before_kbs": 1100.0, "mm_drop_percent": drops[key]}] for key, kept in tcp.items()
    }
    frame = pl.DataFrame({"t_s": [0.0, 0.5], "kbs": [1.0, 2.0]})
    said = thresholds.answer(runs, {s.key: frame for s in SCHEMES}, 1)
    assert said.sentence.startswith("CBT and CBQ protect both; FRED only TCP; FIFO and RED not even TCP.")
    assert [p.verdict for p in said.points] == ["neither", "neither", "only TCP", "both", "both"]


@pytest.mark.parametrize("name", STUDIES)
def test_a_publication_has_a_name_and_nobody_s_number(name: str):
    of = study(name).publication
    assert of.title
    assert of.cited.endswith(".") or of.cited.endswith(")")
    assert "ocument 0" not in of.title + of.cited
    assert of.link == "" or of.link.startswith("https://")


def test_tolerances_print_what_they_judge():
    share = Tolerance(share=0.35, least=0.5, unit="percentage points")
    assert share.words() == "35 % or 0.5 percentage points, whichever is larger"
    assert (share.band(1.0).low, share.band(1.0).high) == (0.5, 1.5)  # 0.5 is the larger of 0.5 and 35 % of 1
    assert share.band(10.0).high == pytest.approx(13.5)
    factor = Tolerance(factor=2.0, least=0.02, unit="s")
    assert factor.words() == "a factor of 2 or 0.02 s, whichever is larger"
    assert (factor.band(1.0).low, factor.band(1.0).high) == (0.5, 2.0)
    assert factor.band(-10.0) == Band(-20.0, -5.0)
    assert factor.band(0.01).low == pytest.approx(-0.01)
    with pytest.raises(ValueError, match="not both"):
        Tolerance(share=0.35, factor=2.0)
    assert math.isclose(Tolerance(least=1925.0, unit="kB").band(385_000.0).width, 3850.0)
