"""The figure and the report of a recommendation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bloatlab import files
from bloatlab.advice.line import UP
from bloatlab.advice.recommendation import (
    Recommendation,
    answer_sentence,
    asked_words,
    cell,
    chosen_words,
    grouped,
    sure,
    wrong,
)
from bloatlab.advice.score import Judged
from bloatlab.advice.settings import settings
from bloatlab.advice.tables import as_data, frame, options_table, ranked, wrong_table
from bloatlab.plots import Mark, Panel, Series, save_figure, style
from bloatlab.report import (
    Answer,
    Drawn,
    Lines,
    Page,
    Point,
    Prose,
    Provenance,
    Section,
    TableBlock,
    figure_block,
    write,
)
from bloatlab.results import write_json, write_table
from bloatlab.scenario import version
from bloatlab.statistics import Interval
from bloatlab.tables import TextTable, counted, number, row

REPORT, DATA, TABLE, SCENARIO = "report.html", "recommendation.json", "options.csv", "scenario.toml"


def bind(of: Recommendation, folder: Path, command: str) -> Path:
    """Leave a folder: report, data, table of options, figures, the scenario of the choice; returns the report.

    Raises `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / DATA, as_data(of))
    write_table(frame(of), folder / TABLE)
    files.write(folder / SCENARIO, f"# {answer_sentence(of)}\n# {command}\n\n{of.scenario().as_toml()}")
    drawings = [answer_figure(of), measures_figure(of)]
    for drawn in drawings:
        save_figure(drawn.figure(), folder / drawn.name)
    return write(page(of, command, drawings), folder / REPORT)


def page(of: Recommendation, command: str, drawings: Sequence[Drawn]) -> Page:
    """The report."""
    q = of.question
    basis = (
        f"Means of up to {counted(of.lead.points.n, 'seed')} over {counted(len(q.line.rtts), 'round trip')}; bars: the "
        f"95 % interval of the mean. Points: {q.objective.words}."
    )
    answer = Answer(
        f"What should the queue of this {q.device.words} be?",
        answer_sentence(of),
        _points(of),
        figure_block(drawings[0]),
        basis,
    )
    typed = [Lines(s.name, s.lines, s.note) for s in settings(of)]
    sections = [
        *([Section("What to set", "settings", typed)] if typed else []),
        Section("How sure this is", "sure", [Prose(sure(of))]),
        Section(
            "If the round-trip time is another",
            "wrong",
            [TableBlock(replace(wrong_table(of), title="")), Prose(wrong(of))],
        ),
        Section("Every option", "options", [figure_block(drawings[1]), TableBlock(options_table(of, ranked(of)))]),
        Section("What is wanted", "objective", [TableBlock(_objective_table(of))], _HOW),
    ]
    return Page(
        "Recommendation",
        asked_words(q),
        sections,
        answer,
        provenance=Provenance(
            [
                ("Written by", command),
                ("Simulations", f"{of.runs + of.found} by bloatlab {version()}"),
                ("Device", f"{q.device.name}: {q.device.source}"),
                ("Load", f"{q.load.name}: {q.load.source}"),
                ("Every number", f"in {DATA} and {TABLE}, beside this page; the choice as a scenario in {SCENARIO}"),
            ]
        ),
    )


_HOW = (
    "A measure has 100 points at good and beyond, 1 at bad and beyond. An option's points are the weighted geometric "
    "mean of its measures, so that a full line does not pay for a call that nobody can hold."
)


def _points(of: Recommendation) -> list[Point]:
    """For calls, pages, uploads: the choice beside today."""
    points = [
        Point(
            "Points",
            f"{number(of.best.points.mean, 1)} of 100",
            f"{of.best.option.name}, of {counted(len(of.judged), 'option')}",
            "good",
        )
    ]
    for m in of.question.wanted:
        ours = cell(m, of.best.values[m.name])
        theirs = ""
        if of.today is not None and of.today is not of.best:
            theirs = f"today {cell(m, of.today.values[m.name])} ({of.today.option.name})"
        points.append(Point(f"{m.words[:1].upper()}{m.words[1:]}", f"{ours} {m.unit}".rstrip(), theirs))
    if of.tied:
        points.append(Point("Tied", grouped([c.judged for c in of.tied]), "", "marked"))
    if of.open:
        points.append(Point("Not separated yet", grouped([c.judged for c in of.open]), "", "marked"))
    return points


def _objective_table(of: Recommendation) -> TextTable:
    rows = [
        row(
            f"{m.words} ({m.unit})" if m.unit else m.words,
            *(f"{number:g}" for number in (m.weight, m.good, m.bad)),
            "ratio" if m.log else "linear",
            f"{m.noticed:g}",
            m.source,
        )
        for m in of.question.wanted
    ]
    return TextTable("", ["measure", "weight", "good", "bad", "between", "noticed", "source"], rows, words_last=True)


# ------------------------------------------------------------------------------------------------------------- figures


def answer_figure(of: Recommendation) -> Drawn:
    """Points against the buffer, by discipline; and what is traded: the applications' points against the line's use."""
    points = Panel(
        "Points of each setting",
        "buffer (ms at the sustained rate)",
        "points of 100",
        _lines(of, [(j, j.points) for j in of.judged]),
        _range(of),
        (0.0, 105.0),
        (Mark("chosen", of.best.option.ms, "x"),),
        log_x=True,
    )
    panels = [points]
    share = next((m for m in of.question.wanted if m.value == "share_percent" and m.direction == UP), None)
    if share is not None:
        panels.append(_trade(of, share.name))
    caption = "Above: points by buffer, a line for each discipline. " + (
        "Below: what applications get against how much of the line is used; filled points are on the Pareto front."
        if len(panels) > 1
        else ""
    )
    return Drawn("", "recommendation", caption.strip(), panels, 1, size=(7.0, 2.8))


def _trade(of: Recommendation, share: str) -> Panel:
    series: list[Series] = []
    groups: dict[str, list[Judged]] = {"on the front": [], "beaten": [], "not available": []}
    for one in of.judged:
        if one is not of.best and one.values[share].of is not None:
            settable = one.option.discipline.settable
            groups["not available" if not settable else "on the front" if one in of.front else "beaten"].append(one)
    for n, (word, chosen) in enumerate(groups.items()):
        if chosen:
            series.append(_cloud(word, chosen, share, style.COLOURS[(0, 1, 3)[n]], hollow=n > 0))
    series.append(_cloud(chosen_words(of), [of.best], share, style.COLOURS[2], hollow=False))
    used = [v.mean for j in of.judged if (v := j.values[share].of) is not None]
    return Panel(
        "What is traded",
        "line used (%)",
        "points of applications",
        series,
        (min(used) - 2.0, max(used) + 2.0),
        (0.0, 105.0),
    )


def _cloud(label: str, of: Sequence[Judged], share: str, colour: str, *, hollow: bool) -> Series:
    x = [v.mean for j in of if (v := j.values[share].of) is not None]
    return Series(label, x, [j.apps.mean for j in of], "points", colour, _band(j.apps for j in of), hollow=hollow)


def measures_figure(of: Recommendation) -> Drawn:
    """Every measure against the buffer, and the time in the queue."""
    panels: list[Panel] = []
    for m in of.question.wanted:
        pairs = [(j, v) for j in of.judged if (v := j.values[m.name].of) is not None]
        label = f"{m.words} ({m.unit})" if m.unit else m.words
        values = [v.mean for _, v in pairs if v.mean > 0.0]
        log = m.log and bool(values) and max(values) > 10.0 * min(values) and len(values) == len(pairs)
        limits = (0.7 * min(values), 1.4 * max(values)) if log else (0.0, None)
        panels.append(
            Panel(
                f"{label[:1].upper()}{label[1:]}",
                "buffer (ms)",
                label,
                _lines(of, pairs),
                _range(of),
                limits,
                log_x=True,
                log_y=log,
            )
        )
    queue = [(j, Interval(j.queue_ms, math.nan, math.nan, 1)) for j in of.judged]
    panels.append(
        Panel("Time in the queue, p99", "buffer (ms)", "ms", _lines(of, queue), _range(of), (0.0, None), log_x=True)
    )
    return Drawn("", "measures", "Each measure against the buffer, by discipline.", panels, 2, link="buffer")


def _range(of: Recommendation) -> tuple[float, float]:
    sizes = [j.option.ms for j in of.judged]
    return 0.8 * min(sizes), 1.25 * max(sizes)


def _lines(of: Recommendation, pairs: Sequence[tuple[Judged, Interval]]) -> list[Series]:
    """A line for each discipline with several sizes, points for the others."""
    series: list[Series] = []
    names = dict.fromkeys(j.option.discipline.name for j in of.judged)
    for n, name in enumerate(names):
        mine = sorted(((j.option.ms, v) for j, v in pairs if j.option.discipline.name == name), key=lambda p: p[0])
        if not mine:
            continue
        colour, dashed = style.COLOURS[n % len(style.COLOURS)], n >= len(style.COLOURS)
        x, y = [ms for ms, _ in mine], [v.mean for _, v in mine]
        band = _band(v for _, v in mine)
        several = len(mine) > 2
        series.append(
            Series(
                name,
                x,
                y,
                "line" if several else "points",
                colour,
                band,
                dashed=dashed and several,
                hollow=dashed and not several,
            )
        )
    return series


def _band(of: Iterable[Interval]) -> tuple[list[float], list[float]]:
    """The lower and the upper ends."""
    ends = [one.ends for one in of]
    return [low for low, _ in ends], [high for _, high in ends]
