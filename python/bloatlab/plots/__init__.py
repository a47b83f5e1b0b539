"""Draws tables as figures, in one style, as SVG, PNG, PDF or HTML. matplotlib is imported on first use."""

from bloatlab.plots.draw import Label, Mark, Panel, Series, figure, save_figure, svg_text
from bloatlab.plots.plot import SUFFIXES, plot
from bloatlab.plots.subjects import Unfit

__all__ = ["SUFFIXES", "Label", "Mark", "Panel", "Series", "Unfit", "figure", "plot", "save_figure", "svg_text"]
