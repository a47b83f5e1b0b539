"""Hostile input to the playground: addresses that are cut off or enormous, markup in names, and dropped files that are
not scenarios. None of it is executed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bloatlab.scenario import from_dict, load
from browser import Opened
from playground import HOME, NASTY, Open, held, packed, settled, until

ROOT = Path(__file__).resolve().parents[2]
DAMAGED = "the link is damaged: its end, which holds the experiment, cannot be read"
LARGE = "the link is too large: it holds more than an experiment"
MARKUP = "\"><img src=x onerror=alert(1)><svg onload=alert(2)>'`${alert(3)}"


def bomb() -> str:
    """Returns a fragment of 400 kB that unpacks to 300 MB of blanks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    # after a full flush, the packed megabyte refers to no byte before it, so it can be repeated
    megabyte = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return "#1=" + base64.urlsafe_b64encode(300 * megabyte + packer.flush()).decode().rstrip("=")


LINKS = {f"l{i}": {"from": "a", "to": "b", "rate": "1mbit"} for i in range(500)}
REFUSED = {
    "cut": (packed({"scenario": HOME})[:200], DAMAGED),
    "not base64": ("#1=%%%", DAMAGED),
    "no end of the stream": ("#1=AAAA", DAMAGED),
    "another format": ("#2=AAAA", DAMAGED),
    "a script's address": ("#javascript:alert(1)", DAMAGED),
    "no text": ("#1=" + base64.urlsafe_b64encode(b"\xff\x00" * 40).decode(), DAMAGED),
    "no JSON": (packed("duration = '1s'"), DAMAGED),
    "no table": (packed([1, 2]), DAMAGED),
    "no scenario": (packed({"scenario": None}), DAMAGED),
    "a pinned number": (packed({"scenario": HOME, "pinned": 3}), DAMAGED),
    "a bomb": (bomb(), LARGE),
    "long": ("#1=" + "A" * 600_000, LARGE),
    "many links": (packed({"scenario": {"duration": "1s", "link": LINKS}}), LARGE),
    "deep": (packed('{"scenario":' + '{"a":' * 5000 + "1" + "}" * 5001), LARGE),
    "an essay that is not there": ("#essay/../1", DAMAGED),
    "a preset that is not there": ("#preset/constructor", "this page has no preset of the name constructor"),
}


def notice_after(found: Opened, act: Callable[[], object]) -> str:
    """Clears the notice, performs an action that the page refuses, and returns the new notice."""
    found.page.evaluate("document.getElementById('notice').replaceChildren()")
    act()
    until(found, "document.getElementById('notice').textContent !== ''")
    assert found.page.locator("#notice p").count() == 1
    return found.page.inner_text("#notice")


def goes_to(found: Opened, end: str) -> None:
    found.page.evaluate("end => { location.hash = end; }", end)


#: `REFUSED` has three different messages; there is one address here for each.
@pytest.mark.parametrize("name", ["cut", "a bomb", "a preset that is not there"])
def test_an_address_is_refused_in_a_line(name: str, page: Open):
    end, line = REFUSED[name]
    found = page(fragment=end)
    until(found, "document.getElementById('notice').textContent !== ''")
    assert found.page.inner_text("#notice") == line
    assert found.page.inner_text("#why").startswith("The call is clear")
    assert found.page.locator("#notice p").count() == 1


def test_an_address_that_is_followed_is_refused_in_a_line(page: Open):
    found = page()
    before = found.page.inner_text("#sentence")
    for name, (end, line) in REFUSED.items():
        assert notice_after(found, lambda to=end: goes_to(found, to)) == line, name
        assert found.page.inner_text("#why").startswith("The call is clear"), name
        assert found.page.inner_text("#sentence") == before, name


PECULIAR = {
    "prototype": '{"scenario": {"__proto__": {"polluted": 1}, "link": {"a": {"from": "x", "to": "y"}}}}',
    "types": json.dumps({"scenario": {"duration": 3, "link": [1, 2], "app": "x"}}),
    "links": json.dumps({"scenario": {"duration": "1s", "link": {"a": 1, "b": None}}}),
    "looks": json.dumps({"scenario": HOME, "link": "constructor"}),
    "numbers": json.dumps({"scenario": {**HOME, "duration": 1e308, "seed": -1}}),
}


def test_a_peculiar_scenario_leaves_the_page_alive(page: Open):
    found = page()
    for name, end in ((name, packed(text)) for name, text in PECULIAR.items()):
        settled(found, lambda to=end: goes_to(found, to))
        assert found.page.evaluate("({}).polluted") is None, name
        small = "{duration: '1s', link: {a: {from: 'x', to: 'y'}}}"
        assert found.page.evaluate(f"bloatlab.run({small}).then(s => s.duration_s)") == 1, name


def test_names_full_of_markup_are_text_everywhere_and_the_policy_is_strict(page: Open):
    scenario: dict[str, Any] = {
        "name": MARKUP,
        "duration": "5s",
        "link": {
            MARKUP: {"from": MARKUP, "to": "b", "rate": "1mbit", "queue": {"droptail": {"limit": "50p"}}},
            "back": {"from": "b", "to": MARKUP, "rate": "5mbit"},
        },
        "app": {
            MARKUP: {"from": MARKUP, "to": ["b"], "traffic": {"voip": {}}},
            NASTY: {"from": MARKUP, "to": ["b"], "traffic": {"ftp": {}}},
        },
    }
    found = page(scenario)
    policy = found.page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["form-action"] == rules["base-uri"] == "'none'"
    assert "unsafe-eval" not in rules["script-src"].replace("'wasm-unsafe-eval'", "")
    found.page.click("#pin")
    settled(found, lambda: found.page.get_by_role("slider", name="rate", exact=True).first.fill("400"))
    for place in ("#why", "#sentence", "#call-title", "#delay-title", "#cards", "#controls", "#rate-chart"):
        assert MARKUP in found.page.inner_text(place), place
    for place in ("#controls", "#cards", "#rate-chart"):
        assert NASTY in found.page.inner_text(place), place
    assert found.page.locator("main script, main img, main svg, main iframe").count() == 0
    found.page.locator('[data-path$=".rate"] input[type=text]').first.fill("5mbi")
    found.page.wait_for_selector("[aria-invalid=true]")
    assert MARKUP in found.page.inner_text("#stale")


def drop(found: Opened, *files: tuple[str, bytes | int]) -> None:
    """Drops files on the page. A file is a name and its content, given as bytes or as a number of bytes."""
    found.page.evaluate(
        """files => { const carried = new DataTransfer();
        for (const [name, bytes] of files)
          carried.items.add(new File([new Uint8Array(bytes)], name));
        for (const kind of ['dragover', 'drop']) {
          const event = new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true });
          document.body.dispatchEvent(event);
          if (!event.defaultPrevented) throw new Error('the browser would open the file'); } }""",
        [[name, list(data) if isinstance(data, bytes) else data] for name, data in files],
    )


def test_a_dropped_scenario_is_opened(page: Open):
    found = page(HOME)
    file = ROOT / "examples/cable-modem.toml"
    settled(found, lambda: drop(found, (file.name, file.read_bytes())))
    assert from_dict(held(found)["scenario"]) == load(file)
    settled(found, lambda: drop(found, ("home.json", json.dumps(HOME).encode())))
    assert held(found)["scenario"] == HOME


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
DROPPED = {
    "a picture": ([("cat.png", PNG)], "cat.png: not a text file; expected a scenario, in TOML or JSON"),
    "a page": ([("a.html", b"<script>alert(1)</script>")], "a.html: line 1: not valid TOML: "),
    "two files": ([("a.toml", b""), ("b.toml", b"")], "2 files dropped; expected one scenario, in TOML or JSON"),
    "a large file": ([("big.toml", 3_000_000)], "big.toml: 3.0 MB; a scenario has at most 1 MB"),
    "a wrong key": (
        [("a.toml", b'duration = "1s"\nlink.a = { from = "x", to = "y", rat = 1 }')],
        'a.toml: link.a: unknown key "rat"',
    ),
    "nothing": ([("a.toml", b"")], "a.toml: "),
    "markup for a name": ([("<img src=x onerror=alert(1)>", b"\xff")], "<img src=x onerror=alert(1)>: not a text"),
}


def test_another_file_is_refused_in_a_line(page: Open):
    found = page(HOME)
    before = found.page.inner_text("#sentence")
    for name, (files, line) in DROPPED.items():
        notice = notice_after(found, lambda of=files: drop(found, *of))
        assert notice.startswith(line), name
        assert "\n" not in notice, name
        assert len(notice) <= 300, name
        assert found.page.inner_text("#sentence") == before, name
        assert found.page.locator("main img").count() == 0, name
