"""What doc 000 states and arithmetic decides: no run needed. Hash collisions are in `bloatlab.collisions`."""

from __future__ import annotations


def peak_rate_mbit(buffer_kb: float, rtt_ms: float) -> float:
    """Table 1: the rate of one TCP session whose window is the buffer, W / RTT, in Mbit/s; kB = 1000 bytes."""
    return buffer_kb * 8.0 / rtt_ms


def drain_s(kilobytes: float, rate_mbit: float) -> float:
    """Seconds that a buffer of `kilobytes` takes to empty."""
    return kilobytes * 8e-3 / rate_mbit
