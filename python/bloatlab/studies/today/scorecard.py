"""What must hold whatever the equipment: closed forms and identities, since nothing is published to compare with.

A packet that finds nothing in its way waits for a MAP and two intervals more, 4 to 6 ms with a MAP each 2 ms, and travels for one.

With Low Latency DOCSIS it waits for a proactive grant: 2.025 ms at most, 135 µs of preparation and a frame of 135 µs, whatever else is
under way; behind a packet of the call for one grant more.

Where Prague shares that queue, the ramp of marks bounds nothing: how far senders overshoot it is theirs. The queue's buffer does. It takes
a packet while fewer than 38 kB wait (40 kB, less the largest frame). They leave at 230/256 of the line while others want the rest, in
67.7 ms. What has just come has to be asked for, too: up to an interval until a burst carries the request, 1.62 ms of MinReqGntDelay, an
interval until a MAP begins, and one for the place in it. The game is never sent to the other queue: its packet of 156 bytes scores
0.32 ms at most, for which queue protection wants 87 ms of delay, and the buffer holds 61.

A modem of 2012 holds 417 packets of 1500 bytes, a second at 5 Mbit/s, and 32 more in its transmit queue.

Every link's books balance: what was there and came is what left, was dropped or is still there. No upload is faster than the line: 5
Mbit/s, and the 10 MB of the burst.

A consideration has the bounds of its own rate: at 1 Mbit/s a full modem takes 5.4 s, at 1.25 Mbit/s 4.3 s, a proactive grant comes each
8.1 ms, and a line of 5 and 1.25 Mbit/s in turn carries no more than their mean over time.

Behind CAKE six uploads have a turn each. A round of six full packets takes 15 ms, so that with two packets under way and a round trip below 30 ms
none misses a turn, and five LEDBAT uploads have five sixths. They cannot have more: LEDBAT grows no faster than TCP and halves at a loss as Reno does
(RFC 6817 §2.4.2, §2.5), so that it misses no fewer turns than the sixth. How many it misses has no closed form, as each loss at so small a window costs some.

A router that shapes to 95 % of the line leaves nothing to wait or to be dropped in the modem. Behind CAKE a sparse packet waits for
one packet of each other sparse flow, and for the one in transmission.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bloatlab.studies.claims import Runs
from bloatlab.studies.scorecard import Band, Cell, Origin, Verdict, judge
from bloatlab.studies.today.build import MTU_MS, SECONDS, WARM_UP
from bloatlab.studies.today.cases import Case, Line, Stack, cases
from bloatlab.studies.today.considerations import LOW_MBIT, SLOW_MBIT, Consideration
from bloatlab.tables import Spread, counted, spread
from bloatlab.workloads.cable_loads import LOADED

#: Least and largest one-way delay of a lone packet through the modem of 2012: two to three MAP intervals, and 1 ms. Unit: ms.
IDLE = Band(5.0, 7.05)
#: A modem of DOCSIS 3.1 with proactive grants: its interval, preparation and frame. Unit: ms.
GRANT, PREPARATION, FRAME = 2.025, 0.135, 0.135
#: MinReqGntDelay and a MAP interval: what is requested is granted within them. Unit: ms.
LOOP = 1.62 + GRANT
LEAST_31 = 1.0 + PREPARATION + FRAME
GRANTED = LEAST_31 + 2 * GRANT
#: What may wait in the Low Latency queue at its share of 1 Mbit/s. Unit: ms.
L_BUFFER = (40_000 - 2_000) * 8e-3 / (230 / 256)
#: 417 packets and the transmit queue's 32 at 5 Mbit/s, and what a lone packet takes. Unit: ms.
FULL = (417 + 32) * MTU_MS + IDLE.high
#: The same at the slow half of a rate that changes, and at 1 Mbit/s. Unit: ms.
FULL_SLOW = (417 + 32) * MTU_MS * 5.0 / SLOW_MBIT + IDLE.high
FULL_LOW = (417 + 32) * MTU_MS * 5.0 / LOW_MBIT + IDLE.high
#: Two proactive grants of 8.1 ms (60 frames of 0.135 ms). Unit: ms.
GRANTED_LOW = LEAST_31 + 2 * 8.1
#: Sustained rate, and 10 MB of burst over what is measured, Mbit/s.
LINE = 5.0 + 80.0 / (SECONDS - WARM_UP)
#: Without the 10 MB: 16 kB, over the 30 s of a quick look. A line that changes is slow in 30 of 50 s.
SMALL_BURST = 0.128 / 30.0
LINE_LOW = LOW_MBIT + SMALL_BURST
LINE_CHANGING = 0.4 * 5.0 + 0.6 * SLOW_MBIT + SMALL_BURST
#: Five of six flows, and a packet for each of them in 16 MB.
LEDBAT_FAIR = Band(0.0, 5.0 / 6.0 + 5.0 * 1500.0 / 16e6)


@dataclass(frozen=True, slots=True)
class Law:
    """Something that must hold of every run of some cases; `worst` picks what is judged."""

    name: str
    says: str
    measure: str
    unit: str
    band: Band
    worst: Callable[[Sequence[float]], float]
    of: Callable[[Case], bool]


def _behind_router(case: Case) -> bool:
    """A router whose rate is below the modem's throughout."""
    return case.line in (Line.FQ_CODEL, Line.CAKE) and case.what is not Consideration.RATE


def _idle(case: Case) -> bool:
    return case.line is Line.MODEM_2012 and case.number == 1


def _at(line: Line, what: Consideration | None) -> Callable[[Case], bool]:
    """A line at the rate of a consideration; None: at 5 Mbit/s."""
    own = (Consideration.LOW_RATE, Consideration.RATE)
    return lambda case: case.line is line and (case.what is what if what else case.what not in own)


def _full(what: Consideration | None) -> Callable[[Case], bool]:
    """The modem of 2012 at the rate of a consideration; None: at 5 Mbit/s."""
    return _at(Line.MODEM_2012, what)


def _shared(what: Consideration | None) -> Callable[[Case], bool]:
    """Low Latency DOCSIS with Prague in the game's queue."""
    at = _at(Line.LLD, what)
    return lambda case: at(case) and case.stack is Stack.PRAGUE


def _classic(case: Case) -> bool:
    """Low Latency DOCSIS, with nothing but the game and the call in its queue."""
    return case.line is Line.LLD and case.stack is not Stack.PRAGUE


def _isolated(case: Case) -> bool:
    """Six uploads, a queue each: no two in one."""
    return case.line is Line.CAKE and case.what is Consideration.LEDBAT


LAWS: tuple[Law, ...] = (
    Law("idle, least", "4 ms for a MAP and two intervals, 1 ms of travel", "game_min_ms", "ms", Band(5.0, 5.1), max, _idle),
    Law("idle, most", "6 ms and 1 ms", "game_p99_ms", "ms", IDLE, max, _idle),
    Law("Low Latency, least", "a grant at once: preparation, frame, 1 ms of travel", "game_min_ms", "ms",
        Band(LEAST_31, LEAST_31 + 0.05), min, _classic),
    Law("Low Latency, most", "two grants, under every load", "game_max_ms", "ms", Band(0.0, GRANTED), max,
        lambda case: _classic(case) and case.what is not Consideration.LOW_RATE),
    Law("Low Latency, 1 Mbit/s", "two grants of 8.1 ms", "game_max_ms", "ms", Band(0.0, GRANTED_LOW), max,
        lambda case: _classic(case) and case.what is Consideration.LOW_RATE),
    Law("Low Latency, shared", "two grants, the request loop and a full buffer", "game_max_ms", "ms",
        Band(0.0, GRANTED + LOOP + L_BUFFER / 5.0), max, _shared(None)),
    Law("Low Latency, shared and slow", "the same at 1.25 Mbit/s", "game_max_ms", "ms",
        Band(0.0, GRANTED + LOOP + L_BUFFER / SLOW_MBIT), max, _shared(Consideration.RATE)),
    Law("Low Latency, shared, 1 Mbit/s", "the same with grants of 8.1 ms", "game_max_ms", "ms",
        Band(0.0, GRANTED_LOW + LOOP + L_BUFFER / LOW_MBIT), max, _shared(Consideration.LOW_RATE)),
    Law("a full modem", "449 packets at 5 Mbit/s", "game_max_ms", "ms", Band(0.0, FULL), max, _full(None)),
    Law("a full slow modem", "449 packets at 1.25 Mbit/s", "game_max_ms", "ms", Band(0.0, FULL_SLOW), max, _full(Consideration.RATE)),
    Law("a full modem of 1 Mbit/s", "449 packets", "game_max_ms", "ms", Band(0.0, FULL_LOW), max, _full(Consideration.LOW_RATE)),
    Law("books", "packets that no link accounts for", "unaccounted", "packets", Band(0.0, 0.0), max, lambda _: True),
    Law("the line", "5 Mbit/s and the burst", "up_mbit", "Mbit/s", Band(0.0, LINE), max, lambda _: True),
    Law("the line of 1 Mbit/s", "its rate and a burst of 16 kB", "up_mbit", "Mbit/s", Band(0.0, LINE_LOW), max,
        lambda case: case.what is Consideration.LOW_RATE),
    Law("the changing line", "20 s of 5 and 30 s of 1.25 Mbit/s, and the burst", "up_mbit", "Mbit/s", Band(0.0, LINE_CHANGING), max,
        lambda case: case.what is Consideration.RATE),
    Law("LEDBAT behind CAKE", "no more than five of six flows", "background_share", "", LEDBAT_FAIR, max, _isolated),
    Law("behind a router", "drops in the modem", "modem_dropped", "packets", Band(0.0, 0.0), max, _behind_router),
)  # fmt: skip


def cells(runs: Runs) -> list[Cell]:
    """Every law, judged by its worst run."""
    return [cell for law in LAWS if (cell := _cell(law, runs)) is not None]


def _cell(law: Law, runs: Runs) -> Cell | None:
    found = [
        (row[law.measure], case.key)
        for case in cases()
        if law.of(case)
        for row in runs.get(case.key, ())
        if row[law.measure] == row[law.measure]  # NaN is none
    ]
    if not found:
        return None
    values = [value for value, _ in found]
    worst = law.worst(values)
    finding = judge([law.band.high], [law.band], Spread(worst, min(values), max(values)), interval_rule=False)
    verdict = Verdict.WITHIN if finding.agrees else Verdict.OUTSIDE
    where = next(key for value, key in found if value == worst)
    reason = f"the worst of {counted(len(values), 'run')}" if finding.agrees else f"{where}: not explained"
    return Cell(law.name, law.says, law.unit, (), (law.band.high,), law.band.words(), worst, min(values), max(values),
                (law.band,), verdict, reason, finding.agrees, where="closed form", origin=Origin.TEXTBOOK)  # fmt: skip


def over_loads(runs: Runs, line: Line, stack: Stack, measure: str) -> Spread | None:
    """The median over the loads of each seed, over seeds; None when a load was not run."""
    of = [runs.get(Case(line, stack, n).key, ()) for n in LOADED if Case(line, stack, n).key in runs]
    if not of:
        return None
    medians = [spread([rows[seed][measure] for rows in of]).median for seed in range(min(map(len, of)))]
    return spread(medians) if medians else None
