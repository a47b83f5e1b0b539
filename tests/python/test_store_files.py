"""Tests of the files of a store: journals become Parquet files (parts), even if processes are killed, files are damaged
or disks are full; a query in SQL returns each run once.
"""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import polars as pl
import pytest

from bloatlab import files
from bloatlab.cli.main import call
from bloatlab.query import QueryError, Views
from bloatlab.scenario import Scenario, parse
from bloatlab.sweep import Store, journal, parquet
from bloatlab.sweep.kept_runs import Measured, Value
from bloatlab.sweep.store import Index, Shelf, StoreFull

COMMAND = str(Path(sys.executable).with_name("bloatlab"))
CORE = "c" * 64
CODE = "d" * 64
OTHER_LINK = """
[link.UP]
from = "x"
to = "y"
rate = "9mbit"
"""


def scenario(seed: int) -> Scenario:
    return Scenario(f'{{"name":"made","seed":{seed},"link":{{"up":{{"rate":"5mbit"}}}}}}')


def value(seed: int) -> Measured:
    row: dict[str, Value] = {"x": seed / 3, "n": seed, "late": math.inf, "word": f"w{seed}", "none": None}
    if seed % 2:
        row["odd"] = math.nan
    frame = pl.DataFrame({"t_s": [0.0, 1.0], "q": [seed, None]}, schema={"t_s": pl.Float64, "q": pl.Int64})
    return Measured(row, {"queue": frame, "empty": frame.head(0)})


def same(one: Measured | None, other: Measured) -> bool:
    return (
        one is not None
        and repr(one.row) == repr(other.row)
        and list(one.frames) == list(other.frames)
        and all(one.frames[k].equals(v) and one.frames[k].schema == v.schema for k, v in other.frames.items())
    )


def shelf(store: Store) -> Shelf:
    return store.shelf(CORE, "summary-1", CODE)


def fill(store: Store, seeds: range) -> None:
    one = shelf(store)
    for seed in seeds:
        assert one.put(scenario(seed), value(seed))
    one.close()


def folder(store: Store) -> Path:
    return store.folder / CORE[:16] / f"summary-1-{CODE[:16]}"


def holds(store: Store, seeds: Collection[int]) -> bool:
    """Returns whether the store finds each of these runs with its values, and a query in SQL returns each run once."""
    one = shelf(store)
    found = all(same(one.get(scenario(seed)), value(seed)) for seed in seeds)
    with Views(store, CORE) as db:
        counted = db.query("SELECT count(*), count(DISTINCT scenario_hash) FROM summaries").row(0)
    return found and counted == (len(seeds), len(seeds))


def test_values_come_back_as_they_went_in_from_a_journal_and_from_a_part(store: Store):
    fill(store, range(20))
    assert holds(store, range(20))
    assert not parquet.journals(folder(store))
    assert sum(len(part.hashes()) for part in parquet.parts(folder(store))) == 20
    assert holds(store, range(20))


def test_parts_stay_few_however_many_sweeps_there_are(store: Store):
    for begin in range(0, 300, 10):
        fill(store, range(begin, begin + 10))
        shelf(store).compact()
    found = parquet.parts(folder(store))
    assert sum(len(part.hashes()) for part in found) == 300
    # there are two schemas, each with only a few parts: a new part is joined with parts up to four times as large
    assert len(found) <= 10
    assert len(list(folder(store).iterdir())) <= len(found) + 2
    assert holds(store, range(300))


def test_a_shelf_of_many_journals_is_packed_when_it_is_opened(store: Store):
    for seed in range(parquet.MANY_JOURNALS):
        fill(store, range(seed, seed + 1))
    assert same(shelf(store).get(scenario(0)), value(0))
    assert not parquet.journals(folder(store))


def test_a_writer_is_left_alone_and_read_all_the_same(store: Store):
    writer = shelf(store)
    for seed in range(5):
        writer.put(scenario(seed), value(seed))
    store.collect(CORE)
    (its,) = parquet.journals(folder(store))
    assert its.exists()
    assert holds(store, range(5))
    writer.put(scenario(5), value(5))
    assert same(writer.get(scenario(5)), value(5))
    writer.close()
    assert its.stat().st_size < journal.RESERVE
    assert holds(store, range(6))
    assert not its.exists()


def test_a_shelf_finds_its_runs_after_somebody_packed_them(store: Store):
    fill(store, range(4))
    early = shelf(store)
    assert same(early.get(scenario(0)), value(0))
    store.collect(CORE)
    fill(store, range(4, 300))
    store.collect(CORE)
    assert same(early.get(scenario(1)), value(1))


def test_a_journal_is_finished_and_packed_when_it_is_long(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "MOST_RUNS", 10)
    writer = shelf(store)
    for seed in range(25):
        writer.put(scenario(seed), value(seed))
    assert sum(len(part.hashes()) for part in parquet.parts(folder(store))) == 20
    assert all(same(writer.get(scenario(seed)), value(seed)) for seed in range(25))


class Killed(BaseException):
    """Simulates the death of the process: as a BaseException, it passes every `except Exception`."""


def test_packing_may_be_killed_at_any_step(store: Store, monkeypatch: pytest.MonkeyPatch):
    """No run is lost if the process is killed before or after any step that writes, renames or removes a file."""
    real_write, real_unlink, real_replace = files.write, Path.unlink, Path.replace
    left = 0

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    def write(path: Path, data: bytes, *, flush: bool) -> None:
        assert flush
        aside = path.with_name(f"{path.name}.0{files.WRITING}")
        aside.write_bytes(data[: len(data) // 2])
        step()
        aside.write_bytes(data)
        step()
        real_replace(aside, path)
        step()

    def unlink(self: Path, missing_ok: bool = False) -> None:
        step()
        real_unlink(self, missing_ok=missing_ok)

    runs, deaths = 0, 0
    fill(store, range(12))
    shelf(store).compact()
    for survived in range(25):
        fill(store, range(12 + runs, 12 + runs + 12))
        runs += 12
        left = survived
        monkeypatch.setattr(files, "write", write)
        monkeypatch.setattr(Path, "unlink", unlink)
        try:
            parquet.compact(folder(store), lambda _: None)
        except Killed:
            deaths += 1
        monkeypatch.setattr(files, "write", real_write)
        monkeypatch.setattr(Path, "unlink", real_unlink)
        one = shelf(store)
        assert all(same(one.get(scenario(seed)), value(seed)) for seed in range(12 + runs)), survived
        assert len(Index.of(folder(store), lambda _: None).places) == 12 + runs
        if survived % 5 == 0:
            assert holds(store, range(12 + runs)), survived
    assert deaths >= 10
    assert holds(store, range(12 + runs))
    named = {part.path for part in parquet.parts(folder(store))}
    assert set(folder(store).glob("*.parquet*")) == named


# ------------------------------------------------------------------------------------------- full disk


def test_a_full_disk_is_met_while_there_is_still_room(store: Store, monkeypatch: pytest.MonkeyPatch):
    """Space is reserved in advance, so the run that meets the full disk is still stored, and so are other runs that are
    in progress.
    """
    one = shelf(store)
    assert one.put(scenario(0), value(0))
    monkeypatch.setattr(journal, "RESERVE", 4096)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    (writing,) = one._journals
    writing._room = 4096
    kept = 1
    for seed in range(1, 50):
        met = ""
        try:
            one.put(scenario(seed), value(seed))
        except StoreFull as error:
            met = str(error)
        kept += 1
        if met and seed > 10:
            assert met == f"{store.folder}: cannot write: no space left on device"
            break
    assert one.kept == kept
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StoreFull):
        one.put(scenario(99), value(99))
    monkeypatch.undo()
    assert one.kept == kept
    one.close()
    assert holds(store, range(kept))


@pytest.fixture
def small_disk(tmp_path: Path):
    """Mounts a file system of 12 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", place], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a file system of 12 MB cannot be mounted here: needs root")
    yield place
    subprocess.run(["/bin/umount", place], check=True)


GRID = """
scenario = "dumbbell.toml"
seeds = {seeds}
[set]
duration = "1s"
[axes]
"link.up.rate" = ["1mbit", "2mbit", "3mbit", "4mbit"]
"""


def grid_file(scenario_file: Path, seeds: int) -> Path:
    path = scenario_file.with_name("grid.toml")
    path.write_text(GRID.format(seeds=seeds))
    return path


def sweep(grid: Path, store: Path, *more: str) -> subprocess.Popen[str]:
    command = [COMMAND, "sweep", str(grid), "--store", str(store), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_sweep_on_a_full_disk_ends_in_a_line_and_goes_on_when_there_is_room(scenario_file: Path, small_disk: Path):
    grid = grid_file(scenario_file, 10)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(12 * 2**20 - 1200 * 2**10))
    command = [
        "-f",
        "csv",
        "--jobs",
        "2",
        "--keep",
        "queue_series",
        "--keep",
        "flow_series",
        "--keep",
        "sojourn_histogram",
    ]
    child = sweep(grid, small_disk / "store", *command)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out, len(err.splitlines())) == (2, "", 1), err
    assert "no space left on device; " in err
    kept = int(err.split("no space left on device; ")[1].split(" of 40 runs are stored")[0])
    assert 0 < kept < 40
    ballast.unlink()
    child = sweep(grid, small_disk / "store", *command)
    out, err = child.communicate(timeout=120)
    assert f"40 runs, {kept} of them from the store" in err
    undisturbed, _ = sweep(grid, scenario_file.with_name("other"), *command).communicate(timeout=120)
    assert out == undisturbed


# -------------------------------------------------------------------------------------------------- SQL


def test_sql_sees_sweeps_by_name_with_their_axes_and_tables(scenario_file: Path, tmp_path: Path, capsys):
    grid = grid_file(scenario_file, 2)
    store = ["--store", str(tmp_path / "store")]
    assert call(["sweep", str(grid), *store, "-f", "csv", "-c", "links.up.sojourn_ms.p99"]) == 0
    table = pl.read_csv(capsys.readouterr().out.encode())
    sql = 'SELECT "link.up.rate", seed, scenario_hash, "links.up.sojourn_ms.p99" FROM grid'
    assert call(["query", sql, *store, "-f", "csv"]) == 0
    assert pl.read_csv(capsys.readouterr().out.encode()).equals(table)
    assert call(["query", *store, "-f", "csv"]) == 0
    views = pl.read_csv(capsys.readouterr().out.encode())
    assert dict(zip(views["view"], views["rows"], strict=True)) == {
        "runs": 8, "summaries": 8, "sweeps": 8, "series": 0, "grid": 8,
    }  # fmt: skip
    assert call(["sweep", str(grid), *store, "--keep", "queue_series", "-f", "csv"]) == 0
    capsys.readouterr()
    sql = "SELECT count(DISTINCT scenario_hash), (SELECT count(*) FROM summaries), count(*) > 8 FROM queue_series"
    assert call(["query", sql, *store, "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "8,8,true"
    assert call(["query", 'SELECT DISTINCT "table", measure FROM series', *store, "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "queue_series,summary.queue_series-1"
    sql = "SELECT scenario->>'$.link.up.rate' AS rate, count(*) FROM runs WHERE seed = 2 GROUP BY ALL ORDER BY ALL"
    assert call(["query", sql, *store, "-f", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "1mbit,2"
    # a bin in which no packet leaves the queue has no delay
    sql = "SELECT isfinite(max(sojourn_ms_max)), avg(sojourn_ms_max) > 0, count(sojourn_ms_max) < count(*) FROM "
    for view in ("queue_series", "series"):
        assert call(["query", sql + view, *store, "-f", "csv"]) == 0
        assert capsys.readouterr().out.splitlines()[1] == "true,true,true"


def queried(sql: str, *options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Returns the rows of a query's answer as CSV."""
    capsys.readouterr()
    assert call(["query", sql, *options, "-f", "csv"]) == 0
    return capsys.readouterr().out.splitlines()[1:]


def test_every_sweep_has_a_view(scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store = ["--store", str(tmp_path / "store")]
    names = ("runs", "runs (sweep)", "pings", "home", "Home")
    for seeds, name in enumerate(names, 1):
        grid = grid_file(scenario_file, seeds).rename(tmp_path / f"{name}.toml")
        grid.write_text(grid.read_text().replace('scenario = "', f'scenario = "{scenario_file.parent}/'))
        assert call(["sweep", str(grid), *store]) == 0
    sweeps = queried("SELECT DISTINCT sweep FROM sweeps", *store, capsys=capsys)
    (other,) = [view for view in sweeps if view.startswith("Home (")]
    views = ("runs (sweep 2)", "runs (sweep)", "pings (sweep)", "home", other)
    assert sorted(sweeps) == sorted(views)
    # a sweep that also stores a table does not change the names of views
    assert call(["sweep", str(tmp_path / "home.toml"), *store, "--keep", "pings"]) == 0
    for seeds, view in enumerate(views, 1):
        assert queried(f'FROM "{view}" SELECT max(seed)', *store, capsys=capsys) == [str(seeds)]


def test_links_that_differ_only_in_case(scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store = ["--store", str(tmp_path / "store")]
    grid = grid_file(scenario_file, 2)
    assert call(["sweep", str(grid), *store]) == 0
    sql = 'SELECT "links.up.offered_packets" FROM grid ORDER BY ALL'
    alone = queried(sql, *store, capsys=capsys)
    text = scenario_file.read_text()
    for name, links in (("upper", text.replace("link.up", "link.UP")), ("twice", f"{text}{OTHER_LINK}")):
        (tmp_path / f"{name}-scenario.toml").write_text(links)
        other = grid.read_text().replace(scenario_file.name, str(tmp_path / f"{name}-scenario.toml"))
        (tmp_path / f"{name}.toml").write_text(other.replace("link.up", "link.UP") if name == "upper" else other)
        assert call(["sweep", str(tmp_path / f"{name}.toml"), *store, *(["--keep", "pings"] * (name == "twice"))]) == 0
    # another sweep in the store changes nothing, and the name of a link may be written in any case
    assert queried(sql, *store, capsys=capsys) == alone
    assert queried(sql.replace("grid", "upper"), *store, capsys=capsys) == alone
    # if a run has both links, both values are missing
    assert set(queried(sql.replace("grid", "twice"), *store, capsys=capsys)) == {""}
    assert call(["query", "SELECT 1", *store]) == 0
    err = capsys.readouterr().err
    assert "links.UP." in err
    assert "SQL ignores case, so the views leave out" in err


@pytest.mark.parametrize("name", ["Seed", "SCENARIO_hash", "events", "file_row_number"])
def test_a_sweep_of_an_earlier_version_with_an_axis_that_is_not_clear(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
):
    store = ["--store", str(tmp_path / "store")]
    for seeds in (1, 2):
        grid = grid_file(scenario_file, seeds)
        assert call(["sweep", str(grid), *store, "--set", f"duration={seeds}s"]) == 0
    (one, two) = (tmp_path / "store/sweeps").glob("*.parquet")
    about = {key: pl.read_parquet_metadata(one)[key] for key in ("sweep", "grid", "sets")}
    axis, *_ = pl.read_parquet(one).columns
    earlier = one.with_name(f"{one.name[:16]}.parquet")  # without a checksum in its name
    earlier.write_bytes(files.parquet(pl.read_parquet(one).rename({axis: name}), metadata=about))
    one.unlink()
    other = pl.read_parquet_metadata(two)["sweep"]
    capsys.readouterr()
    assert call(["query", "SELECT DISTINCT sweep FROM sweeps", *store, "-f", "csv"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["sweep", other]
    assert f"{about['sweep']}: {name}" in err
    assert "so the sweep has no view; rename the axis in" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([""], "expected one SELECT; found no statements"),
        ([";"], "expected one SELECT; found no statements"),
        (["SELECT 1; SELECT 2"], "expected one SELECT; found 2 statements"),
        (["SELECT DATE 'infinity' AS d"], "d: a date outside the years 1 to 9999"),
        (["SELECT nothing FROM runs"], 'query: Binder Error: Referenced column "nothing" not found'),
        (["SELEKT 1"], "query: Parser Error"),
        (["SELECT * FROM nowhere"], "nowhere does not exist"),
        (["SELECT 1", "-o", "x.xlsx"], "a table's name ends in .csv, .json, .parquet"),
        (["SELECT 1", "--store", "/nowhere"], "/nowhere: no store here"),
    ],
)
def test_bad_queries_are_said_in_a_line(store: Store, capsys, monkeypatch, arguments: list[str], words: str):
    fill(store, range(1))
    monkeypatch.setenv("BLOATLAB_STORE", str(store.folder))
    assert call(["query", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1), err
    assert words in err


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{part}' (USE_TMP_FILE false)",
        "COPY (PIVOT runs ON seed USING count(*)) TO '{part}' (USE_TMP_FILE false)",
        "ATTACH '/tmp/bloatlab-attached.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE '/tmp/bloatlab-exported'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "DROP VIEW runs",
    ],
)
def test_a_query_reads_the_views_and_nothing_else(store: Store, sql: str):
    fill(store, range(20))
    shelf(store).compact()
    part = parquet.parts(folder(store))[0].path
    before = part.read_bytes()
    with Views(store, CORE) as db:
        assert db.query("SELECT count(*) FROM runs").row(0) == (20,)
        with pytest.raises(QueryError):
            db.query(sql.format(part=part))
        assert db.query("SELECT count(*) FROM runs").row(0) == (20,)
    assert part.read_bytes() == before
    assert not list(Path("/tmp").glob("bloatlab-[ae]*ed*"))  # noqa: S108


def test_a_store_whose_folder_has_wildcards_is_read(tmp_path: Path):
    one = Store(tmp_path / "a [x]* 'b'", lambda _: None)
    fill(one, range(20))
    assert holds(one, range(20))


def test_every_type_of_an_answer_has_a_place_in_a_table(store: Store, capsys, monkeypatch):
    fill(store, range(1))
    monkeypatch.setenv("BLOATLAB_STORE", str(store.folder))
    sql = (
        "SELECT interval 1 month AS i, 1::HUGEINT AS h, 1.5::DECIMAL(4, 2) AS d, [1, 2] AS l, {'a': 1} AS s, "
        "TIME '12:00' AS t, 'x'::BLOB AS b, MAP {1: 2} AS m, 1 AS h, NULL AS n"
    )
    for form in ("text", "json", "csv"):
        assert call(["query", sql, "-f", form]) == 0
    assert capsys.readouterr().out.endswith(
        "i,h,d,l,s,t,b,m,h_1,n\n1 month,1.0,1.5,\"[1, 2]\",{'a': 1},12:00:00,x,{1=2},1,\n"
    )


def test_a_query_of_other_shapes(store: Store):
    fill(store, range(10))
    with Views(store, CORE) as db:
        assert db.query("SELECT sum(n), count(odd), count(*) FILTER (isnan(odd)) FROM summaries").row(0) == (45, 5, 5)
        assert db.query("SELECT count(*) FROM queue WHERE q IS NULL").row(0) == (10,)
        assert db.query("SELECT max(late) FROM summaries").row(0) == (math.inf,)
        with pytest.raises(QueryError, match="Catalog Error"):
            db.query("SELECT * FROM t2")
    with Views(store, "0" * 64) as db:
        assert db.query("SELECT * FROM summaries").height == 0


def test_the_store_has_a_scenario_that_can_be_run_again(store: Store):
    one = parse(
        'duration = "1s"\nlink.up = { from = "a", to = "b", rate = "1mbit", both_ways = true }\n'
        'app.x = { from = "a", to = ["b"], traffic.ftp = {} }\n'
    )
    shelf(store).put(one, Measured({"x": 1.0}))
    with Views(store, CORE) as db:
        (text,) = db.query("SELECT scenario FROM runs").row(0)
    assert parse(text, form="json") == one
