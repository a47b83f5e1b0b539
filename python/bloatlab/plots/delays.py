"""Which distributions a plot of delay shows: of one run its parts, of several the one quantity that all have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bloatlab.plots.labels import safe
from bloatlab.plots.measures import QUANTITIES, Distribution, bottleneck, busy, distributions
from bloatlab.plots.subjects import Run

#: Most lines of one run.
MOST = 6

NOTHING = "no distribution of delay was recorded; the scenario's record names the links and apps that have one"


def lacks(runs: Sequence[Run]) -> str | None:
    """Why there is no distribution to show, or none that all runs have."""
    for run in runs:
        if not distributions(run):
            return f"{run.label}: {NOTHING}"
    return None if chosen(runs, None) else "these results have no measure of delay in common"


def chosen(runs: Sequence[Run], of: str | None) -> list[Distribution]:
    """What to draw, in order; `of` is a link, an application, or sojourn, delay or rtt. Empty where nothing fits."""
    if len(runs) == 1:
        return _named(_parts(runs[0], of))
    every = [distributions(run) for run in runs]
    kinds = [[(d.quantity, d.label) for d in them] for them in every]
    common = [kind for kind in kinds[0] if all(kind in them for them in kinds[1:])]
    if of is not None:
        common = [(quantity, label) for quantity, label in common if of in {quantity, label}]
    if not common:
        return _pooled(runs, every, of)
    quantity, label = min(common, key=lambda one: _rank(runs, *one))
    found = [next(d for d in them if (d.quantity, d.label) == (quantity, label)) for them in every]
    return [replace(d, label=run.label) for d, run in zip(found, runs, strict=True)]


def what(runs: Sequence[Run], found: Sequence[Distribution]) -> str:
    """The axis that they share, with its unit."""
    quantities = {d.quantity for d in found}
    if len(quantities) > 1:
        return "delay (ms)"
    quantity = found[0].quantity
    axis = QUANTITIES[quantity]
    if len(runs) > 1:
        names = {d.label for d in distributions(runs[0]) if d.quantity == quantity and _counts(d, found[0])}
        name = next(iter(names)) if len(names) == 1 else ""
        return f"{safe(name, 16)}: {axis}" if name else axis
    return axis


def _counts(one: Distribution, other: Distribution) -> bool:
    return one.values is other.values or (len(one.values) == len(other.values) and (one.counts == other.counts).all())


def _parts(run: Run, of: str | None) -> list[Distribution]:
    found = distributions(run)
    if of is not None:
        return [d for d in found if of in {d.quantity, d.label}][:MOST]
    links = set(busy(run)[:2])
    asked = {d.label for d in found if d.quantity == "rtt"}
    halves = {way for app in asked for way in (app, f"{app} back")}  # a ping's way there and its way back
    kept = {"rtt": asked, "delay": {d.label for d in found} - halves, "sojourn": links}
    return [d for d in found if d.label in kept[d.quantity]][:MOST]


def _named(found: Sequence[Distribution]) -> list[Distribution]:
    """With what each is where one plot has several quantities."""
    words = {"sojourn": "queue of {}", "delay": "{}, one way", "rtt": "{}, round trip"}
    several = len({d.quantity for d in found}) > 1
    return [replace(d, label=safe(words[d.quantity].format(d.label) if several else d.label)) for d in found]


def _rank(runs: Sequence[Run], quantity: str, label: str) -> tuple[int, int]:
    """Round trips of pings first, then the delay of calls and games, then the queue, then other delays."""
    if quantity == "rtt":
        return 0, 0
    if quantity == "delay":
        return (1, 0) if runs[0].apps.get(label, {}).get("voip") else (3, 0)
    return 2, 0 if label == bottleneck(runs) else 1


def _pooled(runs: Sequence[Run], every: Sequence[Sequence[Distribution]], of: str | None) -> list[Distribution]:
    """No name is in all: of each run the first round trip, or the longest queue."""
    for quantity in ("rtt", "sojourn", "delay"):
        if of not in {None, quantity}:
            continue
        firsts = [next((d for d in them if d.quantity == quantity), None) for them in every]
        if all(d is not None for d in firsts):
            return [replace(d, label=run.label) for d, run in zip(firsts, runs, strict=True) if d is not None]
    return []
