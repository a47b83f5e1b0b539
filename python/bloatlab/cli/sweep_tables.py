"""Tables that `bloatlab sweep` prints: means with intervals, differences from a baseline, effects of the axes."""

import math
from collections.abc import Iterator, Sequence

import polars as pl

from bloatlab.measures import matching
from bloatlab.statistics import METHODS, Interval, Method, interval
from bloatlab.sweep.effects import effects, levels
from bloatlab.sweep.over_seeds import Zips, by_place, known, paired
from bloatlab.sweep.quantities import spelled
from bloatlab.sweep.stopping import Stop, Until
from bloatlab.sweep.zipped import together
from bloatlab.tables import TextCell, TextTable, counted, number, row

#: Minimum number of characters per line that the columns of the axes must leave for the measures. If they leave fewer,
#: a number for each grid point replaces these columns.
_LEAST_ROOM = 26

#: Main effects are printed for axes with 2 to `_MOST_LEVELS` values, unless the axis is sampled at random.
_MOST_LEVELS = 12


def means(
    frame: pl.DataFrame,
    axes: Sequence[str],
    shown: Sequence[str],
    method: Method,
    *,
    width: int,
    counted_seeds: bool = False,
) -> Iterator[TextTable]:
    """Yields tables with one row per grid point: the means over seeds with their intervals.

    If the axes' columns do not fit the width, a first table numbers the grid points, and the other tables identify
    them by these numbers.

    With `counted_seeds`, or if the numbers of seeds differ, a column shows the number of seeds.
    """
    found = list(by_place(frame, axes))
    counts = {runs.height for _, runs in found}
    seeds = f"{min(counts)} to {max(counts)} seeds" if len(counts) > 1 else counted(max(counts), "seed")
    note = "" if max(counts) == 1 else f"Mean over {seeds}, {_how(method)}."
    labels = [[spelled(value) for value in place] for place, _ in found]
    heads = [axis.replace(".", "\n") for axis in axes]
    # headings break at dots, and labels at spaces, so a column can be as narrow as its longest word
    words = [[*axis.split("."), *(w for label in labels for w in label[n].split(" "))] for n, axis in enumerate(axes)]
    if sum(min(max(map(len, of_axis)), 40) + 2 for of_axis in words) > width - _LEAST_ROOM:
        texts = [", ".join(f"{a} = {v}" for a, v in zip(axes, place, strict=True)) for place in labels]
        rows = [row(str(n), text) for n, text in enumerate(texts, start=1)]
        yield TextTable("Places", ["", ""], rows, left=2)
        labels, heads = [[str(n)] for n in range(1, len(found) + 1)], ["place"]
    counted_seeds |= len(counts) > 1
    table = [
        row(*label, *([str(runs.height)] if counted_seeds else []), *(mean(runs[column], method) for column in shown))
        for label, (_, runs) in zip(labels, found, strict=True)
    ]
    extra = ["seeds"] if counted_seeds else []
    yield TextTable(
        "", [*heads, *extra, *(c.replace(".", "\n") for c in shown)], table, note, left=len(heads), keep=True
    )


def _how(method: Method) -> str:
    kind = METHODS[method]
    return f"± half its 95 % interval ({kind})" if method == "t" else f"and its 95 % interval ({kind})"


def mean(values: pl.Series, method: Method) -> str:
    """Formats a mean with its interval, if it has one."""
    numbers = known(values)
    return said(interval(numbers, method), whole=all(v == int(v) for v in numbers)) if numbers else "-"


def said(of: Interval, *, whole: bool = False) -> str:
    """Formats a mean and its interval, to about two digits of the half-width; without an interval, the mean alone."""
    if not of.half > 0.0:
        return number(of.mean, 0 if whole else 3 if abs(of.mean) < 10 else 1)
    digits = min(max(1 - math.floor(math.log10(of.half)), 0), 6)
    if of.method == "t":
        return f"{number(of.mean, digits)} ±{number(of.half, digits)}"
    return f"{number(of.mean, digits)}  {number(of.low, digits)}..{number(of.high, digits)}"


def compared(
    frame: pl.DataFrame, axes: Sequence[str], shown: Sequence[str], against: str, method: Method, *, zips: Zips
) -> TextTable:
    """Makes a table of the mean differences from the baseline.

    Each difference is taken between two runs with the same seed. Means whose interval does not include 0
    are marked. Raises `ValueError`.
    """
    columns = [
        {
            place: interval(less, method)
            for place, less in paired(frame, axes, column, against, zips=zips).items()
            if less
        }
        for column in shown
    ]
    at = list(dict.fromkeys(place for column in columns for place in column))
    rows = [row(*map(spelled, place), *(_difference(column.get(place)) for column in columns)) for place in at]
    note = f"Mean of the differences of runs with the same seed, {_how(method)}. * The interval does not include 0."
    heads = [*(a.replace(".", "\n") for a in axes), *(c.replace(".", "\n") for c in shown)]
    return TextTable(f"Difference from {against}", heads, rows, note, left=len(axes), keep=True)


def _difference(of: Interval | None) -> TextCell:
    if of is None:
        return TextCell("-")
    sure = of.differs()
    return TextCell(f"{said(of)}{' *' if sure else '  '}", "marked" if sure else "plain")


def what_matters(
    frame: pl.DataFrame, axes: Sequence[str], shown: Sequence[str], sampled: Sequence[str], zips: Zips = ()
) -> Iterator[TextTable]:
    """Yields a table of variance shares, then tables of the main effects of axes with few values.

    The variance of each column is divided among the axes, the pairs of axes, the seeds, and a rest (see
    `bloatlab.sweep.effects`).
    """
    found = {column: {e.name: e for e in effects(frame, axes, column, sampled, zips)} for column in shown}
    moved = [column for column in shown if found[column]]
    if not moved:
        yield TextTable("What matters", ["", ""], [row("no axis changes any of these columns", "")])
        return
    names = dict.fromkeys(name for column in moved for name in found[column])
    heads = [column.replace(".", "\n") for column in moved]
    rows: list[list[TextCell]] = []
    for name in sorted(names, key=["rest", "seeds"].__contains__):
        cells = [found[column].get(name) for column in moved]
        texts = ["-" if e is None else f"{100 * e.share:.1f}%{'*' if e.p < 0.01 else ' '}" for e in cells]
        rows.append(row(name, *texts))
    note = "Share of the variance of all runs. * More than seeds alone explain (F, p < 0.01)."
    yield TextTable("What matters", ["", *heads], rows, note)
    for group in together(frame, axes, sampled, zips):
        axis = group[0]
        if 1 < frame[axis].n_unique() <= _MOST_LEVELS and axis not in sampled:
            at = {column: levels(frame, group, column) for column in moved}
            values = dict.fromkeys(value for column in moved for value in at[column])
            head = ",\n".join(name.replace(".", "\n") for name in group)
            body = [row(v, *(_plain(at[c].get(v)) for c in moved)) for v in values]
            yield TextTable("", [head, *heads], body, "Main effect: mean over everything else.")


def _plain(value: float | None) -> str:
    return number(value, 3 if value is not None and abs(value) < 10 else 1)


def where_it_stopped(stops: Sequence[Stop], until: Until) -> str:
    """Says in one line how many grid points reached the targets of `until`, and which is the farthest from them."""
    wanted = ", ".join(map(str, until.targets))
    met = [stop for stop in stops if stop.met]
    line = f"until {wanted}: reached at {len(met)} of {counted(len(stops), 'point')}"
    if met:
        least, most = min(s.seeds for s in met), max(s.seeds for s in met)
        line += f", with {counted(most, 'seed')}" if least == most else f", with {least} to {most} seeds"
    missed = [stop for stop in stops if not stop.met]
    if missed:
        worst = max(missed, key=lambda s: s.over)
        widths = [f"{column} {said(found)}" for column, found in worst.intervals.items()]
        columns = [target.column for target in until.targets]
        widths += [f"{column} has no value" for column in columns if not matching(column, worst.intervals)]
        line += f"; {len(missed)} stopped at most_seeds = {until.most}, the farthest at {worst.at}: {', '.join(widths)}"
    return line
