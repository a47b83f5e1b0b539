"""The playground's page in Chromium, opened from disk and without a network."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from bloatlab import run
from bloatlab.scenario import catalogue, from_dict, load, parse
from browser import Opened, pointed, serious
from playground import HOME, NASTY, PAGE, SETTLED, Open, held, packed, settled, until

ROOT = Path(__file__).resolve().parents[2]


def greatest(found: Opened, chart: str = "delay-chart") -> float:
    """Returns the greatest value in a chart, leaving out dashed lines."""
    return float(found.page.get_attribute(f"#{chart}", "data-greatest"))


def slide(found: Opened, label: str, step: int) -> None:
    found.page.get_by_role("slider", name=label, exact=True).first.fill(str(step))


def test_it_loads_from_disk_and_says_what_happens(page: Open):
    found = page()
    assert PAGE.stat().st_size <= 2_500_000
    assert found.page.inner_text("#why").startswith("The call is clear: nothing else uses the link")
    settled(found, lambda: found.page.click("button:text-is('Start an upload')"))
    sentence = found.page.inner_text("#sentence")
    assert re.match(
        r"Queue of link up \(droptail, 250 packets\): packets wait \d+ ms on average, "
        r"99 % of them less than \d+ ms \(grade [A-F]\+?\); the call has",
        sentence,
    )
    assert found.page.locator(".chart canvas").count() == 3


def test_the_picture_is_that_of_the_run_with_values_under_the_pointer(page: Open):
    found = page(HOME)
    result = run(HOME)
    most = result.table("queue_series")["sojourn_ms_max"].fill_nan(None).max()
    assert greatest(found) == pytest.approx(most)
    mos = result.summary["apps"]["call"]["voip"]["mos"]
    assert found.page.inner_text('[data-card="call"] .value') == f"MOS {mos:.1f}"
    legend = found.page.locator("#delay-chart .u-legend")
    assert re.sub(r"\s", "", legend.inner_text()) == "meanlongestdrops"
    pointed(found.page.locator("#delay-chart"), 300, 0.0, 20.0)
    assert re.search(r"time \(s\)\s*[\d.]+\s*mean\s*\d+ ms", legend.inner_text())


TWO_QUEUES = """
duration = "8s"
link.up = { from = "a", to = "b", rate = "10mbit", delay = "10ms", both_ways = true, queue = "dualpi2" }
app.low = { from = "a", to = ["b"], tcp = "prague", traffic.ftp = { flows = 3 } }
app.classic = { from = "a", to = ["b"], traffic.ftp = { flows = 3 } }
app.ping = { from = "a", to = ["b"], traffic.ping = { interval = "20ms" } }
app.call = { from = "a", to = ["b"], traffic.voip = {} }
"""


def test_two_queues_are_drawn_apart_with_their_marks_and_no_two_lines_look_alike(page: Open):
    found = page(tomllib.loads(TWO_QUEUES))
    assert found.page.get_attribute("#delay-chart", "data-lines").startswith("in L|in C|longest|")
    assert "marks" in found.page.get_attribute("#delay-chart", "data-lines").split("|")
    for chart, least in (("delay-chart", 4), ("rate-chart", 9), ("cdf-chart", 5)):
        markers = found.page.locator(f"#{chart} .u-legend .u-series:not(:first-child) .u-marker")
        looks = markers.evaluate_all("all => all.map(m => m.style.border + ' ' + m.style.background)")
        assert len(looks) >= least
        assert len(set(looks)) == len(looks), (chart, looks)
    one = tomllib.loads(TWO_QUEUES.replace("dualpi2", "codel"))
    assert page(one).page.get_attribute("#delay-chart", "data-lines") == "mean|longest|drops"


def test_an_idle_queue_has_an_axis_with_marks_that_differ(page: Open):
    idle = json.loads(json.dumps(HOME))
    del idle["app"][NASTY]
    assert float(page(idle).page.get_attribute("#delay-chart", "data-top")) >= 1


def test_a_slider_says_its_value_with_a_unit(page: Open):
    found = page(HOME)
    rate = found.page.get_by_role("slider", name="rate", exact=True).first
    assert rate.get_attribute("aria-valuetext") == "5 Mbit/s"
    settled(found, lambda: rate.fill("445"))
    assert rate.get_attribute("aria-valuetext") == "6.03 Mbit/s"
    spoken = {
        label: found.page.get_by_role("slider", name=label, exact=True).first.get_attribute("aria-valuetext")
        for label in ("RTT", "buffer", "duration")
    }
    assert spoken == {"RTT": "20 ms", "buffer": "250 packets", "duration": "20 s"}


def test_the_round_trip_goes_to_the_server_behind_the_link(page: Open):
    # only the path to the last server, "d", contains the slow link: its round trip is 2 x (10 + 30) = 80 ms
    both = {"both_ways": True, "queue": {"droptail": {"limit": "250p"}}}
    links = {
        "access": {"from": "home", "to": "net", "rate": "50mbit", "delay": "10ms", **both},
        **{near: {"from": "net", "to": near, "rate": "50mbit", "delay": "5ms", **both} for near in ("a", "b", "c")},
        "far": {"from": "net", "to": "d", "rate": "5mbit", "delay": "30ms", **both},
    }
    web = {"from": "home", "to": ["a", "b", "c", "d"], "traffic": {"web": {}}}
    found = page({"name": "four servers", "duration": "5s", "link": links, "app": {"web": web}})
    slider = found.page.get_by_role("slider", name="RTT", exact=True).first
    assert slider.get_attribute("aria-valuetext") == "80 ms"
    changed = found.page.locator("[data-also*='.delay']").first.get_attribute("data-also")
    assert set((changed or "").split()) == {"link.access.delay", "link.far.delay"}


def delays(found: Opened) -> list[str]:
    return [link["delay"] for link in found.page.evaluate("bloatlab.scenario()")["link"].values()]


def test_a_round_trip_is_typed_key_by_key(page: Open):
    found = page(HOME)
    row = found.page.locator('[data-path="rtt"]')
    text = row.locator("input[type=text]")
    until(found, SETTLED)

    def types(value: str, keys: int = 40) -> None:
        text.press("Control+A")
        text.press_sequentially(value, delay=keys)

    values = {"100ms": "50ms", "40ms": "20ms", "0s": "0s", "2.468s": "1234ms", "20ms": "10ms", "30ms": "15ms"}
    for value, half in values.items():
        settled(found, lambda v=value: types(v))
        assert delays(found) == [half, half], value
    assert row.locator("input[type=range]").get_attribute("aria-valuetext") == "30 ms"
    # after a pause, "1" is an error, although it may be the beginning of a value; the scenario and its run stay
    types("1")
    found.page.wait_for_selector("[aria-invalid=true]")
    assert '"1" is not valid; expected a duration with its unit' in row.locator(".error").inner_text()
    assert not found.page.is_visible("#stale")
    assert delays(found) == ["15ms", "15ms"]
    # if another run is added beside this one, the field shows the value of the scenario again
    for act in (
        lambda: found.page.click("#pin"),
        lambda: found.page.select_option("select[aria-label='run another discipline beside']", "codel"),
    ):
        act()
        assert text.input_value() == "30ms"
        assert found.page.locator(".error:not(:empty), [aria-invalid=true]").count() == 0
        types("1")
        found.page.wait_for_selector("[aria-invalid=true]")
    # after a change of another key, the field shows the value of the scenario again
    settled(found, lambda: found.page.select_option('[data-path="link.up.queue"] > select', "codel"))
    assert text.input_value() == "30ms"
    assert not found.page.is_visible("#stale")
    types("2")
    found.page.wait_for_selector("[aria-invalid=true]")
    settled(found, lambda: found.page.locator('[data-path="link.up.rate"] input[type=text]').fill("6mbit"))
    assert text.input_value() == "30ms"
    assert found.page.locator(".error:not(:empty)").count() == 0
    # leaving the field applies its value at once, so that the value is not applied to a later experiment
    types("60ms", 0)
    settled(found, lambda: found.page.locator('[data-path="link.up.rate"] input[type=text]').fill("7mbit"))
    assert delays(found) == ["30ms", "30ms"]
    # this edit passes through "0ms", which must not lose the ratio of the two delays
    settled(found, lambda: found.page.evaluate("bloatlab.set('link.down.delay', '10ms'), bloatlab.run()"))
    edit = "e => ['0ms', '80ms'].forEach(v => { e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); })"
    settled(found, lambda: text.evaluate(edit))
    assert (text.input_value(), delays(found)) == ("80ms", ["20ms", "60ms"])
    # a slider that is moved by touch does not get the focus
    row.locator("input[type=range]").evaluate("range => { range.value = 1; range.dispatchEvent(new Event('input')); }")
    assert text.input_value() not in {"80ms", ""}


def test_a_table_that_is_switched_on_has_the_values_that_it_needs(page: Open):
    found = page(HOME)
    for path in ("lateness", "impairments", *(f"impairments.{key}" for key in ("policer", "reordering", "burst_loss"))):
        box = found.page.locator(f'[data-path="link.up.{path}"] > input[type=checkbox]')
        settled(found, lambda b=box: b.evaluate("box => box.click()"))
        assert found.page.locator(".error:not(:empty)").count() == 0, path
        assert not found.page.is_visible("#stale"), path
    assert held(found)["scenario"]["link"]["up"]["lateness"]["p99_9"] == "50ms"
    settled(found, lambda: found.page.select_option('[data-path="link.up.queue"] > select', "wred"))
    rio = found.page.locator('[data-path="link.up.queue.wred.rio"] > input[type=checkbox]')
    settled(found, lambda: rio.evaluate("box => box.click()"))
    assert found.page.locator(".error:not(:empty)").all_inner_texts() == []


def test_words_of_the_field_are_explained(page: Open):
    found = page()
    rows = dict(
        line.strip("| ").split(" | ", 1)
        for line in (ROOT / "docs/glossary.md").read_text().splitlines()
        if line.startswith("| ") and "|---" not in line
    )
    entries = {"droptail": rows["drop-tail"], "MOS": rows["MOS"]}
    tip = found.page.locator("#tip")
    for word, means in entries.items():
        term = found.page.locator(".term:visible", has_text=word).first
        # the explanation opens with the keyboard, a tap or the pointer; a screen reader reads it as the word's
        # description
        term.focus()
        assert tip.inner_text() == means
        found.page.keyboard.press("Escape")
        assert not tip.is_visible()
        term.click()
        assert tip.inner_text() == means
        found.page.mouse.move(0, 0)
        term.blur()
        assert not tip.is_visible()
        term.hover()
        tip.wait_for()
        assert tip.inner_text() == means
        found.page.mouse.move(0, 0)
        tip.wait_for(state="hidden")
        assert found.page.locator(f"#{term.get_attribute('aria-describedby')}").text_content() == means
    settled(found, lambda: found.page.click("button:text-is('Start an upload')"))
    found.page.click("#settings")
    words = set(found.page.locator(".term").all_inner_texts())
    assert {"droptail", "MOS", "grade", "goodput", "BDP"} <= words
    described = found.page.locator(".term").evaluate_all(
        "all => all.map(t => document.getElementById(t.getAttribute('aria-describedby'))?.textContent ?? '')"
    )
    assert all(described)


def test_a_card_names_the_application_and_what_it_measures(page: Open):
    found = page()
    headings = found.page.locator(".card h3").all_inner_texts()
    assert headings == ["Delay that load adds", "call: quality"]


def test_controls_that_go_on_below_fade(page: Open):
    found = page(HOME, height=700)
    controls = found.page.locator("#controls")
    assert "more" in (controls.get_attribute("class") or "")
    controls.evaluate("e => e.scrollTo(0, e.scrollHeight)")
    until(found, "!document.getElementById('controls').classList.contains('more')")
    tall = page(HOME, height=1600)
    assert "more" not in (tall.page.get_attribute("#controls", "class") or "")


def test_a_slider_moves_the_chart(page: Open):
    found = page(HOME)
    before = greatest(found)
    settled(found, lambda: slide(found, "buffer", 250))
    assert greatest(found) < before / 5
    limit = held(found)["scenario"]["link"]["up"]["queue"]["droptail"]["limit"]
    assert limit.endswith("p")
    assert int(limit[:-1]) < 50


def test_every_parameter_of_a_discipline_has_a_control(page: Open):
    found = page(HOME)
    select = found.page.locator('[data-path="link.up.queue"] > select')
    # the page cannot run a law in Python
    qdiscs = {q["name"]: q["params"] for q in catalogue()["qdiscs"] if q["name"] != "python"}
    assert sorted(select.locator("option").all_inner_texts()) == sorted(qdiscs)
    for discipline, parameters in qdiscs.items():
        settled(found, lambda d=discipline: select.select_option(d))
        for parameter in parameters:
            path = f"link.up.queue.{discipline}.{parameter['name']}"
            assert found.page.locator(f'[data-path="{path}"]').count() == 1, path


def test_a_run_is_pinned_and_the_next_compared_with_it(page: Open):
    found = page(HOME)
    found.page.click("#pin")
    settled(found, lambda: found.page.select_option('[data-path="link.up.queue"] > select', "codel"))
    assert "pinned: mean" in found.page.get_attribute("#delay-chart", "data-lines")
    assert "pinned: MOS 1.0, now better (▲ higher)" in found.page.inner_text('[data-card="call"]')
    assert re.search(r"pinned: \d+ ms, now better \(▼ lower\)", found.page.inner_text('[data-card="latency"]'))
    assert "Queue of link up (droptail, 250 packets)" in found.page.inner_text("#pinned")
    assert held(found)["pinned"] == HOME
    found.page.click("#pin")
    assert "pinned" not in found.page.get_attribute("#delay-chart", "data-lines")


def test_a_shared_link_restores_the_experiment(page: Open):
    first = page(HOME)
    first.page.click("#pin")
    settled(first, lambda: slide(first, "rate", 700))
    held(first)
    second = page(fragment=first.page.evaluate("location.hash"))
    until(second, SETTLED)
    for selector in ("#sentence", "#pinned", '[data-card="call"]'):
        assert second.page.inner_text(selector) == first.page.inner_text(selector)
    assert held(second) == held(first)


def test_a_wrong_value_shows_the_cores_error_at_its_field(page: Open):
    found = page(HOME)
    before = found.page.inner_text("#sentence")
    wrong = {"link.up.rate": "5mbi", "link.up.queue.droptail.limit": "0p", "duration": "soon", "rtt": "-1ms"}
    for field, value in wrong.items():
        row = found.page.locator(f'[data-path="{field}"]')
        text = row.locator("input[type=text]")
        right = text.input_value()
        text.fill(value)
        found.page.wait_for_selector("[aria-invalid=true]")
        error = row.locator(".error").first.inner_text()
        assert "expected" in error, field
        assert found.page.inner_text("#sentence") == before, field
        assert found.page.locator(".error:not(:empty)").count() == 1, field
        if field == "link.up.rate":
            bad = json.loads(json.dumps(HOME))
            bad["link"]["up"]["rate"] = value
            with pytest.raises(ValueError, match=r"link\.up\.rate") as refused:
                from_dict(bad)
            assert refused.value.args[0] == [f"scenario: link.up.rate: {error}"]
        text.fill(right)
        until(found, f"!document.querySelector('[aria-invalid=true]') && {SETTLED}")


def test_a_scenario_that_cannot_run_leaves_the_last_run_whole(page: Open):
    found = page(HOME)
    shown = {s: found.page.inner_text(s) for s in ("#sentence", "#cards", "#delay-title")}
    assert not found.page.is_visible("#stale")
    # the slowest link of the new scenario also exists in the old one, but there another link is the slowest
    other = {
        "name": "other",
        "duration": "5s",
        "link": {
            "down": {"from": "b", "to": "a", "rate": "1mbit", "queue": {"codel": {"target": "-5ms"}}},
            "up": {"from": "a", "to": "b", "rate": "9mbit"},
        },
    }
    found.page.evaluate("end => { location.hash = end; }", packed({"scenario": other}))
    found.page.wait_for_selector("#stale:not(:empty)")
    assert found.page.input_value('[data-path="look"] select') == "down"
    assert {s: found.page.inner_text(s) for s in shown} == shown
    assert "last run" in found.page.inner_text("#stale")
    settled(found, lambda: found.page.locator('[data-path="link.down.queue"] > select').select_option("droptail"))
    assert not found.page.is_visible("#stale")
    assert found.page.inner_text("#sentence").startswith("Queue of link down")


#: A valid scenario that takes much too long to run: about 28 hours of traffic on a fast link.
ENDLESS = {
    "name": "endless",
    "duration": "100000s",
    "link": {
        "up": {"from": "a", "to": "b", "rate": "1gbit", "delay": "5ms"},
        "down": {"from": "b", "to": "a", "rate": "1gbit", "delay": "5ms"},
    },
    "app": {"load": {"from": "a", "to": ["b"], "traffic": {"ftp": {"flows": 20}}}},
}


def test_a_run_that_takes_long_can_be_stopped(page: Open):
    found = page(ENDLESS, ready="#stop:visible")
    found.page.get_by_role("button", name="Stop", exact=True).focus()
    found.page.keyboard.press("Enter")
    stopped = "The run was stopped. Change the scenario, or open another one, to go on."
    assert found.page.inner_text("#problems") == stopped
    assert not found.page.is_visible("#stop")
    # stopping a run replaces the page's worker; the new worker runs the next experiment
    found.page.evaluate("end => { location.hash = end; }", packed({"scenario": HOME}))
    until(found, "document.body.dataset.runs === '1'")
    assert not found.page.is_visible("#problems")
    last = found.page.inner_text("#why")
    found.page.evaluate("end => { location.hash = end; }", packed({"scenario": ENDLESS}))
    found.page.click("#stop")
    assert found.page.inner_text("#problems") == stopped
    assert found.page.inner_text("#stale").startswith("Everything below shows the last run")
    assert found.page.inner_text("#why") == last


def test_a_link_that_is_followed_at_once_is_not_overwritten(page: Open):
    found = page()
    found.page.evaluate("location.hash = '#preset/cable-modem'")
    until(found, "bloatlab.scenario().name !== 'home'")
    assert from_dict(held(found)["scenario"]) == load(ROOT / "examples/cable-modem.toml")


def test_times_on_an_axis_have_a_unit(page: Open):
    found = page(HOME)
    found.page.evaluate(
        """() => { window.said = []; const canvas = CanvasRenderingContext2D.prototype, own = canvas.fillText;
        canvas.fillText = function (text, ...at) { window.said.push(text); own.call(this, text, ...at); };
        document.getElementById('delay-chart').style.width = '400px'; }"""
    )
    until(found, "window.said.includes('10 s')")
    assert {"0 s", "5 s", "10 s"} <= set(found.page.evaluate("window.said"))


def test_toml_out_is_what_the_command_line_runs(page: Open):
    found = page(HOME)
    settled(found, lambda: slide(found, "RTT", 600))
    found.page.click("#show-toml")
    until(found, "document.getElementById('toml-text').value !== ''")
    text = found.page.input_value("#toml-text")
    assert parse(text) == from_dict(held(found)["scenario"])
    mos = run(parse(text)).summary["apps"]["call"]["voip"]["mos"]
    assert found.page.locator('[data-card="call"] .value').text_content() == f"MOS {mos:.1f}"


def test_toml_in_replaces_the_experiment_or_says_what_is_wrong(page: Open):
    found = page(HOME)
    found.page.click("#show-toml")
    found.page.fill("#toml-text", 'duration = "1s"\nlink.up = { from = "a", to = "b", rat = "1mbit" }\n')
    found.page.click("#take-toml")
    until(found, "document.getElementById('toml-problem').textContent !== ''")
    assert 'link.up: unknown key "rat"' in found.page.inner_text("#toml-problem")
    text = (ROOT / "examples/variable-link.toml").read_text()
    found.page.fill("#toml-text", text)
    settled(found, lambda: found.page.click("#take-toml"))
    assert from_dict(held(found)["scenario"]) == parse(text)


@pytest.mark.parametrize("by", ["preset", "TOML"])
def test_another_experiment_is_not_compared_with_the_pinned_run(by: str, page: Open):
    found = page(HOME)
    found.page.click("#pin")
    assert found.page.inner_text("#pinned") != ""
    if by == "preset":
        settled(found, lambda: found.page.select_option("#preset", label="cable modem"))
    else:
        found.page.click("#show-toml")
        found.page.fill("#toml-text", (ROOT / "examples/variable-link.toml").read_text())
        settled(found, lambda: found.page.click("#take-toml"))
    assert found.page.text_content("#pinned") == ""
    assert "pinned" not in found.page.inner_text("#cards")
    assert "pinned" not in held(found)


def test_a_preset_is_opened(page: Open):
    found = page()
    settled(found, lambda: found.page.select_option("#preset", label="cable modem"))
    assert from_dict(held(found)["scenario"]) == load(ROOT / "examples/cable-modem.toml")
    settled(found, lambda: found.page.select_option("#preset", label="a recorded link"))
    assert found.page.inner_text("#sentence").startswith("Queue of link down (fq_codel)")


def test_applications_are_added_and_removed(page: Open):
    found = page(HOME)
    for name in ("pages", "game", "video"):
        settled(found, lambda n=name: found.page.click(f"button:text-is('+ {n}')"))
    assert set(held(found)["scenario"]["app"]) == {NASTY, "call", "web", "game", "video"}
    settled(found, lambda: found.page.get_by_label("remove web").click())
    assert "web" not in held(found)["scenario"]["app"]


@pytest.mark.parametrize("modem", ["docsis", "shaper", "htb"])
def test_a_modem_serves_the_queue_at_the_same_rate(modem: str, page: Open):
    found = page(HOME)
    row = found.page.locator('[data-path="served"]')
    settled(found, lambda: row.locator("> select").select_option(modem))
    assert found.page.locator(".error:not(:empty)").count() == 0
    assert found.page.input_value('[data-path$="rate"] input[type=text] >> nth=0') == "5mbit"
    goodput = float(found.page.inner_text(f"[data-card={json.dumps(NASTY)}] .value").split()[0])
    assert 3 < goodput < 5.2


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_fits_the_screen_and_is_accessible(width: int, scheme: str, page: Open):
    found = page(HOME, width=width, scheme=scheme)
    for now in ("dark", "light"):
        found.page.emulate_media(color_scheme=now)
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(found.page) == []


def test_it_is_used_by_keyboard(page: Open):
    found = page(HOME)
    slider = found.page.get_by_role("slider", name="buffer", exact=True)
    slider.focus()
    before = slider.input_value()
    settled(found, lambda: found.page.keyboard.press("PageDown"))
    assert slider.input_value() != before
    assert slider.evaluate("e => e === document.activeElement")
