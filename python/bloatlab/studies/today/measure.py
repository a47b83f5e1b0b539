"""Reduces a run to measures of its applications and of the upstream link, and to a count of missing packets."""

from __future__ import annotations

import math
from typing import Any

from bloatlab.simulation import Result
from bloatlab.studies.today.cases import BACKGROUND, GAME, SHORT
from bloatlab.workloads.cable_home import UP

Measures = dict[str, float]


def measure(result: Result) -> Measures:
    """Measures one-way delays in ms, page loads in s, and uploads in Mbit/s.

    Infinity means that no page finished or no packet arrived. NaN means that the case has no such application, or that
    none of the short transfers finished.
    """
    apps, links = result.summary["apps"], result.summary["links"]
    game, call, pages = apps[GAME], apps["voip"], apps["web"]["web"]
    uploads = [app["goodput_mbit"] for name, app in apps.items() if name.startswith("ftp")]
    seconds = result.summary["duration_s"] - result.summary["warm_up_s"]
    background = apps[BACKGROUND]["goodput_mbit"] if BACKGROUND in apps else math.nan
    short = apps[SHORT].get("files") if SHORT in apps else None
    return {
        "game_p50_ms": _or_never(game["delay_ms"]["p50"]),
        "game_p99_ms": _or_never(game["delay_ms"]["p99"]),
        "game_min_ms": _or_never(game["delay_ms"]["min"]),
        "game_max_ms": _or_never(game["delay_ms"]["max"]),
        "game_lost_percent": 100.0 * game["dropped_packets"] / max(game["packets"] + game["dropped_packets"], 1),
        "call_mos": call["voip"]["mos"],
        "call_p99_ms": _or_never(call["delay_ms"]["p99"]),
        "page_s": pages["page_load_s"]["median"] if pages["pages"] else math.inf,
        "pages": float(pages["pages"]),
        "upload_mbit": sum(uploads) if uploads else math.nan,
        "background_share": background / max(background + sum(uploads), 1e-9),
        "short_s": short["median_s"] if short else math.nan,
        "up_mbit": 8e-6 * links[UP]["delivered_bytes"] / seconds,
        "modem_dropped": float(links[UP]["dropped_packets"]),
        "unaccounted": float(sum(abs(_missing(link)) for link in links.values())),
    }


def _or_never(delay: float | None) -> float:
    """Returns a delay; infinity if no packet arrived."""
    return math.inf if delay is None else delay


def _missing(link: dict[str, Any]) -> int:
    """Returns the number of packets that a link's balance does not account for.

    The balance is: packets at the start + offered - delivered - dropped - queued - in flight.
    """
    known = sum(link[f"{fate}_packets"] for fate in ("delivered", "dropped", "backlog", "in_flight"))
    return link["at_start_packets"] + link["offered_packets"] - known
