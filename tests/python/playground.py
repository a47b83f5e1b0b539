"""Opens the playground's page for tests, in Chromium, from disk and without a network."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from bloatlab.cli.play import PAGE, fragment
from bloatlab.scenario import Scenario, parse
from browser import Opened, opened

#: A name that would be markup if the page did not escape it.
NASTY = "<script>alert(1)</script>"
#: One upload and a call.
HOME: dict[str, Any] = {
    "name": NASTY,
    "duration": "20s",
    "link": {
        "up": {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "queue": {"droptail": {"limit": "250p"}}},
        "down": {"from": "net", "to": "home", "rate": "50mbit", "delay": "10ms"},
    },
    "app": {
        NASTY: {"from": "home", "to": ["net"], "traffic": {"ftp": {}}},
        "call": {"from": "home", "to": ["net"], "traffic": {"voip": {}}},
    },
}

Open = Callable[..., Opened]


def scenario_of(tree: dict[str, Any]) -> Scenario:
    """A table as a scenario."""
    return parse(json.dumps(tree), form="json")


@contextmanager
def pages(browser: Any) -> Generator[Open]:
    """Opens the page with a scenario and waits for its first result; checks every opened page at the end."""
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")
    with ExitStack() as contexts:

        def begin(scenario: dict[str, Any] | None = None, **options: Any) -> Opened:
            end = fragment(scenario_of(scenario)) if scenario is not None else ""
            context = opened(browser, PAGE, fragment=options.pop("fragment", end), **options)
            found = contexts.enter_context(context)
            found.page.wait_for_selector("body[data-runs]", timeout=30_000)
            return found

        yield begin


def until(found: Opened, condition: str) -> None:
    """Waits for a condition, evaluated from outside because the page's policy forbids `eval`."""
    for _ in range(1200):
        if found.page.evaluate(condition):
            return
        found.page.wait_for_timeout(50)
    raise AssertionError(f"never: {condition}")


def runs(found: Opened) -> int:
    """Returns the number of runs that the page has shown."""
    return int(found.page.evaluate("document.body.dataset.runs"))


def settled(found: Opened, act: Callable[[], object]) -> None:
    """Does something that reruns the scenario, and waits until the new result is drawn."""
    before = runs(found)
    act()
    until(found, f"Number(document.body.dataset.runs) > {before}")
    found.page.wait_for_timeout(400)


def packed(experiment: Any) -> str:
    """Returns the fragment of an address for an experiment (or any other text), without the code of the page."""
    text = experiment if isinstance(experiment, str) else json.dumps(experiment)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = packer.compress(text.encode()) + packer.flush()
    return "#1=" + base64.urlsafe_b64encode(end).decode().rstrip("=")


def held(found: Opened) -> Any:
    """Returns the experiment in the address, after the page has updated it."""
    found.page.wait_for_timeout(600)
    text = found.page.evaluate("location.hash").partition("#1=")[2]
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), -15))


__all__ = ["HOME", "NASTY", "PAGE", "Open", "held", "packed", "pages", "runs", "scenario_of", "settled", "until"]
