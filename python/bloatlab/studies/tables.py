"""Tables used by all studies, for the terminal and the page: shares, claims, published values, medians."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bloatlab.judgement import Share, within_cell
from bloatlab.report import Fact
from bloatlab.studies.claims import NO_VALUE, NOT_RUN, Checked, Runs, count, over_seeds
from bloatlab.studies.scorecard import NOT_EXPLAINED, Cell, Origin, Scorecard, Verdict, by_metric, by_table
from bloatlab.tables import TextCell, TextTable, Tone, counted, number, row

TONES: dict[Verdict, Tone] = {
    Verdict.WITHIN: "good",
    Verdict.OUTSIDE: "bad",
    Verdict.CALIBRATION: "marked",
    Verdict.DERIVED: "muted",
    Verdict.PARAMETER: "muted",
    Verdict.UNTESTED: "marked",
    Verdict.UNJUDGED: "muted",
}

#: The mark of each verdict: a character, or nothing.
MARKS = {
    Verdict.WITHIN: "✓",
    Verdict.OUTSIDE: "✗",
    Verdict.CALIBRATION: "c",
    Verdict.DERIVED: "",
    Verdict.PARAMETER: "=",
    Verdict.UNTESTED: "-",
    Verdict.UNJUDGED: "",
}

#: Functions that turn a scorecard cell into a table field.
Field = Callable[[Cell], str | TextCell]


def verdict_with_reason(cell: Cell) -> str:
    """Joins a verdict and its reason: "outside: off by +0.3". A reason that begins with the verdict is not changed."""
    verdict = str(cell.verdict)
    return cell.reason if cell.reason.startswith(verdict) else ": ".join(filter(None, (verdict, cell.reason)))


def judged_cell(cell: Cell, text: str, hint: str = "") -> TextCell:
    """Makes a table cell with our value in the colour of its verdict; unless the colour is muted, adds the verdict."""
    word = str(cell.verdict) if TONES[cell.verdict] != "muted" else ""
    return TextCell(text, TONES[cell.verdict], hint, word)


def verdict_cell(cell: Cell) -> TextCell:
    """Makes a table cell that shows the verdict, in its colour."""
    return TextCell(str(cell.verdict), TONES[cell.verdict])


def median_cell(runs: Runs, key: str, measure: str, digits: int) -> TextCell:
    """Makes a table cell with the median of a measure over seeds, or "-". The hint, if any, is the central 80 %."""
    ours = over_seeds(runs, key, measure)
    if ours is None:
        return TextCell("-", "muted")
    hint = f"{number(ours.low, digits)} to {number(ours.high, digits)} over seeds" if ours.low != ours.high else ""
    return TextCell(number(ours.median, digits), hint=hint)


def medians_table(
    title: str,
    runs: Runs,
    rows: Iterable[object | tuple[Sequence[str], object]],
    columns: Sequence[tuple[str, str, int]],
    heads: Sequence[str] = ("case",),
    note: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> TextTable:
    """Makes a table of medians over seeds, for the cases that were run.

    Each of `rows` is a case, or a pair (labels, case). Each of `columns` is (measure, heading, number of decimals).
    """
    labelled = [of if isinstance(of, tuple) else ((str(of),), of) for of in rows]
    body = [
        [*map(TextCell, labels), *(median_cell(runs, str(case), m, digits) for m, _, digits in columns)]
        for labels, case in labelled
        if str(case) in runs
    ]
    return TextTable(title, [*heads, *(head for _, head, _ in columns)], body, note, groups, len(heads))


def seeds(card: Scorecard) -> str:
    """Formats the seeds of a study: "seed 1", "seeds 1 to 10"."""
    return "seed 1" if card.seeds == 1 else f"seeds 1 to {card.seeds}"


def facts(card: Scorecard, claims: Sequence[Checked], runs: int) -> list[Fact]:
    """Makes the facts at the top of a page: shares within tolerance, claims that hold, and number of simulations.

    If the runs prove nothing, only the number of simulations is shown.
    """
    paper = count(claims)
    made = Fact(str(runs), "simulations", f"{counted(card.seeds, 'seed')} per case")
    if card.proves_nothing:
        return [made]
    return [
        *(_share(s) for s in card.goals if s.cells or s.met is False),
        *([Fact(f"{paper.hold} of {paper.checked}", "claims of the paper hold")] if paper.checked else []),
        made,
    ]


def _share(share: Share) -> Fact:
    word = {"good": ": reached", "bad": ": missed"}.get(share.tone, "")
    wanted = f"; {share.asked} wanted{word}" if share.asked else ""
    percent = f"{share.share:.0%}" if share.cells else "-"
    return Fact(percent, f"of {share.name}", f"{share.within} of {share.cells} cells{wanted}", share.tone)


def spaced(printed: str) -> str:
    """Separates the thousands of a printed whole number with more than four digits."""
    return number(float(printed), 0) if printed.isdigit() and len(printed) > 4 else printed


def tolerances_table(rules: Sequence[tuple[str, str]]) -> TextTable:
    """Makes a table of a study's tolerances in words."""
    rows = [row(what, words) for what, words in rules]
    return TextTable("Tolerances", ["of", "ours agrees within"], rows, left=2)


def reached_table(card: Scorecard, claims: Sequence[Checked]) -> TextTable:
    """Makes a table with one row per goal, and one row for the paper's claims, if any were checked.

    In a study without goals, one row for all judged values replaces the goals.
    """
    rows: list[list[TextCell]] = []
    for of in card.goals:
        word = {"good": "reached", "bad": "not reached"}.get(of.tone, "")
        rows.append([*_share_row(of), TextCell(word, of.tone)])
    paper = count(claims)
    if paper.checked:
        rows.append(row(*_share_row(Share("claims of the paper that hold", paper.hold, paper.checked)), ""))
    return TextTable("", ["", "within", "of", "share", "wanted", ""], rows)


def misses(card: Scorecard, claims: Sequence[Checked], *, explained_from: int | None = None) -> list[str]:
    """Returns lines for a terminal: the metrics with the most values outside their tolerance, and the differing claims.

    Only the paper's claims are listed. If a study has too few seeds to look for explanations of its differences,
    `explained_from` is the number of seeds that it needs.
    """
    outside = [cell for cell in card.cells if cell.verdict is Verdict.OUTSIDE and (cell.counted or not card.shares)]
    found: list[str] = []
    if outside:
        metrics = Counter(cell.metric for cell in outside).most_common()
        listed = ", ".join(f"{metric} {n}" for metric, n in metrics[:_MISSES])
        more = f", and {len(metrics) - _MISSES} other measures" if len(metrics) > _MISSES else ""
        unexplained = sum(NOT_EXPLAINED in cell.reason for cell in outside)
        why = f"{unexplained} of {len(outside)} are {NOT_EXPLAINED}."
        if explained_from is not None:
            why = f"With {explained_from} seeds, the study also runs what could explain these differences."
        found.append(f"Outside: {listed}{more}. {why}")
    differ = [claim.where for claim in claims if claim.holds is False and claim.origin is Origin.PAPER]
    if differ:
        places = ", ".join(f"{where} ({n})" if n > 1 else where for where, n in Counter(differ).items())
        found.append(f"Claims that differ: {places}.")
    return found


#: Maximum number of metrics that `misses` lists by name.
_MISSES = 5

#: The title of the shares table.
SHARES = "Cells within tolerance"


def shares_table(card: Scorecard) -> TextTable:
    """Makes a table of the shares within tolerance: by goal, then by table and by metric of the paper."""
    tables = [replace(of, name=f"Table {of.name}") for of in by_table(card.cells).values()]
    rows = [_share_row(of) for of in (*card.goals, *tables, *by_metric(card.cells).values())]
    note = "Not counted: calibration cells, derived columns, and values that are not the paper's. The tables show them."
    return TextTable(SHARES, ["cells of", "within", "of", "share", "wanted"], rows, note)


def _share_row(of: Share) -> list[TextCell]:
    return row(
        of.name,
        str(of.within),
        str(of.cells),
        TextCell(f"{of.share:.0%}" if of.cells else "-", of.tone),
        TextCell(of.asked, "muted"),
    )


def claims_table(claims: Sequence[Checked]) -> TextTable:
    """Makes a table of a study's claims, each with the published value and ours."""
    rows = [
        row(
            c.where,
            origin_cell(c.origin),
            c.says,
            c.published,
            f"{c.ours}; {c.why}" if c.why else c.ours,
            within_cell(c.holds, "holds", "differs", _not_judged(c)),
        )
        for c in claims
    ]
    note = (
        "Ours is the median over seeds, in brackets the central 80 %. Only claims made by the paper count towards its score; "
        '"textbook" marks theory that it does not state, "others" further measurements, "ours" our own expectations.'
    )
    return TextTable("Claims", ["where", "by", "says", "published", "ours", ""], rows, note, left=5)


def _not_judged(claim: Checked) -> str:
    """Returns the reason why a claim has no verdict: "not run", "not tested" or "not judged"."""
    if claim.ours == NOT_RUN:
        return NOT_RUN
    return str(Verdict.UNTESTED if claim.ours.startswith(NO_VALUE) else Verdict.UNJUDGED)


def unjudged(table: TextTable) -> TextTable:
    """Removes the colours good and bad from a table of runs that prove nothing."""

    def plain(cell: TextCell) -> TextCell:
        return TextCell(cell.text) if cell.tone in {"good", "bad"} else cell

    return replace(table, rows=[[plain(cell) for cell in row] for row in table.rows])


def origin_cell(origin: Origin) -> TextCell:
    """Makes a table cell with the source of a value or claim, muted unless the source is the paper."""
    return TextCell(str(origin), "plain" if origin is Origin.PAPER else "muted")


def cells_table(
    title: str,
    cells: Iterable[Cell],
    fields: Mapping[str, Field],
    note: str = "",
    left: int = 2,
    *,
    below: bool = False,
) -> TextTable:
    """Makes a table with one row for each of `cells`.

    `fields` maps each column heading to the function that makes the column's cells. The last column contains text. If
    `below` is true, a page puts this text below the row.
    """
    rows = [row(*(field(cell) for field in fields.values())) for cell in cells]
    return TextTable(title, list(fields), rows, note, left=left, words_last=True, below=below)


def statements_table(card: Scorecard, title: str) -> TextTable:
    """Makes a table of a paper's statements, in the paper's order: the published value, ours, verdict and reason."""
    fields: dict[str, Field] = {
        "where": lambda c: TextCell(c.where, hint=f"by: {c.origin}"),
        "statement": lambda c: f"{c.case}: {c.metric}",
        "published": as_printed,
        "ours (central 80 %)": with_interval,
        "verdict": verdict_cell,
        "why": lambda c: c.reason,
    }
    return cells_table(title, card.cells, fields, left=5, below=True)


def as_printed(cell: Cell) -> str:
    """Formats the published value as printed, with its unit."""
    return f"{cell.printed} {cell.unit}".strip()


def between(cell: Cell, digits: int) -> str:
    """Formats the central 80 % of our value over seeds."""
    return f"{number(cell.low, digits)} to {number(cell.high, digits)}"


def with_interval(cell: Cell) -> str:
    """Formats our value with its interval, if any, in brackets; "-" if there is no value."""
    if math.isnan(cell.ours):
        return "-"
    interval = "" if cell.low == cell.high else f" ({significant(cell.low)} to {significant(cell.high)})"
    return f"{significant(cell.ours)}{interval}"


def significant(value: float) -> str:
    """Formats a number with four significant digits and without trailing zeros; infinity is "never"."""
    if math.isinf(value):
        return "never"
    text = f"{value:.4g}"
    return f"{float(text):g}" if "e" not in text else text


def outside_table(card: Scorecard, digits: Mapping[str, int]) -> TextTable:
    """Makes a table of every counted value outside its tolerance, with the reason."""
    outside = [c for c in card.cells if c.verdict is Verdict.OUTSIDE and c.counted]
    fields: dict[str, Field] = {
        "case": lambda c: c.case,
        "metric": lambda c: c.metric,
        "published": lambda c: spaced(c.printed),
        "ours": lambda c: number(c.ours, digits.get(c.metric, 2)),
        "central 80 %": lambda c: between(c, digits.get(c.metric, 2)),
        "accepted": lambda c: c.accepted(digits.get(c.metric)),
        "why": lambda c: c.reason,
    }
    return cells_table(f"{len(outside)} cells outside", outside, fields, below=True)
