"""`bloatlab list`: what a scenario may use, and which studies there are; and everything about one of them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bloatlab.cli.common import BadInput
from bloatlab.cli.options import TextJson
from bloatlab.errors import nearest
from bloatlab.measures import Measure, declared
from bloatlab.scenario import catalogue, schema
from bloatlab.studies import STUDIES, study
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, show
from bloatlab.workloads import WORKLOADS

Entry = dict[str, Any]


def command(what: str | None = None, name: str | None = None, /, *, form: TextJson = "text") -> int:
    """List disciplines, links, modems, applications, TCP presets, grades, measures, workloads, studies; or one in full.

    Parameters
    ----------
    what
        One kind (qdiscs, links, modems, apps, tcp, grades, measures, workloads, studies), or one entry: codel, ...
    name
        One entry of this kind: measures sojourn_ms.
    form
        text for people, json for programs.
    """
    ours = {"modems": _modems(), "measures": _measures(), "workloads": _workloads(), "studies": _studies()}
    found = {**catalogue(), **ours}
    kinds = {kind: found[kind] for kind in _TITLES}
    chosen = _chosen(what, kinds)
    if name is not None:
        if what not in kinds:
            raise BadInput(f"list {what} {name}: {what} is no kind; there is {', '.join(kinds)}")
        what, chosen = name, _chosen(name, chosen)
    if form == "json":
        sys.stdout.write(json.dumps(chosen, indent=2, ensure_ascii=False) + "\n")
        return 0
    console = Console()
    if what is None or what in kinds:
        _page(chosen, console, whole=what is None)
        return 0
    for kind, entries in chosen.items():
        for entry in entries:
            _print_entry(kind, entry, console)
    return 0


def _page(chosen: Mapping[str, list[Entry]], console: Console, *, whole: bool) -> None:
    """Every kind in a table, or one of them; of the `whole` list some by name."""
    for place, (kind, entries) in enumerate(chosen.items()):
        if whole and kind == "measures":
            continue  # more than a page: the last line names them
        if whole and kind in _BY_NAME:
            title, where = _TITLES[kind]
            console.say_wrapped(f"{title} ({where}): {', '.join(e['name'] for e in entries)}")
            continue
        if place:
            console.print()
        brief = {"tcp": _brief, "workloads": _families}.get(kind) if whole else None
        show(_overview(kind, brief(entries) if brief else entries), console)
    if not whole:
        console.print()
    more = (
        "NAME: one of these in full. bloatlab list measures: all measures."
        if whole
        else "NAME shows one of these in full."
    )
    console.say_wrapped(f"bloatlab list {more}")


#: Of each kind, in the order of the page: its title, and where a scenario (or a command) names it.
_TITLES = {
    "apps": ("Applications", "app.NAME.traffic"),
    "grades": ("Scales of grades", "grade.scale"),
    "links": ("Links without a rate", "link.NAME.delivery"),
    "measures": ("Measures", "summary.json, docs/results.md"),
    "modems": ("Modems and shapers", "link.NAME"),
    "qdiscs": ("Queue disciplines", "link.NAME.queue"),
    "tcp": ("TCP stacks", "app.NAME.tcp, tcp.NAME.preset"),
    "workloads": ("Scenarios by name", "bloatlab run NAME --set PARAMETER=VALUE"),
    "studies": ("Studies", "bloatlab reproduce NAME"),
}


#: Kinds that the page of everything gives by name alone.
_BY_NAME = {"links", "modems", "grades"}


def _chosen(what: str | None, kinds: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    """Everything, a kind, or the entries of this name. Raises `BadInput`."""
    if what is None:
        return kinds
    if what in kinds:
        return {what: kinds[what]}
    # tc's names are names, too: pfifo is droptail
    named = {kind: [e for e in entries if what in _names(e)] for kind, entries in kinds.items()}
    found = {kind: entries for kind, entries in named.items() if entries}
    if len(found) > 1:  # the ends of paths are many: a name of another kind comes first
        found.pop("measures", None)
    if not found:
        names = [*kinds, *(n for entries in kinds.values() for entry in entries for n in _names(entry))]
        raise BadInput(f"list {what}: no such kind ({', '.join(kinds)}) or name{nearest(what, names)}")
    return found


def _names(entry: Entry) -> list[str]:
    return [entry["name"], *entry.get("tc", {}), *entry.get("keys", [])]


def _studies() -> list[Entry]:
    return [
        {
            "name": of.name,
            "doc": of.publication.title,
            "source": of.publication.cited,
            "link": of.publication.link or None,
            "experiments": dict(of.experiments),
        }
        for of in map(study, STUDIES)
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


def _measures() -> list[Entry]:
    """Every key of a summary; a path is also found by its end: `sojourn_ms`, `voip.mos`."""
    return [_of_measure(measure) for measure in declared()]


def _of_measure(measure: Measure) -> Entry:
    parts = measure.path.split(".")
    own = [part for part in parts if part not in {"links", "apps", "*"}]
    return {
        "name": measure.path,
        "doc": measure.doc or measure.words,
        "words": measure.words,
        "unit": measure.unit,
        "direction": measure.direction,
        "least": measure.least,
        "rank": measure.rank,
        "keys": [".".join(own[n:]) for n in range(len(own))],
        "statistics": [_of_measure(part) for part in measure.parts],
    }


def _workloads() -> list[Entry]:
    return [
        {"name": of.name, "doc": of.words, "source": of.source, "params": dict(of.parameters)}
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
    rows = [row(entry["name"], _what(entry)) for entry in entries]
    return TextTable(f"{title} ({place})", ["", ""], rows, left=2)


def _what(entry: Entry) -> str:
    return str(entry.get("doc") or entry.get("summary") or "")


def _print_entry(kind: str, entry: Entry, console: Console) -> None:
    """Everything that an entry says about itself."""
    title, place = _TITLES[kind]
    console.say_wrapped(f"{entry['name']}: {_what(entry)}", "bold")
    console.say_wrapped(f"{title}, {place}")
    for label, key in (("Type", "type"), ("Source", "source"), ("Read it at", "link")):
        if entry.get(key):
            console.say_wrapped(f"{label}: {entry[key]}")
    if bands := entry.get("bands"):
        console.say_wrapped(f"Grades: {_bands(bands, entry['unit'])}")
    for synopsis in entry.get("tc", {}).values():
        console.say_wrapped(f"In tc's words: {synopsis}")
    if kind == "measures":
        console.say_wrapped(f"In words: {entry['words']}" + (f" ({entry['unit']})" if entry["unit"] else ""))
        console.say_wrapped(f"Compared: {entry['direction'] or 'better neither way'}")
        if statistics := [row(part["name"], part["doc"]) for part in entry["statistics"]]:
            console.print()
            show(TextTable("", ["statistic", "in words"], statistics, left=2), console)
        return
    parameters = entry.get("params") or []
    if isinstance(parameters, dict):  # a preset: its values
        rows = [row(name, _value(value)) for name, value in parameters.items()]
        tables = [TextTable("", ["parameter", "value"], rows, left=2)]
    else:
        rows = [row(p["name"], _default(p), _meaning(p)) for p in parameters]
        tables = [TextTable("", ["parameter", "default", "meaning"], rows, left=3)]
    experiments = [row(f"-e {name}", text) for name, text in entry.get("experiments", {}).items()]
    tables.append(TextTable("", ["experiment", "what"], experiments, left=2))
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


def _value(value: Any) -> str:
    """A default as it would stand in a file; "none" for what is absent."""
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
