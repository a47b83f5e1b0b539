"""What CableLabs 2012 says in prose, as checks: each sentence with a number or an order, and whether our runs bear it out.

A quantity is the median over seeds with its central 80 %; it holds inside the range stated here, which was fixed before
any run: times within 35 % or 1 s, delays and shares as noted. Claims are reported, not counted in the shares. Plateau runs
stand under "C03 limit 130p" and the like.

Where a claim about one or five transfers differs, it is checked again on the same transfers without pages
(`without_pages`): what that gives stands beside the claim, and the verdict stays that of the paper's test cases.

The expectations of §1.2 are what the authors expected before their runs; their own tables contradict one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bloatlab.studies.cablelabs2012.cases import NUMBERS, Queue, case
from bloatlab.studies.cablelabs2012.measure import SYN_OFFSETS_S
from bloatlab.studies.cablelabs2012.published import FTP, LATE, LOST, MAD, MEDIAN, MOS, PLR
from bloatlab.studies.claims import Checked, Order, Quantity, Runs, check_all, median_of, near
from bloatlab.studies.scorecard import Band

# ------------------------------------------------------------------------------------------------- the orders, one each


def _table(runs: Runs, measure: str, numbers: Sequence[int] = NUMBERS) -> dict[tuple[Queue, int], float] | None:
    """Medians by queue and row, or None when one is missing."""
    found: dict[tuple[Queue, int], float] = {}
    for queue in Queue:
        for n in numbers:
            value = median_of(runs, case(n, queue).key, measure)
            if value is None:
                return None
            found[queue, n] = value
    return found


_LOADED = NUMBERS[1:]


def _better_than_417(runs: Runs) -> tuple[str, bool] | None:
    mos, median = _table(runs, MOS), _table(runs, MEDIAN)
    if mos is None or median is None:
        return None
    voice = [n for n in _LOADED if mos[Queue.CODEL, n] > mos[Queue.DROPTAIL_417, n]]
    web = [n for n in _LOADED if median[Queue.CODEL, n] < median[Queue.DROPTAIL_417, n]]
    return f"voice in {len(voice)}, web in {len(web)} of 8 loaded cases", len(voice) == len(web) == len(_LOADED)


def _against_21(runs: Runs) -> tuple[str, bool] | None:
    mos, median = _table(runs, MOS), _table(runs, MEDIAN)
    if mos is None or median is None:
        return None
    close = [n for n in NUMBERS if abs(mos[Queue.CODEL, n] - mos[Queue.DROPTAIL_21, n]) <= 0.25]
    web = [n for n in NUMBERS if median[Queue.CODEL, n] < median[Queue.DROPTAIL_21, n]]
    return f"MOS within 0.2 in {len(close)}, web faster in {len(web)} of 9 cases", len(close) > 4 and len(web) == 9


def _mos_gain(runs: Runs) -> tuple[str, bool] | None:
    mos = _table(runs, MOS)
    if mos is None:
        return None
    gain = sum(mos[Queue.CODEL, n] - mos[Queue.DROPTAIL_417, n] for n in _LOADED) / len(_LOADED)
    return f"{gain:.2f}", Band(2.5, 3.1).holds(gain)


def _throughput(runs: Runs) -> tuple[str, bool] | None:
    ftp = _table(runs, FTP)
    if ftp is None:
        return None
    drops = [100.0 * (1.0 - ftp[Queue.CODEL, n] / ftp[Queue.DROPTAIL_417, n]) for n in _LOADED]
    return f"{min(drops):.1f} to {max(drops):.1f} %", min(drops) >= -1.5 and max(drops) <= 2.5


def _consistent(runs: Runs) -> tuple[str, bool] | None:
    mad, median = _table(runs, MAD), _table(runs, MEDIAN)
    if mad is None or median is None:
        return None
    steady = [n for n in NUMBERS if mad[Queue.CODEL, n] < 0.03 * median[Queue.CODEL, n]]
    return f"{len(steady)} of 9 rows", len(steady) > 4


def _short_rtt_loses_most(runs: Runs) -> tuple[str, bool] | None:
    plr = _table(runs, PLR)
    if plr is None:
        return None
    worst: dict[Queue, list[int]] = {}
    for queue in (Queue.DROPTAIL_21, Queue.CODEL):
        ranked = sorted((-plr[queue, n], n) for n in NUMBERS)
        worst[queue] = sorted(n for _, n in ranked[:2])
    text = "; ".join(f"{q.value}: {', '.join(f'{n:02d}' for n in w)}" for q, w in worst.items())
    return text, all(w == [4, 6] for w in worst.values())


def _no_late_at_21(runs: Runs) -> tuple[str, bool] | None:
    late = _table(runs, LATE)
    if late is None:
        return None
    worst = max(late[Queue.DROPTAIL_21, n] for n in NUMBERS)
    return f"at most {worst:.2f} %", worst < 0.005


def _txq_loss(runs: Runs) -> tuple[str, bool] | None:
    large, small = median_of(runs, "D01/417", LOST), median_of(runs, "D01/21", LOST)
    if large is None or small is None:
        return None
    return f"{large:.2f} % and {small:.2f} %", Band(0.05, 0.2).holds(large) and small <= 0.02


def _syn_times(runs: Runs) -> tuple[str, bool] | None:
    agree = [s["syn_agree"] for s in runs.get("D04/21", ())]
    if not agree:
        return None
    kept = [a for a in agree if not math.isnan(a)]
    most = max(kept, default=0.0)
    return f"up to {most:.0f} of {len(SYN_OFFSETS_S) - 1} retries seen, all at these offsets", bool(kept) and most >= 6


def _faster(runs: Runs) -> tuple[str, bool] | None:
    median = _table(runs, MEDIAN)
    if median is None:
        return None
    times = [median[Queue.DROPTAIL_417, n] / median[Queue.CODEL, n] for n in _LOADED]
    near_ten = [t for t in times if Band(6.5, 13.5).holds(t)]
    return f"{min(times):.1f} to {max(times):.1f} times; near 10 in {len(near_ten)} of 8 rows", len(near_ten) > 4


def _at_the_rate(runs: Runs) -> tuple[str, bool] | None:
    sent = [median_of(runs, case(n, Queue.DROPTAIL_21).key, "up_wire_mb") for n in _STEADY]
    if any(s is None for s in sent):
        return None
    least = min(s for s in sent if s is not None) / (_CEILING_MB / 100.0)
    return f"at least {least:.1f} % of what the shaper lets through", least >= 99.0


def _page_penalty(runs: Runs) -> tuple[str, bool] | None:
    loaded, idle = median_of(runs, "D02/21", MEDIAN), median_of(runs, "D01/21", MEDIAN)
    if loaded is None or idle is None:
        return None
    return f"{loaded - idle:.2f} s (the paper's own tables: 3.34 s)", Band(0.75, 1.0).holds(loaded - idle)


def _no_peak(runs: Runs) -> tuple[str, bool] | None:
    small, large = (median_of(runs, key, "burst_s") for key in ("D03/21", "D03/417"))
    if small is None or large is None:
        return None
    return f"{small:.1f} s for the 10 MB, {large:.1f} s with 417", small > 1.35 * large


def _seconds(runs: Runs) -> tuple[str, bool] | None:
    worst = [median_of(runs, case(n, Queue.DROPTAIL_417).key, "delay_after_ms") for n in _STEADY]
    if any(w is None for w in worst):
        return None
    most = max(w for w in worst if w is not None)
    return f"up to {most / 1000.0:.2f} s", most >= 900.0


#: Rows whose transfers never pause for long, and what 10 MB and 5 Mbit/s let through in 600 s.
_STEADY = (2, 3, 4, 5, 6, 7)
_CEILING_MB = 385.0

_CODEL_1, _CODEL_5 = "C03", "C05"

CLAIMS: tuple[Quantity | Order, ...] = (
    Order("mos-gain", "Executive summary", "mean MOS gain of CoDel over 417-packet DropTail, loaded cases", "2.7", _mos_gain),
    Order("throughput", "Executive summary", "CoDel costs TCP 0 to 2 % of its throughput", "0 to 2 %", _throughput),
    Order("speed-up", "Executive summary", "page loads drop by nearly a factor of 10 in most conditions", "nearly 10", _faster),
    Order("expect-rate", "§1.2", "expected: with 21 packets TCP keeps the sustained rate", "the MSR", _at_the_rate),
    Quantity("expect-delay", "§1.2", "expected: one transfer at the sustained rate has a consistent delay of", "40 to 50 ms",
             "D02/21", "delay_typical_ms", Band(40.0, 50.0), "ms", 1),
    Order("expect-page", "§1.2", "expected: which costs a page N x 50 ms, N = 15 to 20", "0.75 to 1 s", _page_penalty),
    Quantity("expect-idle", "§1.2", "expected: without a transfer the buffer stays largely empty", "low latency",
             "D01/21", "delay_typical_ms", Band(0.0, 5.0), "ms", 1),
    Order("expect-peak", "§1.2", "expected: 21 packets may be too few for the Peak Traffic Rate", "slower", _no_peak),
    Order("expect-seconds", "§1.2", "expected: without Buffer Control delays on the order of seconds", "seconds", _seconds),
    Quantity("ramp-417", "§4.1.1", "one TCP, 417 packets: time to reach 20 Mbit/s", "0.6 s",
             "D03/417", "ramp_s", near(0.6, least=0.4)),
    Quantity("burst-delay-417", "§4.1.1", "417 packets: largest delay during the burst", "250 ms",
             "D03/417", "delay_burst_ms", near(250, 0.03, 0), "ms", 0),
    Quantity("delay-417", "§4.1.1", "417 packets: largest delay after the burst", "1 s",
             "D03/417", "delay_after_ms", near(1000, 0.03, 0), "ms", 0),
    Quantity("peak-417", "§4.1.1", "one TCP, 417 packets: seconds at 20 Mbit/s", "about 5.5 s",
             "D03/417", "peak_s", near(5.5)),
    Quantity("burst-417-1", "§4.1.2", "one TCP, 417 packets: time to use the 10 MB burst", "6 s",
             "D03/417", "burst_s", near(6.0)),
    Quantity("burst-417-5", "§4.1.2", "five TCP, 417 packets: time to use the burst", "5.8 s",
             "D05/417", "burst_s", near(5.8)),
    Quantity("ramp-21-1", "§4.1.2", "one TCP, 21 packets: time to reach 20 Mbit/s", "10 s",
             "D03/21", "ramp_s", near(10.0)),
    Quantity("burst-21-1", "§4.1.2", "one TCP, 21 packets: time to use the burst", "12 s",
             "D03/21", "burst_s", near(12.0)),
    Quantity("ramp-21-5", "§4.1.2", "five TCP, 21 packets: time to reach 20 Mbit/s", "4.5 s",
             "D05/21", "ramp_s", near(4.5)),
    Quantity("burst-21-5", "§4.1.2", "five TCP, 21 packets: time to use the burst", "6.7 s",
             "D05/21", "burst_s", near(6.7)),
    Quantity("delay-21", "§4.1.2", "21 packets: worst queueing delay", "50 ms",
             "D05/21", "delay_after_ms", near(50, 0.08, 0), "ms", 1),
    Quantity("full-rate-codel", "§4.1.3", "one TCP under CoDel: leaves 20 Mbit/s after", "2.5 s",
             _CODEL_1, "full_rate_s", near(2.5)),
    Quantity("plateau", "§4.1.3", "and then stays at this share of the link for the rest of the burst", "75 %",
             _CODEL_1, "plateau_share", Band(68.0, 82.0), "%", 0, 100.0),
    Quantity("rate-codel", "§4.1.3", "one TCP under CoDel: its rate for the rest of the burst", "15 Mbit/s",
             _CODEL_1, "plateau_share", Band(13.6, 16.4), "Mbit/s", 1, 20.0),
    Quantity("left-codel", "§4.1.3", "one TCP under CoDel: burst that is left when it leaves 20 Mbit/s", "5.5 s",
             _CODEL_1, "left_s", near(5.5)),
    Quantity("plateau-130", "§4.1.3", "with a buffer of 130 packets it does not", "absent",
             "C03 limit 130p", "plateau_share", Band(87.0, 101.0), "%", 0, 100.0),
    Quantity("plateau-170", "§4.1.3", "nor with 170 packets", "absent",
             "C03 limit 170p", "plateau_share", Band(87.0, 101.0), "%", 0, 100.0),
    Quantity("typical-codel", "§4.1.3", "CoDel generally keeps the delay below its target", "< 5 ms",
             _CODEL_5, "delay_typical_ms", Band(0.0, 5.0), "ms", 1),
    Quantity("settle-codel", "§4.1.3", "a spike takes this long to subside", "about 2.5 s",
             _CODEL_5, "settle_s", near(2.5, 0.6)),
    Quantity("spike-codel", "§4.1.3", "largest spike with five TCP", "370 ms",
             _CODEL_5, "spike_ms", near(370, 0.35, 0), "ms", 0),
    Order("txq-loss", "§4.2", "voice is lost behind 417 packets and not behind 21, without any load",
          "0.10 % and 0.00 %", _txq_loss),
    Order("late-21", "§4.2.2", "no packet is late with 21 packets", "0 %", _no_late_at_21),
    Order("short-rtt", "§4.2.2", "several TCP with short RTT (04, 06) cost voice most", "04, 06", _short_rtt_loses_most),
    Order("steady", "§4.3.1", "under CoDel the MAD is below 3 % of the median in most rows", "7 of 9 rows", _consistent),
    Quantity("nearly-full", "§4.3.2", "D04, 21 packets: share of the time with at most 5 free slots", "98.5 %",
             "D04/21", "free5_share", Band(97.0, 99.6), "%", 1, 100.0),
    Order("syn-times", "§4.3.2", "blocked connections try at T = 1, 4, 10, 22, 46, 94, 154, 214, 274 s",
          "3 s, doubling, at most 60 s", _syn_times),
    Quantity("longest-d05", "§4.3.2", "D05, 21 packets: longest page load", "84 s",
             "D05/21", "page_load_max_s", near(84, 0.5), digits=0),
    Quantity("longest-d07", "§4.3.2", "D07, 21 packets: longest page load", "160 s",
             "D07/21", "page_load_max_s", near(160, 0.5), digits=0),
    Quantity("spread-d05", "§4.3.2", "D05, 21 packets: MAD of the page time over its median", "56 %",
             "D05/21", "mad_share", near(56, 0.35, 0), "%", 0, 100.0),
    Quantity("spread-d07", "§4.3.2", "D07, 21 packets: MAD of the page time over its median", "37 %",
             "D07/21", "mad_share", near(37, 0.35, 0), "%", 0, 100.0),
    Order("codel-417", "§4.4", "CoDel beats 417-packet DropTail for voice and web in every loaded case",
          "all", _better_than_417),
    Order("codel-21", "§4.4", "CoDel equals 21-packet DropTail for voice and beats it for web",
          "0.1 to 0.2 MOS; all", _against_21),
)  # fmt: skip


#: How the measures of pages begin.
_OF_PAGES = ("page", "mad")


def without_pages(checked: Sequence[Checked], alone: Runs) -> list[Checked]:
    """The claims, each that differs with what its transfers do without pages. `alone` has these by case."""
    asked = [c for c in CLAIMS if isinstance(c, Quantity) and c.case in alone and not c.measure.startswith(_OF_PAGES)]
    again = {c.ident: c for c in check_all(asked, alone)}

    def beside(claim: Checked) -> Checked:
        other = again.get(claim.ident)
        if claim.holds is not False or other is None or other.holds is None:
            return claim
        return replace(claim, why=f"without pages {other.ours}, {'holds' if other.holds else 'differs'}")

    return [beside(claim) for claim in checked]
