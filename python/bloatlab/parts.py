"""The parts by hand: one queue discipline, one TCP sender, for teaching, testing and one's own algorithms.

These are the machines that simulations run, without the simulation: time is an argument, in nanoseconds, and never goes
back. A discipline reports every fate of every packet:

    >>> from bloatlab import parts
    >>> queue = parts.discipline("droptail", limit="2p")
    >>> [queue.enqueue(0, 1500) for _ in range(3)]
    [[], [], [Fate(dropped number=2 reason=tail_full at enqueue)]]
    >>> queue.dequeue(1_000_000)
    (Packet(number=0, flow=0, size=1500, ecn="not-ect"), [])

A TCP sender is fed with ACKs (number, SACK blocks, time) and returns the segments it sends:

    >>> sender = parts.tcp_sender("rfc", mss=1460)
    >>> [s.seq for s in sender.write(0, 100_000)]
    [1, 1461, 2921]
    >>> [s.seq for s in sender.ack(100_000_000, 1461)]
    [4381, 5841]
    >>> sender.cwnd_bytes, sender.state, sender.rto_ms
    (5840, 'open', 1000.0)

The ECN field is given and told by word ("not-ect", "ect0", "ect1", "ce") or by the header's code.
"""

from __future__ import annotations

import json
from typing import Any

from bloatlab import _core
from bloatlab._core import Discipline, Fate, Packet, SentSegment, TcpSender

__all__ = ["Discipline", "Fate", "Packet", "SentSegment", "TcpSender", "discipline", "session_queues", "tcp_sender"]


def discipline(name: str, *, rate: str = "5mbit", seed: int = 1, **params: Any) -> Discipline:
    """One queue discipline by its name and parameters, as a scenario's `queue` has them.

    `rate` is that of the link behind it, which disciplines sized in time and some laws ask for; `seed` that of its
    random stream. `bloatlab list qdiscs` names disciplines and parameters. Raises `ScenarioError` for an unknown name,
    parameter or value.
    """
    return _core.Discipline(json.dumps({name: params}), rate, seed)


def session_queues(
    name: str, sessions: int, trials: int, *, seed: int = 1, **params: Any
) -> list[tuple[int, int, int]]:
    """Sessions with random 5-tuples through the classifier of a fair discipline, `trials` times.

    One entry for each of 1 to `sessions` active sessions: in how many trials any two share a queue, the first shares
    its queue, and the first is in a group with more sessions than queues. Raises `ScenarioError` for a discipline that
    is not valid, or gives sessions no queues of their own.
    """
    return _core.session_queues(json.dumps({name: params}), sessions, trials, seed)


def tcp_sender(preset: str = "linux-6", *, rtt: str | None = "100ms", **params: Any) -> TcpSender:
    """One connected TCP sender: a preset, and what differs from it, as a scenario's `tcp` table has them.

    `rtt` is the round trip that its handshake measured, None for a sender that has measured none yet.
    `bloatlab list tcp` names presets and parameters. Raises `ScenarioError` for an unknown name, parameter or value.
    """
    return _core.TcpSender(json.dumps({"preset": preset} | params), rtt)
