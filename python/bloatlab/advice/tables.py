"""A recommendation as tables and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from bloatlab.advice.line import UP
from bloatlab.advice.race import Verdict
from bloatlab.advice.recommendation import (
    FEW_SEEDS,
    Recommendation,
    answer_sentence,
    asked_words,
    cell,
    chosen_words,
    sure,
    wrong,
)
from bloatlab.advice.score import Judged
from bloatlab.advice.settings import limits, settings
from bloatlab.judgement import finite
from bloatlab.tables import TextCell, TextTable, Tone, counted, number, row

#: Options of which a terminal shows all.
FEW = 10


def ranked(of: Recommendation) -> list[Judged]:
    """All options: what the device has today, the chosen one, then the most points first."""
    by_points = [of.lead, *(c.judged for c in of.others)]
    first = [j for j in (of.today, of.best) if j is not None]
    return list({id(j): j for j in (*first, *by_points)}.values())


def told_first(of: Recommendation) -> list[Judged]:
    """What a terminal shows: today's, the front, what is not behind, what is not available; all of few."""
    if len(of.judged) <= FEW:
        return ranked(of)
    close = (*of.tied, *of.open)
    kept = {id(j) for j in (*of.front, of.lead, of.best, *(c.judged for c in close), of.today) if j is not None}
    return [j for j in ranked(of) if id(j) in kept or not j.option.discipline.settable]


def verdict(of: Recommendation, one: Judged) -> tuple[str, Tone]:
    """What it is beside the leader, in a word or three."""
    if one is of.best:
        return ("leads" if of.question.quick else "chosen"), "good"
    if not one.option.discipline.settable:
        return "not available", "muted"
    if one is of.lead:
        return _word(next(c.verdict for c in of.others if c.judged is of.best))
    return _word(next(c.verdict for c in of.others if c.judged is one))


def _word(of: Verdict) -> tuple[str, Tone]:
    return ("undecided" if of == "not separated" else of), ("bad" if of == "behind" else "marked")


def options_table(of: Recommendation, chosen: Sequence[Judged], title: str = "") -> TextTable:
    """A row per option: points, measures with their intervals, the time in the queue, whether it is on the front."""
    wanted = of.question.wanted
    rows: list[list[TextCell]] = []
    for one in chosen:
        word, tone = verdict(of, one)
        mark = " *" if one in of.front else ""
        today = "today, " if one is of.today else ""
        half = f" ±{number(one.points.half, 1)}" if one.points.n >= FEW_SEEDS else ""
        points = f"{number(one.points.mean, 1)}{half}"
        values = (cell(m, one.values[m.name]) for m in wanted)
        told = TextCell(f"{today}{word}{mark}", tone)
        rows.append(row(one.option.name, told, str(one.points.n), points, *values, number(one.queue_ms, 0)))
    heads = [f"{m.words}\n{m.unit}".rstrip() for m in wanted]
    note = (
        f"Mean over {counted(len(of.question.line.rtts), 'round trip')} and the seeds, ± half the 95 % interval "
        f"(Student's t) from {FEW_SEEDS} seeds on. Undecided: not separated yet from the most points. * On the Pareto "
        "front: nothing else on the device is noticeably better in one measure and noticeably worse in none."
    )
    columns = ["option", "", "seeds", "points\nof 100", *heads, "queue p99\nms"]
    return TextTable(title, columns, rows, note, left=2, keep=True)


def wrong_table(of: Recommendation) -> TextTable:
    """The dilemma: buffers made for one round trip at another. Points, the line's share, the queue."""
    share = next((m for m in of.question.wanted if m.value == "share_percent" and m.direction == UP), None)
    at = list(of.guesses[0].at)
    rows: list[list[TextCell]] = []
    for guess in of.guesses:
        cells = [f"{guess.option.name}{f', {chosen_words(of)}' if guess.option == of.best.option else ''}"]
        for rtt in at:
            one = guess.at[rtt]
            used = one.values[share.name].of if share is not None else None
            parts = [number(one.points.mean, 0)]
            parts += [f"{number(used.mean, 0)} %"] if used is not None else []
            parts += [f"{number(one.queue_ms, 0)} ms"]
            cells.append(", ".join(parts))
        rows.append(row(*cells))
    parts_told = ", line used" if share else ""
    note = (
        f"Points of 100{parts_told}, p99 of the time in the queue. Buffers are one bandwidth-delay product of each "
        f"round trip, and the {chosen_words(of)} one."
    )
    heads = ["buffer", *(f"round trip\n{rtt * 1e3:g} ms" for rtt in at)]
    return TextTable("If the round-trip time is not what you assumed", heads, rows, note)


def as_data(of: Recommendation) -> dict[str, Any]:
    """Everything as JSON."""
    q, line = of.question, of.question.line
    low, target, high = limits(of)
    return {
        "question": {
            "words": asked_words(q),
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
            "words": answer_sentence(of),
            "sure": sure(of),
            "leader": of.lead.option.name,
            "race_ended_by": of.raced.end,
            "failing": [m.name for m in of.failing],
            "buffer_bytes": target,
            "buffer_ms": of.best.option.ms,
            "tied_from_bytes": low,
            "tied_to_bytes": high,
            "queue": of.best.option.queue,
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
        "wrong_words": wrong(of),
        "runs": of.runs,
        "found": of.found,
    }


def _option(of: Recommendation, one: Judged) -> dict[str, Any]:
    behind = next((b for b in of.others if b.judged is one), None)
    return {
        "option": one.option.name,
        "verdict": verdict(of, one)[0],
        "front": one in of.front,
        "buffer_bytes": one.option.size,
        "buffer_ms": one.option.ms,
        "seeds": one.points.n,
        "points": one.points.mean,
        "points_low": finite(one.points.low),
        "points_high": finite(one.points.high),
        "behind": None if behind is None else {"by": behind.by.mean, "low": behind.by.low, "high": behind.by.high},
        "values": {
            name: {
                "mean": v.of.mean if v.of else None,
                "low": finite(v.of.low) if v.of else None,
                "high": finite(v.of.high) if v.of else None,
                "missing": v.missing,
            }
            for name, v in one.values.items()
        },
        "queue_p99_ms": one.queue_ms,
    }


def frame(of: Recommendation) -> pl.DataFrame:
    """A row per option: the same as a table of numbers."""
    rows: list[dict[str, Any]] = []
    for one in ranked(of):
        data = _option(of, one)
        values = {f"{n}_{k}": v for n, of_ in data.pop("values").items() for k, v in of_.items()}
        behind = data.pop("behind") or {"by": None, "low": None, "high": None}
        rows.append({**data, **values, **{f"behind_{k}": v for k, v in behind.items()}})
    return pl.DataFrame(rows, infer_schema_length=None)
