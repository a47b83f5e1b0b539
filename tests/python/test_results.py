"""Tests the folders of results: what is saved is what is opened, and a refused call leaves an earlier result whole.

In JSON, NaN and infinity become null, and the text is the same as that of Python's `json`.
"""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import pytest

import bloatlab
from bloatlab.errors import InputError
from bloatlab.results import FORMS, SCENARIO, Form, json_text, open_result, save, write_json

#: A sender and a call over a lossy link. An application is called 007, a queue within FQ-CoDel is called 1, and numbers
#: are missing: while the queue is empty, and in the trace of the second link, whose law has no `drop_next_s`.
SMALL = {
    "name": "small",
    "duration": "2s",
    "link": {
        "up": {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "loss": 1e-5, "queue": "fq_codel"},
        "down": {"from": "net", "to": "home", "rate": "20mbit", "delay": "10ms", "queue": "codel"},
    },
    "app": {
        "007": {"from": "home", "to": ["net"], "traffic": {"ftp": {}}},
        "8": {"from": "home", "to": ["net"], "start": "1s", "traffic": {"voip": {}}},
    },
    "record": {"interval": "10ms"},
    "trace": {"links": True, "queues": True, "flows": True},
}


@pytest.fixture(scope="module")
def small() -> bloatlab.Result:
    return bloatlab.run(SMALL)


@pytest.mark.parametrize("form", FORMS)
def test_a_result_opens_as_it_was_saved(small: bloatlab.Result, tmp_path: Path, form: Form):
    opened = open_result(save(small, tmp_path, form=form))
    assert opened.scenario == small.scenario
    assert opened.scenario.hash == bloatlab.load(tmp_path / SCENARIO).hash == bloatlab.from_dict(SMALL).hash  # type: ignore[arg-type]
    assert opened.summary == small.summary
    for name, frame in small.tables.items():
        assert opened.table(name).schema == frame.schema, name
        assert opened.table(name).null_count().row(0) == frame.null_count().row(0), name
        assert opened.table(name).equals(frame), name
    assert opened == small
    assert set(opened.trace("flows")["app"]) == {"007"}


@pytest.mark.parametrize("number", [1e-4, 9.9e-5, 1e-5, 1.5e-6, 1e-12])
def test_numbers_of_a_scenario_are_those_of_the_core(small: bloatlab.Result, tmp_path: Path, number: float):
    wanted = small.scenario.with_sets(("link.up.loss", f"{number:.13f}"))
    opened = open_result(save(bloatlab.Result(wanted, small.summary, {}), tmp_path))
    assert opened.scenario == wanted
    assert opened.scenario.data["link"]["up"]["loss"] == number


def test_a_scenario_of_another_version_is_kept_as_it_was_written(small: bloatlab.Result, tmp_path: Path):
    save(small, tmp_path)
    write_json(tmp_path / SCENARIO, {**small.scenario.data, "key_of_another_version": 1})
    opened = open_result(tmp_path)
    assert opened.scenario.data["key_of_another_version"] == 1
    assert opened.seed == small.seed


def test_equal_results_are_equal(small: bloatlab.Result):
    again = bloatlab.run(small.scenario)
    assert again == small
    assert pickle.loads(pickle.dumps(small)) == small  # noqa: S301  our own bytes
    assert len({again, small}) == 1
    assert bloatlab.run(small.scenario, seed=2) != small
    fewer = bloatlab.Result(small.scenario, small.summary, {"links": small.table("links")})
    other = bloatlab.Result(small.scenario, small.summary, {"links": small.table("links").head(1)})
    assert fewer not in (small, other)
    assert small != "small"


def test_an_unknown_form_leaves_the_folder_as_it_was(small: bloatlab.Result, tmp_path: Path):
    wrong: list[object] = ["CSV", "", ["csv"], None]
    for form in wrong:
        with pytest.raises(InputError, match=r"^form: .* is not valid; expected csv, json, parquet"):
            save(small, tmp_path / "new", form=form)  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()
    save(small, tmp_path / "kept")
    with pytest.raises(InputError, match='did you mean "json"'):
        save(small, tmp_path / "kept", form="jsn")  # type: ignore[arg-type]
    assert open_result(tmp_path / "kept") == small


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def test_json_knows_no_infinity(tmp_path: Path):
    data = {"a": math.nan, "b": [1.5, math.inf, {"c": -math.inf}], "d": ("x", math.nan), "e": None}
    wanted = {"a": None, "b": [1.5, None, {"c": None}], "d": ["x", None], "e": None}
    assert json.loads(json_text(data), parse_constant=refuse) == wanted
    write_json(tmp_path / "x.json", data)
    assert json.loads((tmp_path / "x.json").read_text(), parse_constant=refuse) == wanted


def test_the_text_is_the_one_that_json_writes():
    data = {"b": 1, "a": ["é", 0.1]}
    assert json_text(data) == json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    assert json_text(data, sort_keys=True).index('"a"') < json_text(data, sort_keys=True).index('"b"')
    with pytest.raises(TypeError):
        json_text({"a": object()})
