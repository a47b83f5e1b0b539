"""Published studies, one folder each: scenarios, published values, claims, and how they compare with ours.

A study is a value, a `Study`; `reproduce` makes its runs and leaves its folder. docs/adding-a-study.md shows a whole one.
"""

from bloatlab.studies.cells import Published
from bloatlab.studies.claims import Claim, Quantity, Runs, each, median_of, over_seeds
from bloatlab.studies.registry import STUDIES, study, study_in
from bloatlab.studies.reproduce import report, reproduce
from bloatlab.studies.scorecard import Band, Goal, Origin
from bloatlab.studies.study import About, Batch, Options, PageSection, Publication, Quick, Results, Study, StudyError
from bloatlab.studies.tolerance import Tolerance

__all__ = [
    "STUDIES",
    "About",
    "Band",
    "Batch",
    "Claim",
    "Goal",
    "Options",
    "Origin",
    "PageSection",
    "Publication",
    "Published",
    "Quantity",
    "Quick",
    "Results",
    "Runs",
    "Study",
    "StudyError",
    "Tolerance",
    "each",
    "median_of",
    "over_seeds",
    "report",
    "reproduce",
    "study",
    "study_in",
]
