"""Statements in ARRIS 2013 decided by arithmetic. Hash collisions are in `bloatlab.collisions`."""

from __future__ import annotations

from bloatlab import machines


def peak_rate_mbit(buffer_kb: float, rtt_ms: float) -> float:
    """Returns the rate in Mbit/s of one TCP session whose window W equals the buffer: W / RTT, as in Table 1.

    1 kB is 1000 bytes.
    """
    return buffer_kb * 8.0 / rtt_ms


def queue_wait(ahead: int, service: float) -> float:
    """Returns how long a packet waits in a FIFO behind `ahead` packets, each of which takes the time `service` to send.

    The wait is measured by running the drop-tail queue.
    """
    queue = machines.discipline("droptail", limit=f"{ahead + 1}p")
    for _ in range(ahead + 1):
        if queue.enqueue(0, 1500):
            raise ValueError("the queue dropped a packet, although it has room for all packets")
    for turn in range(ahead + 1):
        packet, _ = queue.dequeue(turn)
        if packet is not None and packet.number == ahead:
            return turn * service
    raise ValueError("the last packet never left the queue")


def drain_s(kilobytes: float, rate_mbit: float) -> float:
    """Returns the time in s for a buffer of `kilobytes` to empty."""
    return kilobytes * 8e-3 / rate_mbit
