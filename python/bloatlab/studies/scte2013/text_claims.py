"""The sentences of SCTE 2013's text as claims on the experiments of `text`; their ranges were fixed before those ran.

What the words leave open is a half ("slow"), a factor of two, or what the figures' own claims have.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bloatlab.studies.claims import Claim, each
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013.claims import FTP, FTP_200, GAMER, PLATEAU, in_range
from bloatlab.studies.scte2013.readings import place, point
from bloatlab.studies.scte2013.text import TABLE_1_KB, TABLE_1_RTT_MS, TWO_RTTS_MS, WRED_PROFILES
from bloatlab.studies.scte2013.theory import peak_rate_mbit

_TABLE_1 = list(itertools.product(TABLE_1_KB, TABLE_1_RTT_MS))


def _off(rates: Sequence[float]) -> float:
    """How far a rate of Table 1 is from the printed one at most, a share."""
    return max(abs(rate / peak_rate_mbit(*cell) - 1.0) for rate, cell in zip(rates, _TABLE_1, strict=True))


_NO_UPLOAD, _BEHIND, _FIRST = (f"ack_acceleration {d} 2000" for d in ("no upload", "droptail", "ack_class"))
_NO_LAW, _LRED, _CODEL = (f"collision_law {law} 960" for law in ("none", "lred200", "codel"))
_PROFILES = [f"latency_wred {profile}" for profile in WRED_PROFILES]
_SHORT, _LONG = (f"two_rtts droptail {buffer}" for buffer in TWO_RTTS_MS)
_TWO_RTTS = ("goodput_mbit_ftp10", "goodput_mbit_ftp100", "rate_share", "sojourn_mean_ms")
_OTHERS = [place(series, 960) for series in ("fig11", "fig5", "fig14")]

TEXT_CLAIMS: Sequence[Claim] = (
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
    in_range("wred-latency", "Conclusions L484", "for all of the sessions: 190 to 230 ms", "limited",
             ("", point("fig11", 960, FTP, PLATEAU))),
)  # fmt: skip
