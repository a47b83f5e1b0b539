"""Lists dist/ after `make wheel`: names and sizes, whether each tag is correct, and whether the playground is included.

    .venv/bin/python tools/wheel_facts.py dist

auditwheel reads which versions of glibc's symbols the compiled module needs, and derives a tag. Exit code 1 if the tag
in a wheel's name promises an older glibc.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

#: A version of glibc.
Glibc = tuple[int, int]

PAGE = "bloatlab/playground/index.html"


def main(folder: Path) -> int:
    """Prints a line or two per file; returns the exit code."""
    honest = True
    for path in sorted(folder.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
        if path.suffix != ".whl":
            continue
        promised = oldest(path.name)
        needed, newest = audited(path)
        if promised is None or needed is None or needed > promised:
            honest = False
            print(f"  the name promises {text(promised)}, the module needs {text(needed)}")
        else:
            print(f"  for {text(promised)} and newer; the newest symbol that it needs is of {text(newest)}")
        with zipfile.ZipFile(path) as archive:
            has = PAGE in archive.namelist()
        print("  with the playground" if has else "  without the playground: make playground builds it")
    return 0 if honest else 1


def oldest(tag: str) -> Glibc | None:
    """Returns the glibc version of a tag such as `manylinux_2_17_x86_64`, or the oldest of several."""
    found = [(int(a), int(b)) for a, b in re.findall(r"manylinux_(\d+)_(\d+)_", tag)]
    return min(found, default=None)


def audited(wheel: Path) -> tuple[Glibc | None, Glibc | None]:
    """Returns the glibc version that auditwheel derives for a wheel, and that of the newest symbol of its module."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    asked = re.findall(r"GLIBC_(\d+)\.(\d+)", json.dumps(told["versioned_symbols"]))
    return oldest(told["overall_tag"]), max(((int(a), int(b)) for a, b in asked), default=None)


def text(glibc: Glibc | None) -> str:
    """Returns a version of glibc as text."""
    return "no manylinux" if glibc is None else f"glibc {glibc[0]}.{glibc[1]}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
