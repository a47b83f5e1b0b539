"""The tables, figures and answer of the study, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bloatlab.plots import Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.drawing import of_cases, points, ticks
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import theory
from bloatlab.studies.l4s.cases import DECLARED, Case
from bloatlab.studies.l4s.rules import IMBALANCE, PARTS, RATIO, RATIOS, groups, rates
from bloatlab.studies.page import Blocks
from bloatlab.studies.scorecard import Cell, share_of
from bloatlab.studies.study import Results
from bloatlab.studies.tables import median_cell, medians_table, statements_table, verdict_cell
from bloatlab.tables import TextCell, TextTable, counted, number, row

P99, C_MEAN, SHARE = "first_wait_p99_ms", "second_wait_mean_ms", "ratio"

#: The queues in the tables of the L4S tests: each queue's title on the page, and the prefix of its name in the cases.
QUEUES = (("DualPI2", "dualpi2"), ("A plain buffer", "pfifo"), ("fq_codel", "fq_codel"))

# ------------------------------------------------------------------------------------------------------------ tables


def _pair(case: Case, cell: Cell, runs: Runs, forms: Mapping[str, str], *, measure: str = "ratio") -> list[TextCell]:
    others = [case.of_version(form) for form in forms]
    return row(
        case.senders,
        cell.printed.replace(" and ", " / ").removesuffix(" Mbit/s"),
        number(cell.published[0], 2),
        median_cell(runs, str(case), measure, 2),
        *(median_cell(runs, str(x), measure, 2) if x != case else TextCell("") for x in others),
        cell.accepted(2),
        verdict_cell(cell),
        "" if cell.agrees else cell.reason,
    )


def _columns(*names: str, forms: Sequence[str] = ()) -> list[str]:
    return [*names, "Mbit/s", "published", "ours", *forms, "accepted", "", "why"]


_PAIR = "pair (round trips in ms)"


def pairs_tables(results: Results) -> list[TextTable]:
    """Makes the tables of scenario 1: one table for each queue and rate, after a count of the ratios within tolerance.

    The count includes scenario 6. The DualPI2 tables also include the other Prague versions.
    """
    runs, found = results.runs, groups(results.scorecard.cells)
    judged = {cell.case: cell for cell in found.get("pairs", ()) if cell.metric == RATIO}
    note = DECLARED.text("pairs")
    made = [] if results.proves_nothing else [parts_table(found)]
    for rate in (50.0, 10.0):
        for title, begins in QUEUES:
            cases = [x for x in c.of_queue(begins) if x.rate == rate and str(x) in judged]
            forms = c.FORMS if begins == "dualpi2" else {}
            rows = [_pair(case, judged[str(case)], runs, forms) for case in cases]
            if rows:
                heads = _columns(_PAIR, forms=[*forms.values()])
                made.append(
                    TextTable(f"{title}, {rate:g} Mbit/s", heads, rows, note if forms else "", left=2, words_last=True)
                )
    return made


def shared_tables(results: Results) -> list[TextTable]:
    """Makes a table of scenario 6, in which Prague and another flow share one queue.

    The table contains Prague's rate divided by the other flow's rate.
    """
    judged = {cell.case: cell for cell in results.scorecard.cells if cell.metric == IMBALANCE}
    cases = [case for case in c.SHARED if str(case) in judged]
    rows = [
        row(case.queue, *_pair(case, judged[str(case)], results.runs, {}, measure="inverse")) for case in cases
    ]  # fmt: skip
    title = "One queue that marks as in RFC 3168, 50 Mbit/s"
    return (
        [TextTable(title, _columns("queue", "pair"), rows, DECLARED.text("shared"), left=2, words_last=True)]
        if rows
        else []
    )


def steps_table(runs: Runs) -> TextTable:
    """Makes a table of scenario 2: the round trip and the share of the link used, before and after a rate step."""
    columns = DECLARED.columns("steps")
    return medians_table("Steps of the rate", runs, c.STEPS, columns, note=DECLARED.text("steps"))


def bursty_table(runs: Runs) -> TextTable:
    """Makes a table of CUBIC beside Prague through DualPI2.

    Each pair of flows is shown without bursts, with bursts, and with bursts and a marking threshold of 5 ms.
    """
    kinds = (("none", c.SMOOTH), ("bursts", c.BURSTY), ("bursts, step of 5 ms", c.DEEPER))
    rows = [
        ((case.senders, f"{case.rate:g}", kind), made[n])
        for n, case in enumerate(c.SMOOTH)
        for kind, made in kinds
    ]  # fmt: skip
    note = DECLARED.text("bursty", slots=number(sum(c.SLOT_MS) / 4, 1))
    heads = ("pair (round trips in ms)", "Mbit/s", "in front")
    return medians_table("CUBIC beside Prague", runs, rows, DECLARED.columns("bursty"), heads, note)


def parts_table(groups: Mapping[str, Sequence[Cell]]) -> TextTable:
    """Returns a table that counts, for each queue, the ratios within tolerance."""
    ratios = [x for name in ("pairs", "shared") for x in groups.get(name, ()) if x.metric in RATIOS]
    shares = [share_of(words, [x for x in ratios if belongs(x)]) for words, belongs in PARTS]
    rows = [row(share.name, str(share.within), str(share.cells)) for share in shares if share.cells]
    return TextTable("Rates of the L4S tests, within a factor of 1.5", ["two flows", "within", "of"], rows)


def group_tables(results: Results, *names: str) -> list[TextTable]:
    """Makes a table for each named group of cells, with the verdict and reason of each cell."""
    found = groups(results.scorecard.cells)
    card = results.scorecard
    return [statements_table(replace(card, cells=found[n]), DECLARED.table("titles")[n]) for n in names if n in found]


def why_tables(runs: Runs) -> list[TextTable]:
    """Makes two tables: DualPI2's variants at 4 Mbit/s, and the queueing delay of Prague alone against closed forms.

    At 4 Mbit/s, sending a packet takes 3 ms, three times the delay of 1 ms above which DualPI2's step marks packets.
    """
    slow = c.SLOWEST[0].packet_ms
    forms = [x for n, one in enumerate(c.SLOWEST) for x in (one, c.STEP_BEHIND[n], *c.OF_THE_RFC[n :: len(c.SLOWEST)])]
    slow_note = DECLARED.text("slow", packet=number(slow, 1), wait=number(theory.under_way(slow), 2))

    def closed_forms(case: Case) -> tuple[str, str]:
        scaled = case.loads[0].stack == "prague7"
        grows = theory.overshoot(case.flows, case.rtt, case.packet_ms, scaled=scaled)
        return number(grows, 2), number(theory.floor_wait(case.flows, case.rtt, case.packet_ms), 2)

    alone = [((str(x), *closed_forms(x)), x) for x in (*c.ALONE, *c.SHORTER, *c.ALONE_SMALLER)]
    at_4 = [((f"{x.flows} each", x.queue), x) for x in forms]
    heads = ("case", "growth ms", "floor ms")
    return [
        medians_table("At 4 Mbit/s", runs, at_4, DECLARED.columns("slow"), ("flows", "DualPI2"), slow_note),
        medians_table(
            "Why flows alone wait longer", runs, alone, DECLARED.columns("alone"), heads, DECLARED.text("alone")
        ),
    ]


#: By section anchor, the functions that make the blocks of the page's sections. `page.SHARED` has those left out here.
BLOCKS: Mapping[str, Blocks] = {
    "pairs": pairs_tables,
    "shared": shared_tables,
    "steps": lambda results: [steps_table(results.runs), *group_tables(results, "steps")],
    "bursts": lambda results: [bursty_table(results.runs)],
    "delay": lambda results: group_tables(results, "beside", "alone"),
    "why": lambda results: why_tables(results.runs),
    "laws": lambda results: group_tables(results, "laws", "floods"),
    "rules": DECLARED.rules(),
}

# ----------------------------------------------------------------------------------------------------------- figures


def figures(runs: Runs) -> list[Drawn]:
    """Draws three figures.

    They show our rate ratios against those of the L4S tests, the effect of rate steps on the round trip, and the waits
    of Prague flows that have the link to themselves.
    """
    return [_pairs(runs), _steps(runs), _alone(runs)]


def _line(label: str, n: int, of: int, runs: Runs, cases: Sequence[Case], measure: str) -> Series:
    """Makes series number `n` (counted from 0) of a panel that contains `of` series.

    The points are at x = 0, 1, ..., shifted slightly so that the points of different series do not overlap.
    """
    xs = np.arange(len(cases)) + 0.06 * (n - (of - 1) / 2)
    return points(label, xs, of_cases(runs, cases, measure), style.COLOURS[n])


def _pairs(runs: Runs) -> Drawn:
    printed, diagonal = rates(), np.array([0.03, 90.0])
    beside = (diagonal * [1.0, 1 / 1.5], diagonal * [1.5, 1.0])  # x and y of the ends of the line y = 1.5 x
    panels: list[list[Series]] = []
    for rate in (50.0, 10.0):
        series = [Series("equal", diagonal, diagonal, colour=style.PUBLISHED, quiet=True)]
        series += [
            Series("a factor of 1.5", x, y, colour=style.PUBLISHED, dashed=True, quiet=True)
            for x, y in (beside, beside[::-1])
        ]
        for n, (label, begins) in enumerate(QUEUES):
            cases = [x for x in c.of_queue(begins) if x.rate == rate and str(x) in runs]
            published = [printed[str(x)][1] / printed[str(x)][0] for x in cases]
            series.append(points(label.removeprefix("A "), published, of_cases(runs, cases, "ratio"), style.COLOURS[n]))
        panels.append(series)
    return DECLARED.drawn("pairs", *panels)


def _steps(runs: Runs) -> Drawn:
    panels: list[list[Series]] = []
    kinds = [(stack, queue) for queue in ("fq_codel", "dualpi2") for stack in ("prague", "cubic")]
    for rtt in (20.0, 80.0):
        series: list[Series] = []
        for n, (stack, queue) in enumerate(kinds):
            cases = [c.step(stack, rtt, queue, then) for then in c.STEPS_TO]
            series.append(_line(f"{stack}, {queue}", n, len(kinds), runs, cases, "rtt_max_ms"))
        if rtt == 80.0:
            last = len(c.STEPS_TO) - 1.0
            series.append(Series("L4S tests", [last], [4346.0], "points", style.PUBLISHED, hollow=True))
        panels.append(series)
    return DECLARED.drawn("steps", *panels, x_ticks=ticks(f"{then:g}" for then in c.STEPS_TO))


#: The labels of a rate axis.
_RATES = ticks(f"{rate:g}" for rate in c.RATES)


def _alone(runs: Runs) -> Drawn:
    def line(n: int, flows: int, mss: int) -> Series:
        cases = [c.alone(rate, flows, mss=mss) for rate in c.RATES]
        return _line(counted(flows, "flow"), n, len(c.FLOWS), runs, cases, P99)

    panels = [[line(n, flows, mss) for n, flows in enumerate(c.FLOWS)] for mss in (c.MSS, c.SMALL)]
    return DECLARED.drawn("alone", *panels, x_ticks=_RATES)


# ------------------------------------------------------------------------------------------------------------ answer


def answer(runs: Runs, seeds: int) -> Answer:
    """Determines from the runs whether the low-latency queue is as short as promised, and fair to other traffic."""
    return DECLARED.answer(
        seeds,
        draw(runs),
        {case: median_of(runs, str(case), P99) for case in c.BESIDE},
        lambda waits: _sentence(waits, runs),
        lambda waits: _points(waits, runs),
    )


def _between(runs: Runs, cases: Sequence[Case], measure: str, digits: int) -> str:
    return _span([v for case in cases if (v := median_of(runs, str(case), measure)) is not None], digits)


def _span(values: Sequence[float], digits: int) -> str:
    """Writes the range of the values, or one number if both ends are written in the same way."""
    return " to ".join(dict.fromkeys(number(v, digits) for v in (min(values), max(values))))


def _sentence(waits: Mapping[Case, float], runs: Runs) -> str:
    fast = max(wait for case, wait in waits.items() if case.rate >= 50.0)
    late = [case for case, wait in waits.items() if wait > 2.0]
    first = "Yes" if not late else "From 50 Mbit/s on, yes" if fast <= 2.0 else "Not always"
    missed = ""
    if late:
        at, packets = sorted({case.rate for case in late}), [case.packet_ms for case in late]
        missed = DECLARED.text(
            "missed",
            late=len(late),
            loads=len(waits),
            rates=" and ".join(f"{rate:g}" for rate in at),
            packet=_span(packets, 1),
            worst=number(max(waits[x] for x in late), 0),
        )
    from_20 = [case for case in waits if case.rate >= 20.0]
    return (
        f"{first}: 99 of 100 packets wait at most {number(fast, 1)} ms there{missed}. From 20 Mbit/s on CUBIC has "
        f"{_between(runs, from_20, SHARE, 2)} of Prague's rate, and waits {_between(runs, from_20, C_MEAN, 0)} ms instead."
    )


def _points(waits: Mapping[Case, float], runs: Runs) -> list[Point]:
    found: list[Point] = []
    for rate in c.RATES:
        own = [case for case in waits if case.rate == rate]
        worst = max(waits[case] for case in own)
        text = f"for 99 of 100 packets at most; CUBIC over Prague {_between(runs, own, SHARE, 2)}"
        found.append(Point(f"{rate:g} Mbit/s", f"{number(worst, 1)} ms", text, "good" if worst <= 2.0 else "bad"))
    return found


def draw(runs: Runs) -> Drawn:
    """Plots the delay in each queue, and CUBIC's rate divided by Prague's, against the link's rate."""

    def line(flows: int, measure: str, label: str, place: int) -> Series:
        return _line(label, place, 3, runs, [c.beside(rate, flows) for rate in c.RATES], measure)

    waits = [
        *(line(n, P99, f"L, {n} each", place) for place, n in enumerate(c.FLOWS)),
        line(4, C_MEAN, "C, 4 each (mean)", 3),
    ]
    shares = [line(n, SHARE, f"{n} each", place) for place, n in enumerate(c.FLOWS)]
    return DECLARED.drawn("answer", waits, shares, x_ticks=_RATES)
