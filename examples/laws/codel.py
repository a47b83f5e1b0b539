"""CoDel by RFC 8289 §5, with the loops of its pseudo-code; each `yield` gives a verdict and takes the next packet."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloatlab.laws import Packet, Verdict, View

MS = 1_000_000  # ns
MAXPACKET = 1514  # bytes


class CoDel:
    """Drops head packets at a growing rate, once the sojourn time has been above `target` for `interval`."""

    def __init__(self, target: int = 5 * MS, interval: int = 100 * MS) -> None:
        self.target, self.interval = target, interval
        self.first_above_time = 0
        self.drop_next = 0
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.heads = self.dequeue()
        next(self.heads)

    def head(self, packet: Packet, view: View) -> Verdict:
        """Decides about the packet at the head of the queue."""
        return self.heads.send(view)

    def empty(self, now_ns: int) -> None:
        """Handles an empty queue."""
        self.heads.send(None)

    def dequeue(self) -> Generator[Verdict, View | None, None]:
        """RFC 8289 §5.5: each turn of the outer loop sends one packet, or finds the queue empty."""
        view = yield "pass"
        while True:
            ok_to_drop = self.may_drop(view)
            if view and self.dropping:
                if not ok_to_drop:
                    self.dropping = False
                while self.dropping and view and view.now_ns >= self.drop_next:
                    view = yield "drop"
                    self.count += 1
                    if self.may_drop(view):
                        self.drop_next = self.control_law(self.drop_next)
                    else:
                        self.dropping = False
            elif view and ok_to_drop:
                now = view.now_ns
                view = yield "drop"
                self.may_drop(view)
                self.dropping = True
                # the growth of `count` in the last cycle is a good start value if that cycle was recent
                delta = self.count - self.lastcount
                self.count = delta if delta > 1 and now - self.drop_next < 16 * self.interval else 1
                self.drop_next = self.control_law(now)
                self.lastcount = self.count
            view = yield "pass"

    def may_drop(self, view: View | None) -> bool:
        """RFC 8289 §5.6: returns true if the delay has been above target for an interval."""
        if view is None or view.sojourn_ns < self.target or view.bytes <= MAXPACKET:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = view.now_ns + self.interval
        else:
            return view.now_ns >= self.first_above_time
        return False

    def control_law(self, t: int) -> int:
        """Returns the time of the next drop: the interval shrinks with the square root of `count`."""
        return t + int(self.interval / math.sqrt(self.count) + 0.5)
