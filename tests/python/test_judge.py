"""`bloatlab judge`: verdicts, moments (times that a first run determines), cases that do not apply, and controllers
that must fail.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from bloatlab import ScenarioError
from bloatlab.judge import Judged, judged, names, suite, suites, transports
from bloatlab.judge.page import write_pages
from bloatlab.judge.subjects import subject
from bloatlab.judge.suites import Criterion
from bloatlab.judge.verdicts import junit, ruling
from conftest import DUMBBELL, Say

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).with_name("broken_controllers.py")


def test_twenty_headings_of_rfc9743_can_be_run() -> None:
    assert len(suite("rfc9743").cases) == 22
    assert len(suite("bbr").cases) == 22
    assert not suite("bbr").outside


@pytest.mark.parametrize("name", names())
def test_every_case_says_where_it_comes_from(name: str) -> None:
    one = suite(name)
    sections = [case.section for case in one.cases] + [o.section for o in one.outside]
    assert len(set(sections)) == len(sections)
    for case in one.cases:
        assert case.says
        assert case.run
        assert case.criteria
        for criterion in case.criteria:
            assert criterion.by in ("document", "ours")
            assert criterion.says
            assert criterion.measure.startswith(("select ", "apps.", "links."))


def test_a_suite_writes_its_page_and_the_scenarios_that_were_run(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, text, err = say("judge", "--suite", "bbr", "--cc", "bbr3", "--case", "A.3", "--out", out)
    assert (code, err) == (0, "")
    assert text.startswith("bbr3: 1 met")
    (verdicts,) = json.loads((out / "verdicts.json").read_text())
    (case,) = verdicts["cases"]
    assert (case["section"], case["verdict"]) == ("A.3", "met")
    assert {c["verdict"] for c in case["criteria"]} == {"met"}
    assert {c["limit_by"] for c in case["criteria"]} == {"document"}
    suites = ET.parse(out / "junit.xml").getroot()  # noqa: S314  our own file
    assert [(s.get("tests"), s.get("failures")) for s in suites] == [(str(len(case["criteria"])), "0")]
    page = (out / "index.html").read_text()
    assert "The document" in page
    # the commands on the page work in the folder in which `judge` was called
    (again,) = re.findall(r"bloatlab (run [^<\n]*/scenarios/a3\.toml)", html.unescape(page))
    assert say(*shlex.split(again))[0] == 0
    # on a narrow screen, each criterion is shown as a list; the page also has a chart of the phases
    assert 'class="stacked"' in page
    assert 'data-column="limit by"' in page
    assert '"title":"Phase"' in page
    assert "probe_bw_cruise" in page
    assert "Goodput counts" in page


def test_the_folder_has_the_last_run_only_and_others_are_refused(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fixed = ("--suite", "bbr", "--cc", "fixed", "--no-store", "--out", out)
    say("judge", *fixed, "--case", "A.3")
    say("judge", *fixed, "--case", "A.4")
    assert [path.name for path in (out / "scenarios").iterdir()] == []  # without the phase DRAIN, A.4 has no second run
    say("judge", *fixed, "--case", "A.1")
    mine = [out / "scenarios/mine.toml", out / "my/site/index.html", out / "my/site/scenarios/a1.toml"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    say("judge", *fixed, "--case", "A.3")
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert not (out / "scenarios/a1.toml").exists()
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = say("judge", "--suite", "bbr", "--cc", "fixed", "--out", tmp_path)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "has files, but no verdicts.json of an earlier run; give another folder" in " ".join(err.split())


def test_a_class_that_fails_gets_its_line_alone(say: Say, tmp_path: Path) -> None:
    methods = (
        "def on_ack(self, sample):\n  return sample.aked\n def on_congestion(self, moment, kind, base):\n  return 2\n"
    )
    (tmp_path / "bad.py").write_text(f"class Bad:\n {methods}")
    code, _, err = say("judge", "--suite", "bbr", "--cc", f"{tmp_path}/bad.py:Bad", "--case", "A.1")
    assert code == 2
    assert "bad.py:3: on_ack raised AttributeError" in err
    assert "same command" not in err


def test_a_case_needs_no_document_if_only_one_has_it() -> None:
    assert [case.section for case in suite("aqm").only("5.2").cases] == ["RFC 7928 5.2"]
    assert [case.section for case in suite("rfc9743").only("5.2").cases] == ["5.2"]


def test_a_controller_without_phases_is_not_judged_by_phases(say: Say) -> None:
    code, text, _ = say("judge", "--suite", "bbr", "--cc", "cubic", "--case", "A.3", "--no-store")
    assert code == 0
    assert text.startswith("cubic: 0 met, 1 not applicable")
    assert "not applicable" in text.split("measured", 1)[1]


def test_a_figure_is_compared_with_the_reference_that_does_worse() -> None:
    criterion = Criterion("rate", "apps.x.rate", ">= 0.5", "ours", against=["reno", "cubic"])
    own, rivals = {"apps.x.rate": 1.0, "phases": ""}, [{"apps.x.rate": 4.0}, {"apps.x.rate": 2.0}]
    one = ruling(criterion, [own], [rivals], [])
    assert (one.figure, one.measured) == (0.5, "0.5 (1 / 2)")
    none = [{"apps.x.rate": 0.0}, {"apps.x.rate": 0.0}]
    assert ruling(criterion, [own], [none], []).word == "cannot be judged here"
    # the ratios of the two seeds are 1 / 2 and 1.4 / 2: their mean is 0.6, but its interval begins below 0.5
    over = ruling(criterion, [own, own | {"apps.x.rate": 1.4}], [rivals, rivals], [])
    assert (over.figure, over.word) == (pytest.approx(0.6), "not met")


@pytest.mark.parametrize(
    ("controller", "missed"),
    [
        ("Sound", set[str]()),
        ("NoBackoff", {"5.2.1", "6.1", "7.1"}),
        ("DeafToMarks", {"7.1"}),
        ("Starving", {"5.2.1", "6.1", "7.1"}),
        ("StarvingBbr", {"5.2.1", "6.1", "7.1"}),
    ],
)
def test_a_broken_controller_misses_the_cases_of_its_defect(controller: str, missed: set[str]) -> None:
    (done,) = judged(suite("rfc9743").only("5.1.1", "5.2.1", "6.1", "7.1"), f"{BROKEN}:{controller}")
    assert {one.case.section for one in done.tried if one.word == "not met"} == missed
    assert {one.word for one in done.tried} <= {"met", "not met"}


@pytest.mark.parametrize(
    ("controller", "missed"), [("SmallBbr", set[str]()), ("StarvingBbr", {"A.2", "A.3", "A.8", "A.10"})]
)
def test_a_bbr_that_never_slows_down_misses_the_cases_that_show_it(controller: str, missed: set[str]) -> None:
    # both controllers trace their phases. The cases A.1, A.4 and A.5 test mainly when a phase ends, and `StarvingBbr`
    # inherits the conditions that end its phases from `SmallBbr`, so it also passes these cases
    cases = suite("bbr").only("A.1", "A.2", "A.3", "A.4", "A.5", "A.8", "A.10")
    (done,) = judged(cases, f"{BROKEN}:{controller}")
    assert {one.case.section for one in done.tried if one.word == "not met"} == missed
    assert {one.word for one in done.tried} <= {"met", "not met"}


def test_a_queue_is_judged_against_drop_tail(say: Say) -> None:
    code, text, err = say("judge", "--suite", "aqm", "--queue", "pie", "--case", "RFC 7928 8.2.3", "--no-store")
    assert (code, err) == (0, "")
    assert text.startswith("pie: 1 met")
    # drop-tail is compared with itself, so its queue cannot be shorter than its rival's
    code, text, _ = say("judge", "--suite", "aqm", "--queue", "droptail", "--case", "RFC 7928 8.2.3", "--no-store")
    assert (code, text[:24]) == (1, "droptail: 0 met, 1 not m")


def test_a_suite_names_one_place_as_a_string_or_in_a_list() -> None:
    assert subject("red", "link.up.queue") == subject("red", ["link.up.queue"])
    with pytest.raises(ScenarioError, match="nosuch"):
        subject("nosuch", "link.up.queue")


@pytest.mark.parametrize(
    ("queue", "table"),
    [
        ("codel target 15ms", {"codel": {"target": "15ms", "limit": "84p"}}),
        ('{ codel = { target = "15ms", limit = "50p" } }', {"codel": {"target": "15ms", "limit": "50p"}}),
        ("droptail", {"droptail": {"limit": "84p"}}),
        # a limit counts as given even if it equals the discipline's default
        ("droptail limit 1000p", {"droptail": {"limit": "1000p"}}),
        ("fq_codel flows 64 limit 10240", {"fq_codel": {"flows": 64, "limit": "10240p"}}),
        (f"{ROOT}/examples/laws/codel.py:CoDel", {"python": {"law": "codel.py:CoDel", "limit": "84p"}}),
        (
            f'{{ python = {{ law = "{ROOT}/examples/laws/codel.py:CoDel", target = "15ms" }} }}',
            {"python": {"target": 15_000_000, "limit": "84p"}},
        ),
        (f"{ROOT}/examples/laws/home.toml:up", {"python": {"most": 20_000_000, "limit": "250p"}}),
    ],
)
def test_a_queue_of_the_user_is_judged_with_the_buffer_of_the_case(
    queue: str, table: dict[str, dict[str, str]]
) -> None:
    # if a queue is given without a limit, its buffer is one BDP: 10 Mbit/s times 100 ms, or 84 packets of 1500 bytes
    (done,) = judged(suite("aqm").only("RFC 7928 5.1.1"), queue)
    scenario = done.tried[0].scenario
    assert scenario is not None
    ((name, parameters),) = table.items()
    made = scenario.data["link"]["bottleneck"]["queue"][name]
    assert {key: made[key] for key in parameters} == parameters
    assert done.name == queue
    assert done.tried[0].word in ("met", "not met")


def test_a_limit_in_a_file_is_kept_if_it_equals_the_default(scenario_file: Path) -> None:
    for text, limit in (("droptail limit 1000p", {"limit": "1000p"}), ("droptail", None)):
        scenario_file.write_text(DUMBBELL.replace('queue.codel = { limit = "100p" }', f'queue = "{text}"'))
        value = subject(f"{scenario_file}:up", "link.up.queue").value
        assert value == ("droptail" if limit is None else {"droptail": limit})


#: Transports: one that responds to losses, one that does not, and one that raises an error at its first timeout.
TRANSPORTS = Path(__file__).with_name("broken_transports.py")


FAILS_AT_ONCE = """
class FailsAtOnce(Aimd):
    def poll_transmit(self, now_ns):
        raise ConnectionError("broken")
"""


def _verdicts(done: Judged) -> dict[str, str]:
    return {one.case.section: one.word for one in done.tried}


def test_a_transport_is_judged_by_its_packets(tmp_path: Path) -> None:
    cases = suite("rfc9743").only("5.1.1", "5.1.4", "6.1", "7.11")
    (sound,) = judged(cases, f"{TRANSPORTS}:Aimd")
    assert _verdicts(sound) == dict.fromkeys(("5.1.1", "5.1.4", "6.1"), "met") | {"7.11": "not applicable"}
    # the transport does not respond to losses, so it leaves no bandwidth to a flow that starts later (5.1.4). But it
    # stops sending if all packets are lost (5.1.1)
    (deaf,) = judged(cases, f"{TRANSPORTS}:Deaf")
    assert _verdicts(deaf) == {"5.1.1": "met", "5.1.4": "not met", "6.1": "not met", "7.11": "not applicable"}
    # the four flows of 5.1.4 begin 2 s apart, so each of them is a separate application, and the figure on the page
    # shows all four
    four = next(one for one in sound.tried if one.case.section == "5.1.4")
    assert four.rulings[0].figure == pytest.approx(1.0, abs=0.2)
    assert four.scenario is not None
    assert "judged" not in four.scenario.data["app"]
    write_pages([sound], tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "bloatlab run scenarios" not in page
    assert "without the flows of the transport" in page
    assert four.frames is not None
    assert four.frames["judge_rates"]["app"].unique().to_list() == ["judged"]


def test_a_transport_has_no_phases() -> None:
    (done,) = judged(suite("bbr").only("A.4", "A.9", "A.17"), f"{TRANSPORTS}:Aimd")
    assert _verdicts(done) == dict.fromkeys(("A.4", "A.9"), "not applicable") | {"A.17": "not met"}
    reasons = {ruling.reason for one in done.tried for ruling in one.rulings if ruling.word == "not applicable"}
    assert all("traces no" in reason for reason in reasons)


def test_a_transport_that_fails_misses_the_case(tmp_path: Path) -> None:
    # all data are lost from 5 s on, so the transport's timer expires at about 6 s
    (done,) = judged(suite("rfc9743").only("5.1.1"), f"{TRANSPORTS}:Fails")
    (reason,) = {ruling.reason for ruling in done.tried[0].rulings}
    where = r'endpoint "judged" at 6\.\d+ s: broken_transports\.py:\d+: on_timeout raised ConnectionError: '
    assert re.fullmatch(where + "the connection is lost", reason)
    assert done.tried[0].word == "not met"
    # a case whose condition is not met cannot be judged, but if the transport fails, the case is "not met"; this also
    # holds for A.5, which has a condition
    file = tmp_path / "fails.py"
    file.write_text(TRANSPORTS.read_text() + FAILS_AT_ONCE)
    (done,) = judged(suite("bbr").only("A.5"), f"{file}:FailsAtOnce")
    assert any(ruling.criterion.condition for ruling in done.tried[0].rulings)
    assert done.tried[0].word == "not met"
    assert not done.kept


@pytest.mark.parametrize(
    ("signature", "body", "line"),
    [
        ("self", "pass", "Stack cannot be called as Stack(address) for a sender"),
        ("self, to", "pass", "Stack cannot be called as Stack() for a receiver"),
        (
            "self, to=None",
            "1 / (to is None)",
            "stack.py:3: __init__ raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_transport_that_cannot_be_made_gets_one_line(
    say: Say, tmp_path: Path, signature: str, body: str, line: str
) -> None:
    (tmp_path / "stack.py").write_text(
        f"class Stack:\n    def __init__({signature}):\n        {body}\n"
        "    def handle(self, now_ns, datagram): pass\n    def poll_transmit(self, now_ns): pass\n"
        "    def next_timeout(self): pass\n    def on_timeout(self, now_ns): pass\n"
    )
    code, _, err = say("judge", "--suite", "rfc9743", "--cc", f"{tmp_path}/stack.py:Stack", "--no-store")
    assert code == 2
    assert line in err
    assert len(err.strip().splitlines()) == 1


def test_a_case_whose_condition_does_not_hold_is_not_judged() -> None:
    # A.5 requires that nothing is lost, but CUBIC fills the buffer and loses packets
    (done,) = judged(suite("bbr").only("A.5"), "cubic")
    assert [one.word for one in done.tried] == ["cannot be judged here"]
    assert {ruling.word for ruling in done.tried[0].rulings} >= {"not met"}
    # the command ends with exit code 0, so its JUnit file must not report a failure
    (tests,) = ET.fromstring(junit([done]))  # noqa: S314  our own text
    assert (tests.get("failures"), tests.get("skipped"), tests.get("tests")) == ("0", str(len(tests)), str(len(tests)))
    assert len(tests.findall("testcase/skipped")) == len(tests)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--suite", "bb", "--cc", "bbr3"), 'did you mean "bbr"?'),
        (("--suite", "aqm", "--queue", "codell"), 'did you mean "codel"?'),
        (("--suite", "aqm", "--queue", "codel targt 5ms"), 'did you mean "target"?'),
        (("--suite", "aqm", "--queue", "{ codel"), "not a table of TOML"),
        (("--suite", "aqm", "--queue", "none.py:X"), "none.py: no such file"),
        (("--suite", "aqm", "--queue", f"{ROOT}/examples/lab.toml:bottlenek"), 'did you mean "bottleneck"?'),
        (("--suite", "bbr", "--queue", "codel"), "--suite bbr takes --cc; --queue is for --suite aqm"),
        (("--suite", "aqm", "--cc", "bbr3"), "--suite aqm takes --queue; --cc is for --suite bbr or rfc8867"),
        (("--suite", "aqm", "--queue", "codel", "--cc", "bbr3"), "cannot be combined"),
        (("--suite", "bbr", "--cc", "bbr33"), 'did you mean "bbr3"?'),
        (("--suite", "bbr", "--cc", "bbr3", "--case", "A.99"), "bbr has no case A.99"),
        (
            ("--suite", "aqm", "--queue", "codel", "--case", "6.2"),
            "has 2 cases 6.2; expected one of",
        ),
        (("--suite", "aqm", "--queue", "codel", "--case", "12"), "aqm RFC 7928 12 cannot be judged here"),
        (("--suite", "bbr", "--cc", "none.py:X"), "none.py: no such file"),
        (("--suite", "bbr", "--cc", "none.toml:x"), "none.toml: no such file"),
        (("--suite", "bbr", "--cc", f"{ROOT}/tests/python/broken_transports.py:Adimd"), 'did you mean "Aimd"?'),
        (("--suite", "bbr"), "and --cc, such as: bloatlab judge --suite bbr --cc bbr3"),
        (("--suite", "aqm"), "and --queue, such as: bloatlab judge --suite aqm --queue codel"),
        (("--suite", "all", "--cc", "bbr3", "--case", "A.3"), "--case A.3 needs one suite"),
    ],
)
def test_bad_input_gets_one_line(say: Say, arguments: tuple[str, ...], line: str) -> None:
    code, _, err = say("judge", *arguments)
    assert code == 2
    assert line in " ".join(err.split())
    assert len(err.strip().splitlines()) == 1


#: A suite of the user: its `suite.toml`, and its only case.
SUITE = """
[suite]
title = "mine"
document = "doc"
source = "src"
subject = "link.up.queue"
"""
CASE = """
duration = "1s"
[judge]
section = "1.1"
title = "T"
says = "s"
run = "r"
seeds = 1
[[judge.criteria]]
says = "rows"
measure = "select count(*) from queues"
expect = "> 1"
by = "ours"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
[link.back]
from = "b"
to = "a"
[app.judged]
from = "a"
to = ["b"]
traffic.ftp = {}
"""


@pytest.fixture
def write_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Returns a function that writes the suite `mine`, which is then the only suite."""
    monkeypatch.setattr(suites, "FOLDER", tmp_path)
    (tmp_path / "mine").mkdir()

    def write(head: str, case: str) -> None:
        (tmp_path / "mine" / "suite.toml").write_text(head)
        (tmp_path / "mine" / "a.toml").write_text(case)

    return write


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "rate =",
            'changes = [{ at = "@y", rate = "1mbit" }]\nrate =',
            'changes.0.at: unknown moment "y"; judge.moments',
        ),
        ("link.up.queue", "link.nix.queue", "judge: mine 1.1: the case names no link.nix.queue, the suite's subject"),
        ("count(*)", "nix", 'judge: mine 1.1: select nix from queues: unable to find column "nix"'),
        ("count(*)", "link", "judge: mine 1.1: select link from queues: expected a number; the query returns String"),
        ("[link.up]", '[judge.moments]\ny = "selec 1"\n[link.up]', "judge: mine 1.1: selec 1: sql parser error"),
        ("> 1", "nix", 'a.toml: judge.criteria.0.expect: "nix" is not valid; expected a comparison such as'),
        ('by = "ours"', 'by = "me"', 'judge.criteria.0.by: "me" is not valid; expected document or ours'),
        ('by = "ours"', 'by = "ours"\nagainst = "cedel"', 'did you mean "codel"?'),
        ('by = "ours"', 'by = "ours"\ncondition = true', "a.toml: judge.criteria: all are conditions; a case needs"),
        ("seeds = 1", "seeds = 0", "a.toml: judge.seeds: 0 is not valid; expected at least 1"),
        ('title = "T"', "title = 3", "a.toml: judge.title: 3 is not valid; expected a string"),
        ('title = "T"', "", 'a.toml: judge: the key "title" is missing'),
        ('title = "T"', 'titled = "T"', 'a.toml: judge: unknown key "titled"; did you mean "title"?'),
        ("[[judge.criteria]]", "[judge.criteria]", "judge.criteria: {"),
        (
            'by = "ours"',
            'by = "ours"\nagainst = [3]',
            "judge.criteria.0.against: [3] is not valid; expected a string, or a",
        ),
        ("[link.up]", "[judge.moments]\ny = 3\n[link.up]", "judge.moments.y: 3 is not valid; expected a"),
        ('title = "T"', "title", "a.toml: not valid TOML"),
        ("subject", "subjekt", 'suite.toml: suite: unknown key "subjekt"; did you mean "subject"?'),
    ],
)
def test_an_invalid_suite_gets_one_line(
    say: Say, write_suite: Callable[[str, str], None], old: str, new: str, line: str
) -> None:
    write_suite(SUITE, CASE)
    run = ("judge", "--suite", "mine", "--queue", "codel", "--no-store", "--jobs", "1")
    assert say(*run)[0] == 0
    write_suite(SUITE.replace(old, new), CASE.replace(old, new))
    code, _, err = say(*run)
    assert code == 2
    assert line in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("link.up.quue", 'judge: mine: no case can run with codel: link.up: unknown key "quue"; did you mean "queue"?'),
        (
            "link.up.rate",
            'judge: mine: no case can run with codel: link.up.rate: "codel" is not valid; expected a rate',
        ),
        ("app.*.traffic.ftp.sizee", 'app.judged.traffic.ftp: unknown key "sizee"; did you mean "size"?'),
    ],
)
def test_a_subject_that_fits_no_case_is_refused(
    say: Say, write_suite: Callable[[str, str], None], place: str, line: str
) -> None:
    write_suite(SUITE.replace("link.up.queue", place), CASE)
    code, out, err = say("judge", "--suite", "mine", "--cc", "codel", "--no-store", "--jobs", "1")
    assert (code, out) == (2, "")
    assert line in err
    assert len(err.strip().splitlines()) == 1


def test_a_comparison_that_the_scenario_refuses_gets_one_line(
    say: Say, write_suite: Callable[[str, str], None]
) -> None:
    against = CASE.replace('by = "ours"', 'by = "ours"\nagainst = ["droptail"]')
    write_suite(SUITE.replace("link.up.queue", "link.up.rate"), against)
    code, _, err = say("judge", "--suite", "mine", "--cc", "2mbit", "--no-store", "--jobs", "1")
    assert code == 2
    assert 'judge: mine 1.1: against "droptail": link.up.rate: ' in err
    assert len(err.strip().splitlines()) == 1


def test_bbr3_has_the_verdicts_of_the_page() -> None:
    page = (ROOT / "docs/judge.md").read_text()
    published = dict(re.findall(r"^\| (A\.\d+) \| (met|not met) \|", page, re.MULTILINE))
    (done,) = judged(suite("bbr"), "bbr3")
    assert {one.case.section: one.word for one in done.tried} == published
    assert f"{done.sentence.removeprefix('bbr3: ')}." in page


def test_bbr3_and_reno_have_the_misses_of_the_page() -> None:
    page = (ROOT / "docs/judge.md").read_text()
    # a controller that is also a rival of another is run once
    for done in judged(suite("rfc9743"), ["bbr3", "reno"]):
        missed = [one.case.section for one in done.tried if one.word == "not met"]
        met = sum(one.word == "met" for one in done.tried)
        assert f"| `{done.name}` | {met} | {len(missed)} | {', '.join(missed)} |" in page
        if done.name == "bbr3":
            assert re.findall(r"^\| ([5-7]\.[\d.]+) \|", page, re.MULTILINE) == missed


def test_other_applications_keep_their_flows_beside_a_transport():
    # the judged application "bulk" has two flows, each with a receiver of its own; "web" is not judged
    rows = [("bulk", 0), ("bulk receiver 1", 0), ("bulk flow 2", 0), ("bulk receiver 2", 0), ("web", 0), ("web", 1)]
    series = pl.DataFrame(rows, schema={"app": pl.String, "flow": pl.UInt64}, orient="row")
    one = transports._with_one_app_of(series)
    assert one.rows() == [("bulk", 0), ("bulk", 1), ("web", 0), ("web", 1)]
