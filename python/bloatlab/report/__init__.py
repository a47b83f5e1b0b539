"""Pages: one self-contained HTML file, readable offline, on paper, by day and by night."""

from bloatlab.report.page import Block, Fact, Facts, FigureBlock, Page, Prose, Section, TableBlock, render, write

__all__ = ["Block", "Fact", "Facts", "FigureBlock", "Page", "Prose", "Section", "TableBlock", "render", "write"]
