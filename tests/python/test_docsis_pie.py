"""DOCSIS-PIE against the pseudo-code of RFC 8034, written again as a law in Python; and why a download defeats it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from bloatlab import run
from bloatlab.scenario import from_dict

#: RFC 8034 Appendix A, line by line. The built-in law shares no code with it.
LAW = """
MS = 1_000_000
GAINS = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (0.1, 2), (1.0, 0.5), (10.0, 0.125))


class Rfc8034:
    def __init__(self, buffer=125_000):
        self.buffer, self.next_tick_ns = buffer, 0
        self.drop_prob = self.accu_prob = self.qdelay_old = 0.0
        self.burst_allowance = self.burst_reset = 0
        self.burst_state = "INACTIVE"

    def arrive(self, packet, view):
        if self.burst_allowance > 0:
            return "pass"
        if self.drop_prob == 0.0:
            self.accu_prob = 0.0
        if self.burst_state == "INACTIVE":
            if view.bytes < self.buffer / 3:
                return "pass"
            self.burst_state = "QUENCHING_BURST"
        p1 = min(self.drop_prob * packet.size / 1024, 0.85)
        self.accu_prob += p1
        if (self.qdelay_old < 0.005 and self.drop_prob < 0.2) or view.bytes <= 2 * 1024:
            return "pass"
        if self.accu_prob < 0.85 or (self.accu_prob < 8.5 and view.random() > p1):
            return "pass"
        if self.burst_state == "QUENCHING_BURST":
            self.burst_state, self.burst_allowance = "PROTECTING_BURST", 142 * MS
        self.accu_prob = 0.0
        return "drop"

    def overflow(self, now_ns):
        self.accu_prob = 0.0

    def tick(self, view):
        self.next_tick_ns = view.now_ns + 16 * MS
        qdelay = view.expected_delay_ns(view.bytes) / 1e9
        if self.burst_allowance > 0:
            self.drop_prob = 0.0
            self.burst_allowance -= 16 * MS
        else:
            p = 0.25 * (qdelay - 0.010) + 2.5 * (qdelay - self.qdelay_old)
            p /= next((gain for below, gain in GAINS if self.drop_prob < below), 0.03125)
            if self.drop_prob >= 0.1:
                p = min(p, 0.02)
            self.drop_prob += p
            if qdelay < 0.005 and self.qdelay_old < 0.005:
                self.drop_prob *= 0.98
            elif qdelay > 0.2:
                self.drop_prob += 0.02
            self.drop_prob = min(max(self.drop_prob, 0.0), 0.85 * 1024 / 64)
        quiet = max(qdelay, self.qdelay_old) < 0.005 and self.drop_prob == 0.0 and self.burst_allowance <= 0
        if self.burst_state == "PROTECTING_BURST" and quiet:
            self.burst_state, self.burst_reset = "QUENCHING_BURST", 0
        elif self.burst_state == "QUENCHING_BURST":
            self.burst_reset = self.burst_reset + 16 * MS if quiet else 0
            if self.burst_reset > 1000 * MS:
                self.burst_state, self.burst_reset = "INACTIVE", 0
        self.qdelay_old = qdelay
"""

BUILT_IN: dict[str, Any] = {"docsis_pie": {"limit": "125000B"}}
RFC: dict[str, Any] = {
    "python": {"law": "rfc8034.py:Rfc8034", "limit": "125000B", "source": {"rfc8034.py": LAW}},
}


def scenario(queue: Any, seed: int, other: Any) -> Any:
    """Returns an upload and a call over a DOCSIS 3.1 modem of 10 Mbit/s up, 50 Mbit/s down, round trip 40 ms."""
    apps: dict[str, Any] = {
        "call": {"from": "home", "to": ["far"], "traffic": {"voip": {}}},
        "upload": {"from": "home", "to": ["far"], "traffic": {"ftp": {}}},
    }
    modem = {"flow": {"max_sustained_rate": "10mbit"}}
    return {
        "seed": seed,
        "duration": "30s",
        "link": {
            "up": {"from": "home", "to": "isp", "delay": "1ms", "queue": queue, "docsis31": modem},
            "down": {"from": "isp", "to": "home", "delay": "1ms", "rate": "50mbit", "queue": BUILT_IN},
            "far": {"from": "isp", "to": "far", "both_ways": True, "delay": "19ms"},
        },
        "app": apps | ({} if other is None else {"other": {"from": "home", "to": ["far"], "traffic": other}}),
        "record": {"links": ["up"], "apps": [], "warm_up": "5s"},
    }


DOWNLOAD: dict[str, Any] = {"ftp": {"direction": "down"}}
#: Packets of the size and rate of the download's ACKs, at a steady pace.
STEADY: dict[str, Any] = {"cbr": {"rate": "700kbit", "size": "52B"}}


@cache
def waits(law: str, load: str, beta: float = 2.5) -> tuple[float, float]:
    """Returns the mean time in the queue in ms, and the standard deviation of the change of the predicted delay between
    two updates, in ms (0 for the law in Python, which is not traced).
    """
    queue = {"rfc": RFC, "built in": {"docsis_pie": {**BUILT_IN["docsis_pie"], "beta": beta}}}[law]
    other = {"alone": None, "download": DOWNLOAD, "steady": STEADY}[load]
    means: list[float] = []
    changes: list[float] = []
    for seed in (1, 2, 3, 4):
        data = scenario(queue, seed, other)
        if law == "built in":
            data["trace"] = {"links": ["up"], "interval": "16ms"}
        result = run(from_dict(data, source="docsis_pie"))
        means.append(result.summary["links"]["up"]["sojourn_ms"]["mean"])
        if law == "built in":
            trace = result.trace("links").filter((pl.col("link") == "up") & (pl.col("t_s") > 5.0))
            changes.append(float(np.std(np.diff(trace["qdelay_old_ms"].to_numpy()))))
    return float(np.mean(means)), float(np.mean(changes)) if changes else 0.0


@pytest.mark.parametrize(("load", "within"), [("alone", 0.1), ("download", 0.3)])
def test_docsis_pie_queues_as_the_pseudo_code_does(load: str, within: float):
    assert waits("built in", load)[0] == pytest.approx(waits("rfc", load)[0], rel=within)


def test_bursts_of_acks_and_not_their_number_defeat_docsis_pie():
    """The ACKs of a download come in bursts, so the predicted delay jumps, and each fall lowers the drop probability.

    If packets of the ACKs' size and rate are sent at a steady pace, the time in the queue changes little. With a
    smaller `beta`, a fall of the predicted delay lowers the drop probability less.
    """
    (alone, calm), (download, jumps), (steady, _) = (
        waits("built in", load) for load in ("alone", "download", "steady")
    )
    assert download > 1.4 * alone
    assert steady < 1.2 * alone
    assert jumps > 2.0 * calm
    assert waits("built in", "download", 0.25)[0] < 0.75 * download
