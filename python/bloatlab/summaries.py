"""Makes readable tables from the summary of a run.

A table is printed if the run has data for it, and a column if any of its rows has a value (for some columns, a value
other than 0). docs/results.md explains the numbers of a summary.
"""

from __future__ import annotations

import html
import itertools
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bloatlab.measures import value_at
from bloatlab.results import open_result
from bloatlab.simulation import Result
from bloatlab.tables import TextTable, natural, number, row

if TYPE_CHECKING:
    import polars as pl
else:
    from bloatlab.lazy import pl

#: The summary of a run, or the part of it for a row of a table, such as a link or an application.
Of = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of a table: its group's heading, its own heading, and how to get and print its values.

    A value is found at `path` in the summary, multiplied by `scale`, and printed with `digits` decimals. With `some`,
    the column is left out if all of its values are missing or 0.
    """

    group: str
    head: str
    path: str
    digits: int = 0
    scale: float = 1.0
    some: bool = False

    def value(self, of: Of) -> float | str | None:
        """Returns this column's value from the data of a row: a scaled number, a string, or None if missing."""
        found = value_at(of, self.path)
        return found if found is None or isinstance(found, str) else float(found) * self.scale

    def text(self, value: float | str | None) -> str:
        """Formats a number with the column's number of decimals. A string stays as it is."""
        return value if isinstance(value, str) else number(value, self.digits)


def headline(result: Result) -> str:
    """Describes the run in one line: its name, seed, duration, and grade with the delay or RPM that determines it.

    For an invalid live run, the line also says why it is invalid. Without a grade, the line has no delay or RPM.
    """
    summary = result.summary
    words = [str(summary["name"]), f"seed {result.seed}", f"{summary['duration_s']:g} s"]
    if result.invalid_because is not None:
        words.append(f"invalid: {result.invalid_because}")
    latency = summary.get("latency") or {}
    if latency.get("grade") is not None:
        scale = f" ({latency['scale']})" if "scale" in latency else ""
        high = "" if scale else f", 99 %: {number(latency.get('induced_p99_ms'))} ms"
        of = (
            f"load adds {number(latency['induced_ms'])} ms{high}"
            if latency.get("rpm") is None
            else f"{latency['rpm']:.0f} RPM"
        )
        where = f"{latency['from']}, background" if latency.get("background") else latency["from"]
        words += [f"grade {latency['grade']}{scale}", f"{of} ({where})"]
    return "  ".join(words)


def summary_tables(result: Result) -> list[TextTable]:
    """Makes every table for which the run has data."""
    return tables_of(result.summary, result.measured_s)


def tables_of(summary: Of, seconds: float) -> list[TextTable]:
    """Makes every table of a summary. `seconds` is the time that the summary covers."""
    return list(_tables(summary, seconds))


def _tables(summary: Of, seconds: float) -> Iterator[TextTable]:
    links: Mapping[str, Of] = dict(sorted(summary["links"].items(), key=lambda one: natural(one[0])))
    apps: Mapping[str, Of] = dict(sorted(summary["apps"].items(), key=lambda one: natural(one[0])))
    yield from _table("Links", "link", links, _declared("links"))
    yield from _drops(links)
    delivering = {name: link for name, link in links.items() if link.get("delivery")}
    yield from _table("Opportunities", "link", delivering, _declared("delivery"))
    classes = {f"{name} {one}": of for name, link in links.items() for one, of in (link.get("classes") or {}).items()}
    yield from _table("Classes", "link, class", classes, _declared("classes"))
    grants = {f"{name} {one}": of for name, link in links.items() for one, of in (link.get("grants") or {}).items()}
    yield from _table("Grants", "link, flow", grants, _declared("grants"))
    yield from _apps(apps, seconds)
    several = {name: app for name, app in apps.items() if app.get("fairness") is not None}
    fair = {name: app for name, app in several.items() if app.get("flow_goodput_mbit")}
    # if one application has all greedy flows, the index over all greedy flows equals its own, and needs no row
    if summary.get("fairness") not in {None, *(app["fairness"] for app in several.values() if len(several) == 1)}:
        fair["all greedy flows"] = {"fairness": summary["fairness"]}
    yield from _table("Fairness", "flows of", fair, _declared("fairness"))
    for table in _FILE["of_applications"]:
        having = {name: app for name, app in apps.items() if app.get(table["part"])}
        yield from _table(table["title"], "application", having, [_Field(*column) for column in table["columns"]])
    plain = {n: a for n, a in apps.items() if a.get("datagrams_sent") and a["kind"] not in {"ping", "voip"}}
    yield from _table("Datagrams", "application", plain, _declared("datagrams"))


def _table(title: str, label: str, rows: Mapping[str, Of], fields: Sequence[_Field]) -> Iterator[TextTable]:
    """Yields the table, unless it has no rows."""
    if not rows:
        return
    columns = [(field, [field.value(of) for of in rows.values()]) for field in fields]
    kept = [(f, values) for f, values in columns if any(v if f.some else v is not None for v in values)]
    texts = [[f.text(value) for value in values] for f, values in kept]
    body = [row(name, *cells) for name, *cells in zip(rows, *texts, strict=True)]
    yield TextTable(title, [label, *(f.head for f, _ in kept)], body, groups=_groups([f for f, _ in kept]))


def _groups(fields: Sequence[_Field]) -> list[tuple[str, int]]:
    """Returns each group heading and the number of columns below it, or an empty list if there are no headings."""
    groups = ["", *(field.group for field in fields)]
    return [(group, len(list(of))) for group, of in itertools.groupby(groups)] if any(groups) else []


#: The tables and their columns.
_FILE = tomllib.loads(resources.files("bloatlab").joinpath("summaries.toml").read_text(encoding="utf-8"))


def _declared(name: str) -> list[_Field]:
    """Reads the columns of a table in `summaries.toml`."""
    return [_Field(*column) for column in _FILE[name]["columns"]]


def _drops(links: Mapping[str, Of]) -> Iterator[TextTable]:
    """Yields the table of dropped packets: one column per reason that occurred, one row per link with drops."""
    dropping = {name: link for name, link in links.items() if any(link["drops"].values())}
    reasons = dict.fromkeys(r for link in dropping.values() for r, n in sorted(link["drops"].items()) if n)
    yield from _table("Drops", "link", dropping, [_Field("", reason, f"drops.{reason}") for reason in reasons])


def _apps(apps: Mapping[str, Of], seconds: float) -> Iterator[TextTable]:
    """Yields the applications table, including rates on the wire."""

    def rates(app: Of) -> dict[str, float]:
        carried = {way: app.get(f"wire_bytes{way}") for way in ("", "_reverse") if seconds}
        return {f"wire_mbit{way}": of * 8e-6 / seconds for way, of in carried.items() if of is not None}

    rated = {name: {**app, **rates(app)} for name, app in apps.items()}
    for table in _table("Applications", "application", rated, _declared("applications")):
        yield replace(table, left=2)


def as_html(result: Result) -> str:
    """Returns the headline and the summary's tables, for notebooks."""
    return f"<p><b>{html.escape(headline(result))}</b></p>" + "".join(t.as_html() for t in summary_tables(result))


def _called(of: Result | str | Path) -> str:
    return of.scenario.name if isinstance(of, Result) else Path(of).resolve().name


#: Maps the argument `per` of `frame` to the key of a summary that contains the links or the applications.
_PARTS = {"link": "links", "app": "apps"}


def frame(
    results: Iterable[Result | str | Path] | Mapping[str, Result | str | Path],
    per: Literal["run", "link", "app"] = "run",
) -> pl.DataFrame:
    """Makes one flat frame of summaries: one row per run, per link (`per="link"`) or per application (`"app"`).

    `results` are results or result folders; a mapping gives each a name. The columns are `run` (this name; without a
    mapping, the name of the folder or scenario), `seed` and `scenario_hash`, then every number and flag of the summary
    by its dotted path (docs/results.md). With rows per link or application, the column `link` or `app` contains its
    name, and a column `kind` the kind of application; paths begin below the name. Missing values are null. Raises
    `ResultError` for a folder that is not a result.
    """
    from bloatlab.sweep import grid_file  # noqa: PLC0415  `bloatlab run` must not load the sweep module

    if per not in {"run", *_PARTS}:
        raise ValueError(f"per {per}: expected run, link or app")
    named = results.items() if isinstance(results, Mapping) else [(_called(of), of) for of in results]
    rows: list[dict[str, Any]] = []
    for name, of in named:
        result = of if isinstance(of, Result) else open_result(of)
        head = {"run": name, "seed": result.seed, "scenario_hash": result.scenario.hash}
        if per == "run":
            rows.append({**head, **grid_file.summary(result)})
        else:
            parts: Mapping[str, Of] = result.summary[_PARTS[per]]
            words = {one: {"kind": part["kind"]} if "kind" in part else {} for one, part in parts.items()}
            rows += [{**head, per: one, **words[one], **grid_file.flat(part)} for one, part in parts.items()]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"seed": pl.UInt64} if rows else None)
