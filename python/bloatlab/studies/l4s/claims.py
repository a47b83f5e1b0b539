"""What the L4S tests say in one sentence each, and what we expect of version 0.7 and of the mechanisms found."""

from __future__ import annotations

from collections.abc import Sequence

from bloatlab.studies.claims import Claim, Quantity, each
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.l4s import heist
from bloatlab.studies.scorecard import Band, Origin

_TESTS = "L4S tests"


def _pairs(queue: str, first: str, second: str, rtts: Sequence[tuple[int, int]], rate: int = 50) -> list[c.Case]:
    keys = [f"{queue}: {first} {a} / {second} {b} at {rate}" for a, b in rtts]
    return [case for key in keys for case in heist.PAIRS if case.key == key]


_SAME = [(10, 10), (20, 20), (80, 80)]
_DUALPI2 = _pairs("dualpi2", "cubic", "prague", _SAME)
_FIFO = _pairs("pfifo(1000)", "cubic", "prague", _SAME)
_FAR = [x for a in ("cubic", "prague") for b in ("cubic", "prague") for x in _pairs("dualpi2", a, b, [(160, 10)])]
_FAR_FIFO = _pairs("pfifo(1000)", "cubic", "cubic", [(160, 10)])
_FQ = [x for x in heist.of_queue("fq_codel") if x.loads[0].rtt == x.loads[1].rtt]
_TWO_PRAGUES = _pairs("dualpi2", "prague", "prague", [(20, 10)])[0].of_version("prague7")
_STEPS = [heist.step(stack, 80.0, "fq_codel", 25.0) for stack in ("prague", "cubic")]
_BURSTS = [
    heist.step(stack, 20.0, queue, 25.0, bursts=True) for stack, queue in (("prague", "dualpi2"), ("cubic", "fq_codel"))
]

P99 = "first_wait_p99_ms"


def _span(*values: float) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


CLAIMS: tuple[Quantity | Claim, ...] = (
    Claim("prague-more", _TESTS, "through DualPI2 Prague gets more than CUBIC at 10, 20 and 80 ms, at 20 ms more than twice as much",
          "2.73, 2.17, 1.66", each(_DUALPI2, "ratio"), lambda *v: min(v) > 1.0 and v[1] > 2.0, "{:.2f}, {:.2f}, {:.2f}"),
    Claim("fifo", _TESTS, "through a plain buffer CUBIC gets more than Prague at 10, 20 and 80 ms", "0.19, 0.35, 0.09",
          each(_FIFO, "ratio"), lambda *v: max(v) < 1.0, "{:.2f}, {:.2f}, {:.2f}"),
    Claim("short-wins", _TESTS, "160 against 10 ms through DualPI2: the shorter has a big advantage in every case", "3.40, 8.56, 3.68, 29.1",
          each(_FAR, "ratio"), lambda *v: min(v) > 2.0, "{:.2f}, {:.2f}, {:.2f}, {:.2f}"),
    Claim("above-16", _TESTS, "of two Prague flows it is more than the 16 to 1 of the round trips", "29.1",
          each(_FAR[-1:], "ratio"), lambda ratio: ratio > 16.0, "{:.2f}"),
    Claim("diluted", _TESTS, "two CUBIC flows of 160 and 10 ms: a plain buffer dilutes the advantage", "1.76 for 3.40",
          each([*_FAR_FIFO, _FAR[0]], "ratio"), lambda fifo, dualpi2: 1.0 < fifo < dualpi2, "{:.2f} for {:.2f}"),
    Claim("fair", _TESTS, "fq_codel gives two flows of one round trip about the same", "0.75 to 1.35",
          each(_FQ, "ratio"), lambda *v: min(v) > 0.5 and max(v) < 2.0, _span),
    Claim("unsafe", _TESTS, "in one queue of RFC 3168 Prague dominates, whether the other has ECN or not", "20 to 60",
          each(heist.SHARED, "inverse"), lambda *v: min(v) > 10.0, _span),
    Claim("longer", _TESTS, "50 to 25 Mbit/s, 80 ms, fq_codel: Prague's spike is much longer than CUBIC's", "around 5 s for a brief one",
          each(_STEPS, "spike_s"), lambda prague, cubic: prague > 2.0 * cubic, "{:.1f} s for {:.1f} s"),
    Claim("bursts", _TESTS, "bursts: Prague through DualPI2 loses about half of the link, CUBIC through fq_codel nearly nothing", "about 50 %",
          each(_BURSTS, "lost"), lambda prague, cubic: 0.3 <= prague <= 0.7 and cubic < 0.1, "{:.0%} and {:.0%}"),
    Quantity("independent", "Prague 0.7", "two Prague flows of 20 and 10 ms are as fast as each other", "about 1",
             _TWO_PRAGUES.key, "ratio", Band(0.8, 1.25), "", origin=Origin.OURS),
    Claim("growth", "the step", "ten flows alone at 50 Mbit/s and 5 ms: what they add in a round trip is their queue",
          "a 25th of a segment each, or one", each(c.SHORTER[:2], P99), lambda law, own: law <= 2.0 < own,
          "{:.1f} ms with the law, {:.1f} ms with round trips of its own", Origin.OURS),
    Claim("packets", "packet times", "with packets of 188 bytes 99 of 100 wait 2 ms at most beside CUBIC, from 4 Mbit/s on",
          "2 ms", each(c.SMALLER, P99), lambda *v: max(v) <= 2.0, lambda *v: f"at most {max(v):.1f} ms", Origin.OURS),
)  # fmt: skip
