"""The shortest law: a packet that has waited too long is not worth sending."""


class Patience:
    """Drops every packet that has waited longer than `most` when it reaches the head of the queue."""

    def __init__(self, most=20_000_000):  # ns
        self.most = most

    def head(self, packet, view):
        return "drop" if view.sojourn_ns > self.most else "pass"
