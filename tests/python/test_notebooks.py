"""Runs the notebooks in examples/notebooks: they print the values in their comments, and draw figures."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make test-python installs it")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code(path: Path) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda p: p.stem)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Runs a notebook in an empty folder; returns its code cells with their output."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(folder / name))
        book = read(request.param)
        nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in book.cells if cell.cell_type == "code"]


def printed(cell: Any) -> Sequence[str]:
    texts = [out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stdout"]
    return "".join(texts).splitlines()


def said(cell: Any) -> list[str]:
    """Returns the lines that a notebook cell must print: the text after "# prints" in the cell's comments."""
    comments = [
        t.string for t in tokenize.generate_tokens(io.StringIO(cell.source).readline) if t.type == tokenize.COMMENT
    ]
    return [c.removeprefix("# prints ") for c in comments if c.startswith("# prints ")]


def test_cells_print_what_they_say(ran: list[Any]):
    wrong = [(said(cell), printed(cell)) for cell in ran if said(cell) and said(cell) != printed(cell)]
    assert not wrong
    assert sum(len(said(cell)) for cell in ran) >= 2


def test_plots_are_shown(ran: list[Any]):
    drawn = [cell for cell in ran if re.search(r"\bplot\(", cell.source)]
    assert drawn
    for cell in drawn:
        assert any("image/png" in out.get("data", {}) for out in cell.outputs), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_stored_without_what_they_put_out(path: Path):
    nbformat.validate(read(path))
    assert all(not cell.outputs and cell.execution_count is None for cell in code(path))


def test_the_guide_names_every_notebook():
    text = (ROOT / "docs" / "notebooks.md").read_text()
    assert re.findall(r"examples/notebooks/([\w-]+)\.ipynb", text) == ["first-steps", "sweep", "own-measurement"]
    assert {p.stem for p in NOTEBOOKS} == {"first-steps", "sweep", "own-measurement"}
