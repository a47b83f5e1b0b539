"""`bloatlab list`: lists what a scenario may use, the studies and the suites, and describes each entry."""

import importlib.resources
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bloatlab.cli.common import BadInput
from bloatlab.cli.options import TextJson
from bloatlab.errors import nearest
from bloatlab.measures import Measure, declarations
from bloatlab.scenario import catalogue, schema
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, show
from bloatlab.workloads import WORKLOADS

Entry = dict[str, Any]


def command(what: str | None = None, name: str | None = None, /, *, form: TextJson = "text") -> int:
    """List disciplines, links, applications, TCP presets, measures, workloads, studies, suites ...; describe one.

    Args:
        what: A kind (qdiscs, links, modems, apps, tcp, grades, measures, workloads, studies, suites), or an entry to
            describe: codel.
        name: An entry to describe, if WHAT is a kind. Example: bloatlab list measures sojourn_ms. A kind of traffic
            lists its own measures: bloatlab list measures game.
    """
    kinds = _kinds(what, titles_only=form == "text" and name is None)
    chosen = _chosen(what, kinds)
    if name is not None:
        if what not in kinds:
            raise BadInput(f"list {what} {name}: {what} is not a kind ({', '.join(kinds)})")
        what, chosen = name, _chosen(name, chosen)
    if form == "json":
        sys.stdout.write(json.dumps(chosen, indent=2, ensure_ascii=False) + "\n")
        return 0
    console = Console()
    entries = [entry for group in chosen.values() for entry in group]
    if what is None or what in kinds or not any(what in _names(entry) for entry in entries):
        _page(chosen, console, whole=what is None)
        return 0
    for kind, group in chosen.items():
        for entry in group:
            _print_entry(kind, entry, console)
    return 0


def _kinds(what: str | None, *, titles_only: bool) -> dict[str, list[Entry]]:
    """Returns the entries of every kind, in the order in which `bloatlab list` shows the kinds.

    Importing the studies and the suites takes longer than everything else. So their lists stay empty if `what` names
    one of the other kinds or one of their entries. With `titles_only`, the list of all kinds has the titles of the
    studies and no suites, and the list of studies has only titles.
    """
    workloads = [
        {"name": w.name, "doc": w.words, "source": w.source, "params": dict(w.parameters)} for w in WORKLOADS.values()
    ]
    measures = [_of_measure(measure) for measure in declarations()]
    known = catalogue() | {
        "modems": _modems(),
        "measures": measures,
        "workloads": workloads,
        "studies": [],
        "suites": [],
    }
    others = {*_TITLES} - {"studies", "suites"} | {
        name for entries in known.values() for entry in entries for name in _names(entry)
    }
    if titles_only and what in {None, "studies"}:
        known["studies"] = _titles_of_studies()
        return {kind: known[kind] for kind in _TITLES}
    if what not in others and what != "suites":
        known["studies"] = _studies()
    if what not in others and what != "studies":
        known["suites"] = _suites()
    return {kind: known[kind] for kind in _TITLES}


def _page(chosen: Mapping[str, list[Entry]], console: Console, *, whole: bool) -> None:
    """Prints a table for each chosen kind.

    `whole` means that all kinds are listed. To keep that page short, some kinds show only names, and the kinds in
    `_APART` are left out.
    """
    for place, (kind, entries) in enumerate(chosen.items()):
        if whole and kind in _APART:
            continue
        if whole and kind in _BY_NAME:
            title, where = _TITLES[kind]
            console.say_wrapped(f"{title} ({where}): {', '.join(e['name'] for e in entries)}")
            continue
        if place:
            console.print()
        brief = {"tcp": _brief, "workloads": _families}.get(kind) if whole else None
        rows = [row(entry["name"], _what(entry)) for entry in (brief(entries) if brief else entries)]
        show(TextTable("{} ({})".format(*_TITLES[kind]), ["", ""], rows, left=2), console)
    if not whole:
        console.print()
    more = f" Also: {', '.join(f'list {kind}' for kind in _APART)}." if whole else ""
    console.say_wrapped(f"bloatlab list NAME describes one of these.{more}")


#: For each kind, its title, and where its names are used (a scenario key, file or command). `bloatlab list` shows the
#: kinds in this order.
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
    "suites": ("Suites of test cases", "bloatlab judge --suite NAME"),
}


#: Kinds that are left out if all kinds are listed, to keep the page short. Its last line says how to list them.
_APART = ("measures", "suites")
#: Kinds that only `bloatlab recommend` uses; its help lists their names.
_OF_RECOMMEND = ("devices", "loads", "objectives")
#: If all kinds are listed, only the names of the entries of these kinds are printed.
_BY_NAME = {"links", "modems", "grades"}


def _chosen(what: str | None, kinds: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    """Returns all kinds, the kind named `what`, or the entries named `what`. Raises `BadInput`.

    If no entry has this name, the result is the measures whose paths, without `apps.*` or `links.*`, begin with it,
    such as those of a kind of traffic.
    """
    if what is None:
        return kinds
    if what in kinds:
        return {what: kinds[what]}
    # tc's names are accepted, such as pfifo for droptail
    named = {kind: [e for e in entries if what in _names(e)] for kind, entries in kinds.items()}
    found = {kind: entries for kind, entries in named.items() if entries}
    if len(found) > 1:  # a measure whose path ends with this name is only listed if no other kind has the name
        found.pop("measures", None)
    if not found and (group := [e for e in kinds.get("measures", []) if e["keys"][0].startswith(f"{what}.")]):
        return {"measures": group}
    if not found:
        if what in _OF_RECOMMEND:
            raise BadInput(
                f"list {what}: no such kind ({', '.join(kinds)}); bloatlab recommend --help lists the {what}"
            )
        if what in (control["const"] for control in schema()["$defs"]["CongestionControl"]["oneOf"]):
            where = "it is a value of tcp.NAME.congestion_control, which docs/scenario/tcp.md describes"
            raise BadInput(f"list {what}: {what} is a congestion control without a preset; {where}")
        names = [*kinds, *(n for entries in kinds.values() for entry in entries for n in _names(entry))]
        raise BadInput(f"list {what}: no such kind ({', '.join(kinds)}) or name{nearest(what, names)}")
    return found


def _names(entry: Entry) -> list[str]:
    return [entry["name"], *entry.get("tc", {}), *entry.get("keys", [])]


def _titles_of_studies() -> list[Entry]:
    """Reads the title of each study from its file, without importing the study."""
    folders = importlib.resources.files("bloatlab").joinpath("studies").iterdir()
    files = {folder.name: file for folder in folders if (file := folder.joinpath("study.toml")).is_file()}
    return [
        {"name": name, "doc": tomllib.loads(file.read_text("utf-8"))["publication"]["title"]}
        for name, file in sorted(files.items())
    ]


def _studies() -> list[Entry]:
    from bloatlab.studies import STUDIES, study  # noqa: PLC0415

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


def _suites() -> list[Entry]:
    from bloatlab.judge import names, suite  # noqa: PLC0415

    return [
        {"name": of.name, "doc": of.title, "source": of.source, "cases": {c.section: c.title for c in of.cases}}
        for of in map(suite, names())
    ]


#: The keys of a link's table that describe a modem or a shaper, which limits the link's rate. Each key is mapped to the
#: name of its type in the schema.
_MODEMS = {
    "docsis": "DocsisParams",
    "docsis31": "Docsis31Params",
    "shaper": "ShaperParams",
    "shaper.htb": "HtbParams",
}


def _modems() -> list[Entry]:
    """Returns the modems and shapers between a link's queue and its wire.

    Parameters of nested tables have dotted names.
    """
    types = schema()["$defs"]
    link = types["Link"]["properties"]
    return [
        {
            "name": key,
            "keys": [key.rpartition(".")[2]],
            "doc": " ".join(link.get(key, types[of])["description"].split()),
            "params": list(_parameters(types, types[of])),
        }
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


def _of_measure(measure: Measure) -> Entry:
    """Makes the entry of a measure.

    `keys` contains shorter names of the measure, such as `sojourn_ms` or `voip.mos`: the ends of the measure's path.
    """
    own = [part for part in measure.path.split(".") if part not in {"links", "apps", "*"}]
    return {
        "name": measure.path,
        "doc": measure.doc or measure.label,
        "words": measure.label,
        "unit": measure.unit,
        "direction": measure.direction,
        "least": measure.least,
        "rank": measure.rank,
        "keys": [".".join(own[n:]) for n in range(len(own))],
        "statistics": [_of_measure(part) for part in measure.parts],
    }


#: The family of a workload, by the prefix of the workload's name. If all kinds are listed, each family is one row.
_FAMILY_OF = {"rfc7928-": "RFC 7928", "": "flent"}


def _families(entries: Iterable[Entry]) -> list[Entry]:
    """Returns one row for each family of workloads (`_FAMILY_OF`). tcp_Nup and tcp_Ndown are merged."""
    rows: dict[str, dict[str, None]] = {}
    for entry in entries:
        prefix = next(p for p in _FAMILY_OF if entry["name"].startswith(p))
        names = rows.setdefault(_FAMILY_OF[prefix], {})
        merged = re.sub(r"^tcp_\d+(up|down)$", "tcp_1up to tcp_12down", entry["name"])
        names[merged.removeprefix(prefix) if names else merged] = None
    return [{"name": family, "doc": ", ".join(names)} for family, names in rows.items()]


def _brief(entries: Iterable[Entry]) -> list[Entry]:
    """Cuts summaries that need more than 80 columns at the last comma, colon or bracket that fits, if any."""
    entries = list(entries)
    room = 80 - 2 - max(len(e["name"]) for e in entries)
    return [{"name": e["name"], "doc": _cut(_what(e), room)} for e in entries]


def _cut(text: str, room: int) -> str:
    parts = [text[: m.start()] for m in re.finditer(r"[,:(]", text) if m.start() <= room]
    parts = [part for part in parts if part.count("(") == part.count(")")]
    return text if len(text) <= room or not parts else parts[-1].rstrip()


def _what(entry: Entry) -> str:
    return str(entry.get("doc") or entry.get("summary") or "")


def _print_entry(kind: str, entry: Entry, console: Console) -> None:
    title, place = _TITLES[kind]
    console.say_wrapped(f"{entry['name']}: {_what(entry)}", "bold")
    console.say_wrapped(f"{title}, {place}")
    for label, key in (("Type", "type"), ("Source", "source"), ("Read it at", "link")):
        if entry.get(key):
            console.say_wrapped(f"{label}: {entry[key]}")
    if bands := entry.get("bands"):
        first, *ends = [f"{b['grade']} below {b['below']:g}" for b in bands if b["below"] is not None]
        ends += [f"else {b['grade']}" for b in bands if b["below"] is None]
        console.say_wrapped(f"Grades: {first} {entry['unit']}, {', '.join(ends)}")
    for synopsis in entry.get("tc", {}).values():
        console.say_wrapped(f"tc syntax: {synopsis}")
    if kind == "measures":
        console.say_wrapped(f"Label: {entry['words']}" + (f" ({entry['unit']})" if entry["unit"] else ""))
        console.say_wrapped(f"Comparison: {entry['direction'] or 'neither is better'}")
        if statistics := [row(part["name"], part["doc"]) for part in entry["statistics"]]:
            console.print()
            show(TextTable("", ["statistic", "label"], statistics, left=2), console)
        return
    parameters = entry.get("params") or []
    if isinstance(parameters, dict):  # a TCP preset or a workload: a dict of values
        rows = [row(name, _value(value)) for name, value in parameters.items()]
        tables = [TextTable("", ["parameter", "value"], rows, left=2)]
    else:
        rows = [row(p["name"], _default(p), _meaning(p)) for p in parameters]
        tables = [TextTable("", ["parameter", "default", "meaning"], rows, left=3)]
    experiments = [row(f"-e {name}", text) for name, text in entry.get("experiments", {}).items()]
    tables.append(TextTable("", ["experiment", "what"], experiments, left=2))
    cases = [row(section, title) for section, title in entry.get("cases", {}).items()]
    tables.append(TextTable("", ["case", "title"], cases, left=2))
    for table in tables:
        if table.rows:
            console.print()
            show(table, console)


def _default(parameter: Entry) -> str:
    """Returns a parameter's default as text.

    For a null default, the text is the explanation of null in the parameter's description, or "see meaning" if this
    explanation is long or has a bracket. Without an explanation, the text is "required" or "none".
    """
    if parameter["default"] is not None:
        return _value(parameter["default"])
    text = " ".join((parameter["description"] or "").split())
    absent = re.search(r"\bnull(?:: | is )(.*?)(?:[;.](?= |$)|$)", text, re.IGNORECASE)
    if absent is None:
        return "required" if text.endswith("Required.") else "none"
    # a long explanation, such as one with a default for each variant, is shown only as part of the description
    return "see meaning" if len(absent[1]) > 16 or "(" in absent[1] else absent[1]


def _meaning(parameter: Entry) -> str:
    """Returns a parameter's description, followed by the keywords that are valid values."""
    text = " ".join((parameter["description"] or "").split())
    words = parameter.get("words")
    return f"{text} Values: {', '.join(words)}." if words else text


def _value(value: Any) -> str:
    """Formats a value as JSON, but a string without quotes; None becomes "none"."""
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
