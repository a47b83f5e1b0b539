"""A result replaces an earlier one as a whole, and only one command at a time writes into a folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bloatlab
from bloatlab import results
from bloatlab.cli import run as run_command
from bloatlab.cli.main import call

RECORDED = ["--pcap", "--trace", "packets"]


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None]:
    """Holds the lock of a folder, as a command in another process does."""
    folder.mkdir(exist_ok=True)
    file = os.open(folder, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield
    os.close(file)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def earlier(scenario_file: Path, tmp_path: Path) -> Path:
    """Makes a result with captures and packets."""
    folder = tmp_path / "r"
    assert call(["run", str(scenario_file), "-q", "-o", str(folder), "--set", "duration=1s", *RECORDED]) == 0
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["run", "SCENARIO", "-o"],
        ["run", "SCENARIO", "--force", "-o"],
        ["live", "SCENARIO", "-o"],
        ["validate", "-o"],
        ["collisions", "-o"],
        ["lab", "-d"],
        ["reproduce", "csc458", "-o"],
        ["judge", "--suite", "bbr", "--cc", "reno", "--out"],
    ],
    ids=lambda words: words[0],
)
def test_a_folder_in_use_is_refused(scenario_file: Path, tmp_path: Path, capsys, words: list[str]):
    folder = tmp_path / "r"
    with locked(folder):
        assert call([*(str(scenario_file) if word == "SCENARIO" else word for word in words), str(folder)]) == 2
    line = f"{folder}: another command is writing into it; wait until it ends, or give another folder\n"
    assert capsys.readouterr() == ("", line)
    assert content(folder) == {}


def test_a_run_holds_its_folder_until_it_ends(scenario_file: Path, tmp_path: Path, monkeypatch):
    folder, simulate = tmp_path / "r", bloatlab.run
    command = ["run", str(scenario_file), "-q", "-o", str(folder), "--set", "duration=1s"]

    def other(*arguments: Any, **options: Any) -> bloatlab.Result:
        with pytest.raises(BlockingIOError), locked(folder):
            pass
        return simulate(*arguments, **options)

    monkeypatch.setattr(run_command, "run", other)
    assert call(command) == 0
    with locked(folder):
        pass
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["provenance.json", "scenario.resolved.json", "summary.json", "tables"]
    )


@pytest.mark.parametrize("ends", ["in the run", "at a table"])
def test_a_run_that_fails_leaves_the_earlier_result(scenario_file: Path, earlier: Path, monkeypatch, capsys, ends: str):
    before, simulate = content(earlier), bloatlab.run

    def cancelled(*arguments: Any, **options: Any) -> None:
        simulate(*arguments, **options)
        raise KeyboardInterrupt

    def full(_frame: Any, path: Path) -> None:
        if path.stem == "flow_series":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        path.write_text("")

    if ends == "in the run":
        monkeypatch.setattr(run_command, "run", cancelled)
    else:
        monkeypatch.setattr(results, "write_table", full)
    command = ["run", str(scenario_file), "-q", "-o", str(earlier), "--set", "duration=1s", "--seed", "9", "--force"]
    capsys.readouterr()
    assert call([*command, *RECORDED]) == (130 if ends == "in the run" else 2)
    table = earlier / "tables" / "flow_series.parquet"
    line = "interrupted" if ends == "in the run" else f"{table}: cannot write: no space left on device"
    assert capsys.readouterr() == ("", f"{line}\n")
    assert content(earlier) == before
    assert sorted(path.name for path in earlier.iterdir()) == sorted({Path(name).parts[0] for name in before})


def test_a_folder_is_refused_until_its_result_is_complete(scenario_file: Path, earlier: Path, monkeypatch):
    class Killed(BaseException):
        pass

    new = bloatlab.run(scenario_file, sets={"duration": "1s"}, seed=9)
    old, move, moves = bloatlab.open_result(earlier), shutil.move, 0

    def killed(source: Path, place: Path) -> None:
        nonlocal moves
        if moves == 0:
            raise Killed
        moves -= 1
        move(source, place)

    monkeypatch.setattr(shutil, "move", killed)
    assert bloatlab.open_result(earlier).summary == old.summary != new.summary
    copy, count = earlier, 0
    for count in range(100):
        copy, moves = earlier.with_name(f"copy{count}"), count
        shutil.copytree(earlier, copy)
        try:
            results.save(new, copy)
        except Killed:
            missing = pytest.raises(results.ResultError, match=r"\.json is missing")
            with missing if count > 0 else contextlib.nullcontext():
                bloatlab.open_result(copy)
        else:
            break
    opened = bloatlab.open_result(copy)
    assert (opened.summary, opened.scenario) == (new.summary, new.scenario)
    assert count == len(old.tables) + len(new.tables) + 2 * 3  # the scenario, provenance.json and summary.json


def test_force_replaces_recordings_too(scenario_file: Path, earlier: Path):
    (earlier / "notes.txt").write_text("mine")
    (earlier / ".bloatlab-01ab_678.writing" / "old").mkdir(parents=True)  # left by a killed process
    command = ["run", str(scenario_file), "-q", "-o", str(earlier), "--set", "duration=1s", "--force"]
    assert call(command) == 0
    names = ["notes.txt", "provenance.json", "scenario.resolved.json", "summary.json", "tables"]
    assert sorted(path.name for path in earlier.iterdir()) == names


# ------------------------------------------------------------------------------------------------- symbolic links


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_is_written_through_a_link(earlier: Path, tmp_path: Path, exists: bool):
    target, link = tmp_path / "target.svg", tmp_path / "link.svg"
    if exists:
        target.touch()
    link.symlink_to("target.svg")
    assert call(["plot", str(earlier), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text().rstrip().endswith("</svg>")


def test_a_folder_is_made_through_a_link(scenario_file: Path, tmp_path: Path, capsys):
    (tmp_path / "link").symlink_to("target")
    command = ["run", str(scenario_file), "-q", "--set", "duration=1s", "-o"]
    assert call([*command, str(tmp_path / "link")]) == 0
    assert (tmp_path / "target" / "summary.json").is_file()
    capsys.readouterr()
    assert call([*command, str(scenario_file)]) == 2
    assert capsys.readouterr().err == f"{scenario_file}: cannot write: not a directory\n"


# ------------------------------------------------------------------------------------------------- errors while moving


@pytest.mark.parametrize("error", [OSError(errno.EIO, "disk"), KeyboardInterrupt("Ctrl-C")], ids=str)
def test_an_error_while_files_are_moved_brings_the_earlier_result_back(
    scenario_file: Path, earlier: Path, tmp_path: Path, monkeypatch, error: BaseException
):
    new, before, move, left = tmp_path / "new", content(earlier), shutil.move, 0
    assert (
        call(["run", str(scenario_file), "-q", "-o", str(new), "--set", "duration=1s", "--seed", "9", *RECORDED]) == 0
    )

    def replace() -> None:
        with results.replacing(earlier, recordings=True) as aside:
            shutil.copytree(new, aside, dirs_exist_ok=True)

    def failing(source: Path, place: Path) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            raise error
        move(source, place)

    monkeypatch.setattr(shutil, "move", failing)
    moves = len(before) + len(content(new))
    for count in range(moves):
        left = count
        with pytest.raises(type(error)):
            replace()
        assert content(earlier) == before, count
    left = moves
    replace()
    assert content(earlier) == content(new) != before


def test_a_table_that_cannot_be_moved_stays(scenario_file: Path, earlier: Path, capsys):
    table = earlier / "tables" / "flow_series.parquet"
    table.unlink()
    (table / "mine").mkdir(parents=True)
    before = content(earlier)
    capsys.readouterr()
    assert call(["run", str(scenario_file), "-q", "-o", str(earlier), "--set", "duration=1s", "--force"]) == 2
    assert capsys.readouterr().err == f"{table}: cannot write: is a directory\n"
    assert content(earlier) == before
    assert [path.name for path in table.iterdir()] == ["mine"]
    assert not list(earlier.glob(".*"))


def test_force_replaces_what_a_killed_process_has_left(scenario_file: Path, earlier: Path):
    (earlier / "summary.json").unlink()
    assert call(["run", str(scenario_file), "-q", "-o", str(earlier), "--set", "duration=1s"]) == 2
    assert call(["run", str(scenario_file), "-q", "-o", str(earlier), "--set", "duration=1s", "--force"]) == 0
    assert bloatlab.open_result(earlier).summary["duration_s"] == 1
    assert not (earlier / "left.pcap").exists()


# ------------------------------------------------------------------------------------------------- locks


@pytest.mark.parametrize("code", [None, errno.EBADF, errno.ENOLCK], ids=["locks", "NFS", "no locks"])
def test_unfinished_results_are_removed_only_under_a_lock(scenario_file: Path, tmp_path: Path, monkeypatch, code):
    def without(_file: int, _how: int) -> None:
        raise OSError(code, os.strerror(code))

    folder = tmp_path / "r"
    theirs, mine = folder / ".bloatlab-abcdefgh.writing", folder / ".draft.writing"
    for path in (theirs, mine):
        path.mkdir(parents=True)
        (path / "thesis").touch()
    if code is not None:
        monkeypatch.setattr(fcntl, "flock", without)
    assert call(["run", str(scenario_file), "-q", "-o", str(folder), "--set", "duration=1s"]) == 0
    assert (mine / "thesis").exists()
    assert theirs.exists() == (code is not None)


def test_threads_may_save_into_one_folder(scenario_file: Path, tmp_path: Path):
    made = [bloatlab.run(scenario_file, sets={"duration": "1s"}, seed=seed) for seed in range(4)]
    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(lambda result: bloatlab.save(result, tmp_path / "r"), made * 10))
    opened = bloatlab.open_result(tmp_path / "r")
    assert opened.summary in [result.summary for result in made]
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == sorted(
        ["provenance.json", "scenario.resolved.json", "summary.json", "tables"]
    )


@pytest.mark.parametrize("ends", ["in the run", "at a table"])
def test_captures_of_a_live_run_that_fails_are_kept(scenario_file: Path, earlier: Path, monkeypatch, capsys, ends: str):
    result, before = bloatlab.run(scenario_file, sets={"duration": "1s"}), content(earlier)

    def run(*_arguments: Any, captures: Path, **_options: Any) -> bloatlab.Result:
        for name in ("left.pcap", "right.pcap"):
            (captures / name).write_text(f"{name} of this run")
        if ends == "in the run":
            raise KeyboardInterrupt
        return result

    def full(_frame: Any, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    for name, function in {"available": lambda: True, "clean": lambda: 0, "run": run}.items():
        monkeypatch.setattr(bloatlab.live, name, function)
    monkeypatch.setattr(results, "write_table", full)
    capsys.readouterr()
    code = call(["live", str(scenario_file), "-q", "-o", str(earlier), "--pcap", "--force"])
    assert code == (130 if ends == "in the run" else 2)
    (kept,) = earlier.glob("unfinished-*")
    assert capsys.readouterr().err.splitlines()[0] == f"note: the captures of this run are in {kept}"
    for name in ("left.pcap", "right.pcap"):
        assert (kept / name).read_text() == f"{name} of this run"
    assert {name: data for name, data in content(earlier).items() if not name.startswith(kept.name)} == before
