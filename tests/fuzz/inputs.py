"""Fuzz tests of the inputs that Python reads: flent data files, captures, delivery traces, SQL, and names.

    .venv/bin/python tests/fuzz/inputs.py [--count 20000] [--seed 1] [--only flent] [--first 0]

A case depends only on the seed, the target's name and the case's number, so each case can be repeated: `--only TARGET
--first N --count 1`. A target may return a result or raise its documented error. Everything else is a finding: another
error, a command's exit code other than 0, 1 and 2, a traceback, or a control character on the terminal. Findings are
printed with the numbers of their cases, and the exit code is then 1. A case that takes longer than two minutes counts
as hanging and ends the run.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import faulthandler
import gzip
import io
import json
import os
import random
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bloatlab import captures, deliveries, flent
from bloatlab.cli.main import call
from bloatlab.query import QueryError, Views
from bloatlab.scenario import Scenario
from bloatlab.sweep import Store
from bloatlab.sweep.kept_runs import Measured

Chance = random.Random
HANG_SECONDS = 120

#: Characters that no output may contain, because they move the cursor, set the title, or reverse the text.
TERMINAL_CONTROLS = ("\x1b", "\x07", "\x08", "\r", "\x9b", "\u202e", "\u2066")


class FindingError(Exception):
    """Wrong behaviour of a target."""


# ------------------------------------------------------------------------------------------------ generating inputs


def corrupted(data: bytes, chance: Chance) -> bytes:
    """Returns the bytes with some of them changed, removed or inserted."""
    out = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(out) + 1)
        match chance.randrange(5):
            case 0 if out:
                out[min(place, len(out) - 1)] = chance.randrange(256)
            case 1:
                del out[place:]
            case 2:
                out[place:place] = chance.choice([b"\0" * 4, b"\xff" * 4, b"[" * 5000, b"9" * 400, b"\x1b[31m"])
            case 3:
                out[place : place + 4] = struct.pack("<I", chance.choice([0, 1, 2**31, 2**32 - 1, 65536, 40]))
            case _:
                del out[place : place + chance.randrange(16)]
    return bytes(out)


ODD: tuple[Any, ...] = (
    None, True, [], {}, "", "x", "\x1b]0;x\x07", 0, -1, 1, 1e308, -1e308, 1e-308, 2**70, float("nan"), float("inf"),
    [[]], [None], [1, 2, 3], {"t": 1}, ["x"] * 9, [1e300] * 9, "1970-01-01T00:00:00.0Z", "9999-12-31T23:59:59Z",
    [{"t": 0, "val": 1}],
)  # fmt: skip


def changed(tree: Any, chance: Chance) -> Any:
    """Returns a JSON tree in which one part is removed, repeated or replaced by an unusual value."""
    if not isinstance(tree, (dict, list)) or not tree or chance.random() < 0.2:
        return chance.choice(ODD)
    place = chance.choice(list(tree)) if isinstance(tree, dict) else chance.randrange(len(tree))
    copy: Any = tree.copy()
    match chance.randrange(8):
        case 0:
            del copy[place]
        case 1 if isinstance(copy, list):
            copy = copy * 2
        case 2 if isinstance(copy, dict):
            copy[chance.choice(NAMES)] = copy[place]
        case _:
            copy[place] = changed(copy[place], chance)
    return copy


FLENT: dict[str, Any] = {
    "version": 4,
    "metadata": {
        "NAME": "rrul", "TITLE": "t", "STEP_SIZE": 0.2, "TOTAL_LENGTH": 2.0, "LENGTH": 1,
        "T0": "2020-01-01T00:00:00.0Z",
        "TIME": "2020-01-01T00:00:00.0Z", "SERIES_META": {"Ping (ms) ICMP": {"UNITS": "ms", "RAW_VALUES": []}},
    },
    "x_values": [0.0, 0.2, 0.4, 0.6, 0.8],
    "results": {
        "Ping (ms) ICMP": [1.0, 2.0, None, 3.0, 4.0], "Ping (ms) UDP BE": [1.0, 2.0, 2.0, 3.0, 4.0],
        "TCP upload::1": [1.0, 2.0, 3.0, None, 1.0], "TCP download BE": [1.0, 2.0, 3.0, 1.0, 1.0],
        "TCP totals": [1.0] * 5,
    },
    "raw_values": {
        "Ping (ms) ICMP": [{"seq": 0, "t": 1577836800.1, "val": 1.5}, {"seq": 1, "t": 1577836800.4, "val": 2.5}],
        "TCP upload::1": [{"t": 1577836800.2, "dur": 0.2, "val": 3.0}, {"t": 1577836800.4, "dur": 0.2, "val": 2.0}],
    },
}  # fmt: skip


def a_flent(chance: Chance, folder: Path) -> Path:
    """Writes a flent data file, which may be altered or corrupted."""
    tree: Any = FLENT
    for _ in range(chance.randrange(4)):
        tree = changed(tree, chance)
    data = json.dumps(tree).encode()
    if chance.random() < 0.2:
        data = corrupted(data, chance)
    suffix, packed = chance.choice([(".flent", bytes), (".flent.gz", gzip.compress), (".flent.bz2", bz2.compress)])
    whole = packed(data)
    path = folder / f"x{suffix}"
    path.write_bytes(corrupted(whole, chance) if chance.random() < 0.2 else whole)
    return path


def a_frame(chance: Chance) -> bytes:
    """Returns an IP packet in a random frame."""
    tcp = struct.pack(">HHIIBBHHH", 1, 2, chance.randrange(2**32), 3, 0x50, 0x10, 100, 0, 0)
    four = struct.pack(">BBHHHBBHII", 0x45, chance.randrange(256), 40 + 9, 1, 0, 64, 6, 0, 1, 2)
    six = struct.pack(">IHBB16s16s", 0x60000000, 29, chance.choice([6, 0, 44, 43, 60, 58]), 64, b"a" * 16, b"b" * 16)
    packet = chance.choice([four, six]) + tcp + b"x" * 9
    ethernet = b"a" * 12 + chance.choice([b"\x08\x00", b"\x86\xdd", b"\x81\x00\x00\x01\x08\x00", b"\x88\x47"])
    return chance.choice([b"", b"", ethernet, b"\0" * 14 + b"\x08\x00"]) + packet


def a_capture(chance: Chance, folder: Path) -> Path:
    """Writes a pcap or pcapng file, corrupted or not."""
    frames = [a_frame(chance) for _ in range(chance.randrange(6))]
    kind = chance.choice([1, 101, 113, 276, 12, 0, 65535])
    if chance.random() < 0.6:
        magic = chance.choice([0xA1B2C3D4, 0xA1B23C4D, 0xD4C3B2A1])
        data = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, kind)
        data += b"".join(struct.pack("<IIII", i, i, len(f), len(f)) + f for i, f in enumerate(frames))
    else:
        data = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
        data += struct.pack("<IIHHII", 1, 20, kind, 0, 65535, 20)
        for frame in frames:
            padded = frame + bytes(-len(frame) % 4)
            data += struct.pack("<IIIIIII", 6, 32 + len(padded), 0, 0, 1, len(frame), len(frame)) + padded
            data += struct.pack("<I", 32 + len(padded))
    path = folder / "x.pcap"
    path.write_bytes(corrupted(data, chance) if chance.random() < 0.8 else data)
    return path


def a_trace(chance: Chance, folder: Path) -> Path:
    """Writes a delivery trace, which may have invalid lines or be corrupted."""
    ends = (
        "0",
        "-1",
        "1e3",
        "99999999999999999999",
        "root:x:0:0",
        "\x1b[2J",
        "1.5",
        "",
        "  7 ",
        "0x10",
        "\u0663",
        "1_0",
    )
    lines = [str(n * chance.randrange(3)) if chance.random() < 0.9 else chance.choice(ends) for n in range(9)]
    data = chance.choice(["\n", "\r\n", "\n\n"]).join(lines).encode()
    path = folder / "x.down"
    path.write_bytes(corrupted(data, chance) if chance.random() < 0.5 else data)
    return path


SQL = (
    "SELECT FROM WHERE GROUP BY ALL ORDER HAVING LIMIT UNION JOIN USING WITH AS PIVOT ON DESCRIBE SHOW SUMMARIZE COPY "
    "TO CREATE VIEW DROP ATTACH PRAGMA EXPLAIN CALL VALUES SET runs summaries sweeps series queue seed x n word late * "
    "( ) , ; = 1 NULL 'a' '/etc/passwd' count(*) sum(n) DATE 'infinity' TIMESTAMP '-infinity' -1.5e308 1::HUGEINT "
    "1::DECIMAL(38,37) 'a'::BLOB [1,2] {'a':1} MAP{1:2} read_csv('/etc/passwd') read_text('/etc/passwd') uuid() "
    "'1'::BIT TIME chr(27) chr(0) struct_pack(a:=1) list(n) histogram(n) unnest([1,2]) -- /* $1 ? \x1b \0"
)
WORDS = SQL.split(" ")
QUERIES = (
    "SELECT count(*) FROM runs", "SELECT * FROM summaries", "FROM series LIMIT 3", "SELECT interval 1 month", "", ";",
    "SELECT seed, sum(n) FROM summaries GROUP BY ALL ORDER BY ALL", "PIVOT summaries ON word USING sum(n)",
    "SELECT chr(27) AS x",
    "WITH a AS (SELECT * FROM runs) SELECT * FROM a JOIN summaries USING (seed)", "DESCRIBE runs", "SHOW TABLES",
    "COPY (SELECT 1) TO '/tmp/bloatlab-fuzz.csv'", "SELECT DATE 'infinity', NULL, [1], {'a': NULL}",
    "SUMMARIZE summaries",
)  # fmt: skip


def a_query(chance: Chance) -> str:
    """Returns an SQL query with up to three random words inserted or replaced."""
    words = chance.choice(QUERIES).split(" ")
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(words) + 1)
        words[place : place + chance.randrange(2)] = [chance.choice(WORDS)]
    return " ".join(words)


NAMES = (
    "=1+1", "+x", "-x", "@x", "_x", "__", ":x:", "$a^$", "[bold]b", "[/]", "'", '"', "a b", "a.b", "a,b", "../../x",
    "a/b",
    "\x1b[31m", "\x1b]0;t\x07", "\n", "\r", "\0", "\u202e", "\x9b31m", "\U0001f600", "\u0301", "\ufeff", "%s{}",
    "\\N{DEGREE SIGN}",
    "up", "UP", "<script>", "&amp;", "]]>", "x" * 300, "\t", "", " ", "null", "1e5", "nan",
)  # fmt: skip


def a_name(chance: Chance) -> str:
    """Returns an unusual name for an object of a scenario."""
    if chance.random() < 0.01:
        return "x" * chance.choice([1000, 70_000, 1_000_000])
    return "".join(chance.choice(NAMES) for _ in range(chance.choice([1, 1, 2, 3])))


def a_scenario(names: Sequence[str]) -> dict[str, Any]:
    """Returns a short scenario with these names."""
    here, there, link, one, other, name = names
    ends = {"from": here, "to": [there]}
    return {
        "name": name, "duration": "50ms",
        "link": {link: {"from": here, "to": there, "both_ways": True, "rate": "5mbit"}},
        "app": {one: ends | {"traffic": {"ftp": {}}}, other: ends | {"traffic": {"voip": {}}}},
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------- the targets


def called(*words: str) -> int:
    """Returns the exit code of a command.

    Raises `FindingError` for another code than 0, 1 and 2, and for a traceback or terminal controls in the output.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call(words)
    output = out.getvalue() + err.getvalue()
    if code not in {0, 1, 2}:
        raise FindingError(f"exit code {code}: {words}: {err.getvalue()[-500:]}")
    found = [sign for sign in TERMINAL_CONTROLS if sign in output]
    if found or "Traceback" in output:
        raise FindingError(f"{words}: prints {found or 'a traceback'}")
    return code


class Targets:
    """All targets, with a folder for their files and a small store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        store = Store(folder / "store", lambda _: None)
        shelf = store.shelf("c" * 64, "summary-1", "d" * 64)
        for seed in range(6):
            text = f'{{"name":"a","seed":{seed},"link":{{}}}}'
            row = {"x": seed / 3, "n": seed, "word": f"w{seed % 2}", "none": None, "late": float("inf")}
            shelf.put(Scenario(text), Measured(row))
        shelf.close()
        self.views = Views(store, "c" * 64)

    def flent(self, chance: Chance) -> None:
        """Reads a data file, and in some cases plots it and compares it with itself."""
        path = a_flent(chance, self.folder)
        try:
            flent.read(path).measures()
        except flent.FlentError:
            return
        finally:
            if chance.random() < 0.005:
                called("plot", str(path), "-o", str(self.folder / "x.svg"))
                called("diff", str(path), str(path))
            path.unlink()

    def capture(self, chance: Chance) -> None:
        path = a_capture(chance, self.folder)
        with contextlib.suppress(captures.CaptureError):
            for segment in captures.segments(path):
                segment.flow  # noqa: B018
        if chance.random() < 0.05:
            called("links", "rates", str(path))

    def trace(self, chance: Chance) -> None:
        with contextlib.suppress(deliveries.TraceError):
            deliveries.read(a_trace(chance, self.folder))

    def sql(self, chance: Chance) -> None:
        """Runs a query and formats its result."""
        sql = a_query(chance)
        with contextlib.suppress(QueryError):
            frame = self.views.query(sql)
            frame.write_csv()
            frame.write_json()
            frame.rows()
        if chance.random() < 0.01:
            called("query", sql, "--store", str(self.folder / "store"), "-f", chance.choice(["text", "csv", "json"]))

    def name(self, chance: Chance) -> None:
        """Runs the commands that show a result, for a result with unusual names.

        Either the scenario that is run has these names, or the names are written into the result of an ordinary run.
        """
        file, out = self.folder / "x.json", self.folder / "out"
        plain = ["here", "there", "up", "one", "other", "named"]
        places = chance.sample(range(6), chance.randrange(1, 3))
        names = [a_name(chance) if place in places else plain[place] for place in range(6)]
        foreign = chance.random() < 0.5
        file.write_text(json.dumps(a_scenario(plain if foreign else names)))
        form = chance.choice(["csv", "json", "parquet"])
        if called("run", str(file), "-o", str(out), "-f", form, "--force"):
            return
        if foreign:
            for place in [out / "summary.json", out / "scenario.resolved.json", *(out / "tables").glob("*.csv")]:
                text = place.read_text()
                for before, after in zip(plain, names, strict=True):
                    quoted = json.dumps(after)[1:-1] if place.suffix == ".json" else after.replace('"', '""')
                    text = text.replace(before, quoted)
                place.write_text(text, errors="surrogatepass")
        called("show", str(out), "-f", chance.choice(["text", "json"]))
        table = chance.choice(["flows", "links", "queue_series", "delay_histogram"])
        called("show", str(out), "--table", table, "-f", chance.choice(["text", "csv", "json"]))
        if chance.random() < 0.05:
            called("report", str(out), "-o", str(self.folder / "x.html"))
            called("plot", str(out), "-o", str(self.folder / "x.svg"))
            called("diff", str(out), str(out), "-f", chance.choice(["text", "csv", "json"]))


#: Percentage of all cases that are run on each target.
SHARES = {"flent": 40, "capture": 30, "trace": 13, "sql": 15, "name": 2}


def attack(target: str, function: Callable[[Chance], None], numbers: range, seed: int) -> int:
    """Runs the cases of a target; returns the number of findings."""
    found = 0
    for number in numbers:
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            function(Chance(f"{seed} {target} {number}"))
        except (Exception, SystemExit, BaseException) as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            found += 1
            message = f"{type(error).__name__}: {error}"[:400]
            print(f"{target} --seed {seed} --first {number}: {message!r}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("count", 20_000), ("seed", 1), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", choices=list(SHARES))
    options = parser.parse_args()
    shares = {options.only: 100} if options.only else SHARES
    warnings.simplefilter("ignore")
    found = 0
    with tempfile.TemporaryDirectory(prefix="bloatlab-inputs-") as name:
        os.environ["BLOATLAB_STORE"] = str(Path(name) / "own")
        targets = Targets(Path(name))
        for target, share in shares.items():
            numbers = range(options.first, options.first + -(-options.count * share // 100))
            start = time.perf_counter()
            failed = attack(target, getattr(targets, target), numbers, options.seed)
            print(f"{target}: {len(numbers)} cases, {failed} findings, {time.perf_counter() - start:.1f} s", flush=True)
            found += failed
        targets.views.close()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
