"""A report of runs or of a sweep: what happened, in a sentence and one figure; then charts, tables, provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from bloatlab import files
from bloatlab.differences import difference, varying
from bloatlab.plots import Mark, Panel, Series, style
from bloatlab.plots import measures as of_runs
from bloatlab.plots.headline import scores, summary_sentence
from bloatlab.plots.labels import safe
from bloatlab.plots.subjects import Run, Sweep, subjects
from bloatlab.report.chart import Drawn, figure_block
from bloatlab.report.page import Answer, Block, Page, Point, Prose, Provenance, Section, TableBlock
from bloatlab.report.sweeps import sweep_page
from bloatlab.results import PROVENANCE
from bloatlab.scenario import version
from bloatlab.summaries import tables_of
from bloatlab.sweep import grid_file
from bloatlab.tables import TextTable, listed, row

#: Runs that a chart tells apart by colour, and lines of one run.
MOST_RUNS, MOST_LINES = len(style.COLOURS), 6

#: Charts over time of a whole report zoom together.
TIME = "time"


def results_page(given: Sequence[str | Path], command: str) -> Page:
    """The report of one run, of several beside each other, or of a sweep's table; `command` is how it was asked for.

    Raises `Unfit` (a `ValueError`), `ResultError` or `OSError`, in one line, for what is none of these.
    """
    found = subjects(given)
    if isinstance(found, Sweep):
        return sweep_page(found, _provenance(given, command))
    return _runs_page(found, _provenance(given, command))


def _runs_page(runs: Sequence[Run], provenance: Provenance) -> Page:
    names = [run.label for run in runs]
    single = len(runs) == 1
    title = str(runs[0].summary.get("name", names[0])) if single else ", ".join(names)
    sections = [
        Section("Over time", "time", _over_time(runs), _TIME_LEAD),
        Section("How delay is distributed", "delay", _distributions(runs)),
        *([] if single else [Section("What differs", "differs", _differences(runs))]),
        *(
            Section("Everything measured" if single else run.label, f"run{place}", _tables(run))
            for place, run in enumerate(runs, start=1)
        ),
    ]
    question = f"What happened in {safe(title, 60)}?" if single else f"{listed(names)}: what changed?"
    return Page(
        title=title if single else "Results beside each other",
        subtitle=_subtitle(runs),
        sections=[section for section in sections if section.blocks],
        answer=_answer(question, runs),
        provenance=provenance,
    )


_TIME_LEAD = "All charts over time zoom together: drag over one of them. Dashed upright lines: where measuring began."


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
    """What happened, and what the people behind the link got: a row per score, the runs side by side."""
    said, figure, basis = summary_sentence(runs), figure_block(_overlay(runs)), _basis(runs)
    if len(runs) == 1:
        points = [Point(name, values[0], "") for name, values in scores(runs)]
        return Answer(question, said, points, figure, basis)
    rows = [row(name, *values) for name, values in scores(runs)]
    return Answer(question, said, (), figure, basis, TextTable("", ["", *(run.label for run in runs)], rows))


def _overlay(runs: Sequence[Run]) -> Drawn:
    """The waiting in the link where most waited, of all runs in one panel, and beneath it what the link carried."""
    link = of_runs.bottleneck(runs)
    if link is None:
        empty = Panel("Nothing recorded", "time (s)", "wait (ms)", [Series("nothing", [0.0, 1.0], [0.0, 0.0])])
        return Drawn("", "overlay", "No link's queue was recorded.", [empty], 1, TIME)
    waits, rates = [], []
    for place, run in enumerate(runs[:MOST_RUNS]):
        frame, colour = of_runs.link_series(run, link), style.COLOURS[place]
        waits.append(Series(run.label, *_binned(run, frame, "sojourn_ms_max", "max"), colour=colour))
        rate = of_runs.rate(run, frame, "sent_bytes", run.label)
        rates.append(Series(run.label, rate.t, rate.y, "step", colour))
    end = max(run.end for run in runs)
    name = safe(link)
    panels = [
        Panel(f"Longest wait in the queue of {name}", "time (s)", "wait (ms)", waits, (0.0, end), marks=_begun(runs)),
        Panel(f"What {name} carries", "time (s)", "rate (Mbit/s)", rates, (0.0, end), marks=_begun(runs)),
    ]
    caption = f"Link {name}, where packets wait longest: the longest wait and the rate of each bin."
    return Drawn("", "overlay", caption, panels, 1, TIME, size=(7.0, 2.6))


def _begun(runs: Sequence[Run]) -> list[Mark]:
    begun = {run.begin for run in runs if run.begin > 0.0}
    return [Mark("", at, "x") for at in sorted(begun)]


def _binned(run: Run, frame: pl.DataFrame, column: str, way: Literal["max", "last"]) -> tuple[Any, Any]:
    """A column over time, in bins of the run's width or as wide as they were recorded."""
    wide = of_runs.bins(frame, {column: way}, max(of_runs.window(run), of_runs.step_of(frame)))
    return wide["t_s"].to_numpy(), wide[column].to_numpy()


def _over_time(runs: Sequence[Run]) -> list[Block]:
    """Of each run: rate per flow, queue, window and round trip, as far as they were recorded."""
    blocks: list[Block] = []
    each = [
        [panel for panel in (_rates(run), _queues(run), _windows(run), _round_trips(run)) if panel is not None]
        for run in runs
    ]
    for place, (run, panels) in enumerate(zip(runs, alike(each), strict=True)):
        if panels:
            caption = "Rate of each flow, queue, window and round trip, as far as they were recorded."
            title = run.label if len(runs) > 1 else "This run"
            blocks.append(
                figure_block(Drawn("", f"time{place}", f"{title}. {caption}", panels, min(2, len(panels)), TIME))
            )
    return blocks


def alike(each: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    """Panels of several runs with one axis for each quantity: what stands under each other can be compared."""
    tops: dict[str, float] = {}
    ends: dict[str, float] = {}
    for panel in (panel for panels in each for panel in panels):
        values = np.concatenate([np.asarray(line.y, dtype=float) for line in panel.series])
        tops[panel.title] = max(
            tops.get(panel.title, 0.0), 1.05 * float(np.max(values[np.isfinite(values)], initial=0.0))
        )
        ends[panel.title] = max(ends.get(panel.title, 0.0), panel.x_range[1] or 0.0)
    return [
        [replace(p, y_range=(0.0, tops[p.title] or None), x_range=(0.0, ends[p.title] or None)) for p in panels]
        for panels in each
    ]


def _rates(run: Run) -> Panel | None:
    flows = of_runs.flows(run)
    by_app: dict[str, list[pl.DataFrame]] = {}
    for flow in flows:
        by_app.setdefault(flow.label if len(flows) <= MOST_LINES else flow.app, []).append(flow.frame)
    lines: list[Series] = []
    for label, frames in list(by_app.items())[:MOST_LINES]:
        line = of_runs.rate(run, pl.concat(frames), "wire_bytes", label)
        lines.append(Series(safe(label), line.t, line.y))
    return _panel(run, "Rate of each flow", "rate (Mbit/s)", lines)


def _queues(run: Run) -> Panel | None:
    lines = []
    for link in of_runs.busy(run)[:MOST_LINES]:
        t, longest = _binned(run, of_runs.link_series(run, link), "queue_packets", "max")
        lines.append(Series(safe(link), t, longest, "step"))
    return _panel(run, "Queue", "packets", lines)


def _windows(run: Run) -> Panel | None:
    lines = []
    for flow in of_runs.flows(run):
        if len(lines) < MOST_LINES and "cwnd_bytes" in flow.frame.columns:
            t, window = _binned(run, flow.frame, "cwnd_bytes", "last")
            if np.nansum(window) > 0.0:
                lines.append(Series(safe(flow.label), t, window / 1000.0, "step"))
    return _panel(run, "Congestion window", "window (kB)", lines)


def _round_trips(run: Run) -> Panel | None:
    lines = [
        Series(safe(app), part["t_s"].to_numpy(), part["rtt_ms"].to_numpy(), "points")
        for app, part in list(of_runs.pings(run).items())[:MOST_LINES]
    ]
    return _panel(run, "Round trips of pings", "RTT (ms)", lines)


def _panel(run: Run, title: str, label: str, lines: Sequence[Series]) -> Panel | None:
    return Panel(title, "time (s)", label, lines, (0.0, run.end), marks=_begun([run])) if lines else None


def _distributions(runs: Sequence[Run]) -> list[Block]:
    """One panel for each quantity that is the same in all runs; the cumulative share against a logarithmic delay."""
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
    return (
        [figure_block(Drawn("", "delays", "Cumulative distributions of delay.", panels, min(2, len(panels))))]
        if panels
        else []
    )


def _differences(runs: Sequence[Run]) -> list[Block]:
    """The settings in which the scenarios differ, and the measures that differ most."""
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
    return blocks or [Prose(["The scenarios are the same."])]


#: Measures in the table of what differs.
MOST_CHANGES = 40


def _tables(run: Run) -> list[Block]:
    return [TableBlock(table) for table in tables_of(run.summary, run.end - run.begin)]


def _provenance(given: Sequence[str | Path], command: str) -> Provenance:
    """Where each folder comes from, by its own provenance.json."""
    rows = [("Written by", f"{command} (bloatlab {version()})")]
    for place in map(Path, given):
        words = [str(place)]
        if (place / PROVENANCE).exists():
            told = json.loads(files.read_text(place / PROVENANCE))
            words += [f"{name} {told[key]}" for name, key in _TOLD if told.get(key) is not None]
        rows.append(("From", ", ".join(words)))
    return Provenance(rows)


_TOLD = (("seed", "seed"), ("scenario", "scenario_hash"), ("by bloatlab", "bloatlab"), ("written", "written"))
