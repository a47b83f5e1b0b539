"""A figure that a notebook shows where it is a cell's value. Imports matplotlib: only what draws may import this."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from bloatlab.plots.style import WIDTHS, Width, drawing


class NotebookFigure(Figure):
    """matplotlib's figure, at a paper's width, and a picture of itself for notebooks."""

    def __init__(self, width: Width, **options: Any) -> None:
        super().__init__(**options)
        self._wide: Width = width

    def _repr_png_(self) -> bytes:
        """What IPython asks a value for. White behind: notebooks may be dark."""
        file = io.BytesIO()
        with drawing(self._wide):
            self.savefig(file, format="png", dpi=WIDTHS[self._wide].dpi, facecolor="white")
        return file.getvalue()
