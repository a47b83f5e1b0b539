#!/usr/bin/env python3
"""Writes the tables of docs/classroom.md and the questions of docs/classroom-handout.md.

    tools/classroom_doc.py [--check]

The questions and their scenarios are those of the playground, web/essays/class.md. Run with the Python of `make venv`.
Without an argument it writes the text between the markers `<!-- NAME, written by ... -->` and `<!-- end -->`; with
--check it compares and writes nothing. The 215 runs take some 10 s.

Exit code 0: written, or current. 1: --check, and the committed pages are not current.
"""

from __future__ import annotations

import copy
import difflib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bloatlab

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = ROOT / "web" / "essays" / "class.md"
ANSWERS, HANDOUT = ROOT / "docs" / "classroom.md", ROOT / "docs" / "classroom-handout.md"

BEGIN = re.compile(r"<!-- ([\w ]+), written by `make docs`: do not edit -->\n(.*?)<!-- end -->\n", re.DOTALL)
SETTINGS = re.compile(r"```json\n(.*?)\n```\n", re.DOTALL)

#: Buffers that are tried for the first question, in packets. The largest ones are there to find the best rate.
BUFFERS = (*range(1, 31), 40, 60, 100, 400)
#: The largest size of a packet on the wire, for the bandwidth-delay product in packets.
PACKET_BYTES = 1500
#: The time at which the bucket of the fifth question is empty, in s. The uploads start at 5 s. The bucket of 10 MB
#: drains at 20 Mbit/s and fills at 5 Mbit/s, so it lasts 10 MB x 8 / 15 Mbit/s.
BUCKET_EMPTY_S = 5 + 80 / 15

Tree = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """A question for a class: its title, its paragraphs, and the scenario with which it opens."""

    title: str
    text: Sequence[str]
    scenario: Tree


def questions(source: str) -> list[Question]:
    """Reads the questions of an essay's file; web/essays.mjs describes the format."""
    head, *parts = re.split(r"^## ", source, flags=re.MULTILINE)
    scenario: Tree = json.loads(SETTINGS.findall(head)[0])["scenario"]
    found: list[Question] = []
    for part in parts:
        title, _, body = part.partition("\n")
        scenario = copy.deepcopy(scenario)
        for settings in map(json.loads, SETTINGS.findall(body)):
            for path in settings.get("remove", []):
                place, last = _place(scenario, path)
                del place[last]
            for path, value in settings.get("set", {}).items():
                place, last = _place(scenario, path)
                place[last] = value
        prose = re.sub(r"^### Try$", "", SETTINGS.sub("", body), flags=re.MULTILINE)
        found.append(Question(title, [p for p in map(str.strip, re.split(r"\n\s*\n", prose)) if p], scenario))
    return found


def _place(tree: Tree, path: str) -> tuple[Tree, str]:
    *parts, last = path.split(".")
    for part in parts:
        tree = tree.setdefault(part, {})
    return tree, last


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(re.sub(r"\|\s+(?=\|)", "| ", line) + "\n" for line in lines)


def least_buffer(scenario: Tree, rtt_ms: int, flows: int) -> int:
    """Returns the smallest buffer such that it and all larger ones give at least 95 % of the best goodput."""
    half = f"{rtt_ms / 2}ms"
    sets = {"link.up.delay": half, "link.down.delay": half, "app.upload.traffic.ftp.flows": flows}
    rates = {
        n: bloatlab.run(scenario, sets=sets | {"link.up.queue": {"droptail": {"limit": f"{n}p"}}}).summary["apps"][
            "upload"
        ]["goodput_mbit"]
        for n in BUFFERS
    }
    enough = 0.95 * max(rates.values())
    short = max((n for n, rate in rates.items() if rate < enough), default=0)
    return min(n for n in BUFFERS if n > short)


def buffers(scenario: Tree) -> str:
    """Returns the table that answers the first question of the class (web/essays/class.md).

    For three round-trip times: the BDP and the smallest sufficient buffer, in packets, for one and for eight uploads.
    """
    rate = 5e6
    rows = [
        (rtt, round(rate * rtt / 8e3 / PACKET_BYTES), *(least_buffer(scenario, rtt, flows) for flows in (1, 8)))
        for rtt in (10, 50, 200)
    ]
    return _table(["RTT (ms)", "BDP (packets)", "one upload (packets)", "eight uploads (packets)"], rows)


def losers(scenario: Tree) -> str:
    """Returns the table that answers the second question: call MOS, page load time and upload goodput, by queue."""
    queues: list[tuple[str, Any]] = [
        ("droptail, 400 packets", {"droptail": {"limit": "400p"}}),
        ("droptail, 17 packets", {"droptail": {"limit": "17p"}}),
        ("codel, 400 packets", {"codel": {"limit": "400p"}}),
        ("fq_codel", "fq_codel"),
    ]
    rows: list[Sequence[str]] = []
    for name, queue in queues:
        apps = bloatlab.run(scenario, sets={"link.up.queue": queue}).summary["apps"]
        page, upload = apps["pages"]["web"]["page_load_s"]["median"], apps["upload"]["goodput_mbit"]
        rows.append((name, f"{apps['call']['voip']['mos']:.1f}", f"{page:.1f}", f"{upload:.1f}"))
    return _table(["queue", "call (MOS)", "page, median (s)", "upload (Mbit/s)"], rows)


def bbr_and_cubic(scenario: Tree) -> str:
    """Returns the table that answers the third question: BBR alone and with an upload that uses CUBIC.

    The application that the button "+ upload" adds is called ftp.
    """
    two = copy.deepcopy(scenario)
    two["app"]["ftp"] = {**copy.deepcopy(two["app"]["upload"]), "traffic": {"ftp": {}}}
    del two["app"]["ftp"]["tcp"]
    cases: list[tuple[str, Tree, dict[str, Any]]] = [
        ("BBR alone", scenario, {}),
        ("BBR and CUBIC (*+ upload*)", two, {}),
        ("BBR and CUBIC, with fq_codel instead of drop-tail", two, {"link.up.queue": "fq_codel"}),
    ]
    rows: list[Sequence[str]] = []
    for name, tree, sets in cases:
        summary = bloatlab.run(tree, sets=sets).summary
        apps, wait = summary["apps"], summary["links"]["up"]["sojourn_ms"]["mean"]
        rates = [f"{apps[app]['goodput_mbit']:.1f}" if app in apps else "" for app in ("upload", "ftp")]
        rows.append((name, f"{wait:.0f}", f"{apps['call']['voip']['mos']:.1f}", *rates))
    return _table(["uploads", "wait, mean (ms)", "call (MOS)", "BBR (Mbit/s)", "CUBIC (Mbit/s)"], rows)


def grades(scenario: Tree) -> str:
    """Returns the table that answers the fourth question: delays, grade, losses and MOS by queue."""
    queues: list[tuple[str, Any]] = [
        ("fq_codel", "fq_codel"),
        ("pie, 400 packets", {"pie": {"limit": "400p"}}),
        ("droptail, 12 packets", {"droptail": {"limit": "12p"}}),
    ]
    rows: list[Sequence[str]] = []
    for name, queue in queues:
        summary = bloatlab.run(scenario, sets={"link.up.queue": queue}).summary
        wait, voip = summary["links"]["up"]["sojourn_ms"], summary["apps"]["call"]["voip"]
        figures = [f"{wait['mean']:.0f}", f"{wait['p99']:.0f}", summary["latency"]["grade"]]
        rows.append((name, *figures, f"{voip['plr_percent']:.1f}", f"{voip['mos']:.1f}"))
    return _table(["queue", "wait, mean (ms)", "wait, p99 (ms)", "grade", "call: lost or late (%)", "call (MOS)"], rows)


def bucket(scenario: Tree) -> str:
    """Returns the table that answers the fifth question: the longest wait in two periods of the run."""
    series = bloatlab.run(scenario).table("queue_series")
    waits = [
        (float(t), float(wait) / 1e3)
        for link, t, wait in series.select("link", "t_s", "sojourn_ms_max").iter_rows()
        if link == "up" and not math.isnan(wait)
    ]
    rows = [
        ("5 to 10.3 s", f"{max(wait for t, wait in waits if t <= BUCKET_EMPTY_S):.2f}"),
        ("10.3 to 12.5 s", f"{max(wait for t, wait in waits if BUCKET_EMPTY_S < t <= 12.5):.2f}"),
    ]
    return _table(["time in the run", "longest wait (s)"], rows)


#: The functions that write the text between the markers of the page with the answers, in the order of the questions.
TABLES: dict[str, Callable[[Tree], str]] = {
    "buffers": buffers,
    "losers": losers,
    "BBR and CUBIC": bbr_and_cubic,
    "grades": grades,
    "bucket": bucket,
}
#: The empty tables of the handout: the head and the first cells of the rows.
BLANKS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "buffers": (["RTT (ms)", "BDP (packets)", "one upload (packets)", "eight uploads (packets)"], ["10", "50", "200"]),
    "losers": (["queue", "call (MOS)", "page, median (s)", "upload (Mbit/s)"], ["droptail, 400 packets", "", ""]),
    "BBR and CUBIC": (
        ["uploads", "wait, mean (ms)", "BBR (Mbit/s)", "CUBIC (Mbit/s)"],
        ["BBR alone", "BBR and CUBIC", "both, with fq_codel"],
    ),
    "grades": (["queue", "grade", "call (MOS)", "call: lost or late (%)"], ["", ""]),
    "bucket": (["", "calculated", "seen in the run"], ["the bucket is empty at (s)"]),
}


def handout(asked: Sequence[Question]) -> str:
    """Returns the questions without their answers, each with an empty table.

    The titles are bold text, because headings would need a second page.
    """
    parts: list[str] = []
    for place, (one, (head, firsts)) in enumerate(zip(asked, BLANKS.values(), strict=True), 1):
        blank = _table(head, [[first, *[""] * (len(head) - 1)] for first in firsts])
        parts.append("\n".join([f"**{place}. {one.title}**", *one.text, "", blank]))
    return "\n".join(parts)


def page(text: str, asked: Sequence[Question]) -> str:
    """Returns the page with current text between its markers."""
    scenarios = dict(zip(TABLES, (one.scenario for one in asked), strict=True))

    def current(m: re.Match[str]) -> str:
        new = handout(asked) if m[1] == "questions" else TABLES[m[1]](scenarios[m[1]])
        return m[0][: m.start(2) - m.start()] + f"\n{new}\n" + "<!-- end -->\n"

    return BEGIN.sub(current, text)


def main() -> int:
    """Writes or compares the pages; returns the exit code."""
    stale = False
    asked = questions(QUESTIONS.read_text(encoding="utf-8"))
    for path in (ANSWERS, HANDOUT):
        text = path.read_text(encoding="utf-8")
        written = page(text, asked)
        if "--check" not in sys.argv[1:]:
            path.write_text(written, encoding="utf-8")
        elif written != text:
            print(f"{path}: not current; run `make docs`", file=sys.stderr)
            lines = difflib.unified_diff(text.splitlines(), written.splitlines(), "the page", "computed", "", "", 0, "")
            print("\n".join(lines), file=sys.stderr)
            stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
