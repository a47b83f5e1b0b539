"""The sentences of CableLabs 2012 with a number or an order, as checks on our runs.

A quantity is the median over seeds with its central 80 %; it holds inside the range stated here, which was fixed before
any run: times within 35 % or 1 s, delays and shares as noted. Claims are reported, not counted in the shares. Plateau runs
stand under "C03 limit 130p" and the like.

A claim about one or five transfers that differs is checked again on the same transfers without pages
(`without_pages`): the claim is printed with that result, and keeps the verdict of the paper's test cases.

§1.2 has the authors' expectations before their runs; their own tables contradict one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bloatlab.studies.cablelabs2012.measure import SYN_OFFSETS_S
from bloatlab.studies.cablelabs2012.published import FTP, LATE, LOST, MAD, MEDIAN, MOS, PLR
from bloatlab.studies.claims import Checked, Claim, Quantity, Runs, Value, check_all, each, median_of, near
from bloatlab.studies.scorecard import Band
from bloatlab.workloads.cable_loads import LOADED, NUMBERS, Case, Queue

LARGE, SMALL, CODEL = Queue.DROPTAIL_417, Queue.DROPTAIL_21, Queue.CODEL


def over(compute: Callable[..., Any], *measures: str) -> Value:
    """A value of a claim that `compute` gives from the medians of each measure by queue and row; None when a run is missing."""

    def value(runs: Runs) -> Any:
        found = [{q: {n: median_of(runs, Case(n, q).key, m) for n in NUMBERS} for q in Queue} for m in measures]
        missing = any(v is None for table in found for row in table.values() for v in row.values())
        return None if missing else compute(*found)

    return value


def keys(queue: Queue, *numbers: int) -> list[str]:
    """The keys of rows with one queue."""
    return [Case(n, queue).key for n in numbers]


def _two_with_most(table: Mapping[int, float]) -> list[int]:
    """The two rows with the largest values."""
    return sorted(sorted(table, key=lambda n: (-table[n], n))[:2])


def _retries(runs: Runs) -> float | None:
    """The most retries that a connection of D04/21 made, all at the paper's offsets."""
    agree = [s["syn_agree"] for s in runs.get("D04/21", ())]
    return max((a for a in agree if not math.isnan(a)), default=0.0) if agree else None


#: Rows whose transfers never pause for long.
_STEADY = (2, 3, 4, 5, 6, 7)

#: What 10 MB and 5 Mbit/s let through in 600 s.
_CEILING_MB = 385.0

CLAIMS: tuple[Quantity | Claim, ...] = (
    Claim("mos-gain", "Executive summary", "mean MOS gain of CoDel over 417-packet DropTail, loaded cases", "2.7",
          [over(lambda mos: sum(mos[CODEL][n] - mos[LARGE][n] for n in LOADED) / len(LOADED), MOS)],
          Band(2.5, 3.1).holds, "{:.2f}"),
    Claim("throughput", "Executive summary", "CoDel costs TCP 0 to 2 % of its throughput", "0 to 2 %",
          [over(lambda ftp: [100.0 * (1.0 - ftp[CODEL][n] / ftp[LARGE][n]) for n in LOADED], FTP)],
          lambda costs: min(costs) >= -1.5 and max(costs) <= 2.5,
          lambda costs: f"{min(costs):.1f} to {max(costs):.1f} %"),
    Claim("speed-up", "Executive summary", "page loads drop by nearly a factor of 10 in most conditions", "nearly 10",
          [over(lambda page: [page[LARGE][n] / page[CODEL][n] for n in LOADED], MEDIAN),
           over(lambda page: sum(Band(6.5, 13.5).holds(page[LARGE][n] / page[CODEL][n]) for n in LOADED), MEDIAN)],
          lambda _, near_ten: near_ten > 4,
          lambda times, near_ten: f"{min(times):.1f} to {max(times):.1f} times; near 10 in {near_ten} of 8 rows"),
    Claim("expect-rate", "§1.2", "expected: with 21 packets TCP keeps the sustained rate", "the MSR",
          each(keys(SMALL, *_STEADY), "up_wire_mb"), lambda *mb: min(mb) / (_CEILING_MB / 100.0) >= 99.0,
          lambda *mb: f"at least {min(mb) / (_CEILING_MB / 100.0):.1f} % of what the shaper lets through"),
    Quantity("expect-delay", "§1.2", "expected: one transfer at the sustained rate has a consistent delay of", "40 to 50 ms",
             "D02/21", "delay_typical_ms", Band(40.0, 50.0), "ms", 1),
    Claim("expect-page", "§1.2", "expected: which costs a page N x 50 ms, N = 15 to 20", "0.75 to 1 s",
          [over(lambda page: page[SMALL][2] - page[SMALL][1], MEDIAN)], Band(0.75, 1.0).holds,
          "{:.2f} s (the paper's own tables: 3.34 s)"),
    Quantity("expect-idle", "§1.2", "expected: without a transfer the buffer stays largely empty", "low latency",
             "D01/21", "delay_typical_ms", Band(0.0, 5.0), "ms", 1),
    Claim("expect-peak", "§1.2", "expected: 21 packets may be too few for the Peak Traffic Rate", "slower",
          each(["D03/21", "D03/417"], "burst_s"), lambda small, large: small > 1.35 * large,
          "{:.1f} s for the 10 MB, {:.1f} s with 417"),
    Claim("expect-seconds", "§1.2", "expected: without Buffer Control delays on the order of seconds", "seconds",
          each(keys(LARGE, *_STEADY), "delay_after_ms"), lambda *ms: max(ms) >= 900.0,
          lambda *ms: f"up to {max(ms) / 1000.0:.2f} s"),
    Quantity("ramp-417", "§4.1.1", "one TCP, 417 packets: time to reach 20 Mbit/s", "0.6 s", "D03/417", "ramp_s", near(0.6, least=0.4)),
    Quantity("burst-delay-417", "§4.1.1", "417 packets: largest delay during the burst", "250 ms",
             "D03/417", "delay_burst_ms", near(250, 0.03, 0), "ms", 0),
    Quantity("delay-417", "§4.1.1", "417 packets: largest delay after the burst", "1 s", "D03/417", "delay_after_ms", near(1000, 0.03, 0), "ms", 0),
    Quantity("peak-417", "§4.1.1", "one TCP, 417 packets: seconds at 20 Mbit/s", "about 5.5 s", "D03/417", "peak_s", near(5.5)),
    Quantity("burst-417-1", "§4.1.2", "one TCP, 417 packets: time to use the 10 MB burst", "6 s", "D03/417", "burst_s", near(6.0)),
    Quantity("burst-417-5", "§4.1.2", "five TCP, 417 packets: time to use the burst", "5.8 s", "D05/417", "burst_s", near(5.8)),
    Quantity("ramp-21-1", "§4.1.2", "one TCP, 21 packets: time to reach 20 Mbit/s", "10 s", "D03/21", "ramp_s", near(10.0)),
    Quantity("burst-21-1", "§4.1.2", "one TCP, 21 packets: time to use the burst", "12 s", "D03/21", "burst_s", near(12.0)),
    Quantity("ramp-21-5", "§4.1.2", "five TCP, 21 packets: time to reach 20 Mbit/s", "4.5 s", "D05/21", "ramp_s", near(4.5)),
    Quantity("burst-21-5", "§4.1.2", "five TCP, 21 packets: time to use the burst", "6.7 s", "D05/21", "burst_s", near(6.7)),
    Quantity("delay-21", "§4.1.2", "21 packets: worst queueing delay", "50 ms", "D05/21", "delay_after_ms", near(50, 0.08, 0), "ms", 1),
    Quantity("full-rate-codel", "§4.1.3", "one TCP under CoDel: leaves 20 Mbit/s after", "2.5 s", "C03", "full_rate_s", near(2.5)),
    Quantity("plateau", "§4.1.3", "and then stays at this share of the link for the rest of the burst", "75 %",
             "C03", "plateau_share", Band(68.0, 82.0), "%", 0, 100.0),
    Quantity("rate-codel", "§4.1.3", "one TCP under CoDel: its rate for the rest of the burst", "15 Mbit/s",
             "C03", "plateau_share", Band(13.6, 16.4), "Mbit/s", 1, 20.0),
    Quantity("left-codel", "§4.1.3", "one TCP under CoDel: burst that is left when it leaves 20 Mbit/s", "5.5 s", "C03", "left_s", near(5.5)),
    Quantity("plateau-130", "§4.1.3", "with a buffer of 130 packets it does not", "absent",
             "C03 limit 130p", "plateau_share", Band(87.0, 101.0), "%", 0, 100.0),
    Quantity("plateau-170", "§4.1.3", "nor with 170 packets", "absent", "C03 limit 170p", "plateau_share", Band(87.0, 101.0), "%", 0, 100.0),
    Quantity("typical-codel", "§4.1.3", "CoDel generally keeps the delay below its target", "< 5 ms",
             "C05", "delay_typical_ms", Band(0.0, 5.0), "ms", 1),
    Quantity("settle-codel", "§4.1.3", "a spike takes this long to subside", "about 2.5 s", "C05", "settle_s", near(2.5, 0.6)),
    Quantity("spike-codel", "§4.1.3", "largest spike with five TCP", "370 ms", "C05", "spike_ms", near(370, 0.35, 0), "ms", 0),
    Claim("txq-loss", "§4.2", "voice is lost behind 417 packets and not behind 21, without any load", "0.10 % and 0.00 %",
          each(["D01/417", "D01/21"], LOST), lambda large, small: Band(0.05, 0.2).holds(large) and small <= 0.02,
          "{:.2f} % and {:.2f} %"),
    Claim("late-21", "§4.2.2", "no packet is late with 21 packets", "0 %",
          each(keys(SMALL, *NUMBERS), LATE), lambda *late: max(late) < 0.005, lambda *late: f"at most {max(late):.2f} %"),
    Claim("short-rtt", "§4.2.2", "several TCP with short RTT (04, 06) cost voice most", "04, 06",
          [over(lambda plr: {q: _two_with_most(plr[q]) for q in (SMALL, CODEL)}, PLR)],
          lambda worst: all(rows == [4, 6] for rows in worst.values()),
          lambda worst: "; ".join(f"{q.value}: {a:02d}, {b:02d}" for q, (a, b) in worst.items())),
    Claim("steady", "§4.3.1", "under CoDel the MAD is below 3 % of the median in most rows", "7 of 9 rows",
          [over(lambda mad, page: sum(mad[CODEL][n] < 0.03 * page[CODEL][n] for n in NUMBERS), MAD, MEDIAN)],
          lambda rows: rows > 4, "{} of 9 rows"),
    Quantity("nearly-full", "§4.3.2", "D04, 21 packets: share of the time with at most 5 free slots", "98.5 %",
             "D04/21", "free5_share", Band(97.0, 99.6), "%", 1, 100.0),
    Claim("syn-times", "§4.3.2", "blocked connections try at T = 1, 4, 10, 22, 46, 94, 154, 214, 274 s",
          "3 s, doubling, at most 60 s", [_retries], lambda most: most >= 6,
          f"up to {{:.0f}} of {len(SYN_OFFSETS_S) - 1} retries seen, all at these offsets"),
    Quantity("longest-d05", "§4.3.2", "D05, 21 packets: longest page load", "84 s", "D05/21", "page_load_max_s", near(84, 0.5), digits=0),
    Quantity("longest-d07", "§4.3.2", "D07, 21 packets: longest page load", "160 s", "D07/21", "page_load_max_s", near(160, 0.5), digits=0),
    Quantity("spread-d05", "§4.3.2", "D05, 21 packets: MAD of the page time over its median", "56 %",
             "D05/21", "mad_share", near(56, 0.35, 0), "%", 0, 100.0),
    Quantity("spread-d07", "§4.3.2", "D07, 21 packets: MAD of the page time over its median", "37 %",
             "D07/21", "mad_share", near(37, 0.35, 0), "%", 0, 100.0),
    Claim("codel-417", "§4.4", "CoDel beats 417-packet DropTail for voice and web in every loaded case", "all",
          [over(lambda mos: sum(mos[CODEL][n] > mos[LARGE][n] for n in LOADED), MOS),
           over(lambda page: sum(page[CODEL][n] < page[LARGE][n] for n in LOADED), MEDIAN)],
          lambda voice, web: voice == web == 8, "voice in {}, web in {} of 8 loaded cases"),
    Claim("codel-21", "§4.4", "CoDel equals 21-packet DropTail for voice and beats it for web", "0.1 to 0.2 MOS; all",
          [over(lambda mos: sum(abs(mos[CODEL][n] - mos[SMALL][n]) <= 0.25 for n in NUMBERS), MOS),
           over(lambda page: sum(page[CODEL][n] < page[SMALL][n] for n in NUMBERS), MEDIAN)],
          lambda close, web: close > 4 and web == 9, "MOS within 0.2 in {}, web faster in {} of 9 cases"),
)  # fmt: skip


#: Prefixes of the measures of pages.
_OF_PAGES = ("page", "mad")


def without_pages(checked: Sequence[Checked], alone: Runs) -> list[Checked]:
    """The claims, each that differs with the result of its transfers without pages. `alone` has these by case."""
    asked = [c for c in CLAIMS if isinstance(c, Quantity) and c.case in alone and not c.measure.startswith(_OF_PAGES)]
    again = {c.ident: c for c in check_all(asked, alone)}

    def beside(claim: Checked) -> Checked:
        other = again.get(claim.ident)
        if claim.holds is not False or other is None or other.holds is None:
            return claim
        return replace(claim, why=f"without pages {other.ours}, {'holds' if other.holds else 'differs'}")

    return [beside(claim) for claim in checked]
