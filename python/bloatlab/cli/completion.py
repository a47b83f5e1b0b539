"""`bloatlab completion`: the shell script that completes commands, options and files."""

import sys
from typing import Literal


def command(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print a shell script that completes bloatlab's commands, options and files.

    bash: echo 'eval "$(bloatlab completion bash)"' >> ~/.bashrc. zsh: bloatlab completion zsh > _bloatlab, in a folder
    of $fpath. fish: bloatlab completion fish > ~/.config/fish/completions/bloatlab.fish.

    Args:
        shell: bash, zsh or fish.
    """
    from bloatlab.cli.main import app  # noqa: PLC0415  `main` imports this module

    sys.stdout.write(app.generate_completion(prog_name="bloatlab", shell=shell))
    return 0
