"""The sentences of SCTE 2013's text as claims on the experiments of `text`; their ranges were fixed before those ran.

What the words leave open is a half ("slow"), a factor of two, or what the figures' own claims have.
"""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.studies.claims import Order, Runs, median_of
from bloatlab.studies.scorecard import Band
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013.claims import CLAIMS, FTP, FTP_200, GAMER, PLATEAU, Found, point
from bloatlab.studies.scte2013.text import TABLE_1_KB, TABLE_1_RTT_MS, TWO_RTTS_MS, table_1_mbit


def _values(runs: Runs, *wanted: tuple[str, str]) -> list[float] | None:
    found = [median_of(runs, *w) for w in wanted]
    return None if any(v is None for v in found) else [v for v in found if v is not None]


def _table_1(runs: Runs) -> Found:
    cells = [(kb, rtt) for kb in TABLE_1_KB for rtt in TABLE_1_RTT_MS]
    rates = _values(runs, *((f"table1 window {kb} {rtt}", "goodput_mbit") for kb, rtt in cells))
    shares = _values(runs, *((f"table1 buffer {kb} {rtt}", "rate_share") for kb, rtt in cells))
    if rates is None or shares is None:
        return None
    off = max(abs(rate / table_1_mbit(*cell) - 1.0) for rate, cell in zip(rates, cells, strict=True))
    text = f"18 windows within {100 * off:.1f} %; before links of those rates such buffers give {100 * min(shares):.1f} % or more"
    return text, off <= 0.03 and min(shares) >= 0.97


def _two_rtts(runs: Runs) -> Found:
    """With the short session's ideal buffer the long one starves or the link idles; with the long one's the short one waits."""
    small, large = TWO_RTTS_MS
    at = {
        size: _values(runs, *((f"two_rtts droptail {size}", m) for m in ("goodput_mbit_ftp10", "goodput_mbit_ftp100",
                                                                         "rate_share", "sojourn_mean_ms")))
        for size in (small, large)
    }  # fmt: skip
    a, b = at[small], at[large]
    if a is None or b is None:
        return None
    text = (
        f"{small} ms: 100 ms session {a[1]:.2f} of {a[0] + a[1]:.2f} Mbit/s, link {100 * a[2]:.0f} %; {large} ms: "
        f"{b[1]:.2f} of {b[0] + b[1]:.2f}, but {b[3]:.0f} ms of waiting for a round trip of 10"
    )
    return text, (a[1] < 0.5 * a[0] or a[2] < 0.97) and 10.0 + b[3] > 5.0 * 10.0


def _equal(runs: Runs) -> Found:
    v = _values(runs, ("figures fig2 200", "fairness"), ("figures fig2 960", "fairness"))
    return (
        None if v is None else (f"Jain's index of ten sessions {v[0]:.3f} at 200 ms, {v[1]:.3f} at 960", min(v) >= 0.9)
    )


def _collision(law: str) -> tuple[str, str]:
    return f"collision_law {law} 960", GAMER


def _collision_lred(runs: Runs) -> Found:
    v = _values(runs, _collision("none"), _collision("lred200"))
    return None if v is None else (f"gamer {v[1]:.0f} ms with LRED 200, {v[0]:.0f} without a law", FTP_200.holds(v[1]))


def _collision_codel(runs: Runs) -> Found:
    v = _values(runs, _collision("none"), _collision("codel"), ("collision_law codel 960", "loss_percent"), ("collision_law none 960", "loss_percent"))  # fmt: skip
    if v is None:
        return None
    return f"gamer {v[1]:.0f} ms with CoDel, {v[0]:.0f} without; loss {v[2]:.1f} for {v[3]:.1f} % of Tmax", v[
        1
    ] <= 0.5 * v[0]


def _effective_tmax(runs: Runs) -> Found:
    v = _values(runs, *((f"effective_tmax {c} fifo", "fall_ratio") for c in ("10a", "10b", "10c")))
    if v is None:
        return None
    return f"latency after over before: 10a {v[0]:.2f}, 10b {v[1]:.2f}, 10c {v[2]:.2f}", v[0] >= 2.0 and max(
        v[1:]
    ) <= 1.5


def _sub_queues(runs: Runs) -> Found:
    v = _values(runs, *((f"effective_tmax {c} {q}", "ftp_before_ms") for q in ("fifo", "sfq") for c in ("10a", "10b")))
    if v is None:
        return None
    text = f"at 20 Mbit/s 10a {v[0]:.0f} ms in one queue and {v[2]:.0f} in each of SFQ's; 10b {v[1]:.0f} and {v[3]:.0f}"
    return text, v[2] >= 2.0 * v[0] and v[3] <= 1.5 * v[1]


_ACKS = ("ack_acceleration no upload 2000", "ack_acceleration droptail 2000", "ack_acceleration ack_class 2000")


def _acks_wait(runs: Runs) -> Found:
    v = _values(runs, *((key, "download_mbit") for key in _ACKS[:2]))
    return None if v is None else (f"downloads fall from {v[0]:.1f} to {v[1]:.1f} Mbit/s", v[1] < 0.5 * v[0])


def _acks_first(runs: Runs) -> Found:
    v = _values(runs, *((key, "download_mbit") for key in _ACKS))
    return (
        None
        if v is None
        else (f"{v[2]:.1f} Mbit/s with a queue for ACKs, {v[1]:.1f} behind the upload", v[2] >= 0.9 * v[0])
    )


def _wred(runs: Runs) -> Found:
    """Latency-based WRED against the solutions with a queue for each session."""
    names = ("fig11", "fig5", "fig14")
    loss = _values(runs, *((f"figures {s} 960", "loss_percent") for s in names))
    rate = _values(runs, *((f"figures {s} 960", "goodput_mbit") for s in names))
    wait = _values(runs, ("latency_wred all alike", GAMER), ("latency_wred gamer first", GAMER))
    if loss is None or rate is None or wait is None:
        return None
    text = (
        f"latency {wait[0]:.0f} ms ({wait[1]:.0f} with priority); loss {loss[0]:.2f} % of Tmax for {loss[1]:.2f} and {loss[2]:.2f}; "
        f"goodput {rate[0]:.3f} for {rate[1]:.3f} and {rate[2]:.3f} Mbit/s"
    )
    return text, all(PLATEAU.holds(w) for w in wait) and loss[0] > max(loss[1:]) and rate[0] < min(rate[1:])


def _priority(runs: Runs) -> Found:
    v = _values(runs, *((f"latency_wred {p}", "gamer_drops") for p in ("all alike", "gamer first")))
    return (
        None
        if v is None
        else (f"{v[1]:.0f} packets of the gamer dropped, {v[0]:.0f} without priority", v[1] < 0.5 * v[0])
    )


def _curves(runs: Runs) -> Found:
    del runs  # the program's own law, packet by packet
    return curves.check()


TEXT_CLAIMS: Sequence[Order] = (
    Order("table1", "Table 1 L54", "peak rate = buffer / round trip, by TCP runs (3 %)", "18 cells", _table_1),
    Order("equal", "Background L119", "sessions with one round trip have equal shares (Jain's index over 0.9)", "1/X", _equal),
    Order("two-rtts", "Background L119", "no one buffer suits round trips of 10 and 100 ms", "a dilemma", _two_rtts),
    Order("acks-wait", "Background L107", "ACKs that wait 2 s slow the downloads (to less than half)", "yes", _acks_wait),
    Order("acks-first", "Background L107", "not with ACK acceleration (at least 90 % of the rate)", "if not enabled", _acks_first),
    Order("curves", "Figure 10 L368", "the curves 10a, 10b and 10c", "three shapes", _curves),
    Order("tmax-falls", "Figure 10 L366", "when Tmax falls, latency-based curves compensate, 10a does not (twice)", "yes", _effective_tmax),
    Order("sub-queues", "Figure 10 L366", "in the queues of Type A this matters even more", "yes", _sub_queues),
    Order("collision-lred", "LRED L422", "LRED takes control where sessions collide (150 to 260 ms)", "yes", _collision_lred),
    Order("collision-codel", "Combining L426", "CoDel improves on a collision (at most half), at a price", "yes", _collision_codel),
    Order("wred", "Conclusions L484", "latency-based WRED: latency limited, more loss and less throughput than SFQ", "fairly good", _wred),
    Order("wred-priority", "LRED L360", "lower priority means more drops (gamer first: at most half)", "WRED", _priority),
    Order("wred-latency", "Conclusions L484", "for all of the sessions: 190 to 230 ms", "limited", point("fig11", 960, FTP, Band(190.0, 230.0)).judge),
)  # fmt: skip

#: Every claim of the study.
ALL_CLAIMS: Sequence[Order] = (*CLAIMS, *TEXT_CLAIMS)
