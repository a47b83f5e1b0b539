"""`bloatlab tc`: prints Linux commands for a scenario's links."""

from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.common import scenario
from bloatlab.cli.options import ScenarioFile, Sets
from bloatlab.terminal import emit


def command(
    file: ScenarioFile,
    /,
    *,
    link: Annotated[str | None, Parameter(name=["--link", "-l"])] = None,
    sets: Sets = (),
) -> int:
    """Print the commands that give a Linux machine the rates, delays and queues of a scenario's links.

    They use tbf or htb for the rate, the queue discipline with its parameters, and netem for delay, jitter and loss at
    the far end. Comments name what Linux cannot do. A scenario's queue may also be written in tc's syntax:
    queue = "fq_codel limit 1000 target 5ms".

    Args:
        link: Only this link; ~NAME is the reverse direction of a link with both_ways. Default: all links.
    """
    emit(scenario(file, sets).tc(link))
    return 0
