"""The tests of flent (flent.org): Realtime Response Under Load and its variants, under flent's own names.

In RRUL, a client loads both directions of a line to a server for `length`; the probes begin 5 s before the load and end
5 s after it. Probes are UDP request and response (the next request leaves when the response arrives, or after 1 s) and
ICMP echo every 0.2 s. A flow's DSCP is the same in both directions. Variants change the load, the probes or the times.

Source: flent/tests/*.conf of flent 2.
"""

from collections.abc import Callable, Mapping, Sequence

from bloatlab.workloads.build import DSCP, Data, Parameters, Workload, app, bps, link, ns

_SOURCE = "flent 2, flent/tests/{}.conf"
#: Time from the start of the run to the load, and from the end of the load to the end of the run, in s.
SILENCE = 5.0
#: A UDP probe: 20 bytes of IPv4, 8 of UDP, 1 of data.
_UDP_PROBE = "29B"

#: Parameters of the line: rates down and up, base round trip, queue in both directions, the senders' TCP, duration of
#: the load.
_LINE = {"rate": "50mbit", "up": "10mbit", "rtt": "40ms", "queue": "droptail", "tcp": "linux-6", "length": "60s"}

_WAYS = ("up", "down")

#: RRUL's flows: their names in flent, and their DSCPs.
_CLASSES = (("BE", "CS0"), ("BK", "CS1"), ("CS5", "CS5"), ("EF", "EF"))


def _line(p: Parameters, servers: Mapping[str, float] | None = None, *, beside: float = 2.0 * SILENCE) -> Data:
    """Describes the client's line, and a run that lasts `beside` seconds longer than the parameter `length`.

    `servers` maps the names of the servers behind the line to their round trips in s. If it is None, there is a single
    server, whose round trip is `rtt`.
    """
    queue, rtt = p.queue(), p.quantity("rtt", "duration")
    rate, up = p.quantity("rate", "rate"), p.quantity("up", "rate")
    length = p.quantity("length", "duration") + beside
    far = "server" if servers is None else "router"
    delay = rtt / 2 if servers is None else 0.0
    links: Data = {
        "down": link(far, "client", rate, delay, queue),
        "up": link("client", far, up, delay, queue),
    }
    for name, of in (servers or {}).items():
        links[f"to_{name}"] = {**link("router", name, None, of / 2), "both_ways": True}
    return {"duration": ns(length), "start_spread": "0s", "link": links, "record": {"interval": "200ms"}}


def _ends(server: str = "server") -> tuple[str, Sequence[str]]:
    return "client", [server]


def _tcp(p: Parameters, way: str, *, flows: int = 1, mark: str = "CS0", server: str = "server", **more: object) -> Data:
    traffic = {"ftp": {"flows": flows, "direction": way, "length": ns(p.quantity("length", "duration"))}}
    given: Data = {"start": ns(SILENCE), "tcp": p.text("tcp"), "dscp": DSCP[mark], **more}
    return app(_ends(server), traffic, **given)


def _udp(mark: str) -> Data:
    return app(_ends(), {"ping": {"after_answer": True, "size": _UDP_PROBE}}, dscp=DSCP[mark])


def _icmp(server: str = "server") -> Data:
    return app(_ends(server), {"ping": {"interval": "200ms", "size": "84B"}})


def _both(p: Parameters, marks: Sequence[tuple[str, str]], probes: Sequence[tuple[str, str]]) -> Data:
    """Describes an upload and a download for each item of `marks`, a UDP probe for each of `probes`, and ICMP pings.

    The names of the applications must be the same as in `_series`.
    """
    apps = {f"{way}load_{name}": _tcp(p, way, mark=mark) for way in _WAYS for name, mark in marks}
    apps |= {f"udp_{name}": _udp(mark) for name, mark in probes}
    return {**_line(p), "app": {**apps, "ping": _icmp()}}


def _series(marks: Sequence[tuple[str, str]], probes: Sequence[tuple[str, str]]) -> dict[str, str]:
    found = {f"{way}load_{name}": f"TCP {way}load {name}" for way in _WAYS for name, _ in marks}
    return {**found, **{f"udp_{name}": f"Ping (ms) UDP {name}" for name, _ in probes}, "ping": "Ping (ms) ICMP"}


def _test(
    name: str,
    words: str,
    make: Callable[[Parameters], Data],
    series: Mapping[str, str],
    line: Mapping[str, str] = _LINE,
) -> Workload:
    return Workload(name, words, _SOURCE.format(name), line, make, series)


def _family(name: str, words: str, marks: Sequence[tuple[str, str]], probes: Sequence[tuple[str, str]]) -> Workload:
    return _test(name, words, lambda p: _both(p, marks, probes), _series(marks, probes))


_PROBES = (("EF", "EF"), ("BK", "CS1"), ("BE", "CS0"))
_BE = (("BE", "CS0"), ("BE2", "CS0"), ("BE3", "CS0"), ("BE4", "CS0"))
_BE_PROBES = (("BE1", "CS0"), ("BE2", "CS0"), ("BE3", "CS0"))
_CS8 = tuple((f"CS{n}", f"CS{n}") for n in range(8))


def _torrent(p: Parameters) -> Data:
    made = _both(p, (("BE", "CS0"),), _PROBES)
    for way in _WAYS:
        made["app"][f"{way}load_Torrent"] = {**_tcp(p, way, flows=6, mark="CS1"), "tcp": "ledbat"}
    return made


def _flows(*ways: str, number: int = 0) -> Callable[[Parameters], Data]:
    """Returns a function that describes `number` TCP flows in each of the directions `ways`, and ICMP pings.

    If `number` is 0, the parameter `flows` sets the number of flows.
    """

    def make(p: Parameters) -> Data:
        flows = number or p.number("flows", 1, 1000)
        return {**_line(p), "app": {**{f"{way}load": _tcp(p, way, flows=flows) for way in ways}, "ping": _icmp()}}

    return make


def _be_nflows(p: Parameters) -> Data:
    made = _flows(*_WAYS)(p)
    return {**made, "app": {**made["app"], "udp_BE": _udp("CS0")}}


#: Servers in the RTT fairness test: name, name of the flows in flent, DSCP, and round trip as a multiple of `rtt`.
_FAIR = (("s1", "BE1", "CS0", 0.5), ("s2", "BE2", "CS0", 1.0), ("s3", "BK1", "CS1", 2.0), ("s4", "BK2", "CS1", 4.0))


def _rtt_fair(p: Parameters) -> Data:
    rtt = p.quantity("rtt", "duration")
    apps = {f"{w}load_{name}": _tcp(p, w, mark=mark, server=to) for w in _WAYS for to, name, mark, _ in _FAIR}
    apps |= {f"icmp{place}": _icmp(server) for place, (server, *_) in enumerate(_FAIR, 1)}
    return {**_line(p, {server: rtt * of for server, *_, of in _FAIR}), "app": apps}


def _fair_series() -> dict[str, str]:
    flows = {f"{w}load_{name}": f"TCP {w}load {name} {server}" for w in _WAYS for server, name, *_ in _FAIR}
    return {**flows, **{f"icmp{n}": f"Ping (ms) ICMP{n} {server}" for n, (server, *_) in enumerate(_FAIR, 1)}}


#: The flows of the square wave: name, congestion control, and start time as a multiple of 5 s.
_SQUARE = (("bbr_1", "bbr", 0), ("cubic_2", "cubic", 1), ("cubic_3", "cubic", 5), ("bbr_4", "bbr", 3))


def _squarewave(p: Parameters) -> Data:
    """Describes flows that each last for `length`. The first flow starts at the beginning of the run.

    flent sends no ICMP pings in this test; they are an addition.
    """
    apps = {name: {**_tcp(p, "up"), "tcp": tcp, "start": ns(SILENCE * at)} for name, tcp, at in _SQUARE}
    return {**_line(p, beside=6.0 * SILENCE), "app": {**apps, "ping": _icmp()}}


def _voip(p: Parameters) -> Data:
    made = _both(p, _BE, _BE_PROBES)
    made["app"]["VoIP"] = app(_ends(), {"voip": {}})
    return made


def _http(p: Parameters) -> Data:
    made = _both(p, _BE, _BE_PROBES)
    page = {"uniform": {"html": "100KB", "per_server": 100, "size": "12KB"}}
    made["app"]["HTTP"] = app(_ends(), {"web": {"servers": 1, "page": page, "think": "1s"}}, tcp=p.text("tcp"))
    return made


def _bursts(p: Parameters) -> Data:
    """Describes bursts of UDP, one every 10 s, and probes. The run ends after `length`."""
    burst = {"bytes": "150KB", "packet": "500B", "interval": "10s", "transport": "udp"}
    made = _both(p, (), _PROBES)
    made["app"]["burst"] = app(_ends(), {"burst": burst}, start=ns(SILENCE))
    return {**made, **_line(p, beside=0.0)}


def _flood(p: Parameters) -> Data:
    rate = 1.2 * p.quantity("up", "rate")
    end = SILENCE + p.quantity("length", "duration")
    flood = app(_ends(), {"cbr": {"rate": bps(rate), "size": 1500}}, start=ns(SILENCE), stop=ns(end))
    return {**_line(p), "app": {"flood": flood, "ping": _icmp()}}


def _loads(*ways: str, mark: str = "") -> dict[str, str]:
    return {f"{way}load": f"TCP {way}load{mark}" for way in ways}


_N = {**_LINE, "flows": "4"}
_ICMP = {"ping": "Ping (ms) ICMP"}

FAMILY: tuple[Workload, ...] = (
    _family("rrul", "4 TCP down and 4 up in four classes; UDP probes in three, ICMP", _CLASSES, _PROBES),
    _family("rrul_be", "the same, all best effort", _BE, _BE_PROBES),
    _family("rrul_noclassification", "rrul, its TCP all best effort, its probes marked", _BE, _PROBES),
    _family("rrul_cs8", "8 TCP down and 8 up, CS0 to CS7", _CS8, _PROBES),
    _test(
        "rrul_torrent",
        "one best effort and 6 LEDBAT (CS1) each way",
        _torrent,
        {**_series((("BE", "CS0"),), _PROBES), **{f"{way}load_Torrent": f"TCP {way}load Torrent" for way in _WAYS}},
    ),
    _test(
        "rrul_be_nflows",
        "`flows` TCP each way; a UDP probe, ICMP",
        _be_nflows,
        {**_loads(*_WAYS, mark=" BE"), **_series((), (("BE", "CS0"),))},
        _N,
    ),
    *(_test(f"tcp_n{way}", f"`flows` TCP {way}, ICMP", _flows(way), {**_loads(way), **_ICMP}, _N) for way in _WAYS),
    *(
        _test(f"tcp_{n}{way}", f"{n} TCP {way}, ICMP", _flows(way, number=n), {**_loads(way), **_ICMP})
        for way in _WAYS
        for n in (1, 2, 4, 6, 8, 12)
    ),
    _test("rtt_fair", "4 servers at 0.5, 1, 2 and 4 `rtt`, a flow each way to each", _rtt_fair, _fair_series()),
    _test(
        "tcp_4up_squarewave",
        "4 uploads, BBR and CUBIC, one after the other",
        _squarewave,
        {**{name: f"TCP {name.replace('_', ' ')}" for name, *_ in _SQUARE}, **_ICMP},
    ),
    _test("voip-rrul", "rrul_be and a call", _voip, _series(_BE, _BE_PROBES)),
    _test("http-rrul", "rrul_be and a web user (page sizes ours)", _http, _series(_BE, _BE_PROBES)),
    _test("bursts", "150 kB of UDP up at once every 10 s (size ours); UDP probes, ICMP", _bursts, _series((), _PROBES)),
    _test("udp_flood", "UDP at 1.2 times `up`, ICMP", _flood, _ICMP),
    _test("ping", "ICMP on the idle line", lambda p: {**_line(p, beside=0.0), "app": {"ping": _icmp()}}, _ICMP),
)
