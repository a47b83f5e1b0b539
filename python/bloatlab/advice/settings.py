"""The commands that apply a recommendation: TLVs for a modem's configuration file, and tc commands.

    24.35       Buffer Control of an upstream service flow (MULPI C.2.2.7.11), bytes, 4 octets each
      .1        Minimum Buffer
      .2        Target Buffer
      .3        Maximum Buffer
    24.40       AQM (MULPIv3.1 C.2.2.7.15)
      .1        AQM Disable: 0 leaves the AQM on, 1 turns it off; 1 octet
      .2        AQM Latency Target, ms; 1 octet

The Target Buffer is the size of the chosen setting. The Minimum Buffer is found by going down from there through the
simulated sizes of the same discipline, and stopping before the first size that is not good; the Maximum Buffer, by
going up. A size is good if it is one of those that may be chosen (see `recommendation.alike`).
"""

from dataclasses import dataclass

from bloatlab.advice.line import DOWN, UP
from bloatlab.advice.recommendation import Recommendation, alike
from bloatlab.tables import number
from bloatlab.terminal import wrapped

BUFFER_CONTROL, AQM = 35, 40


@dataclass(frozen=True, slots=True)
class Setting:
    """Lines for the user to enter in a shell or in a modem's configuration file, with a heading and an explanation."""

    name: str
    lines: tuple[str, ...]
    note: str = ""


def settings(of: Recommendation) -> list[Setting]:
    """Returns the commands that apply the choice, for each kind of command that the device's file lists in `prints`.

    The list is empty for a quick look, because a quick look does not choose a setting.
    """
    kinds = {"buffer-control": _buffer_control, "aqm": _aqm, "tc": _tc}
    return [] if of.question.quick else [kinds[kind](of) for kind in of.question.device.prints]


def limits(of: Recommendation) -> tuple[int, int, int]:
    """Returns the Minimum, Target and Maximum Buffer in bytes; the module docstring defines them."""
    best = of.best.option
    good = {id(one) for one in alike(of.raced, hopeless=bool(of.failing))}
    same = sorted((j.option.size, id(j) in good) for j in of.judged if j.option.discipline is best.discipline)
    low = high = next(n for n, (size, _) in enumerate(same) if size == best.size)
    while low > 0 and same[low - 1][1]:
        low -= 1
    while high < len(same) - 1 and same[high + 1][1]:
        high += 1
    return same[low][0], best.size, same[high][0]


def tlv(kind: int, value: bytes) -> bytes:
    """Encodes type, length and value as in a configuration file. Raises `ValueError` for more than 254 octets."""
    if len(value) > 254:
        raise ValueError(f"TLV {kind}: {len(value)} octets are more than 254")
    return bytes([kind, len(value)]) + value


def _octets(kind: int, inner: bytes) -> str:
    return f"24.{kind} in octets: {tlv(kind, inner).hex(' ')}"


def _buffer_control(of: Recommendation) -> Setting:
    sizes = limits(of)
    lines = [
        f"24.{BUFFER_CONTROL}.{n}  {name:<14}  {size} bytes"
        for n, (name, size) in enumerate(
            zip(("Minimum Buffer", "Target Buffer", "Maximum Buffer"), sizes, strict=True), 1
        )
    ]
    inner = b"".join(tlv(n, min(size, 2**32 - 1).to_bytes(4, "big")) for n, size in enumerate(sizes, 1))
    note = "From Minimum to Maximum, every buffer tried is as good as the target, as far as these runs can tell."
    if sizes[0] == sizes[2]:
        note = "No neighbouring size is as good, so all three are the same."
    name = "DOCSIS Buffer Control, in the upstream service flow (TLV 24)"
    return Setting(name, (*lines, _octets(BUFFER_CONTROL, inner)), note)


def _aqm(of: Recommendation) -> Setting:
    target = of.best.option.discipline.aqm_target_ms
    lines = [f"24.{AQM}.1  AQM Disable         {int(target is None)}"]
    inner = tlv(1, bytes([target is None]))
    if target is not None:
        lines.append(f"24.{AQM}.2  AQM Latency Target  {target} ms")
        inner += tlv(2, bytes([target]))
    return Setting("DOCSIS AQM, in the upstream service flow (TLV 24)", (*lines, _octets(AQM, inner)))


def _tc(of: Recommendation) -> Setting:
    """Returns the commands that `bloatlab tc` prints for the sending end of the upstream link.

    If the setting applies to both directions, the commands for the downstream link follow.
    """
    scenario, both = of.scenario(), of.question.device.down is None
    lines = _near_end(scenario.tc(UP))
    rates = f"{number(of.question.line.up / 1e6, 3)} Mbit/s"
    if both:
        down = [line for line in _near_end(scenario.tc(DOWN)) if not line.startswith(("# Run", "# Rates"))]
        there, here = "on isp, the interface towards router", "on router, the interface towards the home, or an IFB"
        lines = [line.replace(there, here) for line in [*lines, "", *down]]
        rates += f" up and {number(of.question.line.down / 1e6, 3)} down"
    note = f"The shaper's rate is {rates}; set it a little below the line's, or the queue builds in the modem."
    return Setting("Linux", tuple(lines), note)


def _near_end(text: str) -> list[str]:
    """Returns the part of the output of `bloatlab tc` for a link's sending end.

    The part for the receiving end begins with a line "# on HOST, ...".
    """
    lines = [line for line in text.splitlines() if line]
    end = next((n for n, line in enumerate(lines) if line.startswith("# on ")), len(lines))
    return lines[:end]


def typed(line: str, width: int) -> list[str]:
    """Wraps a comment, or a command of tc or ethtool, to `width`; other lines stay whole.

    Each line of a comment begins with #. Each line of a command except the last ends in a backslash.
    """
    if len(line) <= width:
        return [line]
    if line.startswith("#"):
        return [f"# {part}" for part in wrapped(line.removeprefix("# "), width - 2)]
    if not line.startswith(("tc ", "ethtool ")):
        return [line]
    *parts, last = wrapped(line, width - 2)
    return [f"{part} \\" for part in parts] + [last]
