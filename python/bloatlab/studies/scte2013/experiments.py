"""The study as grids, declared in `experiments.toml`, and the network of each grid point.

`ALWAYS` contains the grids for figures and claims, and `CDF` the grid for distributions, both with all seeds. `TEXT`
also always runs, with three seeds: the grids for sentences that no figure shows, and for `rules.EXPLANATIONS`. The
others run on request and have no published values.

The group `considerations` contains experiments on the research that ARRIS 2013 names, without numbers, in its section
"Considerations For All Bufferbloat Mitigation Schemes". There, all disciplines have the same memory, 500 ms of Tmax
(312.5 kB at 5 Mbit/s), except `droptail_bdp`, which has the 50 ms that Buffer Control would choose, and `cbq`, whose
three classes have 60 packets each. The other parameters of the disciplines are in `build.DISCIPLINES`, and are not
fitted to the task. Two experiments are not in the paper's list: adaptive-bitrate video (mentioned under short-lived
flows) and a BitTorrent swarm (under LEDBAT).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.scenario import AppDict, Scenario
from bloatlab.studies.published import toml
from bloatlab.studies.scte2013.build import COLLISION_DSCP, OURS, UNKNOWNS, Case, buffer_bytes, build, lred
from bloatlab.studies.scte2013.measure import HALF_PERIOD_S, PEAK_MBIT, SUSTAINED_MBIT
from bloatlab.studies.scte2013.theory import peak_rate_mbit
from bloatlab.sweep import Grid
from bloatlab.workloads.build import ns, pareto_mean

#: The 20 buffer sizes of each series in ms of Tmax. ARRIS 2013 varies "ONLY buffer size", 20 times, but states only two
#: of the sizes, 200 and 960.
BUFFERS_MS = (20, 30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 400, 500, 600, 700, 800, 900, 960, 1000)

#: The baseline's bandwidth-delay product, in ms at Tmax; it therefore equals the baseline's round trip.
BDP_MS = 50

#: The series in the figures, and drop-tail series with the other numbers of sessions compared in the text.
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

#: The drop-tail series, by number of sessions.
SESSIONS = {1: "fig2-n1", 5: "fig2-n5", 10: "fig2", 50: "fig2-n50"}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A grid: its name, the question that it answers, its axes, the measures in its table, and how to make its cases.

    `case` makes the case of a grid point; a grid point for which it returns None is left out. If `named` is
    set, the names of the grid's scenarios contain the grid's name.
    """

    name: str
    what: str
    axes: Mapping[str, Sequence[Any]]
    columns: Sequence[str]
    case: Callable[..., Case | None] = Case
    named: bool = False

    def grid(self, seeds: Sequence[int], seconds: int | None = None) -> Grid:
        """Makes the sweep of all grid points with all seeds. `seconds`, if given, replaces the length of the runs."""

        def scenario(*, seed: int, **at: Any) -> Scenario:
            case = self.case(**at) or Case()  # a grid point without a case is left out by `keeps`
            name = f"scte2013 {self.name} {key(at)}" if self.named else f"scte2013 {key(at)}"
            return build(case if seconds is None else replace(case, seconds=seconds), seed, name)

        return Grid(self.axes, scenario, seeds, keeps=lambda at: self.case(**at) is not None)

    def places(self) -> list[tuple[Mapping[str, Any], str]]:
        """Returns the grid points, each with the key of its runs."""
        return [(at, f"{self.name} {key(at)}") for at in self.grid((1,)).places()]


def key(at: Mapping[str, Any]) -> str:
    """Returns the name of a grid point in results: its values in axis order."""
    return " ".join(str(value) for value in at.values())


#: The measures in the tables of experiments without `columns` of their own.
COLUMNS = ("gamer_p50_ms", "gamer_p99_ms", "ftp_mean_ms", "rate_mbit", "loss_percent", "cov_session")


# -------------------------------------------------------------------------------------------------------------- cases


def _figures(series: str, buffer_ms: int) -> Case:
    return replace(SERIES[series], buffer_ms=buffer_ms)


def _lred_low(min_th_ms: int, p_max: float, p_min: str) -> Case:
    low = 0.01 if p_min == "1%" else p_max
    return Case(tmax_mbit=1.0, queue={"lred": {"limit": "120000B", **lred(min_th_ms, low, p_max)}})


#: Round trips of two sessions sharing one buffer, in ms.
TWO_RTTS_MS = (10, 100)

#: The laws that can manage the queues inside a Type A discipline (one queue for each session), by the names that this
#: study gives them.
INSIDE: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "lred200": {"law": {"lred": lred(200)}},
    "lred700": {"law": {"lred": lred(700)}},
    "codel": {"law": {"codel": {}}},
}


def _collision_law(law: str, buffer_ms: int) -> Case:
    queue = {"limit": f"{buffer_bytes(buffer_ms, 5.0)}B", "shared_dscp": [COLLISION_DSCP], **INSIDE[law]}
    return Case("sfq_collision", buffer_ms, queue={"perfect": queue})


#: Tmax in Mbit/s, before and after it falls in the middle of a run.
FALLS_MBIT = (20.0, 5.0)


def _effective_tmax(curve: str, queue: str) -> Case:
    """Returns the case in which Tmax falls while the thresholds of a Figure 10 curve stay as they are.

    The thresholds are 200 and 400 ms. Curve 10a has thresholds in bytes instead: the amounts that the link sends in 200
    and 400 ms at the rate that it has before Tmax falls.
    """
    before, after = FALLS_MBIT
    law = lred(200) | {"curve": curve}
    if curve == "10a":
        law |= {th: f"{buffer_bytes(ms, before)}B" for th, ms in (("min_th", 200), ("max_th", 400))}
    limit = f"{buffer_bytes(960, before)}B"
    spec = {"lred": {"limit": limit, **law}} if queue == "fifo" else {"perfect": {"limit": limit, "law": {"lred": law}}}
    return Case(tmax_mbit=before, sessions=5, queue=spec, steps=lambda length: [(length // 2, after)])


#: The profiles of latency-based WRED. The gamer either has no profile, or has a profile whose thresholds the gamer's
#: packets rarely reach.
WRED_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "all alike": {},
    "gamer first": {
        "profiles": [{"dscp": COLLISION_DSCP, "min_th": "400ms", "max_th": "800ms", "p_min": 0.01, "p_max": 0.05}]
    },
}


def _latency_wred(profile: str) -> Case:
    queue = {"limit": f"{buffer_bytes(960, 5.0)}B", **lred(200), **WRED_PROFILES[profile]}
    return Case("lred200", queue={"lred": queue}, gamer_dscp=COLLISION_DSCP)


def _table_1(limit: str, buffer_kb: int, rtt_ms: int) -> Case:
    """Returns the case for a cell of Table 1, with one session and 1000-byte segments.

    If `limit` is "window", the session's window is `buffer_kb` and the link is too fast to limit it. Otherwise the link
    has the rate printed in Table 1, and its buffer is `buffer_kb`.
    """
    by_window = limit == "window"
    window = {"tcp.study.receive_window": f"{buffer_kb}KB"} if by_window else {}
    return Case(
        tmax_mbit=1000.0 if by_window else peak_rate_mbit(buffer_kb, rtt_ms),
        sessions=1,
        rtt_ms=(rtt_ms,),
        queue={"droptail": {"limit": "10000p" if by_window else f"{buffer_kb}KB"}},
        gamer=False,
        sets={"app.ftp.traffic": {"ftp": {}}, "tcp.study.mss": 1000, **window},
    )


def _overflow(discipline: str, overflow: str, buffer_ms: int) -> Case | None:
    if discipline == "droptail" and overflow != "tail":
        return None
    return Case(discipline, buffer_ms, free=replace(OURS, overflow=overflow))


#: The DSCP of the downloads. Their ACKs carry the same DSCP upstream, where it selects the class for ACKs.
ACK_DSCP = 46


def _acks(discipline: str, buffer_ms: int) -> Case:
    """Returns the case of slow ACKs in ARRIS 2013, Background.

    With drop-tail, an upload fills the buffer of a 2 Mbit/s link, so the ACKs of downloads at 20 Mbit/s wait behind the
    upload's packets. In the paper's buffer of 500 kB, they wait up to 2 s.

    With the discipline `ack_class`, a separate class accelerates the ACKs: the downloads' ACKs have their own queue and
    half of the link, and each class may use the capacity that the other class leaves idle. (Cable modems also drop an
    ACK if a later ACK makes it superfluous. This is not modelled.)
    """
    traffic = {"ftp": {"flows": 4, "direction": "down", "stagger": "100ms"}}
    # two classes of equal weight that lend each other unused capacity: one for ACKs, and one with the buffer for all
    # other packets
    first = {"name": "acks", "match": {"dscp": [ACK_DSCP]}, "share": 0.5, "borrow": True, "limit": "1000p"}
    rest = {"name": "rest", "match": {}, "share": 0.5, "borrow": True, "limit": f"{buffer_bytes(buffer_ms, 2.0)}B"}
    return Case(
        "droptail" if discipline in ("no upload", "ack_class") else discipline,
        buffer_ms,
        tmax_mbit=2.0,
        sessions=0 if discipline == "no upload" else 1,
        queue={"cbq": {"classes": [first, rest]}} if discipline == "ack_class" else None,
        more={
            "download": (0.0, {"from": "user", "to": ["net50"], "tcp": "study", "traffic": traffic, "dscp": ACK_DSCP})
        },
        sets={"link.down.rate": "20mbit", "link.down.queue": {"droptail": {"limit": "250ms"}}},
    )


#: For a parameter that the paper leaves open, the series on which its values are tried, each with a buffer size in ms.
#: Parameters that are not listed here are tried on the series in `ELSEWHERE`.
RELEVANT: Mapping[str, Sequence[str]] = {
    "overflow": ("fig5 960", "fig7 960", "fig14 960", "fig16 960"),
    "lred_weight": ("fig11 960", "fig16 960"),
    "fig13_p_max": ("fig13 960",),
}
ELSEWHERE = ("fig2 960", "fig3 200", "fig5 960", "fig11 960", "fig14 960")

#: All values that are tried for the parameters that the paper leaves open. Each key "field value" is mapped to the
#: field of `Free` and the value. The first value of each parameter is the value that the study itself uses.
VALUES = {f"{u.field} {value}": (u.field, value) for u in UNKNOWNS for value in (u.ours, *u.others)}


def _sensitivity(parameter: str, point: str) -> Case | None:
    name, value = VALUES[parameter]
    if point not in RELEVANT.get(name, ELSEWHERE):
        return None
    series, _, buffer_ms = point.partition(" ")
    return replace(SERIES[series], buffer_ms=int(buffer_ms), free=replace(OURS, **{name: value}))


def _sweet_spot(min_th_ms: int, tmax_mbit: float, sessions: int, rtt_ms: int) -> Case:
    queue: Any = {"lred": {"limit": "2s", **lred(min_th_ms)}}
    return Case(tmax_mbit=tmax_mbit, sessions=sessions, rtt_ms=(rtt_ms,), queue=queue)


#: The laws compared when the target delay is low. Each function returns the queue for a target delay in ms. The
#: integral term of LRED has a gain of 0.02 per second and is at most 0.5 (README: "LRED below 100 ms").
LOW_DELAY: Mapping[str, Callable[[int], Mapping[str, Mapping[str, Any]]]] = {
    "lred": lambda ms: {"lred": lred(ms)},
    "lred_integral": lambda ms: {"lred": lred(ms, 0.0, 0.5) | {"max_th": f"{4 * ms}ms", "integral": 0.02}},
    "codel": lambda ms: {"codel": {"target": f"{ms}ms", "interval": f"{max(100, 2 * ms)}ms"}},
    "pie": lambda ms: {"pie": {"target": f"{ms}ms"}},
}


def _low_delay(law: str, target_ms: int, tmax_mbit: float, sessions: int) -> Case:
    ((name, params),) = LOW_DELAY[law](target_ms).items()
    return Case(tmax_mbit=tmax_mbit, sessions=sessions, queue={name: {"limit": "1s", **params}})


#: The disciplines compared in the experiments for the section "Considerations For All Bufferbloat Mitigation Schemes"
#: of ARRIS 2013.
CONSIDERED = (
    "droptail", "droptail_bdp", "head_drop", "red", "ared", "wred", "codel", "cobalt", "pie", "docsis_pie", "lred100", "lred200",
    "blue", "fred", "cbt", "dcbt", "cbq", "sfq", "sfq_hss", "drr", "sfq_lred200", "sfq_codel", "fq_codel", "fq_pie",
)  # fmt: skip


def _considered(discipline: str, **changes: Any) -> Case:
    """Returns the baseline with a discipline from `CONSIDERED`, and a buffer of 500 ms (50 ms for `droptail_bdp`)."""
    if discipline == "droptail_bdp":
        return Case("droptail", buffer_ms=50, **changes)
    return Case(discipline, buffer_ms=500, **changes)


def _app(traffic: dict[str, Any], tcp: str = "study") -> AppDict:
    """Returns an application between the user and the servers 25 ms away."""
    return {"from": "user", "to": ["net50"], "tcp": tcp, "traffic": traffic}


def _ledbat(discipline: str, others: int) -> Case:
    """Returns the case with five LEDBAT uploads and `others` Reno sessions."""
    background = _app({"ftp": {"flows": 5, "stagger": "200ms"}}, "ledbat")
    return _considered(discipline, sessions=others, more={"background": (1.0, background)})


def _bursts(discipline: str, transport: str) -> Case:
    """Returns the case with a 150 kB burst every 6 s beside five sessions.

    A burst fills about half of the buffer that most disciplines have here (312.5 kB), and takes 240 ms to send.
    """
    burst = {"burst": {"bytes": "150KB", "transport": transport, "interval": "6s", "packet": "1500B"}}
    return _considered(discipline, sessions=5, more={"burst": (5.0, _app(burst))})


def _short(discipline: str, load: float) -> Case:
    """Returns the case with short transfers beside five sessions. The transfers offer a load of `load` times Tmax.

    The sizes of the transfers have a Pareto distribution from 3 kB, capped at 1 MB, with shape 1.2; the mean is 13 kB.
    """
    low, high, shape = 3e3, 1e6, 1.2
    size = {"pareto": {"min": f"{low:.0f}B", "max": f"{high:.0f}B", "shape": shape}}
    short = {
        "short": {"interval": ns(pareto_mean(shape, low, high) * 8e-6 / (load * 5.0)), "size": size, "direction": "up"}
    }
    return _considered(discipline, sessions=5, more={"short": (0.0, _app(short))})


def _video(discipline: str, sessions: int) -> Case:
    """Returns the case with a video viewer beside downloads.

    The packets of the video, the downloads and the game all pass through the buffer in the CMTS.
    """
    return _considered(discipline, sessions=sessions, direction="down", more={"video": (5.0, _app({"video": {}}))})


def _swarm(discipline: str, swarm: str) -> Case:
    """Returns the case with a BitTorrent seed instead of the FTP sessions, beside a game and a call.

    The seed has fifty peers, ten of them unchoked.
    """
    seed = _app({"bittorrent": {}}, "ledbat" if swarm == "ledbat" else "study")
    call: AppDict = {"from": "user", "to": ["net50"], "traffic": {"voip": {}}}
    return _considered(discipline, sessions=0, more={"swarm": (0.0, seed), "call": (1.0, call)})


def _rate_change(discipline: str, sessions: int) -> Case:
    """Returns the case with a rate that alternates between 20 and 5 Mbit/s.

    A service flow's rate alternates like this when its burst allowance is used up and refilled.
    """

    def steps(length: int) -> list[tuple[int, float]]:
        times = enumerate(range(HALF_PERIOD_S, length, HALF_PERIOD_S))
        return [(t, PEAK_MBIT if n % 2 else SUSTAINED_MBIT) for n, t in times]

    sets = {"link.up.rate": f"{PEAK_MBIT:g}mbit", "record.interval": "100ms"}
    return _considered(discipline, sessions=sessions, steps=steps, sets=sets)


# -------------------------------------------------------------------------------------------------------------- grids

#: The axes named in `experiments.toml`.
AXES: Mapping[str, Sequence[Any]] = {
    "series": tuple(SERIES),
    "sizes": BUFFERS_MS,
    "laws inside": tuple(INSIDE),
    "profiles": tuple(WRED_PROFILES),
    "parameters": tuple(VALUES),
    "laws": tuple(LOW_DELAY),
}

#: For each experiment, the function that makes the case of a grid point. For experiments that are not listed here, the
#: grid point's values are passed to `Case` itself.
CASES: Mapping[str, Callable[..., Case | None]] = {
    "figures": _figures,
    "cdf": _figures,
    "lred_low": _lred_low,
    "rtt": lambda discipline, buffer_ms, rtt_ms: Case(discipline, buffer_ms, rtt_ms=(rtt_ms,)),
    "two_rtts": lambda discipline, buffer_ms: Case(discipline, buffer_ms, sessions=1, rtt_ms=TWO_RTTS_MS[::-1]),
    "collision_law": _collision_law,
    "effective_tmax": _effective_tmax,
    "ack_acceleration": _acks,
    "acks": _acks,
    "latency_wred": _latency_wred,
    "table1": _table_1,
    "overflow": _overflow,
    "p_max": lambda p_max: replace(SERIES["fig13"], buffer_ms=960, free=replace(OURS, fig13_p_max=p_max)),
    "sharpness": lambda p: Case("lred200", queue={"lred": {"limit": "600000B", **lred(200, p, p)}}),
    "sensitivity": _sensitivity,
    "sweetspot": _sweet_spot,
    "low_delay": _low_delay,
    "ledbat": _ledbat,
    "sessions": _considered,
    "low_rate": _considered,
    "bursts": _bursts,
    "short": _short,
    "rate_change": _rate_change,
    "video": _video,
    "swarm": _swarm,
}


def _group(name: str, common: Mapping[str, Any] | None = None) -> tuple[Experiment, ...]:
    """Reads the grids in a group of `experiments.toml`.

    If there are `common` axes, every grid also has these axes, and the names of its scenarios contain the grid's name.
    """

    def grid(name: str, what: str, axes: Mapping[str, Any], **more: Any) -> Experiment:
        values = {
            axis: AXES[of] if isinstance(of, str) else tuple(of) for axis, of in {**(common or {}), **axes}.items()
        }
        given: dict[str, Any] = {"columns": COLUMNS, "named": common is not None} | more
        return Experiment(name, what, values, case=CASES.get(name, Case), **given)

    return tuple(grid(name, **table) for name, table in toml("scte2013", "experiments.toml")[name].items())


ALWAYS, TEXT, PLAIN, ACKS = (_group(name) for name in ("always", "text", "plain", "acks"))
(CDF,) = _group("drawn")

#: Every experiment except `CDF`, by name. Those in `ALWAYS` and `TEXT` always run, the others only on request.
ASKED: Mapping[str, Experiment] = {
    e.name: e for e in (*ALWAYS, *TEXT, *PLAIN, *ACKS, *_group("considerations", {"discipline": CONSIDERED}))
}
