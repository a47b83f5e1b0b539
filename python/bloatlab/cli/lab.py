"""`bloatlab lab`: one run of the Mininet bufferbloat lab, with the lab's own flags and file formats."""

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from bloatlab import live
from bloatlab.cli.common import BadInput, fresh, writing
from bloatlab.cli.live import EXIT_INVALID
from bloatlab.cli.options import Count, Force, Quiet
from bloatlab.cli.show import print_result
from bloatlab.results import save
from bloatlab.simulation import run
from bloatlab.studies.csc458.build import Case, Lab, build
from bloatlab.studies.csc458.lab import write_lab
from bloatlab.terminal import Console

_Positive = Annotated[float, Parameter(validator=validators.Number(gt=0))]


def command(
    *,
    bw_net: _Positive = 10.0,
    bw_host: _Positive = 1000.0,
    delay: Annotated[float, Parameter(validator=validators.Number(gte=0))] = 1.0,
    maxq: Count = 100,
    cong: Literal["reno", "cubic", "bbr"] = "reno",
    seconds: Annotated[Count, Parameter(name=["--time", "-t"])] = 60,
    folder: Annotated[Path, Parameter(name=["--dir", "-d"])],
    super_segment: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=45))] = 1,
    queue: str | None = None,
    seed: Count = 1,
    on_kernels: Annotated[bool, Parameter(name="--live")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> int:
    """Run the Mininet bufferbloat lab (CSC458, CS244): h1 - s0 - h2, a long flow, pings, page fetches, queue samples.

    Writes q.txt, ping.txt, cwnd.txt and download.txt in the formats of the lab's own programs, the plots, and the full
    result in result/. Simulates the run, or with --live makes it on this machine's kernel (root and TUN). Exit code 3:
    the live run was late too often to be valid.

    Args:
        bw_net: Rate of s0 - h2 in Mbit/s.
        bw_host: Rate of h1 - s0 in Mbit/s.
        delay: Propagation delay of each link in each direction, in ms.
        maxq: Size of the queues of s0 - h2 in packets.
        cong: Congestion control of all TCP flows.
        seconds: Duration of the run in seconds. The first page is fetched after 5 to 7 s.
        folder: Output folder.
        super_segment: Segments per packet of --maxq: 2 is what segmentation offload gives in Mininet at this rate.
        queue: Queue discipline to use, with its defaults, instead of drop-tail: codel, fq_codel, pie, ...
        seed: Random seed of the start times.
        on_kernels: Run in real time, with the TCP of this machine's kernel.
    """
    lab = Lab(bw_host, bw_net, delay, seconds)
    case = Case(cong, maxq, super_segment) if queue is None else Case(cong, queue=queue)
    scenario = build(case, seed, lab)
    fresh(folder, "result", "q.txt", "ping.txt", "cwnd.txt", "download.txt", force=force)
    begun = time.perf_counter()
    if on_kernels:
        live.clean()
        try:
            result = live.run(scenario)
        except live.LiveError as error:
            raise BadInput(f"--live: {error}") from None
    else:
        result = run(scenario)
    took = time.perf_counter() - begun
    writing(folder, lambda: save(result, folder / "result", seconds=took))
    writing(folder, lambda: write_lab(result, folder, case.limit, lab))
    if not quiet:
        print_result(result, Console())
    if result.invalid_because is not None:
        Console(stderr=True).print(f"[red]invalid[/]: {result.invalid_because}", highlight=False)
        return EXIT_INVALID
    return 0
