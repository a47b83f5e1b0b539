"""Bulk flows, pings, datagrams and pages between h1 and h2, in one event loop."""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import math
import os
import random
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from network import LIBC, namespace, sysctl

Action = Callable[[], None]
Info = dict[str, float]

ZEROS = bytes(65536)
PAGE_BYTES = 177_669
REQUEST = b"GET / HTTP/1.0\r\n\r\n"
CLOCK_MONOTONIC = 1
#: Offsets in struct tcp_info (linux/tcp.h).
_INFO = {"srtt": 68, "ssthresh": 76, "cwnd": 80, "retrans": 100, "delivered": 192, "ce": 196}


class Clock:
    """Runs actions at their times, and when their sockets are ready."""

    def __init__(self) -> None:
        self._selector = selectors.EpollSelector()
        self._timers: list[tuple[float, int, Action]] = []
        self._count = 0
        # epoll's own timeout has a resolution of 1 ms
        self._timer = LIBC.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK)
        self._selector.register(self._timer, selectors.EVENT_READ, lambda: os.read(self._timer, 8))

    def at(self, when: float, action: Action) -> None:
        """Schedules `action` for `when` (`time.monotonic()`). Actions with equal times run in the order of calls."""
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, action))

    def readable(self, sock: socket.socket, action: Action) -> None:
        """Calls `action` whenever a socket can be read. Replaces the socket's earlier action."""
        self._watch(sock, selectors.EVENT_READ, action)

    def writable(self, sock: socket.socket, action: Action) -> None:
        """Calls `action` whenever a socket can be written. Replaces the socket's earlier action."""
        self._watch(sock, selectors.EVENT_WRITE, action)

    def _watch(self, sock: socket.socket, events: int, action: Action) -> None:
        known = sock.fileno() in self._selector.get_map()
        (self._selector.modify if known else self._selector.register)(sock, events, action)

    def close(self, sock: socket.socket) -> None:
        """Closes a socket that was watched."""
        self._selector.unregister(sock)
        sock.close()

    def run(self, end: float) -> None:
        """Runs until `time.monotonic()` reaches `end`."""
        self.at(end, lambda: None)
        while time.monotonic() < end:
            wait = max(1, round((self._timers[0][0] - time.monotonic()) * 1e9))
            interval_and_value = (ctypes.c_long * 4)(0, 0, wait // 10**9, wait % 10**9)
            LIBC.timerfd_settime(self._timer, 0, interval_and_value, None)
            for key, _ in self._selector.select():
                key.data()
            while self._timers and self._timers[0][0] <= time.monotonic():
                heapq.heappop(self._timers)[2]()


def _socket(host: str, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> socket.socket:
    with namespace(host):
        made = socket.socket(socket.AF_INET, kind, protocol)
    made.setblocking(False)
    return made


def _tcp(host: str, controller: str) -> socket.socket:
    made = _socket(host)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    return made


def _listener(host: str, controller: str, address: str, port: int) -> socket.socket:
    made = _tcp(host, controller)
    made.bind((address, port))
    made.listen(64)
    return made


class Flow:
    """A sender that always has data, and a receiver that reads at once."""

    def __init__(self, clock: Clock, group: dict[str, Any], port: int) -> None:
        self.group, self.port, self.received, self.started = group, port, 0, math.nan
        self._clock = clock
        ends = [("h1", group.get("src", "10.0.1.1")), ("h2", group.get("dst", "10.0.2.1"))]
        (self._host, self._own), (target, self._peer) = reversed(ends) if group.get("dir") == "up" else ends
        self._listener = _listener(target, group["cc"], self._peer, port)
        self._sender: socket.socket | None = None
        clock.readable(self._listener, self._accept)

    def start(self) -> None:
        """Connects, and sends from then on."""
        self.started = time.monotonic()
        sysctl(self._host, "net.ipv4.tcp_ecn", self.group.get("ecn", 2))
        sender = self._sender = _tcp(self._host, self.group["cc"])
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.group.get("tos", 0))
        sender.bind((self._own, 0))
        sender.connect_ex((self._peer, self.port))
        self._clock.writable(sender, lambda: self._write(sender))

    def info(self) -> Info | None:
        """Returns the sender's windows and counters in segments, and its round trip in ms. None before the start."""
        if self._sender is None:
            return None
        data = self._sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        found: Info = {name: struct.unpack_from("=I", data, at)[0] for name, at in _INFO.items()}
        return found | {"srtt": found["srtt"] / 1000}

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setblocking(False)
        self._clock.readable(sock, lambda: self._read(sock))

    @staticmethod
    def _write(sock: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.send(ZEROS)

    def _read(self, sock: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.received += len(sock.recv(1 << 20))


class Pings:
    """ICMP echoes with 56 bytes of data, every 100 ms. `found` has the sending time and RTT (ms) of each reply."""

    def __init__(self, clock: Clock, index: int, tos: int, first: float, end: float) -> None:
        self.found: list[tuple[float, float]] = []
        self._clock, self._ident, self._next, self._end = clock, 100 + index, first, end
        self._sent: dict[int, float] = {}
        self._sock = _socket("h1", socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self._sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        clock.readable(self._sock, self._read)
        clock.at(first, self._send)

    def _send(self) -> None:
        number = len(self._sent)
        words = (0x0800, self._ident, number)
        total = sum(words)
        checksum = ~(total + (total >> 16)) & 0xFFFF
        self._sent[number] = time.monotonic()
        self._sock.sendto(struct.pack("!4H", 0x0800, checksum, self._ident, number) + bytes(56), ("10.0.2.1", 0))
        self._next += 0.1
        if self._next < self._end:
            self._clock.at(self._next, self._send)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                kind, ident, number = struct.unpack_from("!Bxxx2H", self._sock.recv(2048), 20)
                if (kind, ident) == (0, self._ident):
                    self.found.append((self._sent[number], (time.monotonic() - self._sent[number]) * 1000))


class Datagrams:
    """A stream of datagrams with random gaps. `arrived` has the time of arrival and the payload in bytes."""

    def __init__(self, clock: Clock, index: int, udp: dict[str, Any], zero: float, dice: random.Random) -> None:
        self.udp = udp
        self.arrived: list[tuple[float, int]] = []
        self._clock, self._dice, self._to = clock, dice, ("10.0.2.1", 7000 + index)
        self._sock, self._far = _socket("h1", socket.SOCK_DGRAM), _socket("h2", socket.SOCK_DGRAM)
        self._sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, udp.get("tos", 0))
        self._far.bind(self._to)
        self._next, self._end = zero + udp["start_s"], zero + udp["stop_s"]
        clock.readable(self._far, self._read)
        clock.at(self._next, self._send)

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._sock.sendto(ZEROS[: self.udp["payload"]], self._to)
        self._next += 8 * self.udp["payload"] / self.udp["bps"] * self._dice.uniform(0.9, 1.1)
        if self._next < self._end:
            self._clock.at(self._next, self._send)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.arrived.append((time.monotonic(), len(self._far.recv(65536))))


class Pages:
    """Every 2 s, h2 connects to h1, sends a request, and reads a page. `found` has the start and duration of each."""

    def __init__(self, clock: Clock, controller: str, zero: float, end: float) -> None:
        self.found: list[tuple[float, float]] = []
        self._clock, self._controller, self._next, self._end = clock, controller, zero + 2.0, end
        self._listener = _listener("h1", controller, "10.0.1.1", 80)
        clock.readable(self._listener, self._accept)
        clock.at(self._next, self._connect)

    def _connect(self) -> None:
        begun, sock = time.monotonic(), _tcp("h2", self._controller)

        def request() -> None:
            sock.send(REQUEST)
            self._clock.readable(sock, read)

        def read() -> None:
            with contextlib.suppress(BlockingIOError):
                while sock.recv(1 << 20):
                    pass
                self.found.append((begun, time.monotonic() - begun))
                self._clock.close(sock)

        sock.connect_ex(("10.0.1.1", 80))
        self._clock.writable(sock, request)
        self._next += 2.0
        if self._next < self._end:
            self._clock.at(self._next, self._connect)

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        sock.setblocking(False)
        left = PAGE_BYTES

        def request() -> None:
            sock.recv(4096)
            self._clock.writable(sock, write)

        def write() -> None:
            nonlocal left
            with contextlib.suppress(BlockingIOError):
                while left:
                    left -= sock.send(ZEROS[: min(left, len(ZEROS))])
                self._clock.close(sock)

        self._clock.readable(sock, request)
