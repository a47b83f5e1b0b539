"""The report for runs or a sweep: a one-sentence summary and a figure, then charts, tables and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bloatlab.differences import difference, varying
from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.plots import measures as of_runs
from bloatlab.plots.headline import headline, scores
from bloatlab.plots.labels import safe
from bloatlab.plots.over_time import TimePanel, sojourn_line, time_panels
from bloatlab.plots.subjects import Run, Sweep, Unfit, subjects
from bloatlab.report.chart import Drawn, figure_block
from bloatlab.report.page import Answer, Block, Page, Point, Prose, Provenance, Section, TableBlock
from bloatlab.report.sweeps import sweep_page
from bloatlab.results import PROVENANCE, read_json
from bloatlab.scenario import version
from bloatlab.summaries import tables_of
from bloatlab.sweep import grid_file
from bloatlab.tables import TextTable, listed, row

#: The maximum number of runs in a chart, and of delay distributions in a panel (but at least one for each run).
MOST_RUNS, MOST_LINES = len(style.COLOURS), 6

#: Maximum number of runs that the heading names.
MOST_NAMED = 4

#: The `link` of all charts over time. Charts with the same `link` zoom together.
TIME = "time"

#: Titles of the quantities over time.
_TITLES = {
    "rate": "Rate of each flow",
    "queue": "Queue",
    "sojourn": "Time in the queue",
    "cwnd": "Congestion window",
    "rtt": "Round-trip time",
    "target_mbit": "Target rate of live video",
    "frame_delay_ms": "Frame delay of live video",
}


#: The error message if measures are chosen for a report that is not about a sweep.
NO_COLUMNS = "-c: chooses the measures of a sweep; a report of single runs has all measures"


def results_page(paths: Sequence[str | Path], command: str, columns: Sequence[str] = ()) -> Page:
    """Makes the report for one run, several runs, or a sweep's table.

    `command` is the command line. `columns` has patterns for the measures of a sweep.

    Raises the errors of `subjects`, and `Unfit` (a `ValueError`) if `columns` is given for single runs or has a
    pattern without a match. The message is one line.
    """
    found = subjects(paths)
    if isinstance(found, Sweep):
        return sweep_page(found, _provenance(paths, command), columns)
    if columns:
        raise Unfit(NO_COLUMNS)
    return _runs_page(found, _provenance(paths, command))


def _runs_page(runs: Sequence[Run], provenance: Provenance) -> Page:
    names = [run.label for run in runs]
    single = len(runs) == 1
    title = str(runs[0].summary.get("name", names[0])) if single else ", ".join(names)
    sections = [
        Section("Over time", "time", _over_time(runs), _TIME_LEAD),
        Section("Distribution of delays", "delay", _distributions(runs)),
        *([] if single else [Section("Differences", "differs", _differences(runs))]),
        *(
            Section("Everything measured" if single else run.label, f"run{place}", _tables(run))
            for place, run in enumerate(runs, start=1)
        ),
    ]
    several = f"{listed(names)}: what changed?" if len(runs) <= MOST_NAMED else f"Which of {len(runs)} results is best?"
    question = f"What happened in {safe(title, 60)}?" if single else several
    return Page(
        title=title if single else "Comparison of results",
        subtitle=_subtitle(runs),
        sections=[section for section in sections if section.blocks],
        answer=_answer(question, runs),
        provenance=provenance,
    )


_TIME_LEAD = "Drag over a chart to zoom; all charts over time zoom together. Dashed vertical lines: end of the warm-up."


def _subtitle(runs: Sequence[Run]) -> str:
    live = sum("live" in run.summary for run in runs)
    kind = "measured on kernels" if live == len(runs) else "simulated" if not live else "simulated and measured"
    lengths = sorted({f"{run.end:g} s" for run in runs})
    return f"{kind}, {' and '.join(lengths)}"


def _basis(runs: Sequence[Run]) -> str:
    latencies = [(run.label, run.summary.get("latency") or {}) for run in runs]
    grades = [f"{label}: {of['grade']} ({of.get('scale', 'p99')})" for label, of in latencies if of.get("grade")]
    return f"Grade of the delay that load adds: {', '.join(grades)}." if grades else ""


def _answer(question: str, runs: Sequence[Run]) -> Answer:
    """Makes the answer at the top of the page: the headline, a figure, the scores and the grades.

    The scores of several runs are in a table with one row per score and one column per run.
    """
    text, figure, basis = headline(runs), figure_block(_overlay(runs)), _basis(runs)
    if len(runs) == 1:
        points = [Point(name, values[0], "") for name, values in scores(runs)]
        return Answer(question, text, points, figure, basis)
    rows = [row(name, *values) for name, values in scores(runs)]
    return Answer(question, text, (), figure, basis, TextTable("", ["", *(run.label for run in runs)], rows))


def _overlay(runs: Sequence[Run]) -> Drawn:
    """Draws the runs (at most `MOST_RUNS`) in one figure: the longest waits at the bottleneck, and the link's rate."""
    link = of_runs.bottleneck(runs)
    if link is None:
        empty = Panel("Nothing recorded", "time (s)", "wait (ms)", [Series("nothing", [0.0, 1.0], [0.0, 0.0])])
        return Drawn("", "overlay", "No link's queue was recorded.", [empty], 1, TIME)
    waits, rates = [], []
    for place, run in enumerate(runs[:MOST_RUNS]):
        wait = sojourn_line(run, link, run.label)
        waits.append(Series(run.label, wait.t, wait.y if wait.top is None else wait.top, colour=style.colour(place)))
        rate = of_runs.rate(run, of_runs.link_series(run, link), "sent_bytes", run.label)
        rates.append(Series(run.label, rate.t, rate.y, "step", style.colour(place)))
    name, span = safe(link), (0.0, max(run.end for run in runs))
    panels = [
        Panel(f"Longest wait in the queue of {name}", "time (s)", "wait (ms)", waits, span, marks=_warm_up(runs)),
        Panel(f"Rate of link {name}", "time (s)", "rate (Mbit/s)", rates, span, marks=_warm_up(runs)),
    ]
    caption = f"Link {name}, where packets wait longest: the longest wait and the rate of each bin."
    return Drawn("", "overlay", caption, panels, 1, TIME, size=(7.0, 2.6))


def _warm_up(runs: Sequence[Run]) -> list[Mark]:
    """Returns marks for the times at which the warm-up of a run ends and measuring begins."""
    return [Mark("", at, "x") for at in sorted({run.begin for run in runs if run.begin > 0.0})]


def _over_time(runs: Sequence[Run]) -> list[Block]:
    """Draws each run over time: rates, queues, times in queues, windows, round trips, live video, if recorded."""
    each = [[_panel(run, panel) for panel in time_panels([run])] for run in runs]
    caption = "Means of each bin; shaded up to the maximum, where it was recorded."
    return [
        figure_block(Drawn(
            "", f"time{place}", f"{run.label if len(runs) > 1 else 'This run'}. {caption}", panels,
            min(2, len(panels)), TIME,
        ))
        for place, (run, panels) in enumerate(zip(runs, alike(each), strict=True))
        if panels
    ]  # fmt: skip


def _panel(run: Run, of: TimePanel) -> Panel:
    lines = [
        Series(
            line.label,
            line.t,
            line.y,
            colour=style.colour(place),
            band=line.top if line.top is None else (line.y, line.top),
        )
        for line, place in of.lines
    ]
    return Panel(_TITLES[of.name], "time (s)", of.y_label, lines, (0.0, run.end), marks=_warm_up([run]))


def alike(each: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    """Gives all panels of the same quantity the same axes, so that the runs can be compared."""
    tops: dict[str, float] = {}
    ends: dict[str, float] = {}
    for panel in (panel for panels in each for panel in panels):
        values = np.concatenate(
            [np.asarray(line.band[1] if line.band else line.y, dtype=float) for line in panel.series]
        )
        top = 1.05 * float(np.max(values[np.isfinite(values)], initial=0.0))
        tops[panel.title] = max(tops.get(panel.title, 0.0), top)
        ends[panel.title] = max(ends.get(panel.title, 0.0), panel.x_range[1] or 0.0)
    return [
        [replace(p, y_range=(0.0, tops[p.title] or None), x_range=(0.0, ends[p.title] or None)) for p in panels]
        for panels in each
    ]


def _distributions(runs: Sequence[Run]) -> list[Block]:
    """Draws the cumulative distributions of delays on a logarithmic axis, in one chart with one panel per quantity."""
    panels: list[Panel] = []
    for quantity, label in of_runs.QUANTITIES.items():
        lines: list[Series] = []
        for run in runs[:MOST_RUNS]:
            of = [d for d in of_runs.distributions(run) if d.quantity == quantity and d.values.max(initial=0.0) > 0.0]
            for found in of[: max(1, MOST_LINES // len(runs))]:
                name = found.label if len(runs) == 1 else run.label if len(of) == 1 else f"{run.label}: {found.label}"
                lines.append(Series(safe(name), np.maximum(found.values, 0.01), 100.0 * found.shares(), "step"))
        if lines:
            least = min(float(np.min(line.x)) for line in lines)
            most = max(float(np.max(line.x)) for line in lines)
            limits = (max(0.1, least * 0.8), max(most * 1.2, 1.0))
            title = label.removesuffix(" (ms)").capitalize()
            panels.append(Panel(title, label, "packets at or below (%)", lines, limits, (0.0, 101.0), log_x=True))
    drawn = Drawn("", "delays", "Cumulative distributions of delay.", panels, min(2, len(panels)))
    return [figure_block(drawn)] if panels else []


def _differences(runs: Sequence[Run]) -> list[Block]:
    """Makes a table of the settings that differ, and for two runs also a table of the measures that changed most."""
    blocks: list[Block] = []
    scenarios = [run.scenario for run in runs if run.scenario is not None]
    names = [run.label for run in runs]
    if len(scenarios) == len(runs):
        rows = [row(*(safe(text, 80) for text in (s.path, *s.values))) for s in varying(scenarios)]
        if rows:
            blocks.append(TableBlock(TextTable("Scenario", ["setting", *names], rows, left=len(names) + 1)))
    if len(runs) == 2:
        both = difference((names[0], names[1]), None, [grid_file.flat(run.summary) for run in runs])
        blocks += [TableBlock(table) for table in both.tables(MOST_CHANGES)]
    if not blocks and len(scenarios) == len(runs):
        return [Prose(["The scenarios are the same."])]
    return blocks


#: Maximum number of measures in the differences table.
MOST_CHANGES = 40


def _tables(run: Run) -> list[Block]:
    return [TableBlock(table) for table in tables_of(run.summary, run.end - run.begin)]


def _provenance(paths: Sequence[str | Path], command: str) -> Provenance:
    """Returns the origin of each folder, from its provenance.json."""
    rows = [("Written by", f"{command} (bloatlab {version()})")]
    for place in map(Path, paths):
        words = [str(place)]
        if (place / PROVENANCE).exists():
            origin = read_json(place / PROVENANCE)
            words += [f"{name} {origin[key]}" for name, key in _ORIGIN if origin.get(key) is not None]
        rows.append(("From", ", ".join(words)))
    return Provenance(rows)


_ORIGIN = (("seed", "seed"), ("scenario", "scenario_hash"), ("by bloatlab", "bloatlab"), ("written", "written"))
