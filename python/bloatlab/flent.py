"""Writes results as flent data files, and reads flent's measurements.

flent (flent.org) is a network tester: it loads a line, pings through it, and writes a `.flent.gz`. Its own plotter
opens the files that `write` makes; `read` turns flent's measurements into the tables that plots and `differences` use.

    file     gzip of JSON, version 4: metadata, x_values (s), results (a value per x, or null), raw_values
    series   "TCP upload::1" and so on in Mbit/s of payload; "Ping (ms) ICMP" in ms
    test     the scenario's name if it is one of flent's tests (rrul ...); otherwise tcp_nup, tcp_ndown, rrul_be_nflows
             (both ways) or ping

Source: flent's documentation, "The Data File Format"; older versions (1 to 3) are read as flent 2 reads them.
Departs: time 0 is the start of 1970, as in captures. Rates are means over `STEP` s, while flent interpolates between
netperf's reports.
"""

import bz2
import datetime as dt
import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bloatlab import files
from bloatlab.errors import InputError
from bloatlab.results import json_text
from bloatlab.scenario import tcp_apps, version
from bloatlab.simulation import Result
from bloatlab.tables import answered_pings
from bloatlab.workloads import WORKLOADS

VERSION = 4
SUFFIXES = (".flent.gz", ".flent.bz2", ".flent", ".json.gz")

#: Maximum size of a decompressed data file in bytes: an hour of rrul at 20 ms takes 30 MB.
MOST_BYTES = 128 << 20

#: Maximum time in a data file, in s: thirty years.
MOST_SECONDS = 1e9

#: Bin width of rates in s: flent's default.
STEP = 0.2

Way = Literal["upload", "download"]

#: A scenario that is not one of flent's own tests is written as one of the tests in `_SERIES`. `_SERIES` maps each test
#: to a pattern for the names of TCP flows; `_PLAIN` is the pattern of most tests.
_PLAIN = "TCP {way}::{number}"
_SERIES = {"tcp_nup": _PLAIN, "tcp_ndown": _PLAIN, "rrul_be_nflows": "TCP {way} BE::{number}", "ping": _PLAIN}

#: The columns of `flow_series` and `pings`.
_FLOWS = {"app": pl.String, "flow": pl.UInt64, "direction": pl.String, "t_s": pl.Float64, "goodput_bytes": pl.Float64}
_PINGS = {"app": pl.String, "t_s": pl.Float64, "rtt_ms": pl.Float64}

_PING = "Ping (ms)"
_SUMS = ("avg", "sum", "totals", "fairness")


class FlentError(InputError):
    """A file is not a flent data file, or a result cannot be written as one; the message is one line."""


def is_flent(path: str | Path) -> bool:
    """Returns whether a path has the suffix of a flent data file."""
    return str(path).endswith(SUFFIXES)


# ------------------------------------------------------------------------------------------------------------- writing


def write(result: Result, path: str | Path, *, title: str = "", source: str | Path = "") -> Path:
    """Writes `result` as a flent data file; equal results give equal bytes. Raises `FlentError`, `OSError`.

    `source` is the folder of the result. If it is given, errors name it instead of the scenario.
    """
    path = Path(path)
    if path.suffix != ".gz":
        raise FlentError(f"{path}: the name of a flent data file ends in .flent.gz")
    text = json_text(document(result, title=title or result.scenario.name, source=source))
    files.write(path, gzip.compress(text.encode(), mtime=0))
    return path


def is_ours(path: Path) -> bool:
    """Returns whether `write` made this file, and not flent itself; false if it cannot be read."""
    try:
        with gzip.open(path) as file:
            return b'"FLENT_VERSION": "bloatlab ' in file.read(MOST_BYTES)
    except (OSError, EOFError, zlib.error):
        return False


def document(result: Result, *, title: str = "", source: str | Path = "") -> dict[str, Any]:
    """Makes the content of a flent data file for `result`.

    Raises `FlentError` if the result contains neither a ping nor a TCP flow.
    """
    end = float(result.summary["duration_s"])
    local = _local(result)
    flows = _flows(result, local)
    asked = answered_pings(result.table("pings"))
    if not flows and not asked:
        raise FlentError(f"{source or result.scenario.name}: flent shows pings and TCP flows; {_lacking(result)}")
    ways = {way for way, _ in flows}
    names = _series_names(result)
    name = {0: "ping", 1: "tcp_nup" if "upload" in ways else "tcp_ndown", 2: "rrul_be_nflows"}[len(ways)]
    if names:
        name = result.scenario.name
    x = np.arange(0.0, end - STEP * 1e-6, STEP)
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    counts: dict[Way, int] = {"upload": 0, "download": 0}
    for way, frame in flows:
        counts[way] += 1
        series = _flow_series(result, frame, name, way, counts[way])
        rates = _sampled(frame, x, end) * 8e-6 / STEP  # Mbit/s of payload
        results[series] = _listed(rates)
        raw[series] = [
            {"t": round(t + STEP, 6), "dur": STEP, "val": r} for t, r in zip(x.tolist(), rates.tolist(), strict=True)
        ]
    for place, (app, frame) in enumerate(asked.items()):
        series = names.get(app) or (f"{_PING} ICMP" if place == 0 and not names else f"{_PING} ICMP {app} (extra)")
        results[series] = _listed(_means(frame, x))
        answered = zip(frame["t_s"].to_list(), frame["rtt_ms"].to_list(), strict=True)
        late = 1e-3 if "ICMP" in series else 0.0  # flent records an ICMP ping when its reply arrives
        raw[series] = [{"seq": i, "t": round(t + late * rtt, 9), "val": rtt} for i, (t, rtt) in enumerate(answered)]
    results |= _sums(results)
    return {
        "metadata": _metadata(result, name, title, local, counts) | {"SERIES_META": _series_meta(results)},
        "version": VERSION,
        "x_values": [round(t, 6) for t in x.tolist()],
        "results": results,
        "raw_values": raw,
    }


def _series_names(result: Result) -> Mapping[str, str]:
    """Returns flent's name for the series of each application; empty if the scenario is not one of flent's tests.

    A scenario with the name of a test is not that test if it lacks one of the test's applications, or is too short.
    """
    of = WORKLOADS.get(result.scenario.name)
    if of is None or float(result.summary["duration_s"]) <= of.beside():
        return {}
    return of.series if of.series.keys() <= result.scenario.data["app"].keys() else {}


def _flow_series(result: Result, frame: pl.DataFrame, name: str, way: Way, number: int) -> str:
    """Returns the name of a TCP flow's series in the flent test `name`. Several flows of one app are numbered."""
    names, app, flow = _series_names(result), str(frame["app"][0]), int(frame["flow"][0])
    if not names:
        return _SERIES[name].format(way=way, number=number)
    if app not in names:
        return f"TCP {way} {app}::{flow + 1} (extra)"
    several = result.summary["apps"][app]["flows"] > 1 or name in _SERIES
    return f"{names[app]}::{flow + 1}" if several else names[app]


def _local(result: Result) -> str:
    """Returns the user's host: the source of the first ping, or of the first application if there are no pings."""
    apps = result.scenario.data["app"]
    first = [a for a in apps if result.summary["apps"].get(a, {}).get("kind") == "ping"] or list(apps)
    return str(apps[first[0]]["from"]) if first else ""


def _flows(result: Result, local: str) -> list[tuple[Way, pl.DataFrame]]:
    """Returns the TCP flows that carry payload, with their direction as seen from the local host."""
    frame = result.table("flow_series")
    apps = result.scenario.data["app"]
    found: list[tuple[Way, pl.DataFrame]] = []
    for (app, _, direction), part in frame.group_by("app", "flow", "direction", maintain_order=True):
        tcp = part["cwnd_bytes"].fill_nan(None).is_not_null().any()
        if tcp and float(part["goodput_bytes"].fill_nan(0.0).sum()) > 0.0:
            there = str(apps[str(app)]["from"]) == local or local not in apps[str(app)]["to"]
            found.append(("upload" if there == (direction == "forward") else "download", part))
    return found


def _lacking(result: Result) -> str:
    """Returns why a result has nothing that flent shows: its TCP flows have no payload or no series."""
    sent = result.table("flows").filter(pl.col("goodput_bytes") > 0)["app"]
    tcp = [app for app in tcp_apps(result.scenario) if app in sent]
    if not tcp:
        return "the result has neither"
    without = [app for app in tcp if app not in result.table("flow_series")["app"]]
    reasons = "record.apps leaves them out, or they have more than 32 flows"
    return f"the result has no pings, and no series of the flows of {', '.join(without)} ({reasons})"


def _sampled(frame: pl.DataFrame, x: NDArray[np.float64], end: float) -> NDArray[np.float64]:
    """Returns the payload of a flow in each bin of `STEP` s, in whole bytes.

    The bytes of a bin of the result are spread evenly over the time that it covers.
    """
    starts = frame["t_s"].to_numpy()
    width = float(np.median(np.diff(starts))) if len(starts) > 1 else end
    ends = np.minimum(starts + width, end)
    sent = _spread(starts, ends, frame["goodput_bytes"].fill_nan(0.0).to_numpy(), x, STEP)
    return np.diff(np.round(np.cumsum(sent)), prepend=0.0)


def _binned(frame: pl.DataFrame, column: str, bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the sum of a column and the number of its values in each bin of `STEP` s."""
    place = np.clip(np.floor(frame["t_s"].to_numpy() / STEP + 1e-6).astype(int), 0, bins - 1)
    values = frame[column].fill_nan(0.0).to_numpy()
    return np.asarray(np.bincount(place, values, bins), np.float64), np.bincount(place, None, bins).astype(np.float64)


def _means(frame: pl.DataFrame, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean round-trip time of each bin in ms; NaN for a bin without values."""
    sums, counts = _binned(frame, "rtt_ms", len(x))
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / counts


def _sums(results: Mapping[str, list[float | None]]) -> dict[str, list[float | None]]:
    """Returns the series that flent computes from other series: sums and means over flows, and means over pings."""
    found: dict[str, list[float | None]] = {}
    for way in ("upload", "download", "upload Torrent", "download Torrent"):
        mine = [_array(of) for name, of in results.items() if name.startswith(f"TCP {way}")]
        if mine:
            found |= {f"TCP {way} avg": _listed(np.mean(mine, axis=0)), f"TCP {way} sum": _listed(np.sum(mine, axis=0))}
    every = [_array(of) for name, of in results.items() if name.startswith("TCP")]
    if every:
        found["TCP totals"] = _listed(np.sum(every, axis=0))
    asked = [_array(of) for name, of in results.items() if name.startswith(_PING)]
    if asked:
        count = np.isfinite(asked).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[f"{_PING} avg"] = _listed(np.nansum(asked, axis=0) / count)  # 0/0 is NaN
    return found


def _array(of: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if v is None else v for v in of], dtype=np.float64)


def _listed(of: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(v) else v for v in of.tolist()]


def _length(result: Result) -> float:
    """Returns the length of the test in s.

    For flent's own tests, this is the parameter `length`: the idle times before and after the load do not count, nor do
    the delays between flows. A whole number of seconds is then returned as an integer.
    """
    seconds = float(result.summary["duration_s"])
    if not _series_names(result):
        return seconds
    length = seconds - WORKLOADS[result.scenario.name].beside()
    return int(length) if length.is_integer() else length


def _series_meta(results: Mapping[str, list[float | None]]) -> dict[str, dict[str, Any]]:
    """Returns the metadata of each series: its unit, its mean and its index."""
    found: dict[str, dict[str, Any]] = {}
    for place, (name, values) in enumerate(results.items()):
        known = [v for v in values if v is not None]
        unit = "ms" if name.startswith(_PING) else "Mbits/s"
        found[name] = {"IDX": place, "UNITS": unit, "MEAN_VALUE": sum(known) / len(known) if known else None}
    return found


def _metadata(result: Result, name: str, title: str, local: str, counts: Mapping[Way, int]) -> dict[str, Any]:
    """Returns the metadata that flent stores with a test. Its time is fixed, so equal results give equal files."""
    ends = {str(n) for app in result.scenario.data["app"].values() for n in [app["from"], *app["to"]]}
    nodes = sorted(ends - {local})
    begin = "1970-01-01T00:00:00.000000Z"
    streams = {f"{way}_streams": str(count) for way, count in counts.items() if count}
    return {
        "NAME": name,
        "TITLE": title,
        "NOTE": f"simulated by bloatlab {version()}, scenario {result.scenario.hash[:16]}, seed {result.seed}",
        "HOST": nodes[0] if nodes else local,
        "HOSTS": nodes or [local],
        "LOCAL_HOST": local,
        "TIME": begin,
        "T0": begin,
        "LENGTH": _length(result),
        "TOTAL_LENGTH": float(result.summary["duration_s"]),
        "STEP_SIZE": STEP,
        "TEST_PARAMETERS": streams,
        "FLENT_VERSION": f"bloatlab {version()}",
        "IP_VERSION": 4,
        "DATA_FILENAME": f"{name}.flent.gz",
        **dict.fromkeys(("BATCH_NAME", "BATCH_TIME", "BATCH_TITLE", "BATCH_UUID")),
    }


# ------------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class Measured:
    """flent's measurements in the form of a result's tables and summary.

    The tables are `pings` (`app`, `t_s`, `rtt_ms`) and `flow_series` (payload per bin). TCP flows belong to the
    applications `upload` and `download`, for which `summary` has entries like those in a run's summary.
    """

    name: str
    summary: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]

    def measures(self) -> dict[str, float]:
        """Returns the numbers to compare, measured from the first TCP payload to the last.

        If there is no TCP payload, the numbers cover all data.
        """
        found: dict[str, float] = {}
        for way, app in self.summary["apps"].items():
            if way != "ping":
                found[f"{way} (Mbit/s)"] = app["goodput_mbit"]
            else:
                found |= {f"ping {key.replace('p', '', 1) + ' %' if key[1:].isdigit() else key} (ms)": v
                          for key, v in app["ping"]["rtt_ms"].items() if key != "count"}  # fmt: skip
        return found


def read(path: str | Path) -> Measured:
    """Reads a flent data file. Raises `FlentError`, `OSError`."""
    path = Path(path)
    opened = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    try:
        with opened(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        data: Any = json.loads(text) if len(text) <= MOST_BYTES else None
    except RecursionError:
        raise FlentError(f"{path}: not a flent data file: lists are nested too deeply") from None
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
        raise FlentError(f"{path}: not a flent data file: {str(error).splitlines()[0].lower()}") from None
    except OSError as error:
        if error.strerror is None:  # bz2 raises an OSError without `strerror` for a file in another format
            raise FlentError(f"{path}: not a flent data file: {str(error).lower()}") from None
        raise
    if len(text) > MOST_BYTES:
        raise FlentError(f"{path}: larger than the limit of {MOST_BYTES} bytes")
    name = path.name.removesuffix(next((s for s in SUFFIXES if path.name.endswith(s)), ""))
    try:
        return of_document(data, name)
    except FlentError as error:
        raise FlentError(f"{path.parent}/{error}" if len(path.parts) > 1 else str(error)) from None
    except (TypeError, AttributeError, LookupError, ArithmeticError, ValueError, pl.exceptions.PolarsError):
        raise FlentError(
            f"{path}: not a flent data file: metadata, x_values or results are not in flent's format"
        ) from None


def of_document(data: Mapping[str, Any], name: str) -> Measured:
    """Reads the measurements of a flent document. Raises `FlentError` if they contain neither a ping nor a TCP flow."""
    if int(data.get("version", 1)) > VERSION:
        raise FlentError(f"{name}: a file of version {data['version']}; versions up to {VERSION} are supported")
    x = np.array(data["x_values"], dtype=np.float64)
    step = float(data["metadata"].get("STEP_SIZE") or (x[1] - x[0]))
    if not (_within(x, MOST_SECONDS) and (np.diff(x) > 0.0).all() and 1e-6 <= step <= MOST_SECONDS):
        raise ValueError("times")
    pings = _read_pings(data, x)
    flows = _read_flows(data, x, step)
    if not (_within(pings["t_s"], MOST_SECONDS) and _within(pings["rtt_ms"], 1e9)):
        raise ValueError("pings")
    if not (flows["goodput_bytes"] >= 0.0).all() or not _within(flows["goodput_bytes"], 1e18):
        raise ValueError("flows")
    if not pings.height and not flows.height:
        raise FlentError(f"{name}: has neither ping nor TCP measurements")
    total = min(float(data["metadata"].get("TOTAL_LENGTH") or 0.0), MOST_SECONDS)
    # the last bin is shorter if the test ends in it
    end = total if total > float(x.max()) else float(x.max()) + step
    loaded = flows.filter(pl.col("goodput_bytes") > 0.0)["t_s"]
    first, last = (float(loaded.min()), min(float(loaded.max()) + step, end)) if len(loaded) else (0.0, end)  # type: ignore[arg-type]
    apps = _apps(pings.filter((pl.col("t_s") >= first) & (pl.col("t_s") <= last)), flows, last - first)
    summary = {"name": name, "duration_s": end, "warm_up_s": 0.0, "links": {}, "apps": apps}
    return Measured(name, summary, {"pings": pings, "flow_series": flows})


def _within(values: Any, most: float) -> bool:
    """Returns whether all values are numbers with at most this absolute value."""
    return bool((np.abs(np.asarray(values, dtype=np.float64)) <= most).all())


def of_result(result: Result, name: str) -> Measured:
    """Measures a result as flent would, to compare it with flent's measurements. Raises `FlentError`."""
    return of_document(document(result), name)


def _apps(pings: pl.DataFrame, flows: pl.DataFrame, seconds: float) -> dict[str, Any]:
    apps: dict[str, Any] = {}
    for way in flows["app"].unique(maintain_order=True).to_list() if flows.height else []:
        sent = float(flows.filter(pl.col("app") == way)["goodput_bytes"].sum())
        apps[str(way)] = {"kind": "ftp", "goodput_bytes": sent, "goodput_mbit": sent * 8e-6 / seconds}
    if pings.height:
        rtt = pings["rtt_ms"].sort().to_numpy()
        ends = {"count": len(rtt), "min": float(rtt[0]), "mean": float(rtt.mean())}
        ranks = {f"p{q}": float(rtt[max(0, math.ceil(q / 100 * len(rtt)) - 1)]) for q in (50, 90, 95, 99)}
        apps["ping"] = {"kind": "ping", "ping": {"rtt_ms": {**ends, **ranks, "max": float(rtt[-1])}}}
    return apps


def _read_pings(data: Mapping[str, Any], x: NDArray[np.float64]) -> pl.DataFrame:
    """Reads every round-trip time: from the raw values or, if a series has none, from the results."""
    old = int(data.get("version", 1))
    raw, begin = _raw(data)
    rows: list[tuple[float, float]] = []
    for name, values in data["results"].items():
        if not name.startswith(_PING) or name.endswith(_SUMS) or "::" in name:
            continue
        of_raw = [of for of in raw.get(name, []) if of.get("val") is not None and "t" in of]
        pairs = [(of["t"] - begin, _round_trip(name, of, old)) for of in of_raw] or [
            (float(t), float(v)) for t, v in zip(x, values, strict=True) if v is not None
        ]
        # for an ICMP ping, flent records the time of the reply; the ping was sent a round trip earlier
        rows += [(t - rtt / 1e3 if "ICMP" in name else t, rtt) for t, rtt in pairs if math.isfinite(rtt)]
    rows.sort()
    return pl.DataFrame([("ping", *row) for row in rows], schema=_PINGS, orient="row")


def _raw(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
    """Returns the raw values by series, and the start of the test in s since 1970 (0 if no raw value has a time).

    In files of version 1, the raw values are in the metadata.
    """
    meta = data["metadata"]
    raw: Mapping[str, Any] = data.get("raw_values") or {
        name: of["RAW_VALUES"] for name, of in meta.get("SERIES_META", {}).items() if "RAW_VALUES" in of
    }
    known = [of["t"] for values in raw.values() for of in values if "t" in of]
    return raw, _epoch(str(meta.get("T0") or meta.get("TIME")), min(known)) if known else 0.0


def _round_trip(name: str, of: Mapping[str, Any], old: int) -> float:
    """Converts a raw value to a round-trip time in ms.

    A UDP ping with a `dur` was measured by netperf's UDP_RR test, whose values are in transactions/s before version 4.
    """
    value = float(of["val"])
    if old < VERSION and "UDP" in name and "dur" in of:
        return 1e3 / value if value > 0.0 else math.nan
    return value


def _epoch(text: str, first: float) -> float:
    """Parses a time to s since 1970.

    A time without a zone is local time, so it is shifted by whole hours until it is closest to the first value's time.
    """
    form = "%Y-%m-%dT%H:%M:%S.%f" if "." in text else "%Y-%m-%dT%H:%M:%S"
    at = dt.datetime.strptime(text.removesuffix("Z"), form).replace(tzinfo=dt.UTC).timestamp()
    return at if text.endswith("Z") else at + 3600.0 * round((first - at) / 3600.0)


def _read_flows(data: Mapping[str, Any], x: NDArray[np.float64], step: float) -> pl.DataFrame:
    """Reads the payload per bin of every TCP flow, from raw values or, if there are none, from results.

    A raw value covers the `dur` seconds before its time.
    """
    raw, begin = _raw(data)
    frames: list[pl.DataFrame] = []
    counts: dict[str, int] = {}
    for name, values in data["results"].items():
        way = next((w for w in ("upload", "download") if name.startswith(f"TCP {w}")), None)
        if way is None or name.endswith(_SUMS) or "::tcp_" in name:
            continue
        rates = [of for of in raw.get(name, []) if of.get("val") is not None and of.get("dur")]
        sent = _reported(rates, x + begin, step) if rates else np.nan_to_num(_array(values)) * step / 8e-6
        if not sent.any():
            continue
        number = counts.setdefault(way, 0)
        counts[way] += 1
        columns = {"app": way, "flow": number, "direction": "forward", "t_s": x, "goodput_bytes": sent}
        frames.append(pl.DataFrame(columns, schema=_FLOWS))
    return pl.concat([pl.DataFrame(schema=_FLOWS), *frames])


def _reported(rates: Sequence[Mapping[str, float]], x: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Returns the bytes in each bin. Each of `rates` is a mean in Mbit/s over the `dur` seconds before `t`."""
    ordered = sorted(rates, key=lambda of: of["t"])
    t, dur, val = (np.array([of[key] for of in ordered]) for key in ("t", "dur", "val"))
    return _spread(t - dur, t, val * dur / 8e-6, x, step)


def _spread(
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    amounts: NDArray[np.float64],
    x: NDArray[np.float64],
    step: float,
) -> NDArray[np.float64]:
    """Returns the amount in each bin of `step` s, if each of `amounts` is spread evenly from its start to its end."""
    times = np.stack([starts, ends], axis=1).ravel()
    total = np.cumsum(amounts)
    levels = np.stack([np.concatenate([[0.0], total[:-1]]), total], axis=1).ravel()
    edges = np.append(x, x[-1] + step)
    return np.diff(np.interp(edges, np.maximum.accumulate(times), levels))
