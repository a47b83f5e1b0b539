"""Values of a resolved scenario as plain numbers: what a study reads back to compare with its paper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: What a unit measures, and what it is worth: times in s, sizes in bytes, rates in bit/s.
UNITS: Mapping[str, tuple[str, float]] = {
    "": ("number", 1.0), "%": ("number", 0.01), "p": ("packets", 1.0),
    "ns": ("time", 1e-9), "us": ("time", 1e-6), "ms": ("time", 1e-3), "s": ("time", 1.0),
    "B": ("size", 1.0), "KB": ("size", 1e3), "MB": ("size", 1e6),
    "bit": ("rate", 1.0), "kbit": ("rate", 1e3), "mbit": ("rate", 1e6), "gbit": ("rate", 1e9),
}  # fmt: skip


def at_path(data: Any, path: str) -> Any:
    """The value at `path` ("app.ftp.traffic.ftp.size"; places of a list by number). Raises `KeyError` or `IndexError`."""
    for name in path.split("."):
        data = data[int(name)] if isinstance(data, list | tuple) else data[name]
    return data


def quantity(value: Any, unit: str = "") -> float:
    """A number or quantity of a resolved scenario ("90MB", 0.05) in `unit`. Raises `ValueError` for one of another kind."""
    match = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(value))
    if match is None or match[2] not in UNITS or UNITS[match[2]][0] != UNITS[unit][0]:
        raise ValueError(f"{value!r} is not a quantity in {unit or 'plain numbers'}")
    return float(match[1]) * UNITS[match[2]][1] / UNITS[unit][1]
