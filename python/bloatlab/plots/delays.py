"""Chooses the delay distributions to plot: several of one run, or the same quantity of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bloatlab.plots.labels import safe
from bloatlab.plots.measures import QUANTITIES, Distribution, bottleneck, busy, distributions
from bloatlab.plots.subjects import Run

#: Maximum number of lines drawn for one run.
MOST = 6

#: Label of a distribution in a plot with several quantities.
_LABELS = {"sojourn": "queue of {}", "delay": "{}, one way", "rtt": "{}, round trip"}


def unfit(runs: Sequence[Run]) -> str | None:
    """Returns the reason why no distribution can be drawn for these runs; None if one can be drawn."""
    for run in runs:
        if not distributions(run):
            return (
                f"{run.label}: no distribution of delay was recorded: no packet was measured, or the scenario's record "
                "leaves out the links and applications that have packets"
            )
    return None if chosen(runs, None) else "these results have no measure of delay in common"


def chosen(runs: Sequence[Run], of: str | None) -> list[Distribution]:
    """Returns the distributions to draw, in order.

    `of` is a link, an application, or a quantity: sojourn, delay or rtt.
    """
    if len(runs) == 1:
        return _labelled(_of_run(runs[0], of))
    every = [distributions(run) for run in runs]
    common = [
        (one.quantity, one.label)
        for one in every[0]
        if of in {None, one.quantity, one.label}
        and all(any((d.quantity, d.label) == (one.quantity, one.label) for d in them) for them in every)
    ]
    if common:
        key = min(common, key=lambda one: _rank(runs, *one))
        found = [next(d for d in them if (d.quantity, d.label) == key) for them in every]
        return [replace(d, label=run.label) for d, run in zip(found, runs, strict=True)]
    # No selected distribution exists in all runs, so the plot compares the first quantity that does. From each run, it
    # takes the first distribution of this quantity; for sojourn times, that of the link with the longest mean wait.
    for quantity in ("rtt", "sojourn", "delay"):
        firsts = [next((d for d in them if d.quantity == quantity), None) for them in every]
        if of in {None, quantity} and all(firsts):
            return [replace(d, label=run.label) for d, run in zip(firsts, runs, strict=True) if d is not None]
    return []


def axis_of(runs: Sequence[Run], found: Sequence[Distribution]) -> str:
    """Returns the delay axis label, with its unit."""
    if len({d.quantity for d in found}) > 1:
        return "delay (ms)"
    axis = QUANTITIES[found[0].quantity]
    if len(runs) > 1:
        names = {d.label for d in distributions(runs[0]) if d.quantity == found[0].quantity and _equal(d, found[0])}
        if len(names) == 1:
            return f"{safe(next(iter(names)), 16)}: {axis}"
    return axis


def _equal(one: Distribution, other: Distribution) -> bool:
    return one.values is other.values or (len(one.values) == len(other.values) and (one.counts == other.counts).all())


def _of_run(run: Run, of: str | None) -> list[Distribution]:
    found = distributions(run)
    if of is not None:
        return [d for d in found if of in {d.quantity, d.label}][:MOST]
    pings = {d.label for d in found if d.quantity == "rtt"}
    one_way = {d.label for d in found} - {label for app in pings for label in (app, f"{app} back")}
    kept = {"rtt": pings, "delay": one_way, "sojourn": set(busy(run)[:2])}
    return [d for d in found if d.label in kept[d.quantity]][:MOST]


def _labelled(found: Sequence[Distribution]) -> list[Distribution]:
    """Adds the quantity to the labels if the plot has several quantities."""
    several = len({d.quantity for d in found}) > 1
    return [replace(d, label=safe(_LABELS[d.quantity].format(d.label) if several else d.label)) for d in found]


def _rank(runs: Sequence[Run], quantity: str, label: str) -> tuple[int, int]:
    """Returns a distribution's sort key.

    Ping round trips come first, then delays of calls, then queues (the bottleneck's before others), then other delays.
    The delay of a call's way back ("call back") counts as another delay.
    """
    if quantity == "rtt":
        return 0, 0
    if quantity == "delay":
        return (1, 0) if runs[0].apps.get(label, {}).get("voip") else (3, 0)
    return 2, 0 if label == bottleneck(runs) else 1
