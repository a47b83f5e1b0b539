#!/usr/bin/env python3
"""Writes docs/scenario.md and docs/scenario/: every key of a scenario, from the JSON Schema exported by the core.

Run with the Python of `make venv`. Without an argument it writes the pages; with --check it compares and writes nothing.

Exit code 0: written, or current. 1: --check, and the committed pages are not current.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bloatlab
from bloatlab.scenario import catalogue

DOCS = Path(__file__).resolve().parents[1] / "docs"
WRITTEN = "<!-- Written by `make docs` from the schema (`bloatlab schema`). A test keeps it current; do not edit. -->"

Node = dict[str, Any]

# ruff: noqa: E501  the pages are wider than code

HEAD = f"""\
# The scenario

{WRITTEN}
"""

INTRODUCTION = """\
A scenario describes a network and the traffic on it, in TOML (or JSON, if the file's name ends in `.json`). A link leads
from one node to another, and applications run on nodes. You choose the names of links, nodes and applications.

    duration = "60s"

    [link.up]
    from = "home"
    to = "net"
    rate = "5mbit"
    delay = "10ms"
    queue.codel = { limit = "417p" }

    [link.down]
    from = "net"
    to = "home"
    rate = "50mbit"
    delay = "10ms"

    [app.upload]
    from = "home"
    to = ["net"]
    traffic.ftp = {}

[examples/](../examples) and the [cookbook](cookbook.md) have more scenarios.

* **`--set path=value`**, an option of commands such as `bloatlab run`, replaces or adds a value: `--set link.up.rate=2mbit`,
  `--set 'link.up.queue={ droptail = { limit = "21p" } }'`. In a path, 0 means the first entry of a list. A name that
  contains dots needs double quotes.
* **Editors.** `bloatlab schema > scenario.schema.json` writes a JSON Schema, with which an editor can complete keys and
  keywords.

## Ways to write a queue

You can write a queue as a keyword, as a table, or in the syntax of tc, the Linux command that sets up queues.

| written | meaning |
|---|---|
| `queue = "fq_codel"` | a discipline with its defaults |
| `queue.codel = { target = "5ms" }` | a discipline with a parameter |
| `queue = "sfq_hss + pie"` | a fair discipline and the law of its queues, the same as `queue.sfq_hss = { law = "pie" }` |
| `queue = "fq_codel limit 1000p target 5ms ecn"` | in tc's syntax, the same as `queue.fq_codel = { limit = "1000p", target = "5ms", ecn = true }` |
| `queue = "pfifo limit 417"` | in tc's syntax, the same as `queue.droptail = { limit = "417p" }` |
| `queue = "red limit 60kb avpkt 1000 bandwidth 10mbit"` | in tc's syntax; if parameters follow the name, `red` and `sfq` are Linux's versions (`variant = "linux"`) |
| `queue = "codel target 5ms variant linux"` | in tc's syntax, with the parameter `variant`, which tc itself does not have |
| `queue = "lred limit 100p"` | in tc's syntax, with the discipline `lred`, which tc itself does not have |
| `queue.python = { law = "mylaw.py:MyLaw", target = "5ms" }` | [your own law](adding-a-law-in-python.md) in Python, with a parameter `target` |
| `queue.sfq_hss = { law = { python = { law = "mylaw.py:MyLaw" } } }` | the same law in each queue of a fair discipline |

The value of some keys is a "keyword or table". The keyword alone means the table with its defaults: `scheduler = "drr"` is
the same as `scheduler = { drr = {} }`.

**tc's syntax.** bloatlab has these disciplines of tc: pfifo, bfifo, pfifo_head_drop, codel, fq_codel, pie, fq_pie, sfq, red,
cake and dualpi2. Their parameters have tc's units: a limit without a unit is in packets (bytes for bfifo and red), and both
`kb` and `KB` are 1024 bytes. Unlike in tc, a time must have a unit, except `perturb` of sfq (in seconds). Disciplines and
keys that tc does not have use the units of [Values](#values). You can also paste a line that `tc qdisc show` printed, or a
whole command (`tc qdisc replace dev eth0 root codel limit 100`). In the other direction, `bloatlab tc FILE` prints the
commands that give a Linux machine the rates, delays and queues of the scenario FILE.

**Strict priority**, as in tc's prio:

    queue.fair = { classifier = "prio", scheduler = "strict_priority", queue_limit = "1000p" }

The queues of this discipline are the bands 0, 1 and 2. The TOS byte of a packet (the byte of the IP header that holds the
code point, DSCP) selects its band. A packet is sent only while all bands with lower numbers are empty. Each band holds at
most `queue_limit`. Unlike in tc, there is also a `limit` for all bands together, by default 1000 packets. Filters can select
the band by code point, port, protocol or address:
`classifier = { prio = { filters = [{ match = { dscp = [46] }, band = 0 }] } }`.

**A shared queue.** With the discipline `perfect`, each flow has its own queue. Flows of two applications share a queue if
both applications have the same code point, and the queue lists it: `app.game.dscp = 10`, `app.bulk.dscp = 10` and
`queue.perfect = { shared_dscp = [10] }`.
"""

#: Kinds of values that a key can have: the name in the schema, and the words in the column "value".
UNITS = {
    "BitRate": "rate",
    "Bytes": "size",
    "Duration": "duration",
    "Limit": "limit",
    "Prob": "probability",
    "Expect": "comparison",
    "Which": "names or true",
    "Interval": "duration or keyword",
    "ReceiveWindow": "size or keyword",
}

#: The text below LEAD on a page that has a table with the key `variant`. The value of this key changes the defaults of
#: other keys. The example in the text is taken from the page.
BY_VARIANT = (
    "In the column *default*, a value followed by variants in brackets is the default of those variants. A value "
    "without brackets is the default of all other variants. For example, `{usual}, {own} ({variant})` means {own} if "
    "`variant` is {variant}, and otherwise {usual}."
)
#: Matches a table's row with a default that depends on `variant` and can serve as the example in BY_VARIANT.
EXAMPLE = re.compile(r"\| (?P<usual>[\w.]+), (?P<own>[\w.]+) \((?P<variant>\w+)\) \|")
#: The lines under the heading of every page.
LEAD = """\
[The scenario](../scenario.md) explains how to write a scenario and how to read the tables on this page. The path below
each heading is the place of the table in a scenario. If the value of a key is a table, the keys of that table are under
another heading, on this page or another one ([list of all tables](../scenario.md#all-tables))."""

VALUES_NOTE = """\
The tables of keys are below (the top level) and on the pages listed at the end of this page. They leave out only some
[details of particular kernels](scenario/tcp.md#tcp-presets), which presets of TCP stacks set. The column *value* of a table
states the kind of value. Most kinds are written like this:
"""

UNITS_NOTE = """\
Rates are in bits per second: `5mbit`, `5Mbit/s` and `5Mbps` are the same. Lower-case `mbps` and `kbps` are refused, because
they mean bytes per second in tc and bits per second elsewhere. (In tc's syntax, `Mbps` is also refused.)

A limit in time is the number of bytes that the link sends in this time. With a modem, a shaper or `delivery`, the link's
long-term rate counts.

Some defaults depend on another key, mostly on `variant`, which selects a published version of an algorithm. In the
column *default*, a value followed by keywords in brackets is the default for these keywords: `15ms, 30ms (draft2013)`
means 30 ms for the variant `draft2013`, and otherwise 15 ms.
"""

TABLES_NOTE = """\
Each line gives the name of a table of keys, and its path in a scenario. In a path, `NAME` stands for the name of a link, an
application or a TCP stack, and in `scheduler.NAME` for the name of a scheduler."""

#: The tables on the pages, in page order, by their names in the schema. A value consists of the table's title and its
#: place in a scenario.
TABLES = {
    "Link": ("Links", "`link.NAME`"),
    "Lateness": ("Lateness of a link", "`link.NAME.lateness`"),
    "Impairments": ("Impairments of a link", "`link.NAME.impairments`"),
    "Policer": ("Policer", "`link.NAME.impairments.policer`"),
    "BurstLoss": ("Losses in bursts", "`link.NAME.impairments.burst_loss`"),
    "Retransmission": ("Retransmission on the link", "`link.NAME.impairments.retransmission`"),
    "Reordering": ("Reordering", "`link.NAME.impairments.reordering`"),
    "Change": ("Changes of a link", "`link.NAME.changes`, a list"),
    "Qdisc": ("", ""),  # the disciplines, in the order of `bloatlab list qdiscs`
    "LredProfile": ("Thresholds of latency-based WRED", "`link.NAME.queue.lred.profiles`, a list"),
    "Profile": ("Thresholds of WRED", "`link.NAME.queue.wred.profiles`, a list"),
    "Rio": ("RIO", "`link.NAME.queue.wred.rio`"),
    "RampParams": ("A ramp of RIO", "`link.NAME.queue.wred.rio.in`, `link.NAME.queue.wred.rio.out`"),
    "HashParams": ("Fair queueing: hash", "`link.NAME.queue.fair.classifier.hash`"),
    "SerialSearchParams": ("Fair queueing: serial search", "`link.NAME.queue.fair.classifier.serial_search`"),
    "IsolatedParams": ("Fair queueing: isolated", "`link.NAME.queue.fair.classifier.isolated`"),
    "PrioParams": ("Fair queueing: bands", "`link.NAME.queue.fair.classifier.prio`"),
    "PrioFilter": ("Which packets go to a band", "`link.NAME.queue.fair.classifier.prio.filters`, a list"),
    "Quantum": ("Fair queueing: byte schedulers", "`link.NAME.queue.fair.scheduler.NAME`"),
    "Longest": ("Fair queueing: longest queue", "`overflow.longest` of fair, sfq, sfq_hss, perfect and drr"),
    "CbtClass": ("A class of cbt and dcbt", "`link.NAME.queue.cbt.classes`, `link.NAME.queue.dcbt.classes`, lists"),
    "CbqClass": ("A class of cbq", "`link.NAME.queue.cbq.classes`, a list"),
    "Match": (
        "Which packets belong to a class",
        "`match` of a class of cbt, dcbt or cbq, or of a filter of `classifier.prio`",
    ),
    "RedTest": ("RED within a class", "`test.red` of a class, `red` of a class of cbq"),
    "ShaperParams": (
        "Shaper: token buckets",
        "`link.NAME.shaper`, `link.NAME.docsis.flow`, `link.NAME.docsis31.flow`, `flow` and `classic_flow` of `low_latency`",
    ),
    "HtbParams": ("Shaper: HTB", "`link.NAME.shaper.htb`"),
    "DocsisParams": ("Cable modem", "`link.NAME.docsis`"),
    "Docsis31Params": ("Cable modem, DOCSIS 3.1", "`link.NAME.docsis31`"),
    "LowLatencyParams": ("Low Latency service flow", "`link.NAME.docsis31.low_latency`"),
    "DownstreamParams": ("Downstream of DOCSIS 3.1", "`link.NAME.docsis31.downstream`"),
    "LteParams": ("Delivery: like LTE", "`link.NAME.delivery.lte`"),
    "WifiParams": ("Delivery: like Wi-Fi", "`link.NAME.delivery.wifi`"),
    "StarlinkParams": ("Delivery: like Starlink", "`link.NAME.delivery.starlink`"),
    "TraceParams": ("Delivery: a recorded trace", "`link.NAME.delivery.trace`"),
    "App": ("Applications", "`app.NAME`"),
    "FtpParams": ("Traffic ftp", "`app.NAME.traffic.ftp`"),
    "WriteRate": ("A limit of the application's rate", "`app.NAME.traffic.ftp.rates`, a list"),
    "WebParams": ("Traffic web", "`app.NAME.traffic.web`"),
    "Uniform": ("A page of equal objects", "`app.NAME.traffic.web.page.uniform`"),
    "Lognormal": ("A page of random sizes", "`app.NAME.traffic.web.page.lognormal`"),
    "VoipParams": ("Traffic voip", "`app.NAME.traffic.voip`"),
    "CbrParams": ("Traffic cbr", "`app.NAME.traffic.cbr`"),
    "ProshareParams": ("Traffic proshare", "`app.NAME.traffic.proshare`"),
    "MediaParams": ("Traffic media", "`app.NAME.traffic.media`"),
    "GccParams": ("Google Congestion Control", "`app.NAME.traffic.media.control.gcc`"),
    "ScreamV2Params": ("SCReAM version 2", "`app.NAME.traffic.media.control.screamv2`"),
    "Pause": ("Pauses of a sender", "`app.NAME.traffic.media.pauses`, a list"),
    "GameParams": ("Traffic game", "`app.NAME.traffic.game`"),
    "MessagesParams": ("Traffic messages", "`app.NAME.traffic.messages`"),
    "BittorrentParams": ("Traffic bittorrent", "`app.NAME.traffic.bittorrent`"),
    "VideoParams": ("Traffic video", "`app.NAME.traffic.video`"),
    "ShortParams": ("Traffic short", "`app.NAME.traffic.short`"),
    "Pareto": ("A Pareto distribution", "`app.NAME.traffic.short.size.pareto`"),
    "BurstParams": ("Traffic burst", "`app.NAME.traffic.burst`"),
    "PingParams": ("Traffic ping", "`app.NAME.traffic.ping`"),
    "RpmParams": ("Traffic rpm", "`app.NAME.traffic.rpm`"),
    "Stack": ("TCP stacks", "`tcp.NAME`"),
    "PythonController": ("Controller in Python", "`tcp.NAME.python`"),
    "LedbatParams": ("LEDBAT", "`tcp.NAME.ledbat`"),
    "LedbatPpParams": ("Parameters of LEDBAT++", "`tcp.NAME.ledbat_pp`"),
    "Rmem": ("Receive buffer", "`tcp.NAME.rmem`"),
    "Route": ("Routes", "`route`, a list"),
    "Record": ("What to measure", "`record`"),
    "Trace": ("State to trace over time", "`trace`"),
    "Grade": ("Grades of the delay that load adds", "`grade`"),
    "OwnGrade": ("A grade of your own", "`grade.scale`, a list"),
}


#: The pages in docs/scenario/, keyed by the title of the first table on the page. A value consists of the file's name,
#: without its extension, and the page's title.
PAGES = {
    "Links": ("links", "Keys of links"),
    "Queue droptail": ("queues-aqm", "Queues: drop-tail and AQM"),
    "Queue sfq": ("queues-fair", "Queues: a queue per flow"),
    "Queue fred": ("queues-class", "Queues: accounting per flow or class, coupled queues, your own law"),
    "Thresholds of latency-based WRED": ("queues-parts", "Queues: thresholds, classifiers, schedulers, classes"),
    "Shaper: token buckets": ("modems", "Shapers and cable modems"),
    "Delivery: like LTE": ("delivery", "Links whose rate varies"),
    "Applications": ("applications", "Keys of applications"),
    "TCP stacks": ("tcp", "Keys of TCP stacks"),
    "Routes": ("run", "Routes, records, traces and grades"),
}


def tables(defs: dict[str, Node]) -> dict[str, tuple[str, str]]:
    """Returns TABLES, with "Qdisc" replaced by a table for each discipline."""
    found: dict[str, tuple[str, str]] = {}
    for table, words in TABLES.items():
        if table != "Qdisc":
            found[table] = words
            continue
        for choice in defs[table]["oneOf"]:
            for name, node in choice.get("properties", {}).items():
                found[reference(node) or name] = (f"Queue {name}", f"`link.NAME.queue.{name}`")
    return found


#: The TCP stack of applications that do not choose a stack; the table for `[tcp.NAME]` shows its values.
STACK = "linux-6"
#: Matches the part of a description that states the default, such as "null: 1000p, 50p (ns2)". This part is moved to
#: the default column.
UNSET = re.compile(
    r"(?:^|[;.] )(?:(?:[Nn]ull|[Aa]bsent|[Oo]mitted|[Uu]nset|[Dd]efault|[Bb]y default|[Ww]ithout (?:it|one))(?::| is| for|,)?) "
    r"((?:`[^`]*`|\([^)]*\)|[^.(]|\.(?=\w))+)"
)
#: Matches a sentence in a description that states the default. The sentence is removed, because the default column
#: shows the default.
TWICE = re.compile(r"(?:^| )Default (?:`[^`]*`|[\w, -]|\.(?=\w))+\.(?=$| )")


#: The meaning of a plain keyword that the schema does not describe.
PLAIN = {"none": "No AQM: packets are dropped only when a limit is reached."}

#: The word that the default column shows for an optional key without a default, keyed by the table's name in the
#: schema. For all other tables, the word is "none".
NONE = {"Change": "unchanged", "Match": "any"}


class Missing(Exception):  # noqa: N818  a message for the person who adds a table
    """Raised if the pages would leave out a part of the schema."""


def main(arguments: list[str]) -> int:
    """Writes or checks the pages; returns the exit code."""
    wanted = pages(bloatlab.schema())
    there = {f.relative_to(DOCS).as_posix() for f in [DOCS / "scenario.md", *(DOCS / "scenario").glob("*.md")]}
    if "--check" not in arguments:
        (DOCS / "scenario").mkdir(exist_ok=True)
        for name in there - wanted.keys():
            (DOCS / name).unlink()
        for name, text in wanted.items():
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    if there == wanted.keys() and all((DOCS / name).read_text(encoding="utf-8") == wanted[name] for name in wanted):
        return 0
    print("docs/scenario.md or a page of docs/scenario/ is not what the schema says: make docs", file=sys.stderr)
    return 1


def pages(schema: Node) -> dict[str, str]:
    """Returns the text of each page by its path in docs/. Raises `Missing` if TABLES or PAGES contradict the schema."""
    defs: dict[str, Node] = schema["$defs"]
    places = tables(defs)
    if forgotten := {n for n, d in defs.items() if d.get("properties")} - places.keys():
        raise Missing(f"no place for {', '.join(sorted(forgotten))}: add to TABLES in {__file__}")
    if gone := places.keys() - defs.keys():
        raise Missing(f"the schema has no {', '.join(sorted(gone))}: remove from TABLES in {__file__}")
    if lost := PAGES.keys() - {title for title, _ in places.values()}:
        raise Missing(f"no table is called {', '.join(sorted(lost))}: change PAGES in {__file__}")
    index = [HEAD, INTRODUCTION, "## Values\n", VALUES_NOTE, "| kind | written as |", "|---|---|"]
    index += [f"| {word} | {one_line(defs[name]['description'])} |" for name, word in UNITS.items()]
    index += ["", UNITS_NOTE, "## Top level\n", *table(schema, defs), "", "## All tables", "", TABLES_NOTE]
    found: dict[str, list[str]] = {}
    explained: set[str] = set()
    page = ""
    for name, (title, where) in places.items():
        if title in PAGES:
            file, heading = PAGES[title]
            page = f"scenario/{file}.md"
            found[page] = [
                f"# {heading}",
                "",
                WRITTEN,
                "",
                LEAD,
            ]
            index += ["", f"[{heading}]({page}):", ""]
        # all tables used to be on this page: the id keeps old links to them valid
        index.append(f'* <a id="{anchor(title)}"></a>[{title}]({page}#{anchor(title)}) {where}')
        about = wrapped(f"{where}. {one_line(defs[name].get('description', ''))}")
        rows = presets(defs[name], defs) if name == "Stack" else table(defs[name], defs, none=NONE.get(name, "none"))
        found[page] += ["", f"## {title}", "", *about, "", *rows]
        if "variant" in defs[name].get("properties", {}) and page not in explained:
            example = EXAMPLE.search("\n".join(rows))
            if example is not None:
                explained.add(page)
                at = found[page].index(LEAD) + 1
                found[page][at:at] = ["", *wrapped(BY_VARIANT.format(**example.groupdict()))]
    found["scenario.md"] = index
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()}


def anchor(title: str) -> str:
    """Returns the anchor that GitHub and the site give to a heading."""
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def table(of: Node, defs: dict[str, Node], values: Node | None = None, none: str = "none") -> list[str]:
    """Returns the key table of the schema node `of`, with the required keys first.

    Below the table, a list explains the keywords that each key accepts.

    `values` replaces the defaults of the schema; `none` is what the default column shows for a key without a default.
    """
    required: list[str] = of.get("required", [])
    keys = sorted(of["properties"], key=lambda k: (k not in required, k))
    lines = [f"| key | value | {'default' if values is None else f'`{STACK}`'} | meaning |", "|---|---|---|---|"]
    words: list[str] = []
    for key in keys:
        node: Node = of["properties"][key]
        if values is not None and key in values:
            node = {**node, "default": values[key]}
        value, meaning = default(node, defs)
        if parts := named_parts(node.get("default")):
            value = ", ".join(f"`{name}`" for name in parts)
            words.append(f"* `{key}`: each entry has the keys of {link(node['items'])}")
            words += [
                line
                for n, text in parts.items()
                for line in wrapped(f"* `{key}`, the default entry `{n}`: {text}", "  ")
            ]
        fields = [
            f"`{key}`",
            kind(node, defs),
            "required" if key in required else none if value == "none" else value,
            meaning.removesuffix("Required.").rstrip(),
        ]
        lines.append("| " + " | ".join(f.replace("|", "\\|") for f in fields) + " |")
        words += [line for word in choices(node, defs) for line in wrapped(f"* `{key}` {word}", "  ")]
    return [*lines, "", *words] if words else lines


def link(node: Node) -> str:
    """Returns a link to the table that a node refers to, for the pages of docs/scenario/."""
    name, page = reference(node), ""
    for table, (title, _) in TABLES.items():
        page = PAGES[title][0] if title in PAGES else page
        if table == name:
            return f"[{title[0].lower()}{title[1:]}]({page}.md#{anchor(title)})"
    raise Missing(f"no place for {name}: add to TABLES in {__file__}")


def presets(of: Node, defs: dict[str, Node]) -> list[str]:
    """Returns the key table of a TCP stack, and for each preset the values that differ from `STACK`."""
    stacks = {stack["name"]: stack for stack in catalogue()["tcp"]}
    base = stacks[STACK]["params"]
    lines = wrapped(
        f"The column `{STACK}` shows the values of the preset `{STACK}`, which applications use by default. If the preset "
        "does not set a key, the column shows the key's own default."
    )
    lines.append("")
    lines += [*table(of, defs, base), "", "### TCP presets", ""]
    lines += wrapped(
        f"Each item describes a preset, and lists the values that differ from those of `{STACK}`. The ns-2 presets and "
        "`rfc` also differ in details of particular kernels. The keys of these details, such as `marking_ack_reduces`, are "
        "not on this page, but in `crates/tcp/src/params/quirks.rs`. Only a scenario in JSON can set the value `null`, "
        "because TOML has no such value. `bloatlab list NAME` shows the values of all keys on this page."
    )
    lines.append("")
    for name, stack in stacks.items():
        changed = [f"`{k} = {'null' if v is None else toml(v)}`" for k, v in stack["params"].items() if v != base[k]]
        lines += wrapped(
            f"* `{name}`: {one_line(stack['doc'])}.{' Changes: ' if changed else ''}{', '.join(changed)}", "  "
        )
    return lines


def wrapped(text: str, indent: str = "") -> list[str]:
    """Returns the text in lines of at most 120 characters, broken only at spaces outside backquotes."""
    kept = re.sub(r"`[^`]*`", lambda m: m[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(kept, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def kind(node: Node, defs: dict[str, Node]) -> str:
    """Describes a value's type in a few words, for the column "value"."""
    name = reference(node)
    if name is not None:
        if name in UNITS:
            return UNITS[name]
        if defs[name].get("properties"):
            return "table"
        alternatives = defs[name].get("oneOf", [])
        words = [c for c in alternatives if "const" in c or c.get("type") == "string"]
        if alternatives and not words:
            return "table"
        other = "list" if any(c.get("type") == "array" for c in alternatives) else "table"
        return "keyword" if len(words) == len(alternatives) else f"keyword or {other}"
    types = node.get("type")
    types = [types] if isinstance(types, str) else types or []
    types = [t for t in types if t != "null"]
    if types == ["array"]:
        return f"list of {plural(kind(node['items'], defs))}"
    if types == ["object"]:
        each = node.get("additionalProperties")
        if isinstance(each, dict) and each.get("type") == "string":
            return "texts by name"
        name = each.get("$ref", "").rsplit("/", 1)[-1] if isinstance(each, dict) else ""
        return f"{plural(UNITS[name])} by path" if name in UNITS else "tables by name"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}[types[0]]


def plural(word: str) -> str:
    """Returns the plural of a kind's name."""
    return word if word == "text" else word + "s"


def reference(node: Node) -> str | None:
    """Returns the name of the definition that a node refers to, directly or as the only alternative to null; else None."""
    for place in (node, *node.get("anyOf", [])):
        if "$ref" in place:
            return str(place["$ref"]).rsplit("/", 1)[1]
    return None


def default(node: Node, defs: dict[str, Node]) -> tuple[str, str]:
    """Returns the default of a key, as a value or in words, and the description without the part about the default."""
    meaning = one_line(node.get("description") or "")
    value = node.get("default")
    own = defs.get(reference(node) or "", {}).get("properties", {})
    if isinstance(value, dict):
        value = {k: v for k, v in value.items() if v != own.get(k, {}).get("default")}
    if value in (None, {}, [], "") and (unset := UNSET.search(meaning)):
        before, behind = meaning[: unset.start()].rstrip(" .;"), meaning[unset.end() :].removeprefix(".")
        return unset[1].strip(" ,"), TWICE.sub("", f"{before}.{behind}" if before else behind).strip()
    meaning = TWICE.sub("", meaning).strip()
    if value in (None, {}, [], ""):
        return "its defaults" if value is not None and own else "none", meaning
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        return f"`{next(iter(value))}`", meaning  # the keyword for a table with its defaults
    return f"`{value if isinstance(value, str) else toml(value)}`", meaning


def named_parts(value: Any) -> dict[str, str]:
    """Returns the contents of each table of a default that is a list of named tables, by the table's name.

    The contents omit the key `name`. For any other default, the result is empty.
    """
    if not isinstance(value, list) or not all(isinstance(one, dict) and "name" in one for one in value):
        return {}
    return {
        one["name"]: ", ".join(f"`{k} = {toml(v)}`" for k, v in one.items() if k != "name" and v is not None)
        for one in value
    }


def toml(value: Any) -> str:
    """Returns a value as written in a TOML file."""
    if value is None:
        return "none"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }" if value else "{}"
    return json.dumps(value)


def choices(node: Node, defs: dict[str, Node]) -> Iterator[str]:
    """Yields each keyword that a value can take, with its meaning."""
    name = reference(node)
    if name is None or name in UNITS:
        return
    listed = set[str]()
    for choice in defs[name].get("oneOf", []):
        word = choice.get("const") or next(iter(choice.get("properties", {})), None)
        if word is None:
            # a plain keyword with the same name as a table selects that table with its defaults. The table is already
            # in the list, so the keyword is skipped
            for plain in choice.get("enum", []):
                if plain not in listed:
                    yield f"`{plain}`{': ' + PLAIN[plain] if plain in PLAIN else ''}"
        else:
            listed.add(word)
            meaning = one_line(choice.get("description", ""))
            yield f"`{word}`{': ' + meaning if meaning else ''}"


def one_line(text: str) -> str:
    """Returns the text with each run of whitespace replaced by a single space."""
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
