"""The package's public functions by name, for values that offer them as methods.

`Result.plot` calls a room that is built upon results. No room is imported here: the package, which is above them all,
sets `find` before any of its modules is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What a public name stands for. Raises `AttributeError` for a name that the package has not.
find: Callable[[str], Any]
