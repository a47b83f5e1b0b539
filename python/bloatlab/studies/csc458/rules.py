"""The published values and tolerances of the study; `rules.md` states its rules, `claims.toml` contains its claims."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from bloatlab.studies.claims import Published, Runs
from bloatlab.studies.csc458.build import DECLARED, DUPTHRESH, NIC, QUEUES, SUPER, Case, Lab
from bloatlab.studies.published import rows
from bloatlab.studies.scorecard import Band, Origin, Tolerance

MEAN, SD, LARGEST = "web fetch time mean", "web fetch time std dev", "largest RTT by equation (2)"
WAITS = "max wait at 100 Mb/s"

#: The tolerance for values that are known only from the report's single run.
ALONE = Tolerance(factor=2.0)

#: The tolerances for the longest wait predicted by equation (1), in s, and for the largest round trip predicted by
#: equation (2), in ms.
WAIT, ROUND_TRIP = Tolerance(share=0.05, least=0.002, unit="s"), Tolerance(share=0.05, least=2.0, unit="ms")

#: The range of our values that agree with the report, by queue size and metric.
BANDS: Mapping[tuple[int, str], Band] = {
    (5, MEAN): ALONE.band(1.0151),
    (20, MEAN): Band(0.5, 0.85),
    (100, MEAN): Band(1.1, 2.2),
    (5, SD): ALONE.band(0.549),
    (20, SD): Band(0.07, 0.39),
    (100, SD): Band(0.43, 1.1),
}

#: The report's fetch times, in s, by queue and metric.
PRINTED: Mapping[tuple[int, str], float] = {
    (int(row.case.removeprefix("Q=")), row.metric): float(row.value)
    for row in rows("csc458")
    if row.metric in (MEAN, SD)
}

_KEYS = {MEAN: "fetch_mean_s", SD: "fetch_sd_s"}
_PLAIN = {q: str(Case("reno", q)) for q in QUEUES}


def _fetch(q: int, metric: str, detection: str, why: str) -> Published:
    value, name = PRINTED[q, metric], f"Q={q} {detection}".strip()
    run = str(Case("reno", q, SUPER, detection=detection))
    return Published(
        name, metric, "s", value, f"{value:.3f}", run, _KEYS[metric], BANDS[q, metric], tables=(1,), calibration=why
    )


def _round_trip(q: int) -> Published:
    ms = Lab().eq2_ms(q)
    return Published(f"Q={q}", LARGEST, "ms", ms, f"{ms:g}", _PLAIN[q], "rtt_max_ms", ROUND_TRIP.band(ms), Origin.OURS)


_WAIT = next(row.value for row in rows("csc458") if row.metric == WAITS)
_CHOSEN = "detection by duplicate ACKs was chosen because of these cells"

#: The report's measured fetch times, and the numbers that follow from its equations.
PUBLISHED: Sequence[Published] = [
    *(_fetch(*of, detection, why) for of in PRINTED for detection, why in (("", ""), (DUPTHRESH, _CHOSEN))),
    Published("NIC", WAITS, "s", float(_WAIT), _WAIT, NIC, "wait_max_s", WAIT.band(float(_WAIT))),
    *map(_round_trip, QUEUES),
]


def in_second_reading(runs: Runs) -> Runs:
    """Returns the runs. Where a case was also run with loss detection by duplicate ACKs, those runs replace its own."""
    return {**runs, **{key.removesuffix(f" {DUPTHRESH}"): seeds for key, seeds in runs.items() if DUPTHRESH in key}}


# -------------------------------------------------------------------------------------------------------------- claims

#: The margin of a ranking: the difference between two values must be at least this share of the larger value.
MARGIN = 0.05

#: "Mostly" and "most of the time" mean at least this share; "not most of the time" means at most 1 minus this share.
MOSTLY = 0.6


def _below(*values: float) -> bool:
    """Returns whether each value is below the next by at least the margin."""
    return all(a <= (1.0 - MARGIN) * b for a, b in itertools.pairwise(values))


#: Every tolerance in words, as printed on the page.
RULES = DECLARED.tolerances(
    {"ALONE": ALONE, "BANDS": BANDS, "MEAN": MEAN, "SD": SD, "WAIT": WAIT, "ROUND_TRIP": ROUND_TRIP}
)

#: Claims from the report's text and figures, claims from other runs of the kit, and claims of our own.
CLAIMS = DECLARED.claims({"below": _below, "MOSTLY": MOSTLY, "PACKET_MS": Lab().packet_ms()})
