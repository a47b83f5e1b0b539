"""The command `bloatlab`: one file per subcommand."""

from bloatlab.cli.main import app, main

__all__ = ["app", "main"]
