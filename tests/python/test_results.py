"""Tests the JSON of results: NaN and infinity become null, and the text is the same as that of Python's `json`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bloatlab.results import json_text, write_json


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
