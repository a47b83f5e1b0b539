"""Tests the folders of results: what is saved is what is opened, and a refused call leaves an earlier result whole.

In JSON, NaN and infinity become null, and the text is the same as that of Python's `json`.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab import results
from bloatlab.errors import InputError
from bloatlab.results import FORMS, SCENARIO, Form, json_text, open_result, save, write_json
from bloatlab.scenario import canonical

ROOT = Path(__file__).resolve().parents[2]

#: A sender and a call over a lossy link. Some names look like numbers: 007 and 8 (applications), and 1 (a queue within
#: FQ-CoDel). Numbers are missing while the queue is empty, and CoDel has no `drop_next_s` before the first drop.
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
    opened = open_result(save(bloatlab.Result(wanted, small.summary, small.tables), tmp_path))
    assert opened.scenario == wanted
    assert opened.scenario.data["link"]["up"]["loss"] == number


def test_a_scenario_of_another_version_is_kept_as_it_was_written(small: bloatlab.Result, tmp_path: Path):
    save(small, tmp_path)
    write_json(tmp_path / SCENARIO, {**small.scenario.data, "key_of_another_version": 1}, sort_keys=False)
    opened = open_result(tmp_path)
    assert opened.scenario.data["key_of_another_version"] == 1
    assert opened.seed == small.seed
    # the hash is of the canonical text with this key at its end, and without `trace`
    text = bloatlab.from_dict({key: value for key, value in SMALL.items() if key != "trace"}).text  # type: ignore[arg-type]
    text = f'{text[:-1]},"key_of_another_version":1}}'
    assert opened.scenario.hash == hashlib.sha256(text.encode()).hexdigest()


#: The scenarios among the examples.
EXAMPLES = [
    file
    for file in sorted((ROOT / "examples").rglob("*.toml"))
    if "axes" not in (text := file.read_text()) and "link" in text
]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_canonical_text_is_that_of_the_core(file: Path):
    scenario = bloatlab.load(file)
    assert canonical(scenario.data) == scenario.text


def test_numbers_in_strings_stay():
    assert canonical({"a": '1.5e-06 "2e-05\\', "b": [1.5e-6, 2e-05, 1e16, 1e-12, -3e-5]}) == (
        r'{"a":"1.5e-06 \"2e-05\\","b":[1.5e-6,0.00002,1e16,1e-12,-0.00003]}'
    )


def test_defaults_that_an_earlier_version_did_not_have_are_not_filled_in(small: bloatlab.Result, tmp_path: Path):
    save(small, tmp_path)
    earlier = small.scenario.data
    del earlier["record"]
    write_json(tmp_path / SCENARIO, earlier, sort_keys=False)
    assert open_result(tmp_path).scenario.data == earlier


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_another_name_is_opened_as_it_is(small: bloatlab.Result, tmp_path: Path, form: Form):
    frame = pl.DataFrame({"flow": ["a", None], "connection": ["b", "c"], "t_s": ["now", "then"]})
    mine = bloatlab.Result(small.scenario, small.summary, {**small.tables, "mine": frame})
    opened = open_result(save(mine, tmp_path, form=form))
    assert opened.table("mine").equals(frame)
    assert opened.table("flows").equals(small.table("flows"))


@pytest.mark.parametrize("form", FORMS)
def test_brackets_in_the_name_of_a_folder_are_no_pattern(small: bloatlab.Result, tmp_path: Path, form: Form):
    assert open_result(save(small, tmp_path / "run[1]*", form=form)) == small


def test_half_a_character_is_no_text(small: bloatlab.Result, tmp_path: Path):
    save(small, tmp_path)
    text = (tmp_path / SCENARIO).read_text().replace('"small"', '"\\ud800"')
    (tmp_path / SCENARIO).write_text(text)
    with pytest.raises(results.ResultError, match=r"scenario\.resolved\.json: .*surrogates not allowed"):
        open_result(tmp_path)


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
    wrong: list[object] = ["CSV", "", ["csv"], None, np.array(["csv"])]
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
