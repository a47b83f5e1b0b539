"""From a question to a recommendation: simulates the settings of a device and compares them.

done = recommend(up="10mbit", peak="20mbit", burst="10MB", rtt="20ms..200ms", device="docsis3.0", load="home")
done.best.option.words            # "drop-tail with 50 ms of buffer"
done.sentence                     # the setting, compared with today's
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Signature, signature
from typing import Any

from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import Device, Discipline
from bloatlab.advice.options import Option, least, option, options, standards, today
from bloatlab.advice.question import Asked, Question, asked
from bloatlab.advice.race import KEPT_SEEDS, Raced, race
from bloatlab.advice.recommendation import Guess, Recommendation, alike
from bloatlab.advice.remarks import without_downloads
from bloatlab.advice.remedies import fails, hopeless, in_front, remedies
from bloatlab.advice.runs import Runs
from bloatlab.advice.score import Judged, front
from bloatlab.sweep import Executor, Store, Watch, silent

#: The cost of a wrong round trip is simulated at each round trip that the user gave. If the user gave only one, the
#: cost is simulated at the products of this round trip and each number in `WRONG`, limited to the valid range. Each
#: setting gets `WRONG_SEEDS` seeds (one in a quick look), or as many as the race has already given it, if that is more.
WRONG, WRONG_SEEDS = (0.25, 1.0, 4.0), 2


def recommend(
    *,
    weights: Mapping[str, float] | None = None,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
    **words: Any,
) -> Recommendation:
    """Recommends a device's buffer and queue discipline, by simulation.

    `words` are the fields of `Asked`; `up`, `rtt` and `device` are required. `weights` maps names of
    the objective's measures to their new weights. Without a `store`, no runs are kept.

    Raises `AdviceError` for an invalid question, `OSError` if a file cannot be read, and the errors of
    `bloatlab.sweep.gather`.
    """
    question = asked(weights=weights, **words)
    return answered(question, store=store, jobs=jobs, executor=executor, watch=watch)


# replace the parameter `words` in the signature by the fields of `Asked`, so that help() and notebooks show them
_parts = [signature(of).parameters.values() for of in (Asked, recommend)]
recommend.__signature__ = Signature([p for part in _parts for p in part if p.name != "words"])  # pyright: ignore[reportFunctionMemberAccess]


def answered(
    question: Question,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int], Watch] = lambda _runs: silent(),
) -> Recommendation:
    """Answers a question. Raises the errors of `bloatlab.sweep.gather`."""
    q, line = question, question.line
    made = Runs(store, jobs, executor, watch, q.first)
    every = options(q.device, line)

    def judge(left: Sequence[Option], seeds: int) -> dict[str, Judged]:
        made.run(q.line, q.device, q.load, [(o, rtt) for o in left for rtt in line.rtts], seeds)
        return {o.name: made.judged(q, o, line.rtts) for o in left}

    default, size = today(q.device, line)
    now = next(o for o in every if o.discipline is default and o.size == size)
    raced = race(every, judge, q.objective, rtts=len(line.rtts), seeds=q.seeds, runs=q.runs, kept=now)
    places = {id(o): n for n, o in enumerate(every)}
    all_ = sorted([raced.lead, *(c.judged for c in raced.others)], key=lambda j: places[id(j.option)])
    bad = hopeless(q.objective, q.wanted, all_)
    best = raced.lead if q.quick else preferred(q, raced, hopeless=bad)
    failing = fails(q.objective, q.wanted, best) if bad else []
    guesses = _guesses(q, made, best)
    todays = next(j for j in all_ if j.option is now)
    without, router, apart = None, None, Runs(store, jobs, executor, watch, q.first)
    if not q.quick:
        without = _without_downloads(q, apart, todays, best)
        router = None if failing else in_front(q, made)
    return Recommendation(
        q,
        all_,
        best,
        raced,
        front([j for j in all_ if j.option.discipline.settable], q.wanted),
        guesses,
        todays,
        failing,
        remedies(q, made, best) if failing and not q.quick else [],
        made.ran + apart.ran,
        made.found + apart.found,
        without,
        router,
    )


def preferred(question: Question, raced: Raced, *, hopeless: bool = False) -> Judged:
    """Returns the setting to choose among the settings that are about as good as the leader (see `alike`).

    The device's default is preferred, then the settings named by its standards, then the same disciplines with other
    buffer sizes, then all other disciplines. Of two settings with the same preference, the one with more points wins.
    """
    named = [today(question.device, question.line), *standards(question.device, question.line)]

    def rank(one: Judged) -> tuple[int, float]:
        exact = [n for n, (d, size) in enumerate(named) if one.option.discipline is d and one.option.size == size]
        same = [n for n, (d, _) in enumerate(named) if one.option.discipline is d]
        place = exact[0] if exact else len(named) + (same[0] if same else len(named))
        return place, -one.points.mean

    return min(alike(raced, hopeless=hopeless), key=rank)


def _without_downloads(q: Question, made: Runs, now: Judged, best: Judged) -> Judged | None:
    """Simulates today's setting without the load's downloads.

    Returns None unless today's setting has an AQM Latency Target and the choice has none.
    """
    less = without_downloads(q.load)
    aqm = [one.option.discipline.aqm_target_ms is not None for one in (now, best)]
    if less is None or aqm != [True, False]:
        return None
    made.run(q.line, q.device, less, [(now.option, rtt) for rtt in q.line.rtts], min(KEPT_SEEDS, q.seeds))
    return made.judged(replace(q, load=less), now.option, q.line.rtts)


def _guesses(q: Question, made: Runs, best: Judged) -> list[Guess]:
    """Simulates what a wrong guess of the round trip costs.

    For each possible round trip, there is a setting whose buffer is one BDP at this round trip. Each of these settings
    and the chosen setting are simulated at every possible round trip.
    """
    rtts = list(q.line.rtts)
    if len(rtts) == 1:
        rtts = [min(max(rtts[0] * f, line_of.LEAST_RTT_S), line_of.MOST_RTT_S) for f in WRONG]
    base = _plain(q.device)
    sized = {rtt: option(q.device, base, least(q.line.bdp(rtt), q.line, base), q.line) for rtt in rtts}
    rows: list[tuple[Option, float | None]] = [(o, rtt) for rtt, o in sized.items()]
    if best.option not in sized.values():
        rows.append((best.option, None))
    made.run(q.line, q.device, q.load, [(o, rtt) for o, _ in rows for rtt in rtts], min(WRONG_SEEDS, q.seeds))
    return [Guess(o, rtt, {at: made.judged(q, o, [at]) for at in rtts}) for o, rtt in rows]


def _plain(device: Device) -> Discipline:
    """Returns the discipline for buffers sized for one round trip.

    This is the first discipline with "around" in its `buffers`; otherwise drop-tail; otherwise the first discipline.
    """
    for fits in (lambda d: "around" in d.buffers, lambda d: "droptail" in d.queue):
        if found := next(filter(fits, device.disciplines), None):
            return found
    return device.disciplines[0]
