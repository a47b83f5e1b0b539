"""Scenario in, result out. The only module that runs the core.

The core simulates without the GIL, so several runs share the cores of a machine as threads. Ctrl-C is honoured: the
core asks now and then whether to go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bloatlab import _core
from bloatlab.scenario import Scenario

# Polars loads numpy at its first use, which must not be two threads at once: the second finds numpy's module `_globals`
# where polars keeps a dict of that name (polars 1, `_LazyModule._import`). So the first use is here.
pl.Series(np.zeros(1))

#: Called with the fraction of simulated time that is done, in [0, 1]; raising cancels the run.
Progress = Callable[[float], None]

#: An assertion of the core has failed. Like `KeyboardInterrupt` no `Exception`, so that nothing takes it for an answer.
Bug = _core.PanicException


@dataclass(frozen=True)
class Result:
    """What one run measured. Picklable; equal scenarios and seeds give equal results on any machine.

    `scenario` carries the seed of the run. `summary` is the run in numbers (per link and per application); `tables` are
    polars frames by name: series, histograms, page loads, flows. Columns end in their unit; kB = 1000 bytes.
    """

    scenario: Scenario
    summary: dict[str, Any]
    tables: Mapping[str, pl.DataFrame]

    @property
    def seed(self) -> int:
        """The seed that this was run with."""
        return self.scenario.seed

    @property
    def measured_s(self) -> float:
        """How long the time is, in s, that the sums of the summary are of: the duration without the warm-up."""
        return float(self.summary["duration_s"]) - float(self.summary.get("warm_up_s", 0.0))

    def table(self, name: str) -> pl.DataFrame:
        """One table. Raises `KeyError` naming the tables there are."""
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; there are {', '.join(sorted(self.tables))}")
        return self.tables[name]


def run(
    scenario: Scenario,
    seed: int | None = None,
    progress: Progress | None = None,
    *,
    captures: Path | None = None,
    capture_link: str | None = None,
) -> Result:
    """Simulate `scenario` to its end.

    `seed` replaces the scenario's own. `progress` is told how far the run is; what it raises cancels the run. Ctrl-C
    raises `KeyboardInterrupt` within about a tenth of a second.

    `captures` is a folder for left.pcap and right.pcap: every packet at the two ends of `capture_link`, by default of
    the slowest link, whose `from` is on the left. They change no result; equal runs give equal bytes.
    """
    if seed is not None and seed != scenario.seed:
        scenario = scenario.with_sets(("seed", str(seed)))
    folder = str(captures) if captures is not None else None
    output = _core.run(scenario.text, None, progress if progress is not None else _go_on, folder, capture_link)
    tables = {name: frame(columns) for name, columns in output["tables"].items()}
    return Result(scenario, json.loads(output["summary"]), tables)


def frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A table of the core as a frame; a column that nobody counted is null in every row, of the type of counts."""
    return pl.DataFrame(dict(columns)).with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.UInt64))


def core_file() -> Path:
    """Where the compiled core is: what a result depends on besides its scenario."""
    return Path(_core.__file__)


def _go_on(_fraction: float) -> None:
    """Nothing to tell; being called is what lets Python deliver Ctrl-C."""
