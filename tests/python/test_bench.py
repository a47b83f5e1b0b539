"""Checks the lines that tools/bench.py prints for runs of other simulators."""

import importlib.util
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "tools" / "bench.py"
spec = importlib.util.spec_from_file_location("bench", SOURCE)
assert spec is not None
assert spec.loader is not None
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def test_a_peers_ratio_is_to_our_own_line_of_the_same_case():
    row = {"peer": "ns2-sack", "scenario": "S3", "n": 100, "cpu_ns_per_pkt": 1500.0, "bneck_drops": 7}
    ours = {("S3", 100): 150.0, ("S3", 10): 100.0}
    assert bench.show_peer(row, ours).split() == ["ns2-sack", "S3", "100", "1500", "10.0", "7"]
    assert bench.show_peer(row, {}).split()[-2] == "-"


def test_a_peer_that_needs_too_long_is_not_run():
    row = {"peer": "ns3-reno-as-packaged", "scenario": "S3", "n": 1000, "failed": "status -24"}
    assert "not run: more than 120 s" in bench.show_peer(row, {})
    assert "status -24" in bench.show_peer(row, {})
