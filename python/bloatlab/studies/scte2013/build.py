"""The network of ARRIS 2013, Figure 1b, its queues, and the scenarios of its cases.

    user --up, Tmax, the buffer--> cmts --+-- net50    25 ms each way: N FTP uploads and the gamer
         <-------- down ----------        +-- net100   50 ms, for sessions with a different round-trip time

N sessions upload 90 MB files with 4 s pauses, and the gamer writes 10 KB every 2 s; both use TCP. The downstream
direction has no rate limit, except in the experiments on ACKs. In the cases with the buffer in the CMTS ("incorporated
into the CMTS"), the directions are exchanged: the buffer is on link `down`, and files and messages go from the network
to the user.

Tmax is the rate of the link with the buffer. A buffer is sized in milliseconds of Tmax and given in bytes:
M = ms x Tmax / 8 (ARRIS 2013, Simulation Baseline).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bloatlab.scenario import AppDict, LinkDict, Scenario, ScenarioDict, from_dict
from bloatlab.studies.published import toml, unknowns
from bloatlab.workloads.build import ns

#: Length of a run, and of the warm-up left out of the measures, in s. If ten Reno flows share a buffer of 960 ms at
#: 5 Mbit/s (42 segments per flow, delayed ACKs, round trips of 0.75 s on average), a sawtooth takes about 30 s. The
#: measured 240 s then contain 8 sawteeth per flow, or 80 for all flows, with each of ten seeds. With smaller buffers,
#: sawteeth are shorter. Slow start and the repair of its overshoot end within 20 s.
SECONDS = 300
WARM_UP_S = 60


@dataclass(frozen=True, slots=True)
class Free:
    """The free parameters. All cases use the default values, except in experiments that vary a parameter.

    `parameters.toml` gives the reason for each value.
    """

    ack_every: int = 2
    min_rto: str = "1s"
    initial_window: int = 2
    idle_restart: str = "restart"
    recovery: str = "sack"
    overflow: str = "tail"
    lred_weight: float = 1.0
    fig13_p_max: float = 0.12
    start_spread_s: float = 1.0


OURS = Free()
UNKNOWNS = unknowns("scte2013", OURS)

# -------------------------------------------------------------------------------------------------------------- queues

#: A queue in the form used in scenarios: the discipline's name, mapped to the discipline's parameters.
Spec = dict[str, dict[str, Any]]

#: For each value of `Free.overflow`, the value that the parameter `overflow` of a queue has in the scenario.
OVERFLOW: Mapping[str, Any] = {"tail": "tail", "longest": {"longest": {"by": "bytes", "from": "tail"}}}

#: The DSCP that puts the gamer and one FTP session into the same queue in cases with a forced hash collision.
COLLISION_DSCP = 46


def lred(min_th_ms: float, p_min: float = 0.01, p_max: float = 0.05, free: Free = OURS) -> dict[str, Any]:
    """Returns LRED with the curve of Figure 10c and MAXth twice MINth, as in all parameter sets in the paper."""
    return {
        "curve": "10c",
        "min_th": f"{min_th_ms:g}ms",
        "max_th": f"{2 * min_th_ms:g}ms",
        "p_min": p_min,
        "p_max": p_max,
        "weight": free.lred_weight,
    }


Discipline = Callable[[str, Free], Spec]


def _discipline(name: str, declared: Mapping[str, Any]) -> Discipline:
    """Returns the function that makes the queue declared by a table of `queues.toml`."""
    own = {key: value for key, value in declared.items() if key not in ("limit", "lred", "overflow")}

    def spec(limit: str, free: Free) -> Spec:
        params = own | ({"limit": limit} if declared.get("limit", True) else {})
        if "overflow" in declared:
            params["overflow"] = OVERFLOW[free.overflow]
        if "lred" in declared:
            law = lred(declared["lred"], free=free)
            params |= law if name == "lred" else {"law": {"lred": law}}
        return {name: params}

    return spec


#: For each discipline, the function that makes its queue from a limit and the free parameters.
DISCIPLINES: Mapping[str, Discipline] = {
    **{key: _discipline(*of) for key, table in toml("scte2013", "queues.toml").items() for of in table.items()},
    # Figure 13
    "lred50": lambda limit, free: {"lred": {"limit": limit, **lred(50, p_max=free.fig13_p_max, free=free)}},
}


def buffer_bytes(buffer_ms: float, tmax_mbit: float) -> int:
    """Returns the number of bytes that drain in `buffer_ms` at the rate Tmax: 600 kB for 960 ms at 5 Mbit/s."""
    return round(buffer_ms * tmax_mbit * 125.0)


# ----------------------------------------------------------------------------------------------------------- scenarios


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration of the network; the defaults are those of Figure 2.

    There are `sessions` FTP sessions for each round trip in `rtt_ms`; the gamer uses the first round trip. If `queue`
    is given, it is used instead of the queue that `discipline` names.
    """

    discipline: str = "droptail"
    buffer_ms: float = 960
    tmax_mbit: float = 5.0
    sessions: int = 10
    rtt_ms: tuple[float, ...] = (50,)
    direction: Literal["up", "down"] = "up"
    queue: Spec | None = None
    free: Free = OURS
    seconds: int = SECONDS
    gamer: bool = True
    gamer_dscp: int = 0
    #: Returns the changes of the upstream rate in a run of a given length in s. Each change consists of a time in s and
    #: the new rate in Mbit/s.
    steps: Callable[[int], Sequence[tuple[int, float]]] | None = None
    #: Additional applications by name, each with its start time in s. One random delay of up to 0.5 s is added to all
    #: of these times.
    more: Mapping[str, tuple[float, AppDict]] = field(default_factory=dict[str, tuple[float, AppDict]])
    #: Values that override the scenario's, by path.
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])


def build(case: Case, seed: int, name: str = "scte2013") -> Scenario:
    """Returns the validated scenario of one run."""
    return from_dict(describe(case, seed, name), source=name, sets=case.sets)


def describe(case: Case, seed: int, name: str) -> ScenarioDict:
    """Returns the scenario of one run as plain values. The overrides in `case.sets` are not yet applied."""
    free = case.free
    return {
        "name": name,
        "seed": seed,
        "duration": f"{case.seconds}s",
        "link": _links(case),
        "start_spread": "0s",  # `_apps` draws the start times
        "app": _apps(case, seed),
        # Reno with SACK as in the standards, 1500-byte packets (1460 of payload, no timestamps)
        "tcp": {
            "study": {
                "preset": "rfc",
                "mss": 1460,
                "timestamps": False,
                "initial_window": {"segments": free.initial_window},
                "idle_restart": free.idle_restart,
                "recovery": free.recovery,
                "ack_every": free.ack_every,
                "min_rto": free.min_rto,
            }
        },
        "record": {"interval": "1s", "links": [case.direction], "warm_up": f"{min(WARM_UP_S, case.seconds // 4)}s"},
    }


def _links(case: Case) -> dict[str, LinkDict]:
    """Returns the link with the buffer, its reverse direction, and a link to each server."""
    limit = f"{buffer_bytes(case.buffer_ms, case.tmax_mbit)}B"
    queue = case.queue or DISCIPLINES[case.discipline](limit, case.free)
    buffered: LinkDict = {"rate": f"{round(case.tmax_mbit * 1e6)}bit", "queue": queue}
    free: LinkDict = {"queue": {"droptail": {"limit": "100000p"}}}
    up, down = (buffered, free) if case.direction == "up" else (free, buffered)
    if case.steps is not None:
        up["changes"] = [{"at": f"{t}s", "rate": f"{mbit:g}mbit"} for t, mbit in case.steps(case.seconds)]
    made: dict[str, LinkDict] = {
        "up": {**up, "from": "user", "to": "cmts"},
        "down": {**down, "from": "cmts", "to": "user"},
    }
    for rtt in case.rtt_ms:
        made[_server(rtt)] = {"from": "cmts", "to": _server(rtt), "both_ways": True, "delay": f"{rtt / 2:g}ms", **free}
    return made


def _server(rtt_ms: float) -> str:
    """Returns the node whose round trip without queueing is `rtt_ms`."""
    return f"net{rtt_ms:g}"


def _apps(case: Case, seed: int) -> dict[str, AppDict]:
    """Returns the FTP sessions of each round trip, the gamer, and additional applications.

    The sessions send 90 MB files, with a pause of 4 s after each.
    """
    dice = random.Random(f"scte2013/{seed}")  # noqa: S311  not security-sensitive
    made: dict[str, AppDict] = {}
    colliding = case.discipline == "sfq_collision"

    def files(flows: int, stagger_s: float) -> dict[str, Any]:
        return {"ftp": {"flows": flows, "size": "90MB", "pause": "4s", "stagger": ns(stagger_s)}}

    for rtt in case.rtt_ms:
        spread = case.free.start_spread_s / max(1, case.sessions)
        stagger, start = spread * (0.5 + dice.random()), spread * dice.random()
        if case.sessions:
            name = "ftp" if len(case.rtt_ms) == 1 else f"ftp{rtt:g}"
            made[name] = _app(case, rtt, files(case.sessions - colliding, stagger), start)
        if colliding:  # one FTP session uses the gamer's code point, so it shares the gamer's queue
            made["ftp_hit"] = {**_app(case, rtt, files(1, stagger), start), "dscp": COLLISION_DSCP}
    if case.gamer:
        gamer = {"messages": {"message": "10KB", "interval": "2s"}}
        made["gamer"] = _app(case, case.rtt_ms[0], gamer, 2.0 * dice.random())
        if colliding or case.gamer_dscp:
            made["gamer"]["dscp"] = COLLISION_DSCP if colliding else case.gamer_dscp
    later = 0.5 * random.Random(f"scte2013/extra/{seed}").random()  # noqa: S311
    for name, (start, app) in case.more.items():
        made[name] = {**app, "start": ns(start + later)}
    return made


def _app(case: Case, rtt_ms: float, traffic: dict[str, Any], start_s: float) -> AppDict:
    ends = ("user", _server(rtt_ms)) if case.direction == "up" else (_server(rtt_ms), "user")
    return {"from": ends[0], "to": [ends[1]], "tcp": "study", "start": ns(start_s), "traffic": traffic}
