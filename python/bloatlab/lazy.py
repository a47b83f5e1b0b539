"""Polars and numpy, imported on first use: all other imports together take less time, and many commands need neither.

if TYPE_CHECKING:
    import polars as pl
else:
    from bloatlab.lazy import pl
"""

import importlib
import threading
from types import ModuleType
from typing import Any

_LOCK = threading.Lock()


def load(*, polars: bool = True) -> None:
    """Imports numpy, and by default polars.

    Polars imports numpy on first use. If two threads do this at once, one of them fails, because numpy's module
    `_globals` replaces one of polars' dicts (polars 1, `_LazyModule._import`). So this function makes polars use numpy
    under a lock.
    """
    import numpy as np  # noqa: PLC0415

    if polars:
        import polars as pl  # noqa: PLC0415

        with _LOCK:
            pl.Series(np.zeros(1))


class _Lazy(ModuleType):
    """A stand-in for a module, which is imported when an attribute is first used."""

    def __getattr__(self, name: str) -> Any:
        load(polars=self is pl)
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


np, pl = _Lazy("numpy"), _Lazy("polars")
