"""Tests of links that send only at the opportunities in a trace: the trace is part of the scenario, and packets leave
by mahimahi's rule.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import polars as pl
import pytest

import bloatlab
from bloatlab.cli import play
from bloatlab.cli.main import call
from bloatlab.deliveries import TraceError
from bloatlab.scenario import parse, problems
from bloatlab.traces import packets

#: 9 Mbit/s of datagrams of 1400 bytes are sent to a phone, over a link with a trace.
BLAST = """
duration = "4s"
trace.packets = true
[link.down]
from = "net"
to = "phone"
queue = "pfifo limit 100000"
delivery.trace = { file = "cell.down", start = "300ms" }
[link.up]
from = "phone"
to = "net"
[app.blast]
from = "net"
to = ["phone"]
start_spread = "0s"
traffic.cbr = { rate = "9mbit", size = 1400 }
"""

#: A trace with bursts, gaps and repeated lines; without the repetitions, there is at most one opportunity per ms.
LINES = [t for t in range(1, 1500) if t % 700 < 550 and t % 7] + [1500, 1500, 1500, 1503]


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """Writes the scenario and its trace; returns the path of the scenario."""
    (tmp_path / "cell.down").write_text("".join(f"{t}\n" for t in LINES))
    (tmp_path / "cell.toml").write_text(BLAST)
    return tmp_path / "cell.toml"


def departures(arrivals: list[tuple[float, int]], lines: list[int], start: int, end: int) -> list[float]:
    """Returns the times in ms at which the packets of `arrivals` (ms, bytes) leave the link. They are computed from
    mahimahi's rule alone, one opportunity after another.
    """
    queue: list[tuple[float, int]] = list(arrivals)
    left: list[float] = []
    part = 0  # how many bytes of the first queued packet are already sent
    schedule = [turn * lines[-1] + line - start for turn in range(end // lines[-1] + 2) for line in lines]
    for time in (t for t in schedule if 0 <= t < end):
        room = 1504
        # the clock counts whole ms: a packet that arrives in the same millisecond as an opportunity cannot use it
        while room and queue and int(queue[0][0]) < time:
            sent = min(room, queue[0][1] - part)
            part, room = part + sent, room - sent
            if part == queue[0][1]:
                left.append(float(time))
                queue.pop(0)
                part = 0
    return left


def test_packets_leave_as_mahimahi_says(cell: Path, tmp_path: Path) -> None:
    assert call(["run", str(cell), "-o", str(tmp_path / "out")]) == 0
    seen = packets(tmp_path / "out").filter(pl.col("app") == "blast").collect()
    came = seen.filter(pl.col("fate") == "enqueued").sort("t_s")
    arrivals = list(zip((came["t_s"] * 1e3).to_list(), came["size_bytes"].to_list(), strict=True))
    assert {size for _, size in arrivals} == {1400}
    gone = seen.filter(pl.col("fate") == "delivered").sort("t_s")["t_s"] * 1e3
    model = departures(arrivals, LINES, start=300, end=4000)
    assert len(model) > 2500
    assert gone.to_list() == pytest.approx(model, abs=1e-6)


def test_the_lines_are_part_of_the_scenario(cell: Path, tmp_path: Path) -> None:
    first = bloatlab.load(cell)
    (tmp_path / "elsewhere").mkdir()
    held = parse(first.text, form="json", folder=tmp_path / "elsewhere")
    assert held == first, "it needs no file any more"
    assert bloatlab.run(held).summary == bloatlab.run(cell).summary
    toml = parse(first.as_toml(), folder=tmp_path / "elsewhere")
    assert toml.hash == first.hash
    # different line endings do not change the scenario; one more line in the trace does
    (tmp_path / "cell.down").write_bytes("".join(f"{t}\r\n" for t in LINES).encode())
    assert bloatlab.load(cell).hash == first.hash
    (tmp_path / "cell.down").write_text("".join(f"{t}\n" for t in [*LINES, 1504]))
    assert bloatlab.load(cell).hash != first.hash


def test_what_the_link_could_have_sent(cell: Path) -> None:
    down = bloatlab.run(cell, sets={"app.blast.traffic.cbr.rate": "30mbit", "duration": "3006ms"}).summary["links"][
        "down"
    ]
    told = down["delivery"]
    # the run lasts two periods of 1503 ms and starts 300 ms into the trace, so each opportunity occurs twice
    assert told["bytes"] == 2 * len(LINES) * 1504
    assert told["used_bytes"] + told["wasted_bytes"] == told["bytes"]
    assert told["mean_mbit"] == pytest.approx(len(LINES) * 1504 * 8 / 1503e-3 / 1e6)
    assert told["longest_gap_ms"] == max(b - a for a, b in zip(LINES, [*LINES[1:], LINES[0] + 1503], strict=True))
    assert down["utilisation"] == pytest.approx(down["delivered_bytes"] / told["bytes"])
    assert down["utilisation"] > 0.99
    assert told["gap_drops"] == 0


@pytest.mark.parametrize("queue", ["pfifo limit 10", "codel"])
def test_drops_of_gaps_are_those_of_the_packets(cell: Path, tmp_path: Path, queue: str) -> None:
    # the trace has no line between 549 and 701, nor between 1249 and 1401; it starts at 300 ms and repeats every 1503
    # ms
    gaps = [(t - 300 + turn, t + 152 - 300 + turn) for turn in (0, 1503, 3006) for t in (549, 1249)]
    folder = tmp_path / "out"
    assert (
        call(
            [
                "run",
                str(cell),
                "-o",
                str(folder),
                "--set",
                "app.blast.traffic.cbr.rate=12mbit",
                "--set",
                f"link.down.queue={queue}",
            ]
        )
        == 0
    )
    told = bloatlab.open_result(folder).summary["links"]["down"]
    seen = packets(folder).filter(pl.col("app") == "blast").collect()
    came = seen.filter(pl.col("fate") == "enqueued").select("seq", came=pl.col("t_s") * 1e3)
    dropped = seen.filter(pl.col("fate") == "dropped").join(came, on="seq", how="left")
    pairs = [(t * 1e3, t * 1e3 if c is None else c) for t, c in dropped.select("t_s", "came").iter_rows()]
    assert len(pairs) == told["dropped_packets"] > 0
    by_hand = sum(any(t > begin and c < end for begin, end in gaps) for t, c in pairs)
    assert told["delivery"]["gap_drops"] == by_hand > 10
    assert by_hand < len(pairs)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "the trace is empty"),
        ("1\n2\n\n3\n", 3, "an empty line is not valid"),
        ("1\n5\n3\n", 3, "3 is not valid after 5"),
        ("0\n0\n", 2, "the last time is 0"),
        ("1\n2.5\n", 2, '"2.5" is not valid; expected a whole number of milliseconds'),
    ],
)
def test_what_is_no_trace_is_one_line(cell: Path, text: str, line: int, what: str) -> None:
    (cell.parent / "cell.down").write_text(text)
    with pytest.raises(TraceError) as refused:
        bloatlab.load(cell)
    (said,) = problems(refused.value)
    assert said.startswith(f"{cell}: link.down.delivery.trace.file: {cell.parent / 'cell.down'}:{line}: ")
    assert what in said


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("link.down.delivery.trace.file", "gone", "no such file or directory"),
        ("link.down.rate", "5mbit", "link.down.rate: a link has rate or opportunities (delivery), not both"),
        ("link.down.queue", "docsis_pie", "link.down.queue.docsis_pie: docsis_pie estimates the delay from the rate"),
        ("link.down.queue", "sfq + docsis_pie", "link.down.queue.sfq.law: docsis_pie estimates"),
        ("link.down.queue", "cbq", "link.down.queue.cbq: its classes have shares of the link's rate"),
        (
            "link.down.queue",
            {"pie": {"variant": "draft2013"}},
            "link.down.queue.pie.variant: the delay is estimated from the rate",
        ),
        ("link.down.delivery.trace.opportunity", "1399B", "1399B is less than a packet of app.blast, 1400B"),
        ("link.down.delivery.trace.opportunity", "70KB", "70KB is not valid; expected 28B to 65535B"),
        ("link.down.changes", [{"at": "1s", "rate": "1mbit"}], "expected a change of delay, jitter or loss"),
        ("link.down.delivery", "trace", "link.down.delivery.trace.file: is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(cell: Path, path: str, value: object, said: str) -> None:
    with pytest.raises(bloatlab.ScenarioError) as refused:
        bloatlab.load(cell, {path: value})
    assert said in problems(refused.value)[0]


def test_delay_and_loss_may_change(cell: Path) -> None:
    changes = [{"at": "1s", "delay": "20ms"}, {"at": "2s", "loss": 0.5}]
    down = bloatlab.run(cell, sets={"link.down.changes": changes}).summary["links"]["down"]
    assert down["drops"]["link_loss"] > 100


@pytest.mark.parametrize("model", ["lte", "wifi", '{ starlink = { delay_swing = "0s", rate = "20mbit" } }'])
def test_a_model_and_the_trace_that_it_writes_are_the_same_link(cell: Path, model: str) -> None:
    trace = cell.parent / "written.down"
    sets = ("--set", f"link.down.delivery={model}")
    assert call(["links", "write", str(cell), *sets, "--link", "down", "-o", str(trace)]) == 0
    given = {"link.down.delivery": model}
    drawn = bloatlab.run(cell, sets=given)
    played = bloatlab.run(cell, sets={"link.down.delivery": {"trace": {"file": "written.down"}}})
    assert drawn.summary["links"]["down"] == played.summary["links"]["down"]
    assert bloatlab.run(cell, sets=given | {"seed": "2"}).summary["links"]["down"] != drawn.summary["links"]["down"]


def test_a_link_with_a_rate_has_no_trace_to_write(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for link, said in (("up", 'link "up" has a rate'), ("dwn", 'unknown link "dwn" (known: down, up)')):
        assert call(["links", "write", str(cell), "--link", link, "-o", str(cell.parent / "x")]) == 2
        assert said in capsys.readouterr().err


def test_a_run_that_is_too_short_to_write_is_named(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = ["links", "write", str(cell), "--set", "duration=0.5ms", "--link", "down", "-o", str(cell.parent / "x")]
    assert call(written) == 2
    assert capsys.readouterr().err.startswith("duration: 500us has opportunities only at 0 ms")


@pytest.mark.parametrize(
    ("output", "sets", "said"),
    [
        ("cell.toml", (), "cell.toml: is read by this command; expected another file"),
        ("cell.down", (), "cell.down: is read by this command; expected another file"),
        ("x", ("--set", "link.down.delivery.trace.opportunity=3000B"), 'trace.opportunity: "3KB" cannot be written'),
    ],
)
def test_what_writing_a_trace_would_lose_is_refused(
    cell: Path, capsys: pytest.CaptureFixture[str], output: str, sets: tuple[str, ...], said: str
) -> None:
    before = {path.name: path.read_bytes() for path in cell.parent.iterdir()}
    assert call(["links", "write", str(cell), *sets, "--link", "down", "-o", str(cell.parent / output)]) == 2
    assert said in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in cell.parent.iterdir()} == before


#: A sweep of two disciplines and two start times in the trace, with two seeds each.
GRID = """
scenario = "cell.toml"
seeds = 2
columns = ["links.down.utilisation", "links.down.delivery.used", "links.down.delivery.gaps_over_100ms"]
[set]
"trace.packets" = false
duration = "1s"
[axes]
"link.down.queue" = ["codel", "pfifo limit 50"]
"link.down.delivery.trace.start" = ["0s", "400ms"]
"""


def swept(cell: Path, store: str, *more: str) -> str:
    """Runs the sweep of GRID and returns its table."""
    (cell.parent / "grid.toml").write_text(GRID)
    out = cell.parent / "grid.csv"
    asked = [str(cell.parent / "grid.toml"), "--store", str(cell.parent / store), "-o", str(out), *more]
    assert call(["sweep", *asked]) == 0
    return out.read_text()


def test_workers_have_the_lines_and_a_store_knows_them(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = swept(cell, "one", "--jobs", "1")
    assert len(alone.splitlines()) == 1 + 8
    assert swept(cell, "two", "--jobs", "2") == alone
    capsys.readouterr()
    # if a trace gets a new name, the scenario is new and the store has no runs of it; with the old name and the same
    # lines, the stored runs are found again
    cell.with_name("cell.down").rename(cell.with_name("other.down"))
    cell.write_text(BLAST.replace("cell.down", "other.down"))
    swept(cell, "two")
    assert "0 of them from the store" in capsys.readouterr().err.replace("\n", " ")
    cell.with_name("other.down").rename(cell.with_name("cell.down"))
    cell.write_text(BLAST)
    assert swept(cell, "two") == alone
    assert "8 of them from the store" in capsys.readouterr().err.replace("\n", " ")
    cell.with_name("cell.down").write_text("".join(f"{t}\n" for t in LINES[1:]))
    assert swept(cell, "two") != alone
    assert "0 of them from the store" in capsys.readouterr().err.replace("\n", " ")


def test_a_sweep_over_traces(cell: Path) -> None:
    cell.with_name("slow.down").write_text("10\n")
    grid = GRID.replace('"link.down.delivery.trace.start" = ["0s", "400ms"]', "")
    traces = '"link.down.delivery.trace.file" = ["cell.down", "slow.down"]\n'
    cell.with_name("traces.toml").write_text(grid + traces)
    asked = [str(cell.with_name("traces.toml")), "--store", str(cell.parent / "s"), "-o", str(cell.parent / "t.csv")]
    assert call(["sweep", *asked]) == 0
    table = pl.read_csv(cell.parent / "t.csv")
    # `used` counts the ms in which packets were sent: in 1 s, slow.down has only 100 opportunities
    used = dict(
        table.group_by("link.down.delivery.trace.file").agg(pl.col("links.down.delivery.used").max()).iter_rows()
    )
    assert used["slow.down"] < 101 < used["cell.down"]


def test_what_differs_is_said_in_a_few_letters(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [str(tmp_path / name) for name in ("a", "b")]
    assert call(["run", str(cell), "-o", results[0], "--set", "duration=1s"]) == 0
    cell.with_name("cell.down").write_text("".join(f"{t}\n" for t in LINES[1:]))
    assert call(["run", str(cell), "-o", results[1], "--set", "duration=1s"]) == 0
    capsys.readouterr()
    assert call(["diff", *results]) == 0
    said = capsys.readouterr().out
    assert "link.down.delivery.trace.source" in said.partition("Measures")[0]
    assert len(said.partition("Measures")[0]) < 1000 < len(bloatlab.load(cell).text)
    # a result contains the lines of its trace, so it can be shown without the file
    cell.with_name("cell.down").unlink()
    assert call(["show", results[1]]) == 0


def test_the_playground_gets_the_lines(cell: Path) -> None:
    given = bloatlab.load(cell)
    _, _, packed = play.fragment(given).partition("#1=")
    tree = json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15))
    assert tree["scenario"]["link"]["down"]["delivery"]["trace"]["source"].startswith("+1 ")
    assert parse(given.as_toml()) == given


def test_a_recorded_link_is_judged(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect = '[expect]\n"links.down.delivery.gaps_over_100ms" = "<= {n}"\n'
    for most, code in [(10, 0), (1, 1)]:
        file = tmp_path / f"{most}.toml"
        file.write_text(cell.read_text() + expect.format(n=most))
        assert call(["check", str(file), "--seeds", "2"]) == code
    assert "gaps_over_100ms" in capsys.readouterr().out


def test_a_trace_shows_nothing_of_another_file(cell: Path) -> None:
    (cell.parent / "cell.down").write_text("root:secret:0:0\n")
    with pytest.raises(TraceError) as refused:
        bloatlab.load(cell)
    (said,) = problems(refused.value)
    assert said.endswith(":1: expected a whole number of milliseconds, at most 1000000000")
