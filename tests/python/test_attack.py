"""Fuzz tests of scenarios, result folders, grids and command lines: each is accepted, or refused in clear lines."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bloatlab
from bloatlab.cli.main import call
from bloatlab.results import SCENARIO, SUMMARY, TABLES, save
from bloatlab.scenario import ScenarioError, parse, problems, toml_value
from bloatlab.simulation import run
from conftest import DUMBBELL

#: Hypothesis derives the examples from the test instead of drawing them at random, so every run uses the same examples.
ATTACK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def command(*arguments: str) -> tuple[int, list[str]]:
    """Returns the exit code of a command and its lines on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = call(arguments)
    return code, said.getvalue().splitlines()


def clear(code: int, lines: list[str]) -> None:
    """Checks that a command succeeded without a message, or was refused in lines that a person can read."""
    assert code in {0, 2}, lines
    assert (code == 0) == (not lines), lines
    for line in lines:
        assert "a bug" not in line, line
        assert line.isprintable(), line
        assert 0 < len(line) < 2000, line


@ATTACK
@given(st.text(max_size=200))
@example('duration = "1s"\n[link.a]\nfrom = "x"\nto = "y"\nloss = nan')
@example('"\\u001b[2J" = 1')
def test_any_text_is_a_scenario_or_refused_in_clear_lines(text: str) -> None:
    for form in ("toml", "json"):
        try:
            scenario = parse(text, form=form)
        except ScenarioError as error:
            for line in problems(error):
                assert line.isprintable()
                assert len(line) < 2000
        else:
            assert parse(scenario.text, form="json") == scenario


@ATTACK
@given(
    rate=st.integers(1, 10**15),
    delay=st.integers(0, 9 * 10**18),
    size=st.integers(1, 9 * 10**15),
    loss=st.floats(0, 1),
)
@example(rate=10**15 - 1, delay=2**53 + 1, size=2**53 - 10**13, loss=0.1)
def test_a_resolved_scenario_reads_back_as_itself(rate: int, delay: int, size: int, loss: float) -> None:
    sets = [
        ("link.up.rate", str(rate)),
        ("link.up.delay", f"{delay}ns"),
        ("link.up.loss", repr(loss)),
        ("app.file.traffic.ftp.size", str(size)),
        ("max_packets", str(2**63 - 1)),
    ]
    scenario = parse(DUMBBELL, sets=sets)
    assert parse(scenario.text, form="json").text == scenario.text


@pytest.fixture(scope="module")
def result_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("result")
    scenario = parse(DUMBBELL, sets=[("duration", "200ms")])
    return save(run(scenario), folder / "whole", form="csv")


@ATTACK
@given(data=st.data())
def test_a_broken_result_folder_is_shown_or_refused_in_one_line(
    result_folder: Path, tmp_path: Path, data: st.DataObject
) -> None:
    broken = tmp_path / "broken"
    shutil.rmtree(broken, ignore_errors=True)
    shutil.copytree(result_folder, broken)
    tables = [f"{TABLES}/{p.name}" for p in sorted((result_folder / TABLES).iterdir())]
    path = broken / data.draw(st.sampled_from([SCENARIO, SUMMARY, *tables]))
    path.write_bytes(data.draw(_broken(path.read_bytes())))
    code, lines = command("show", str(broken))
    clear(code, lines)
    assert not lines or str(broken) in "".join(lines)


def _broken(whole: bytes) -> st.SearchStrategy[bytes]:
    """Draws damaged data: cut off, changed, or replaced."""
    cut = st.integers(0, len(whole)).map(lambda n: whole[:n])
    place = st.tuples(st.integers(0, len(whole) - 1), st.binary(max_size=8))
    changed = place.map(lambda at: whole[: at[0]] + at[1] + whole[at[0] + 1 :])
    other = st.sampled_from([b"", b"null", b"[]", b"7", b'"text"', b"{}", b"{", b"\xff\xfe", b"[" * 100_000])
    return st.one_of(cut, changed, other)


_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 2**64), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@ATTACK
@given(
    tree=st.dictionaries(st.sampled_from(["scenario", "seeds", "columns", "set", "axes", "axis"]), _values),
    axis=st.sampled_from(["link.up.rate", "seed", "link.up.queue", "", "a..b", "\x1b"]),
    values=_values,
)
def test_any_grid_is_run_or_refused_in_clear_lines(tmp_path: Path, tree: Any, axis: str, values: Any) -> None:
    (tmp_path / "one.toml").write_text(DUMBBELL.replace('"5s"', '"20ms"'))
    grid = {"scenario": "one.toml", "seeds": 1, **tree, "axes": {axis: values}}
    text = "".join(f"{name} = {toml_value(value)}\n" for name, value in grid.items())
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    clear_or_unfinished(
        lambda: command("sweep", str(path), "--store", str(tmp_path / "store"), "-o", str(tmp_path / "o.csv"))
    )


def clear_or_unfinished(attempt: Callable[[], tuple[int, list[str]]]) -> None:
    """Checks a sweep. Sweeps print progress on standard error, too, so only the last line of a refusal is checked."""
    code, lines = attempt()
    assert code in {0, 2}, lines
    if code == 2:
        clear(code, lines[-1:])
    assert not any("a bug" in line for line in lines), lines


_words = st.one_of(st.text(max_size=12), st.sampled_from(["0", "-1", "1e9", "nan", "inf", "٣", "9" * 30, "\x1b[2J"]))


@ATTACK
@given(
    name=st.sampled_from(["collisions", "show", "list", "run"]),
    option=st.sampled_from(["--sessions", "--queues", "--seed", "--set", "-f", "--table", "--trials"]),
    words=st.lists(_words, min_size=1, max_size=2),
)
def test_any_command_line_is_done_or_refused_in_clear_lines(name: str, option: str, words: list[str]) -> None:
    code, lines = command(name, *words[1:], option, words[0])
    assert code in {0, 2}, lines
    assert not any("a bug" in line or not line.isprintable() for line in lines), lines
    assert bloatlab.version()
