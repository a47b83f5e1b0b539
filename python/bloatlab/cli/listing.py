"""`bloatlab list`: what a scenario may use, and which studies there are; and everything about one of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from bloatlab.cli.common import BadInput, nearest
from bloatlab.scenario import catalogue, schema
from bloatlab.studies import PUBLICATIONS, study
from bloatlab.tables import TextCell, TextTable
from bloatlab.terminal import Console, show, wrapped
from bloatlab.workloads import WORKLOADS

Entry = dict[str, Any]


def command(
    what: str | None = None,
    /,
    *,
    form: Annotated[Literal["text", "json"], Parameter(name=["--format", "-f"])] = "text",
) -> int:
    """List disciplines, links, modems, applications, TCP presets, grades, workloads, studies; or one of them in full.

    Parameters
    ----------
    what
        One kind (qdiscs, links, modems, apps, tcp, grades, workloads, studies), or one entry: codel, docsis, ...
    form
        text for people, json for programs.
    """
    found = {**catalogue(), "modems": _modems(), "workloads": _workloads(), "studies": _studies()}
    kinds = {kind: found[kind] for kind in _TITLES}
    chosen = _chosen(what, kinds)
    if form == "json":
        sys.stdout.write(json.dumps(chosen, indent=2, ensure_ascii=False) + "\n")
        return 0
    console = Console()
    if what is None or what in kinds:
        for place, (kind, entries) in enumerate(chosen.items()):
            names_only = what is None and kind in {
                "links",
                "modems",
                "grades",
            }  # everything is on one page: these by name
            if place and not names_only:
                console.print()
            if names_only:
                title, where = _TITLES[kind]
                _say(f"{title} ({where}): {', '.join(e['name'] for e in entries)}", console)
                continue
            brief = {"tcp": _brief, "workloads": _families}.get(kind) if what is None else None
            show(_overview(kind, brief(entries) if brief else entries), console)
        if what is not None:
            console.print()
        _say("bloatlab list NAME shows one of these with its parameters.", console)
        return 0
    for kind, entries in chosen.items():
        for entry in entries:
            _print_entry(kind, entry, console)
    return 0


#: Of each kind, in the order of the page: its title, and where a scenario (or a command) names it.
_TITLES = {
    "apps": ("Applications", "app.NAME.traffic"),
    "grades": ("Scales of grades", "grade.scale"),
    "links": ("Links without a rate", "link.NAME.delivery"),
    "modems": ("Modems and shapers", "link.NAME"),
    "qdiscs": ("Queue disciplines", "link.NAME.queue"),
    "tcp": ("TCP stacks", "app.NAME.tcp, tcp.NAME.preset"),
    "workloads": ("Scenarios by name", "bloatlab run NAME --set PARAMETER=VALUE"),
    "studies": ("Studies", "bloatlab reproduce NAME"),
}


def _chosen(what: str | None, kinds: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    """Everything, a kind, or the entries of this name. Raises `BadInput`."""
    if what is None:
        return kinds
    if what in kinds:
        return {what: kinds[what]}
    # tc's names are names, too: pfifo is droptail
    named = {kind: [e for e in entries if what in _names(e)] for kind, entries in kinds.items()}
    found = {kind: entries for kind, entries in named.items() if entries}
    if not found:
        names = [*kinds, *(n for entries in kinds.values() for entry in entries for n in _names(entry))]
        raise BadInput(f"list {what}: no such kind ({', '.join(kinds)}) or name{nearest(what, names)}")
    return found


def _names(entry: Entry) -> list[str]:
    return [entry["name"], *entry.get("tc", {})]


def _studies() -> list[Entry]:
    return [
        {
            "name": name,
            "doc": of.title,
            "source": of.cited,
            "link": of.link or None,
            "experiments": study(name).EXPERIMENTS,
        }
        for name, of in PUBLICATIONS.items()
    ]


#: The keys of a link that shape it, and the definition of each in the schema.
_MODEMS = {"docsis": "DocsisParams", "docsis31": "Docsis31Params", "shaper": "ShaperParams"}


def _modems() -> list[Entry]:
    """What may stand between a link's queue and its wire; the parameters of their inner tables by their path."""
    types = schema()["$defs"]
    link = types["Link"]["properties"]
    return [
        {"name": key, "doc": " ".join(link[key]["description"].split()), "params": list(_parameters(types, types[of]))}
        for key, of in _MODEMS.items()
    ]


def _parameters(types: Mapping[str, Any], of: Mapping[str, Any], path: str = "") -> Iterator[Entry]:
    for name, value in of["properties"].items():
        refs = [v["$ref"].rpartition("/")[2] for v in (value, *value.get("anyOf", [])) if "$ref" in v]
        inner = [types[ref] for ref in refs]
        for table in [t for t in inner if "properties" in t]:
            yield from _parameters(types, table, f"{path}{name}.")
        words = [
            w for t in (value, *inner) for w in (*t.get("enum", []), *(o.get("const") for o in t.get("oneOf", [])))
        ]
        if not any("properties" in t for t in inner):
            yield {
                "name": f"{path}{name}",
                "default": value.get("default"),
                "description": value.get("description", ""),
                "words": [w for w in words if w is not None],
            }


def _workloads() -> list[Entry]:
    return [
        {
            "name": of.name,
            "doc": of.words,
            "source": of.source,
            "params": dict(of.parameters),
        }
        for of in WORKLOADS.values()
    ]


#: Entries of a row in the list of everything, by how their names begin; and what the row is called.
_FAMILY_OF = {"rfc7928-": "RFC 7928", "": "flent"}


def _families(entries: Iterable[Entry]) -> list[Entry]:
    """Workloads in a row for each source: those of a row that differ in a number alone as one."""
    rows: dict[str, list[str]] = {}
    for entry in entries:
        begins = next(b for b in _FAMILY_OF if entry["name"].startswith(b))
        words = rows.setdefault(_FAMILY_OF[begins], [])
        numbered = re.sub(r"^tcp_\d+(up|down)$", "tcp_1up to tcp_12down", entry["name"])
        short = entry["name"].removeprefix(begins) if words else entry["name"]
        if (word := short if numbered == entry["name"] else numbered) not in words:
            words.append(word)
    return [{"name": name, "doc": ", ".join(words)} for name, words in rows.items()]


def _brief(entries: Iterable[Entry]) -> list[Entry]:
    """Each in a line: its words up to the last comma or colon that fits into 80 columns."""
    entries = list(entries)
    room = 80 - 2 - max(len(e["name"]) for e in entries)
    return [{"name": e["name"], "doc": _cut(_what(e), room)} for e in entries]


def _cut(text: str, room: int) -> str:
    ends = [m.start() for m in re.finditer(r"[,:(]", text) if m.start() <= room and _closed(text[: m.start()])]
    return text if len(text) <= room or not ends else text[: ends[-1]].rstrip()


def _closed(text: str) -> bool:
    return text.count("(") == text.count(")")


def _overview(kind: str, entries: Iterable[Entry]) -> TextTable:
    """A line for each entry: its name and what it is."""
    title, place = _TITLES[kind]
    rows = [[TextCell(entry["name"]), TextCell(_what(entry))] for entry in entries]
    return TextTable(f"{title} ({place})", ["", ""], rows, left=2)


def _what(entry: Entry) -> str:
    return str(entry.get("doc") or entry.get("summary") or "")


def _print_entry(kind: str, entry: Entry, console: Console) -> None:
    """Everything that an entry says about itself."""
    title, place = _TITLES[kind]
    _say(f"{entry['name']}: {_what(entry)}", console, "bold")
    _say(f"{title}, {place}", console)
    for label, key in (("Type", "type"), ("Source", "source"), ("Read it at", "link")):
        if entry.get(key):
            _say(f"{label}: {entry[key]}", console)
    if bands := entry.get("bands"):
        _say(f"Grades: {_bands(bands, entry['unit'])}", console)
    for synopsis in entry.get("tc", {}).values():
        _say(f"In tc's words: {synopsis}", console)
    parameters = entry.get("params") or []
    if isinstance(parameters, dict):  # a preset: its values
        rows = [[name, _value(value)] for name, value in parameters.items()]
        tables = [TextTable("", ["parameter", "value"], _cells(rows), left=2)]
    else:
        rows = [[p["name"], _default(p), _meaning(p)] for p in parameters]
        tables = [TextTable("", ["parameter", "default", "meaning"], _cells(rows), left=3)]
    experiments = [[f"-e {name}", text] for name, text in entry.get("experiments", {}).items()]
    tables.append(TextTable("", ["experiment", "what"], _cells(experiments), left=2))
    for table in tables:
        if table.rows:
            console.print()
            show(table, console)


def _default(parameter: Entry) -> str:
    """The default of a parameter; of one that is absent by default what its meaning says of that, in short."""
    if parameter["default"] is not None:
        return _value(parameter["default"])
    text = " ".join((parameter["description"] or "").split())
    absent = re.search(r"\bnull(?:: | is )(.*?)(?:[;.](?= |$)|$)", text, re.IGNORECASE)
    if absent is None:
        return "required" if text.endswith("Required.") else "none"
    # several values stand for several variants
    return "see meaning" if len(absent[1]) > 16 or "(" in absent[1] else absent[1]


def _meaning(parameter: Entry) -> str:
    """What a parameter is, and the words that it takes."""
    text = " ".join((parameter["description"] or "").split())
    words = parameter.get("words")
    return f"{text} Words: {', '.join(words)}." if words else text


def _bands(bands: Iterable[Entry], unit: str) -> str:
    """'A+ below 5 ms, ..., else F'."""
    ends = [f"{b['grade']} below {b['below']:g}" if b["below"] is not None else f"else {b['grade']}" for b in bands]
    return f"{ends[0]} {unit}, {', '.join(ends[1:])}"


def _cells(rows: Iterable[Iterable[str]]) -> list[list[TextCell]]:
    return [[TextCell(text) for text in row] for row in rows]


def _say(text: str, console: Console, style: str = "") -> None:
    for line in wrapped(text, console.width):
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _value(value: Any) -> str:
    """A default as it would stand in a file; "none" for what is absent."""
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
