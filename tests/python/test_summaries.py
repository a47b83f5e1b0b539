"""The printed summary has a table for each kind of application, and no empty table or column."""

from __future__ import annotations

import re

import pytest

import bloatlab
from bloatlab.summaries import headline, summary_tables
from bloatlab.tables import TextTable

LINK = """
duration = "10s"
[link.up]
from = "a"
to = "b"
rate = "2mbit"
delay = "10ms"
both_ways = true
"""


def printed(text: str) -> dict[str, TextTable]:
    return {table.title: table for table in summary_tables(bloatlab.run(bloatlab.parse(text)))}


def column(table: TextTable, head: str) -> list[str]:
    return [row[list(table.columns).index(head)].text for row in table.rows]


def app(name: str, traffic: str) -> str:
    return f'[app.{name}]\nfrom = "a"\nto = ["b"]\ntraffic = {traffic}\n'


@pytest.mark.parametrize(
    ("traffic", "title"),
    [
        ("{ ping = {} }", "Pings"),
        ('{ ftp = { size = "50KB" } }', "Files"),
        ("{ voip = {} }", "Voice"),
        ("{ video = {} }", "Video"),
        ("{ bittorrent = { peers = 3, active = 2 } }", "Swarms"),
        ("{ short = {} }", "Short transfers"),
        ('{ burst = { bytes = "10KB" } }', "Bursts"),
        ('{ cbr = { rate = "200kbit" } }', "Datagrams"),
    ],
)
def test_each_kind_of_application_has_its_table_and_no_other_has_it(traffic: str, title: str):
    own = printed(LINK + app("one", traffic))
    assert column(own[title], own[title].columns[0]) == ["one"]
    assert title not in printed(LINK + app("one", "{ ftp = {} }"))


def test_a_ping_is_printed_with_its_round_trips():
    pings = printed(LINK + app("p", '{ ping = { interval = "1s" } }'))["Pings"]
    assert (column(pings, "lost %"), column(pings, "answered")) == (["0.00"], column(pings, "sent"))
    # the smallest round trip is twice the sum of 10 ms of propagation and 98 bytes at 2 Mbit/s
    assert [float(v) for v in column(pings, "min")] == [pytest.approx(20.784, abs=0.01)]


def test_a_call_of_which_nothing_arrived_or_was_dropped_has_no_quality():
    far = LINK.replace("10ms", "20s") + app("call", '{ voip = { direction = "both" } }') + app("game", "{ game = {} }")
    far += app("p", "{ ping = {} }")
    result = bloatlab.run(bloatlab.parse(far))
    apps = result.summary["apps"]
    for stream in (apps["call"]["voip"], apps["call"]["voip_reverse"]):
        counted = {key: value for key, value in stream.items() if not isinstance(value, dict) and value is not None}
        assert counted == {"sent": 500, "judged": 0, "received": 0}
    for of in (apps["game"]["game"]["up"], apps["p"]["ping"]):
        assert of["lost_percent"] is None
    assert "MOS" not in {table.title: table for table in summary_tables(result)}["Voice"].columns


def test_marks_are_a_column_where_there_are_marks():
    marking = LINK + 'queue = { codel = { ecn = true } }\n[tcp.e]\npreset = "linux-6"\necn = true\n'
    flow = app("f", "{ ftp = {} }") + 'tcp = "e"\n'
    assert int(column(printed(marking + flow)["Links"], "marks")[0]) > 0
    assert "marks" not in printed(LINK + app("f", "{ ftp = {} }"))["Links"].columns


def test_nothing_empty_is_printed():
    tables = printed(LINK + app("f", "{ ftp = {} }"))
    assert all(table.rows for table in tables.values())
    for table in tables.values():
        for head in table.columns:
            assert set(column(table, head)) != {"-"}, (table.title, head)
    assert "Applications" not in printed(LINK)


def test_the_first_line_names_the_scale_that_was_asked_for():
    at = {"length": "5s", "rate": "20mbit"}
    said = {scale: headline(bloatlab.run("rrul", sets={**at, "grade.scale": scale})) for scale in ("waveform", "rpm")}
    assert re.search(r"  grade [A-F]\+? \(waveform\)  load adds [\d.]+ ms \(app\.ping\)$", said["waveform"])
    assert re.search(r"  grade (poor|fair|good) \(rpm\)  \d+ RPM \(app\.ping\)$", said["rpm"])


def test_grade_and_fairness_are_printed():
    three = "".join(app(f"f{n}", "{ ftp = {} }") for n in range(3))
    text = LINK + 'queue = { droptail = { limit = "200p" } }\n' + three + app("p", "{ ping = {} }")
    result = bloatlab.run(bloatlab.parse(text))
    tables = {table.title: table for table in summary_tables(result)}
    induced, grade = result.summary["latency"]["induced_ms"], result.summary["latency"]["grade"]
    assert f"grade {grade}  load adds {induced:.1f} ms" in headline(result)
    assert column(tables["Pings"], "grade") == [result.summary["apps"]["p"]["ping"]["grade"]]
    assert column(tables["Links"], "grade")[0] == result.summary["links"]["up"]["grade"]
    assert column(tables["Fairness"], "Jain's index") == [f"{result.summary['fairness']:.3f}"]


def test_the_index_over_all_flows_is_printed_unless_one_application_has_them_all():
    text = LINK + 'queue = { droptail = { limit = "200p" } }\n' + app("four", "{ ftp = { flows = 4 } }")
    result = bloatlab.run(bloatlab.parse(text))
    assert column(printed(text)["Fairness"], "flows of") == ["four"]
    assert result.summary["fairness"] == result.summary["apps"]["four"]["fairness"]
    both = text + app("one", "{ ftp = {} }")
    summary, table = bloatlab.run(bloatlab.parse(both)).summary, printed(both)["Fairness"]
    assert column(table, "flows of") == ["four", "all greedy flows"]
    indices = [summary["apps"]["four"]["fairness"], summary["fairness"]]
    assert column(table, "Jain's index") == [f"{index:.3f}" for index in indices]


def test_the_grade_is_of_what_a_person_feels():
    # two equal pings: one has a band to itself, and the other shares the band of a transfer, where it waits far longer
    filters = "[{ match = { dscp = [1, 8] }, band = 1 }]"
    classifier = f"{{ prio = {{ bands = 2, priomap = {[0] * 16}, filters = {filters} }} }}"
    bands = f'queue = {{ fair = {{ classifier = {classifier}, scheduler = "strict_priority" }} }}\n'
    load = app("f", "{ ftp = {} }") + "dscp = 8\n"
    ping = '{ ping = { interval = "100ms" } }'
    both = LINK + bands + load + app("first", ping) + app("second", ping) + "dscp = 8\n"
    only = LINK + bands + load + app("second", ping) + "dscp = 1\n"
    of_both, of_one = bloatlab.run(bloatlab.parse(both)), bloatlab.run(bloatlab.parse(only))
    pings = {name: of_both.summary["apps"][name]["ping"]["induced_ms"] for name in ("first", "second")}
    assert pings["second"] > 10 * pings["first"]
    told = of_both.summary["latency"]
    assert (told["from"], told["induced_ms"], "background" in told) == ("app.first", pings["first"], False)
    assert headline(of_both).endswith("(app.first)")
    by_rpm = bloatlab.run(bloatlab.parse(both + '[grade]\nscale = "rpm"\n')).summary["latency"]
    assert (by_rpm["from"], by_rpm["grade"], "background" in by_rpm) == ("app.first", "good", False)
    told = of_one.summary["latency"]
    assert (told["from"], told["background"]) == ("app.second", True)
    assert headline(of_one).endswith("(app.second, background)")


def test_the_price_of_grants_is_a_rate_and_two_shares():
    flow = '{ flow = { max_sustained_rate = "20mbit" }, low_latency = { guaranteed_grant_rate = "5mbit" } }'
    up = f'from = "a"\nto = "b"\nqueue = "docsis_lld"\ndocsis31 = {flow}\n'
    modem = f'duration = "10s"\n[link.up]\n{up}[link.down]\nfrom = "b"\nto = "a"\n'
    result = bloatlab.run(bloatlab.parse(modem + app("p", '{ ping = { interval = "1s" } }')))
    told = result.summary["links"]["up"]["grants"]["L"]
    # 5 Mbit/s x 1.05 needs 1329 bytes per interval of 2.025 ms, so each interval has grants for 28 minislots of 48
    # bytes, and all grants are unused
    assert told["unused_mbit"] == pytest.approx(28 * 48 * 8 / 2.025e-3 / 1e6, rel=1e-3)
    assert told["unused_of_rate_percent"] == pytest.approx(100 * told["unused_mbit"] / 20)
    assert told["unused_percent"] == pytest.approx(100 * told["unused_bytes"] / told["granted_bytes"])
    grants = {table.title: table for table in summary_tables(result)}["Grants"]
    assert list(grants.columns)[-4:] == ["MB", "Mbit/s", "% of grants", "% of rate"]


@pytest.mark.parametrize("seconds", [1, 60, 86400])
def test_whole_seconds_are_whole(seconds: int):
    summary = bloatlab.run(bloatlab.parse(LINK.replace("10s", f"{seconds}s"))).summary
    assert (summary["duration_s"], summary["warm_up_s"]) == (seconds, 0)


def test_reasons_of_drops_are_columns():
    drops = printed(LINK + 'queue = { droptail = { limit = "5p" } }\n' + app("f", "{ ftp = {} }"))["Drops"]
    assert drops.columns == ["link", "tail_full"]
    assert column(drops, "link") == ["up"]


def test_the_headline_names_the_run():
    result = bloatlab.run(bloatlab.parse(LINK + app("f", "{ ftp = {} }")), seed=3)
    assert headline(result).startswith("scenario  seed 3  10 s")
