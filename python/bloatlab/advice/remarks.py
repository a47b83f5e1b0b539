"""Remarks on a recommendation, computed from its runs: what today's AQM costs, and what else is nearly as good.

as good for calls    the call's MOS is not noticeably lower, and the use of the line is higher by at least `MORE`
today's AQM          its time in the queue, beside that of the choice; without downloads, its time and the call's MOS
a router in front    fq_codel, for modems that do not have CoDel
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from bloatlab.advice.catalogue import Load, Wanted
from bloatlab.advice.line import DOWN
from bloatlab.advice.recommendation import Recommendation, share_of
from bloatlab.advice.score import Judged, of_direction
from bloatlab.tables import counted, number

#: The smallest additional use of the line that is worth a remark, in percent of the line's capacity.
MORE = 5.0


def without_downloads(load: Load) -> Load | None:
    """Returns the load without its downloads; None if it has no downloads or nothing else."""
    kept: Mapping[str, Mapping[str, object]] = {k: app for k, app in load.apps.items() if not of_direction(app, DOWN)}
    return replace(load, apps=kept) if 0 < len(kept) < len(load.apps) else None


def as_good(of: Recommendation) -> Judged | None:
    """Returns the best other setting that is as good for calls as the choice and uses clearly more of the line."""
    share, call = share_of(of.question), _call(of)
    if share is None or call is None or of.question.quick or of.failing:
        return None

    # a comparison with a missing value, NaN, is false
    used, mos = _mean(of.best, share), _mean(of.best, call)
    found = [
        one
        for one in of.judged
        if one.option.discipline.settable
        and mos - _mean(one, call) < call.noticed
        and _mean(one, share) - used >= MORE
        and not one.values[call.name].nothing
    ]
    return max(found, key=lambda one: one.points.mean, default=None)


def remarks(of: Recommendation) -> list[str]:
    """Returns the remarks as sentences. A quick look has none."""
    if of.question.quick:
        return []
    return [text for text in (_as_good(of), _aqm(of), _router(of)) if text]


def _as_good(of: Recommendation) -> str:
    other, share, call = as_good(of), share_of(of.question), _call(of)
    if other is None or share is None or call is None:
        return ""
    ours, theirs = _mean(of.best, share), _mean(other, share)
    worse = [
        f"{m.words} {_mean_text(other, m)} instead of {_mean_text(of.best, m)}"
        for m in of.question.wanted
        if _loses(m, other, of.best)
    ]
    price = f" The price: {'; '.join(worse)}." if worse else ""
    points = of.best.points.mean - other.points.mean
    fewer = f"{number(abs(points), 1)} points {'fewer' if points >= 0.0 else 'more'}"
    return (
        f"{other.option.name} is as good for calls (MOS {number(_mean(other, call), 2)}) and uses "
        f"{number(theirs - ours, 1)} % more of the line ({number(theirs, 1)} instead of {number(ours, 1)} %).{price} "
        f"In all, it has {fewer}."
    )


def _aqm(of: Recommendation) -> str:
    """Compares today's setting with the choice, if only today's has an AQM Latency Target."""
    now, best, call = of.today, of.best, _call(of)
    if now.option.discipline.aqm_target_ms is None or best.option.discipline.aqm_target_ms is not None:
        return ""
    text = (
        f"Why not the AQM? Behind {now.option.name}, packets wait {number(now.queue_ms, 0)} ms (p99 in the queue), "
        f"behind {best.option.name} {number(best.queue_ms, 0)} ms."
    )
    if of.without is not None:
        calls = "" if call is None else f" and MOS {number(_mean(of.without, call), 2)}"
        text += f" Without the download, today's AQM has {number(of.without.queue_ms, 0)} ms{calls}."
    return f'{text} docs/recommend.md explains it under "Why not the AQM?".'


def _router(of: Recommendation) -> str:
    if of.router is None:
        return ""
    values = "; ".join(
        f"{m.words} {_mean_text(of.router, m)}" for m in of.question.wanted if of.router.values[m.name].of is not None
    )
    burst = ", and the line's burst is not used" if of.question.line.peak else ""
    return (
        f"A router in front of the modem that shapes to 95 % of the rate with fq_codel would have "
        f"{number(of.router.points.mean, 1)} points: {values} ({counted(of.router.points.n, 'seed')}; the modem's own "
        f"delay is left out{burst})."
    )


def _call(of: Recommendation) -> Wanted | None:
    return next((m for m in of.question.wanted if m.unit == "MOS"), None)


def _mean(of: Judged, m: Wanted) -> float:
    found = of.values[m.name].of
    return math.nan if found is None else found.mean


def _mean_text(of: Judged, m: Wanted) -> str:
    text = number(_mean(of, m), m.digits)
    return f"MOS {text}" if m.unit == "MOS" else f"{text} {m.unit}".rstrip()


def _loses(m: Wanted, one: Judged, other: Judged) -> bool:
    """Returns whether the first setting is noticeably worse in a measure."""
    more = _mean(one, m) - _mean(other, m)
    return (-more if m.better == "more" else more) >= m.noticed > 0.0
