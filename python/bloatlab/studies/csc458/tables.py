"""The study's tables: published beside ours, every case in one, simulated beside live. For the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.studies.claims import Checked, Runs, tally
from bloatlab.studies.csc458.build import EXPERIMENTS, Case, cases, experiment_cases, kit, plain, today
from bloatlab.studies.csc458.scorecard import LARGEST, MEAN, PRINTED, SD, WAITS
from bloatlab.studies.published import rows as published
from bloatlab.studies.scorecard import Scorecard
from bloatlab.studies.study import Live
from bloatlab.studies.tables import judged_cell, median_cell, medians_table, origin_cell, verdict_cell
from bloatlab.tables import TextCell, TextTable, number, row

#: Digits after the point, by metric of a cell.
DIGITS: dict[str, int] = {MEAN: 3, SD: 3, WAITS: 3, LARGEST: 1}

#: What the table of all cases shows: measure, heading, digits.
COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("fetch_mean_s", "fetch mean s", 2),
    ("fetch_sd_s", "sd s", 2),
    ("rtt_median_ms", "RTT median ms", 0),
    ("rtt_p95_ms", "p95 ms", 0),
    ("rtt_max_ms", "max ms", 0),
    ("queue_mean_packets", "queue mean", 1),
    ("queue_max_packets", "max", 0),
    ("throughput_mbit", "flow Mbit/s", 2),
    ("dropped_percent", "dropped %", 1),
    ("retransmits", "resent", 0),
    ("timeouts", "RTOs", 0),
    ("pings_lost_percent", "pings lost %", 1),
)


def published_table(card: Scorecard) -> TextTable:
    """Each published number, ours, and the verdict with its reason."""
    rows = [
        row(
            c.case,
            c.metric,
            f"{c.printed} {c.unit}",
            judged_cell(c, number(c.ours, DIGITS[c.metric])),
            f"{number(c.low, DIGITS[c.metric])} to {number(c.high, DIGITS[c.metric])}",
            c.accepted(DIGITS[c.metric]),
            origin_cell(c.origin),
            verdict_cell(c),
            c.reason,
        )
        for c in card.cells
    ]
    columns = ["case", "metric", "published", "ours", "central 80 %", "accepted", "by", "", "why"]
    note = (
        "Fetches: super-segments of two in the queue, as in Mininet, twice: with losses found by RACK-TLP, and by duplicate "
        "ACKs alone. Equation (2): packets that are packets; its values are ours and not counted."
    )
    return TextTable("Published and ours", columns, rows, note, left=2, words_last=True)


def readings_table(first: Sequence[Checked], second: Sequence[Checked]) -> TextTable:
    """The claims that the two readings of loss detection tell apart, and how many hold in each."""
    rows = [row(a.where, a.says, _held(a), _held(b)) for a, b in zip(first, second, strict=True) if a.holds != b.holds]
    note = f"With RACK-TLP {tally(first)}. By duplicate ACKs {tally(second)}."
    columns = ["where", "says", "RACK-TLP", "duplicate ACKs"]
    return TextTable("Claims that depend on how losses are found", columns, rows, note, left=4)


def _held(claim: Checked) -> TextCell:
    word = {True: "holds", False: "differs", None: "not run"}[claim.holds]
    return TextCell(f"{claim.ours}: {word}", "good" if claim.holds else "bad")


def experiment_table(name: str, runs: Runs) -> TextTable:
    """The cases of an experiment: medians over seeds."""
    return medians_table(f"{name}: {EXPERIMENTS[name]}", runs, [c.key for c in experiment_cases(name)], COLUMNS)


def cases_table(runs: Runs) -> TextTable:
    """Every case, simulated: medians over seeds."""
    note = "Queues in segments. x2: a packet of the limit is a super-segment of up to two. RTOs and resent: of the long flow."
    return medians_table("All cases, simulated", runs, [c.key for c in cases() if c.key in runs], COLUMNS, note=note)


#: What stands in the table of kernels: measure, heading, digits.
LIVE_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("fetch_mean_s", "fetch mean s", 2),
    ("fetch_sd_s", "fetch sd s", 2),
    ("rtt_median_ms", "RTT median ms", 1),
    ("rtt_max_ms", "RTT max ms", 1),
    ("queue_mean_packets", "queue mean", 1),
    ("throughput_mbit", "flow Mbit/s", 2),
)

#: The measures that the report printed of Reno, by the name of ours.
_PUBLISHED = {"fetch_mean_s": MEAN, "fetch_sd_s": SD}


def live_table(runs: Runs, live: Live) -> TextTable:
    """Simulated, on kernels, published. An invalid run shows its numbers struck grey, and why."""
    cases = [case for case in (*kit()[:3], *plain(), *today()) if case.key in runs]
    columns, groups = ["case"], [("", 1)]
    for measure, heading, _ in LIVE_COLUMNS:
        names = ["simulated", "live", *(["published"] if measure in _PUBLISHED else [])]
        columns += names
        groups.append((heading, len(names)))
    note = "One live run a case; an invalid one (its own lateness rule) is shown and never counted or run again."
    rows = [_live_row(case, runs, live) for case in cases]
    return TextTable(
        "Simulated, live, published", [*columns, "live run"], rows, note, [*groups, ("", 1)], words_last=True
    )


def _live_row(case: Case, runs: Runs, live: Live) -> list[TextCell]:
    own, reason = live.measures.get(case.key), live.invalid.get(case.key)
    found = [TextCell(case.key)]
    for measure, _, digits in LIVE_COLUMNS:
        found.append(median_cell(runs, case.key, measure, digits))
        grey = own is None or reason is not None
        found.append(TextCell("-" if own is None else number(own[measure], digits), "muted" if grey else "plain"))
        if measure in _PUBLISHED:
            known = case.congestion == "reno" and case.limit is not None and case.segments > 1
            found.append(TextCell(f"{PRINTED[case.limit or 0, _PUBLISHED[measure]]:.2f}" if known else "", "muted"))
    verdict = "" if own is None else f"invalid: {reason}" if reason else "valid"
    return [*found, TextCell(verdict, "bad" if reason else "good")]


def setup_table() -> TextTable:
    """The report's parameters, as taken."""
    rows: Sequence[Sequence[TextCell]] = [
        row(r.case, r.metric, f"{r.value} {r.unit}".strip(), r.where)
        for r in published("csc458")
        if r.note.startswith(("parameter", "incidental"))
    ]
    return TextTable("What the report fixes", ["of", "what", "value", "where"], rows, left=4)
