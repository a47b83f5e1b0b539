"""Live video with rate controllers: closed forms over real links, determinism, tables, traces, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab import ScenarioError
from bloatlab.cli.main import call
from bloatlab.judge import suite
from bloatlab.judge.runs import judged
from bloatlab.judge.subjects import subject
from bloatlab.results import open_result, save

ROOT = Path(__file__).resolve().parents[2]
VIDEO = ROOT / "examples" / "media" / "video.toml"

#: An encoder whose frames all have the same size.
FLAT = {"start_rate": "3mbit", "size_spread": "0", "key_size": "1"}

#: Share of payload in a packet of 1200 bytes.
PAYLOAD = 1160 / 1200


def run(control: str, **sets: str) -> bloatlab.Result:
    return bloatlab.run(VIDEO, sets={"app.video.traffic.media.control": control} | sets)


def series(result: bloatlab.Result, after: float) -> dict[str, float]:
    """Returns the mean of each column of the table `media`, from the rows after `after` seconds."""
    table = result.table("media").filter(pl.col("t_s") > after).fill_nan(None)
    return {name: float(table[name].mean() or 0.0) for name in table.columns if name != "app"}  # pyright: ignore[reportArgumentType]


def test_a_fixed_rate_above_the_line_fills_the_queue() -> None:
    """3 Mbit/s of payload is 12 500 B per frame. It is sent in 10 packets of 1200 B and one of 940 B, of which 40 B
    each are headers, so the rate on the wire is 3.106 Mbit/s.

    A line of 2 Mbit/s loses 35.6 % of this rate, and the packets that arrive have waited 300 ms in the full queue.
    """
    result = run("fixed", **{f"app.video.traffic.media.{key}": value for key, value in FLAT.items()})
    media = result.summary["apps"]["video"]["media"]
    assert media["rate_mbit"] == pytest.approx(2 * PAYLOAD, rel=0.02)
    assert media["lost_percent"] == pytest.approx(100 * (1 - 2 / 3.1056), rel=0.05)
    assert 280 < result.summary["links"]["up"]["sojourn_ms"]["p50"] <= 301


@pytest.mark.parametrize("control", ["gcc", "screamv2"])
def test_a_controller_uses_the_line_without_a_standing_queue(control: str) -> None:
    result = run(control, **{"app.video.traffic.media.key_size": "1"})
    seen = series(result, 30)
    # the received payload is at least 85 % of the line's capacity for payload, and at most this capacity
    assert 0.85 * 2 * PAYLOAD < seen["received_mbit"] < 2 * PAYLOAD * 1.001
    assert seen["sent_mbit"] == pytest.approx(seen["received_mbit"], rel=0.02)
    # the mean wait is below a tenth of the wait in a full queue, which is 300 ms
    assert result.summary["links"]["up"]["sojourn_ms"]["mean"] < 30


def test_gcc_takes_key_frames_for_overuse() -> None:
    """A key frame is a burst above the line's rate, so its packets arrive further apart than they were sent, which GCC
    takes for overuse.
    """
    sizes = {"app.video.traffic.media.key_size": "1"}
    rates = {cc: [series(run(cc, **sets), 30)["received_mbit"] for sets in (sizes, {})] for cc in ("gcc", "screamv2")}
    assert rates["gcc"][1] < 0.8 * rates["gcc"][0]
    assert rates["screamv2"][1] == pytest.approx(rates["screamv2"][0], rel=0.05)


def test_scream_keeps_the_delay_near_its_target() -> None:
    """SCReAM begins to reduce its window at half of the target, so the mean queueing delay is below the target and
    grows with it.
    """
    means = []
    for target in ("30ms", "60ms", "120ms"):
        control = f'{{ screamv2 = {{ qdelay_target = "{target}" }} }}'
        result = run(control, **{"app.video.datagram_ecn": "not_ect"})
        means.append(result.summary["links"]["up"]["sojourn_ms"]["mean"])
    assert means == sorted(means)
    assert all(mean < target for mean, target in zip(means, (30, 60, 120), strict=True)), means


def test_l4s_marks_keep_the_queue_short() -> None:
    dual = {"link.up.queue": "dualpi2"}
    l4s = run("screamv2", **dual)
    classic = run("screamv2", **dual | {"app.video.datagram_ecn": "ect0"})
    media = l4s.summary["apps"]["video"]["media"]
    assert media["marked_packets"] > 100
    assert media["lost_percent"] == 0
    means = [one.summary["links"]["up"]["sojourn_ms"]["mean"] for one in (l4s, classic)]
    assert means[0] < 2 < means[1], means


def test_the_table_of_the_page_is_current() -> None:
    queues = {
        "drop-tail, 300 ms": '{ droptail = { limit = "300ms" } }',
        "CoDel with ECN": "{ codel = { ecn = true } }",
        "DualPI2": "dualpi2",
    }
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in (ROOT / "docs" / "media.md").read_text().splitlines()
        if line.startswith(tuple(f"| {name} |" for name in queues))
    ]
    assert len(rows) == 12
    for row in rows:
        ecn = "ect1" if row[1] == "screamv2" else "not_ect"
        sets = {"link.up.queue": queues[row[0]], "app.video.datagram_ecn": ecn}
        result = run(row[1], **sets | {"app.video.traffic.media.key_size": row[2]})
        media = result.summary["apps"]["video"]["media"]
        numbers = [media["rate_mbit"], *(media[f"frame_delay_p{p}_ms"] for p in (50, 95, 99))]
        numbers += [result.summary["links"]["up"]["sojourn_ms"]["mean"], media["lost_percent"], media["freezes"]]
        shown = [f"{x:.{d}f}" for x, d in zip(numbers, (2, 0, 0, 0, 1, 2, 0), strict=True)]
        assert row[3:] == shown, row


def test_same_seed_same_bytes() -> None:
    first, second, other = (run("screamv2", seed=seed) for seed in ("5", "5", "6"))
    assert json.dumps(first.summary) == json.dumps(second.summary)
    assert first.table("media").equals(second.table("media"), null_equal=True)
    assert not first.table("media").equals(other.table("media"))


def test_the_controller_is_traced() -> None:
    traced = {"trace.flows": "true", "trace.interval": "1s"}
    scream = run("screamv2", **traced).trace("flows")
    assert {"target_mbit", "ref_wnd_bytes", "qdelay_ms", "l4s_alpha", "in_flight_bytes"} <= set(scream.columns)
    assert scream["direction"].unique().to_list() == ["forward"]
    gcc = run("gcc", **traced | {"app.video.traffic.media.direction": "down"}).trace("flows")
    assert set(gcc["state"].unique()) <= {"increase", "decrease", "hold"}
    assert gcc["direction"].unique().to_list() == ["reverse"]
    # tracing does not change a run
    assert run("gcc").summary["apps"] == run("gcc", **traced).summary["apps"]


def test_rfc_8867_tells_controllers_apart() -> None:
    """A flow that stays at 0.3 Mbit/s fails the rate requirements of case 5.1; SCReAM follows the available rate in 5.1
    and 5.3.
    """
    cases = suite("rfc8867")
    assert [case.section for case in cases.cases] == [f"5.{n}" for n in range(1, 9)]
    verdicts = {
        (cc, section): judged(cases.only(section), cc)[0].tried[0].word
        for cc, section in (("fixed", "5.1"), ("screamv2", "5.1"), ("screamv2", "5.3"))
    }
    assert verdicts == {("fixed", "5.1"): "not met", ("screamv2", "5.1"): "met", ("screamv2", "5.3"): "met"}


def test_a_star_in_the_place_of_a_subject_is_every_key_that_has_the_rest() -> None:
    case = suite("rfc8867").only("5.6").cases[0]
    tree = subject("screamv2", "app.*.traffic.media.control").placed(case.scenario(), "app.*.traffic.media.control")
    assert tree["app"]["video"]["traffic"]["media"]["control"] == "screamv2"
    assert tree["app"]["tcp"]["traffic"] == {"ftp": {}}


@pytest.mark.parametrize("control", ["gcc", "screamv2"])
def test_a_result_is_saved_opened_and_drawn(control: str, tmp_path: Path) -> None:
    result = run(control, duration="40s")
    opened = open_result(save(result, tmp_path / "result"))
    assert opened.table("media").equals(result.table("media"), null_equal=True)
    names = [axes.get_ylabel() for axes in opened.plot("series").axes]
    assert names[-2:] == ["target (Mbit/s)", "frame delay (ms)"]


def test_live_runs_refuse_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["live", str(VIDEO)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("app.video.traffic.media: runs only in simulation")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("control", "gcd", 'unknown keyword "gcd"; did you mean "gcc"?'),
        ("control", "{ gcc = { betta = 1 } }", 'unknown key "betta"; did you mean "beta"?'),
        ("control", "{ gcc = { beta = 2 } }", "control.gcc.beta: 2 is not valid; expected 0.1 to 0.99"),
        ("control", '{ screamv2 = { qdelay_target = "0s" } }', "qdelay_target: 0s is not valid; expected more than 0s"),
        ("min_rate", "1gbit", "start_rate: 300kbit is below min_rate, 1gbit"),
        ("frame_rate", "0", "frame_rate: 0 is not valid; expected 1 to 240"),
        ("pauses", '[{ from = "2s", to = "1s" }]', "pauses.0.to: 1s is not after the beginning of the pause, 2s"),
    ],
)
def test_refusals_are_one_line(key: str, value: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        bloatlab.run(VIDEO, sets={f"app.video.traffic.media.{key}": value})
    assert message in str(error.value)
    assert "\n" not in str(error.value)
