"""Published studies, one folder each: scenarios, published values, claims, and how they compare with ours."""

from bloatlab.studies.registry import ON_KERNELS, STUDIES, Options, Outcome, Study, study

__all__ = ["ON_KERNELS", "STUDIES", "Options", "Outcome", "Study", "study"]
