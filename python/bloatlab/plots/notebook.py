"""A figure that notebooks show as a cell's value.

This module imports matplotlib, so import it only inside functions that draw.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from bloatlab.plots.style import WIDTHS, Width, drawing


class NotebookFigure(Figure):
    """A matplotlib figure that also provides a picture of itself for notebooks."""

    def __init__(self, width: Width, **options: Any) -> None:
        super().__init__(**options)
        self._wide: Width = width

    def _repr_png_(self) -> bytes:
        """Draws the picture for IPython, on white, because a notebook's background may be dark."""
        file = io.BytesIO()
        with drawing(self._wide):
            self.savefig(file, format="png", dpi=WIDTHS[self._wide].dpi, facecolor="white")
        return file.getvalue()
