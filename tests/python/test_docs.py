"""Tests that the documentation is correct: the scenario reference, the tables of a result, the examples, the README."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

import bloatlab
import bloatlab.flent
from bloatlab.cli.main import call
from bloatlab.measures import numbers_of
from bloatlab.studies.cablelabs2012.experiments import UNKNOWNS
from bloatlab.workloads.cable_home import Setup

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
TOUR = ROOT / "docs" / "tour.md"

#: A scenario whose result has every part: nearly every kind of application, a queue with classes, a modem's grants, TCP
#: and UDP.
EVERYTHING = """
duration = "20s"
grade.scale = "rpm"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
both_ways = true
queue = "cbt"
[link.modem]
from = "b"
to = "c"
docsis31 = { flow = { max_sustained_rate = "5mbit" } }
[link.radio]
from = "c"
to = "d"
delivery.lte = {}
queue = "dualpi2"
[app.file]
from = "a"
to = ["b"]
tcp = "dctcp"
traffic.ftp = { size = "100KB", flows = 2 }
[app.call]
from = "a"
to = ["b"]
traffic.voip = { direction = "both" }
[app.game]
from = "a"
to = ["b"]
traffic.game = {}
[app.conference]
from = "a"
to = ["b"]
traffic.proshare = {}
[app.live]
from = "a"
to = ["b"]
traffic.media = {}
[app.ping]
from = "a"
to = ["b"]
traffic.ping = {}
[app.rr]
from = "a"
to = ["b"]
traffic.ping = { after_answer = true }
[app.short]
from = "a"
to = ["b"]
traffic.short = {}
[app.burst]
from = "a"
to = ["b"]
traffic.burst = { bytes = "10KB" }
[app.video]
from = "a"
to = ["b"]
traffic.video = {}
[app.swarm]
from = "a"
to = ["b"]
tcp = "ledbat"
traffic.bittorrent = { peers = 3, active = 2 }
[app.datagrams]
from = "a"
to = ["b"]
traffic.burst = { bytes = "10KB", transport = "udp" }
[app.rpm]
from = "a"
to = ["b"]
traffic.rpm = { interval = "1s", tls = false }
[app.web]
from = "a"
to = ["b"]
traffic.web = { servers = 1, page = { uniform = { html = "10KB", per_server = 2, size = "1KB" } } }
"""


@pytest.fixture(scope="module")
def result() -> bloatlab.Result:
    return bloatlab.run(bloatlab.parse(EVERYTHING))


def test_scenario_reference_is_current():
    done = subprocess.run([sys.executable, "tools/scenario_doc.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_scenario_reference_says_each_word_once():
    pages = sorted((ROOT / "docs" / "scenario").glob("*.md"))
    assert len(pages) >= 8
    for page in pages:
        for section in re.split(r"^## ", page.read_text(), flags=re.MULTILINE):
            words = re.findall(r"^\* (`\S+` `\S+`)", section, flags=re.MULTILINE)
            assert len(words) == len(set(words)), section.splitlines()[0]


def test_links_to_a_table_of_keys_lead_to_its_page():
    index = (ROOT / "docs" / "scenario.md").read_text()
    for page in (ROOT / "docs" / "scenario").glob("*.md"):
        for title in re.findall(r"^## (.*)$", page.read_text(), flags=re.MULTILINE):
            # the anchor that GitHub generates for the title
            anchor = "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
            assert f'<a id="{anchor}"></a>[{title}](scenario/{page.name}#{anchor})' in index


def test_ways_to_write_a_queue_are_what_the_page_says():
    (section,) = [s for s in (ROOT / "docs" / "scenario.md").read_text().split("\n## ") if s.startswith("Ways to")]
    rows = re.findall(r"^\| `(queue[^`]*)` \| (.*) \|$", section, flags=re.MULTILINE)
    assert len(rows) == 10
    for written, meaning in rows:
        if "python" in written:
            continue

        def queue(text: str) -> object:
            return bloatlab.parse(f'duration = "1s"\n[link.up]\nfrom = "a"\nto = "b"\nrate = "1mbit"\n{text}').data

        queue(written)
        for same in re.findall(r"`(queue[^`]*)`", meaning):
            assert queue(written) == queue(same)


def documented(heading: str) -> dict[str, set[str]]:
    """Returns the keys listed in each section of a chapter of docs/results.md, by the title of the section.

    The keys are in the first columns of the tables, in backquotes.
    """
    text = (ROOT / "docs" / "results.md").read_text()
    chapter = re.split(r"^## ", text, flags=re.MULTILINE)
    (part,) = [c for c in chapter if c.startswith(heading)]
    found: dict[str, set[str]] = {}
    for section in re.split(r"^### ", part, flags=re.MULTILINE)[1:]:
        name = section.splitlines()[0].strip("`")
        found[name] = set(re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE))
    return found


def test_every_table_and_column_is_documented(result: bloatlab.Result):
    assert documented("Tables") == {name: set(frame.columns) for name, frame in result.tables.items()}


def keys(of: dict[str, Any], prefix: str = "") -> set[str]:
    """Returns the names of the leaves of nested dictionaries, with a dot between levels; `drops` counts as a leaf."""
    return {
        name
        for k, v in of.items()
        for name in (keys(v, f"{prefix}{k}.") if isinstance(v, dict) and v and k != "drops" else {prefix + k})
    }


def no_numbers(of: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the paths of the strings and booleans in nested dictionaries."""
    for key, value in of.items():
        if isinstance(value, dict):
            yield from no_numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (str, bool)):
            yield prefix + key


def test_values_that_are_strings_or_booleans_are_not_numbers(result: bloatlab.Result):
    parts: list[Literal["apps", "links"]] = ["apps", "links"]
    for part in parts:
        found = {path for of in result.summary[part].values() for path in no_numbers(of)}
        assert not found & set(numbers_of(part))
        assert part == "links" or {"kind", "files.exact", "rpm.class", "rpm.confidence"} <= found


def test_every_key_of_the_summary_is_documented(result: bloatlab.Result):
    summary = dict(result.summary)
    links, apps = summary.pop("links"), summary.pop("apps")
    found = {
        "Run": keys(summary),
        "Link": set().union(*(keys(link) for link in links.values())),
        "Application": set().union(*(keys(app) for app in apps.values())),
    }
    delay = set(result.summary["apps"]["call"]["delay_ms"])
    found["Link"] = {re.sub(r"^(classes|grants)\.[^.]+", r"\1.NAME", k) for k in found["Link"]}
    # speech from the server has the same keys as speech to the server
    assert {f"voip_reverse.{k}" for k in keys(apps["call"]["voip"])} <= found["Application"]
    found["Application"] = {re.sub(r"^voip_reverse\..*", "voip_reverse", k) for k in found["Application"]}
    found["Application"] = {re.sub(r"\.each\.\d+$", ".each.N", k) for k in found["Application"]}
    shortened = {
        name: {re.sub(rf"\.({'|'.join(delay)})$", "", k) if "_ms" in k else k for k in all_}
        for name, all_ in found.items()
    }
    # a result has these keys only with another grading scale, or with background traffic
    shortened["Run"] |= {"latency.induced_p99_ms", "latency.background"}
    assert documented("Summary") == shortened


def test_tables_of_measures_are_current():
    done = subprocess.run([sys.executable, "tools/results_doc.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path: Path, tmp_path: Path):
    scenario = bloatlab.load(path)
    changes = scenario.data["link"].get("up", {}).get("changes")
    seconds = "90s" if changes else "30s"  # changes must not come after the end of the run
    assert call(["run", str(path), "--set", f"duration={seconds}", "-q", "-o", str(tmp_path / "r")]) == 0
    summary = bloatlab.open_result(tmp_path / "r").summary
    assert all(app["packets"] > 0 for app in summary["apps"].values())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_sets_that_examples_suggest_are_valid(path: Path):
    """Every `--set` in a comment of an example is valid and changes the scenario."""
    for one, two in re.findall(r"--set (?:'([^']+)'|(\S+?)\)?(?=\s))", path.read_text()):
        name, _, value = (one or two).partition("=")
        assert bloatlab.load(path, [(name, value)]) != bloatlab.load(path)


def test_examples_are_the_ones_that_readme_and_tour_name():
    named = set(re.findall(r"examples/([\w-]+\.toml)", (ROOT / "README.md").read_text() + TOUR.read_text()))
    assert len(named) > 5
    assert named <= {p.name for p in EXAMPLES}


def blocks(name: str, file: Path = ROOT / "README.md") -> list[str]:
    """Returns the indented blocks of a section of the README, or of `file`, without their indent."""
    text = file.read_text()
    (section,) = [s for s in re.split(r"^## ", text, flags=re.MULTILINE) if s.startswith(name)]
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, flags=re.MULTILINE)
    return ["\n".join(line[4:] for line in block.strip("\n").splitlines()) + "\n" for block in found]


def on_a_pipe(*arguments: str, cwd: Path) -> str:
    """Returns the output of a command on a pipe, for which no line width is set."""
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    command = [sys.executable, "-c", "from bloatlab.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout


def on_a_terminal(*arguments: str, cwd: Path, columns: int) -> str:
    """Returns the output of a command on a terminal of this width, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-c", "from bloatlab.cli import main; main()", *arguments]
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TERM": "xterm"}
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=slave, stderr=subprocess.DEVNULL) as process:
        os.close(slave)
        written = b""
        with contextlib.suppress(OSError):  # reading past the end of a terminal is an error
            while part := os.read(master, 65536):
                written += part
        os.close(master)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).replace("\r\n", "\n")


def test_readme_scenario_prints_what_readme_shows(tmp_path: Path):
    """The output of the run on a pipe, and that of `show` on a terminal of 80 columns, are exactly those in the
    README.
    """
    text, command, shown = blocks("A scenario")
    (tmp_path / "upload.toml").write_text(text)
    assert command == ".venv/bin/bloatlab run upload.toml -o runs/upload\n"
    assert on_a_pipe(*command.split()[1:], cwd=tmp_path) == shown
    assert on_a_terminal("show", "runs/upload", cwd=tmp_path, columns=80) == shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_the_index_of_the_docs_has_every_page_once():
    listed = re.findall(r"\]\(([\w/.-]+\.md)\)", (ROOT / "docs" / "README.md").read_text())
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    wanted = {p for p in pages if not p.startswith(("scenario/", "paper/")) and p != "README.md"}
    assert sorted(listed) == sorted(wanted | {"../CHANGELOG.md"})


def test_no_list_takes_in_the_code_behind_it():
    """In Markdown, a block of four spaces directly behind a list is text of the last item, not code."""
    within = re.compile(r"^(?:\* |\d+\. ).*\n(?:.+\n)*\n    [^\s*]", re.MULTILINE)
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("python/bloatlab/studies/*/*.md")]
    assert len(pages) > 60
    assert [page for page in pages if within.search(page.read_text())] == []


def test_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line.removeprefix("    ")) > 80] == []


def test_python_of_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "upload.toml").write_text(blocks("A scenario")[0])
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("From Python", TOUR))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"# prints (.*)", code)
    assert shown == done.stdout.splitlines()


def test_scenario_of_the_flent_guide_can_be_exported(tmp_path: Path):
    text = (ROOT / "docs" / "flent.md").read_text()
    (line,) = re.findall(r"(?:^    .*\n|^\n(?=    ))*^    \[link\.up\]\n(?:^    .*\n|^\n(?=    ))*", text, re.MULTILINE)
    written = bloatlab.flent.write(bloatlab.run(bloatlab.parse(textwrap.dedent(line))), tmp_path / "home.flent.gz")
    assert {"upload", "ping"} <= set(bloatlab.flent.read(written).summary["apps"])


def number(text: str) -> tuple[float, int]:
    """Returns the number at the start of a table's cell, and its decimal places."""
    written = text.split(maxsplit=1)[0]
    return float(written), len(written.partition(".")[2])


def test_tables_of_the_low_latency_guide_are_what_the_example_computes():
    """Every number in both tables follows from the `--set` options at the head of the example and on the page."""
    example = ROOT / "examples" / "low-latency-docsis.toml"
    text = (ROOT / "docs" / "low-latency-docsis.md").read_text()
    options = re.findall(r"^#   --set '(.*?)'(?: |$)", example.read_text(), flags=re.MULTILINE)
    (command,) = re.findall(
        r"^    bloatlab run examples/low-latency-docsis\.toml (--set (?:.*\\\n)+.*)$", text, re.MULTILINE
    )
    first = dict(pair.split("=", 1) for pair in shlex.split(command.replace("\\\n", " ")) if pair != "--set")

    def rows(heading: str) -> list[list[str]]:
        (table,) = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]

    modems, estimates = rows("modem"), rows("proactive grants, every 945 us")
    assert (len(modems), len(estimates)) == (4, 6)
    assert (estimates[0][0], "5mbit" in first["link.up.docsis31.low_latency"]) == ("5 Mbit/s", True)
    sets = [dict([option.split("=", 1)]) for option in reversed(options)] + [{}]
    for grants, estimate, *_ in estimates:
        low_latency = first["link.up.docsis31.low_latency"].replace("5mbit", f"{grants.split()[0]}mbit")
        sets.append(first | {
            "link.up.docsis31.low_latency": "{}" if grants == "none" else low_latency,
            "link.up.queue.docsis_lld.delay_estimate": estimate.replace("virtual queue", "virtual_queue"),
        })  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one: bloatlab.run(bloatlab.load(example, [*one.items()])).summary, sets))
    for (_, *cells), summary in zip(modems, found[:4], strict=True):
        apps = summary["apps"]
        delay, page = apps["game"]["delay_ms"], apps["web"]["web"]["page_load_s"]["median"]
        ours = [delay["p50"], delay["p99"], delay["max"], page, apps["uploads"]["goodput_mbit"]]
        for cell, value in zip(cells, ours, strict=True):
            assert number(cell)[0] == pytest.approx(value, abs=0.5001 * 0.1 ** number(cell)[1])
    for (_, _, *cells), summary in zip(estimates, found[4:], strict=True):
        apps, marks = summary["apps"], summary["links"]["up"]["classes"]["L"]["marked_packets"]
        ramp = 100.0 * marks["step"] / (marks["step"] + marks["law"])
        ours = [apps["uploads"]["goodput_mbit"], apps["prague"]["goodput_mbit"], ramp, apps["game"]["delay_ms"]["p99"]]
        for cell, value in zip(cells, ours, strict=True):
            assert number(cell)[0] == pytest.approx(value, abs=0.5001 * 0.1 ** number(cell)[1])


def test_study_readme_has_every_free_parameter_with_its_value():
    text = (ROOT / "python/bloatlab/studies/cablelabs2012/README.md").read_text()
    rows = re.findall(r"^\| `(\w+)`[^|]*\| ([^|]+) \| ([^|]+) \|$", text, flags=re.MULTILINE)
    assert rows == [(u.field, u.what, str(getattr(Setup(), u.field))) for u in UNKNOWNS]


@pytest.mark.parametrize(
    ("page", "files"),
    [
        ("adding-a-controller-in-python.md", ["controllers/aimd.py", "controllers/gentle.py"]),
        ("adding-a-law-in-python.md", ["laws/patience.py"]),
    ],
)
def test_a_page_shows_the_files_as_they_are(page: str, files: list[str]):
    shown = re.findall(r"```python\n(.*?)```\n", (ROOT / "docs" / page).read_text(), flags=re.DOTALL)
    for file in files:
        assert (ROOT / "examples" / file).read_text() in shown, f"{page} does not show {file} as it is"


def test_the_example_that_uses_delay_fills_the_buffer_without_a_lower_threshold(tmp_path: Path):
    waits: list[float] = []
    for own in (r"\g<0>", "return lower"):
        for file in (ROOT / "examples" / "controllers").glob("*"):
            if file.is_file():
                text = re.sub(r"return Drive\(lower, lower\).*", own, file.read_text())
                (tmp_path / file.name).write_text(text)
        sets = {"tcp.mine.python": {"controller": "gentle.py:Gentle"}, "link.up.queue.droptail.limit": "250p"}
        found = bloatlab.run(tmp_path / "home.toml", sets=sets).summary
        waits.append(found["links"]["up"]["sojourn_ms"]["mean"])
    assert waits[0] < 50
    assert waits[1] > 300
