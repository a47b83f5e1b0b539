"""The compiled core: scenarios in, measures out. Built from crates/py; only `bloatlab.run` calls `run`."""

from collections.abc import Callable
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | list[str]

class RunOutput(TypedDict):
    """The summary as JSON text, and tables as columns of equal length."""

    summary: str
    tables: dict[str, dict[str, Column]]

class ScenarioError(ValueError):
    """A scenario that cannot be built. `args[0]` is a list of lines: file, path, value, what is valid."""

def version() -> str:
    """The version of the core, as in Cargo.toml."""

def resolve(text: str, format: Literal["toml", "json"], source: str, sets: list[tuple[str, str]]) -> str:
    """The validated scenario with every default filled in, as canonical JSON.

    `source` names the text in messages; `sets` are (path, value) pairs laid over it, later ones winning.
    Raises `ScenarioError`.
    """

def schema() -> str:
    """JSON Schema of a scenario."""

def run(resolved: str, seed: int | None = None, progress: Callable[[float], None] | None = None) -> RunOutput:
    """Simulate to the end without the GIL.

    `seed` replaces the scenario's own. `progress` is called now and then with the fraction done, in [0, 1];
    an exception that it raises cancels the run and comes out of this function.
    """

def catalogue() -> str:
    """JSON: the disciplines, applications and TCP presets that the core knows, each with its parameters and source."""

def emodel(loss: float, delay_ms: float) -> tuple[float, float]:
    """(R, MOS) of the E-model for a loss fraction in [0, 1] and a one-way delay in milliseconds."""
