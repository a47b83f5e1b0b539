"""The error for bad input, and suggestions for misspelt names."""

import difflib
import traceback
from collections.abc import Iterable


class InputError(ValueError):
    """The input is invalid. The message is one line, which the command line prints as is."""


def nearest(word: str, known: Iterable[object]) -> str:
    """Returns '; did you mean "x"?' for the known name nearest to `word`; "" if none is similar."""
    found = difflib.get_close_matches(word, map(str, known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""


def line_in(error: BaseException, file: str) -> int | None:
    """Returns the number of the innermost line of `file` in an error's traceback; None if `file` is not in it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
