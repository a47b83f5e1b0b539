#!/usr/bin/env python3
"""Writes the playground's presets: the scenarios in examples/, without its subfolders, and cases of four studies.

    python tools/playground_presets.py OUT

OUT is JSON: a list of {"group", "title", "toml"}. An example keeps its comments; a case of a study omits defaults. The
page reads no files, so a delivery trace named by an example is written into its text. `make playground` calls this.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bloatlab.scenario import Scenario, load
from bloatlab.studies.cablelabs2012 import build as cablelabs
from bloatlab.studies.csc458 import build as csc458
from bloatlab.studies.mmcn1999 import build as mmcn1999
from bloatlab.studies.scte2013 import build as scte2013
from bloatlab.workloads.cable_loads import Case, Queue

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SEED = 1


def studies() -> Iterator[tuple[str, str, Scenario]]:
    """Yields cases of studies as (study, title, scenario)."""
    for queue in Queue:
        chosen = Case(4, queue)
        yield "CableLabs 2012, a cable modem", f"case {chosen.number}: {queue.value}", cablelabs.build(chosen, SEED)
    for packets in (100, 20):
        one = csc458.Case("reno", packets, csc458.SUPER)
        yield "The Mininet lab (CSC458)", f"Reno, {packets} packets", csc458.build(one, SEED)
    for one in mmcn1999.main_cases():
        if one.key in {"fifo", "red", "cbt"}:
            yield "MMCN 1999, class-based thresholds", one.key, mmcn1999.build(one, SEED)
    for discipline in ("droptail", "sfq_codel"):
        one = scte2013.Case(discipline)
        yield "ARRIS 2013, downstream and upstream", f"{discipline}, {one.buffer_ms} ms", scte2013.build(one, SEED)


def example(file: Path) -> dict[str, str]:
    """Returns a file of examples/ as a preset."""
    scenario, text = load(file), file.read_text(encoding="utf-8")
    for link in scenario.data["link"].values():
        trace = link.get("delivery", {}).get("trace")
        if trace is not None:
            named = f'file = "{trace["file"]}"'
            text = text.replace(named, f'{named}, source = "{trace["source"]}"')
    return {"group": "Examples", "title": scenario.name, "toml": text}


def presets() -> list[dict[str, str]]:
    """Returns all presets, in the order of the list on the page."""
    found = [example(file) for file in sorted(EXAMPLES.glob("*.toml"))]
    found += [{"group": study, "title": title, "toml": s.as_toml()} for study, title, s in studies()]
    return found


def main() -> int:
    """Writes the file; returns the exit code."""
    if len(sys.argv) != 2:
        print("usage: playground_presets.py OUT", file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(presets(), ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
