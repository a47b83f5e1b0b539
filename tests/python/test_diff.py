"""`bloatlab diff`: differences in scenarios and in measures, with values computed by hand."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

import bloatlab
from bloatlab.cli.main import call
from bloatlab.differences import TOP, Change, Difference, clipped, difference, varying
from bloatlab.measures import direction, named


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Runs an upload beside a call for 10 s, once with a drop-tail queue and once with CoDel; returns the folders of
    the two results.
    """
    base = {
        "duration": "10s",
        "link": {"up": {"from": "home", "to": "net", "rate": "2mbit", "delay": "10ms", "both_ways": True}},
        "app": {
            "upload": {"from": "home", "to": ["net"], "traffic": {"ftp": {}}},
            "call": {"from": "home", "to": ["net"], "traffic": {"voip": {}}},
        },
    }
    folder = tmp_path_factory.mktemp("diff")
    for name, queue in (("droptail", {"droptail": {"limit": "100p"}}), ("codel", {"codel": {}})):
        bloatlab.save(bloatlab.run(base, sets={"link.up.queue": queue}), folder / name)
    return folder / "droptail", folder / "codel"


def test_the_scenario_and_every_measure_side_by_side(folders: tuple[Path, Path]):
    found = bloatlab.diff(*folders)
    assert [(s.path, s.values) for s in found.settings] == [("link.up.queue", ("droptail 100p", "codel"))]
    one, two = (json.loads((folder / "summary.json").read_text()) for folder in folders)
    by_path = {c.path: c for c in found.changes}
    mos = by_path["apps.call.voip.mos"]
    assert (mos.first, mos.second) == (one["apps"]["call"]["voip"]["mos"], two["apps"]["call"]["voip"]["mos"])
    assert mos.verdict == "better"
    assert by_path["links.up.sojourn_ms.p50"].verdict == "better"
    assert by_path["links.up.delivered_packets"].verdict == ""
    back = {c.path: c for c in bloatlab.diff(*folders[::-1]).changes}
    assert back["apps.call.voip.mos"].verdict == "worse"
    assert {"name", "seed", "version"}.isdisjoint(by_path)


def test_the_largest_change_comes_first_and_what_is_equal_last():
    measures = [{"a": 1.0, "b": 10.0, "c": 5.0, "only": 2.0, "same": 3.0}, {"a": 2.0, "b": 1.0, "c": 0.0, "same": 3.0}]
    found = difference(("x", "y"), None, measures)
    # c falls from 5 to 0, which counts as an infinite change; b falls to a tenth; a doubles; `only` is in one result
    # only; `same` does not change
    assert [c.path for c in found.changes] == ["c", "b", "a", "only", "same"]
    assert (found.changes[1].difference, found.changes[1].ratio) == (-9.0, 0.1)
    assert math.isclose(found.changes[2].size, math.log(2.0))
    assert not found.equal


def test_what_people_feel_comes_before_what_is_counted_and_what_nobody_notices():
    paths = ("apps.a.goodput_mbit", "links.up.dropped_packets", "links.up.sojourn_ms.min", "links.up.sojourn_ms.p50")
    measures: list[dict[str, float]] = [
        dict(zip(paths, of, strict=True)) for of in ((0.5, 1.0, 0.0, 10.0), (2.0, 99.0, 1e-6, 15.0))
    ]
    found = difference(("x", "y"), None, measures)
    # changes are sorted by the ratio of the two values, both increased by the smallest noticeable step (0.01 Mbit/s or
    # 0.1 ms): goodput 2.01 / 0.51 = 3.9, the median 15.1 / 10.1 = 1.5. The drops come next, because neither more nor
    # fewer of them counts as better. The minimum comes last: 1 ns is less than the step
    assert [c.path for c in found.changes] == [
        "apps.a.goodput_mbit", "links.up.sojourn_ms.p50", "links.up.dropped_packets", "links.up.sojourn_ms.min",
    ]  # fmt: skip
    assert math.isclose(found.changes[0].size, math.log(2.01 / 0.51))


def test_what_nobody_notices_is_about_equal_and_comes_last():
    # changes of 0.4 us of delay, 0.002 of a MOS and 8 us in a queue are neither "better" nor "worse"
    paths = ("apps.call.voip.mos", "apps.call.delay_ms.p99", "links.down.sojourn_ms.p99", "links.up.sojourn_ms.p99")
    paths += ("links.up.utilisation",)
    values = ((4.309, 20.03, 0.008324, 30.0, 0.9521), (4.307, 20.02956, 0.0, 40.0, 0.9522))
    found = difference(("x", "y"), None, [dict(zip(paths, of, strict=True)) for of in values])
    rows = [(row[0], row[-1]) for row in cells(found)]
    assert rows == [
        ("link up", "worse"), ("call", "about equal"), ("", "about equal"), ("link up", "about equal"),
        ("link down", "about equal"),
    ]  # fmt: skip
    assert found.rows()[0]["measure"] == "links.up.sojourn_ms.p99"
    assert {row["verdict"] for row in found.rows()[1:]} == {"about equal"}
    assert not found.equal


def test_equal_results_are_said_to_be_equal(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]):
    result = bloatlab.open_result(folders[0])
    assert result.diff(folders[0]).equal
    assert call(["diff", str(folders[0]), str(folders[0])]) == 0
    assert capsys.readouterr().out.startswith("equal: ")


def test_forms_for_programs(folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]):
    one, two = map(str, folders)
    assert call(["diff", one, two, "-f", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["scenario"][0]["path"] == "link.up.queue"
    assert call(["diff", one, two, "-f", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [r["measure"] for r in rows] == [r["measure"] for r in data["measures"]]
    assert call(["diff", one, two]) == 0
    table = capsys.readouterr().out
    assert "droptail 100p" in table
    assert "MOS (1 to 4.5)" in table


@pytest.mark.parametrize("bad", ["/nowhere/at/all", "/"])
def test_unfitting_input_is_refused_in_a_line(folders: tuple[Path, Path], bad: str, capsys: pytest.CaptureFixture[str]):
    assert call(["diff", str(folders[0]), bad]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{bad}: ")
    assert len(err.splitlines()) == 1


def test_three_results_are_refused_with_the_commands_that_take_them(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    assert call(["diff", *map(str, folders), "third"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("bloatlab diff: compares two results, and third is one more; to compare several: ")
    assert "bloatlab report A B C -o FILE.html" in said


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("apps.call.voip.mos", "more is better"),
        ("apps.call.voip.r_g107", "more is better"),
        ("apps.web.web.page_load_s.median", "less is better"),
        ("links.~up.sojourn_ms.p99_9", "less is better"),
        ("links.up.sojourn_ms.count", None),
        ("links.up.drops.early_head", None),
        ("apps.file.goodput_mbit_reverse", "more is better"),
        ("apps.file.files.mean_s", "less is better"),
        ("events", None),
        ("duration_s", None),
    ],
)
def test_which_way_is_better(path: str, way: str | None):
    assert direction(path) == way


def test_what_varies_among_several():
    def queue(name: str, **parameters: object) -> dict[str, object]:
        return {"link": {"up": {"rate": "5mbit", "queue": {name: parameters}}}}

    (setting,) = varying([queue("droptail", limit="9p"), queue("droptail", limit="90p"), queue("codel", limit=None)])
    assert (setting.path, setting.values) == ("link.up.queue", ("droptail 9p", "droptail 90p", "codel"))
    assert [s.path for s in varying([queue("red", min=1, max=2), queue("red", min=1, max=3)])] == [
        "link.up.queue.red.max"
    ]
    assert [s.values for s in varying([{"a": 1}, {"a": 1, "b": "x"}])] == [("-", "x")]
    assert varying([queue("codel"), queue("codel")]) == []


def test_zero_and_sign():
    assert Change("x.mos", 0.0, 1.0).verdict == "better"
    assert Change("x.mos", 0.0, 1.0).ratio is None
    assert Change("x.mos", 1.0, 1.0).verdict == "equal"
    assert Change("x.mos", None, 1.0).verdict == ""


def test_a_text_from_a_scenario_moves_no_cursor():
    assert clipped("a\x1b[2Jb\u202e") == "a\\u001b[2Jb\\u202e"
    assert len(clipped("x" * 200)) == 80


def cells(found: Difference, top: int | None = TOP) -> list[list[str]]:
    return [[cell.text for cell in row] for row in found.tables(top)[-1].rows]


def test_people_come_first_each_thing_once_and_with_its_unit(folders: tuple[Path, Path]):
    found = bloatlab.diff(*folders)
    rows = cells(found)
    assert rows[0][:2] == ["call", "MOS (1 to 4.5)"]
    assert 5 <= len(rows) <= TOP
    whose = list(dict.fromkeys(row[0] for row in rows if row[0]))
    assert whose == ["call", "upload", "whole run", "link up", "link ~up"]
    every = cells(found, None)
    assert len(every) > 50
    # the summary contains the delay of the call twice, but the comparison prints it only once
    twice = {"apps.call.delay_ms.p50", "apps.call.voip.delay_ms.p50"}
    assert twice <= {c.path for c in found.changes}
    owner = ""
    at: list[tuple[str, str]] = []
    for row in every:
        owner = row[0] or owner
        at.append((owner, row[1]))
    assert at.count(("call", "delay, median (ms)")) == 1
    first = [name for _, name in at]
    assert not any("goodput (bytes)" in name for name in first)


def test_the_top_fits_a_screen_and_says_how_many_there_are_more(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    one, two = map(str, folders)

    def out(*more: str) -> list[str]:
        assert call(["diff", one, two, *more]) == 0
        return capsys.readouterr().out.splitlines()

    shown = out()
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    rest = next(line for line in shown if line.startswith("… and "))
    changed, hidden = len(cells(bloatlab.diff(*folders), None)), int(rest.split()[2])
    rows = len(cells(bloatlab.diff(*folders)))
    assert hidden == changed - rows
    assert any(line.startswith("link.up.queue") for line in out("--top", "1"))
    assert f"… and {changed - 1} more" in "".join(out("--top", "1"))
    assert "more: --top all" not in "".join(out("--top", "all"))
    for bad in ("0", "-1", "x", "1.5"):
        assert call(["diff", one, two, f"--top={bad}"]) == 2
        assert capsys.readouterr().err.splitlines() == [f"--top {bad}: expected a number from 1, or all"]


def test_an_application_that_changed_more_is_told_before_another():
    paths = (
        "apps.a.voip.mos",
        "apps.a.goodput_mbit",
        "apps.b.voip.mos",
        "links.x.sojourn_ms.p99",
        "links.x.drops.tail",
    )
    values = ((4.0, 1.0, 4.0, 10.0, 1.0), (3.9, 1.1, 1.0, 1000.0, 99.0))
    rows = cells(difference(("x", "y"), None, [dict(zip(paths, of, strict=True)) for of in values]))
    # b comes first, because its MOS changed more than that of a. In the rows of a, the MOS comes before the goodput,
    # although the goodput changed more. Links come after applications
    assert [(row[0], row[1]) for row in rows] == [
        ("b", "MOS (1 to 4.5)"), ("a", "MOS (1 to 4.5)"), ("", "goodput (Mbit/s)"),
        ("link x", "time in queue, 99 % (ms)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("links.up.sojourn_ms.p99", "link up: time in queue, 99 % (ms)"),
        ("apps.u.goodput_mbit_reverse", "u: goodput back (Mbit/s)"),
        ("apps.f.files.p99_9_s", "f: file, 99.9 % (s)"),
        ("apps.w.web.page_load_s.median", "w: page load, median (s)"),
        ("latency.induced_ms", "delay added by load (ms)"),
        ("links.up.sojourn_ms.cv", "link up: time in queue, coefficient of variation"),
        ("apps.a.packets", "a: packets"),
        ("download (Mbit/s)", "download (Mbit/s)"),
    ],
)
def test_a_measure_in_words(path: str, words: str):
    assert str(named(path)) == words


def test_a_notebook_and_print_have_the_tables_of_the_command(folders: tuple[Path, Path]):
    found = bloatlab.diff(*folders)
    assert "MOS (1 to 4.5)" in str(found)
    assert "… and " in str(found)
    page = found._repr_html_()
    assert page.count("<table>") == 2
    same = bloatlab.diff(folders[0], folders[0])
    assert same._repr_html_() == f"<p>{same}</p>"


def test_laws_in_python_are_told_apart_by_their_classes():
    one = {"link": {"up": {"queue": {"python": {"law": "a.py:A", "limit": "99p", "source": {"a.py": "class A: ..."}}}}}}
    two = {"link": {"up": {"queue": {"python": {"law": "b.py:B", "limit": "99p", "source": {"b.py": "class B: ..."}}}}}}
    three = {"link": {"up": {"queue": {"codel": {"limit": None}}}}}
    assert [(s.path, s.values) for s in varying([one, two, three])] == [("link.up.queue", ("A", "B", "codel"))]
    assert [(s.path, s.values) for s in varying([one, two])] == [("link.up.queue", ("A", "B"))]
    # the same law, whose file has changed between the runs
    changed = json.loads(json.dumps(one).replace("...", "pass"))
    assert [s.path for s in varying([one, changed])] == ["link.up.queue.python.source.a.py"]
