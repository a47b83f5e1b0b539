"""The study's own tables, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.studies.claims import Runs
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import heist, theory
from bloatlab.studies.l4s.scorecard import IMBALANCE, RATIO
from bloatlab.studies.l4s.scorecard import PARTS as COUNTED
from bloatlab.studies.scorecard import Cell, Scorecard, share_of
from bloatlab.studies.tables import median_cell, medians_table, statements_table, verdict_cell
from bloatlab.tables import TextCell, TextTable, number, row

TITLES: Mapping[str, str] = {
    "steps": "What the tests say of them",
    "beside": "Prague beside as many CUBIC flows, 20 ms",
    "alone": "Prague alone, 20 ms: only the step marks",
    "laws": "Coupling and static points",
    "floods": "What answers nothing",
}


#: The tests' tables as the page has them: heading, how the queue's name begins, the rate.
PARTS: Sequence[tuple[str, str, float]] = tuple(
    (f"{name}, {rate:g} Mbit/s", begins, rate)
    for rate in (50.0, 10.0)
    for name, begins in (("DualPI2", "dualpi2"), ("A plain buffer", "pfifo"), ("fq_codel", "fq_codel"))
)


def pairs_tables(cells: Sequence[Cell], runs: Runs) -> list[TextTable]:
    """Scenario 1: a table for each queue and rate; through DualPI2 with the other forms of Prague."""
    judged = {cell.case: cell for cell in cells if cell.metric == RATIO}
    found: list[TextTable] = []
    for title, begins, rate in PARTS:
        cases = [x for x in heist.PAIRS if x.queue.startswith(begins) and x.rate == rate and x.key in judged]
        if cases:
            forms = heist.FORMS if begins == "dualpi2" else {}
            rows = [_pair(case, judged[case.key], runs, forms) for case in cases]
            columns = [
                "pair (round trips in ms)",
                "Mbit/s",
                "published",
                "ours",
                *forms.values(),
                "accepted",
                "",
                "why",
            ]
            found.append(TextTable(title, columns, rows, _NOTE if forms else "", left=2, words_last=True))
    return found


_NOTE = (
    "Ratios: the second flow's rate over the first's. Ours is version 0.5, as measured in 2020: round trips of its own, cuts at marks. "
    "Beside it: cuts in each of alpha's rounds; version 0.6, which scales short round trips from the 500th round on; 0.7, from the fourth."
)


def _pair(case: c.Case, cell: Cell, runs: Runs, forms: Mapping[str, str], *, measure: str = "ratio") -> list[TextCell]:
    pair = " / ".join(load.words for load in case.loads)
    others = [case.of_version(form) for form in forms]
    return row(
        pair,
        cell.printed.replace(" and ", " / ").removesuffix(" Mbit/s"),
        number(cell.published[0], 2),
        median_cell(runs, case.key, measure, 2),
        *(median_cell(runs, x.key, measure, 2) if x != case else TextCell("") for x in others),
        cell.accepted(2),
        verdict_cell(cell),
        "" if cell.agrees else cell.reason,
    )


def shared_table(cells: Sequence[Cell], runs: Runs) -> TextTable:
    """Scenario 6: Prague's rate over that of the flow beside it, in one queue."""
    judged = {cell.case: cell for cell in cells if cell.metric == IMBALANCE}
    rows: list[list[TextCell]] = []
    for case in heist.SHARED:
        if case.key in judged:
            pair, *rest = _pair(case, judged[case.key], runs, {}, measure="inverse")
            rows.append(row(case.queue, pair, *rest))
    columns = ["queue", "pair", "Mbit/s", "published", "ours", "accepted", "", "why"]
    note = "Ratios: Prague's rate over the other's. ecn: AccECN, ECT(0); noecn: its ECN field is cleared on the way, so that it is dropped."
    return TextTable("One queue that marks as RFC 3168 has it, 50 Mbit/s", columns, rows, note, left=2, words_last=True)


def steps_table(runs: Runs) -> TextTable:
    """Scenario 2: what a step of the rate does to the round trip, and what bursts cost."""
    columns = (("rtt_before_ms", "before ms", 0), ("rtt_max_ms", "greatest ms", 0), ("spike_s", "spike s", 1),
               ("used_before", "used before", 2), ("used_after", "used after", 2))  # fmt: skip
    rows = [case.key for case in heist.STEPS if case.key in runs]
    note = (
        "The rate steps down after 30 s of 60. Greatest: the sender's smoothed round trip, as ss tells it. Spike: until a tenth of its height "
        "is left. Used: payload of what the link could carry, from 20 to 30 and from 35 to 60 s."
    )
    return medians_table("Steps of the rate", runs, rows, columns, ("case",), note)


def parts_table(groups: Mapping[str, Sequence[Cell]]) -> TextTable:
    """How many of the tests' ratios are within, by queue."""
    ratios = [x for name in ("pairs", "shared") for x in groups.get(name, ()) if x.metric in (RATIO, IMBALANCE)]
    rows = [
        row(words, str(share.within), str(share.cells))
        for words, belongs in COUNTED
        if (share := share_of(words, [x for x in ratios if belongs(x)])).cells
    ]
    return TextTable("Rates of the L4S tests, within a factor of 1.5", ["two flows", "within", "of"], rows)


def misses_table(groups: Mapping[str, Sequence[Cell]], runs: Runs) -> TextTable:
    """The pairs that are not within; the page has all."""
    cells = {x.case: x for x in groups.get("pairs", ()) if x.metric == RATIO and not x.agrees}
    rows = [row(case.key, *_pair(case, cells[case.key], runs, {})[1:]) for case in heist.PAIRS if case.key in cells]
    columns = ["pair (round trips in ms)", "Mbit/s", "published", "ours", "accepted", "", "why"]
    return TextTable("Pairs that are not within", columns, rows, "The report has all.", left=2, words_last=True)


def group_table(card: Scorecard, cells: Sequence[Cell], title: str) -> TextTable:
    """A group of cells, each with verdict and reason."""
    return statements_table(replace(card, cells=cells), title)


def slowest_table(runs: Runs) -> TextTable:
    """At 4 Mbit/s a packet is three steps long: what the form of DualPI2 makes of that."""
    columns = (("first_wait_mean_ms", "L mean ms", 2), ("first_wait_p99_ms", "L 99 % ms", 2), ("second_wait_p99_ms", "C 99 % ms", 1),
               ("ratio", "CUBIC over Prague", 2))  # fmt: skip
    cases = [x for n, one in enumerate(c.SLOWEST) for x in (one, c.STEP_BEHIND[n], *c.OF_THE_RFC[n :: len(c.SLOWEST)])]
    rows = [((f"{x.loads[0].flows} each", x.queue), x.key) for x in cases if x.key in runs]
    note = (
        f"One packet takes {number(c.SLOWEST[0].packet_ms, 1)} ms, and 99 of 100 of L's wait up to "
        f"{number(theory.under_way(c.SLOWEST[0].packet_ms), 2)} ms for one of C's that is under way, if C has half of the link. dualpi2: Linux' "
        "step of 1 ms marks a packet that is alone in L behind it. RFC 9332 spares that one (Th_len), and prefers to serve both by arrival."
    )
    return medians_table("At 4 Mbit/s", runs, rows, columns, ("flows", "DualPI2"), note)


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
        "queue of flows that hold two segments each. prague-rounds: without the law, a segment a round trip whatever its length."
    )
    heads = ("case", "growth ms", "floor ms")
    return medians_table("Why flows alone wait longer", runs, rows, columns, heads, note)
