"""Values of a scenario as numbers, and back: "5mbit" is 5e6 bit/s, halfway to "15mbit" lies "10mbit"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bloatlab.scenario import amount

#: By kind as the core names it: how it is called, and what its number is in units of a value.
_KINDS = {
    "duration": ("a duration", 1e9),
    "rate": ("a rate", 1.0),
    "size": ("a size", 1.0),
    "packets": ("packets", 1.0),
    "share": ("a share", 1.0),
}

#: Units in which a value between two others is written, from small to large.
_WRITTEN = {
    "a duration": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    "a rate": {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "a size": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    "packets": {"p": 1.0},
    "a share": {"%": 0.01},
}

#: Digits that count of a value between two others.
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of one kind ("a rate", in bit/s); of the kind "a number" without a unit, or "a whole number"."""

    value: float
    kind: str

    @staticmethod
    def of(value: Any) -> Amount | None:
        """What a scenario's value says; None where it is a name, a table or a truth."""
        match value:
            case bool():
                return None
            case int():
                return Amount(float(value), "a whole number")
            case float():
                return Amount(value, "a number")
            case str():
                found = amount(value)
                if found is None:
                    return None
                kind, scale = _KINDS[found[0]]
                return Amount(found[1] / scale, kind)
            case _:
                return None

    def like(self, other: Amount) -> bool:
        """Whether the two can be compared: numbers with numbers, rates with rates."""
        return self.kind == other.kind or {self.kind, other.kind} == {"a number", "a whole number"}

    def written(self) -> float | int | str:
        """As a value of a scenario, to four digits; what can only be whole (packets, bytes) is."""
        if self.kind == "a whole number":
            return round(self.value)
        if self.kind == "a number":
            return float(f"{self.value:.{DIGITS}g}")
        sizes = _WRITTEN[self.kind]
        unit = next((u for u in reversed(sizes) if abs(self.value) >= sizes[u] * (1.0 - 1e-9)), next(iter(sizes)))
        if unit in {"p", "B", "bit", "ns"}:
            return f"{round(self.value / sizes[unit])}{unit}"
        number = float(f"{self.value / sizes[unit]:.{DIGITS}g}")
        return f"{number:.{DIGITS + 2}f}".rstrip("0").rstrip(".") + unit
