"""Compares simulations of a scenario with a live run of it over the kernel.

    agrees  iff  |simulated - live| <= max(15 % of live, 3 ms)

for the median round-trip time of pings, the median file transfer time, the mean queue (3 ms is converted to
packets of 1500 bytes at the link's rate), and the throughput of unlimited transfers (only 15 %, because a limit in ms
does not apply). The simulated value is the median over seeds. An invalid live run, for example one whose packets
left too late, is shown, but neither judged nor repeated.

**Lateness.** A simulation's clock is exact, but in a live run packets leave the bench some microseconds late, each by a
different time. This matters to algorithms that derive rates from the spacing of ACKs: BBR keeps the maximum of
many estimates, and drains a queue by pacing 1 % below that maximum. So the simulations (except with `--exact`) use the
lateness that was measured in the live run (`late`), and draw a lateness for each packet:

    lateness of the links into the hosts = min, p50, p90, p95, p99, p99.9 of the lateness in that live run

The lateness is not a tuning parameter: only the live run's clock determines it. The simulations reproduce neither the
values above the last percentile nor the clusters of late packets that arise when the machine stalls.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from bloatlab import files
from bloatlab.judgement import Share, finite, share, within_cell
from bloatlab.plots import Panel, Series, style
from bloatlab.report import Answer, Drawn, Page, Point, Provenance, Section, TableBlock, figure_block
from bloatlab.scenario import Scenario, from_dict, quantity
from bloatlab.simulation import Result
from bloatlab.tables import TextCell, TextTable, counted, number, row

#: Name of the file that holds a comparison.
COMPARED = "compare.json"

#: The allowed difference is `SHARE` (a fraction of the live value) or, except for throughput, `LEAST_MS` if larger.
SHARE, LEAST_MS = 0.15, 3.0

#: Bits in a full packet, to convert queueing time to packets.
MTU_BITS = 12_000.0

#: How late packets left the live bench (the part of bloatlab that makes live runs): for each percentile, a duration as
#: a string with a unit.
Lateness = Mapping[str, str]
PERCENTILES = ("min", "p50", "p90", "p95", "p99", "p99_9")

Unit = Literal["ms", "s", "packets", "Mbit/s"]
_DIGITS: Mapping[Unit, int] = {"ms": 1, "s": 3, "packets": 1, "Mbit/s": 2}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity as measured in one run, simulated or live.

    If the live value and the simulated value differ by at most `least` (in `unit`), they always agree.
    """

    name: str
    unit: Unit
    value: float
    least: float


@dataclass(frozen=True, slots=True)
class Cell:
    """The comparison of one quantity of a case: its simulated value, its live value, and whether they agree.

    `agrees` is None if the live run is invalid or a value is missing.
    """

    case: str
    name: str
    unit: Unit
    simulated: float
    live: float
    allowed: float
    agrees: bool | None

    def as_data(self) -> dict[str, Any]:
        """Returns this quantity's comparison as plain data for JSON."""
        return {
            "case": self.case,
            "quantity": self.name,
            "unit": self.unit,
            "simulated": finite(self.simulated),
            "live": finite(self.live),
            "allowed": finite(self.allowed),
            "agrees": self.agrees,
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of all cases. For each case whose live run is invalid, `invalid` contains the reason."""

    cells: Sequence[Cell]
    invalid: Mapping[str, str]
    seeds: int
    #: For each case, how late packets left the live bench in the live run. The simulations of the case use the same
    #: lateness. The mapping is empty if the simulations used exact clocks.
    lateness: Mapping[str, Lateness] = field(default_factory=dict[str, Lateness])

    @property
    def share(self) -> Share:
        """The share of the judged values that agree."""
        return share("", (c.agrees for c in self.cells))

    @property
    def agrees(self) -> bool | None:
        """Whether every judged value agrees; None if none could be judged."""
        return self.share.within == self.share.cells if self.share.cells else None

    def as_data(self) -> dict[str, Any]:
        """Returns the comparison as plain data for JSON."""
        of = self.share
        summary = {"cells": len(self.cells), "judged": of.cells, "agree": of.within, "seeds": self.seeds}
        return {
            "summary": summary,
            "invalid": dict(self.invalid),
            "lateness": {case: dict(of) for case, of in self.lateness.items()},
            "cells": [c.as_data() for c in self.cells],
        }

    def table(self) -> TextTable:
        """Returns a table with one row per compared value."""
        rows: list[list[TextCell]] = []
        for c in self.cells:
            digits = _DIGITS[c.unit]
            words = "invalid" if c.case in self.invalid else "no value"
            live = TextCell(number(c.live, digits), "muted" if c.case in self.invalid else "plain")
            values = number(c.simulated - c.live, digits), f"±{number(c.allowed, digits)}"
            verdict = within_cell(c.agrees, "agrees", "differs", words)
            rows.append(row(c.case, c.name, number(c.simulated, digits), live, c.unit, *values, verdict))
        seeds = counted(self.seeds, "seed")
        notes = [f"Simulated: median of {seeds}. Allowed: {SHARE:.0%} of live or {LEAST_MS:g} ms."]
        if self.lateness:
            notes.append("Simulated with the live runs' own lateness.")
        notes += [f"{case}: live run invalid: {why}" for case, why in self.invalid.items()]
        columns = ["case", "quantity", "simulated", "live", "unit", "difference", "allowed", ""]
        return TextTable("Simulated and live", columns, rows, "\n".join(notes), left=2)


def opened(folder: Path) -> Compared:
    """Opens the comparison that `bloatlab compare -o` wrote into `folder`.

    Raises `OSError`, `ValueError`, `KeyError` or `TypeError` if `folder` has no valid comparison.
    """
    data = json.loads(files.read_text(folder / COMPARED))
    cells: list[Cell] = []
    for c in data["cells"]:
        ours, real, allowed = (math.nan if c[k] is None else float(c[k]) for k in ("simulated", "live", "allowed"))
        cells.append(Cell(c["case"], c["quantity"], c["unit"], ours, real, allowed, c["agrees"]))
    return Compared(cells, data["invalid"], data["summary"]["seeds"], data.get("lateness", {}))


def compared_page(done: Compared, command: str) -> Page:
    """Makes a page for a comparison.

    It shows how many quantities agree, the ratios of simulated to live values, and every value.
    """
    judged = [c for c in done.cells if c.agrees is not None]
    cases = list(dict.fromkeys(c.case for c in done.cells))
    points = [_point(case, [c for c in judged if c.case == case], done.invalid.get(case)) for case in cases]
    question = "Do simulations agree with real kernels?"
    rule = f"Agrees: within {SHARE:.0%} of the live value or {LEAST_MS:g} ms, whichever is larger."
    answer = Answer(question, _agreement(judged), points[:_MOST_POINTS], figure_block(_drawn(done)), rule)
    sections = [Section("Every quantity", "cells", [TableBlock(done.table())])]
    rows = [("Written by", command), ("Simulated", f"the median of {counted(done.seeds, 'seed')}")]
    return Page("Simulated and live", counted(len(cases), "case"), sections, answer, provenance=Provenance(rows))


_MOST_POINTS = 8


def _agreement(judged: Sequence[Cell]) -> str:
    if not judged:
        return "No live run was valid, so nothing was judged."
    agree = sum(c.agrees is True for c in judged)
    words = f"In {agree} of {len(judged)} judged quantities"
    off = [c for c in judged if not c.agrees and c.live]
    if not off:
        return f"{words}."
    worst = max(off, key=lambda c: abs(c.simulated / c.live - 1.0))
    digits = _DIGITS[worst.unit]
    return (
        f"{words}; the farthest off is {worst.name} of {worst.case}: {number(worst.simulated, digits)} {worst.unit} "
        f"simulated, {number(worst.live, digits)} {worst.unit} on kernels."
    )


def _point(case: str, cells: Sequence[Cell], invalid: str | None) -> Point:
    if invalid is not None:
        return Point(case, "invalid:", invalid, "marked")
    off = [c.name for c in cells if not c.agrees]
    if not off:
        return Point(case, "agrees", f"in all {len(cells)}", "good")
    return Point(case, "differs", f"in {len(off)} of {len(cells)}: {', '.join(off)}", "bad")


def _drawn(done: Compared) -> Drawn:
    """Plots the ratios of simulated to live values. A ratio of 1 means that they are equal."""
    lines: list[Series] = []
    for name, wanted, colour in (("agrees", True, 2), ("differs", False, 1), ("not judged", None, 4)):
        at = [(n, c) for n, c in enumerate(done.cells) if c.agrees is wanted and c.live and math.isfinite(c.simulated)]
        if at:
            x, y = [n for n, _ in at], [c.simulated / c.live for _, c in at]
            lines.append(Series(name, x, y, "points", style.COLOURS[colour], hollow=wanted is None))
    middle = {c.case: [n for n, o in enumerate(done.cells) if o.case == c.case] for c in done.cells}
    ticks = [(sum(of) / len(of), case) for case, of in middle.items()] if len(middle) <= _MOST_POINTS else ()
    lines = lines or [Series("nothing", [0.0], [1.0], "points")]
    across = (-0.5, max(len(done.cells), 1) - 0.5)
    panel = Panel("Simulated over live", "quantity, by case", "ratio", lines, across, x_ticks=ticks)
    caption = "Each quantity's simulated value divided by its live value; 1 means equal."
    return Drawn("", "compared", caption, [panel], 1, size=(7.0, 3.0))


def quantities(result: Result) -> list[Quantity]:
    """Returns the quantities of a run that are compared, in a fixed order."""
    scenario, apps = result.scenario, result.summary["apps"]
    found: list[Quantity] = []
    pings = result.table("pings").filter(pl.col("rtt_ms").is_not_null() & pl.col("rtt_ms").is_not_nan())
    for name, app in apps.items():
        if app["kind"] == "ping":
            rtt = _median(pings.filter(pl.col("app") == name)["rtt_ms"])
            found.append(Quantity(f"{name} RTT", "ms", rtt, LEAST_MS))
        elif _endless(scenario, name):
            bits = (app["goodput_bytes"] + app["goodput_bytes_reverse"]) * 8e-6
            found.append(Quantity(f"{name} throughput", "Mbit/s", bits / result.measured_s, 0.0))
    files = result.table("files")
    for name in files["app"].unique(maintain_order=True):
        took = _median(files.filter(pl.col("app") == name)["took_s"])
        found.append(Quantity(f"{name} time", "s", took, LEAST_MS / 1e3))
    recorded = set(result.table("queue_histogram")["link"].unique())
    for name, link in result.summary["links"].items():
        rate = _rate(scenario, name)
        if name in recorded and rate is not None:
            packets = LEAST_MS * rate / 1e3 / MTU_BITS
            found.append(Quantity(f"{name} queue", "packets", link["queue_packets"]["mean"], packets))
    return sorted(found, key=lambda q: q.name)


def compare(case: str, simulated: Sequence[Sequence[Quantity]], live: Sequence[Quantity], *, valid: bool) -> list[Cell]:
    """Compares the quantities of a case: `simulated` has one list per seed, `live` is the live run's list.

    If the live run is not `valid`, `agrees` is None in every cell.
    """
    cells: list[Cell] = []
    for real in live:
        values = [q.value for run in simulated for q in run if q.name == real.name and not math.isnan(q.value)]
        ours = statistics.median(values) if values else math.nan
        allowed = max(SHARE * real.value, real.least)
        both = not (math.isnan(ours) or math.isnan(real.value))
        agrees = abs(ours - real.value) <= allowed if valid and both else None
        cells.append(Cell(case, real.name, real.unit, ours, real.value, allowed, agrees))
    return cells


def lateness(real: Result) -> Lateness:
    """Returns how late packets left the live bench in the live run `real`; empty if no packet left it.

    The result has the form of the setting `lateness` of a scenario's link.
    """
    measured = real.summary["live"]["lateness_ms"]
    if measured["p50"] is None:
        return {}
    return {key: f"{round(1e6 * measured[key])}ns" for key in PERCENTILES}


def late(scenario: Scenario, real: Result) -> Scenario:
    """Returns a copy of `scenario` in which the links into its hosts have the lateness measured in the live run `real`.

    A link whose `both_ways` is true has this lateness in both directions. A link that already has a lateness is not
    changed. A link that may reorder packets gets no lateness, because packets that leave the live bench late keep their
    order.
    """
    measured = lateness(real)
    if not measured:
        return scenario
    hosts = {*real.summary["live"]["left"], *real.summary["live"]["right"]}
    data: Any = json.loads(scenario.text)
    for link in data["link"].values():
        into = link["to"] in hosts or (link["both_ways"] and link["from"] in hosts)
        if into and link["lateness"] is None and not link["reorder"]:
            link["lateness"] = measured
    return from_dict(data, source=scenario.name)


def _median(values: pl.Series) -> float:
    return statistics.median(values.to_list()) if len(values) else math.nan


def _endless(scenario: Scenario, app: str) -> bool:
    """Returns whether an application is an unlimited file transfer."""
    traffic = scenario.data["app"][app]["traffic"]
    return isinstance(traffic, dict) and "ftp" in traffic and traffic["ftp"].get("size") is None


def _rate(scenario: Scenario, link: str) -> float | None:
    """Returns the configured rate of a directed link, in bit/s; None if it has no rate."""
    given = scenario.data["link"].get(link.removeprefix("~"), {}).get("rate")
    return None if given is None else quantity(given)
