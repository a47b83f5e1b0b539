"""Finds out what this machine's kernel permits, without using the bench under test."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

#: A program that exits with 0 if it can create a network namespace and bring up a TUN device in it.
PROBE = """
import ctypes, fcntl, os, socket, struct, sys

CLONE_NEWNET, TUNSETIFF, SIOCSIFFLAGS = 0x40000000, 0x400454CA, 0x8914
IFF_UP, IFF_TUN, IFF_NO_PI = 0x1, 0x1, 0x1000
try:
    step = "a network namespace"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    step = "a TUN device"
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"probe", IFF_TUN | IFF_NO_PI))
    step = "a TUN device that is up"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"probe", IFF_UP))
except OSError as error:
    sys.exit(f"cannot have {step}: {error.strerror}")
"""


@cache
def why_no_bench() -> str:
    """Returns the reason why the live bench cannot run here, or an empty string."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


#: Skips a test, with the reason, if the live bench cannot run here.
bench = pytest.mark.skipif(bool(why_no_bench()), reason=f"live bench: {why_no_bench()}")
