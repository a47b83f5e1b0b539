"""Comparison of simulated and live results: the rule, with limits computed by hand, and one comparison with a live run
if the bench can run here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bloatlab.cli.main import call
from bloatlab.results import save
from bloatlab.scenario import Scenario, from_dict, load
from bloatlab.simulated_and_live import Compared, Quantity, compare, late, quantities
from bloatlab.simulation import Result, run
from bloatlab.studies.csc458.build import Case, Lab, build
from conftest import Say
from kernel import bench


def agrees(simulated: float, real: float, least: float = 3.0, *, valid: bool = True) -> bool | None:
    (cell,) = compare(
        "a", [[Quantity("ping RTT", "ms", simulated, least)]], [Quantity("ping RTT", "ms", real, least)], valid=valid
    )
    return cell.agrees


def test_the_larger_of_a_share_and_3_ms():
    # 15 % of 10 ms is 1.5 ms, so the minimum of 3 ms applies; 15 % of 100 ms is 15 ms
    assert [agrees(x, 10.0) for x in (7.0, 13.0, 6.9, 13.1)] == [True, True, False, False]
    assert [agrees(x, 100.0) for x in (85.0, 115.0, 84.9, 115.1)] == [True, True, False, False]
    # for a throughput, there is no minimum tolerance: only the 15 % applies
    assert [agrees(x, 10.0, 0.0) for x in (8.5, 8.4)] == [True, False]


def test_an_invalid_run_judges_nothing():
    assert agrees(10.0, 10.0, valid=False) is None
    assert agrees(math.nan, 10.0) is None
    cells = compare("a", [], [Quantity("x", "ms", 1.0, 3.0)], valid=True)
    assert Compared(cells, {}, 1).agrees is None


def test_the_median_of_seeds_is_compared():
    runs = [[Quantity("x", "ms", v, 3.0)] for v in (1.0, 10.0, 99.0)]
    (cell,) = compare("a", runs, [Quantity("x", "ms", 12.0, 3.0)], valid=True)
    assert (cell.simulated, cell.agrees) == (10.0, True)
    table = Compared([cell], {"b": "too late"}, 3).table()
    assert "too late" in table.note


def as_if_live(scenario: Scenario, late_ms: Mapping[str, float | None], left: str, right: str) -> Result:
    facts = {"lateness_ms": late_ms, "left": {left: "10.77.0.1"}, "right": {right: "10.77.0.2"}}
    return Result(scenario, {"live": facts}, {})


def test_a_simulation_is_as_late_as_the_live_run(scenario_file: Path):
    measured = {"min": 0.004, "p50": 0.0139, "p90": 0.026, "p95": 0.0402, "p99": 0.1444, "p99_9": 1.6794, "max": 9.2}
    as_written = {
        "min": "4us",
        "p50": "13900ns",
        "p90": "26us",
        "p95": "40200ns",
        "p99": "144400ns",
        "p99_9": "1679400ns",
    }
    ideal = build(Case("bbr", 100), 1)
    # a packet leaves the bench only once, through the link into its destination host, so `late` gives the measured
    # lateness only to the links into the two hosts
    found = {
        name: link["lateness"]
        for name, link in late(ideal, as_if_live(ideal, measured, "h1", "h2")).data["link"].items()
    }
    assert found == {"back": as_written, "down": None, "nic": None, "up": as_written}
    nothing: dict[str, float | None] = dict.fromkeys(measured)
    assert late(ideal, as_if_live(ideal, nothing, "h1", "h2")) == ideal
    # with `both_ways`, a link also delivers packets to the host at its `from` end. If this host is in the live run,
    # `late` gives the link the measured lateness. A link that may reorder packets gets no lateness
    both: Any = load(scenario_file).data
    up = both["link"]["up"]
    up["both_ways"] = True
    del both["link"]["down"]
    way = from_dict(both)
    assert late(way, as_if_live(way, measured, up["from"], "elsewhere")).data["link"]["up"]["lateness"] == as_written
    up["reorder"] = True
    assert (
        late(from_dict(both), as_if_live(way, measured, up["from"], "elsewhere")).data["link"]["up"]["lateness"] is None
    )


def test_what_a_run_has_to_compare(scenario_file: Path):
    names = {q.name: q for q in quantities(run(build(Case("reno", 20), 1, Lab(seconds=8))))}
    assert set(names) == {"long throughput", "page time", "ping RTT", "up queue"}
    # 3 ms at 10 Mbit/s is 2.5 packets of 1500 bytes
    assert names["up queue"].least == pytest.approx(2.5)
    # a link with `both_ways` has a queue in each direction: `~up` is the reverse direction of `up`
    both: Any = load(scenario_file).data
    both["link"]["up"]["both_ways"] = True
    del both["link"]["down"]
    found = {q.name for q in quantities(run(from_dict(both)))}
    assert {"file throughput", "up queue", "~up queue"} <= found


@bench
@pytest.mark.alone
def test_on_this_machine_s_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A valid run has verdicts, and an invalid run has none. The verdicts themselves depend on the load of the machine,
    so they are not tested.
    """
    code = call(
        ["compare", "csc458", "--only", "Q=20 reno", "--time", "6", "--seeds", "2", "-f", "json", "-o", str(tmp_path)]
    )
    data = json.loads(capsys.readouterr().out)
    assert code in (0, 1, 3)
    assert len(data["cells"]) == 4
    judged = [c["agrees"] for c in data["cells"]]
    assert (code == 3) == all(j is None for j in judged) == bool(data["invalid"])
    assert (tmp_path / "Q=20_reno" / "summary.json").exists()
    assert json.loads((tmp_path / "compare.json").read_text()) == data


def test_saved_live_runs_are_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A simulation that is stored as a live run agrees in every bit with the simulation that `compare --exact` runs."""
    simulated = run(build(Case("reno", 20), 1, Lab(seconds=8)))
    percentiles = {"min": 0.0, "p50": 0.01, "p90": 0.02, "p95": 0.03, "p99": 0.1, "p99_9": 1.0, "max": 2.0}
    facts = {
        "valid": True,
        "invalid_because": None,
        "lateness_ms": percentiles,
        "left": {"h1": ""},
        "right": {"h2": ""},
    }
    save(Result(simulated.scenario, simulated.summary | {"live": facts}, simulated.tables), tmp_path / "Q=20_reno")
    compare_it = [
        "compare",
        "csc458",
        "--only",
        "Q=20 reno",
        "--seeds",
        "1",
        "--saved",
        str(tmp_path),
        "--exact",
        "-f",
        "json",
    ]
    assert call([*compare_it, "--time", "8"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [c["agrees"] for c in cells] == [True] * 4
    assert all(c["simulated"] == c["live"] for c in cells)
    for arguments, message in (
        ([*compare_it, "--time", "9"], "its scenario differs from Q=20 reno"),
        (["compare", "csc458", "--only", "pie", "--saved", str(tmp_path)], "pie_reno: not a result folder"),
        ([*compare_it, "-o", str(tmp_path)], "is the folder of --saved"),
    ):
        assert call(arguments) == 2
        assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("examples/lab.toml", "--time", "5"), "--time 5: is for csc458 only; for a file, give --set duration=5s"),
        (("examples/lab.toml", "--only", "nix"), "--only nix: is for csc458 only; a file has one case"),
        (("csc458", "--only", "nix"), "--only nix: no case of csc458 has it in its name, such as "),
        (("csc458", "--set", "duration=1s"), "--set duration=1s: is for files only, not for csc458"),
        ((), "nothing to compare"),
        (("./csc458",), "csc458: no such file"),  # with ./, the name is that of a file, not of the study
    ],
)
def test_an_option_without_effect_is_refused(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    # no live run is made: --saved takes live runs from a folder, which is empty here
    code, _, err = say("compare", *arguments, "--saved", tmp_path)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert line in err


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (("", ""), 'its name "scenario" and the name "scenario" of {0} give the same folder'),
        (('name = "a b"', 'name = "a_b"'), 'its name "a_b" and the name "a b" of {0} give the same folder'),
    ],
)
def test_two_cases_with_one_folder_are_refused(
    names: tuple[str, str], line: str, scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    files = [str(tmp_path / "one.toml"), str(tmp_path / "two.toml")]
    text = "".join(of for of in scenario_file.read_text().splitlines(keepends=True) if not of.startswith("name"))
    for file, name in zip(files, names, strict=True):
        Path(file).write_text(f"{name}\n{text}")
    assert call(["compare", *files, "--saved", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{files[1]}: {line.format(files[0])}; give each scenario another name\n"
