"""Helpers that extract values from a recommendation, so that tests can check them."""

from __future__ import annotations

from bloatlab.advice import Recommendation
from bloatlab.advice.score import Judged, Value


def by_discipline(done: Recommendation) -> dict[str, Judged]:
    return {j.option.name: j for j in done.judged}


def mean(of: Value) -> float:
    assert of.of is not None
    return of.of.mean
