"""Files that some editors write: a byte order mark at the beginning is ignored. A key given twice is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import bloatlab
from bloatlab import deliveries
from bloatlab.cli.main import call
from bloatlab.judge.subjects import queue
from bloatlab.scenario import problems
from bloatlab.sweep import grid_file
from bloatlab.validate import NoReferenceError, load, public

LAW = "class Mine:\n    def head(self, packet, view):\n        pass\n"
TOML = """duration = "1s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
both_ways = true
queue = "codel"
"""
JSON = """{"duration": "1s",
"link": {"up": {"from": "a", "to": "b", "rate": "5mbit", "both_ways": true, "queue": "codel"}}}
"""


def marked(path: Path, text: str) -> Path:
    """Writes a file with a byte order mark."""
    path.write_text(text, encoding="utf-8-sig")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    return path


def test_a_byte_order_mark_changes_no_file(tmp_path: Path) -> None:
    toml, json = marked(tmp_path / "a.toml", TOML), marked(tmp_path / "a.json", JSON)
    assert bloatlab.load(toml) == bloatlab.load(json)
    assert [queue(f"{file}:up").value for file in (toml, json)] == ["codel", "codel"]
    grid = marked(tmp_path / "g.toml", 'scenario = "a.json"\n[axes]\n"link.up.rate" = ["1mbit", "2mbit"]\n')
    assert len(grid_file.load(grid).grid.points()) == 2
    trace = tmp_path / "t.txt"
    trace.write_text("1\n2\n5\n")
    plain = deliveries.read(trace)
    assert deliveries.read(marked(trace, "1\n2\n5\n")) == plain
    marked(tmp_path / "law.py", LAW)
    mine = bloatlab.load(toml, {"link.up.queue": {"python": {"law": "law.py:Mine", "limit": "10p"}}})
    assert mine.data["link"]["up"]["queue"]["python"]["source"] == {"law.py": LAW}
    reference = public()[0]
    assert load(marked(tmp_path / "r.json", reference.read_text("utf-8"))) == load(reference)


def test_a_key_given_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = tmp_path / "twice.json"
    twice.write_text(JSON.replace("}}}\n", '}, "up": {}}}\n'))
    with pytest.raises(bloatlab.ScenarioError) as refused:
        bloatlab.load(twice)
    (line,) = problems(refused.value)
    assert line == f'{twice}: line 2: not valid JSON: duplicate key "up"'
    assert call(["run", str(twice)]) == 2
    assert capsys.readouterr().err == f"{line}\n"
    twice.write_text('{"a": {"qdisc": "pfifo"}, "a": {"qdisc": "codel"}}')
    with pytest.raises(NoReferenceError, match=r'twice\.json: duplicate key "a"'):
        load(twice)
