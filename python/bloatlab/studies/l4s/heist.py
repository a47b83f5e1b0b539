"""The L4S tests of P. Heist and J. Morton (2020), as their batch file and scripts have them: runs by the rows of `published.csv`.

Two hosts and a middlebox in network namespaces, offloads off (no super-packets). netem delays a packet by half of the round trip
where it comes in; HTB shapes what goes out to 50 or 10 Mbit/s of Ethernet frames, in front of the queue with its defaults. All
TCP asks for AccECN (tcp_ecn = 3). ACKs pass a queue of the same kind, which is never full, and is left out here.

    scenario 1   two uploads at once, 180 s; from 118 to 178 s        DualPI2, pfifo, fq_codel
    scenario 2   one upload, 60 s; after 30 s the rate steps down     fq_codel, DualPI2
    scenario 6   two uploads, 60 s; from 18 to 58 s                   AQMs of RFC 3168, one queue
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bloatlab.studies import published
from bloatlab.studies.l4s.cases import Case, Load

#: A full packet as HTB counts it, over the same in IP.
FRAME = 1514 / 1500

#: When scenario 2's rate steps down, as a share of the run.
STEP_AT = 0.5

#: netem's slots in front of the queue: 0.8 to 5 ms from one to the next, up to 16 packets at once.
SLOT_MS, SLOT_PACKETS = (0.8, 5.0), 16


def _adaptive_red(limit: int, weight: float) -> Mapping[str, Any]:
    """`red limit LIMIT avpkt 1000 adaptive bandwidth 50Mbit ecn`, with tc-red(8)'s defaults.

    max = limit / 4, min = max / 3, burst (2 min + max) / (3 avpkt), whose weight is 1/32 at 400000 bytes and 1/16 at 150000.
    Ours is gentle above max, where Linux marks every packet.
    """
    return {
        "ared": {
            "limit": f"{limit}B", "max": f"{limit // 4}B", "min": f"{limit // 12}B", "weight": weight, "probability": 0.02,
            "avpkt": "1000B", "byte_mode": "off", "spacing": "one_draw", "ecn": True, "harddrop": False,
        }
    }  # fmt: skip


#: Queues by the tests' word. DualPI2 of 2020 has today's defaults, but steps only where at least two packets were in L before.
QUEUES: Mapping[str, Mapping[str, Any] | str] = {
    "dualpi2": {"dualpi2": {"min_qlen_step": 2}},
    "pfifo(1000)": "pfifo limit 1000",
    "pfifo(200)": "pfifo limit 200",
    "fq_codel": "fq_codel",
    "fq_codel(1q)": "fq_codel flows 1",
    "fq_codel(1q,1ms/20ms)": "fq_codel flows 1 target 1ms interval 20ms",
    "pie": "pie ecn",
    "pie(100p/5ms)": "pie limit 100 target 5ms tupdate 32ms alpha 2 beta 20 ecn",
    "red(400000b)": _adaptive_red(400_000, 1 / 32),
    "red(150000b)": _adaptive_red(150_000, 1 / 16),
}

#: What the forms of Prague are called that are shown beside the tests' own.
FORMS = {"prague-rounds": "cuts in rounds", "prague6": "version 0.6", "prague7": "version 0.7"}


def _row(key: str) -> Case:
    """The run of a row such as "dualpi2: cubic 10 / prague 10 at 50"."""
    queue, rest = key.split(": ")
    flows, rate = rest.split(" at ")
    loads = tuple(Load(stack, float(rtt)) for stack, rtt in (words.split() for words in flows.split(" / ")))
    return Case("pairs", queue, loads, float(rate), 178, 118, bench=True)


def _rows(where: str) -> tuple[Case, ...]:
    found = published.rows("l4s")
    return tuple(_row(r.case) for r in found if r.metric == "rates" and where in r.where)


#: Scenario 1: pairs of round trips, in all orders of Prague and CUBIC.
PAIRS = _rows("s1_table")
#: Scenario 6: Prague beside a flow of RFC 3168, with ECN or without.
SHARED = tuple(replace(case, group="shared", seconds=58, warm_up=18) for case in _rows("s6_steady"))


def of_queue(word: str) -> tuple[Case, ...]:
    """The pairs of a queue: "dualpi2", "pfifo", "fq_codel"."""
    return tuple(case for case in PAIRS if case.queue.startswith(word))


#: Why a ratio is another: Prague in other forms, arrivals jittered by a packet's time, CUBIC that does not follow Reno.
_PRAGUE = tuple(case for case in of_queue("dualpi2") if any(x.stack == "prague" for x in case.loads))
OTHER_FORMS = tuple(case.of_version(form) for form in FORMS for case in _PRAGUE)
JITTERED = tuple(replace(case, jittered=True) for case in of_queue("pfifo"))
_FOLLOWS = {"cubic-ecn": "alone-ecn", "cubic-noecn": "alone-noecn"}
OWN_CUBIC = tuple(case.instead(_FOLLOWS) for case in SHARED if case.loads[1].stack in _FOLLOWS)

STEPS_TO = (25.0, 10.0, 5.0, 1.0)


def step(stack: str, rtt: float, queue: str, then: float, *, bursts: bool = False) -> Case:
    """One upload whose rate steps down from 50 Mbit/s."""
    return Case("steps", queue, (Load(stack, rtt),), 50.0, 60, bench=True, then=then, bursts=bursts)


#: Scenario 2; with bursts only the smallest step, which the tests show.
STEPS = tuple(
    step(stack, rtt, queue, then, bursts=bursts)
    for bursts in (False, True)
    for queue in ("fq_codel", "dualpi2")
    for stack in ("prague", "cubic")
    for rtt in (20.0, 80.0)
    for then in STEPS_TO[: 1 if bursts else None]
)


def slots(name: str, seed: int, seconds: int) -> str:
    """Netem's slots as opportunities of a recorded trace, which are at whole ms."""
    draw = random.Random(f"{name} {seed}")  # noqa: S311  no secret
    now, last, found = 0.0, 0, list[str]()
    while last < 1000 * (seconds + 1):
        now += draw.uniform(*SLOT_MS)
        at = int(now) + 1
        found.append(f"+{at - last}x{SLOT_PACKETS}")
        last = at
    return " ".join(found)
