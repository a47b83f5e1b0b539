"""Derives a link's rate from a recording: a flent data file or a capture.

    flent     payload of all TCP flows in one direction, in bins; times 1500/1448 for the headers of full segments
    capture   bytes of IP packets to one address, in bins (pcap or pcapng: raw IP, Ethernet, Linux cooked)

The traffic shows the line's rate only while the line is full. The times before the first byte and after the last byte
are left out. In between, the user must keep the line full.

Source: flent's documentation; captures.py reads the packets.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bloatlab import captures, flent
from bloatlab.errors import InputError
from bloatlab.scenario import Scenario, from_dict, quantity

Way = Literal["upload", "download"]

#: Size in bytes of a full segment, as an IP packet (`_WIRE`) and without headers (`_PAYLOAD`). The headers have 20
#: bytes for IPv4 and 32 for TCP with timestamps: 1500 - 20 - 32 = 1448.
_WIRE, _PAYLOAD = 1500, 1448

#: Maximum number of steps in a recording. If there are more, the step was probably chosen too short by mistake.
_MOST = 100_000


class RecordingError(InputError):
    """Raised for a recording from which no rate can be derived. The message is one line."""


@dataclass(frozen=True)
class Recording:
    """A sequence of rates in bit/s, each of which lasts for `step` seconds.

    `about` says in one line where the rates are from. `cut` is true if the file ends within a packet.
    """

    rates: Sequence[int]
    step: float
    about: str
    cut: bool = False

    def changes(self, until: float = float("inf")) -> list[dict[str, str]]:
        """Returns the rate changes before the time `until` (in s), in the form of a link's `changes` in a scenario."""
        step = round(self.step * 1e9)
        return [
            {"at": _duration(place * step), "rate": f"{rate}bit"}
            for place, (before, rate) in enumerate(zip(self.rates, self.rates[1:], strict=False), 1)
            if rate != before and place * step < until * 1e9
        ]

    def link_toml(self, link: str) -> str:
        """Writes the link's table in TOML, to paste into a scenario."""
        lines = [f'    {{ at = "{c["at"]}", rate = "{c["rate"]}" }},\n' for c in self.changes()]
        return f'# {self.about}\n[link.{link}]\nrate = "{self.rates[0]}bit"\nchanges = [\n{"".join(lines)}]\n'

    def laid_into(self, of: Scenario, link: str) -> Scenario:
        """Returns a copy of the scenario `of` in which the link `link` has the rates of this recording.

        Raises `RecordingError` or `ScenarioError`.
        """
        data: Any = of.data
        if link not in data["link"]:
            raise RecordingError(f"--link {link}: {of.name} has no such link ({', '.join(data['link'])})")
        table = data["link"][link]
        taken = next((key for key in ("changes", "shaper", "docsis", "docsis31", "delivery") if table.get(key)), None)
        if taken:
            raise RecordingError(f"--link {link}: has {taken}; expected a link that has only a rate")
        end = quantity(of.data["duration"])
        data["link"][link] = table | {"rate": f"{self.rates[0]}bit", "changes": self.changes(end)}
        return from_dict(data, source=of.name)


def _duration(ns: int) -> str:
    """Writes a time in ms or, where it is not a whole number of ms, in us or ns."""
    unit, of = next((unit, of) for unit, of in (("ms", 1_000_000), ("us", 1_000), ("ns", 1)) if ns % of == 0)
    return f"{ns // of}{unit}"


def of_file(path: Path, *, step: float, way: Way | None = None, to: str | None = None) -> Recording:
    """Reads a recording. Raises `RecordingError` or `OSError`.

    `way` selects the direction in flent data. `to` is the destination address of the packets to use from a capture, by
    default the address that receives the most bytes.
    """
    if step < 1e-3:
        raise RecordingError("--step: expected at least 1ms")
    if flent.is_flent(path):
        if to is not None:
            raise RecordingError(f"{path}: --to is for captures; for flent data, use --way upload or download")
        return _of_flent(path, step, way)
    if way is not None:
        raise RecordingError(f"{path}: --way is for flent data; for a capture, use --to ADDRESS")
    return _of_capture(path, step, to)


def _of_flent(path: Path, step: float, way: Way | None) -> Recording:
    try:
        frame = flent.read(path).tables["flow_series"]
    except flent.FlentError as error:
        raise RecordingError(str(error)) from None
    ways = sorted(set(frame["app"].to_list()))
    if not ways:
        raise RecordingError(f"{path}: has no TCP flow, so the rate is unknown")
    if way is None and len(ways) > 1:
        raise RecordingError(f"{path}: has uploads and downloads; choose --way upload or --way download")
    if way is not None and way not in ways:
        raise RecordingError(f"{path}: has no {way}, only {ways[0]}")
    chosen = way or ways[0]
    part = frame.filter(frame["app"] == chosen)
    apart = np.diff(np.unique(part["t_s"].to_numpy()).astype(np.float64))
    interval = float(np.median(apart)) if len(apart) else 0.0
    if interval and (step < interval - 1e-6 or abs(step / interval - round(step / interval)) > 0.01):
        raise RecordingError(f"--step: {path} has a sample every {interval:.4g} s; expected a multiple of this time")
    wire = part["goodput_bytes"].to_numpy() * (_WIRE / _PAYLOAD)
    rates = _binned(path, part["t_s"].to_numpy(), wire, step)
    return Recording(rates, step, f"from {path.name}: {chosen}, payload x {_WIRE}/{_PAYLOAD}, means over {step:g} s")


def _of_capture(path: Path, step: float, to: str | None) -> Recording:
    try:
        read = captures.Packets(path)
        packets = [(t, bytes(one.dst), captures.size(one)) for t, one in read]
    except captures.CaptureError as error:
        raise RecordingError(str(error)) from None
    if not packets:
        raise RecordingError(f"{path}: the capture has no IP packet")
    if to is None:
        sums: dict[bytes, int] = {}
        for _, address, size in packets:
            sums[address] = sums.get(address, 0) + size
        wanted = max(sorted(sums), key=lambda a: sums[a])
    else:
        try:
            wanted = ipaddress.ip_address(to).packed
        except ValueError:
            raise RecordingError(f"--to {to}: not an address; expected one such as 10.0.0.2 or fd00::2") from None
    chosen = [(t, size) for t, address, size in packets if address == wanted]
    name = ipaddress.ip_address(wanted)
    if not chosen:
        raise RecordingError(f"{path}: no packet goes to {name}")
    times, sizes = np.array(chosen, dtype=np.float64).T
    rates = _binned(path, times - times.min(), sizes, step)
    about = f"from {path.name}: IP packets to {name}, means over {step:g} s"
    return Recording(rates, step, about + (", up to where the file is cut off" if read.cut else ""), cut=read.cut)


def _binned(path: Path, times: NDArray[np.float64], sizes: NDArray[np.float64], step: float) -> list[int]:
    """Returns the rate in bit/s for each complete step after the first byte. Raises `RecordingError`."""
    busy = times[sizes > 0.0]
    if not len(busy):
        raise RecordingError(f"{path}: nothing was sent")
    first, last = float(busy.min()), float(busy.max())
    bins = int((last - first) / step + 1e-6) + 1
    if bins < 2:
        raise RecordingError(
            f"{path}: lasts {last - first:.3g} s from the first byte to the last; expected a shorter --step"
        )
    if bins > _MOST:
        raise RecordingError(
            f"{path}: {bins} steps of {step:g} s; at most {_MOST} are supported: expected a longer --step"
        )
    inside = (times >= first) & (times <= last)
    place = np.minimum(((times[inside] - first) / step + 1e-6).astype(np.int64), bins - 1)
    sums = np.bincount(place, weights=sizes[inside], minlength=bins)
    # the last step is left out, because it is rarely complete and its rate would be too low
    return [round(8.0 * total / step) for total in sums[: bins - 1].tolist()]
