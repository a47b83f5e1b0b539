"""The package's public functions by name, for methods that call them.

`Result.plot` calls a module of a higher layer. To avoid importing it here, the package itself, which is above all
modules, sets `find` before any of them is loaded.
"""

from collections.abc import Callable
from typing import Any

#: Finds a public name of the package. Raises `AttributeError`.
find: Callable[[str], Any]
