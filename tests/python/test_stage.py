"""Tests the stage of the playground in Chromium: it draws the same packets that the native core records in its packet
table for the same scenario.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab.cli.play import PAGE, fragment
from bloatlab.scenario import Scenario, load
from bloatlab.traces import packets
from browser import Opened, opened, serious
from playground import until

ROOT = Path(__file__).resolve().parents[2]
HOME = """
name = "home"
duration = "12s"
link.up = { from = "home", to = "net", rate = "RATE", delay = "10ms", queue = QUEUE }
link.down = { from = "net", to = "home", rate = "50mbit", delay = "10ms" }
app.upload = { from = "home", to = ["net"], start = "1s", traffic.ftp = { flows = 2 } }
app.call = { from = "home", to = ["net"], traffic.voip = {} }
"""
DROPTAIL = '{ droptail = { limit = "100p" } }'
INSTANTS = 100
STAGE = "document.getElementById('stage').stage"

Open = Callable[..., Opened]


def home(queue: str = DROPTAIL, rate: str = "5mbit") -> Scenario:
    return bloatlab.parse(HOME.replace("QUEUE", queue).replace("RATE", rate))


@pytest.fixture
def stage(browser: Any) -> Iterator[Open]:
    """Yields a function that opens the page and waits for the stage's first picture; at the end, checks every opened
    page.
    """
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")
    contexts: list[Any] = []

    def begin(scenario: Scenario, **options: Any) -> Opened:
        context = opened(browser, PAGE, fragment=fragment(scenario), **options)
        found = context.__enter__()
        contexts.append(context)
        found.page.wait_for_selector("body[data-stage]", timeout=30_000)
        return found

    yield begin
    for context in contexts:
        context.__exit__(None, None, None)


def at(found: Opened, second: float) -> dict[str, Any]:
    (answer,) = at_each(found, [second])
    return answer


def at_each(found: Opened, seconds: list[float]) -> list[dict[str, Any]]:
    """Returns the packets that the stage (the page's animation) shows at each of these seconds. The page returns them
    as JSON text, because it would take ten times as long to return objects.
    """
    script = """async (seconds) => { const { stage } = document.getElementById('stage'), all = [];
        for (const s of seconds) { await stage.seek(s); all.push(stage.read()); }
        return JSON.stringify(all); }"""
    answer: list[dict[str, Any]] = json.loads(found.page.evaluate(script, seconds))
    return answer


def recorded(scenario: Scenario, folder: Path) -> pl.DataFrame:
    """Returns the packet table of the native core, in the order of its records."""
    traced = bloatlab.parse(scenario.as_toml(), sets=[("trace.packets", '["up", "down"]')])
    bloatlab.run(traced, packets=folder / "packets")
    return packets(folder).collect()


def expected(rows: pl.DataFrame, instants: list[float]) -> list[dict[str, Any]]:
    """Returns, for each instant, the packets in each queue in their order of arrival, and the fraction of its way that
    each packet on the wire has travelled.

    Only packets with payload have a record of their delivery; in these scenarios they cross a single link.
    """
    found: list[dict[str, Any]] = []
    waiting: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    left: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    arrival: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    columns = ["app", "flow", "direction", "seq", "size_bytes"]
    for row in rows.filter(pl.col("fate") == "delivered").iter_rows(named=True):
        arrival[tuple(row[c] for c in columns)].append(row["t_s"])
    turn = iter(rows.filter(pl.col("fate").is_in(["enqueued", "dequeued", "dropped"])).iter_rows(named=True))
    row = next(turn, None)
    for instant in instants:
        while row is not None and row["t_s"] <= instant:
            key = tuple(row[c] for c in columns)
            if row["fate"] == "enqueued":
                waiting[row["link"]].append(key)
            elif key in waiting[row["link"]]:
                waiting[row["link"]].remove(key)
                if row["fate"] == "dequeued":
                    left[key].append(row["t_s"])
            row = next(turn, None)
        travels = {
            key: (instant - times[-1]) / (next(t for t in arrival[key] if t > times[-1]) - times[-1])
            for key, times in left.items()
            if arrival[key] and times[-1] <= instant < next((t for t in arrival[key] if t > times[-1]), 0)
        }
        found.append({"waiting": {link: list(keys) for link, keys in waiting.items() if keys}, "travels": travels})
    return found


def drawn(pane: dict[str, Any]) -> dict[str, Any]:
    """Returns the packets that the stage draws, in the form of `expected`."""
    waiting: dict[str, list[tuple[float, float, tuple[Any, ...]]]] = defaultdict(list)
    travels: dict[tuple[Any, ...], float] = {}
    for p in pane["packets"]:
        key = (p["app"], p["flow"], "reverse" if p["reverse"] else "forward", int(p["seq"]), p["size"])
        if p["kind"] == "waiting":
            waiting[p["link"]].append((p["line"], p["place"], key))
        elif p["kind"] == "wire":
            travels[key] = p["place"]
    return {"waiting": waiting, "travels": travels}


#: Pairs of a queue and a rate. The stage shows a window of a run; the last run has too many packets for one window, so
#: the window is shortened.
CASES = [
    (DROPTAIL, "5mbit"),
    ('"codel"', "5mbit"),
    ('"fq_codel"', "5mbit"),
    ('"dualpi2"', "5mbit"),
    (DROPTAIL, "45mbit"),
]


@pytest.mark.parametrize(("queue", "rate"), CASES)
def test_the_stage_draws_the_packet_table_of_the_native_core(queue: str, rate: str, stage: Open, tmp_path: Path):
    scenario = home(queue, rate)
    rows = recorded(scenario, tmp_path)
    # no event happens at these instants, so it does not matter whether an event at an instant is included
    instants = [0.5 + 0.1131357 * i for i in range(INSTANTS)]
    found = stage(scenario)
    most, differences, travelling, shortened = 0, 0, 0, False
    for answer, by_core in zip(at_each(found, instants), expected(rows, instants), strict=True):
        assert answer["panes"][0]["ready"]
        shortened |= answer["panes"][0]["shortened"]
        on_stage = drawn(answer["panes"][0])
        for link in {*by_core["waiting"], *on_stage["waiting"]}:
            wait = by_core["waiting"].get(link, [])
            shown = on_stage["waiting"].get(link, [])
            differences += sorted(wait) != sorted(key for _, _, key in shown)
            # in each line of waiting packets, the places are 0, 1, 2 ... in the order of arrival
            for line in {line for line, _, _ in shown}:
                own = sorted((place, key) for of, place, key in shown if of == line)
                keys = [key for _, key in own]
                differences += [place for place, _ in own] != list(range(len(own)))
                differences += keys != [key for key in wait if key in set(keys)]
            most = max(most, len(wait))
        for key, share in by_core["travels"].items():
            travelling += 1
            differences += abs(on_stage["travels"].get(key, -1) - share) > 1e-6
    assert differences == 0
    assert shortened == (rate != "5mbit")
    assert most > 5
    assert travelling > 100


def test_a_run_whose_warm_up_is_too_long_for_one_window(stage: Open):
    """The packets of the whole run do not fit into a window, which has room for 40 000; those after the warm-up do."""
    scenario = bloatlab.parse(home(rate="10mbit").as_toml(), sets=[("duration", '"60s"'), ("record.warm_up", '"50s"')])
    after = bloatlab.run(scenario).summary["links"]
    assert sum(link["offered_packets"] for link in after.values()) < 40_000
    found = stage(scenario)
    (pane,) = at(found, 58.0)["panes"]
    assert pane["ready"]
    assert any(p["kind"] == "waiting" for p in pane["packets"])


@pytest.mark.parametrize(
    ("example", "second", "place", "links"),
    [
        ("cable-modem", 12, "modem", 3),
        ("low-latency-docsis", 3, "modem", 3),
        ("home-router", 8, "wire", 2),
        ("mesh", 3, "wire", 1),
    ],
)
def test_networks_of_many_links_have_a_stage(example: str, second: float, place: str, links: int, stage: Open):
    scenario = load(ROOT / f"examples/{example}.toml")
    (pane,) = at(stage(scenario), second)["panes"]
    assert pane["ready"]
    assert place in {p["kind"] for p in pane["packets"]}
    assert len({p["link"] for p in pane["packets"]}) >= links


def test_the_clock_is_that_of_the_charts(stage: Open):
    found = stage(home())
    at(found, 6)
    line = found.page.locator("#delay-chart .cursor")
    before = line.bounding_box()
    at(found, 9)
    after = line.bounding_box()
    over = found.page.locator("#delay-chart .u-over").bounding_box()
    assert (after["x"] - before["x"]) / over["width"] == pytest.approx(3 / 12, abs=0.02)
    middle = {"x": over["width"] / 4, "y": over["height"] / 2}
    found.page.locator("#delay-chart .u-over").click(position=middle)
    until(found, f"Math.abs({STAGE}.read().t - 3) < 0.15")


def test_a_text_points_at_a_part_of_the_run(stage: Open):
    found = stage(home())
    part = "{ detail: { from: '4s', until: '4.2s', speed: 0.01 } }"
    found.page.evaluate(f"document.dispatchEvent(new CustomEvent('bloatlab:stage', {part}))")
    until(found, f"{STAGE}.read().t === 4")
    now = found.page.evaluate(f"{STAGE}.read()")
    assert (now["t"], now["speed"], now["playing"]) == (4, 0.01, False)
    assert found.page.locator("#stage select[aria-label=speed]").evaluate("s => s.value") == "100 × slower"


def test_it_steps_by_packet_and_jumps_to_the_next_drop(stage: Open, tmp_path: Path):
    scenario = home()
    rows = recorded(scenario, tmp_path)
    found = stage(scenario)
    at(found, 5)
    found.page.locator("#stage").get_by_role("button", name="drop", exact=True).click()
    drop = rows.filter((pl.col("fate") == "dropped") & (pl.col("t_s") > 5) & (pl.col("link") == "up"))["t_s"].to_list()[
        0
    ]
    until(found, f"Math.abs({STAGE}.read().t - {drop}) < 1e-8")
    fates = at(found, drop)["panes"][0]["packets"]
    assert "falling" in {p["kind"] for p in fates}
    found.page.locator("#stage .play").focus()
    found.page.keyboard.press(".")
    until(found, f"{STAGE}.read().t > {drop}")
    following = rows.filter((pl.col("t_s") > drop) & (pl.col("link") == "up"))["t_s"].to_list()[0]
    assert found.page.evaluate(f"{STAGE}.read().t") <= following + 1e-9


def test_it_goes_to_the_longest_queue(stage: Open, tmp_path: Path):
    scenario = home()
    rows = recorded(scenario, tmp_path).filter((pl.col("link") == "up") & (pl.col("fate") != "delivered"))
    steps = rows["fate"].replace_strict({"enqueued": 1, "dequeued": -1}, default=0, return_dtype=pl.Int64)
    most = steps.cum_sum().max()
    found = stage(scenario)
    found.page.locator("#stage").get_by_role("button", name="longest queue").click()
    until(found, f"{STAGE}.read().t > 1.5 && {STAGE}.read().panes[0].ready")
    waiting = f"{STAGE}.read().panes[0].packets.filter((p) => p.kind === 'waiting' && p.link === 'up').length"
    until(found, f"{waiting} === {most}")


def test_waiting_packets_keep_their_distance(stage: Open):
    found = stage(home())
    for instant in (6.01, 6.0123, 7.3, 8.0071, 9.005, 10.0099):
        packets = [p for p in at(found, instant)["panes"][0]["packets"] if p["kind"] == "waiting" and p["link"] == "up"]
        assert len(packets) > 60
        # a packet that has just arrived is still sliding in from the sender, above the waiting packets, so the test
        # leaves it out
        still = [p for p in packets if p["entered"] < 1e9 * instant - 4e7]
        nearest = sorted(
            min(max(abs(p["x"] - q["x"]), abs(p["y"] - q["y"])) for q in still if q is not p) for p in still
        )
        cell = nearest[len(nearest) // 2]
        assert nearest[0] > 0.7 * cell


def test_a_packet_is_followed_and_its_flow_goes_on(stage: Open):
    found = stage(home())
    drawn_now = at(found, 6)["panes"][0]["packets"]
    one = next(p for p in drawn_now if p["kind"] == "waiting" and p["app"] == "upload" and p["place"] > 3)
    found.page.locator("#stage .moving").click(position={"x": one["x"], "y": one["y"]})
    life = found.page.locator("#stage .packet")
    assert f"bytes {int(one['seq']):,}" in life.inner_text()
    for words in (
        "sent",
        "in the queue of link up",
        "leaves the queue of link up after",
        "arrives after",
        "receives the ACK",
    ):
        assert words in life.inner_text()
    before = life.inner_text()
    life.get_by_role("button", name="Flow's next packet").click()
    assert life.inner_text() != before


def test_two_disciplines_run_on_one_clock(stage: Open):
    found = stage(home())
    found.page.get_by_label("run another discipline beside").select_option("fq_codel")
    found.page.wait_for_selector("#stage .differences table")
    until(found, f"{STAGE}.read().panes.length === 2 && {STAGE}.read().panes.every((p) => p.ready)")
    panes = at(found, 8)["panes"]
    assert [p["title"] for p in panes] == ["droptail, 100 packets", "fq_codel"]
    waiting = [sum(p["kind"] == "waiting" for p in pane["packets"]) for pane in panes]
    assert waiting[0] > 3 * waiting[1]
    assert "call: quality" in found.page.inner_text("#stage .differences")
    found.page.get_by_role("button", name="remove fq_codel").click()
    until(found, "document.querySelectorAll('#stage .pane').length === 1")


def test_another_discipline_takes_the_stage(stage: Open):
    found = stage(home())
    before = sum(p["kind"] == "waiting" for p in at(found, 8)["panes"][0]["packets"])
    found.page.select_option('[data-path="link.up.queue"] > select', "codel")
    until(found, f"{STAGE}.read().panes[0].title.startsWith('codel') && {STAGE}.read().panes[0].ready")
    (pane,) = at(found, 8)["panes"]
    assert sum(p["kind"] == "waiting" for p in pane["packets"]) < before / 3


def test_it_stands_still_for_those_who_prefer_less_motion(stage: Open):
    found = stage(home())
    assert found.page.inner_text("#stage .play") == "Play"
    label = found.page.get_attribute("#stage .board", "aria-label")
    assert "packets wait in the queue of link up" in label
    found.page.locator("#stage .play").focus()
    found.page.keyboard.press("Enter")
    until(found, f"{STAGE}.read().playing")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_fits_the_screen_and_is_accessible(width: int, scheme: str, stage: Open):
    found = stage(home('"fq_codel"'), width=width, scheme=scheme)
    for now in ("dark", "light"):
        found.page.emulate_media(color_scheme=now)
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(found.page) == []
