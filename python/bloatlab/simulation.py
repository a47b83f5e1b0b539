"""Scenario in, result out. The only module that runs the core.

The core simulates without the GIL, so several runs share the cores of a machine as threads. Ctrl-C is honoured: the
core asks now and then whether to go on.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from bloatlab import _core, public
from bloatlab import laws as laws_in_python
from bloatlab.measures import digits as digits_of
from bloatlab.scenario import Scenario, Sets, resolved
from bloatlab.traces import Traces

# Polars loads numpy at its first use, which must not be two threads at once: the second finds numpy's module `_globals`
# where polars keeps a dict of that name (polars 1, `_LazyModule._import`). So the first use is here.
pl.Series(np.zeros(1))

#: Called with the fraction of simulated time that is done, in [0, 1]; raising cancels the run.
Progress = Callable[[float], None]


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

    def trace(self, of: str) -> pl.DataFrame:
        """What the scenario's `trace` kept of "links", "queues" or "flows". Raises `KeyError` saying how to keep it."""
        if f"trace_{of}" not in self.tables:
            kept = ", ".join(name.removeprefix("trace_") for name in self.tables if name.startswith("trace_"))
            message = f"no trace of {of!r} was kept (kept: {kept or 'none'}); ask for it with trace = {{ {of} = true }}"
            raise KeyError(message)
        return self.tables[f"trace_{of}"]

    def to_pandas(self, name: str) -> Any:
        """One table as a pandas frame. Raises `KeyError` as `table` does, `ImportError` without pandas and pyarrow."""
        frame = self.table(name)
        for module in ("pandas", "pyarrow"):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                raise ImportError(f"to_pandas: {module} is not installed: pip install pandas pyarrow") from None
        return frame.to_pandas()

    def diff(self, other: Result | str | Path) -> Any:
        """What differs between this result and another, opened or in a folder: `bloatlab.diff`."""
        return public.find("diff")(self, other)

    def plot(self, kind: str | None = None, output: str | Path | None = None, **options: Any) -> Any:
        """This result as a figure: `bloatlab.plot(result, kind=kind, output=output, ...)`."""
        return public.find("plot")(self, kind=kind, output=output, **options)

    def frame(self, per: Literal["run", "link", "app"] = "run") -> pl.DataFrame:
        """The summary as a flat frame: one row for the run, or a row per link or application. See `bloatlab.frame`."""
        return public.find("frame")([self], per)

    def _repr_html_(self) -> str:
        """The summary's tables, for notebooks."""
        return public.find("as_html")(self)

    def __repr__(self) -> str:
        """The run in a few lines: a line per link and per application, and the names of the tables."""
        summary = self.summary
        lines = [f"<Result {summary['name']}: seed {self.seed}, {summary['duration_s']:g} s"]
        lines += [_link_line(name, link) for name, link in summary["links"].items()]
        lines += [_app_line(name, app) for name, app in summary["apps"].items()]
        return "\n".join([*lines, f"  tables {', '.join(self.tables)}>"])


def _link_line(name: str, link: Mapping[str, Any]) -> str:
    words = [f"{link['delivered_bytes'] / 1e6:.3f} MB", f"{link['dropped_packets']} dropped"]
    sojourn = link.get("sojourn_ms") or {}
    if sojourn.get("p50") is not None:
        words.append(f"sojourn p50 {sojourn['p50']:.2f} ms, p99 {sojourn['p99']:.2f} ms")
    return f"  link {name}: {', '.join(words)}"


def _app_line(name: str, app: Mapping[str, Any]) -> str:
    words = [f"{app['kind']}, goodput {(app['goodput_bytes'] + app['goodput_bytes_reverse']) / 1e6:.3f} MB"]
    for path, text in _APP_WORDS.items():
        value: Any = app
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            words.append(text.format(value))
    return f"  app {name}: {', '.join(words)}"


#: What a line says of an application that has it.
_APP_WORDS = {
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
    captures: Path | None = None,
    capture_link: str | None = None,
    laws: Mapping[str, type] | None = None,
    packets: Path | None = None,
    trace: bool = True,
) -> Result:
    """Simulate `scenario` to its end: a `Scenario`, the path of a file, or plain values.

    `sets` are laid over it: `{"link.up.rate": "5mbit", "link.up.queue": {"codel": {}}}`, or pairs of texts. `seed`
    replaces the scenario's own. `progress` is told how far the run is; what it raises cancels the run. Ctrl-C raises
    `KeyboardInterrupt` within about a tenth of a second.

    `captures` is a folder for left.pcap and right.pcap: every packet at the two ends of `capture_link`, by default of
    the slowest link, whose `from` is on the left. They change no result; equal runs give equal bytes.

    `laws` are classes by the names that `queue.python = { law = NAME }` has: laws of one's own, see `bloatlab.laws`.
    What goes wrong in one raises `LawError`.

    What the scenario's `trace` asks for becomes tables (`result.trace("links")`); `packets` is the folder for the files
    of its packets, which are left out without one. `trace=False` keeps nothing of it. Neither changes another result.
    """
    scenario = resolved(scenario, sets)
    if seed is not None and seed != scenario.seed:
        scenario = scenario.with_sets(("seed", str(seed)))
    folder = str(captures) if captures is not None else None
    makers = laws_in_python.makers(scenario.text, laws or {})
    kept = Traces(packets)
    asked = scenario
    if trace and packets is None and scenario.traces("packets"):
        asked = scenario.with_sets(("trace.packets", "false"))
    try:
        output = _core.run(
            asked.text, None, progress or _go_on, folder, capture_link, makers or None, kept if trace else None
        )
    except _core.LawFailure as failure:
        raise laws_in_python.explained(failure, makers) from failure.__cause__
    return Result(scenario, summary_of(output["summary"]), frames(output["tables"], kept.tables()))


#: Numbers of a distribution that are not in its unit.
_UNITLESS = ("cv", "count")


def summary_of(text: str) -> dict[str, Any]:
    """The core's summary as plain values, every number as fine as its unit."""
    summary: dict[str, Any] = json.loads(text)
    named = {part: {name: _resolved(of) for name, of in summary[part].items()} for part in ("links", "apps")}
    return _resolved(summary | dict.fromkeys(named)) | named


def _resolved(value: Any, digits: int | None = None) -> Any:
    """A value, and what is below it in its unit unless it names its own, rounded to what the unit resolves."""
    match value:
        case float() if digits is not None:
            return round(value, digits)
        case dict():
            own = {key: None if key in _UNITLESS else digits_of(key) or digits for key in value}
            return {key: _resolved(of, own[key]) for key, of in value.items()}
        case list():
            return [_resolved(of, digits) for of in value]
        case _:
            return value


def frames(
    tables: Mapping[str, Mapping[str, Any]], made: Mapping[str, pl.DataFrame] | None = None
) -> Mapping[str, pl.DataFrame]:
    """The core's tables as frames. A column has its type also without a row or a value: frames of two runs concatenate.

    Lists are text, or what nobody counted: null in every row, of the type of counts. A frame is made when it is first
    asked for: a sweep that wants the summary alone does not wait for tables. `made` are further frames. Numbers are as
    fine as their unit.
    """
    return _Frames(tables, {name: _fine(frame) for name, frame in (made or {}).items()})


def _fine(frame: pl.DataFrame) -> pl.DataFrame:
    floats = [name for name, kind in frame.schema.items() if kind == pl.Float64]
    return frame.with_columns(pl.col(name).round(digits) for name in floats if (digits := digits_of(name)) is not None)


class _Frames(Mapping[str, pl.DataFrame]):
    """Frames by name, each made once."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]], made: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables
        self._made = dict(made)
        self._names = [*tables, *made]

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            self._made[name] = pl.DataFrame([_series(c, values) for c, values in self._tables[name].items()])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


#: Columns of text; all others are numbers.
TEXT = frozenset({"app", "direction", "dst", "link", "mode", "protocol", "src"})


def _series(name: str, values: Any) -> pl.Series:
    if isinstance(values, list):
        text = name in TEXT or any(isinstance(value, str) for value in values)
        return pl.Series(name, values, dtype=pl.String if text else pl.UInt64)
    digits = digits_of(name)
    return pl.Series(name, values if digits is None or values.dtype.kind != "f" else np.round(values, digits))


def core_file() -> Path:
    """Where the compiled core is: what a result depends on besides its scenario."""
    return Path(_core.__file__)


def _go_on(_fraction: float) -> None:
    """Nothing to tell; being called is what lets Python deliver Ctrl-C."""
