"""The figures and the report for a recommendation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bloatlab import files, report
from bloatlab.advice import recommendation as words
from bloatlab.advice.recommendation import FEW_SEEDS, POINTS, Recommendation, cell, within
from bloatlab.advice.remarks import remarks
from bloatlab.advice.score import Judged
from bloatlab.advice.settings import settings
from bloatlab.advice.tables import as_data, frame, options_table, ranked, wrong_table
from bloatlab.plots import Label, Mark, Panel, Series, save_figure, style
from bloatlab.report import Drawn, Page, Point, Prose, Section, TableBlock, figure_block
from bloatlab.results import write_json, write_table
from bloatlab.scenario import version
from bloatlab.statistics import Interval
from bloatlab.tables import TextTable, counted, number, row

REPORT, DATA, TABLE, SCENARIO = "report.html", "recommendation.json", "options.csv", "scenario.toml"

#: The trade-off figure names all settings if there are at most this many.
ALL_NAMED = 10

_HOW = (
    "A measure has 100 points at good and beyond, 0 at bad and beyond. A run's points are the weighted geometric mean "
    "of its measures, in which fewer than 1 point counts as 1: a full line does not make up for an unusable call."
)


def bind(of: Recommendation, folder: Path, command: str) -> Path:
    """Writes the report and its companion files into a folder; returns the path of the report.

    The other files are the recommendation as JSON, the table of all settings, the figures, and a scenario that runs the
    chosen setting. Raises `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / DATA, as_data(of))
    write_table(frame(of), folder / TABLE)
    files.write(folder / SCENARIO, f"# {words.answer_sentence(of)}\n# {command}\n\n{of.scenario().as_toml()}")
    drawings = [answer_figure(of), measures_figure(of)]
    for drawn in drawings:
        save_figure(drawn.figure(), folder / drawn.name)
    return report.write(page(of, command, drawings), folder / REPORT)


def page(of: Recommendation, command: str, drawings: Sequence[Drawn]) -> Page:
    """Makes the report."""
    q, trips = of.question, counted(len(of.question.line.rtts), "round trip")
    seeds = counted(of.lead.points.n, "seed")
    basis = (
        f"Means of up to {seeds} over {trips}; bars: the 95 % interval of the mean, for settings with at "
        f"least {FEW_SEEDS} seeds. Points: {q.objective.words}."
    )
    name = q.device.words
    question, first = f"{name[:1].upper()}{name[1:]}: which queue and buffer?", figure_block(drawings[0])
    typed = [report.Lines(s.name, s.lines, s.note) for s in settings(of)]
    wrongly = [TableBlock(replace(wrong_table(of), title="")), Prose(words.wrong(of))]
    every = [figure_block(drawings[1]), TableBlock(options_table(of, ranked(of)))]
    notes = remarks(of)
    sections = [
        *([Section("What to set", "settings", typed)] if typed else []),
        *([Section("Compared with other settings", "why", [Prose(notes)])] if notes else []),
        Section("How certain this is", "sure", [Prose(words.sure(of))]),
        Section("If the round-trip time is not what you assumed", "wrong", wrongly),
        Section("Every setting", "options", every),
        Section("The objective", "objective", [TableBlock(_objective_table(of))], _HOW),
    ]
    facts = [
        ("Written by", command),
        ("Simulations", f"{of.runs + of.found} by bloatlab {version()}"),
        ("Device", f"{q.device.name}: {q.device.source}"),
        ("Load", f"{q.load.name}: {q.load.source}"),
        ("Every number", f"in {DATA} and {TABLE}, beside this page; the choice as a scenario in {SCENARIO}"),
    ]
    answer = report.Answer(question, words.answer_sentence(of), _points(of), first, basis)
    return Page("Recommendation", words.asked_words(q), sections, answer, provenance=report.Provenance(facts))


def _points(of: Recommendation) -> list[Point]:
    """Returns the choice's score and measures (beside today's), the leader, and the tied and undecided settings."""
    best, now = of.best, of.today
    note = f"{best.option.name}, of {counted(len(of.judged), 'setting')}"
    points = [Point("Points", f"{number(best.points.mean, 1)} of 100", note, "good")]
    for m in of.question.wanted:
        theirs = "" if now is best else f"today {cell(m, now.values[m.name])} ({now.option.name})"
        ours = f"{cell(m, best.values[m.name])} {m.unit}".rstrip()
        points.append(Point(f"{m.words[:1].upper()}{m.words[1:]}", ours, theirs))
    if of.lead is not best:
        points.append(Point("Leader", of.lead.option.name, f"{number(of.lead.points.mean, 1)} points of 100", "marked"))
    for label, group in (("Tied", of.tied), ("Undecided", of.open)):
        if others := [c.judged for c in group if c.judged is not best]:
            points.append(Point(label, words.grouped(others), "", "marked"))
    return points


def _objective_table(of: Recommendation) -> TextTable:
    rows = [
        row(
            f"{m.words} ({m.unit})" if m.unit else m.words,
            *(f"{value:g}" for value in (m.weight, m.good, m.bad)),
            "ratio" if m.log else "linear",
            f"{m.noticed:g}",
            m.source,
        )
        for m in of.question.wanted
    ]
    columns = ["measure", "weight", "good", "bad", "scale", "noticeable", "source"]
    return TextTable("", columns, rows, words_last=True)


# ------------------------------------------------------------------------------------------------------------- figures


def answer_figure(of: Recommendation) -> Drawn:
    """Plots the score of each setting against its buffer size, with one line per discipline.

    If the objective includes upstream line use, a second panel plots the score from the applications' measures alone
    against line use.
    """
    title, x = "Points of each setting", "buffer (ms at the sustained rate)"
    lines, marks = (
        _lines(of, [(j, within(j.points, POINTS)) for j in of.judged]),
        (Mark("chosen", of.best.option.ms, "x"),),
    )
    panels = [Panel(title, x, "points of 100", lines, _range(of), (0.0, 105.0), marks, log_x=True)]
    caption = "Above: points by buffer, a line for each discipline."
    share = words.share_of(of.question)
    if share is not None:
        panels.append(_trade(of, share.name))
        caption += (
            " Below: points of applications against use of the line, in the same colours; filled points are on the "
            "Pareto front."
        )
    return Drawn("", "recommendation", caption, panels, 1, size=(7.0, 3.0))


def _trade(of: Recommendation, share: str) -> Panel:
    """Plots the score from the applications' measures against line use, with a dot for each setting.

    Each discipline has a colour. The dots of settings on the Pareto front are filled.
    """
    used = {id(j): v.mean for j in of.judged if (v := j.values[share].of) is not None}
    shown = [j for j in of.judged if id(j) in used]
    front = {id(j) for j in of.front}
    series: list[Series] = []
    for label, (colour, mine) in _disciplines(of, shown).items():
        filled, hollow = ([j for j in mine if (id(j) in front) is on] for on in (True, False))
        for n, group in enumerate(part for part in (filled, hollow) if part):
            apps = [within(j.apps, POINTS) for j in group]
            x, y = [used[id(j)] for j in group], [a.mean for a in apps]
            series.append(Series(label, x, y, "points", colour, _bars(apps), hollow=group is hollow, quiet=n > 0))
    low, high = min(used.values()), max(used.values())
    pad = 0.06 * max(high - low, 10.0)
    limits = (max(0.0, low - pad), min(100.0, high + pad))
    labels = [Label(text, used[id(j)], j.apps.mean, j is of.best) for j, text in _named(of, shown, used)]
    title = "Trade-off (filled: on the Pareto front; hollow: not)"
    return Panel(title, "line used (%)", "points of applications", series, limits, (0.0, 105.0), labels=labels)


def _named(of: Recommendation, shown: Sequence[Judged], used: Mapping[int, float]) -> list[tuple[Judged, str]]:
    """Returns the settings that the trade-off names, most important first.

    These are the chosen one, today's, and the best on each axis; all if there are at most `ALL_NAMED`.
    """
    best = [max(shown, key=lambda j: used[id(j)]), max(shown, key=lambda j: j.apps.mean)]
    few = len(shown) <= ALL_NAMED
    wanted = {id(j): j for j in (of.best, of.today, *best, *(shown if few else ())) if id(j) in used}
    notes = {id(of.best): f" ({of.chosen_words})", id(of.today): " (today)"}
    if of.best is of.today:
        notes[id(of.best)] = f" (today, {of.chosen_words})"
    return [(j, f"{j.option.name}{notes.get(place, '')}") for place, j in wanted.items()]


def _disciplines(of: Recommendation, shown: Sequence[Judged]) -> dict[str, tuple[str, list[Judged]]]:
    """Maps each discipline's label to its colour, the same in all figures, and to its settings among `shown`."""
    found: dict[str, tuple[str, list[Judged]]] = {}
    for n, discipline in enumerate(dict.fromkeys(j.option.discipline.name for j in of.judged)):
        mine = [j for j in shown if j.option.discipline.name == discipline]
        if mine:
            one = mine[0].option.discipline
            label = one.label if one.settable else f"{one.label} (not available)"
            found[label] = (style.COLOURS[n % len(style.COLOURS)], mine)
    return found


def measures_figure(of: Recommendation) -> Drawn:
    """Plots every measure, and the time in the queue, against buffer size."""
    panels: list[Panel] = []
    for m in of.question.wanted:
        pairs = [(j, within(v, m.limits)) for j in of.judged if (v := j.values[m.name].of) is not None]
        label = f"{m.words} ({m.unit})" if m.unit else m.words
        values = [v.mean for _, v in pairs if v.mean > 0.0]
        log = m.log and bool(values) and max(values) > 10.0 * min(values) and len(values) == len(pairs)
        y = (0.7 * min(values), 1.4 * max(values)) if log else m.limits
        title = f"{label[:1].upper()}{label[1:]}"
        panels.append(Panel(title, "buffer (ms)", label, _lines(of, pairs), _range(of), y, log_x=True, log_y=log))
    queue = _lines(of, [(j, Interval(j.queue_ms, math.nan, math.nan, 1)) for j in of.judged])
    panels.append(Panel("Time in the queue, p99", "buffer (ms)", "ms", queue, _range(of), (0.0, None), log_x=True))
    return Drawn("", "measures", "Each measure by buffer, for each discipline.", panels, 2, link="buffer")


def _range(of: Recommendation) -> tuple[float, float]:
    sizes = [j.option.ms for j in of.judged]
    return 0.8 * min(sizes), 1.25 * max(sizes)


def _lines(of: Recommendation, pairs: Sequence[tuple[Judged, Interval]]) -> list[Series]:
    """Returns a series per discipline: a line if it has at least three buffer sizes, otherwise separate dots.

    Settings with an interval have a dot with a bar.
    """
    series: list[Series] = []
    values = {id(j): v for j, v in pairs}
    for n, (label, (colour, mine)) in enumerate(_disciplines(of, [j for j, _ in pairs]).items()):
        found = sorted(((j.option.ms, values[id(j)]) for j in mine), key=lambda pair: pair[0])
        again, line = n >= len(style.COLOURS), len(found) > 2
        kind = "line" if line else "points"
        x, y = [ms for ms, _ in found], [v.mean for _, v in found]
        series.append(Series(label, x, y, kind, colour, dashed=again and line, hollow=again and not line))
        if sure := [(ms, v) for ms, v in found if v.n >= FEW_SEEDS]:
            x, y = [ms for ms, _ in sure], [v.mean for _, v in sure]
            series.append(Series(label, x, y, "points", colour, _bars([v for _, v in sure]), quiet=True))
    return series


def _bars(of: Sequence[Interval]) -> tuple[list[float], list[float]]:
    """Returns the lower and upper ends of bars; both are the mean where there is no interval."""
    ends = [(one.low, one.high) if one.n >= FEW_SEEDS else (one.mean, one.mean) for one in of]
    return [low for low, _ in ends], [high for _, high in ends]
