"""Published studies, one folder each: scenarios, published values, claims, and how they compare with ours."""

from __future__ import annotations

import importlib
from typing import cast

from bloatlab.studies.registry import ON_KERNELS, PUBLICATIONS, STUDIES, Options, Outcome, Publication, Study

__all__ = ["ON_KERNELS", "PUBLICATIONS", "STUDIES", "Options", "Outcome", "Publication", "Study", "study"]


def study(name: str) -> Study:
    """The study called `name`, imported only now. Raises `KeyError` for one that is not in `STUDIES`."""
    if name not in STUDIES:
        raise KeyError(name)
    return cast("Study", importlib.import_module(f"bloatlab.studies.{name}"))
