"""Tables into figures: one style, SVG for pages and papers, PNG beside it. matplotlib is imported on first use."""

from bloatlab.plots.draw import Mark, Panel, Series, figure, save_figure, svg_text

__all__ = ["Mark", "Panel", "Series", "figure", "save_figure", "svg_text"]
