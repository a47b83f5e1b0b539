"""The rate of a link from what somebody recorded: a data file of flent, or a capture.

    flent     payload of all TCP flows of one way, in bins; times 1500/1448 for the headers of full segments
    capture   bytes of IP packets to one address, in bins (pcap or pcapng: raw IP, Ethernet, Linux cooked)

What went over a line is the line's rate only while something filled it. So the time before the first byte and after the
last is left out; whoever recorded answers for what lies between.

Source: flent's documentation; captures.py reads the packets.
"""

from __future__ import annotations

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

#: Bytes of a full segment on the wire and of its payload, with IPv4, TCP and time stamps.
_WIRE, _PAYLOAD = 1500, 1448

#: Most steps of a schedule: more are a slip.
_MOST = 100_000


class RecordingError(InputError):
    """Nothing that a rate can be made of; the message is one line for a person."""


@dataclass(frozen=True)
class Recording:
    """Rates, bit/s, one after the other, each for `step` s; and a line about where they come from.

    `cut`: the file ends within a packet.
    """

    rates: Sequence[int]
    step: float
    about: str
    cut: bool = False

    def changes(self, until: float = float("inf")) -> list[dict[str, str]]:
        """As `changes` of a link whose rate is the first: those before `until` s that differ from the one before."""
        return [
            {"at": f"{place * round(self.step * 1e3)}ms", "rate": f"{rate}bit"}
            for place, (before, rate) in enumerate(zip(self.rates, self.rates[1:], strict=False), 1)
            if rate != before and place * self.step < until
        ]

    def toml(self, link: str) -> str:
        """The table of a link, to be laid into a scenario."""
        lines = [f'    {{ at = "{c["at"]}", rate = "{c["rate"]}" }},\n' for c in self.changes()]
        return f'# {self.about}\n[link.{link}]\nrate = "{self.rates[0]}bit"\nchanges = [\n{"".join(lines)}]\n'

    def laid_into(self, of: Scenario, link: str) -> Scenario:
        """A scenario whose link `link` has these rates. Raises `RecordingError`, `ScenarioError`."""
        data: Any = of.data
        if link not in data["link"]:
            raise RecordingError(f"--link {link}: {of.name} has no such link ({', '.join(data['link'])})")
        table = data["link"][link]
        taken = next((key for key in ("changes", "shaper", "docsis", "delivery") if table.get(key)), None)
        if taken:
            raise RecordingError(f"--link {link}: it has {taken} already; expected a link with a rate and nothing else")
        end = quantity(of.data["duration"])
        data["link"][link] = table | {"rate": f"{self.rates[0]}bit", "changes": self.changes(end)}
        return from_dict(data, source=of.name)


def of_file(path: Path, *, step: float, way: Way | None = None, to: str | None = None) -> Recording:
    """What a file recorded. `way` is of flent's data, `to` of a capture. Raises `RecordingError`, `OSError`."""
    if step < 1e-3:
        raise RecordingError("--step: expected at least 1ms")
    if flent.is_flent(path):
        if to is not None:
            raise RecordingError(f"{path}: --to is for captures; flent's data have a way: --way upload or download")
        return _of_flent(path, step, way)
    if way is not None:
        raise RecordingError(f"{path}: --way is for flent's data; a capture needs --to ADDRESS")
    return _of_capture(path, step, to)


def _of_flent(path: Path, step: float, way: Way | None) -> Recording:
    try:
        frame = flent.read(path).tables["flow_series"]
    except flent.FlentError as error:
        raise RecordingError(str(error)) from None
    ways = sorted(set(frame["app"].to_list()))
    if not ways:
        raise RecordingError(f"{path}: it has no TCP flow, so it does not say what the line carried")
    if way is None and len(ways) > 1:
        raise RecordingError(f"{path}: it has uploads and downloads; say which: --way upload or --way download")
    if way is not None and way not in ways:
        raise RecordingError(f"{path}: it has no {way}; it has {ways[0]}")
    chosen = way or ways[0]
    part = frame.filter(frame["app"] == chosen)
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
            raise RecordingError(f"--to {to}: no address; expected one such as 10.0.0.2 or fd00::2") from None
    chosen = [(t, size) for t, address, size in packets if address == wanted]
    name = ipaddress.ip_address(wanted)
    if not chosen:
        raise RecordingError(f"{path}: no packet goes to {name}")
    times, sizes = np.array(chosen, dtype=np.float64).T
    rates = _binned(path, times - times.min(), sizes, step)
    about = f"from {path.name}: IP packets to {name}, means over {step:g} s"
    return Recording(rates, step, about + (", up to where the file is cut off" if read.cut else ""), cut=read.cut)


def _binned(path: Path, times: NDArray[np.float64], sizes: NDArray[np.float64], step: float) -> list[int]:
    """Bits per second in each step from the first byte to the last. Raises `RecordingError`."""
    busy = times[sizes > 0.0]
    if not len(busy):
        raise RecordingError(f"{path}: nothing was sent")
    first, last = float(busy.min()), float(busy.max())
    bins = int((last - first) / step + 1e-6) + 1
    if bins < 2:
        raise RecordingError(
            f"{path}: from the first byte to the last {last - first:.3g} s, less than a step; expected a shorter --step"
        )
    if bins > _MOST:
        raise RecordingError(
            f"{path}: {bins} steps of {step:g} s are too many; expected at most {_MOST}: a longer --step"
        )
    inside = (times >= first) & (times <= last)
    place = np.minimum(((times[inside] - first) / step + 1e-6).astype(np.int64), bins - 1)
    sums = np.bincount(place, weights=sizes[inside], minlength=bins)
    # the last step is seldom whole: its rate would be too low
    return [round(8.0 * total / step) for total in sums[: bins - 1].tolist()]
