"""Every view of an invalid live run names it and gives the reason. No live run is made: the summary of a simulation is
given the verdict of an invalid live run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import bloatlab
from bloatlab.plots.headline import headline
from bloatlab.plots.subjects import subjects
from bloatlab.results import save
from bloatlab.simulation import Result
from bloatlab.summaries import as_html
from conftest import Say

WHY = "lateness p99 2.000 ms is above 1 ms"


@pytest.fixture
def results(scenario_file: Path) -> dict[str, Result]:
    simulated = bloatlab.run(scenario_file)
    facts = {"valid": {"valid": True, "invalid_because": None}, "late": {"valid": False, "invalid_because": WHY}}
    return {name: replace(simulated, summary=simulated.summary | {"live": of}) for name, of in facts.items()}


def test_a_result_knows_it(results: dict[str, Result]):
    assert {name: result.invalid_because for name, result in results.items()} == {"valid": None, "late": WHY}
    assert f"s, invalid: {WHY}\n" in repr(results["late"])
    assert f"invalid: {WHY}" in as_html(results["late"])
    assert "invalid" not in repr(results["valid"]) + as_html(results["valid"])


def test_commands_say_it_in_one_line(results: dict[str, Result], say: Say, tmp_path: Path):
    valid, late = (save(of, tmp_path / name) for name, of in results.items())
    line = f"late is an invalid live run: {WHY}."
    assert f"invalid: {WHY}" in " ".join(say("show", late)[1].split())
    assert "invalid" not in say("show", valid)[1]
    for pair, count in (((valid, late), 1), ((late, late), 2), ((valid, valid), 0)):
        assert say("diff", *pair)[1].count(f"is an invalid live run: {WHY}.") == count
    assert say("diff", valid, late)[1].startswith(line)
    code, table, warned = say("diff", valid, late, "-f", "csv")
    assert (code, warned.strip()) == (0, line)
    assert table.startswith("measure,")
    difference = bloatlab.diff(valid, late)
    assert str(difference).startswith(line)
    assert line in difference._repr_html_()
    assert difference.as_data()["invalid_because"] == [None, WHY]
    for folders, count in (([late], True), ([valid, late], True), ([valid], False)):
        assert say("report", *folders, "-o", tmp_path / "page.html")[0] == 0
        assert (line in (tmp_path / "page.html").read_text()) is count


@pytest.mark.parametrize("kind", ["overview", "cdf", "box"])
def test_plots_have_it_as_their_title(results: dict[str, Result], tmp_path: Path, kind: str):
    valid, late = (save(of, tmp_path / name) for name, of in results.items())

    def title(*folders: Path, given: str = "") -> str:
        figure = bloatlab.plot(*folders, kind=kind, title=given)
        above = figure.legends[0].get_title().get_text() if figure.legends else figure.get_suptitle()
        return " ".join(above.split())

    assert title(late).startswith(f"late is an invalid live run: {WHY}.")
    assert f"late is an invalid live run: {WHY}." in title(valid, late)
    assert "invalid" not in title(valid)
    assert title(late, given="mine") == f"late is an invalid live run: {WHY}. mine"
    assert title(valid, given="mine") == "mine"


def test_a_comparison_with_flent_keeps_it(results: dict[str, Result], say: Say, tmp_path: Path):
    late, data = save(results["late"], tmp_path / "late"), tmp_path / "a.flent.gz"
    assert say("export", late, "-o", data)[0] == 0
    assert say("diff", data, late)[1].startswith(f"late is an invalid live run: {WHY}.")
    runs = subjects([data, late])
    assert isinstance(runs, list)
    assert f"late is an invalid live run: {WHY}." in headline(runs)
