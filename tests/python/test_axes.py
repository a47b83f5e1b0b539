"""Axes of a grid file: ranges, zips, samples, filters and arms; a bad axis is refused in one line."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from bloatlab.sweep import axes
from bloatlab.sweep.quantities import Amount


def places(text: str) -> list[tuple[Any, ...]]:
    return [tuple(at.values()) for at in axes.read(tomllib.loads(text), 1_000_000).places]


def values(axis: str) -> list[Any]:
    return [v for (v,) in places(f"axes.x = {axis}")]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ('{ from = "5ms", to = "20ms", steps = 4 }', ["5ms", "10ms", "15ms", "20ms"]),
        ('{ from = "500kbit", to = "2mbit", step = "500kbit" }', ["500kbit", "1mbit", "1.5mbit", "2mbit"]),
        ('{ from = "1mbit", to = "1gbit", steps = 4, log = true }', ["1mbit", "10mbit", "100mbit", "1gbit"]),
        ('{ from = "1mbit", to = "10mbit", steps = 3, log = true }', ["1mbit", "3.162mbit", "10mbit"]),
        ("{ from = 1, to = 9, step = 2 }", [1, 3, 5, 7, 9]),
        ("{ from = 1, to = 100, steps = 3, log = true }", [1, 10, 100]),
        ("{ from = 0, to = 0.5, steps = 3 }", [0.0, 0.25, 0.5]),
        ('{ from = "10p", to = "1000p", steps = 3, log = true }', ["10p", "100p", "1000p"]),
        ('{ from = "0%", to = "2%", steps = 3 }', ["0%", "1%", "2%"]),
        ('{ from = "64KiB", to = "128KiB", steps = 2 }', ["65.54kB", "131.1kB"]),
        ('{ from = "0s", to = "1s", step = "500ms" }', ["0ns", "500ms", "1s"]),
    ],
)
def test_ranges(axis: str, expected: list[Any]):
    assert values(axis) == expected


def test_zipped_axes_go_side_by_side():
    found = places('zip = [["a", "c"]]\n[axes]\na = [1, 2]\nb = ["x", "y"]\nc = ["1mbit", "2mbit"]\n')
    assert found == [(1, "x", "1mbit"), (1, "y", "1mbit"), (2, "x", "2mbit"), (2, "y", "2mbit")]


def test_where_keeps_places_by_their_amounts():
    grid = '[axes]\nup = ["500kbit", "5mbit"]\ndown = ["1mbit", "10mbit"]\nqueue = ["codel", "pie"]\n'
    found = places(f'where = ["up <= down", "queue != pie or up == 5mbit"]\n{grid}')
    assert found == [
        ("500kbit", "1mbit", "codel"),
        ("500kbit", "10mbit", "codel"),
        ("5mbit", "10mbit", "codel"),
        ("5mbit", "10mbit", "pie"),
    ]


@pytest.mark.parametrize("method", ["sobol", "latin-hypercube"])
def test_samples_fill_the_space(method: str):
    text = (
        f'sample = {{ method = "{method}", points = 64, seed = 3 }}\n[axes]\nqueue = ["codel", "pie"]\n'
        'rate = { from = "1mbit", to = "1gbit", log = true }\nflows = { from = 1, to = 4 }\n'
    )
    found = places(text)
    assert found == places(text)
    assert found != places(text.replace("seed = 3", "seed = 4"))
    assert len(found) == 128
    assert [at[1:] for at in found[:64]] == [at[1:] for at in found[64:]]  # the same points with either queue
    rates = sorted(Amount.of(at[1]).value for at in found[:64])  # pyright: ignore[reportOptionalMemberAccess]
    # each of the two sampling methods puts one point into each of 64 slices of the axis; all slices have the same width
    # on a logarithmic scale
    slices = [1e6 * 1000 ** (n / 64) for n in range(65)]
    assert all(0.999 * low <= rate <= 1.001 * high for low, rate, high in zip(slices, rates, slices[1:], strict=False))
    assert [sum(at[2] == n for at in found[:64]) for n in (1, 2, 3, 4)] == [16] * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "axes: none given"),
        ("axes.x = []", "axes.x: expected a list of values"),
        ("axes.x = {}", "axes.x: expected a list of values"),
        ('axes.x = { from = "1mbit", to = "5ms", steps = 3 }', "axes.x: from is a rate, to is a duration"),
        ('axes.x = { from = "9mbit", to = "5mbit", steps = 3 }', "from 9mbit is not below to 5mbit"),
        ('axes.x = { from = "1mbps", to = "5mbit", steps = 3 }', "axes.x.from: 1mbps is not a number or quantity"),
        ('axes.x = { to = "5mbit", steps = 3 }', "axes.x.from: is missing"),
        ("axes.x = { from = 1, to = 5, steps = 1 }", "axes.x.steps: 1 is not a whole number from 2"),
        (
            "axes.x = { from = 1, to = 2, steps = 5 }",
            "1 to 2 give some values twice; between whole numbers, values are whole; for fractions, write to = 2.0",
        ),
        ('axes.x = { from = "1p", to = "3p", steps = 5 }', "twice; values are rounded to four digits or whole units"),
        ("axes.x = { from = 1, to = 5, steps = 3, step = 2 }", "give steps or step, not both"),
        ("axes.x = { from = 0, to = 5, steps = 3, log = true }", "axes.x.from: 0 has no logarithm"),
        ("axes.x = { from = 1, to = 5, stepz = 3 }", 'axes.x: unknown key "stepz"; did you mean "step"?'),
        ('axes.x = { from = 1, to = 5, step = "1mbit" }', "axes.x.step: 1mbit is not a whole number above 0"),
        ("axes.x = { from = 1, to = 5 }", "axes.x: how many values? write steps = 5, or a [sample]"),
        ("sample.points = 4\naxes.x = [1]", "sample: no axis to draw from"),
        (
            "sample.points = 100\naxes.x = { from = 1, to = 5 }",
            "100 is not a power of two, as Sobol's method needs; 64 or 128",
        ),
        ('sample = { method = "sobel", points = 4 }\naxes.x = { from = 1, to = 5 }', 'did you mean "sobol"?'),
        ("sample.seed = 4\naxes.x = { from = 1, to = 5 }", "sample.points: None is not a whole number"),
        ('zip = [["x", "y"]]\n[axes]\nx = [1, 2]\ny = [1, 2, 3]', "equally many values; found x 2, y 3"),
        ('zip = [["x", "z"]]\n[axes]\nx = [1, 2]\ny = [1, 2]', "zip: there is no axis z"),
        ('zip = [["x", "y"], ["y", "x"]]\n[axes]\nx = [1, 2]\ny = [1, 2]', "zip: y is in two groups"),
        ('zip = [["x", "x"]]\n[axes]\nx = [1, 2]', "zip: x is in a group twice"),
        ('where = ["x > 2"]\n[axes]\nx = [1, 2]', "where: no grid point is left of 2"),
        ('where = ["y > 2"]\n[axes]\nx = [1, 2]', "there is no axis y"),
        ('where = ["x is 2"]\n[axes]\nx = [1, 2]', "is not a condition"),
        ('where = ["x == codle"]\n[axes]\nx = ["codel", "pie"]', 'x is never codle; did you mean "codel"?'),
        ('where = ["x < pie"]\n[axes]\nx = ["codel", "pie"]', "codel and pie have no order"),
        ("[axes]\nx = { from = 1, to = 2000, step = 1 }\ny = { from = 1, to = 2000, step = 1 }", "4000000 grid points"),
        ("axes.seed = [1, 2]", "seeds are not an axis"),
    ],
)
def test_bad_axes_are_said_in_a_line(text: str, words: str):
    with pytest.raises(axes.GridError) as error:
        places(text)
    said = str(error.value)
    assert words in said
    assert "\n" not in said
