"""From a question to a recommendation: simulate what a device can be set to, and judge it.

done = recommend(up="10mbit", peak="20mbit", burst="10MB", rtt="20ms..200ms", device="docsis3.0", load="home")
done.best.option.words            # "drop-tail with 100 ms of buffer"
done.sentence                     # the same with its reason
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bloatlab.advice import catalogue
from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import AdviceError, Device, Discipline, Load
from bloatlab.advice.options import Option, option, options, standards, today
from bloatlab.advice.question import MOST_SEEDS, QUICK_SEEDS, SEEDS, Question
from bloatlab.advice.race import Raced, budget, race
from bloatlab.advice.recommendation import Guess, Recommendation, alike
from bloatlab.advice.remedies import failed, remedies
from bloatlab.advice.runs import Runs
from bloatlab.advice.score import Judged, concerned, front
from bloatlab.sweep import Executor, Store, Watch, silent

#: Runs that may be asked for.
MOST_RUNS = 1_000_000


#: Round trips that a single one is tried at when it is wrong, and the seeds of that.
WRONG, WRONG_SEEDS = (0.25, 1.0, 4.0), 2


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
    """The question in words, understood; nothing is run. Raises `AdviceError`, and `OSError` for a file."""
    if not 2 <= seeds <= MOST_SEEDS:
        raise AdviceError(f"--seeds {seeds}: is not within 2 and {MOST_SEEDS}; an interval needs two")
    if runs is not None and not 1 <= runs <= MOST_RUNS:
        raise AdviceError(f"--runs {runs}: is not within 1 and {MOST_RUNS}")
    found = catalogue.device(device)
    line = line_of.line(up, rtt, down, peak, burst)
    of = catalogue.load(load)
    if seconds is not None:
        of = _shorter(of, seconds)
    wanted = catalogue.objective(objective).weighted(weights or {})
    today(found, line)
    standards(found, line)
    all_options = options(found, line)
    for chosen in all_options:
        line_of.checked(line, found, of, chosen.queues)
    concerned(wanted, of)
    most = runs or budget(len(all_options), len(line.rtts))
    return Question(line, found, of, wanted, QUICK_SEEDS if quick else seeds, most, quick)


def _shorter(of: Load, seconds: float) -> Load:
    """The same for another time; the warm-up keeps its share."""
    if not 1.0 <= seconds <= 36000.0:
        raise AdviceError(f"--seconds {seconds:g}: is not within 1 and 36000")
    return replace(of, seconds=seconds, warm_up=of.warm_up * seconds / of.seconds)


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
    runs: int | None = None,
    quick: bool = False,
    seconds: float | None = None,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
) -> Recommendation:
    """What to set a device's buffer and queue to, by simulation.

    `up`, `down` (five times `up` unless given) and `peak` are rates, `burst` a size, `rtt` a round trip or a range of
    them ("20ms..200ms"); `device`, `load` and `objective` names or TOML files, `weights` those of the objective's
    measures by name; `seeds` the most of an option, from 1; `runs` the most of the race; `quick` a look with one seed;
    `seconds` the simulated time in place of the load's. docs/recommend.md says what there is. Without a `store` nothing
    is kept.

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
        runs=runs,
        quick=quick,
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
    q, line = question, question.line
    made = Runs(store, jobs, executor, watch, q.first)
    all_options = options(q.device, line)

    def judge(left: Sequence[Option], seeds: int) -> dict[str, Judged]:
        made.run(q.line, q.device, q.load, [(o, rtt) for o in left for rtt in line.rtts], seeds)
        return {o.name: made.judged(q, o, line.rtts) for o in left}

    now = _nearest(all_options, *today(q.device, line))
    raced = race(all_options, judge, q.objective, rtts=len(line.rtts), seeds=q.seeds, runs=q.runs, kept=now)
    places = {id(o): n for n, o in enumerate(all_options)}
    all_ = sorted([raced.lead, *(c.judged for c in raced.others)], key=lambda j: places[id(j.option)])
    best = raced.lead if q.quick else preferred(q, raced)
    failing = failed(q.objective, q.wanted, all_, best)
    return Recommendation(
        q,
        all_,
        best,
        raced,
        front([j for j in all_ if j.option.discipline.settable], q.wanted),
        _guesses(q, made, best),
        next((j for j in all_ if j.option is now), None),
        failing,
        remedies(q, made, best) if failing and not q.quick else [],
        made.ran,
        made.found,
    )


def preferred(question: Question, raced: Raced) -> Judged:
    """What to set of what is alike: what the device has today, then what its standard names, then the same disciplines.

    Within these the one with the most points.
    """
    candidates = alike(raced)
    named = [today(question.device, question.line), *standards(question.device, question.line)]

    def rank(one: Judged) -> tuple[int, float]:
        exact = [n for n, (d, size) in enumerate(named) if one.option.discipline is d and one.option.size == size]
        same = [n for n, (d, _) in enumerate(named) if one.option.discipline is d]
        place = exact[0] if exact else len(named) + (same[0] if same else len(named))
        return place, -one.points.mean

    return min(candidates, key=rank)


def _guesses(question: Question, made: Runs, best: Judged) -> list[Guess]:
    """Buffers made for one round trip, and the chosen one, at each round trip that a guess may be wrong by."""
    q, wrong = question, _wrong(question)
    base = _plain(q.device)
    sized = {rtt: option(q.device, base, max(3028, round(q.line.bdp(rtt))), q.line) for rtt in wrong}
    rows: list[tuple[Option, float | None]] = [(o, rtt) for rtt, o in sized.items()]
    if best.option not in sized.values():
        rows.append((best.option, None))
    made.run(q.line, q.device, q.load, [(o, rtt) for o, _ in rows for rtt in wrong], min(WRONG_SEEDS, q.seeds))
    return [Guess(o, rtt, {at: made.judged(q, o, [at]) for at in wrong}) for o, rtt in rows]


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


def _nearest(all_: Sequence[Option], discipline: Discipline, size: int) -> Option | None:
    """The option of a discipline with the nearest buffer."""
    same = [o for o in all_ if o.discipline is discipline]
    return min(same, key=lambda o: abs(o.size - size), default=None)
