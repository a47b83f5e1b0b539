"""The page of a study: the answer, the verdict, the study's own sections, and the provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bloatlab.report import Block, Page, Prose, Provenance, Section, TableBlock, figure_block
from bloatlab.scenario import version
from bloatlab.studies.study import PageSection, Results
from bloatlab.studies.tables import (
    SHARES,
    claims_table,
    facts,
    outside_table,
    seeds,
    shares_table,
    statements_table,
    tolerances_table,
    unjudged,
)
from bloatlab.tables import TextTable

Blocks = Callable[[Results], Iterable[TextTable | Block]]


def page(results: Results) -> Page:
    """Builds the page of a study as data."""
    study, card = results.study, results.scorecard
    sections = [section for one in study.sections or STANDARD if (section := _section(one, results)).blocks]
    publication = study.publication
    return Page(
        title=study.about.heading,
        subtitle=study.about.subtitle,
        sections=[_unjudged(section) for section in sections] if card.proves_nothing else sections,
        answer=results.answer,
        lead=[study.about.lead],
        facts=facts(card, results.claims, results.made),
        warning=card.proves_nothing,
        provenance=Provenance(
            [
                ("Published values", publication.cited),
                *([("Read it at", publication.link)] if publication.link else []),
                ("Ours", f"{results.made} simulations, {seeds(card)}, by bloatlab {version()}"),
                ("Written by", results.options.command or "bloatlab.studies.reproduce, in Python"),
                ("Machine and time", "in provenance.json, beside this page"),
                ("Every number", "in scorecard.json and runs.parquet, beside this page"),
            ]
        ),
    )


def _section(of: PageSection, results: Results) -> Section:
    blocks = [TableBlock(b) if isinstance(b, TextTable) else b for b in of.blocks(results)]
    return Section(of.title, of.anchor, blocks, of.lead)


def _unjudged(section: Section) -> Section:
    """Removes the verdicts from a section, for runs that prove nothing.

    The table of shares and the table of values outside tolerance are left out; other tables lose the colours good and
    bad.
    """
    blocks: list[Block] = []
    for block in section.blocks:
        if not isinstance(block, TableBlock):
            blocks.append(block)
        elif block.table.title != SHARES and not block.table.title.endswith("cells outside"):
            blocks.append(replace(block, table=unjudged(block.table)))
    return replace(section, blocks=blocks or [Prose(["These runs judge nothing."])])


# --------------------------------------------------------------------------------------- blocks shared by studies


def figures(results: Results) -> Iterable[Block]:
    """Returns the blocks of the study's figures."""
    return map(figure_block, results.figures)


def claims(results: Results) -> Iterable[TextTable]:
    """Returns the table of the study's claims."""
    return [claims_table(results.claims)] if results.claims else []


def statements(results: Results) -> Iterable[TextTable]:
    """Returns the table of every published value, with ours."""
    return [statements_table(results.scorecard, "Published and ours")] if results.scorecard.cells else []


def differences(digits: Mapping[str, int]) -> Blocks:
    """Returns a function that makes the table of every counted value outside its tolerance.

    `digits` gives the number of digits for each metric.
    """

    def blocks(results: Results) -> Iterable[TextTable | Block]:
        table = outside_table(results.scorecard, digits)
        return [table] if table.rows else [Prose(["None."])]

    return blocks


def rules(text: str = "", more: Callable[[], Sequence[TextTable]] = tuple) -> Blocks:
    """Returns a function that makes the blocks of the section on rules.

    The blocks are the paragraphs of `text`, a table of the study's tolerances, a table of the shares of values within
    tolerance, and the tables made by `more`. For a study without `rules`, the section has only the paragraphs and the
    tables made by `more`.
    """

    def blocks(results: Results) -> Iterable[TextTable | Block]:
        own = results.study.rules
        tables = [tolerances_table(own), shares_table(results.scorecard)] if own else []
        return [*prose(text), *tables, *more()]

    return blocks


def prose(text: str) -> list[Prose]:
    """Returns the paragraphs of a text."""
    paragraphs = [p.replace("\n", " ").replace("`", "").strip() for p in text.split("\n\n")]
    return [Prose([p]) for p in paragraphs if p]


#: The shared blocks, by the anchor of their section.
SHARED: Mapping[str, Blocks] = {"cells": statements, "figures": figures, "claims": claims, "rules": rules()}

#: The sections of a study that declares none.
STANDARD = [
    PageSection(title, anchor, SHARED[anchor])
    for title, anchor in (
        ("Published and ours", "cells"),
        ("Figures", "figures"),
        ("Claims", "claims"),
        ("Rules", "rules"),
    )
]
