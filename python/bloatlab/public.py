"""The package's public functions by name, for methods that call them.

`Result.plot` calls a module of a higher layer. To avoid importing that module here, the package itself sets `find`
before any module is loaded.
"""

from collections.abc import Callable
from typing import Any

#: Finds a public name in the package. Raises `AttributeError`.
find: Callable[[str], Any]
