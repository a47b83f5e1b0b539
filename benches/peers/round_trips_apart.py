#!/usr/bin/env python3
"""What five equal round trips do to the voice of cablelabs2012, against five that are 1 ms each way apart.

    .venv/bin/python benches/peers/round_trips_apart.py [SECONDS]

Document 001 gives its five transfers one round trip. The CoDel scripts of its time, by a contributor to it, make each
transfer's access link 1 ms longer than the one before, each way. Equal round trips keep the transfers' phases together behind a DropTail queue.
Not a parameter of the study: nothing says which it was, and its value would be fitted to counted cells.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import bloatlab
from bloatlab.studies.cablelabs2012.build import Setup, describe
from bloatlab.studies.cablelabs2012.cases import Queue, case
from bloatlab.studies.cablelabs2012.published import by_key


def lost(number: int, queue: Queue, step_ms: float | None, seconds: int) -> float:
    """Per cent of voice lost; `step_ms` None is the study's own scenario."""
    scenario: Any = describe(case(number, queue), 1, Setup(seconds=seconds))
    if step_ms is not None:
        app, link = scenario["app"].pop("ftp"), scenario["link"].pop("ftp")
        one_way = float(link["delay"].removesuffix("ms"))
        for k in range(5):
            scenario["app"][f"ftp{k}"] = copy.deepcopy(app) | {"to": [f"ftp{k}"]}
            scenario["app"][f"ftp{k}"]["traffic"]["ftp"]["flows"] = 1
            scenario["link"][f"ftp{k}"] = link | {"to": f"ftp{k}", "delay": f"{one_way + step_ms * (k + 1):g}ms"}
    scenario["record"] = {"interval": "1s", "links": ["up"], "apps": []}
    voice = bloatlab.run(bloatlab.from_dict(scenario)).summary["apps"]["voip"]
    return 100.0 * (1.0 - voice["delay_ms"]["count"] / voice["datagrams_sent"])


def main() -> int:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    print("case      published   one app   equal   1 ms each way apart")
    for queue in (Queue.DROPTAIL_417, Queue.DROPTAIL_21):
        for number in (4, 5, 6, 7):
            key = case(number, queue).key
            published = by_key()[key, "VoIP lost"].values[0]
            ours = [lost(number, queue, step, seconds) for step in (None, 0.0, 1.0)]
            print(f"{key:<9} {published:>9.2f} {ours[0]:>9.2f} {ours[1]:>7.2f} {ours[2]:>12.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
