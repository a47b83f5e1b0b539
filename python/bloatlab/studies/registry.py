"""Finds studies: bloatlab's own by name, each imported on first use, and yours by file path."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from bloatlab.errors import line_in
from bloatlab.studies.study import Study, StudyError

#: The names of bloatlab's studies, in listing order.
STUDIES = ("cablelabs2012", "scte2013", "csc458", "mmcn1999", "l4s", "today")


def study(name: str) -> Study:
    """Imports the study called `name`. Raises `KeyError` for a name not in `STUDIES`."""
    if name not in STUDIES:
        raise KeyError(name)
    found = importlib.import_module(f"bloatlab.studies.{name}.study").STUDY
    assert isinstance(found, Study), name  # noqa: S101  the module is part of this package
    return found


def study_in(path: Path) -> Study:
    """Executes a user's file and returns its study.

    Raises `OSError` if the file cannot be read, and `StudyError` if it fails, does not have exactly one study, or uses
    the name of one of bloatlab's studies.
    """
    text = path.read_bytes()
    module = ModuleType(f"bloatlab_study_{path.stem}")
    module.__file__ = file = str(path.absolute())
    sys.modules[module.__name__] = module  # dataclasses look up their module in sys.modules
    try:
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  the user's own program
    except SyntaxError as error:
        raise StudyError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  the user's file may raise any exception
        raise StudyError(f"{place(path, error) or path}: {type(error).__name__}: {error}") from None
    found = {id(value): value for value in vars(module).values() if isinstance(value, Study)}
    if len(found) != 1:
        names = ", ".join(value.name for value in found.values())
        what = f"{len(found)} studies ({names}); a file must have exactly one" if found else "no Study in it"
        raise StudyError(f"{path}: {what}; docs/adding-a-study.md shows a whole one")
    (own,) = found.values()
    if own.name in STUDIES:
        raise StudyError(f"{path}: {own.name} is a study of bloatlab's; give yours another name")
    return own


def place(path: Path, error: BaseException) -> str | None:
    """Returns the innermost line of `path` in the traceback of an error, as in "mine.py:12".

    If the error's traceback has none, those of its causes are searched. Returns None if these have none either.
    """
    met: BaseException | None = error
    line: int | None = None
    while met is not None and (line := line_in(met, str(path.absolute()))) is None:
        met = met.__cause__
    return None if line is None else f"{path}:{line}"
