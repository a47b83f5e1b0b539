"""The study: its cases, published values, claims, tables and figures."""

from __future__ import annotations

from bloatlab.studies.l4s import pages
from bloatlab.studies.l4s.cases import DECLARED, build, cases, quick
from bloatlab.studies.l4s.measure import measure
from bloatlab.studies.l4s.rules import CLAIMS, GOALS, PUBLISHED, RULES, explain

STUDY = DECLARED.study(
    pages.BLOCKS,
    cases=cases(),
    build=build,
    measure=measure,
    quick=DECLARED.quick(quick()),
    published=PUBLISHED,
    explain=explain,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    figures=lambda results: pages.figures(results.runs),
)
