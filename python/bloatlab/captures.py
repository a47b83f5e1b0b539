"""Reads IP packets from captures (pcap or pcapng) made by `bloatlab run --pcap`, `live --pcap`, tcpdump or Wireshark.

dpkt reads the file, its frames and their headers. In a pcapng file with several interfaces, all frames are read with
the link type of the first interface.

Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import dpkt
import dpkt.pcap
import dpkt.sll
import dpkt.sll2

from bloatlab.errors import InputError

#: Maximum number of packets read from a file for a plot.
MOST = 400_000

#: Maximum record size in bytes. No packet (tcpdump keeps 256 KiB), name block or statistics block is larger.
MOST_RECORD = 16 << 20

#: The supported formats, for error messages.
KNOWN = "expected pcap or pcapng (tcpdump -w, Wireshark) of raw IP, Ethernet or Linux cooked"

# dpkt has no type annotations
_reader: Any = dpkt.pcap.UniversalReader
_ip: Any = dpkt.ip.IP
_ip6: Any = dpkt.ip6.IP6
_broken: Any = (dpkt.UnpackError, ValueError, IndexError)

#: For each link type, the parser of a frame; None if the frame is the IP packet itself (101 is LINKTYPE_RAW, and 12 is
#: DLT_RAW on most systems).
_FRAMES: dict[int, Any] = {
    1: dpkt.ethernet.Ethernet,
    12: None,
    101: None,
    113: dpkt.sll.SLL,
    276: dpkt.sll2.SLL2,
}


class CaptureError(InputError):
    """A file that is not a capture, or has an unsupported link type or too large a record; the message is one line."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment. `t` is in s, `length` is the payload in bytes, `flow` is (source, port, destination, port)."""

    t: float
    flow: tuple[bytes, int, bytes, int]
    sequence: int
    acknowledged: int
    length: int
    marked: bool


class Packets:
    """Iterates over the IP packets of a file as (time in s, dpkt's IP or IP6), in file order.

    Stops where a truncated file ends, and sets `cut`. Raises `CaptureError`, `OSError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = False

    def __iter__(self) -> Iterator[tuple[float, Any]]:
        with self.path.open("rb") as file:
            watched = _Watched(file)
            try:
                reader = _reader(watched)
            except CaptureError as error:
                raise CaptureError(f"{self.path}: {error}") from None
            except _broken:
                raise CaptureError(f"{self.path}: not a capture; {KNOWN}") from None
            kind = reader.datalink()
            if kind not in _FRAMES:
                raise CaptureError(f"{self.path}: a capture of link type {kind}; {KNOWN}")
            frames = iter(reader)
            while not watched.short:
                try:
                    t, frame = next(frames)
                except CaptureError as error:
                    raise CaptureError(f"{self.path}: {error}") from None
                except (StopIteration, *_broken):
                    break
                packet = _packet(_FRAMES[kind], frame)
                if packet is not None and not watched.short:
                    yield t, packet
            self.cut = watched.short


class _Watched:
    """A file that records whether its last read returned some of the requested bytes, but not all."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.short = False
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        """Reads up to `size` bytes. Raises `CaptureError` if `size` is negative or above `MOST_RECORD`."""
        if not 0 <= size <= MOST_RECORD:
            raise CaptureError(f"a record of {size} bytes; at most {MOST_RECORD >> 20} MiB are supported")
        data = self.file.read(size)
        self.short = 0 < len(data) < size
        return data


def _packet(of: Any, frame: bytes) -> Any:
    """Returns the IP packet in a frame, or None."""
    try:
        if of is None:
            return (_ip if frame[0] >> 4 == 4 else _ip6)(frame) if frame[0] >> 4 in {4, 6} else None
        inside = of(frame).data
    except _broken:
        return None
    return inside if isinstance(inside, (_ip, _ip6)) else None


def size(packet: Any) -> int:
    """Returns the length of an IP packet in bytes, even if the capture truncated it."""
    return packet.len if isinstance(packet, _ip) else 40 + packet.plen


def segments(path: Path) -> Iterator[Segment]:
    """Yields the TCP segments of the first `MOST` packets, in order. Raises `CaptureError`, `OSError`."""
    for t, packet in islice(Packets(path), MOST):
        tcp = packet.data
        if isinstance(tcp, dpkt.tcp.TCP):
            found: Any = tcp
            marked = (packet.tos if isinstance(packet, _ip) else packet.fc) & 3 == 3
            head = size(packet) - (4 * packet.hl if isinstance(packet, _ip) else 40)
            flow = packet.src, found.sport, packet.dst, found.dport
            yield Segment(t, flow, found.seq, found.ack, head - 4 * found.off, marked)
