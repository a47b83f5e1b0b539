"""Measures times of the playground's animation (the "stage") in headless Chromium.

They are the time per animation frame with about 500 packets on the stage, the time until the first picture, and the
time until the charts respond to a slider.

    .venv/bin/python tools/bench_stage.py [--throttle 4]

Rendering is done in software. While frames are measured, the page's processor is slowed down by the factor given with
`--throttle`. Needs `make playground` and Chromium.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))

from playwright.sync_api import sync_playwright  # noqa: E402

from bloatlab.chromium import browser  # noqa: E402
from bloatlab.cli.play import PAGE, fragment  # noqa: E402
from bloatlab.scenario import parse  # noqa: E402
from browser import ARGUMENTS, opened  # noqa: E402  # pyright: ignore[reportMissingImports]

#: Four uploads fill a buffer of 500 packets.
FULL = """
name = "full"
duration = "30s"
link.up = { from = "home", to = "net", rate = "20mbit", delay = "20ms", queue.droptail.limit = "500p" }
link.down = { from = "net", to = "home", rate = "50mbit", delay = "20ms" }
app.upload = { from = "home", to = ["net"], traffic.ftp = { flows = 4 } }
app.call = { from = "home", to = ["net"], traffic.voip = {} }
"""
STAGE = "document.getElementById('stage').stage"


def frames(page: Any) -> str:
    """Plays the stage for six seconds.

    Returns the number of packets on the stage, the time between frames, and the time to compute a frame.
    """
    page.evaluate(f"{STAGE}.seek(20)")
    measured = page.evaluate(f"{STAGE}.measure(6000)")
    packets = page.evaluate(f"{STAGE}.read().panes[0].packets.length")
    parts = [
        f"{statistics.median(times):.1f} ms (median), {high(times):.1f} (95 %), {max(times):.1f} (worst)"
        for times in (measured["gaps"], measured["took"])
    ]
    return f"{packets} packets: {parts[0]} from frame to frame; {parts[1]} to compute one"


def high(times: list[float]) -> float:
    """Returns the 95th percentile of the times."""
    return sorted(times)[int(0.95 * len(times))]


def slider(page: Any) -> str:
    """Returns the time from moving a slider to the new charts, while the stage is also recording packets."""
    took = page.evaluate(
        """async () => {
          const times = [];
          const slider = document.querySelector('#controls input[type=range][aria-label=RTT]');
          for (let i = 0; i < 12; i++) {
            const runs = document.body.dataset.runs, since = performance.now();
            slider.value = String(600 + i);
            slider.dispatchEvent(new Event('input', { bubbles: true }));
            while (document.body.dataset.runs === runs) await new Promise(r => setTimeout(r, 1));
            times.push(performance.now() - since);
            await new Promise(r => setTimeout(r, 300));
          }
          return times;
        }"""
    )
    own = page.evaluate("document.body.dataset.ms")
    median = statistics.median(took)
    worst = f"{max(took):.0f} (worst)"
    return f"response to a slider: {median:.0f} ms (median of {len(took)}), {worst}; the run alone {own} ms"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throttle", type=float, default=4)
    rate = parser.parse_args().throttle
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser(), args=list(ARGUMENTS))
        for name, text in (("the page as it opens", None), ("500 packets", FULL)):
            given = "" if text is None else fragment(parse(text))
            with opened(started, PAGE, fragment=given) as found:
                found.page.wait_for_selector("body[data-stage]", timeout=60_000)
                first = float(found.page.evaluate("document.body.dataset.stage"))
                print(f"{name}: the stage's first picture {first / 1000:.2f} s after the page was opened")
                print(f"{name}: {slider(found.page)}")
                if text is not None:
                    session = found.page.context.new_cdp_session(found.page)
                    session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
                    print(f"{name}, processor slowed down {rate:g} times: {frames(found.page)}")
        started.close()


if __name__ == "__main__":
    main()
