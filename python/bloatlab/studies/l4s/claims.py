"""What the L4S tests say in one sentence each, and what we expect of version 0.7 and of the mechanisms found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bloatlab.studies.claims import Order, Quantity, Runs, median_of
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


def _order(
    cases: Sequence[c.Case], measure: str, say: Callable[[list[float]], tuple[str, bool]]
) -> Callable[[Runs], tuple[str, bool] | None]:
    def judge(runs: Runs) -> tuple[str, bool] | None:
        values = [v for case in cases if (v := median_of(runs, case.key, measure)) is not None]
        return say(values) if len(values) == len(cases) else None

    return judge


def _listed(v: list[float]) -> str:
    return ", ".join(f"{x:.2f}" for x in v)


def _law(v: list[float]) -> tuple[str, bool]:
    return f"{v[0]:.1f} ms with the law, {v[1]:.1f} ms with round trips of its own", v[0] <= 2.0 < v[1]


def _small(v: list[float]) -> tuple[str, bool]:
    return f"at most {max(v):.1f} ms", max(v) <= 2.0


def _span(v: list[float]) -> str:
    return f"{min(v):.2f} to {max(v):.2f}"


CLAIMS: tuple[Quantity | Order, ...] = (
    Order("prague-more", _TESTS, "through DualPI2 Prague gets more than CUBIC at 10, 20 and 80 ms, at 20 ms more than twice as much",
          "2.73, 2.17, 1.66", _order(_DUALPI2, "ratio", lambda v: (_listed(v), min(v) > 1.0 and v[1] > 2.0))),
    Order("fifo", _TESTS, "through a plain buffer CUBIC gets more than Prague at 10, 20 and 80 ms", "0.19, 0.35, 0.09",
          _order(_FIFO, "ratio", lambda v: (_listed(v), max(v) < 1.0))),
    Order("short-wins", _TESTS, "160 against 10 ms through DualPI2: the shorter has a big advantage in every case", "3.40, 8.56, 3.68, 29.1",
          _order(_FAR, "ratio", lambda v: (_listed(v), min(v) > 2.0))),
    Order("above-16", _TESTS, "of two Prague flows it is more than the 16 to 1 of the round trips", "29.1",
          _order(_FAR[-1:], "ratio", lambda v: (_listed(v), v[0] > 16.0))),
    Order("diluted", _TESTS, "two CUBIC flows of 160 and 10 ms: a plain buffer dilutes the advantage", "1.76 for 3.40",
          _order([*_FAR_FIFO, _FAR[0]], "ratio", lambda v: (f"{v[0]:.2f} for {v[1]:.2f}", 1.0 < v[0] < v[1]))),
    Order("fair", _TESTS, "fq_codel gives two flows of one round trip about the same", "0.75 to 1.35",
          _order(_FQ, "ratio", lambda v: (_span(v), min(v) > 0.5 and max(v) < 2.0))),
    Order("unsafe", _TESTS, "in one queue of RFC 3168 Prague dominates, whether the other has ECN or not", "20 to 60",
          _order(heist.SHARED, "inverse", lambda v: (_span(v), min(v) > 10.0))),
    Order("longer", _TESTS, "50 to 25 Mbit/s, 80 ms, fq_codel: Prague's spike is much longer than CUBIC's", "around 5 s for a brief one",
          _order(_STEPS, "spike_s", lambda v: (f"{v[0]:.1f} s for {v[1]:.1f} s", v[0] > 2.0 * v[1]))),
    Order("bursts", _TESTS, "bursts: Prague through DualPI2 loses about half of the link, CUBIC through fq_codel nearly nothing", "about 50 %",
          _order(_BURSTS, "lost", lambda v: (f"{v[0]:.0%} and {v[1]:.0%}", 0.3 <= v[0] <= 0.7 and v[1] < 0.1))),
    Quantity("independent", "Prague 0.7", "two Prague flows of 20 and 10 ms are as fast as each other", "about 1",
             _TWO_PRAGUES.key, "ratio", Band(0.8, 1.25), "", origin=Origin.OURS),
    Order("growth", "the step", "ten flows alone at 50 Mbit/s and 5 ms: what they add in a round trip is their queue",
          "a 25th of a segment each, or one", _order(c.SHORTER[:2], P99, _law), Origin.OURS),
    Order("packets", "packet times", "with packets of 188 bytes 99 of 100 wait 2 ms at most beside CUBIC, from 4 Mbit/s on",
          "2 ms", _order(c.SMALLER, P99, _small), Origin.OURS),
)  # fmt: skip
