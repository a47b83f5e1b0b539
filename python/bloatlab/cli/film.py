"""`bloatlab film`: the playground's animation of packets as a WebM or GIF."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab import chromium
from bloatlab.cli.common import BadInput, replaceable, scenario, writing
from bloatlab.cli.options import ForceReplace, Sets
from bloatlab.cli.play import PAGE, fragment
from bloatlab.files import write
from bloatlab.outside import refuse
from bloatlab.scenario import quantity
from bloatlab.terminal import Console

#: JavaScript that waits until the playground has drawn the first picture of its animation of packets (the stage).
_READY = """new Promise((done, failed) => { let n = 0; const look = () => {
const { dataset } = document.body;
const line = document.querySelector('#stale:not(:empty), #problems p');
if (line) failed(new Error(line.textContent));
else if (dataset.stage !== undefined) done(true);
else if (n++ > 1200) failed(new Error('the stage shows nothing within a minute'));
else setTimeout(look, 50); }; look(); })"""


def command(
    file: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    begin: Annotated[str, Parameter(name="--from")] = "5s",
    until: str = "5.5s",
    speed: float = 0.05,
    width: int = 960,
    sets: Sets = (),
    force: ForceReplace = False,
) -> int:
    """Film the packets of a scenario, as the playground shows them, in WebM or GIF.

    Needs Chromium. The film has 25 frames per second, and each frame shows the run at its exact moment.

    Args:
        file: Scenario, in TOML (or JSON, by its suffix).
        out: File to write; its suffix, .webm or .gif, selects the format.
        begin: Moment of the run at which the film begins.
        until: Moment at which it ends.
        speed: Time of the run per time of the film: 0.05 is twenty times slower than real time.
        width: Width of the page in pixels.
    """
    kind = out.suffix.removeprefix(".")
    if kind not in {"webm", "gif"}:
        raise BadInput(f"{out}: expected a name that ends in .webm or .gif")
    replaceable(out, force=force)
    times = {}
    for name, text in (("from", begin), ("until", until)):
        try:
            times[name] = quantity(text)
        except ValueError:
            raise BadInput(f'--{name} {text}: expected a time such as "5s" or "20ms"') from None
    given = scenario(file, sets)
    if times["until"] > (end := quantity(given.data["duration"])):
        raise BadInput(f"--until {until}: is after the end of the run at {end:g} s; give --from and --until")
    refuse(given.text, "in the playground")
    if not PAGE.is_file():
        raise BadInput(f"{PAGE}: not built; run `make playground` in the source tree")
    request = {"kind": kind, "speed": speed, **times}
    with chromium.page(width) as page:
        page.open(PAGE.as_uri() + fragment(given))
        page.evaluate(_READY)
        film = base64.b64decode(page.evaluate(f"bloatlab.film({json.dumps(request)})"))
    writing(out, lambda: write(out, film))
    Console().say(f"{out}: {len(film) / 1e6:.1f} MB")
    return 0
