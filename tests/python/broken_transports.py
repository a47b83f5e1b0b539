"""Transports for the tests of `bloatlab judge`: one that responds to losses and marks, one that does not, and one that
fails.
"""

from __future__ import annotations

#: Initial slow-start threshold in datagrams.
SLOW_START = 64.0


class Aimd:
    """Sends numbered datagrams endlessly. Its window doubles per round trip in slow start, and then grows by one per
    round trip. After a loss or a mark, it is halved, at most once per round trip. After a timeout, it is one.

    A receiver returns the number of each datagram and whether it was marked. A datagram whose number is missing is
    lost, because the paths of the tests keep the order. After a second without acknowledgements, all datagrams in
    flight count as lost, and the timeout doubles.
    """

    kept = 0.5

    def __init__(self, to: tuple[str, int] | None = None) -> None:
        self.to = to
        self.replies: list[tuple[tuple[str, int], bytes, int]] = []
        self.window, self.slow_start = 10.0, SLOW_START
        self.next = self.first = self.recovered_at = 0
        self.timeout, self.wait = 1_000_000_000, 1_000_000_000

    def handle(self, now_ns, datagram):
        number = int.from_bytes(datagram.data[:8], "big")
        if self.to is None:
            self.replies.append((datagram.sender, datagram.data[:8] + bytes([datagram.ecn == 3]), 0))
            return
        congested = number > self.first or datagram.data[8] == 1
        self.first = max(self.first, number + 1)
        self.wait = 1_000_000_000
        self.timeout = now_ns + self.wait
        if congested and number >= self.recovered_at:
            self.window = self.slow_start = max(2.0, self.window * self.kept)
            self.recovered_at = self.next
        elif not congested:
            self.window += 1.0 if self.window < self.slow_start else 1.0 / self.window

    def poll_transmit(self, now_ns):
        if self.replies:
            return self.replies.pop(0)
        if self.to is None or self.next - self.first >= self.window:
            return None
        self.timeout = max(self.timeout, now_ns + self.wait) if self.next == self.first else self.timeout
        self.next += 1
        return self.to, (self.next - 1).to_bytes(8, "big") + bytes(1440), 2

    def next_timeout(self):
        return None if self.to is None else self.timeout

    def on_timeout(self, now_ns):
        self.first = self.recovered_at = self.next
        self.window = 1.0
        self.wait *= 2
        self.timeout = now_ns + self.wait


class Deaf(Aimd):
    """Does not reduce its window after losses or marks, except at a timeout."""

    kept = 1.0


class Fails(Aimd):
    """Raises an error at its first timeout."""

    def on_timeout(self, now_ns):
        raise ConnectionError("the connection is lost")
