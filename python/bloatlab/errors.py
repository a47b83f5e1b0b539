"""What a person gave and cannot be used: the error that says so, and the known name that was meant perhaps."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input that cannot be used; the message is one line for a person, which the command line prints as it is."""


def nearest(word: str, known: Iterable[object]) -> str:
    """'; did you mean "x"?' for the known name nearest to `word`, or nothing."""
    found = difflib.get_close_matches(word, map(str, known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""
