"""Tables at any width: no cell is cut, and each part of a split table repeats the labels of the rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bloatlab.tables import TextCell, TextTable
from bloatlab.terminal import lines, wrapped


def texts(table: TextTable, width: int) -> list[str]:
    return [line.plain for line in lines(table, width)]


def table(columns: list[str], rows: list[list[str]], **more: object) -> TextTable:
    return TextTable("", columns, [[TextCell(cell) for cell in row] for row in rows], **more)  # pyright: ignore[reportArgumentType]


def test_a_table_that_fits_is_one_block():
    assert texts(table(["link", "packets", "MB"], [["up", "25", "1.5"], ["~up", "3", "0.1"]]), 80) == [
        "link  packets   MB",
        "up         25  1.5",
        "~up         3  0.1",
    ]


def test_a_wide_table_goes_on_below_with_its_labels():
    wide = table(["link", "first", "second", "third"], [["up", "11111", "222222", "33333"], ["down", "1", "2", "3"]])
    assert texts(wide, 20) == [
        "link  first  second",
        "up    11111  222222",
        "down      1       2",
        "",
        "link  third",
        "up    33333",
        "down      3",
    ]


def test_every_column_that_names_a_row_stands_in_every_block():
    wide = table(["scenario", "metric", "kernel", "simulated"], [["one-flow", "goodput", "444444", "5555555"],
                 ["one-flow", "delay", "1", "2"]], left=2)  # fmt: skip
    assert texts(wide, 30) == [
        "scenario  metric   kernel",
        "one-flow  goodput  444444",
        "one-flow  delay         1",
        "",
        "scenario  metric   simulated",
        "one-flow  goodput    5555555",
        "one-flow  delay            2",
    ]


def test_columns_under_one_heading_stay_together():
    grouped = table(
        ["link", "a", "b", "c", "d"],
        [["up", "1111", "2222", "3333", "4444"]],
        groups=[("", 1), ("delivered", 2), ("sojourn ms", 2)],
    )
    assert texts(grouped, 24) == [
        "      delivered",
        "link     a     b",
        "up    1111  2222",
        "",
        "      sojourn ms",
        "link     c     d",
        "up    3333  4444",
    ]


def test_words_wrap_and_numbers_do_not():
    long = table(["who", "says", "value"], [["a", "what takes more than one line here", "123 456"]], left=2)
    found = texts(long, 40)
    assert len(found) > 2
    assert max(map(len, found)) <= 40
    assert "123 456" in found[1]


def test_a_reason_stands_below_its_row():
    told = table(["case", "ours", "why"], [["D01", "2.7", "because of the queue"]], below=True, words_last=True)
    assert texts(told, 30) == ["case  ours", "D01    2.7", "    because of the queue"]


WORDS = st.text("abcdefgh.~_", min_size=1, max_size=30)
NUMBERS = st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{1,6})?", fullmatch=True)


@st.composite
def tables(draw: st.DrawFn) -> TextTable:
    count = draw(st.integers(1, 12))
    heads = draw(st.lists(WORDS, min_size=count + 1, max_size=count + 1))
    labels = draw(st.lists(WORDS, min_size=1, max_size=4, unique=True))
    rows = [[label, *draw(st.lists(NUMBERS, min_size=count, max_size=count))] for label in labels]
    return table(heads, rows)


@settings(max_examples=60)
@given(tables(), st.integers(1, 200))
def test_no_digit_is_cut_and_no_row_is_without_its_label(drawn: TextTable, width: int):
    printed = texts(drawn, width)
    for row in drawn.rows:
        for cell in row[1:]:
            assert any(cell.text in line.split() for line in printed), (cell.text, printed)
    label = max(len(row[0].text) for row in drawn.rows)
    number = max(len(text) for row in [drawn.columns, *([c.text for c in r] for r in drawn.rows)] for text in row[1:])
    # this width has room for the longest label and the longest number
    if width >= 2 * max(label, len(drawn.columns[0])) + 2 + number:
        assert max(map(len, printed)) <= width
        blocks = "\n".join(printed).split("\n\n")
        for block in blocks:
            found = [line.split()[0] for line in block.splitlines()]
            assert [row[0].text for row in drawn.rows] == found[-len(drawn.rows) :]


@given(st.text(max_size=200), st.integers(1, 60))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int):
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())


@pytest.mark.parametrize("columns", ["80", "40", None])
def test_a_run_is_printed_whole_on_a_pipe(columns: str | None, scenario_file: Path):
    """No value is cut off on a pipe. The table of links is split into blocks only at 40 columns, not at 80 columns or
    without COLUMNS.
    """
    command = [sys.executable, "-c", "from bloatlab.cli import main; main()", "run", str(scenario_file)]
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": columns} if columns else {})
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    assert max(map(len, printed)) <= int(columns or 80)
    assert "…" not in done.stdout
    links = printed[printed.index("Links") : printed.index("Applications")]
    if "Drops" in links:
        links = links[: links.index("Drops")]
    rows = [line.split()[0] for line in links if line.startswith(("up ", "down "))]
    assert rows == ["down", "up"] * (len(rows) // 2)
    assert len(rows) == (2 if columns != "40" else len(rows)) > 0
