//! The table of tc syntax: the tc disciplines that we model, their keywords, and the parameter that each keyword sets.
//!
//! Source: tc-pfifo(8), tc-codel(8), tc-fq_codel(8), tc-pie(8), tc-fq_pie(8), tc-sfq(8), tc-red(8), tc-cake(8), tc-dualpi2(8).

/// The argument that follows a keyword, and its conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A number of packets: `1000` or `1000p`.
    Packets,
    /// A size in bytes: `1514`, `64kb`; k, m and g are powers of 1024, as in all sizes of tc.
    Size,
    /// A time with its unit: `5ms`.
    Time,
    /// Whole seconds.
    Seconds,
    /// A rate: `10mbit`.
    Rate,
    /// The rate of a shaper: `10mbit`, or `unlimited`, which `tc qdisc show` prints if there is no shaper.
    Shaped,
    /// A whole number.
    Count,
    /// A whole number of packets, for a parameter that is a plain number: `1`, or `1p` as in `tc qdisc show`.
    PacketCount,
    /// A whole number, possibly negative.
    Signed,
    /// A whole number of sixteenths: the argument 2 sets the parameter to 2/16.
    Sixteenths,
    /// A whole percentage.
    Percent,
    /// A probability: `0.02`.
    Share,
    /// A number: `0.16`.
    Number,
    /// A gain of dualpi2, a number in 1/s. The kernel stores a multiple of 1/256, which `tc qdisc show` prints with six
    /// digits.
    Gain,
    /// A value and a mask of DSCP and ECN: `0x1/0x3`.
    Selector,
    /// A time with its unit or a number of packets: `1ms`, `5p`.
    Threshold,
    /// A round-trip time with its unit, from which tc computes several parameters of dualpi2. Such a keyword is read but
    /// never written, because each of these parameters also has a keyword of its own.
    RoundTrip,
    /// A value of the parameter in our own notation, for a keyword that tc does not have.
    Own,
    /// No argument: sets the parameter to this value.
    Flag(bool),
    /// No argument: sets the parameter to this JSON value.
    Is(&'static str),
    /// No argument: sets several parameters, given as pairs of a name and a JSON value. Such a keyword is read but
    /// never written, because each of its parameters also has a keyword of its own.
    Several(&'static [(&'static str, &'static str)]),
    /// No argument: adds this number of bytes to cake's overhead, and sets several parameters like `Several`.
    Adds(i64, &'static [(&'static str, &'static str)]),
    /// No argument: sets the parameter to this JSON value, and also sets several parameters like `Several`. The keyword
    /// is written whenever its own parameter has this value, whatever the values of the others.
    IsAnd(&'static str, &'static [(&'static str, &'static str)]),
    /// A tc option for which we have no parameter, with its number of arguments.
    Absent(usize),
}

impl Kind {
    /// Returns the argument's placeholder in a synopsis, and a description of its valid values.
    fn argument(self) -> (&'static str, &'static str) {
        match self {
            Self::Packets => (" PACKETS", "a number of packets, such as 1000 or 1000p"),
            Self::Size => (" BYTES", "a size such as 1514 or 64kb (1024 bytes each, as tc counts)"),
            Self::Time | Self::RoundTrip => (" TIME", "a time with its unit, such as 5ms or 100us"),
            Self::Seconds => (" SECONDS", "a whole number of seconds, such as 10"),
            Self::Rate => (" RATE", "a rate such as 10mbit"),
            Self::Shaped => (" RATE", "a rate such as 10mbit, or unlimited"),
            Self::Count => (" NUMBER", "a whole number"),
            Self::PacketCount => (" PACKETS", "a number of packets, such as 1 or 1p"),
            Self::Signed => (" NUMBER", "a whole number such as 18 or -4"),
            Self::Sixteenths => (" NUMBER", "a whole number from 0 to 32"),
            Self::Percent => (" PERCENT", "a whole number from 0 to 100"),
            Self::Share => (" PROBABILITY", "a probability from 0 to 1"),
            Self::Number | Self::Gain => (" NUMBER", "a number, such as 0.16"),
            Self::Selector => (" VALUE/MASK", "VALUE/MASK, such as 0x1/0x3 for ECT(1)"),
            Self::Threshold => {
                (" TIME|PACKETS", "a time with its unit, such as 1ms, or a number of packets, such as 5p")
            }
            Self::Own => ("", "a keyword"),
            Self::Flag(_) | Self::Is(_) | Self::Several(_) | Self::Adds(..) | Self::IsAnd(..) | Self::Absent(_) => {
                ("", "nothing")
            }
        }
    }

    /// Returns a description of the valid values, for error messages.
    pub(crate) fn valid(self) -> &'static str {
        self.argument().1
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Keyword {
    /// The keyword in tc's spelling.
    pub tc: &'static str,
    /// The parameter's path in the discipline's table.
    pub field: &'static str,
    pub kind: Kind,
}

/// A tc discipline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grammar {
    /// Name of the discipline in tc.
    pub tc: &'static str,
    /// Name of the discipline in a scenario.
    pub name: &'static str,
    /// Parameters that tc's name for the discipline implies, as JSON. There is one exception: if the whole text is just
    /// a name of ours, such as `red`, it means our discipline with its own defaults.
    pub base: &'static [(&'static str, &'static str)],
    /// The discipline's keywords, in groups shared by several disciplines.
    pub keywords: &'static [&'static [Keyword]],
}

impl Grammar {
    /// Returns the synopsis as on a manual page: `codel [limit PACKETS] [target TIME] [ecn]`.
    pub(crate) fn synopsis(&self) -> String {
        let ours = self.keywords().filter(|w| !matches!(w.kind, Kind::Absent(_) | Kind::Own));
        let keywords = ours.map(|w| format!(" [{}{}]", w.tc, w.kind.argument().0)).collect::<String>();
        format!("{}{keywords}", self.tc)
    }

    pub(crate) fn keywords(&self) -> impl Iterator<Item = &'static Keyword> {
        self.keywords.iter().copied().flatten()
    }
}

const fn w(tc: &'static str, field: &'static str, kind: Kind) -> Keyword {
    Keyword { tc, field, kind }
}

use Kind::{
    Absent, Adds, Count, Flag, Gain, Is, IsAnd, Number, Own, PacketCount, Packets, Percent, Rate, RoundTrip, Seconds,
    Selector, Several, Shaped, Share, Signed, Sixteenths, Size, Threshold, Time,
};

/// Size of a frame in bytes, used to convert between packets and bytes, as in Linux.
pub(super) const FRAME: u64 = 1514;

const PACKETS: &[Keyword] = &[w("limit", "limit", Packets)];
const BYTES: &[Keyword] = &[w("limit", "limit", Size)];
const CODEL: &[Keyword] = &[
    w("target", "target", Time),
    w("interval", "interval", Time),
    w("ecn", "ecn", Flag(true)),
    w("noecn", "ecn", Flag(false)),
    w("ce_threshold", "ce_threshold", Time),
];
const FAIR: &[Keyword] = &[
    w("limit", "limit", Packets),
    w("flows", "flows", Count),
    w("quantum", "quantum", Size),
    w("memory_limit", "memory_limit", Size),
];
const FQ_CODEL: &[Keyword] =
    &[w("drop_batch", "drop_batch", Count), w("ce_threshold_selector", "ce_threshold_selector", Selector)];
/// Lists the keywords of PIE. Each parameter's name is prefixed with `$at`. If an additional keyword `$more` is given,
/// it follows the keywords `alpha` and `beta`.
macro_rules! pie {
    ($at:literal $(, $more:expr)?) => {
        &[
            w("target", concat!($at, "target"), Time),
            w("tupdate", concat!($at, "tupdate"), Time),
            w("alpha", concat!($at, "alpha"), Sixteenths),
            w("beta", concat!($at, "beta"), Sixteenths),
            $($more,)?
            w("ecn", concat!($at, "ecn"), Flag(true)),
            w("noecn", concat!($at, "ecn"), Flag(false)),
            w("bytemode", concat!($at, "bytemode"), Flag(true)),
            w("nobytemode", concat!($at, "bytemode"), Flag(false)),
            w("dq_rate_estimator", concat!($at, "delay"), Is("\"departure_rate\"")),
            w("no_dq_rate_estimator", concat!($at, "delay"), Is("\"timestamp\"")),
        ]
    };
}
const PIE: &[Keyword] = pie!("");
const FQ_PIE: &[Keyword] = pie!("pie.", w("ecn_prob", "pie.mark_ecnth", Percent));
const VARIANT: &[Keyword] = &[w("variant", "pie.variant", Own)];
const RED: &[Keyword] = &[
    w("limit", "limit", Size),
    w("min", "min", Size),
    w("max", "max", Size),
    w("avpkt", "avpkt", Size),
    w("burst", "burst", Count),
    w("probability", "probability", Share),
    w("bandwidth", "bandwidth", Rate),
    w("ecn", "ecn", Flag(true)),
    w("harddrop", "harddrop", Flag(true)),
    w("adaptive", "", Absent(0)),
    w("nodrop", "", Absent(0)),
    w("qevent", "", Absent(3)),
];
const SFQ: &[Keyword] = &[
    w("limit", "limit", Packets),
    w("perturb", "perturb", Seconds),
    w("quantum", "quantum", Size),
    w("depth", "queue_limit", Packets),
    w("divisor", "queues", Count),
    w("headdrop", "overflow", Is(HEADDROP)),
    w("flows", "", Absent(1)),
    w("redflowlimit", "", Absent(1)),
    w("min", "", Absent(1)),
    w("max", "", Absent(1)),
    w("avpkt", "", Absent(1)),
    w("burst", "", Absent(1)),
    w("probability", "", Absent(1)),
    w("ecn", "", Absent(0)),
    w("harddrop", "", Absent(0)),
];

const DUALPI2: &[Keyword] = &[
    w("limit", "limit", Packets),
    w("memlimit", "memory_limit", Size),
    w("coupling_factor", "coupling_factor", Number),
    w("step_thresh", "step_thresh", Threshold),
    w("min_qlen_step", "min_qlen_step", PacketCount),
    w("drop_on_overload", "drop_overload", Flag(true)),
    w("overflow", "drop_overload", Flag(false)),
    w("drop_enqueue", "drop_early", Flag(true)),
    w("drop_dequeue", "drop_early", Flag(false)),
    w("l4s_ect", "ecn_mask", Is("1")),
    w("any_ect", "ecn_mask", Is("3")),
    w("classic_protection", "classic_protection", Percent),
    w("target", "target", Time),
    w("tupdate", "tupdate", Time),
    w("alpha", "alpha", Gain),
    w("beta", "beta", Gain),
    w("max_rtt", "rtt_max", RoundTrip),
    w("typical_rtt", "target", RoundTrip),
    w("split_gso", "split_gso", Flag(true)),
    w("no_split_gso", "split_gso", Flag(false)),
];

/// The keywords of tc-cake(8). Keywords of kind `Adds` add the overhead of a type of line to the overhead so far, as in
/// tc; `overhead`, `conservative` and `raw` replace it. Most keywords of kind `Several` select a round-trip time.
/// `conservative` sets the overhead and the framing instead; `nonat` and `via-ethernet` set nothing.
///
/// Source: iproute2 tc/q_cake.c (facts).
const CAKE: &[Keyword] = &[
    w("bandwidth", "bandwidth", Shaped),
    w("unlimited", "bandwidth", Is("null")),
    w("besteffort", "diffserv", Is("\"besteffort\"")),
    w("diffserv3", "diffserv", Is("\"diffserv3\"")),
    w("diffserv4", "diffserv", Is("\"diffserv4\"")),
    w("diffserv8", "diffserv", Is("\"diffserv8\"")),
    w("precedence", "diffserv", Is("\"precedence\"")),
    w("flowblind", "isolation", Is("\"flowblind\"")),
    w("srchost", "isolation", Is("\"srchost\"")),
    w("dsthost", "isolation", Is("\"dsthost\"")),
    w("hosts", "isolation", Is("\"hosts\"")),
    w("flows", "isolation", Is("\"flows\"")),
    w("dual-srchost", "isolation", Is("\"dual_srchost\"")),
    w("dual-dsthost", "isolation", Is("\"dual_dsthost\"")),
    w("triple-isolate", "isolation", Is("\"triple_isolate\"")),
    w("nonat", "", Several(&[])),
    w("wash", "wash", Flag(true)),
    w("nowash", "wash", Flag(false)),
    w("ack-filter", "ack_filter", Is("\"normal\"")),
    w("ack-filter-aggressive", "ack_filter", Is("\"aggressive\"")),
    w("no-ack-filter", "ack_filter", Is("\"off\"")),
    w("split-gso", "split_gso", Flag(true)),
    w("no-split-gso", "split_gso", Flag(false)),
    w("rtt", "rtt", Time),
    w("raw", "overhead", IsAnd("null", &[("framing", "\"none\"")])),
    w("overhead", "overhead", Signed),
    w("noatm", "framing", Is("\"none\"")),
    w("atm", "framing", Is("\"atm\"")),
    w("ptm", "framing", Is("\"ptm\"")),
    w("mpu", "mpu", Count),
    w("memlimit", "memory_limit", Size),
    w("ingress", "ingress", Flag(true)),
    w("egress", "ingress", Flag(false)),
    w("datacentre", "rtt", Several(&[("rtt", "\"100us\"")])),
    w("lan", "rtt", Several(&[("rtt", "\"1ms\"")])),
    w("metro", "rtt", Several(&[("rtt", "\"10ms\"")])),
    w("regional", "rtt", Several(&[("rtt", "\"30ms\"")])),
    w("internet", "rtt", Several(&[("rtt", "\"100ms\"")])),
    w("oceanic", "rtt", Several(&[("rtt", "\"300ms\"")])),
    w("satellite", "rtt", Several(&[("rtt", "\"1s\"")])),
    w("interplanetary", "rtt", Several(&[("rtt", "\"1000s\"")])),
    w("conservative", "overhead", Several(&[("overhead", "48"), ("framing", "\"atm\"")])),
    line("docsis", 18, &[("mpu", "64"), ("framing", "\"none\"")]),
    line("ethernet", 38, &[("mpu", "84")]),
    line("pppoe-ptm", 30, &[("framing", "\"ptm\"")]),
    line("bridged-ptm", 22, &[("framing", "\"ptm\"")]),
    line("pppoa-vcmux", 10, &[("framing", "\"atm\"")]),
    line("pppoa-llc", 14, &[("framing", "\"atm\"")]),
    line("pppoe-vcmux", 32, &[("framing", "\"atm\"")]),
    line("pppoe-llcsnap", 40, &[("framing", "\"atm\"")]),
    line("bridged-vcmux", 24, &[("framing", "\"atm\"")]),
    line("bridged-llcsnap", 32, &[("framing", "\"atm\"")]),
    line("ipoa-vcmux", 8, &[("framing", "\"atm\"")]),
    line("ipoa-llcsnap", 16, &[("framing", "\"atm\"")]),
    line("ether-vlan", 4, &[]),
    w("via-ethernet", "", Several(&[])),
    w("nat", "", Absent(0)),
    w("autorate-ingress", "", Absent(0)),
    w("fwmark", "", Absent(1)),
];

/// Returns the keyword that adds the overhead of one type of line, in bytes.
const fn line(tc: &'static str, bytes: i64, sets: &'static [(&'static str, &'static str)]) -> Keyword {
    w(tc, "overhead", Adds(bytes, sets))
}

/// The overflow rule that sfq's keyword `headdrop` selects, as JSON: the head of the queue with the most packets is
/// dropped.
pub(super) const HEADDROP: &str = r#"{"longest":{"by":"packets","from":"head","tie":"latest","batch":1}}"#;

/// Every modelled tc discipline.
pub(super) const GRAMMARS: &[Grammar] = &[
    // tc-pfifo(8): the default limit of pfifo is the interface's txqueuelen, 1000 packets, and the default limit of bfifo
    // is 1000 frames of 1514 bytes
    Grammar { tc: "pfifo", name: "droptail", base: &[], keywords: &[PACKETS] },
    Grammar { tc: "bfifo", name: "droptail", base: &[("limit", "\"1514KB\"")], keywords: &[BYTES] },
    Grammar { tc: "pfifo_head_drop", name: "droptail", base: &[("drop_head", "true")], keywords: &[PACKETS] },
    Grammar { tc: "codel", name: "codel", base: &[], keywords: &[PACKETS, CODEL] },
    Grammar { tc: "fq_codel", name: "fq_codel", base: &[], keywords: &[FAIR, CODEL, FQ_CODEL] },
    Grammar { tc: "pie", name: "pie", base: &[], keywords: &[PACKETS, PIE] },
    Grammar { tc: "fq_pie", name: "fq_pie", base: &[], keywords: &[FAIR, FQ_PIE, VARIANT] },
    // tc's sfq serves queues by bytes, but compares their lengths in packets. Our variant `linux` does the same, so the
    // keywords of tc's sfq select this variant
    Grammar { tc: "sfq", name: "sfq", base: &[("variant", "\"linux\"")], keywords: &[SFQ] },
    Grammar { tc: "cake", name: "cake", base: &[], keywords: &[CAKE] },
    // tc's red has thresholds in bytes and derives its defaults from the limit. Our variant `linux` does the same, so
    // the keywords of tc's red select this variant
    Grammar { tc: "red", name: "red", base: &[("variant", "\"linux\"")], keywords: &[RED] },
    Grammar { tc: "dualpi2", name: "dualpi2", base: &[], keywords: &[DUALPI2] },
];

/// The tc disciplines that we do not model, each with advice for the user.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    ("choke", "nearest: \"red\""),
    ("ets", "nearest: \"cbq\""),
    ("fq", "nearest: \"fq_codel\"; pacing belongs to a TCP stack here"),
    ("gred", "nearest: \"wred\""),
    ("hfsc", "a link's shaper is a key of its own: shaper = \"htb\""),
    ("hhf", "nearest: \"fq_codel\""),
    ("htb", "a link's shaper is a key of its own: shaper = \"htb\""),
    ("mq", "a link has one queue here"),
    ("mqprio", "a link has one queue here"),
    ("multiq", "a link has one queue here"),
    ("netem", "delay, jitter and loss are keys of the link itself"),
    ("noqueue", "a link without rate, shaper and modem has no queue"),
    ("pfifo_fast", PRIO),
    ("prio", PRIO),
    ("qfq", "nearest: \"drr\""),
    ("sfb", "nearest: \"blue\""),
    ("skbprio", PRIO),
    (
        "tbf",
        "a link's shaper is a key of its own: shaper = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10KB\" }",
    ),
];

const PRIO: &str =
    "write queue.fair = { classifier = \"prio\", scheduler = \"strict_priority\", queue_limit = \"1000p\" }";
