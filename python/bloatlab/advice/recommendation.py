"""A recommendation, and its description in words: the question, the choice, the reason, and how certain it is."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bloatlab.advice.catalogue import Wanted
from bloatlab.advice.line import UP
from bloatlab.advice.options import Option, standards, today
from bloatlab.advice.question import Question
from bloatlab.advice.race import Compared, Raced, Verdict
from bloatlab.advice.remedies import Remedy
from bloatlab.advice.score import Judged, Value
from bloatlab.scenario import Scenario
from bloatlab.statistics import Interval
from bloatlab.tables import counted, listed, number

#: A setting that the race did not separate from the leader may be chosen if its mean is at most this many points lower.
#: If no setting is good enough, this does not apply: the leader then has few points, and 5 are a large share.
CLOSE = 5.0

#: Minimum number of seeds for which tables, charts and files have an interval. With two seeds, the interval would be
#: about a dozen times as wide as the difference between the two values.
FEW_SEEDS = 3

#: The ends of the scale of points, at which intervals are clipped.
POINTS = (0.0, 100.0)


@dataclass(frozen=True, slots=True)
class Guess:
    """A setting whose buffer is sized for a guessed round trip, and its results if the true round trip differs.

    `guess` is the guessed round trip in s; None for the recommended setting, unless that is one of the settings sized
    for a guess. `at` maps each possible true round trip (in s) to the setting's result there.
    """

    option: Option
    guess: float | None
    at: Mapping[float, Judged]


@dataclass(frozen=True)
class Recommendation:
    """The answer to a question: the choice, and the results of all simulated settings.

    `judged` holds every setting with its points. `raced` is the outcome of comparing the settings with the leader.
    `best` is the setting to choose: the leader, or a setting that is about as good and closer to the device's default
    or its standards (see `preferred`). `front` lists the available settings on the Pareto front. `guesses` holds the
    cost of a wrong round trip.

    If every available setting scores below the objective's `floor` in some application's measure, `failing` lists these
    measures for the choice, and `remedies` the changes outside the device that were simulated.

    `without` is today's setting without the load's downloads, if today's setting has an AQM Latency Target and the
    choice has none. `router` is fq_codel in a router in front, if the device is a modem on which CoDel cannot be set
    and `failing` is empty. A quick look has no `remedies`, `without` and `router`. `runs` counts the simulated runs,
    `found` those taken from the store.
    """

    question: Question
    judged: Sequence[Judged]
    best: Judged
    raced: Raced
    front: Sequence[Judged]
    guesses: Sequence[Guess]
    today: Judged
    failing: Sequence[Wanted]
    remedies: Sequence[Remedy]
    runs: int
    found: int
    without: Judged | None = None
    router: Judged | None = None

    @property
    def lead(self) -> Judged:
        """The available setting with the most points among those still compared in the last round of the race."""
        return self.raced.lead

    @property
    def others(self) -> Sequence[Compared]:
        """All settings except the leader, nearest first."""
        return self.raced.others

    @property
    def tied(self) -> Sequence[Compared]:
        """The available settings whose difference from the leader is known to be too small to notice."""
        return self._with("tied")

    @property
    def open(self) -> Sequence[Compared]:
        """The available settings left undecided by the race: neither clearly worse than the leader nor tied with it."""
        return self._with("not separated")

    @property
    def behind(self) -> Sequence[Compared]:
        """The available settings that are known to be worse than the leader."""
        return self._with("behind")

    def _with(self, verdict: Verdict) -> list[Compared]:
        return [c for c in self.others if c.verdict == verdict and c.judged.option.discipline.settable]

    @property
    def sentence(self) -> str:
        """The choice, and how its measures compare with today's setting."""
        return answer_sentence(self)

    @property
    def chosen_words(self) -> str:
        """The label of the choice in tables: "recommended", "leading" or "least bad"."""
        return "leading" if self.question.quick else "least bad" if self.failing else "recommended"

    def scenario(self, of: Judged | None = None, seed: int = 1) -> Scenario:
        """Returns the scenario for a setting (by default the choice) at the longest round trip."""
        chosen = (of or self.best).option
        return self.question.scenario(chosen, seed, f"{self.question.device.name}, {chosen.name}")


def alike(raced: Raced, *, hopeless: bool) -> list[Judged]:
    """Returns the leader and all available settings that may be chosen instead of it.

    These are the settings tied with the leader, and those that the race did not separate from it and whose mean is at
    most `CLOSE` points lower. If no available setting is good enough (`hopeless`), only the tied settings qualify.
    """
    close = [
        c.judged
        for c in raced.others
        if c.judged.option.discipline.settable
        and (c.verdict == "tied" or (not hopeless and c.verdict == "not separated" and c.by.mean <= CLOSE))
    ]
    return [raced.lead, *close]


def asked_words(of: Question) -> str:
    """Describes the question in words: device, line, load."""
    line, burst = of.line, ""
    if line.peak and line.burst:
        size = f"{line.burst / 1e6:g} MB" if line.burst >= 1e6 else f"{line.burst / 1e3:g} kB"
        burst = f", {line.peak / 1e6:g} Mbit/s while a burst of {size} lasts"
    trips = "a round trip" if len(line.rtts) == 1 else "round trips"
    rtts = listed([f"{rtt * 1e3:g}" for rtt in line.rtts])
    return f"{of.device.words}, {line.up / 1e6:g} Mbit/s up{burst}; {trips} of {rtts} ms; {of.load.words}"


def answer_sentence(of: Recommendation) -> str:
    """Returns the sentences that say which setting to choose and how its measures compare with today's setting.

    For a quick look, they only name the leader.
    """
    best, now, wanted = of.best, of.today, of.question.wanted
    if of.question.quick:
        return (
            f"A first look, with one seed per round trip and no verdict: {of.lead.option.words} leads with "
            f"{number(of.lead.points.mean, 1)} points of 100. Run it without --quick for an answer."
        )
    size = f": {number(best.option.size, 0)} bytes" if best.option.counts_bytes else ""
    chosen = f"{best.option.words}{size}"
    if now is best:
        measures = ", ".join(_measure(m, best.values[m.name]) for m in wanted)
        words, todays = f"Keep {chosen}.", "That is today's setting."
    else:
        measures = "; ".join(_beside(m, best.values[m.name], now.values[m.name]) for m in wanted)
        words, todays = f"Set {chosen}.", f"Today's setting is {now.option.words}."
    if of.failing:
        bad = ", ".join(_measure(m, best.values[m.name]) for m in of.failing)
        words = f"No setting of this device is good enough: {bad} even with {chosen}."
    return f"{words} {todays} {_capital(measures)}."


def sure(of: Recommendation) -> list[str]:
    """Describes how certain the choice is.

    Describes the remedies, and names the leader if it is not chosen, the nearest setting that is behind, the tied and
    undecided settings, and those not available. For a quick look, only counts the settings that are behind, and names
    the undecided ones.
    """
    behind = of.behind
    if of.question.quick:
        are = f"{counted(len(behind), 'setting')} {'is' if len(behind) == 1 else 'are'}" if behind else "no setting is"
        near = f" Undecided: {grouped(c.judged for c in of.open)}." if of.open else ""
        return [f"So far, {are} clearly worse.{near}"]
    settable = len([j for j in of.judged if j.option.discipline.settable])
    found = [_remedy(of, remedy) for remedy in of.remedies]
    if of.best is not of.lead:
        found.append(_kept(of))
    leader = "the chosen setting" if of.best is of.lead else "the leader"
    if behind:
        found.append(_behind(of, leader, settable))
    if tied := [c.judged for c in of.tied if c.judged is not of.best]:
        noticed = number(of.question.objective.noticed, 1)
        found.append(f"Tied with {leader}, because they differ by less than {noticed} points: {grouped(tied)}.")
    if open_ := [c.judged for c in of.open if c.judged is not of.best]:
        found.append(f"Undecided whether as good as {leader}: {grouped(open_)}. {_ended(of)}")
    if settable == 1:
        found.append("The device has no other setting.")
    return [*found, *_not_available(of)]


def _behind(of: Recommendation, leader: str, settable: int) -> str:
    """Says how many settings are clearly worse than the leader, and by how many points the nearest trails it."""
    behind, comparisons = of.behind, len(of.others)
    first = behind[0]
    nearest = ": " if len(behind) == 1 else "; the nearest is "
    are = f"{len(behind)} of the {settable} available settings {'is' if len(behind) == 1 else 'are'} clearly worse"
    many = f", widened because there are {comparisons} comparisons" if comparisons > 1 else ""
    return (
        f"{are} than {leader}{nearest}{first.judged.option.name}, {number(first.by.mean, 1)} points behind (95 % "
        f"interval {number(first.by.low, 1)} to {number(first.by.high, 1)}{many})."
    )


def _ended(of: Recommendation) -> str:
    """Says why the race ended, and how to continue it."""
    seeds, runs, more = counted(of.raced.rounds, "seed"), of.question.runs, of.raced.another
    if of.raced.end == "seeds":
        return f"All {seeds} are used; --seeds {2 * of.question.seeds} --runs {max(4 * runs, more)} continues."
    return (
        f"Another round would exceed the limit of {counted(runs, 'run')}, so the race ended with {seeds}; "
        f"--runs {max(2 * runs, more)} continues."
    )


def _kept(of: Recommendation) -> str:
    """Explains why the choice is not the leader."""
    q, best, lead = of.question, of.best, of.lead
    verdict = next(c.verdict for c in of.others if c.judged is best)
    how = "too small to notice" if verdict == "tied" else "not certain yet"
    named = [(d, size) == (best.option.discipline, best.option.size) for d, size in standards(q.device, q.line)]
    if best is of.today:
        why = "it is today's setting"
    elif any(named):
        why = "the device's standard names it"
    elif best.option.discipline is today(q.device, q.line)[0]:
        why = "the device has this discipline today"
    else:
        why = "the device's standard names this discipline"
    return (
        f"The leader (the available setting with the most points) is {lead.option.name}, with "
        f"{number(lead.points.mean, 1)} points of 100. {best.option.name} ({number(best.points.mean, 1)} points) is "
        f"chosen instead, because {why} and the difference between the two is {how}."
    )


def _not_available(of: Recommendation) -> Iterator[str]:
    """Yields a sentence about the result of each setting that is not available on the device."""
    for other in of.others:
        option, by = other.judged.option, other.by
        if not option.discipline.settable:
            by_points = f"{number(abs(by.mean), 1)} points {'better' if by.mean < 0.0 else 'worse'}"
            would = "seems equally good"
            if by.high < 0.0 or by.low > 0.0:
                would = f"would be {by_points}"
            elif abs(by.mean) >= of.question.objective.noticed:
                would = f"seems {by_points} (not certain with {counted(by.n, 'seed')})"
            yield f"{option.words} {would}, but is not available on this device: {option.discipline.note}."


def _remedy(of: Recommendation, remedy: Remedy) -> str:
    """Describes the effect of a remedy on the measures that fail."""
    values = ", ".join(_measure(m, remedy.judged.values[m.name]) for m in of.failing)
    verb = "is not enough either" if any(m in remedy.failing for m in of.failing) else "would help"
    return f"{_capital(remedy.words)} {verb}: {values} ({counted(remedy.judged.points.n, 'seed')})."


def grouped(all_: Iterable[Judged]) -> str:
    """Lists settings by discipline: "droptail 40 ms, 63 ms; codel 1 s"."""
    by: dict[str, list[str]] = {}
    for one in all_:
        name = one.option.discipline.name
        by.setdefault(name, []).append(one.option.name.removeprefix(f"{name} "))
    return "; ".join(f"{name} {', '.join(sizes)}" for name, sizes in by.items())


def wrong(of: Recommendation) -> list[str]:
    """Describes the cost of a buffer sized for one round trip if the true round trip is different."""
    made = [(g.guess, g) for g in of.guesses if g.guess is not None]
    (short, low), (long_, high) = made[0], made[-1]
    if short == long_:
        return []
    share = share_of(of.question)
    lost, right = low.at[long_], high.at[long_]
    cost = f"this setting has {number(lost.points.mean, 1)} points instead of the {number(right.points.mean, 1)}"
    if share is not None:
        carried, could = (_with_unit(share, j.values[share.name]) for j in (lost, right))
        cost = f"the line carries {carried} instead of the {could}"
    waited = f"{number(high.at[short].queue_ms, 0)} ms (p99) instead of {number(low.at[short].queue_ms, 0)} ms"
    shorter, longer = f"{short * 1e3:g} ms", f"{long_ * 1e3:g} ms"
    made_for = f"If you size the buffer for a round trip of {shorter} ({low.option.name})"
    found = [
        f"{made_for} but it is {longer}, {cost} of a buffer sized for {longer}.",
        f"If you size it for {longer} ({high.option.name}) but the round trip is {shorter}, packets wait {waited}.",
    ]
    for chosen in (g for g in of.guesses if g.guess is None):
        points = [j.points.mean for j in chosen.at.values()]
        ends = f"{number(min(points), 1)} to {number(max(points), 1)}"
        found.append(f"The {of.chosen_words} setting has {ends} points over these round trips.")
    return found


def share_of(of: Question) -> Wanted | None:
    """Returns the measure for upstream line use, if the objective includes it."""
    return next((m for m in of.wanted if m.value == "share_percent" and m.direction == UP), None)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _measure(m: Wanted, value: Value) -> str:
    return f"{m.words} {_with_unit(m, value)}"


def _beside(m: Wanted, ours: Value, theirs: Value) -> str:
    """Compares a measure of the chosen setting with the same measure of today's setting, in words."""
    mine, today = _with_unit(m, ours), _with_unit(m, theirs)
    if mine == today:
        return f"{m.words} {mine}, as today"
    return f"{m.words} {mine} instead of {today}"


def _with_unit(m: Wanted, value: Value) -> str:
    """Formats a value with its unit; "never" if no run has a value."""
    if value.of is None:
        some = value.missing < value.runs
        return f"never in {value.missing} of {counted(value.runs, 'run')}" if some else "never"
    text = number(value.of.mean, m.digits)
    text = f"MOS {text}" if m.unit == "MOS" else f"{text} {m.unit}".rstrip()
    return f"{text} (and never in {value.missing} of {counted(value.runs, 'run')})" if value.missing else text


def within(of: Interval, limits: tuple[float | None, float | None]) -> Interval:
    """Clips an interval to the possible values. With fewer than `FEW_SEEDS` seeds, both ends are NaN."""
    if of.n < FEW_SEEDS:
        return replace(of, low=math.nan, high=math.nan)
    low, high = limits
    return replace(
        of,
        low=of.low if low is None else min(max(of.low, low), of.mean),
        high=of.high if high is None else max(min(of.high, high), of.mean),
    )


def cell(m: Wanted, value: Value) -> str:
    """Formats a value for a table: its mean, half the width of its interval, and the number of runs without a value."""
    if value.of is None:
        return f"{value.missing} of {value.runs} never" if value.missing < value.runs else "never"
    text = number(value.of.mean, m.digits)
    if value.of.half > 0.0 and value.of.n >= FEW_SEEDS:
        text += f" ±{number(value.of.half, m.digits)}"
    return f"{text} ({value.missing} never)" if value.missing else text
