"""Every published value of the lab's report beside ours, by rules fixed before the runs.

The report is one run of each queue. Other students ran the same kit; where their runs lie is what is accepted. For Q = 5, of
which there is only the report's, a factor of two is.

Equations (1) and (2) are theory: a packet in transmission, and the ping's own, come on top of the queue.

Ours is the median over seeds. Means and deviations are of super-segments of 2, as Mininet queues them; equation (2) is of
packets that are packets.

What is counted is what the report prints: six fetch times and equation (1). The round trips that we compute from its equation
(2) are ours, shown and not counted. Fetches stand twice: with the losses found as linux-6 finds them (RACK-TLP), which is
counted, and by duplicate ACKs alone, which was chosen because it brings these very cells closer, and so is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bloatlab.studies.cells import Published
from bloatlab.studies.claims import Runs
from bloatlab.studies.csc458.build import DUPTHRESH, NIC, QUEUES, Case, Lab
from bloatlab.studies.published import rows
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.tolerance import Tolerance

MEAN, SD, LARGEST = "web fetch time mean", "web fetch time std dev", "largest RTT by equation (2)"
WAITS = "max wait at 100 Mb/s"

#: Where there is only the report's own run; and the longest wait that we see beside equations (1) in s and (2) in ms.
ALONE = Tolerance(factor=2.0)
WAIT, ROUND_TRIP = Tolerance(share=0.05, least=0.002, unit="s"), Tolerance(share=0.05, least=2.0, unit="ms")

#: What ours may be, by queue and metric.
BANDS: Mapping[tuple[int, str], Band] = {
    (5, MEAN): ALONE.band(1.0151),
    (20, MEAN): Band(0.5, 0.85),
    (100, MEAN): Band(1.1, 2.2),
    (5, SD): ALONE.band(0.549),
    (20, SD): Band(0.07, 0.39),
    (100, SD): Band(0.43, 1.1),
}

#: The fetch times of the report, in s, by queue and metric.
PRINTED: Mapping[tuple[int, str], float] = {
    (int(row.case.removeprefix("Q=")), row.metric): float(row.value)
    for row in rows("csc458")
    if row.metric in (MEAN, SD)
}

_KEYS = {MEAN: "fetch_mean_s", SD: "fetch_sd_s"}


def _fetch(q: int, metric: str, detection: str, why: str) -> Published:
    value, name = PRINTED[q, metric], f"Q={q} {detection}".strip()
    return Published(name, metric, "s", value, f"{value:.3f}", Case("reno", q, 2, detection=detection).key, _KEYS[metric],
                     BANDS[q, metric], tables=(1,), calibration=why)  # fmt: skip


def _round_trip(q: int) -> Published:
    ms = Lab().eq2_ms(q)
    band = ROUND_TRIP.band(ms)
    return Published(f"Q={q}", LARGEST, "ms", ms, f"{ms:g}", Case("reno", q).key, "rtt_max_ms", band, Origin.OURS)


_WAIT = next(row.value for row in rows("csc458") if row.metric == WAITS)

#: Every result and every theory of the report that is a number.
PUBLISHED: Sequence[Published] = [
    *(
        _fetch(q, metric, detection, why)
        for q, metric in PRINTED
        for detection, why in (("", ""), (DUPTHRESH, "duplicate ACKs were chosen on these cells"))
    ),
    Published("NIC", WAITS, "s", float(_WAIT), _WAIT, NIC, "wait_max_s", WAIT.band(float(_WAIT))),
    *map(_round_trip, QUEUES),
]

#: Every tolerance in words, for a reader.
RULES: Sequence[tuple[str, str]] = [
    ("fetch times, Q = 5", ALONE.words()),
    *(
        (f"{metric}, Q = {q}", f"{band.words()} s, where other runs of the kit lie")
        for (q, metric), band in BANDS.items()
        if q != 5
    ),
    ("equation (1)", WAIT.words()),
    ("equation (2)", ROUND_TRIP.words()),
]


def in_second_reading(runs: Runs) -> Runs:
    """The runs with those of the kit replaced by those that find losses by duplicate ACKs, for the claims' second reading."""
    found = dict(runs)
    for key, seeds in runs.items():
        if key.endswith(f" {DUPTHRESH}"):
            found[key.removesuffix(f" {DUPTHRESH}")] = seeds
    return found
