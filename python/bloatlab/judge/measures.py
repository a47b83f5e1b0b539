"""The numbers of a run that criteria use: paths of the summary, and SQL over tables.

    flow      one row per event of the judged sender: the columns of `trace_flows`, `phase`, and `visit` (the number of
              the stay in a phase, from 1)
    visits    one row per stay in a phase: visit, phase, previous, next, start_s, end_s, rounds (during the stay), and
              other columns of flow as first_NAME and last_NAME, their values in the first and the last row of the stay
    flows     flow_series: one row per flow and bin, app, t_s, goodput_bytes, cwnd_bytes, srtt_ms ...
    queues    queue_series: one row per link and bin, link, t_s, sojourn_ms_mean, dropped_packets ...
    files, pings, pages, media      the tables with these names, if the run produced them

`phase` is the first string column that the controller itself traces. If a controller does not trace a column of `flow`
or `visits` that a query uses, the criterion does not apply to this controller. Any other error in a query is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

from bloatlab.simulation import Result
from bloatlab.sweep import Measure, grid_file

#: If a suite judges a TCP stack, the stack has this name in each scenario, as has the application whose first flow is
#: judged. Other applications may use the stack, too.
JUDGED = "judged"

#: String columns that the trace contains for every sender. The first string column besides these is the phase.
_WORDS = ("app", "direction", "state")

#: The links whose queue is shown in a case's figure.
_SHOWN = ("forward", "bottleneck")

#: A table for a figure is thinned if it has at least twice this number of rows. At least this number remains, but less
#: than twice as many.
_POINTS = 400

#: Maximum number of stays in a phase that a figure shows; later stays are left out.
MOST_STAYS = 400

#: If a transport failed during a run, the summary contains the reason under this key.
FAILURE = "failure"

#: If a query is invalid, a run's numbers contain the query and the reason under this key.
INVALID = "invalid query"

#: If a query uses a column or a table that the controller does not trace, the result of the query is this string,
#: followed by the name of the column or table.
MISSING = "no column "

#: Matches a query on a table whose columns depend on what the controller traces.
_TRACED = re.compile(r"\b(?:from|join)\s+(?:flow|visits)\b", re.IGNORECASE)


def measure(
    name: str, queries: Mapping[str, Sequence[str]], *, trace: bool, run: Callable[..., Result] | None = None
) -> Measure:
    """Returns the `Measure` for a suite's runs: it extracts the numbers of the summary, and the results of the queries.

    `name` differs between suites and between transports, because `bloatlab store gc` keeps only the newest code of each
    name, and the queries and `run` are part of the code. `queries` maps the name of each case's scenario to the queries
    of the case. `run` is the function that runs a scenario, by default `bloatlab.run`.
    """
    return Measure(f"judge.{name}", partial(_row, queries=dict(queries)), _frames, trace=trace, run=run)


def _row(result: Result, queries: Mapping[str, Sequence[str]]) -> dict[str, float | int | str | bool | None]:
    tables = _tables(result)
    row: dict[str, float | int | str | bool | None] = dict(grid_file.flat(result.summary))
    for sql in queries[result.scenario.name]:
        try:
            row[sql] = _value(tables, sql)
        except pl.exceptions.PolarsError as error:
            row[INVALID] = f"{' '.join(sql.split())[:200]}: {str(error).splitlines()[0]}"
    flow = tables.get("flow", pl.DataFrame())
    phases = flow["phase"].unique(maintain_order=True) if flow.schema.get("phase") == pl.String else []
    ended = {key: result.summary[key] for key in (FAILURE,) if key in result.summary}
    return row | ended | {"phases": " ".join(p for p in phases if p)}


def _value(tables: Mapping[str, pl.DataFrame], sql: str) -> float | str | None:
    """Returns the number that a query gives (None if it gives none).

    If the controller does not trace a column or table of the query, returns `MISSING` and its name. Raises
    `PolarsError` for an invalid query.
    """
    try:
        found = pl.SQLContext(dict(tables)).execute(sql, eager=True)
    except (pl.exceptions.ColumnNotFoundError, pl.exceptions.SQLInterfaceError) as error:
        name = re.search(r"['\"]([\w.]+)['\"]", str(error).partition("\n")[0])
        unknown = (
            name is not None and re.search("found|unable to find", str(error)) and "parser error" not in str(error)
        )
        if name is None or not unknown or not _TRACED.search(sql):
            raise
        return MISSING + name[1].removeprefix("first_").removeprefix("last_")
    value = found.to_series()
    if not (value.dtype.is_numeric() or isinstance(value.dtype, pl.Boolean | pl.Null)):
        raise pl.exceptions.SchemaError(f"expected a number; the query returns {value.dtype}")
    return None if value.is_empty() or value[0] is None else float(value[0])


def _tables(result: Result) -> dict[str, pl.DataFrame]:
    """Returns the tables by the names used in queries. NaN becomes null, as SQL expects."""
    tables = {
        own: result.tables[name].fill_nan(None)
        for own, name in (
            ("flows", "flow_series"),
            ("queues", "queue_series"),
            ("files", "files"),
            ("pings", "pings"),
            ("pages", "pages"),
            ("media", "media"),
        )
        if name in result.tables
    }
    if "trace_flows" not in result.tables:
        return tables
    flow = result.trace("flows").fill_nan(None).filter(pl.col("app") == JUDGED, pl.col("flow") == 0)
    words = [name for name, kind in flow.schema.items() if kind == pl.String and name not in _WORDS]
    tables["flow"] = flow
    if words:
        phase = pl.col(words[0])
        visit = (phase != phase.shift()).fill_null(value=True).cum_sum().cast(pl.Int64)
        tables["flow"] = flow = flow.with_columns(phase=phase, visit=visit)
        tables["visits"] = _visits(flow)
    return tables


def _visits(flow: pl.DataFrame) -> pl.DataFrame:
    rest = [name for name in flow.columns if name not in ("app", "flow", "direction", "phase", "visit")]
    visits = flow.group_by("visit", maintain_order=True).agg(
        pl.col("phase").first(),
        *(pl.col(name).first().alias(f"first_{name}") for name in rest),
        *(pl.col(name).last().alias(f"last_{name}") for name in rest),
    )
    end = pl.col("first_t_s").shift(-1)
    passed = pl.col("first_rounds").shift(-1) - pl.col("first_rounds")
    return visits.with_columns(
        *([passed.alias("rounds")] if "first_rounds" in visits.columns else []),
        start_s=pl.col("first_t_s"),
        end_s=end,
        previous=pl.col("phase").shift(),
        next=pl.col("phase").shift(-1),
    )


def _frames(result: Result) -> dict[str, pl.DataFrame]:
    """Returns the data for the page's figures: the judged sender and its phases, queues, and rates of applications."""
    frames: dict[str, pl.DataFrame] = {}
    tables = _tables(result)
    if "visits" in tables:
        end = pl.col("end_s").fill_null(tables["flow"]["t_s"].max())
        frames["judge_phases"] = tables["visits"].select("phase", "start_s", end).head(MOST_STAYS)
    if "trace_flows" in result.tables and (flow := tables["flow"]).height:
        own = [
            c
            for c in ("t_s", "phase", "cwnd_bytes", "in_flight_bytes", "pacing_rate_mbit", "max_bw_mbit", "srtt_ms")
            if c in flow.columns
        ]
        frames["judge_flow"] = flow.select(own).gather_every(max(1, flow.height // _POINTS))
    if "queue_series" in result.tables:
        queues = result.table("queue_series").filter(pl.col("link").is_in(_SHOWN))
        frames["judge_queue"] = queues.select("link", "t_s", "sojourn_ms_mean").gather_every(
            max(1, queues.height // _POINTS)
        )
    if "flow_series" in result.tables:
        series, bins = result.table("flow_series"), 100
        step = float(result.summary["duration_s"]) / bins
        frames["judge_rates"] = (
            series.with_columns(t_s=(pl.col("t_s") / step).floor() * step)
            .group_by("app", "t_s", maintain_order=True)
            .agg(rate_mbit=pl.col("goodput_bytes").sum() * 8e-6 / step)
            .sort("app", "t_s")
        )
    return frames
