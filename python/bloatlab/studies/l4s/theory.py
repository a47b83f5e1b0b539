"""Closed forms of DualPI2 and of the flows in it.

Source: RFC 9332 §2 and Appendix C; RFC 9331. Units: ms, Mbit/s, packets.

Reno at p_C       W = sqrt(3/2) / sqrt(p_C) = 1.22 / p'      p_C = p'^2
DCTCP at p_CL     W = 2 / p_CL                               p_CL = k p',  k = 2
so                r_L / r_C = (2 / k) (R_C / R_L) / 1.22     R_C = rtt + target,  R_L = rtt + L's delay,
                                                             with Prague 25 ms at least
unresponsive      p_C = 1 - C / A                            the excess over the link's rate is dropped
L behind C        P(wait > x) = s (1 - x / T)                an arrival in L waits for the packet of C that is in
                                                             transmission; T is the time to send a packet, s the share
                                                             of C's packets

W is a flow's window, r its rate, R its round-trip time. L and C are the low-latency and the classic queue, and p' is
the base probability from which p_C and p_CL follow. In 1 - C / A, C is the link's rate and A the arrival rate.
"""

from __future__ import annotations

import math

#: Times in ms: the target delay of DualPI2's classic queue, the delay at which the step threshold keeps the low-latency
#: queue, and Prague's minimum virtual round trip.
TARGET, STEP, PRAGUE = 15.0, 1.0, 25.0
#: The coupling factor k.
COUPLING = 2.0
#: Reno's constant: sqrt(3/2).
RENO = math.sqrt(1.5)


def scalable_over_classic(rtt: float, *, scaled: bool) -> float:
    """Returns the rate of an L4S flow divided by the rate of a Reno flow with the same base round trip.

    The docstring of this module gives the formula for r_L / r_C. With `scaled`, a round trip of the L4S flow that is
    below 25 ms counts as 25 ms, as in Prague 0.7.
    """
    seen = max(rtt + STEP, PRAGUE) if scaled else rtt + STEP
    return (2.0 / COUPLING) * (rtt + TARGET) / seen / RENO


def window(rate: float, rtt: float, packet: int = 1500) -> float:
    """Returns the packets in flight for a flow that fills the link and holds the queueing delay at the target."""
    return rate * 1e3 * (rtt + TARGET) / (8.0 * packet)


def reno_drops(rate: float, rtt: float) -> float:
    """Returns the drop probability p_C that a single Reno flow meets in the classic queue: 1.5 / W^2."""
    return 1.5 / window(rate, rtt) ** 2


def step_marks(rate: float, rtt: float, packet: int = 1500) -> float:
    """Returns the share of a single DCTCP flow's packets that a step marks: sqrt(2 / W).

    This assumes that, in each round trip, the step marks either all of the flow's packets or none.
    """
    return math.sqrt(2.0 / (rate * 1e3 * (rtt + STEP) / (8.0 * packet)))


def excess(offered: float) -> float:
    """Returns the drop probability p_C of unresponsive datagrams that are sent at `offered` times the link's rate."""
    return 1.0 - 1.0 / offered


def coupled(p_c: float) -> float:
    """Returns the low-latency queue's marking probability if the classic queue drops with p_C.

    The probability is k sqrt(p_C), but at most 1.
    """
    return min(COUPLING * math.sqrt(p_c), 1.0)


def overshoot(flows: int, rtt: float, packet_ms: float, *, scaled: bool) -> float:
    """Returns how much the queue grows, in ms, in the round trip that passes before the Prague senders receive marks.

    Each flow adds one segment. With `scaled`, each flow adds only (rtt / 25 ms)^2 segments if its round trip is shorter
    than 25 ms.
    """
    return flows * (min(rtt / PRAGUE, 1.0) ** 2 if scaled else 1.0) * packet_ms


def floor_wait(flows: int, rtt: float, packet_ms: float) -> float:
    """Returns how long a packet waits, in ms, if every flow has the minimum window, which is two segments."""
    return max(2.0 * flows * packet_ms - rtt, 0.0)


def under_way(packet_ms: float, share: float = 0.5) -> float:
    """Returns a lower bound, in ms, on the 99th percentile of the waiting time in the low-latency queue L.

    A packet that arrives in L while the link is sending a packet of the classic queue C must wait until that
    transmission ends, even if L is empty. `share` is C's share of the packets.
    """
    return packet_ms * max(1.0 - 0.01 / share, 0.0)
