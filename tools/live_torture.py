#!/usr/bin/env python3
"""Disturbs live runs with errors at random steps and signals at random times, and checks that the host is unchanged.

    make live-torture N=100 SEED=1

Each run either has an error or a panic injected at a random step, or gets SIGINT, SIGTERM or SIGKILL at a random time,
or ends undisturbed. A SIGKILL is followed by `bloatlab live --clean`. After each run, the links, addresses, routes,
rules, wake-up latency, namespaces, mounts and processes of the host are compared with those before the first run, and
differences are printed. Needs root and TUN.

Exit code 0: no difference. 1: at least one. 2: the bench cannot run here.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = ("space", "tun", "sysctl", "address", "up", "programs", "command", "link", "end")

LAB = """
duration = "1500ms"
[link.wire]
from = "h1"
to = "h2"
both_ways = true
rate = "20mbit"
delay = "2ms"
queue.codel = {}
[app.long]
from = "h1"
to = ["h2"]
traffic.ftp = { flows = 2 }
[app.ping]
from = "h1"
to = ["h2"]
traffic.ping = { interval = "50ms" }
"""

#: A command that leaves behind a child with a child of its own.
COMMAND = "(sleep 77 & sleep 77) & sleep 0.5; wait"

State = dict[str, list[str]]


def host_state() -> State:
    """Returns links, addresses, routes, rules, wake-up latency, namespaces, mounts and processes on the host."""
    read = {
        "links": "/proc/net/dev",
        "addresses": "/proc/net/fib_trie",
        "addresses of IPv6": "/proc/net/if_inet6",
        "routes": "/proc/net/route",
        "routes of IPv6": "/proc/net/ipv6_route",
    }
    state: State = {}
    for what, path in read.items():
        try:
            lines = Path(path).read_text().splitlines()
        except OSError:
            lines = []
        # only the names of links are kept, because the packet counters beside them always change
        state[what] = [line.split(":")[0].strip() for line in lines] if what == "links" else lines
    state["routes of IPv6"] = [
        " ".join(w for i, w in enumerate(r.split()) if i not in {6, 7}) for r in state["routes of IPv6"]
    ]
    state["rules"] = _ip("rule")
    state["wake-up latency of processors"] = _latency()
    state["named namespaces"] = (
        sorted(p.name for p in Path("/run/netns").glob("*")) if Path("/run/netns").is_dir() else []
    )
    state["mounts"] = Path("/proc/self/mounts").read_text().splitlines()
    state["namespaces"] = sorted({space for _, _, space in _processes()})
    own = {os.getpid()}
    state["processes"] = sorted(f"{pid} {name}" for pid, name, _ in _processes() if pid not in own and _ours(pid))
    return state


def _ip(what: str) -> list[str]:
    try:
        return subprocess.run(["ip", what], capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        return []


def _latency() -> list[str]:
    """Returns the time in us that processors may take to wake up: the minimum that any process has requested."""
    try:
        return [str(int.from_bytes(Path("/dev/cpu_dma_latency").read_bytes(), sys.byteorder, signed=True))]
    except OSError:
        return []


def _processes() -> list[tuple[int, str, str]]:
    """Returns PID, name and network namespace of every process, except zombies and kernel threads."""
    found: list[tuple[int, str, str]] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            if stat.rsplit(") ", 1)[1][0] in "ZX" or not (entry / "cmdline").read_bytes():
                continue
            name = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            found.append((int(entry.name), name[:80], (entry / "ns" / "net").readlink().name))
        except OSError:
            continue
    return found


def _ours(pid: int) -> bool:
    """Returns true if a live run or this program started the process; other processes on the machine do not count."""
    try:
        environment = (Path("/proc") / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return b"BLOATLAB_LIVE=" in environment or b"BLOATLAB_TORTURE=" in environment


def differences(before: State, after: State) -> list[str]:
    """Returns one line per difference between two states. Namespaces and processes may disappear, but not appear."""
    lines: list[str] = []
    for what in before:
        was, is_ = set(before[what]), set(after[what])
        lines += [f"new in {what}: {x}" for x in sorted(is_ - was)]
        if what not in {"namespaces", "processes"}:
            lines += [f"gone from {what}: {x}" for x in sorted(was - is_)]
    return lines


def one(chance: random.Random, file: Path) -> str:
    """Makes one run, which may be disturbed; returns a description of the disturbance, and the exit code."""
    bloatlab = [sys.executable, "-c", "from bloatlab.cli import main; main()", "live"]
    environment = {**os.environ, "BLOATLAB_TORTURE": "1"}
    words = ["--", "sh", "-c", COMMAND] if chance.random() < 0.5 else []
    kind = chance.choice(["error", "panic", "SIGINT", "SIGTERM", "SIGKILL", "SIGKILL", "end"])
    step = chance.choice(STEPS)
    if kind in {"error", "panic"}:
        environment["BLOATLAB_LIVE_FAULT"] = step + ("!" if kind == "panic" else "")
    run = subprocess.Popen(
        [*bloatlab, str(file), "-q", *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if kind.startswith("SIG"):
        after = chance.uniform(0.0, 2.5)
        time.sleep(after)
        run.send_signal(getattr(signal, kind))
        kind = f"{kind} after {after:.2f} s"
    code = run.wait(60)
    if "SIGKILL" in kind:
        subprocess.run([*bloatlab, "--clean"], check=True, stdout=subprocess.DEVNULL)
    at = f" at {step}" if kind in {"error", "panic"} else ""
    return f"{kind}{at}{' with a command' if words else ''}: exit code {code}"


def main() -> int:
    """Disturbs the runs and compares the states; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", type=int, default=100, help="runs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the disturbances")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        print("live-torture: needs root and /dev/net/tun", file=sys.stderr)
        return 2
    # a program that a shell starts in the background ignores SIGINT, and its children would inherit this. A handler of
    # our own prevents it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(arguments.seed)  # noqa: S311  not used for secrets
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "torture.toml"
        file.write_text(LAB)
        before = host_state()
        for i in range(arguments.n):
            what = one(chance, file)
            # the kernel removes a namespace some milliseconds after its last process has ended
            found = differences(before, host_state())
            for _ in range(50):
                if not found:
                    break
                time.sleep(0.1)
                found = differences(before, host_state())
            bad += bool(found)
            print(f"{i + 1:4} {what}{'' if found else ', host as before'}", flush=True)
            for line in found:
                print(f"     {line}")
    print(f"live-torture: {arguments.n} runs, {bad} left a difference")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
