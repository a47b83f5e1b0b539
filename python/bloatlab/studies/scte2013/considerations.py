"""SCTE 2013, "Considerations For All Bufferbloat Mitigation Schemes": each worry as an experiment, every discipline in it.

The paper names these as research to be done and gives no numbers. All disciplines have the same memory, 500 ms of Tmax
(312.5 kB at 5 Mbit/s), but for `droptail_bdp`, which has the 50 ms that Buffer Control would choose, and `cbq`, whose three
classes have 60 packets each. Their other parameters are the defaults of each (`queues.py`), not fitted to the task.

Beside the paper's six: adaptive-bitrate video (which it names under short-lived flows) and a BitTorrent swarm (under LEDBAT).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from bloatlab.scenario import AppDict, Scenario, ScenarioDict, from_dict
from bloatlab.simulation import Result
from bloatlab.studies.scte2013.build import Case, describe, seconds
from bloatlab.studies.scte2013.experiments import Experiment, key
from bloatlab.studies.scte2013.measure import Measures, after_warm_up, measure, warm_up
from bloatlab.studies.scte2013.queues import DISCIPLINES as QUEUES
from bloatlab.studies.scte2013.queues import Spec, buffer_bytes
from bloatlab.sweep import Grid
from bloatlab.tables import running_mean

BUFFER_MS = 500
DISCIPLINES = (
    "droptail", "droptail_bdp", "head_drop", "red", "ared", "wred", "codel", "cobalt", "pie", "docsis_pie", "lred100", "lred200",
    "blue", "fred", "cbt", "dcbt", "cbq", "sfq", "sfq_hss", "drr", "sfq_lred200", "sfq_codel", "fq_codel", "fq_pie",
)  # fmt: skip

#: Length of a run in s: 50 bursts, 6 changes of rate, some thousand short transfers.
SECONDS = 300

#: Peak and sustained rate of a DOCSIS service flow, and how long each lasts, in s.
PEAK_MBIT, SUSTAINED_MBIT, HALF_PERIOD_S = 20.0, 5.0, 25

#: "Recovered": the sessions' latency is at most so many times, or so many ms above, what it comes to.
RECOVERED = 1.5
RECOVERED_MS = 10.0


class Consideration(Experiment):
    """An experiment with traffic of its own beside the baseline's."""

    def grid(self, seeds: Sequence[int], seconds: int | None = None) -> Grid:
        """Every place with every seed."""

        def scenario(*, seed: int, **at: Any) -> Scenario:
            name = f"scte2013 {self.name} {key(at)}"
            return from_dict(_DESCRIBE[self.name](seed=seed, length=seconds or SECONDS, name=name, **at), source=name)

        return Grid(self.axes, scenario, seeds)


def _case(discipline: str, length: int, **changes: Any) -> Case:
    buffer_ms, name = (50, "droptail") if discipline == "droptail_bdp" else (BUFFER_MS, discipline)
    return Case(name, buffer_ms=buffer_ms, seconds=length).with_(**changes)


def _ledbat(discipline: str, others: int, seed: int, length: int, name: str) -> ScenarioDict:
    """Five LEDBAT uploads beside `others` Reno sessions."""
    described = _baseline(_case(discipline, length, sessions=max(1, others)), seed, name)
    apps: dict[str, AppDict] = described["app"]
    if not others:
        del apps["ftp"]
    traffic = {"ftp": {"flows": 5, "stagger": "200ms"}}
    apps["background"] = _app({"from": "user", "to": ["net50"], "tcp": "ledbat", "traffic": traffic}, 1.0, seed)
    return _typed(described)


def _sessions(discipline: str, sessions: int, seed: int, length: int, name: str) -> ScenarioDict:
    return describe(_case(discipline, length, sessions=sessions), seed, name)


def _low_rate(discipline: str, tmax_mbit: float, seed: int, length: int, name: str) -> ScenarioDict:
    return describe(_case(discipline, length, tmax_mbit=tmax_mbit), seed, name)


def _bursts(discipline: str, transport: str, seed: int, length: int, name: str) -> ScenarioDict:
    """150 kB at once every 6 s (the default memory's half, and 240 ms of the line) beside five sessions."""
    described = _baseline(_case(discipline, length, sessions=5), seed, name)
    burst = {"bytes": "150KB", "transport": transport, "interval": "6s", "packet": "1500B"}
    app: AppDict = {"from": "user", "to": ["net50"], "tcp": "study", "traffic": {"burst": burst}}
    described["app"]["burst"] = _app(app, 5.0, seed)
    return _typed(described)


def _short(discipline: str, load: float, seed: int, length: int, name: str) -> ScenarioDict:
    """Short transfers (Pareto, 3 kB to 1 MB, shape 1.2: 11 kB on average) that offer `load` of Tmax, beside five sessions."""
    described = _baseline(_case(discipline, length, sessions=5), seed, name)
    low, high, shape = 3e3, 1e6, 1.2
    mean = low**shape / (1 - (low / high) ** shape) * shape / (shape - 1) * (low ** (1 - shape) - high ** (1 - shape))
    interval = mean * 8e-6 / (load * 5.0)
    size = {"pareto": {"min": f"{low:.0f}B", "max": f"{high:.0f}B", "shape": shape}}
    app: AppDict = {
        "from": "user",
        "to": ["net50"],
        "tcp": "study",
        "traffic": {"short": {"interval": seconds(interval), "size": size, "direction": "up"}},
    }
    described["app"]["short"] = _app(app, 0.0, seed)
    return _typed(described)


def _video(discipline: str, sessions: int, seed: int, length: int, name: str) -> ScenarioDict:
    """A viewer beside so many downloads, all through the buffer in the CMTS; the game's messages come that way, too."""
    described = _baseline(_case(discipline, length, sessions=sessions, direction="down"), seed, name)
    app: AppDict = {"from": "user", "to": ["net50"], "tcp": "study", "traffic": {"video": {}}}
    described["app"]["video"] = _app(app, 5.0, seed)
    return _typed(described)


def _swarm(discipline: str, swarm: str, seed: int, length: int, name: str) -> ScenarioDict:
    """A seed of fifty peers, ten of them unchoked, instead of the FTP sessions; a game and a call beside it."""
    described = _baseline(_case(discipline, length), seed, name)
    del described["app"]["ftp"]
    stack = "ledbat" if swarm == "ledbat" else "study"
    app: AppDict = {"from": "user", "to": ["net50"], "tcp": stack, "traffic": {"bittorrent": {}}}
    described["app"]["swarm"] = _app(app, 0.0, seed)
    described["app"]["call"] = _app({"from": "user", "to": ["net50"], "traffic": {"voip": {}}}, 1.0, seed)
    return _typed(described)


def _rate_change(discipline: str, sessions: int, seed: int, length: int, name: str) -> ScenarioDict:
    """20 Mbit/s and 5 Mbit/s in turn, as when a burst allowance is used up and has filled again."""
    described = _baseline(_case(discipline, length, sessions=sessions), seed, name)
    up = described["link"]["up"]
    up["rate"] = f"{PEAK_MBIT:g}mbit"
    times = range(HALF_PERIOD_S, length, HALF_PERIOD_S)
    up["changes"] = [
        {"at": f"{t}s", "rate": f"{(SUSTAINED_MBIT if n % 2 == 0 else PEAK_MBIT):g}mbit"} for n, t in enumerate(times)
    ]
    described["record"] = {**described["record"], "interval": "100ms"}
    return _typed(described)


def _app(app: AppDict, base_s: float, seed: int) -> AppDict:
    """An application that starts within half a second of `base_s`."""
    dice = random.Random(f"scte2013/extra/{seed}")  # noqa: S311  what tells one seed from another, not a secret
    return {**app, "start": seconds(base_s + 0.5 * dice.random())}


def _baseline(case: Case, seed: int, name: str) -> dict[str, Any]:
    """The baseline's description, to be added to."""
    return {**describe(case, seed, name)}


def _typed(described: dict[str, Any]) -> ScenarioDict:
    """A description that has been added to."""
    return cast("ScenarioDict", described)


def acks(discipline: str, buffer_ms: int, seed: int, length: int, name: str) -> ScenarioDict:
    """SCTE 2013, Background: 500 kB at 2 Mbit/s hold ACKs for 2 s. An upload fills it, a download at 20 Mbit/s waits for its ACKs.

    `ack_class` is ACK acceleration as priority: the downloads' ACKs have a queue of their own, and half of the link if they
    want it (cable modems also drop ACKs that a later one makes superfluous; not modelled).
    """
    uploads = 0 if discipline == "no upload" else 1
    own = discipline if discipline in QUEUES else "droptail"
    case = Case(own, buffer_ms=buffer_ms, tmax_mbit=2.0, sessions=1, seconds=length)
    if discipline == "ack_class":
        case = case.with_(queue=_ack_class(buffer_bytes(buffer_ms, 2.0)))
    described = _baseline(case, seed, name)
    if not uploads:
        del described["app"]["ftp"]
    described["link"]["down"] |= {"rate": "20mbit", "queue": {"droptail": {"limit": "250ms"}}}
    traffic = {"ftp": {"flows": 4, "direction": "down", "stagger": "100ms"}}
    app: AppDict = {"from": "user", "to": ["net50"], "tcp": "study", "dscp": ACK_DSCP, "traffic": traffic}
    described["app"]["download"] = _app(app, 0.0, seed)
    return _typed(described)


#: The code point of the downloads, whose ACKs carry it upstream.
ACK_DSCP = 46


def _ack_class(limit: int) -> Spec:
    """Two classes of equal weight that lend each other what they do not use: ACKs, and the rest behind the buffer."""
    acks_first = {"name": "acks", "match": {"dscp": [ACK_DSCP]}, "share": 0.5, "borrow": True, "limit": "1000p"}
    rest = {"name": "rest", "match": {}, "share": 0.5, "borrow": True, "limit": f"{limit}B"}
    return {"cbq": {"classes": [acks_first, rest]}}


_DESCRIBE = {
    "acks": acks,
    "ledbat": _ledbat,
    "sessions": _sessions,
    "low_rate": _low_rate,
    "bursts": _bursts,
    "short": _short,
    "rate_change": _rate_change,
    "video": _video,
    "swarm": _swarm,
}

_LATENCY = ("gamer_p50_ms", "gamer_p99_ms")

#: The other worry of the text: what a bloated upstream does to downloads.
ACKS = Consideration(
    "acks",
    "four downloads at 20 Mbit/s whose ACKs share 2 Mbit/s upstream with an upload",
    {
        "discipline": (
            "no upload",
            "droptail",
            "ack_class",
            "codel",
            "pie",
            "lred200",
            "sfq",
            "sfq_lred200",
            "fq_codel",
        ),
        "buffer_ms": (50, 200, 2000),
    },
    lambda **_: Case(),
    ("download_mbit", "upload_mbit", "gamer_p50_ms", "gamer_p99_ms", "sojourn_p99_ms"),
)

CONSIDERATIONS: tuple[Consideration, ...] = tuple(
    Consideration(name, what, {"discipline": DISCIPLINES, **axes}, lambda **_: Case(), columns)
    for name, what, axes, columns in (
        (
            "ledbat",
            "five LEDBAT uploads beside so many Reno sessions: does AQM blind LEDBAT? (its share; yielding would be 0)",
            {"others": (0, 5)},
            (*_LATENCY, "background_share", "rate_mbit", "loss_percent", "cov_session"),
        ),
        (
            "sessions",
            "session bloat: 1 to 100 sessions, and the stability of their bandwidth beside its mean",
            {"sessions": (1, 2, 5, 10, 20, 50, 100)},
            (*_LATENCY, "ftp_mean_ms", "loss_percent", "goodput_mbit", "cov_total", "cov_session", "fairness"),
        ),
        (
            "low_rate",
            "service flows of 0.25 to 2 Mbit/s, ten sessions",
            {"tmax_mbit": (0.25, 0.5, 1.0, 2.0)},
            (*_LATENCY, "ftp_mean_ms", "rate_share", "loss_percent", "cov_session"),
        ),
        (
            "bursts",
            "150 kB at once every 6 s beside five sessions",
            {"transport": ("tcp", "udp")},
            (*_LATENCY, "burst_p50_s", "burst_p99_s", "burst_done", "rate_mbit", "loss_percent", "cov_session"),
        ),
        (
            "short",
            "short transfers that offer so much of Tmax, beside five sessions",
            {"load": (0.2, 0.5, 0.8)},
            (*_LATENCY, "short_p50_s", "short_p99_s", "rate_mbit", "loss_percent", "cov_session"),
        ),
        (
            "rate_change",
            "20 and 5 Mbit/s in turn, 25 s each: what follows the step down",
            {"sessions": (5, 20)},
            (*_LATENCY, "worst_ms", "recover_s", "rate_up_share", "loss_percent"),
        ),
        (
            "video",
            "adaptive-bitrate video beside so many downloads, through a buffer in the CMTS",
            {"sessions": (2, 5)},
            ("video_mbit", "video_switches", "video_stalls", "video_stalled_s", *_LATENCY, "rate_mbit", "loss_percent"),
        ),
        (
            "swarm",
            "a BitTorrent seed (ten of fifty peers unchoked) over LEDBAT or Reno, beside a game and a call",
            {"swarm": ("ledbat", "reno")},
            (*_LATENCY, "call_p50_ms", "call_p99_ms", "call_lost_percent", "call_mos", "swarm_mbit", "loss_percent"),
        ),
    )
)


# -------------------------------------------------------------------------------------------------------------- measures


def consider(result: Result) -> Measures:
    """The baseline's measures, and what the further traffic and the changes add."""
    found = measure(result)
    apps = result.summary["apps"]
    if "background" in apps:
        all_ = sum(app["goodput_bytes"] for name, app in apps.items() if name != "gamer")
        found["background_share"] = apps["background"]["goodput_bytes"] / max(1.0, all_)
    seconds_ = result.measured_s
    if "download" in apps:
        found["download_mbit"] = apps["download"]["goodput_bytes_reverse"] * 8e-6 / seconds_
        found["upload_mbit"] = apps["ftp"]["goodput_bytes"] * 8e-6 / seconds_ if "ftp" in apps else 0.0
    for name in ("burst", "short"):
        files = apps.get(name, {}).get("files")
        if name in apps:
            found |= {
                f"{name}_p50_s": files["median_s"] if files else math.inf,
                f"{name}_p99_s": files["p99_s"] if files else math.inf,
                f"{name}_done": float(files["done"]) if files else 0.0,
            }
    return found | _viewer(apps) | _swarm_and_call(apps, seconds_) | _after_changes(result)


def _viewer(apps: Mapping[str, Any]) -> Measures:
    """What a viewer sees: mean of the segments' rates, changes of it, stalls after the first picture and their time."""
    if "video" not in apps:
        return {}
    video = apps["video"]["video"]
    names = {"video_mbit": "mean_bitrate_mbit", "video_switches": "switches", "video_stalls": "stalls"}
    return {ours: float(video[theirs]) for ours, theirs in names.items()} | {"video_stalled_s": video["stalled_s"]}


def _swarm_and_call(apps: Mapping[str, Any], seconds_: float) -> Measures:
    """What a swarm takes, and what is left of a call beside it."""
    if "swarm" not in apps:
        return {}
    call = apps["call"]
    return {
        "swarm_mbit": apps["swarm"]["goodput_bytes"] * 8e-6 / seconds_,
        "call_p50_ms": call["delay_ms"]["p50"],
        "call_p99_ms": call["delay_ms"]["p99"],
        "call_lost_percent": call["voip"]["lost_percent"],
        "call_mos": call["voip"]["mos"],
    }


def _after_changes(result: Result) -> Measures:
    """After each step down of the link: the worst latency, and how long until it is back.

    The latency is the mean of all FTP packets that arrive in a bin of 0.1 s; what it comes to is the median of the last
    10 s before the next change. Recovered is the first second after the worst bin whose mean is no longer both half again
    and 10 ms above that. Medians over the steps.
    """
    changes = result.scenario.data["link"]["up"].get("changes") or []
    if not changes:
        return {}
    series = result.table("flow_series").filter((pl.col("app") == "ftp") & (pl.col("direction") == "forward"))
    by_bin = (
        series.group_by("t_s").agg(pl.col("delay_ms_mean").drop_nans().mean(), pl.col("wire_bytes").sum()).sort("t_s")
    )
    t, delay = by_bin["t_s"].to_numpy(), by_bin["delay_ms_mean"].fill_null(0.0).to_numpy()
    worst, recover = [], []
    for n in range(0, len(changes) - 1, 2):
        start = HALF_PERIOD_S * (n + 1)
        if start < warm_up(result) / 2:
            continue
        part = (t >= start) & (t < start + HALF_PERIOD_S)
        settled = np.median(delay[(t >= start + HALF_PERIOD_S - 10) & (t < start + HALF_PERIOD_S)])
        peak = int(np.argmax(np.where(part, delay, -1.0)))
        smooth = running_mean(delay, 10)
        calm = np.flatnonzero(part & (t >= t[peak]) & (smooth <= max(RECOVERED * settled, settled + RECOVERED_MS)))
        worst.append(float(delay[peak]))
        recover.append(float(t[calm[0]]) - start if len(calm) else math.inf)
    link = after_warm_up(result, "queue_series").filter(link="up")
    high = (link["t_s"] / HALF_PERIOD_S).floor().cast(pl.Int64) % 2 == 0
    sent = float(link.filter(high)["sent_bytes"].sum()) * 8e-6
    time = max(1e-9, float(high.sum()) * 0.1)
    return {
        "worst_ms": float(np.median(worst)) if worst else math.nan,
        "recover_s": float(np.median(recover)) if recover else math.nan,
        "rate_up_share": sent / time / PEAK_MBIT,
    }
