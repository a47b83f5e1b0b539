"""The scenarios with which RFC 7928 characterises AQM schemes: a dumbbell with different kinds of traffic.

    senders --- left ===bottleneck=== right --- receivers        the same round trip for all, unless stated

The AQM at the bottleneck uses its defaults; its buffer is the bandwidth-delay product for the longest round trip,
unless `queue` sets a `limit` or has no such parameter. TCP is Reno with SACK and an initial window of 3 segments unless
stated otherwise. n flows have the loss 0.76 n² / S², where S is the sum of the bandwidth-delay product and the buffer
in packets; so n = 1.147 S sqrt(loss). A loss of 0.1 % is mild congestion, 0.5 % medium, 1 % heavy.

Departs: web pages in 7.2 and 9 have 50 objects of 12 kB, a choice that the RFC leaves open. The short flows of 5.1.2
have five sizes (11 to 99 packets); transfers of each size repeat, and the five sizes run side by side. LEDBAT's gain is
1, the maximum allowed by RFC 6817, instead of 10.
"""

from collections.abc import Callable
from typing import Any

from bloatlab.workloads.build import Data, Parameters, Workload, app, bdp, bps, buffered, flows_for, link, marking, ns

_LINE = {"rate": "10mbit", "rtt": "100ms", "queue": "droptail", "length": "60s"}
#: Payload of a segment in bytes.
_SEGMENT = 1448
#: The loss at each level of congestion.   Source: RFC 7928 §8.2.
LEVELS = {"mild": 0.001, "medium": 0.005, "heavy": 0.01}

_RENO: Data = {"preset": "rfc", "initial_window": {"segments": 3}}
#: The TCP stacks, by the names used by the applications.
_TCP: Data = {
    "reno": _RENO,
    "iw10": {"preset": "rfc", "initial_window": {"segments": 10}},
    "cubic": {**_RENO, "congestion_control": "cubic"},
    "ecn": {**_RENO, "ecn": True},
    "small": {**_RENO, "mss": 536},
    "scavenger": {"preset": "ledbat", "ledbat": {"target": "5ms"}},
}

#: Largest number of times that the rate of 8.2.6 changes in a run.
_MOST_CHANGES = 100_000


def _dumbbell(p: Parameters, apps: Data, *, longest: float | None = None, **more: Any) -> Data:
    """Describes `apps`, the bottleneck, and a reverse link with ten times the bottleneck's rate.

    `longest` is the longest round trip in s, which sets the buffer; None: `rtt`.
    """
    rate, rtt = p.quantity("rate", "rate"), p.quantity("rtt", "duration")
    queue = buffered(p.queue(), bdp(rate, longest or rtt))
    links = {
        "bottleneck": link("left", "right", rate, rtt / 2, queue),
        "back": link("right", "left", 10.0 * rate, rtt / 2),
    }
    used = {str(of.get("tcp")) for of in apps.values()}
    tcp = {name: of for name, of in _TCP.items() if name in used}
    return {"duration": ns(p.quantity("length", "duration")), "link": links, "tcp": tcp, "app": apps, **more}


def _bulk(flows: int = 1, tcp: str = "reno", **more: Any) -> Data:
    return app(("left", ["right"]), {"ftp": {"flows": flows}}, **{"tcp": tcp, **more})


def _level(p: Parameters, level: str) -> int:
    """Returns how many flows cause a congestion level if the buffer is as large as the bandwidth-delay product."""
    return flows_for(LEVELS[level], 2.0 * bdp(p.quantity("rate", "rate"), p.quantity("rtt", "duration")))


def _ecn(p: Parameters) -> Data:
    made = _dumbbell(p, {"bulk": _bulk(tcp="ecn"), "deaf": _bulk()})
    made["link"]["bottleneck"]["queue"] = marking(made["link"]["bottleneck"]["queue"])
    return made


def _short(p: Parameters) -> Data:
    segments = p.number("iw", 3, 10)
    # the initial window of "reno" has three segments
    tcp = "reno" if segments == 3 else f"iw{segments}"
    apps = {"bulk": _bulk()}
    for packets in (11, 33, 55, 77, 99):
        files = {"size": f"{packets * _SEGMENT}B", "pause": "100ms"}
        apps[f"short_{packets}"] = app(("left", ["right"]), {"ftp": files}, tcp=tcp)
    made = _dumbbell(p, apps)
    if segments != 3:
        made["tcp"][tcp] = {**_RENO, "initial_window": {"segments": segments}}
    return made


def _unresponsive(share: float, *, beside: bool) -> Callable[[Parameters], Data]:
    def make(p: Parameters) -> Data:
        rate = bps(share * p.quantity("rate", "rate"))
        apps = {"udp": app(("left", ["right"]), {"cbr": {"rate": rate, "size": 1500}})}
        return _dumbbell(p, apps | ({"bulk": _bulk()} if beside else {}))

    return make


def _rtts(p: Parameters) -> Data:
    """Describes two groups of flows, with round trips of `rtt` and `other`.

    The groups' servers are at different distances from the bottleneck.
    """
    near, far = p.quantity("rtt", "duration"), p.quantity("other", "duration")
    flows = p.number("flows", 1, 1000)
    apps = {
        "fixed": app(("left", ["at_rtt"]), {"ftp": {"flows": flows}}, tcp="reno"),
        "other": app(("left", ["at_other"]), {"ftp": {"flows": flows}}, tcp="reno"),
    }
    made = _dumbbell(p, apps, longest=max(near, far))
    for of in made["link"].values():
        of["delay"] = "0s"
    for node, rtt in (("at_rtt", near), ("at_other", far)):
        made["link"][node] = {**link("right", node, None, rtt / 2), "both_ways": True}
    return made


def _mix(p: Parameters, *, bulk: int, web: int, calls: bool) -> Data:
    """Describes video, web, CBR and bulk traffic that crosses the bottleneck from left to right.

    With `calls`, there is also a voice call in both directions.
    """
    page = {"uniform": {"html": "12KB", "per_server": 50, "size": "12KB"}}
    user = {"web": {"servers": 1, "page": page, "connections_per_server": 6, "think": "1s"}}
    users = {f"web_{n}": app(("right", ["left"]), user, tcp="iw10") for n in range(1, web + 1)}
    ways = {"call": "up", "call_back": "down"} if calls else {}
    call = {name: app(("left", ["right"]), {"voip": {"direction": way}}) for name, way in ways.items()}
    apps = {
        "video": app(("right", ["left"]), {"video": {}}, tcp="iw10"),
        **users,
        "cbr": app(("left", ["right"]), {"cbr": {"rate": bps(0.05 * p.quantity("rate", "rate")), "size": 1000}}),
        "bulk": _bulk(bulk),
        **call,
    }
    return _dumbbell(p, apps)


def _varying(p: Parameters) -> Data:
    """Describes congestion that is mild, medium and heavy in successive thirds of the run, because more flows start."""
    third = p.quantity("length", "duration") / 3.0
    apps: Data = {}
    before = 0
    for place, level in enumerate(LEVELS):
        flows = _level(p, level)
        if flows > before:
            apps[level] = _bulk(flows - before, start=ns(third * place))
        before = max(before, flows)
    return _dumbbell(p, apps)


def _capacity(p: Parameters) -> Data:
    """Describes a rate that alternates every `period` between its full value and a tenth of it."""
    rate, period = p.quantity("rate", "rate"), p.quantity("period", "duration")
    length = p.quantity("length", "duration")
    made = _dumbbell(p, {"bulk": _bulk(_level(p, "mild"))})
    number = int(length / period - 1e-9)
    if number > _MOST_CHANGES:
        raise p.refusal("period", f"is too short; expected at most {_MOST_CHANGES} changes of the rate in `length`")
    times = range(1, number + 1)
    changes = [{"at": ns(n * period), "rate": bps(rate / 10.0 if n % 2 else rate)} for n in times]
    made["link"]["bottleneck"]["changes"] = changes
    return made


def _both_ways(p: Parameters) -> Data:
    """Describes the traffic of RFC 7928 §9.1 in one direction, and bulk flows in the other.

    In each direction, there are as many bulk flows as cause mild congestion. Both links have the same rate and queue.
    """
    made = _mix(p, bulk=_level(p, "mild"), web=6, calls=True)
    forward = made["link"]["bottleneck"]
    made["link"]["back"] |= {"rate": forward["rate"], "queue": forward["queue"]}
    made["app"]["bulk_back"] = app(("right", ["left"]), {"ftp": {"flows": _level(p, "mild")}}, tcp="reno")
    return made


def _series_of_two(p: Parameters) -> Data:
    """Describes a path with two bottlenecks in series. The second has 9/10 of the first's rate, and its own queue."""
    apps = {
        "through": app(("left", ["end"]), {"ftp": {"flows": 5}}, tcp="reno"),
        "first": _bulk(5),
        "second": app(("right", ["end"]), {"ftp": {"flows": 5}}, tcp="reno"),
    }
    delay = 0.001
    longest = p.quantity("rtt", "duration") + 2.0 * delay
    made = _dumbbell(p, apps, longest=longest)
    rate = 0.9 * p.quantity("rate", "rate")
    queue = buffered(p.queue("queue2"), bdp(rate, longest))
    made["link"]["second"] = link("right", "end", rate, delay, queue)
    made["link"]["back2"] = link("end", "right", 10.0 * rate, delay)
    return made


def _named(section: str, words: str, make: Callable[[Parameters], Data], **more: str) -> Workload:
    return Workload(f"rfc7928-{section}", words, f"RFC 7928 §{section.partition('-')[0]}", {**_LINE, **more}, make)


FAMILY: tuple[Workload, ...] = (
    _named(
        "4.4",
        "two flows, of segments of 1448 and 536 bytes",
        lambda p: _dumbbell(p, {"large": _bulk(), "small": _bulk(tcp="small")}),
    ),
    _named("4.5", "a flow with ECN beside one without", _ecn),
    _named("5.1.1", "one long flow", lambda p: _dumbbell(p, {"bulk": _bulk()})),
    _named("5.1.2", "a long flow and repeated short ones, of 11 to 99 packets", _short, iw="3"),
    _named("5.2", "CUBIC beside Reno", lambda p: _dumbbell(p, {"bulk": _bulk(), "cubic": _bulk(tcp="cubic")})),
    _named("5.3", "UDP at 1.2 times the capacity", _unresponsive(1.2, beside=False)),
    _named("5.3-tcp", "UDP at 0.75 of the capacity, and a Reno flow", _unresponsive(0.75, beside=True)),
    _named(
        "5.4",
        "LEDBAT (target 5 ms) beside Reno",
        lambda p: _dumbbell(p, {"bulk": _bulk(), "background": _bulk(tcp="scavenger")}),
    ),
    _named(
        "6.2", "two groups of flows: round trips of `rtt` and of `other` (5 to 560 ms)", _rtts, other="20ms", flows="1"
    ),
    _named("7.2", "video, web, CBR and bulk", lambda p: _mix(p, bulk=1, web=1, calls=False)),
    *(
        _named(
            f"8.2.{n}",
            f"{level} congestion: flows for {LEVELS[level] * 100:g} % of loss",
            lambda p, level=level: _dumbbell(p, {"bulk": _bulk(_level(p, level))}),
        )
        for n, level in enumerate(LEVELS, 2)
    ),
    _named("8.2.5", "mild, medium and heavy congestion, a third of the run each", _varying),
    _named("8.2.6", "the capacity falls to a tenth and rises, each `period`", _capacity, rate="100mbit", period="20s"),
    _named("9.1", "a call, 6 web users, CBR, video and 5 bulk flows", lambda p: _mix(p, bulk=5, web=6, calls=True)),
    _named("9.2", "9.1 with mild congestion in both directions", _both_ways),
    _named("10", "two AQMs in series; the second is `queue2`", _series_of_two, queue2="droptail"),
)
