"""The kinds of plot: one module each, and the one list that knows them all."""

from __future__ import annotations

import importlib
from typing import Literal

from bloatlab.plots.kind import Kind

#: The kinds by name and the module that has each, in the order in which help lists them.
_MODULES = {
    "overview": "overview",
    "series": "series",
    "cdf": "cdf",
    "ccdf": "cdf",
    "box": "box",
    "ellipse": "ellipse",
    "flows": "flows",
    "sequence": "sequence",
    "trace": "trace",
    "lines": "lines",
    "heatmap": "heatmap",
    "pareto": "pareto",
}

NAMES = tuple(_MODULES)


def kind(name: str) -> Kind:
    """The kind of this name. Raises `KeyError`."""
    module = importlib.import_module(f"bloatlab.plots.kinds.{_MODULES[name]}")
    found: Kind = module.CCDF if name == "ccdf" else module.KIND
    return found


def kinds(takes: Literal["runs", "sweep"]) -> list[Kind]:
    """All kinds that draw this."""
    return [of for of in map(kind, NAMES) if of.takes == takes]
