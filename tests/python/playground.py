"""Opens the playground's page for tests, in Chromium, from the file and without a network."""

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

#: A name that would act as markup if the page did not escape it.
NASTY = "<script>alert(1)</script>"
#: A scenario with one upload and a call.
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
    return parse(json.dumps(tree), form="json")


@contextmanager
def pages(browser: Any) -> Generator[Open]:
    """Yields a function that opens the page, with or without a scenario, and waits for the first result.

    Every opened page is checked at the end.
    """
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")
    with ExitStack() as contexts:

        def begin(scenario: dict[str, Any] | None = None, **options: Any) -> Opened:
            end = fragment(scenario_of(scenario)) if scenario is not None else ""
            ready = options.pop("ready", "body[data-runs]")
            context = opened(browser, PAGE, fragment=options.pop("fragment", end), **options)
            found = contexts.enter_context(context)
            found.page.wait_for_selector(ready, timeout=30_000)
            return found

        yield begin


def until(found: Opened, condition: str) -> None:
    """Waits until a condition holds, for at most a minute. The page's policy forbids `eval`, so the script cannot
    evaluate the condition as a string; instead, the condition is inserted into the script's text.
    """
    script = """new Promise((done) => { const end = performance.now() + 60000;
        const look = () => { if (CONDITION) done(true); else if (performance.now() > end) done(false);
          else setTimeout(look, 5); };
        look(); })"""
    assert found.page.evaluate(script.replace("CONDITION", condition)), f"never: {condition}"


def runs(found: Opened) -> int:
    """Returns the number of runs that the page has shown."""
    return int(found.page.evaluate("document.body.dataset.runs"))


#: An expression in JavaScript that is true once the current experiment has been run and drawn, or refused.
SETTLED = "document.body.dataset.state === 'settled'"


def settled(found: Opened, act: Callable[[], object]) -> None:
    """Performs an action that changes the experiment, and waits until the new one has been run and drawn or refused."""
    before = int(found.page.evaluate("document.body.dataset.asked"))
    act()
    until(found, f"Number(document.body.dataset.asked) > {before} && {SETTLED}")


def packed(experiment: Any) -> str:
    """Returns the page's URL fragment for an experiment or any other text, computed without the page's own code."""
    text = experiment if isinstance(experiment, str) else json.dumps(experiment)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = packer.compress(text.encode()) + packer.flush()
    return "#1=" + base64.urlsafe_b64encode(end).decode().rstrip("=")


def held(found: Opened) -> Any:
    """Waits until the page has written its experiment into its address, and returns this experiment."""
    until(found, f"{SETTLED} && document.body.dataset.address === 'new'")
    text = found.page.evaluate("location.hash").partition("#1=")[2]
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), -15))


__all__ = [
    "HOME",
    "NASTY",
    "PAGE",
    "SETTLED",
    "Open",
    "held",
    "packed",
    "pages",
    "runs",
    "scenario_of",
    "settled",
    "until",
]
