"""The study of thirteen years: its scenarios, its identities, and a golden slice."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bloatlab.cli.main import call
from bloatlab.simulation import run
from bloatlab.studies.cablelabs2012.build import DOWN, UP
from bloatlab.studies.scorecard import Verdict
from bloatlab.studies.today.answer import answer
from bloatlab.studies.today.build import build
from bloatlab.studies.today.cases import LOADED, Case, Line, Stack, cases, considered, quick
from bloatlab.studies.today.compare import FULL, LAWS, over_loads, scorecard
from bloatlab.studies.today.considerations import Consideration, mean_size
from bloatlab.studies.today.measure import measure


def test_every_case_has_a_name_of_its_own_and_a_scenario():
    keys = [case.key for case in cases()]
    assert len(set(keys)) == len(keys) == len(Line) * len(Stack) * (9 + len(Consideration))
    assert {case.key for case in quick()} <= set(keys)
    for line in Line:
        for stack in Stack:
            assert build(Case(line, stack, 6), 1).name == f"today {line} / {stack} / 6"
        for what in Consideration:
            assert build(considered(line, Stack.PRAGUE, what), 1).name == f"today {line} / Prague / {what}"


def test_lines_differ_by_equipment_and_stacks_by_tcp_and_by_nothing_else():
    old, modern = (build(Case(Line.MODEM_2012, stack, 4), 1).data for stack in (Stack.OF_2012, Stack.PRAGUE))
    assert old["link"] == modern["link"]
    assert old["app"] == modern["app"]
    assert {tcp["preset"] for tcp in modern["tcp"].values()} == {"prague"}
    cake = build(Case(Line.CAKE, Stack.PRAGUE, 4), 1).data
    assert cake["app"] == modern["app"]
    assert cake["link"][UP] == modern["link"][UP]
    # 95 % of 5 and of 20 Mbit/s
    assert cake["link"]["wan"]["queue"]["cake"]["bandwidth"] == "4750kbit"
    assert cake["link"]["wan_down"]["queue"]["cake"]["bandwidth"] == "19mbit"
    assert cake["link"][DOWN] == modern["link"][DOWN]
    for line, discipline in ((Line.PIE, "docsis_pie"), (Line.LLD, "docsis_lld")):
        links = build(Case(line, Stack.PRAGUE, 4), 1).data["link"]
        for way, shaping in ((UP, modern["link"][UP]["docsis"]["flow"]), (DOWN, modern["link"][DOWN]["shaper"])):
            link = links[way]
            assert (link["docsis31"]["flow"], link["delay"]) == (shaping, modern["link"][way]["delay"])
            assert ("downstream" in link["docsis31"]) == (way == DOWN)
            assert list(link["queue"]) == [discipline]
            assert discipline == "docsis_pie" or link["queue"]["docsis_lld"]["l_dscp"] == [45, 46]
    # the game says that it builds no queue, the call that it is to be forwarded soon
    assert (modern["app"]["game"]["dscp"], modern["app"]["voip"]["dscp"]) == (45, 46)


def test_a_lone_packet_through_the_modem_of_2012_by_hand():
    """Two to three MAP intervals of 2 ms and 1 ms of travel; nothing else is under way before the first page."""
    found = measure(run(build(Case(Line.MODEM_2012, Stack.CUBIC, 1), 1, 20)))
    assert found["game_min_ms"] == pytest.approx(5.0, abs=0.05)
    assert 5.0 < found["game_p99_ms"] <= 7.05
    assert found["unaccounted"] == 0
    # 417 and 32 packets of 2.4 ms
    assert pytest.approx(449 * 2.4 + 7.05) == FULL


def test_a_proactive_grant_comes_within_two_intervals_under_load():
    """Preparation and frame of 0.135 ms, 1 ms of travel, and at most two intervals of 2.025 ms."""
    found = measure(run(build(Case(Line.LLD, Stack.CUBIC, 6), 1, 20)))
    assert found["game_min_ms"] == pytest.approx(1.27, abs=0.05)
    assert found["game_max_ms"] <= 1.27 + 2 * 2.025
    assert found["unaccounted"] == 0


def test_considerations_are_what_they_say():
    def data(line: Line, what: Consideration) -> dict[str, Any]:
        return build(considered(line, Stack.CUBIC, what), 1).data

    plain = build(Case(Line.CAKE, Stack.CUBIC, 2), 1).data
    apps = {what: data(Line.CAKE, what)["app"] for what in Consideration}
    assert {what: sorted(of.keys() - plain["app"].keys()) for what, of in apps.items()} == {
        Consideration.LEDBAT: ["background"],
        Consideration.SESSIONS: [],
        Consideration.LOW_RATE: [],
        Consideration.BURSTS: ["burst"],
        Consideration.SHORT: ["short"],
        Consideration.RATE: [],
    }
    assert apps[Consideration.SESSIONS]["ftp"]["traffic"]["ftp"]["flows"] == 50
    # 3 kB to 1 MB, shape 1.2: the integral of the size over its density
    xs = np.geomspace(3e3, 1e6, 200_001)
    density = 1.2 * 3e3**1.2 * xs**-2.2 / (1 - (3e3 / 1e6) ** 1.2)
    assert mean_size() == pytest.approx(np.trapezoid(xs * density, xs), rel=1e-6)
    # at 1 Mbit/s the router shapes to 95 % of it, and a grant of 253 bytes comes each 8.1 ms: 250 kbit/s
    low = {line: data(line, Consideration.LOW_RATE)["link"] for line in Line}
    assert low[Line.CAKE]["wan"]["queue"]["cake"]["bandwidth"] == "950kbit"
    assert low[Line.FQ_CODEL]["wan"]["shaper"]["htb"]["rate"] == "950kbit"
    assert low[Line.LLD][UP]["docsis31"]["low_latency"]["guaranteed_grant_interval"] == "8100us"
    # the rate falls at 10 s, and the router does not know
    changing = data(Line.CAKE, Consideration.RATE)["link"]
    assert [(c["at"], c["max_sustained_rate"]) for c in changing[UP]["changes"]] == [
        ("10s", "1250kbit"), ("20s", "5mbit"), ("30s", "1250kbit"), ("40s", "5mbit"), ("50s", "1250kbit")
    ]  # fmt: skip
    assert changing["wan"] == plain["link"]["wan"]


@pytest.mark.parametrize(
    ("law", "what", "change"),
    [
        ("a full slow modem", Consideration.RATE, {"game_max_ms": 4400.0}),
        ("a full modem of 1 Mbit/s", Consideration.LOW_RATE, {"game_max_ms": 5500.0}),
        ("the line of 1 Mbit/s", Consideration.LOW_RATE, {"up_mbit": 1.1}),
        ("the changing line", Consideration.RATE, {"up_mbit": 2.9}),
        ("LEDBAT behind CAKE, most", Consideration.LEDBAT, {"background_share": 0.9}),
        ("LEDBAT behind CAKE, least", Consideration.LEDBAT, {"background_share": 0.5}),
    ],
)
def test_a_law_of_a_consideration_that_breaks_is_outside(law: str, what: Consideration, change: dict[str, float]):
    def verdicts(changed: dict[str, float]) -> dict[str, Verdict]:
        fine = {"game_min_ms": 5.0, "game_p99_ms": 6.9, "game_max_ms": 900.0, "unaccounted": 0.0, "up_mbit": 0.9,
                "modem_dropped": 0.0, "background_share": 0.82}  # fmt: skip
        of = [considered(line, Stack.CUBIC, what) for line in (Line.MODEM_2012, Line.CAKE)]
        return {cell.case: cell.verdict for cell in scorecard({case.key: [fine | changed] for case in of}, of).cells}

    assert set(verdicts({}).values()) == {Verdict.WITHIN}
    assert law in [name for name, verdict in verdicts(change).items() if verdict is Verdict.OUTSIDE]


def judged(changed: dict[str, float]) -> dict[str, Verdict]:
    fine = {"game_min_ms": 5.0, "game_p99_ms": 6.9, "game_max_ms": 900.0, "unaccounted": 0.0, "up_mbit": 5.0,
            "modem_dropped": 0.0}  # fmt: skip
    of = [Case(line, Stack.CUBIC, n) for line in (Line.MODEM_2012, Line.CAKE) for n in (1, 2)]
    runs = {case.key: [fine | changed] for case in of}
    return {cell.case: cell.verdict for cell in scorecard(runs, of).cells}


@pytest.mark.parametrize(
    ("law", "change"),
    [
        ("idle, least", {"game_min_ms": 4.0}),
        ("idle, most", {"game_p99_ms": 8.0}),
        ("a full modem", {"game_max_ms": 1200.0}),
        ("books", {"unaccounted": 1.0}),
        ("the line", {"up_mbit": 7.0}),
        ("behind a router", {"modem_dropped": 1.0}),
    ],
)
def test_a_law_that_breaks_is_outside(law: str, change: dict[str, float]):
    assert set(judged({}).values()) == {Verdict.WITHIN}
    assert law in {of.name for of in LAWS}
    assert [name for name, verdict in judged(change).items() if verdict is Verdict.OUTSIDE] == [law]


def test_the_answer_is_computed_from_the_runs():
    def rows(game: float) -> list[dict[str, float]]:
        return [
            {"game_p99_ms": game + 10 * seed, "call_mos": 4.0, "page_s": 2.0, "upload_mbit": 4.0} for seed in (0, 1)
        ]

    runs = {Case(line, stack, n).key: rows(800.0 if line is Line.MODEM_2012 else 20.0)
            for line in Line for stack in Stack for n in LOADED}  # fmt: skip
    runs |= {Case(Line.CAKE, Stack.BBR3, n).key: rows(9.0) for n in LOADED}
    said = answer(runs, 2)
    assert said.sentence.startswith("Of a game 99 of 100 packets take 14 instead of 805 ms")
    assert "2012 modem, router with CAKE; BBRv3" in said.sentence
    assert "BBRv3 alone leaves the game of a 2012 modem at 805 ms" in said.sentence
    # the median over the loads of each seed, then over seeds
    found = over_loads(runs, Line.CAKE, Stack.BBR3, "game_p99_ms")
    assert found is not None
    assert found.median == 14.0
    assert answer({}, 2).sentence.startswith("Not all")


#: Of a quick look, seed 1: the 99th percentile of the game in ms, MOS of the call. A change needs a line in CHANGELOG.
GOLDEN: dict[str, tuple[float, float]] = {
    "2012 modem / Prague / 2": (633.34, 1),
    "2012 modem / Prague / 6": (658.51, 1),
    "2012 modem / TCP of 2012 / 2": (868.22, 1),
    "2012 modem / TCP of 2012 / 6": (809.5, 1),
    "2012 modem, router with CAKE / Prague / 2": (9.2406, 4.416),
    "2012 modem, router with CAKE / Prague / 6": (11.076, 4.416),
    "2012 modem, router with fq_codel / Prague / 2": (9.2406, 4.416),
    "2012 modem, router with fq_codel / Prague / 6": (11.6, 4.416),
    "2012 modem, router with CAKE / Prague / LEDBAT": (11.076, 4.416),
    "DOCSIS 3.1, Low Latency / TCP of 2012 / rate changes": (4.1124, 4.418),
}


def test_a_quick_look_leaves_a_whole_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert call(["reproduce", "today", "--quick", "-o", str(tmp_path), "-f", "json", "--no-store"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {cell["verdict"] for cell in data["cells"]} == {"within"}
    medians = data["medians"]
    assert {key: (medians[key]["game_p99_ms"], medians[key]["call_mos"]) for key in GOLDEN} == {
        key: pytest.approx(value, rel=1e-3) for key, value in GOLDEN.items()
    }
    assert not any(math.isnan(of["game_p99_ms"]) for of in medians.values())
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 1
