"""Opens pages in Debian's Chromium with Playwright, without a network, and records their errors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

#: Arguments: no sandbox, no GPU, no welcome page, and no network access by the browser itself.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Without WebUIOmniboxPopup here, each new window starts a process that draws the suggestions below the address bar.
    # This flag replaces Playwright's own list of disabled features. Of these, only PaintHolding matters to pages
    # without a network.
    "--disable-features=PaintHolding,WebUIOmniboxPopup",
)


@dataclass
class Opened:
    """An open page, its errors, warnings and dialogs, and its requests for anything other than the page."""

    page: Any
    errors: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])

    def check(self) -> None:
        """Checks that there were no errors, warnings, dialogs or requests."""
        assert self.errors == []
        assert self.requests == []


def chromium() -> str | None:
    """Returns the path of Chromium, or None. The headless shell is preferred: it has the same engine without the
    browser's windows, so opening a page takes little more than half the CPU time.
    """
    return next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


@contextmanager
def opened(
    browser: Any,
    file: Path,
    *,
    width: int = 1280,
    height: int = 800,
    scheme: Literal["light", "dark"] = "light",
    javascript: bool = True,
    motion: Literal["reduce", "no-preference"] = "reduce",
    fragment: str = "",
) -> Generator[Opened]:
    """Opens the file in a fresh context without a network, and checks the page at the end. `fragment` is appended to
    the file's address.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        offline=True,
        java_script_enabled=javascript,
        reduced_motion=motion,
    )
    found = Opened(context.new_page())
    found.page.on("console", lambda m: found.errors.append(m.text) if m.type in {"error", "warning"} else None)
    found.page.on("pageerror", lambda e: found.errors.append(str(e)))
    found.page.on("dialog", lambda d: (found.errors.append(f"dialog: {d.message}"), d.dismiss()))
    # blob: addresses refer to data that the page itself has made
    own = (file.as_uri(), "blob:")
    found.page.on("request", lambda r: found.requests.append(r.url) if not r.url.startswith(own) else None)
    try:
        found.page.goto(file.as_uri() + fragment)
        yield found
        found.check()
    finally:
        context.close()


def pointed(chart: Any, x: float, least: float, most: float) -> list[str]:
    """Moves the pointer to `x` CSS pixels from a chart's left edge, and returns the legend's values once the first one,
    of the x axis, lies between `least` and `most`.

    A person's pointer sends many events, and one can be lost while the page is still being laid out. The pointer
    therefore makes up to 50 moves, each one pixel lower than the one before.
    """
    over = chart.locator(".u-over")
    over.scroll_into_view_if_needed()
    values: list[str] = []
    for down in range(50):
        box = over.bounding_box()
        over.page.mouse.move(box["x"] + x, box["y"] + 30 + down)
        values = chart.locator(".u-legend .u-value").all_inner_texts()
        if re.fullmatch(r"[\d.]+", values[0]) and least < float(values[0]) < most:
            return values
        over.page.wait_for_timeout(100)
    raise AssertionError(f"the legend shows {values}")


def serious(page: Any) -> list[str]:
    """Returns the problems that axe-core calls serious or critical, each with the first element that has it."""
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(f"() => {{ {axe} }}")
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run({ resultTypes: ['violations'] })).violations"
    )
    return [
        f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:160]} {v['nodes'][0].get('failureSummary', '')[:300]}"
        for v in found
        if v["impact"] in {"serious", "critical"}
    ]
