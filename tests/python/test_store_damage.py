"""Damaged files of a store are moved aside, unreadable files stay where they are, and no stored run is lost if writers
are killed.
"""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bloatlab.cli.main import call
from bloatlab.query import Views
from bloatlab.sweep import Store, journal, parquet
from test_store import kept
from test_store_files import CORE, fill, folder, grid_file, holds, scenario, shelf, value

NOBODY = 65534


def bent(data: bytes, damage: str, place: int) -> bytes:
    match damage:
        case "torn":
            return data[:place]
        case "bent" | "mark":
            return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        case "empty":
            return b""
        case _:
            return b"PAR1 is not all that a Parquet file has"


@pytest.mark.parametrize(("damage", "lost"), [("torn", 5), ("bent", 1), ("mark", 1), ("foreign", 10)])
def test_a_damaged_journal_is_moved_aside_and_its_whole_runs_are_kept(
    store: Store, notices: list[str], damage: str, lost: int
):
    fill(store, range(10))
    (path,) = parquet.journals(folder(store))
    found, damaged = journal.records(path)
    assert not damaged
    record = found[5][0].start
    head = found[5][0].start - found[4][0].start - found[4][0].length
    path.write_bytes(now := bent(path.read_bytes(), damage, record - head if damage == "mark" else record + 40))
    one = shelf(store)
    assert sum(one.get(scenario(seed)) is None for seed in range(10)) == lost
    assert [
        line.startswith(f"{path}: a run in it is incomplete; moved to {path.name}.damaged") for line in notices
    ] == [True]
    assert path.with_name(f"{path.name}.damaged").read_bytes() == now
    fill(store, range(10))
    assert holds(store, range(10))
    notices.clear()
    assert holds(store, range(10))
    assert notices == []


@pytest.mark.parametrize("damage", ["torn", "bent", "empty", "foreign"])
def test_a_damaged_part_is_moved_aside_and_its_runs_are_done_again(store: Store, notices: list[str], damage: str):
    fill(store, range(20))
    shelf(store).compact()
    for times in (1, 2):
        notices.clear()
        victim = max(parquet.parts(folder(store)), key=lambda part: part.path.name)
        victim.path.write_bytes(bent(victim.path.read_bytes(), damage, victim.size // 2))
        one = shelf(store)
        assert sum(one.get(scenario(seed)) is None for seed in range(20)) == 10
        assert len(notices) == 1
        assert notices[0].startswith(f"{victim.path}: ")
        assert "; its runs will be repeated" in notices[0]
        fill(store, range(20))
        assert holds(store, range(20))
        assert len(list(folder(store).glob("*.damaged"))) == times


def test_a_part_that_is_gone_costs_its_own_runs_only(store: Store, notices: list[str]):
    fill(store, range(20))
    shelf(store).compact()
    parquet.parts(folder(store))[0].path.unlink()
    one = shelf(store)
    assert sum(one.get(scenario(seed)) is None for seed in range(20)) == 10
    assert notices == []


@pytest.mark.parametrize("damage", [None, "bent"])
def test_a_part_whose_runs_are_in_another_goes_if_the_other_is_whole(
    store: Store, notices: list[str], damage: str | None
):
    """A process may write a larger part, which has all runs of a smaller part and new runs, and die before it removes
    the smaller part. The smaller part is then removed later, unless the larger part is damaged.
    """
    fill(store, range(20))
    shelf(store).compact()
    first = max(parquet.parts(folder(store)), key=lambda part: part.path.name)
    kept = first.path.read_bytes()
    fill(store, range(20, 60))
    shelf(store).compact()
    assert not first.path.exists()  # its runs are in a larger part
    first.path.write_bytes(kept)
    assert holds(store, range(60)) or damage
    if damage is None:
        assert not first.path.exists()
        return
    first.path.write_bytes(kept)
    (other,) = [p for p in parquet.parts(folder(store)) if set(first.hashes()) < set(p.hashes())]
    other.path.write_bytes(bent(other.path.read_bytes(), damage, other.size // 2))
    shelf(store).compact()
    assert [line.startswith(f"{other.path}: ") for line in notices] == [True]
    assert first.path.read_bytes() == kept


# ------------------------------------------------------------------ each command with each kind of damage

HARMS = ("torn", "folder", "error", "mode")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Makes a folder that other users may enter, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(prefix="bloatlab-test-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@contextlib.contextmanager
def harmed(part: Path, harm: str, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Damages a part in one of four ways: it is cut in half, replaced by a folder, on a disk with an error, or
    unreadable for this user.
    """
    match harm:
        case "torn":
            part.write_bytes(part.read_bytes()[: part.stat().st_size // 2])
        case "folder":
            part.rename(part.with_name("kept"))
            part.mkdir()
        case "error":
            real = Path.open

            def fails(self: Path, *args, **kwargs):
                if self == part:
                    raise OSError(errno.EIO, os.strerror(errno.EIO), str(self))
                return real(self, *args, **kwargs)

            monkeypatch.setattr(Path, "open", fails)
        case _:
            part.chmod(0)
            if os.geteuid() == 0:
                for path in (part.parents[2], *part.parents[2].rglob("*")):
                    os.chown(path, NOBODY, NOBODY)
                os.seteuid(NOBODY)
                try:
                    yield
                finally:
                    os.seteuid(0)
                return
    yield


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("command", ["query", "store", "sweep"])
def test_no_command_loses_a_part(scenario_file: Path, open_folder: Path, capsys, command: str, harm: str):
    grid = grid_file(scenario_file, 1)
    grid = shutil.copy(grid, open_folder)
    shutil.copy(scenario_file, open_folder)
    store = ["--store", str(open_folder / "store")]
    assert call(["sweep", str(grid), *store, "-f", "csv"]) == 0
    assert call(["query", "SELECT 1", *store]) == 0
    assert call(["store", *store]) == 0
    (part,) = (open_folder / "store").glob("*/summary-*/*.parquet")
    before = part.read_bytes()
    capsys.readouterr()
    words = {
        "query": ["query", "SELECT count(*) FROM runs", "-f", "csv"],
        "store": ["store"],
        "sweep": ["sweep", str(grid), "-f", "csv"],
    }
    with pytest.MonkeyPatch.context() as patch, harmed(part, harm, patch):
        code = call([*words[command], *store])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if str(part) in line]
    assert len(lines) == 1, err
    if harm == "torn":
        assert code == 0
        assert f"moved to {part.name}.damaged; its runs will be repeated" in lines[0]
        assert part.with_name(f"{part.name}.damaged").read_bytes() == before[: len(before) // 2]
    else:
        why = {"folder": "is a directory", "error": "input/output error", "mode": "permission denied"}[harm]
        assert (code, out, err) == (2, "", f"{part}: cannot be read: {why}\n")
        if harm == "mode":
            assert stat.S_IMODE(part.stat().st_mode) == 0
            part.chmod(0o644)
        assert (part.with_name("kept") if harm == "folder" else part).read_bytes() == before


def test_a_plot_of_kept_runs_tells_of_damage_in_a_line(scenario_file: Path, tmp_path: Path, monkeypatch):
    grid = grid_file(scenario_file, 1)
    monkeypatch.setenv("BLOATLAB_STORE", str(tmp_path / "store"))
    assert call(["sweep", str(grid), "-f", "csv"]) == 0
    assert call(["store", "gc"]) == 0
    (part,) = (tmp_path / "store").glob("*/summary-*/*.parquet")
    part.write_bytes(part.read_bytes()[:100])
    command = [sys.executable, "-m", "bloatlab", "plot", str(grid), "-o", str(tmp_path / "x.svg")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    first, second = done.stderr.splitlines()
    assert first.startswith(f"{part}: it has changed since it was written; moved to ")
    assert "4 of 4 runs are not stored" in second
    assert done.returncode == 2


def test_a_damaged_list_of_a_sweep_is_moved_aside(scenario_file: Path, tmp_path: Path, capsys):
    grid = grid_file(scenario_file, 1)
    store = tmp_path / "store"
    assert call(["sweep", str(grid), "--store", str(store), "-f", "csv"]) == 0
    (path,) = (store / "sweeps").glob("*.parquet")
    path.write_bytes(b"PAR1")
    mine = path.with_name("mine.parquet")  # a file of the user, not of a sweep
    mine.write_text("mine")
    capsys.readouterr()
    assert call(["store", "--store", str(store)]) == 0
    assert capsys.readouterr().err == (
        f"{path}: it has changed since it was written; moved to {path.name}.damaged; its sweep writes it again\n"
    )
    assert path.with_name(f"{path.name}.damaged").read_bytes() == b"PAR1"
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("command", [["query", "SELECT * FROM grid"], ["store"]])
def test_every_damage_to_a_list_of_a_sweep_is_found(scenario_file: Path, tmp_path: Path, capsys, command: list[str]):
    """DuckDB or polars may fail to read a damaged file, or may read wrong values from it."""
    store = tmp_path / "store"
    sweep = ["sweep", str(grid_file(scenario_file, 1)), "--store", str(store), "-f", "csv"]
    assert call(sweep) == 0
    (path,) = (store / "sweeps").glob("*.parquet")
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        capsys.readouterr()
        call([*command, "--store", str(store)])
        assert capsys.readouterr().err.startswith(f"{path}: it has changed since it was written; moved to ")
        assert not path.exists()
    assert call(sweep) == 0
    assert path.read_bytes() == whole


def test_a_list_of_an_earlier_version_is_read_and_replaced(scenario_file: Path, tmp_path: Path, capsys):
    store = tmp_path / "store"
    sweep = ["sweep", str(grid_file(scenario_file, 1)), "--store", str(store), "-f", "csv"]
    assert call(sweep) == 0
    (path,) = (store / "sweeps").glob("*.parquet")
    path.rename(path.with_name(f"{path.name[:16]}.parquet"))
    capsys.readouterr()
    assert call(["query", "SELECT DISTINCT sweep FROM sweeps", "--store", str(store), "-f", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["sweep", "grid"]
    assert call(sweep) == 0
    assert list((store / "sweeps").iterdir()) == [path]


@pytest.mark.parametrize("command", [["store"], ["store", "gc"], ["query", "SELECT 1"]])
def test_a_store_that_does_not_exist_is_refused(tmp_path: Path, capsys, command: list[str]):
    store = tmp_path / "none"
    assert call([*command, "--store", str(store)]) == 2
    line = f"{store}: no store here; bloatlab sweep makes one, or give its folder with --store\n"
    assert capsys.readouterr() == ("", line)
    assert not store.exists()


@pytest.mark.parametrize("command", [["query", "SELECT 1"], ["store"]])
def test_a_folder_in_the_place_of_a_journal_is_an_error_in_a_line(store: Store, capsys, command: list[str]):
    fill(store, range(3))
    place = folder(store) / "0123456789abcdef.journal"
    place.mkdir()
    assert call([*command, "--store", str(store.folder)]) == 2
    assert capsys.readouterr() == ("", f"{place}: cannot be read: is a directory\n")


# ---------------------------------------------------------------------------------------------- kill -9

KILLS = 30
MANY = range(250)


def write(folder: Path) -> None:
    """Stores all runs, unless it is killed first. Each run that is not stored yet takes 2 ms."""
    one = shelf(Store(folder, lambda _: None))
    for seed in MANY:
        if one.get(scenario(seed)) is None:
            time.sleep(0.002)
            assert one.put(scenario(seed), value(seed))
    one.close()


def table(store: Store) -> pl.DataFrame:
    """Returns everything that is stored, except the times."""
    with Views(store, CORE) as db:
        runs = db.query("SELECT r.* EXCLUDE (written), s.* FROM runs r JOIN summaries s USING (seed) ORDER BY seed")
        return runs.join(db.query('SELECT * FROM queue ORDER BY seed, "t_s"'), on="seed", how="left")


def test_two_writers_killed_thirty_times_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A short version of `tools/kill_sweep.py`: two writers share a store, and one or the other is killed and
    restarted.

    The writers are forks of a process that has already loaded this module, so that 30 restarts take only seconds.
    """
    # in Python 3.11, the fork server does not use the `sys.path` of this process. Without PYTHONPATH, it could not
    # import this module, and would continue without an error message
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    store = Store(tmp_path / "store", lambda _: None)
    chance = random.Random(13)  # noqa: S311

    def begun() -> Any:
        child = context.Process(target=write, args=(store.folder,), daemon=True)
        child.start()
        return child

    children = [begun(), begun()]
    before = kills = 0
    while kills < KILLS:
        victim = chance.randrange(2)
        _until_kept(store, before + 1, children)
        time.sleep(chance.uniform(0.0, 0.02))
        assert all(child.exitcode in {None, 0} for child in children)
        kills += children[victim].is_alive()
        children[victim].kill()
        children[victim].join()
        now = kept(store)
        assert now >= before
        before = now
        children[victim] = begun()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    undisturbed = Store(tmp_path / "other", lambda _: None)
    fill(undisturbed, MANY)
    assert kept(store) == len(MANY)
    assert table(store).equals(table(undisturbed))
    assert table(store).height == 2 * len(MANY)
    assert holds(store, MANY)


def _until_kept(store: Store, runs: int, children: Sequence[Any]) -> None:
    while all(child.is_alive() for child in children) and kept(store) < runs:
        time.sleep(0.02)
