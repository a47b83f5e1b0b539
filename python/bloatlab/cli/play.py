"""`bloatlab play`: opens the playground in a browser."""

import base64
import html
import json
import tempfile
import tomllib
import webbrowser
import zlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import bloatlab
from bloatlab.cli.common import BadInput, scenario, writing
from bloatlab.cli.options import Sets
from bloatlab.outside import refuse
from bloatlab.scenario import Scenario
from bloatlab.terminal import Console

#: The page, built by `make playground` and included in wheels.
PAGE = Path(bloatlab.__file__).parent / "playground" / "index.html"

#: A page that redirects to the playground's address. Opening that address directly often fails, because many desktops
#: drop the part of a file's URL after #.
_DOOR = """<!doctype html>
<meta charset="utf-8"><title>bloatlab playground</title>
<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Open the playground</a>
"""


def command(
    file: Path | None = None,
    /,
    *,
    sets: Sets = (),
    only_print: Annotated[bool, Parameter(name="--print")] = False,
) -> int:
    """Open the playground in a browser: the simulator behind sliders, on one page that works offline.

    Move a slider and the simulation reruns at once. The page's address holds the whole experiment, so it can be saved
    and shared; "TOML" on the page gives a scenario for `bloatlab run`.

    Args:
        file: Scenario to open, in TOML (or JSON, by its suffix).
        only_print: Print the address instead of opening it.
    """
    if file is None and sets:
        raise BadInput("--set: needs a scenario file")
    given = scenario(file, sets) if file is not None else None
    if given is not None:
        refuse(given.text, "in the playground")
    address = fragment(given) if given is not None else ""
    if not PAGE.is_file():
        raise BadInput(f"{PAGE}: not built; run `make playground` in the source tree")
    address = PAGE.as_uri() + address
    console = Console()
    if not only_print and _opened(address):
        return 0
    console.say(address)
    return 0


def fragment(of: Scenario, pinned: Scenario | None = None) -> str:
    """Returns the URL fragment that opens a scenario in the playground: deflated JSON in base64url.

    If `pinned` is given, the fragment also contains this scenario, for comparison with the first.
    """
    given = {"scenario": of} if pinned is None else {"scenario": of, "pinned": pinned}
    trees = {key: tomllib.loads(scenario.as_toml()) for key, scenario in given.items()}
    tree = json.dumps(trees, ensure_ascii=False, separators=(",", ":"))
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(tree.encode()) + packer.flush()
    return "#1=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _opened(address: str) -> bool:
    """Opens the address; returns whether a browser accepted it."""
    folder = Path(tempfile.mkdtemp(prefix="bloatlab-"))
    door = folder / "playground.html"
    writing(door, lambda: door.write_text(_DOOR.format(address=html.escape(address)), encoding="utf-8"))
    try:
        return webbrowser.open(door.as_uri())
    except webbrowser.Error:
        return False
