"""A recommendation in words: the choice, its reason in the units of the measures, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bloatlab.advice.catalogue import Wanted
from bloatlab.advice.recommend import Question, Recommendation
from bloatlab.advice.score import Judged, Value
from bloatlab.tables import counted, number

#: A file by which the line's share is told, bytes.
UPLOAD_BYTES = 100e6


def asked_words(of: Question) -> str:
    """The question: line, device, load."""
    line = of.line
    burst = f", {_mbit(line.peak)} while a burst of {_bytes(line.burst)} lasts" if line.peak and line.burst else ""
    return f"{of.device.words}, {_mbit(line.up)} up{burst}; {rtts_words(line.rtts)}; {of.load.words}"


def rtts_words(rtts: Sequence[float]) -> str:
    """Round trips: "round trips of 20, 63 and 200 ms"."""
    told = [f"{rtt * 1e3:g}" for rtt in rtts]
    if len(told) == 1:
        return f"a round trip of {told[0]} ms"
    return f"round trips of {', '.join(told[:-1])} and {told[-1]} ms"


def sentence(of: Recommendation) -> str:
    """What to set, and why, beside what the device does today."""
    best = of.best
    words = f"Set {best.option.words}: {number(best.option.size, 0)} bytes"
    today = of.today
    if today is None or today is best:
        told = ", ".join(_one(m, best.values[m.name]) for m in of.question.wanted)
        rest = " It has that today." if today is best else ""
        return f"{words}.{rest} {told[:1].upper()}{told[1:]}."
    told = "; ".join(_beside(m, best.values[m.name], today.values[m.name], of.question) for m in of.question.wanted)
    return f"{words}. Today it has {today.option.words}. {told[:1].upper()}{told[1:]}."


def sure(of: Recommendation) -> list[str]:
    """How sure it is: what the intervals separate, what is a tie, what would be better and cannot be set."""
    found: list[str] = []
    seeds, noticed = counted(of.question.seeds, "seed"), of.question.objective.noticed
    apart = [b for b in of.behind if b.judged.option.discipline.settable]
    if apart:
        nearest = apart[0]
        found.append(
            f"Its {number(of.best.points.mean, 1)} points of 100 are more than those of {_of(len(apart), 'other')}, by "
            f"{number(nearest.by.mean, 1)} or more; the nearest is {nearest.judged.option.name}, whose interval of the "
            f"difference is {number(nearest.by.low, 1)} to {number(nearest.by.high, 1)} ({seeds}, all comparisons "
            "together 95 %)."
        )
    if of.tied:
        unsure = [b.judged for b in of.tied if not b.sure and b in of.alike]
        few = [b for b in of.tied if not b.sure and b not in of.alike]
        small = [b.judged for b in of.tied if b.sure]
        if unsure:
            found.append(f"A tie: {seeds} do not separate it from {grouped(unsure)}.")
        if few:
            found.append(
                f"Nor from {grouped(b.judged for b in few)}, {number(few[0].by.mean, 1)} points or more behind on "
                "average but with much scatter: more --seeds would tell."
            )
        if small:
            least = f"{number(noticed, 1)} point" + ("" if noticed == 1.0 else "s")
            found.append(
                f"A tie, too: better than {grouped(small)}, but by less than {least}, which nobody would notice."
            )
    if not apart and not of.tied:
        found.append("There is nothing else to set.")
    for other in of.others:
        discipline = other.judged.option.discipline
        if not discipline.settable:
            by = -other.by.mean
            verdict = "as good, as far as these seeds tell"
            if other.by.high < 0.0 or other.by.low > 0.0:
                verdict = f"{number(abs(by), 1)} points {'better' if by > 0.0 else 'worse'}"
            found.append(f"{other.judged.option.words} would be {verdict}, but cannot be set: {discipline.note}.")
    return found


def _of(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def grouped(all_: Iterable[Judged]) -> str:
    """Options by discipline: "droptail 40 ms, 63 ms; codel 1 s"."""
    by: dict[str, list[str]] = {}
    for one in all_:
        name = one.option.discipline.name
        by.setdefault(name, []).append(one.option.name.removeprefix(f"{name} "))
    return "; ".join(f"{name} {', '.join(sizes)}" for name, sizes in by.items())


def wrong(of: Recommendation) -> list[str]:
    """What it costs when the round trip is not the one that a buffer was made for."""
    made = [g for g in of.guesses if g.guess is not None]
    (low, high) = made[0], made[-1]
    if low.guess is None or high.guess is None or low.guess == high.guess:
        return []
    share, told = _share(of.question), []
    short, long_ = low.at[high.guess], high.at[low.guess]
    right = high.at[high.guess]
    used = ""
    if share is not None:
        carried, could = (_said(share, j.values[share.name]) for j in (short, right))
        used = f"the line carries {carried} instead of {could}"
    told.append(
        f"A buffer of one bandwidth-delay product at {low.guess * 1e3:g} ms ({low.option.words}), where "
        f"the round trip is {high.guess * 1e3:g} ms: {used or f'{number(short.points.mean, 1)} points'}."
    )
    told.append(
        f"One for {high.guess * 1e3:g} ms where it is {low.guess * 1e3:g} ms: packets wait "
        f"{number(long_.queue_ms, 0)} ms (p99) instead of {number(low.at[low.guess].queue_ms, 0)} ms."
    )
    chosen = next((g for g in of.guesses if g.guess is None), None)
    if chosen is not None:
        points = [chosen.at[rtt].points.mean for rtt in chosen.at]
        told.append(
            f"The recommended setting has {number(min(points), 1)} to {number(max(points), 1)} points over these "
            "round trips."
        )
    return told


def _share(of: Question) -> Wanted | None:
    return next((m for m in of.wanted if m.value == "share_percent"), None)


def _one(m: Wanted, value: Value) -> str:
    return f"{m.words} {_said(m, value)}"


def _beside(m: Wanted, ours: Value, theirs: Value, of: Question) -> str:
    if _said(m, ours) == _said(m, theirs):
        return f"{m.words} {_said(m, ours)}, as today"
    words = f"{m.words} {_said(m, ours)} instead of {_said(m, theirs)}"
    if m.value == "share_percent" and ours.of is not None and theirs.of is not None:
        one, two = (UPLOAD_BYTES * 8.0 / (of.line.up * max(v.of.mean, 0.01) / 100.0) for v in (ours, theirs) if v.of)
        words += f": 100 MB up in {number(one, 0)} s instead of {number(two, 0)}"
    return words


def _said(m: Wanted, value: Value) -> str:
    """A value with its unit; "never" where no run has one."""
    if value.of is None:
        return "never"
    unit = f" {m.unit}" if m.unit and m.unit != "MOS" else ""
    name = f"{m.unit} " if m.unit == "MOS" else ""
    some = f" (and never in {value.missing} of {counted(value.runs, 'run')})" if value.missing else ""
    return f"{name}{number(value.of.mean, m.digits)}{unit}{some}"


def cell(m: Wanted, value: Value) -> str:
    """A value in a table: its mean and half its interval."""
    if value.of is None:
        return "never"
    half = value.of.half
    text = number(value.of.mean, m.digits)
    if half > 0.0 and math.isfinite(half):
        text += f" ±{number(half, m.digits)}"
    return f"{text} ({value.missing} never)" if value.missing else text


def _mbit(rate: float) -> str:
    return f"{rate / 1e6:g} Mbit/s"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} kB"
