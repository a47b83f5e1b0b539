"""Why a cell is outside its tolerance: an experiment that moves it, or nothing.

An experiment is a change of the scenario (`--set`s, as the command takes them) and the value that it gives. A cell that
none stands for is "not explained".
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

#: The file of explanations, in the package.
FILE = "explanations.toml"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What moves a cell: the `--set`s of the experiment, what they give, and what follows."""

    sets: tuple[str, ...]
    gives: float
    says: str

    def line(self) -> str:
        """For a table's note."""
        change = " ".join(f"--set {s}" for s in self.sets)
        return f"{change} gives {self.gives:.4g}: {self.says}"

    def as_data(self) -> dict[str, Any]:
        """The explanation as JSON."""
        return {"sets": list(self.sets), "gives": self.gives, "says": self.says}


def explanations() -> dict[tuple[str, str], Explanation]:
    """All of them, by scenario and metric."""
    text = resources.files("bloatlab.validate").joinpath("data", FILE).read_text(encoding="utf-8")
    data: Mapping[str, Any] = tomllib.loads(text)
    return {
        (scenario, metric): Explanation(tuple(given["sets"]), float(given["gives"]), given["says"])
        for scenario, metrics in data.items()
        for metric, given in metrics.items()
    }
