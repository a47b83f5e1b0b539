"""Tests of the first minute in the playground: a call, an upload that spoils it, and the setting that repairs it; the
look of the page, its sound, and its use from the keyboard.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from bloatlab import run
from browser import serious
from playground import HOME, Open, held, scenario_of, settled, until


def press(found: Any, label: str) -> None:
    settled(found, found.page.locator(f"#first button:text-is('{label}')").click)


def frames(found: Any) -> str:
    """Returns a letter for each frame that the page draws for the call, such as "p" for a played frame and "l" for a
    late one.
    """
    return found.page.get_attribute("#call-figure", "data-frames")


def test_an_upload_breaks_the_call_and_a_queue_per_flow_mends_it(page: Open):
    found = page()
    assert set(frames(found)) <= {"p", "-"}
    press(found, "Start an upload")
    broken = frames(found)
    why = found.page.inner_text("#why")
    assert re.match(
        r"The call breaks up: its packets wait behind those of “upload” in one queue \(droptail, 250 p", why
    )
    assert broken.count("p") < len(broken) / 4
    for label, words in (("CoDel", "codel keeps the queue short"), ("a queue for each flow", "fq_codel gives each")):
        press(found, f"Mend it: {label}")
        assert frames(found).count("p") > 0.98 * len(broken)
        assert words in found.page.inner_text("#why")
        assert "Before: " in found.page.inner_text("#call-words")


def test_the_picture_of_a_call_is_its_summary(page: Open):
    found = page(HOME)
    call = run(scenario_of(HOME)).summary["apps"]["call"]["voip"]
    drawn = frames(found)
    counted = [round(call[key] / 100 * call["judged"]) for key in ("late_percent", "lost_percent")]
    assert [drawn.count("l"), drawn.count("d")] == counted
    assert f"{counted[0]} come too late" in found.page.inner_text("#call-words")
    assert found.page.get_attribute("#call-canvas", "aria-label") in found.page.inner_text("#call-words")
    colours, columns = found.page.evaluate(
        """() => { const c = document.getElementById('call-canvas'); const of = new Set();
        const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) of.add([...data.slice(i, i + 3)].join());
        const column = x => [...Array(12).keys()].map(y => data[4 * ((66 + y) * c.width + x) + 3] > 0);
        return [[...of], [column(c.width - 60), column(c.width - 57)]]; }"""
    )
    late = "123,45,139"
    assert {"0,158,115", late} <= set(colours)
    # late frames differ in more than colour: their row is hatched with diagonal lines, which cover half of it
    assert [sum(column) for column in columns] == [6, 6]
    assert columns[0] != columns[1]
    # in the legend of the stage, only late frames have the colour of late frames
    until(found, "document.querySelectorAll('#stage .legend i').length > 4")
    assert found.page.locator("#stage .legend i").evaluate_all(
        "(all, late) => all.filter(i => getComputedStyle(i).backgroundColor.includes(late)).map(i => i.className)",
        late.replace(",", ", "),
    ) == ["late"]


def test_all_numbers_are_of_one_span_of_time(page: Open):
    found = page()
    press(found, "Start an upload")
    why, sentence, cards = (found.page.inner_text(place) for place in ("#why", "#sentence", "#cards"))
    assert sentence.count("All numbers are of seconds 5 to 40 of the run.") == 1
    assert "second" not in why + cards
    (bad,) = re.findall(r"([\d.]+) % are lost or come too late", why)
    assert f"{bad} % lost or late" in cards
    (half,) = re.findall(r"take more than (\d+ ms)", why)
    assert f"{half} one way (median)" in cards
    (rate,) = re.findall(r"transfers get ([\d.]+) Mbit/s", sentence)
    assert f"{rate} Mbit/s" in cards
    (wire,) = re.findall(r"([\d.]+) Mbit/s with headers", cards)
    assert float(wire) == pytest.approx(float(found.page.get_attribute("#rate-chart", "data-greatest")), rel=0.02)
    played, all_, late, lost = map(
        int, re.findall(r"\d+(?= of|\ pieces| come| are lost)", found.page.inner_text("#call-words"))
    )
    assert played + late + lost == all_
    assert 100 * (late + lost) / all_ == pytest.approx(float(bad), abs=0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_flows_stand_out(scheme: str, page: Open):
    found = page(scheme=scheme)
    press(found, "Start an upload")
    until(found, "document.querySelector('#stage .legend').textContent.includes('upload')")
    colours = found.page.evaluate(
        """[...document.querySelectorAll('#stage .legend i:not([class]), #stage .legend i[class=""], #stage .late')]
        .concat(document.getElementById('stage')).map(e => getComputedStyle(e).backgroundColor)"""
    )
    *drawn, ground = ([int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert len(drawn) == 3
    contrasts = [contrast(colour, ground) for colour in drawn]
    # of these three colours, only Okabe and Ito's orange has a contrast below 3 on white
    assert sum(ratio >= 3 for ratio in contrasts) >= (3 if scheme == "dark" else 2)
    assert contrasts[0] >= 4.5


def contrast(one: list[int], other: list[int]) -> float:
    """Returns the contrast ratio of two colours (WCAG 2.2)."""

    def luminance(colour: list[int]) -> float:
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (c / 255 for c in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_a_call_is_heard_only_after_a_press(page: Open):
    found = page()
    hear = found.page.locator("#hear")
    found.page.evaluate(
        "() => { window.begun = 0; const s = AudioBufferSourceNode.prototype, start = s.start;"
        "s.start = function (...a) { window.begun++; window.sound = this.buffer.getChannelData(0);"
        " return start.apply(this, a); }; }"
    )
    press(found, "Start an upload")
    assert found.page.evaluate("window.begun") == 0
    hear.click()
    assert found.page.evaluate("window.begun") == 1
    assert hear.inner_text() == "Stop"
    # the page plays the call from second 3 of the run: two seconds of speech, then silence, because the upload breaks
    # up the call
    loud = found.page.evaluate(
        "[...Array(9).keys()].map(s => Math.max(...window.sound.slice(16000 * s, 16000 * s + 16000)))"
    )
    assert min(loud[:2]) > 0.1
    assert max(loud[3:]) < 1e-3
    press(found, "Mend it: CoDel")
    until(found, "window.begun === 2")
    assert (
        min(found.page.evaluate("[3, 5, 7].map(s => Math.max(...window.sound.slice(16000 * s, 16000 * s + 16000)))"))
        > 0.1
    )
    hear.click()
    assert hear.inner_text() == "Hear it"


def stage(found: Any) -> dict[str, Any]:
    """Returns what the stage shows: the time, the speed and the packets."""
    found_now: dict[str, Any] = found.page.evaluate("document.getElementById('stage').stage.read()")
    return found_now


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_first_picture_shows_a_packet_of_the_call(motion: Any, page: Open):
    found = page(motion=motion)
    until(found, "document.getElementById('stage').stage.read().panes[0]?.packets.length > 0")
    # while the playback runs, a single reading may fall between two packets, so there are several readings
    readings = (stage(found) for _ in range(2000))
    shown = next(reading for reading in readings if reading["panes"][0]["packets"])
    (packet,) = shown["panes"][0]["packets"]
    assert (packet["app"], packet["kind"]) == ("call", "wire")
    assert shown["playing"] == (motion == "no-preference")
    until(found, "document.querySelector('#stage .counts').textContent !== ''")
    assert found.page.inner_text("#stage .counts") == "50 packets per second pass, and none waits"


def test_a_start_of_the_upload_shows_a_full_queue_within_20_seconds(page: Open):
    found = page(motion="no-preference")
    # the clock of the page advances only when the test advances it
    found.page.evaluate(
        """() => { let now = performance.now(); const waiting = []; performance.now = () => now;
        window.requestAnimationFrame = act => waiting.push(act);
        window.cancelAnimationFrame = () => { waiting.length = 0; };
        window.pass = ms => { for (const end = now + ms; now < end;) { now += 16;
          waiting.splice(0).forEach(act => act(now)); } }; }"""
    )
    press(found, "Start an upload")
    until(found, "document.querySelector('#stage .line').textContent === 'the queue fills …'")
    assert 4.9 < stage(found)["t"] < 5.2
    found.page.evaluate("pass(1500)")
    assert stage(found)["speed"] == 0.2
    until(found, "(pass(500), document.getElementById('stage').stage.read().speed === 1)")
    found.page.evaluate("pass(16000)")
    shown = stage(found)
    waiting = [p for p in shown["panes"][0]["packets"] if p["kind"] == "waiting" and p["link"] == "up"]
    assert shown["speed"] == 0.05
    assert found.page.inner_text("#stage .line >> nth=0") == ""
    assert shown["playing"]
    assert len(waiting) > 240


def test_with_less_motion_the_upload_shows_the_longest_queue(page: Open):
    found = page()
    press(found, "Start an upload")
    until(
        found,
        "document.getElementById('stage').stage.read().panes[0].packets.filter(p => p.kind === 'waiting').length > 240",
    )
    assert not stage(found)["playing"]


def test_three_doors_lead_on_after_a_mend(page: Open):
    found = page()
    press(found, "Start an upload")
    doors = found.page.locator("#first .next button")
    assert not doors.first.is_visible()
    press(found, "Mend it: a queue for each flow")
    assert doors.count() == 3
    doors.nth(1).click()
    assert found.page.evaluate("document.activeElement.getAttribute('aria-label')") == "rate"
    assert found.page.is_visible("#controls")
    doors.nth(2).click()
    until(found, "document.getElementById('toml').open")
    found.page.keyboard.press("Escape")
    settled(found, doors.nth(0).click)
    assert found.page.inner_text("#essay .step").startswith("Why a buffer bloats, step 1")


def test_the_settings_are_folded_until_a_press(page: Open):
    found = page()
    button = found.page.get_by_role("button", name="Change the settings")
    assert button.get_attribute("aria-expanded") == "false"
    assert not found.page.is_visible("#controls")
    button.click()
    assert found.page.is_visible("#controls")
    assert found.page.locator("#settings").get_attribute("aria-expanded") == "true"
    # the settings are visible at once if the address contains an experiment
    assert page(HOME).page.is_visible("#controls")
    assert page(fragment="#preset/cable-modem").page.is_visible("#controls")


def test_on_a_narrow_screen_the_settings_are_in_sight_after_a_press(page: Open):
    found = page(width=390, height=844)
    found.page.click("#settings")
    until(found, "document.getElementById('controls').getBoundingClientRect().top < innerHeight / 2")
    # the chart that stays in sight does not cover the first control
    assert found.page.evaluate(
        """() => { const [chart, form] = ['delay-figure', 'controls'].map(id =>
        document.getElementById(id).getBoundingClientRect()); return chart.bottom <= form.top && form.top > 0; }"""
    )


def test_an_embedded_essay_is_apart_from_the_result(page: Open):
    found = page(width=390, fragment="?embed#essay/bloat/3")
    gap = "['results', 'essay'].map(id => document.getElementById(id).getBoundingClientRect())"
    assert found.page.evaluate(f"{gap}.reduce((result, essay) => result.top - essay.bottom)") > 8


def test_another_experiment_hides_the_first_minute(page: Open):
    found = page()
    assert found.page.is_visible("#first")
    found.page.click("#settings")
    settled(found, lambda: found.page.get_by_role("slider", name="rate", exact=True).first.fill("300"))
    assert not found.page.is_visible("#first")
    assert not page(HOME).page.is_visible("#first")


def test_the_list_of_essays_leads_back_to_the_first_minute(page: Open):
    found = page()
    settled(found, lambda: found.page.evaluate("location.hash = '#essay/bloat/3'"))
    assert not found.page.is_visible("#first")
    for _ in range(2):
        found.page.click("#show-essays")
    settled(found, found.page.get_by_role("button", name="Back to the call at home").click)
    assert found.page.is_visible("#first")
    assert frames(found).count("p") == len(frames(found)) - frames(found).count("-")


def test_a_scenario_without_a_call_has_no_picture_of_one(page: Open):
    found = page()
    found.page.click("#settings")
    settled(found, lambda: found.page.get_by_label("remove call").click())
    assert not found.page.is_visible("#call-figure")
    assert found.page.inner_text("#why") == "Queue of link up (droptail, 250 packets): no packet arrives."


def test_it_is_used_without_a_mouse(page: Open):
    found = page()
    found.page.locator("#first button").first.focus()
    found.page.keyboard.press("Tab")
    settled(found, lambda: found.page.keyboard.press("Enter"))
    assert "upload" in held(found)["scenario"]["app"]
    assert found.page.evaluate("document.activeElement.textContent") == "Start an upload"
    # screen readers announce the sentence when it changes
    assert found.page.get_attribute("#why", "role") == "status"
    found.page.locator("#hear").focus()
    found.page.keyboard.press("Space")
    assert found.page.locator("#hear").inner_text() == "Stop"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_first_minute_and_an_essay_fit_and_are_accessible(width: int, scheme: str, page: Open):
    found = page(width=width, scheme=scheme)

    def fits() -> None:
        for now in ("dark", "light"):
            found.page.emulate_media(color_scheme=now)
            assert found.page.evaluate("document.documentElement.scrollWidth") <= width
            assert serious(found.page) == []

    press(found, "Start an upload")
    fits()
    settled(found, lambda: found.page.evaluate("location.hash = '#essay/bloat/3'"))
    found.page.locator(".guess button").first.click()
    until(found, "document.querySelector('#essay .answer').dataset.broken !== undefined")
    fits()


def test_every_button_of_the_header_is_in_sight_on_a_phone(page: Open):
    found = page(width=390, height=844)
    ends = "[...document.querySelectorAll('.actions > *')].map(e => e.getBoundingClientRect())"
    assert found.page.evaluate(f"{ends}.every(r => r.left >= 0 && r.right <= innerWidth)")
    assert found.page.inner_text("footer").startswith("bloatlab ")
    assert "packets fade with age" in found.page.inner_text("#stage")


def test_a_bracket_stays_with_the_term_inside_it(page: Open):
    found = page(width=390, height=844)
    press(found, "Start an upload")
    assert (
        found.page.evaluate(
            """() => [...document.querySelectorAll("#why .term")].filter((term) => term.previousSibling?.textContent
        .endsWith("(") && getComputedStyle(term.parentElement).whiteSpace !== "nowrap").length"""
        )
        == 0
    )
    assert found.page.locator("#why .joined").count() > 0
