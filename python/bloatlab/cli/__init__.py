"""The command `bloatlab`: one file per subcommand."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    try:
        # this import takes a tenth of a second, in which the user may press Ctrl-C
        from bloatlab.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run(arguments)
