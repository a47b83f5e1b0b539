"""The numbers copied from CableLabs 2012 agree with the paper's own arithmetic."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from bloatlab.studies.cablelabs2012 import published as p
from bloatlab.workloads.cable_loads import Case, Queue, grid


def test_every_row_is_of_this_study():
    assert len(p.rows()) == 565


def test_measured_cells():
    cells = p.measured()
    assert len(cells) == 27 * 8
    assert Counter(c.metric for c in cells) == dict.fromkeys(p.MEASURED, 27)
    assert Counter(len(c.values) for c in cells) == {1: 108 + 36 + 18 - 2, 2: 54, 0: 2}


def test_tables_of_cells():
    find = p.by_key()
    assert find["D04/417", p.LOST].tables == (3,)
    assert find["D04/21", p.MEDIAN].tables == (6,)
    assert find["C04", p.MEDIAN].tables == (5, 6)
    assert find["C04", p.FTP].tables == (7, 8)


def test_printed_values():
    assert p.number(">600") == math.inf
    assert p.number("-") is None
    assert p.number("N/A") is None
    assert p.number("+0.1") == 0.1
    assert p.number("-0.2") == -0.2
    assert p.number("<0.6") == 0.6
    assert p.by_key()["D06/21", p.MEDIAN].values == (math.inf,)
    assert p.by_key()["D06/21", p.MAD].values == ()


def test_lost_and_late_add_up():
    for c in grid():
        lost, late, plr = (p.by_key()[c.key, m].values for m in (p.LOST, p.LATE, p.PLR))
        for a, b, total in zip(lost, late, plr, strict=True):
            # the total in some rows of the paper differs by 0.01 from the sum of the parts, which are rounded
            # separately
            assert total == pytest.approx(a + b, abs=0.0101), c.key


def test_mos_follows_from_loss_alone():
    """In CableLabs 2012, every printed MOS equals the E-model's value with the loss rate of run 1 and without delay."""
    for c in grid():
        loss = p.by_key()[c.key, p.PLR].values[0] / 100.0
        r = 94.2 - 30.0 * math.log(1.0 + 15.0 * loss)
        mos = 1.0 if r < 0 else 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
        assert p.by_key()[c.key, p.MOS].values[0] == pytest.approx(mos, abs=0.0501), c.key


def test_ftp_stays_below_the_ceiling():
    for c in grid():
        assert p.by_key()[c.key, p.FTP].values[0] <= 385_000


def test_appendix_a_sums():
    of = [[r for r in p.rows() if r.case == f"Appendix A server{n}"] for n in (1, 2, 3, 4)]
    sizes = [[int(r.value) for r in rows] for rows in of]
    assert [len(s) for s in sizes] == [25] * 4
    assert [sum(s) for s in sizes] == [121_151, 60_683, 276_266, 156_302]
    assert (min(map(min, sizes)), max(map(max, sizes))) == (11, 147_107)


def test_derived_rows():
    cells = p.derived()
    assert len(cells) == 90
    ratio = next(c for c in cells if c.metric == p.FTP_RATIO and c.case == Case(6, Queue.DROPTAIL_417))
    assert (ratio.values, ratio.tables) == ((101.0,), (7,))
