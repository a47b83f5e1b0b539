"""SCTE 2013, "Considerations For All Bufferbloat Mitigation Schemes": an experiment for each, with every discipline.

The paper names these as research to be done and gives no numbers. All disciplines have the same memory, 500 ms of Tmax
(312.5 kB at 5 Mbit/s), except `droptail_bdp`, which has the 50 ms that Buffer Control would choose, and `cbq`, whose three
classes have 60 packets each. Their other parameters are the defaults of each (`build.DISCIPLINES`), not fitted to the task.

Two more than the paper's six: adaptive-bitrate video (which it mentions under short-lived flows) and a BitTorrent swarm (under LEDBAT).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bloatlab.scenario import AppDict
from bloatlab.studies.scte2013.build import Case, seconds
from bloatlab.studies.scte2013.experiments import ALWAYS, PLAIN, TEXT, Experiment, acks
from bloatlab.studies.scte2013.measure import HALF_PERIOD_S, PEAK_MBIT, SUSTAINED_MBIT

BUFFER_MS = 500
DISCIPLINES = (
    "droptail", "droptail_bdp", "head_drop", "red", "ared", "wred", "codel", "cobalt", "pie", "docsis_pie", "lred100", "lred200",
    "blue", "fred", "cbt", "dcbt", "cbq", "sfq", "sfq_hss", "drr", "sfq_lred200", "sfq_codel", "fq_codel", "fq_pie",
)  # fmt: skip


def _case(discipline: str, **changes: Any) -> Case:
    """The baseline with a discipline of `DISCIPLINES`."""
    if discipline == "droptail_bdp":
        return Case("droptail", buffer_ms=50, **changes)
    return Case(discipline, buffer_ms=BUFFER_MS, **changes)


def _app(traffic: dict[str, Any], tcp: str = "study") -> AppDict:
    """An application between the user and the servers 25 ms away."""
    return {"from": "user", "to": ["net50"], "tcp": tcp, "traffic": traffic}


def _ledbat(discipline: str, others: int) -> Case:
    """Five LEDBAT uploads and `others` Reno sessions."""
    background = _app({"ftp": {"flows": 5, "stagger": "200ms"}}, "ledbat")
    return _case(discipline, sessions=others, more={"background": (1.0, background)})


def _bursts(discipline: str, transport: str) -> Case:
    """150 kB at once every 6 s (half of the default memory, and 240 ms of the line) beside five sessions."""
    burst = {"burst": {"bytes": "150KB", "transport": transport, "interval": "6s", "packet": "1500B"}}
    return _case(discipline, sessions=5, more={"burst": (5.0, _app(burst))})


def _short(discipline: str, load: float) -> Case:
    """Short transfers (Pareto, 3 kB to 1 MB, shape 1.2: 11 kB on average) that offer `load` of Tmax, beside five sessions."""
    low, high, shape = 3e3, 1e6, 1.2
    mean = low**shape / (1 - (low / high) ** shape) * shape / (shape - 1) * (low ** (1 - shape) - high ** (1 - shape))
    size = {"pareto": {"min": f"{low:.0f}B", "max": f"{high:.0f}B", "shape": shape}}
    short = {"short": {"interval": seconds(mean * 8e-6 / (load * 5.0)), "size": size, "direction": "up"}}
    return _case(discipline, sessions=5, more={"short": (0.0, _app(short))})


def _video(discipline: str, sessions: int) -> Case:
    """A viewer beside downloads, all through the buffer in the CMTS, like the game's messages."""
    return _case(discipline, sessions=sessions, direction="down", more={"video": (5.0, _app({"video": {}}))})


def _swarm(discipline: str, swarm: str) -> Case:
    """A seed of fifty peers, ten of them unchoked, instead of the FTP sessions; a game and a call beside it."""
    seed = _app({"bittorrent": {}}, "ledbat" if swarm == "ledbat" else "study")
    call: AppDict = {"from": "user", "to": ["net50"], "traffic": {"voip": {}}}
    return _case(discipline, sessions=0, more={"swarm": (0.0, seed), "call": (1.0, call)})


def _rate_change(discipline: str, sessions: int) -> Case:
    """20 Mbit/s and 5 Mbit/s in turn, like a burst allowance that is used up and refilled."""

    def steps(length: int) -> list[tuple[int, float]]:
        times = enumerate(range(HALF_PERIOD_S, length, HALF_PERIOD_S))
        return [(t, PEAK_MBIT if n % 2 else SUSTAINED_MBIT) for n, t in times]

    sets = {"link.up.rate": f"{PEAK_MBIT:g}mbit", "record.interval": "100ms"}
    return _case(discipline, sessions=sessions, steps=steps, sets=sets)


#: A further concern of the text: the effect of a bloated upstream on downloads.
ACKS = Experiment(
    "acks", "four downloads at 20 Mbit/s whose ACKs share 2 Mbit/s upstream with an upload",
    {"discipline": ("no upload", "droptail", "ack_class", "codel", "pie", "lred200", "sfq", "sfq_lred200", "fq_codel"), "buffer_ms": (50, 200, 2000)},
    ("download_mbit", "upload_mbit", "gamer_p50_ms", "gamer_p99_ms", "sojourn_p99_ms"), acks, named=True,
)  # fmt: skip

_LATENCY = ("gamer_p50_ms", "gamer_p99_ms")

CONSIDERATIONS: tuple[Experiment, ...] = tuple(
    Experiment(name, what, {"discipline": DISCIPLINES, **axes}, columns, case, named=True)
    for name, what, axes, columns, case in (
        ("ledbat", "five LEDBAT uploads beside 0 or 5 Reno sessions: does AQM blind LEDBAT? (its share; yielding would be 0)",
         {"others": (0, 5)}, (*_LATENCY, "background_share", "rate_mbit", "loss_percent", "cov_session"), _ledbat),
        ("sessions", "session bloat: 1 to 100 sessions, with the mean and the stability of their bandwidth", {"sessions": (1, 2, 5, 10, 20, 50, 100)},
         (*_LATENCY, "ftp_mean_ms", "loss_percent", "goodput_mbit", "cov_total", "cov_session", "fairness"), _case),
        ("low_rate", "service flows of 0.25 to 2 Mbit/s, ten sessions", {"tmax_mbit": (0.25, 0.5, 1.0, 2.0)},
         (*_LATENCY, "ftp_mean_ms", "rate_share", "loss_percent", "cov_session"), _case),
        ("bursts", "150 kB at once every 6 s beside five sessions", {"transport": ("tcp", "udp")},
         (*_LATENCY, "burst_p50_s", "burst_p99_s", "burst_done", "rate_mbit", "loss_percent", "cov_session"), _bursts),
        ("short", "short transfers that offer a part of Tmax, beside five sessions", {"load": (0.2, 0.5, 0.8)},
         (*_LATENCY, "short_p50_s", "short_p99_s", "rate_mbit", "loss_percent", "cov_session"), _short),
        ("rate_change", "20 and 5 Mbit/s in turn, 25 s each: the time after the step down", {"sessions": (5, 20)},
         (*_LATENCY, "worst_ms", "recover_s", "rate_up_share", "loss_percent"), _rate_change),
        ("video", "adaptive-bitrate video beside 2 or 5 downloads, through a buffer in the CMTS", {"sessions": (2, 5)},
         ("video_mbit", "video_switches", "video_stalls", "video_stalled_s", *_LATENCY, "rate_mbit", "loss_percent"), _video),
        ("swarm", "a BitTorrent seed (ten of fifty peers unchoked) over LEDBAT or Reno, beside a game and a call", {"swarm": ("ledbat", "reno")},
         (*_LATENCY, "call_p50_ms", "call_p99_ms", "call_lost_percent", "call_mos", "swarm_mbit", "loss_percent"), _swarm),
    )
)  # fmt: skip

#: Every experiment by name; those of `ALWAYS` and `TEXT` run without a request.
ASKED: Mapping[str, Experiment] = {e.name: e for e in (*ALWAYS, *TEXT, *PLAIN, ACKS, *CONSIDERATIONS)}
