"""Recorded delivery traces of links: the files that a scenario names become part of it.

    delivery.trace = { file = "lte.down" }   # of a link; the path from the scenario's folder

When a scenario is read, the lines of the file stand in it: a changed file is another scenario, results and stores name
what they were made by, and a cluster's workers need no file. See docs/links.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bloatlab import _core, files

#: In a resolved scenario that has such a trace.
_SIGN = '"delivery":{"trace":{'


class TraceError(_core.ScenarioError):
    """A file that is no delivery trace. `args[0]` holds one line."""


def completed(text: str, folder: Path | None, source: str) -> str:
    """A resolved scenario with the lines of its traces; `text` itself where it has none, or has their lines.

    Files are looked for from `folder`. `source` names the scenario in messages. Raises `TraceError`.
    """
    if _SIGN not in text:
        return text
    tree = json.loads(text)
    unread = [(path, trace) for path, trace in _traces(tree) if "source" not in trace]
    for path, trace in unread:
        at = f"{source}: {path}" if source else path
        trace["source"] = read((folder or Path()) / trace["file"], at)["compact"]
    return json.dumps(tree) if unread else text


def _traces(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and table of each link's trace."""
    for name, link in tree["link"].items():
        if "trace" in link.get("delivery", {}):
            yield f"link.{name}.delivery.trace.file", link["delivery"]["trace"]


def written(resolved: str, link: str) -> str:
    """What a link of a resolved scenario lets through, in mahimahi's format. Raises `ScenarioError`."""
    return _core.delivery_file(resolved, link)


def read(path: Path, at: str = "") -> _core.DeliveryTrace:
    """The trace in a file, `at` naming who asks for it. Raises `TraceError`."""
    where = f"{at}: {path}" if at else str(path)
    try:
        return _core.delivery_trace(files.read_text(path))
    except OSError as error:
        raise TraceError([f"{where}: {(error.strerror or str(error)).lower()}"]) from None
    except UnicodeDecodeError:
        raise TraceError([f"{where}: not a text file; expected a whole number of milliseconds in each line"]) from None
    except ValueError as error:
        line, message = error.args
        raise TraceError([f"{where}:{line}: {message}"]) from None
