"""`bloatlab tc`: a scenario's links as commands for a Linux box."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import scenario
from bloatlab.cli.options import Sets
from bloatlab.terminal import emit


def command(
    file: Path,
    /,
    *,
    link: Annotated[str | None, Parameter(name=["--link", "-l"])] = None,
    sets: Sets = (),
) -> int:
    """Print the commands that set Linux up like a scenario's links.

    tbf or htb for the rate, the queue discipline with its parameters, and netem for delay, jitter and loss at the far
    end. What Linux has no word for is said in a comment. A link's queue may be written in the same words:
    queue = "fq_codel limit 1000 target 5ms".

    Parameters
    ----------
    file
        The scenario, TOML or JSON.
    link
        Only this link; ~NAME is the way back of a link with both_ways. Default: all of them.
    sets
        Lay a value over the file before it is read: --set link.up.rate=10mbit. May be given again.
    """
    emit(scenario(file, sets).tc(link))
    return 0
