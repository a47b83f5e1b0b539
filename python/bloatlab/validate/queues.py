"""Parses Linux queue disciplines in tc's syntax, and adds the parameters with which bloatlab behaves like the kernel.

    pfifo limit 20
    fq_codel noecn target 10ms
    ROOT cake bandwidth 5mbit besteffort

With ROOT, the discipline does its own shaping; otherwise it is the child of a shaper. Parameters not given
take the kernel's defaults. Source: tc(8) and the manual page of each discipline.
"""

import functools
from collections.abc import Mapping
from typing import Any

from bloatlab.scenario import ScenarioError, from_dict, problems, quantity

#: Words inserted after a discipline's name where bloatlab's default differs from the kernel's. With `header 14`, cake
#: assumes that packet sizes include the 14 bytes of the Ethernet header. In pie and fq_pie, the timer of 15 ms expires
#: a tick late: with HZ = 1000, every 16 ms (docs/validation.md).
KERNEL: Mapping[str, str] = {
    "codel": "variant linux",
    "fq_codel": "variant linux",
    "pie": "variant linux tupdate 16ms",
    "fq_pie": "variant linux tupdate 16ms",
    "sfq": "variant linux",
    "red": "bandwidth 10mbit",
    "cake": "header 14",
}


class NotSupportedError(ValueError):
    """Raised for a feature that bloatlab does not support. The message names the feature."""


def shapes(text: str) -> bool:
    """Returns whether a discipline replaces the shaper."""
    return text.split()[:1] == ["ROOT"]


def queue_of(text: str, rate_bps: int) -> str:
    """Returns a discipline in tc's syntax, without ROOT and with the words of `KERNEL`. Raises `NotSupportedError`.

    `rate_bps` is the rate of the link, which cake's own shaper must not exceed.
    """
    words = text.split()[1 if shapes(text) else 0 :]
    added = KERNEL.get("".join(words[:1]), "").split()
    words[1:1] = [word for at in range(0, len(added), 2) if added[at] not in words for word in added[at : at + 2]]
    queue = " ".join(words)
    ((kind, parameters),) = _table(queue).items()
    if kind == "red" and "limit" not in words:
        raise NotSupportedError("red without a limit, which tc also refuses")
    if shapes(text) and kind != "cake":
        raise NotSupportedError(f"{kind} does not shape on its own")
    bandwidth = parameters["bandwidth"] if kind == "cake" else None
    if shapes(text) and bandwidth is None:
        raise NotSupportedError("cake as the shaper, but without a bandwidth")
    if bandwidth is not None and quantity(bandwidth) > rate_bps:
        raise NotSupportedError(f"cake's own shaper above the link's {rate_bps} bit/s")
    return queue


@functools.cache
def _table(queue: str) -> Mapping[str, Mapping[str, Any]]:
    """Reads a queue in tc's syntax as a table with all defaults. Raises `NotSupportedError`."""
    link: Any = {"from": "a", "to": "b", "rate": "1gbit", "queue": queue}
    try:
        return from_dict({"duration": "1s", "link": {"up": link}}, source="tc").data["link"]["up"]["queue"]
    except ScenarioError as error:
        raise NotSupportedError(problems(error)[0].removeprefix("tc: link.up.queue").lstrip(".: ")) from None
