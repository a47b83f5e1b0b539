"""The study's own tables, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies import published
from bloatlab.studies.claims import Runs
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import theory
from bloatlab.studies.l4s.compare import IMBALANCE, RATIO
from bloatlab.studies.l4s.figures import FORMS
from bloatlab.studies.layout import median_cell, medians_table, statements_table, verdict_cell
from bloatlab.studies.scorecard import Cell, Scorecard
from bloatlab.tables import TextCell, TextTable, number

TITLES: Mapping[str, str] = {
    "beside": "Prague beside as many CUBIC flows, 20 ms",
    "alone": "Prague alone, 20 ms: only the step marks",
    "laws": "Coupling and static points",
    "floods": "What answers nothing",
}


def pairs_table(cells: Sequence[Cell], runs: Runs) -> TextTable:
    """The tests' pairs: published, and ours with each form of Prague; the verdict is of its own round trips."""
    rows_of = {r.case: r.value.split(";") for r in published.rows("l4s") if r.metric == "rates"}
    judged = {cell.case: cell for cell in cells if cell.metric in (RATIO, IMBALANCE)}
    rows: list[list[TextCell]] = []
    for n, case in enumerate((*c.PAIRS, *c.IMBALANCED), start=1):
        cell = judged.get(case.key)
        if cell is None:
            continue
        printed = rows_of.get(case.key)
        forms = [median_cell(runs, case.of_version(form).key, "ratio", 2) for form in FORMS]
        rows.append(
            [
                TextCell(f"{n}  {case.key}"),
                TextCell(" / ".join(printed) if printed else ""),
                TextCell(number(cell.published[0], 2)),
                *forms,
                TextCell(cell.accepted(2)),
                verdict_cell(cell),
                TextCell(cell.reason),
            ]
        )
    columns = ["pair (round trips in ms)", "Mbit/s", "published", *FORMS.values(), "accepted", "", "why"]
    note = (
        "Ratios: the second flow's rate over the first's. Judged is Prague with round trips of its own, as measured in 2020; "
        "version 0.6 scales short ones from the 500th round on, 0.7 from the fourth. RED with 150000 bytes (27:1) is not run: its "
        "thresholds are not given."
    )
    return TextTable("Two flows, 50 Mbit/s", columns, rows, note, left=2, words_last=True)


def group_table(card: Scorecard, cells: Sequence[Cell], title: str) -> TextTable:
    """A group of cells, each with verdict and reason."""
    return statements_table(replace(card, cells=cells), title)


def queue_table(runs: Runs) -> TextTable:
    """The queue that the closed forms leave to flows alone, beside what they have."""
    columns = (("first_wait_mean_ms", "mean ms", 2), ("first_wait_p99_ms", "99 % ms", 2), ("utilisation", "link used", 3),
               ("l_step", "marked", 3))  # fmt: skip
    cases = [case for case in (*c.ALONE, *c.SHORTER, *c.ALONE_SMALLER) if case.key in runs]
    rows: list[tuple[Sequence[str], str]] = []
    for case in cases:
        load, packet = case.loads[0], case.packet_ms
        grows = theory.overshoot(load.flows, load.rtt, packet, scaled=load.stack == "prague7")
        least = theory.floor_wait(load.flows, load.rtt, packet)
        rows.append(((case.key, number(grows, 2), number(least, 2)), case.key))
    note = (
        "Growth: what all flows add in a round trip, before its marks come back, in ms of queue. Floor: the "
        "queue of flows that hold two segments each. prague: without the law, a segment a round trip whatever its length."
    )
    heads = ("case", "growth ms", "floor ms")
    return medians_table("Why flows alone wait longer", runs, rows, columns, heads, note)
