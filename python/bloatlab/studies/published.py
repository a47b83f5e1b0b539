"""Published values, and the parameters of our scenarios compared with published ones.

`published.csv` in a study's folder contains every quantitative statement in its paper, and none of our measurements.
Most notes begin with the row's kind: parameter, theory (computable), result, claim in prose, observation, or another
word. `parameters.toml` contains the parameters that the paper leaves open. `readback.csv` contains the parameters that
the paper states, each with its path in our scenarios.
"""

from __future__ import annotations

import csv
import functools
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

from bloatlab.scenario import amount
from bloatlab.studies.scorecard import Band, Cell, Verdict
from bloatlab.tables import Spread


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `published.csv`, as written."""

    case: str
    metric: str
    value: str
    unit: str
    where: str
    note: str


@functools.cache
def rows(study: str) -> Sequence[Row]:
    """Returns the rows of a study's `published.csv`, in order."""
    found = csv.DictReader(text(study, "published.csv").splitlines())
    return tuple(Row(**{k: v for k, v in row.items() if k != "study"}) for row in found)


@dataclass(frozen=True, slots=True)
class Place:
    """A row of `readback.csv`: one of the paper's parameters, and its path in a resolved scenario.

    `share` is the value at this path in the scenario, divided by the paper's value. For example, it is 1/2 if the paper
    gives a round-trip delay and the scenario the delay in one direction, and 1460/1500 if the paper counts whole
    packets and the scenario only their payload.
    """

    case: str
    metric: str
    scenario: str
    path: str
    unit: str
    share: float

    def read(self, data: Any) -> float:
        """Returns the value of the paper's parameter in a resolved scenario."""
        return quantity(at_path(data, self.path), self.unit) / self.share


def places(study: str) -> Sequence[Place]:
    """Returns the rows of a study's `readback.csv`."""
    found = csv.DictReader(text(study, "readback.csv").splitlines())
    return tuple(
        Place(r["case"], r["metric"], r["scenario"], r["path"], r["unit"], float(Fraction(r["share"]))) for r in found
    )


def parameters(study: str, resolved: Callable[[str], Any]) -> Mapping[tuple[str, str], Callable[[], float]]:
    """Returns, for each row of a study's `readback.csv`, a function that reads the parameter from our scenario.

    The functions are keyed by case and metric. `resolved` returns the resolved scenario of a given name.
    """

    def read(place: Place) -> float:
        return place.read(resolved(place.scenario))

    return {(place.case, place.metric): functools.partial(read, place) for place in places(study)}


def text(study: str, name: str) -> str:
    """Reads a data file of a study."""
    return resources.files(f"bloatlab.studies.{study}").joinpath(name).read_text(encoding="utf-8")


def toml(study: str, name: str) -> Any:
    """Reads the tables of a study's data file; each call returns a new copy."""
    return tomllib.loads(text(study, name))


@dataclass(frozen=True, slots=True)
class Unknown:
    """A parameter that a paper leaves open: our value, the reason for it, and the values tried in sensitivity runs."""

    field: str
    ours: Any
    what: str
    why: str
    others: tuple[Any, ...]
    #: Whether the parameter affects the calibration cases, in a study that has such cases.
    calibrated: bool


def unknowns(study: str, ours: object) -> tuple[Unknown, ...]:
    """Reads the parameters in a study's `parameters.toml`.

    The value that we use for a parameter is the field of `ours` with the parameter's name. In the file's lists of other
    values, the string "none" means None.
    """

    def unknown(field: str, what: str, why: str, others: list[Any], calibrated: bool = True) -> Unknown:
        values = tuple(None if value == "none" else value for value in others)
        return Unknown(field, getattr(ours, field), what, why, values, calibrated)

    return tuple(unknown(field, **table) for field, table in toml(study, "parameters.toml").items())


def at_path(data: Any, path: str) -> Any:
    """Returns the value at a path such as "app.ftp.traffic.ftp.size", in which a number selects a list item.

    Raises `KeyError` or `IndexError`.
    """
    for name in path.split("."):
        data = data[int(name)] if isinstance(data, list | tuple) else data[name]
    return data


def quantity(value: Any, unit: str = "") -> float:
    """Converts a number or quantity of a resolved scenario ("90MB", 0.05) to `unit`.

    Raises `ValueError` for a quantity of a different kind, and for any other text.
    """
    number, kind = _read(str(value))
    one, wanted = _read(f"1{unit}")
    if kind != wanted or not kind:
        raise ValueError(f"{value!r} is not a quantity in {unit or 'plain numbers'}")
    return number / one


def _read(text: str) -> tuple[float, str]:
    """Reads a number or a quantity, and returns its value and its kind.

    The kind is "number" for a plain number or a share, and "" if the string is neither a number nor a quantity.
    """
    found = amount(text)
    if found is not None:
        return float(found[1]), "number" if found[0] == "share" else found[0]
    try:
        number = float(text)
    except ValueError:
        return 0.0, ""
    return (number, "number") if math.isfinite(number) else (0.0, "")


# --------------------------------------------------------------------------------------------------- cells from rows

#: Stands for our value in rows for which we have neither a run nor a calculation.
NOTHING = Spread(math.nan, math.nan, math.nan)


def row_cell(
    row: Row, published: Sequence[float], ours: Spread, verdict: Verdict, reason: str,
    bands: Sequence[Band] = (), tables: tuple[int, ...] = (),
) -> Cell:  # fmt: skip
    """Makes a scorecard cell from a row of the paper."""
    agrees = {Verdict.WITHIN: True, Verdict.OUTSIDE: False}.get(verdict)
    return Cell(
        row.case, row.metric, row.unit, tables, tuple(published), row.value, ours.median, ours.low, ours.high, tuple(bands),
        verdict, reason, agrees, row.where,
    )  # fmt: skip


def parameter_cell(row: Row, published: float, ours: float, tables: tuple[int, ...] = ()) -> Cell:
    """Makes a cell that compares a parameter stated in the paper with the parameter's value in our scenarios."""
    same = math.isclose(ours, published, rel_tol=1e-9)
    verdict = Verdict.PARAMETER if same else Verdict.OUTSIDE
    reason = "as in our scenarios" if same else "our scenarios have a different value"
    return row_cell(row, [published], Spread(ours, ours, ours), verdict, reason, (), tables)
