"""Builds the parts of a release: `make wheel` for this machine, `make release` for all.

    .venv/bin/python tools/release.py dist x86_64-unknown-linux-gnu aarch64-unknown-linux-musl

The folder then contains a wheel for each Rust target, the sdist, the SBOM of the Rust crates (CycloneDX), the notes of
this version from CHANGELOG.md, and SHA256SUMS. The wheel of this machine is built twice: first instrumented with
counters, and then optimised with the counts from the runs of tools/profile_runs.py; this needs Rust's component
llvm-tools. Zig links against an old C library. Exit code 1 if the module of a wheel needs more than the wheel's tag
promises (see `dishonest`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = "bloatlab/playground/index.html"
#: For each kind of C library, the platform tag of the oldest version that the wheels support. glibc 2.17 (CentOS 7) is
#: the oldest that Rust's own standard library supports.
OLDEST = {"gnu": "manylinux2014", "musl": "musllinux_1_2"}


def main(dist: Path, targets: list[str]) -> int:
    """Builds everything; prints one line per file."""
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    wheels = [wheel(dist, target) for target in targets]
    maturin("sdist", "--out", str(dist))
    version = wheels[0].name.split("-")[1]
    (dist / f"bloatlab-{version}.cdx.json").write_bytes(sbom(wheels[0]))
    (dist / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(), version))
    files = sorted(dist.iterdir())
    (dist / "SHA256SUMS").write_text(
        "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)
    )
    for path in sorted(dist.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    faults = [fault for path in wheels if (fault := dishonest(path))]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


def wheel(dist: Path, target: str) -> Path:
    """Builds one wheel and prints how long it took."""
    begun, before = time.monotonic(), set(dist.iterdir())
    print(f"{target} ...", end=" ", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        counts = profile(Path(folder), target)
        kind, flags = OLDEST[target.rsplit("-", 1)[-1]], f"-Cprofile-use={counts}" if counts else ""
        maturin("build", "--zig", "--target", target, "--compatibility", kind, "--out", str(dist), flags=flags)
    (made,) = set(dist.iterdir()) - before
    with zipfile.ZipFile(made) as archive:
        page = "with" if PAGE in archive.namelist() else "without"
    how = "with" if counts else "without"
    print(f"{time.monotonic() - begun:.0f} s, {page} the playground, {how} a profile")
    return made


def profile(folder: Path, target: str) -> Path | None:
    """Builds an instrumented wheel, runs tools/profile_runs.py with it, and returns the merged profile.

    Returns None if the target is not this machine's or llvm-tools is not installed.
    """
    host = output("rustc", "--print", "host-tuple").strip()
    merge = Path(output("rustc", "--print", "sysroot").strip()) / "lib" / "rustlib" / host / "bin" / "llvm-profdata"
    if target != host or not merge.exists():
        return None
    # this wheel is built without Zig, which cannot link the profile's counters. It needs no old C library, because it
    # runs only on this machine
    here = ["--target", target, "--compatibility", "linux", "--out", str(folder)]
    maturin("build", *here, flags=f"-Cprofile-generate={folder}")
    (counting,) = folder.glob("*.whl")
    with zipfile.ZipFile(counting) as archive:
        archive.extractall(folder / "wheel")
    env = os.environ | {"PYTHONPATH": str(folder / "wheel"), "LLVM_PROFILE_FILE": str(folder / "%p.profraw")}
    subprocess.run([sys.executable, ROOT / "tools" / "profile_runs.py"], cwd=folder, env=env, check=True)
    counts = folder / "counts.profdata"
    subprocess.run([merge, "merge", "-o", counts, *folder.glob("*.profraw")], check=True)
    return counts


def sbom(wheel: Path) -> bytes:
    """Returns the list of Rust crates that maturin has stored in a wheel (PEP 770)."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if re.search(r"\.dist-info/sboms/.*\.cyclonedx\.json$", n)]
        return archive.read(name)


def notes(changelog: str, version: str) -> str:
    """Returns the section of the changelog about one version, without its heading."""
    found = re.search(rf"^## {re.escape(version)}\b[^\n]*\n+(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1] if found else f"CHANGELOG.md has no section for {version}.\n"


def dishonest(wheel: Path) -> str | None:
    """Returns an error message if a wheel's module needs more than its tag promises, otherwise None.

    For glibc, this means a newer version of the library; for musl, any other library.
    """
    if "musllinux" in wheel.name:
        # auditwheel needs musl's own library, which machines with glibc lack. So the list of libraries that the module
        # needs is checked here instead
        extra = libraries(wheel) - {"libc.so"}
        return f"{wheel.name}: its module needs {', '.join(sorted(extra))} besides musl's libc.so" if extra else None
    audit = json.loads(output(sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)))
    promised, needed = oldest(wheel.name), oldest(audit["overall_tag"])
    if needed is not None and promised is not None and needed <= promised:
        return None
    return f"{wheel.name}: auditwheel finds {audit['overall_tag']}"


def libraries(wheel: Path) -> set[str]:
    """Returns the shared libraries needed by a wheel's compiled module."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        (module,) = [n for n in archive.namelist() if n.endswith(".so")]
        return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", archive.extract(module, folder))))


def oldest(tag: str) -> tuple[str, int, int] | None:
    """Returns the oldest C library that a tag such as `manylinux_2_17_x86_64` names, or None if it names none."""
    found = [(kind, int(a), int(b)) for kind, a, b in re.findall(r"(many|musl)linux_(\d+)_(\d+)_", tag)]
    return min(found, default=None)


def maturin(*words: str, flags: str = "") -> None:
    """Runs this environment's maturin.

    The environment comes first on PATH, because maturin finds Zig through the first python3 on PATH.
    """
    folder = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    env |= {"RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}"} if flags else {}
    run = subprocess.run(
        [folder / "maturin", *words],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise SystemExit(f"maturin {words[0]} failed:\n{run.stdout}")


def output(*command: str) -> str:
    """Returns the output of a command."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
