"""The question: which line and device, under which load, for which objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bloatlab.advice import catalogue
from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import AdviceError, Device, Load, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.options import options, standards, today
from bloatlab.advice.race import budget
from bloatlab.advice.score import concerned
from bloatlab.scenario import ScenarioError, problems

#: Seeds per option: by default, at most, and with `quick`. Largest number of runs.
SEEDS, MOST_SEEDS, QUICK_SEEDS, MOST_RUNS = 10, 1000, 1, 1_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """A line and a device, a load and an objective.

    `seeds` is the limit per option, `runs` the limit of the race. A `quick` look has one seed and no verdict. `first`
    is the first seed.
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
        """The measures that count here."""
        return concerned(self.objective, self.load)


def asked(
    *,
    up: str,
    rtt: str,
    device: str,
    load: str = "home",
    down: str | None = None,
    peak: str | None = None,
    burst: str | None = None,
    objective: str = "balanced",
    weights: Mapping[str, float] | None = None,
    seeds: int = SEEDS,
    runs: int | None = None,
    quick: bool = False,
    seconds: float | None = None,
) -> Question:
    """Parses a question, without running anything. Raises `AdviceError`, and `OSError` for a file."""
    if not 2 <= seeds <= MOST_SEEDS:
        raise AdviceError(f"--seeds {seeds}: is not within 2 and {MOST_SEEDS}; an interval needs two")
    if runs is not None and not 1 <= runs <= MOST_RUNS:
        raise AdviceError(f"--runs {runs}: is not within 1 and {MOST_RUNS}")
    found, of = catalogue.device(device), catalogue.load(load)
    line = line_of.line(up, rtt, down, peak, burst)
    if seconds is not None:
        if not 1.0 <= seconds <= 36000.0:
            raise AdviceError(f"--seconds {seconds:g}: is not within 1 and 36000")
        of = replace(of, seconds=seconds, warm_up=of.warm_up * seconds / of.seconds)
    wanted = catalogue.objective(objective).weighted(weights or {})
    today(found, line)
    standards(found, line)
    every = options(found, line)
    try:
        for chosen in every:
            line_of.build(line, found, of, chosen.queues, rtt=line.rtts[0], seed=1, name=of.name)
    except ScenarioError as error:
        raise AdviceError(problems(error)[0]) from None
    concerned(wanted, of)
    most = runs or budget(len(every), len(line.rtts))
    return Question(line, found, of, wanted, QUICK_SEEDS if quick else seeds, most, quick)
