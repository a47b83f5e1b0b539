"""TCP segments of a capture: classic pcap of raw IP packets, as `bloatlab run --pcap` (and `live --pcap`) write it.

Source: draft-ietf-opsawg-pcap (file), RFC 791 §3.1 (IPv4), RFC 8200 §3 (IPv6), RFC 9293 §3.1 (TCP).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Most packets of a file that are read: more are no picture.
MOST = 400_000

_MAGIC = {0xA1B23C4D: 1e-9, 0xA1B2C3D4: 1e-6}
_RAW = 101
_TCP = 6


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment. `t` in s; `length` of payload in bytes; `flow` is who sends to whom: addresses and ports."""

    t: float
    flow: tuple[bytes, int, bytes, int]
    sequence: int
    acknowledged: int
    length: int
    marked: bool

    @property
    def back(self) -> tuple[bytes, int, bytes, int]:
        """The flow of its answers."""
        source, port, to, port_to = self.flow
        return to, port_to, source, port


def segments(path: Path) -> Iterator[Segment]:
    """The TCP segments of a file, in order; one cut short ends there. Raises `ValueError` for what is no capture."""
    data = path.read_bytes()
    if len(data) < 24:
        raise ValueError(f"{path}: no capture: shorter than the head of one")
    (magic,) = struct.unpack_from("<I", data)
    (link,) = struct.unpack_from("<I", data, 20)
    if magic not in _MAGIC or link != _RAW:
        raise ValueError(f"{path}: no capture of raw IP packets (pcap, link type 101)")
    at = 24
    for _ in range(MOST):
        if at + 16 > len(data):
            return
        seconds, fraction, kept, whole = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        found = _segment(seconds + fraction * _MAGIC[magic], packet, whole)
        if found is not None:
            yield found


def _segment(t: float, packet: bytes, whole: int) -> Segment | None:
    """The TCP segment in an IP packet of `whole` bytes; None where it is none."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20 and packet[9] == _TCP:
        head, source, to, ecn = 4 * (packet[0] & 15), packet[12:16], packet[16:20], packet[1] & 3
    elif version == 6 and len(packet) >= 40 and packet[6] == _TCP:
        head, source, to, ecn = 40, packet[8:24], packet[24:40], packet[1] >> 4 & 3
    else:
        return None
    if len(packet) < head + 20:
        return None
    port, port_to, sequence, acknowledged, offset = struct.unpack_from(">HHIIB", packet, head)
    length = whole - head - 4 * (offset >> 4)
    return Segment(t, (source, port, to, port_to), sequence, acknowledged, length, ecn == 3)
