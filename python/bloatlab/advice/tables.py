"""A recommendation as tables and as data."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from bloatlab.advice import recommendation as words
from bloatlab.advice.catalogue import Wanted
from bloatlab.advice.recommendation import FEW_SEEDS, POINTS, Recommendation, cell, within
from bloatlab.advice.remarks import remarks
from bloatlab.advice.score import Judged, Value
from bloatlab.advice.settings import limits, settings
from bloatlab.judgement import finite
from bloatlab.tables import TextCell, TextTable, Tone, counted, number, row

#: A terminal shows all settings by default if there are at most this many.
FEW = 10


def ranked(of: Recommendation) -> list[Judged]:
    """Returns all settings: today's, the chosen one, the leader, then all others, nearest to the leader first."""
    return list({id(j): j for j in (of.today, of.best, of.lead, *(c.judged for c in of.others))}.values())


def shown_first(of: Recommendation) -> list[Judged]:
    """Returns the settings shown on a terminal by default.

    These are all settings if there are at most `FEW`; otherwise today's, the chosen one, the leader, those on the
    Pareto front, those tied or undecided, and those that are not available.
    """
    if len(of.judged) <= FEW:
        return ranked(of)
    kept = {id(j) for j in (*of.front, of.lead, of.best, of.today, *(c.judged for c in (*of.tied, *of.open)))}
    return [j for j in ranked(of) if id(j) in kept or not j.option.discipline.settable]


def verdict(of: Recommendation, one: Judged) -> tuple[str, Tone]:
    """Returns the verdict on a setting, in a word or two."""
    if one is of.best:
        return ("leader" if of.question.quick else "chosen"), "good"
    if not one.option.discipline.settable:
        return "not available", "muted"
    if one is of.lead:
        return "leader", "marked"
    word = next(c.verdict for c in of.others if c.judged is one)
    return ("undecided" if word == "not separated" else word), ("bad" if word == "behind" else "marked")


def options_table(of: Recommendation, chosen: Sequence[Judged], title: str = "") -> TextTable:
    """Makes a table with one row per setting.

    The columns are the name, the verdict (with an asterisk on the Pareto front), the number of seeds, the points, the
    measures, and the 99th percentile of the time in the queue.
    """
    wanted = of.question.wanted
    rows: list[list[TextCell]] = []
    for one in chosen:
        word, tone = verdict(of, one)
        today = "today, " if one is of.today else ""
        half = f" ±{number(one.points.half, 1)}" if one.points.n >= FEW_SEEDS else ""
        points = f"{number(one.points.mean, 1)}{half}"
        values = (cell(m, one.values[m.name]) for m in wanted)
        label = TextCell(f"{today}{word}{' *' if one in of.front else ''}", tone)
        rows.append(row(one.option.name, label, str(one.points.n), points, *values, number(one.queue_ms, 0)))
    heads = [f"{m.words}\n{m.unit}".rstrip() for m in wanted]
    note = _note(of, chosen)
    columns = ["option", "", "seeds", "points\nof 100", *heads, "queue p99\nms"]
    return TextTable(title, columns, rows, note, left=2, keep=True, whole=True)


def _note(of: Recommendation, chosen: Sequence[Judged]) -> str:
    """Returns the note below the table of these settings, which explains its intervals, verdicts and asterisks."""
    note = f"Means over {counted(len(of.question.line.rtts), 'round trip')} and all seeds"
    if any(one.points.n >= FEW_SEEDS for one in chosen):
        note += f", ± half the 95 % interval (Student's t) for settings with at least {FEW_SEEDS} seeds"
    verdicts = {verdict(of, one)[0] for one in chosen}
    found = [note, *_targets(chosen)]
    if "leader" in verdicts:
        found.append("Leader: has the most points of all available settings")
    if "undecided" in verdicts:
        leader = "the leader" if "leader" in verdicts else "the chosen setting"
        found.append(f"Undecided: it is not yet certain whether it is as good as {leader}")
    found.append(
        "* On the Pareto front: any other available setting that is noticeably better in one measure is noticeably "
        "worse in another"
    )
    return f"{'. '.join(found)}."


def _targets(chosen: Sequence[Judged]) -> list[str]:
    """Explains how settings with an AQM target are named, with the first of them as an example.

    The list is empty if there is no such setting.
    """
    for one in chosen:
        target = one.option.discipline.aqm_target_ms
        if target is not None and one.option.name.startswith(f"{one.option.discipline.name} "):
            return [f"{one.option.name}: {one.option.words}"]
    return []


def wrong_table(of: Recommendation) -> TextTable:
    """Makes a table of points, line use and time in the queue.

    It has one row per buffer and one column per true round trip.
    """
    share = words.share_of(of.question)
    rows: list[list[TextCell]] = []
    for guess in of.guesses:
        cells = [f"{guess.option.name}{f', {of.chosen_words}' if guess.option == of.best.option else ''}"]
        for one in guess.at.values():
            used = one.values[share.name].of if share is not None else None
            line = f", {number(used.mean, 0)} %" if used is not None else ""
            cells.append(f"{number(one.points.mean, 0)}{line}, {number(one.queue_ms, 0)} ms")
        rows.append(row(*cells))
    note = (
        f"Each cell: points of 100{', line used' if share else ''}, p99 of the time in the queue. The buffers are one "
        f"bandwidth-delay product of each round trip, and the {of.chosen_words} one."
    )
    heads = ["buffer", *(f"round trip\n{rtt * 1e3:g} ms" for rtt in of.guesses[0].at)]
    return TextTable("If the round-trip time is not what you assumed", heads, rows, note)


def as_data(of: Recommendation) -> dict[str, Any]:
    """Returns the recommendation as plain data for JSON."""
    q, line = of.question, of.question.line
    low, target, high = limits(of)
    return {
        "question": {
            "words": words.asked_words(q),
            "up_bit_s": line.up,
            "down_bit_s": line.down,
            "peak_bit_s": line.peak,
            "burst_bytes": line.burst,
            "rtts_s": list(line.rtts),
            "device": q.device.name,
            "load": q.load.name,
            "objective": q.objective.name,
            "weights": {m.name: m.weight for m in q.wanted},
            "seeds": q.seeds,
            "runs": q.runs,
            "quick": q.quick,
            "seconds": q.load.seconds,
        },
        "choice": {
            "option": of.best.option.name,
            "words": words.answer_sentence(of),
            "sure": words.sure(of),
            "leader": of.lead.option.name,
            "race_ended_by": of.raced.end,
            "failing": [m.name for m in of.failing],
            "buffer_bytes": target,
            "buffer_ms": of.best.option.ms,
            "tied_from_bytes": low,
            "tied_to_bytes": high,
            "queue": of.best.option.queues.up,
            "remarks": remarks(of),
            "settings": [{"name": s.name, "lines": list(s.lines), "note": s.note} for s in settings(of)],
        },
        "options": [_option(of, one) for one in ranked(of)],
        "wrong": [
            {
                "made_for_s": g.guess,
                "option": g.option.name,
                "at": [{"rtt_s": rtt, "points": j.points.mean, "queue_p99_ms": j.queue_ms} for rtt, j in g.at.items()],
            }
            for g in of.guesses
        ],
        "wrong_words": words.wrong(of),
        "runs": of.runs,
        "found": of.found,
    }


def _option(of: Recommendation, one: Judged) -> dict[str, Any]:
    behind = next((c.by for c in of.others if c.judged is one), None)
    points = within(one.points, POINTS)
    return {
        "option": one.option.name,
        "verdict": verdict(of, one)[0],
        "front": one in of.front,
        "buffer_bytes": one.option.size,
        "buffer_ms": one.option.ms,
        "seeds": one.points.n,
        "points": one.points.mean,
        "points_low": finite(points.low),
        "points_high": finite(points.high),
        "behind": None if behind is None else {"by": behind.mean, "low": behind.low, "high": behind.high},
        "values": {m.name: _value(m, one.values[m.name]) for m in of.question.wanted},
        "queue_p99_ms": one.queue_ms,
    }


def _value(m: Wanted, of: Value) -> dict[str, Any]:
    if of.of is None:
        return {"mean": None, "low": None, "high": None, "missing": of.missing}
    found = within(of.of, m.limits)
    return {"mean": found.mean, "low": finite(found.low), "high": finite(found.high), "missing": of.missing}


def frame(of: Recommendation) -> pl.DataFrame:
    """Returns a data frame with one row per setting."""
    rows: list[dict[str, Any]] = []
    for one in ranked(of):
        data = _option(of, one)
        values = {f"{n}_{k}": v for n, of_ in data.pop("values").items() for k, v in of_.items()}
        behind = data.pop("behind") or {"by": None, "low": None, "high": None}
        rows.append({**data, **values, **{f"behind_{k}": v for k, v in behind.items()}})
    return pl.DataFrame(rows, infer_schema_length=None)
