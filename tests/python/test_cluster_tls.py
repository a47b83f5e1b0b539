"""A Dask scheduler and worker that accept only TLS: a sweep runs with a certificate and is refused without one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install dask distributed")

from bloatlab.sweep import cluster

ROOT = Path(__file__).resolve().parents[2]
OPENSSL = shutil.which("openssl")


def openssl(folder: Path, *words: str) -> None:
    subprocess.run([str(OPENSSL), *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with ca.pem, me.pem and me.key, using the commands in docs/cluster.md."""
    if OPENSSL is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    text = (ROOT / "docs" / "cluster.md").read_text()
    lines = [line.split()[1:] for line in text.splitlines() if line.strip().startswith("openssl ")]
    assert len(lines) == 3
    for words in lines:
        openssl(folder, *words)
    return folder


@dataclass(frozen=True)
class Tls:
    """The address of the scheduler, and an environment that names the certificates for a command."""

    address: str
    environment: dict[str, str]


@pytest.fixture
def tls(certificates: Path) -> Iterator[Tls]:
    """Starts a scheduler and a worker in processes of their own, both with the certificate me.pem."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    files = {"ca-file": "ca.pem", "cert": "me.pem", "key": "me.key"}
    shown = [word for name, file in files.items() for word in (f"--tls-{name}", str(certificates / file))]
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    environment = os.environ | {
        f"{prefix}CA_FILE": str(certificates / "ca.pem"),
        f"{prefix}CLIENT__CERT": str(certificates / "me.pem"),
        f"{prefix}CLIENT__KEY": str(certificates / "me.key"),
    }
    address = f"tls://127.0.0.1:{port}"
    of = [sys.executable, "-m"]
    more = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60", "--host", "127.0.0.1"]
    listens = ["--protocol", "tls", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    both = (["distributed.cli.dask_scheduler", *listens], ["distributed.cli.dask_worker", address, *more])
    started = [
        subprocess.Popen([*of, *words, *shown], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for words in both
    ]
    yield Tls(address, environment)
    for process in started:
        process.kill()
        process.wait()


def sweep(grid: Path, address: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bloatlab", "sweep", str(grid), "--no-store", "-f", "csv", "--dask", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def test_a_sweep_goes_through_tls_and_none_without_a_certificate(scenario_file: Path, tls: Tls):
    grid = scenario_file.with_name("grid.toml")
    grid.write_text(
        'scenario = "dumbbell.toml"\nseeds = 2\n[set]\nduration = "1s"\n[axes]\n"link.up.rate" = ["1mbit", "2mbit"]\n'
    )
    done = sweep(grid, tls.address, tls.environment)
    assert done.returncode == 0, done.stderr
    assert "no TLS" not in done.stderr
    command = [sys.executable, "-m", "bloatlab", "sweep", str(grid), "--no-store", "-f", "csv"]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == alone.stdout
    stranger = sweep(grid, tls.address, dict(os.environ))
    assert (stranger.returncode, stranger.stdout, stranger.stderr.count("\n")) == (2, "", 1), stranger.stderr
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in stranger.stderr


@pytest.mark.parametrize(
    ("address", "open_door"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://127.4.5.6:8786", False),
        ("tcp://[::1]:8786", False),
        ("tcp://localhost:8786", False),
        ("tls://10.0.0.1:8786", False),
        ("wss://10.0.0.1:8786", False),
        ("inproc://10.0.0.1/12/1", False),
        ("tcp://10.0.0.1:8786", True),
        ("tcp://[fe80::1]:8786", True),
        ("tcp://0.0.0.0:8786", True),
        ("tcp://localhost.example.org:8786", True),
        ("ws://cluster:8786", True),
    ],
)
def test_an_open_scheduler_is_told(address: str, open_door: bool):
    told = cluster.exposed(address)
    assert (told is not None) == open_door
    assert told is None or told.startswith(f"--dask {address}: no TLS: ")
