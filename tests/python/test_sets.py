"""Values that replace a scenario's own: `sets` of `load`, `parse`, `run`, `open` and `sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab.scenario import problems
from conftest import DUMBBELL


@pytest.fixture(scope="module")
def dumbbell() -> bloatlab.Scenario:
    return bloatlab.parse(DUMBBELL)


@pytest.mark.parametrize("wrong", ["seed=3", ("seed", 3), ("seed",), 3])
def test_a_wrong_override_gets_one_line(wrong: Any):
    with pytest.raises(bloatlab.ScenarioError) as raised:
        bloatlab.parse(DUMBBELL, sets=[wrong])
    (line,) = problems(raised.value)
    assert line == f'sets: {wrong!r} is not valid; expected pairs such as ("link.up.rate", "5mbit"), or a mapping'


@pytest.mark.parametrize("wrong", [5, None, "seed=3"])
def test_overrides_that_are_neither_pairs_nor_a_mapping_get_one_line(wrong: Any):
    with pytest.raises(bloatlab.ScenarioError, match=r"sets: .* is not valid; expected pairs such as"):
        bloatlab.parse(DUMBBELL, sets=wrong)


def test_overrides_may_be_any_iterable_of_pairs(dumbbell: bloatlab.Scenario, scenario_file: Path):
    wanted = dumbbell.with_sets(("link.up.rate", "1mbit"), ("seed", "9"))
    given: Any
    for given in (
        zip(["link.up.rate", "seed"], ["1mbit", "9"], strict=True),
        (pair for pair in [("link.up.rate", "1mbit"), ("seed", "9")]),
        iter([["link.up.rate", "1mbit"], ["seed", "9"]]),
        [["link.up.rate", "1mbit"], ["seed", "9"]],
    ):
        assert bloatlab.load(scenario_file, given) == wanted
    assert bloatlab.open(dumbbell, sets=zip(["seed"], ["9"], strict=True)).scenario == dumbbell.with_seed(9)
    with pytest.raises(ValueError, match=r"sets\.seed: seeds varies it"):
        bloatlab.sweep(dumbbell, {"link.up.rate": ["1mbit"]}, sets=iter([("seed", "9")]))


def test_sets_lie_over_the_scenario(dumbbell: bloatlab.Scenario):
    changed = dumbbell.with_sets(("link.up.rate", "1mbit"), ("seed", "9"))
    assert (changed.data["link"]["up"]["rate"], changed.seed) == ("1mbit", 9)
    assert changed.hash != dumbbell.hash
