"""Every recipe of docs/cookbook.md is run, and must print the numbers given on the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bloatlab import open_result
from bloatlab.cli.main import call

ROOT = Path(__file__).resolve().parents[2]
HOMES = ROOT / "examples" / "homes"
RECIPES = re.split(r"^## ", (ROOT / "docs" / "cookbook.md").read_text(), flags=re.MULTILINE)[1:]

Summary = dict[str, Any]


def mbit(app: str, way: str) -> Callable[[Summary], float]:
    """Returns a function that computes an application's rate on the wire, in Mbit/s, from a summary."""
    return lambda s: s["apps"][app][f"wire_bytes{way}"] * 8 / s["duration_s"] / 1e6


#: Rows of a recipe's table: where the value is in the summary, and how many decimals the page shows.
ROWS: dict[str, tuple[Callable[[Summary], float], int]] = {
    "load adds (ms)": (lambda s: s["latency"]["induced_p99_ms"], 1),
    "call (MOS)": (lambda s: s["apps"]["call"]["voip"]["mos"], 2),
    "page, median (s)": (lambda s: s["apps"]["pages"]["web"]["page_load_s"]["median"], 3),
    "game: packets to the player that arrive late (%)": (
        lambda s: s["apps"]["game"]["game"]["down"]["late_percent"],
        2,
    ),
    "download (Mbit/s)": (mbit("download", "_reverse"), 2),
    **{f"{app} (Mbit/s)": (mbit(app, ""), 2) for app in ("upload", "films", "report", "sync")},
}
#: For each scenario file, the application whose rate is in the row "upload (Mbit/s)", if it is not called "upload".
UPLOADS = {"adsl": "photos", "cable30": "video", "cable31": "video", "fibre": "backup", "starlink": "backup"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda text: text.splitlines()[0])
def test_recipe_prints_its_figures(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    commands = re.findall(r"^    bloatlab (run .*)$", recipe, re.MULTILINE)
    rows = [[c.strip() for c in row.split("|")[1:-1]] for row in re.findall(r"^\| [a-z].*$", recipe, re.MULTILINE)]
    assert len(commands) in {2, 3}
    assert len(rows) >= 3
    assert len(recipe.splitlines()) <= 40, "a recipe fits a screen"
    monkeypatch.chdir(ROOT)
    for column, command in enumerate(commands, 1):
        words = shlex.split(command)
        assert call([*words, "-o", str(tmp_path / str(column))]) == 0
        printed = re.sub(r"(?<=\d)\u202f(?=\d{3})", "", capsys.readouterr().out)
        summary = open_result(tmp_path / str(column)).summary
        for name, *shown in rows:
            measure, decimals = ROWS[name]
            upload = UPLOADS.get(Path(words[1]).stem)
            if name == "upload (Mbit/s)" and upload:
                measure = mbit(upload, "")
            value = measure(summary)
            assert shown[column - 1] == f"{value:.{decimals}f}", f"{command}: {name}"
            # the command prints rates with three decimals
            assert f"{value:.{3 if 'Mbit/s' in name else decimals}f}" in printed, f"{command}: {name}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda text: text.splitlines()[0])
def test_sentences_below_a_table_repeat_no_figure(recipe: str):
    """Only the tables are compared with runs, so an outdated delay or share in a sentence would not be noticed."""
    below = recipe[recipe.rindex("|\n") :]
    assert re.findall(r"[\d.]+ (?:ms|%)", below) == []


def test_there_are_ten_recipes_and_each_file_has_one():
    assert len(RECIPES) == 10
    named = set(re.findall(r"examples/homes/([\w-]+\.toml)", "".join(RECIPES)))
    assert named == {path.name for path in HOMES.glob("*.toml")}
    anchors = {f"#{re.sub(r'[^a-z -]', '', r.splitlines()[0].lower()).replace(' ', '-')}" for r in RECIPES}
    for path in HOMES.glob("*.toml"):
        (anchor,) = re.findall(r"docs/cookbook\.md(#[a-z-]+)", path.read_text())
        assert anchor in anchors, path
