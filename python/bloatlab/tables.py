"""Human-readable tables, and the data behind figures. This module neither simulates nor draws."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray
else:
    from bloatlab.lazy import np, pl

#: The meaning of a cell, for which terminals and pages choose a colour.
Tone = Literal["plain", "good", "bad", "muted", "marked"]


@dataclass(frozen=True, slots=True)
class TextCell:
    """A cell of a human-readable table: its text, its tone, and a `hint` shown by pages on demand.

    `word` ("best") is shown after the text on pages. If it is empty and the text has no letters, pages show a standard
    word for "good", "bad" and "marked". `link` is the address of another page, relative to this one.
    """

    text: str
    tone: Tone = "plain"
    hint: str = ""
    word: str = ""
    link: str = ""


def row(*fields: str | TextCell) -> list[TextCell]:
    """Makes a table row; strings become plain cells."""
    return [field if isinstance(field, TextCell) else TextCell(field) for field in fields]


@dataclass(frozen=True, slots=True)
class TextTable:
    """A human-readable table.

    Each row has one cell for each of `columns`. Columns contain numbers, flush right, except for the first `left`
    columns and, with `words_last`, the last column, which contain text. With `below`, pages and terminals show the last
    cell of each row below the row, over the full width. A table that is too wide for a terminal is split into blocks of
    columns. Every block repeats the text columns on the left or, if room is short, only the first of them; with `keep`,
    always all of them. With `stacked`, a page that is too narrow for the table shows each row as a list of cells, each
    with the name of its column. With `whole`, a terminal does not wrap the first column. `groups` are optional headings
    above adjacent columns, as (heading, number of columns); they cover all columns.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[TextCell]]
    note: str = ""
    groups: Sequence[tuple[str, int]] = ()
    left: int = 1
    words_last: bool = False
    below: bool = False
    keep: bool = False
    stacked: bool = False
    whole: bool = False

    def as_html(self) -> str:
        """Renders the table as plain HTML, styled by the page around it, such as a notebook."""
        words = {*range(self.left), *([len(self.columns) - 1] if self.words_last else [])}

        def cell(tag: str, text: str, column: int, span: int = 1) -> str:
            side = "left" if column in words else "right"
            return f'<{tag} colspan="{span}" style="text-align: {side}">{html.escape(text)}</{tag}>'

        def line(cells: Iterable[str]) -> str:
            return f"<tr>{''.join(cells)}</tr>"

        groups = [line(cell("th", name, 0, span) for name, span in self.groups)] if self.groups else []
        heads = line(cell("th", head, n) for n, head in enumerate(self.columns))
        body = [line(cell("td", one.text, n) for n, one in enumerate(cells)) for cells in self.rows]
        title = f"<caption><b>{html.escape(self.title)}</b></caption>" if self.title else ""
        note = f"<p><small>{html.escape(self.note)}</small></p>" if self.note else ""
        return f"<table>{title}<thead>{''.join([*groups, heads])}</thead><tbody>{''.join(body)}</tbody></table>{note}"

    def _repr_html_(self) -> str:
        return self.as_html()


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the central interval of a quantity over seeds; infinite for an event that never happens."""

    median: float
    low: float
    high: float


def spread(values: Iterable[float], share: float = 0.8) -> Spread:
    """Returns the median and the central `share` of `values` (linear interpolation between order statistics).

    Infinite values are ordered like any other; a quantile between a finite and an infinite value is infinite.
    Raises `ValueError` if there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values to take a spread of")
    tail = (1.0 - share) / 2.0
    return Spread(_quantile(ordered, 0.5), _quantile(ordered, tail), _quantile(ordered, 1.0 - tail))


def _quantile(ordered: Sequence[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    below = math.floor(place + 1e-9)
    weight = max(0.0, place - below)
    if weight < 1e-9 or ordered[below + 1] == ordered[below]:
        return ordered[below]
    return ordered[below] + (ordered[below + 1] - ordered[below]) * weight


def rate_series(frame: pl.DataFrame, bytes_column: str, *, smooth: int = 1) -> pl.DataFrame:
    """Returns `t_s` (the start of each bin) and `rate_mbit` from a series of bytes per bin, summed over all flows.

    Bins have equal width; `smooth` is the number of bins in the running mean. The result is empty for fewer than two
    bins.
    """
    total = frame.group_by("t_s").agg(pl.col(bytes_column).sum()).sort("t_s")
    if total.height < 2:
        return pl.DataFrame({"t_s": [], "rate_mbit": []}, schema={"t_s": pl.Float64, "rate_mbit": pl.Float64})
    t = total["t_s"].to_numpy()
    rate = total[bytes_column].to_numpy() * 8e-6 / (t[1] - t[0])
    if smooth > 1:
        rate = running_mean(rate, smooth)
    return pl.DataFrame({"t_s": t, "rate_mbit": rate})


def answered_pings(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Returns the answered pings of each application: the rows of the table `pings` that have a round-trip time."""
    if not frame.height:
        return {}
    answered = frame.filter(pl.col("rtt_ms").is_not_null() & pl.col("rtt_ms").is_not_nan())
    return {str(app): part for (app,), part in answered.partition_by("app", maintain_order=True, as_dict=True).items()}


def running_mean(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Returns, for each value, the mean over the `bins` values around it; over fewer values at the ends."""
    window = np.ones(bins)
    begin, end = (bins - 1) // 2, (bins - 1) // 2 + len(values)  # numpy's "same" is too long if bins > len(values)
    return (np.convolve(values, window) / np.convolve(np.ones(len(values)), window))[begin:end]


def cumulative_share(frame: pl.DataFrame, value: str, weight: str) -> pl.DataFrame:
    """Returns the distinct values of the column `value` in ascending order, with a column `share`.

    For each value, `share` is the fraction of the total weight that belongs to values at or below it.
    """
    ordered = frame.group_by(value).agg(pl.col(weight).sum()).sort(value)
    total = ordered[weight].sum() or 1.0
    return ordered.select(pl.col(value), (pl.col(weight).cum_sum() / total).alias("share"))


def histogram_quantile(frame: pl.DataFrame, q: float) -> float:
    """Returns the quantile `q` of a histogram with the columns `lower_ms`, `upper_ms` and `count`; NaN if it is empty.

    Bins with the same edges are merged. The result is the midpoint of the bin that contains the quantile. The width
    of a bin is 1 ns or at most 1/1024 of its lower edge.
    """
    bins = frame.group_by("lower_ms", "upper_ms").agg(pl.col("count").sum()).sort("lower_ms")
    total = int(bins["count"].sum())
    if total == 0:
        return math.nan
    reached = bins.filter(pl.col("count").cum_sum() >= math.ceil(max(1.0, q * total)))
    lower, upper, _ = reached.row(0)
    return (lower + upper) / 2.0


def counted(count: int, what: str) -> str:
    """Formats a count with its noun: "1 seed", "3 seeds"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Joins words as in a sentence: "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Returns the key that sorts names with numbers by these numbers: game2 before game11."""
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", name))]
    # of two numbers without leading zeros, the longer is larger; `int` would refuse thousands of digits
    return [(len(part) if i % 2 else 0, part) for i, part in enumerate(parts)], name


def number(value: float | None, digits: int = 1) -> str:
    """Formats a number for display: thin-spaced thousands, "-" for None and NaN, "never" for infinity."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace(",", "\u202f")
