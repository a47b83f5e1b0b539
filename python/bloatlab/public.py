"""Finds the package's public functions by name, for code that must not import their modules.

For example, `Result.plot` calls a function of a higher layer. The package sets `find` before any module is loaded.
"""

from collections.abc import Callable
from typing import Any

#: Finds a public name in the package. Raises `AttributeError`.
find: Callable[[str], Any]
