"""Converts scenario values to numbers and back: the mean of "5mbit" (5e6 bit/s) and "15mbit" is "10mbit"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bloatlab.scenario import amount

#: The kinds of quantities, keyed by their names in the core. For each kind, this gives the name in messages, the factor
#: that converts from the base unit (s, bit/s, B, p, fraction) to the number in the core, and the units in which values
#: are written, in ascending order.
_KINDS: Mapping[str, tuple[str, float, Mapping[str, float]]] = {
    "duration": ("a duration", 1e9, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}),
    "rate": ("a rate", 1.0, {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}),
    "size": ("a size", 1.0, {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}),
    "packets": ("packets", 1.0, {"p": 1.0}),
    "share": ("a share", 1.0, {"%": 0.01}),
}
_UNITS = {name: units for name, _, units in _KINDS.values()}

#: Significant digits of a computed value.
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its kind: "a rate" (in bit/s), "a duration" (s), "a number", "a whole number" and others."""

    value: float
    kind: str

    @staticmethod
    def of(value: Any) -> Amount | None:
        """Reads a scenario value as an amount; None for a name, a table, true or false."""
        if isinstance(value, str):
            found = amount(value)
            if found is None:
                return None
            kind, scale, _ = _KINDS[found[0]]
            return Amount(found[1] / scale, kind)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return Amount(float(value), "a whole number" if isinstance(value, int) else "a number")

    def like(self, other: Amount) -> bool:
        """Returns whether two amounts are of the same kind. "a number" and "a whole number" count as one kind."""
        return self.kind == other.kind or {self.kind, other.kind} == {"a number", "a whole number"}

    def comparable(self, other: Amount) -> bool:
        """Returns whether the values of two amounts can be compared.

        As in a scenario, a number without a unit may be a rate in bit/s or a share.
        """
        bare, without_unit = {"a number", "a whole number"}, {"a rate", "a share"}
        mixed = {self.kind, other.kind}
        return self.like(other) or (bool(mixed & bare) and bool(mixed & without_unit))

    def written(self, digits: int = DIGITS) -> float | int | str:
        """Writes the amount as a scenario value with `digits` significant digits.

        An amount of the kind "a whole number", or in p, B, bit or ns, is rounded to a whole number.
        """
        if self.kind == "a whole number":
            return round(self.value)
        if self.kind == "a number":
            return float(f"{self.value:.{digits}g}")
        sizes = _UNITS[self.kind]
        unit = next((u for u in reversed(sizes) if abs(self.value) >= sizes[u] * (1.0 - 1e-9)), next(iter(sizes)))
        if unit in {"p", "B", "bit", "ns"}:
            return f"{round(self.value / sizes[unit])}{unit}"
        number = Decimal(f"{self.value / sizes[unit]:.{digits}g}")
        return f"{number:f}{unit}"


def read_amount(value: Any) -> Amount | None:
    """Reads a value as an amount; it may be a number given as a string. Returns None if it is not an amount."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+\.?[0-9]*([eE]-?[0-9]+)?", value):
        return Amount.of(value) or Amount(float(value), "a number")
    return Amount.of(value)


def spelled(value: Any) -> str:
    """Returns a value as it is written in TOML without quotes: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(left: Any, right: Any) -> bool:
    """Returns whether two values are equal: as amounts ("500kbit" and "0.5mbit", 0 and "0.0"), or else as text."""
    mine, theirs = read_amount(left), read_amount(right)
    if mine is not None and theirs is not None and mine.like(theirs):
        return mine.value == theirs.value
    return spelled(left) == spelled(right)
