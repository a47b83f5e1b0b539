"""bloatlab: a packet-level laboratory for bufferbloat and active queue management.

Build a scenario, run it, look at frames:

    import bloatlab

    scenario = bloatlab.load("modem.toml", sets=[("link.up.rate", "5mbit")])
    result = bloatlab.run(scenario)
    result.summary["apps"]["voip"]["voip"]["plr_percent"]
    result.table("queue_series").filter(pl.col("link") == "up")
    bloatlab.save(result, "runs/modem")

Simulation happens in the compiled core (`bloatlab._core`); everything here shapes what goes in and what comes out.
"""

from bloatlab import parts
from bloatlab.results import open_result, save
from bloatlab.run import Result, run
from bloatlab.scenario import Scenario, ScenarioError, from_dict, load, parse, schema, version

__version__ = version()

__all__ = [
    "Result",
    "Scenario",
    "ScenarioError",
    "__version__",
    "from_dict",
    "load",
    "open_result",
    "parse",
    "parts",
    "run",
    "save",
    "schema",
]
