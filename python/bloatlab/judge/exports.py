"""Verdicts for a paper: as CSV, with all digits, and as LaTeX tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from bloatlab.judge.verdicts import Judged, Ruling, Tried, Word
from bloatlab.scenario import version

COLUMNS = (
    "suite",
    "document",
    "controller",
    "case",
    "title",
    "case_verdict",
    "criterion",
    "measure",
    "against",
    "expected",
    "limit_by",
    "condition",
    "verdict",
    "figure",
    "low",
    "high",
    "reason",
)

#: Verdicts in the cells of a LaTeX table with several controllers.
_MARKS: dict[Word, str] = {
    "met": "met",
    "not met": r"\textbf{not met}",
    "not applicable": "n/a",
    "cannot be judged here": "--",
}
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<=": r"$\le$",
    ">=": r"$\ge$",
    "==": "$=$",
    "<": "$<$",
    ">": "$>$",
    " .. ": " to ",
    **{one: rf"\{one}" for one in "&%$#_{}"},
}
_SPECIAL = re.compile("|".join(re.escape(one) for one in sorted(_ESCAPED, key=len, reverse=True)))


def csv_text(done: Sequence[Judged]) -> str:
    """Returns a row for each criterion, and for each section of a document that cannot be judged here.

    `low` and `high` are the ends of the 95 % interval of a case with several seeds.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(COLUMNS)
    for one in done:
        head = (one.suite.name, one.suite.document, one.name)
        for tried in one.tried:
            case = (tried.case.section, tried.case.title, tried.word)
            for r in tried.rulings:
                write((*head, *case, *_ruling(r)))
        for o in one.outside:
            word: Word = "cannot be judged here"
            write((*head, o.section, o.title, word, *[""] * 6, word, "", "", "", o.reason))
    return out.getvalue()


def _ruling(r: Ruling) -> Iterable[str | float | None]:
    c = r.criterion
    low, high = r.over.ends if r.over is not None and r.over.n > 1 else (None, None)
    condition = "true" if c.condition else "false"
    given = (c.says, c.measure, " ".join(c.against), c.expect, c.by, condition)
    return (*given, r.word, r.figure, low, high, r.reason)


def latex(done: Sequence[Judged]) -> str:
    """Returns a table for each suite, with the rules of the package booktabs.

    With one controller, the rows are the criteria, with figures and limits. With several, the rows are the cases, and
    each controller has a column of verdicts.
    """
    head = [
        f"% Written by bloatlab {version()} (bloatlab judge --out).",
        r"% Needs \usepackage{booktabs}. For a table longer than a page, use the package longtable.",
    ]
    parts = ["\n".join(head)]
    for name in dict.fromkeys(one.suite.name for one in done):
        own = [one for one in done if one.suite.name == name]
        parts.append(_criteria(own[0]) if len(own) == 1 else _matrix(own))
    return "\n\n".join(parts) + "\n"


def _criteria(one: Judged) -> str:
    rows = [
        [tried.case.section if place == 0 else "", _says(r), r.measured, _limit(r), r.word]
        for tried in one.tried
        for place, r in enumerate(tried.rulings)
    ]
    heads = ["case", "criterion", "measured", "limit", "verdict"]
    widths = r"lp{.4\linewidth}p{.2\linewidth}ll"
    return _table(f"{one.name} by {one.suite.document}", widths, heads, [[escaped(c) for c in row] for row in rows])


def _says(r: Ruling) -> str:
    return f"{'condition: ' if r.criterion.condition else ''}{r.criterion.says}"


def _limit(r: Ruling) -> str:
    return r.criterion.expect + (f" of {' or '.join(r.criterion.against)}" if r.criterion.against else "")


def _matrix(own: Sequence[Judged]) -> str:
    def cells(place: int, tried: Tried) -> list[str]:
        return [escaped(tried.case.section), escaped(tried.case.title), *(_MARKS[o.tried[place].word] for o in own)]

    rows = [cells(place, tried) for place, tried in enumerate(own[0].tried)]
    counts = ["", "cases met", *(str(one.count["met"]) for one in own)]
    heads = ["case", "title", *(one.name for one in own)]
    return _table(own[0].suite.document, "ll" + "l" * len(own), heads, rows, counts)


def _table(
    caption: str, columns: str, heads: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[str] | None = None
) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"    {' & '.join(cells)} \\\\"

    begin = r"\begin{table}" + "\n" + r"  \centering"
    below = [r"    \midrule", line(last)] if last is not None else []
    return "\n".join(
        [
            begin,
            f"  \\caption{{{escaped(caption)}}}",
            f"  \\begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            line(map(escaped, heads)),
            r"    \midrule",
            *map(line, rows),
            *below,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def escaped(text: str) -> str:
    """Returns text in which LaTeX's special characters are escaped, and comparisons are symbols."""
    return _SPECIAL.sub(lambda m: _ESCAPED[m[0]], text)
