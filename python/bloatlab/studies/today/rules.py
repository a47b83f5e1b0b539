"""The bounds that hold on any equipment: closed forms and identities, since no published values exist.

A packet with an empty path waits for a MAP and two more intervals, 4 to 6 ms with a MAP every 2 ms, and travels for one.

With Low Latency DOCSIS it waits for a proactive grant: 2.025 ms at most, 135 µs of preparation and a frame of 135 µs, under any
load; behind a packet of the call for one more grant.

If Prague shares that queue, the ramp of marks gives no bound, since the senders decide how far they overshoot it. The queue's buffer does.
It accepts a packet while fewer than 38 kB wait (40 kB, less the largest frame). They leave at 230/256 of the line while others want the
rest, in 67.7 ms. New packets must be requested, too: up to an interval until a burst carries the request, 1.62 ms of MinReqGntDelay, an
interval until a MAP begins, and one for the place in it. The game is never sent to the other queue: its packet of 156 bytes scores
0.32 ms at most, for which queue protection requires 87 ms of delay, and the buffer holds 61.

A modem of 2012 holds 417 packets of 1500 bytes, a second at 5 Mbit/s, and 32 more in its transmit queue.

Every link's books balance: packets at the start and arrivals equal packets that left, were dropped or remain. No upload is faster than
the line: 5 Mbit/s, and the 10 MB of the burst.

A consideration has the bounds of its own rate: at 1 Mbit/s a full modem takes 5.4 s, at 1.25 Mbit/s 4.3 s, a proactive grant follows each
8.1 ms, and a line of 5 and 1.25 Mbit/s in turn carries no more than their mean over time.

Behind CAKE six uploads have a turn each. A round of six full packets takes 15 ms, so that with two packets under way and a round trip below 30 ms
none misses a turn, and five LEDBAT uploads have five sixths. They cannot have more: LEDBAT grows no faster than TCP and halves at a loss as Reno does
(RFC 6817 §2.4.2, §2.5), so that it misses no fewer turns than the sixth. The number of missed turns has no closed form, as each loss at so small a window costs some.

Behind a router that shapes to 95 % of the line no packet waits or is dropped in the modem. Behind CAKE a sparse packet waits for
one packet of each other sparse flow, and for the one in transmission.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bloatlab.studies.claims import NOT_EXPLAINED, Runs
from bloatlab.studies.scorecard import Band, Cell, Origin, Verdict
from bloatlab.studies.today.cases import (
    LOW_MBIT,
    MTU_MS,
    SECONDS,
    SLOW_MBIT,
    WARM_UP,
    Case,
    Consideration,
    Line,
    Stack,
    cases,
)
from bloatlab.tables import Spread, counted, spread
from bloatlab.workloads.cable_loads import LOADED

#: Least and largest one-way delay of a lone packet through the modem of 2012: two to three MAP intervals, and 1 ms. Unit: ms.
IDLE = Band(5.0, 7.05)
#: A modem of DOCSIS 3.1 with proactive grants: interval, preparation and frame; at 1 Mbit/s the interval of 60 frames. Unit: ms.
GRANT, PREPARATION, FRAME, SLOW_GRANT = 2.025, 0.135, 0.135, 8.1
LEAST_31 = 1.0 + PREPARATION + FRAME
#: The delay from a request to its grant: MinReqGntDelay and a MAP interval. Unit: ms.
LOOP = 1.62 + GRANT
#: The full Low Latency queue at its share of 1 Mbit/s. Unit: ms.
L_BUFFER = (40_000 - 2_000) * 8e-3 / (230 / 256)
#: 417 packets and the transmit queue's 32 at 5 Mbit/s, without the delay of a lone packet. Unit: ms.
QUEUED = (417 + 32) * MTU_MS
FULL = QUEUED + IDLE.high
#: Sustained rate, and 10 MB of burst over the measured time, Mbit/s; else 16 kB over the 30 s of a quick look.
LINE = 5.0 + 80.0 / (SECONDS - WARM_UP)
SMALL_BURST = 0.128 / 30.0

Cases = Callable[[Case], bool]


@dataclass(frozen=True, slots=True)
class Law:
    """A bound that holds in every run of some cases; `worst` picks the judged run."""

    name: str
    says: str
    measure: str
    unit: str
    band: Band
    of: Cases
    worst: Callable[[Sequence[float]], float] = max


def _idle(case: Case) -> bool:
    return case.line is Line.MODEM_2012 and case.number == 1


def _at(line: Line, what: Consideration | None, *, prague: bool | None = None) -> Cases:
    """The cases of a line at the rate of a consideration (None: at 5 Mbit/s), with or without Prague."""
    rates = (Consideration.LOW_RATE, Consideration.RATE)

    def of(case: Case) -> bool:
        at = case.what is what if what else case.what not in rates
        return at and case.line is line and prague in (None, case.stack is Stack.PRAGUE)

    return of


def _classic(case: Case) -> bool:
    """Low Latency DOCSIS with only the game and the call in its queue."""
    return case.line is Line.LLD and case.stack is not Stack.PRAGUE


_LOW, _RATE = Consideration.LOW_RATE, Consideration.RATE
_SLOW_LINE = 0.4 * 5.0 + 0.6 * SLOW_MBIT  # slow in 30 of 50 s
_TWO_GRANTS, _TWO_SLOW_GRANTS = LEAST_31 + 2 * GRANT, LEAST_31 + 2 * SLOW_GRANT


def _most(value: float) -> Band:
    return Band(0.0, value)


LAWS: tuple[Law, ...] = (
    Law("idle, least", "4 ms for a MAP and two intervals, 1 ms of travel", "game_min_ms", "ms", Band(5.0, 5.1), _idle),
    Law("idle, most", "6 ms and 1 ms", "game_p99_ms", "ms", IDLE, _idle),
    Law("Low Latency, least", "a grant at once: preparation, frame, 1 ms of travel", "game_min_ms", "ms",
        Band(LEAST_31, LEAST_31 + 0.05), _classic, min),
    Law("Low Latency, most", "two grants, under every load", "game_max_ms", "ms", _most(_TWO_GRANTS),
        lambda case: _classic(case) and case.what is not _LOW),
    Law("Low Latency, 1 Mbit/s", "two grants of 8.1 ms", "game_max_ms", "ms", _most(_TWO_SLOW_GRANTS), _at(Line.LLD, _LOW, prague=False)),
    Law("Low Latency, shared", "two grants, the request loop and a full buffer", "game_max_ms", "ms",
        _most(_TWO_GRANTS + LOOP + L_BUFFER / 5.0), _at(Line.LLD, None, prague=True)),
    Law("Low Latency, shared and slow", "the same at 1.25 Mbit/s", "game_max_ms", "ms",
        _most(_TWO_GRANTS + LOOP + L_BUFFER / SLOW_MBIT), _at(Line.LLD, _RATE, prague=True)),
    Law("Low Latency, shared, 1 Mbit/s", "the same with grants of 8.1 ms", "game_max_ms", "ms",
        _most(_TWO_SLOW_GRANTS + LOOP + L_BUFFER / LOW_MBIT), _at(Line.LLD, _LOW, prague=True)),
    Law("a full modem", "449 packets at 5 Mbit/s", "game_max_ms", "ms", _most(FULL), _at(Line.MODEM_2012, None)),
    Law("a full slow modem", "449 packets at 1.25 Mbit/s", "game_max_ms", "ms", _most(QUEUED * 5.0 / SLOW_MBIT + IDLE.high),
        _at(Line.MODEM_2012, _RATE)),
    Law("a full modem of 1 Mbit/s", "449 packets", "game_max_ms", "ms", _most(QUEUED * 5.0 / LOW_MBIT + IDLE.high), _at(Line.MODEM_2012, _LOW)),
    Law("books", "packets that no link accounts for", "unaccounted", "packets", _most(0.0), lambda _: True),
    Law("the line", "5 Mbit/s and the burst", "up_mbit", "Mbit/s", _most(LINE), lambda _: True),
    Law("the line of 1 Mbit/s", "its rate and a burst of 16 kB", "up_mbit", "Mbit/s", _most(LOW_MBIT + SMALL_BURST), lambda case: case.what is _LOW),
    Law("the changing line", "20 s of 5 and 30 s of 1.25 Mbit/s, and the burst", "up_mbit", "Mbit/s", _most(_SLOW_LINE + SMALL_BURST),
        lambda case: case.what is _RATE),
    # six uploads have a queue each; and a packet of each upload in 16 MB
    Law("LEDBAT behind CAKE", "no more than five of six flows", "background_share", "", _most(5.0 / 6.0 + 5.0 * 1500.0 / 16e6),
        lambda case: case.line is Line.CAKE and case.what is Consideration.LEDBAT),
    Law("behind a router", "drops in the modem", "modem_dropped", "packets", _most(0.0),
        lambda case: case.line in (Line.FQ_CODEL, Line.CAKE) and case.what is not _RATE),
)  # fmt: skip


def cells(runs: Runs) -> list[Cell]:
    """Every law, judged by its worst run."""
    return [cell for law in LAWS if (cell := _cell(law, runs)) is not None]


def _cell(law: Law, runs: Runs) -> Cell | None:
    found = [
        (value, case.key)
        for case in cases()
        if law.of(case)
        for row in runs.get(case.key, ())
        if not math.isnan(value := row[law.measure])
    ]
    if not found:
        return None
    values = [value for value, _ in found]
    worst = law.worst(values)
    agrees = law.band.holds(worst)
    where = next(key for value, key in found if value == worst)
    reason = f"the worst of {counted(len(values), 'run')}" if agrees else f"{where}: {NOT_EXPLAINED}"
    return Cell(law.name, law.says, law.unit, (), (law.band.high,), law.band.words(), worst, min(values), max(values), (law.band,),
                Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason, agrees, where="closed form", origin=Origin.TEXTBOOK)  # fmt: skip


def over_loads(runs: Runs, line: Line, stack: Stack, measure: str) -> Spread | None:
    """The median over the loads of each seed, over seeds; None if no load was run."""
    of = [runs[key] for n in LOADED if (key := Case(line, stack, n).key) in runs]
    medians = [spread([rows[seed][measure] for rows in of]).median for seed in range(min(map(len, of), default=0))]
    return spread(medians) if medians else None
