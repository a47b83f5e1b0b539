"""bloatlab: a packet-level laboratory for bufferbloat and active queue management.

Run a scenario and read its results:

    import bloatlab
    import polars as pl

    result = bloatlab.run("modem.toml", sets={"link.up.rate": "5mbit"})
    result.summary["apps"]["voip"]["voip"]["plr_percent"]
    result.table("queue_series").filter(pl.col("link") == "up")
    bloatlab.save(result, "runs/modem")
    result.plot("overview", "modem.svg")
    bloatlab.sweep("modem.toml", {"link.up.rate": ["1mbit", "5mbit"]}, seeds=5)

The compiled core (`bloatlab._core`) simulates; the Python package prepares its input and presents its output.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bloatlab import public

if TYPE_CHECKING:
    from bloatlab import controllers, laws, live, machines
    from bloatlab.advice import recommend
    from bloatlab.controllers import ControllerError
    from bloatlab.differences import diff
    from bloatlab.driving import Simulation, open  # noqa: A004  bloatlab.open, as gzip.open
    from bloatlab.laws import LawError
    from bloatlab.network import EndpointError, Network
    from bloatlab.plots import plot
    from bloatlab.results import open_result, save
    from bloatlab.scenario import Scenario, ScenarioError, from_dict, load, parse, schema, version
    from bloatlab.simulation import Result, run
    from bloatlab.summaries import frame
    from bloatlab.sweep.grid_file import sweep

    __version__: str

__all__ = [
    "ControllerError", "EndpointError", "LawError", "Network", "Result", "Scenario", "ScenarioError", "Simulation",
    "__version__", "controllers", "diff", "frame", "from_dict", "laws", "live", "load", "machines", "open",
    "open_result", "parse", "plot", "recommend", "run", "save", "schema", "sweep", "version",
]  # fmt: skip

# The public names of each module. Modules are imported on first use, so that a command can report an interruption while
# polars is being imported.
_NAMES = {
    "advice": "recommend",
    "controllers": "ControllerError",
    "differences": "diff",
    "driving": "Simulation open",
    "laws": "LawError",
    "network": "EndpointError Network",
    "plots": "plot",
    "results": "open_result save",
    "scenario": "Scenario ScenarioError from_dict load parse schema version",
    "simulation": "Result run",
    "summaries": "as_html frame",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = __getattr__("version")()
    elif name in {"controllers", "laws", "live", "machines", "sweep"}:
        return importlib.import_module(f"bloatlab.{name}")
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"bloatlab.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'bloatlab' has no attribute '{name}'")
    globals()[name] = value
    return value


# methods such as `Result.plot` call functions of higher layers. They get these functions by name from `public.find`, so
# their modules import no higher layer
public.find = __getattr__


def __dir__() -> list[str]:
    return sorted(__all__)
