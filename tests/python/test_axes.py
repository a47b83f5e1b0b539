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
        ('{ from = "64KiB", to = "128KiB", steps = 3 }', ["64KiB", "98.3kB", "128KiB"]),
        ('{ from = "0s", to = "1s", step = "500ms" }', ["0s", "500ms", "1s"]),
        # the ends stay as given, even with more digits than computed values have
        ('{ from = "1.2345mbit", to = "2mbit", steps = 2 }', ["1.2345mbit", "2mbit"]),
        ('{ from = "12346B", to = "98765B", steps = 2 }', ["12346B", "98765B"]),
        ("{ from = 0.123456, to = 1, steps = 2 }", [0.123456, 1.0]),
        # a step adds exactly: 12.345 + n Mbit/s; 0.3, although 0.1 + 2 * 0.1 is 0.30000000000000004 in binary
        ('{ from = "12345kbit", to = "15mbit", step = "1mbit" }', ["12345kbit", "13.345mbit", "14.345mbit"]),
        ("{ from = 0.1, to = 0.3, step = 0.1 }", [0.1, 0.2, 0.3]),
        # each value is sqrt(10) = 3.162 times the value before
        (
            '{ from = "0.00001%", to = "0.001%", steps = 5, log = true }',
            ["0.00001%", "0.00003162%", "0.0001%", "0.0003162%", "0.001%"],
        ),
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


def test_drawn_values_are_inside_the_range():
    # 12.35 is the nearest number of four digits for every draw, and is above the range, so each draw is the upper end
    text = 'sample.points = 64\naxes.x = { from = "12.3454mbit", to = "12.3456mbit" }'
    assert {value for (value,) in places(text)} == {"12.3456mbit"}


def test_where_compares_booleans_and_numbers_as_they_are_written():
    assert places('where = ["x == true"]\naxes.x = [true, false]') == [(True,)]
    assert places('where = ["x == 0"]\naxes.x = [0.0, 0.01]') == [(0.0,)]
    with pytest.raises(axes.GridError, match=r'x is never True; did you mean "true"\?'):
        places('where = ["x == True"]\naxes.x = [true, false]')


#: Axes in which a later override would undo an earlier one, or that set the seed, and a part of the message.
UNDONE = [
    (
        'axes.line.slow."link.up.rate" = "1mbit"\naxes.path.near."link.up.rate" = "4mbit"',
        "axes.path: link.up.rate: axes.line sets it, too; only one of them can",
    ),
    (
        'axes."link.up.queue.droptail.limit" = ["20p"]\naxes.queue.d."link.up.queue" = { droptail = {} }',
        "axes.link.up.queue.droptail.limit sets link.up.queue.droptail.limit inside it; write axes.queue first",
    ),
    (
        'axes.queue.d."link.up.queue" = { droptail = { limit = "9p" } }\naxes."link.up.queue.droptail.limit" = ["20p"]',
        "axes.link.up.queue.droptail.limit: axes.queue sets it, too",
    ),
    (
        'axes."link.up.queue" = ["codel target 5ms", "pie"]\naxes.target.short."link.up.queue.codel.target" = "1ms"',
        "axes.target: link.up.queue.codel.target: axes.link.up.queue gives link.up.queue as text with parameters",
    ),
    (  # tc's pfifo is droptail
        'axes."link.up.queue" = ["pfifo limit 9", "pfifo limit 99"]\naxes."link.up.queue.droptail.limit" = ["20p"]',
        "axes.link.up.queue.droptail.limit: axes.link.up.queue gives link.up.queue as text with parameters",
    ),
    (
        'axes.a.x = { "link.\\"up\\".rate" = "1mbit" }\naxes.b.y = { "link.up.rate" = "2mbit" }',
        "axes.b: link.up.rate: axes.a sets it, too; only one of them can",
    ),
    (
        'axes."link.up.changes" = [[{ at = "1s", rate = "1mbit" }]]\naxes."link.up.changes.0.rate" = ["2mbit"]',
        "axes.link.up.changes.0.rate: axes.link.up.changes sets it, too",
    ),
    (
        'axes.a.x = { "link.\\"a.b\\".rate" = "1mbit" }\naxes.b.y = { "link.\\"a.b\\"" = {} }',
        'sets link."a.b".rate inside it',
    ),
    ("axes.a.x.seed = 5", "axes.a: seed: an axis cannot set it, because every run has a seed of its own"),
    (
        'axes.a.x = { "link.up.rate" = "1mbit", "link.up" = { delay = "1ms" } }',
        "axes.a.x: link.up replaces link.up.rate; write link.up before it",
    ),
]


@pytest.mark.parametrize(("text", "words"), UNDONE)
def test_an_axis_that_another_one_would_undo_is_refused(text: str, words: str):
    with pytest.raises(axes.GridError) as error:
        places(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        'axes.queue.d."link.up.queue" = { codel = {} }\naxes."link.up.queue.codel.target" = ["1ms", "5ms"]',
        'axes."link.up.queue" = ["codel", { codel = { ecn = 1 } }]\naxes."link.up.queue.codel.target" = ["1ms", "5ms"]',
        'axes."link.up.rate" = ["1mbit"]\naxes."link.up.rates" = ["1mbit"]',
        # both axes set `r`, but never at the same grid point
        'where = ["a == no or b == no"]\naxes = { a = { x = { r = 1 }, no = {} }, b = { x = { r = 2 }, no = {} } }',
        # an axis may be called `version` or `name`: these keys of a summary are no columns of a sweep's table
        'axes.version.new."link.up.rate" = "1mbit"\naxes.name = ["a", "b"]',
    ],
)
def test_an_axis_may_add_to_another_one(text: str):
    assert places(text)


def test_overrides_for_all_runs_do_not_undo_axes_and_axes_do_not_undo_them():
    found = axes.read(tomllib.loads('axes."link.up.changes.0.rate" = ["1mbit"]'), 10)
    changes = [("link.up.changes", '[{ at = "6s", rate = "3mbit" }]')]
    found.refuse(changes, "set.", before=True)  # as in examples/sweeps/falling-rate.toml
    with pytest.raises(axes.GridError, match=r"^--set link.up.changes: axes.link.up.changes.0.rate varies it$"):
        found.refuse(changes, "--set ")
    queues = (
        'axes.queue = { d."link.up.queue" = { droptail = {} }, c."link.up.queue" = { codel = { target = "1ms" } } }'
    )
    found = axes.read(tomllib.loads(queues), 10)
    limit = [("link.up.queue.droptail.limit", "20p")]
    found.refuse(limit, "--set ")
    with pytest.raises(axes.GridError, match=r"limit: axes.queue replaces it, because it sets link.up.queue$"):
        found.refuse(limit, "set.", before=True)
    with pytest.raises(axes.GridError, match=r"^--set link.up.queue.codel.target: axes.queue varies it$"):
        found.refuse([("link.up.queue.codel.target", "5ms")], "--set ")
    found = axes.read(tomllib.loads('axes."link.up.queue" = ["codel ecn"]'), 10)
    with pytest.raises(axes.GridError, match=r"^--set link.up.queue.codel.target: axes.link.up.queue gives .* as text"):
        found.refuse([("link.up.queue.codel.target", "5ms")], "--set ")


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
    ("x", "condition", "expected"),
    [
        # a number without a unit is a rate in bit/s, or a share
        ("[1000000, 5000000]", "x != 5mbit", [1000000]),
        ("[1000000, 5000000]", "x == 5mbit", [5000000]),
        ("[1000000, 5000000]", "x < 5mbit", [1000000]),
        ('["1mbit", "5mbit"]', "x != 5000000", ["1mbit"]),
        ("[0.01, 0.02]", "x != 1%", [0.02]),
        # values of different kinds are never equal
        ('["10p", "50ms"]', "x != 50ms", ["10p"]),
        ('["auto", 5]', "x != 5", ["auto"]),
    ],
)
def test_a_condition_compares_amounts(x: str, condition: str, expected: list[Any]):
    assert [v for (v,) in places(f'where = ["{condition}"]\naxes.x = {x}')] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "axes: none given"),
        ("axes.x = []", "axes.x: expected a list of values"),
        (
            "axes = { Queue = [1], queue = [2] }",
            "axes.Queue: axes.queue differs only in case, which SQL ignores; rename",
        ),
        ("axes.Mean = [1]", "axes.Mean: is a column of --summary; rename the axis"),
        ("axes.Events = [1]", "axes.Events: is a number of every run's summary"),
        ("axes.Seed = [1]", "axes.Seed: seeds are not an axis; write seeds = 10"),
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
        ("axes.x = { from = 1, to = 5 }", "axes.x: the number of values is missing; write steps = 5, or a [sample]"),
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
        ('where = ["x != 5ms"]\n[axes]\nx = ["1mbit", "5mbit"]', "x is never 5ms"),
        ('where = ["x != 5"]\n[axes]\nx = ["1ms", "5ms"]', "x is never 5"),
        ("axes.x = { from = 1, to = inf, step = 1 }", "axes.x.to: inf is not a number or quantity"),
        ("axes.x = { from = 1, to = 9, step = inf }", "axes.x.step: inf is not a whole number above 0"),
        ("axes.x = { from = 1, to = 9, step = nan }", "axes.x.step: nan is not a whole number above 0"),
        ("axes.File_Row_Number = [1]", "axes.File_Row_Number: is a column of DuckDB"),
        ("[axes]\nx = { from = 1, to = 2000, step = 1 }\ny = { from = 1, to = 2000, step = 1 }", "4000000 grid points"),
        ("axes.seed = [1, 2]", "seeds are not an axis"),
        ("axes.n.a = {}", "axes.n: is a column of --summary; rename the axis (column, n, mean, sd,"),
        ("axes.difference_t_low.a = {}", "axes.difference_t_low: is a column of --summary"),
        ("axes.seeds.a = {}", "axes.seeds: is a source of variance in the table of --effects; rename the axis"),
        ("axes.rest = [1]", "axes.rest: is a source of variance"),
        ("axes.events.a = {}", "axes.events: is a number of every run's summary"),
        ('axes."links.up.utilisation".a = {}', "axes.links.up.utilisation: is a number of every run's summary"),
    ],
)
def test_bad_axes_are_said_in_a_line(text: str, words: str):
    with pytest.raises(axes.GridError) as error:
        places(text)
    said = str(error.value)
    assert words in said
    assert "\n" not in said
