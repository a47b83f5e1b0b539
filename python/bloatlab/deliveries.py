"""Recorded delivery traces of links, read from the files named in a scenario.

    delivery.trace = { file = "lte.down" }   # in a link's table; the path is relative to the scenario's folder

When a scenario is read, the trace is copied into it in a compact form, so a changed trace makes a new scenario. Results
and stores record this form, and a cluster's workers need no file. See docs/links.md.
"""

from __future__ import annotations

import json
from pathlib import Path

from bloatlab import _core, files

#: Bytes that an opportunity carries in mahimahi's format.
BYTES = 1504

#: A string contained in every resolved scenario with a delivery trace.
_SIGN = '"delivery":{"trace":{'


class TraceError(_core.ScenarioError):
    """A delivery trace cannot be read or written. `args[0]` is a list with one element, the message."""


def completed(text: str, folder: Path | None, source: str) -> str:
    """Copies traces from their files into a resolved scenario; returns `text` itself if there is nothing to copy.

    Paths are relative to `folder`. `source` names the scenario in messages. Raises `TraceError`.
    """
    if _SIGN not in text:
        return text
    tree = json.loads(text)
    traces = {name: link.get("delivery", {}).get("trace", {"source": None}) for name, link in tree["link"].items()}
    unread = {name: trace for name, trace in traces.items() if "source" not in trace}
    for name, trace in unread.items():
        path = f"link.{name}.delivery.trace.file"
        at = f"{source}: {path}" if source else path
        trace["source"] = read((folder or Path()) / trace["file"], at)["compact"]
    return json.dumps(tree) if unread else text


def written(resolved: str, link: str) -> str:
    """Returns a link's delivery opportunities as text in mahimahi's format. Raises `ScenarioError`.

    The format cannot express the size of an opportunity, so any size but `BYTES` is refused.
    """
    table = json.loads(resolved)["link"].get(link, {}).get("delivery") or {}
    size = table.get("trace", {}).get("opportunity")
    if size is not None and _core.quantity(size) != ("size", BYTES):
        at = f"link.{link}.delivery.trace.opportunity"
        raise TraceError([f'{at}: "{size}" cannot be written; in the file, an opportunity has {BYTES} bytes'])
    return _core.delivery_file(resolved, link)


def read(path: Path, at: str = "") -> _core.DeliveryTrace:
    """Reads a trace file. `at` is the scenario's key for the file, and appears in messages. Raises `TraceError`."""
    where = f"{at}: {path}" if at else str(path)
    try:
        return _core.delivery_trace(files.read_text(path))
    except OSError as error:
        raise TraceError([f"{where}: {(error.strerror or str(error)).lower()}"]) from None
    except UnicodeDecodeError:
        raise TraceError([f"{where}: not UTF-8 text; expected a whole number of milliseconds in each line"]) from None
    except ValueError as error:
        line, message = error.args
        raise TraceError([f"{where}:{line}: {message}"]) from None
