"""The playground's essays: every step runs in Chromium, and its claims and numbers agree with the native core."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from playground import PAGE, Open, settled, until

ROOT = Path(__file__).resolve().parents[2]
ESSAYS = sorted(p.stem.partition("-")[2] for p in (ROOT / "web/essays").glob("[0-9]-*.md"))

#: Phrases whose digits are not computed from a run.
NAMES = re.compile(r"L4S|DualPI2|DOCSIS 3\.[01]|G\.711|RTT to 1 s|flows to 64")
HOLE = re.compile(r"\{([^{}]+)\}")
SHOWN = re.compile(r"(-?[\d.\u202f]+) ?(Gbit/s|Mbit/s|kbit/s|bit/s|ms|µs|s\b|%|MB|kB|bytes|packets?|times)?")
SCALES = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "ms": 1e-3, "µs": 1e-6, "MB": 1e6, "kB": 1e3}
#: `BASE`: factors that convert a value of a summary, in ms or Mbit/s, to s or bit/s. `UNITS`: the units in a scenario.
BASE = {"ms": 1e-3, "mbit": 1e6}
UNITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "s": 1.0, "ms": 1e-3, "p": 1.0, "KB": 1e3, "MB": 1e6}


class Tree:
    """A table whose keys are attributes, so that Python can evaluate an essay's expressions."""

    def __init__(self, of: dict[str, Any]) -> None:
        self._of = of

    def __getattr__(self, key: str) -> Any:
        value = self._of[key]
        if isinstance(value, dict):
            return Tree(value)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(value, str):
            number, unit = re.fullmatch(r"([\d.]+)([a-zA-Z]+)", value).groups()  # type: ignore[union-attr]
            return float(number) * UNITS[unit]
        return value


class Names(dict[str, Any]):
    """The names that an essay's expression may use: names that the essay defines, `here`, `before`, and the keys of a
    summary.
    """

    def __init__(self, scenario: dict[str, Any], before: dict[str, Any] | None, names: dict[str, str]) -> None:
        super().__init__()
        self.scenario, self.earlier, self.short = scenario, before, names

    def __missing__(self, key: str) -> Any:
        if key in self.short:
            return eval(self.short[key].partition(":")[0], {}, self)  # noqa: S307 - the project's own essays
        if key == "here":
            return Tree(self.scenario)
        if key == "before":
            assert self.earlier is not None
            return Earlier(Names(self.earlier, None, self.short))
        return getattr(Tree(summary(json.dumps(self.scenario))), key)


class Earlier:
    """The object `before` in an essay's expression: its attributes are the values of the previous step."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def __getattr__(self, key: str) -> Any:
        return self._names[key]


@cache
def summary(text: str) -> dict[str, Any]:
    return bloatlab.run(bloatlab.parse(text, form="json")).summary


def value(expression: str, names: Names) -> float:
    return float(eval(expression, {}, names))  # noqa: S307 - the project's own essays


def essay(name: str) -> dict[str, Any]:
    """Returns the essay as the page contains it."""
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")
    (texts,) = re.findall(r'<script type="application/json" id="essays">(.*?)</script>', PAGE.read_text(), re.DOTALL)
    return next(e for e in json.loads(texts)["essays"] if e["id"] == name)


def check_numbers(template: list[str], shown: str, names: Names) -> int:
    """Compares each number that the page inserted into a text with the native simulator's; returns how many
    placeholders the text has.
    """
    text = "\n".join(template).replace("*", "")  # *words* are emphasised
    pattern = "".join(re.escape(part) if i % 2 == 0 else "(.+?)" for i, part in enumerate(HOLE.split(text)))
    match = re.fullmatch(pattern, re.sub(r"\n+", "\n", shown.strip()))
    assert match is not None, (text, shown)
    for hole, words in zip(HOLE.findall("\n".join(template)), match.groups(), strict=True):
        expression, _, given = (part.strip() for part in hole.partition(":"))
        short = str(names.short.get(expression.removeprefix("before."), expression))
        form = given or short.partition(":")[2].strip()
        if form == "verdict":
            assert re.fullmatch("[a-z ]+", words), words
            continue
        number, unit = (group or "" for group in SHOWN.fullmatch(words).groups())  # type: ignore[union-attr]
        path = short.partition(":")[0].strip().split(".")
        suffix = next((m[1] for p in path[:-3:-1] if (m := re.search(r"(?:^|_)(ms|mbit)$", p))), "")
        real = value(expression, names) * BASE.get(form or suffix, 1.0)
        last = 10.0 ** -len(number.partition(".")[2]) * SCALES.get(unit, 1.0)
        if form in {"number", "count"} and real == int(real):
            assert int(number.replace("\u202f", "")) == real, (hole, words)
        is_close = pytest.approx(real, rel=0.05 if unit in {"times", "%"} else 0.006, abs=0.51 * last)
        assert float(number.replace("\u202f", "")) * SCALES.get(unit, 1.0) == is_close, (hole, words, real)
    return len(match.groups())


def answered(found: Any, step: dict[str, Any]) -> None:
    """Answers the question of a step with a guess, if there is a question; then waits until the page shows the step's
    numbers.
    """
    if "guess" in step:
        until(found, "document.querySelector('[data-option=\"0\"]').textContent !== ''")
        assert found.page.locator(".answer").is_hidden()
        found.page.click('[data-option="0"]')
    until(found, "document.querySelector('#essay .answer').dataset.broken !== undefined")


def steps(found: Any, of: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Clicks through an essay; yields each step and the step before it."""
    before = None
    for i, step in enumerate(of["steps"]):
        if i > 0:
            found.page.click("#essay .primary")
        answered(found, step)
        yield step, before
        before = step


@pytest.mark.parametrize("name", ESSAYS)
def test_every_step_runs_and_every_claim_holds(name: str, page: Open):
    found = page(fragment=f"#essay/{name}/1")
    seen = 0
    for step, before in steps(found, of := essay(name)):
        panel = found.page.inner_text("#essay")
        assert not re.search(r"[{}–…*`]|NaN|Infinity|undefined", panel), panel
        answer = found.page.locator(".answer")
        assert answer.get_attribute("data-broken") == "", step["title"]
        assert len(step["claims"]) >= 1
        earlier = before["scenario"] if before is not None and step["compare"] else None
        names = Names(step["scenario"], earlier, of["names"])
        for claim in step["claims"]:
            assert value(claim, names) == 1.0, (step["title"], claim)
        if "guess" in step:
            assert answer.get_attribute("data-right") == "1", step["title"]
            assert sum(value(o["claim"], names) for o in step["guess"]["options"]) == 1.0
            assert re.match("You guessed right|Not so: ", answer.locator(".verdict").inner_text())
        for part in ("text", "look"):
            shown = found.page.locator(f'[data-part="{part}"] p').all_inner_texts()
            seen += check_numbers(step.get(part, []), "\n".join(shown), names)
    assert seen >= 12


@pytest.mark.parametrize("name", ESSAYS)
def test_every_number_of_a_text_is_computed(name: str):
    of = essay(name)
    for step in of["steps"]:
        guess = step.get("guess", {"question": "", "options": []})
        texts = [*step["text"], *step.get("look", []), *step.get("try", []), guess["question"]]
        texts += [o["text"] for o in guess["options"]]
        # no option has a number from the run, because the number would show which option is right
        assert not any(HOLE.search(o["text"]) for o in guess["options"]), step["title"]
        for text in texts:
            assert not re.search(r"\d", NAMES.sub("", HOLE.sub("", text))), (step["title"], text)
        scenario = bloatlab.parse(json.dumps(step["scenario"]), form="json")
        assert step.get("stage") is None or set(step["stage"]) == {"from", "until", "speed"}
        assert scenario.data["duration"]


def test_essays_are_chosen_from_a_list_and_closed(page: Open):
    found = page()
    found.page.click("#show-essays")
    assert found.page.locator("#essay li").count() == len(ESSAYS) == 6
    settled(found, found.page.locator("#essay .link").first.click)
    assert "step 1 of" in found.page.inner_text("#essay .step")
    assert found.page.evaluate("document.activeElement.tagName") == "H2"
    found.page.click("#essay button:text-is('Close')")
    assert not found.page.is_visible("#essay")
    assert found.page.evaluate("document.activeElement.id") == "show-essays"


def test_a_step_is_opened_by_its_address_and_moves_the_stage(page: Open):
    found = page()
    settled(found, lambda: found.page.evaluate("location.hash = '#essay/codel/2'"))
    step = essay("codel")["steps"][1]
    answered(found, step)
    until(found, "document.body.dataset.stage !== undefined")
    stage = found.page.evaluate("document.getElementById('stage').stage.read()")
    assert [f"{stage['t']:g}s", stage["speed"]] == [step["stage"]["from"], step["stage"]["speed"]]
    found.page.evaluate("location.hash = '#essay/no-such-essay/1'")
    until(found, "document.getElementById('notice').textContent !== ''")
    assert found.page.inner_text("#notice") == "this page has no essay of the name no-such-essay"


def test_a_changed_experiment_leaves_the_text_alone(page: Open):
    found = page(fragment="#essay/bloat/1")
    answered(found, {})
    before = found.page.inner_text("#essay")
    settled(found, lambda: found.page.get_by_role("slider", name="rate", exact=True).first.fill("300"))
    assert found.page.inner_text("#essay") == before


def test_questions_for_a_class_open_their_experiments(page: Open):
    found = page()
    found.page.click("#show-class")
    assert found.page.locator("#questions li").count() == 5
    settled(found, found.page.locator("#questions button").last.click)
    assert found.page.evaluate("window.bloatlab.scenario().name") == "modem"
