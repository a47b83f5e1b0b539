"""Plots and reports of a sweep show the columns that its author chose, in the same order."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.plots import plot
from bloatlab.plots.subjects import Sweep
from bloatlab.report.page import Provenance
from bloatlab.report.sweeps import sweep_page
from test_plot_grids import BASE
from test_plot_kinds import overlapping, texts

CHOSEN = ["apps.upload.retransmits", "apps.call.delay_ms.p99", "apps.upload.goodput_mbit"]


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs a small grid with chosen columns, and writes its table beside it."""
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    (tmp_path / "base.toml").write_text(BASE)
    grid = tmp_path / "grid.toml"
    grid.write_text(
        f'scenario = "base.toml"\nseeds = 2\ncolumns = {CHOSEN}\naxes."link.up.rate" = ["2mbit", "5mbit"]\n'
    )
    assert call(["sweep", str(grid), "-o", str(tmp_path / "grid.csv")]) == 0
    return grid


@pytest.mark.parametrize("suffix", [".toml", ".csv"])
def test_a_plot_and_a_report_have_the_chosen_columns(grid: Path, suffix: str, tmp_path: Path):
    of = grid.with_suffix(suffix)
    labels = ["upload: retransmits", "call: delay, 99 % (ms)", "upload: goodput (Mbit/s)"]
    assert [axes.get_ylabel() for axes in plot(of).axes if axes.get_visible()] == labels
    assert call(["report", str(of), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    heads = re.findall(r"<th scope=col[^>]*>([^<]*)</th>", page)
    assert heads == ["link.up.rate", *labels]
    assert re.findall(r"<dt>([^<]*)</dt>", page)[:3] == labels
    (sentence,) = re.findall(r'<p class="sentence">([^<]*)</p>', page)
    assert "Retransmits of upload: " in sentence
    assert "; delay of call (99 %): " in sentence
    if suffix == ".toml":  # all other numbers are stored as well
        assert re.search(r"\d+ more measures of the sweep: report -c NAME shows them\.", page)


def test_columns_of_a_report_can_be_named(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "page.html"
    assert call(["report", str(grid), "-c", "links.up.sojourn_ms.p*", "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    heads = re.findall(r"<th scope=col[^>]*>([^<]*)</th>", page)
    assert heads[1] == "link up: time in queue, median (ms)"
    assert len(heads) == 7  # the axis, and p50, p90, p95, p99, p99.9 and p99.99
    assert "-c &#39;links.up.sojourn_ms.p*&#39;" in page
    capsys.readouterr()
    assert call(["report", str(grid), "-c", "nothing", "-o", str(tmp_path / "none.html")]) == 2
    assert "no column nothing; expected " in capsys.readouterr().err
    assert call(["run", str(tmp_path / "base.toml"), "-q", "-o", str(tmp_path / "one")]) == 0
    assert call(["report", str(tmp_path / "one"), "-c", "events", "-o", str(tmp_path / "none.html")]) == 2
    assert capsys.readouterr().err.startswith("-c: chooses the measures of a sweep")


def test_what_a_plot_leaves_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table = pl.DataFrame({"q": ["a", "b"], "seed": [1, 1], **{f"m{n}_ms": [1.0, 2.0 + n] for n in range(6)}})
    table.write_csv(tmp_path / "t.csv")
    options = ["-o", str(tmp_path / "t.svg"), "--force"]
    assert call(["plot", str(tmp_path / "t.csv"), *options]) == 0
    assert "not drawn: m4_ms, m5_ms; -c chooses the measures\n" in capsys.readouterr().err
    assert call(["plot", str(tmp_path / "t.csv"), "-k", "lines", "-w", "column", "-c", "m[01]_ms", *options]) == 2
    assert call(["plot", str(tmp_path / "t.csv"), "-w", "column", "-c", "m1_ms", "-c", "m0_ms", *options]) == 0
    assert "not drawn" not in capsys.readouterr().err
    assert call(["plot", str(tmp_path / "t.csv"), "-w", "column", *options]) == 0  # only two panels fit side by side
    assert "not drawn: m2_ms, m3_ms, m4_ms, m5_ms; " in capsys.readouterr().err


def test_a_measure_is_a_headline_only_if_users_would_notice_it():
    # the default headline is the time in queue, but users do not notice 0.0083 ms of it in the idle direction
    rows = [
        {"queue": queue, "seed": 1, "links.down.sojourn_ms.p99": down, "links.down.utilisation": use,
         "apps.call.voip.mos": mos, **{f"other{n}": 1.0 for n in range(20)}}
        for queue, down, use, mos in (("a", 0.0, 0.0044, 4.4), ("b", 0.0083, 0.0047, 1.2))
    ]  # fmt: skip
    sweep = Sweep("t", pl.DataFrame(rows), ("queue",))
    answer = sweep_page(sweep, Provenance([])).answer
    assert answer is not None
    assert answer.sentence == "MOS of call: 4.40 with queue a and 1.20 with queue b."
    (axes,) = [axes for axes in plot(pl.DataFrame(rows)).axes if axes.get_visible()]
    assert axes.get_xlabel() == "call: MOS (1 to 4.5)"
    # if the author chose a measure whose change users do not notice, it is shown, but not in the sentence
    chosen = Sweep("t", pl.DataFrame(rows), ("queue",), chosen=("links.down.sojourn_ms.p99", "apps.call.voip.mos"))
    answer = sweep_page(chosen, Provenance([])).answer
    assert answer is not None
    assert answer.sentence == "MOS of call: 4.40 with queue a and 1.20 with queue b."
    assert [point.verdict for point in answer.points] == ["0 to 0.0083", "best 4.40"]


@pytest.mark.parametrize("width", ["column", "page"])
def test_labels_of_ticks_do_not_run_into_each_other(width: str):
    # four panels beside each other, whose ticks have up to six digits
    small = {"a_ms": [0.0, 0.0083], "b_ms": [0.0044, 0.0047], "c_ms": [1.0, 100.0], "d_ms": [9.95, 1.02]}
    table = pl.DataFrame({"queue": ["x", "y"], "seed": [1, 1], **small})
    assert overlapping(texts(plot(table, width=width))) == []  # type: ignore[arg-type]
    # numbers that are close to each other on a logarithmic axis
    rates = ["1mbit", "1.05mbit", "1.1mbit", "1.2mbit", "4mbit", "4.1mbit", "9mbit"]
    table = pl.DataFrame({"rate": rates, "seed": [1] * 7, "a_ms": [float(n) for n in range(7)]})
    assert overlapping(texts(plot(table, width=width))) == []  # type: ignore[arg-type]
    # long names
    rows = [{"queue": f"a queue of {n} packets", "r": r, "seed": 1, "a_ms": 1.0 + n} for n in range(9) for r in (1, 2)]
    figure = plot(pl.DataFrame(rows), kind="heatmap", x="queue", width=width)  # type: ignore[arg-type]
    names = [label for label in figure.axes[0].get_xticklabels() if label.get_rotation()]
    assert len(names) == 9
