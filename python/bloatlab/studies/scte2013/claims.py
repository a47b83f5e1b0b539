"""The sentences of SCTE 2013 that our runs can test, with ranges that were fixed before the runs.

Open terms of the text are a half ("slow"), a factor of two, or the ranges of the figures' own claims. Claims are reported; the
statements of published.csv that depend on them are counted (`rules`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from bloatlab.studies.claims import Claim, Runs, each, median_of, telling, words
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013 import experiments as e
from bloatlab.studies.scte2013.readings import (
    Reading,
    below_bdp,
    extreme,
    flatness,
    knee,
    place,
    point,
    r_squared,
    ratio,
    read,
    slope,
    worst_difference,
)
from bloatlab.studies.scte2013.theory import peak_rate_mbit
from bloatlab.tables import Spread, number

GAMER, FTP = "gamer_mean_ms", "ftp_mean_ms"

#: The least buffer in which a MINth of 200 ms can act: 1.2 MINth.
ABOVE_200_MS = 240
#: The same for 700 ms.
ABOVE_700_MS = 840

NEVER_LESS, NEVER_MORE = float("-inf"), float("inf")
PLATEAU = Band(190.0, 230.0)
FTP_700 = Band(450.0, 600.0)
FTP_200 = Band(150.0, 260.0)
GAMER_P1, GAMER_P99 = Band(25.0, NEVER_MORE), Band(NEVER_LESS, 110.0)
THREE_PERCENT, ONE_PERCENT = Band(0.0, 3.0), Band(0.0, 1.0)
TENTH = Band(0.9, 1.1)
FIFTY = Band(25.0, 100.0)


def in_range(
    ident: str, where: str, says: str, published: str, *readings: tuple[str, Reading], origin: Origin = Origin.PAPER
) -> Claim:
    """A claim about numbers by name: it holds when each lies in its range."""

    def holds(*ours: Spread) -> bool:
        return all(reading.band.holds(of.median) for (_, reading), of in zip(readings, ours, strict=True))

    def text(*ours: Spread) -> str:
        named = zip(readings, ours, strict=True)
        return "; ".join(f"{name} {reading.words(of)}".lstrip() for (name, reading), of in named)

    return Claim(ident, where, says, published, [reading.value for _, reading in readings], holds, text, origin)


#: A setting of LRED: the gamer's latency, the loss in percent, and the setting for a reader.
Setting = tuple[float, float, str]


def _cheap_settings(runs: Runs) -> list[Setting] | None:
    """The settings of LRED at 1 Mbit/s that lose less than 5 %, the one with the least latency first."""
    found: list[Setting] = []
    for min_th, p_max, p_min in itertools.product(*e.ASKED["lred_low"].axes.values()):
        run = f"lred_low {min_th} {p_max} {p_min}"
        latency, loss = median_of(runs, run, GAMER), median_of(runs, run, "drop_percent")
        if latency is None or loss is None:
            return None
        found.append((latency, loss, f"MINth {min_th} ms, Pmax {p_max:.0%}, Pmin {p_min}"))
    return sorted(setting for setting in found if setting[1] < 5.0)


def _cheapest(settings: Sequence[Setting]) -> str:
    if not settings:
        return "no setting loses less than 5 %"
    latency, loss, text = settings[0]
    return f"{number(latency, 0)} ms with {number(loss, 1)} % ({text})"


def drops_ratio(discipline: str) -> Callable[[Runs], float | None]:
    """Drops per second with fifty sessions over those with one; None if one session has no drops."""

    def value(runs: Runs) -> float | None:
        one, fifty = (median_of(runs, f"bloat {discipline} {n}", "drops_per_s") for n in (1, 50))
        return fifty / one if one and fifty is not None else None

    return value


def _late_drops(runs: Runs) -> tuple[float, int] | None:
    """The gamer's drops after 10 s, over all seeds, in buffers above 1.2 MINth; and the number of those sizes."""
    keys = [place("fig14", size) for size in e.BUFFERS_MS if size > ABOVE_700_MS]
    keys += [place("fig16", size) for size in e.BUFFERS_MS if size > ABOVE_200_MS]
    if not all(runs.get(key) for key in keys):
        return None
    return sum(seed["gamer_drops_late"] for key in keys for seed in runs[key]), len(keys)


def _head_share(early: float, tail: float) -> float:
    return early / max(1.0, early + tail)


_KNEES = [knee(series) for series in e.SESSIONS.values()]


def _alike(*knees: Spread) -> bool:
    medians = [k.median for k in knees]
    return max(medians) <= 2.0 * min(medians) and all(map(_KNEES[0].band.holds, medians))


def _differ(rate: Spread, loss: Spread) -> str:
    rates = number(rate.median, telling(rate.median, THREE_PERCENT, 1))
    return f"rates differ by up to {rates} %, loss by {number(loss.median, telling(loss.median, ONE_PERCENT, 2))} % of Tmax"


_RTT = {rtt: f"rtt droptail 50 {rtt}" for rtt in e.ASKED["rtt"].axes["rtt_ms"]}

# of the text
_TABLE_1 = list(itertools.product(*(e.ASKED["table1"].axes[axis] for axis in ("buffer_kb", "rtt_ms"))))


def _off(rates: Sequence[float]) -> float:
    """The largest relative difference of a rate of Table 1 from the printed one."""
    return max(abs(rate / peak_rate_mbit(*cell) - 1.0) for rate, cell in zip(rates, _TABLE_1, strict=True))


_NO_UPLOAD, _BEHIND, _FIRST = (f"ack_acceleration {d} 2000" for d in ("no upload", "droptail", "ack_class"))
_NO_LAW, _LRED, _CODEL = (f"collision_law {law} 960" for law in ("none", "lred200", "codel"))
_PROFILES = [f"latency_wred {profile}" for profile in e.WRED_PROFILES]
_SHORT, _LONG = (f"two_rtts droptail {buffer}" for buffer in e.TWO_RTTS_MS)
_TWO_RTTS = ("goodput_mbit_ftp10", "goodput_mbit_ftp100", "rate_share", "sojourn_mean_ms")
_OTHERS = [place(series, 960) for series in ("fig11", "fig5", "fig14")]

CLAIMS: Sequence[Claim] = (
    in_range("linear", "Figure 2a L198", "latency grows linearly with the buffer beyond the BDP (R2 over 0.99)", "linear",
             ("5 Mbit/s: gamer", r_squared("fig2", GAMER)), ("FTP", r_squared("fig2", FTP)),
             ("1 Mbit/s: gamer", r_squared("fig3", GAMER))),
    in_range("slope", "Figure 2a", "by 0.75 to 1.0 ms per ms of buffer", "(figure not legible)",
             ("5 Mbit/s", slope("fig2", FTP)), ("1 Mbit/s", slope("fig3", FTP)), origin=Origin.OURS),
    in_range("constant", "Figure 2b L200", "the total rate is nearly constant (within 3 %) beyond the BDP", "nearly constant",
             ("", Reading(read(flatness, ("fig2", "rate_mbit")), Band(0.97, 1.0), digits=3))),
    in_range("knee", "Figure 2b L206", "the knee of the throughput (98 % reached) is at the BDP, give or take half", "50 ms", ("", knee("fig2"))),
    Claim("same-knee", "Figure 2b L206", "and at the same size for 1, 5, 10 and 50 sessions (within a factor of 2)", "same",
          [k.value for k in _KNEES], _alike,
          lambda *knees: "; ".join(f"{n}: {words(k, 'ms', 0)}" for n, k in zip(e.SESSIONS, knees, strict=True))),
    Claim("low-rate", "Figure 3b L224", "small buffers cost 1 Mbit/s more of its rate than 5 Mbit/s", "more pronounced",
          [read(below_bdp, (series, "rate_share")) for series in ("fig2", "fig3")],
          lambda fast, slow: slow.median < fast.median,
          lambda fast, slow: f"below 50 ms {100 * fast.median:.1f} % of 5 Mbit/s and {100 * slow.median:.1f} % of 1 Mbit/s"),
    in_range("loss-low", "Figure 3b L228", "1 Mbit/s, 200 ms: loss 4 to 14 % of Tmax", "nearly 6 %",
             ("", point("fig3", 200, "loss_percent", Band(4.0, 14.0), "%", 1))),
    Claim("rtt-short", "Type C L238", "a shorter round trip than expected: larger latency, low loss, full rate", "yes",
          each([_RTT[10], _RTT[50]], GAMER, "loss_percent", "rate_share"),
          lambda wait10, wait50, loss10, loss50, rate10, rate50:
          wait10 - 5 > wait50 - 25 and rate10 >= 0.99 * rate50 and loss10 <= loss50,
          lambda wait10, wait50, loss10, loss50, rate10, rate50:
          f"10 ms against 50: queueing {wait10 - 5:.0f} and {wait50 - 25:.0f} ms, loss {loss10:.2f} and {loss50:.2f} %, "
          f"rate {100 * rate10:.1f} and {100 * rate50:.1f} %"),
    Claim("rtt-long", "Type C L244", "a longer round trip than expected: more loss and less throughput", "yes",
          each([_RTT[50], _RTT[100], _RTT[200]], "loss_percent", "rate_share"),
          lambda loss50, loss100, loss200, rate50, rate100, rate200: loss50 < loss100 < loss200 and rate50 > rate100 > rate200,
          lambda *v: f"at 50, 100, 200 ms: loss {', '.join(f'{loss:.2f}' for loss in v[:3])} % of Tmax, "
          f"rate {', '.join(f'{100 * rate:.1f}' for rate in v[3:])} %"),
    in_range("sfq-gamer", "Figures 5a, 6", "SFQ: gamer p1 at least 25 ms, p99 at most 110 ms at every buffer size", "40..100 ms",
             ("least p1", extreme("fig5", "gamer_p1_ms", GAMER_P1, low=True)),
             ("greatest p99", extreme("fig5", "gamer_p99_ms", GAMER_P99))),
    in_range("sfq-ftp", "Figure 6 L298", "SFQ, 960 ms: FTP latency 0.5 to 1.0 s on average", "0.5..1.0 s",
             ("", point("fig5", 960, FTP, Band(500.0, 1000.0)))),
    Claim("sfq-rate", "Figure 5b L290", "SFQ: rate (3 %) and loss (1 % of Tmax) as with DropTail beyond the BDP", "virtually identical",
          [read(lambda a, b: 100.0 * worst_difference(a, b), ("fig5", "rate_share"), ("fig2", "rate_share")),
           read(worst_difference, ("fig5", "loss_percent"), ("fig2", "loss_percent"))],
          lambda rate, loss: THREE_PERCENT.holds(rate.median) and ONE_PERCENT.holds(loss.median), _differ),
    Claim("sfq-improves", "Figure 5 L294", "each session's throughput improves slightly, with diminishing returns", "slightly",
          each([place("fig5", size) for size in (50, 200, 1000)], "goodput_mbit"),
          lambda small, middle, large: small < middle < large and large - middle < middle - small,
          "{:.3f}, {:.3f}, {:.3f} Mbit/s at 50, 200, 1000 ms"),
    in_range("collision", "Figure 7a L308", "one forced collision: gamer within 10 % of the baseline at every size beyond the BDP", "the same",
             ("median ratio", ratio(("fig7", GAMER), ("fig2", GAMER), TENTH, e.BDP_MS, worst=False)),
             ("worst", ratio(("fig7", GAMER), ("fig2", GAMER), TENTH, e.BDP_MS, worst=True))),
    in_range("lred-plateau", "Figure 11a L392", "LRED 200: latency 190 to 230 ms at every buffer beyond 1.2 MINth", "about 200 ms",
             ("FTP least", extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS, low=True)),
             ("greatest", extreme("fig11", FTP, PLATEAU, least_ms=ABOVE_200_MS)),
             ("gamer at 960 ms", point("fig11", 960, GAMER, PLATEAU))),
    Claim("lred-head", "LRED L384", "tail drops become head drops (at least 90 % at 960 ms)", "yes",
          each([place("fig11", 960)], "early_drops", "tail_drops"), lambda early, tail: _head_share(early, tail) >= 0.9,
          lambda early, tail: f"{100 * _head_share(early, tail):.1f} % of the drops are head drops"),
    Claim("lred-near", "LRED L404", "latency below MINth where few drops are needed, above where many are", "yes",
          each(["bloat lred200 1", "bloat lred200 100"], FTP), lambda few, many: few - 25.0 < 200.0 < many - 25.0,
          lambda few, many: f"in the queue {few - 25.0:.0f} ms with 1 session, {many - 25.0:.0f} ms with 100"),
    Claim("lred-low", "LRED L422", "1 Mbit/s: no LRED setting reaches less than 80 ms with less than 5 % loss", "100 ms",
          [_cheap_settings], lambda settings: not settings or settings[0][0] >= 80.0, _cheapest),
    in_range("both-700", "Figure 14a L434", "SFQ + LRED 700: FTP mean 450 to 600 ms at 960 ms", "marginally over 500 ms",
             ("", point("fig14", 960, FTP, FTP_700))),
    in_range("both-200", "Figure 16 L440", "SFQ + LRED 200: FTP mean 150 to 260 ms at 960 ms", "200", ("", point("fig16", 960, FTP, FTP_200))),
    Claim("both-gamer", "Figures 14, 16", "SFQ + LRED: gamer as under SFQ (10 %) at every size", "50..100 ms",
          [ratio((series, GAMER), ("fig5", GAMER), TENTH, 0, worst=True).value for series in ("fig14", "fig16")],
          lambda *ratios: all(TENTH.holds(r.median) for r in ratios),
          lambda high, low: f"worst ratio {words(high)} with 700, {words(low)} with 200"),
    Claim("both-only-ftp", "Figure 16 L440", "MINth 700 or 200 changes the FTP latency only", "only the FTP latency",
          each([place("fig14", 960), place("fig16", 960)], GAMER, FTP),
          lambda gamer700, gamer200, ftp700, ftp200: abs(gamer700 - gamer200) <= 0.1 * gamer700 and ftp200 < 0.6 * ftp700,
          "gamer {:.0f} and {:.0f} ms, FTP {:.0f} and {:.0f} ms"),
    Claim("both-drops", "SFQ + LRED L430", "no gamer packet dropped after 10 s where the buffer exceeds 1.2 MINth", "never",
          [_late_drops], lambda drops: drops[0] == 0.0, "{0[0]:.0f} packets in {0[1]} buffer sizes, all seeds"),
    Claim("fifty", "Considerations L460", "fifty sessions take 25 to 100 times the drops of one for the same control", "~50",
          [drops_ratio("lred200"), *each(["bloat lred200 1", "bloat lred200 50"], FTP)], lambda times, *_: FIFTY.holds(times),
          "{:.0f} times (at {:.0f} and {:.0f} ms)"),
    # ------------------------------------------------------------------------------------------------------ of the text
    Claim("table1", "Table 1 L54", "peak rate = buffer / round trip, by TCP runs (3 %)", "18 cells",
          [*each([f"table1 window {kb} {rtt}" for kb, rtt in _TABLE_1], "goodput_mbit"),
           *each([f"table1 buffer {kb} {rtt}" for kb, rtt in _TABLE_1], "rate_share")],
          lambda *v: _off(v[:18]) <= 0.03 and min(v[18:]) >= 0.97,
          lambda *v: f"18 windows within {100 * _off(v[:18]):.1f} %; before links of those rates such buffers give "
          f"{100 * min(v[18:]):.1f} % or more"),
    Claim("equal", "Background L119", "sessions with one round trip have equal shares (Jain's index over 0.9)", "1/X",
          each([place("fig2", 200), place("fig2", 960)], "fairness"), lambda *v: min(v) >= 0.9,
          "Jain's index of ten sessions {:.3f} at 200 ms, {:.3f} at 960"),
    # with the short session's ideal buffer the long one starves or the link idles; with the long one's the short one waits
    Claim("two-rtts", "Background L119", "no one buffer suits round trips of 10 and 100 ms", "a dilemma",
          [*each([_SHORT], *_TWO_RTTS), *each([_LONG], *_TWO_RTTS[:2]), (_LONG, "sojourn_mean_ms")],
          lambda of10, of100, share, _, __, ___, wait: (of100 < 0.5 * of10 or share < 0.97) and 10.0 + wait > 5.0 * 10.0,
          lambda of10, of100, share, _, large10, large100, wait:
          f"10 ms: 100 ms session {of100:.2f} of {of10 + of100:.2f} Mbit/s, link {100 * share:.0f} %; 100 ms: "
          f"{large100:.2f} of {large10 + large100:.2f}, but {wait:.0f} ms of waiting for a round trip of 10"),
    Claim("acks-wait", "Background L107", "ACKs that wait 2 s slow the downloads (to less than half)", "yes",
          each([_NO_UPLOAD, _BEHIND], "download_mbit"), lambda alone, behind: behind < 0.5 * alone,
          "downloads fall from {:.1f} to {:.1f} Mbit/s"),
    Claim("acks-first", "Background L107", "not with ACK acceleration (at least 90 % of the rate)", "if not enabled",
          each([_NO_UPLOAD, _BEHIND, _FIRST], "download_mbit"), lambda alone, _, first: first >= 0.9 * alone,
          "{2:.1f} Mbit/s with a queue for ACKs, {1:.1f} behind the upload"),
    Claim("curves", "Figure 10 L368", "the curves 10a, 10b and 10c", "three shapes",
          [lambda _: curves.check()], lambda checked: checked[1], "{0[0]}"),  # by the law itself, packet by packet
    Claim("tmax-falls", "Figure 10 L366", "when Tmax falls, latency-based curves compensate, 10a does not (twice)", "yes",
          each([f"effective_tmax {curve} fifo" for curve in ("10a", "10b", "10c")], "fall_ratio"),
          lambda depth, *times: depth >= 2.0 and max(times) <= 1.5, "latency after over before: 10a {:.2f}, 10b {:.2f}, 10c {:.2f}"),
    Claim("sub-queues", "Figure 10 L366", "in the queues of Type A this matters even more", "yes",
          each([f"effective_tmax {curve} {queue}" for curve in ("10a", "10b") for queue in ("fifo", "sfq")], "ftp_before_ms"),
          lambda one_a, each_a, one_b, each_b: each_a >= 2.0 * one_a and each_b <= 1.5 * one_b,
          "at 20 Mbit/s 10a {:.0f} ms in one queue and {:.0f} in each of SFQ's; 10b {:.0f} and {:.0f}"),
    Claim("collision-lred", "LRED L422", "LRED takes control where sessions collide (150 to 260 ms)", "yes",
          each([_LRED, _NO_LAW], GAMER), lambda lred, _: FTP_200.holds(lred),
          "gamer {:.0f} ms with LRED 200, {:.0f} without a law"),
    Claim("collision-codel", "Combining L426", "CoDel improves on a collision (at most half), at a price", "yes",
          each([_CODEL, _NO_LAW], GAMER, "loss_percent"), lambda codel, none, *_: codel <= 0.5 * none,
          "gamer {:.0f} ms with CoDel, {:.0f} without; loss {:.1f} for {:.1f} % of Tmax"),
    # against the solutions with a queue for each session
    Claim("wred", "Conclusions L484", "latency-based WRED: latency limited, more loss and less throughput than SFQ", "fairly good",
          [*each(_PROFILES, GAMER), *each(_OTHERS, "loss_percent", "goodput_mbit")],
          lambda alike, first, loss, loss_a, loss_ab, rate, rate_a, rate_ab: PLATEAU.holds(alike) and PLATEAU.holds(first)
          and loss > max(loss_a, loss_ab) and rate < min(rate_a, rate_ab),
          "latency {:.0f} ms ({:.0f} with priority); loss {:.2f} % of Tmax for {:.2f} and {:.2f}; "
          "goodput {:.3f} for {:.3f} and {:.3f} Mbit/s"),
    Claim("wred-priority", "LRED L360", "lower priority means more drops (gamer first: at most half)", "WRED",
          each(_PROFILES, "gamer_drops"), lambda alike, first: first < 0.5 * alike,
          "{1:.0f} packets of the gamer dropped, {0:.0f} without priority"),
    in_range("wred-latency", "Conclusions L484", "for all of the sessions: 190 to 230 ms", "limited", ("", point("fig11", 960, FTP, PLATEAU))),
)  # fmt: skip
