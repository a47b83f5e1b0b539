"""Seeds: another seed changes the run of every example, but not the run of a scenario in which nothing is random."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bloatlab
from bloatlab.sweep.grid_file import flat

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))


def summary(path: Path, seed: int, **sets: str) -> dict[str, object]:
    scenario = bloatlab.load(path)
    changes = scenario.data["link"].get("up", {}).get("changes")
    result = bloatlab.run(path, seed=seed, sets={"duration": "90s" if changes else "15s", **sets})
    return dict(flat(result.summary))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_seeds_of_every_example_differ(path: Path):
    runs = [summary(path, seed) for seed in (1, 2, 3)]
    assert all(runs[a] != runs[b] for a, b in ((0, 1), (0, 2), (1, 2)))
    assert runs[0] == summary(path, 1)


def test_no_spread_is_one_run():
    path = next(path for path in EXAMPLES if path.stem == "home-upload")
    runs = [summary(path, seed, start_spread="0s") for seed in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ["plain", 'quotes " and \\ ', '","seed":7,"', "µ é\u00a0x"])
def test_with_seed_gives_the_scenario_of_set(name: str):
    for base in (bloatlab.load(path) for path in EXAMPLES):
        scenario = bloatlab.parse(json.dumps({**base.data, "name": name, "seed": 5}), form="json")
        assert scenario.seed == 5
        for seed in (0, 5, 2**63 - 1):
            changed = scenario.with_seed(seed)
            assert changed == scenario.with_sets(("seed", str(seed)))
            assert changed.seed == changed.data["seed"] == seed
        for wrong in (-1, 2**63, True, 1.5):
            with pytest.raises(bloatlab.ScenarioError, match="seed"):
                scenario.with_seed(wrong)  # pyright: ignore[reportArgumentType]
