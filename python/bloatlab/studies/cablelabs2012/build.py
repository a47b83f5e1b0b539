"""Makes the scenario of a case.

The home network, its modem and its loads are defined in `bloatlab.workloads.cable_home`, which several studies use.
"""

from __future__ import annotations

from typing import Any

from bloatlab.scenario import Scenario, from_dict
from bloatlab.workloads.cable_home import Setup, describe
from bloatlab.workloads.cable_loads import Case


def build(case: Case, seed: int, setup: Setup | None = None) -> Scenario:
    """Returns the validated scenario of one run."""
    name = scenario_name(case)
    data: Any = {"name": name, **describe(case, seed, setup or Setup())}
    return from_dict(data, source=name)


def scenario_name(case: Case) -> str:
    """Returns the name of the runs of `case`, which is the same for all set-ups."""
    return f"cablelabs2012 {case.key}"
