"""The parts of tools/release.py that need no Rust compiler; `make release` runs the other parts."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import bloatlab

ROOT = Path(__file__).resolve().parents[2]


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


release = _tool("release")

CHANGELOG = "# Changelog\n\n## Unreleased\n\n* new\n\n## 0.2.0, 2026-11-24\n\n* one\n* two\n\n## 0.1.0\n\n* first\n"


def test_the_notes_are_the_section_of_one_version():
    assert release.notes(CHANGELOG, "0.2.0") == "* one\n* two\n\n"
    assert release.notes(CHANGELOG, "0.1.0") == "* first\n"
    # the dots in a version match only dots
    assert "no section for 0x2" in release.notes(CHANGELOG, "0x2")


@pytest.mark.parametrize(
    ("tag", "library"),
    [
        ("bloatlab-0.2.0-cp311-abi3-manylinux_2_17_x86_64.whl", ("many", 2, 17)),
        ("bloatlab-0.2.0-cp311-abi3-manylinux_2_28_aarch64.manylinux_2_17_aarch64.whl", ("many", 2, 17)),
        ("bloatlab-0.2.0-cp311-abi3-musllinux_1_2_aarch64.whl", ("musl", 1, 2)),
        ("linux_x86_64", None),
    ],
)
def test_a_tag_promises_the_oldest_library_that_it_names(tag, library):
    assert release.oldest(tag) == library


@pytest.mark.parametrize(
    ("found", "fault"),
    [("manylinux_2_17_x86_64", None), ("manylinux_2_28_x86_64", "2_28"), ("linux_x86_64", "linux_x86_64")],
)
def test_a_tag_that_promises_too_much_is_a_fault(monkeypatch, found, fault):
    monkeypatch.setattr(release, "output", lambda *_: f'{{"overall_tag": "{found}"}}')
    answer = release.dishonest(Path("bloatlab-0.2.0-cp311-abi3-manylinux_2_17_x86_64.whl"))
    assert answer is None if fault is None else fault in answer


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("readelf") is None, reason="no C compiler: install gcc")
def test_a_wheel_for_musl_needs_no_library_of_glibc(tmp_path):
    module = tmp_path / "_core.so"
    compiler = shutil.which("cc") or "cc"
    subprocess.run([compiler, "-shared", "-x", "c", "/dev/null", "-Wl,--no-as-needed", "-o", str(module)], check=True)
    wheel = tmp_path / "bloatlab-0.2.0-cp311-abi3-musllinux_1_2_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(module, "bloatlab/_core.so")
    assert release.libraries(wheel) == {"libc.so.6"}
    fault = release.dishonest(wheel)
    assert fault is not None
    assert "needs libc.so.6" in fault


def test_the_sbom_is_taken_from_the_wheel(tmp_path):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("bloatlab-0.2.0.dist-info/sboms/bloatlab-py.cyclonedx.json", '{"bomFormat": "CycloneDX"}')
    assert release.sbom(wheel) == b'{"bomFormat": "CycloneDX"}'


def test_every_run_of_the_profile_sends_packets() -> None:
    for scenario in _tool("profile_runs").scenarios():
        run = bloatlab.run(scenario, sets={"duration": "300ms"})
        assert run.summary["links"]["up"]["delivered_packets"] > 0
