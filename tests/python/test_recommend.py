"""`bloatlab recommend` judges the settings of a device and prints the commands to type."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab.advice import AdviceError, Recommendation, asked, names, recommend
from bloatlab.advice import catalogue as catalogue_of
from bloatlab.advice import options as options_of
from bloatlab.advice.line import line, rtts
from bloatlab.advice.options import options
from bloatlab.advice.race import Compared, Raced
from bloatlab.advice.recommendation import answer_sentence, cell, sure
from bloatlab.advice.remedies import fails
from bloatlab.advice.score import LEAST, Judged, Value, front, judged, points_of
from bloatlab.advice.settings import limits, settings
from bloatlab.advice.tables import options_table, verdict
from bloatlab.cli.main import call
from bloatlab.statistics import Interval, interval
from bloatlab.sweep import Store
from bloatlab.tables import number
from browser import opened, serious
from judged import SMALL, asking, mean, quick


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


# ------------------------------------------------------------------------------------------------------------ catalogue


def test_what_comes_with_bloatlab_is_whole_and_says_its_sources():
    assert names("device") == ["cablelabs2012", "cake", "docsis3.0", "docsis3.1", "linux", "scte2013-a", "scte2013-c"]
    assert set(names("load")) == {"home", "office", "gamer", "cablelabs2012", "scte2013"}
    for name in names("device"):
        device = catalogue_of.device(name)
        assert device.source
        assert all(d.source and d.words for d in device.disciplines)
        assert all(d.settable or d.note for d in device.disciplines)
    for name in names("load"):
        assert catalogue_of.load(name).source
    for name in names("objective"):
        assert all(m.source for m in catalogue_of.objective(name).measures)


@pytest.mark.parametrize("device", names("device"))
@pytest.mark.parametrize("load", names("load"))
@pytest.mark.parametrize(("up", "burst"), [("256kbit", {}), ("1gbit", {"peak": "2gbit", "burst": "10MB"})])
def test_every_option_of_every_device_is_a_scenario(device: str, load: str, up: str, burst: dict[str, Any]):
    question = asked(up=up, rtt="5ms..300ms", device=device, load=load, **burst)
    # `asked` has built a scenario for each option, and none of them was refused
    assert len(options(question.device, question.line)) >= 2


def test_a_router_with_cake_shapes_by_itself_and_its_line_is_printed():
    done = recommend(up="8mbit", rtt="20ms", device="cake", seeds=2, seconds=6.0)
    up = done.scenario().data["link"]["up"]
    (found,) = settings(done)
    if done.best.option.name.startswith("cake"):
        assert (up["rate"], up["shaper"], up["queue"]["cake"]["bandwidth"]) == (None, None, "8mbit")
        line = next(text for text in found.lines if text.startswith("tc qdisc replace"))
        assert re.match(r'tc qdisc replace dev "\$DEV" root handle 10: cake bandwidth 8mbit ', line), line
        assert not any("htb" in text for text in found.lines)


# ----------------------------------------------------------------------------------------- lines and options


def test_a_line_carries_what_its_buckets_let_through():
    of = line("5mbit", "20ms", peak="20mbit", burst="10MB")
    assert of.could_carry(0.0, 600.0) == pytest.approx(385.0e6)  # 10 MB of burst, and 600 s at 5 Mbit/s
    # the burst lasts 10 MB / (20 - 5 Mbit/s) = 5.33 s
    assert of.could_carry(0.0, 16.0 / 3.0) == pytest.approx(20e6 / 8.0 * 16.0 / 3.0)
    assert of.could_carry(60.0, 68.0) == pytest.approx(5e6)
    assert line("8mbit", "20ms").could_carry(0.0, 1.0) == pytest.approx(1e6)


def test_round_trips_of_a_range_have_one_between():
    assert rtts("50ms") == [0.05]
    assert rtts("20ms..200ms") == [0.02, 0.063, 0.2]
    assert rtts("20ms..30ms") == [0.02, 0.03]
    assert rtts("100ms,20ms") == [0.02, 0.1]


def test_buffers_stand_around_the_bandwidth_delay_product():
    of = line("10mbit", "20ms..200ms")
    found = [o for o in options(catalogue_of.device("docsis3.0"), of) if o.discipline.name == "droptail"]
    sizes = [o.size for o in found]
    assert sizes == sorted(set(sizes))
    assert {25000, 78750, 250000} <= set(sizes)  # 10 Mbit/s x 20, 63 and 200 ms, in bytes
    assert sizes[0] <= 25000 / 4
    assert sizes[-1] >= 250000 * 8
    assert 62500 in sizes  # 50 ms at 10 Mbit/s
    assert 1250000 in sizes  # one second at 10 Mbit/s
    assert all(b <= 2.0 * a + 1 for a, b in itertools.pairwise(sizes))
    slow = options(catalogue_of.device("docsis3.0"), line("256kbit", "20ms"))
    assert min(o.size for o in slow) >= 2 * 1500
    codel = next(o for o in options(catalogue_of.device("docsis3.0"), of) if o.discipline.name == "codel")
    assert not codel.discipline.settable


@pytest.mark.parametrize(
    ("today", "standard", "buffers", "found"),
    [
        ("1s", "50ms", '"50ms", "417p", "4bdp"', ["50 ms", "160 ms", "1 s"]),  # 417p also last 1 s
        ("417p", "50ms", '"50ms", "1s"', ["50 ms", "417 p"]),
        ("50ms", "70ms", '"50ms"', ["50 ms", "70 ms"]),
        ("2s", "50ms", '"500ms"', ["50 ms", "500 ms", "2 s"]),
        ("51ms", "50ms", '"40ms", "52ms"', ["40 ms", "51 ms"]),
    ],
)
def test_todays_setting_and_those_of_a_standard_are_options(
    today: str, standard: str, buffers: str, found: list[str], small: Path
):
    text = small.read_text().replace('"50ms", "500ms"', buffers).replace("droptail 500ms", f"droptail {today}")
    small.write_text(text.replace("[[", f'standard = ["droptail {standard}"]\n[[', 1))
    done = quick(small, up="5mbit", quick=True, seconds=1.0)
    assert [j.option.name for j in done.judged] == [f"droptail {size}" for size in found]
    assert done.today.option.size == pytest.approx(options_of.today(done.question.device, done.question.line)[1])


def test_a_scenario_says_what_was_asked(small: Path):
    done = quick(small, peak="8mbit", burst="1MB", up="2mbit", rtt="20ms,40ms", seconds=2.0, seeds=2)
    data = done.scenario().data
    flow = data["link"]["up"]["docsis"]["flow"]
    assert (flow["max_sustained_rate"], flow["peak_traffic_rate"]) == ("2mbit", "8mbit")
    assert data["link"]["far"]["delay"] == "19ms"  # half of 40 ms, minus 1 ms of cable plant
    assert data["link"]["near"]["delay"] == "9ms"
    assert data["link"]["up"]["queue"] == {"droptail": pytest.approx(data["link"]["up"]["queue"]["droptail"])}


# -------------------------------------------------------------------------------------------------------------- scores


def test_points_are_those_of_the_thresholds():
    call, pages, *_ = catalogue_of.objective("balanced").measures
    assert call.points(4.34) == pytest.approx(100.0)
    assert call.points(4.5) == pytest.approx(100.0)
    assert call.points(2.58) == pytest.approx(0.0)
    assert call.points(3.46) == pytest.approx(50.0)
    assert call.points(None) == 0.0
    assert pages.points(1.0) == pytest.approx(100.0)
    assert pages.points(math.sqrt(10.0)) == pytest.approx(50.0)  # points are logarithmic in the time, from 1 to 10 s
    assert pages.points(60.0) == pages.points(math.inf) == 0.0


def test_a_full_line_does_not_pay_for_a_dead_call():
    objective, load, of = catalogue_of.objective("balanced"), catalogue_of.load("home"), line("8mbit", "20ms")
    wanted = [m for m in objective.measures if m.name in {"call", "upload"}]
    full = {"links.up.delivered_bytes": 60e6}
    assert points_of(wanted, full | {"apps.call.voip.mos": 4.4}, load, of) == pytest.approx(100.0)
    assert points_of(wanted, full | {"apps.call.voip.mos": 1.0}, load, of) == pytest.approx(math.sqrt(100.0 * LEAST))
    assert points_of(wanted, full | {"apps.call.voip.mos": None}, load, of) == pytest.approx(10.0)


def made(name: str, seeds: list[float], settable: bool = True, **values: float | None) -> Judged:
    """Returns an option with made-up results."""
    question = asked(up="10mbit", rtt="20ms", device="docsis3.0")
    droptail, codel = question.device.disciplines
    found = next(
        o for o in options(question.device, question.line) if o.discipline is (droptail if settable else codel)
    )
    of = {k: Value(None if v is None else interval([v, v]), 0 if v is not None else 2, 2) for k, v in values.items()}
    kept = type(found)(found.discipline, found.size, found.ms, found.queues, name)
    return Judged(kept, interval(seeds), seeds, interval(seeds), of, 1.0)


def test_the_front_is_what_nothing_beats():
    wanted = [m for m in catalogue_of.objective("balanced").measures if m.name in {"call", "upload"}]
    good, fast, both, hardly, dead = (
        made("1p", [1.0, 2.0], call=4.4, upload=80.0),
        made("2p", [1.0, 2.0], call=3.0, upload=100.0),
        made("3p", [1.0, 2.0], call=3.0, upload=80.0),
        made("4p", [1.0, 2.0], call=4.35, upload=80.5),  # the difference from the first option is not noticeable
        made("5p", [1.0, 2.0], call=None, upload=100.0),
    )
    assert front([good, fast, both, hardly, dead], wanted) == [good, fast, hardly]


def test_never_is_only_what_no_run_has():
    """At a round trip of 20 ms, the page loads in 3 of 5 runs, in 1 s; at 200 ms, it loads in none of 5 runs."""
    question = asked(up="10mbit", rtt="20ms", device="docsis3.0")
    objective, load = catalogue_of.objective("balanced"), question.load
    (page,) = [m for m in question.wanted if m.name == "pages"]
    option = made("1p", [1.0, 2.0]).option
    path = f"apps.pages.{page.value}"
    rows: dict[float, list[dict[str, Any]]] = {0.02: [{path: 1.0}] * 3 + [{}] * 2, 0.2: [{}] * 5}
    value = judged(option, rows, objective, load, question.line).values["pages"]
    assert (value.missing, value.runs) == (7, 10)
    assert cell(page, value) == "7 of 10 never"
    # pages that are seldom loaded are not good enough, however fast they load
    rare = Value(interval([1.0, 1.0]), 8, 10)
    one = replace(made("1p", [1.0, 2.0]), values={"pages": rare})
    assert fails(objective, [page], one) == [page]
    assert fails(objective, [page], replace(one, values={"pages": replace(rare, missing=0)})) == []


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (Interval(6.7, -3.0, 16.4, 2), "seems 6.7 points worse (not certain with 2 seeds),"),
        (Interval(-6.7, -16.4, 3.0, 2), "seems 6.7 points better (not certain with 2 seeds),"),
        (Interval(-1.1, -9.0, 6.8, 2), "seems equally good,"),
        (Interval(6.7, 3.0, 10.4, 2), "would be 6.7 points worse,"),
    ],
)
def test_what_is_not_available_is_compared_in_words(by: Interval, words: str):
    lead, codel = made("1p", [90.0, 92.0]), made("2p", [90.0, 92.0], settable=False)
    raced = Raced(lead, [Compared(codel, by, "not separated")], "seeds", 4, 2)
    question = asked(up="10mbit", rtt="20ms", device="docsis3.0")
    done = Recommendation(question, [lead, codel], lead, raced, [lead], [], lead, [], [], 4, 0)
    assert f"{words} but is not available on this device: " in sure(done)[-1]


# ---------------------------------------------------------------------------- commands and settings to enter


def decoded(text: str) -> dict[int, Any]:
    """Decodes TLVs: a type, a length, and that number of octets. The values of types 35 and 40 are TLVs themselves."""
    octets, found = bytes.fromhex(text), dict[int, Any]()
    while octets:
        kind, length, octets = octets[0], octets[1], octets[2:]
        value, octets = octets[:length], octets[length:]
        assert len(value) == length
        found[kind] = decoded(value.hex()) if kind in {35, 40} else int.from_bytes(value, "big")
    return found


def octets_of(done: Recommendation, kind: int) -> dict[int, Any]:
    lines = [text for s in settings(done) for text in s.lines if text.startswith(f"24.{kind} in octets: ")]
    assert len(lines) == 1
    return decoded(lines[0].partition(": ")[2])


def test_buffer_control_is_what_was_chosen(small: Path):
    done = quick(small)
    low, target, high = limits(done)
    assert octets_of(done, 35) == {35: {1: low, 2: target, 3: high}}
    assert low <= target <= high
    assert target == done.best.option.size == 12500  # 50 ms at 2 Mbit/s


def test_aqm_is_on_with_its_target_or_off(tmp_path: Path):
    text = SMALL.replace('["buffer-control"]', '["buffer-control", "aqm"]')
    (tmp_path / "off.toml").write_text(text)
    pie = text.replace("droptail = {", "docsis_pie = {").replace('"500ms"]', '"500ms"]\naqm_target_ms = 10')
    (tmp_path / "pie.toml").write_text(pie)
    short = {"seconds": 2.0, "seeds": 2}
    assert octets_of(quick(tmp_path / "off.toml", **short), 40) == {40: {1: 1}}
    assert octets_of(quick(tmp_path / "pie.toml", **short), 40) == {40: {1: 0, 2: 10}}


def test_linux_gets_lines_of_tc(tmp_path: Path):
    text = SMALL.replace('"modem"', '"line"').replace("buffer-control", "tc").replace('["50ms", "500ms"]', '["64p"]')
    text = text.replace("droptail 500ms", "droptail 64p").replace(
        '{ droptail = { limit = "{bytes}B" } }', '{ codel = { limit = "{packets}p", variant = "linux" } }'
    )
    (tmp_path / "box.toml").write_text(text)
    (found,) = settings(quick(tmp_path / "box.toml", seconds=2.0, seeds=2))
    (shaper,) = [line for line in found.lines if "class replace" in line]
    assert "rate 2mbit" in shaper
    assert re.search(r"tc qdisc replace .* codel limit 64\b", "\n".join(found.lines))
    assert not any("netem" in line for line in found.lines)


# ------------------------------------------------------------------------------------- whole recommendations


def test_a_short_buffer_beats_a_long_one_and_says_why(small: Path):
    done = quick(small)
    assert done.best.option.name == "droptail 50 ms"
    assert [b.judged.option.name for b in done.behind] == ["droptail 500 ms"]
    assert re.match(r"Set drop-tail with 50 ms of buffer: 12\s500 bytes\.", answer_sentence(done))
    assert re.search(r"[Cc]all MOS \d\.\d\d instead of MOS \d\.\d\d", done.sentence)
    assert "droptail 500 ms" in " ".join(sure(done))
    assert {g.guess for g in done.guesses} == {0.01, 0.04, 0.16, None}


def test_leader_and_choice_have_different_words(small: Path):
    done = quick(small, seconds=5.0, seeds=2)
    chosen = done.behind[0].judged
    other = replace(done, best=chosen)
    words = [verdict(of, one)[0] for of in (done, other) for one in (done.lead, chosen)]
    assert words == ["chosen", "behind", "leader", "chosen"]
    told = " ".join(sure(other))
    assert f"The leader (the available setting with the most points) is {done.lead.option.name}" in told
    assert f"1 of the 2 available settings is clearly worse than the leader: {chosen.option.name}" in told
    assert f". {chosen.option.name} ({number(chosen.points.mean, 1)} points) is chosen instead, because " in told
    assert "The leader" not in " ".join(sure(done))
    notes = [options_table(of, of.judged).note for of in (done, other)]
    assert ["Leader: " in note for note in notes] == [False, True]
    assert not any("±" in note for note in notes)  # with two seeds, tables show no interval


def test_weights_decide(small: Path):
    calls = quick(small, rtt="300ms", weights={"upload": 0.0, "pages": 0.0, "wait": 0.0})
    uploads = quick(small, rtt="300ms", weights={"call": 0.0, "pages": 0.0, "wait": 0.0})
    assert calls.best.option.name == "droptail 50 ms"
    assert uploads.best.option.name == "droptail 500 ms"


def test_the_applications_of_a_scenario_are_a_load(scenario_file: Path, small: Path):
    done = quick(small, load=str(scenario_file), seconds=3.0, seeds=2)
    assert set(done.best.values) == {"call", "wait", "upload"}
    assert set(done.scenario().data["app"]) == {"file", "voip"}


def test_an_objective_and_a_load_of_ones_own(small: Path, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        'words = "pings"\n[measure.ping]\nkind = "ping"\nvalue = "ping.rtt_ms.p99"\nbetter = "less"\n'
        'good = 50\nbad = 900\nunit = "ms"\n'
    )
    (tmp_path / "busy.toml").write_text(
        '[app.load]\nto = ["far"]\ntraffic.ftp = {}\n[app.look]\nto = ["30ms"]\ntraffic.ping = { interval = "100ms" }\n'
    )
    done = quick(small, objective=str(tmp_path / "mine.toml"), load=str(tmp_path / "busy.toml"))
    assert done.best.option.name == "droptail 50 ms"
    assert done.scenario().data["link"]["rtt30ms"]["delay"] == "14ms"  # half of 30 ms, minus 1 ms of cable plant
    ours, theirs = (mean(j.values["ping"]) for j in (done.best, done.behind[0].judged))
    assert (
        30.0 <= ours <= 30.0 + 50.0 + 20.0 < theirs
    )  # 30 ms round trip without load, 50 ms of buffer, and at most 20 ms in the modem itself


LAW = """
class Law:
    most = len(f"{{packets}}")  # braces in a law are not placeholders
    def head(self, packet, view):
        return "pass"
"""

CONTROLLER = """
class Fixed:
    def on_ack(self, sample):
        return 10
    def on_congestion(self, moment, kind, base):
        return 10
"""


def test_python_files_are_found_beside_the_file_that_names_them(tmp_path: Path, scenario_file: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "law.py").write_text(LAW)
    (scenario_file.parent / "mine.py").write_text(CONTROLLER)
    device = tmp_path / "a" / "device.toml"
    device.write_text(
        SMALL.replace('droptail = { limit = "{bytes}B"', 'python = { law = "law.py:Law", limit = "{bytes}B"')
    )
    text = scenario_file.read_text().replace('tcp = "rfc"', 'tcp = "mine"')
    scenario_file.write_text(f'{text}\n[tcp.mine]\npreset = "linux-6"\npython.controller = "mine.py:Fixed"\n')
    done = quick(device, load=str(scenario_file), seconds=2.0, quick=True)
    data = done.scenario().data
    assert data["link"]["up"]["queue"]["python"]["source"] == {"law.py": LAW}
    assert data["tcp"]["mine"]["python"]["source"] == {"mine.py": CONTROLLER}
    (tmp_path / "a" / "law.py").unlink()
    with pytest.raises(AdviceError, match=r"discipline.1.queue.python.law: .*law.py: no such file"):
        quick(device)


def test_what_was_run_is_not_run_again(small: Path, store: Store):
    first = quick(small, store=store, seconds=2.0, seeds=2)
    again = quick(small, store=store, seconds=2.0, seeds=2)
    assert (first.found, again.runs) == (0, 0)
    assert again.found == first.runs
    assert again.sentence == first.sentence


# ------------------------------------------------------------------------------------------------ the command


def test_the_command_prints_what_it_found(small: Path, capsys: pytest.CaptureFixture[str]):
    assert call(asking(small)) == 0
    out = capsys.readouterr().out
    for part in ("droptail 50 ms", "chosen", "today", "24.35.2  Target Buffer", "If the round-trip time is not"):
        assert part in out


def test_a_target_and_a_buffer_are_not_confused():
    """A DOCSIS-PIE with a target of 40 ms and one with a buffer of 40 ms have names that say which is which."""
    question = asked(up="10mbit", rtt="40ms", device="docsis3.1", load="gamer")
    by_name = {o.name: o.words for o in options(question.device, question.line)}
    assert by_name["docsis-pie-t40 250 ms"] == "DOCSIS-PIE, target 40 ms, buffer 250 ms"
    assert by_name["docsis-pie-t10 40 ms"] == "DOCSIS-PIE, target 10 ms, buffer 40 ms"
    assert by_name["droptail 40 ms"] == "drop-tail (AQM off) with 40 ms of buffer"
    assert len({o.discipline.label for o in options(question.device, question.line)}) == len(
        question.device.disciplines
    )
    for device in names("device"):
        for discipline in catalogue_of.device(device).disciplines:
            assert not re.search(r"\d+ ?ms$", discipline.name), "a time at the end of a name reads like a buffer"


def test_names_of_settings_do_not_wrap(capsys: pytest.CaptureFixture[str]):
    words = ["recommend", "--up", "10mbit", "--rtt", "40ms", "--device", "docsis3.1", "--load", "gamer"]
    assert call([*words, "--quick", "--seconds", "2", "--all"]) == 0
    out = capsys.readouterr().out
    table = out[out.index("option ") : out.index("Means over")].splitlines()
    assert all(len(line) <= 80 for line in table)
    assert len([line for line in table if line.startswith("docsis-pie-t10 100 ms ")]) == 2  # in both blocks of columns
    assert not [line for line in table if re.match(r"(ms|s)\b", line)]
    assert "docsis-pie-t10 100 ms: DOCSIS-PIE, target 10 ms, buffer 100 ms" in " ".join(out.split())


def test_an_application_that_never_starts_is_noted(
    scenario_file: Path, small: Path, capsys: pytest.CaptureFixture[str]
):
    late = scenario_file.with_name("late.toml")
    late.write_text(scenario_file.read_text().replace("[app.voip]", '[app.voip]\nstart = "9s"'))
    assert call(asking(small, "--load", str(late), "--quick")) == 0
    assert "note: app.voip.start: 9s is not before the end (5s), so it never starts" in capsys.readouterr().err


def test_more_runs_than_named_continue(small: Path):
    small.write_text(small.read_text().replace('"500ms"]', '"60ms"]').replace("500ms", "50ms"))
    done = quick(small, seconds=2.0, runs=1)
    assert "limit of 1 run, so the race ended with 1 seed; --runs 4 continues" in " ".join(sure(done))
    assert quick(small, seconds=2.0, runs=4).raced.rounds == 2


def test_the_command_leaves_a_folder(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "out"
    assert call(asking(small, "-o", str(folder), "-f", "json")) == 0
    data = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "recommendation.json").read_text())["choice"] == data["choice"]
    assert (
        data["choice"]["buffer_bytes"] == {"droptail 50 ms": 12500, "droptail 500 ms": 125000}[data["choice"]["option"]]
    )
    assert len((folder / "options.csv").read_text().splitlines()) == 3
    result = bloatlab.run(folder / "scenario.toml", sets={"duration": "1s"})
    assert result.summary["links"]["up"]["delivered_packets"] > 0
    report = (folder / "report.html").read_text()
    assert "Small modem: which queue and buffer?" in report  # the device's own name, without "this"
    assert "of this small" not in report
    assert {"report.html", "recommendation.svg", "measures.png"} <= {p.name for p in folder.iterdir()}
    assert call(asking(small, "-o", str(folder))) == 2  # an existing report is not overwritten
    assert "report.html" in capsys.readouterr().err


def test_the_report_is_readable(browser: Any, small: Path, tmp_path: Path):
    assert call(asking(small, "-o", str(tmp_path / "out"))) == 0
    for width in (1280, 390):
        with opened(browser, tmp_path / "out" / "report.html", width=width) as on:
            on.page.wait_for_selector(".uplot canvas")
            assert on.page.evaluate("document.documentElement.scrollWidth") <= width
            assert "24.35.2  Target Buffer" in on.page.locator("pre").inner_text()
            assert serious(on.page) == []
