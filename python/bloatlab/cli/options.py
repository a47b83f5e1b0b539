"""Options shared by several commands, each with its help, and the parsing of numbers."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from cyclopts import CoercionError, Parameter, Token, convert, validators

from bloatlab import files

Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
Force = Annotated[bool, Parameter(help="Replace the files of an earlier run in the folder.")]
ForceFile = Annotated[bool, Parameter(help="Replace a file that this command has not written.")]
Jobs = Annotated[
    Count | None,
    Parameter(
        name=["--jobs", "-j"],
        help="Number of parallel runs; the results do not depend on it. Default: one per core.",
        validator=validators.Number(gte=1),
    ),
]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
ForceReplace = Annotated[bool, Parameter(help="Replace an existing file.")]
OutputFile = Annotated[Path, Parameter(name=["--output", "-o"])]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], help="Print nothing but errors.")]
SavedIn = Annotated[Output, Parameter(help="Folder for the result. Default: the result is not saved.")]
ScenarioFile = Annotated[Path, Parameter(help="Scenario in TOML (or JSON, by its suffix).")]
Sets = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        help="Override a value of the scenario: --set link.up.rate=5mbit. Repeatable; the last one applies.",
    ),
]
StoreFolder = Annotated[
    Path | None, Parameter(help="Folder of the store of runs. Default: BLOATLAB_STORE, or .bloatlab/store.")
]
TableForm = Annotated[
    Literal["csv", "json", "parquet"],
    Parameter(name=["--format", "-f"], help="Format of the tables in the folder."),
]
TextJson = Annotated[
    Literal["text", "json"], Parameter(name=["--format", "-f"], help="text for people, json for programs.")
]
TextCsvJson = Annotated[
    Literal["text", "csv", "json"],
    Parameter(name=["--format", "-f"], help="text for people, csv and json for programs."),
]

_NUMBERS: dict[type, tuple[str, str]] = {
    int: (r"[+-]?[0-9]+", "a whole number, such as 10"),
    float: (r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", "a number, such as 2.5"),
}


def converted(hint: Any, tokens: Sequence[Token]) -> Any:
    """Converts an option's arguments.

    Numbers are accepted only in ASCII digits: no `nan`, no `1_0`, no other scripts. An empty path is refused: a shell
    passes one for an unset variable, and Python would take it for the working folder. Text must be UTF-8; only file
    names may contain other bytes.
    """
    kinds = {hint, *get_args(hint), *(of for one in get_args(hint) for of in get_args(one))}
    for token in tokens if Path not in kinds else ():
        if (text := files.utf_8(token.value)) != token.value:
            raise CoercionError(msg=f'"{text:.80}" is not UTF-8 text', token=token)
    for token in tokens if Path in kinds else ():
        if not token.value:
            raise CoercionError(msg='"" is not a path; expected the name of a file or folder', token=token)
    for kind, (pattern, valid) in _NUMBERS.items():
        for token in tokens if kind in kinds and str not in kinds else ():
            if not re.fullmatch(pattern, token.value.strip(" ")):
                raise CoercionError(msg=f"{token.value!r} is not {valid}", token=token)
    return convert(hint, tokens)
