"""The study's tables: published beside ours, every case in one, simulated beside live. For the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bloatlab.studies.claims import Checked, Measures, Runs, tally
from bloatlab.studies.csc458.build import EXPERIMENTS, Case, cases, experiment_cases, kit, plain, today
from bloatlab.studies.csc458.scorecard import MEAN, SD, parameters
from bloatlab.studies.layout import judged_cell, median_cell, medians_table, origin_cell, verdict_cell
from bloatlab.studies.scorecard import Scorecard
from bloatlab.tables import TextCell, TextTable, number

#: Digits after the point, by metric of a cell.
DIGITS: dict[str, int] = {MEAN: 3, SD: 3, "max wait at 100 Mb/s": 3, "largest RTT by equation (2)": 1}

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
        [
            TextCell(c.case),
            TextCell(c.metric),
            TextCell(f"{c.printed} {c.unit}"),
            judged_cell(c, number(c.ours, DIGITS[c.metric])),
            TextCell(f"{number(c.low, DIGITS[c.metric])} to {number(c.high, DIGITS[c.metric])}"),
            TextCell(c.accepted(DIGITS[c.metric])),
            origin_cell(c.origin),
            verdict_cell(c),
            TextCell(c.reason),
        ]
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
    rows = [
        [TextCell(a.where), TextCell(a.says), _held(a), _held(b)]
        for a, b in zip(first, second, strict=True)
        if a.holds != b.holds
    ]
    note = f"With RACK-TLP {tally(first)}. By duplicate ACKs {tally(second)}."
    columns = ["where", "says", "RACK-TLP", "duplicate ACKs"]
    return TextTable("Claims that depend on how losses are found", columns, rows, note, left=4)


def _held(claim: Checked) -> TextCell:
    word = {True: "holds", False: "differs", None: "not run"}[claim.holds]
    return TextCell(f"{claim.ours}: {word}", "good" if claim.holds else "bad")


def experiment_table(name: str, runs: Runs) -> TextTable:
    """The cases of an experiment: medians over seeds."""
    return medians_table(f"{name}: {EXPERIMENTS[name]}", runs, _rows(experiment_cases(name)), COLUMNS)


def cases_table(runs: Runs) -> TextTable:
    """Every case, simulated: medians over seeds."""
    note = "Queues in segments. x2: a packet of the limit is a super-segment of up to two. RTOs and resent: of the long flow."
    return medians_table("All cases, simulated", runs, _rows([c for c in cases() if c.key in runs]), COLUMNS, note=note)


def _rows(given: Sequence[Case]) -> list[tuple[Sequence[str], str]]:
    return [((case.key,), case.key) for case in given]


#: What stands in the table of kernels: measure, heading, digits.
LIVE_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("fetch_mean_s", "fetch mean s", 2),
    ("fetch_sd_s", "fetch sd s", 2),
    ("rtt_median_ms", "RTT median ms", 1),
    ("rtt_max_ms", "RTT max ms", 1),
    ("queue_mean_packets", "queue mean", 1),
    ("throughput_mbit", "flow Mbit/s", 2),
)

#: What the report printed, by queue of Reno: mean and standard deviation of fetches.
_PRINTED = {5: ("1.02", "0.55"), 20: ("0.84", "0.20"), 100: ("2.17", "1.10")}


def live_table(runs: Runs, live: Mapping[str, Measures], invalid: Mapping[str, str]) -> TextTable:
    """Simulated, on kernels, published. An invalid run shows its numbers struck grey, and why."""
    rows: list[list[TextCell]] = []
    for case in (*kit()[:3], *plain(), *today()):
        if case.key not in runs:
            continue
        own, reason = live.get(case.key), invalid.get(case.key)
        row = [TextCell(case.key)]
        for place, (measure, _, digits) in enumerate(LIVE_COLUMNS):
            row.append(median_cell(runs, case.key, measure, digits))
            row.append(
                TextCell(
                    "-" if own is None else number(own[measure], digits), "muted" if own is None or reason else "plain"
                )
            )
            if place < 2:
                known = case.congestion == "reno" and case.limit in _PRINTED and case.segments > 1
                row.append(TextCell(_PRINTED[case.limit or 0][place] if known else "", "muted"))
        row.append(
            TextCell("" if own is None else f"invalid: {reason}" if reason else "valid", "bad" if reason else "good")
        )
        rows.append(row)
    columns, groups = ["case"], [("", 1)]
    for place, (_, heading, _) in enumerate(LIVE_COLUMNS):
        names = ["simulated", "live", "published"] if place < 2 else ["simulated", "live"]
        columns.extend(names)
        groups.append((heading, len(names)))
    note = "One live run a case; an invalid one (its own lateness rule) is shown and never counted or run again."
    return TextTable(
        "Simulated, live, published", [*columns, "live run"], rows, note, [*groups, ("", 1)], words_last=True
    )


def setup_table() -> TextTable:
    """The report's parameters, as taken."""
    rows: Sequence[Sequence[TextCell]] = [
        [TextCell(r.case), TextCell(r.metric), TextCell(f"{r.value} {r.unit}".strip()), TextCell(r.where)]
        for r in parameters()
    ]
    return TextTable("What the report fixes", ["of", "what", "value", "where"], rows, left=4)
