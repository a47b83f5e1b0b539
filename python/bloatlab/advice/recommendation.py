"""A recommendation: the question, the choice, and both in words, with the reason and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bloatlab.advice import line as line_of
from bloatlab.advice.catalogue import Wanted
from bloatlab.advice.line import UP
from bloatlab.advice.options import Option, standards, today
from bloatlab.advice.question import Question
from bloatlab.advice.race import Compared, Raced
from bloatlab.advice.remedies import Remedy
from bloatlab.advice.score import Judged, Value
from bloatlab.scenario import Scenario
from bloatlab.tables import counted, listed, number

#: Points on average within which an option that is not separated from the best may be kept.
CLOSE = 5.0

#: A file by which the line's share is told, bytes.
UPLOAD_BYTES = 100e6

#: Seeds from which on a table has intervals: those of two are a dozen times their distance.
FEW_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Guess:
    """An option whose buffer was made for one round trip (None: the recommended one), at the true round trips, s."""

    option: Option
    guess: float | None
    at: Mapping[float, Judged]


@dataclass(frozen=True)
class Recommendation:
    """The answer: every option judged, the chosen one, how the race ended, what a wrong round trip costs.

    The leader has the most points; `best` is what to set: the leader, or what is as good as far as the race tells and
    is on, or named by the device's standard. `failing` are the measures in which the choice fails where every option
    fails in some; `remedies` is what was tried elsewhere in that case.
    """

    question: Question
    judged: Sequence[Judged]
    best: Judged
    raced: Raced
    front: Sequence[Judged]
    guesses: Sequence[Guess]
    today: Judged | None
    failing: Sequence[Wanted]
    remedies: Sequence[Remedy]
    runs: int
    found: int

    @property
    def lead(self) -> Judged:
        """The option with the most points."""
        return self.raced.lead

    @property
    def others(self) -> Sequence[Compared]:
        """All but the leader, the nearest first."""
        return self.raced.others

    @property
    def tied(self) -> Sequence[Compared]:
        """What can be set and is known to differ from the leader by less than somebody would notice."""
        return self._with("tied")

    @property
    def open(self) -> Sequence[Compared]:
        """What can be set and is not separated from the leader."""
        return self._with("not separated")

    @property
    def behind(self) -> Sequence[Compared]:
        """What can be set and is known to be worse than the leader."""
        return self._with("behind")

    def _with(self, verdict: str) -> list[Compared]:
        return [c for c in self.others if c.verdict == verdict and c.judged.option.discipline.settable]

    @property
    def alike(self) -> Sequence[Judged]:
        """The leader and what may be set in its stead."""
        return alike(self.raced)

    @property
    def sentence(self) -> str:
        """The choice with its reason."""
        return answer_sentence(self)

    def scenario(self, of: Judged | None = None, seed: int = 1) -> Scenario:
        """The scenario of an option (the recommended one) at the longest round trip."""
        q = self.question
        chosen = (of or self.best).option
        name = f"{q.device.name}, {chosen.name}"
        return line_of.build(q.line, q.device, q.load, chosen.queues, rtt=q.line.rtts[-1], seed=seed, name=name)


def alike(raced: Raced) -> list[Judged]:
    """The leader, what is tied with it, and what is neither separated from it nor far from it on average."""
    found = [
        c.judged
        for c in raced.others
        if c.judged.option.discipline.settable
        and (c.verdict == "tied" or (c.verdict == "not separated" and c.by.mean <= CLOSE))
    ]
    return [raced.lead, *found]


def asked_words(of: Question) -> str:
    """The question: line, device, load."""
    line = of.line
    burst = f", {_mbit(line.peak)} while a burst of {_bytes(line.burst)} lasts" if line.peak and line.burst else ""
    trips = "a round trip" if len(line.rtts) == 1 else "round trips"
    rtts = listed([f"{rtt * 1e3:g}" for rtt in line.rtts])
    return f"{of.device.words}, {_mbit(line.up)} up{burst}; {trips} of {rtts} ms; {of.load.words}"


def answer_sentence(of: Recommendation) -> str:
    """What to set, and why, beside what the device does today; of a quick look, who leads."""
    best, now = of.best, of.today
    size = f": {number(best.option.size, 0)} bytes" if best.option.counts_bytes else ""
    if of.question.quick:
        return (
            f"A first look, one seed at each round trip, which is no verdict: {of.lead.option.words} leads with "
            f"{number(of.lead.points.mean, 1)} points of 100. Without --quick the race goes on to an answer."
        )
    if of.failing:
        bad = ", ".join(_one(m, best.values[m.name]) for m in of.failing)
        return f"Nothing on this device helps: {bad} at best, with {best.option.words}{size}."
    if now is None or now is best:
        told = ", ".join(_one(m, best.values[m.name]) for m in of.question.wanted)
        words = (
            f"Keep {best.option.words}{size}. It has that today." if now is best else f"Set {best.option.words}{size}."
        )
        return f"{words} {told[:1].upper()}{told[1:]}."
    told = "; ".join(_beside(m, best.values[m.name], now.values[m.name], of.question) for m in of.question.wanted)
    words = f"Set {best.option.words}{size}. Today it has {now.option.words}."
    return f"{words} {told[:1].upper()}{told[1:]}."


def sure(of: Recommendation) -> list[str]:
    """How sure it is: what is separated, tied or neither, why this one of the tied, and what cannot be set."""
    if of.question.quick:
        return _first_look(of)
    found = [_remedy(of, remedy) for remedy in of.remedies]
    settable = len([j for j in of.judged if j.option.discipline.settable])
    if of.behind:
        nearest = of.behind[0]
        found.append(
            f"{len(of.behind)} of {settable} settings {'is' if len(of.behind) == 1 else 'are'} clearly worse; the "
            f"nearest is {nearest.judged.option.name}, {number(nearest.by.mean, 1)} points of 100 behind "
            f"(interval {number(nearest.by.low, 1)} to {number(nearest.by.high, 1)}, all together 95 %)."
        )
    if tied := [c.judged for c in of.tied if c.judged is not of.best]:
        noticed = number(of.question.objective.noticed, 1)
        found.append(f"Tied, known to differ by less than {noticed} points: {grouped(tied)}.")
    if open_ := [c.judged for c in of.open if c.judged is not of.best]:
        found.append(f"Not separated yet: {grouped(open_)}. {_ended(of)}")
    if of.best is not of.lead:
        found.append(_kept(of))
    if settable == 1:
        found.append("There is nothing else to set.")
    found.extend(_not_available(of))
    return found


def _first_look(of: Recommendation) -> list[str]:
    """What a quick look can say: how many are far behind."""
    near = [c.judged for c in of.open]
    far = f"{counted(len(of.behind), 'setting')} clearly worse" if of.behind else "none is clearly worse"
    return [f"So far {far}, and not separated: {grouped(near)}." if near else f"So far {far}."]


def _ended(of: Recommendation) -> str:
    seeds = counted(of.lead.points.n, "seed")
    if of.raced.end == "seeds":
        return f"All {seeds} are used; --seeds {2 * of.question.seeds} --runs {4 * of.question.runs} goes on."
    runs = of.question.runs
    return f"The budget of {counted(runs, 'run')} ends here, at {seeds}; --runs {2 * runs} goes on."


def _kept(of: Recommendation) -> str:
    """Why the choice is not the option with the most points."""
    q = of.question
    more = number(of.lead.points.mean - of.best.points.mean, 1)
    by = f"{of.lead.option.name} has {more} points more, which is {_how_far(of)}"
    for discipline, size in standards(q.device, q.line):
        if of.best is not of.today and of.best.option.discipline is discipline and of.best.option.size == size:
            return f"{by}; {of.best.option.name} is what the device's standard names."
    if of.best is of.today or of.best.option.discipline is today(q.device, q.line)[0]:
        return f"{by}; the choice keeps what the device has on."
    return f"{by}; the choice keeps the discipline that the device's standard names."


def _how_far(of: Recommendation) -> str:
    verdict = next(c.verdict for c in of.others if c.judged is of.best)
    return "less than one would notice" if verdict == "tied" else "not separated yet"


def _not_available(of: Recommendation) -> list[str]:
    found: list[str] = []
    for other in of.others:
        discipline = other.judged.option.discipline
        if not discipline.settable:
            by = -other.by.mean
            verdict = "as good, as far as these seeds tell"
            if other.by.high < 0.0 or other.by.low > 0.0:
                verdict = f"{number(abs(by), 1)} points {'better' if by > 0.0 else 'worse'}"
            name = other.judged.option.words
            found.append(f"{name} would be {verdict}, but is not available on this device: {discipline.note}.")
    return found


def _remedy(of: Recommendation, remedy: Remedy) -> str:
    """What something else would do for the measures that fail."""
    values = [(m, remedy.judged.values[m.name]) for m in of.failing]
    told = ", ".join(_one(m, v) for m, v in values)
    verb = "does not help either" if any(m in remedy.failing for m in of.failing) else "would help"
    words = f"{remedy.words[:1].upper()}{remedy.words[1:]} {verb}"
    return f"{words}: {told} ({counted(remedy.judged.points.n, 'seed')})."


def grouped(all_: Iterable[Judged]) -> str:
    """Options by discipline: "droptail 40 ms, 63 ms; codel 1 s"."""
    by: dict[str, list[str]] = {}
    for one in all_:
        name = one.option.discipline.name
        by.setdefault(name, []).append(one.option.name.removeprefix(f"{name} "))
    return "; ".join(f"{name} {', '.join(sizes)}" for name, sizes in by.items())


def chosen_words(of: Recommendation) -> str:
    """What the chosen option is called."""
    return "leading" if of.question.quick else "least bad" if of.failing else "recommended"


def wrong(of: Recommendation) -> list[str]:
    """What it costs when the round trip is not the one that a buffer was made for."""
    made = [g for g in of.guesses if g.guess is not None]
    (low, high) = made[0], made[-1]
    if low.guess is None or high.guess is None or low.guess == high.guess:
        return []
    share, told = _share(of.question), []
    short, long_ = low.at[high.guess], high.at[low.guess]
    right = high.at[high.guess]
    used = ""
    if share is not None:
        carried, could = (_said(share, j.values[share.name]) for j in (short, right))
        used = f"the line carries {carried} instead of {could}"
    told.append(
        f"A buffer of one bandwidth-delay product at {low.guess * 1e3:g} ms ({low.option.words}), where "
        f"the round trip is {high.guess * 1e3:g} ms: {used or f'{number(short.points.mean, 1)} points'}."
    )
    told.append(
        f"One for {high.guess * 1e3:g} ms where it is {low.guess * 1e3:g} ms: packets wait "
        f"{number(long_.queue_ms, 0)} ms (p99) instead of {number(low.at[low.guess].queue_ms, 0)} ms."
    )
    chosen = next((g for g in of.guesses if g.guess is None), None)
    if chosen is not None:
        points = [chosen.at[rtt].points.mean for rtt in chosen.at]
        told.append(
            f"The {chosen_words(of)} setting has {number(min(points), 1)} to {number(max(points), 1)} points over "
            "these round trips."
        )
    return told


def _share(of: Question) -> Wanted | None:
    return next((m for m in of.wanted if m.value == "share_percent" and m.direction == UP), None)


def _one(m: Wanted, value: Value) -> str:
    return f"{m.words} {_said(m, value)}"


def _beside(m: Wanted, ours: Value, theirs: Value, of: Question) -> str:
    if _said(m, ours) == _said(m, theirs):
        return f"{m.words} {_said(m, ours)}, as today"
    words = f"{m.words} {_said(m, ours)} instead of {_said(m, theirs)}"
    if m is _share(of) and ours.of is not None and theirs.of is not None:
        one, two = (UPLOAD_BYTES * 8.0 / (of.line.up * max(v.of.mean, 0.01) / 100.0) for v in (ours, theirs) if v.of)
        words += f": 100 MB up in {number(one, 0)} s instead of {number(two, 0)}"
    return words


def _said(m: Wanted, value: Value) -> str:
    """A value with its unit; "never" where no run has one."""
    if value.of is None:
        return "never"
    unit = f" {m.unit}" if m.unit and m.unit != "MOS" else ""
    name = f"{m.unit} " if m.unit == "MOS" else ""
    some = f" (and never in {value.missing} of {counted(value.runs, 'run')})" if value.missing else ""
    return f"{name}{number(value.of.mean, m.digits)}{unit}{some}"


def cell(m: Wanted, value: Value) -> str:
    """A value in a table: its mean and half its interval."""
    if value.of is None:
        return "never"
    half = value.of.half
    text = number(value.of.mean, m.digits)
    if half > 0.0 and value.of.n >= FEW_SEEDS:
        text += f" ±{number(half, m.digits)}"
    return f"{text} ({value.missing} never)" if value.missing else text


def _mbit(rate: float) -> str:
    return f"{rate / 1e6:g} Mbit/s"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} kB"
