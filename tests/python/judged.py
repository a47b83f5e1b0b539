"""Helpers for the tests of recommendations: a question, and functions that extract values from an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bloatlab.advice import Recommendation, recommend
from bloatlab.advice.score import Judged, Value

#: A device with few options, so that a recommendation needs few runs.
SMALL = """
words = "small modem"
link = "modem"
prints = ["buffer-control"]
today = "droptail 500ms"
[[discipline]]
name = "droptail"
words = "drop-tail"
queue = { droptail = { limit = "{bytes}B" } }
buffers = ["50ms", "500ms"]
"""


def asking(device: Path, *more: str) -> list[str]:
    words = ["recommend", "--up", "2mbit", "--rtt", "40ms", "--device", str(device), "--seconds", "5"]
    return [*words, *([] if "--quick" in more else ["--seeds", "2"]), *more]


def by_discipline(done: Recommendation) -> dict[str, Judged]:
    return {j.option.name: j for j in done.judged}


def mean(of: Value) -> float:
    assert of.of is not None
    return of.of.mean


def quick(device: Path | str, **words: Any) -> Recommendation:
    given: dict[str, Any] = {"up": "2mbit", "rtt": "40ms", "device": str(device), "seconds": 12.0, **words}
    if "quick" not in words:
        given.setdefault("seeds", 3)
    return recommend(**given)
