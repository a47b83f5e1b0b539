"""The plot kind sequence: one TCP flow packet by packet (sent, retransmitted, dropped, acknowledged).

The plot is drawn from captures at both ends of a link. The left capture contains the packets that arrive at the link's
queue, including those that the queue drops, and the returning ACKs. The right capture contains the packets that left
the link. A segment that is only in the left capture was dropped if the right capture contains a later segment.
Otherwise it may still be in the queue, so it is drawn as not arrived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bloatlab.captures import Segment, segments
from bloatlab.plots import style
from bloatlab.plots.elements import settle, sized_figure
from bloatlab.plots.kind import LIMITS, Kind, Options
from bloatlab.plots.labels import safe
from bloatlab.plots.style import Figure
from bloatlab.plots.subjects import Run, Unfit

LEFT, RIGHT = "left.pcap", "right.pcap"

_HEIGHT = {"column": 0.85, "page": 0.55, "slide": 0.5}


@dataclass
class Trace:
    """The fates of the segments of one flow. A segment is given as (time in s, offset of its first byte in kB).

    Each segment is in one of four lists. If it left the link, it is in `sent`, or in `again` if it was sent before;
    otherwise, it is in `dropped`, or in `waiting` if it may still be in the queue. `marked` repeats the segments that
    had a CE mark when they arrived at the link. `acked` holds the ACKs: the time in s, and the offset of the first
    unacknowledged byte in kB. `name` is the application; this flow was chosen from `of_flows` flows.
    """

    name: str
    of_flows: int = 1
    sent: list[tuple[float, float]] = field(default_factory=list)
    again: list[tuple[float, float]] = field(default_factory=list)
    dropped: list[tuple[float, float]] = field(default_factory=list)
    waiting: list[tuple[float, float]] = field(default_factory=list)
    marked: list[tuple[float, float]] = field(default_factory=list)
    acked: list[tuple[float, float]] = field(default_factory=list)


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why the capture cannot be drawn; None if it can."""
    if len(runs) > 1:
        return "a figure shows the sequence of one result only"
    folder = runs[0].captures
    if folder is None or not (folder / LEFT).exists() or not (folder / RIGHT).exists():
        return f"{runs[0].label}: has no packet trace; record one with bloatlab run FILE -o DIR --pcap"
    try:
        data = any(one.length > 0 for one in segments(folder / LEFT))
    except ValueError as error:
        return str(error)
    return None if data else f"{runs[0].label}: the capture has no TCP data"


def trace(folder: Path, run: Run, of: str | None = None) -> Trace:
    """Returns the trace of the flow with the most data, among the flows of application `of` or all flows.

    Raises `Unfit` if there is none.
    """
    left = list(segments(folder / LEFT))
    data = Counter[tuple[bytes, int, bytes, int]]()
    for one in left:
        data[one.flow] += max(0, one.length)
    wanted = [flow for flow, amount in data.most_common() if amount and (of is None or of in _apps(flow, run))]
    if not wanted:
        raise Unfit(f"{run.label}: the capture has no TCP data" + (f" of {of}" if of else ""))
    flow = wanted[0]
    found = _sorted(left, segments(folder / RIGHT), flow, of or next(iter(_apps(flow, run)), ""))
    return replace(found, of_flows=len(wanted))


def _apps(flow: tuple[bytes, int, bytes, int], run: Run) -> list[str]:
    """Returns the applications that a flow may belong to: the n-th application by name (from 1) listens on port n."""
    names = sorted(run.apps)
    return [names[port - 1] for port in (flow[1], flow[3]) if 1 <= port <= len(names)]


def _sorted(left: Sequence[Segment], right: Iterable[Segment], flow: tuple[bytes, int, bytes, int], name: str) -> Trace:
    found = Trace(name)
    begin = next(one.sequence for one in left if one.flow == flow)
    mine = [one for one in left if one.flow == flow and one.length > 0]
    seen: Counter[tuple[int, int]] = Counter()
    across = _across(mine, right, flow)
    last = max((i for i, arrival in enumerate(across) if arrival), default=-1)
    for i, (one, arrival) in enumerate(zip(mine, across, strict=True)):
        key = one.sequence, one.length
        point = one.t, _since(one.sequence, begin)
        if arrival:
            (found.again if seen[key] else found.sent).append(point)
        else:
            (found.dropped if i < last else found.waiting).append(point)
        seen[key] += 1
        # the captured link marks a segment after it has been captured at `left`
        if one.marked or (arrival and arrival.marked):
            found.marked.append(point)
    back = flow[2], flow[3], flow[0], flow[1]
    found.acked = [(one.t, _since(one.acknowledged, begin)) for one in left if one.flow == back]
    return found


def _across(
    mine: Sequence[Segment], right: Iterable[Segment], flow: tuple[bytes, int, bytes, int]
) -> list[Segment | None]:
    """Returns each segment as it left the link; None if it did not.

    If a segment was sent several times, an arrival counts for the last transmission before the arrival.
    """
    arrivals: dict[tuple[int, int], list[Segment]] = {}
    for one in right:
        if one.flow == flow and one.length > 0:
            arrivals.setdefault((one.sequence, one.length), []).append(one)
    crossed: list[Segment | None] = []
    for one in reversed(mine):
        later = arrivals.get((one.sequence, one.length), [])
        crossed.append(later.pop() if later and later[-1].t >= one.t else None)
    return crossed[::-1]


def _since(sequence: int, begin: int) -> float:
    """Returns the offset in kB from the first byte of the flow; sequence numbers wrap at 2^32."""
    return ((sequence - begin) & 0xFFFFFFFF) / 1e3


def draw(runs: Sequence[Run], options: Options) -> Figure:
    """Draws each segment as a marker that shows its fate, and the ACKs as a line below them.

    With `--xlim`, the y axis and the numbers in the legend are those of the part that is shown.
    """
    from matplotlib.lines import Line2D  # noqa: PLC0415  only plots need matplotlib, which loads slowly

    run = runs[0]
    if run.captures is None:
        raise Unfit(unfit(runs) or "")
    try:
        found = trace(run.captures, run, options.of)
    except ValueError as error:
        raise Unfit(str(error)) from None
    of = sized_figure(options.width, _HEIGHT[options.width])
    axes = of.figure.subplots()
    acked = np.array(found.acked).reshape(-1, 2)
    first, last = options.xlim or (-np.inf, np.inf)
    shown = [acked[(first <= acked[:, 0]) & (acked[:, 0] <= last)]]
    axes.plot(acked[:, 0], acked[:, 1], drawstyle="steps-post", color=style.colour(2), linewidth=1.0)
    fates = (
        (found.sent, ".", style.colour(0), 0.35, "sent"),
        (found.again, "^", style.colour(1), 0.6, "sent again"),
        (found.marked, "d", style.MARK, 0.6, "marked"),
        (found.dropped, "x", style.DROP, 0.6, "dropped"),
        (found.waiting, ".", style.INK, 0.35, "not arrived"),
    )
    entries = [("acknowledged", style.colour(2), "-", "none")]
    for points, marker, colour, size, word in fates:
        xy = np.array(points).reshape(-1, 2)
        xy = xy[(first <= xy[:, 0]) & (xy[:, 0] <= last)]
        if len(xy):
            axes.plot(xy[:, 0], xy[:, 1], linestyle="none", marker=marker, markersize=of.text * size, color=colour)
            entries.append((f"{word} ({len(xy):,})".replace(",", "\u202f"), colour, "none", marker))
            shown.append(xy)
    heights = np.concatenate(shown)[:, 1]
    if options.xlim and len(heights):  # the ACK line is drawn in full; y must not follow it
        margin = 0.03 * float(np.ptp(heights)) or 1.0
        axes.set_ylim(float(heights.min()) - margin, float(heights.max()) + margin)
    axes.set_title(_title(found), fontsize=of.text * 0.9)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("sequence number (kB from the first)")
    line2d: Any = Line2D
    handles = [line2d([], [], color=c, linestyle=line, marker=m, markersize=4) for _, c, line, m in entries]
    ncols = 2 if options.width == "column" else 5
    of.figure.legend(handles, [label for label, *_ in entries], loc="outside upper left", ncols=ncols)
    settle(of)
    return of.figure


def _title(of: Trace) -> str:
    """Returns the application of the flow, and why this flow was chosen if there are several."""
    title = f"TCP flow of {safe(of.name)}" if of.name else "TCP flow"
    return title + (f", the one with the most data of {of.of_flows} flows" if of.of_flows > 1 else "")


KIND = Kind(
    "sequence",
    "one TCP flow packet by packet; needs a packet trace (bloatlab run --pcap)",
    "runs",
    unfit,
    draw,
    ("of", *LIMITS),
)
