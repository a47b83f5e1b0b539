"""Runs scenarios in the core and returns results. `driving` runs the core step by step.

The core simulates without the GIL, so threads of one process can use all CPU cores, except for scenarios with Python
classes. Ctrl-C works, because the core regularly calls back into Python.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bloatlab import _core, outside, public
from bloatlab.errors import nearest
from bloatlab.measures import digits as digits_of
from bloatlab.measures import value_at
from bloatlab.scenario import Scenario, ScenarioError, Sets, resolved
from bloatlab.traces import KINDS, PACKETS, Traces, check_named

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    from bloatlab.lazy import np, pl

#: A function that is called with the completed fraction of the simulated time, in [0, 1]. If the function raises an
#: exception, the run is cancelled.
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run. Picklable; simulations of equal scenarios and seeds give equal results on any machine.

    `==` compares the scenario, and the values in the summary and in all tables.

    `scenario` includes the seed. `summary` contains the measures of the run, its links and its applications; `tables`
    contains polars frames by name: series, histograms, page loads, flows. Column names end in the unit, if any;
    kB = 1000 bytes.
    """

    scenario: Scenario
    summary: dict[str, Any]
    tables: Mapping[str, pl.DataFrame]

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.scenario.seed

    @property
    def measured_s(self) -> float:
        """The time covered by the summary, in s: the duration without the warm-up."""
        return float(self.summary["duration_s"]) - float(self.summary.get("warm_up_s", 0.0))

    @property
    def invalid_because(self) -> str | None:
        """The reason why the numbers of a live run must not be used; None for a valid live run and for a simulation."""
        return invalid_because(self.summary)

    def table(self, name: str) -> pl.DataFrame:
        """Returns one table. Raises `KeyError` with the names of the tables."""
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; expected {', '.join(sorted(self.tables))}")
        return self.tables[name]

    def trace(self, of: str) -> pl.DataFrame:
        """Returns the trace of "links", "queues" or "flows". Raises `KeyError`, which says how to record the trace."""
        if f"trace_{of}" in self.tables:
            return self.tables[f"trace_{of}"]
        if of == PACKETS:
            raise KeyError("packets are files, not a table; read them with bloatlab.traces.packets(result's folder)")
        if of not in KINDS:
            raise KeyError(f"no trace {of!r}; expected {', '.join(KINDS)}{nearest(of, KINDS)}")
        kept = ", ".join(name.removeprefix("trace_") for name in self.tables if name.startswith("trace_"))
        how = f"record it with trace = {{ {of} = true }}"
        if self.scenario.traces(of):
            made = "with trace=False, or by bloatlab.open or bloatlab.Network, which trace nothing"
            how = f"the scenario requests it, but the run has no {of} to trace, or was made {made}"
        raise KeyError(f"no trace of {of!r} (recorded: {kept or 'none'}); {how}")

    def to_pandas(self, name: str) -> Any:
        """Returns one table as a pandas frame.

        Raises `KeyError` like `table`, and `ImportError` without pandas and pyarrow.
        """
        frame = self.table(name)
        for module in ("pandas", "pyarrow"):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                raise ImportError(f"to_pandas: {module} is not installed: pip install pandas pyarrow") from None
        return frame.to_pandas()

    def diff(self, other: Result | str | Path) -> Any:
        """Compares this result with another result or result folder: `bloatlab.diff`."""
        return public.find("diff")(self, other)

    def plot(self, kind: str | None = None, output: str | Path | None = None, **options: Any) -> Any:
        """Draws this result: `bloatlab.plot(result, kind=kind, output=output, ...)`."""
        return public.find("plot")(self, kind=kind, output=output, **options)

    def frame(self, per: Literal["run", "link", "app"] = "run") -> pl.DataFrame:
        """Returns the summary as a flat frame: one row for the run, or one per link or application.

        See `bloatlab.frame`.
        """
        return public.find("frame")([self], per)

    def __eq__(self, other: object) -> bool:
        """Returns whether the scenarios and the values in the summaries and in all tables are equal.

        NaN equals NaN, and 1 equals 1.0, so columns of different types can be equal.
        """
        if not isinstance(other, Result):
            return NotImplemented
        if (self.scenario, self.summary) != (other.scenario, other.summary):
            return False
        return self.tables.keys() == other.tables.keys() and all(
            frame.equals(other.tables[name]) for name, frame in self.tables.items()
        )

    def __hash__(self) -> int:
        """Returns the hash of the scenario."""
        return hash(self.scenario)

    def _repr_html_(self) -> str:
        """Returns the summary's tables, for notebooks."""
        return public.find("as_html")(self)

    def __repr__(self) -> str:
        """Returns a short description: one line per link and per application, and the names of the tables."""
        summary = self.summary
        late = "" if self.invalid_because is None else f", invalid: {self.invalid_because}"
        lines = [f"<Result {summary['name']}: seed {self.seed}, {summary['duration_s']:g} s{late}"]
        lines += [_link_line(name, link) for name, link in summary["links"].items()]
        lines += [_app_line(name, app) for name, app in summary["apps"].items()]
        return "\n".join([*lines, f"  tables {', '.join(self.tables)}>"])


def invalid_because(summary: Mapping[str, Any]) -> str | None:
    """Returns the reason why a live run is invalid, from its summary; None if it is valid or a simulation."""
    facts = summary.get("live")
    return None if facts is None or facts["valid"] else str(facts["invalid_because"])


def invalid_line(name: str, why: str) -> str:
    """Returns the sentence that names an invalid live run, and says why it is invalid."""
    return f"{name} is an invalid live run: {why}."


def _link_line(name: str, link: Mapping[str, Any]) -> str:
    facts = [f"{link['delivered_bytes'] / 1e6:.3f} MB", f"{link['dropped_packets']} dropped"]
    sojourn = link.get("sojourn_ms") or {}
    if sojourn.get("p50") is not None:
        facts.append(f"sojourn p50 {sojourn['p50']:.2f} ms, p99 {sojourn['p99']:.2f} ms")
    return f"  link {name}: {', '.join(facts)}"


def _app_line(name: str, app: Mapping[str, Any]) -> str:
    facts = [f"{app['kind']}, goodput {(app['goodput_bytes'] + app['goodput_bytes_reverse']) / 1e6:.3f} MB"]
    for path, text in _APP_FACTS.items():
        value = value_at(app, path)
        if value is not None:
            facts.append(text.format(value))
    return f"  app {name}: {', '.join(facts)}"


#: The measures that `repr(result)` shows for an application, if it has them. The keys are the measures' paths, and the
#: values are format strings.
_APP_FACTS = {
    "voip.mos": "MOS {:.2f}",
    "ping.rtt_ms.p50": "round trip p50 {:.2f} ms",
    "files.median_s": "file median {:.3f} s",
    "web.page_load_s.median": "page median {:.3f} s",
    "video.stalls": "{:.0f} stalls",
}


def run(
    scenario: Scenario | str | Path | Mapping[str, object],
    seed: int | None = None,
    progress: Progress | None = None,
    *,
    sets: Sets = (),
    captures: str | Path | None = None,
    capture_link: str | None = None,
    laws: Mapping[str, type] | None = None,
    controllers: Mapping[str, type] | None = None,
    packets: str | Path | None = None,
    trace: bool = True,
) -> Result:
    """Simulates a scenario: a `Scenario`, the path of a file, the name of a workload, or plain values.

    `sets` overrides values: `{"link.up.rate": "5mbit", "link.up.queue": {"codel": {}}}`, or pairs of strings. `seed`
    replaces the scenario's own. `progress` is called with the completed fraction; an exception it raises cancels the
    run. Ctrl-C raises `KeyboardInterrupt` within about a tenth of a second.

    `captures` is a folder, made if necessary, for left.pcap and right.pcap, which are replaced. They contain every
    packet at the two ends of `capture_link` (default: the slowest link): `from` (left) and `to` (right). Captures
    change no result; equal runs give equal bytes.

    `laws` contains your own laws, as classes by name, for `queue.python = { law = NAME }` (see `bloatlab.laws`). An
    error in a law raises `LawError`. `controllers` contains your own controllers, for `tcp.mine.python = { controller =
    NAME }` (see `bloatlab.controllers`). An error in a controller raises `ControllerError`.

    The scenario's `trace` adds tables (`result.trace("links")`). Packet files are written only if `packets` names a
    folder for them, which must have no other files; packets of an earlier run are replaced. `trace=False` turns tracing
    off. Tracing changes no other result. An argument that would have no effect is refused, except `trace`.
    """
    scenario = resolved(scenario, sets)
    if seed is not None and seed != scenario.seed:
        scenario = scenario.with_seed(seed)
    _check_recording(scenario, captures, capture_link, packets, trace)
    kept = Traces(packets)
    folder = str(captures) if captures is not None else None
    factories = outside.factories(scenario.text, laws, controllers)
    simulated = scenario
    if trace and packets is None and scenario.traces("packets"):
        simulated = scenario.with_sets(("trace.packets", "false"))
    try:
        output = _core.run(
            simulated.text, None, progress or _go_on, folder, capture_link, factories or None, kept if trace else None
        )
    except _core.ClassFailure as failure:
        raise outside.explained(failure, factories) from failure.__cause__
    return Result(scenario, summary_of(output["summary"]), frames(output["tables"], kept.tables()))


def _check_recording(
    scenario: Scenario,
    captures: str | Path | None,
    capture_link: str | None,
    packets: str | Path | None,
    trace: object,
) -> None:
    """Raises an error if an argument about captures or traces is invalid or, except for `trace`, has no effect."""
    check_named("captures", captures)
    check_named(PACKETS, packets)
    if not isinstance(trace, bool):
        valid = 'True or False; what is traced is part of the scenario: sets={"trace.flows": True}'
        raise ScenarioError([f"trace: {str(trace)[:80]!r} is not valid; expected {valid}"])
    if packets is not None and not (trace and scenario.traces(PACKETS)):
        why = 'the scenario traces none; add sets={"trace.packets": True}' if trace else "trace=False turns traces off"
        raise ScenarioError([f"packets: no packets would be written, because {why}"])
    if capture_link is not None and captures is None:
        raise ScenarioError(["capture_link: nothing would be captured; add captures=FOLDER"])


#: Statistics of a distribution that have no unit, although the distribution has one.
_UNITLESS = frozenset({"cv", "count"})


def summary_of(text: str) -> dict[str, Any]:
    """Returns the core's summary as plain values, each rounded to the resolution of its unit."""
    summary: dict[str, Any] = json.loads(text)
    named = ("links", "apps")
    for part in (of for name in named for of in summary[name].values()):
        _round(part)
    rest = {key: value for key, value in summary.items() if key not in named}
    _round(rest)
    return summary | rest


def _round(part: Any, digits: int | None = None) -> None:
    """Rounds the values in a part of the summary to the resolution of their unit.

    A value without a unit of its own is rounded to the resolution of its parent's unit.
    """
    # written for speed, because a sweep calls it for every part of every run
    if type(part) is dict:
        for key, value in part.items():
            kind = type(value)
            if kind is float or kind is dict or kind is list:
                own = None if key in _UNITLESS else digits_of(key) or digits
                if kind is not float:
                    _round(value, own)
                elif own is not None:
                    part[key] = round(value, own)
    elif type(part) is list:
        for place, value in enumerate(part):
            if type(value) is not float:
                _round(value, digits)
            elif digits is not None:
                part[place] = round(value, digits)


def frames(
    tables: _core.Tables | Mapping[str, Mapping[str, Any]], made: Mapping[str, pl.DataFrame] | None = None
) -> Mapping[str, pl.DataFrame]:
    """Returns the core's tables as frames.

    Even a column without values has a type, so the frames of two runs can be concatenated. A list becomes a column of
    strings. The exception is a list of nulls for a counter that the run did not have: it becomes a column of counts.
    A frame is made on first access, which saves time in a sweep that needs only the summary. `made` contains additional
    frames from the caller. Numbers are rounded to the resolution of their unit.
    """
    fine = {
        name: frame.with_columns(
            pl.col(column).round(digits)
            for column, kind in frame.schema.items()
            if kind == pl.Float64 and (digits := digits_of(column)) is not None
        )
        for name, frame in (made or {}).items()
    }
    return _Frames(tables, fine)


class _Frames(Mapping[str, "pl.DataFrame"]):
    """Frames by name, each made on first access."""

    def __init__(
        self, tables: _core.Tables | Mapping[str, Mapping[str, Any]], made: Mapping[str, pl.DataFrame]
    ) -> None:
        self._tables = tables
        self._made = dict(made)
        self._names = [*tables.keys(), *made]

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            columns = self._tables.get(name)
            if columns is None:
                raise KeyError(name)
            self._made[name] = pl.DataFrame([_series(c, values) for c, values in columns.items()])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Frames, ({}, dict(self))


#: The names of the columns that contain strings. All other columns are numeric, except in traces.
TEXT = frozenset({"app", "direction", "dst", "link", "mode", "protocol", "queue", "src"})


def _series(name: str, values: Any) -> pl.Series:
    if isinstance(values, list):
        text = name in TEXT or any(isinstance(value, str) for value in values)
        return pl.Series(name, values, dtype=pl.String if text else pl.UInt64)
    digits = digits_of(name)
    return pl.Series(name, values if digits is None or values.dtype.kind != "f" else np.round(values, digits))


def core_file() -> Path:
    """Returns the path of the compiled core. A result depends on this file and on its scenario."""
    return Path(_core.__file__)


def _go_on(_fraction: float) -> None:
    """Does nothing. The core calls it regularly, so that Python can deliver Ctrl-C."""
