"""Tests that flent's own plotter opens our files, and that we read the same values from flent's files as flent prints.

flent is not a dependency: when it is first needed, pip installs its wheel under target/, and checks it against the
hashes in requirements/flent.txt. The wheel contains sample data measured by others. flent is GPL, so none of it is in
this repository.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bloatlab
from bloatlab import flent
from bloatlab.cli.main import call
from bloatlab.flent import FlentError
from bloatlab.plots import plot

ROOT = Path(__file__).resolve().parents[2]

HOME: dict[str, Any] = {
    "name": "home",
    "duration": "20s",
    "link": {"up": {"from": "home", "to": "net", "rate": "4mbit", "delay": "15ms", "both_ways": True}},
    "app": {
        "upload": {"from": "home", "to": ["net"], "start": "3s", "traffic": {"ftp": {"flows": 3}}},
        "echo": {"from": "home", "to": ["net"], "traffic": {"ping": {"interval": "200ms"}}},
    },
}


@functools.cache
def _installed() -> Path | str:
    """Installs flent if necessary; returns its folder, or the reason why it cannot be installed."""
    place = ROOT / "target" / "flent-2.3.0"
    if not (place / "flent" / "resultset.py").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        where = ["--target", str(place), "-r", str(ROOT / "requirements" / "flent.txt")]
        done = subprocess.run([*command, *where], capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            return f"flent cannot be installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return place


#: A program that imports flent and its plotter once, which takes most of the time of a command. Then it reads a command
#: per line, runs it in a fork of its own, with its output in files, and prints the exit code.
RUNS = """
import json, os, sys
import matplotlib.pyplot
from flent import batch, formatters, plotters, run_flent
for line in sys.stdin:
    out, err, *sys.argv = json.loads(line)
    if (child := os.fork()) == 0:
        for number, name in ((1, out), (2, err)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.exit(run_flent())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Theirs:
    """flent in a process of its own."""

    def __init__(self, place: Path, folder: Path) -> None:
        self.data = place / "unittests" / "test_data"
        self._said = [folder / "out", folder / "err"]
        env = {**os.environ, "PYTHONPATH": str(place), "MPLBACKEND": "agg", "HOME": "/nonexistent"}
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([sys.executable, "-c", RUNS], env=env, text=True, **pipes)

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs a command of flent to its end."""
        words = ["flent", *map(str, arguments)]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*map(str, self._said), *words]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(said.read_text() for said in self._said))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    """Returns flent; if it cannot be installed, the test is skipped with the reason."""
    place = _installed()
    if isinstance(place, str):
        pytest.skip(place)
    started = Theirs(place, tmp_path_factory.mktemp("flent"))
    yield started
    started.close()


def statistics(theirs: Theirs, file: Path, plotted: str) -> dict[str, float]:
    """Returns the mean of each series of a plot, as printed by flent's formatter `stats`."""
    done = theirs.run("-i", file, "-p", plotted, "-f", "stats", "-o", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = {}
    series = ""
    for line in done.stdout.splitlines():
        head, mean = re.match(r" (\S.*):$", line), re.match(r"  Mean: +([\d.]+)", line)
        series = head[1] if head else series
        if mean:
            found[series] = float(mean[1])
    return found


@pytest.fixture(scope="module")
def result() -> Any:
    return bloatlab.run(HOME, sets={"link.up.queue": {"droptail": {"limit": "60p"}}})


def test_flents_own_plotter_draws_what_is_written(theirs: Theirs, result: Any, tmp_path: Path):
    file = flent.write(result, tmp_path / "home.flent.gz")
    for plotted in ("ping_cdf", "totals", "upload", "ping"):
        png = tmp_path / f"{plotted}.png"
        done = theirs.run("-i", file, "-p", plotted, "-o", png)
        assert done.returncode == 0, done.stderr
        assert "ERROR" not in done.stderr
        assert png.read_bytes()[:4] == b"\x89PNG"
    told = statistics(theirs, file, "totals")
    upload = result.summary["apps"]["upload"]["goodput_bytes"] * 8e-6 / 20.0
    assert told["TCP upload sum"] == pytest.approx(upload, rel=1e-3)
    pings = result.table("pings")["rtt_ms"].drop_nans()
    assert told["Ping (ms) ICMP"] == pytest.approx(pings.mean(), rel=1e-3)


@pytest.mark.parametrize("direction", ["down", "both"])
def test_downloads_and_both_ways_have_tests_of_their_own(theirs: Theirs, direction: str, tmp_path: Path):
    down = {"from": "home", "to": ["net"], "traffic": {"ftp": {"direction": "down"}}}
    apps = {"down": down, "echo": HOME["app"]["echo"]} | ({"up": HOME["app"]["upload"]} if direction == "both" else {})
    file = flent.write(bloatlab.run({**HOME, "app": apps, "duration": "8s"}), tmp_path / "x.flent.gz")
    name = json.loads(gzip.decompress(file.read_bytes()))["metadata"]["NAME"]
    assert name == ("rrul_be_nflows" if direction == "both" else "tcp_ndown")
    for plotted in ("ping_cdf", "totals"):
        done = theirs.run("-i", file, "-p", plotted, "-o", tmp_path / "x.png")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "plots"),
    [
        ("rrul", ("all_scaled", "box_totals", "ping_cdf")),
        ("rrul_be", ("all_scaled", "totals")),
        ("rrul_cs8", ("all_scaled",)),
        ("rrul_noclassification", ("all_scaled",)),
        ("rrul_torrent", ("all_scaled", "totals")),
        ("tcp_1up", ("totals",)),
        ("tcp_4down", ("totals",)),
        ("rtt_fair", ("all_scaled",)),
        ("tcp_4up_squarewave", ("totals",)),
        ("bursts", ("ping",)),
        ("rrul_be_nflows", ("all_scaled", "ping")),
    ],
)
def test_flents_own_tests_by_name_open_under_it(theirs: Theirs, name: str, plots: tuple[str, ...], tmp_path: Path):
    file = flent.write(bloatlab.run(name, sets={"length": "8s"}), tmp_path / "x.flent.gz")
    meta = json.loads(gzip.decompress(file.read_bytes()))["metadata"]
    assert (meta["NAME"], meta["LENGTH"]) == (name, 8)
    for plotted in plots:
        done = theirs.run("-i", file, "-p", plotted, "-o", tmp_path / "x.png")
        assert done.returncode == 0, done.stderr
        assert "ERROR" not in done.stderr, done.stderr
        assert "no data" not in done.stderr.lower(), done.stderr


def test_what_others_measured_is_read_with_the_means_of_their_tools(theirs: Theirs):
    """flent's samples of versions 2, 3 and 4 contain the means that netperf and ping computed (MEAN_VALUE); our means
    agree with them.
    """
    for name in ("rrul-icmp", "rrul", "rrul_be-socket_stats"):
        file = theirs.data / f"test-{name}.flent.gz"
        meta = json.loads(gzip.decompress(file.read_bytes()))["metadata"]
        measures = flent.read(file).measures()
        for way in ("upload", "download"):
            told = meta["SERIES_META"][f"TCP {way} sum"]["MEAN_VALUE"]
            assert measures[f"{way} (Mbit/s)"] == pytest.approx(told, rel=0.05), name
        pings = flent.read(file).tables["pings"]
        assert abs(float(pings["t_s"].min())) < 2.0  # type: ignore[arg-type]
        assert float(pings["t_s"].max()) < float(meta["TOTAL_LENGTH"]) + 2.0  # type: ignore[arg-type]
    # in this file all pings are ICMP, so they are compared with the statistics of the program ping
    icmp = theirs.data / "test-rrul-icmp.flent.gz"
    told = json.loads(gzip.decompress(icmp.read_bytes()))["metadata"]["SERIES_META"]["Ping (ms) ICMP"]
    rtts = flent.read(icmp).tables["pings"]["rtt_ms"]
    assert rtts.mean() == pytest.approx(told["MEAN_VALUE"], rel=0.01)
    assert rtts.max() == pytest.approx(told["MAX_VALUE"], rel=0.01)


def test_a_line_measured_at_home_lies_beside_a_simulation(theirs: Theirs, result: Any, tmp_path: Path, capsys: Any):
    home = theirs.data / "test-tcp_nup.flent.gz"
    folder = bloatlab.save(result, tmp_path / "simulated")
    figure = plot(home, folder, kind="cdf")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["test-tcp_nup", "simulated"]
    assert figure.axes[0].get_xlabel() == "ping: round-trip time (ms)"
    rtts = np.asarray(figure.axes[0].lines[1].get_xdata(), dtype=float)
    assert rtts.max() == pytest.approx(result.table("pings")["rtt_ms"].drop_nans().max(), rel=1e-6)
    for kind in ("overview", "series", "box", "ellipse", "flows"):
        plot(home, folder, kind=kind)
    assert call(["diff", str(home), str(folder)]) == 0
    table = capsys.readouterr().out
    assert "upload (Mbit/s)" in table
    assert "ping 99 % (ms)" in table


def test_written_and_read_again(result: Any, tmp_path: Path, capsys: Any):
    one, two = (flent.write(result, tmp_path / f"{n}.flent.gz") for n in "ab")
    assert one.read_bytes() == two.read_bytes()
    found = flent.read(one)
    assert found.name == "a"
    series = result.table("flow_series").filter(pl.col("app") == "upload")
    assert found.tables["flow_series"]["goodput_bytes"].sum() == pytest.approx(series["goodput_bytes"].sum())
    assert found.tables["flow_series"]["flow"].n_unique() == 3
    before = result.table("pings").filter(pl.col("rtt_ms").is_not_nan())
    assert found.tables["pings"]["rtt_ms"].to_list() == before["rtt_ms"].to_list()
    assert np.allclose(found.tables["pings"]["t_s"].to_numpy(), before["t_s"].to_numpy())
    assert bloatlab.diff(one, two).equal
    assert call(["diff", str(bloatlab.save(result, tmp_path / "r")), str(one)]) == 0
    assert "a flent file has no scenario and no other measures" in capsys.readouterr().out


def test_pings_of_every_kind_are_read_at_the_times_at_which_they_were_sent():
    result = bloatlab.run("rrul_noclassification", sets={"length": "2s"})
    sent = result.table("pings").filter(pl.col("rtt_ms").is_not_nan())
    assert sent["app"].n_unique() > 2  # ICMP and UDP
    found = flent.of_result(result, "x").tables["pings"]
    assert np.allclose(found["t_s"].to_numpy(), np.sort(sent["t_s"].to_numpy()))


@pytest.mark.parametrize(("app", "duration"), [("backup", "12s"), ("upload", "3s")])
def test_a_scenario_with_the_name_of_a_test_is_not_that_test(app: str, duration: str):
    # the load of the test tcp_nup comes from `upload` and begins after 5 s
    link = {"from": "home", "to": "net", "rate": "5mbit", "delay": "10ms", "both_ways": True}
    ends = {"from": "home", "to": ["net"]}
    apps = {app: {**ends, "traffic": {"ftp": {"flows": 2}}}, "ping": {**ends, "traffic": {"ping": {}}}}
    given = {"name": "tcp_nup", "duration": duration, "link": {"up": link}, "app": apps}
    data = flent.document(bloatlab.run(given))
    assert data["metadata"]["NAME"] == "tcp_nup"  # the test for uploads
    assert data["metadata"]["LENGTH"] == float(duration.removesuffix("s"))
    assert {"TCP upload::1", "TCP upload::2", "Ping (ms) ICMP"} <= data["results"].keys()
    assert not any("extra" in series for series in data["results"])


@pytest.mark.parametrize("interval", ["30ms", "250ms", "500ms", "700ms"])
def test_rates_are_means_for_every_interval_of_the_series(interval: str):
    """Compares with the default interval, which is finer. No rate is above the link's 4 Mbit/s."""
    coarse, fine = (bloatlab.run(HOME, sets=sets) for sets in ({"record.interval": interval}, {}))
    found, wanted = (
        np.sum([flent.document(of)["results"][f"TCP upload::{n}"] for n in (1, 2, 3)], axis=0) for of in (coarse, fine)
    )
    sent = fine.table("flows").filter(pl.col("app") == "upload")["goodput_bytes"].sum()
    assert found.sum() * 0.2 / 8e-6 == pytest.approx(sent, abs=0.1)
    assert wanted.sum() * 0.2 / 8e-6 == pytest.approx(sent, abs=0.1)
    assert found.max() <= 4.0
    if interval == "30ms":  # a packet of each flow may be in another sample
        assert np.abs(found - wanted).max() < 3 * 1448 * 8e-6 / 0.2


def written(path: Path, **changes: Any) -> Path:
    """Writes a file with given values: 4 s of one upload with rates as netperf reports them, and two pings."""
    data: dict[str, Any] = {
        "version": 4,
        "metadata": {"NAME": "tcp_nup", "T0": "2020-01-01T12:00:00.000000Z", "STEP_SIZE": 1.0, "TOTAL_LENGTH": 4},
        "x_values": [0.0, 1.0, 2.0, 3.0],
        "results": {"TCP upload::1": [None, 8.0, 8.0, None], "Ping (ms) ICMP": [20.0, None, 40.0, None]},
        "raw_values": {
            "TCP upload::1": [
                {"t": 1577880002.0, "dur": 1.0, "val": 8.0},
                {"t": 1577880003.5, "dur": 1.5, "val": 16.0},
            ],
            "Ping (ms) ICMP": [{"t": 1577880000.02, "val": 20.0}, {"t": 1577880002.04, "val": 40.0}],
        },
    }
    path.write_bytes(gzip.compress(json.dumps(data | changes).encode()))
    return path


@pytest.mark.parametrize("duration", ["3.05s", "4s", "4.15s"])
def test_the_rate_of_a_test_that_ends_within_a_bin(duration: str):
    """The last bin of 0.2 s is cut off at the end of the test. Otherwise, the rate of a test of 4.15 s would be
    computed over 4.2 s.
    """
    home = HOME | {"duration": duration, "app": {"upload": {"from": "home", "to": ["net"], "traffic": "ftp"}}}
    result = bloatlab.run(home)
    found = flent.of_result(result, "home")
    assert found.summary["duration_s"] == result.summary["duration_s"]
    ours = float(result.table("flow_series").filter(direction="forward")["goodput_bytes"].sum())
    assert found.measures()["upload (Mbit/s)"] == pytest.approx(ours * 8e-6 / found.summary["duration_s"], rel=1e-4)


def test_rates_cover_the_time_since_the_last_report(tmp_path: Path):
    found = flent.read(written(tmp_path / "x.flent.gz"))
    # the first report, 8 Mbit/s over 1 s, is 1 MB. The second report, 16 Mbit/s over 1.5 s, is 3 MB: 2 MB for the first
    # second of this period, and 1 MB for the remaining half second
    assert found.tables["flow_series"]["goodput_bytes"].to_list() == pytest.approx([0.0, 1e6, 2e6, 1e6], abs=1.0)
    assert found.tables["pings"]["t_s"].to_list() == pytest.approx([0.0, 2.0], abs=1e-6)
    # the load lasts from 1 s to 4 s, during which 4 MB and one ping arrive
    assert found.measures()["upload (Mbit/s)"] == pytest.approx(32.0 / 3.0)
    assert found.measures()["ping max (ms)"] == found.measures()["ping min (ms)"] == 40.0


def test_older_files(tmp_path: Path):
    data = {"UDP": [{"t": 1577880001.0, "dur": 0.2, "val": 50.0}]}
    raw = {"Ping (ms) UDP BE": data["UDP"]}
    results = {"Ping (ms) UDP BE": [None, 50.0, None, None]}
    found = flent.read(written(tmp_path / "x.flent.gz", version=3, raw_values=raw, results=results))
    assert found.tables["pings"]["rtt_ms"].to_list() == [20.0]  # at 50 transactions per second, each takes 20 ms
    local = {"NAME": "ping", "T0": "2020-01-01T14:00:00", "STEP_SIZE": 1.0}  # a local time, two hours ahead of UTC
    pings = {"Ping (ms) ICMP": [{"t": 1577880000.5, "val": 500.0}]}
    found = flent.read(written(tmp_path / "y.flent.gz", metadata=local, raw_values=pings))
    assert found.tables["pings"]["t_s"].to_list() == pytest.approx([0.0])


def test_what_is_no_data_file_is_refused_in_a_line(tmp_path: Path, result: Any, capsys: Any):
    junk, text, empty = (tmp_path / f"{n}.flent.gz" for n in ("junk", "text", "empty"))
    junk.write_bytes(b"\x1f\x8b\x08\x00 not gzip")
    text.write_bytes(gzip.compress(b"[1, 2"))
    empty.write_bytes(gzip.compress(b"{}"))
    cases = {
        junk: "not a flent data file",
        text: "not a flent data file",
        empty: "not in flent's format",
        written(tmp_path / "new.flent.gz", version=9): "version 9",
        written(tmp_path / "nothing.flent.gz", results={}, raw_values={}): "neither ping nor TCP measurements",
    }
    for path, words in cases.items():
        with pytest.raises(FlentError, match=words) as refused:
            flent.read(path)
        assert str(refused.value).startswith(str(path.parent))
        assert "\n" not in str(refused.value)
        assert call(["plot", str(path)]) == 2
        assert call(["diff", str(path), str(path)]) == 2
    call_only = {**HOME, "app": {"call": {"from": "home", "to": ["net"], "traffic": {"voip": {}}}}, "duration": "1s"}
    with pytest.raises(FlentError, match="pings and TCP flows"):
        flent.write(bloatlab.run(call_only), tmp_path / "x.flent.gz")
    upload = {"upload": HOME["app"]["upload"]}
    for app, record in (
        (upload, {"apps": []}),
        ({"upload": upload["upload"] | {"traffic": {"ftp": {"flows": 33}}}}, {}),
    ):
        of = bloatlab.save(bloatlab.run({**HOME, "app": app, "record": record, "duration": "4s"}), tmp_path / "of")
        assert call(["export", str(of), "-o", str(tmp_path / "x.flent.gz")]) == 2
        words = "no series of the flows of upload (record.apps leaves them out, or they have more than 32 flows)"
        assert (
            capsys.readouterr()
            .err.strip()
            .endswith(f"{of}: flent shows pings and TCP flows; the result has no pings, and {words}")
        )
    folder = bloatlab.save(result, tmp_path / "r")
    assert call(["export", str(folder), "-o", str(tmp_path / "x.csv")]) == 2
    assert call(["export", str(folder), "-o", str(tmp_path / "ok.flent.gz")]) == 0
