#!/usr/bin/env python3
"""Measures the cost of a packet in bloatlab, and compares it with the floor, ns-2 and ns-3.

The floor is the time for the same network without TCP: fixed windows, one event per hop of a packet (benches/floor).

Runs target/release/speed (built by `make bench`) on S1 to S4 of benches/peers/README.md and prints one line per case:
CPU nanoseconds and instructions per packet forwarded by the bottleneck, the floor measured in the same process, and the
ratio to the floor. Cases with a thousand flows or more also show the memory counted by the allocator: bytes per flow
without its segments in flight, bytes kept by both ends for each segment in flight, and bytes per flow in total. Then
each of ns-2 and ns-3 that is installed runs S1 to S3 with 10 to 1000 flows; its ratios are relative to bloatlab's times
in the same run of this program. Every result is also written as a line of JSON to the file given with -o. With --quick,
each case runs once, without instructions, memory, ns-2 and ns-3.

With --check, a case fails if its time is more than 3.3 times the floor (up to 1000 flows) or 5 times (10000 flows), or
if a flow takes more than 2048 bytes without its segments in flight. The time has no limit in S4.

usage: bench.py [-o FILE] [--quick] [--check]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benches" / "peers"
SPEED = ROOT / "target" / "release" / "speed"
#: The queue disciplines of case S4 (docs/speed.md): those measured with bloatlab, and those that so far are measured
#: only by benches/peers/run.py.
S4_TODAY, S4_LATER = ("codel",), ("fqcodel", "pie")
#: CPU seconds after which a peer's case is stopped. PEER_CASES omits the case with ten thousand flows, which would take
#: a peer many minutes.
PEER_CPU_SECONDS = 120
PEER_CASES = ["--scenario", "S1,S2,S3", "--n", "10,100,1000", "--runs", "1", "--cpu-limit", str(PEER_CPU_SECONDS)]


def say(text: str) -> None:
    """Prints the text immediately, so that a long benchmark shows its progress."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def lines(command: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects printed by a program, one per line, while it runs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"bench: {' '.join(command)} failed with status {process.returncode}")


def cell(value: Any, unit: str = "") -> str:
    """Returns a number without decimals, or a dash for None."""
    return f"{value:.0f}{unit}" if isinstance(value, int | float) else "-"


def show(o: dict[str, Any]) -> str:
    """Returns one row of the table."""
    ratio = o.get("ratio_to_floor")
    case = f"{o['scenario']}" + (f"/{o['base']}" if o["scenario"] == "S4" else "")
    return (
        f"{o['peer']:<11} {case:<6} {o['n']:>6} {o.get('queue', o.get('aqm', '')):<9}"
        f"{cell(o.get('cpu_ns_per_pkt')):>8} {cell(o.get('floor_ns_per_pkt')):>7} "
        f"{f'{ratio:.2f}' if ratio else '-':>7} {cell(o.get('instructions_per_pkt')):>9} "
        f"{cell(o.get('bytes_per_flow')):>8} {cell(o.get('bytes_per_segment')):>6} "
        f"{cell(o.get('bytes_with_segments')):>8} {cell(o.get('bneck_drops')):>8}"
    )


def ns3_program() -> str | None:
    """Compiles the ns-3 driver and returns its path, or None without g++ or ns-3, or if the compilation fails."""
    compiler = shutil.which("g++")
    headers = [p for base in ("/usr/include", "/usr/local/include") for p in Path(base).glob("ns3*/ns3/core-module.h")]
    headers += [p for base in ("/usr/include", "/usr/local/include") for p in Path(base).glob("ns3/core-module.h")]
    if not compiler or not headers:
        return None
    program = ROOT / "target" / "ns3_bottleneck"
    modules = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
    build = [compiler, "-O3", "-march=native", "-std=c++17", f"-I{headers[0].parent.parent}"]
    build += [str(PEERS / "ns3_bottleneck.cc"), "-o", str(program), *(f"-lns3-{m}" for m in modules)]
    return str(program) if subprocess.run(build, check=False).returncode == 0 else None


def show_peer(o: dict[str, Any], ours: dict[tuple[str, int], float]) -> str:
    """Returns a peer's row: nanoseconds per forwarded packet and the ratio to our time, or why there is no result."""
    case = f"{o['peer']:<18} {o['scenario']:<4} {o['n']:>6}"
    if "cpu_ns_per_pkt" not in o:
        return f"{case}  not run: more than {PEER_CPU_SECONDS} s of CPU time, or {o.get('failed', 'no result')}"
    own = ours.get((o["scenario"], o["n"]))
    ratio = f"{o['cpu_ns_per_pkt'] / own:>7.1f}" if own else f"{'-':>7}"
    return f"{case} {o['cpu_ns_per_pkt']:>9.0f} {ratio} {o.get('bneck_drops', 0):>8}"


def peers(out: TextIO, ours: dict[tuple[str, int], float]) -> None:
    """Runs ns-2 and ns-3; prints one line for each that is not installed."""
    names, extra = [], []
    if shutil.which("ns"):
        names.append("ns2-sack")
    else:
        say("ns-2: not installed (apt-get install ns2)")
    if program := ns3_program():
        names.append("ns3-reno")
        # Debian's build of ns-3 has logging compiled in; a build without logging takes only about 60 % as long
        extra = ["--ns3", f"{program}:as-packaged"]
    else:
        say("ns-3: not installed (apt-get install libns3-dev g++)")
    if names:
        command = [sys.executable, str(PEERS / "run.py"), "--peer", ",".join(names), *PEER_CASES, *extra]
        say("peer               case  flows        ns    ours    drops   (ours: their ns divided by ours in this run)")
        for o in lines(command):
            out.write(json.dumps(o) + "\n")
            say(show_peer(o, ours))


def main() -> int:
    """Prints the table; with --check, returns exit code 1 if a case exceeds its limit."""
    parser = argparse.ArgumentParser(description="Measures the cost of a packet beside the floor and other simulators.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "target" / "bench.jsonl", help="JSON lines")
    parser.add_argument("--quick", action="store_true", help="one run each, without instructions, memory and peers")
    parser.add_argument("--check", action="store_true", help="fail if a case exceeds its limit")
    args = parser.parse_args()
    command = [str(SPEED), *(["--runs", "1"] if args.quick else ["--runs", "5", "--memory", "--count-instructions"])]
    say("per packet forwarded by the bottleneck; CPU time of the process, least of the runs, set-up included")
    if not args.quick and not shutil.which("valgrind"):
        say("instructions: valgrind is not installed (apt-get install valgrind)")
    say(f"S4: {', '.join(S4_TODAY)}; not yet: {', '.join(S4_LATER)}")
    say("simulator   case    flows queue          ns   floor   ratio    instrs   B/flow  B/seg     both    drops")
    missed = []
    ours: dict[tuple[str, int], float] = {}
    with args.output.open("w") as out:
        for o in lines(command):
            out.write(json.dumps(o) + "\n")
            say(show(o))
            if o["scenario"] != "S4":
                ours[o["scenario"], o["n"]] = o["cpu_ns_per_pkt"]
            allowed = 5.0 if o["n"] > 1000 else 3.3
            if o["scenario"] != "S4" and o["ratio_to_floor"] > allowed:
                missed.append(f"{o['scenario']} {o['n']}: {o['ratio_to_floor']} times the floor, {allowed} allowed")
            if o.get("bytes_per_flow", 0) > 2048:
                missed.append(f"{o['scenario']} {o['n']}: {o['bytes_per_flow']:.0f} bytes per flow, 2048 allowed")
        if not args.quick:
            peers(out, ours)
    for miss in missed:
        say(f"missed: {miss}")
    return 1 if missed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
