"""A user's own reference files: values of the wrong kind, and streams outside the measured time."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bloatlab.cli.main import call
from bloatlab.simulation import run
from bloatlab.validate import measure
from bloatlab.validate.build import build
from bloatlab.validate.queues import NotSupportedError
from bloatlab.validate.reference import Entry, NoReferenceError, read

UDP = {"start_s": 0, "stop_s": 8, "bps": 1e6, "payload": 1000}


def entry(**changes: Any) -> Entry:
    """Returns an entry with one flow of Reno for 6 s, of which the first 4 s are the warm-up."""
    given = {
        "qdisc": "pfifo limit 50", "rate_bps": 5_000_000, "rtt_ms": 20, "duration_s": 6, "warmup_s": 4,
        "flows": [{"n": 1, "cc": "reno"}], "metrics": {"goodput_Mbps": {"value": 4.7, "tol": 0.3, "grade": "A"}},
    }  # fmt: skip
    (found,) = read({"x": {**given, **changes}}, "x")
    return found


@pytest.mark.parametrize("stop_s", [3, 4])
def test_a_stream_that_stops_before_the_warm_up_ends_is_not_measured(stop_s: int):
    one = entry(udp=[{**UDP, "stop_s": stop_s}])
    found = measure(run(build(one, 1), trace=True), one)
    assert not {"udp0_rx_Mbps", "udp0_loss_frac"} & set(found)
    assert math.isfinite(found["goodput_Mbps"])


@pytest.mark.parametrize("tos", ["x", None, [], True, -1])
def test_a_tos_that_is_no_number_is_refused(tos: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(NoReferenceError, match=r"x: x\.udp\.tos: "):
        entry(udp=[{**UDP, "tos": tos}])
    path = tmp_path / "ref.json"
    flows = [{"n": 1, "cc": "reno"}]
    given = {"qdisc": "pfifo", "rate_bps": 5e6, "rtt_ms": 20, "duration_s": 6, "warmup_s": 4, "flows": flows}
    metrics = {"goodput_Mbps": {"value": 4.7, "tol": 0.3, "grade": "A"}}
    path.write_text(json.dumps({"x": {**given, "udp": [{**UDP, "tos": tos}], "metrics": metrics}}))
    assert call(["validate", str(path), "--seeds", "1", "-j", "1"]) == 2
    assert "x.udp.tos: " in capsys.readouterr().err


@pytest.mark.parametrize("value", [[], {}, "x", None])
def test_a_list_in_the_place_of_a_number_is_not_supported(value: object):
    flow = {"n": 1, "cc": "reno"}
    for key in ("ecn", "ect1", "dir"):
        with pytest.raises(NotSupportedError, match=f"a flow's {key} "):
            build(entry(flows=[{**flow, key: value}]), 1)
    with pytest.raises(NotSupportedError, match="tso "):
        build(entry(tso=value), 1)
