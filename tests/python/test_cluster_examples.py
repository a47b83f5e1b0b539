"""The files of examples/cluster parse, and the flags in them exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install dask distributed")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["ssh.sh", "slurm.sh"])
def test_scripts_of_the_examples_parse_and_their_flags_exist(name: str):
    path = ROOT / "examples" / "cluster" / name
    subprocess.run(["/bin/bash", "-n", path], check=True)
    text = path.read_text().replace("\\\n", " ")
    for part in ("scheduler", "worker", "ssh"):
        for line in re.findall(rf"/dask\" {part} .*", text):
            helped = subprocess.run(
                [sys.executable, "-m", f"distributed.cli.dask_{part}", "--help"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            flags = set(re.findall(r"--[a-z-]+", line))
            assert flags
            assert {flag for flag in flags if flag not in helped} == set()


def test_the_cluster_of_kubernetes_parses():
    yaml = pytest.importorskip("yaml")
    found, policy = yaml.safe_load_all((ROOT / "examples" / "cluster" / "kubernetes.yaml").read_text())
    assert (found["kind"], policy["kind"]) == ("DaskCluster", "NetworkPolicy")
    ours = {"dask.org/cluster-name": found["metadata"]["name"]}
    assert policy["spec"]["podSelector"]["matchLabels"] == ours
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": ours}}]}]
    for part in ("worker", "scheduler"):
        (container,) = found["spec"][part]["spec"]["containers"]
        assert container["args"][:2] == ["dask", part]
