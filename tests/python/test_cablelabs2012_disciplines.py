"""More queue disciplines in the modem of CableLabs 2012: the runs of the study, and the tables of their results."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from bloatlab.scenario import catalogue
from bloatlab.studies.cablelabs2012 import disciplines
from bloatlab.studies.cablelabs2012.build import build
from bloatlab.studies.cablelabs2012.disciplines import DISCIPLINES
from bloatlab.studies.cablelabs2012.experiments import trials
from bloatlab.studies.cablelabs2012.measure import Measures
from bloatlab.studies.cablelabs2012.published import MEDIAN, MOS
from bloatlab.studies.claims import Runs
from bloatlab.workloads.cable_loads import NUMBERS, Case, Queue

README = Path(disciplines.__file__).with_name("README.md")


def test_nine_cases_of_each_differ_from_the_paper_s_in_the_queue_alone():
    given = trials("disciplines")
    assert [t.key for t in given] == [f"{n:02d} {d.label}" for d in DISCIPLINES for n in NUMBERS]
    for trial in given:
        ours: Any = build(trial.case, 1, trial.setup).data
        paper: Any = build(Case(trial.case.number, Queue.CODEL), 1).data
        assert ours["link"]["up"].pop("queue") != paper["link"]["up"].pop("queue")
        assert ours == paper


def test_nothing_is_set_but_the_buffer():
    """Every parameter has its discipline's default, except the limit of 417 packets."""
    defaults = {q["name"]: {p["name"]: p["default"] for p in q["params"]} for q in catalogue()["qdiscs"]}
    for discipline in DISCIPLINES:
        ((name, values),) = discipline.queue.items()
        assert name in defaults
        assert values in ({}, {"limit": "417p"})
        assert len(discipline.why) > 40


def test_readme_has_every_discipline():
    rows = re.findall(r"^\| ([^|]+) \| `(\w+) = [^|]*` \| [^|]+ \|$", README.read_text(), flags=re.MULTILINE)
    assert rows == [(d.label, next(iter(d.queue))) for d in DISCIPLINES]


def measures(value: float) -> list[Measures]:
    """Returns the measures of two seeds: all are `value` in the first, and `value` + 2 in the second."""
    return [{column.measure: value + step for column in disciplines.COLUMNS} for step in (0.0, 2.0)]


@pytest.fixture
def runs() -> tuple[Runs, Runs]:
    """Returns runs of the paper's queues with four seeds each, and runs of the disciplines with two seeds each.

    The tables use the same number of seeds for both, so they must leave out the last two seeds of the paper's queues.
    The values of these two seeds are far too large, so that a table that uses them is wrong.
    """
    paper = {
        Case(n, q).key: [*measures(10.0 * place), *measures(1e6)] for place, q in enumerate(Queue) for n in NUMBERS
    }
    return paper, {
        f"{n:02d} {d.label}": measures(100.0 + place) for place, d in enumerate(DISCIPLINES) for n in NUMBERS
    }


def test_tables_show_medians_and_mark_the_best(runs: tuple[Runs, Runs]):
    together, mos, *_, parameters = disciplines.tables(*runs)
    names = [q.value for q in Queue] + [d.label for d in DISCIPLINES]
    assert [row[0].text for row in mos.rows] == names
    assert [row[0].text for row in together.rows] == names
    assert [row[1].text for row in mos.rows][:4] == ["1.00", "11.00", "21.00", "101.00"]
    assert [row[1].tone for row in mos.rows] == ["plain"] * 9 + ["good"]  # the highest MOS is marked as the best
    by_title = {t.title: t for t in disciplines.tables(*runs)}
    delays = by_title["Queue, typical delay (ms)"]
    assert [row[1].tone for row in delays.rows] == ["good"] + ["plain"] * 9
    heads = dict(zip(together.columns, range(len(together.columns)), strict=True))
    assert together.rows[1][heads["MOS, mean"]].text == "11.00"
    assert together.rows[1][heads["pages"]].text == "99"  # 11 pages in each of 9 loads
    assert together.rows[1][heads["worst p99 ms"]].text == "11.0"
    assert len(parameters.rows) == len(DISCIPLINES)


def test_a_page_that_never_loads_is_never_and_counts_as_the_whole_run(
    runs: tuple[Runs, Runs],
):
    paper, ours = runs
    key = Case(1, Queue.DROPTAIL_417).key
    never = [{**seed, MEDIAN: math.inf} for seed in paper[key]]
    made = {t.title: t for t in disciplines.tables({**paper, key: never}, ours)}
    assert made["Web, median page load (s)"].rows[0][1].text == "never"
    heads = made["All nine cases"].columns
    assert made["All nine cases"].rows[0][list(heads).index("page s, mean")].text == f"{(600 + 8 * 1) / 9:.2f}"
    same = {key: [dict.fromkeys(seed, 3.0) for seed in seeds] for key, seeds in {**paper, **ours}.items()}
    flat = disciplines.tables(same, same)[0]
    assert all(cell.tone == "plain" for row in flat.rows for cell in row)
    assert MOS in same[key][0]
