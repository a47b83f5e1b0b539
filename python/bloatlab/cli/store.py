"""`bloatlab store`: lists stored runs, and removes outdated ones."""

import datetime as dt
import json
import sys
from typing import Any

from cyclopts import App

from bloatlab.cli.common import writing
from bloatlab.cli.options import StoreFolder, TextJson
from bloatlab.cli.runs import existing
from bloatlab.sweep import Store, fingerprint, sweeps
from bloatlab.sweep.store import Stock, current
from bloatlab.tables import TextTable, row
from bloatlab.terminal import Console, show

app = App(name="store", help_format="markdown", result_action="return_value")


@app.default
def command(*, store: StoreFolder = None, form: TextJson = "text") -> int:
    """Show the stored results of earlier runs.

    A sweep stores the measures of each run under a hash of its scenario, of the compiled core, and of the measuring
    code. Results of another core or of other code are never used; `bloatlab store gc` removes them. A run that two
    sweeps share is stored once and counted with both.
    """
    place = existing(store, Console(stderr=True))
    stocks = place.shelves()
    core = fingerprint.core()
    used = current(stocks, core)
    by_sweep = _sweeps(place, used)
    if form == "json":
        rows = [
            {"measure": s.measure, "core": s.core, "current": s in used, "runs": s.runs, "bytes": s.size}
            for s in stocks
        ]
        facts = {"folder": str(place.folder), "sweeps": by_sweep, "shelves": rows}
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return 0
    console = Console()
    if not stocks:
        console.say(f"{place.folder}: no stored runs")
        return 0
    if by_sweep:
        cells = [
            row(s["sweep"], _time(s["last_asked"]), str(s["seeds"]), "{kept} of {asked}".format(**s), _size(s["bytes"]))
            for s in by_sweep
        ]
        show(TextTable("", ["sweep", "last used", "seeds", "runs", "size"], cells, left=2), console)
    cells = [row(s.measure, _which(s, used, core), _time(s.written), str(s.runs), _size(s.size)) for s in stocks]
    show(TextTable("", ["measure", "core", "last written", "runs", "size"], cells, left=3), console)
    runs, size = sum(s.runs for s in stocks), sum(s.size for s in stocks)
    console.say(f"{place.folder}: {runs} runs, {_size(size)}")
    return 0


@app.command(name="gc")
def collect(*, store: StoreFolder = None) -> int:
    """Remove results of other cores and of older measuring code, and pack all other results into few files.

    Files that another process is writing are left alone.
    """
    place = existing(store, Console(stderr=True))
    runs, size = writing(place.folder, lambda: place.collect(fingerprint.core()))
    Console(stderr=True).say(f"{place.folder}: removed {runs} runs, {_size(size)}")
    return 0


def _which(stock: Stock, used: list[Stock], core: str) -> str:
    """Returns the text of the column `core` for stored results; `used` are those that a sweep would use now."""
    if stock in used:
        return "this one"
    return "this one, older code" if core.startswith(stock.core) else "another"


def _sweeps(place: Store, used: list[Stock]) -> list[dict[str, Any]]:
    """Returns an entry for each sweep.

    It contains the number of the sweep's runs, how many of them are stored, and their size in bytes. Only results
    in `used` count as stored.
    """
    mine = [stock.index for stock in used]
    found: list[dict[str, Any]] = []
    for of in sweeps.asked(place):
        hashes = set(of.hashes)
        size = sum(index.share(name) for index in mine for name in hashes if name in index.places)
        kept = sum(any(name in index.places for index in mine) for name in hashes)
        runs = {"asked": len(hashes), "kept": kept, "seeds": of.seeds, "bytes": round(size)}
        found.append({"sweep": of.name, "grid": str(of.grid), **runs, "last_asked": of.written})
    return found


def _time(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M")


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
