"""Values of a scenario as numbers, and back: "5mbit" is 5e6 bit/s, halfway to "15mbit" lies "10mbit"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

#: By kind, units from small to large and what each stands for. The first spelling of a size is how it is written.
_UNITS: dict[str, dict[str, float]] = {
    "a duration": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "a rate": {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "a size": {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "packets": {"p": 1.0},
    "a share": {"%": 0.01},
}
_KINDS = {unit: kind for kind, units in _UNITS.items() for unit in units}

#: Units in which a value between two others is written.
_WRITTEN = {
    "a duration": ("ns", "us", "ms", "s"),
    "a rate": ("bit", "kbit", "mbit", "gbit"),
    "a size": ("B", "kB", "MB", "GB"),
    "packets": ("p",),
    "a share": ("%",),
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
                found = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?([A-Za-z%]+)", value)
                if found is None or found[2] not in _KINDS:
                    return None
                kind = _KINDS[found[2]]
                return Amount(float(found[1]) * _UNITS[kind][found[2]], kind)
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
        units, sizes = _WRITTEN[self.kind], _UNITS[self.kind]
        unit = next((u for u in reversed(units) if abs(self.value) >= sizes[u] * (1.0 - 1e-9)), units[0])
        if unit in {"p", "B", "bit", "ns"}:
            return f"{round(self.value / sizes[unit])}{unit}"
        number = float(f"{self.value / sizes[unit]:.{DIGITS}g}")
        return f"{number:.{DIGITS + 2}f}".rstrip("0").rstrip(".") + unit
