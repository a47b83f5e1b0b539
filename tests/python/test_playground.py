"""The playground: its simulator compared with the native simulator, its presets, and the command that opens it."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import shutil
import subprocess
import webbrowser
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bloatlab import _core
from bloatlab.cli import play
from bloatlab.cli.main import call
from bloatlab.scenario import Scenario, from_dict, load, parse, schema

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "target/wasm32-unknown-unknown/web/bloatlab_web.wasm"
_spec = importlib.util.spec_from_file_location("playground_presets", ROOT / "tools/playground_presets.py")
assert _spec is not None
assert _spec.loader is not None
playground_presets = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(playground_presets)

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
CASES = {f"{study}: {title}": scenario for study, title, scenario in playground_presets.studies()}
NAMES = [*(f"Examples: {load(file).name}" for file in EXAMPLES), *CASES]


@cache
def presets() -> dict[str, str]:
    """Returns the TOML of each preset, keyed by the preset's group and title, as in `NAMES`."""
    return {f"{p['group']}: {p['title']}": p["toml"] for p in playground_presets.presets()}


def one_of_each() -> dict[str, Scenario]:
    """Returns every example, and the first case of each study, keyed by the name of its preset."""
    examples = (load(file) for file in EXAMPLES)
    found = {f"Examples: {scenario.name}": scenario for scenario in examples}
    for study, title, scenario in playground_presets.studies():
        if not any(name.startswith(study) for name in found):
            found[f"{study}: {title}"] = scenario
    return found


def native(scenario: Scenario) -> str:
    return _core.run(scenario.text)["summary"]


def in_node(tool: str, given: str = "", *, wasm: bool = True) -> Any:
    """Runs a program in web/tools and returns its output. With `wasm`, it needs the simulator built for WebAssembly."""
    if shutil.which("node") is None:
        pytest.skip("no Node: apt-get install nodejs, then make playground")
    if (wasm and not WASM.is_file()) or not (ROOT / "web/node_modules/esbuild").is_dir():
        pytest.skip("the simulator is not built for WebAssembly: make playground")
    command = ["node", str(ROOT / "web/tools" / tool), str(WASM)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def by_wasm() -> dict[str, str]:
    """Returns each preset's summary as text, from WebAssembly in Node. TOML is read and then run, as on the page."""
    return dict(zip(presets(), in_node("summaries.mjs", json.dumps(list(presets().values()))), strict=True))


def test_there_is_a_case_of_each_study_and_every_example():
    names = one_of_each()
    assert len(names) == len(EXAMPLES) + 4
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_runs_in_the_page(name: str, by_wasm: dict[str, str]):
    summary = json.loads(by_wasm[name])
    assert "problems" not in summary
    assert any(link["delivered_packets"] > 0 for link in summary["links"].values())


@pytest.mark.parametrize("name", one_of_each())
def test_webassembly_answers_with_the_native_bytes(name: str, by_wasm: dict[str, str]):
    assert by_wasm[name] == native(one_of_each()[name])


def test_webassembly_refuses_what_the_native_core_refuses():
    bad = '{"duration": "1s", "link": {"up": {"from": "a", "to": "b", "rate": "5mbi"}}}'
    (problem,) = json.loads(in_node("summaries.mjs", json.dumps([bad]))[0])["problems"]
    with pytest.raises(_core.ScenarioError) as refused:
        _core.resolve(bad, "json")
    assert [f"{problem['path']}: {problem['message']}"] == refused.value.args[0]
    assert problem["path"] == "link.up.rate"


#: For each kind of quantity, an amount that is valid in all its units.
AMOUNTS = {"BitRate": "2", "Bytes": "2", "Duration": "2", "Limit": "2000", "Prob": ".02"}


def spellings(kind: str) -> Iterator[str]:
    """Yields spellings of one amount in each unit of `kind` (a duration, a rate, ...) that the schema accepts."""
    of = schema()["$defs"][kind]
    patterns = next(p["pattern"] for p in [of, *of.get("anyOf", [])] if "pattern" in p)
    for pattern in patterns.split("|^"):
        if kind == "Limit" and "[sS]" in pattern:
            continue  # a limit that is a time: "Duration" tests its units, and 2000 ns or 2000 h is no valid limit
        (units,) = re.findall(r"\\s\*\(([^0-9.()]*)\)", pattern)
        for unit in units.split("|"):
            for place in (r"\1", r"\2"):  # in lower case and in upper case, where both are valid
                spelled = re.sub(r"\[(.)(.)\]", place, unit)
                yield from (f"{AMOUNTS[kind]}{spelled}", f" {AMOUNTS[kind]}  {spelled} ")


def test_the_page_reads_every_spelling_of_a_quantity():
    link: Any = {"from": "a", "to": "b", "rate": "1mbit", "both_ways": True}
    bare: Any = {
        "duration": "1s",
        "link": {"up": link},
        "app": {"x": {"from": "a", "to": ["b"], "traffic": {"ftp": {}}}},
    }
    places = {
        "BitRate": ("link", "up", "rate"),
        "Bytes": ("app", "x", "traffic", "ftp", "size"),
        "Duration": ("link", "up", "delay"),
        "Limit": ("link", "up", "queue", "droptail", "limit"),
        "Prob": ("link", "up", "loss"),
    }
    pairs: list[tuple[str, Any]] = []
    for kind, path in places.items():
        for text in spellings(kind):
            found: Any = from_dict(bare, sets={".".join(path): text}).data
            for key in path:
                found = found[key]
            pairs += [(kind, text), (kind, found)]
    read = in_node("quantities.mjs", json.dumps(pairs), wasm=False)
    assert len(pairs) > 300
    assert read[::2] == pytest.approx(read[1::2])


def test_presets_are_the_scenarios_that_they_name(tmp_path: Path):
    # the folder is empty, so a preset that names a file fails; the page could not read such a file either
    for name, scenario in (CASES | one_of_each()).items():
        assert parse(presets()[name], folder=tmp_path) == scenario
    assert list(presets()) == NAMES


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.name)
def test_as_toml_is_read_back_as_the_same_scenario(file: Path):
    scenario = load(file)
    assert parse(scenario.as_toml()) == scenario
    assert "false" not in scenario.as_toml() or "false" in file.read_text()


def test_as_toml_refuses_a_seed_that_toml_cannot_say():
    scenario = from_dict({"seed": 2**63, "duration": "1s", "link": {"a": {"from": "x", "to": "y"}}})
    with pytest.raises(ValueError, match="seed: 9223372036854775808 is too large for TOML"):
        scenario.as_toml()


def unpacked(address: str) -> Any:
    """Decodes the fragment of a playground address in Python, so that the test does not rely on the page's decoder."""
    _, _, packed = address.strip().partition("#1=")
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15))


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes a placeholder for the page, which may not have been built."""
    page = tmp_path / "a folder" / "index.html"
    page.parent.mkdir()
    page.write_text("<!doctype html>")
    monkeypatch.setattr(play, "PAGE", page)
    return page


def test_play_prints_an_address_that_holds_the_scenario(built: Path, capsys: pytest.CaptureFixture[str]):
    file = ROOT / "examples/cable-modem.toml"
    assert call(["play", str(file), "--set", "link.up.queue.droptail.limit=21p", "--print"]) == 0
    address = capsys.readouterr().out
    assert address.startswith(built.as_uri() + "#1=")
    held = from_dict(unpacked(address)["scenario"])
    assert held == load(file, [("link.up.queue.droptail.limit", "21p")])


def test_play_opens_a_browser_by_a_door_that_keeps_the_fragment(built: Path, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    assert call(["play", str(ROOT / "examples/lab.toml")]) == 0
    (door,) = opened
    text = Path(door.removeprefix("file://")).read_text()
    address = text.split("url=")[1].split('"')[0]
    assert address.startswith(built.as_uri() + "#1=")
    assert from_dict(unpacked(address)["scenario"]) == load(ROOT / "examples/lab.toml")


def test_play_without_a_browser_prints_the_address(
    built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    assert call(["play"]) == 0
    assert capsys.readouterr().out == built.as_uri() + "\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no-such.toml"], "no-such.toml: no such file or directory"),
        (["--set", "seed=1"], "--set: needs a scenario file"),
    ],
)
def test_play_refuses_bad_input_in_one_line(
    arguments: list[str], line: str, built: Path, capsys: pytest.CaptureFixture[str]
):
    assert call(["play", *arguments, "--print"]) == 2
    assert capsys.readouterr().err == line + "\n"


def test_play_says_how_to_build_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(play, "PAGE", tmp_path / "index.html")
    assert call(["play", "--print"]) == 2
    assert "not built; run `make playground` in the source tree" in capsys.readouterr().err
