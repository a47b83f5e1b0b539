"""The values and names used by the expressions in `claims.toml`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bloatlab.studies import claims
from bloatlab.studies.claims import Claim, Runs, each, median_of, words
from bloatlab.studies.declared import Declared, claim, evaluate
from bloatlab.studies.published import toml
from bloatlab.studies.scorecard import Band, Origin
from bloatlab.studies.scte2013 import curves
from bloatlab.studies.scte2013 import experiments as e
from bloatlab.studies.scte2013 import readings as r
from bloatlab.studies.scte2013.theory import peak_rate_mbit
from bloatlab.tables import Spread, number

DECLARED = Declared("scte2013")

#: The smallest buffer, in ms, to which claims about LRED with a MINth of 200 ms apply: 1.2 times MINth.
ABOVE_200_MS = 240
#: The smallest buffer, in ms, to which claims about LRED with a MINth of 700 ms apply: 1.2 times MINth.
ABOVE_700_MS = 840

#: An LRED setting: the gamer's mean latency in ms, the share of packets dropped in percent, and the setting's label.
Setting = tuple[float, float, str]


def _cheap_settings(runs: Runs) -> list[Setting] | None:
    """Returns the LRED settings that drop less than 5 % at 1 Mbit/s, the one with the lowest latency first."""
    found: list[Setting] = []
    for min_th, p_max, p_min in itertools.product(*e.ASKED["lred_low"].axes.values()):
        run = f"lred_low {min_th} {p_max} {p_min}"
        latency, loss = median_of(runs, run, "gamer_mean_ms"), median_of(runs, run, "drop_percent")
        if latency is None or loss is None:
            return None
        found.append((latency, loss, f"MINth {min_th} ms, Pmax {p_max:.0%}, Pmin {p_min}"))
    return sorted(setting for setting in found if setting[1] < 5.0)


def _cheapest(settings: Sequence[Setting]) -> str:
    if not settings:
        return "no setting loses less than 5 %"
    latency, loss, text = settings[0]
    return f"{number(latency, 0)} ms with {number(loss, 1)} % ({text})"


def drops_ratio(discipline: str) -> Callable[[Runs], float | None]:
    """Returns a function that divides the drops per second with fifty sessions by those with one session.

    The function returns None if a run is missing, or if the run with one session has no drops.
    """

    def value(runs: Runs) -> float | None:
        one, fifty = (median_of(runs, f"bloat {discipline} {n}", "drops_per_s") for n in (1, 50))
        return fifty / one if one and fifty is not None else None

    return value


def _late_drops(runs: Runs) -> tuple[float, int] | None:
    """Returns the number of the gamer's packets that SFQ + LRED dropped after 10 s, and the number of cases.

    There is a case for each MINth and each buffer size larger than 1.2 times MINth. Drops are summed over cases and
    seeds.
    """
    keys = [r.place("fig14", size) for size in e.BUFFERS_MS if size > ABOVE_700_MS]
    keys += [r.place("fig16", size) for size in e.BUFFERS_MS if size > ABOVE_200_MS]
    if not all(runs.get(key) for key in keys):
        return None
    return sum(seed["gamer_drops_late"] for key in keys for seed in runs[key]), len(keys)


def _alike(knees: Sequence[Spread]) -> bool:
    medians = [k.median for k in knees]
    return max(medians) <= 2.0 * min(medians) and all(map(r.knee("fig2").band.holds, medians))


def _by_sessions(knees: Sequence[Spread]) -> str:
    return "; ".join(f"{n}: {words(k, 'ms', 0)}" for n, k in zip(e.SESSIONS, knees, strict=True))


def _telling(value: float, limit: float, digits: int) -> str:
    """Formats a value with enough digits to show on which side of the limit it lies."""
    return number(value, claims.telling(value, Band(0.0, limit), digits))


#: The cells of Table 1: the buffer in kB and the round trip in ms.
_TABLE_1 = list(itertools.product(*(e.ASKED["table1"].axes[axis] for axis in ("buffer_kb", "rtt_ms"))))


def _off(rates: Sequence[float]) -> float:
    """Returns the maximum relative difference between our rates and those printed in Table 1."""
    return max(abs(rate / peak_rate_mbit(*cell) - 1.0) for rate, cell in zip(rates, _TABLE_1, strict=True))


#: The names used by the expressions in claims and statements.
NAMES: Mapping[str, Any] = {
    "GAMER": "gamer_mean_ms", "FTP": "ftp_mean_ms", "BDP_MS": e.BDP_MS, "ABOVE_200_MS": ABOVE_200_MS, "inf": math.inf,
    "PLATEAU": Band(190.0, 230.0), "FTP_700": Band(450.0, 600.0), "FTP_200": Band(150.0, 260.0),
    "GAMER_P99": Band(-math.inf, 110.0), "TENTH": Band(0.9, 1.1), "FIFTY": Band(25.0, 100.0),
    "Reading": r.Reading, "below_bdp": r.below_bdp, "extreme": r.extreme, "flat": r.flat, "knee": r.knee, "point": r.point,
    "r_squared": r.r_squared, "ratio": r.ratio, "read": r.read, "slope": r.slope, "worst_difference": r.worst_difference,
    "KNEES": [r.knee(series).value for series in e.SESSIONS.values()], "alike": _alike, "by_sessions": _by_sessions,
    "cheap_settings": _cheap_settings, "cheapest": _cheapest, "check_curves": lambda _: curves.check(), "drops_ratio": drops_ratio,
    "each": each, "late_drops": _late_drops, "off_table_1": _off, "telling": _telling, "words": words,
    "table_1": lambda limit: [f"table1 {limit} {kb} {rtt}" for kb, rtt in _TABLE_1],
}  # fmt: skip


def _in_range(ident: str, table: Mapping[str, Any]) -> Claim:
    """Makes a claim about named numbers: it holds if each lies in its range."""
    readings = {name: evaluate(of, NAMES) for name, of in table["readings"].items()}

    def holds(*ours: Spread) -> bool:
        return all(reading.band.holds(of.median) for reading, of in zip(readings.values(), ours, strict=True))

    def text(*ours: Spread) -> str:
        named = zip(readings.items(), ours, strict=True)
        return "; ".join(f"{name} {reading.words(of)}".lstrip() for (name, reading), of in named)

    values = [reading.value for reading in readings.values()]
    origin = Origin(table.get("origin", "paper"))
    return Claim(ident, table["where"], table["says"], table["published"], values, holds, text, origin)


CLAIMS = [
    _in_range(ident, table) if "readings" in table else claim(ident, table, NAMES)
    for ident, table in toml("scte2013", "claims.toml").items()
]
