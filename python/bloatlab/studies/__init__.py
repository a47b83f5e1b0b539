"""Published studies, one folder each: scenarios, published values, claims, and how they compare with ours."""

from bloatlab.studies.registry import ON_KERNELS, PUBLICATIONS, STUDIES, Options, Outcome, Publication, Study, study

__all__ = ["ON_KERNELS", "PUBLICATIONS", "STUDIES", "Options", "Outcome", "Publication", "Study", "study"]
