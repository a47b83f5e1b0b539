#!/usr/bin/env python3
"""Refuses a crate that imports upwards or sideways.

The shelves are those of docs/architecture.md. A crate may depend, in any way (build and test included), only on crates
of a lower shelf, so that each room can be understood, tested and replaced from below. Reads `cargo metadata --no-deps`,
which needs no network and builds nothing.

Exit code 0: the imports go down only. 1: one line per import that does not. 2: cargo could not be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PREFIX = "bloatlab-"

#: Shelf of every crate; lower numbers are lower shelves.
SHELVES: dict[str, int] = {
    name: shelf
    for shelf, names in enumerate(
        (
            ("units",),
            ("packet",),
            ("qdisc", "tcp", "docsis", "traffic"),
            ("record",),
            ("port", "measure"),
            ("scenario",),
            ("live", "sim"),
            ("face",),
            ("py", "web"),
            ("floor", "fuzz", "twins"),
            ("speed",),
        )
    )
    for name in names
}


def problems(metadata: dict[str, Any]) -> list[str]:
    """One line per import that does not go down, and per workspace crate that has no shelf.

    `metadata` is the output of `cargo metadata --no-deps --format-version 1`.
    """
    found: list[str] = []
    for package in sorted(metadata["packages"], key=lambda p: p["name"]):
        crate = package["name"].removeprefix(PREFIX)
        if crate not in SHELVES:
            found.append(f"{package['name']}: has no shelf; give it one in tools/layers.py and docs/architecture.md")
            continue
        for dependency in package["dependencies"]:
            lower = dependency["name"].removeprefix(PREFIX)
            is_ours = dependency.get("path") is not None
            if not is_ours or lower not in SHELVES:
                continue
            if SHELVES[lower] >= SHELVES[crate]:
                way = "sideways" if SHELVES[lower] == SHELVES[crate] else "upwards"
                kind = dependency.get("kind") or "normal"
                shelves = f"{crate} (shelf {SHELVES[crate]}) imports {lower} (shelf {SHELVES[lower]})"
                found.append(f"{shelves}: {way}, {kind} dependency")
    return found


def metadata(root: Path) -> dict[str, Any]:
    """What cargo knows about the workspace at `root`, its own crates only."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", str(root / "Cargo.toml")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Check the workspace that this file belongs to."""
    root = Path(__file__).resolve().parent.parent
    try:
        known = metadata(root)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"layers: cargo metadata failed: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
        return 2
    found = problems(known)
    for line in found:
        print(f"layers: {line}", file=sys.stderr)
    if not found:
        print(f"layers: {len(known['packages'])} crates, imports go down only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
