"""What to type: TLVs of a modem's configuration file, lines of tc.

    24.35       Buffer Control of an upstream service flow (MULPI C.2.2.7.11), bytes, 4 octets each
      .1        Minimum Buffer
      .2        Target Buffer
      .3        Maximum Buffer
    24.40       AQM (MULPIv3.1 C.2.2.7.15)
      .1        AQM Disable: 0 leaves it on, 1 turns it off; 1 octet
      .2        AQM Latency Target, ms; 1 octet

Minimum and Maximum are the smallest and largest neighbouring buffer that may be set in the target's stead: tied with
the leader, or not separated from it and within five points on average.
"""

from __future__ import annotations

from dataclasses import dataclass

from bloatlab.advice.line import DOWN, UP
from bloatlab.advice.recommendation import Recommendation
from bloatlab.tables import number
from bloatlab.terminal import wrapped

BUFFER_CONTROL, AQM = 35, 40


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing to type: what it is, the lines, and how they are meant."""

    name: str
    lines: tuple[str, ...]
    note: str = ""


def settings(of: Recommendation) -> list[Setting]:
    """Everything that the device wants printed; nothing for a quick look, which has no verdict."""
    if of.question.quick:
        return []
    found: list[Setting] = []
    for what in of.question.device.prints:
        match what:
            case "buffer-control":
                found.append(_buffer_control(of))
            case "aqm":
                found.append(_aqm(of))
            case _:
                found.append(_tc(of))
    return found


def limits(of: Recommendation) -> tuple[int, int, int]:
    """Minimum, Target and Maximum Buffer, bytes: what is alike of the same discipline, without a gap between."""
    best = of.best.option
    same = sorted(
        (j.option.size, any(one is j for one in of.alike)) for j in of.judged if j.option.discipline is best.discipline
    )
    place = next(n for n, (size, _) in enumerate(same) if size == best.size)
    low = high = place
    while low > 0 and same[low - 1][1]:
        low -= 1
    while high < len(same) - 1 and same[high + 1][1]:
        high += 1
    return same[low][0], best.size, same[high][0]


def tlv(kind: int, value: bytes) -> bytes:
    """Type, length, value, as a configuration file has them. Raises `ValueError` beyond 254 octets."""
    if len(value) > 254:
        raise ValueError(f"TLV {kind}: {len(value)} octets are more than 254")
    return bytes([kind, len(value)]) + value


def _buffer_control(of: Recommendation) -> Setting:
    sizes = limits(of)
    names = ("Minimum Buffer", "Target Buffer", "Maximum Buffer")
    lines = [
        f"24.{BUFFER_CONTROL}.{n}  {name:<14}  {size} bytes"
        for n, (name, size) in enumerate(zip(names, sizes, strict=True), 1)
    ]
    inner = b"".join(tlv(n, min(size, 2**32 - 1).to_bytes(4, "big")) for n, size in enumerate(sizes, 1))
    lines.append(f"24.{BUFFER_CONTROL} in octets: {tlv(BUFFER_CONTROL, inner).hex(' ')}")
    note = "Minimum and Maximum are the smallest and the largest buffer that do as well as the target."
    if sizes[0] == sizes[2]:
        note = "No neighbouring size does as well, so that all three are the same."
    return Setting("DOCSIS Buffer Control, in the upstream service flow (TLV 24)", tuple(lines), note)


def _aqm(of: Recommendation) -> Setting:
    target = of.best.option.discipline.aqm_target_ms
    name = "DOCSIS AQM, in the upstream service flow (TLV 24)"
    if target is None:
        off = tlv(AQM, tlv(1, bytes([1])))
        return Setting(name, (f"24.{AQM}.1  AQM Disable         1", f"24.{AQM} in octets: {off.hex(' ')}"))
    inner = tlv(1, b"\x00") + tlv(2, bytes([target]))
    lines = (
        f"24.{AQM}.1  AQM Disable         0",
        f"24.{AQM}.2  AQM Latency Target  {target} ms",
        f"24.{AQM} in octets: {tlv(AQM, inner).hex(' ')}",
    )
    return Setting(name, lines)


def _tc(of: Recommendation) -> Setting:
    """What `bloatlab tc` prints of the link, up to where the box at its far end begins; both links if both are set."""
    scenario, both = of.scenario(), of.question.device.down is None
    lines = _until_far_end(scenario.tc(UP))
    if both:
        lines += [
            "",
            *(line for line in _until_far_end(scenario.tc(DOWN)) if not line.startswith(("# Run", "# Rates"))),
        ]
        there, here = "on isp, the interface towards router", "on router, the interface towards the home, or an IFB"
        lines = [line.replace(there, here) for line in lines]
    rates = f"{number(of.question.line.up / 1e6, 3)} Mbit/s"
    if both:
        rates += f" up and {number(of.question.line.down / 1e6, 3)} down"
    note = f"The shaper holds {rates}; take it a little below what the line carries, or the queue builds in the modem."
    return Setting("Linux", tuple(lines), note)


def typed(line: str, width: int) -> list[str]:
    """A line as a terminal of this width shows it: a command goes on behind a backslash, a comment behind a #."""
    if len(line) <= width:
        return [line]
    if line.startswith("#"):
        return [f"# {part}" for part in wrapped(line.removeprefix("# "), width - 2)]
    if not line.startswith(("tc ", "ethtool ")):
        return [line]
    *parts, last = wrapped(line, width - 2)
    return [f"{part} \\" for part in parts] + [last]


def _until_far_end(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line]
    end = next((n for n, line in enumerate(lines) if line.startswith("# on ")), len(lines))
    return lines[:end]
