"""The arithmetic of verdicts, computed by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloatlab.judgement import Share
from bloatlab.studies.claims import Claim, Quantity, check_all, count, tally
from bloatlab.studies.scorecard import (
    Band,
    Cell,
    Goal,
    Origin,
    Scorecard,
    Tolerance,
    Verdict,
    by_metric,
    by_table,
    joined,
    judge,
    share_of,
    symmetric,
)
from bloatlab.studies.tables import claims_table, facts, outside_table, reached_table, seeds, verdict_with_reason
from bloatlab.tables import Spread, counted


def exactly(value: float) -> Spread:
    return Spread(value, value, value)


def cell(
    verdict: Verdict,
    *,
    tables: tuple[int, ...] = (3,),
    metric: str = "m",
    reason: str = "",
    origin: Origin = Origin.PAPER,
) -> Cell:
    return Cell(
        "D02/417", metric, "s", tables, (1.0,), "1.0", 1.0, 1.0, 1.0, (Band(0.9, 1.1),), verdict, reason, origin=origin
    )


def test_edges_of_the_band_are_inside():
    band = symmetric(4.4, 0.2)
    assert band.holds(4.2)
    assert band.holds(4.6)
    assert not band.holds(4.1999)
    assert band.width == pytest.approx(0.4)


def test_median_in_the_band_agrees_however_wide_the_interval():
    assert judge([10.0], [symmetric(10.0, 1.0)], Spread(10.9, 0.0, 100.0)).agrees


def test_interval_rule_needs_both_the_value_inside_and_a_narrow_interval():
    band = [symmetric(10.0, 1.0)]
    # the median 11.5 is outside 9..11, but the interval 9.9..11.8 contains 10, and is 1.9 wide, which is less than the
    # band's width of 2
    assert judge([10.0], band, Spread(11.5, 9.9, 11.8)).agrees
    # the width equals twice the tolerance, so the interval is not narrow enough
    assert not judge([10.0], band, Spread(11.5, 9.9, 11.9)).agrees
    # the interval is narrow, but does not contain the value
    assert not judge([10.0], band, Spread(11.5, 10.1, 11.8)).agrees
    assert not judge([10.0], band, Spread(11.5, 9.9, 11.8), interval_rule=False).agrees


def test_two_runs_are_two_values_of_one_cell():
    published = [8.77, 9.14]
    bands = [symmetric(v, 0.1) for v in published]
    assert judge(published, bands, exactly(8.70)).agrees  # in the band of run 1
    assert judge(published, bands, exactly(9.20)).agrees  # in the band of run 2
    between = judge(published, bands, exactly(8.95))  # in neither band, but between the two runs
    assert between.agrees
    assert "between" in between.why
    assert not judge(published, bands, exactly(9.25)).agrees
    assert not judge(published, bands, exactly(8.66)).agrees


def test_how_far_names_the_nearest_published_value():
    assert judge([10.0, 20.0], [symmetric(10.0, 0.5), symmetric(20.0, 0.5)], exactly(21.0)).why == "off by +1 (+5%)"
    assert judge([0.0], [symmetric(0.0, 0.5)], exactly(2.0)).why == "off by +2"
    assert "never happened" in judge([3.0], [symmetric(3.0, 0.1)], exactly(math.inf)).why


def test_shares_count_only_what_is_judged():
    cells = [cell(Verdict.WITHIN)] * 9 + [cell(Verdict.OUTSIDE)] + [cell(Verdict.CALIBRATION), cell(Verdict.DERIVED)]
    share = share_of("x", cells, 0.9)
    assert (share.within, share.cells, share.met) == (9, 10, True)
    assert share_of("x", cells[1:], 0.9).met is False
    assert Share("none", 0, 0, 0.9).met is None
    assert share_of("x", cells).met is None


def test_a_cell_in_two_tables_shows_in_both_and_counts_once():
    cells = [cell(Verdict.WITHIN, tables=(3, 4)), cell(Verdict.OUTSIDE, tables=(4,))]
    tables = by_table(cells)
    assert (tables["3"].within, tables["3"].cells) == (1, 1)
    assert (tables["4"].within, tables["4"].cells) == (1, 2)
    summary = Scorecard("s", 1, cells, ()).as_data()["summary"]
    assert (summary["cells"], summary["within"]) == (2, 1)
    assert by_metric(cells)["m"].cells == 2


def test_summary_counts_each_kind_and_what_is_not_explained():
    cells = [
        cell(Verdict.WITHIN),
        cell(Verdict.OUTSIDE, reason="off by +1; not explained"),
        cell(Verdict.OUTSIDE, reason="off by +1; the 2012 model differs"),
        cell(Verdict.CALIBRATION),
        cell(Verdict.DERIVED),
    ]
    card = Scorecard("s", 10, cells, (share_of("all", cells, 0.3),))
    summary = card.as_data()["summary"]
    assert {k: summary[k] for k in ("cells", "within", "calibration", "derived", "not_explained")} == {
        "cells": 3,
        "within": 1,
        "calibration": 1,
        "derived": 1,
        "not_explained": 1,
    }
    assert card.met is True
    assert Scorecard("s", 10, cells, (share_of("all", cells, 0.5),)).met is False


def test_a_quick_look_meets_and_misses_nothing():
    card = Scorecard("s", 2, [cell(Verdict.OUTSIDE)], (Share("all", 0, 1, 0.9),), "a quick look")
    assert card.met is None
    assert card.as_data()["summary"]["met"] is None
    assert card.as_data()["summary"]["note"] == "a quick look"


def test_what_never_happened_is_null_in_json():
    never = Cell("D04/21", "t", "s", (6,), (math.inf,), ">600", math.inf, 3.0, math.inf, (), Verdict.WITHIN, "")
    data = never.as_data()
    assert data["published"] == ">600"
    assert (data["ours"], data["low"], data["high"], data["accepted"]) == (None, 3.0, None, [])


@given(st.floats(0.01, 1e6), st.floats(0.001, 1e5), st.floats(-2.0, 2.0))
def test_inside_the_tolerance_agrees_and_outside_does_not(published: float, tolerance: float, share: float):
    ours = exactly(published + share * tolerance)
    agrees = judge([published], [symmetric(published, tolerance)], ours).agrees
    if abs(share) < 0.999:
        assert agrees
    elif abs(share) > 1.001 and tolerance > 1e-6 * published:
        assert not agrees


def test_asymmetric_bands_keep_their_width():
    band = Band(0.05, 0.2)
    assert band.holds(0.05)
    assert band.holds(0.2)
    assert not band.holds(0.21)
    assert band.width == pytest.approx(0.15)


def test_a_band_is_printed_as_a_band():
    """The band of 0.5 to 0.85 s in the study `csc458` is printed as a range, and not as a value +- 0.175 s."""
    assert Band(0.5, 0.85).words() == "0.5 to 0.85"
    assert Band(-math.inf, 230.0).words() == "at most 230"
    assert Band(10.0, math.inf).words() == "at least 10"
    assert Band(3.2, 3.2).words() == "3.2"
    assert Band(0.5, 0.85).words(2) == "0.50 to 0.85"
    one = Cell("Q=20", "m", "s", (1,), (0.841,), "0.841", 0.9, 0.9, 0.9, (Band(0.5, 0.85),), Verdict.OUTSIDE, "", False)
    card = Scorecard("x", 1, [one], [share_of("all", [one])])
    shown = [field.text for field in outside_table(card, {}).rows[0]]
    assert "0.5 to 0.85" in shown
    assert not any("±" in text for text in shown)
    assert one.as_data()["accepted"] == [[0.5, 0.85]]


def test_bands_of_two_published_runs_are_joined_where_they_overlap():
    bands = (Band(9.0, 9.3), Band(8.6, 8.9), Band(8.8, 9.05))
    assert joined(bands) == [Band(8.6, 9.3)]
    assert joined(bands[:2]) == [Band(8.6, 8.9), Band(9.0, 9.3)]


@pytest.mark.parametrize("origin", [Origin.TEXTBOOK, Origin.OTHERS, Origin.OURS])
def test_only_the_papers_own_is_counted(origin: Origin):
    cells = [cell(Verdict.WITHIN), cell(Verdict.OUTSIDE), cell(Verdict.WITHIN, origin=origin)]
    share = share_of("x", cells)
    assert (share.within, share.cells) == (1, 2)
    summary = Scorecard("x", 1, cells, [share]).as_data()["summary"]
    assert (summary["cells"], summary["within"]) == (2, 1)
    assert summary["by_origin"][str(origin)] == {"cells": 1, "within": 1}
    assert by_table(cells)["3"].cells == by_metric(cells)["m"].cells == 2
    assert [c["origin"] for c in Scorecard("x", 1, cells, []).as_data()["cells"]] == ["paper", "paper", str(origin)]


def test_claims_are_counted_by_origin():
    holding = Claim("a", "", "a", "", [], lambda: True, "1")
    failing = Claim("b", "", "b", "", [], lambda: False, "2")
    ours = Claim("c", "", "c", "", [], lambda: True, "3", Origin.OURS)
    missing = Claim("d", "", "d", "", [lambda _: None], lambda _: True, "4")
    checked = check_all([holding, failing, ours, missing], {})
    assert tally(checked) == "1 of 2 claims of the paper hold; of ours 1 of 1"
    assert [c.as_data()["origin"] for c in checked] == ["paper", "paper", "ours", "paper"]
    assert count(checked).as_data() == {"claims": 3, "checked": 2, "hold": 1}
    assert [row[1].text for row in claims_table(checked).rows] == ["paper", "paper", "ours", "paper"]
    # the top of the page counts the claims that were checked, as the terminal does
    card = Scorecard("s", 1, [], [])
    assert [fact.value for fact in facts(card, checked, 3) if fact.name.startswith("claims")] == ["1 of 2"]
    assert [cell.text for cell in reached_table(card, checked).rows[-1]][:3] == [
        "claims of the paper that hold", "1", "2"
    ]  # fmt: skip
    assert not any(fact.name.startswith("claims") for fact in facts(card, checked[3:], 3))


def test_a_claim_shows_the_digits_that_decide():
    """A value of 1.0004 that is compared with a limit of 1 is not printed as 1.00."""
    claim = Quantity("x", "text", "at most 1 %", "1 %", "case", "loss", Band(0.0, 1.0), "%", 2)
    found = claim.check({"case": [{"loss": 1.0004}]})
    assert (found.ours, found.holds) == ("1.0004 %", False)
    assert claim.check({"case": [{"loss": 0.996}]}).ours == "1.00 %"
    assert claim.check({"case": [{"loss": 3.14159}]}).ours == "3.14 %"


def test_one_seed_is_one_seed():
    assert [counted(n, "seed") for n in (1, 2, 0)] == ["1 seed", "2 seeds", "0 seeds"]
    card = Scorecard("s", 1, [], [])
    assert (seeds(card), facts(card, [], 3)[-1].note) == ("seed 1", "1 seed per case")


def test_a_verdict_is_said_once():
    one = Cell("a", "m", "s", (1,), (1.0,), "1", 1.0, 1.0, 1.0, (), Verdict.WITHIN, "within tolerance")
    assert verdict_with_reason(one) == "within tolerance"
    assert verdict_with_reason(replace(one, verdict=Verdict.OUTSIDE, reason="off by +1")) == "outside: off by +1"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tolerance(factor=0.5), "factor of a tolerance: 0.5 is not valid; expected a number from 1 on"),
        (lambda: Tolerance(factor=-2.0), "factor of a tolerance: -2 is not valid; expected a number from 1 on"),
        (lambda: Tolerance(share=-0.5), "share of a tolerance: -0.5 is not valid; expected a number from 0 on"),
        (lambda: Tolerance(least=math.nan), "least of a tolerance: nan is not valid; expected a number from 0 on"),
        (lambda: Band(5, 1), "a band from 5 to 1: expected the smaller limit first"),
        (lambda: Goal("all", wanted=90), "goal 'all': wanted is 90; expected a share from 0 to 1"),
    ],
)
def test_a_rule_that_no_value_could_meet_is_refused(make: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
