"""The tables that every study shows: shares, claims, what differs. For the terminal and for the page alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bloatlab.judgement import Share, within_cell
from bloatlab.report import Fact
from bloatlab.studies.claims import Checked, Runs, count, over_seeds
from bloatlab.studies.scorecard import Cell, Origin, Scorecard, Verdict, by_metric, by_table
from bloatlab.tables import TextCell, TextTable, Tone, counted, number, row

#: How a verdict looks.
TONES: dict[Verdict, Tone] = {
    Verdict.WITHIN: "good",
    Verdict.OUTSIDE: "bad",
    Verdict.CALIBRATION: "marked",
    Verdict.DERIVED: "muted",
    Verdict.PARAMETER: "muted",
    Verdict.UNTESTED: "marked",
}

#: A verdict in one character.
MARKS = {
    Verdict.WITHIN: "✓",
    Verdict.OUTSIDE: "✗",
    Verdict.CALIBRATION: "c",
    Verdict.DERIVED: "",
    Verdict.PARAMETER: "=",
    Verdict.UNTESTED: "-",
}


def verdict_with_reason(cell: Cell) -> str:
    """A verdict and why, as in "outside: off by +0.3"; a reason that begins with the verdict is enough."""
    verdict = str(cell.verdict)
    return cell.reason if cell.reason.startswith(verdict) else f"{verdict}: {cell.reason}"


def judged_cell(cell: Cell, text: str, hint: str = "") -> TextCell:
    """Ours beside a published value: colour, glyph and the verdict in a word."""
    word = str(cell.verdict) if TONES[cell.verdict] != "muted" else ""
    return TextCell(text, TONES[cell.verdict], hint, word)


def verdict_cell(cell: Cell) -> TextCell:
    """A verdict by itself."""
    return TextCell(str(cell.verdict), TONES[cell.verdict])


def median_cell(runs: Runs, key: str, measure: str, digits: int) -> TextCell:
    """The median over seeds of a measure, its central 80 % on demand."""
    ours = over_seeds(runs, key, measure)
    if ours is None:
        return TextCell("-", "muted")
    between = f"{number(ours.low, digits)} to {number(ours.high, digits)} over seeds" if ours.low != ours.high else ""
    return TextCell(number(ours.median, digits), hint=between)


def medians_table(
    title: str,
    runs: Runs,
    rows: Sequence[str | tuple[Sequence[str], str]],
    columns: Sequence[tuple[str, str, int]],
    heads: Sequence[str] = ("case",),
    note: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> TextTable:
    """Cases by rows of (labels, key of the run), or of a key that is its own label; measures by columns of (measure, head, digits)."""
    labelled = [((of,), of) if isinstance(of, str) else of for of in rows]
    body = [
        [*(TextCell(label) for label in labels), *(median_cell(runs, key, m, digits) for m, _, digits in columns)]
        for labels, key in labelled
    ]
    return TextTable(title, [*heads, *(head for _, head, _ in columns)], body, note, groups, len(heads))


def seeds(card: Scorecard) -> str:
    """Which seeds a study ran: "seed 1", "seeds 1 to 10"."""
    return "seed 1" if card.seeds == 1 else f"seeds 1 to {card.seeds}"


def facts(card: Scorecard, claims: Sequence[Checked], runs: int) -> list[Fact]:
    """How far it agrees: shares, claims, how many simulations."""
    paper = count(claims)
    made = Fact(str(runs), "simulations", f"{counted(card.seeds, 'seed')} per case")
    if card.proves_nothing:
        return [made]
    return [
        *(_share(s) for s in card.shares if s.cells),
        *([Fact(f"{paper.hold} of {paper.claims}", "claims of the paper hold")] if paper.claims else []),
        made,
    ]


def _share(share: Share) -> Fact:
    word = {"good": ": reached", "bad": ": missed"}.get(share.tone, "")
    wanted = f"; {share.asked} wanted{word}" if share.asked else ""
    return Fact(f"{share.share:.0%}", f"of {share.name}", f"{share.within} of {share.cells} cells{wanted}", share.tone)


def spaced(printed: str) -> str:
    """A printed whole number with its thousands told apart."""
    return number(float(printed), 0) if printed.isdigit() and len(printed) > 4 else printed


def tolerances_table(rules: Sequence[tuple[str, str]]) -> TextTable:
    """What is accepted, as the rules themselves say it."""
    rows = [row(what, words) for what, words in rules]
    return TextTable("Tolerances", ["of", "ours agrees within"], rows, left=2)


def reached_table(card: Scorecard, claims: Sequence[Checked]) -> TextTable:
    """What was reached, one line each: the stated shares (else every judged check), and the claims of the paper."""
    rows: list[list[TextCell]] = []
    for of in card.goals:
        word = {"good": "reached", "bad": "not reached"}.get(of.tone, "")
        rows.append([*_share_row(of), TextCell(word, of.tone)])
    paper = count(claims)
    if paper.checked:
        rows.append(row(*_share_row(Share("claims of the paper that hold", paper.hold, paper.checked)), ""))
    return TextTable("", ["", "within", "of", "share", "wanted", ""], rows)


def misses(card: Scorecard, claims: Sequence[Checked]) -> list[str]:
    """What was not reached, for a terminal: cells outside by metric, the most first, and how many claims differ."""
    outside = [cell for cell in card.cells if cell.verdict is Verdict.OUTSIDE and (cell.counted or not card.shares)]
    found: list[str] = []
    if outside:
        metrics = Counter(cell.metric for cell in outside).most_common()
        listed = ", ".join(f"{metric} {n}" for metric, n in metrics[:_MISSES])
        more = f", and {len(metrics) - _MISSES} other measures" if len(metrics) > _MISSES else ""
        unexplained = sum("not explained" in cell.reason for cell in outside)
        found.append(f"Outside: {listed}{more}. {unexplained} of {len(outside)} are not explained.")
    differ = [claim.where for claim in claims if claim.holds is False and claim.origin is Origin.PAPER]
    if differ:
        places = ", ".join(f"{where} ({n})" if n > 1 else where for where, n in Counter(differ).items())
        found.append(f"Claims that differ: {places}.")
    return found


#: How many measures with cells outside are named on a terminal.
_MISSES = 5


#: The title of the table of shares.
SHARES = "Cells within tolerance"


def shares_table(card: Scorecard) -> TextTable:
    """The stated shares, and the shares per table and per metric."""
    tables = [replace(of, name=f"Table {of.name}") for of in by_table(card.cells).values()]
    rows = [_share_row(of) for of in (*card.shares, *tables, *by_metric(card.cells).values())]
    note = "Calibration cells, derived columns and what is not the paper's are shown in the tables and not counted."
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
    """The prose claims."""
    rows = [
        row(
            c.where,
            origin_cell(c.origin),
            c.says,
            c.published,
            f"{c.ours}; {c.why}" if c.why else c.ours,
            within_cell(c.holds, "holds", "differs", "not run"),
        )
        for c in claims
    ]
    note = (
        "Ours is the median over seeds, in brackets the central 80 %. By whom: only claims of the paper are counted as its; "
        "textbook is theory that it does not spell out, others have measured the same, ours we expected or chose."
    )
    return TextTable("Claims", ["where", "by", "says", "published", "ours", ""], rows, note, left=5)


#: Words of verdicts, where they stand by themselves.
_VERDICTS = {"holds", "differs", str(Verdict.WITHIN), str(Verdict.OUTSIDE)}


def unjudged(table: TextTable) -> TextTable:
    """A table without its verdicts: of a quick look, which proves nothing."""

    def plain(cell: TextCell) -> TextCell:
        if cell.text in _VERDICTS:
            return TextCell("not judged", "muted")
        return TextCell(cell.text) if cell.tone in {"good", "bad"} else cell

    return replace(table, rows=[[plain(cell) for cell in row] for row in table.rows])


def origin_cell(origin: Origin) -> TextCell:
    """Whose a number or claim is; what is not the paper's stands back."""
    return TextCell(str(origin), "plain" if origin is Origin.PAPER else "muted")


def statements_table(card: Scorecard, title: str) -> TextTable:
    """Every statement of a paper that prints few tables: published, ours, verdict and reason, in the order of the paper."""
    rows = [
        row(
            TextCell(c.where, hint=f"by: {c.origin}"),
            f"{c.case}: {c.metric}",
            f"{c.printed} {c.unit}".strip(),
            with_interval(c),
            verdict_cell(c),
            c.reason,
        )
        for c in card.cells
    ]
    columns = ["where", "statement", "published", "ours (central 80 %)", "verdict", "why"]
    return TextTable(title, columns, rows, left=5, words_last=True, below=True)


def with_interval(cell: Cell) -> str:
    """Ours with its interval in brackets where it has one; "-" where it was not run."""
    if math.isnan(cell.ours):
        return "-"
    between = "" if cell.low == cell.high else f" ({significant(cell.low)} to {significant(cell.high)})"
    return f"{significant(cell.ours)}{between}"


def significant(value: float) -> str:
    """Four significant digits, as a person writes them."""
    if math.isinf(value):
        return "never"
    text = f"{value:.4g}"
    return f"{float(text):g}" if "e" not in text else text


def outside_table(card: Scorecard, digits: Mapping[str, int]) -> TextTable:
    """Every counted cell that is not within, with its reason."""
    outside = [c for c in card.cells if c.verdict is Verdict.OUTSIDE and c.counted]
    rows = [
        row(
            c.case,
            c.metric,
            spaced(c.printed),
            number(c.ours, digits.get(c.metric, 2)),
            f"{number(c.low, digits.get(c.metric, 2))} to {number(c.high, digits.get(c.metric, 2))}",
            c.accepted(digits.get(c.metric)),
            c.reason,
        )
        for c in outside
    ]
    columns = ["case", "metric", "published", "ours", "central 80 %", "accepted", "why"]
    return TextTable(f"{len(outside)} cells outside", columns, rows, left=2, words_last=True, below=True)
