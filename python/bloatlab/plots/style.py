"""The look of every figure, in one place.

Colours are told apart by colour-blind readers and in print, and read on white and on dark paper; text is left as text
in SVG, so it can be searched and takes the page's own font.
"""

from __future__ import annotations

from typing import Any

#: Ink of axes and text: grey enough to sit behind the data, dark enough for both papers.
INK = "#6b7480"
GRID = "#8a939e"

#: Categories in order of use (Okabe and Ito, without the yellow that white paper swallows).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

#: A published value, whatever it is drawn beside.
PUBLISHED = "#b0413e"

RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.prop_cycle": None,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.xmargin": 0.0,
    "figure.dpi": 100,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.alpha": 0.28,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.25,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.04,
    "svg.fonttype": "none",
    "svg.hashsalt": "bloatlab",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}
