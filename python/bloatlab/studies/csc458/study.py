"""The study as one command: run the cases (on kernels, too, if asked), compare, draw, bind.

`kit.bind` says what it leaves in its folder; with --live also live/CASE/, as `bloatlab live` leaves each run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from bloatlab import live
from bloatlab.results import save
from bloatlab.scenario import Scenario, from_dict
from bloatlab.simulation import Result
from bloatlab.studies.claims import check_all
from bloatlab.studies.csc458 import figures
from bloatlab.studies.csc458.build import JITTER_SECONDS, Case, Lab, build, cases, experiment_cases, live_cases
from bloatlab.studies.csc458.claims import CLAIMS
from bloatlab.studies.csc458.measure import Measures, measure, series
from bloatlab.studies.csc458.page import Live, Reproduction, page
from bloatlab.studies.csc458.scorecard import NIC, in_second_reading, scorecard
from bloatlab.studies.folder import file_name
from bloatlab.studies.kit import begin, bind, by_case, of_first_seed, scenarios_of, simulate
from bloatlab.studies.registry import Options
from bloatlab.sweep import At, Gathered, Measure

QUICK_SECONDS = 20
QUICK_SEEDS = 2

#: Seeds of an experiment without published values.
EXPERIMENT_SEEDS = 3

QUICK_WARNING = (
    f"A quick look: {QUICK_SECONDS} s instead of {Lab().seconds} s and {QUICK_SEEDS} seeds. A window at Q = 100 takes longer "
    "than that from one loss to the next, so no agreement or difference here proves anything."
)

_Runs = dict[str, list[Measures]]


def reproduce(options: Options) -> Reproduction:
    """Run the cases, compare, and write the folder `options.out`; with `options.live` on kernels, too.

    Raises `KeyError` for an unknown experiment, before anything runs.
    """
    asked = {name: experiment_cases(name) for name in options.experiments}
    lab = Lab(seconds=QUICK_SECONDS) if options.quick else Lab()
    begun = begin(options, "csc458", f"{len(cases())} cases of {lab.seconds} s", QUICK_SEEDS, QUICK_WARNING)
    gathered = _simulate([*cases(), NIC], lab, begun.seeds, options, "all cases")
    runs: _Runs = by_case(gathered)
    long = lab if options.quick else replace(lab, seconds=JITTER_SECONDS)
    few = begun.few(EXPERIMENT_SEEDS)
    extra = {name: _simulate(given, long, few, options, name) for name, given in asked.items()}
    kernels = _on_kernels(lab, options) if options.live else None
    done = Reproduction(
        scorecard=scorecard(runs, begun.proves_nothing),
        claims=check_all(CLAIMS, runs),
        second_reading=check_all(CLAIMS, in_second_reading(runs)),
        simulated=runs,
        live=kernels,
        experiments={name: by_case(ran) for name, ran in extra.items()},
        **begun.taken(gathered, *extra.values()),
    )
    _write(done, gathered)
    return done


def _reduced(result: Result) -> Measures:
    """One run's measures; the network card of equation (1) has only a wait."""
    if result.scenario.name == NIC:
        return {"wait_max_s": result.summary["links"][NIC]["sojourn_ms"]["max"] / 1e3}
    return measure(result)


def _kept(result: Result) -> Mapping[str, pl.DataFrame]:
    """Of the first seed of the cases that figures draw, the series that they draw; of the others nothing."""
    drawn = {f"csc458 {case.key}" for case in figures.needed()}
    return series(result) if result.seed == 1 and result.scenario.name in drawn else {}


MEASURE = Measure("csc458", _reduced, _kept)


def _simulate(given: Sequence[Case | str], lab: Lab, seeds: range, options: Options, what: str) -> Gathered[At]:
    def scenario(case: Case | str, seed: int) -> Scenario:
        return network_card(seed) if isinstance(case, str) else build(case, seed, lab)

    return simulate(given, scenario, seeds, MEASURE, options, what)


def network_card(seed: int) -> Scenario:
    """Equation (1): 1000 packets of 1500 bytes behind a link of 100 Mbit/s, filled by datagrams at twice that."""
    link = {"from": "h1", "to": "net", "rate": "100mbit", "queue": {"droptail": {"limit": "1000p"}}}
    flood = {"from": "h1", "to": ["net"], "traffic": {"cbr": {"rate": "200mbit", "size": "1500B"}}}
    back = {"from": "net", "to": "h1"}
    data: Any = {
        "name": NIC,
        "seed": seed,
        "duration": "1s",
        "link": {NIC: link, "back": back},
        "start_spread": "0s",  # the study has its own
        "app": {"flood": flood},
    }
    return from_dict(data, source=NIC)


def _on_kernels(lab: Lab, options: Options) -> Live:
    """Each live case once, one after another; every result kept. Raises `live.LiveError` where there is no bench."""
    measures: dict[str, Measures] = {}
    invalid: dict[str, str] = {}
    live.clean()
    for place, case in enumerate(live_cases(), start=1):
        begun = time.perf_counter()
        result = live.run(build(case, 1, lab))
        save(result, options.out / "live" / file_name(case.key), seconds=time.perf_counter() - begun)
        measures[case.key] = measure(result)
        facts = result.summary["live"]
        if not facts["valid"]:
            invalid[case.key] = str(facts["invalid_because"])
        verdict = "invalid" if case.key in invalid else "valid"
        options.console.print(f"live {place} of {len(live_cases())}  {case.key}  {verdict}", highlight=False)
    return Live(measures, invalid)


def _write(done: Reproduction, gathered: Gathered[At]) -> None:
    """The study's folder."""
    first = of_first_seed(gathered)
    drawings = figures.draw({key: frames for key, (_, frames) in first.items() if frames})
    bind(done, page(done, drawings), drawings, gathered.frame(), scenarios_of(gathered))
