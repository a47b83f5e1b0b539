"""The paper's parameters beside what our scenarios resolve to: every number that the study takes over, read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bloatlab.studies.cablelabs2012.build import build
from bloatlab.studies.cablelabs2012.published import rows
from bloatlab.studies.published import at_path, quantity
from bloatlab.tables import TextCell, TextTable, row
from bloatlab.workloads.cable_loads import Case, Queue

_UP = "link.up.docsis"
_CODEL = Case(3, Queue.CODEL)
_SHORT = Case(2, Queue.CODEL)
_LARGE, _SMALL = Case(6, Queue.DROPTAIL_417), Case(6, Queue.DROPTAIL_21)
_BURSTY, _CONGESTED = Case(8, Queue.CODEL), Case(12, Queue.CODEL)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of the paper by its case and metric in `published.csv`, and where a resolved scenario has it."""

    case: str
    metric: str
    of: Case
    path: str
    unit: str = ""
    #: What else the reading takes: a link's two directions, DOCSIS's own share.
    of_value: Callable[[float], float] = float


PARAMETERS: tuple[Parameter, ...] = (
    Parameter("CoDel", "target", _CODEL, "link.up.queue.codel.target", "ms"),
    Parameter("CoDel", "interval", _CODEL, "link.up.queue.codel.interval", "ms"),
    Parameter("model", "MAP interval", _CODEL, f"{_UP}.map_interval", "ms"),
    Parameter("model", "DOCSIS fixed latency each way", _CODEL, "link.up.delay", "ms"),
    Parameter("model", "server links", _CODEL, "link.web1.rate", "gbit"),
    Parameter("model FTP short", "n3-n4 RTT", _SHORT, "link.ftp.delay", "ms", lambda v: 2.0 * v),
    Parameter("model FTP long", "n3-n4 RTT", _CODEL, "link.ftp.delay", "ms", lambda v: 2.0 * v),
    Parameter("DS", "Max Sustained Rate", _CODEL, "link.down.shaper.max_sustained_rate", "mbit"),
    Parameter("DS", "Traffic Burst", _CODEL, "link.down.shaper.max_traffic_burst", "MB"),
    Parameter("DS", "Peak Traffic Rate", _CODEL, "link.down.shaper.peak_traffic_rate", "mbit"),
    Parameter("US", "Max Sustained Rate", _CODEL, f"{_UP}.flow.max_sustained_rate", "mbit"),
    Parameter("US", "Traffic Burst", _CODEL, f"{_UP}.flow.max_traffic_burst", "MB"),
    Parameter("US", "Peak Traffic Rate", _CODEL, f"{_UP}.flow.peak_traffic_rate", "mbit"),
    Parameter("US/DS", "Peak Burst", _CODEL, f"{_UP}.flow.peak_burst", "B"),
    Parameter("DropTail no BC", "buffer", _LARGE, "link.up.queue.droptail.limit", "p"),
    Parameter("DropTail BC", "buffer", _SMALL, "link.up.queue.droptail.limit", "p"),
    Parameter("RF borderline", "mean max grant", _CONGESTED, f"{_UP}.max_grant", "B"),
    Parameter("RF borderline", "grant variance", _CONGESTED, f"{_UP}.grant_variation", "%"),
    Parameter("scenario 3", "simultaneous FTPs", _LARGE, "app.ftp.traffic.ftp.flows"),
    Parameter("scenario 4", "UDP rate", _LARGE, "app.cbr.traffic.cbr.rate", "mbit"),
    Parameter("scenario 5 bursty", "file size", _BURSTY, "app.ftp.traffic.messages.message", "MB", lambda v: v * 1500 / 1460),
    Parameter("web", "object size", _CODEL, "app.web.traffic.web.page.uniform.size", "KB"),
    Parameter("web", "HTML size", _CODEL, "app.web.traffic.web.page.uniform.html", "KB"),
    Parameter("web", "objects per server", _CODEL, "app.web.traffic.web.page.uniform.per_server"),
    Parameter("web", "wait between pages", _CODEL, "app.web.traffic.web.think", "s"),
    Parameter("all", "simulation duration", _CODEL, "duration", "s"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A parameter of the paper and what the scenario has."""

    parameter: str
    unit: str
    published: str
    ours: float
    agrees: bool


def read_back() -> Sequence[ReadBack]:
    """Every parameter of `PARAMETERS`, out of the scenarios that the study runs."""
    printed = {(r.case, r.metric): r for r in rows()}
    resolved = {which: build(which, 1).data for which in {p.of for p in PARAMETERS}}
    found: list[ReadBack] = []
    for parameter in PARAMETERS:
        its = printed[parameter.case, parameter.metric]
        ours = parameter.of_value(quantity(at_path(resolved[parameter.of], parameter.path), parameter.unit))
        agrees = abs(ours - float(its.value)) <= 1e-9 * max(1.0, abs(ours))
        found.append(ReadBack(f"{parameter.case}: {parameter.metric}", its.unit, its.value, ours, agrees))
    return found


def table(found: Sequence[ReadBack]) -> TextTable:
    """The parameters for a reader."""
    lines = [
        row(
            p.parameter,
            f"{p.published} {p.unit}".strip(),
            TextCell(f"{p.ours:g}", "good" if p.agrees else "bad", word="the same" if p.agrees else "differs"),
        )
        for p in found
    ]
    note = "Read back from the resolved scenarios, so that a slip of the pen would show."
    return TextTable("The paper's parameters", ["parameter", "published", "ours"], lines, note, left=1)
