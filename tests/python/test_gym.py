"""The environments: Gymnasium's conventions, equal results for equal seeds, and rewards compared with closed forms."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

import bloatlab
import bloatlab.gym
from bloatlab import ScenarioError
from bloatlab.errors import InputError
from bloatlab.gym.aqm import HOME
from bloatlab.gym.congestion_control import LINE
from bloatlab.scenario import problems

ROOT = Path(__file__).resolve().parents[2]
CC, AQM = "bloatlab/CongestionControl-v0", "bloatlab/Aqm-v0"
REST = np.zeros(1, np.float32)


def rest(observation: Any) -> Any:
    return REST


def made(name: str, **arguments: Any) -> Any:
    return gymnasium.make(name, **arguments)


def episode(env: Any, seed: int | None, act: Any = rest, **options: Any) -> list[tuple[Any, ...]]:
    """Runs an episode; returns the result of the reset, and then the result of each step."""
    observation, info = env.reset(seed=seed, options=options)
    seen: list[tuple[Any, ...]] = [(observation, info)]
    while len(seen) == 1 or not (seen[-1][2] or seen[-1][3]):
        seen.append(env.step(act(seen[-1][0])))
    return seen


def bits(seen: list[tuple[Any, ...]]) -> str:
    """Returns an episode as text, with every bit of every number."""
    return repr([(one[0].tobytes(), *one[1:]) for one in seen])


def line(**sets: Any) -> Any:
    """Returns the default scenario with some values replaced."""
    return bloatlab.from_dict(dict(LINE), sets={key.replace("__", "."): value for key, value in sets.items()})  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- Gymnasium's conventions


@pytest.mark.parametrize("name", [CC, AQM])
def test_the_library_finds_nothing_to_say(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = made(name)
        check_env(env.unwrapped)
        # `gymnasium.make` wraps the environment in a passive checker, which checks the first reset and the first step
        episode(env, 3, lambda _: env.action_space.sample())
        env.close()


@pytest.mark.parametrize("name", [CC, AQM])
def test_equal_seeds_give_equal_bytes(name: str):
    def wave(observation: Any) -> Any:
        return np.sin(10 * observation[:1]).astype(np.float32)

    one, two = made(name), made(name)
    first, second, third = episode(one, 7, wave), episode(one, None, wave), episode(one, 8, wave)
    assert bits(first) == bits(episode(two, 7, wave))
    assert bits(second) == bits(episode(two, None, wave)), "the episode that follows a seed belongs to it"
    assert len({bits(first), bits(second), bits(third)}) == 3
    # an episode that is abandoned early does not change the next one
    two.reset(seed=1)
    two.step(REST)
    assert bits(episode(two, 7, wave)) == bits(first)


@pytest.mark.parametrize("name", [CC, AQM])
def test_vectors_give_what_single_environments_give(name: str):
    single = made(name)
    with warnings.catch_warnings():
        # Python 3.12 warns about a fork in a process with threads; the environments do not start these threads
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        vectors = [gymnasium.make_vec(name, num_envs=2, vectorization_mode=mode) for mode in ("sync", "async")]
    assert isinstance(vectors[1], AsyncVectorEnv)
    for vector in vectors:
        observations, infos = vector.reset(seed=5)
        steps = [vector.step(np.zeros((2, 1), np.float32)) for _ in range(20)]
        for n in range(2):
            observation, info = single.reset(seed=5 + n)
            assert observations[n].tobytes() == observation.tobytes()
            assert infos["seed"][n] == info["seed"]
            for step in steps:
                observation, reward, *_, info = single.step(REST)
                assert (step[0][n].tobytes(), step[1][n]) == (observation.tobytes(), reward)
                assert step[4]["loss"][n] == info["loss"]
        vector.close()


@pytest.mark.parametrize("name", [CC, AQM])
def test_an_episode_ends_with_its_scenario(name: str):
    env = made(name)
    seen = episode(env, 1)
    assert [one[2:4] for one in seen[1:]] == [(False, False)] * (len(seen) - 2) + [(False, True)]
    assert seen[-1][4]["time"] == env.unwrapped.simulation.duration == 10.0
    assert sum(one[4]["seconds"] for one in seen[1:]) == pytest.approx(10.0 - seen[0][1]["time"])
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(REST)
    env.reset()
    env.step(REST)


@pytest.mark.parametrize("name", [CC, AQM])
def test_what_the_library_refuses(name: str):
    env = made(name)
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(REST)
    with pytest.raises(ResetNeeded):
        _ = env.unwrapped.simulation
    env.reset(seed=1)
    for action in ([1.5], [np.nan], [0.0, 0.0], 0.0):
        with pytest.raises(InvalidAction, match="is not in the action space Box"):
            env.step(np.array(action, np.float32))
    with pytest.raises(ValueError, match=r"^options: unknown option 'controler'; expected '(controller|law)'"):
        env.reset(options={"controler": "cubic"})
    with pytest.raises(TypeError, match="latency"):
        made(name, latency=3)
    with pytest.warns(UserWarning, match="render_mode"), pytest.raises(TypeError):
        made(name, render_mode="human", latency=3)


# --------------------------------------------------------------------------------------------------- congestion control


def test_a_window_of_one_bandwidth_delay_product_has_the_whole_power():
    # a link of 12 Mbit/s carries a packet of 1500 bytes (1448 of payload) in 1 ms. The round trip of a data packet
    # without a queue is 2 * 20 ms + 1 ms + 35 us for the ACK of 52 bytes, so 41 packets keep the link busy for 41 /
    # 41.035 of the time
    stack = {"ack_every": 1, "initial_window": {"segments": 41}}
    env = made(CC, scenario=line(link__line__rate="12mbit"), stack=stack)
    late = [one for one in episode(env, 1)[1:] if one[4]["time"] > 2]
    assert len(late) > 100
    for observation, reward, *_, info in late:
        # about 40 packets arrive in an interval of 40 ms; one packet more or less changes the throughput by 1 / 40
        assert info["throughput"] == pytest.approx(41 / 41.035, abs=1 / 40)
        assert (info["loss"], info["cwnd"]) == (0.0, 41 * 1448)
        assert info["delay"] == pytest.approx(1.0, abs=0.001)
        assert reward == info["throughput"] * info["delay"]
        assert observation[3] == pytest.approx(np.log2(41.035 / 40.08), abs=0.05)
    assert np.mean([one[4]["throughput"] for one in late]) == pytest.approx(41 / 41.035, abs=0.001)
    assert env.unwrapped.simulation.link("line").dropped_packets == 0


def test_a_doubled_window_doubles_the_round_trip():
    # one action of value 1 doubles the window from 41 to 82 packets. A window of 41 already kept the link busy, so the
    # additional 41 packets wait in the queue, and the link sends one packet per ms
    stack = {"ack_every": 1, "initial_window": {"segments": 41}}
    env = made(CC, scenario=line(link__line__rate="12mbit", link__line__queue="droptail"), stack=stack)
    env.reset(seed=1)
    info = [env.step(np.array([1.0 if n == 50 else 0.0], np.float32))[4] for n in range(100)][-1]
    assert info["cwnd"] == 82 * 1448
    assert info["rtt"] == pytest.approx(0.082, rel=0.001)
    assert info["delay"] == pytest.approx(0.5, abs=0.001)
    assert info["throughput"] == pytest.approx(1.0, abs=1 / 40)


def test_a_pacing_rate_below_the_line_keeps_the_queue_empty():
    # the pacing rate starts at 10 segments per round trip, and rises to 90 % of the link's rate
    env = made(CC, scenario=line(link__line__rate="12mbit"), control="rate", stack={"ack_every": 1})
    aim = 0.9 * 12e6 * 1448 / 1500

    def act(observation: Any) -> Any:
        return np.array([np.clip(np.log2(aim / env.unwrapped._pace), -1, 1)], np.float32)

    late = [one[4] for one in episode(env, 1, act)[1:] if one[4]["time"] > 2]
    assert np.mean([info["throughput"] for info in late]) == pytest.approx(0.9, abs=0.005)
    assert min(info["delay"] for info in late) > 0.99
    assert max(info["loss"] for info in late) == 0.0


def test_losses_are_the_agents_to_answer():
    # one packet in a hundred is lost on the wire; a loss does not change the window unless it causes a timeout
    env = made(CC, scenario=ROOT / "examples/gym/lossy.toml", stack={"initial_window": {"segments": 40}})
    seen = episode(env, 1)
    windows = [one[4]["cwnd"] for one in seen[1:]]
    assert np.mean([window == 40 * 1448 for window in windows]) > 0.9, "only timeouts may change it"
    assert np.mean([one[4]["loss"] for one in seen[1:]]) == pytest.approx(0.01, abs=0.003)


def test_marks_are_observed():
    scenario = line(link__line__rate="12mbit", link__line__queue={"codel": {"ecn": True}})
    env = made(CC, scenario=scenario, stack={"ecn": True, "initial_window": {"segments": 100}})
    seen = episode(env, 1)
    assert max(one[0][6] for one in seen) > 0
    assert sum(one[4]["loss"] for one in seen[1:]) == 0


def test_a_finished_transfer_terminates_the_episode():
    env = made(CC, scenario=line(app__agent__traffic={"ftp": {"size": "1MB", "count": 1}}))
    seen = episode(env, 1)
    assert seen[-1][2:4] == (True, False)
    assert seen[-1][4]["time"] < 10


def test_a_built_in_controller_runs_as_without_the_environment():
    env = made(CC)
    seen = episode(env, 4, lambda _: np.ones(1, np.float32), controller="cubic")
    assert all(one[0][8] == 0 for one in seen), "actions have no effect"
    simulation = env.unwrapped.simulation
    plain = bloatlab.run(simulation.scenario)
    assert simulation.finish().summary == plain.summary
    assert plain.scenario.data["tcp"]["agent"] == {"preset": "cubic"}
    assert plain.scenario.seed == seen[0][1]["seed"]


def test_scenarios_are_files_lists_and_functions():
    file = ROOT / "examples/gym/fast.toml"
    assert made(CC, scenario=file).reset(seed=1)[1]["axes"] == {}
    drawn = set()
    env = made(CC, scenario=[file, str(ROOT / "examples/gym/lossy.toml"), line(name="third")])
    for seed in range(12):
        env.reset(seed=seed)
        drawn.add(env.unwrapped.simulation.scenario.name)
    assert drawn == {"fast", "lossy", "third"}

    def draw(rng: np.random.Generator) -> Any:
        return line(link__line__delay=f"{rng.integers(5, 50)}ms")

    env = made(CC, scenario=draw, axes={"link.line.rate": ["8mbit", "16mbit"]})
    reads = []
    for seed in (1, 2, 1):
        _, info = env.reset(seed=seed)
        link = env.unwrapped.simulation.scenario.data["link"]["line"]
        assert (
            bloatlab.scenario.quantity(link["rate"]) == {"8mbit": 8e6, "16mbit": 16e6}[info["axes"]["link.line.rate"]]
        )
        reads.append((link["delay"], link["rate"]))
    assert reads[0] == reads[2] != reads[1]


#: A scenario with dots, a space and an accent in names, and an outage of 2 s.
OUTAGE = {
    "duration": "5s",
    "link": {
        "up.1 é": {
            "from": "home", "to": "net", "rate": "5mbit", "delay": "10ms",
            "changes": [{"at": "1s", "rate": 0}, {"at": "3s", "rate": "5mbit"}],
        },
        "down": {"from": "net", "to": "home", "delay": "10ms"},
    },
    "app": {"up.load": {"from": "home", "to": ["net"], "traffic": {"ftp": {}}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "used"), [(CC, {"app": "up.load"}, "throughput"), (AQM, {"link": "up.1 é"}, "utilisation")]
)
def test_names_may_have_dots_and_an_outage_is_no_error(name: str, arguments: dict[str, Any], used: str):
    seen = episode(made(name, scenario=OUTAGE, **arguments), 1)[1:]
    assert all(np.isfinite(reward) and np.isfinite(observation).all() for observation, reward, *_ in seen)
    # a packet in transmission at the start of the outage leaves at the old rate
    lost = [one[4] for one in seen if 1.1 < one[4]["time"] < 3.0]
    assert len(lost) > 10
    assert {info[used] for info in lost} == {0.0}
    assert seen[-1][4]["time"] == 5.0
    if name == AQM:
        # the time to drain is computed with the rate before the outage
        waiting = made(name, scenario=OUTAGE).unwrapped
        _, info = waiting.reset(seed=1)
        while waiting.simulation.now < 2.0:
            *_, info = waiting.step(REST)
        assert info["queue"] == pytest.approx(8 * waiting.simulation.link("up.1 é").bytes / 5e6)


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "gym").glob("*.toml")), ids=lambda file: file.stem)
def test_the_scenarios_of_the_example_run(file: Path):
    name, builtin = (CC, "bbr") if "agent" in bloatlab.load(file).data["app"] else (AQM, "pie")
    judged = bloatlab.gym.judge(made(name, scenario=file), {"rest": rest, builtin: builtin}, episodes=1)
    assert judged["policy"].to_list() == ["rest", builtin]
    assert judged["reward"][1] > 0


def test_ranges_are_drawn_evenly():
    env = made(CC)
    rates = []
    for seed in range(60):
        _, info = env.reset(seed=seed)
        rates.append(np.log(float(info["axes"]["link.line.rate"].removesuffix("mbit")) / 2) / np.log(25))
    # the mean of 60 uniform samples is 1/2 with a standard deviation of sqrt(1 / 12 / 60) = 0.037; the test allows
    # three standard deviations, 0.11
    assert 0.39 < np.mean(rates) < 0.61
    assert min(rates) >= 0
    assert max(rates) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"app": "agnt"}, "app: 'agnt' is not an application of the scenario (agent); did you mean \"agent\"?"),
        ({"link": "lin"}, 'did you mean "line"?'),
        ({"stack": {"mss": -1}}, "tcp.agent.mss"),
        ({"axes": {"link.line.rat": ["1mbit"]}}, 'did you mean "rate"?'),
        ({"axes": {"link.line.rate": ["fast"]}}, "link.line.rate"),
    ],
)
def test_a_wrong_argument_is_named_at_reset(arguments: dict[str, Any], message: str):
    with pytest.raises(ScenarioError) as error:
        made(CC, **arguments).reset(seed=1)
    assert message in "\n".join(problems(error.value))
    assert "_core" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (CC, {"control": "windw"}, 'control: \'windw\' is not valid; expected "window" or "rate"'),
        (CC, {"interval": 0}, "interval: '0' is not valid; expected at least 1 ns"),
        (CC, {"stack": {"congestion_control": "bbr"}}, "stack: congestion_control is not valid, because the agent is"),
        (CC, {"stack": {"python": {"controller": "x.py:X"}}}, "stack: python is not valid, because the agent is"),
        (AQM, {"half": "15"}, "half: '15' is not valid; expected at least 1 ns"),
        (CC, {"scenario": []}, "scenario: the list is empty; expected at least one scenario"),
        (CC, {"axes": {"link.line.rate": {"from": "2mbit"}}}, "axes.link.line.rate.to: is missing"),
        (
            CC,
            {
                "axes": {
                    "link.line.rate": {"from": "2mbit", "to": "9mbit"},
                    "line": {"slow": {"link.line.rate": "1mbit"}},
                }
            },
            "axes.line: link.line.rate: axes.link.line.rate sets it, too; only one of them can",
        ),
        (CC, {"axes": {"tcp.agent.ecn": [True]}}, "axes.tcp.agent.ecn: the environment sets tcp.agent"),
        (CC, {"axes": {"a": {"b": {"app.agent.tcp": "x"}}}}, "axes.a: app.agent.tcp: the environment sets app."),
        (AQM, {"link": "up", "axes": {"link.up.queue": ["pie"]}}, "axes.link.up.queue: the environment sets link."),
    ],
)
def test_a_wrong_argument_is_named_at_once(name: str, arguments: dict[str, Any], message: str):
    with pytest.raises((ValueError, InputError)) as error:
        made(name, **arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [CC, AQM])
def test_an_environment_can_be_used_after_a_refused_reset(name: str):
    env = made(name)
    for wrong in ({"nothing": 1}, {3: 1}, {"controller" if name == CC else "law": 3}):
        with pytest.raises(ValueError, match=r"^options: "):
            env.reset(seed=1, options=wrong)
    with pytest.raises((ValueError, ScenarioError), match="cubik"):
        bloatlab.gym.judge(env, {"wrong": "cubik"}, episodes=1)
    env.reset(seed=1)
    env.step(REST)


def test_unknown_controllers_and_laws_are_named():
    with pytest.raises(ValueError, match=r"^options: controller 'cubik' is not valid; .*did you mean \"cubic\"\?$"):
        made(CC).reset(options={"controller": "cubik"})
    with pytest.raises(ScenarioError, match="codle"):
        made(AQM).reset(options={"law": "codle"})
    with pytest.raises(ValueError, match=r"^options: law 3 is not valid; expected a discipline"):
        made(AQM).reset(options={"law": 3})
    with pytest.raises(InputError, match=r"^axes.link.up.queue.droptail.limit: the environment sets link."):
        made(AQM, axes={"link.up.queue.droptail.limit": ["20p"]}).reset()
    both = {**HOME, "link": {"line": {"from": "home", "to": "net", "both_ways": True, "rate": "9mbit"}}}
    with pytest.raises(ScenarioError, match="both_ways"):
        made(AQM, scenario=both).reset()
    with pytest.raises(ScenarioError, match="link: no link has a rate"):
        made(CC, scenario={**LINE, "link": {"line": {**LINE["link"]["line"], "rate": None}}}).reset()


# ------------------------------------------------------------------------------------------------------------------ AQM


def test_without_drops_the_agents_queue_is_drop_tail():
    env = made(AQM)
    free, tail = episode(env, 2), episode(env, 2, law="droptail")
    assert bits(free[1:]) == bits(tail[1:])


def test_a_probability_is_the_share_of_arrivals_that_are_dropped():
    # a sender with a constant rate does not respond to drops. Each action of 1 adds 0.1 to p', so after five of them,
    # p' is 0.5, and p'^2 = 0.25 of the datagrams are dropped
    home = {**HOME, "app": {"flood": {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "8mbit"}}}}}
    env = made(AQM, scenario=home)
    env.reset(seed=1)
    lost = []
    for n in range(500):
        *_, info = env.step(np.array([1.0 if n < 5 else 0.0], np.float32))
        if n >= 5:
            assert info["probability"] == pytest.approx(0.25)
            lost.append(info["loss"])
    link = env.unwrapped.simulation.link("up")
    # for 6000 packets or more, the standard deviation of the dropped share is at most sqrt(0.25 * 0.75 / 6000) = 0.0056
    assert link.offered_packets > 6000
    assert link.dropped_packets / link.offered_packets == pytest.approx(0.25, abs=0.02)
    assert np.mean(lost) == pytest.approx(0.25, abs=0.02)


def test_capable_packets_are_marked():
    home = {**HOME, "tcp": {"marked": {"preset": "linux-6", "ecn": True}}}
    home["app"] = {"uploads": {**HOME["app"]["uploads"], "tcp": "marked"}}
    env = made(AQM, scenario=home)
    seen = episode(env, 1, lambda observation: np.array([0.2 - observation[6]], np.float32))
    link = env.unwrapped.simulation.link("up").read()
    assert link["marked_packets"] > 50
    assert max(one[0][5] for one in seen) > 0


def test_the_delay_is_the_time_to_drain_the_queue():
    # 12 Mbit/s of datagrams enter a link of 6 Mbit/s, so the queue grows to its limit of 100 packets of 1000 bytes,
    # each of which takes 1.3 ms
    home = {**HOME, "app": {"flood": {"from": "home", "to": ["net"], "traffic": {"cbr": {"rate": "12mbit"}}}}}
    env = made(AQM, scenario=home, axes={"link.up.rate": ["6mbit"]}, limit="100p", half="0.2s")
    *_, info = episode(env, 1)[-1]
    size = 8 * env.unwrapped.simulation.link("up").bytes / 100 / 6e6
    assert info["queue"] == pytest.approx(100 * size, rel=0.02)
    assert info["delay"] == pytest.approx(0.2 / (0.2 + 100 * size), rel=0.02)
    assert info["utilisation"] == pytest.approx(1.0, abs=0.02)
    assert info["loss"] == pytest.approx(0.5, abs=0.05)


# ------------------------------------------------------------------------------------------------------------ baselines


def test_policies_are_judged_in_the_same_episodes():
    env = made(CC)
    policies = {"rest": rest, "cubic": "cubic", "bbr": "bbr"}
    judged = bloatlab.gym.judge(env, policies, episodes=3, seed=20)
    assert judged.select("policy", "episode").rows() == [(p, n) for p in policies for n in range(3)]
    drawn = judged.select(pl.selectors.starts_with("link.")).rows()
    assert drawn[:3] == drawn[3:6] == drawn[6:]
    assert len(set(drawn)) == 3
    rows = {name: judged.filter(pl.col("policy") == name) for name in policies}
    # the mean reward that `judge` reports for an episode agrees with the mean over the steps of this episode, weighted
    # by their durations
    steps = episode(env, 21, controller="cubic")[1:]
    whole = sum(one[4]["seconds"] for one in steps)
    assert rows["cubic"]["reward"][1] == pytest.approx(sum(one[1] * one[4]["seconds"] for one in steps) / whole)
    assert np.mean(rows["cubic"]["throughput"].to_list()) > 0.9
    assert np.mean(rows["bbr"]["delay"].to_list()) > np.mean(rows["cubic"]["delay"].to_list())
    assert judged.equals(bloatlab.gym.judge(env, policies, episodes=3, seed=20))


@pytest.mark.parametrize(
    ("name", "axis"), [(CC, "loss"), (CC, "reward"), (CC, "policy"), (AQM, "queue"), (AQM, "episode")]
)
def test_an_axis_is_not_named_like_a_column_of_the_table(name: str, axis: str):
    env = made(name, axes={axis: {"short": {"duration": "1s"}, "long": {"duration": "2s"}}})
    with pytest.raises(InputError, match=f"^axes: {axis} is the name of a column of judge's table; expected another"):
        bloatlab.gym.judge(env, {"rest": rest}, episodes=1)
    assert env.reset(seed=1)[1]["axes"][axis] in {"short", "long"}


def test_laws_are_judged():
    env = made(AQM)
    laws = {"tail": "droptail", "codel": "codel", "late": {"codel": {"target": "50ms"}}}
    judged = bloatlab.gym.judge(env, laws, episodes=2, seed=3)
    queue = dict(judged.group_by("policy").agg(pl.col("queue").mean()).rows())
    assert queue["codel"] < queue["late"] < queue["tail"]


def test_a_reward_of_your_own():
    env = made(CC, reward=lambda parts: -parts["loss"])
    assert all(one[1] == -one[4]["loss"] for one in episode(env, 1, controller="cubic")[1:])


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "bloatlab.gym")
    with pytest.raises(ImportError, match=r"^bloatlab\.gym: gymnasium is not installed: pip install gymnasium$"):
        importlib.import_module("bloatlab.gym")


def test_the_page_is_executed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "gym.md").read_text()
    code, made_with = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, "gym.md", "exec"), space)  # noqa: S102  our own page
    assert capsys.readouterr().out == re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)[0]
    env = eval(compile(made_with.strip(), "gym.md", "eval"), space)  # noqa: S307
    env.reset(seed=1)
    for kind in (bloatlab.gym.CongestionControl, bloatlab.gym.Aqm):
        for name, (low, high) in kind.OBSERVED.items():
            bounds = f"{low:g} or {high:g}" if name == "timeout" else f"{low:g} to {high:g}"
            assert f"| `{name}` | {bounds} |" in text
