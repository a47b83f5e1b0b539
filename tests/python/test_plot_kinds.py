"""Plots draw the values of the tables, which the tests compute in another way, and no text overlaps another."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import bloatlab
from bloatlab.cli.main import call
from bloatlab.plots import Unfit, plot
from bloatlab.plots.elements import spread
from bloatlab.plots.kinds import NAMES, kinds
from bloatlab.plots.kinds.ellipse import Cloud
from bloatlab.plots.kinds.flows import jain
from bloatlab.plots.kinds.sequence import trace
from bloatlab.plots.measures import Distribution, bins, distributions
from bloatlab.plots.subjects import subjects
from bloatlab.results import write_table
from bloatlab.summaries import summary_tables
from bloatlab.tables import natural

BASE: dict[str, Any] = {
    "name": "two uploads and a call",
    "duration": "20s",
    "link": {
        "up": {
            "from": "home",
            "to": "net",
            "rate": "3mbit",
            "delay": "10ms",
            "both_ways": True,
            "changes": [{"at": "12s", "rate": "2mbit"}],
        }
    },
    "app": {
        "upload": {"from": "home", "to": ["net"], "start": "2s", "traffic": {"ftp": {"flows": 2}}},
        "call": {"from": "home", "to": ["net"], "traffic": {"voip": {}}},
        "echo": {"from": "home", "to": ["net"], "traffic": {"ping": {}}},
    },
}

RUN_KINDS = [kind.name for kind in kinds("runs")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Runs a home network twice, with drop-tail (and packet captures) and with CoDel; returns the two folders."""
    place = tmp_path_factory.mktemp("plots")
    for name, queue in (("droptail", {"droptail": {"limit": "80p"}}), ("codel", {"codel": {}})):
        (place / name).mkdir()
        captures = place / name if name == "droptail" else None
        sets = {"link.up.queue": queue, "trace": {"links": ["up"], "flows": True, "interval": "100ms"}}
        bloatlab.save(bloatlab.run(BASE, sets=sets, captures=captures), place / name)
    return place / "droptail", place / "codel"


def swept() -> pl.DataFrame:
    """Returns the table of a sweep of two axes and three seeds with known measures."""
    rows = [
        {
            "rate": rate,
            "queue": queue,
            "seed": seed,
            "scenario_hash": "x",
            "links.up.sojourn_ms.p99": 100.0 * place + i + seed,
            "apps.call.voip.mos": 4.0 - place + 0.1 * i,
        }
        for i, rate in enumerate(["1mbit", "5mbit", "20mbit"])
        for place, queue in enumerate(["codel", "droptail 50p"])
        for seed in (1, 2, 3)
    ]
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return swept()


def line(figure: Figure, axes: int = 0, number: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    of = figure.axes[axes].lines[number]
    return np.asarray(of.get_xdata(), dtype=float), np.asarray(of.get_ydata(), dtype=float)


def texts(figure: Figure) -> list[Text]:
    """Returns all visible text, without hidden tick labels."""
    figure.draw_without_rendering()
    every: list[Any] = figure.findobj(Text)
    shown = [t for t in every if t.get_visible() and t.get_text().strip()]
    hidden = _hidden(figure)
    return [t for t in shown if t not in hidden]


def _hidden(figure: Figure) -> set[Text]:
    """Returns the tick labels that are not drawn: all labels of ticks beyond the limits and of axes without labels, and
    of the remaining ticks, the labels on the opposite side.
    """
    hidden: set[Text] = set()
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            on = axis.get_tick_params()
            shown = axes.get_visible() and axes.axison and on.get("labelbottom", on.get("labelleft", True))
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                within = min(low, high) - 1e-9 <= tick.get_loc() <= max(low, high) + 1e-9
                hidden |= {tick.label2} if shown and within else {tick.label1, tick.label2}
    return hidden


def overlapping(shown: list[Text]) -> list[tuple[str, str]]:
    boxes = [(t.get_text(), t.get_window_extent()) for t in shown]
    return [
        (a, b)
        for (a, one), (b, two) in itertools.combinations(boxes, 2)
        if one.x0 < two.x1 - 1 and two.x0 < one.x1 - 1 and one.y0 < two.y1 - 1 and two.y0 < one.y1 - 1
    ]


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("kind", RUN_KINDS)
def test_no_text_lies_over_another_or_beyond_the_edge(folders: tuple[Path, Path], kind: str, width: Any):
    for given in (folders[:1], folders) if kind not in {"sequence", "trace"} else (folders[:1],):
        figure = plot(*given, kind=kind, width=width)
        shown = texts(figure)
        assert overlapping(shown) == []
        for text in shown:
            box = text.get_window_extent()
            assert box.x0 >= -1, text.get_text()
            assert box.x1 <= figure.bbox.x1 + 1, text.get_text()
        for axes in figure.axes:
            units = [axes.get_xlabel(), axes.get_ylabel()]
            assert all("[" not in unit for unit in units)  # units are written as (ms), not as [ms]


@pytest.mark.parametrize("width", ["column", "page", "slide"])
@pytest.mark.parametrize("kind", ["lines", "heatmap", "pareto"])
def test_no_text_of_a_sweep_lies_over_another(table: pl.DataFrame, kind: str, width: Any):
    figure = plot(table, kind=kind, width=width)
    shown = texts(figure)
    assert overlapping(shown) == []
    assert all(t.get_window_extent().x1 <= figure.bbox.x1 + 1 for t in shown)


def test_a_figure_is_as_wide_as_its_paper(folders: tuple[Path, Path], tmp_path: Path):
    widths: dict[Any, float] = {"column": 3.5, "page": 7.2, "slide": 13.33}
    for width, inches in widths.items():
        assert plot(folders[0], kind="box", width=width).get_figwidth() == inches
    png = tmp_path / "x.png"
    plot(folders[0], kind="cdf", output=png)
    assert int.from_bytes(png.read_bytes()[16:20], "big") == 1280  # the width in the chunk IHDR


def test_cdf_is_the_share_of_packets(folders: tuple[Path, Path]):
    figure = plot(*folders, kind="cdf", of="sojourn")
    for place, folder in enumerate(folders):
        frame = bloatlab.open_result(folder).table("sojourn_histogram").filter(pl.col("link") == "up")
        x, y = line(figure, 0, place)
        counts = frame["count"].to_numpy().astype(float)
        middles = (frame["lower_ms"] + frame["upper_ms"]).to_numpy() / 2
        for at in (0.25, 0.5, 0.9):
            value = x[np.argmax(y >= at)]
            before, below = counts[middles < value].sum(), counts[middles <= value].sum()
            assert before < at * counts.sum() <= below
    assert figure.axes[0].get_xlabel() == "up: time in the queue (ms)"


def test_ccdf_is_what_the_cdf_leaves(folders: tuple[Path, Path]):
    found = next(d for d in distributions(_run(folders[0])) if d.quantity == "rtt")
    figure = plot(folders[0], kind="ccdf", of="rtt")
    x, y = line(figure)
    pings = bloatlab.open_result(folders[0]).table("pings")["rtt_ms"].drop_nans()
    for value, share in list(zip(x, y, strict=True))[:: max(1, len(x) // 7)]:
        assert share == pytest.approx(float((pings > value).sum()) / len(pings))
    assert figure.axes[0].get_yscale() == "log"
    assert found.quantile(1.0) == pings.max()


def _run(folder: Path) -> Any:
    found = subjects([folder])
    assert isinstance(found, list)
    return found[0]


def test_quantiles_are_those_of_the_summary(folders: tuple[Path, Path]):
    summary = bloatlab.open_result(folders[0]).summary
    found = {(d.quantity, d.label): d for d in distributions(_run(folders[0]))}
    for quantity, label, told in (
        ("sojourn", "up", summary["links"]["up"]["sojourn_ms"]),
        ("delay", "call", summary["apps"]["call"]["delay_ms"]),
    ):
        for q, key in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99")):
            assert found[quantity, label].quantile(q) == pytest.approx(told[key], rel=1e-6)


def test_box_shows_the_quartiles(folders: tuple[Path, Path]):
    figure = plot(folders[0], kind="box", of="rtt")
    rtts = np.sort(bloatlab.open_result(folders[0]).table("pings")["rtt_ms"].drop_nans().to_numpy())

    def rank(q: float) -> float:
        return float(rtts[int(np.ceil(q * len(rtts))) - 1])

    box: Any = figure.axes[0].patches[0]
    assert box.get_x() == pytest.approx(rank(0.25))
    assert box.get_x() + box.get_width() == pytest.approx(rank(0.75))
    assert line(figure, 0, 2)[0][0] == pytest.approx(rank(0.5))
    assert line(figure, 0, 0)[0][0] == pytest.approx(rank(0.05))


def test_series_has_rates_queues_ticks_and_changes(folders: tuple[Path, Path]):
    figure = plot(folders[0], kind="series")
    assert [a.get_ylabel() for a in figure.axes] == [
        "rate (Mbit/s)", "queue (packets)", "time in queue (ms)", "window (kB)", "RTT (ms)",
    ]  # fmt: skip
    result = bloatlab.open_result(folders[0])
    # the area under an upload's rate is the number of bytes that arrived; the last bin ends when the run does
    end = result.summary["duration_s"]
    for number, name in ((1, 0), (2, 1)):
        x, y = line(figure, 0, number)
        flow = result.table("flows").filter(app="upload", flow=name, direction="forward")
        covered = np.minimum(x[1] - x[0], end - x)
        assert np.sum(y * covered) / 8e-6 == pytest.approx(flow["wire_bytes"][0], rel=1e-6)
    words = [t.get_text() for t in texts(figure)]
    dropped = result.summary["links"]["up"]["dropped_packets"]
    assert f"{dropped} drops" in words
    assert "2mbit" in words
    upright = [np.asarray(of.get_xdata()) for of in figure.axes[0].lines]
    assert any(len(x) == 2 and x[0] == x[1] == 12.0 for x in upright)
    queue = result.table("queue_series").filter(link="up")
    assert figure.axes[1].get_ylim()[1] >= queue["queue_packets_mean"].max() * 0.8  # type: ignore[operator]


def test_several_results_have_one_line_each_and_a_legend_of_what_differs(folders: tuple[Path, Path]):
    figure = plot(*folders, kind="series")
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["droptail 80p", "codel", "drops"]
    looks = [(of.get_color(), of.get_linestyle()) for of in figure.axes[0].lines[:2]]
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1]


def test_overview_says_what_happened(folders: tuple[Path, Path]):
    one, two = (bloatlab.open_result(folder).summary for folder in folders)
    title = plot(*folders).legends[0].get_title().get_text().replace("\n", " ")
    first, second = (s["apps"]["call"]["voip"]["mos"] for s in (one, two))
    assert f"MOS {first:.2f} with droptail 80p and {second:.2f} with codel" in title
    alone = plot(folders[0])
    sentence = alone.get_suptitle().replace("\n", " ")
    assert f"wait {one['links']['up']['sojourn_ms']['p50']:.0f} ms in link up" in sentence
    words = [t.get_text() for t in texts(alone)]
    assert "call: MOS (1 to 4.5)" in words
    assert f"{first:.2f}" in words


def test_ellipse_is_the_covariance():
    # the points lie on a rising line, so the ellipse is a segment of this line
    along = Cloud("x", np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    x, y = along.contour()
    assert np.allclose(y, 2.0 * x)
    assert np.max(x) == pytest.approx(2.0 + 1.0, rel=1e-3)  # the standard deviation of 1, 2, 3 is 1
    # x and y are independent, each with variance 4 / 3: the ellipse is a circle with a radius of one standard deviation
    square = Cloud("x", np.array([0.0, 0.0, 2.0, 2.0]), np.array([0.0, 2.0, 0.0, 2.0]))
    x, y = square.contour()
    assert np.allclose(np.hypot(x - 1.0, y - 1.0), np.sqrt(4.0 / 3.0))


def test_up_and_to_the_right_is_better(folders: tuple[Path, Path]):
    axes = plot(*folders, kind="ellipse").axes[0]
    left, right = axes.get_xlim()
    assert left > right
    assert axes.get_ylim()[0] < axes.get_ylim()[1]
    assert axes.get_ylabel() == "throughput (Mbit/s)"


def test_flows_stack_to_the_goodput_and_jain_is_by_hand(folders: tuple[Path, Path]):
    figure = plot(folders[0], kind="flows")
    summary = bloatlab.open_result(folders[0]).summary
    heights = figure.axes[0].patches[-1].get_data()  # type: ignore[attr-defined]
    covered = np.minimum(np.diff(heights.edges), summary["duration_s"] - heights.edges[:-1])
    goodput = sum(summary["apps"][app]["goodput_bytes"] for app in ("upload", "call"))
    assert np.sum(heights.values * covered) / 8e-6 == pytest.approx(goodput, rel=1e-6)
    # Jain's index at four times: rates of 1 and 3 give 4^2 / (2 x 10) = 0.8; the index is undefined if no flow is
    # active; rates of 2 and 0 give 0.5; rates of 2 and 2 give 1
    index = jain(np.array([[1.0, 0.0, 2.0, 2.0], [3.0, 0.0, 0.0, 2.0]]))
    assert np.allclose(index, [0.8, np.nan, 0.5, 1.0], equal_nan=True)
    assert "Jain's index" in figure.axes[1].get_ylabel()


def test_many_applications_are_in_natural_order_and_the_smallest_are_joined():
    of = {"from": "home", "to": ["net"]}
    apps = {f"game{n}": {**of, "traffic": {"game": {}}} for n in range(1, 12)}
    apps |= {f"upload{n}": {**of, "traffic": {"ftp": {}}} for n in range(1, 5)}
    result = bloatlab.run({**BASE, "app": apps, "duration": "5s"}, sets={"link.up.changes": []})
    (printed,) = [table for table in summary_tables(result) if table.title == "Applications"]
    order = [*(f"game{n}" for n in range(1, 12)), *(f"upload{n}" for n in range(1, 5))]
    assert [cells[0].text for cells in printed.rows] == order
    # the rate panel has the five applications with the most data, and the sum of the others
    rates = next(axes for axes in plot(result, kind="series").axes if "rate" in axes.get_ylabel())
    names = [text.get_text() for text in rates.texts]
    assert set(names) >= {"upload1", "upload2", "upload3", "upload4", "10 others"}
    assert len(names) == 6
    # flows: 11 games in both directions and four uploads
    upper = plot(result, kind="flows").axes[0]
    assert len(upper.patches) == 12
    names = [text.get_text() for text in upper.texts]
    assert names[-1] == "15 others"
    assert names[:-1] == sorted(names[:-1], key=natural)
    last: Any = upper.patches[-1]
    heights, edges, _ = last.get_data()
    covered = np.minimum(edges[1:], 5.0) - np.minimum(edges[:-1], 5.0)
    goodput = result.table("flow_series")["goodput_bytes"].sum()
    assert np.sum(heights * covered) / 8e-6 == pytest.approx(goodput, rel=1e-6)


def test_a_sequence_has_every_segment_and_drop_of_its_flow(folders: tuple[Path, Path]):
    figure = plot(folders[0], kind="sequence")
    result = bloatlab.open_result(folders[0])
    flow = result.table("flows").filter(app="upload", direction="forward").sort("wire_bytes")[-1]
    words = {t.get_text().split(" (")[0]: t.get_text() for t in texts(figure) if "(" in t.get_text()}
    counts = {
        k: int("".join(c for c in v if c.isdigit())) for k, v in words.items() if "time" not in k and "seq" not in k
    }
    # After every drop in this run, a later packet arrived, so all drops are counted with certainty. Packets that wait
    # at the end do not count as dropped.
    assert counts["dropped"] == flow["dropped_packets"][0] > 0
    # "sent" and "sent again" together count all packets that arrived, except the SYN, which has no data
    assert counts["sent"] + counts["sent again"] == flow["packets"][0] - 1
    link = result.summary["links"]["up"]
    assert 0 < counts["not arrived"] <= link["backlog_packets"] + link["in_flight_packets"]
    assert figure.axes[0].get_xlabel() == "time (s)"
    assert figure.axes[0].get_title("left") == "TCP flow of upload, the one with the most data of 2 flows"


def test_a_part_of_a_sequence_has_its_own_counts_and_limits(folders: tuple[Path, Path]):
    runs: Any = subjects([folders[0]])
    found = trace(folders[0], runs[0])
    figure = plot(folders[0], kind="sequence", of="upload", xlim=(6.0, 9.0))
    for word, points in (("sent", found.sent), ("dropped", found.dropped)):
        (label,) = [t.get_text() for t in texts(figure) if t.get_text().startswith(f"{word} (")]
        within = sum(6.0 <= t <= 9.0 for t, _ in points)
        assert 0 < within < len(points)
        assert int("".join(c for c in label if c.isdigit())) == within
    every = [*found.sent, *found.again, *found.dropped, *found.acked]
    heights = [y for t, y in every if 6.0 <= t <= 9.0]
    low, high = figure.axes[0].get_ylim()
    span = max(heights) - min(heights)
    assert min(heights) - 0.1 * span < low < min(heights)
    assert max(heights) < high < max(heights) + 0.1 * span
    assert plot(folders[0], kind="sequence", xlim=(6.0, 9.0), ylim=(0.0, 50.0)).axes[0].get_ylim() == (0.0, 50.0)


def test_bins_keep_sums_means_and_gaps():
    frame = pl.DataFrame({"t_s": [0.0, 0.1, 0.2, 0.5], "a": [1.0, 2.0, 4.0, 8.0], "b": [1.0, float("nan"), 3.0, 5.0]})
    wide = bins(frame, {"a": "sum", "b": "mean"}, 0.2)
    assert wide["t_s"].to_list() == pytest.approx([0.0, 0.2, 0.4])
    assert wide["a"].to_list() == [3.0, 4.0, 8.0]
    assert wide["b"].to_list() == [1.0, 3.0, 5.0]


def test_nearest_rank():
    of = Distribution("x", "rtt", np.array([1.0, 2.0, 10.0]), np.array([1.0, 1.0, 2.0]))
    assert [of.quantile(q) for q in (0.25, 0.5, 0.51, 1.0)] == [1.0, 2.0, 10.0, 10.0]


def test_labels_move_apart_and_stay_within():
    moved = spread([5.0, 5.0, 5.0], 10.0, 100.0)
    assert all(b - a >= 9.9 for a, b in itertools.pairwise(moved))
    assert moved[0] >= 0.0
    assert spread([1.0, 50.0], 10.0, 100.0) == [1.0, 50.0]


HOSTILE = "<script>alert(1)</script>"


@pytest.mark.parametrize("name", [HOSTILE, "_$\\frac{1}{0}$", "{x:g}%s\\n\"&amp;'日本"])
def test_any_name_is_text_everywhere(name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder):
    link = {"from": "h", "to": "n", "rate": "1mbit", "delay": "5ms", "both_ways": True}
    app = {"from": "h", "to": ["n"], "traffic": {"ftp": {"flows": 2}}}
    echo = {"from": "h", "to": ["n"], "traffic": {"ping": {}}}
    base = {"name": name, "duration": "3s", "link": {name: link}, "app": {name: app, "b" + name: echo}}
    result = bloatlab.run(base, sets={"trace": {"links": True}}, captures=tmp_path)
    folder = bloatlab.save(result, tmp_path)
    for kind in RUN_KINDS:
        out = tmp_path / f"{kind}{'.html' if kind == 'overview' else '.svg'}"
        plot(folder, kind=kind, output=out)
        text = out.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "mathdefault" not in text
    plot(folder, kind="series", output=tmp_path / "x.png")
    drawn = [t.get_text() for t in texts(plot(folder, kind="series"))]
    assert any(name[:12].strip() in text for text in drawn)
    # a font may lack glyphs for the name; no other warnings are allowed
    assert [str(w.message) for w in recwarn if "Glyph" not in str(w.message)] == []


def test_the_same_bytes_twice(folders: tuple[Path, Path], tmp_path: Path):
    for suffix in (".svg", ".png", ".pdf", ".html"):
        one, two = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        plot(*folders, kind="cdf", output=one)
        plot(*folders, kind="cdf", output=two)
        assert one.read_bytes() == two.read_bytes()


def test_what_does_not_fit_is_refused_with_the_kinds_that_do(
    folders: tuple[Path, Path], table: pl.DataFrame, tmp_path: Path
):
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((folders[1],), {"kind": "sequence"}, "bloatlab run FILE -o DIR --pcap"),
        ((folders[0],), {"kind": "lines"}, "kinds that fit: overview, series, cdf"),
        ((table,), {"kind": "cdf"}, "kinds that fit: lines, heatmap, pareto"),
        ((table, folders[0]), {}, "plot them apart"),
        ((folders[0],), {"kind": "cfd"}, 'did you mean "cdf"?'),
        ((folders[0],), {"output": "x.gif"}, ".svg, .png, .pdf, .html"),
        ((folders[0],), {"kind": "cdf", "of": "nix"}, "--of nix"),
        ((table,), {"x": "nix"}, "expected rate, queue"),
        ((table,), {"columns": ["nix*"]}, "no column nix*"),
        ((table.with_columns(nix=None),), {"columns": ["nix*"]}, "the column nix has no numbers; expected"),
        ((table.head(0),), {}, "no rows"),
        ((table.drop("seed"),), {}, "not a table of a sweep"),
        ((folders[0] / "summary.json",), {}, "summary: is not a table of a sweep: the column apps has tables or lists"),
        ((), {}, "nothing to plot"),
        ((folders[0],), {"labels": ["a", "b"]}, "--label: 2 names for 1 result"),
        ((table,), {"labels": ["a"]}, "named by its axes"),
        ((folders[0],), {"xlim": (2.0, 1.0)}, "--xlim 2 1: the first is not below the second"),
        ((folders[0],), {"log": "z"}, "--log z: expected x, y, xy, none"),
        *(
            ((folders[0],), {"kind": kind, "of": "nix"}, f"--of: {kind} does not use it; kinds that do: overview, cdf")
            for kind in ("series", "flows", "ellipse")
        ),
        ((folders[0],), {"of": "nix"}, "--of nix: no link, application or quantity"),
        ((folders[0],), {"x": "rate"}, "--x: overview does not use it; kinds that do: lines, heatmap"),
        (
            (folders[0],),
            {"columns": ["x"]},
            "--column: overview does not use it; kinds that do: lines, heatmap, pareto",
        ),
        ((table,), {"of": "up"}, "--of: lines does not use it"),
        ((table,), {"kind": "heatmap", "xlim": (1.0, 2.0)}, "--xlim: heatmap does not use it"),
        ((folders[0],), {"kind": "cdf", "xlim": (0.0, 20.0), "log": "x"}, "--xlim 0 20: the axis is logarithmic"),
        ((folders[0],), {"kind": "ccdf", "ylim": (0.0, 1.0)}, "--ylim 0 1: the axis is logarithmic"),
    ]
    for given, options, words in cases:
        with pytest.raises(Unfit) as refused:
            plot(*given, **options)
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)
    quiet = {**BASE, "app": {"call": BASE["app"]["call"]}, "record": {"links": [], "apps": []}}
    unrecorded = bloatlab.run(quiet)
    with pytest.raises(Unfit, match="record"):
        plot(unrecorded)
    bloatlab.save(bloatlab.run({**BASE, "app": {}, "trace": {"links": ["up"]}}, captures=tmp_path), tmp_path)
    for kind, words in (
        ("trace", "its trace has no values to draw"), ("sequence", "has no TCP data"), ("cdf", "no packet was measured")
    ):  # fmt: skip
        with pytest.raises(Unfit, match=f"{words}.*; kinds that fit: overview, series$"):
            plot(tmp_path, kind=kind)
    idle = bloatlab.run({**quiet, "trace": {"links": ["up", "~up"]}})
    for link, words in (("~up", "--of ~up: its trace has no values"), ("nix", "has no trace; expected up, ~up")):
        with pytest.raises(Unfit, match=words):
            plot(idle, kind="trace", of=link)


def test_every_kind_is_in_the_list_and_says_what_it_shows():
    from bloatlab.plots.kinds import kind  # noqa: PLC0415  the name is also pytest's parameter above

    for name in NAMES:
        assert kind(name).name == name
        assert kind(name).description


def test_without_a_file_the_name_is_that_of_the_result_and_the_kind(
    folders: tuple[Path, Path], table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folders[1], tmp_path / "c.1")
    write_table(table, tmp_path / "t.1.csv")
    for words in (["c.1"], ["c.1/", "-k", "cdf"], ["t.1.csv"]):
        assert call(["plot", *words]) == 0
    assert {path.name for path in tmp_path.glob("*.svg")} == {"c.1-overview.svg", "c.1-cdf.svg", "t.1-lines.svg"}


def test_a_result_draws_itself(folders: tuple[Path, Path], tmp_path: Path):
    result = bloatlab.open_result(folders[0])
    result.plot("cdf", tmp_path / "x.svg", of="rtt")
    assert "share at or below" in (tmp_path / "x.svg").read_text()
    assert bloatlab.plot is plot


def test_nothing_loads_matplotlib_before_something_is_drawn():
    code = "import sys, bloatlab, bloatlab.cli.main, bloatlab.plots.kinds; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
