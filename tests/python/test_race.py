"""Tests of the race in `recommend`: its intervals are valid after every round, and it spends most runs on options that
are close to the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bloatlab.advice import asked, recommend
from bloatlab.advice import catalogue as catalogue_of
from bloatlab.advice.options import Option, options
from bloatlab.advice.race import Raced, race
from bloatlab.advice.recommend import preferred
from bloatlab.advice.recommendation import CLOSE
from bloatlab.advice.score import Judged
from bloatlab.advice.settings import limits
from bloatlab.always_valid import bounds
from bloatlab.statistics import interval

#: The standard deviation that the confidence sequences assume in these tests, and the probability with which a sequence
#: may miss the mean.
SCATTER, ERROR = 2.0, 0.05

Draw = Callable[[np.random.Generator, int], Any]

#: Distributions with mean 0 and a standard deviation of at most SCATTER; most are not normal.
KNOWN: Mapping[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0.0, SCATTER, n),
    "narrow normal": lambda rng, n: rng.normal(0.0, SCATTER / 4.0, n),
    "uniform": lambda rng, n: rng.uniform(-math.sqrt(3.0) * SCATTER, math.sqrt(3.0) * SCATTER, n),
    "two points": lambda rng, n: rng.choice([-SCATTER, SCATTER], n),
    # skewed: 9 of 10 values are slightly below the mean, and one is far above the mean; the standard deviation is
    # SCATTER
    "rare jumps": lambda rng, n: SCATTER / 3.0 * (10.0 * (rng.random(n) < 0.1) - 1.0),
    "nothing": lambda _rng, n: np.zeros(n),
}


@pytest.mark.parametrize("name", list(KNOWN))
def test_the_sequence_holds_the_mean_at_every_look(name: str):
    """At most 5 % (plus 3 standard errors) of 400 confidence sequences, checked after each of 30 values, ever miss the
    mean.
    """
    rng, missed = np.random.default_rng(22), 0
    for _ in range(400):
        values = KNOWN[name](rng, 30).tolist()
        found = [bounds(values[:n], ERROR, SCATTER) for n in range(1, 31)]
        missed += any(not b.low <= 0.0 <= b.high for b in found)
    assert missed <= 400 * ERROR + 3.0 * math.sqrt(400 * ERROR * (1.0 - ERROR))


def test_a_fixed_interval_would_not_hold():
    """If Student's interval is tested after each value, it misses the mean far too often, so the race uses confidence
    sequences.
    """
    rng, missed = np.random.default_rng(22), 0
    for _ in range(200):
        values = rng.normal(0.0, SCATTER, 30).tolist()
        missed += any(interval(values[:n]).differs() for n in range(2, 31))
    assert missed > 2 * 200 * ERROR


def test_the_sequence_narrows_and_knows_no_scatter_for_many_values():
    rng = np.random.default_rng(5)
    values = rng.normal(3.0, 0.5, 400).tolist()
    widths = [b.high - b.low for n in (1, 2, 5, 20, 100, 400) for b in [bounds(values[:n], ERROR, 1.5)]]
    assert widths == sorted(widths, reverse=True)
    # the true standard deviation is 0.5, and the assumed one is 1.5; even after many values, `bounds` uses at least
    # half of the assumed one, 0.75
    assert widths[-1] < 9.0 * 0.75 / math.sqrt(400)
    assert widths[0] > 2.0 * 1.96 * 1.5


@pytest.mark.parametrize(("values", "error", "scatter"), [([], 0.05, 1.0), ([1.0], 0.0, 1.0), ([1.0], 0.05, -1.0)])
def test_nothing_to_bound_is_refused(values: list[float], error: float, scatter: float):
    with pytest.raises(ValueError, match="a confidence sequence needs"):
        bounds(values, error, scatter)


# ------------------------------------------------------------------------------------------------------------- races


class Course:
    """Options whose mean scores are known, so that the right result of a race is known, too.

    With a given seed, an option scores the sum of its mean, the seed's effect on all options, and the seed's effect on
    this option.
    """

    def __init__(self, means: Sequence[float], scatter: float, seed: int = 1, device: str = "docsis3.0") -> None:
        self.question = asked(up="10mbit", rtt="20ms..200ms", device=device)
        self.options: list[Option] = [
            o for o in options(self.question.device, self.question.line) if o.discipline.settable
        ][: len(means)]
        rng = np.random.default_rng(seed)
        common = rng.normal(0.0, 10.0, 200)
        self.points = {
            o.name: (mean + common + rng.normal(0.0, scatter, 200)).tolist()
            for o, mean in zip(self.options, means, strict=True)
        }
        self.seeds = dict.fromkeys(self.points, 0)

    def judge(self, left: Sequence[Option], seeds: int) -> dict[str, Judged]:
        found: dict[str, Judged] = {}
        for o in left:
            self.seeds[o.name] = seeds
            points = self.points[o.name][:seeds]
            found[o.name] = Judged(o, interval(points), points, interval(points), {}, 0.0)
        return found

    def run(self, seeds: int = 100, runs: int = 10_000) -> Raced:
        return race(self.options, self.judge, self.question.objective, rtts=3, seeds=seeds, runs=runs)


def test_clearly_different_options_end_a_race_early():
    course = Course([90.0, 60.0, 50.0, 30.0, 20.0, 10.0], scatter=1.0)
    done = course.run()
    assert done.end == "separated"
    assert done.lead.option is course.options[0]
    assert {c.verdict for c in done.others} == {"behind"}
    assert list(course.seeds.values()) == [2, 1, 1, 1, 1, 1]  # the leader needs two seeds for its own interval


def test_near_equals_go_on_while_the_beaten_stop():
    course = Course([90.0, 89.0, 20.0, 10.0], scatter=1.5)
    done = course.run(seeds=12)
    assert done.end == "seeds"
    assert list(course.seeds.values()) == [12, 12, 1, 1]
    near = next(c for c in done.others if c.judged.option.name in {o.name for o in course.options[:2]})
    assert near.verdict == "not separated"  # 12 seeds are too few to prove a tie


def test_a_race_ends_at_its_budget():
    done = Course([90.0, 89.0, 88.5, 10.0], scatter=1.5).run(runs=40)
    assert done.end == "runs"
    # a seed of an option takes three runs, one for each round trip. The first round has four options, and each later
    # round has three: 12 + 9 + 9 + 9 = 39 runs, of at most 40
    assert done.lead.points.n == 4


@pytest.mark.parametrize("runs", [1, 2, 12, 20])
def test_a_race_names_the_number_of_runs_that_continues_it(runs: int):
    course = Course([90.0, 89.0, 88.5, 10.0], scatter=1.5)
    done = course.run(runs=runs)
    assert done.end == "runs"
    assert course.run(runs=done.another - 1).lead.points.n == done.lead.points.n
    assert course.run(runs=done.another).lead.points.n == done.lead.points.n + 1


def test_a_tie_is_shown_and_not_assumed():
    """Two options are equal. With enough seeds, it becomes certain that their difference is too small to notice."""
    course = Course([90.0, 90.0, 20.0], scatter=0.7)
    done = course.run(seeds=100)
    assert done.end == "separated"
    assert [c.verdict for c in done.others] == ["tied", "behind"]
    assert 3 < done.lead.points.n < 100


def test_the_best_is_called_behind_in_few_races():
    """With six equal options, the race wrongly finds the first option to be worse than another in at most 5 % of the
    races (plus 3 standard errors), although it tests the options after every round.
    """
    wrong = 0
    for seed in range(150):
        course = Course([50.0] * 6, scatter=2.0, seed=seed)
        done = course.run(seeds=15)
        wrong += any(c.verdict == "behind" and c.judged.option is course.options[0] for c in done.others)
    assert wrong <= 150 * ERROR + 3.0 * math.sqrt(150 * ERROR * (1.0 - ERROR))


def test_what_cannot_be_set_takes_two_seeds_and_never_leads():
    course = Course([90.0, 89.5], scatter=3.0)
    course.options[0] = replace(course.options[0], discipline=replace(course.options[0].discipline, settable=False))
    done = course.run(seeds=10)
    assert done.lead.option is course.options[1]
    assert course.seeds[course.options[0].name] == 2


# ---------------------------------------------------------------------------------- ties, and options that do not help


def test_a_tie_keeps_what_is_on_then_what_the_standard_names():
    course = Course([89.0, 89.5, 90.0, 89.2, 88.9], scatter=0.5, device="docsis3.1")
    names = [o.name for o in course.options]
    assert names[:2] == ["docsis-pie-t10 50 ms", "docsis-pie-t10 100 ms"]
    done = course.run(seeds=5)
    assert done.lead.option.name not in names[:2]
    # a buffer of 100 ms is the device's default, and its standard names this size
    assert preferred(course.question, done).option.name == "docsis-pie-t10 100 ms"
    old = Course([90.0, 89.8, 89.9, 89.9, 89.7, 89.0], scatter=0.5)
    # CM-GL-Buffer recommends 50 ms. The default buffer of 1 s is not an option here, because the options are the six
    # smallest buffers
    assert preferred(old.question, old.run(seeds=5)).option.name == "droptail 50 ms"
    far = Course([90.0, 90.0 - CLOSE - 3.0], scatter=4.0, device="docsis3.1")
    far.options.reverse()
    # the default is far behind the leader, so it is not chosen, although one seed is too few to separate the two
    assert preferred(far.question, far.run(seeds=1)).option.name == "docsis-pie-t10 50 ms"


BAD = """
words = "bad modem"
link = "line"
today = "droptail 1s"
[[discipline]]
name = "droptail"
words = "drop-tail"
queue = { droptail = { limit = "{bytes}B" } }
buffers = ["1s", "2s"]
"""


def test_nothing_on_a_device_that_only_has_long_queues_helps(tmp_path: Any):
    (tmp_path / "bad.toml").write_text(BAD)
    done = recommend(up="2mbit", rtt="40ms", device=str(tmp_path / "bad.toml"), seeds=2, seconds=20.0)
    assert "call" in {m.name for m in done.failing}
    assert done.sentence.startswith("No setting of this device is good enough: call MOS 1.")
    router = next(r for r in done.remedies if "fq_codel" in r.words)
    assert not router.failing
    call = router.judged.values["call"].of
    assert call is not None
    assert call.mean > 4.0


def test_if_nothing_is_good_enough_the_best_is_compared_with_today_and_close_ones_do_not_count(tmp_path: Any):
    # both buffers delay the call by far too much, but the page loads faster behind the shorter one
    (tmp_path / "bad.toml").write_text(BAD.replace("droptail 1s", "droptail 2s"))
    done = recommend(up="2mbit", rtt="40ms", device=str(tmp_path / "bad.toml"), seeds=3, seconds=20.0)
    assert done.failing
    assert done.best is done.lead
    assert (done.best.option.name, done.today.option.name) == ("droptail 1 s", "droptail 2 s")
    # the buffers are not separated and at most 5 points apart, but the longer one is neither chosen nor counted as good
    (other,) = done.others
    assert (other.verdict, other.by.mean <= CLOSE) == ("not separated", True)
    assert limits(done) == (done.best.option.size,) * 3
    assert "at best" not in done.sentence
    assert "Today's setting is drop-tail with 2 s of buffer. Call MOS 1." in done.sentence
    # if the best setting were good enough, the default would be close enough to be chosen
    assert preferred(done.question, done.raced).option.name == "droptail 2 s"


def test_a_quick_look_gives_no_verdict(tmp_path: Any):
    (tmp_path / "bad.toml").write_text(BAD)
    done = recommend(up="2mbit", rtt="40ms", device=str(tmp_path / "bad.toml"), quick=True, seconds=5.0)
    assert done.question.seeds == done.lead.points.n == 1
    assert done.sentence.startswith("A first look")
    assert "Set" not in done.sentence
    assert done.best is done.lead  # a quick look names the leader, even if the default is close
    assert not done.remedies


# ------------------------------------------------------------------------------------------ the link of each device


def links(device: str, **words: Any) -> Mapping[str, Any]:
    from bloatlab.advice.line import build  # noqa: PLC0415

    given: dict[str, Any] = {"up": "20mbit", "down": "200mbit", "rtt": "20ms", "device": device}
    q = asked(**(given | words))
    chosen = options(q.device, q.line)[-1]
    return build(q.line, q.device, q.load, chosen.queues, rtt=0.02, seed=1).data["link"]


@pytest.mark.parametrize(
    ("device", "models"),
    [
        ("docsis3.0", ("docsis", "rate")),
        ("docsis3.1", ("docsis31", "docsis31")),
        ("cablelabs2012", ("docsis", "rate")),
        ("linux", ("rate", "rate")),
        ("cake", ("rate", "rate")),  # its last setting is pfifo, whose rate is the link's
        ("scte2013-a", ("rate", "rate")),
        ("scte2013-c", ("rate", "rate")),
    ],
)
def test_each_device_has_the_model_that_it_is_named_after(device: str, models: tuple[str, str]):
    of = links(device, load="gamer")
    kinds = ("docsis", "docsis31", "shaper")
    found = tuple(next((k for k in kinds if of[way].get(k)), "rate") for way in ("up", "down"))
    assert found == models
    if "docsis31" in models:
        assert of["down"]["docsis31"]["downstream"] is not None
        assert "downstream" not in of["up"]["docsis31"]


def test_a_docsis_31_channel_is_wider_than_a_fast_line():
    assert links("docsis3.1")["up"]["docsis31"]["minislots"] == 235
    fast = links("docsis3.1", up="1gbit", down="5gbit")
    # twice the 1 Gbit/s of the line, 5 % more for MAC headers, in minislots of 48 bytes per frame of 135 us
    assert fast["up"]["docsis31"]["minislots"] == math.ceil(2.1e9 * 135e-6 / 8 / 48) == 739
    assert fast["down"]["docsis31"]["downstream"]["channel"] == "10gbit"


def test_a_full_docsis_31_line_is_100_percent_used():
    """Full packets get 3.1 % more than the rate upstream and 1.2 % less downstream; both count as 100 % of the line."""
    from bloatlab.advice.runs import Runs  # noqa: PLC0415
    from bloatlab.sweep import silent  # noqa: PLC0415

    q = asked(up="10mbit", down="20mbit", rtt="20ms", device="docsis3.1", load="gamer", seconds=20.0)
    chosen = next(o for o in options(q.device, q.line) if o.name == "droptail 160 ms")
    made = Runs(None, 1, None, lambda _runs: silent())
    made.run(q.line, q.device, q.load, [(chosen, 0.02)], 1)
    values = made.judged(q, chosen, [0.02]).values
    assert values["upload"].of is not None
    assert 95.0 < values["upload"].of.mean <= 100.0
    assert values["download"].of is not None
    assert values["download"].of.mean <= 100.0


def test_a_modem_counts_its_transmit_queue_in_bytes():
    assert links("docsis3.0")["up"]["docsis"]["transmit_limit"] == "48KB"
    assert links("docsis3.0", up="100mbit")["up"]["docsis"]["transmit_limit"] == "150KB"  # 12 ms at 100 Mbit/s
    # CableLabs 2012 has a transmit queue of 32 packets
    assert links("cablelabs2012", load="cablelabs2012")["up"]["docsis"]["transmit_limit"] == "32p"


def test_acks_do_not_fill_the_transmit_queue():
    """A download of 200 Mbit/s sends thousands of ACKs per second up. They must not fill the transmit queue: if it had
    room for only 32 packets, they would reduce an upload to a tenth of 20 Mbit/s.
    """
    from bloatlab.advice.runs import Runs  # noqa: PLC0415
    from bloatlab.sweep import silent  # noqa: PLC0415

    q = asked(up="20mbit", down="200mbit", rtt="20ms", device="docsis3.0", load="gamer", seconds=10.0)
    chosen = next(o for o in options(q.device, q.line) if o.name == "droptail 50 ms")
    made = Runs(None, 1, None, lambda _runs: silent())
    made.run(q.line, q.device, q.load, [(chosen, 0.02)], 1)
    values = made.judged(q, chosen, [0.02]).values
    assert values["upload"].of is not None
    assert values["upload"].of.mean > 60.0


def test_the_downstream_is_the_devices():
    assert set(links("docsis3.0")["down"]["queue"]) == {"droptail"}
    assert set(links("docsis3.1")["down"]["queue"]) == {"docsis_pie"}
    router = links("linux")
    assert set(router["down"]["queue"]) == set(router["up"]["queue"]) == {"fq_pie"}
    cake = asked(up="20mbit", down="200mbit", rtt="20ms", device="cake")
    first = options(cake.device, cake.line)[0]
    assert first.queues.down["cake"]["bandwidth"] == "200000000bit"


def test_the_objective_counts_what_the_uploads_wait_and_half_a_line_as_half():
    wanted = {m.name: m for m in catalogue_of.objective("balanced").measures}
    assert wanted["upload"].points(50.0) == pytest.approx(50.0)
    assert wanted["wait"].points(20.0) == pytest.approx(100.0)
    assert wanted["wait"].points(100.0) == pytest.approx(50.0)  # 50 points are at the geometric mean of 20 and 500 ms
    gamer = asked(up="20mbit", rtt="20ms", device="linux", load="gamer")
    assert {m.name for m in gamer.wanted} == {"call", "game", "wait", "upload", "download"}
    home = asked(up="20mbit", rtt="20ms", device="linux", load="home")
    # this load downloads no files, so the utilisation of the downstream does not count
    assert {m.name for m in home.wanted} == {"call", "pages", "wait", "upload"}
