"""What SCTE 2013 says and our runs can bear out, as checks with ranges that were fixed before the first run.

The ranges of the sentences that issue 3 lists are the issue's. Claims are reported; the statements of published.csv that
stand on them are counted (`statements`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bloatlab.studies.claims import Order, Runs, median_of, over_seeds, telling, words
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.scte2013.experiments import (
    BDP_MS,
    BUFFERS_MS,
    LOW_MIN_TH_MS,
    LOW_P_MAX,
    RTTS_MS,
)
from bloatlab.studies.scte2013.readings import (
    at,
    beyond,
    curves,
    flatness,
    knee_ms,
    line,
    read,
    read_two,
    typical_ratio,
    worst_difference,
    worst_ratio,
)
from bloatlab.tables import Spread, number

Found = tuple[str, bool] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A number of ours, the range it should lie in, and the words that go with it."""

    value: Callable[[Runs], Spread | None]
    band: Band
    unit: str = ""
    digits: int = 2

    def judge(self, runs: Runs) -> Found:
        """Our median beside the range; None when a run is missing."""
        ours = self.value(runs)
        if ours is None:
            return None
        digits = telling(ours.median, self.band, self.digits)
        return words(ours, self.unit, digits), self.band.holds(ours.median)


def all_of(*readings: tuple[str, Reading]) -> Callable[[Runs], Found]:
    """Several numbers of one claim: it holds when all do."""

    def judge(runs: Runs) -> Found:
        found = [(name, reading.judge(runs)) for name, reading in readings]
        if any(f is None for _, f in found):
            return None
        text = "; ".join(f"{name} {f[0]}" for name, f in found if f is not None)
        return text, all(f[1] for _, f in found if f is not None)

    return judge


# --------------------------------------------------------------------------------------------------- numbers, one each

NEVER_LESS, NEVER_MORE = float("-inf"), float("inf")


def r_squared(series: str, measure: str) -> Reading:
    """Linearity of latency in buffer size beyond the BDP."""
    return Reading(lambda runs: read(curves(runs, series, measure), lambda c: line(c)[1]), Band(0.99, 1.0), digits=4)


def slope(series: str, measure: str) -> Reading:
    """Milliseconds of latency per millisecond of buffer."""
    return Reading(lambda runs: read(curves(runs, series, measure), lambda c: line(c)[0]), Band(0.75, 1.0), "ms/ms")


def knee(series: str) -> Reading:
    """The knee of the total rate: within half a BDP of the BDP."""
    return Reading(
        lambda runs: read(curves(runs, series, "rate_mbit"), knee_ms), Band(BDP_MS / 2, 1.5 * BDP_MS), "ms", 0
    )


def point(series: str, buffer_ms: float, measure: str, band: Band, unit: str = "ms", digits: int = 0) -> Reading:
    """A measure at one buffer size."""
    return Reading(lambda runs: at(runs, series, buffer_ms, measure), band, unit, digits)


def extreme(series: str, measure: str, band: Band, *, least_ms: float = 0, low: bool = False) -> Reading:
    """The greatest (or least) value of a curve from a buffer size on."""
    pick = np.min if low else np.max
    return Reading(
        lambda runs: read(curves(runs, series, measure), lambda c: float(pick(beyond(c, least_ms)))), band, "ms", 0
    )


def ratio(first: tuple[str, str], second: tuple[str, str], band: Band, least_ms: float, *, worst: bool) -> Reading:
    """Two curves of (series, measure) beside each other."""
    of = worst_ratio if worst else typical_ratio
    return Reading(
        lambda runs: read_two(curves(runs, *first), curves(runs, *second), lambda a, b: of(a, b, least_ms)), band
    )


GAMER, FTP = "gamer_mean_ms", "ftp_mean_ms"

#: Beyond a MINth of 200 ms: the buffers in which it can act (1.2 MINth and more).
ABOVE_200_MS = 240
#: The same for 700 ms.
ABOVE_700_MS = 840

PLATEAU = Band(190.0, 230.0)
FTP_700 = Band(450.0, 600.0)
FTP_200 = Band(150.0, 260.0)
GAMER_P1, GAMER_P99 = Band(25.0, NEVER_MORE), Band(NEVER_LESS, 110.0)


# ----------------------------------------------------------------------------------------------------- orders, one each


def _same_knee(runs: Runs) -> Found:
    knees: dict[str, Spread] = {}
    for sessions, series in ((1, "fig2-n1"), (5, "fig2-n5"), (10, "fig2"), (50, "fig2-n50")):
        found = knee(series).value(runs)
        if found is None:
            return None
        knees[f"{sessions}"] = found
    medians = [k.median for k in knees.values()]
    text = "; ".join(f"{n}: {words(k, 'ms', 0)}" for n, k in knees.items())
    return text, max(medians) <= 2.0 * min(medians) and all(Band(25.0, 75.0).holds(m) for m in medians)


def _lred_low(runs: Runs) -> Found:
    """The setting of least latency among those with less than 5 % loss."""
    within: list[tuple[float, float, str]] = []
    for min_th in LOW_MIN_TH_MS:
        for p_max in LOW_P_MAX:
            for p_min in ("1%", "p_max"):
                key = f"lred_low {min_th} {p_max} {p_min}"
                latency, loss = median_of(runs, key, GAMER), median_of(runs, key, "drop_percent")
                if latency is None or loss is None:
                    return None
                if loss < 5.0:
                    within.append((latency, loss, f"MINth {min_th} ms, Pmax {p_max:.0%}, Pmin {p_min}"))
    if not within:
        return "no setting loses less than 5 %", True
    latency, loss, text = min(within)
    return f"{number(latency, 0)} ms with {number(loss, 1)} % ({text})", latency >= 80.0


def _fifty_times(runs: Runs) -> Found:
    one, fifty = (over_seeds(runs, f"bloat lred200 {n}", "drops_per_s") for n in (1, 50))
    waits = [median_of(runs, f"bloat lred200 {n}", FTP) for n in (1, 50)]
    if one is None or fifty is None or one.median == 0 or waits[0] is None or waits[1] is None:
        return None
    times = fifty.median / one.median
    latencies = f"at {number(waits[0], 0)} and {number(waits[1], 0)} ms"
    return f"{number(times, 0)} times ({latencies})", Band(25.0, 100.0).holds(times)


def _isolated(runs: Runs) -> Found:
    """SFQ + LRED leaves the gamer as SFQ does: within 10 % at every size."""
    found: list[str] = []
    holds = True
    for series in ("fig14", "fig16"):
        both = read_two(curves(runs, series, GAMER), curves(runs, "fig5", GAMER), lambda a, b: worst_ratio(a, b, 0))
        if both is None:
            return None
        found.append(words(both))
        holds &= Band(0.9, 1.1).holds(both.median)
    return f"worst ratio {found[0]} with 700, {found[1]} with 200", holds


def _only_ftp(runs: Runs) -> Found:
    gamer = [at(runs, series, 960, GAMER) for series in ("fig14", "fig16")]
    ftp = [at(runs, series, 960, FTP) for series in ("fig14", "fig16")]
    if any(s is None for s in (*gamer, *ftp)):
        return None
    (g7, g2), (f7, f2) = ([s.median for s in pair if s is not None] for pair in (gamer, ftp))
    text = f"gamer {number(g7, 0)} and {number(g2, 0)} ms, FTP {number(f7, 0)} and {number(f2, 0)} ms"
    return text, abs(g7 - g2) <= 0.1 * g7 and f2 < 0.6 * f7


def _no_late_drop(runs: Runs) -> Found:
    """The gamer's drops after 10 s, over all seeds, where the buffer exceeds 1.2 MINth."""
    total, sizes = 0.0, 0
    for series, least in (("fig14", ABOVE_700_MS), ("fig16", ABOVE_200_MS)):
        for size in (b for b in BUFFERS_MS if b > least):
            seeds = runs.get(f"figures {series} {size}", ())
            if not seeds:
                return None
            sizes += 1
            total += sum(s["gamer_drops_late"] for s in seeds)
    return f"{number(total, 0)} packets in {sizes} buffer sizes, all seeds", total == 0.0


def _same_as_droptail(runs: Runs) -> Found:
    rates = read_two(curves(runs, "fig5", "rate_share"), curves(runs, "fig2", "rate_share"), worst_difference)
    losses = read_two(curves(runs, "fig5", "loss_percent"), curves(runs, "fig2", "loss_percent"), worst_difference)
    if rates is None or losses is None:
        return None
    rate, loss = 100.0 * rates.median, losses.median
    few, little = Band(0.0, 3.0), Band(0.0, 1.0)
    text = (
        f"rates differ by up to {number(rate, telling(rate, few, 1))} %, "
        f"loss by {number(loss, telling(loss, little, 2))} % of Tmax"
    )
    return text, few.holds(rate) and little.holds(loss)


def _small_at_low_rate(runs: Runs) -> Found:
    """Below the BDP, 1 Mbit/s loses more of its rate than 5 Mbit/s."""
    shares: list[float] = []
    for series in ("fig2", "fig3"):
        found = read(curves(runs, series, "rate_share"), lambda c: float(c[np.array(BUFFERS_MS) < BDP_MS].mean()))
        if found is None:
            return None
        shares.append(found.median)
    text = f"below 50 ms {number(100 * shares[0], 1)} % of 5 Mbit/s and {number(100 * shares[1], 1)} % of 1 Mbit/s"
    return text, shares[1] < shares[0]


def _improves(runs: Runs) -> Found:
    """Under SFQ goodput grows with the buffer: at 200 ms against 50 ms, at 1000 ms against 200 ms."""
    goodput = [at(runs, "fig5", size, "goodput_mbit") for size in (50, 200, 1000)]
    if any(g is None for g in goodput):
        return None
    small, middle, large = (g.median for g in goodput if g is not None)
    text = f"{number(small, 3)}, {number(middle, 3)}, {number(large, 3)} Mbit/s at 50, 200, 1000 ms"
    return text, small < middle < large and large - middle < middle - small


def _harder(runs: Runs) -> Found:
    """Loss needed by LRED 200 grows with sessions; latency passes MINth where much must be dropped."""
    few, many = (median_of(runs, f"bloat lred200 {n}", FTP) for n in (1, 100))
    if few is None or many is None:
        return None
    reached = [few - 25.0, many - 25.0]
    text = f"in the queue {number(reached[0], 0)} ms with 1 session, {number(reached[1], 0)} ms with 100"
    return text, reached[0] < 200.0 < reached[1]


def _rtt(buffer_ms: int, measure: str, runs: Runs) -> list[float] | None:
    values = [median_of(runs, f"rtt droptail {buffer_ms} {rtt}", measure) for rtt in RTTS_MS]
    return None if any(v is None for v in values) else [v for v in values if v is not None]


def _longer_rtt(runs: Runs) -> Found:
    loss, rate = _rtt(50, "loss_percent", runs), _rtt(50, "rate_share", runs)
    if loss is None or rate is None:
        return None
    text = (
        f"at 50, 100, 200 ms: loss {', '.join(number(v, 2) for v in loss[1:])} % of Tmax, "
        f"rate {', '.join(number(100 * v, 1) for v in rate[1:])} %"
    )
    return text, loss[1] < loss[2] < loss[3] and rate[1] > rate[2] > rate[3]


def _shorter_rtt(runs: Runs) -> Found:
    loss, rate, wait = (_rtt(50, m, runs) for m in ("loss_percent", "rate_share", GAMER))
    if loss is None or rate is None or wait is None:
        return None
    queueing = [w - r / 2 for w, r in zip(wait, RTTS_MS, strict=True)]
    text = (
        f"10 ms against 50: queueing {number(queueing[0], 0)} and {number(queueing[1], 0)} ms, loss {number(loss[0], 2)} "
        f"and {number(loss[1], 2)} %, rate {number(100 * rate[0], 1)} and {number(100 * rate[1], 1)} %"
    )
    return text, queueing[0] > queueing[1] and rate[0] >= 0.99 * rate[1] and loss[0] <= loss[1]


def recommended(runs: Runs) -> Spread | None:
    """Least share of Tmax over all round trips with a buffer of 1.25 x the longest one's BDP, 250 ms."""
    points = [runs.get(f"rtt droptail 250 {rtt}", ()) for rtt in RTTS_MS]
    seeds = min(len(p) for p in points)
    if not seeds:
        return None
    worst = [min(p[seed]["rate_share"] for p in points) for seed in range(seeds)]
    return Spread(float(np.median(worst)), min(worst), max(worst))


def _tail_to_head(runs: Runs) -> Found:
    """Under LRED 200 with 960 ms: of all drops after the start, how many are at the head."""
    found = at(runs, "fig11", 960, "early_drops"), at(runs, "fig11", 960, "tail_drops")
    if found[0] is None or found[1] is None:
        return None
    head = found[0].median / max(1.0, found[0].median + found[1].median)
    return f"{number(100 * head, 1)} % of the drops are head drops", head >= 0.9


CLAIMS: Sequence[Order] = (
    Order("linear", "Figure 2a L198", "latency grows linearly with the buffer beyond the BDP (R2 over 0.99)", "linear",
          all_of(("5 Mbit/s: gamer", r_squared("fig2", GAMER)), ("FTP", r_squared("fig2", FTP)),
                 ("1 Mbit/s: gamer", r_squared("fig3", GAMER)))),
    Order("slope", "Figure 2a", "by 0.75 to 1.0 ms per ms of buffer", "(figure not legible)",
          all_of(("5 Mbit/s", slope("fig2", FTP)), ("1 Mbit/s", slope("fig3", FTP))), Origin.OURS),
    Order("constant", "Figure 2b L200", "the total rate is nearly constant (within 3 %) beyond the BDP", "nearly constant",
          Reading(lambda runs: read(curves(runs, "fig2", "rate_mbit"), flatness), Band(0.97, 1.0), digits=3).judge),
    Order("knee", "Figure 2b L206", "the knee of the throughput (98 % reached) is at the BDP, give or take half",
          "50 ms", knee("fig2").judge),
    Order("same-knee", "Figure 2b L206", "and at the same size for 1, 5, 10 and 50 sessions (within a factor of 2)",
          "same", _same_knee),
    Order("low-rate", "Figure 3b L224", "small buffers cost 1 Mbit/s more of its rate than 5 Mbit/s", "more pronounced",
          _small_at_low_rate),
    Order("loss-low", "Figure 3b L228", "1 Mbit/s, 200 ms: loss 4 to 14 % of Tmax", "nearly 6 %",
          point("fig3", 200, "loss_percent", Band(4.0, 14.0), "%", 1).judge),
    Order("rtt-short", "Type C L238", "a shorter round trip than expected: larger latency, low loss, full rate", "yes",
          _shorter_rtt),
    Order("rtt-long", "Type C L244", "a longer round trip than expected: more loss and less throughput", "yes", _longer_rtt),
    Order("sfq-gamer", "Figures 5a, 6", "SFQ: gamer p1 at least 25 ms, p99 at most 110 ms at every buffer size", "40..100 ms",
          all_of(("least p1", extreme("fig5", "gamer_p1_ms", GAMER_P1, low=True)),
                 ("greatest p99", extreme("fig5", "gamer_p99_ms", GAMER_P99)))),
    Order("sfq-ftp", "Figure 6 L298", "SFQ, 960 ms: FTP latency 0.5 to 1.0 s on average", "0.5..1.0 s",
          point("fig5", 960, FTP, Band(500.0, 1000.0)).judge),
    Order("sfq-rate", "Figure 5b L290", "SFQ: rate (3 %) and loss (1 % of Tmax) as with DropTail beyond the BDP",
          "virtually identical", _same_as_droptail),
    Order("sfq-improves", "Figure 5 L294", "each session's throughput improves slightly, with diminishing returns", "slightly",
          _improves),
    Order("collision", "Figure 7a L308", "one forced collision: gamer within 10 % of the baseline at every size beyond the BDP",
          "the same", all_of(
              ("median ratio", ratio(("fig7", GAMER), ("fig2", GAMER), Band(0.9, 1.1), BDP_MS, worst=False)),
              ("worst", ratio(("fig7", GAMER), ("fig2", GAMER), Band(0.9, 1.1), BDP_MS, worst=True)))),
    Order("lred-plateau", "Figure 11a L392", "LRED 200: latency 190 to 230 ms at every buffer beyond 1.2 MINth", "about 200 ms",
          all_of(("FTP least", extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS, low=True)),
                 ("greatest", extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS)),
                 ("gamer at 960 ms", point("fig11", 960, GAMER, PLATEAU)))),
    Order("lred-head", "LRED L384", "tail drops become head drops (at least 90 % at 960 ms)", "yes", _tail_to_head),
    Order("lred-near", "LRED L404", "latency below MINth where few drops are needed, above where many are", "yes", _harder),
    Order("lred-low", "LRED L422", "1 Mbit/s: no LRED setting reaches less than 80 ms with less than 5 % loss", "100 ms",
          _lred_low),
    Order("both-700", "Figure 14a L434", "SFQ + LRED 700: FTP mean 450 to 600 ms at 960 ms", "marginally over 500 ms",
          point("fig14", 960, FTP, FTP_700).judge),
    Order("both-200", "Figure 16 L440", "SFQ + LRED 200: FTP mean 150 to 260 ms at 960 ms", "200",
          point("fig16", 960, FTP, FTP_200).judge),
    Order("both-gamer", "Figures 14, 16", "SFQ + LRED: gamer as under SFQ (10 %) at every size", "50..100 ms", _isolated),
    Order("both-only-ftp", "Figure 16 L440", "MINth 700 or 200 changes the FTP latency only", "only the FTP latency", _only_ftp),
    Order("both-drops", "SFQ + LRED L430", "no gamer packet dropped after 10 s where the buffer exceeds 1.2 MINth", "never",
          _no_late_drop),
    Order("fifty", "Considerations L460", "fifty sessions take 25 to 100 times the drops of one for the same control", "~50",
          _fifty_times),
)  # fmt: skip
