"""What a Linux queue discipline is in bloatlab: tc's words, which the core reads, and those that make it the kernel's.

    pfifo limit 20
    fq_codel noecn target 10ms
    ROOT cake bandwidth 5mbit besteffort

ROOT says that the discipline shapes on its own; without it, it is the child of a shaper. What is not named has the
kernel's default. Source: tc(8) and the manual page of each discipline.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from bloatlab.scenario import ScenarioError, from_dict, problems, quantity

#: Words before those of the text, where bloatlab's default is not the kernel's; cake's sizes count the Ethernet header.
KERNEL: Mapping[str, str] = {
    "codel": "variant linux",
    "fq_codel": "variant linux memory_limit 32Mb",
    "pie": "variant linux",
    "fq_pie": "variant linux memory_limit 32Mb",
    "sfq": "variant linux",
    "red": "bandwidth 10mbit",
    "cake": "header 14",
}


class NotSupportedError(ValueError):
    """There is nothing like it in bloatlab; the message says what is missing."""


def shapes(text: str) -> bool:
    """Whether a discipline stands in the place of the shaper."""
    return text.split()[:1] == ["ROOT"]


def queue_of(text: str, rate_bps: int) -> str:
    """The discipline that `text` names as the queue of a link of `rate_bps`. Raises `NotSupportedError`."""
    words = text.split()[1 if shapes(text) else 0 :]
    words[1:1] = KERNEL.get("".join(words[:1]), "").split()
    queue = " ".join(words)
    ((kind, parameters),) = _table(queue).items()
    if kind == "red" and "limit" not in words:
        raise NotSupportedError("red without a limit: tc refuses it, too")
    if shapes(text) and kind != "cake":
        raise NotSupportedError(f"{kind} does not shape on its own")
    bandwidth = parameters["bandwidth"] if kind == "cake" else None
    if shapes(text) and bandwidth is None:
        raise NotSupportedError("cake in the place of the shaper, and without a bandwidth")
    if bandwidth is not None and quantity(bandwidth) > rate_bps:
        raise NotSupportedError(f"cake's own shaper above the link's {rate_bps} bit/s")
    return queue


@functools.cache
def _table(queue: str) -> Mapping[str, Mapping[str, Any]]:
    """A queue in words as the core reads it, with every default. Raises `NotSupportedError`."""
    link: Any = {"from": "a", "to": "b", "rate": "1gbit", "queue": queue}
    try:
        return from_dict({"duration": "1s", "link": {"up": link}}, source="tc").data["link"]["up"]["queue"]
    except ScenarioError as error:
        raise NotSupportedError(problems(error)[0].removeprefix("tc: link.up.queue").lstrip(".: ")) from None
