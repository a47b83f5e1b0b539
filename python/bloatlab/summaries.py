"""The summary of a run as tables for people, without empty parts.

A table is printed if the run has data for it, a column if one of its rows has a value. The same numbers are in
`summary.json` under the same names; docs/results.md explains them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from bloatlab.measures import value_at
from bloatlab.results import open_result
from bloatlab.simulation import Result
from bloatlab.sweep import grid_file
from bloatlab.tables import TextTable, number, row

#: The summary of a link or an application.
Of = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Field:
    """A column: the heading of its group, its own heading, and the path, scale and decimals of its values.

    With `some`, the column is left out if all of its values are missing or 0.
    """

    group: str
    head: str
    path: str
    digits: int = 0
    scale: float = 1.0
    some: bool = False

    def value(self, of: Of) -> float | str | None:
        """The number, scaled, or the text that a link or an application has for this column."""
        found = value_at(of, self.path)
        return found if found is None or isinstance(found, str) else float(found) * self.scale

    def text(self, value: float | str | None) -> str:
        """A value as it is printed."""
        return value if isinstance(value, str) else number(value, self.digits)


def headline(result: Result) -> str:
    """The scenario's name, seed and duration; if there is a grade, the grade and its basis."""
    summary = result.summary
    words = [str(summary["name"]), f"seed {result.seed}", f"{summary['duration_s']:g} s"]
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
    """Every table that the run has data for."""
    return tables_of(result.summary, result.measured_s)


def tables_of(summary: Of, seconds: float) -> list[TextTable]:
    """Every table of a summary that covers `seconds`."""
    return list(_tables(summary, seconds))


def _tables(summary: Of, seconds: float) -> Iterator[TextTable]:
    links: Mapping[str, Of] = summary["links"]
    apps: Mapping[str, Of] = summary["apps"]
    yield from _table("Links", "link", links, _LINK)
    yield from _drops(links)
    yield from _table(
        "Opportunities", "link", {n: link for n, link in links.items() if link.get("delivery")}, _DELIVERY
    )
    classes = {f"{name} {one}": of for name, link in links.items() for one, of in (link.get("classes") or {}).items()}
    yield from _table("Classes", "link, class", classes, _CLASS)
    grants = {f"{name} {one}": of for name, link in links.items() for one, of in (link.get("grants") or {}).items()}
    yield from _table("Grants", "link, flow", grants, _GRANTS)
    yield from _apps(apps, seconds)
    several = {name: app for name, app in apps.items() if app.get("fairness") is not None}
    fair = {name: app for name, app in several.items() if app.get("flow_goodput_mbit")}
    if summary.get("fairness") is not None and len(several) != 1:
        fair["all greedy flows"] = {"fairness": summary["fairness"]}
    yield from _table("Fairness", "flows of", fair, _FAIR)
    for title, key, fields in _KINDS:
        yield from _table(title, "application", {name: app for name, app in apps.items() if app.get(key)}, fields)
    plain = {n: a for n, a in apps.items() if a.get("datagrams_sent") and a["kind"] not in {"ping", "voip"}}
    yield from _table("Datagrams", "application", plain, _DATAGRAMS)


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
    """Headings above groups of columns; empty if no column has one."""
    if not any(field.group for field in fields):
        return []
    runs: list[tuple[str, int]] = [("", 1)]
    for field in fields:
        if runs[-1][0] == field.group:
            runs[-1] = (field.group, runs[-1][1] + 1)
        else:
            runs.append((field.group, 1))
    return runs


def _columns(
    group: str, prefix: str, digits: int, heads: Mapping[str, str], *, scale: float = 1.0, some: bool = False
) -> list[_Field]:
    """Columns under one heading: the keys below `prefix` by their own headings."""
    return [_Field(group, head, prefix + key, digits, scale, some) for head, key in heads.items()]


def _statistics(group: str, prefix: str, digits: int, *keys: str) -> list[_Field]:
    """Columns for statistics of a distribution; `p99_9` has the heading p99.9."""
    return _columns(group, f"{prefix}.", digits, {key.replace("_", "."): key for key in keys})


_LINK = [
    *_columns("delivered", "delivered_", 0, {"packets": "packets"}),
    *_columns("delivered", "delivered_", 3, {"MB": "bytes"}, scale=1e-6),
    *_columns("delivered", "", 1, {"use%": "utilisation"}, scale=100.0),
    _Field("", "drops", "dropped_packets"),
    _Field("", "marks", "marked_packets", some=True),
    *_statistics("sojourn ms", "sojourn_ms", 2, "mean", "p50", "p99", "p99_9"),
    _Field("queue", "max", "queue_packets.max"),
    _Field("", "grade", "grade"),
]

_DELIVERY = [
    _Field("could send", "Mbit/s", "delivery.mean_mbit", 3),
    *_columns("could send", "delivery.", 3, {"MB": "bytes", "unused MB": "wasted_bytes"}, scale=1e-6),
    *_columns("gaps", "delivery.", 0, {"longest ms": "longest_gap_ms", "over 100 ms": "gaps_over_100ms"}),
    _Field("gaps", "drops", "delivery.gap_drops", some=True),
]

_CLASS = [
    *_columns("packets", "", 0, {fate: f"{fate}_packets" for fate in ("offered", "delivered", "dropped")}),
    *_columns("MB", "", 3, {fate: f"{fate}_bytes" for fate in ("offered", "delivered", "dropped")}, scale=1e-6),
    *_columns("marks", "marked_packets.", 0, {"law": "law", "step": "step"}, some=True),
]

_GRANTS = [
    *_columns("MB", "", 3, {"requested": "requested_bytes", "granted": "granted_bytes"}, scale=1e-6),
    _Field("MB", "unasked", "proactive_bytes", 3, 1e-6, some=True),
    _Field("MB", "used", "used_bytes", 3, 1e-6),
    _Field("unused", "MB", "unused_bytes", 3, 1e-6),
    _Field("unused", "Mbit/s", "unused_mbit", 2),
    *_columns("unused", "unused_", 1, {"% of grants": "percent", "% of rate": "of_rate_percent"}),
]

_FAIR = [
    _Field("", "flows", "flows"),
    _Field("", "Jain's index", "fairness", 3),
    *_columns("goodput Mbit/s", "flow_goodput_mbit.", 3, {"slowest": "min", "fastest": "max"}),
]

_LOST = {"lost %": "lost_percent", "late %": "late_percent"}


def _voice(stream: str) -> list[_Field]:
    """The columns for one direction of a call."""
    return [
        _Field("", "sent", f"{stream}.sent"),
        *_columns("", f"{stream}.", 2, {**_LOST, "plr %": "plr_percent"}),
        *_statistics("delay ms", f"{stream}.delay_ms", 1, "p50", "p99", "p99_9"),
        *_columns("quality", f"{stream}.", 2, {"MOS": "mos", "MOS, loss only": "mos_loss_only"}),
    ]


_PING = [
    *_columns("", "ping.", 0, {"sent": "sent", "answered": "answered"}),
    _Field("", "lost %", "ping.lost_percent", 2),
    *_statistics("round trip ms", "ping.rtt_ms", 2, "min", "p50", "p99", "p99_9", "max"),
    _Field("load", "adds ms", "ping.induced_ms", 2),
    _Field("load", "grade", "ping.grade"),
]

_RESPONSIVENESS = [
    *_columns("round trips per minute", "rpm.", 0, {"all": "rpm", "foreign": "foreign_rpm", "loaded": "loaded_rpm"}),
    *_columns("", "rpm.", 0, {"class": "class", "confidence": "confidence"}),
    *_columns("ms", "rpm.", 1, {"idle": "idle_ms", "TCP": "tcp_ms", "TLS": "tls_ms"}),
    *_columns("ms", "rpm.http_", 1, {"GET": "foreign_ms", "GET, loaded": "loaded_ms"}),
    *_columns("Mbit/s", "rpm.goodput_", 2, {"down": "down_mbit", "up": "up_mbit"}),
]

_FILES = [
    _Field("", "done", "files.done"),
    *(
        _Field("seconds each", key.replace("_", "."), f"files.{key}_s", 3)
        for key in ("mean", "median", "p95", "p99", "p99_9", "max")
    ),
]

_PAGES = [
    _Field("", "pages", "web.pages"),
    _Field("", "given up", "web.abandoned", some=True),
    *_columns("load time s", "web.page_load_s.", 3, {"median": "median", "MAD": "mad"}),
    *_statistics("load time s", "web.page_load_s", 3, "mean", "p95", "p99", "p99_9", "min", "max"),
]

_VIDEO = [
    _Field("", "segments", "video.segments"),
    _Field("", "Mbit/s", "video.mean_bitrate_mbit", 3),
    _Field("", "switches", "video.switches"),
    _Field("", "startup s", "video.startup_s", 2),
    _Field("", "stalls", "video.stalls"),
    *_columns("", "video.", 2, {"stalled s": "stalled_s", "buffer s": "buffer_s"}),
]

_DATAGRAMS = [
    _Field("", "sent", "datagrams_sent"),
    *_statistics("delay there ms", "delay_ms", 2, "p50", "p99", "p99_9", "max"),
    *_statistics("delay back ms", "delay_ms_reverse", 2, "p50", "p99", "p99_9", "max"),
    *_columns("jitter ms", "jitter_ms", 3, {"there": "", "back": "_reverse"}),
]

#: Title of each table, the part of an application's summary that it requires, and its columns.
_KINDS = (
    ("Voice", "voip", _voice("voip")),
    ("Voice, the way back", "voip_reverse", _voice("voip_reverse")),
    (
        "Games",
        "game",
        [*_columns("to the server", "game.up.", 2, _LOST), *_columns("to the player", "game.down.", 2, _LOST)],
    ),
    (
        "Video calls",
        "proshare",
        [
            *_columns("frames", "proshare.frames_", 0, {"sent": "sent", "whole": "whole"}),
            _Field("picture", "freezes", "proshare.freezes"),
            _Field("picture", "frozen s", "proshare.frozen_s", 2),
        ],
    ),
    ("Pings", "ping", _PING),
    ("Responsiveness", "rpm", _RESPONSIVENESS),
    ("Pages", "web", _PAGES),
    ("Files", "files", _FILES),
    ("Video", "video", _VIDEO),
    (
        "Swarms",
        "bittorrent",
        [
            *_columns("", "bittorrent.", 0, {"peers": "connected", "unchokes": "unchokes"}),
            *_columns("blocks", "bittorrent.blocks_", 0, {"sent": "sent", "received": "received"}),
        ],
    ),
    (
        "Short transfers",
        "short",
        _columns(
            "transfers",
            "short.",
            0,
            {"arrived": "arrivals", "refused": "refused", "failed": "failed", "under way": "under_way"},
        ),
    ),
    (
        "Bursts",
        "burst",
        [
            *_columns("", "burst.", 0, {"bursts": "bursts", "failed": "failed"}),
            *_columns("datagrams", "burst.datagrams_", 0, {"sent": "sent", "received": "received"}),
        ],
    ),
)


def _drops(links: Mapping[str, Of]) -> Iterator[TextTable]:
    """Packets dropped by reason: a column per reason that occurred, a row per link with drops."""
    dropping = {name: link for name, link in links.items() if any(link["drops"].values())}
    reasons = dict.fromkeys(r for link in dropping.values() for r, n in sorted(link["drops"].items()) if n)
    yield from _table("Drops", "link", dropping, _columns("", "drops.", 0, dict(zip(reasons, reasons, strict=True))))


def _apps(apps: Mapping[str, Of], seconds: float) -> Iterator[TextTable]:
    def way(group: str, back: str) -> list[_Field]:
        some = bool(back)
        rate = [_Field(group, "Mbit/s", f"wire_bytes{back}", 3, 8e-6 / seconds, some)] if seconds else []
        wire, good = (_Field(group, f"{of} MB", f"{of}_bytes{back}", 3, 1e-6, some) for of in ("wire", "goodput"))
        return [wire, *rate, good]

    counts = {"dropped": "dropped_packets", "retransmits": "retransmits", "timeouts": "timeouts"}
    fields = [
        *_columns("", "", 0, {"kind": "kind", "flows": "flows"}),
        *way("there", ""),
        *way("and back", "_reverse"),
        *_columns("", "", 0, counts, some=True),
    ]
    for table in _table("Applications", "application", apps, fields):
        yield replace(table, left=2)


def as_html(result: Result) -> str:
    """The headline and the summary's tables, for notebooks."""
    return f"<p><b>{html.escape(headline(result))}</b></p>" + "".join(t.as_html() for t in summary_tables(result))


def _called(of: Result | str | Path) -> str:
    return of.scenario.name if isinstance(of, Result) else Path(of).resolve().name


#: The part of the summary with an entry for each row of `frame`.
_PARTS = {"link": "links", "app": "apps"}


def frame(
    results: Iterable[Result | str | Path] | Mapping[str, Result | str | Path],
    per: Literal["run", "link", "app"] = "run",
) -> pl.DataFrame:
    """Summaries of results as one flat frame: a row per run, per link (`per="link"`) or per application (`"app"`).

    `results` are results or result folders; a mapping gives each a name. The columns are `run` (that name, else the
    folder's or the scenario's), `seed` and `scenario_hash`, then every number of the summary by its dotted path
    (docs/results.md); per link or application, its name and the path below it. Missing values are null. Raises
    `ResultError` for a folder that is not a result.
    """
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
