"""`bloatlab collisions`: the probability that sessions share a queue, exact and by Monte Carlo."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import Parameter, validators

from bloatlab import collisions
from bloatlab.cli.common import BadInput, fresh, writing
from bloatlab.cli.options import Output, TextCsvJson
from bloatlab.collisions import Share, Trials
from bloatlab.machines import session_queues
from bloatlab.plots import Panel, Series, figure, save_figure
from bloatlab.plots.style import PUBLISHED
from bloatlab.results import csv_text, json_text
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, emit, show

_Count = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=collisions.MOST))]


def command(
    *,
    groups: _Count = 64,
    ways: _Count = 4,
    sessions: str = "1..60",
    trials: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=100_000_000))] = 100_000,
    seed: Annotated[int, Parameter(name=["--seed", "-s"], validator=validators.Number(gte=0))] = 1,
    form: TextCsvJson = "text",
    output: Output = None,
    force: bool = False,
) -> int:
    """Compute the probability that sessions must share a queue under hashing with serial search.

    A hash chooses a group of queues, and each session takes an unused queue of its group. ARRIS 2013 proposes this
    (64 groups of 4 queues). It found no closed form for the probability, so its Figure 9 is from a simulation. This
    command has a closed form. Beside the exact probability, it prints those of ordinary hashing, into the same number
    of queues and into one queue per group. With --trials, it also prints those of a Monte Carlo experiment, with
    exact 95 % intervals, and of the classifier of the discipline sfq_hss with random 5-tuples. Probabilities are in
    percent as text, and from 0 to 1 in csv and json; json also has the exact fractions.

    Args:
        groups: Number of groups that the hash chooses from.
        ways: Queues per group; 1 is ordinary hashing.
        sessions: Numbers of sessions: 20, 1..60, or 5,20,35.
        trials: Number of Monte Carlo trials and of classifier trials; all numbers of sessions share them. 0: no trials.
        seed: Seed of the trials.
        output: Folder for Figures 8 and 9 of ARRIS 2013 (SVG and PNG).
        force: Replace existing figures in the folder.
    """
    try:
        numbers = collisions.sessions_of(sessions)
    except ValueError as error:
        raise BadInput(f"--sessions {error}") from None
    most = numbers[-1]
    queues = groups * ways
    if queues > collisions.MOST:
        raise BadInput(f"--groups {groups} --ways {ways}: {queues} queues; at most {collisions.MOST}")
    fresh(output, "fig8_ordinary_hashing.svg", "fig9_serial_search.svg", force=force)
    sampled: dict[str, Trials] = {}
    if trials:
        sampled["monte_carlo"] = collisions.monte_carlo(groups, ways, most, trials, seed=seed)
        sampled["classifier"] = _classified(groups, ways, most, trials, seed)
    exact = {
        "collision": collisions.collision(groups, ways, most),
        "hashing_queues": collisions.collision(queues, 1, most),
        "hashing_groups": collisions.collision(groups, 1, most),
    }
    rows = [_row(n, exact, groups, ways, sampled) for n in numbers]
    if output is not None:
        writing(output, lambda: _figures(output, rows, groups, ways))
    _print(rows, numbers, exact["collision"], form)
    console = Console(stderr=True)
    for name in sampled:
        inside = sum(row[f"{name}_low"] <= row["collision"] <= row[f"{name}_high"] for row in rows)
        console.say(
            f"{'Monte Carlo' if name == 'monte_carlo' else 'classifier of sfq_hss'}, {trials} trials: the exact "
            f"probability is inside the 95 % interval for {inside} of {len(rows)} numbers of sessions (all share the "
            "same trials)"
        )
    if output is not None:
        console.say(f"figures in {output}")
    return 0


def _classified(groups: int, ways: int, sessions: int, trials: int, seed: int) -> Trials:
    """Returns the shares of trials with collisions if the classifier of sfq_hss assigns random 5-tuples to queues."""
    counted = session_queues("sfq_hss", sessions, trials, seed=seed, groups=groups, ways=ways)
    some, first = ([0, *(entry[place] for entry in counted)] for place in (0, 2))
    return Trials(*([collisions.share_of(hits, trials) for hits in column] for column in (some, first)))


def _row(n: int, exact: dict[str, Any], groups: int, ways: int, sampled: dict[str, Trials]) -> dict[str, Any]:
    row: dict[str, Any] = {"sessions": n, "collision": float(exact["collision"][n])}
    for name, trials in sampled.items():
        row |= _share(name, trials.any_session[n])
    row["given_session"] = float(collisions.given_session(groups, ways, n))
    for name, trials in sampled.items():
        row |= _share(f"given_{name}", trials.first_session[n])
    row["hashing_queues"] = float(exact["hashing_queues"][n])
    row["hashing_queues_given"] = float(collisions.given_session(groups * ways, 1, n))
    row["hashing_groups"] = float(exact["hashing_groups"][n])
    return row


def _share(name: str, share: Share) -> dict[str, float]:
    return {name: share.share, f"{name}_low": share.low, f"{name}_high": share.high}


def _print(rows: Sequence[dict[str, Any]], numbers: Sequence[int], exact: Sequence[Any], form: str) -> None:
    match form:
        case "csv":
            emit(csv_text(pl.DataFrame(rows)))
        case "json":
            given = [of | {"collision_exact": str(exact[n])} for n, of in zip(numbers, rows, strict=True)]
            emit(json_text(given))
        case _:
            names = [name for name in _HEADS if name in rows[0]]
            cells = [row(*(_cell(of, name) for name in names)) for of in rows]
            show(TextTable("", [_HEADS[name] for name in names], cells), Console())


_HEADS = {
    "sessions": "sessions",
    "collision": "collision\n%",
    "monte_carlo": "Monte Carlo\n(95 % interval)",
    "classifier": "classifier\n(95 % interval)",
    "given_session": "of a given\nsession %",
    "given_classifier": "classifier\n(95 % interval)",
    "hashing_queues": "hashing,\nall queues",
    "hashing_queues_given": "a given\nsession",
    "hashing_groups": "hashing,\ngroups",
}


def _cell(row: dict[str, Any], name: str) -> str:
    if name == "sessions":
        return str(row[name])
    if f"{name}_low" in row:
        middle, low, high = (100.0 * row[f"{name}{end}"] for end in ("", "_low", "_high"))
        return f"{middle:.4g} ({low:.3g}..{high:.3g})"
    return f"{100.0 * row[name]:.3f}" if name.startswith("hashing") else percent(row[name])


def percent(chance: float) -> str:
    """Formats a probability in percent: five decimals, or six significant digits if it is small."""
    value = 100.0 * chance
    return f"{value:.5f}" if value >= 0.001 or value == 0.0 else f"{value:.6g}"


def _figures(folder: Path, rows: Sequence[dict[str, Any]], groups: int, ways: int) -> None:
    """Draws Figures 8 and 9 of ARRIS 2013: the probability of a collision against the number of sessions.

    Figure 8 shows ordinary hashing. Figure 9 compares it with serial search: one panel has the probability that any two
    sessions share a queue, the other the probability that a given session is in a group with too few queues.
    """
    folder.mkdir(parents=True, exist_ok=True)
    queues = groups * ways

    def line(label: str, key: str, kind: Literal["line", "points"] = "line") -> Series:
        there = [row for row in rows if row[key] > 0.0]  # zero cannot be drawn on a logarithmic scale
        return Series(label, [row["sessions"] for row in there], [100.0 * row[key] for row in there], kind)

    def published(*points: tuple[float, float]) -> list[Series]:
        x, y = zip(*points, strict=True)
        paper = (groups, ways) == (64, 4)
        return [Series("ARRIS 2013, text", x, y, "points", PUBLISHED)] if paper else []

    chance = "probability of a collision (%)"
    title = f"Ordinary hashing into {queues} queues"
    ordinary = [line("exact", "hashing_queues"), *published((10, 16.0), (20, 50.0))]
    plain = Panel(title, "sessions", chance, ordinary, y_range=(0.0, 100.0))
    save_figure(figure([plain], columns=1, size=(6.0, 3.2)), folder / "fig8_ordinary_hashing")
    some = [
        line(f"hashing into {queues} queues", "hashing_queues"),
        line(f"hashing into {groups}", "hashing_groups"),
        line(f"{groups} groups of {ways}, serial search", "collision"),
    ]
    if "monte_carlo" in rows[0]:
        some += [line("Monte Carlo", "monte_carlo", "points"), line("classifier", "classifier", "points")]
    some += published((20, 0.05), (35, 1.0))
    given = [line(f"hashing into {queues} queues", "hashing_queues_given"), line("serial search", "given_session")]
    panels = [
        Panel("Any two sessions", "sessions", chance, some, y_range=(1e-3, 150.0), log_y=True),
        Panel(
            "A given session",
            "sessions",
            "chance of being in a collision (%)",
            given,
            y_range=(1e-3, 150.0),
            log_y=True,
        ),
    ]
    save_figure(figure(panels, columns=2, size=(5.0, 3.4)), folder / "fig9_serial_search")
