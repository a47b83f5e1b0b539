"""`bloatlab check`: how the expectations of a file are tested, and how a CI system reads the results."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import bloatlab
from bloatlab.expectations import Checked, NothingExpectedError, judge, keeps, table
from bloatlab.results import save
from bloatlab.sweep import Store, grid_file
from bloatlab.terminal import lines
from conftest import Say

ROOT = Path(__file__).parents[2]


def _expecting(file: Path, *lines: str) -> Path:
    file.write_text(file.read_text() + "\n[expect]\n" + "\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize(
    ("expected", "low", "high", "kept"),
    [
        (">= 4", 4.0, 4.2, True),
        (">= 4", 3.999, 4.2, False),
        ("> 4", 4.0, 4.2, False),
        ("<= 50", 49.0, 50.0, True),
        ("< 50", 49.0, 50.0, False),
        ("== 0", 0.0, 0.0, True),
        ("== 0", 0.0, 0.1, False),
        ("0.9 .. 1", 0.9, 1.0, True),
        ("0.9 .. 1", 0.89, 0.95, False),
        ("-2 .. -1", -1.5, -1.2, True),
    ],
)
def test_the_whole_interval_must_keep_to_it(expected: str, low: float, high: float, kept: bool):
    assert keeps(expected, low, high) is kept


def test_several_seeds_are_judged_by_the_worse_end():
    # three values with a mean of 4 and a standard deviation of 1: half the width of the interval is t / sqrt(3) = 4.303
    # / sqrt(3) = 2.484, where t has 2 degrees of freedom
    rows = [{"mos": 3.0}, {"mos": 4.0}, {"mos": 5.0}]
    (kept,) = judge("", {"mos": ">= 1.5"}, rows)
    (not_kept,) = judge("", {"mos": ">= 1.6"}, rows)
    assert (kept.kept, not_kept.kept) == (True, False)
    assert kept.low == pytest.approx(4.0 - 4.302653 / math.sqrt(3.0), abs=1e-5)
    (one,) = judge("", {"mos": ">= 4"}, rows[1:2])
    assert (one.kept, one.measured()) == (True, "4")


def test_a_value_that_is_not_there_is_not_kept_and_a_path_that_is_not_there_is_refused():
    rows = [{"apps.call.voip.mos": None, "links.up.drops": 3, "links.down.drops": 0}]
    (nothing,) = judge("", {"apps.call.voip.mos": ">= 1"}, rows)
    assert (nothing.kept, nothing.measured()) == (False, "no value")
    up, down = judge("", {"links.*.drops": "== 0"}, rows)
    assert {up.path: up.kept, down.path: down.kept} == {"links.up.drops": False, "links.down.drops": True}
    with pytest.raises(NothingExpectedError, match=r'no number "links\.up\.drop"; did you mean "links\.up\.drops"\?'):
        judge("", {"links.up.drop": "== 0"}, rows)


def test_names_that_a_pattern_matches_are_in_natural_order():
    row = {f"apps.game{n}.ping.rtt_ms.mean": 1.0 for n in (1, 10, 11, 2)}
    paths = [v.path for v in judge("", {"apps.*.ping.rtt_ms.mean": "< 5"}, [row])]
    assert paths == [f"apps.game{n}.ping.rtt_ms.mean" for n in (1, 2, 10, 11)]


def test_a_scenario_is_run_and_judged(say: Say, scenario_file: Path, tmp_path: Path):
    result = bloatlab.run(scenario_file)
    mos = result.summary["apps"]["voip"]["voip"]["mos"]
    _expecting(scenario_file, f'"apps.voip.voip.mos" = ">= {mos}"', '"links.up.utilisation" = "0 .. 1"')
    xml = tmp_path / "verdicts.xml"
    code, out, _ = say("check", scenario_file, "--junit", xml)
    assert (code, "2 expectations, all met" in out) == (0, True)
    suite = ET.fromstring(xml.read_text()).find("testsuite")  # noqa: S314  what was just written
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")

    # behind a long buffer without an AQM, the MOS of the call is lower than with CoDel, so the command fails
    code, out, _ = say("check", scenario_file, "--junit", xml, "--set", "link.up.queue=pfifo limit 417")
    assert (code, "2 expectations, 1 not met" in out) == (1, True)
    failures = ET.fromstring(xml.read_text()).findall(".//failure")  # noqa: S314
    assert [f.get("type") for f in failures] == ["expectation"]
    assert f"expected >= {mos:g}"[:15] in (failures[0].get("message") or "")


def test_another_threshold_runs_nothing_again(scenario_file: Path, tmp_path: Path):
    from bloatlab.expectations import check  # noqa: PLC0415

    store = Store(tmp_path / "kept", lambda _: None)
    _expecting(scenario_file, '"links.up.utilisation" = ">= 0"')
    check(scenario_file, seeds=2, store=store)
    files = sorted(p for p in store.folder.rglob("*") if p.is_file())
    assert not check(scenario_file, seeds=2, store=store, sets=[('expect."links.up.utilisation"', ">= 2")]).kept
    assert sorted(p for p in store.folder.rglob("*") if p.is_file()) == files


def test_expectations_change_no_result_and_stay_with_it(say: Say, scenario_file: Path, tmp_path: Path):
    plain = bloatlab.run(scenario_file)
    _expecting(scenario_file, '"links.up.utilisation" = ">= 2"')
    assert bloatlab.run(scenario_file).summary == plain.summary
    assert say("run", scenario_file, "-o", tmp_path / "kept")[0] == 0
    code, out, _ = say("check", tmp_path / "kept")
    assert (code, "1 not met" in out) == (1, True)
    for option in (["--set", 'expect."links.up.utilisation"="<= 9"'], ["--seeds", 3]):
        code, _, err = say("check", tmp_path / "kept", *option)
        assert (code, "a finished run, which --set and --seeds cannot change" in err) == (2, True)


def test_an_invalid_live_run_fails(say: Say, scenario_file: Path, tmp_path: Path):
    _expecting(scenario_file, '"links.up.utilisation" = "<= 9"')
    result = bloatlab.run(scenario_file)
    result.summary["live"] = {"valid": False, "invalid_because": "lateness p99 2.000 ms is above 1 ms"}
    kept, file = save(result, tmp_path / "kept"), tmp_path / "junit.xml"
    code, out, _ = say("check", kept, "--junit", file)
    assert (code, "all met" in out) == (3, False)
    assert "kept is an invalid live run: lateness p99 2.000 ms is above 1 ms." in " ".join(out.split())
    assert out.endswith("1 expectation, 1 not tested: invalid live run")
    (failure,) = ET.parse(file).getroot().iter("failure")  # noqa: S314
    assert "is an invalid live run: lateness p99 2.000 ms" in str(failure.get("message"))
    # if an invalid live run lacks an expected number, the command still reports its folder, and checks the next files
    scenario = result.scenario.with_sets(('expect."apps.nobody.voip.mos"', ">= 4"))
    unmeasured = save(replace(result, scenario=scenario), tmp_path / "unmeasured")
    code, out, _ = say("check", unmeasured, scenario_file)
    assert code == 3
    assert "apps.nobody.voip.mos" in out
    assert out.endswith("3 expectations, 2 not tested: invalid live run")
    # an unmet expectation in a valid run takes precedence over an invalid run
    scenario_file.write_text(scenario_file.read_text().replace("<= 9", ">= 9"))
    assert say("check", kept, scenario_file)[0] == 1
    # whether a live run is valid is also a number in its summary
    for valid in (True, False):
        (verdict,) = judge("", {"live.valid": "== 1"}, [grid_file.flat({"live": {"valid": valid}})])
        assert verdict.kept is valid


def test_every_place_of_a_sweep_is_judged(say: Say, scenario_file: Path, tmp_path: Path):
    _expecting(scenario_file, '"links.up.utilisation" = "<= 9"')
    sweep = tmp_path / "grid.toml"
    sweep.write_text(
        f'scenario = "{scenario_file.name}"\nseeds = 2\n[set]\nduration = "3s"\n'
        '[axes]\n"link.up.rate" = ["1mbit", "5mbit"]\n'
        '[expect]\n"links.up.sojourn_ms.p99" = "< 0"\n'
    )
    assert scenario_file.parent == tmp_path
    code, out, _ = say("check", sweep)
    assert code == 1
    # each of the two grid points has two expectations: the scenario's, which is met, and the sweep's, which is not
    assert "4 expectations, 2 not met" in out
    assert "link.up.rate=1mbit" in out
    # as in a scenario, --set replaces an expectation of the file
    code, out, _ = say("check", sweep, "--set", 'expect."links.up.sojourn_ms.p99"=">= 0"')
    assert (code, "< 0" in out) == (0, False)


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ([], "has no [expect] table; add one"),
        (['"links.up.utilisaton" = "> 0"'], 'did you mean "links.up.utilisation"?'),
        (['"links.up.utilisation" = "=> 0"'], '"=> 0" is not valid; expected a comparison'),
        (["links.up.utilisation = '> 0'"], "a path stands in quotes"),
    ],
)
def test_bad_expectations_are_one_line(say: Say, scenario_file: Path, lines: list[str], part: str):
    if lines:
        _expecting(scenario_file, *lines)
    code, out, err = say("check", scenario_file)
    assert (code, out) == (2, "")
    line = err.strip().splitlines()[-1]
    assert part in line
    assert scenario_file.name in line


def test_files_that_cannot_be_are_one_line(say: Say, tmp_path: Path):
    assert "give a file" in say("check")[2]
    assert "no such file" in say("check", tmp_path / "none.toml")[2]


def test_the_example_keeps_to_itself_and_a_deep_buffer_does_not(say: Say):
    file = ROOT / "examples" / "ci" / "uplink.toml"
    assert say("check", file)[0] == 0
    assert say("check", file, "--set", "link.up.queue=pfifo limit 250")[0] == 1


def test_a_sweep_is_judged_with_the_seeds_and_the_warm_up_that_it_asks_for(scenario_file: Path, tmp_path: Path):
    from bloatlab.expectations import check  # noqa: PLC0415

    sweep = tmp_path / "grid.toml"
    sweep.write_text(
        f'scenario = "{scenario_file.name}"\nseeds = 2\nmost_seeds = 4\n'
        'until = { "links.up.sojourn_ms.p99" = "0.0001%" }\n'
        '[set]\nduration = "8s"\nstart_spread = "2s"\n"record.warm_up" = "auto"\n'
        '[axes]\n"link.up.rate" = ["1mbit"]\n[expect]\n"links.up.utilisation" = "> 0"\n"warm_up_s" = "> 0"\n'
    )
    checked = check(sweep)
    assert {v.path: (v.seeds, v.kept) for v in checked.verdicts} == {
        "links.up.utilisation": (4, True),
        "warm_up_s": (4, True),
    }


def test_no_interval_of_a_count_reaches_below_nothing():
    # the mean and the standard error are both 1, and t(1, 97.5 %) = 12.7, so the interval would begin at -11.7 if it
    # were not cut off at 0
    (kept,) = judge("", {"links.up.dropped_packets": ">= 0"}, [{"links.up.dropped_packets": n} for n in (0, 2)])
    assert (kept.low, kept.kept) == (0.0, True)
    assert kept.high == pytest.approx(1.0 + 12.7062, abs=1e-3)


@pytest.mark.parametrize(
    ("path", "unit", "most"),
    [
        ("apps.game.game.up.late_percent", 100.0, 100.0),
        ("apps.upload.fairness", 1.0, 1.0),
        ("links.up.utilisation", 1.0, math.inf),
        ("links.up.grants.up.unused_of_rate_percent", 100.0, math.inf),
    ],
)
def test_no_interval_reaches_above_the_upper_bound_of_a_number(path: str, unit: float, most: float):
    # in units of `unit`, the standard error is 0.05, and t(1, 97.5 %) = 12.7062, so the interval ends at 1.585, unless
    # it is cut off at the upper bound `most`
    (kept,) = judge("", {path: f"<= {unit}"}, [{path: 0.9 * unit}, {path: unit}])
    assert kept.low == pytest.approx(unit * (0.95 - 0.05 * 12.7062), abs=1e-3 * unit)
    assert kept.high == pytest.approx(min(most, unit * (0.95 + 0.05 * 12.7062)), abs=1e-3 * unit)
    assert kept.kept is (most == unit)


def test_each_verdict_is_beside_its_value_at_80_columns():
    # the longest path and the longest figures of a street with 20 homes
    path, points = "apps.game11.game.up.late_percent", ("queue=droptail 250ms", "queue=fq_codel")
    verdicts = [
        verdict
        for place in points
        for verdict in judge(
            place,
            {path: "<= 1", "links.up.sojourn_ms.p99": "0.75 .. 12.5"},
            [{path: v, "links.up.sojourn_ms.p99": 1.1 * v} for v in (20.123, 30.3, 60.7)],
        )
    ]
    text = [line.plain for line in lines(table(Checked("street.toml", verdicts)), 80)]
    assert max(map(len, text)) <= 80
    assert [line for line in text if line.startswith("verdict")] == ["verdict  value" + text[1][14:]]
    for name in (path, "links.up.sojourn_ms.p99"):
        assert [line.split()[:3] for line in text if name in line] == [["not", "met", name]] * 2
    assert [line.strip() for line in text if "queue=" in line] == [f"{place}:" for place in points]


def test_check_takes_a_cluster(say: Say, scenario_file: Path):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install dask distributed")
    _expecting(scenario_file, '"links.up.utilisation" = "> 0"')
    short = ("--set", "duration=1s", "--no-store")
    here = say("check", scenario_file, *short)
    assert say("check", scenario_file, *short, "--dask", "local", "--jobs", "1")[:2] == here[:2]
    code, _, err = say("check", scenario_file, *short, "--dask", "nowhere.json")
    assert (code, "--dask nowhere.json" in err, err.count("\n")) == (2, True, 1)
