"""Reports: self-contained HTML pages, readable offline, on paper, in light and dark themes."""

from bloatlab.report.chart import Drawn, FigureBlock, figure_block
from bloatlab.report.page import (
    Answer,
    Block,
    Fact,
    Facts,
    Lines,
    Page,
    Point,
    Prose,
    Provenance,
    Section,
    TableBlock,
    render,
    write,
)  # fmt: skip

__all__ = [
    "Answer", "Block", "Drawn", "Fact", "Facts", "FigureBlock", "Lines", "Page", "Point", "Prose", "Provenance",
    "Section", "TableBlock", "figure_block", "render", "write",
]  # fmt: skip
