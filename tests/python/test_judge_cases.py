"""A criterion of a packaged suite, and the refusal of misspelt measures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bloatlab.judge import JudgeError, measures, suite, suites


def test_a_period_in_which_nothing_is_sent_has_no_losses() -> None:
    (case,) = suite("rfc9743").only("7.2").cases
    (query,) = [c.measure for c in case.criteria]
    # 35 s in bins of 100 ms. Nothing is sent from 15 s on; in the period from 5 to 10 s, 1 of 5 packets is lost
    times = [n / 10 for n in range(350)]
    sent = [4 if t < 15.0 else 0 for t in times]
    lost = [1 if 5.0 <= t < 10.0 else 0 for t in times]
    counts = {"dropped_packets": lost, "sent_packets": sent}
    queues = pl.DataFrame({"link": ["forward"] * 350, "t_s": times}).with_columns(
        *(pl.Series(name, values, dtype=pl.UInt64) for name, values in counts.items())
    )
    assert measures._value({"queues": queues}, query) == 1.0


#: A case with the placeholder MEASURE for its measure.
CASE = """
[judge]
section = "1.1"
title = "T"
says = "s"
run = "r"
[[judge.criteria]]
says = "x"
measure = "MEASURE"
expect = "> 1"
by = "ours"
[link.own]
from = "a.b"
to = "c"
both_ways = true
[app."a.b"]
from = "a.b"
to = ["c"]
traffic.ftp = {}
"""


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("apps.a.b.goodput_mbt", 'nor a number of the summary; did you mean "apps.a.b.goodput_mbit"?'),
        ("apps.ab.goodput_mbit", 'did you mean "apps.a.b.goodput_mbit"?'),
        ("links.~owm.utilisation", 'did you mean "links.~own.utilisation"?'),
        ("SELECT count(*) from queues", '"SELECT count(*) from queues" is neither a query ("select ...") nor a number'),
        ("apps.a.b.goodput_mbit", ""),
        ("links.own.sojourn_ms.p95", ""),
        ("links.~own.utilisation", ""),
        ("select count(*) from queues", ""),
    ],
)
def test_a_misspelt_measure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: str, words: str
) -> None:
    monkeypatch.setattr(suites, "FOLDER", tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "suite.toml").write_text('[suite]\ntitle = "t"\ndocument = "d"\nsource = "s"\n')
    (tmp_path / "mine" / "a.toml").write_text(CASE.replace("MEASURE", measure))
    if words:
        with pytest.raises(JudgeError, match=r"a\.toml: judge\.criteria\.0\.measure: ") as error:
            suite("mine")
        assert words in str(error.value)
    else:
        assert suite("mine").cases[0].criteria[0].measure == measure
