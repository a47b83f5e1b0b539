"""SEARCH, LEDBAT++ and Rapid Start on a simulated link, compared with their drafts and with closed forms."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import bloatlab
from bloatlab.scenario import from_dict

RTT_S, MBIT, PACKET = 0.04, 50.0, 1500
#: The bandwidth-delay product in packets.
BDP = MBIT * 1e6 * RTT_S / 8 / PACKET


def line(
    apps: dict[str, Any], tcp: dict[str, Any], *, rate: float, buffer: int, seconds: float, **more: Any
) -> dict[str, Any]:
    """Returns the summary and the result of a run through one drop-tail buffer."""
    neck = {"from": "r", "to": "home", "rate": f"{rate:g}mbit", "queue": {"droptail": {"limit": f"{buffer}p"}}}
    back = {"from": "home", "to": "s", "delay": f"{1e3 * RTT_S:g}ms"}
    data: Any = {
        "name": "line",
        "duration": f"{seconds:g}s",
        "link": {"neck": neck, "in": {"from": "s", "to": "r"}, "acks": back},
        "tcp": tcp,
        "app": {name: {"from": "s", "to": ["home"], "traffic": {"ftp": {}}} | app for name, app in apps.items()},
    }
    result = bloatlab.run(from_dict(data | more))
    return {"summary": result.summary, "result": result}


def start_of(hystart: str, buffer: float, **stack: Any) -> dict[str, Any]:
    """Runs the start of one upload through a buffer of `buffer` bandwidth-delay products."""
    tcp = {"one": {"preset": "linux-6", "hystart": hystart} | stack}
    more = {"trace": {"flows": True, "interval": "1ms"}}
    return line({"up": {"tcp": "one"}}, tcp, rate=MBIT, buffer=int(buffer * BDP), seconds=2.0, **more)


def drops(run: dict[str, Any]) -> int:
    """Returns the number of packets dropped at the bottleneck."""
    return int(run["summary"]["links"]["neck"]["dropped_packets"])


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_search_ends_slow_start_when_the_closed_form_says(control: str):
    # according to the closed form in SEARCH's module, slow start ends 5.30 round trips after the link is full, or up to
    # one bin (0.35 round trips) later
    run = start_of("search", 8.0, congestion_control=control, ack_every=1)
    flow = run["result"].trace("flows").filter(pl.col("direction") == "forward")
    cwnd = flow["cwnd_bytes"].to_numpy() / 1448
    full = float(flow["t_s"].to_numpy()[cwnd >= BDP][0])
    ended = flow.filter(pl.col("ssthresh_bytes") < 1e9)
    x = (float(ended["t_s"][0]) - full) / RTT_S
    assert 5.2 < x < 5.31 + 0.36 + 0.1
    assert ended["norm_diff"][0] >= 0.35
    # the window falls by the data delivered in five bins, which are 1.75 round trips
    assert cwnd.max() - ended["cwnd_bytes"][0] / 1448 == pytest.approx(1.75 * BDP, rel=0.05)
    assert drops(run) == 0


def test_search_comes_before_the_loss_only_in_a_buffer_above_two_bandwidth_delay_products():
    # a buffer of b bandwidth-delay products overflows b round trips after the link is full, and the sender notices the
    # loss 1 + b round trips later. The sum, 1 + 2 b, is less than SEARCH's 5.3 round trips if b is below 2.15
    assert drops(start_of("search", 2.0)) == drops(start_of("off", 2.0)) > 0
    assert drops(start_of("search", 3.0)) < 0.6 * drops(start_of("off", 3.0))
    assert drops(start_of("search", 6.0)) == 0 < drops(start_of("off", 6.0))


def shares(
    preset: str, second: float, *, beside: str | None = None, seconds: float = 300.0
) -> tuple[list[float], float]:
    """Returns the goodputs of two uploads that begin at different times, in Mbit/s, and the mean wait in ms."""
    names = [beside or preset, preset]
    apps = {f"up{n}": {"tcp": name, "start": f"{second * n:g}s"} for n, name in enumerate(names)}
    stacks = {name: {"preset": name} for name in names}
    more = {"record": {"warm_up": f"{seconds / 3:g}s"}}
    summary = line(apps, stacks, rate=20.0, buffer=1000, seconds=seconds, **more)["summary"]
    return [summary["apps"][name]["goodput_mbit"] for name in apps], summary["links"]["neck"]["sojourn_ms"]["mean"]


def test_ledbat_pp_shares_with_a_late_comer_that_takes_the_link_from_ledbat():
    # in LEDBAT, the second flow mistakes the queueing delay that the first flow causes for part of the base delay (RFC
    # 6817 §4.2). In LEDBAT++, slowdowns empty the queue, so the second flow measures the delay of the path alone
    (first, second), wait = shares("ledbat", 30.0)
    assert second > 2.0 * first
    assert wait > 100.0
    (first, second), wait = shares("ledbat++", 30.0)
    assert 0.5 < second / first < 2.0
    assert wait < 60.0 * 1.1


def test_ledbat_pp_keeps_its_target_and_yields_to_cubic():
    (cubic, background), _ = shares("ledbat++", 1.0, beside="linux-6", seconds=60.0)
    assert background < 0.05 * cubic
    one = line({"up": {"tcp": "ledbat++"}}, {"ledbat++": {"preset": "ledbat++"}}, rate=20.0, buffer=1000, seconds=120.0)
    neck = one["summary"]["links"]["neck"]
    # the queue stays near the target of 60 ms, and the slowdowns of LEDBAT++ leave at most a tenth of the link unused
    assert 45.0 < neck["sojourn_ms"]["mean"] < 66.0
    assert neck["utilisation"] > 0.9


def test_bad_parameters_have_one_line():
    for key, value, line_ in (
        ("hystart", "searchh", 'did you mean "search"'),
        ("ledbat_pp", {"target": "1us"}, "ledbat_pp.target: 1us is not valid; expected 1ms to 10s"),
        ("ledbat_pp", {"constant": 0}, "ledbat_pp.constant: 0 is not valid; expected more than 0, at most 100"),
        ("ledbat_pp", {"targt": "5ms"}, 'ledbat_pp: unknown key "targt"; did you mean "target"?'),
    ):
        with pytest.raises(bloatlab.ScenarioError) as error:
            line(
                {"up": {"tcp": "one"}}, {"one": {"preset": "ledbat++", key: value}}, rate=20.0, buffer=100, seconds=1.0
            )
        assert line_ in str(error.value)
        assert "\n" not in str(error.value)


def test_rapid_start_fills_a_long_path_sooner_and_recovers_to_beta_of_what_the_path_holds():
    # from 10 segments to the bandwidth-delay product of 167, tripling takes 2.6 round trips and doubling 4.1
    def filled(run: dict[str, Any]) -> float:
        flow = run["result"].trace("flows").filter(pl.col("direction") == "forward")
        return float(flow["t_s"].to_numpy()[flow["cwnd_bytes"].to_numpy() / 1448 >= BDP][0])

    rapid, slow = (start_of(hystart, 1.0, ack_every=1) for hystart in ("rapid-start", "off"))
    assert (filled(slow) - filled(rapid)) / RTT_S == pytest.approx(4.1 - 2.6, abs=0.6)
    # appendix A of the Rapid Start draft: when the first recovery ends, the window is beta = 0.7 times the sum of the
    # bandwidth-delay product and the buffer
    flow = rapid["result"].trace("flows").filter(pl.col("direction") == "forward")
    during = flow.filter(pl.col("first_recovery"))
    assert during["cwnd_bytes"][-1] / 1448 == pytest.approx(0.7 * 2.0 * BDP, rel=0.1)
    # the congestion controller does not reduce the window a second time, so the flow still fills the link
    assert rapid["summary"]["apps"]["up"]["goodput_mbit"] > 0.95 * slow["summary"]["apps"]["up"]["goodput_mbit"]
