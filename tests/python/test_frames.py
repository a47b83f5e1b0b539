"""Python in a notebook: public names, a sweep in one call, flat frames, tables as HTML."""

from __future__ import annotations

import html.parser
import inspect
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.scenario import problems
from bloatlab.simulation import frames, summary_of
from bloatlab.sweep import grid_file
from bloatlab.tables import TextCell, TextTable

SHORT = {"duration": "3s"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> bloatlab.Result:
    """Runs a call beside an upload, with bins of 30 ms."""
    link = {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "both_ways": True}
    apps = {"upload": {"from": "home", "to": ["net"], "traffic": "ftp"},
            "call_ms": {"from": "home", "to": ["net"], "traffic": "voip"}}  # fmt: skip
    data = {"name": "pair", "duration": "3s", "link": {"up": link}, "app": apps, "record": {"interval": "30ms"}}
    return bloatlab.run(data)


def test_a_fresh_import_lists_public_names_alone():
    code = "import bloatlab, json; print(json.dumps([dir(bloatlab), bloatlab.__all__]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, public = json.loads(done.stdout)
    assert listed == sorted(public)
    for name in public:
        assert getattr(bloatlab, name) is not None


def test_a_sweep_in_one_call_is_the_table_of_the_command(scenario_file: Path, tmp_path: Path):
    axes = {"link.up.rate": ["1mbit", "5mbit"], "queue": {"codel": {"link.up.queue": "codel"},
            "fifo": {"link.up.queue": {"droptail": {"limit": "9p"}}}}}  # fmt: skip
    where = ["queue != fifo or link.up.rate == 5mbit"]
    columns = ["apps.*.mos", "links.up.utilisation"]
    frame = bloatlab.sweep(scenario_file, axes, 2, sets=SHORT, where=where, columns=columns, jobs=1)
    grid = tmp_path / "grid.toml"
    grid.write_text(
        f'scenario = "{scenario_file.name}"\nseeds = 2\nwhere = {json.dumps(where)}\n[set]\nduration = "3s"\n'
        '[axes]\n"link.up.rate" = ["1mbit", "5mbit"]\n[axes.queue]\ncodel = { "link.up.queue" = "codel" }\n'
        'fifo = { "link.up.queue" = { droptail = { limit = "9p" } } }\n'
    )
    table = tmp_path / "table.parquet"
    wanted = [word for column in columns for word in ("-c", column)]
    assert call(["sweep", str(grid), "-o", str(table), "--no-store", *wanted]) == 0
    assert frame.height == 6
    assert frame.equals(pl.read_parquet(table))


def test_a_sweep_takes_a_scenario_plain_values_seeds_and_a_store(scenario_file: Path, tmp_path: Path):
    axes = {"link.up.delay": {"from": "5ms", "to": "20ms", "steps": 2}}
    scenario = bloatlab.load(scenario_file, SHORT)
    kept = tmp_path / "kept"
    one = bloatlab.sweep(scenario, axes, [7, 3], store=kept)
    assert one["seed"].to_list() == [7, 7, 3, 3]
    assert any(kept.rglob("*.journal"))
    assert one.equals(bloatlab.sweep(scenario.data, axes, [7, 3], store=str(kept)))
    assert list(inspect.signature(bloatlab.sweep).parameters)[:3] == ["scenario", "axes", "seeds"]


@pytest.mark.parametrize(
    ("numpys", "own"),
    [
        (np.linspace(1e6, 2e6, 2), [1e6, 2e6]),
        (list(np.arange(1_000_000, 3_000_000, 1_000_000)), [1_000_000, 2_000_000]),
        ({"from": np.float64(1), "to": np.int64(9e6), "steps": np.int64(2)}, {"from": 1.0, "to": 9e6, "steps": 2}),
        ({"slow": {"link.up.rate": np.float64(1e6)}}, {"slow": {"link.up.rate": 1e6}}),
    ],
)  # fmt: skip
def test_numpys_values_are_as_good_as_pythons(scenario_file: Path, numpys: Any, own: Any):
    sets, same = (
        {"duration": "1s", "link.down.rate": np.array("9mbit")},
        {"duration": "1s", "link.down.rate": 9_000_000},
    )
    ours = bloatlab.sweep(scenario_file, {"link.up.rate": own}, 2, sets=same)
    seeds: list[Any] = [np.arange(1, 3), np.int64(2), np.array(2)]
    for given in seeds:
        assert ours.equals(bloatlab.sweep(scenario_file, {"link.up.rate": numpys}, given, sets=sets))


#: A list that contains itself.
ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("axes", "seeds", "options", "line"),
    [
        ({}, 1, {"sets": SHORT}, "axes: none given; "),
        ({"link.up.rat": ["1mbit"]}, 1, {}, "sweep (link.up.rat=1mbit): link.up: unknown"),
        ({"link.up.rate": ["1mbit"]}, 0, {}, "seeds: 0 is neither"),
        ({"link.up.rate": ["1mbit"]}, [2**64], {}, "a list of different seeds from 0 to 9223372036854775807"),
        ({"record.apps": ITSELF}, 1, {}, "axes.record.apps: a list or table contains itself, or is nested too deeply"),
        ({"link.up.rate": ["1mbit"]}, 1, {"sets": {"name": ITSELF}}, "name: a list or table contains itself"),
        ({"link.up.rate": ["1mbit"]}, ITSELF, {}, "seeds: a list or table contains itself"),
        ({"link.up.rate": [None]}, 1, {}, "axes.link.up.rate: None: a scenario cannot have a NoneType"),
        ({"link.up.rate": ["1mbit"]}, 1, {"sets": {"link.up.rate": "2mbit"}}, "sets.link.up.rate: axes."),
        ({"link.up.rate": ["1mbit"]}, 1, {"columns": ["apps.voip.voip.moss"]}, "column apps.voip.voip.moss: no such"),
        ({"link.up.rate": ["1mbit"]}, 1, {"columns": "apps.*"}, "columns: expected a list of names, such as"),
        ({"link.up.rate": ["1mbit"]}, 1, {"columns": {"apps.*"}}, "columns: expected a list of names, such as"),
        ({"link.up.rate": ["1mbit"]}, 1, {"columns": np.array("apps.x")}, "columns: expected a list of names, such as"),
        ({"link.up.rate": ["1mbit"]}, 1, {"columns": np.array(["apps.nix"])}, "column apps.nix: no such"),
    ],
)
def test_a_mistake_in_a_sweep_is_one_line(
    scenario_file: Path, axes: dict[str, Any], seeds: Any, options: dict[str, Any], line: str
):
    with pytest.raises(ValueError, match=re.escape(line)) as caught:
        bloatlab.sweep(scenario_file, axes, seeds, **options)
    assert len(problems(caught.value)) == 1


def test_a_flat_frame_has_a_row_per_run_link_or_application(result: bloatlab.Result, tmp_path: Path):
    run = result.frame()
    assert run.select("run", "seed").rows() == [("pair", 1)]
    numbers = dict(grid_file.summary(result))
    assert run.drop("run", "seed", "scenario_hash").row(0, named=True) == numbers
    links = result.frame("link")
    assert links["link"].to_list() == list(result.summary["links"])
    assert links["sojourn_ms.p50"].to_list() == [of["sojourn_ms"]["p50"] if "sojourn_ms" in of else None
                                                 for of in result.summary["links"].values()]  # fmt: skip
    bloatlab.save(result, tmp_path / "kept")
    apps = bloatlab.frame({"now": result, "then": tmp_path / "kept"}, per="app")
    mos = result.summary["apps"]["call_ms"]["voip"]["mos"]
    rows = apps.filter(kind="voip").select("run", "app", "voip.mos").rows()
    assert rows == [("now", "call_ms", mos), ("then", "call_ms", mos)]
    assert bloatlab.frame([tmp_path / "kept"])["run"].to_list() == ["kept"]
    with pytest.raises(ValueError, match="per flow: expected run, link or app"):
        result.frame("flow")  # pyright: ignore[reportArgumentType]


class _Cells(html.parser.HTMLParser):
    """Collects the texts of a page's cells, and the tags that are still open at its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in {"td", "th"}:
            self.cells.append(data)


def test_a_notebook_shows_a_result_as_tables(result: bloatlab.Result):
    page = _Cells(result._repr_html_())
    assert page.open == []
    assert {"upload", "call_ms", "MOS", "voip"} <= set(page.cells)
    table = TextTable("a<b", ["x", "n"], [[TextCell("<script>"), TextCell("1")]], groups=[("", 1), ("g", 1)])
    assert _Cells(table.as_html()).cells == ["g", "x", "n", "<script>", "1"]


#: The most decimals that a time in each unit can have: the core counts time in ns.
FINEST = {"_s": 9, "_ms": 6}


def test_no_number_has_more_digits_than_its_unit(result: bloatlab.Result):
    for name, frame in result.tables.items():
        for column in frame.columns:
            unit = re.search(r"_(ms|s)(_|$)", column)
            if unit is None:
                continue
            for value in frame[column].drop_nulls().drop_nans():
                digits = -int(Decimal(repr(value)).as_tuple().exponent)
                assert digits <= FINEST[f"_{unit[1]}"], (name, column, value)
    assert "0.03\n" in result.table("queue_series").select("t_s").write_csv()


def test_a_unit_rounds_what_is_below_it_and_no_name_does():
    summary = summary_of(
        '{"duration_s": 60.00000000000001, "links": {"a_ms": {"utilisation": 0.12345678901, "sojourn_ms": '
        '{"p50": 10.485759999999999, "cv": 0.7102738408483208}, "goodput_mbit": 0.06923599999999999}}, "apps": {}}'
    )
    link = summary["links"]["a_ms"]
    assert summary["duration_s"] == 60.0
    assert link == {
        "utilisation": 0.12345678901,
        "sojourn_ms": {"p50": 10.48576, "cv": 0.7102738408483208},
        "goodput_mbit": 0.069236,
    }
    made = {"trace_links": pl.DataFrame({"t_s": [0.030000000000000002], "alpha": [0.030000000000000002]})}
    assert frames({}, made)["trace_links"].row(0) == (0.03, 0.030000000000000002)
