"""What happened, in a sentence, and what the people behind the link got, in a few rows: from the numbers of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bloatlab.plots.labels import safe
from bloatlab.plots.measures import at, bottleneck
from bloatlab.plots.subjects import Run
from bloatlab.tables import listed, number


@dataclass(frozen=True)
class Score:
    """What an application gets: its part of the summary, a name for its row, digits, and half a sentence."""

    path: str
    row: str
    digits: int
    verb: str
    unit: str = ""


#: In the order in which a sentence prefers them.
_SCORES = (
    Score("voip.mos", "{}: MOS (1 to 4.5)", 2, "{} is worth MOS"),
    Score("web.page_load_s.median", "{}: median page (s)", 2, "a page of {} takes", " s"),
    Score("ping.rtt_ms.p50", "{}: median round trip (ms)", 1, "the round trip of {} is", " ms"),
    Score("ping.rtt_ms.p99", "{}: 99 % round trip (ms)", 1, ""),
    Score("video.stalled_s", "{}: stalled (s)", 1, "{} stalls for", " s"),
    Score("files.median_s", "{}: median file (s)", 2, "a file of {} takes", " s"),
)

#: Rows of the link where packets wait longest: words, path in its summary, factor, digits.
_LINK_ROWS = (
    ("{}: median wait (ms)", "sojourn_ms.p50", 1.0, 1),
    ("{}: 99 % wait (ms)", "sojourn_ms.p99", 1.0, 1),
    ("{}: use (%)", "utilisation", 100.0, 1),
    ("{}: dropped packets", "dropped_packets", 1.0, 0),
)

_MOST_ROWS = 8


def _common(runs: Sequence[Run]) -> list[str]:
    return [app for app in runs[0].apps if all(app in run.apps for run in runs[1:])]


def _found(runs: Sequence[Run]) -> list[tuple[Score, str, list[float]]]:
    """Each score of each application that all runs have."""
    found: list[tuple[Score, str, list[float]]] = []
    for score in _SCORES:
        for app in _common(runs):
            values = [at(run.apps[app], score.path) for run in runs]
            if all(v is not None for v in values):
                found.append((score, app, [v for v in values if v is not None]))
    return found


def _goodput(run: Run, app: str) -> float | None:
    there, back = at(run.apps[app], "goodput_mbit"), at(run.apps[app], "goodput_mbit_reverse")
    return None if there is None and back is None else (there or 0.0) + (back or 0.0)


def _bulk(runs: Sequence[Run]) -> str | None:
    """The application, in all runs, that moves most."""
    rates = {app: max(_goodput(run, app) or 0.0 for run in runs) for app in _common(runs)}
    best = max(rates, key=lambda app: rates[app], default=None)
    return best if best is not None and rates[best] > 0.0 else None


def scores(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Rows: a name, and a value per run."""
    rows: list[tuple[str, list[str]]] = []
    for score, app, values in _found(runs):
        rows.append((score.row.format(safe(app, 12)), [number(v, score.digits) for v in values]))
    bulk = _bulk(runs)
    if bulk is not None:
        rows.append((f"{safe(bulk, 12)}: goodput (Mbit/s)", [_digits(_goodput(run, bulk)) for run in runs]))
    link = bottleneck(runs)
    if link is None:
        return rows[:_MOST_ROWS]
    for words, path, scale, digits in _LINK_ROWS:
        values = [at(run.links[link], path) for run in runs]
        if any(value is not None for value in values):
            cells = [number(None if value is None else scale * value, digits) for value in values]
            rows.append((words.format(safe(link, 12)), cells))
    return rows[:_MOST_ROWS]


def _digits(value: float | None) -> str:
    return number(value, 3 if value is not None and abs(value) < 1.0 else 2)


def summary_sentence(runs: Sequence[Run]) -> str:
    """What happened: of one run the wait and what it did; of several the first score and the rate, side by side."""
    return _of_one(runs[0]) if len(runs) == 1 else _of_several(runs)


def _of_one(run: Run) -> str:
    parts: list[str] = []
    link = bottleneck([run])
    if link is not None:
        middle, far = at(run.links[link], "sojourn_ms.p50"), at(run.links[link], "sojourn_ms.p99")
        use = at(run.links[link], "utilisation")
        if middle is not None and far is not None:
            used = f", which is {100.0 * use:.0f} % used" if use is not None else ""
            parts.append(
                f"Packets wait {_ms(middle)} in link {safe(link)} (median; 1 % of them {_ms(far)} or more){used}"
            )
    for score, app, values in _found([run]):
        if score.verb:
            parts.append(f"{score.verb.format(safe(app))} {number(values[0], score.digits)}{score.unit}")
            break
    bulk = _bulk([run])
    if bulk is not None and len(parts) < 3:
        parts.append(f"{safe(bulk)} gets {_digits(_goodput(run, bulk))} Mbit/s")
    return _joined(parts) or run.label


def _of_several(runs: Sequence[Run]) -> str:
    if len(runs) > 4:
        return f"{len(runs)} results: " + _of_several_at(runs)
    found = [f for f in _found(runs) if f[0].verb]
    bulk = _bulk(runs)
    if not found:
        return _waits(runs)
    score, app, values = found[0]
    each = [f"{number(v, score.digits)}{score.unit} with {run.label}" for v, run in zip(values, runs, strict=True)]
    text = f"{score.verb.format(safe(app))} {listed(each)}"
    if bulk is not None and bulk != app:
        rates = [_digits(_goodput(run, bulk)) for run in runs]
        text += f"; {safe(bulk)} gets {listed(rates)} Mbit/s"
    return _capital(text) + "."


def _of_several_at(runs: Sequence[Run]) -> str:
    """The range, where there are too many to name."""
    for score, app, values in _found(runs):
        if score.verb:
            low, high = (number(v, score.digits) for v in (min(values), max(values)))
            return f"{score.verb.format(safe(app))} {low} to {high}{score.unit}."
    return _waits(runs)


def _waits(runs: Sequence[Run]) -> str:
    link = bottleneck(runs)
    if link is not None:
        waits = [at(run.links[link], "sojourn_ms.p50") for run in runs]
        if all(w is not None for w in waits) and len(runs) <= 4:
            each = [f"{_ms(w or 0.0)} with {run.label}" for w, run in zip(waits, runs, strict=True)]
            return f"Packets wait {listed(each)} in link {safe(link)} (median)."
        known = [w for w in waits if w is not None]
        if known:
            return f"Packets wait {_ms(min(known))} to {_ms(max(known))} in link {safe(link)} (median)."
    return listed([run.label for run in runs])


def _ms(value: float) -> str:
    return f"{number(value, 0 if value >= 20.0 else 1)} ms"


def _joined(parts: Sequence[str]) -> str:
    return _capital("; ".join(parts)) + "." if parts else ""


def _capital(text: str) -> str:
    """With a capital, unless a name of somebody's own stands first."""
    return text[:1].upper() + text[1:] if text.startswith(("a ", "the ", "packets")) else text
