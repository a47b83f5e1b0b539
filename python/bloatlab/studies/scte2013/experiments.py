"""The study as declared grids: what is varied, over which values, and the network of each place.

`ALWAYS` are the grids that the figures and claims stand on; `PLAIN` are asked for by name and have no published values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.scenario import Scenario
from bloatlab.studies.scte2013.build import Case, build
from bloatlab.studies.scte2013.parameters import OURS, UNKNOWNS
from bloatlab.studies.scte2013.queues import lred
from bloatlab.sweep import Grid

#: The 20 buffer sizes of each series in ms of Tmax (SCTE 2013 varies "ONLY buffer size", 20 times; which sizes it does not
#: say, but for 200 and 960).
BUFFERS_MS = (20, 30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 600, 700, 800, 900, 960, 1000)

#: The bandwidth-delay product of the baseline in ms of Tmax: its round trip.
BDP_MS = 50

#: The series of the figures and the number of sessions that the text compares.
SERIES: Mapping[str, Case] = {
    "fig2": Case("droptail"),
    "fig2-n1": Case("droptail", sessions=1),
    "fig2-n5": Case("droptail", sessions=5),
    "fig2-n50": Case("droptail", sessions=50),
    "fig3": Case("droptail", tmax_mbit=1.0),
    "fig5": Case("sfq"),
    "fig7": Case("sfq_collision"),
    "fig11": Case("lred200"),
    "fig13": Case("lred50", tmax_mbit=1.0),
    "fig14": Case("sfq_lred700"),
    "fig16": Case("sfq_lred200"),
}

#: The series of drop-tail by the number of sessions.
SESSIONS = {1: "fig2-n1", 5: "fig2-n5", 10: "fig2", 50: "fig2-n50"}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A grid: its name, what it asks, its axes, the measures that its table shows, and the network of a place.

    A place without a case is left out.
    """

    name: str
    what: str
    axes: Mapping[str, Sequence[Any]]
    columns: Sequence[str]
    case: Callable[..., Case | None] = Case
    #: Whether the names of its scenarios have its own.
    named: bool = False

    def grid(self, seeds: Sequence[int], seconds: int | None = None) -> Grid:
        """Every place with every seed; `seconds` shortens the runs."""

        def scenario(*, seed: int, **at: Any) -> Scenario:
            case = self.case(**at) or Case()  # a place without a case is left out by `keeps`
            name = f"scte2013 {self.name} {key(at)}" if self.named else f"scte2013 {key(at)}"
            return build(case if seconds is None else replace(case, seconds=seconds), seed, name)

        return Grid(self.axes, scenario, seeds, keeps=lambda at: self.case(**at) is not None)

    def places(self) -> list[tuple[Mapping[str, Any], str]]:
        """Its places, each with the key of its runs."""
        return [(at, f"{self.name} {key(at)}") for at in self.grid((1,)).places()]


def key(at: Mapping[str, Any]) -> str:
    """The name of a place in results: its values in the order of the axes."""
    return " ".join(str(value) for value in at.values())


#: The measures that most tables show.
COLUMNS = ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "loss_percent", "cov_session")


# -------------------------------------------------------------------------------------------------- what claims stand on


def _figures(series: str, buffer_ms: int) -> Case:
    return replace(SERIES[series], buffer_ms=buffer_ms)


#: LRED at 1 Mbit/s: targets, and the highest probability.
LOW_MIN_TH_MS = (10, 25, 50, 100)
LOW_P_MAX = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LOW_P_MIN = ("1%", "p_max")


def _lred_low(min_th_ms: int, p_max: float, p_min: str) -> Case:
    low = 0.01 if p_min == "1%" else p_max
    return Case(tmax_mbit=1.0, queue={"lred": {"limit": "120000B", **lred(min_th_ms, low, p_max)}})


#: Round trips of the sessions where the buffer was chosen for 50 ms.
RTTS_MS = (10, 50, 100, 200)

FIGURES = Experiment(
    "figures",
    "latency, throughput and loss against buffer size: Figures 2, 3, 5, 7, 11, 13, 14",
    {"series": tuple(SERIES), "buffer_ms": BUFFERS_MS},
    COLUMNS,
    _figures,
)

ALWAYS: tuple[Experiment, ...] = (
    FIGURES,
    Experiment(
        "lred_low",
        "LRED at 1 Mbit/s, MAXth twice MINth: can it reach less than 80 ms with less than 5 % loss?",
        {"min_th_ms": LOW_MIN_TH_MS, "p_max": LOW_P_MAX, "p_min": LOW_P_MIN},
        COLUMNS,
        _lred_low,
    ),
    Experiment(
        "bloat",
        "session bloat: how many drops control so many sessions",
        {"discipline": ("lred200", "codel", "pie"), "sessions": (1, 2, 5, 10, 20, 50, 100)},
        ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "drops_per_s", "loss_percent", "timeouts"),
    ),
    Experiment(
        "rtt",
        "a buffer chosen for 50 ms, sessions at another round trip",
        {"discipline": ("droptail",), "buffer_ms": (50, 100, 250), "rtt_ms": RTTS_MS},
        ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_share", "loss_percent", "cov_total", "cov_session"),
        lambda discipline, buffer_ms, rtt_ms: Case(discipline, buffer_ms, rtt_ms=(rtt_ms,)),
    ),
)


#: The distributions of Figures 6, 12, 15, 16, and the baseline that is drawn beside them.
CDF_BUFFER_MS = 960
CDF = Experiment(
    "cdf",
    f"latency of all packets with a buffer of {CDF_BUFFER_MS} ms",
    {"series": ("fig2", "fig5", "fig11", "fig14", "fig16"), "buffer_ms": (CDF_BUFFER_MS,)},
    COLUMNS,
    _figures,
)

# ------------------------------------------------------------------------------------------------------- asked for by name


#: The series (and buffer in ms) that a parameter can change; the others are tried on `ELSEWHERE`.
RELEVANT: Mapping[str, Sequence[str]] = {
    "overflow": ("fig5 960", "fig7 960", "fig14 960", "fig16 960"),
    "lred_weight": ("fig11 960", "fig16 960"),
    "fig13_p_max": ("fig13 960",),
}
ELSEWHERE = ("fig2 960", "fig3 200", "fig5 960", "fig11 960", "fig14 960")

#: Every parameter that the paper leaves open with each of its values, ours first.
VALUES = {f"{u.field} {value}": (u.field, value) for u in UNKNOWNS for value in (u.ours, *u.others)}


def _sensitivity(parameter: str, point: str) -> Case | None:
    name, value = VALUES[parameter]
    if point not in RELEVANT.get(name, ELSEWHERE):
        return None
    series, _, buffer_ms = point.partition(" ")
    return replace(SERIES[series], buffer_ms=int(buffer_ms), free=replace(OURS, **{name: value}))


#: What LRED is mapped over: target, rate, sessions, round trip.
TARGETS_MS = (25, 50, 100, 200, 400)
RATES_MBIT = (1.0, 2.0, 5.0, 10.0, 20.0)
MAP_SESSIONS = (1, 5, 10, 50)
MAP_RTTS_MS = (20, 50, 100, 200)


def _sweet_spot(min_th_ms: int, tmax_mbit: float, sessions: int, rtt_ms: int) -> Case:
    return Case(
        tmax_mbit=tmax_mbit, sessions=sessions, rtt_ms=(rtt_ms,), queue={"lred": {"limit": "2s", **lred(min_th_ms)}}
    )


#: Gain of LRED's integral term, per second, and its highest probability (README: "LRED below 100 ms").
INTEGRAL = 0.02
INTEGRAL_P_MAX = 0.5

#: The laws that are asked for a low delay, by a target in ms.
LOW_DELAY: Mapping[str, Callable[[int], Mapping[str, Mapping[str, Any]]]] = {
    "lred": lambda ms: {"lred": lred(ms)},
    "lred_integral": lambda ms: {
        "lred": lred(ms, 0.0, INTEGRAL_P_MAX) | {"max_th": f"{4 * ms}ms", "integral": INTEGRAL}
    },
    "codel": lambda ms: {"codel": {"target": f"{ms}ms", "interval": f"{max(100, 2 * ms)}ms"}},
    "pie": lambda ms: {"pie": {"target": f"{ms}ms"}},
}


def _low_delay(law: str, target_ms: int, tmax_mbit: float, sessions: int) -> Case:
    ((name, params),) = LOW_DELAY[law](target_ms).items()
    return Case(tmax_mbit=tmax_mbit, sessions=sessions, queue={name: {"limit": "1s", **params}})


#: The grids that are asked for by name; `considerations` adds its own.
PLAIN: tuple[Experiment, ...] = (
    Experiment(
        "sensitivity",
        "what the paper does not say, one value at a time (ours first)",
        {"parameter": tuple(VALUES), "point": ("fig2 960", "fig3 200", "fig5 960", "fig7 960", "fig11 960", "fig13 960", "fig14 960", "fig16 960")},
        ("gamer_mean_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "loss_percent", "drop_percent", "timeouts"),
        _sensitivity,
    ),
    Experiment(
        "downstream",
        "the same buffer in the CMTS: files and messages come from the net",
        {"discipline": ("droptail", "lred200", "sfq"), "direction": ("up", "down"), "buffer_ms": (50, 200, 960)},
        COLUMNS,
    ),
    Experiment(
        "sweetspot",
        "LRED's sweet spot: latency achieved in the queue and loss, over target, Tmax, sessions and round trip (MAXth 2 MINth, 1 to 5 %)",
        {"min_th_ms": TARGETS_MS, "tmax_mbit": RATES_MBIT, "sessions": MAP_SESSIONS, "rtt_ms": MAP_RTTS_MS},
        ("sojourn_mean_ms", "sojourn_p99_ms", "drop_percent", "rate_share", "cov_session", "timeouts"),
        _sweet_spot,
    ),
    Experiment(
        "low_delay",
        "LRED below 100 ms: as published, with an integral term (ours), and beside CoDel and PIE with the same target",
        {"law": tuple(LOW_DELAY), "target_ms": (20, 50, 100), "tmax_mbit": (1.0, 5.0, 20.0), "sessions": (5, 10, 50)},
        ("sojourn_mean_ms", "sojourn_p99_ms", "gamer_p99_ms", "drop_percent", "rate_share", "timeouts"),
        _low_delay,
    ),
)  # fmt: skip
