"""The network of SCTE 2013, Figure 1b, as a scenario: the one place that knows both the paper and the scenario's words.

    user --up, Tmax, the buffer--> cmts --+-- net50    25 ms each way: N FTP uploads and the gamer
         <-------- down ----------        +-- net100   50 ms, where sessions have another round trip

N sessions put files of 90 MB with pauses of 4 s; the gamer writes 10 KB every 2 s; all is TCP. Nothing is in the way
downstream. The same buffer downstream ("incorporated into the CMTS") is the mirror image: `down` has it, and files and
messages go from the net to the user.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bloatlab.scenario import AppDict, LinkDict, Scenario, ScenarioDict, from_dict
from bloatlab.studies.scte2013.parameters import OURS, Free
from bloatlab.studies.scte2013.queues import COLLISION_DSCP, Spec, spec_of

#: Length of a run and how much of its start is left out, in s. A Reno sawtooth of ten flows through 960 ms at 5 Mbit/s
#: (42 segments per flow, delayed ACKs, round trips of 0.75 s on average) takes about 30 s: 240 s hold 8 of them per flow, 80 in
#: all, in each of ten seeds; smaller buffers have more. Slow start and the repair of its overshoot are over within 20 s.
SECONDS = 300
WARM_UP_S = 60


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration of the network; the defaults are those of Figure 2.

    `sessions` FTP sessions for each round trip in `rtt_ms`; the gamer has the first one. `queue` overrides the
    discipline called `discipline` where an experiment varies its parameters.
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
    #: Rates of the upstream link by the moment at which they begin, in s and Mbit/s, of a run of this length.
    steps: Callable[[int], Sequence[tuple[int, float]]] | None = None
    #: Applications beside the baseline's: each starts within half a second of a moment, in s.
    more: Mapping[str, tuple[float, AppDict]] = field(default_factory=dict[str, tuple[float, AppDict]])
    #: Values laid over the scenario, by path.
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])


def build(case: Case, seed: int, name: str = "scte2013") -> Scenario:
    """The validated scenario of one run."""
    return from_dict(describe(case, seed, name), source=name, sets=case.sets)


def describe(case: Case, seed: int, name: str) -> ScenarioDict:
    """The scenario of one run as plain values, without what `case` lays over it."""
    warm_up = min(WARM_UP_S, case.seconds // 4)
    return {
        "name": name,
        "seed": seed,
        "duration": f"{case.seconds}s",
        "link": links(case),
        "start_spread": "0s",  # the study has its own
        "app": apps(case, seed),
        "tcp": {"study": stack(case.free)},
        "record": {"interval": "1s", "links": [case.direction], "warm_up": f"{warm_up}s"},
    }


def links(case: Case) -> dict[str, LinkDict]:
    """The buffer's link, the way back, and a wire to each server."""
    queue = case.queue or spec_of(case.discipline, case.buffer_ms, case.tmax_mbit, case.free)
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
        made[server(rtt)] = {"from": "cmts", "to": server(rtt), "both_ways": True, "delay": f"{rtt / 2:g}ms", **free}
    return made


def server(rtt_ms: float) -> str:
    """The node whose round trip is `rtt_ms` when nothing waits."""
    return f"net{rtt_ms:g}"


def apps(case: Case, seed: int) -> dict[str, AppDict]:
    """The FTP sessions of each round trip, the gamer, and what is beside them."""
    dice = random.Random(f"scte2013/{seed}")  # noqa: S311  what tells one seed from another, not a secret
    made: dict[str, AppDict] = {}
    colliding = case.discipline == "sfq_collision"
    for rtt in case.rtt_ms:
        spread = case.free.start_spread_s / max(1, case.sessions)
        stagger, start = spread * (0.5 + dice.random()), spread * dice.random()
        if case.sessions:
            made[ftp_name(case, rtt)] = _app(case, rtt, _files(case.sessions - colliding, stagger), start)
        if colliding:
            made[HIT] = {**_app(case, rtt, _files(1, stagger), start), "dscp": COLLISION_DSCP}
    if case.gamer:
        gamer = {"messages": {"message": "10KB", "interval": "2s"}}
        made["gamer"] = _app(case, case.rtt_ms[0], gamer, 2.0 * dice.random())
        if colliding or case.gamer_dscp:
            made["gamer"]["dscp"] = COLLISION_DSCP if colliding else case.gamer_dscp
    later = 0.5 * random.Random(f"scte2013/extra/{seed}").random()  # noqa: S311
    for name, (start, app) in case.more.items():
        made[name] = {**app, "start": seconds(start + later)}
    return made


#: The FTP session that shares the gamer's queue where a collision is forced.
HIT = "ftp_hit"


def _files(flows: int, stagger_s: float) -> dict[str, Any]:
    """SCTE 2013, Simulation Baseline: files of 90 MB with 4 s between them."""
    return {"ftp": {"flows": flows, "size": "90MB", "pause": "4s", "stagger": seconds(stagger_s)}}


def ftp_name(case: Case, rtt_ms: float) -> str:
    """What the FTP sessions of a round trip are called."""
    return "ftp" if len(case.rtt_ms) == 1 else f"ftp{rtt_ms:g}"


def _app(case: Case, rtt_ms: float, traffic: dict[str, Any], start_s: float) -> AppDict:
    ends = ("user", server(rtt_ms)) if case.direction == "up" else (server(rtt_ms), "user")
    return {"from": ends[0], "to": [ends[1]], "tcp": "study", "start": seconds(start_s), "traffic": traffic}


def seconds(value: float) -> str:
    """A time as a scenario has it, in whole nanoseconds."""
    return f"{round(value * 1e9)}ns"


def stack(free: Free) -> dict[str, Any]:
    """Reno with SACK by the standards, packets of 1500 bytes (1460 of payload, no timestamps)."""
    return {
        "preset": "rfc",
        "mss": 1460,
        "timestamps": False,
        "initial_window": {"segments": free.initial_window},
        "idle_restart": free.idle_restart,
        "recovery": free.recovery,
        "ack_every": free.ack_every,
        "min_rto": free.min_rto,
    }
