"""Writes the TCP senders of a result as qlog files, which tools for QUIC draw and read.

    file     JSON-SEQ (.sqlog), one per sender: a header, then one event per line, in order of time
    time     ms since the start of the run (a monotonic clock whose epoch is unknown)

    quic:recovery_metrics_updated   congestion_window, bytes_in_flight, ssthresh, smoothed_rtt, rtt_variance, min_rtt,
                                    pacing_rate (bit/s): only those that changed, from the flow trace
    quic:congestion_state_updated   slow_start, congestion_avoidance, cwr, recovery, loss; with BBR its mode
    quic:packet_sent                each of the sender's packets at its first link, from the packet trace
    quic:packet_lost                a segment that is retransmitted, at the time of the retransmission
    quic:packets_acked              segments below the cumulative acknowledgement

Source: draft-ietf-quic-qlog-main-schema (QlogFileSeq, JSON Text Sequences); draft-ietf-quic-qlog-quic-events-12.
Departs: TCP events are written in the vocabulary of QUIC. Packets are numbered in sending order,
their type is 1RTT, and the byte stream is stream 0. See docs/qlog.md.
"""

import json
import math
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import polars as pl

from bloatlab import files
from bloatlab.errors import InputError
from bloatlab.results import MOST_SECONDS
from bloatlab.scenario import tcp_apps
from bloatlab.simulation import Result

SUFFIX = ".sqlog"
RECORD_SEPARATOR = "\x1e"

_DESCRIPTION = "A TCP sender, simulated by bloatlab, in the vocabulary of QUIC."

#: Schema of the events, including the draft number.
EVENTS = "urn:ietf:params:qlog:events:quic-12"

#: For each qlog metric: the column of `trace_flows` that contains its values, and the factor that converts them to the
#: metric's unit.
_METRICS: Mapping[str, tuple[str, float]] = {
    "congestion_window": ("cwnd_bytes", 1),
    "bytes_in_flight": ("in_flight_bytes", 1),
    "ssthresh": ("ssthresh_bytes", 1),
    "smoothed_rtt": ("srtt_ms", 1),
    "rtt_variance": ("rttvar_ms", 1),
    "min_rtt": ("min_rtt_ms", 1),
    "pacing_rate": ("pacing_rate_mbit", 1e6),
}
#: Metrics that are floats; all others are whole numbers.
_FLOATS = frozenset({"smoothed_rtt", "rtt_variance", "min_rtt"})

#: Maximum size of a packet without payload, in bytes: headers of IPv4 (20) and TCP with all options (60).
_HEADERS = 80

#: The command that records the traces.
_HOW = "bloatlab run FILE -o DIR --trace flows,packets --trace-interval change"

#: Drop reasons that mean, at the point `enqueue`, that the queue dropped the arriving packet, not one that it already
#: held.
_REFUSED = ("tail_full", "early_tail")

#: The columns that identify a sender.
_SENDER = ("app", "flow", "connection", "direction")

#: A row of a trace with its sort key: the time in ns, and a rank that orders rows with the same time.
_Row = tuple[int, int, dict[str, Any]]


class QlogError(InputError):
    """Raised for a result without a trace of TCP senders, or with an unusable packet trace. The message is one line."""


def write(
    result: Result, folder: str | Path, *, packets: pl.LazyFrame | None = None, source: str | Path = ""
) -> list[Path]:
    """Writes one file for each TCP sender of `result` into `folder`, which is created if necessary; returns the files.

    `result` needs the flow trace, preferably with the interval "change". `packets` is the packet trace that
    `bloatlab.traces.packets` reads from the folder of the result; without it, the files contain no packet events.
    Equal results give equal bytes. A file is named after its application and connection: upload-1.sqlog, and
    upload-1-reverse.sqlog for the data that the server sends. Raises `QlogError`, `OSError`. Messages name
    `source` (the folder of the result), or the scenario if `source` is empty.
    """
    folder = Path(folder)
    states = _states(result, source or result.scenario.name).partition_by(_SENDER, as_dict=True, maintain_order=True)
    sent: dict[tuple[Any, ...], pl.DataFrame] = {}
    if packets is not None:
        of = _sent(result, packets, source or result.scenario.name)
        sent = of.partition_by(_SENDER, as_dict=True, maintain_order=True)
        traced = {(app, direction) for app, _, _, direction in sent}
        for (app, _, _, direction), rows in states.items():
            if (app, direction) not in traced and rows["acked_bytes"].max():
                raise _lacks_first(str(app), str(direction), source or result.scenario.name)
    files.make_folder(folder)
    written: list[Path] = []
    for sender, rows in states.items():
        app, _, connection, direction = sender
        reverse = direction == "reverse"
        safe = str(app).replace("%", "%25").replace("/", "%2F")
        name = f"{safe}-{connection}{'-reverse' if reverse else ''}{SUFFIX}"
        header = _header(result, f"{app} {connection}", "server" if reverse else "client")
        records = [header, *_events(rows, sent.get(sender))]
        text = "".join(f"{RECORD_SEPARATOR}{json.dumps(r, separators=(',', ':'), allow_nan=False)}\n" for r in records)
        files.write(folder / name, text)
        written.append(folder / name)
    return written


def _states(result: Result, source: str | Path) -> pl.DataFrame:
    """Returns the trace of the TCP senders. Raises `QlogError` if there is none."""
    frame = result.tables.get("trace_flows")
    if frame is not None and "acked_bytes" in frame.columns:
        # the table also has senders of live video, whose `acked_bytes` is NaN
        return frame.filter(pl.col("acked_bytes").is_not_nan().any().over(_SENDER))
    if "live" in result.summary:
        raise QlogError(f"{source}: a live result has no trace of flows; qlog files need the result of bloatlab run")
    if result.scenario.traces("flows") and not tcp_apps(result.scenario):
        raise QlogError(f"{source}: has no trace of a TCP sender, although flows are traced; no application sends TCP")
    # if the scenario requests the trace, the run was made without it, as with `trace=False`
    raise QlogError(f"{source}: has no trace of flows; record it with {_HOW}")


def is_ours(path: Path) -> bool:
    """Returns whether `write` made this file. Raises `OSError`."""
    with path.open("rb") as file:
        return _DESCRIPTION.encode() in file.readline(10_000)


def _header(result: Result, name: str, vantage_point: str) -> dict[str, Any]:
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": result.scenario.name,
        "description": _DESCRIPTION,
        "trace": {
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
            "vantage_point": {"name": name, "type": vantage_point},
            "event_schemas": [EVENTS],
        },
    }


def _sent(result: Result, packets: pl.LazyFrame, source: str | Path) -> pl.DataFrame:
    """Returns the rows in which a packet reaches its sender's first link: it is enqueued, or dropped on arrival.

    Raises `QlogError` if the packets cannot be read or the trace lacks this link.
    """
    arrived = (pl.col("fate") == "enqueued") | ((pl.col("fate") == "dropped") & (pl.col("sojourn_ms") == 0))
    of = packets.filter(arrived, pl.col("connection").is_not_null(), pl.col("link").is_not_null())
    columns = ["t_s", *_SENDER, "seq", "size_bytes"]
    # If a queue refuses a packet, there is one row, for the drop. If an AQM or a link drops a packet at the time at
    # which it was enqueued, there are two rows. Duplicate ACKs of the same time have equal rows.
    enqueued = pl.col("fate") == "enqueued"
    refused = ~enqueued & (pl.col("point") == "enqueue") & pl.col("reason").is_in(_REFUSED)
    taken_out = ~enqueued & ~refused
    own = refused | (taken_out & (taken_out.cum_sum().over(columns) > enqueued.cum_sum().over(columns)))
    try:
        first = of.group_by(_SENDER).agg(pl.col("link").first()).collect()
        of = of.join(first.lazy(), on=[*_SENDER, "link"], how="semi", maintain_order="left")
        rows = of.filter(enqueued | own).select(columns).collect()
    except pl.exceptions.PolarsError as error:
        raise QlogError(f"{source}: the packets cannot be read: {str(error).splitlines()[0]}") from None
    times = rows["t_s"].is_between(0.0, MOST_SECONDS).fill_null(value=False)
    if not times.all() or rows["seq"].null_count() or rows["size_bytes"].null_count():
        raise QlogError(f"{source}: the packets are damaged: a time, number or size is not valid")
    _check_first(result, first, source)
    return rows


def _check_first(result: Result, first: pl.DataFrame, source: str | Path) -> None:
    """Raises `QlogError` if the first traced link of a TCP sender's packets does not begin at the sender's node."""
    apps, links = result.scenario.data["app"], result.scenario.data["link"]
    tcp = tcp_apps(result.scenario)
    for app, direction, link in first.select("app", "direction", "link").unique().sort(pl.all()).iter_rows():
        if app not in apps or link.removeprefix("~") not in links:
            raise QlogError(f"{source}: the packets are damaged: the scenario has no {app} on {link}")
        nodes = apps[app]["to"] if direction == "reverse" else [apps[app]["from"]]
        begin = links[link.removeprefix("~")]["to" if link.startswith("~") else "from"]
        if app in tcp and begin not in nodes:
            raise _lacks_first(app, direction, source)


def _lacks_first(app: str, direction: str, source: str | Path) -> QlogError:
    """Returns the error for a trace of packets without the first link of a sender's packets."""
    why = f"the trace of packets lacks the first link of the {direction} packets of {app}"
    return QlogError(f"{source}: {why}; trace the packets of all links: {_HOW}")


def _events(states: pl.DataFrame, sent: pl.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yields the events of a sender in order of time.

    If events have the same time, an ACK comes first, then the packets that it releases, then the metrics. But a packet
    whose payload an ACK covers comes before this ACK, because acknowledged data is never sent again.
    """
    rows: list[_Row] = [(_ns(row), rank, row) for row in states.iter_rows(named=True) for rank in (0, 2)]
    if sent is not None:
        rows += [(_ns(row), 1, row) for row in sent.iter_rows(named=True)]
    rows.sort(key=lambda row: row[:2])
    segments = _Segments()
    segment = math.gcd(*states["cwnd_bytes"].unique().cast(int))
    metrics: dict[str, float] = {}
    state: str | None = None
    for ns, rank, row in _causal(rows):
        found: list[tuple[str, dict[str, Any]]] = []
        if rank == 0:
            found += segments.acknowledged(row["acked_bytes"])
        elif rank == 1:
            found += segments.sent(row)
        else:
            now = _metrics(row)
            changed = {name: value for name, value in now.items() if metrics.get(name) != value}
            metrics |= changed
            if changed:
                found.append(("recovery_metrics_updated", changed))
            new = _state(row, segment)
            if new != state:
                found.append(
                    ("congestion_state_updated", {"new": new} if state is None else {"old": state, "new": new})
                )
                state = new
        for name, data in found:
            yield {"time": ns / 1e6, "name": f"quic:{name}", "data": data}


def _causal(rows: list[_Row]) -> Iterator[_Row]:
    """Yields rows sorted by time and rank, but puts each packet that an ACK of the same time covers before this ACK."""
    for _, group in groupby(rows, key=lambda row: row[0]):
        at_once = list(group)
        packets = [row for row in at_once if row[1] == 1]
        # for each packet, the smallest offset of this packet and those after it
        least = list(accumulate((_offset(row) for _, _, row in reversed(packets)), min))[::-1]
        done = 0
        for row in at_once:
            if row[1] == 1:
                continue
            while done < len(packets) and (row[1] == 2 or least[done] < row[2]["acked_bytes"]):
                yield packets[done]
                done += 1
            yield row
        yield from packets[done:]


def _offset(packet: Mapping[str, Any]) -> int | float:
    """Returns the offset of a packet's payload in the stream; infinite for a packet without payload."""
    return packet["seq"] - 1 if packet["size_bytes"] > _HEADERS else math.inf  # the SYN has sequence number 0


def _ns(row: Mapping[str, Any]) -> int:
    """Returns the time in ns of a row of the flow trace or packet trace, which contains the time in s as a float."""
    return round(row["t_s"] * 1e9)


def _metrics(row: Mapping[str, Any]) -> dict[str, float]:
    """Returns the metrics in a row of `trace_flows`."""
    found: dict[str, float] = {}
    for name, (column, factor) in _METRICS.items():
        value = row.get(column)
        if value is not None and math.isfinite(value * factor):
            found[name] = value * factor if name in _FLOATS else round(value * factor)
    return found


def _state(row: Mapping[str, Any], segment: int) -> str:
    """Returns the congestion control state. For BBR, this is the mode, except while a loss or mark is being handled.

    The trace rounds the window down to whole segments of `segment` bytes, but not the threshold. So the threshold is
    rounded down here.
    """
    if row["state"] != "open":
        return row["state"]
    if row.get("bbr_mode"):
        return row["bbr_mode"]
    # an infinite threshold is NaN in the trace, so the comparison is false
    avoids = row["cwnd_bytes"] >= row["ssthresh_bytes"] // segment * segment
    return "congestion_avoidance" if avoids else "slow_start"


class _Segments:
    """The segments that a sender has sent and that are not yet acknowledged, with their packet numbers.

    A retransmitted segment has the number of the last packet that carried it.
    """

    def __init__(self) -> None:
        self._next = 0
        self._numbers: dict[float, int] = {}
        self._waiting: deque[float] = deque()

    def sent(self, packet: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the event for a sent packet.

        If an earlier packet contained the same data, first yields the event that reports the earlier packet as lost.
        """
        number, self._next = self._next, self._next + 1
        data: dict[str, Any] = {"header": _packet(number), "raw": {"length": packet["size_bytes"]}}
        offset = _offset(packet)
        if offset < math.inf:
            data["frames"] = [{"frame_type": "stream", "stream_id": 0, "offset": offset}]
            if offset in self._numbers:
                yield "packet_lost", {"header": _packet(self._numbers[offset])}
            elif not self._waiting or offset > self._waiting[-1]:
                self._waiting.append(offset)
            self._numbers[offset] = number
        yield "packet_sent", data

    def acknowledged(self, until: float) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields one event that acknowledges all outstanding segments below the offset `until`, if there are any."""
        numbers: list[int] = []
        while self._waiting and self._waiting[0] < until:
            numbers.append(self._numbers.pop(self._waiting.popleft()))
        if numbers:
            yield "packets_acked", {"packet_numbers": numbers}


def _packet(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}
