"""The bounds that check the runs. They are closed forms and identities, because no published values exist.

`rules.md` derives the bounds. `laws.toml` contains one table per bound: the cases in which it holds, a measure, its
unit and its accepted values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bloatlab.studies.claims import Runs
from bloatlab.studies.declared import evaluate
from bloatlab.studies.published import toml
from bloatlab.studies.scorecard import NOT_EXPLAINED, Band, Cell, Origin, Verdict
from bloatlab.studies.today.cases import (
    LOW_MBIT,
    MTU_MS,
    SECONDS,
    SLOW_MBIT,
    WARM_UP,
    Case,
    Consideration,
    Equipment,
    Stack,
    cases,
)
from bloatlab.tables import Spread, counted, spread
from bloatlab.workloads.cable_loads import LOADED

#: Minimum and maximum one-way delay of a lone packet through the 2012 modem, in ms. The packet waits for two to three
#: MAP intervals and travels for 1 ms.
IDLE = Band(5.0, 7.05)
#: Times of a DOCSIS 3.1 modem with proactive grants, in ms: the interval between grants, the time to prepare a frame,
#: the duration of a frame, and the interval between grants on a 1 Mbit/s line (60 frames).
GRANT, PREPARATION, FRAME, SLOW_GRANT = 2.025, 0.135, 0.135, 8.1
#: The minimum delay of a packet through a DOCSIS 3.1 modem: preparation, its frame, and 1 ms of travel. Unit: ms.
LEAST_31 = 1.0 + PREPARATION + FRAME
#: The delay from a request to its grant, in ms: MinReqGntDelay plus one MAP interval.
LOOP = 1.62 + GRANT
#: The time in ms to drain a full Low Latency queue (40 kB, less the largest frame) when the queue gets 230/256 of a
#: 1 Mbit/s line.
L_BUFFER = (40_000 - 2_000) * 8e-3 / (230 / 256)
#: Times in ms. `QUEUED` is the time to send 417 queued packets and the 32 packets in the transmit queue at 5 Mbit/s.
#: `FULL` is `QUEUED` plus the maximum delay of a lone packet.
QUEUED = (417 + 32) * MTU_MS
FULL = QUEUED + IDLE.high
#: Rates in Mbit/s. `LINE` is the mean rate over the measured time if a burst of 10 MB is added to the sustained rate.
#: `SMALL_BURST` is what a burst of 16 kB adds to the mean rate over 30 s.
LINE = 5.0 + 80.0 / (SECONDS - WARM_UP)
SMALL_BURST = 0.128 / 30.0


@dataclass(frozen=True, slots=True)
class Law:
    """A bound that should hold in every run of the cases for which `of` returns true.

    One value of all these runs is judged: the value farthest outside the band. If all are inside, it is the largest or
    the smallest, as `worst` (`max` or `min`) says.
    """

    name: str
    says: str
    measure: str
    unit: str
    band: Band
    of: Callable[[Case], bool]
    worst: Callable[[Sequence[float]], float] = max


_SLOW_LINE = 0.4 * 5.0 + 0.6 * SLOW_MBIT  # the mean rate: 5 Mbit/s for 20 of 50 s, and the slow rate for 30 s

#: The names used by the expressions in `laws.toml`.
_NAMES: Mapping[str, Any] = {
    **Equipment.__members__, **Stack.__members__, **Consideration.__members__, "most": lambda value: Band(0.0, value),
    "FULL": FULL, "IDLE": IDLE, "LEAST_31": LEAST_31, "LINE": LINE, "LOOP": LOOP, "LOW_MBIT": LOW_MBIT, "L_BUFFER": L_BUFFER,
    "QUEUED": QUEUED, "SLOW_LINE": _SLOW_LINE, "SLOW_MBIT": SLOW_MBIT, "SMALL_BURST": SMALL_BURST,
    "TWO_GRANTS": LEAST_31 + 2 * GRANT, "TWO_SLOW_GRANTS": LEAST_31 + 2 * SLOW_GRANT,
}  # fmt: skip


def _law(table: Mapping[str, Any]) -> Law:
    band, rates = table["band"], (Consideration.LOW_RATE, Consideration.RATE)

    def of(case: Case) -> bool:
        names = {
            "line": case.line,
            "stack": case.stack,
            "what": case.what,
            "idle": case.line is Equipment.MODEM_2012 and case.number == 1,
            "at_5_mbit": case.what not in rates,
            # with Low Latency DOCSIS and a TCP other than Prague, only the game and the call use the low-latency queue
            "classic": case.line is Equipment.LLD and case.stack is not Stack.PRAGUE,
        }
        return bool(evaluate(table["of"], {**_NAMES, **names}))

    accepted = evaluate(band, _NAMES) if isinstance(band, str) else Band(*band)
    return Law(
        table["name"], table["says"], table["measure"], table["unit"], accepted, of, min if "worst" in table else max
    )


LAWS = tuple(map(_law, toml("today", "laws.toml")["laws"]))


def cells(runs: Runs) -> list[Cell]:
    """Returns a cell for every bound that applies to at least one run. The worst of these runs decides the verdict."""
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
    worst = max(values, key=law.band.outside)
    worst = law.worst(values) if law.band.holds(worst) else worst
    agrees = law.band.holds(worst)
    where = next(key for value, key in found if value == worst)
    reason = f"the worst of {counted(len(values), 'run')}" if agrees else f"{where}: {NOT_EXPLAINED}"
    return Cell(law.name, law.says, law.unit, (), (law.band.high,), law.band.words(), worst, min(values), max(values), (law.band,),
                Verdict.WITHIN if agrees else Verdict.OUTSIDE, reason, agrees, where="closed form", origin=Origin.TEXTBOOK)  # fmt: skip


def over_loads(runs: Runs, line: Equipment, stack: Stack, measure: str) -> Spread | None:
    """Takes the median over loads 2 to 9 for each seed, and returns the spread of these medians over the seeds.

    Returns None if none of these loads was run.
    """
    of = [runs[key] for n in LOADED if (key := Case(line, stack, n).key) in runs]
    medians = [spread([rows[seed][measure] for rows in of]).median for seed in range(min(map(len, of), default=0))]
    return spread(medians) if medians else None
