"""`bloatlab export`: writes a result in another program's format."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from bloatlab import flent, qlog, traces
from bloatlab.cli.common import BadInput, reading, replaceable, writing
from bloatlab.cli.options import OutputFile
from bloatlab.results import open_result


def command(
    result: Path,
    /,
    *,
    output: OutputFile,
    form: Annotated[Literal["flent", "qlog"], Parameter(name="--format")] = "flent",
    title: str | None = None,
    force: bool = False,
) -> int:
    """Write a result as a flent data file, for flent's own plotter, or as qlog files, for the tools of QUIC.

    A flent file has the pings and the TCP flows: flent -i FILE.flent.gz -p totals -o totals.png. To compare a
    measurement by flent with a result, use `bloatlab plot home.flent.gz RESULT`.

    A qlog file has the trace of a TCP sender; see docs/qlog.md. The result needs traces: bloatlab run FILE -o DIR
    --trace flows,packets --trace-interval change.

    Args:
        result: Result folder of `bloatlab run -o` or `bloatlab live -o`.
        output: File ending in .flent.gz; for qlog, a folder, which gets a file for each TCP sender.
        form: flent or qlog.
        title: Title in flent. Default: the folder's name.
        force: Replace the qlog files of an earlier run, or a file that is not an export of bloatlab.
    """
    if form == "flent" and not output.name.endswith(".flent.gz"):
        raise BadInput(f"--output {output}: the name of a flent data file ends in .flent.gz (--format qlog for qlog)")
    if form == "qlog" and title is not None:
        raise BadInput("--title: only flent has a title")
    found = reading(result, lambda: open_result(result))
    if form == "flent":
        replaceable(output, force=force, ours=flent.is_ours, kind="an export of bloatlab")
        writing(output, lambda: flent.write(found, output, title=title or result.resolve().name, source=result))
        sys.stderr.write(f"written to {output}\n")
        return 0
    packets = traces.packets(result) if any((result / traces.PACKETS).glob("*.parquet")) else None
    if packets is None:
        sys.stderr.write(f"{result}: has no trace of packets, so there are no events of packets\n")
    stale = sorted(output.glob(f"*{qlog.SUFFIX}"))
    if stale and not force:
        raise BadInput(f"{output}: already has {stale[0].name}; give --force to replace it, or another folder")
    ours = [path for path in stale if reading(path, lambda path=path: qlog.is_ours(path))]
    written = writing(output, lambda: qlog.write(found, output, packets=packets, source=result))
    for path in {*ours} - {*written}:
        writing(path, path.unlink)
    sys.stderr.write(f"{len(written)} qlog files written to {output}\n")
    return 0
