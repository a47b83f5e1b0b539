"""A plot of a grid file shows the same runs as a plot of the table that the sweep of this file writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bloatlab.cli.main import call
from bloatlab.plots import Unfit
from bloatlab.plots.subjects import Sweep, subjects

BASE = """
duration = "3s"
[link.up]
from = "home"
to = "net"
rate = "5mbit"
delay = "10ms"
both_ways = true
queue.droptail = { limit = "50p" }
[app]
upload = { from = "home", to = ["net"], traffic.ftp = {} }
call = { from = "home", to = ["net"], traffic.voip = {} }
"""


@pytest.mark.parametrize(
    ("lines", "options", "rows"),
    [
        ("", ["--keep", "queue_series", "--keep", "pings"], 4),
        ('set."record.warm_up" = "auto"', [], 4),
        # the width of the interval stays above the target, so both points get `most_seeds` seeds
        ('most_seeds = 5\nuntil."links.up.sojourn_ms.p99" = 1e-9', [], 10),
    ],
)
def test_a_grid_file_stands_for_its_table(
    lines: str, options: list[str], rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    (tmp_path / "base.toml").write_text(BASE)
    grid, table = tmp_path / "grid.toml", tmp_path / "table.csv"
    grid.write_text(f'scenario = "base.toml"\nseeds = 2\n{lines}\naxes."link.up.rate" = ["2mbit", "5mbit"]\n')
    with pytest.raises(Unfit, match=r"grid.toml: [24] of [24] runs are not stored; run them first: bloatlab sweep"):
        subjects([grid])
    assert call(["sweep", str(grid), "-o", str(table), *options]) == 0
    kept, written = subjects([grid]), subjects([table])
    assert isinstance(kept, Sweep)
    assert isinstance(written, Sweep)
    assert kept.frame.height == rows
    assert kept.frame.select("seed", "scenario_hash").equals(written.frame.select("seed", "scenario_hash"))
    column = "links.up.sojourn_ms.p99"
    assert kept.frame[column].to_list() == pytest.approx(written.frame[column].to_list())
    # one seed more is one run more at each grid point
    grid.write_text(grid.read_text().replace("seeds = 2", "seeds = 3").replace("most_seeds = 5", "most_seeds = 6"))
    with pytest.raises(Unfit, match=r"[26] of [26] runs are not stored"):
        subjects([grid])
