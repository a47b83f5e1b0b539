"""`bloatlab export`: writes a result in another program's format."""

import sys
from pathlib import Path

from bloatlab import flent
from bloatlab.cli.common import BadInput, reading, writing
from bloatlab.cli.options import OutputFile
from bloatlab.results import open_result


def command(result: Path, /, *, output: OutputFile, title: str | None = None) -> int:
    """Write a result as a flent data file, for flent's own plotter.

    The file has the pings and the TCP flows: flent -i FILE.flent.gz -p totals -o totals.png. The other way round,
    `bloatlab plot home.flent.gz RESULT` compares flent's measurements with a result.

    Args:
        result: Result folder of `bloatlab run -o` or `bloatlab live -o`.
        output: File ending in .flent.gz.
        title: Title in flent. Default: the folder's name.
    """
    if not output.name.endswith(".flent.gz"):
        raise BadInput(f"--output {output}: the name of a flent data file ends in .flent.gz")
    found = reading(result, lambda: open_result(result))
    writing(output, lambda: flent.write(found, output, title=title or result.resolve().name))
    sys.stderr.write(f"written to {output}\n")
    return 0
