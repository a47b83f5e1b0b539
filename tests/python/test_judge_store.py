"""The store keeps the runs of `bloatlab judge` separately for each suite and each transport."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bloatlab.judge import judged, suite
from bloatlab.sweep import Point, Store, Threads, fingerprint
from bloatlab.sweep.store import current

TRANSPORTS = Path(__file__).with_name("broken_transports.py")


def test_runs_of_a_transport_are_stored_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "stack.py"
    made: list[int] = []

    def counting(points: Sequence[Point[Any]], work: Any, done: Any, watch: Any) -> None:
        made.append(len(points))
        Threads(1)(points, work, done, watch)

    figures: list[float | None] = []
    for kept in (0.5, 0.5, 1.0):
        file.write_text(TRANSPORTS.read_text().replace("kept = 0.5", f"kept = {kept}"))
        store = Store(tmp_path / "store")
        (done,) = judged(suite("rfc9743").only("6.1"), f"{file}:Aimd", store=store, executor=counting)
        figures.append(done.tried[0].rulings[1].figure)
    assert figures[0] == figures[1] != figures[2]
    assert made == [1, 1]  # the second time, the run was in the store


def test_the_store_keeps_the_runs_of_all_suites_and_transports(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "stack.py").write_text(TRANSPORTS.read_text() + f"\n# {folder}\n")
    judged(suite("aqm").only("RFC 7928 8.2.3"), "pie", store=store)
    for one in ("cubic", f"{tmp_path}/one/stack.py:Aimd", f"{tmp_path}/two/stack.py:Aimd"):
        judged(suite("rfc9743").only("6.1"), one, store=store)
    stocks = store.shelves()
    assert len(stocks) == 4
    assert current(stocks, fingerprint.core()) == stocks
    assert store.collect(fingerprint.core()) == (0, 0)
    # runs of a transport's new code replace those of its earlier code
    with (tmp_path / "one/stack.py").open("a") as file:
        file.write("# changed\n")
    judged(suite("rfc9743").only("6.1"), f"{tmp_path}/one/stack.py:Aimd", store=store)
    assert len(current(store.shelves(), fingerprint.core())) == 4
    assert store.collect(fingerprint.core())[0] == 1
