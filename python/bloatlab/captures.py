"""IP packets of a capture, pcap or pcapng: of `bloatlab run --pcap` and `live --pcap`, of tcpdump, of Wireshark.

dpkt reads the file, the frames and the headers. Of a pcapng file with several interfaces all frames are read as the
first one's.

Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

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

#: Most packets of a file that are read for a picture: more are none.
MOST = 400_000

#: Most bytes of one record. Larger than any packet (tcpdump keeps 256 KiB), and than blocks of names and statistics.
MOST_RECORD = 16 << 20

#: What is read, for messages.
KNOWN = "expected pcap or pcapng (tcpdump -w, Wireshark) of raw IP, Ethernet or Linux cooked"

# dpkt comes without types
_reader: Any = dpkt.pcap.UniversalReader
_ip: Any = dpkt.ip.IP
_ip6: Any = dpkt.ip6.IP6
_broken: Any = (dpkt.UnpackError, ValueError, IndexError)

#: What reads a frame by the link type of its capture; none: it is an IP packet (LINKTYPE_RAW, and BSD's DLT_RAW).
_FRAMES: dict[int, Any] = {
    1: dpkt.ethernet.Ethernet,
    12: None,
    101: None,
    113: dpkt.sll.SLL,
    276: dpkt.sll2.SLL2,
}


class CaptureError(InputError):
    """No capture, or one of packets that are not read; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment. `t` in s; `length` of payload in bytes; `flow` is who sends to whom: addresses and ports."""

    t: float
    flow: tuple[bytes, int, bytes, int]
    sequence: int
    acknowledged: int
    length: int
    marked: bool


class Packets:
    """Time in s and packet (dpkt's IP or IP6) of each IP packet of a file, in its order.

    Raises `CaptureError`, `OSError`. One that was cut short ends there, and `cut` is true after it.
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
                raise CaptureError(f"{self.path}: no capture; {KNOWN}") from None
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
    """A file that knows whether it gave less than it was asked for, but something."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.short = False
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        """As a file does. Raises `CaptureError` for more than `MOST_RECORD`."""
        if not 0 <= size <= MOST_RECORD:
            raise CaptureError(f"a record of {size} bytes; at most {MOST_RECORD >> 20} MiB are read")
        data = self.file.read(size)
        self.short = 0 < len(data) < size
        return data


def _packet(of: Any, frame: bytes) -> Any:
    """The IP packet in a frame; None where there is none."""
    try:
        if of is None:
            return (_ip if frame[0] >> 4 == 4 else _ip6)(frame) if frame[0] >> 4 in {4, 6} else None
        inside = of(frame).data
    except _broken:
        return None
    return inside if isinstance(inside, (_ip, _ip6)) else None


def size(packet: Any) -> int:
    """Bytes of an IP packet, whatever part of it the capture kept."""
    return packet.len if isinstance(packet, _ip) else 40 + packet.plen


def segments(path: Path) -> Iterator[Segment]:
    """The TCP segments of the first `MOST` packets, in order. Raises `CaptureError`, `OSError`."""
    for t, packet in islice(Packets(path), MOST):
        tcp = packet.data
        if isinstance(tcp, dpkt.tcp.TCP):
            found: Any = tcp
            marked = (packet.tos if isinstance(packet, _ip) else packet.fc) & 3 == 3
            head = size(packet) - (4 * packet.hl if isinstance(packet, _ip) else 40)
            flow = packet.src, found.sport, packet.dst, found.dport
            yield Segment(t, flow, found.seq, found.ack, head - 4 * found.off, marked)
