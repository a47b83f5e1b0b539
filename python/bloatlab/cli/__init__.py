"""The command `bloatlab`: one file per subcommand."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    try:
        if (sys.argv[1:] if arguments is None else [*arguments]) == ["--version"] and _print_version():
            sys.exit(0)
        # this import is inside the `try` because it takes a tenth of a second, and the user may press Ctrl-C meanwhile
        from bloatlab.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run(arguments)


def _print_version() -> bool:
    """Prints the version without the slow import of the command line; returns whether this worked.

    If printing fails, the caller runs the complete command line, which then reports the error.
    """
    from bloatlab._core import version  # noqa: PLC0415

    try:
        sys.stdout.write(f"{version()}\n")
        sys.stdout.flush()
    except (AttributeError, OSError):  # standard output is closed, or its disk is full
        return False
    return True
