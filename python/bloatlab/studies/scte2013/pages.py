"""Builds the tables of the study's page, and its short answer."""

from __future__ import annotations

from collections.abc import Mapping

from bloatlab.plots import Series, style
from bloatlab.report import Answer, Drawn, Point
from bloatlab.studies.claims import Runs, median_of
from bloatlab.studies.published import toml
from bloatlab.studies.scte2013.build import UNKNOWNS
from bloatlab.studies.scte2013.claims import DECLARED
from bloatlab.studies.scte2013.experiments import BDP_MS, SERIES, Experiment
from bloatlab.studies.scte2013.figures import curve
from bloatlab.studies.scte2013.readings import place
from bloatlab.studies.tables import medians_table
from bloatlab.tables import TextTable, number, row

#: The heading and number of digits of each measure's column.
HEADS: Mapping[str, tuple[str, int]] = toml("scte2013", "experiments.toml")["heads"]


def experiment_table(experiment: Experiment, runs: Runs) -> TextTable:
    """Makes a table of an experiment's medians over seeds. The hint of each cell shows the central 80 %."""
    rows = [
        ([f"{v:g}" if isinstance(v, float) else str(v) for v in at.values()], run) for at, run in experiment.places()
    ]
    columns = [(column, *HEADS[column]) for column in experiment.columns]
    heads = [axis.replace("_", " ") for axis in experiment.axes]
    return medians_table(
        f"{experiment.name}: {experiment.what}", runs, rows, columns, heads, DECLARED.text("experiment")
    )


def unknowns_table() -> TextTable:
    """Makes a table of the free parameters, left open by the paper and fixed by this study."""
    rows = [row(u.what, str(u.ours), u.why, ", ".join(map(str, u.others))) for u in UNKNOWNS]
    columns = ["what the paper leaves open", "ours", "why", "sensitivity runs"]
    return TextTable("Free parameters, one set for the whole study", columns, rows, left=4)


# -------------------------------------------------------------------------------------------------------------- answer

#: The buffer size that the answer compares, in ms of Tmax. It is also the size in the paper's CDF figures.
LARGE_MS = 960

#: The series, name and colour of each of the paper's types of buffer management, in the order used in the answer.
TYPES = (
    ("fig2", "tail-dropping (Type C)", style.COLOURS[1]),
    ("fig11", "LRED 200 ms (Type B)", style.COLOURS[3]),
    ("fig5", "SFQ (Type A)", style.COLOURS[0]),
    ("fig16", "SFQ and LRED 200 ms", style.COLOURS[2]),
)
NAMES = {series: name for series, name, _ in TYPES}

#: The answer also names a type of buffer management if its game latency is at most this share above that of the best
#: type.
CLEAR = 0.10

GAME, FTP, RATE, LOSS = "gamer_mean_ms", "ftp_mean_ms", "rate_mbit", "loss_percent"
Values = Mapping[tuple[str, str], float]


def answer(runs: Runs, seeds: int) -> Answer:
    """Determines from the runs how to manage a modem's buffer so that a game stays playable during uploads."""
    return DECLARED.answer(
        seeds,
        draw(runs),
        {(series, m): median_of(runs, place(series, LARGE_MS), m) for series in NAMES for m in (GAME, FTP, RATE, LOSS)},
        lambda of: _sentence(of, runs),
        lambda of: [_point(of, series) for series in NAMES],
    )


def _sentence(of: Values, runs: Runs) -> str:
    best = min(NAMES, key=lambda series: of[series, GAME])
    equal = [s for s in NAMES if s != best and of[s, GAME] <= (1.0 + CLEAR) * of[best, GAME]]
    also = f" (and {' and '.join(NAMES[s] for s in equal)} within {CLEAR:.0%} of it)" if equal else ""
    small, rate = (median_of(runs, place("fig2", BDP_MS), m) for m in (GAME, RATE))
    begin = DECLARED.text(
        "best",
        best=f"{NAMES[best]}{also}",
        buffer=LARGE_MS,
        game=number(of[best, GAME], 0),
        tail=number(of["fig2", GAME], 0),
        rate=number(of[best, RATE], 2),
        tmax=SERIES["fig2"].tmax_mbit,
        tail_rate=number(of["fig2", RATE], 2),
    )
    if small is None or rate is None:
        return begin
    return f"{begin} {DECLARED.text('small', buffer=BDP_MS, game=number(small, 0), rate=number(rate, 2))}"


def _point(of: Values, series: str) -> Point:
    ftp, rate, loss = number(of[series, FTP], 0), number(of[series, RATE], 2), number(of[series, LOSS], 1)
    text = f"for the game; uploads {ftp} ms; {rate} Mbit/s; {loss} % lost"
    return Point(NAMES[series], f"{number(of[series, GAME], 0)} ms", text)


def draw(runs: Runs) -> Drawn:
    """Draws the game's latency and the loss against buffer size, for each of `TYPES`, with the BDP marked."""

    def lines(measure: str) -> list[Series]:
        return [curve(runs, series, measure, name, colour) for series, name, colour in TYPES]

    return DECLARED.drawn("answer", lines(GAME), lines(LOSS))
