"""What the tables of the L4S tests say in one sentence each, and what we expect of version 0.7 and of the mechanisms found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bloatlab.studies.claims import Order, Quantity, Runs, median_of
from bloatlab.studies.l4s import cases as c
from bloatlab.studies.scorecard import Band, Origin

_DUALPI2 = c.PAIRS[:3]
_FIFO = [case for case in c.PAIRS if case.queue == "droptail"]
_OTHER = {"prague": "prague7"}
_TWO_PRAGUES = c.PAIRS[5]

P99 = "first_wait_p99_ms"


def _order(
    cases: Sequence[c.Case], measure: str, say: Callable[[list[float]], tuple[str, bool]]
) -> Callable[[Runs], tuple[str, bool] | None]:
    def judge(runs: Runs) -> tuple[str, bool] | None:
        values = [v for case in cases if (v := median_of(runs, case.key, measure)) is not None]
        return say(values) if len(values) == len(cases) else None

    return judge


def _ratios(v: list[float]) -> str:
    return ", ".join(f"{x:.2f}" for x in v)


def _law(v: list[float]) -> tuple[str, bool]:
    return f"{v[0]:.1f} ms with the law, {v[1]:.1f} ms with round trips of its own", v[0] <= 2.0 < v[1]


def _small(v: list[float]) -> tuple[str, bool]:
    return f"at most {max(v):.1f} ms", max(v) <= 2.0


CLAIMS: tuple[Quantity | Order, ...] = (
    Order("prague-more", "L4S tests", "in DualPI2 Prague gets more than CUBIC at 10, 20 and 80 ms", "2.73, 2.17, 1.66",
          _order(_DUALPI2, "ratio", lambda v: (_ratios(v), min(v) > 1.0))),
    Order("fifo", "L4S tests", "in a plain buffer CUBIC gets more than Prague at 20 and 80 ms", "0.35, 0.09",
          _order(_FIFO, "ratio", lambda v: (_ratios(v), max(v) < 1.0))),
    Quantity("fair", "L4S tests", "fq_codel gives both the same", "1.03", c.PAIRS[-1].key, "ratio", Band(0.95, 1.05), ""),
    Quantity("independent", "Prague 0.7", "two Prague flows of 20 and 10 ms are as fast as each other", "about 1",
             _TWO_PRAGUES.instead(_OTHER).key, "ratio", Band(0.8, 1.25), "", origin=Origin.OURS),
    Order("growth", "the step", "ten flows alone at 50 Mbit/s and 5 ms: what they add in a round trip is their queue",
          "a 25th of a segment each, or one", _order(c.SHORTER[:2], P99, _law), Origin.OURS),
    Order("packets", "packet times", "with packets of 188 bytes 99 of 100 wait 2 ms at most beside CUBIC, from 4 Mbit/s on",
          "2 ms", _order(c.SMALLER, P99, _small), Origin.OURS),
)  # fmt: skip
