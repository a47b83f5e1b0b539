"""From a question to a recommendation: simulate what a device can be set to, and judge it.

done = recommend(up="10mbit", peak="20mbit", burst="10MB", rtt="20ms..200ms", device="docsis3.0", load="home")
done.best.option.words            # "drop-tail with 100 ms of buffer"
done.sentence                     # the same with its reason
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bloatlab.advice import catalogue
from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import AdviceError, Device, Discipline, Load, Objective, Wanted
from bloatlab.advice.line import Line
from bloatlab.advice.options import Option, option, options, today
from bloatlab.advice.score import Behind, Judged, Row, against_best, concerned, front, judged
from bloatlab.scenario import Scenario
from bloatlab.sweep import Executor, Grid, Store, Watch, gather, silent
from bloatlab.sweep.declared import SUMMARY

#: Seeds unless told otherwise, and the most.
SEEDS, MOST_SEEDS = 10, 1000

#: A tie may only be for want of seeds. Points on average within which tied options are called alike.
CLOSE = 5.0

#: Round trips that a single one is tried at when it is wrong.
WRONG = (0.25, 1.0, 4.0)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: of which line and device, under which load, wanting what, with how many seeds."""

    line: Line
    device: Device
    load: Load
    objective: Objective
    seeds: int = SEEDS

    @property
    def wanted(self) -> Sequence[Wanted]:
        """The measures that count here."""
        return concerned(self.objective, self.load)


@dataclass(frozen=True, slots=True)
class Guess:
    """An option whose buffer was made for one round trip (None: the recommended one), at the true round trips, s."""

    option: Option
    guess: float | None
    at: Mapping[float, Judged]


@dataclass(frozen=True)
class Recommendation:
    """The answer: every option judged, the best, how far the others are behind, and what a wrong round trip costs."""

    question: Question
    judged: Sequence[Judged]
    best: Judged
    others: Sequence[Behind]
    front: Sequence[Judged]
    guesses: Sequence[Guess]
    today: Judged | None
    runs: int
    found: int

    @property
    def tied(self) -> Sequence[Behind]:
        """What can be set and cannot be told from the best, or not so that somebody would notice."""
        return [b for b in self.others if not b.behind and b.judged.option.discipline.settable]

    @property
    def alike(self) -> Sequence[Behind]:
        """What of the tied is also close: within `CLOSE` points on average."""
        return [b for b in self.tied if b.by.mean <= CLOSE]

    @property
    def behind(self) -> Sequence[Behind]:
        """What the intervals separate from the best."""
        return [b for b in self.others if b.behind]

    @property
    def sentence(self) -> str:
        """The choice with its reason."""
        from bloatlab.advice.words import sentence  # noqa: PLC0415  which says what this is

        return sentence(self)

    def scenario(self, of: Judged | None = None, seed: int = 1) -> Scenario:
        """The scenario of an option (the recommended one) at the longest round trip."""
        q = self.question
        chosen = (of or self.best).option
        name = f"{q.device.name}, {chosen.name}"
        return line_of.build(q.line, q.device, q.load, chosen.queue, rtt=q.line.rtts[-1], seed=seed, name=name)


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
    seconds: float | None = None,
) -> Question:
    """The question in words, understood; nothing is run. Raises `AdviceError`, and `OSError` for a file."""
    if not 2 <= seeds <= MOST_SEEDS:
        raise AdviceError(f"--seeds {seeds}: is not within 2 and {MOST_SEEDS}; an interval needs two")
    found = catalogue.device(device)
    line = line_of.line(up, rtt, down, peak, burst)
    of = catalogue.load(load)
    if seconds is not None:
        of = _shorter(of, seconds)
    wanted = catalogue.objective(objective).weighted(weights or {})
    question = Question(line, found, of, wanted, seeds)
    today(found, line)
    for chosen in options(found, line):
        line_of.checked(line, found, of, chosen.queue)
    concerned(wanted, of)
    return question


def _shorter(of: Load, seconds: float) -> Load:
    """The same for another time; the warm-up keeps its share."""
    if not 1.0 <= seconds <= 36000.0:
        raise AdviceError(f"--seconds {seconds:g}: is not within 1 and 36000")
    return Load(of.name, of.words, of.apps, of.source, of.tcp, seconds, of.warm_up * seconds / of.seconds)


def recommend(
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
    seconds: float | None = None,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
) -> Recommendation:
    """What to set a device's buffer and queue to, by simulation.

    `up`, `down` (five times `up` unless given) and `peak` are rates, `burst` a size, `rtt` a round trip or a range of
    them ("20ms..200ms"); `device`, `load` and `objective` names or TOML files, `weights` those of the objective's
    measures by name; `seeds` how many, from 1; `seconds` the simulated time in place of the load's. docs/recommend.md
    says what there is. Without a `store` nothing is kept.

    Raises `AdviceError` for what cannot be asked, `OSError` for a file, and what `bloatlab.sweep.gather` raises.
    """
    question = asked(
        up=up,
        rtt=rtt,
        device=device,
        load=load,
        down=down,
        peak=peak,
        burst=burst,
        objective=objective,
        weights=weights,
        seeds=seeds,
        seconds=seconds,
    )
    return answered(question, store=store, jobs=jobs, executor=executor, watch=watch)


def answered(
    question: Question,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
) -> Recommendation:
    """The answer to a question that is understood. Raises what `bloatlab.sweep.gather` does."""
    line = question.line
    made = _Runs(question, store, jobs, executor, watch)
    all_options = options(question.device, line)
    wrong = _wrong(question)
    base = _plain(question.device)
    guessed = {rtt: option(base, max(3028, round(line.bdp(rtt))), line) for rtt in wrong}
    made.run([(o, r) for o in all_options for r in line.rtts] + [(o, r) for o in guessed.values() for r in wrong])
    all_ = [made.judged(o, line.rtts) for o in all_options]
    best, others = against_best(all_, question.objective)
    settable = [j for j in all_ if j.option.discipline.settable]
    made.run([(best.option, rtt) for rtt in wrong])
    rows: list[tuple[Option, float | None]] = [(o, rtt) for rtt, o in guessed.items()]
    if best.option not in guessed.values():
        rows.append((best.option, None))
    guesses = [Guess(o, rtt, {at: made.judged(o, [at]) for at in wrong}) for o, rtt in rows]
    return Recommendation(
        question,
        all_,
        best,
        others,
        front(settable, question.wanted),
        guesses,
        _today(question, all_),
        made.ran,
        made.found,
    )


def _plain(device: Device) -> Discipline:
    """What a buffer for one round trip is shown with: the discipline that is tried around the BDP, or drop-tail."""
    for fits in (lambda d: "around" in d.buffers, lambda d: "droptail" in d.queue):
        if found := next(filter(fits, device.disciplines), None):
            return found
    return device.disciplines[0]


def _wrong(question: Question) -> list[float]:
    """Round trips that a guess may be wrong by."""
    rtts = list(question.line.rtts)
    if len(rtts) > 1:
        return rtts
    return [min(max(rtts[0] * f, line_of.LEAST_RTT_S), line_of.MOST_RTT_S) for f in WRONG]


def _today(question: Question, all_: Sequence[Judged]) -> Judged | None:
    """What the device does where nobody has set anything: of its discipline the option with the nearest buffer."""
    discipline, size = today(question.device, question.line)
    same = [j for j in all_ if j.option.discipline is discipline]
    return min(same, key=lambda j: abs(j.option.size - size), default=None)


#: A discipline by name, bytes of buffer, a round trip in s.
_Place = tuple[str, int, float]


def _place(of: Option, rtt: float) -> _Place:
    return of.discipline.name, of.size, rtt


class _Runs:
    """Runs as they are needed: an option at a round trip, with every seed."""

    def __init__(
        self,
        question: Question,
        store: Store | None,
        jobs: int | None,
        executor: Executor | None,
        watch: Callable[[int], Watch],
    ) -> None:
        self._question, self._store, self._jobs, self._executor, self._watch = question, store, jobs, executor, watch
        self._rows: dict[_Place, list[Row]] = {}
        self.ran = self.found = 0

    def run(self, wanted: Sequence[tuple[Option, float]]) -> None:
        """What is not there yet."""
        missing = {place: o for o, rtt in wanted if (place := _place(o, rtt)) not in self._rows}
        if not missing:
            return
        q = self._question

        def build(*, place: _Place, seed: int) -> Scenario:
            return line_of.build(q.line, q.device, q.load, missing[place].queue, rtt=place[2], seed=seed)

        points = Grid({"place": list(missing)}, build, range(1, q.seeds + 1)).points()
        done = gather(
            points,
            SUMMARY,
            store=self._store,
            jobs=self._jobs,
            executor=self._executor,
            watch=self._watch(len(points)),
        )
        self.ran += done.ran
        self.found += done.found
        for at, rows in done.rows().items():
            self._rows[at["place"]] = list(rows)

    def judged(self, of: Option, rtts: Sequence[float]) -> Judged:
        """An option over some round trips that were run."""
        q = self._question
        return judged(of, {rtt: self._rows[_place(of, rtt)] for rtt in rtts}, q.objective, q.load, q.line)


__all__ = ["Guess", "Question", "Recommendation", "answered", "asked", "recommend"]
