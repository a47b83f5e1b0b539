#!/usr/bin/env python3
"""Runs the CSC458 lab on this machine's kernel alone, with segmentation offload: the reference for `super_segment`.

    sudo .venv/bin/python tools/gso_lab.py --maxq 20 --maxq 100 --time 90

Veth pairs connect three namespaces, and both directions of s0 - h2 use htb (10 Mbit/s) over pfifo (--maxq packets), as
in Mininet. None of bloatlab's code is on the path, so the queue holds the kernel's super-segments. There is no netem,
so the path adds no delay; `tcp_tso_rtt_log` is set to 0, because Linux 5.18 and later would send larger bursts on such
a short path. The load is one iperf3 flow, ten pings a second, and a page of 177 669 bytes that curl fetches every two
seconds. After each run, removes the namespaces and all processes in them, then prints statistics of the fetch times and
of the round trips.

Needs root, iproute2, iperf3, curl and iputils-ping. Exit code 2 if one of these is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path

PAGE_BYTES = 177_669
PROGRAMS = ("ip", "tc", "iperf3", "curl", "ping")
H1, H2 = "10.99.1.1", "10.99.2.1"

Run = Callable[[str, str], str]


def main() -> int:
    """Runs the lab for each queue and prints the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maxq", type=int, action="append", help="packets; may be given again [20, 100]")
    parser.add_argument("--cong", default="reno", help="congestion control of both hosts")
    parser.add_argument("--time", type=int, default=90, help="seconds of each run")
    options = parser.parse_args()
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        print(f"gso_lab: missing: {', '.join(missing) or 'root'}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for maxq in options.maxq or [20, 100]:
        with network(maxq, options.cong) as run:
            fetches, pings = lab(run, options.time)
        print(f"Q={maxq} {options.cong}: {described(fetches, 's', 3)}; ping {described(pings, 'ms', 1)}", flush=True)
    return 0


def described(values: list[float], unit: str, digits: int) -> str:
    """Formats the mean, standard deviation and quartiles on one line."""
    if len(values) < 2:
        return f"{len(values)} values"
    low, middle, high = statistics.quantiles(values, n=4)
    mean, spread = statistics.mean(values), statistics.pstdev(values)
    text = f"mean {mean:.{digits}f} sd {spread:.{digits}f} {unit}, quartiles {low:.{digits}f} {middle:.{digits}f}"
    return f"{len(values)} values, {text} {high:.{digits}f}, largest {max(values):.{digits}f}"


@contextlib.contextmanager
def network(maxq: int, cong: str) -> Generator[Run]:
    """Makes the network h1 - s0 - h2, in namespaces named after this process.

    Yields a function that runs a shell command in the namespace of a node.
    """
    spaces = {name: f"gso{os.getpid()}{name}" for name in ("h1", "s0", "h2")}

    def run(name: str, line: str) -> str:
        command = ["ip", "netns", "exec", spaces[name], "sh", "-c", line]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    made: list[str] = []
    try:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "add", space], check=True)
            made.append(space)
        for near, far, net in (("h1", "s0", 1), ("h2", "s0", 2)):
            run(near, f"ip link set lo up; ip link add v{net} type veth peer name v{net} netns {spaces[far]}")
            for name, host in ((near, 1), (far, 2)):
                run(name, f"ip addr add 10.99.{net}.{host}/24 dev v{net}; ip link set v{net} up")
            run(
                near,
                f"ip route add default via 10.99.{net}.2; cd /proc/sys/net/ipv4; echo {cong} > tcp_congestion_control",
            )
            run(near, "cd /proc/sys/net/ipv4; echo 1 > tcp_no_metrics_save; echo 0 > tcp_tso_rtt_log || true")
        run("s0", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for name in ("s0", "h2"):
            run(name, "tc qdisc add dev v2 root handle 5: htb default 1")
            run(name, "tc class add dev v2 parent 5: classid 5:1 htb rate 10mbit burst 15k")
            run(name, f"tc qdisc add dev v2 parent 5:1 pfifo limit {maxq}")
        yield run
    finally:
        for space in made:
            pids = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False).stdout
            for pid in pids.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", space], check=False)


def lab(run: Run, seconds: int) -> tuple[list[float], list[float]]:
    """Makes one run; returns the fetch times in s and the round trips in ms."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.html").write_bytes(bytes(PAGE_BYTES))
        run("h1", f"cd {folder}; {sys.executable} -m http.server 80 >/dev/null 2>&1 &")
        run("h2", "iperf3 -s -D")
        time.sleep(1)
        pings = Path(folder) / "pings"
        run("h1", f"iperf3 -c {H2} -t {seconds} >/dev/null 2>&1 & ping -i 0.1 -w {seconds} {H2} > {pings} 2>&1 &")
        time.sleep(5)
        fetches: list[float] = []
        end = time.monotonic() + seconds - 8
        while (begun := time.monotonic()) < end:
            fetches.append(float(run("h2", f"curl -so /dev/null -w '%{{time_total}}' http://{H1}/")))
            time.sleep(max(0.0, begun + 2.0 - time.monotonic()))
        return fetches, [float(x) for x in re.findall(r"time=([\d.]+)", pings.read_text())]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(f"gso_lab: {' '.join(error.cmd)}: {error.stderr or error.returncode}")
