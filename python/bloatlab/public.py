"""Finds the package's public functions by name, for code that must not import their modules.

For example, `Result.plot` calls a function of a higher layer. The package sets `find` before any module is loaded.
"""

from collections.abc import Callable
from typing import Any

#: Returns the package's public function with the given name. Raises `AttributeError` if there is none.
find: Callable[[str], Any]
