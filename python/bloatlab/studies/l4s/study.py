"""The study: its cases, published values, claims, tables and figures."""

from __future__ import annotations

from bloatlab.studies import page
from bloatlab.studies.l4s import pages
from bloatlab.studies.l4s.cases import build, cases, quick
from bloatlab.studies.l4s.measure import measure
from bloatlab.studies.l4s.rules import CLAIMS, GOALS, PUBLISHED, RULES, explain
from bloatlab.studies.l4s.rules import __doc__ as rules
from bloatlab.studies.study import About, PageSection, Publication, Quick, Study

QUICK_SECONDS = 20

STUDY = Study(
    name="l4s",
    publication=Publication(
        "L4S: RFC 9330 and RFC 9332, and the tables of the L4S tests",
        "B. Briscoe et al.: RFC 9330, Low Latency, Low Loss, and Scalable Throughput (L4S) Internet Service: Architecture; "
        "K. De Schepper et al.: RFC 9332, Dual-Queue Coupled Active Queue Management for L4S. January 2023. P. Heist: L4S Tests, 2020.",
        "https://github.com/heistp/l4s-tests",
    ),
    about=About(
        "Low latency, low loss, scalable throughput",
        "RFC 9330 and RFC 9332, and the L4S tests' tables, packet by packet",
        "L4S keeps a short queue for senders that count their marks (TCP Prague), beside an ordinary one for all others, and couples "
        "the two so that they share the link. This page compares the promises of its documents and the measurements of its tests with "
        "runs of Prague, CUBIC and Reno through DualPI2, and of datagrams that do not respond.",
    ),
    cases=cases(),
    build=build,
    measure=measure,
    quick=Quick(1, f"A quick look: {QUICK_SECONDS} s, one seed, and a slice of the cases, so that it proves nothing.", quick(), QUICK_SECONDS),
    published=PUBLISHED,
    explain=explain,
    goals=GOALS,
    rules=RULES,
    claims=CLAIMS,
    answer=lambda results: pages.answer(results.runs, results.seeds),
    tables=pages.tables,
    figures=lambda results: pages.figures(results.runs),
    sections=[
        PageSection("Two flows", "pairs", pages.pairs_tables,
             "Two uploads of three minutes, measured in the last one, in all orders of Prague and CUBIC. Both negotiate AccECN, so that CUBIC is marked as well. The tests ran a "
             "kernel of August 2020, whose Prague (0.5) keeps round trips of its own; version 0.7 scales short ones, so that 20 and 10 ms are equal today."),
        PageSection("One queue", "shared", pages.shared_tables,
             "Prague counts marks, the other flow halves at one: an AQM of RFC 3168 that has both in one queue cannot be fair."),
        PageSection("Steps of the rate", "steps", lambda results: [pages.steps_table(results.runs), *pages.group_tables(results, "steps")],
             "One upload of a minute; in its middle the rate falls. Packets sent before then wait at the new rate."),
        page.figures("Medians over seeds; bars: the central 80 %."),
        PageSection("How long the low-latency queue is", "delay", lambda results: pages.group_tables(results, "beside", "alone"),
             "RFC 9330: “less than 1 millisecond on average and less than 2 milliseconds at the 99th percentile”."),
        PageSection("Why", "why", lambda results: pages.why_tables(results.runs),
             "Beside CUBIC the time of a packet decides: one of C's before it, or several flows' at once. Alone, flows grow together for a "
             "round trip until the step's marks come back; that growth is the queue beyond the step. With a round trip of 5 ms the law "
             "leaves a 25th of it, and the wait is short; without the law it is not."),
        PageSection("Closed forms", "laws", lambda results: pages.group_tables(results, "laws", "floods"),
             "Flows within a factor of two; unresponsive traffic is arithmetic, within 3 %."),
        page.claims(),
        page.rules("Rules", rules),
    ],
)  # fmt: skip
