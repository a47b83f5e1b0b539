"""The summary of a run as tables for people, without empty parts.

A table is printed if the run has data for it, a column if one of its rows has a value. The same numbers are in
`summary.json` under the same names; docs/results.md explains them.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from bloatlab.results import open_result
from bloatlab.simulation import Result
from bloatlab.sweep import grid_file
from bloatlab.tables import TextCell, TextTable, number

#: The summary of a link or an application.
Of = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Field:
    """A column: the heading of its group, its own heading, its decimals, and a function that finds its value.

    With `some`, the column is left out if all of its values are missing or 0.
    """

    group: str
    head: str
    digits: int
    value: Callable[[Of], float | str | None]
    some: bool = False


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
    values = [[field.value(of) for field in fields] for of in rows.values()]
    kept = [i for i, field in enumerate(fields) if any(row[i] if field.some else row[i] is not None for row in values)]
    body = [
        [TextCell(name), *(TextCell(_text(row[i], fields[i].digits)) for i in kept)]
        for name, row in zip(rows, values, strict=True)
    ]
    yield TextTable(title, [label, *(fields[i].head for i in kept)], body, groups=_groups([fields[i] for i in kept]))


def _text(value: float | str | None, digits: int) -> str:
    return value if isinstance(value, str) else number(value, digits)


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


def _at(path: str, scale: float = 1.0) -> Callable[[Of], float | None]:
    """A function that finds the number at a dotted path, scaled; None if there is none."""

    def found(of: Of) -> float | None:
        value: Any = of
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if value is None else float(value) * scale

    return found


def _word(path: str) -> Callable[[Of], str | None]:
    """A function that finds the text at a dotted path; None if there is none."""

    def found(of: Of) -> str | None:
        value: Any = of
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if value is None else str(value)

    return found


def _of(group: str, path: str, digits: int, *keys: str) -> list[_Field]:
    """Columns for the statistics `keys` of the distribution at `path`, under one heading."""
    return [_Field(group, key.replace("_", "."), digits, _at(f"{path}.{key}")) for key in keys]


_LINK = [
    _Field("delivered", "packets", 0, _at("delivered_packets")),
    _Field("delivered", "MB", 3, _at("delivered_bytes", 1e-6)),
    _Field("delivered", "use%", 1, _at("utilisation", 100.0)),
    _Field("", "drops", 0, _at("dropped_packets")),
    _Field("", "marks", 0, _at("marked_packets"), some=True),
    *_of("sojourn ms", "sojourn_ms", 2, "mean", "p50", "p99", "p99_9"),
    _Field("queue", "max", 0, _at("queue_packets.max")),
    _Field("", "grade", 0, _word("grade")),
]

_DELIVERY = [
    _Field("could send", "Mbit/s", 3, _at("delivery.mean_mbit")),
    _Field("could send", "MB", 3, _at("delivery.bytes", 1e-6)),
    _Field("could send", "unused MB", 3, _at("delivery.wasted_bytes", 1e-6)),
    _Field("gaps", "longest ms", 0, _at("delivery.longest_gap_ms")),
    _Field("gaps", "over 100 ms", 0, _at("delivery.gaps_over_100ms")),
    _Field("gaps", "drops", 0, _at("delivery.gap_drops"), some=True),
]

_CLASS = [
    _Field("packets", "offered", 0, _at("offered_packets")),
    _Field("packets", "delivered", 0, _at("delivered_packets")),
    _Field("packets", "dropped", 0, _at("dropped_packets")),
    _Field("MB", "offered", 3, _at("offered_bytes", 1e-6)),
    _Field("MB", "delivered", 3, _at("delivered_bytes", 1e-6)),
    _Field("MB", "dropped", 3, _at("dropped_bytes", 1e-6)),
    _Field("marks", "law", 0, _at("marked_packets.law"), some=True),
    _Field("marks", "step", 0, _at("marked_packets.step"), some=True),
]

_GRANTS = [
    _Field("MB", "requested", 3, _at("requested_bytes", 1e-6)),
    _Field("MB", "granted", 3, _at("granted_bytes", 1e-6)),
    _Field("MB", "unasked", 3, _at("proactive_bytes", 1e-6), some=True),
    _Field("MB", "used", 3, _at("used_bytes", 1e-6)),
    _Field("unused", "MB", 3, _at("unused_bytes", 1e-6)),
    _Field("unused", "Mbit/s", 2, _at("unused_mbit")),
    _Field("unused", "% of grants", 1, _at("unused_percent")),
    _Field("unused", "% of rate", 1, _at("unused_of_rate_percent")),
]

_FAIR = [
    _Field("", "flows", 0, _at("flows")),
    _Field("", "Jain's index", 3, _at("fairness")),
    _Field("goodput Mbit/s", "slowest", 3, _at("flow_goodput_mbit.min")),
    _Field("goodput Mbit/s", "fastest", 3, _at("flow_goodput_mbit.max")),
]


def _voice(stream: str) -> list[_Field]:
    """The columns for one direction of a call."""
    return [
        _Field("", "sent", 0, _at(f"{stream}.sent")),
        _Field("", "lost %", 2, _at(f"{stream}.lost_percent")),
        _Field("", "late %", 2, _at(f"{stream}.late_percent")),
        _Field("", "plr %", 2, _at(f"{stream}.plr_percent")),
        *_of("delay ms", f"{stream}.delay_ms", 1, "p50", "p99", "p99_9"),
        _Field("quality", "MOS", 2, _at(f"{stream}.mos")),
        _Field("quality", "MOS, loss only", 2, _at(f"{stream}.mos_loss_only")),
    ]


_GAME = [
    _Field("to the server", "lost %", 2, _at("game.up.lost_percent")),
    _Field("to the server", "late %", 2, _at("game.up.late_percent")),
    _Field("to the player", "lost %", 2, _at("game.down.lost_percent")),
    _Field("to the player", "late %", 2, _at("game.down.late_percent")),
]

_CONFERENCE = [
    _Field("frames", "sent", 0, _at("proshare.frames_sent")),
    _Field("frames", "whole", 0, _at("proshare.frames_whole")),
    _Field("picture", "freezes", 0, _at("proshare.freezes")),
    _Field("picture", "frozen s", 2, _at("proshare.frozen_s")),
]

_PING = [
    _Field("", "sent", 0, _at("ping.sent")),
    _Field("", "answered", 0, _at("ping.answered")),
    _Field("", "lost %", 2, _at("ping.lost_percent")),
    *_of("round trip ms", "ping.rtt_ms", 2, "min", "p50", "p99", "p99_9", "max"),
    _Field("load", "adds ms", 2, _at("ping.induced_ms")),
    _Field("load", "grade", 0, _word("ping.grade")),
]

_RESPONSIVENESS = [
    _Field("round trips per minute", "all", 0, _at("rpm.rpm")),
    _Field("round trips per minute", "foreign", 0, _at("rpm.foreign_rpm")),
    _Field("round trips per minute", "loaded", 0, _at("rpm.loaded_rpm")),
    _Field("", "class", 0, _word("rpm.class")),
    _Field("", "confidence", 0, _word("rpm.confidence")),
    _Field("ms", "idle", 1, _at("rpm.idle_ms")),
    _Field("ms", "TCP", 1, _at("rpm.tcp_ms")),
    _Field("ms", "TLS", 1, _at("rpm.tls_ms")),
    _Field("ms", "GET", 1, _at("rpm.http_foreign_ms")),
    _Field("ms", "GET, loaded", 1, _at("rpm.http_loaded_ms")),
    _Field("Mbit/s", "down", 2, _at("rpm.goodput_down_mbit")),
    _Field("Mbit/s", "up", 2, _at("rpm.goodput_up_mbit")),
]

_FILES = [
    _Field("", "done", 0, _at("files.done")),
    *(
        _Field("seconds each", head, 3, _at(f"files.{key}"))
        for head, key in (
            ("mean", "mean_s"),
            ("median", "median_s"),
            ("p95", "p95_s"),
            ("p99", "p99_s"),
            ("p99.9", "p99_9_s"),
            ("max", "max_s"),
        )
    ),
]

_PAGES = [
    _Field("", "pages", 0, _at("web.pages")),
    _Field("", "given up", 0, _at("web.abandoned"), some=True),
    _Field("load time s", "median", 3, _at("web.page_load_s.median")),
    _Field("load time s", "MAD", 3, _at("web.page_load_s.mad")),
    *_of("load time s", "web.page_load_s", 3, "mean", "p95", "p99", "p99_9", "min", "max"),
]

_VIDEO = [
    _Field("", "segments", 0, _at("video.segments")),
    _Field("", "Mbit/s", 3, _at("video.mean_bitrate_mbit")),
    _Field("", "switches", 0, _at("video.switches")),
    _Field("", "startup s", 2, _at("video.startup_s")),
    _Field("", "stalls", 0, _at("video.stalls")),
    _Field("", "stalled s", 2, _at("video.stalled_s")),
    _Field("", "buffer s", 2, _at("video.buffer_s")),
]

_SWARM = [
    _Field("", "peers", 0, _at("bittorrent.connected")),
    _Field("", "unchokes", 0, _at("bittorrent.unchokes")),
    _Field("blocks", "sent", 0, _at("bittorrent.blocks_sent")),
    _Field("blocks", "received", 0, _at("bittorrent.blocks_received")),
]

_SHORT = [
    _Field("transfers", "arrived", 0, _at("short.arrivals")),
    _Field("transfers", "refused", 0, _at("short.refused")),
    _Field("transfers", "failed", 0, _at("short.failed")),
    _Field("transfers", "under way", 0, _at("short.under_way")),
]

_BURST = [
    _Field("", "bursts", 0, _at("burst.bursts")),
    _Field("", "failed", 0, _at("burst.failed")),
    _Field("datagrams", "sent", 0, _at("burst.datagrams_sent")),
    _Field("datagrams", "received", 0, _at("burst.datagrams_received")),
]

_DATAGRAMS = [
    _Field("", "sent", 0, _at("datagrams_sent")),
    *_of("delay there ms", "delay_ms", 2, "p50", "p99", "p99_9", "max"),
    *_of("delay back ms", "delay_ms_reverse", 2, "p50", "p99", "p99_9", "max"),
    _Field("jitter ms", "there", 3, _at("jitter_ms")),
    _Field("jitter ms", "back", 3, _at("jitter_ms_reverse")),
]

#: Title of each table, the part of an application's summary that it requires, and its columns.
_KINDS = (
    ("Voice", "voip", _voice("voip")),
    ("Voice, the way back", "voip_reverse", _voice("voip_reverse")),
    ("Games", "game", _GAME),
    ("Video calls", "proshare", _CONFERENCE),
    ("Pings", "ping", _PING),
    ("Responsiveness", "rpm", _RESPONSIVENESS),
    ("Pages", "web", _PAGES),
    ("Files", "files", _FILES),
    ("Video", "video", _VIDEO),
    ("Swarms", "bittorrent", _SWARM),
    ("Short transfers", "short", _SHORT),
    ("Bursts", "burst", _BURST),
)


def _drops(links: Mapping[str, Of]) -> Iterator[TextTable]:
    """Packets dropped by reason: a column per reason that occurred, a row per link with drops."""
    dropping = {name: link for name, link in links.items() if any(link["drops"].values())}
    reasons = dict.fromkeys(r for link in dropping.values() for r, n in sorted(link["drops"].items()) if n)
    yield from _table("Drops", "link", dropping, [_Field("", r, 0, _at(f"drops.{r}")) for r in reasons])


def _apps(apps: Mapping[str, Of], seconds: float) -> Iterator[TextTable]:
    def way(group: str, back: str) -> list[_Field]:
        wire, good = f"wire_bytes{back}", f"goodput_bytes{back}"
        some = bool(back)
        fields = [_Field(group, "wire MB", 3, _at(wire, 1e-6), some=some)]
        if seconds:
            fields.append(_Field(group, "Mbit/s", 3, _at(wire, 8e-6 / seconds), some=some))
        return [*fields, _Field(group, "goodput MB", 3, _at(good, 1e-6), some=some)]

    fields = [
        _Field("", "kind", 0, _word("kind")),
        _Field("", "flows", 0, _at("flows")),
        *way("there", ""),
        *way("and back", "_reverse"),
        _Field("", "dropped", 0, _at("dropped_packets"), some=True),
        _Field("", "retransmits", 0, _at("retransmits"), some=True),
        _Field("", "timeouts", 0, _at("timeouts"), some=True),
    ]
    for table in _table("Applications", "application", apps, fields):
        yield TextTable(table.title, table.columns, table.rows, groups=table.groups, left=2)


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
