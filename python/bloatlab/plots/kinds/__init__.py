"""The kinds of plot."""

from __future__ import annotations

import importlib
from typing import Literal

from bloatlab.plots.kind import Kind

#: The names of the kinds, in the order of the help. Each kind has a module of its own, but `ccdf` is in `cdf`'s module.
NAMES = (
    "overview", "series", "cdf", "ccdf", "box", "ellipse", "flows", "sequence", "trace", "lines", "heatmap", "pareto",
)  # fmt: skip


def kind(name: str) -> Kind:
    """Returns the kind with this name. Raises `ImportError` if there is none."""
    module = importlib.import_module(f"bloatlab.plots.kinds.{name.replace('ccdf', 'cdf')}")
    found: Kind = module.CCDF if name == "ccdf" else module.KIND
    return found


def kinds(takes: Literal["runs", "sweep"]) -> list[Kind]:
    """Returns the kinds of plot that draw runs, or those that draw a sweep."""
    return [of for of in map(kind, NAMES) if of.takes == takes]
