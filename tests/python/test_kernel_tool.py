"""tools/kernel: its runner with a program instead of a kernel, and a whole run if BLOATLAB_KERNEL names a kernel."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bloatlab.validate import reference

TOOL = Path(__file__).resolve().parents[2] / "tools" / "kernel"
SCENARIO = {
    "rate_bps": 4_000_000,
    "rtt_ms": 20,
    "qdisc": "pfifo limit 20",
    "flows": [{"n": 2, "cc": "cubic"}],
    "duration_s": 12,
    "warmup_s": 4,
    "metrics": {"jain": {"value": 1.0, "tol": 1.0, "grade": "A"}},
}
#: A program that replaces the kernel and its guest: goodput is 3 + 0.1 * seed, and the scenario "bad" fails with a line
#: in its log.
KERNEL = """#!/usr/bin/env python3
import json, pathlib, re, shlex, sys
init = pathlib.Path(sys.argv[-1].removeprefix("init=")).read_text()
spec, out, _, log, *_ = shlex.split(re.search("python3 .*guest.py (.*)", init)[1])
spec = json.loads(pathlib.Path(spec).read_text())
assert "metrics" not in spec
if spec["name"] == "bad":
    pathlib.Path(log).write_text("no such discipline")
else:
    pathlib.Path(out).write_text(json.dumps({"goodput_Mbps": 3 + 0.1 * spec["seed"], "g0_ce_frac": None}))
"""


def _run(folder: Path, kernel: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        TOOL / "run.py",
        kernel,
        folder / "scenarios.json",
        "-o",
        folder / "measured.json",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_runs_become_a_reference_and_are_not_repeated(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel with a space"
    kernel.write_text(KERNEL)
    kernel.chmod(0o755)
    (tmp_path / "scenarios.json").write_text(json.dumps({"bad": SCENARIO, "good": SCENARIO}))
    done = _run(tmp_path, kernel, "--seeds", "3")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"bad, seed {seed}: failed: no such discipline" for seed in (1, 2, 3)]
    # mean 3.2, half the range 0.1: the tolerance is twice that, because 2 % of 3.2 is less
    (entry,) = reference.load(tmp_path / "measured.json")
    assert entry.name == "good"
    assert set(entry.metrics) == {"goodput_Mbps"}
    assert math.isclose(entry.metrics["goodput_Mbps"].value, 3.2)
    assert math.isclose(entry.metrics["goodput_Mbps"].tol, 0.2)
    kernel.write_text("#!/bin/sh\nexit 1\n")
    again = _run(tmp_path, kernel, "--seeds", "3", "--only", "good")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_changed_scenario_is_measured_again(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.write_text(KERNEL)
    kernel.chmod(0o755)
    for rate, runs in ((4_000_000, 1), (4_000_000, 0), (8_000_000, 1)):
        (tmp_path / "scenarios.json").write_text(json.dumps({"good": {**SCENARIO, "rate_bps": rate}}))
        done = _run(tmp_path, kernel, "--seeds", "1")
        assert (done.returncode, len(done.stdout.splitlines())) == (0, runs)
    # after a failure, no earlier measurement is left
    kernel.write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "scenarios.json").write_text(json.dumps({"good": SCENARIO}))
    assert _run(tmp_path, kernel, "--seeds", "1").returncode == 1
    assert _run(tmp_path, kernel, "--seeds", "1").returncode == 1


@pytest.mark.parametrize(("start_s", "stop_s"), [(0, 4), (0, 2), (12, 20), (15, 20)])
def test_a_stream_outside_the_measured_time_has_no_value(start_s: float, stop_s: float) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(TOOL)!r})
from types import SimpleNamespace as Of
from metrics import Recorder
recorder = object.__new__(Recorder)
recorder._window, recorder._spec, recorder._zero = (4.0, 12.0), {{}}, 0.0
recorder._goodput = recorder._senders = recorder._discipline = dict
stream = Of(udp={{"start_s": {start_s}, "stop_s": {stop_s}, "bps": 1e6}}, arrived=[])
print(recorder.metrics([], [stream], None))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{}\n", "")


@pytest.mark.skipif("BLOATLAB_KERNEL" not in os.environ, reason="BLOATLAB_KERNEL names no User-Mode Linux kernel")
def test_a_kernel_agrees_with_the_simulation(tmp_path: Path) -> None:
    (tmp_path / "scenarios.json").write_text(json.dumps({"two-cubics": SCENARIO}))
    done = _run(tmp_path, Path(os.environ["BLOATLAB_KERNEL"]), "--seeds", "2")
    assert done.returncode == 0, done.stderr
    entries = reference.load(tmp_path / "measured.json")
    goodput = entries[0].metrics["goodput_Mbps"].value
    # at most 1448 B of payload in each frame of 1514 B; a queue of three bandwidth-delay products never runs dry
    assert 0.97 * 4 * 1448 / 1514 < goodput <= 4 * 1448 / 1514 * 1.001
