"""What a run prints: everything that it measured, and no empty table or column."""

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
    # twice 10 ms and twice the wire: 98 B at 2 Mbit/s
    assert [float(v) for v in column(pings, "min")] == [pytest.approx(20.784, abs=0.01)]


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


def test_reasons_of_drops_are_columns():
    drops = printed(LINK + 'queue = { droptail = { limit = "5p" } }\n' + app("f", "{ ftp = {} }"))["Drops"]
    assert drops.columns == ["link", "tail_full"]
    assert column(drops, "link") == ["up"]


def test_the_headline_names_the_run():
    result = bloatlab.run(bloatlab.parse(LINK + app("f", "{ ftp = {} }")), seed=3)
    assert headline(result).startswith("scenario  seed 3  10 s")
