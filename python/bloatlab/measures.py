"""What a measure of the summary is called: its path (docs/results.md) in words, with the unit, and whose it is.

links.up.sojourn_ms.p99     link up     time in queue, 99 %     ms
apps.call.voip.mos          call        MOS                     1 to 4.5
latency.induced_ms                      delay added by load     ms
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

#: Words of a name that say its unit.
_UNITS = {
    "ms": "ms", "s": "s", "mbit": "Mbit/s", "percent": "%", "packets": "packets", "bytes": "bytes", "mb": "MB",
    "kb": "kB", "bps": "bit/s",
}  # fmt: skip

#: Parts of a path that say only which kind of application has the measure.
_KINDS = (
    "voip", "web", "ping", "files", "video", "bittorrent", "short", "burst",
    "rpm", "game", "proshare", "latency", "delivery",
)  # fmt: skip

#: Names that people write otherwise, and their units where the name does not say them.
_NAMES = {
    "sojourn": ("time in queue", ""),
    "rtt": ("round trip", ""),
    "rtt over time": ("round trip over time", ""),
    "induced": ("delay added by load", ""),
    "plr": ("lost or late", ""),
    "queue": ("queue length", ""),
    "mos": ("MOS", "1 to 4.5"),
    "mos g107": ("MOS by G.107", "1 to 4.5"),
    "mos loss only": ("MOS, loss only", "1 to 4.5"),
    "r": ("R", "0 to 100"),
    "r g107": ("R by G.107", "0 to 100"),
    "r loss only": ("R, loss only", "0 to 100"),
    "rpm": ("round trips per minute", ""),
    "fairness": ("Jain's fairness", "0 to 1"),
    "utilisation": ("use of the rate", "0 to 1"),
}

_STATISTICS = {
    "p50": "median", "p90": "90 %", "p95": "95 %", "p99": "99 %", "p99_9": "99.9 %", "cv": "coefficient of variation",
    "mad": "median deviation", "min": "minimum", "max": "maximum", "mean": "mean", "median": "median",
    "count": "how many",
}  # fmt: skip

#: Words that people write otherwise wherever they stand.
_WRITTEN = {"mos": "MOS", "rtt": "RTT", "http": "HTTP", "tcp": "TCP", "tls": "TLS", "rpm": "RPM",
            "sojourn": "time in queue",
            **{name: text for name, text in _STATISTICS.items() if name[0] == "p"}}  # fmt: skip

#: What a path begins with, in words.
_FILES = {"files": "file, "}

#: Ends of paths that need more words than their last part has.
_ENDS = {"voip.jitter_ms": "jitter by RFC 3550"}


@dataclass(frozen=True, slots=True)
class Name:
    """A measure in words: `of` is the link or application that has it, empty for the run; `unit` may be empty."""

    of: str
    measure: str
    unit: str

    @property
    def with_unit(self) -> str:
        """The measure and its unit in parentheses."""
        return f"{self.measure} ({self.unit})" if self.unit else self.measure

    def __str__(self) -> str:
        """All of it, for an axis or a sentence."""
        return f"{self.of}: {self.with_unit}" if self.of else self.with_unit


def named(path: str) -> Name:
    """The words for a measure's path; of a name that is no path, its own words and unit."""
    parts = path.split(".")
    of = ""
    if parts[0] in {"links", "apps"} and len(parts) > 2:
        of = f"link {parts[1]}" if parts[0] == "links" else parts[1]
        parts = parts[2:]
    prefix = _FILES.get(parts[0], "") if len(parts) > 1 else ""
    if len(parts) > 1 and parts[0] in _KINDS:
        parts = parts[1:]
    words: list[str] = []
    unit = ""
    for part in parts:
        if words and part in _STATISTICS:
            words.append(_STATISTICS[part])
            unit = "" if part in {"cv", "count"} else unit
            continue
        text, own = _plain(part, at_first=not words)
        words.append(text)
        unit = own or unit
    end = next((text for end, text in _ENDS.items() if path.endswith(f".{end}")), "")
    return Name(of, end or prefix + ", ".join(filter(None, words)), unit)


def _plain(part: str, *, at_first: bool) -> tuple[str, str]:
    """A part of a path as words, and the unit that is one of them."""
    words = part.split("_")
    back = words[-1] == "reverse" and len(words) > 1
    if back:
        words.pop()
    unit = ""
    if len(words) > 1 and words[-1] in _UNITS:
        unit = _UNITS[words.pop()]
    elif at_first and words[-1] in {"packets", "bytes"}:
        unit = _UNITS[words[-1]]
    text, own = _NAMES.get(" ".join(words), ("", "")) if at_first else ("", "")
    if not text:
        text = _STATISTICS.get("_".join(words)) or " ".join(_WRITTEN.get(word, word) for word in words)
    unit = own or unit
    return f"{text} back" if back else text, "" if unit == text else unit


#: What people notice, in the order in which it is told of an application; then what a link did. One statistic stands
#: for each distribution, and one score for each model of quality.
_TOLD: Sequence[str] = (
    "apps.*.voip.mos",
    "apps.*.voip.plr_percent",
    "apps.*.rpm.rpm",
    "apps.*.video.stalls",
    "apps.*.video.stalled_s",
    "apps.*.video.startup_s",
    "apps.*.video.mean_bitrate_mbit",
    "apps.*.web.page_load_s.median",
    "apps.*.web.abandoned",
    "apps.*.files.median_s",
    "apps.*.ping.rtt_ms.p99",
    "apps.*.ping.lost_percent",
    "apps.*.delay_ms.p99",
    "apps.*.delay_ms_reverse.p99",
    "apps.*.goodput_mbit",
    "apps.*.goodput_mbit_reverse",
    "apps.*.timeouts",
    "apps.*.failed",
    "apps.*.refused",
    "fairness",
    "latency.induced_ms",
    "links.*.sojourn_ms.p99",
    "links.*.queue_packets.max",
    "links.*.utilisation",
    "links.*.dropped_packets",
    "links.*.marked_packets",
    "*(Mbit/s)",
    "*(ms)",
)


def importance(path: str) -> int:
    """The place of a measure among those that are told first; after all of them for any other."""
    return next((n for n, pattern in enumerate(_TOLD) if fnmatch.fnmatchcase(path, pattern)), len(_TOLD))


def told_first(path: str) -> bool:
    """Whether a measure is among those that are told first."""
    return importance(path) < len(_TOLD)
