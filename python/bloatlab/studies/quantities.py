"""Values of a resolved scenario as plain numbers: what a study reads back to compare with its paper."""

from __future__ import annotations

import math
from typing import Any

from bloatlab.scenario import amount


def at_path(data: Any, path: str) -> Any:
    """The value at `path` ("app.ftp.traffic.ftp.size"; places of a list by number). Raises `KeyError` or `IndexError`."""
    for name in path.split("."):
        data = data[int(name)] if isinstance(data, list | tuple) else data[name]
    return data


def quantity(value: Any, unit: str = "") -> float:
    """A number or quantity of a resolved scenario ("90MB", 0.05) in `unit`. Raises `ValueError` for one of another kind."""
    number, measured = _read(str(value))
    one, wanted = _read(f"1{unit}")
    if measured != wanted or not measured:
        raise ValueError(f"{value!r} is not a quantity in {unit or 'plain numbers'}")
    return number / one


def _read(text: str) -> tuple[float, str]:
    """A number and what it measures; nothing ("") for a text that is none. A share is a number."""
    found = amount(text)
    if found is not None:
        return float(found[1]), "number" if found[0] == "share" else found[0]
    try:
        number = float(text)
    except ValueError:
        return 0.0, ""
    return (number, "number") if math.isfinite(number) else (0.0, "")
