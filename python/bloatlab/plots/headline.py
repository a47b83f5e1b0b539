"""Summarises runs in one sentence (the headline), and in a small table (the scores)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.measures import direction, value_at
from bloatlab.plots.labels import safe
from bloatlab.plots.measures import bottleneck
from bloatlab.plots.subjects import Run, warning
from bloatlab.tables import counted, listed, number


@dataclass(frozen=True)
class Score:
    """A measure of an application, and how it is shown in the scores table and in the headline.

    `path` is the path of the measure in the application's summary. `row` labels the measure in the table, and `clause`
    introduces its value in the headline; in both, `{}` stands for the application's name. With `of`, the score exists
    only for applications whose summary has this key. With `reverse`, the score is the larger value of both directions.
    """

    path: str
    row: str
    digits: int
    clause: str
    unit: str = ""
    of: str = ""
    reverse: str = ""

    @property
    def more_is_better(self) -> bool:
        """Whether more of the measure is better."""
        return direction(f"apps.any.{self.path}") == "more is better"

    def value(self, app: Mapping[str, Any]) -> float | None:
        """Returns the score in an application's summary; None if the application has no such score."""
        if self.of and self.of not in app:
            return None
        values = [value_at(app, path) for path in (self.path, self.reverse) if path]
        return max((float(v) for v in values if v is not None), default=None)

    def text(self, value: float) -> str:
        """Returns the value with its unit."""
        return f"{number(value, self.digits)}{self.unit}"


#: The scores of applications, in the order of the table's rows. The headline gives the first score that all runs have
#: and that has a `clause`. A score without a `clause` appears only in the table.
_SCORES = (
    Score("voip.mos", "{}: MOS (1 to 4.5)", 2, "{} is worth MOS"),
    Score("web.page_load_s.median", "{}: median page (s)", 2, "a page of {} takes", " s"),
    Score("delay_ms.p99", "{}: 99 % delay (ms)", 1, "99 % of {} takes at most", " ms", "game", "delay_ms_reverse.p99"),
    Score("media.frame_delay_p95_ms", "{}: 95 % frame delay (ms)", 1, "95 % of the frames of {} take at most", " ms"),
    Score("rpm.rpm", "{}: round trips per minute", 0, "the round trips per minute of {} are"),
    Score("ping.rtt_ms.p50", "{}: median round trip (ms)", 1, "the round trip of {} is", " ms"),
    Score("ping.rtt_ms.p99", "{}: 99 % round trip (ms)", 1, ""),
    Score("video.stalled_s", "{}: stalled (s)", 1, "{} stalls for", " s"),
    Score("files.median_s", "{}: median file (s)", 2, "a file of {} takes", " s"),
)

#: The table rows about the link where packets wait longest. Each has a label, the path of its value in the link's
#: summary, the factor by which the value is multiplied, and the number of digits.
_LINK_ROWS = (
    ("{}: median wait (ms)", "sojourn_ms.p50", 1.0, 1),
    ("{}: 99 % wait (ms)", "sojourn_ms.p99", 1.0, 1),
    ("{}: use (%)", "utilisation", 100.0, 1),
    ("{}: dropped packets", "dropped_packets", 1.0, 0),
)

#: Maximum number of rows in the scores table, and the number of these rows that are reserved for the link.
_MOST_ROWS, _FOR_LINK = 9, 3

#: Maximum number of runs whose values the headline gives one by one.
_MOST_NAMED = 4


def _common(runs: Sequence[Run]) -> list[str]:
    return [app for app in runs[0].apps if all(app in run.apps for run in runs[1:])]


def _found(runs: Sequence[Run]) -> list[tuple[Score, str, list[float]]]:
    """Returns (score, application, values), with one value per run.

    An application's score is included only if every run has that score.
    """
    found: list[tuple[Score, str, list[float]]] = []
    for score in _SCORES:
        for app in _common(runs):
            values = [value for run in runs if (value := score.value(run.apps[app])) is not None]
            if len(values) == len(runs):
                found.append((score, app, values))
    return found


def _goodput(run: Run, app: str) -> float | None:
    there, back = (value_at(run.apps[app], f"goodput_mbit{way}") for way in ("", "_reverse"))
    return None if there is None and back is None else (there or 0.0) + (back or 0.0)


def _bulk(runs: Sequence[Run]) -> str | None:
    """Returns the application with the highest goodput in any run, among the applications that all runs have.

    Returns None if no such application has a goodput above 0.
    """
    rates = {app: max(_goodput(run, app) or 0.0 for run in runs) for app in _common(runs)}
    best = max(rates, key=lambda app: rates[app], default=None)
    return best if best is not None and rates[best] > 0.0 else None


def _slower(runs: Sequence[Run]) -> list[str]:
    """Returns the applications that have a goodput but no score, except `_bulk`.

    The application with the lowest goodput in any run comes first. The others keep their order.
    """
    scored = {app for _, app, _ in _found(runs)} | {_bulk(runs)}
    rates = {app: [_goodput(run, app) for run in runs] for app in _common(runs) if app not in scored}
    known = {app: min(of for of in rate if of is not None) for app, rate in rates.items() if None not in rate}
    slowest = min(known, key=lambda app: known[app], default=None)
    return sorted(known, key=lambda app: app != slowest)


def scores(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Returns the rows of the scores table, each with its label and one value per run.

    They are scores of applications, then goodputs: the highest and the lowest first. The row after them gives the
    number of applications without a row, if there are any. The last rows are about the link.
    """
    rows = [
        (app, s.row.format(safe(app, 12)), [number(v, s.digits) for v in values]) for s, app, values in _found(runs)
    ]
    bulk, link = _bulk(runs), bottleneck(runs)
    rates = [
        (app, f"{safe(app, 12)}: goodput (Mbit/s)", [_rate(_goodput(run, app)) for run in runs])
        for app in ([] if bulk is None else [bulk, *_slower(runs)])
    ]
    shown, left_out = _fitting(rows, rates, _MOST_ROWS - _FOR_LINK), 0
    if {app for app, *_ in [*rows, *rates]} > {app for app, *_ in shown}:
        shown = _fitting(rows, rates, _MOST_ROWS - _FOR_LINK - 1)
        left_out = len({app for app, *_ in [*rows, *rates]} - {app for app, *_ in shown})
    table = [(label, cells) for _, label, cells in shown]
    if left_out:
        table.append((counted(left_out, "more application"), [""] * len(runs)))
    if link is None:
        return table[:_MOST_ROWS]
    for label, path, scale, digits in _LINK_ROWS:
        values = [value_at(run.links[link], path) for run in runs]
        if any(value is not None for value in values):
            cells = [number(None if value is None else scale * value, digits) for value in values]
            table.append((label.format(safe(link, 12)), cells))
    return table[:_MOST_ROWS]


#: A row of the scores table: its application, its label, and one value per run.
_Row = tuple[str, str, list[str]]


def _fitting(rows: Sequence[_Row], rates: Sequence[_Row], room: int) -> list[_Row]:
    """Returns the first `room` rows: scores, then goodputs. Up to two rows are reserved for goodputs."""
    return [*rows[: room - len(rates[:2])], *rates][:room]


def _rate(value: float | None) -> str:
    return number(value, 3 if value is not None and abs(value) < 1.0 else 2)


def headline(runs: Sequence[Run]) -> str:
    """Summarises the runs in one sentence.

    Sentences before the summary name invalid live runs. For one run, the summary gives the wait at the bottleneck, the
    first score with a `clause`, the highest goodput of an application, and the lowest goodput of an application without
    a score. For two to four runs, it gives this score of each run, and these goodputs, except of the application with
    the score. For more runs, it gives the best and the worst score, with the names of their runs. If several runs have
    no score in common, it gives their waits.
    """
    clauses = _of_one(runs[0]) if len(runs) == 1 else _of_several(runs)
    text = "; ".join(clauses)
    if text.startswith(("a ", "the ", "packets")):  # a name from the scenario at the beginning is not capitalised
        text = text[0].upper() + text[1:]
    return f"{warning(runs)} {f'{text}.' if clauses else listed([run.label for run in runs])}".lstrip()


def _of_one(run: Run) -> list[str]:
    clauses: list[str] = []
    link = bottleneck([run])
    if link is not None:
        middle, far, use = (value_at(run.links[link], p) for p in ("sojourn_ms.p50", "sojourn_ms.p99", "utilisation"))
        if middle is not None and far is not None:
            used = f", which is {100.0 * use:.0f} % used" if use is not None else ""
            clauses.append(
                f"packets wait {_ms(middle)} in link {safe(link)} (median; 1 % of them {_ms(far)} or more){used}"
            )
    for score, app, values in _found([run]):
        if score.clause:
            clauses.append(f"{score.clause.format(safe(app))} {score.text(values[0])}")
            break
    bulk = _bulk([run])
    if bulk is not None:
        clause = f"{safe(bulk)} gets {_rate(_goodput(run, bulk))} Mbit/s"
        if slower := _slower([run]):
            clause += f" and {safe(slower[0])} {_rate(_goodput(run, slower[0]))} Mbit/s"
        clauses.append(clause + (f" (the most and the least of {1 + len(slower)})" if len(slower) > 1 else ""))
    return clauses


def _of_several(runs: Sequence[Run]) -> list[str]:
    """Returns the clauses of the sentence about several runs.

    The clauses give the value of each run if there are at most `_MOST_NAMED` runs and all have a value, and otherwise
    the best and the worst value.
    """
    many = len(runs) > _MOST_NAMED
    prefix = f"{len(runs)} results: " if many else ""
    score, app, values = next((f for f in _found(runs) if f[0].clause), (None, "", []))
    if score is None:
        return [prefix + clause for clause in _waits(runs)]
    about = prefix + score.clause.format(safe(app))
    labels = [run.label for run in runs]
    if many:
        return [f"{about} {_best_and_worst(values, labels, score.text, more_is_better=score.more_is_better)}"]
    clauses = [f"{about} {_each([score.text(v) for v in values], labels)}"]
    bulk = _bulk(runs)
    if bulk is not None:
        names = [*([bulk] if bulk != app else []), *_slower(runs)[:1]]
        clauses += [f"{safe(n)} gets {listed([_rate(_goodput(run, n)) for run in runs])} Mbit/s" for n in names]
    return clauses


def _waits(runs: Sequence[Run]) -> list[str]:
    link = bottleneck(runs)
    waits = [value_at(run.links[link], "sojourn_ms.p50") for run in runs] if link is not None else []
    known = [w for w in waits if w is not None]
    labels = [run.label for run, w in zip(runs, waits, strict=False) if w is not None]
    if link is None or not known:
        return []
    each = len(known) == len(runs) <= _MOST_NAMED
    wait = _each([_ms(w) for w in known], labels) if each else _best_and_worst(known, labels, _ms, more_is_better=False)
    return [f"packets wait {wait} in link {safe(link)} (median)"]


def _best_and_worst(
    values: Sequence[float], labels: Sequence[str], text: Callable[[float], str], *, more_is_better: bool
) -> str:
    ordered = sorted(zip(values, labels, strict=True), key=lambda one: -one[0] if more_is_better else one[0])
    (best, first), (worst, last) = ordered[0], ordered[-1]
    if text(best) == text(worst):
        return f"{text(best)} with each"
    return f"{text(best)} with {first} (best) and {text(worst)} with {last} (worst)"


def _each(values: Sequence[str], labels: Sequence[str]) -> str:
    return listed([f"{value} with {label}" for value, label in zip(values, labels, strict=True)])


def _ms(value: float) -> str:
    return f"{number(value, 0 if value >= 20.0 else 1)} ms"
