"""`bloatlab`: subcommands, exit codes, and one line per error.

Exit codes: 0 done; 1 too few values of a study or of `validate` are within tolerance, an expectation of a file or a
criterion of a document is not met, or compared values differ; 2 bad input; 3 a live run was too late to be used; 70 a
bug; 130 Ctrl-C. `live` returns the code of a program that fails. Tracebacks are printed only if BLOATLAB_TRACEBACK is
set.
"""

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from cyclopts import App, CoercionError, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError
from rich.console import Console

from bloatlab.cli.options import converted
from bloatlab.errors import InputError

EXIT_BAD_INPUT = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130

_HELP = Path(__file__).with_name("help.txt").read_text("utf-8")


def _version() -> str:
    from bloatlab.scenario import version  # noqa: PLC0415  --help works without the core

    return version()


def _visible_default(default: object) -> str | None:
    """Returns an option's default as text for the help.

    If the option is off or not given by default, this is None, and the help shows no default.
    """
    return None if default is None or default is False or default == () else str(default)


app = App(
    name="bloatlab",
    help=_HELP,
    help_format="plaintext",
    version=_version,
    help_flags=["--help", "-h"],
    version_flags=["--version"],
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=converted, show_default=_visible_default, negative=()),
)

#: `_FILES` maps a command to its module if the module has a different name. `_APPS` lists the commands that have
#: subcommands.
_FILES, _APPS = {"list": "listing"}, ("links", "store")

_COMMANDS = (
    "run", "live", "sweep", "query", "check", "judge", "recommend", "compare", "validate", "lab", "reproduce", "report",
    "show", "plot", "diff", "play", "film", "export", "list", "schema", "tc", "completion", "collisions", "links",
    "store",
)  # fmt: skip


def _line(file: str) -> str:
    """Returns one line of help for a command, read without importing the command.

    It is the `help` of the command's `App`, if it has one, or the first line of the docstring.
    """
    text = Path(__file__).with_name(f"{file}.py").read_text("utf-8")
    found = re.search(
        r'^app = App\([^\n]* help="([^"\n]+)"|^def command\(.*?^    """([^\n]+)', text, re.DOTALL | re.MULTILINE
    )
    return (found[1] or found[2].removesuffix('"""')) if found else ""


# A command is imported when it runs, because polars alone takes a third of a second, and `--help` does not need it.
for _name in _COMMANDS:
    _file = _FILES.get(_name, _name)
    if _name in _APPS:
        app.command(f"bloatlab.cli.{_file}:app", name=_name, help=_line(_file))
    else:
        app.command(f"bloatlab.cli.{_file}:command", name=_name, help=_line(_file), help_format="markdown")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"  # a warning is one line without a source location
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:  # closed before the start; without this, a file could get its descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # without this, printing µ on an ASCII terminal fails
    with contextlib.redirect_stderr(cast("TextIO", _Stderr(sys.stderr))):
        sys.exit(call(sys.argv[1:] if arguments is None else arguments))


class _Stderr:
    """Standard error that drops its text once the reader has closed the pipe, so that the command still finishes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def call(arguments: Sequence[str]) -> int:
    """Runs the command line and returns the exit code."""
    try:
        # `app[NAME]` imports the command. Its help was set to the first line of the docstring. With None, the whole
        # docstring is shown. Commands with subcommands keep their help
        if arguments and arguments[0] in _COMMANDS and app[arguments[0]].default_command is not None:
            app[arguments[0]].help = None
        code = app(list(arguments), exit_on_error=False, print_error=False, error_console=_stderr())
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except BaseException as error:  # noqa: BLE001  every exception becomes a message and an exit code
        return _exit_code(error, arguments)
    finally:
        if common := sys.modules.get("bloatlab.cli.common"):  # None if no command was imported
            common.held.close()
    return code if isinstance(code, int) else 0


def _exit_code(error: BaseException, arguments: Sequence[str]) -> int:
    """Reports an error, one line per problem; returns the exit code. Re-raises a bug if BLOATLAB_TRACEBACK is set."""
    match error:
        case CycloptsError():
            name = " ".join(["bloatlab", *(word for word in arguments[:1] if word in _COMMANDS)])
            _say(_refused(error, name))
            _stderr().print(f"Try [bold]{name} --help[/].", highlight=False)
            return EXIT_BAD_INPUT
        case KeyboardInterrupt():
            # a sweep that is interrupted raises an exception whose message contains the number of stored runs
            _say(f"interrupted: {error}" if str(error) else "interrupted")
            return EXIT_INTERRUPTED
        # rich raises SystemExit when the reading end of a pipe has closed
        case SystemExit() if not isinstance(error.__context__, BrokenPipeError):
            raise error
        case BrokenPipeError() | SystemExit():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case _:
            pass
    if _interrupted(error):
        _say("interrupted")
        return EXIT_INTERRUPTED
    if lines := _bad_input(error):
        for line in lines:
            _say(line)
        return EXIT_BAD_INPUT
    if os.environ.get("BLOATLAB_TRACEBACK"):
        raise error
    _say(f"a bug: {type(error).__name__}: {error} (BLOATLAB_TRACEBACK=1 shows where)")
    return EXIT_BUG


def _refused(error: CycloptsError, name: str) -> str:
    """Returns the error message for a wrong command line, in one line."""
    said = " ".join(str(error).split())
    if isinstance(error, UnusedCliTokensError):
        unused = (error.unused_tokens or [""])[0]
        if name == "bloatlab diff":
            several = "to compare several: bloatlab report A B C -o FILE.html, or bloatlab plot A B C"
            return f"{name}: compares two results, and {unused} is one more; {several}"
        return f'{name}: "{unused}" is an unexpected argument'
    missing = re.fullmatch(r'Command ".*" parameter (\S+) requires an argument\.', said)
    if missing is not None and isinstance(error, MissingArgumentError) and error.keyword is None:
        return f"{name}: {missing[1]} is missing"
    if isinstance(error, CoercionError) and error.msg is not None and error.argument is not None:
        positional = error.token is None or error.token.keyword is None  # cyclopts then omits the name
        return f"Invalid value for {error.argument.name}: {said}" if positional else said
    return said


def _interrupted(error: BaseException) -> bool:
    """Returns whether Ctrl-C caused the error.

    A module that is interrupted during its import may raise another exception.
    """
    met: BaseException | None = error
    for _ in range(20):
        if isinstance(met, KeyboardInterrupt) or "KeyboardInterrupt" in str(met):
            return True
        met = met and (met.__cause__ or met.__context__)
    return False


def _bad_input(error: BaseException) -> list[str]:
    """Returns the lines of an error's message, one per problem; an empty list if the error is a bug.

    It is not a bug if the input, the operating system or a lack of memory caused the error.
    """
    from bloatlab._core import LiveError  # noqa: PLC0415  --help works without the core
    from bloatlab.scenario import ScenarioError, problems  # noqa: PLC0415

    sweep = sys.modules.get("bloatlab.sweep")  # None if the module was not imported
    match error:
        case ScenarioError():
            return problems(error)
        case MemoryError():
            return ["out of memory"]
        case OSError() if error.filename is not None:
            return [f"{error.filename}: {(error.strerror or str(error)).lower()}"]
        case OSError() if error.strerror:
            with contextlib.suppress(OSError, ValueError):  # output that is still buffered is discarded
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return [f"standard output: cannot write: {error.strerror.lower()}"]
        case OSError() if str(error):  # a library's error without `strerror` names the file in its message
            return [str(error).lower()]
        case _:
            known = isinstance(error, (InputError, LiveError)) or (sweep and isinstance(error, sweep.Stopped))
            return [str(error)] if known else []


def _say(line: str) -> None:
    """Prints one line on standard error; control and bidirectional characters are escaped."""
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
    _stderr().print(plain, markup=False, highlight=False, soft_wrap=True)


def _stderr() -> Console:
    return Console(stderr=True, emoji=False)
