"""The study `csc458`: its scenarios and rules, its checks in short runs, and the file formats of the lab."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.simulation import Result, run
from bloatlab.studies import published
from bloatlab.studies.claims import Runs, check_all
from bloatlab.studies.csc458.build import (
    NIC,
    Case,
    Lab,
    build,
    cases,
    experiment_cases,
    kit,
    live_cases,
    network_card,
    plain,
    second_reading,
)
from bloatlab.studies.csc458.measure import climb_share, equation_2, known, measure
from bloatlab.studies.csc458.rules import BANDS, CLAIMS, PUBLISHED, in_second_reading
from bloatlab.studies.csc458.study import STUDY
from bloatlab.studies.scorecard import Origin, Verdict

SECONDS = 20


@pytest.fixture(scope="module")
def ran() -> dict[str, Result]:
    """Runs Reno with buffers of 20 and 100 packets, both with and without super-segments; seed 1."""
    wanted = [c for c in (*kit(), *plain()) if c.congestion == "reno" and c.limit != 5]
    return {str(c): run(build(c, 1, Lab(seconds=SECONDS))) for c in wanted}


def test_every_case_has_a_name_of_its_own_and_a_scenario():
    keys = [str(c) for c in cases()]
    assert len(set(keys)) == len(keys) == 25
    assert {build(c, 1).name for c in cases()} == {f"csc458 {key}" for key in keys}
    assert all(c.segments == 1 for c in live_cases())


def test_seeds_differ_by_starts_and_by_nothing_else():
    one, two = (build(Case("reno", 20), seed).data for seed in (1, 2))
    assert build(Case("reno", 20), 1) == build(Case("reno", 20), 1)
    for data in (one, two):
        del data["seed"]
    assert one != two
    for data in (one, two):
        for app in data["app"].values():
            del app["start"]
    assert one == two


def test_equation_2_by_hand():
    # a full buffer of 100 packets of 1500 bytes adds 100 x 1.2 ms at 10 Mbit/s to the round trip of 4 ms: 124 ms
    assert [Lab().eq2_ms(q) for q in (5, 20, 100)] == [10.0, 28.0, 124.0]
    assert Lab(bw_net=1.5, delay=5.0).eq2_ms(20) == pytest.approx(180.0)


@pytest.mark.parametrize(("key", "ms"), [("Q=20 reno", 28), ("Q=100 reno", 124)])
def test_packets_bound_the_round_trip_as_equation_2_says(ran: dict[str, Result], key: str, ms: float):
    # equation (2) leaves out up to 1.4 ms: the transmission of the ping's 98 bytes in both directions, and the
    # transmission of the rest of the packet that the link is sending when the ping arrives
    assert ms - 1.4 <= measure(ran[key])["rtt_max_ms"] <= ms + 1.4


@pytest.mark.parametrize(("key", "ms"), [("Q=20 reno x2", 52), ("Q=100 reno x2", 244)])
def test_super_segments_double_it(ran: dict[str, Result], key: str, ms: float):
    """Super-segments nearly double the longest round trip: most entries in the queue hold two segments, but some hold
    only one segment or a ping.
    """
    assert 0.94 * ms <= measure(ran[key])["rtt_max_ms"] <= ms + 1.4


def test_each_ping_follows_the_queue_that_it_met(ran: dict[str, Result]):
    found = equation_2(ran["Q=100 reno"], Lab())
    assert found["eq2_correlation"] > 0.99
    assert found["eq2_off_median_ms"] < Lab().packet_ms()
    # equation (2) does not hold if it is computed for another rate
    assert equation_2(ran["Q=100 reno"], Lab(bw_net=20.0))["eq2_off_median_ms"] > 20.0


def test_equation_1_is_what_a_full_network_card_shows():
    result = run(network_card(1))
    assert result.summary["links"][NIC]["sojourn_ms"]["max"] == pytest.approx(120.0, abs=0.12)


def as_published() -> dict[str, list[dict[str, float]]]:
    runs: dict[str, list[dict[str, float]]] = {}
    for want in PUBLISHED:
        (seed,) = runs.setdefault(want.run, [{}])
        seed[want.measure] = want.value
    return runs


def test_every_number_of_the_report_is_judged():
    numbers = {r.metric for r in published.rows("csc458") if r.note.startswith("result") and r.value[:1].isdigit()}
    assert numbers <= {want.metric for want in PUBLISHED}
    card = STUDY.scorecard(as_published())
    assert card.met
    # the 7 counted cells are those that the CSC458 report prints: six fetch times and the result of the first equation.
    # The three values of the second equation are our own
    counted = [c for c in card.cells if c.counted]
    assert [c.verdict for c in counted] == [Verdict.WITHIN] * 7
    assert {c.case for c in card.cells if c.origin is Origin.OURS} == {"Q=5", "Q=20", "Q=100"}
    assert (card.shares[0].within, card.shares[0].cells) == (7, 7)


def test_what_was_chosen_on_judged_cells_is_calibration_and_stands_beside_the_other_reading():
    card = STUDY.scorecard(as_published())
    fetches = [c for c in card.cells if "fetch" in c.metric]
    assert [c.verdict for c in fetches] == [Verdict.WITHIN, Verdict.CALIBRATION] * 6
    assert [c.case.endswith("dupthresh") for c in fetches] == [False, True] * 6
    # the study has two readings of the lab's kernel. In the first reading, as in all other cases, the sender detects
    # losses as its preset says. In the second reading, the sender relies on duplicate ACKs alone, as TCP did before
    # RACK
    stacks = {str(c): build(c, 1).data["tcp"]["lab"] for c in (*kit(), *second_reading())}
    assert "loss_detection" not in stacks["Q=20 reno x2"]
    assert stacks["Q=20 reno x2 dupthresh"]["loss_detection"] == "dupthresh"
    # every claim is checked twice: with the runs of the first reading, and with those of the second
    times = {"": (0.5, 0.6, 0.7), " dupthresh": (0.6, 0.5, 0.7)}
    runs: Runs = {
        f"Q={q} reno x2{more}": [{"fetch_mean_s": s}]
        for more, of in times.items()
        for q, s in zip((5, 20, 100), of, strict=True)
    }
    first, second = (
        {c.ident: c.holds for c in check_all(CLAIMS, reading)}["order"] for reading in (runs, in_second_reading(runs))
    )
    assert (first, second) == (False, True)


def test_an_experiment_is_asked_for_by_name():
    with_jitter = [build(c, 1).data["link"] for c in experiment_cases("jitter")]
    assert [link["up"]["jitter"] for link in with_jitter] == ["0s", "20us", "50us", "100us", "200us"]
    assert {link["nic"]["jitter"] for link in with_jitter} == {link["down"]["jitter"] for link in with_jitter} == {"0s"}
    with pytest.raises(KeyError):
        experiment_cases("nothing")


def test_a_value_that_no_case_can_have_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = ["reproduce", "csc458", "--quick", "-o", str(tmp_path), "--no-store", "--set", "link.nosuch=3"]
    assert call(given) == 2
    assert "link.nosuch: 3 is not valid; expected a table" in capsys.readouterr().err


def test_a_ranking_needs_its_margin():
    """If a claim says "lower", the smaller value must be lower by at least 5 % of the larger value; if it says
    "mostly", the statement must hold for at least 60 % of the time.
    """

    def held(ident: str, runs: Runs) -> bool | None:
        (found,) = check_all([c for c in CLAIMS if c.ident == ident], runs)
        return found.holds

    def flow(small: float, large: float) -> Runs:
        return {"Q=5 reno x2": [{"throughput_mbit": small}], "Q=20 reno x2": [{"throughput_mbit": large}]}

    assert held("throughput", flow(8.86, 8.91)) is False
    assert held("throughput", flow(8.46, 8.91)) is True  # 8.4645 is 95 % of 8.91
    assert held("throughput", flow(8.47, 8.91)) is False
    for share, mostly in ((0.53, False), (0.6, True)):
        assert held("climb", {"Q=100 reno x2": [{"queue_climb_share": share}]}) is mostly


def test_claims_say_whose_they_are():
    of = {c.ident: c.origin for c in CLAIMS}
    assert of["median20"] is of["p95_100"] is of["ratio"] is Origin.OTHERS
    assert of["rtt100"] is of["rtt20x2"] is of["today"] is Origin.OURS
    assert of["order"] is of["climb"] is of["bbr"] is Origin.PAPER


def test_a_queue_that_climbs_by_hand():
    # the sawtooth rises for 9 s and falls for 1 s, so it climbs for 90 % of the time, or slightly less because of
    # averaging around its turning points
    t = np.arange(0.0, 100.0, 0.1)
    saw = pl.DataFrame({"t_s": t, "packets": np.where(t % 10.0 < 9.0, t % 10.0, 9.0 * (10.0 - t % 10.0))})
    assert climb_share(saw) == pytest.approx(0.85, abs=0.06)
    falling = saw.with_columns(packets=pl.col("packets").reverse())
    assert climb_share(falling) == pytest.approx(0.15, abs=0.06)
    assert math.isnan(climb_share(saw.head(5)))


def test_what_the_kernel_keeps_to_itself_is_unknown_and_not_none():
    assert math.isnan(known(None))
    assert math.isnan(known(None) + known(3))
    assert known(0) == 0.0


@pytest.mark.parametrize(("where", "value"), [((100, 0), 1.05), ((100, 0), 2.25), ((20, 0), 0.9), ((5, 0), 2.1)])
def test_outside_a_band_is_outside(where: tuple[int, int], value: float):
    runs = as_published()
    runs[str(Case("reno", where[0], 2))][0]["fetch_mean_s"] = value
    outside = [c.case for c in STUDY.scorecard(runs).cells if c.verdict is Verdict.OUTSIDE]
    assert outside == [f"Q={where[0]}"]


def test_bands_hold_the_gates_of_other_runs():
    metric = "web fetch time mean"
    assert [(BANDS[q, metric].low, BANDS[q, metric].high) for q in (20, 100)] == [(0.5, 0.85), (1.1, 2.2)]


def test_a_claim_without_runs_is_not_run_and_one_that_fails_differs():
    none: Runs = {}
    assert {c.holds for c in check_all(CLAIMS, none)} == {None}
    runs = {str(Case("reno", q, 2)): [{"fetch_mean_s": s}] for q, s in ((5, 0.9), (20, 0.6), (100, 1.2))}
    holds = {c.ident: c.holds for c in check_all(CLAIMS, runs)}
    assert (holds["order"], holds["ratio"]) == (True, True)
    runs[str(Case("reno", 5, 2))] = [{"fetch_mean_s": 0.5}]
    runs[str(Case("reno", 100, 2))] = [{"fetch_mean_s": 1.1}]
    holds = {c.ident: c.holds for c in check_all(CLAIMS, runs)}
    assert (holds["order"], holds["ratio"]) == (False, False)


def test_the_lab_writes_what_its_own_programs_write(tmp_path: Path):
    folder = tmp_path / "bb-q20"
    flags = ["--bw-net", "10", "--delay", "1", "--maxq", "20", "--cong", "cubic", "--time", "12"]
    assert call(["lab", *flags, "--dir", str(folder), "-q"]) == 0
    queue = [line.split(",") for line in (folder / "q.txt").read_text().splitlines()]
    assert len(queue) == 120
    assert max(int(packets) for _, packets in queue) <= 20
    pings = (folder / "ping.txt").read_text().splitlines()[1:]
    # parses a line in the same way as plot_ping.py
    rtt = [float(line.split(" ")[-2].split("=")[1]) for line in pings if "bytes from" in line]
    assert 100 <= len(rtt) <= 120
    assert 4.0 < min(rtt) < max(rtt) < 29.5
    windows = [line.split(" ") for line in (folder / "cwnd.txt").read_text().splitlines()]
    assert {len(fields) for fields in windows} == {10}  # the number of fields that plot_tcpprobe.py reads
    assert {fields[2] for fields in windows} == {"10.0.0.2:5001"}
    assert min(int(fields[6]) for fields in windows) >= 1
    times = (folder / "download.txt").read_text().split()
    assert 2 <= len(times) <= 4
    assert all(re.fullmatch(r"\d\.\d{3}", t) for t in times)
    for name in ("q", "rtt", "cwnd-iperf", "download", "lab"):
        assert (folder / f"{name}.png").stat().st_size > 5000


def test_what_the_lab_and_the_study_refuse(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    for arguments, words in (
        (["lab"], "--dir"),
        (["lab", "--dir", str(tmp_path), "--maxq", "0"], "--maxq"),
        (["lab", "--dir", str(tmp_path), "--cong", "vegas"], "vegas"),
        (["lab", "--dir", "/proc/nowhere"], "cannot write"),
        (["lab", "--dir", str(tmp_path), "--queue", "codle"], "codle"),
        (["reproduce", "cablelabs2012", "--live"], "no live cases"),
        (["compare"], "nothing to compare"),
        (["compare", "missing.toml"], "no such file"),
    ):
        assert call(arguments) == 2
        assert words in capsys.readouterr().err


def test_a_quick_look_leaves_a_whole_folder_of_the_same_bytes_with_one_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    quick, serial = tmp_path / "quick", tmp_path / "serial"
    arguments = ["reproduce", "csc458", "--quick", "-e", "jitter", "-f", "json", "--no-store"]
    assert call([*arguments, "-o", str(quick)]) == 0
    printed = capsys.readouterr().out
    assert '"claims"' in printed
    assert (quick / "report.html").stat().st_size > 100_000
    assert len(list((quick / "figures").glob("*.svg"))) == 4
    assert call([*arguments, "-o", str(serial), "--jobs", "1"]) == 0
    assert capsys.readouterr().out == printed
    ours = {p.relative_to(quick) for p in quick.rglob("*") if p.is_file()}
    assert ours == {p.relative_to(serial) for p in serial.rglob("*") if p.is_file()}
    differ = {str(p) for p in ours if (quick / p).read_bytes() != (serial / p).read_bytes()}
    assert differ == {"provenance.json"}
