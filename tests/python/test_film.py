"""`bloatlab film`: the playground's animation (the stage) as WebM and GIF, from Chromium on PATH."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bloatlab import chromium
from bloatlab.cli.main import call
from browser import opened
from playground import PAGE

ROOT = Path(__file__).resolve().parents[2]
HOME = str(ROOT / "examples/home-upload.toml")
PART = ["--from", "5s", "--until", "5.1s", "--speed", "0.1"]
PICTURES, RATE = 25, 25


@pytest.fixture
def built():
    if not PAGE.is_file():
        pytest.skip("the playground is not built: make playground")


@pytest.mark.usefixtures("built", "browser")
def test_a_gif_has_a_picture_for_each_step_of_the_clock(tmp_path: Path):
    assert call(["film", HOME, "-o", str(tmp_path / "a.gif"), *PART]) == 0
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == PICTURES  # pyright: ignore[reportAttributeAccessIssue]
        assert film.info["duration"] == 1000 / RATE
        seen = set[bytes]()
        for i in range(PICTURES):
            film.seek(i)
            seen.add(film.convert("RGB").tobytes())
    # the clock in the corner is different in each picture
    assert len(seen) == PICTURES


@pytest.mark.usefixtures("built")
def test_a_webm_plays_in_a_browser(tmp_path: Path, browser: Any):
    assert call(["film", HOME, "-o", str(tmp_path / "a.webm"), *PART]) == 0
    viewer = tmp_path / "viewer.html"
    viewer.write_text('<!doctype html><title>film</title><video src="a.webm" muted></video>')
    with opened(browser, viewer) as found:
        found.requests.clear()
        video = found.page.locator("video")
        size = video.evaluate(
            """v => new Promise((done, failed) => { v.onerror = () => failed(new Error(v.error.message));
            v.onended = () => done([v.videoWidth, v.videoHeight, v.duration,
              v.getVideoPlaybackQuality().totalVideoFrames]);
            v.play(); })"""
        )
        found.requests.clear()
    assert size[0] % 2 == size[1] % 2 == 0
    assert min(size[:2]) > 100
    assert size[2] == pytest.approx(PICTURES / RATE)
    assert size[3] > 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-o", "a.mp4"], "a.mp4: expected a name that ends in .webm or .gif"),
        (["-o", "a.gif", "--from", "soon"], '--from soon: expected a time such as "5s" or "20ms"'),
        (
            ["-o", "a.gif", "--until", "60001ms"],
            "--until 60001ms: is after the end of the run at 60 s; give --from and --until",
        ),
        (  # the default --until
            ["-o", "a.gif", "--set", "duration=3s"],
            "--until 5.5s: is after the end of the run at 3 s; give --from and --until",
        ),
    ],
)
def test_bad_requests_are_refused_in_a_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]):
    assert call(["film", HOME, *arguments]) == 2
    assert capsys.readouterr().err == line + "\n"


@pytest.mark.usefixtures("built", "browser")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--from", "5s", "--until", "5s"], "a film needs a later end, a speed and a rate"),
        (["--from", "5s", "--until", "55s"], "25000 pictures; a film has at most 1500: shorten it or raise its speed"),
    ],
)
def test_what_the_page_refuses_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert call(["film", HOME, "-o", str(tmp_path / "a.gif"), *arguments]) == 2
    assert capsys.readouterr().err == line + "\n"


@pytest.mark.usefixtures("built")
def test_without_chromium_it_refuses_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert call(["film", HOME, "-o", str(tmp_path / "a.gif")]) == 2
    names = ", ".join(chromium.NAMES)
    assert capsys.readouterr().err == f"no Chromium on PATH (looked for {names}): apt-get install chromium\n"
