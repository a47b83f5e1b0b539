"""The question: which line and device, under which load, for which objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bloatlab.advice import catalogue
from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import AdviceError, Device, Load, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option, options
from bloatlab.advice.race import budget
from bloatlab.advice.score import concerned
from bloatlab.scenario import Scenario, ScenarioError, problems

#: Number of seeds per setting: the default, the maximum, and the number for a quick look. `MOST_RUNS` is the maximum
#: number of runs.
SEEDS, MOST_SEEDS, QUICK_SEEDS, MOST_RUNS = 10, 1000, 1, 1_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a recommendation answers: a line, a device, a load and an objective.

    `seeds` is the maximum number of seeds per setting, `runs` the maximum number of runs to compare the settings. With
    `quick`, there is one seed and no verdict. `first` is the first seed.
    """

    line: Line
    device: Device
    load: Load
    objective: Objective
    seeds: int = SEEDS
    runs: int = 0
    quick: bool = False
    first: int = 1

    @property
    def wanted(self) -> Sequence[Wanted]:
        """The objective's measures with a weight above 0 that apply to the load."""
        return concerned(self.objective, self.load)

    def scenario(self, of: Option, seed: int = 1, name: str = "recommend") -> Scenario:
        """Returns the scenario for a setting at the longest round trip. Raises `ScenarioError`."""
        rtt = self.line.rtts[-1]
        return line_of.build(self.line, self.device, self.load, of.queues, rtt=rtt, seed=seed, name=name)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The question as written by the user: the options of the command line, and the arguments of `recommend`.

    Args:
        up: Upstream rate, such as 10mbit: a service flow's Maximum Sustained Traffic Rate, or a line's rate.
        rtt: Round-trip time of transfers, or a range or list of them: 50ms, 20ms..200ms, 20ms,100ms.
        device: docsis3.0, docsis3.1, linux, cake, or a device.toml; from the papers: cablelabs2012, scte2013-a,
            scte2013-c.
        load: home, office, gamer, a load.toml, or the applications of a scenario.toml; from the papers: cablelabs2012,
            scte2013.
        down: Downstream rate. Default: five times the upstream rate.
        peak: Peak Traffic Rate during a burst, such as 20mbit.
        burst: Maximum Traffic Burst, such as 10MB.
        objective: Goal: balanced, scte2013, or an objective.toml with thresholds and weights.
        seeds: Maximum number of seeds per setting. More seeds can distinguish settings with smaller differences.
            Default: 10.
        runs: Maximum number of runs to compare the settings. Default: 66, or 1.5 times settings times round-trip
            times if larger.
        quick: A quick look with one seed, without a recommendation.
        seconds: Simulated duration of each run, instead of the load's.
    """

    up: str
    rtt: str
    device: str
    load: str = "home"
    down: str | None = None
    peak: str | None = None
    burst: str | None = None
    objective: str = "balanced"
    seeds: int | None = None
    runs: int | None = None
    quick: bool = False
    seconds: float | None = None

    def question(self, weights: Mapping[str, float]) -> Question:
        """Reads the device, load and objective, checks all values, and makes the question from them.

        `weights` maps names of the objective's measures to weights that replace those in the file.

        Raises `AdviceError`, and `OSError` if a file cannot be read.
        """
        seeds = self._seeds()
        device, load = catalogue.device(self.device), catalogue.load(self.load)
        line = line_of.line(self.up, self.rtt, self.down, self.peak, self.burst)
        if device.link == "modem31":
            line = replace(line, carried=line_of.CARRIED31)
        if self.seconds is not None:
            if not 1.0 <= self.seconds <= 36000.0:
                raise AdviceError(f"--seconds {self.seconds:g}: is not between 1 and 36000")
            load = replace(load, seconds=self.seconds, warm_up=load.warm_up * self.seconds / load.seconds)
        objective = catalogue.objective(self.objective).weighted(weights)
        every = options(device, line)
        try:
            for chosen in every:
                line_of.build(line, device, load, chosen.queues, rtt=line.rtts[0], seed=1, name=load.name)
        except ScenarioError as error:
            raise AdviceError(problems(error)[0]) from None
        applying = [m.name for m in concerned(objective, load)]
        for name, weight in weights.items():
            if weight and name not in applying:
                why = f"{load.name} has no application for this measure; expected one of {', '.join(applying)}"
                raise AdviceError(f"weight {name}: load {why}")
        runs = self.runs or budget(len(every), len(line.rtts))
        return Question(line, device, load, objective, seeds, runs, self.quick)

    def _seeds(self) -> int:
        """Returns the maximum number of seeds per setting. Raises `AdviceError` for an invalid --seeds or --runs."""
        for name, given in (("seeds", self.seeds), ("runs", self.runs)):
            if self.quick and given is not None:
                raise AdviceError(
                    f"--{name} {given}: has no effect with --quick, which runs one seed; give one of them"
                )
        seeds = QUICK_SEEDS if self.quick else SEEDS if self.seeds is None else self.seeds
        if not self.quick and not 2 <= seeds <= MOST_SEEDS:
            raise AdviceError(f"--seeds {seeds}: is not between 2 and {MOST_SEEDS}; an interval needs two")
        if self.runs is not None and not 1 <= self.runs <= MOST_RUNS:
            raise AdviceError(f"--runs {self.runs}: is not between 1 and {MOST_RUNS}")
        return seeds


def asked(*, weights: Mapping[str, float] | None = None, **words: Any) -> Question:
    """Makes the question from the arguments of `recommend`; runs no simulation.

    Raises `AdviceError`, and `OSError` if a file cannot be read.
    """
    return Asked(**words).question(weights or {})
