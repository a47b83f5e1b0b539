"""The simulator's state machines, to drive step by step: a queue discipline or a TCP sender.

For teaching, testing and your own algorithms. Simulations run the same machines. Here you pass the time to each call,
in nanoseconds; it must not decrease. A discipline reports the fate of every packet:

    >>> from bloatlab import machines
    >>> queue = machines.discipline("droptail", limit="2p")
    >>> [queue.enqueue(0, 1500) for _ in range(3)]
    [[], [], [Fate(dropped number=2 reason=tail_full at enqueue)]]
    >>> queue.dequeue(1_000_000)
    (Packet(number=0, flow=0, size=1500, ecn="not-ect"), [])

A TCP sender takes ACKs (time, number, SACK blocks) and returns the segments it sends:

    >>> sender = machines.tcp_sender("rfc", mss=1460)
    >>> [s.seq for s in sender.write(0, 100_000)]
    [1, 1461, 2921]
    >>> [s.seq for s in sender.ack(100_000_000, 1461)]
    [4381, 5841]
    >>> sender.cwnd_bytes, sender.state, sender.rto_ms
    (5840, 'open', 1000.0)

The ECN field is given by name ("not-ect", "ect0", "ect1", "ce") or by its code point in the header.
"""

import json
from typing import Any

from bloatlab import _core
from bloatlab._core import Discipline, Fate, Packet, SentSegment, TcpSender

__all__ = ["Discipline", "Fate", "Packet", "SentSegment", "TcpSender", "discipline", "session_queues", "tcp_sender"]


def discipline(name: str, *, rate: str = "5mbit", seed: int = 1, **params: Any) -> Discipline:
    """Makes a queue discipline from its name and parameters, as in a scenario's `queue`.

    `rate` is the rate of the link behind the discipline; it is needed for limits given as a time, and by some laws.
    `seed` is the seed of the discipline's random numbers. `bloatlab list qdiscs` lists disciplines and parameters.
    Raises `ScenarioError` for an unknown name, parameter or value.
    """
    return _core.Discipline(json.dumps({name: params}), rate, seed)


def session_queues(
    name: str, sessions: int, trials: int, *, seed: int = 1, **params: Any
) -> list[tuple[int, int, int]]:
    """Classifies sessions with random 5-tuples using a fair queueing discipline, `trials` times.

    Returns one entry for each number of active sessions from 1 to `sessions`. An entry contains the number of trials
    in which at least two sessions share a queue, in which the first session shares its queue, and in which the first
    session is in a group with more sessions than queues. With serial search, the hash of a session selects a group of
    queues; with any other classifier, each queue is a group of its own. Raises `ScenarioError` for an invalid
    discipline, or for one without queues per session.
    """
    return _core.session_queues(json.dumps({name: params}), sessions, trials, seed)


def tcp_sender(preset: str = "linux-6", *, rtt: str | None = "100ms", **params: Any) -> TcpSender:
    """Makes a connected TCP sender from a preset and the parameters that differ from it, as in a scenario's `tcp`.

    `rtt` is the round-trip time measured in the handshake; with None, the sender has no sample yet. `bloatlab list tcp`
    lists presets and parameters. Raises `ScenarioError` for an unknown name, parameter or value.
    """
    return _core.TcpSender(json.dumps({"preset": preset} | params), rtt)
