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
from dataclasses import dataclass

from bloatlab.studies import published
from bloatlab.studies.claims import Runs, over_seeds
from bloatlab.studies.csc458.build import DUPTHRESH, Case, Lab
from bloatlab.studies.scorecard import Band, Cell, Origin, Scorecard, Verdict, judge, share_of
from bloatlab.studies.tolerance import Tolerance

MEAN, SD, LARGEST = "web fetch time mean", "web fetch time std dev", "largest RTT by equation (2)"

#: Key of the run behind equation (1): a network card's 1000 packets at 100 Mbit/s.
NIC = "nic"

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

_KEYS = {MEAN: "fetch_mean_s", SD: "fetch_sd_s"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A published value and where ours comes from."""

    case: str
    metric: str
    unit: str
    published: float
    printed: str
    run: str
    measure: str
    band: Band
    origin: Origin = Origin.PAPER
    calibration: bool = False


def asked() -> list[Asked]:
    """Every result and every theory of the report that is a number."""
    lab = Lab()
    found: list[Asked] = []
    for row in published.rows("csc458"):
        if row.metric in _KEYS:
            q = int(row.case.removeprefix("Q="))
            band, value = BANDS[q, row.metric], float(row.value)
            for detection in ("", DUPTHRESH):
                case, key = f"{row.case} {detection}".strip(), Case("reno", q, 2, detection=detection).key
                found.append(Asked(case, row.metric, "s", value, f"{value:.3f}", key, _KEYS[row.metric], band,
                                   calibration=bool(detection)))  # fmt: skip
        elif row.metric == "max wait at 100 Mb/s":
            value = float(row.value)
            found.append(Asked("NIC", row.metric, "s", value, row.value, NIC, "wait_max_s", WAIT.band(value)))
    for q in (5, 20, 100):
        value = lab.eq2_ms(q)
        key = Case("reno", q).key
        found.append(
            Asked(f"Q={q}", LARGEST, "ms", value, f"{value:g}", key, "rtt_max_ms", ROUND_TRIP.band(value), Origin.OURS)
        )
    return found


def rules() -> Sequence[tuple[str, str]]:
    """Every tolerance in words, for a reader."""
    other = [
        (f"{metric}, Q = {q}", f"{band.words()} s, where other runs of the kit lie")
        for (q, metric), band in BANDS.items()
        if q != 5
    ]
    return [
        ("fetch times, Q = 5", ALONE.words()),
        *other,
        ("equation (1)", WAIT.words()),
        ("equation (2)", ROUND_TRIP.words()),
    ]


def scorecard(runs: Runs, proves_nothing: str = "") -> Scorecard:
    """Every published number beside ours."""
    cells = [cell for want in asked() if (cell := _cell(want, runs)) is not None]
    seeds = max((len(of) for of in runs.values()), default=0)
    return Scorecard("csc458", seeds, cells, [share_of("published numbers", cells, 0.75)], proves_nothing)


def _cell(want: Asked, runs: Runs) -> Cell | None:
    ours = over_seeds(runs, want.run, want.measure)
    if ours is None:
        return None
    finding = judge([want.published], [want.band], ours)
    verdict = Verdict.WITHIN if finding.agrees else Verdict.OUTSIDE
    reason = finding.why if finding.agrees else f"{finding.why}: not explained"
    if want.calibration:
        verdict, reason = Verdict.CALIBRATION, f"duplicate ACKs were chosen on these cells; {finding.why}"
    tables = (1,) if want.metric in _KEYS else ()
    return Cell(want.case, want.metric, want.unit, tables, (want.published,), want.printed, ours.median, ours.low,
                ours.high, (want.band,), verdict, reason, finding.agrees, origin=want.origin)  # fmt: skip


def in_second_reading(runs: Runs) -> Runs:
    """The runs with those of the kit replaced by those that find losses by duplicate ACKs, for the claims' second reading."""
    found = dict(runs)
    for key, seeds in runs.items():
        if key.endswith(f" {DUPTHRESH}"):
            found[key.removesuffix(f" {DUPTHRESH}")] = seeds
    return found


def parameters() -> Sequence[published.Row]:
    """What the report fixes: the set-up, not a result."""
    return [row for row in published.rows("csc458") if row.note.startswith(("parameter", "incidental"))]
