"""Laws written in Python: a class that passes, marks or drops each packet, like the core's own laws.

    queue.python = { law = "mylaw.py:MyLaw", target = "5ms" }   # in a scenario; path relative to its folder
    bloatlab.run(scenario, laws={"mine": MyLaw})                # for queue.python = { law = "mine" }

When a scenario that names a file is read, it gets a copy of the file's source and of every parameter of the class, so a
changed file makes a new scenario. Results and stores record the law itself, and a cluster's workers need no file. Each
run executes the source again. A class passed as an argument is used as it is. See docs/adding-a-law-in-python.md.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from bloatlab import _core
from bloatlab.classes import ClassError, Kind

#: A law's verdict on a packet; None is "pass".
Verdict = Literal["pass", "drop", "mark"]

#: The arguments of a law's methods: a packet, and a view of its queue and link.
Packet = _core.LawPacket
View = _core.LawView

#: The methods of a law and their arguments after `self`; `crates/qdisc/src/law/mod.rs` says when each is called.
METHODS: Mapping[str, tuple[str, ...]] = {
    "arrive": ("packet", "view"),
    "head": ("packet", "view"),
    "left": ("packet", "view"),
    "empty": ("now_ns",),
    "overflow": ("now_ns",),
    "at_rest": ("now_ns",),
    "tick": ("view",),
    "probe": (),
}


class LawError(ClassError):
    """A Python law is invalid, or failed in a run. `args[0]` is a list of one line; the cause is chained."""


def _tables(tree: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields a tuple for each Python law: its link as "link.NAME", the path of its table, and the table."""
    for name, link in tree["link"].items():
        for kind, table in link["queue"].items():
            path = f"link.{name}.queue.{kind}"
            if kind == "python":
                yield f"link.{name}", path, table
            elif isinstance(table.get("law"), dict) and "python" in table["law"]:
                yield f"link.{name}", f"{path}.law.python", table["law"]["python"]


KIND = Kind(
    noun="law",
    reserved=("law", "limit", "source"),
    owner="the queue's",
    methods=METHODS,
    required=(("arrive", "head"),),
    instead={"random": "view.random()", "secrets": "view.random()", "time": "view.now_ns"},
    argument="laws",
    written="queue.python",
    place="queue",
    example="mylaw.py:MyLaw",
    error=LawError,
    tables=_tables,
)
