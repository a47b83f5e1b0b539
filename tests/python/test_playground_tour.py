"""The playground's tour: every number in its sentences, and every claim, against runs of the native simulator."""

from __future__ import annotations

import copy
import json
import re
from functools import cache
from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab.simulation import Result
from test_playground import in_node

UNITS = {"ms": 1e-3, "s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "": 1.0}
PACKET_BITS = 1500 * 8
#: Means of the queue's delay are taken over this time, s: one bin of the page's chart of 40 s.
WINDOW_S = 40 / 375


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    """The steps as the page shows them."""
    return in_node("tour.mjs")


@cache
def _run(text: str) -> Result:
    return bloatlab.run(bloatlab.parse(text, form="json"))


def run(scenario: dict[str, Any]) -> Result:
    return _run(json.dumps(scenario))


def waits(result: Result) -> pl.DataFrame:
    """Mean and longest wait in the uplink's queue over each window, s."""
    series = result.table("queue_series").filter(pl.col("link") == "up").fill_nan(None)
    window = ((pl.col("t_s") + 1e-9) / WINDOW_S).floor() * WINDOW_S
    spent = (pl.col("sojourn_ms_mean") * pl.col("sent_packets")).sum() / pl.col("sent_packets").sum()
    return (
        series.group_by(window.alias("t_s"), maintain_order=True)
        .agg((spent / 1e3).alias("mean"), (pl.col("sojourn_ms_max").max() / 1e3).alias("longest"))
        .fill_nan(None)
    )


def upload(result: Result) -> float:
    return result.summary["apps"]["upload"]["goodput_mbit"] * 1e6


def mos(result: Result) -> float:
    return result.summary["apps"]["call"]["voip"]["mos"]


def longest(result: Result) -> float:
    return result.summary["links"]["up"]["sojourn_ms"]["max"] / 1e3


def settled(result: Result) -> tuple[float, float]:
    """The range of the mean wait from second 10 on."""
    means = waits(result).filter(pl.col("t_s") >= 10)["mean"].drop_nulls()
    return float(means.min()), float(means.max())  # type: ignore[arg-type]


def fact(name: str, result: Result) -> float:
    """A number of the tour's sentences, from the tables and the summary."""
    match name:
        case "low":
            return settled(result)[0]
        case "high":
            return settled(result)[1]
        case "worst":
            return longest(result)
        case "upload":
            return upload(result)
        case "mos":
            return mos(result)
        case "page":
            return result.summary["apps"]["pages"]["web"]["page_load_s"]["median"]
        case _:
            raise AssertionError(f"no such fact: {name}")


def test_every_number_in_the_tour_is_the_runs(steps: list[dict[str, Any]]):
    seen = 0
    for before, step in zip([None, *steps], steps, strict=False):
        pattern = re.escape(step["template"])
        names = re.findall(r"\{((?:before\.)?\w+)\}", step["template"])
        for name in names:
            word = r"([a-z ]+)" if name == "verdict" else r"([\d.]+) ?(ms|s|[kM]bit/s|)"
            pattern = pattern.replace(re.escape("{" + name + "}"), word)
        found = re.fullmatch(pattern, step["look"])
        assert found is not None, step["look"]
        shown = iter(found.groups())
        for name in names:
            if name == "verdict":
                assert next(shown)
                continue
            of = before if name.startswith("before.") else step
            assert of is not None
            value, unit = float(next(shown)), next(shown)
            real = fact(name.removeprefix("before."), run(of["scenario"]))
            assert value * UNITS[unit] == pytest.approx(real, rel=0.03 if unit == "" else 0.006, abs=1e-9), (
                step["title"],
                name,
            )
            seen += 1
    assert seen >= 14


def test_a_number_in_the_text_is_the_scenarios_own(steps: list[dict[str, Any]]):
    for step in steps:
        own = set(re.findall(r"\d+", bloatlab.parse(json.dumps(step["scenario"]), form="json").text))
        named = set(re.findall(r"\d+", step["text"] + re.sub(r"\{[^}]*\}", "", step["template"])))
        assert named <= own, step["title"]


def changed(scenario: dict[str, Any], **up: Any) -> dict[str, Any]:
    """The scenario with other values of its uplink; `rtt` is split between both links, as the page's slider does."""
    new = copy.deepcopy(scenario)
    for way in ("up", "down") if "rtt" in up else ():
        new["link"][way]["delay"] = f"{up['rtt'] / 2}ms"
    new["link"]["up"].update({k: v for k, v in up.items() if k != "rtt"})
    return new


def times_empty(result: Result) -> int:
    """Bins from second 10 on in which the uplink's queue was empty throughout."""
    series = result.table("queue_series").filter((pl.col("link") == "up") & (pl.col("t_s") >= 10))
    return series.filter(pl.col("queue_packets_mean") == 0).height


def test_what_the_first_steps_say_of_buffers_is_so(steps: list[dict[str, Any]]):
    idle, two, bloated, one = (run(step["scenario"]) for step in steps[:4])
    rate, rtt = 5e6, 20e-3
    assert longest(idle) < 1e-3
    assert abs(17 * PACKET_BITS - 2 * rate * rtt) < PACKET_BITS
    assert abs(8 * PACKET_BITS - rate * rtt) < PACKET_BITS
    assert upload(bloated) <= 1.01 * upload(two)
    assert mos(bloated) < mos(two) - 1
    assert upload(one) >= 0.99 * upload(two)
    assert longest(one) < longest(two) / 1.5


def test_one_size_of_buffer_fits_one_link(steps: list[dict[str, Any]]):
    small = steps[3]["scenario"]
    near, far = run(small), run(changed(small, rtt=100))
    assert upload(far) < 0.95 * upload(near)
    assert times_empty(near) == 0 < times_empty(far)
    assert longest(run(changed(small, rtt=100, rate="500kbit"))) > 5 * longest(run(small))


def test_what_the_step_of_codel_says_is_so(steps: list[dict[str, Any]]):
    codel = steps[4]["scenario"]
    peak = waits(run(codel)).sort("longest", descending=True, nulls_last=True).row(0, named=True)
    assert 5 <= peak["t_s"] <= 6
    assert peak["longest"] > 5 * settled(run(codel))[1]
    for rate, limit in (("10mbit", "400p"), ("10mbit", "800p")):
        other = run(changed(codel, rate=rate, queue={"codel": {"limit": limit}}))
        assert settled(other)[1] < 20e-3


def test_what_the_step_of_fq_codel_says_is_so(steps: list[dict[str, Any]]):
    fq = steps[5]["scenario"]
    assert len(fq["app"]) == 3
    assert fq["app"]["upload"]["traffic"]["ftp"]["flows"] == 4
    alone, shared, together = run(steps[0]["scenario"]), run(fq), run(changed(fq, queue="codel"))
    assert mos(shared) > mos(alone) - 0.05
    assert mos(together) < mos(shared) - 0.05
    assert fact("page", together) > fact("page", shared)
