"""`bloatlab export`: a result in the form of another program."""

from __future__ import annotations

import sys
from pathlib import Path

from bloatlab import flent
from bloatlab.cli.common import BadInput, reading, writing
from bloatlab.cli.options import OutputFile
from bloatlab.results import open_result


def command(result: Path, /, *, output: OutputFile, title: str | None = None) -> int:
    """Write a result as a data file of flent, which flent's own plotter opens.

    It holds the pings and the TCP flows: flent -i FILE.flent.gz -p totals -o totals.png. The other way round, `bloatlab
    plot home.flent.gz RESULT` lays what flent measured beside a result.

    Parameters
    ----------
    result
        Folder that `bloatlab run -o` or `bloatlab live -o` kept.
    output
        File ending in .flent.gz.
    title
        What flent calls it. Default: the folder's name.
    """
    if not output.name.endswith(".flent.gz"):
        raise BadInput(f"--output {output}: a data file of flent ends in .flent.gz")
    found = reading(result, lambda: open_result(result))
    writing(output, lambda: flent.write(found, output, title=title or result.resolve().name))
    sys.stderr.write(f"written to {output}\n")
    return 0
