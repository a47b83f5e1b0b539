"""Reproductions of publications.

Each has a folder with scenarios, published values, claims, and the comparison with our runs.

Each study is described by a `Study` object. `reproduce` makes the runs of a study and writes its folder.
docs/adding-a-study.md shows a complete study.
"""

from bloatlab.studies.claims import Claim, Published, Quantity, Runs, each, median_of, over_seeds
from bloatlab.studies.registry import STUDIES, study, study_in
from bloatlab.studies.reproduce import report, reproduce
from bloatlab.studies.scorecard import Band, Goal, Origin, Tolerance
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study, StudyError

__all__ = [
    "STUDIES", "About", "Band", "Batch", "Claim", "Goal", "Options", "Origin", "PageSection", "Publication", "Published", "Quantity",
    "Quick", "Results", "Runs", "Study", "StudyError", "Tolerance", "each", "median_of", "over_seeds", "report", "reproduce",
    "study", "study_in",
]  # fmt: skip
