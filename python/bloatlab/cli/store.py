"""`bloatlab store`: what is kept of earlier runs, and removing what is of no more use."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console

from bloatlab.cli.common import writing
from bloatlab.sweep import Store, default_store, fingerprint
from bloatlab.sweep.store import Stock
from bloatlab.tables import TextCell, TextTable
from bloatlab.terminal import show

app = App(name="store", help_format="plaintext", result_action="return_value")


@app.default
def command(
    *,
    store: Path | None = None,
    form: Annotated[Literal["text", "json"], Parameter(name=["--format", "-f"])] = "text",
) -> int:
    """Show what is kept of earlier runs.

    A sweep keeps what each run measured, under the hash of its scenario, of the compiled core, and of the code that
    measured. Nothing of another core or of other code is ever used; `bloatlab store gc` removes it.

    Parameters
    ----------
    store
        The store's folder. Default: BLOATLAB_STORE, or .bloatlab/store.
    form
        text for people, json for programs.
    """
    place = Store(store or default_store())
    stocks = place.shelves()
    core = fingerprint.core()
    if form == "json":
        rows = [
            {"measure": s.measure, "core": s.core, "current": _current(s, core), "runs": s.runs, "bytes": s.size}
            for s in stocks
        ]
        sys.stdout.write(json.dumps({"folder": str(place.folder), "shelves": rows}, indent=2) + "\n")
        return 0
    console = Console()
    if not stocks:
        console.print(f"{place.folder}: nothing is kept", highlight=False, markup=False, soft_wrap=True)
        return 0
    show(_table(stocks, core), console)
    runs, size = sum(s.runs for s in stocks), sum(s.size for s in stocks)
    console.print(f"{place.folder}: {runs} runs, {_mb(size)}", highlight=False, markup=False, soft_wrap=True)
    return 0


@app.command(name="gc")
def collect(*, store: Path | None = None) -> int:
    """Remove results of other cores, those of older code of the same measure, and files half-written.

    Parameters
    ----------
    store
        The store's folder. Default: BLOATLAB_STORE, or .bloatlab/store.
    """
    place = Store(store or default_store())
    runs, size = writing(place.folder, lambda: place.collect(fingerprint.core()))
    Console(stderr=True).print(f"{place.folder}: removed {runs} runs, {_mb(size)}", highlight=False, soft_wrap=True)
    return 0


def _table(stocks: list[Stock], core: str) -> TextTable:
    rows: list[list[TextCell]] = []
    for stock in stocks:
        written = dt.datetime.fromtimestamp(stock.written, dt.UTC).strftime("%Y-%m-%d %H:%M")
        core_is = "this one" if _current(stock, core) else "another"
        rows.append([TextCell(t) for t in (stock.measure, core_is, written, str(stock.runs), _mb(stock.size))])
    return TextTable("", ["measure", "core", "last written", "runs", "size"], rows, left=3)


def _current(stock: Stock, core: str) -> bool:
    return core.startswith(stock.core)


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
