"""The settings that a device offers on a line: disciplines with buffers, each given as a scenario's queue.

A discipline's `buffers` may contain:

    around      1/4 of the minimum BDP, doubled until 8 times the maximum is reached, and the BDP of each round trip
    4bdp        four times the maximum BDP
    50ms        the bytes that the line sends in 50 ms at the sustained rate
    417p        417 packets of 1500 bytes (1514 in tc)
    60KB        60 000 bytes

The sizes that the device's `today` and `standard` name are added. The minimum is two full packets, or the discipline's
`least` if that is larger. Smaller sizes are raised to the minimum. Only a size in packets is refused instead, because
the setting's name contains it. If two sizes are within a twelfth of each other, only one is kept, preferably
today's, then one that a standard names, then a BDP or a size given in packets or bytes.

If a device's setting applies to both directions, the downstream uses the same discipline. Its buffer has the same
number of packets or bytes if the device's file gives the size in these units; otherwise, both buffers drain in the same
time.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bloatlab.advice.catalogue import PLACEHOLDER, AdviceError, Device, Discipline
from bloatlab.advice.line import Line, Queues, amount
from bloatlab.errors import nearest

#: A full packet has `PACKET` bytes in a scenario, and `FRAME` bytes in tc, which also counts the Ethernet header.
PACKET, FRAME = 1500, 1514

#: The buffer sizes for "around" increase in steps of the factor `STEP` from `LEAST` BDPs at the shortest round trip to
#: `MOST` BDPs at the longest. Sizes whose relative distance is at most `NEAR` count as equal.
LEAST, MOST, STEP, NEAR = 0.25, 8.0, 2.0, 1.0 / 12.0

#: The largest buffer, in bytes.
MOST_BYTES = 1e12


@dataclass(frozen=True, slots=True)
class Option:
    """A discipline with a buffer of `size` bytes, which drains in `ms` at the sustained rate.

    `given` is the size as written in the device's file, if it is in packets or bytes.
    """

    discipline: Discipline
    size: int
    ms: float
    queues: Queues
    given: str = ""

    @property
    def name(self) -> str:
        """The name in tables: "droptail 50 ms", "fq_codel 10240 p", "docsis-pie-t40 250 ms"."""
        return f"{self.discipline.name} {self._size}"

    @property
    def words(self) -> str:
        """The name in sentences: "drop-tail with 50 ms of buffer", "DOCSIS-PIE, target 40 ms, buffer 250 ms"."""
        size = self._size.replace(" p", " packets")
        if self.discipline.aqm_target_ms is not None:
            return f"{self.discipline.label}, buffer {size}"
        return f"{self.discipline.words} with {size} of buffer"

    @property
    def counts_bytes(self) -> bool:
        """True if the queue's limit is in bytes."""
        return "bytes" in self.discipline.placeholders

    @property
    def _size(self) -> str:
        if not self.given:
            return f"{self.ms / 1e3:.3g} s" if self.ms >= 999.5 else f"{self.ms:.3g} ms"
        if self.given.endswith("p"):
            return self.given.replace("p", " p")
        return f"{self.size / 1e6:.3g} MB" if self.size >= 1e6 else f"{self.size / 1e3:.3g} kB"


def options(device: Device, line: Line) -> list[Option]:
    """Returns all settings of the device. Raises `AdviceError`.

    The disciplines are in the order of the device's file, and each discipline's buffer sizes are in ascending order.
    """
    found: list[Option] = []
    named = [_setting(device, key, text, line) for key, text in _named(device)]
    for discipline in device.disciplines:
        own = {text: size for of, text, size in named if of is discipline}
        where = f"{device.name}: discipline {discipline.name}: buffers:"
        tried = {text: bytes_of(text, line, where, discipline) for text in discipline.buffers if text != "around"} | own
        given = {size: text for text, size in tried.items() if re.fullmatch("[0-9.]+(p|[kKMG]?B)", text)}
        # the order of preference among near sizes; a size without a place comes last
        first = dict.fromkeys(own.values())
        places = dict.fromkeys([*given, *(round(line.bdp(rtt)) for rtt in line.rtts)], len(first))
        places |= {size: n for n, size in enumerate(first)}
        sizes: list[int] = []
        for size in sorted({*tried.values(), *(_around(discipline, line) if "around" in discipline.buffers else ())}):
            if not sizes or size > sizes[-1] * (1.0 + NEAR):
                sizes.append(size)
            elif places.get(size, math.inf) < places.get(sizes[-1], math.inf):
                sizes[-1] = size
        found += [option(device, discipline, size, line, given.get(size, "")) for size in sizes]
    return found


def option(device: Device, discipline: Discipline, size: int, line: Line, given: str = "") -> Option:
    """Makes a setting from a discipline and a buffer of `size` bytes."""
    if device.down is None:
        down = _filled(
            discipline.queue, size if given else least(size * line.down / line.up, line, discipline), line.down
        )
    else:
        there = Line(line.down, line.down, line.rtts)
        down = _filled(
            device.down.queue, bytes_of(device.down.buffer, there, f"{device.name}: down.buffer:"), line.down
        )
    return Option(discipline, size, size * 8e3 / line.up, Queues(_filled(discipline.queue, size, line.up), down), given)


def _filled(queue: Mapping[str, Any], size: int, rate: float) -> Mapping[str, Any]:
    """Fills in {bytes}, {packets} and {rate} in a queue, for a buffer of `size` bytes and a rate in bit/s."""
    values = {"bytes": size, "packets": max(2, round(size / PACKET)), "rate": round(rate)}

    def filled(of: Any) -> Any:
        match of:
            case str():
                return re.sub(PLACEHOLDER, lambda m: str(values[m[1]]), of)
            case Mapping():  # a `source` is the text of a law in Python
                return {key: one if key == "source" else filled(one) for key, one in of.items()}
            case list():
                return [filled(one) for one in of]
            case _:
                return of

    return filled(queue)


def bytes_of(text: str, line: Line, where: str, of: Discipline | None = None) -> int:
    """Parses a size such as "50ms", "417p", "4bdp" or "60KB" into bytes; `where` begins the message of an error.

    `of` is the discipline that has the buffer. Raises `AdviceError`.
    """
    if found := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)bdp", text):
        size = float(found[1]) * line.bdp(line.rtts[-1])
    elif found := re.fullmatch(r"([0-9]+)p", text):
        packets = float(found[1])
        if packets * FRAME < (lowest := least(0, line, of)):
            raise AdviceError(f"{where} {text[:80]} is not valid; expected at least {math.ceil(lowest / FRAME)}p")
        size = packets * PACKET
    elif text.endswith("s"):
        size = amount(where, text, "a duration") * line.up / 8.0
    else:
        size = amount(where, text, "a size")
    if not 0 < size <= MOST_BYTES:
        raise AdviceError(f"{where} {text[:80]} is not above 0 and at most {MOST_BYTES / 1e12:g} TB")
    return least(size, line, of)


def _around(of: Discipline, line: Line) -> Iterator[int]:
    size, end = LEAST * line.bdp(line.rtts[0]), MOST * line.bdp(line.rtts[-1])
    while size < end:
        yield least(size, line, of)
        size *= STEP
    yield least(end, line, of)
    yield from (least(line.bdp(rtt), line, of) for rtt in line.rtts)


def least(size: float, line: Line, of: Discipline | None) -> int:
    """Rounds a size to whole bytes and raises it to the smallest allowed buffer.

    The smallest allowed buffer is two full packets, or the `least` of the discipline `of`, if that is larger.

    Raises `AdviceError`.
    """
    own = bytes_of(of.least, line, f"discipline {of.name}: least:") if of is not None else 0
    return max(2 * FRAME, own, round(size))


def today(device: Device, line: Line) -> tuple[Discipline, int]:
    """Returns the device's default discipline, and its buffer in bytes. Raises `AdviceError`."""
    discipline, _, size = _setting(device, "today", device.today, line)
    return discipline, size


def standards(device: Device, line: Line) -> list[tuple[Discipline, int]]:
    """Returns the settings named by the device's standard or a guideline, in order of preference.

    Raises `AdviceError`.
    """
    settings = (_setting(device, "standard", text, line) for text in device.standard)
    return [(discipline, size) for discipline, _, size in settings]


def _named(device: Device) -> Iterator[tuple[str, str]]:
    yield "today", device.today
    yield from (("standard", text) for text in device.standard)


def _setting(device: Device, key: str, text: str, line: Line) -> tuple[Discipline, str, int]:
    """Parses a setting such as "droptail 1s".

    Returns the device's discipline of this name, and the buffer's size as written and in bytes.

    `key` is the key of the device's file that contains the setting; error messages name it.
    """
    name, _, size = text.partition(" ")
    known = {d.name: d for d in device.disciplines}
    if name not in known or not size:
        why = f"is not a discipline and a size, such as droptail 1s{nearest(name, known)}"
        raise AdviceError(f"{device.name}: {key}: {text[:80]} {why}")
    return known[name], size, bytes_of(size, line, f"{device.name}: {key}:", known[name])
