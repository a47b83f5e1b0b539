"""Writes the results: a page for each controller and suite, the matrix, JSON, JUnit, CSV, LaTeX, the scenarios."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import files
from bloatlab.judge import measures
from bloatlab.judge.exports import csv_text, latex
from bloatlab.judge.suites import JudgeError, case_id
from bloatlab.judge.verdicts import TONES, WORDS, Judged, Ruling, Tried, Word, junit
from bloatlab.plots import Panel, Series
from bloatlab.report import (
    Answer,
    Block,
    Drawn,
    Lines,
    Page,
    Prose,
    Provenance,
    Section,
    TableBlock,
    figure_block,
    write,
)
from bloatlab.results import json_text
from bloatlab.scenario import version
from bloatlab.tables import TextCell, TextTable, counted, row

#: Verdicts as shown in the matrix cells.
_MARKS: Mapping[Word, str] = {"met": "met", "not met": "NOT", "not applicable": "n/a", "cannot be judged here": "-"}
#: Part of the caption of a chart of goodput.
_ABOVE_THE_RATE = (
    "Goodput counts data that arrived in order. When a retransmission fills a hole, all data behind the hole count at"
    " once, so the curve can exceed the rate of the link."
)
_BY = {"document": "the document", "ours": "ours"}


def tables(judged: Judged) -> Iterator[TextTable]:
    """Yields tables for a terminal: one for each case of a controller, and one of the sections that cannot be judged.

    A single table of all cases would be too wide for 80 columns, and would be split between the figures and the limits.
    """
    for one in judged.tried:
        rows = [row(*_cells(r)[:-1], r.criterion.by) for r in one.rulings]
        columns = ["verdict", "criterion", "measured", "limit", "by"]
        yield TextTable(f"{one.case.section} {one.case.title}: {one.word}", columns, rows, left=len(columns))
    if judged.outside:
        rows = [row(o.section, o.title, o.reason) for o in judged.outside]
        yield TextTable("Cannot be judged here", ["section", "title", "reason"], rows, left=3)


def _cells(r: Ruling) -> list[str | TextCell]:
    against = f" of {' or '.join(r.criterion.against)}" if r.criterion.against else ""
    verdict = TextCell(r.word, TONES[r.word])
    says = f"condition: {r.criterion.says}" if r.criterion.condition else r.criterion.says
    return [verdict, says, r.measured, r.criterion.expect + against, _BY[r.criterion.by]]


def claim(folder: Path) -> None:
    """Makes the folder for the pages.

    Raises `OSError`, and `JudgeError` if the folder has files, but no verdicts.json of an earlier run.
    """
    files.make_folder(folder)
    if any(folder.iterdir()) and not (folder / "verdicts.json").is_file():
        raise JudgeError(
            f"judge: --out {folder}: has files, but no verdicts.json of an earlier run; give another folder"
        )


def write_pages(done: Sequence[Judged], folder: Path, asked: Sequence[str] = ()) -> None:
    """Writes the verdicts, a page and the scenarios into the folder. `asked` are the values of --cc or --queue.

    If `done` has several entries, the page in the folder is a matrix of all verdicts. Each entry then has a subfolder,
    which contains the entry's own page and scenarios.

    The pages and scenarios of an earlier run are replaced; other files stay. Raises `JudgeError`, `OSError`.
    """
    claim(folder)
    for page, sections in _earlier(folder):
        for old in (page / "index.html", *(page / "scenarios" / f"{case_id(one)}.toml" for one in sections)):
            old.unlink(missing_ok=True)
        for empty in (page / "scenarios", page, page.parent):
            if page != folder and empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()
    files.write(folder / "verdicts.json", json_text([one.as_data() for one in done]))
    files.write(folder / "junit.xml", junit(done))
    files.write(folder / "verdicts.csv", csv_text(done))
    files.write(folder / "verdicts.tex", latex(done))
    if len(done) == 1:
        _write_one(done[0], folder)
        return
    write(matrix_page(done, asked), folder / "index.html")
    for one, place in zip(done, _places((one.suite.name, one.name) for one in done), strict=True):
        _write_one(one, folder / place)


def _earlier(folder: Path) -> list[tuple[Path, list[str]]]:
    """Returns the folder of each page of an earlier run, and the sections of the page's cases, from verdicts.json.

    The result is empty if this module has not written such a file.
    """
    try:
        found = json.loads(files.read_text(folder / "verdicts.json"))
        names = _places((one["suite"], one["controller"]) for one in found)
        cases = [[str(case["section"]) for case in one["cases"]] for one in found]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    pages = [folder] if len(names) == 1 else [folder / name for name in names]
    return [(page, of) for page, of in zip(pages, cases, strict=True) if ".." not in page.relative_to(folder).parts]


def _write_one(one: Judged, folder: Path) -> None:
    (folder / "scenarios").mkdir(parents=True, exist_ok=True)
    for tried in one.tried:
        if tried.scenario is not None:
            files.write(folder / "scenarios" / f"{tried.case.id}.toml", tried.scenario.as_toml())
    write(page(one, folder), folder / "index.html")


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)


def _places(names: Iterable[tuple[str, str]]) -> list[str]:
    """Returns a subfolder for each suite and controller.

    Names that differ only in unsafe characters get different subfolders.
    """
    found: list[str] = []
    for suite, name in names:
        place = f"{_safe(suite)}/{_safe(name)}"
        found.append(next(one for n in itertools.count(1) if (one := place if n == 1 else f"{place}-{n}") not in found))
    return found


def page(judged: Judged, folder: Path) -> Page:
    """Makes the page for one controller and suite. `folder` is the page's folder, as shown in its commands."""
    suite = judged.suite
    lacking = ", without the flows of the transport," if judged.is_transport else ""
    sections = [_section(judged, one, folder) for one in judged.tried]
    if judged.outside:
        rows = [row(o.section, o.title, o.reason) for o in judged.outside]
        left = TextTable("Cannot be judged here", ["section", "title", "reason"], rows, left=3)
        sections.append(Section("Cannot be judged here", "outside", [TableBlock(left)]))
    rows = [
        row(TextCell(one.case.section, link=f"#{one.case.id}"), one.case.title, TextCell(one.word, TONES[one.word]))
        for one in judged.tried
    ]
    return Page(
        title=f"{judged.name} by {suite.document}",
        subtitle=suite.title,
        sections=sections,
        answer=Answer(
            f"Does {judged.name} meet {suite.document}?",
            f"{judged.sentence}.",
            table=TextTable("", ["case", "title", "verdict"], rows, left=3),
            basis="A case is met if no criterion is missed and at least one is met.",
        ),
        provenance=Provenance(
            [
                ("Document", suite.source),
                (
                    "Limits",
                    '"the document" gives a limit in its text; "ours" were set before the first run, except as said',
                ),
                ("Runs", f"one run per case, with seed 1, or as many seeds as the case names, by bloatlab {version()}"),
                ("Written by", f"{_command(judged)} --out FOLDER"),
                ("Every number", f"in verdicts.json; the scenarios{lacking} are in scenarios/"),
            ]
        ),
    )


def _command(judged: Judged) -> str:
    return f"bloatlab judge --suite {judged.suite.name} {judged.suite.option} {shlex.quote(judged.name)}"


def _section(judged: Judged, one: Tried, folder: Path) -> Section:
    case = one.case
    rows = [row(*_cells(r)) for r in one.rulings]
    columns = ["verdict", "criterion", "measured", "limit", "limit by"]
    changed = [
        f'"{r.criterion.says}" was changed after a run: {r.criterion.changed}.'
        for r in one.rulings
        if r.criterion.changed
    ]
    level = f" ({case.level})" if case.level else ""
    again = f"{_command(judged)} --case {shlex.quote(case.section)}"
    lines = [f"bloatlab run {shlex.quote(str(folder / 'scenarios' / f'{case.id}.toml'))}", again]
    if one.scenario is None or judged.is_transport:
        lines = [again]
    blocks: list[Block] = [
        Prose([f"The document{level}: {case.says}", f"The run: {case.run}"]),
        TableBlock(TextTable("", columns, rows, left=len(columns), stacked=True)),
        *([Prose(changed)] if changed else []),
        *_figures(case.section, one.frames or {}),
        Lines("Repeat it", lines),
    ]
    return Section(f"{case.section} {case.title}: {one.word}", case.id, blocks)


def _figures(section: str, frames: Mapping[str, Any]) -> Iterator[Block]:
    """Draws the judged sender, the goodput of up to six applications and the queueing delay over time."""
    panels: list[Panel] = []
    flow: pl.DataFrame | None = frames.get("judge_flow")
    rates: pl.DataFrame | None = frames.get("judge_rates")
    phases: pl.DataFrame | None = frames.get("judge_phases")
    if flow is not None:
        t = flow["t_s"].to_numpy()
        sizes = [("window", "cwnd_bytes"), ("in flight", "in_flight_bytes")]
        panels.append(
            Panel(
                "Window", "time (s)", "kB", [Series(label, t, flow[c].to_numpy() / 1e3, "line") for label, c in sizes]
            )
        )
    if rates is not None and rates.height:
        lines = [
            Series(str(name), frame["t_s"].to_numpy(), frame["rate_mbit"].to_numpy(), "line")
            for (name,), frame in rates.partition_by("app", as_dict=True, maintain_order=True).items()
        ]
        panels.append(Panel("Goodput", "time (s)", "Mbit/s", lines[:6]))
    queue: pl.DataFrame | None = frames.get("judge_queue")
    if queue is not None and queue.height:
        delay = Series("mean time in the queue", queue["t_s"].to_numpy(), queue["sojourn_ms_mean"].to_numpy(), "line")
        panels.append(Panel("Queue", "time (s)", "ms", [delay]))
    if phases is not None and phases.height:
        panels.append(_phases(phases))
    if panels:
        above = f" {_ABOVE_THE_RATE}" if any(panel.title == "Goodput" for panel in panels) else ""
        caption = f"Case {section}.{above}"
        yield figure_block(Drawn("", f"case-{section}", caption, panels, min(2, len(panels)), section))


def _phases(phases: pl.DataFrame) -> Panel:
    """Draws the judged sender's phase over time, as a line with one step for each stay in a phase."""
    words = [str(phase) for phase in phases["phase"]]
    names = list(dict.fromkeys(words))
    places = [float(names.index(word)) for word in words]
    stays = Series("phase", [*phases["start_s"], phases["end_s"][-1]], [*places, *places[-1:]], "step")
    title = "Phase" if len(words) < measures.MOST_STAYS else f"Phase (only the first {len(words)} stays)"
    ticks = [(float(place), name) for place, name in enumerate(names)]
    return Panel(title, "time (s)", "", [stays], y_range=(-0.5, len(names) - 0.5), y_ticks=ticks)


def matrix_page(done: Sequence[Judged], asked: Sequence[str] = ()) -> Page:
    """Makes the page with the verdict on every controller in every case."""
    sections: list[Section] = []
    places = _places((one.suite.name, one.name) for one in done)
    links = {(one.suite.name, one.name): f"{place}/index.html" for one, place in zip(done, places, strict=True)}
    for name in dict.fromkeys(one.suite.name for one in done):
        own = [one for one in done if one.suite.name == name]
        rows = [
            row(
                tried.case.section,
                tried.case.title,
                *(
                    TextCell(_MARKS[one.tried[place].word], TONES[one.tried[place].word], _hint(one.tried[place]))
                    for one in own
                ),
            )
            for place, tried in enumerate(own[0].tried)
        ]
        columns = ["case", "title", *(one.name for one in own)]
        note = "met, NOT (not met), n/a (not applicable), - (cannot be judged here). A cell shows the reason."
        grid = TextTable(own[0].suite.document, columns, rows, note, left=2, keep=True)
        counts = TextTable(
            "Cases by verdict", ["name", *WORDS], [_counts(one, links[one.suite.name, one.name]) for one in own]
        )
        sections.append(Section(own[0].suite.title, name, [TableBlock(counts), TableBlock(grid)]))
    suites, names = len(sections), list(dict.fromkeys(one.name for one in done))
    only = done[0].suite if suites == 1 else None
    option = only.option if only else "--cc"
    chosen = f"--suite {only.name if only else 'all'} "
    chosen += " ".join(f"{option} {shlex.quote(name)}" for name in dict.fromkeys(asked or names))
    return Page(
        title="Controllers and queues by the documents of their field",
        subtitle=f"{counted(len(names), 'name')}, {counted(suites, 'suite')}",
        sections=sections,
        answer=Answer("Which controller or queue meets the most cases of each suite?", _best(done)),
        provenance=Provenance(
            [("Written by", f"bloatlab judge {chosen} --out FOLDER"), ("Runs", f"bloatlab {version()}")]
        ),
    )


def _counts(one: Judged, link: str) -> list[TextCell]:
    count = one.count
    return row(TextCell(one.name, link=link), *(str(count[word]) for word in WORDS))


def _best(done: Sequence[Judged]) -> str:
    parts: list[str] = []
    for name in dict.fromkeys(one.suite.name for one in done):
        own = [one for one in done if one.suite.name == name]
        most = max(one.count["met"] for one in own)
        best = [one.name for one in own if one.count["met"] == most]
        parts.append(f"{name}: {', '.join(best)} ({most} of {len(own[0].tried)})")
    return "; ".join(parts) + "."


def _hint(one: Tried) -> str:
    return "; ".join(f"{r.criterion.says}: {r.measured} ({r.word})" for r in one.rulings if r.word == one.word)
