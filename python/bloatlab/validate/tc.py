"""The words of tc(8): a queue discipline as one writes it for Linux, read into names and values.

    pfifo limit 20
    fq_codel noecn target 10ms
    red limit 90840 min 22710 max 45420 avpkt 1514 burst 100 probability 0.1 bandwidth 10mbit
    ROOT cake bandwidth 5mbit besteffort

ROOT says that the discipline shapes on its own; without it, it is the child of a shaper. Units are tc's: a bare size is
bytes and its k, m and g are powers of 1024, a bare time is microseconds, a bare rate is bit/s. Only the text is read
here; what bloatlab makes of it is `bloatlab.validate.queues`. The words of `CORE` are not read here at all.

Source: tc(8) and the manual page of each discipline (tc-codel(8), tc-red(8), ...).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

#: Longest piece of a text that a message repeats.
CLIP = 60


class TcError(ValueError):
    """A text that tc would refuse, too; the message is one line."""


class Kind(Enum):
    """What an option's word is followed by."""

    FLAG = "nothing"
    COUNT = "a whole number"
    NUMBER = "a number"
    SIZE = "a size such as 1514, 32Mb"
    TIME = "a time such as 5ms"
    RATE = "a rate such as 10mbit"
    SELECTOR = "VALUE/MASK, each a byte, such as 0x1/0x3"


@dataclass(frozen=True, slots=True)
class Qdisc:
    """A queue discipline with the options that were named: bytes, seconds, bit/s, text; True for a flag."""

    kind: str
    root: bool
    options: Mapping[str, float | bool | str]
    text: str

    def number(self, name: str) -> float | None:
        """A named option's value; None where the kernel's default holds."""
        value = self.options.get(name)
        return None if value is None else float(value)

    def count(self, name: str, default: int) -> int:
        """A named option's value as a whole number, or `default`."""
        return int(self.options.get(name, default))

    def text_of(self, name: str) -> str | None:
        """A named selector's text."""
        value = self.options.get(name)
        return None if value is None else str(value)

    def has(self, name: str) -> bool:
        """Whether a flag stands there."""
        return name in self.options


_CODEL = {
    "limit": Kind.COUNT,
    "target": Kind.TIME,
    "interval": Kind.TIME,
    "ce_threshold": Kind.TIME,
    "ecn": Kind.FLAG,
    "noecn": Kind.FLAG,
}
_FAIR = {"flows": Kind.COUNT, "quantum": Kind.SIZE, "memory_limit": Kind.SIZE}
_PIE = {
    "limit": Kind.COUNT,
    "target": Kind.TIME,
    "tupdate": Kind.TIME,
    "alpha": Kind.NUMBER,
    "beta": Kind.NUMBER,
    "ecn": Kind.FLAG,
    "noecn": Kind.FLAG,
    "bytemode": Kind.FLAG,
    "nobytemode": Kind.FLAG,
    "dq_rate_estimator": Kind.FLAG,
    "no_dq_rate_estimator": Kind.FLAG,
}
_RED = {
    "limit": Kind.SIZE,
    "min": Kind.SIZE,
    "max": Kind.SIZE,
    "avpkt": Kind.SIZE,
    "burst": Kind.COUNT,
    "probability": Kind.NUMBER,
    "bandwidth": Kind.RATE,
    "ecn": Kind.FLAG,
    "harddrop": Kind.FLAG,
    "nodrop": Kind.FLAG,
    "adaptive": Kind.FLAG,
}
#: Words of tc-cake(8) that stand alone.
_CAKE_FLAGS = """
    unlimited besteffort diffserv3 diffserv4 diffserv8 precedence flowblind srchost dsthost hosts flows
    dual-srchost dual-dsthost triple-isolate nat nonat wash nowash split-gso no-split-gso ack-filter
    ack-filter-aggressive no-ack-filter ingress egress autorate-ingress raw noatm atm ptm docsis ethernet conservative
    pppoe-ptm datacentre lan metro regional internet oceanic satellite
"""
_CAKE = dict.fromkeys(_CAKE_FLAGS.split(), Kind.FLAG) | {
    "bandwidth": Kind.RATE,
    "rtt": Kind.TIME,
    "memlimit": Kind.SIZE,
    "overhead": Kind.COUNT,
    "mpu": Kind.COUNT,
}
#: Disciplines whose words the core reads, with its own defaults, which are the kernel's: here they only have a name.
CORE = ("dualpi2",)

#: The options of each discipline that is known by name.
DISCIPLINES: Mapping[str, Mapping[str, Kind]] = {
    "pfifo": {"limit": Kind.COUNT},
    "bfifo": {"limit": Kind.SIZE},
    "codel": _CODEL,
    "fq_codel": _CODEL | _FAIR | {"drop_batch": Kind.COUNT, "ce_threshold_selector": Kind.SELECTOR},
    "pie": _PIE,
    "fq_pie": _PIE | _FAIR | {"ecn_prob": Kind.NUMBER},
    "sfq": {
        "limit": Kind.COUNT,
        "depth": Kind.COUNT,
        "flows": Kind.COUNT,
        "divisor": Kind.COUNT,
        "quantum": Kind.SIZE,
        "perturb": Kind.NUMBER,
        "headdrop": Kind.FLAG,
    },
    "red": _RED,
    "cake": _CAKE,
    "fq": {},
}


def parse(text: str) -> Qdisc:
    """The discipline that `text` names. Raises `TcError` in one line."""
    words = text.split()
    root = bool(words) and words[0] == "ROOT"
    if root:
        words = words[1:]
    if not words:
        raise TcError(f"{clip(text)!r}: names no queue discipline; for example pfifo limit 100")
    kind, rest = words[0], words[1:]
    if kind in CORE:
        return Qdisc(kind, root, {}, " ".join(words))
    if kind not in DISCIPLINES:
        raise TcError(f"{clip(kind)!r} is no known queue discipline{_nearest(kind, (*DISCIPLINES, *CORE))}")
    known = DISCIPLINES[kind]
    options: dict[str, float | bool | str] = {}
    place = 0
    # each turn takes at least one word
    while place < len(rest):
        name = rest[place]
        if name not in known:
            raise TcError(f"{kind}: {clip(name)!r} is no option of it{_nearest(name, known)}")
        place += 1
        if known[name] is Kind.FLAG:
            options[name] = True
            continue
        if place == len(rest):
            raise TcError(f"{kind}: {name} is followed by {known[name].value}")
        options[name] = _value(rest[place], known[name], f"{kind}: {name}")
        place += 1
    return Qdisc(kind, root, options, text)


_SIZES = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
_TIMES = {"": 1e-6, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
#: The last four are bytes per second, as tc has it.
_RATES = {"": 1.0, "bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "bps": 8.0, "kbps": 8e3, "mbps": 8e6, "gbps": 8e9}
_UNITS: Mapping[Kind, Mapping[str, float]] = {
    Kind.COUNT: {"": 1},
    Kind.NUMBER: {"": 1},
    Kind.SIZE: _SIZES,
    Kind.TIME: _TIMES,
    Kind.RATE: _RATES,
}


#: A byte as tc reads one: decimal, or hexadecimal behind 0x.
_BYTE = r"(?:0x[0-9a-f]{1,2}|[0-9]{1,3})"


def _value(word: str, kind: Kind, where: str) -> float | str:
    """What a word means: a number in bytes, seconds, bit/s, or a selector as it stands."""
    if kind is Kind.SELECTOR:
        if not re.fullmatch(f"{_BYTE}/{_BYTE}", word.lower(), flags=re.ASCII):
            raise TcError(f"{where} {clip(word)!r} is not {kind.value}")
        return word.lower()
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", word.lower(), flags=re.ASCII)
    factor = _UNITS[kind].get(found[2]) if found else None
    whole = kind is not Kind.COUNT or (found is not None and "." not in found[1])
    if found is None or factor is None or not whole:
        raise TcError(f"{where} {clip(word)!r} is not {kind.value}")
    return float(found[1]) * factor


def clip(text: str) -> str:
    """Text for a message: no longer than a line has room for."""
    return text if len(text) <= CLIP else text[: CLIP - 3] + "..."


def _nearest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    found = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if found:
        return f'; did you mean "{found[0]}"?'
    return f"; there is {', '.join(names)}" if 0 < len(names) <= 12 else ""
