"""Hash collisions: exact probabilities compared with brute force, random trials, and values computed by hand."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bloatlab
from bloatlab import machines
from bloatlab.cli.collisions import percent
from bloatlab.cli.main import call
from bloatlab.collisions import collision, given_session, monte_carlo, overfull, sessions_of, share_of

#: Probability in percent that 64 groups of 4 queues have a collision, by the number of sessions (5 to 60), computed
#: with exact fractions by another program.
TABLE = """
5 5.96046e-06    19 0.05771    33 0.97975    47 5.21000
6 3.52971e-05    20 0.07595    34 1.13339    48 5.73037
7 0.000121932    21 0.09839    35 1.30461    49 6.28679
8 0.000320921    22 0.12568    36 1.49469    50 6.88047
9 0.000712682    23 0.15850    37 1.70491    51 7.51252
10 0.00141       24 0.19761    38 1.93659    52 8.18402
11 0.00255       25 0.24379    39 2.19106    53 8.89596
12 0.00431       26 0.29791    40 2.46968    54 9.64927
13 0.00691       27 0.36084    41 2.77379    55 10.44479
14 0.01061       28 0.43354    42 3.10477    56 11.28326
15 0.01570       29 0.51699    43 3.46398    57 12.16531
16 0.02255       30 0.61224    44 3.85277    58 13.09149
17 0.03153       31 0.72036    45 4.27249    59 14.06220
18 0.04308       32 0.84248    46 4.72446    60 15.07773
"""


def test_the_table_to_every_printed_digit():
    words = TABLE.split()
    table = dict(zip(map(int, words[::2]), words[1::2], strict=True))
    assert sorted(table) == list(range(5, 61))
    exact = collision(64, 4, 60)
    assert {n: percent(float(exact[n])) for n in table} == table
    assert exact[:5] == [0] * 5


def test_ordinary_hashing_is_the_birthday_problem():
    """The exact probabilities are those of the birthday problem, and agree with values computed by hand. With 256
    queues, the probability is 0.39 % for n = 2 sessions, 1.17 % for 3, 16.305 % for 10 and 53.317 % for 20. With 64
    queues, it is 52.3 % for n = 10, 96.4 % for 20 and 99.999 % for 35.
    """
    exact = collision(256, 1, 300)
    for n, product in enumerate(itertools.accumulate([Fraction(256 - i, 256) for i in range(60)], lambda a, b: a * b)):
        assert exact[n + 1] == 1 - product
    assert [round(100 * float(exact[n]), 3) for n in (2, 3, 10, 20)] == [0.391, 1.169, 16.305, 53.317]
    assert exact[257] == 1
    few = collision(64, 1, 35)
    assert [round(100 * float(few[n]), 3) for n in (10, 20, 35)] == [52.324, 96.409, 99.999]


def test_a_given_session():
    """The exact probability that a given session has a collision agrees with values computed by hand. With 64 groups of
    4 queues, it is 0.00116 % for n = 11 sessions, 0.0191 % for 20, 0.190 % for 35 and 0.722 % for 50. With 256 queues,
    it is 3.84 % for n = 11, 7.17 % for 20 and 12.5 % for 35.
    """
    serial = [100 * float(given_session(64, 4, n)) for n in (11, 20, 35, 50)]
    assert [f"{value:.3g}" for value in serial] == ["0.00116", "0.0191", "0.19", "0.722"]
    assert [f"{100 * float(given_session(256, 1, n)):.3g}" for n in (11, 20, 35)] == ["3.84", "7.17", "12.5"]
    assert [given_session(5, 3, n) for n in range(4)] == [0] * 4


def by_hand(groups: int, ways: int, sessions: int) -> tuple[Fraction, Fraction]:
    """Returns two fractions of all possible assignments of sessions to groups: the fraction in which at least one group
    is overfull, and the fraction in which the group of session 0 is overfull.
    """
    some = first = 0
    for groups_of in itertools.product(range(groups), repeat=sessions):
        full = {g for g in groups_of if groups_of.count(g) > ways}
        some += bool(full)
        first += groups_of[0] in full
    return Fraction(some, groups**sessions), Fraction(first, groups**sessions)


@settings(max_examples=40, deadline=None)
@given(groups=st.integers(1, 5), ways=st.integers(1, 4), sessions=st.integers(1, 6))
def test_small_cases_by_brute_force(groups: int, ways: int, sessions: int):
    some, first = by_hand(groups, ways, sessions)
    assert collision(groups, ways, sessions)[sessions] == some
    assert given_session(groups, ways, sessions) == first


def test_cases_that_spec_verified_by_brute_force():
    assert f"{float(collision(3, 2, 5)[5]):.6f}" == "0.629630"
    assert f"{float(collision(4, 2, 6)[6]):.6f}" == "0.648438"


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="groups: 0 is not from 1"):
        collision(0, 4, 5)
    with pytest.raises(ValueError, match="ways: 0 is not from 1"):
        given_session(4, 0, 5)
    with pytest.raises(ValueError, match="sessions: 10000 is not from 0"):
        monte_carlo(4, 2, 10_000, 10, seed=1)


def test_counting_trials():
    choices = np.array([[0, 0, 0, 1], [0, 1, 1, 1], [2, 1, 0, 2]], dtype=np.int32)
    some, first = overfull(choices, 3, 2)
    assert some.tolist() == [0, 0, 0, 1, 2]
    assert first.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(("groups", "ways"), [(64, 4), (256, 1), (10, 3)])
def test_trials_agree_with_the_exact_chance(groups: int, ways: int):
    """The 99.9 % intervals contain the exact probability for every number of sessions from 1 to 60.

    All intervals are computed from the same trials.
    """
    thrown = monte_carlo(groups, ways, 60, 100_000, seed=7, confidence=0.999)
    exact = collision(groups, ways, 60)
    for n in range(1, 61):
        some, first = thrown.any_session[n], thrown.first_session[n]
        assert some.low <= exact[n] <= some.high, n
        assert first.low <= given_session(groups, ways, n) <= first.high, n


@pytest.mark.parametrize(("groups", "ways"), [(64, 4), (16, 2), (256, 1)])
def test_the_discipline_s_own_classifier_agrees_with_the_exact_chance(groups: int, ways: int):
    """Random 5-tuples are put through the classifier of sfq_hss; the 99.9 % intervals contain the exact probability."""
    counted = machines.session_queues("sfq_hss", 60, 50_000, seed=3, groups=groups, ways=ways)
    exact = collision(groups, ways, 60)
    for n, (some, shares, first) in enumerate(counted, start=1):
        share = share_of(some, 50_000, 0.999)
        assert share.low <= exact[n] <= share.high, n
        share = share_of(first, 50_000, 0.999)
        assert share.low <= given_session(groups, ways, n) <= share.high, n
        assert shares <= first <= some


def test_a_classifier_for_a_queue_of_all_is_refused():
    with pytest.raises(bloatlab.ScenarioError, match="droptail gives sessions no queues"):
        machines.session_queues("droptail", 5, 10)


def test_trials_follow_from_their_seed():
    one = monte_carlo(64, 4, 40, 2000, seed=7)
    assert monte_carlo(64, 4, 40, 2000, seed=7) == one
    assert monte_carlo(64, 4, 40, 2000, seed=8) != one


def tail(hits: int, trials: int, p: float) -> float:
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))


@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (5, 10), (9, 10), (3, 100), (50, 100), (99, 100), (400, 1000)])
def test_the_interval_is_the_exact_one(hits: int, trials: int):
    """The interval is that of Clopper and Pearson.

    If the probability of a hit is the lower end, `hits` or more occur with a probability of 2.5 %. If it is the upper
    end, `hits` or fewer occur with a probability of 2.5 %.
    """
    share = share_of(hits, trials)
    assert tail(hits, trials, share.low) == pytest.approx(0.025, rel=1e-9)
    assert 1 - tail(hits + 1, trials, share.high) == pytest.approx(0.025, rel=1e-9)
    assert share.low < share.share < share.high


def test_intervals_at_the_ends():
    """With no hit in n trials, the interval ends at 1 - 0.025^(1/n)."""
    none, all_of = share_of(0, 20), share_of(20, 20)
    assert (none.low, all_of.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert all_of.low == pytest.approx(0.025 ** (1 / 20))
    with pytest.raises(ValueError, match="5 of 4"):
        share_of(5, 4)


def test_numbers_of_sessions():
    assert sessions_of("1..4,9, 3") == [1, 2, 3, 4, 9]
    for text in ("", "0..3", "5..", "x", "1..10000", "4..2"):
        with pytest.raises(ValueError, match="is "):
            sessions_of(text)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["collisions", "--groups", "64", "--ways", "4", "--sessions", "1..60", "--trials", "20000"]
    assert call([*arguments, "-f", "json", "-o", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)
    exact = collision(64, 4, 60)
    assert [row["sessions"] for row in rows] == list(range(1, 61))
    assert [Fraction(row["collision_exact"]) for row in rows] == exact[1:]
    assert rows[19]["hashing_queues"] == float(collision(256, 1, 20)[20])
    assert rows[34]["given_session"] == float(given_session(64, 4, 35))
    assert "Monte Carlo, 20000 trials" in err
    assert "classifier of sfq_hss, 20000 trials" in err
    assert all(row["classifier_low"] <= row["classifier"] <= row["classifier_high"] for row in rows)
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {
        f"{stem}.{form}" for stem in ("fig8_ordinary_hashing", "fig9_serial_search") for form in ("svg", "png")
    }

    assert call([*arguments, "-f", "csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert float(table[59]["collision"]) == float(exact[60])
    assert call([*arguments[:-1], "0"]) == 0
    out, err = capsys.readouterr()
    assert "15.07773" in out
    assert "trials" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--groups", "0"], "--groups"),
        (["--ways", "0"], "--ways"),
        (["--groups", "4096", "--ways", "2"], "8192 queues; at most 4096"),
        (["--sessions", "1.."], '--sessions "1.."'),
        (["--trials", "-1"], "--trials"),
        (["-o", "/proc/nowhere", "--trials", "0"], "cannot write"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str):
    assert call(["collisions", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err
