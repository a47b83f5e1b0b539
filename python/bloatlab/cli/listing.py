"""`bloatlab list`: what a scenario may use, and which studies there are."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from bloatlab.scenario import catalogue
from bloatlab.studies import STUDIES, study

What = Literal["qdiscs", "apps", "tcp", "studies"]


def command(
    what: What | None = None,
    /,
    *,
    form: Annotated[Literal["text", "json"], Parameter(name=["--format", "-f"])] = "text",
) -> int:
    """List queue disciplines, applications, TCP presets and studies, with their parameters.

    Parameters
    ----------
    what
        One kind only: qdiscs, apps, tcp or studies.
    form
        text for people, json for programs.
    """
    kinds: dict[str, list[dict[str, Any]]] = {**catalogue(), "studies": _studies()}
    chosen = {what: kinds[what]} if what else kinds
    if form == "json":
        sys.stdout.write(json.dumps(chosen, indent=2, ensure_ascii=False) + "\n")
        return 0
    console = Console()
    for kind, entries in chosen.items():
        console.print(_table(kind, entries))
        console.print()
    return 0


_TITLES = {
    "qdiscs": "Queue disciplines (link.NAME.queue)",
    "apps": "Applications (app.NAME.traffic)",
    "tcp": "TCP presets (tcp.NAME.preset)",
    "studies": "Studies (bloatlab reproduce NAME)",
}


def _studies() -> list[dict[str, Any]]:
    return [{"name": name, "doc": title, "experiments": study(name).EXPERIMENTS} for name, title in STUDIES.items()]


def _table(kind: str, entries: list[dict[str, Any]]) -> Table:
    table = Table(
        title=_TITLES.get(kind, kind),
        title_justify="left",
        title_style="bold",
        box=None,
        show_header=False,
        min_width=60,
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for entry in entries:
        table.add_row(entry["name"], _words(entry))
    return table


def _words(entry: dict[str, Any]) -> str:
    """Everything an entry says about itself, a line each."""
    head = [str(entry[key]) for key in ("doc", "summary", "source") if entry.get(key)]
    if entry.get("type"):
        head.insert(1, f"type {entry['type']}")
    params = entry.get("params") or []
    if isinstance(params, dict):  # a preset: its values
        lines = ["  ".join(f"{name}={_value(value)}" for name, value in params.items())]
    else:
        lines = [
            f"  {p['name']} = {_value(p['default'])}  {' '.join((p['description'] or '').split())}" for p in params
        ]
    lines += [f"  -e {name}  {text}" for name, text in entry.get("experiments", {}).items()]
    return "\n".join(["; ".join(head), *lines]).strip()


def _value(value: Any) -> str:
    """A default as it would stand in a file; "none" for what is absent."""
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
