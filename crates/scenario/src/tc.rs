//! Commands that configure Linux to behave like a scenario's links.
//!
//! ```text
//! link       queue -> shaper -> wire (delay, jitter, loss)
//! Linux      qdisc  in  htb or tbf, where packets leave;  netem where they arrive, behind an ifb
//! ```
//!
//! netem is at the far end, because a delay at the queue would be part of the sojourn time that the discipline measures.
//! Features that Linux lacks become comments. The user's names appear only in comments.
//!
//! Source: tc(8), tc-htb(8), tc-tbf(8), tc-netem(8), and `qdisc::tc` for the disciplines.

use crate::declare::Scenario;
use crate::link::{Change, Link};
use crate::nearest::unknown;
use port::{Service, Shaper};
use std::fmt::Write;
use units::{BitRate, Duration, Prob, Problem, shown};

/// Size of the smallest frame on the wire, bytes. It determines the maximum number of frames in flight.
const LEAST_FRAME: u64 = 64;
/// Minimum netem `limit`, in packets: netem's default.
const LEAST_HELD: u64 = 1000;
/// netem's `limit`, in packets, for a link whose rate is unknown.
const HELD: u64 = 100_000;
/// Rate of a tbf during an outage: tc's lowest rate, because tc refuses zero. With the largest `overhead`, each packet
/// counts as at least 65535 bytes, so the bucket lets only one packet pass, and the next one only after 18 hours.
const STOPPED: &str = "8bit";
const STOPPED_OVERHEAD: &str = " overhead 65535";

const HEAD: &str = "\
# Run each part as root on the machine that it names, after setting its interface (DEV, IN).
# Rates and sizes count IP packets; Linux adds 14 bytes to each packet, the Ethernet header.
";

impl Scenario {
    /// Returns shell commands for every link, or for the named one (`up`, or `~up` for the reverse direction with `both_ways`).
    ///
    /// Errors: no link has this name.
    pub fn tc(&self, only: Option<&str>) -> Result<String, Problem> {
        let links = self.directed_links();
        if let Some(name) = only.filter(|only| !links.iter().any(|(name, _)| name == only)) {
            let known: Vec<&str> = links.iter().map(|(n, _)| n.as_str()).collect();
            return Err(Problem::new("", unknown("link", name, &known)));
        }
        let mut text = HEAD.to_owned();
        // each link has its own ifb, because two links may end at the same host
        for (i, (name, link)) in links.iter().enumerate().filter(|(_, (name, _))| only.is_none_or(|o| o == name)) {
            text.push_str(&commands(name, link, &format!("ifb{i}")));
        }
        Ok(text)
    }
}

fn commands(name: &str, link: &Link, ifb: &str) -> String {
    let (from, to) = (shown(&link.from), shown(&link.to));
    let mut out = format!("\n# link {}: on {from}, the interface towards {to}\nDEV=eth0\n", shown(name));
    let discipline = link.queue.in_tc(link.sustained_rate());
    // with these offloads, the queue would count several segments as one packet
    out.push_str("ethtool -K \"$DEV\" tso off gso off gro off\n");
    for line in server_notes(link) {
        let _ = writeln!(out, "# {line}");
    }
    let parent = match server(link, "replace", false) {
        Some(lines) => {
            out.push_str(&lines);
            "parent 1:1"
        }
        None => "root",
    };
    for line in &discipline.differences {
        let _ = writeln!(out, "# {line}");
    }
    let _ = writeln!(out, "tc qdisc replace dev \"$DEV\" {parent} handle 10: {}", discipline.words);
    out.push_str(&wire(link, &from, &to, ifb));
    out.push_str(&changes(link, ifb));
    out
}

/// Returns the commands for the tbf or HTB that limits the rate at which the queue is served. `verb` is tc's verb:
/// `replace` or `change`. `stopped` is true during an outage. Returns `None` if none of the link, its shaper and its
/// modem has a rate.
///
/// A link with outages gets a tbf. An HTB class would go into debt for the packet that it sends at the lowest rate, and
/// this debt, of up to 60 s, would remain after the outage. A tbf keeps no debt, because a change fills its bucket.
fn server(link: &Link, verb: &str, stopped: bool) -> Option<String> {
    let htb = |rate: BitRate, ceil: BitRate, burst: u64, cburst: u64| {
        let root = match verb {
            "replace" => "tc qdisc replace dev \"$DEV\" root handle 1: htb default 1\n",
            _ => "",
        };
        format!(
            "{root}tc class {verb} dev \"$DEV\" parent 1: classid 1:1 htb rate {rate} ceil {ceil} burst {burst} \
             cburst {cburst} quantum 1514\n"
        )
    };
    // tbf requires a limit for its own queue, although the discipline then replaces this queue
    let bucket = |rate: &str, burst: u64, more: &str| {
        format!("tc qdisc {verb} dev \"$DEV\" root handle 1: tbf rate {rate} burst {burst}{more} limit 1514000\n")
    };
    let tbf = |p: &docsis::ShaperParams| {
        let peak = p.peak_traffic_rate.map(|rate| format!(" peakrate {rate} mtu {}", p.peak_burst.0));
        bucket(&p.max_sustained_rate.to_string(), p.max_traffic_burst.0, &peak.unwrap_or_default())
    };
    match &link.service {
        Service::Shaper(Shaper::TokenBucket(p)) => Some(tbf(p)),
        Service::Shaper(Shaper::Htb(p)) => {
            p.rate_on(link.rate).map(|rate| htb(rate, p.ceil.unwrap_or(rate), p.burst.0, p.cburst.0))
        }
        other => match other.flow() {
            Some(flow) => Some(tbf(flow)),
            None => link.rate.map(|rate| {
                let one = port::HtbParams::default();
                match (stopped, has_outage(link)) {
                    (true, _) => bucket(STOPPED, one.burst.0, STOPPED_OVERHEAD),
                    (false, true) => bucket(&rate.to_string(), one.burst.0, ""),
                    (false, false) => htb(rate, rate, one.burst.0, one.cburst.0),
                }
            }),
        },
    }
}

/// Returns true if a change stops the link.
fn has_outage(link: &Link) -> bool {
    link.changes.iter().any(|change| change.rate == Some(BitRate(0)))
}

/// Returns notes on properties of the link's service (delivery opportunities, a cable modem, a shaper in front of a
/// link with a rate of its own, or outages) that the commands of `server` cannot express.
fn server_notes(link: &Link) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(delivery) = link.service.delivery() {
        notes.push(format!(
            "Linux has no link of recorded opportunities, so no command emulates this one ({} on average); mahimahi's mm-link does",
            delivery.mean_rate()
        ));
    }
    if link.service.flow().is_some() {
        notes.push(
            "Linux has no cable modem: this is the token bucket of its service flow, without requests and grants"
                .into(),
        );
    }
    if let (Some(rate), Some(_)) = (link.rate, link.service.own_rate()) {
        notes.push(format!(
            "the interface behind it sends at {rate} in the scenario: set the interface to that rate if possible"
        ));
    }
    if has_outage(link) {
        notes.push(
            "outage: one packet still passes, and the queue is served again when the first packet after the outage arrives"
                .into(),
        );
    }
    notes
}

/// Returns the netem commands for the wire (delay, jitter and loss), which run on the receiving host, and notes on
/// properties of the wire that these commands do not emulate.
fn wire(link: &Link, from: &str, to: &str, ifb: &str) -> String {
    let mut out = String::new();
    if needs_netem(link) {
        let netem = netem(link);
        let _ = write!(
            out,
            "# on {to}, the interface where packets from {from} arrive\nIN=eth0\n\
             ip link add {ifb} type ifb\nip link set {ifb} up\n\
             tc qdisc replace dev \"$IN\" handle ffff: ingress\n\
             tc filter replace dev \"$IN\" parent ffff: protocol all prio 1 matchall \
             action mirred egress redirect dev {ifb}\n\
             tc qdisc replace dev {ifb} root handle 1: {netem}\n"
        );
    }
    let mut note = |line: String| {
        let _ = writeln!(out, "# {line}");
    };
    let jitters = link.changes.iter().filter_map(|change| change.jitter).chain([link.jitter]);
    if jitters.max().is_some_and(|most| !most.is_zero()) && !link.reorder {
        note("netem's jitter reorders packets; the scenario's keeps their order".into());
    }
    if link.lateness.is_some() {
        note("lateness: netem cannot draw delays from percentiles".into());
    }
    if link.impairments.is_some() {
        note("impairments: the commands for netem and police are not written; see tc-netem(8), tc-police(8)".into());
    }
    if !link.lose.is_empty() {
        note(format!("lose: netem cannot lose chosen packets ({} here)", link.lose.len()));
    }
    out
}

/// Returns true if the link has delay, jitter or loss at any time.
fn needs_netem(link: &Link) -> bool {
    let disturbs = |delay: Duration, jitter: Duration, loss: Prob| {
        !delay.is_zero() || !jitter.is_zero() || loss != Prob::default()
    };
    let later =
        |c: &Change| disturbs(c.delay.unwrap_or_default(), c.jitter.unwrap_or_default(), c.loss.unwrap_or_default());
    disturbs(link.delay, link.jitter, link.loss) || link.changes.iter().any(later)
}

/// Returns the link's delay, jitter and loss in netem syntax. A netem without any of them lets packets pass unchanged.
fn netem(link: &Link) -> String {
    let (delay, jitter, loss) = (link.delay, link.jitter, link.loss.get());
    let longest = delay + jitter;
    let held = link
        .rate
        .max(link.sustained_rate())
        .map_or(HELD, |rate| (rate.bytes_in(longest) / LEAST_FRAME + 1).max(LEAST_HELD));
    let mut words = format!("netem limit {held}");
    if !longest.is_zero() {
        // netem's jitter can both shorten and lengthen the delay, but the scenario's jitter only lengthens it. So the
        // delay is increased by half the jitter
        let half = Duration(jitter.0 / 2);
        let _ = write!(words, " delay {}", micros(delay + half));
        if !half.is_zero() {
            let _ = write!(words, " {}", micros(half));
        }
    }
    if loss > 0.0 {
        let _ = write!(words, " loss {}%", loss * 100.0);
    }
    words
}

/// Rounds a time to whole microseconds, which is tc's resolution.
fn micros(time: Duration) -> Duration {
    Duration::from_micros((time.0 + 500) / 1000)
}

/// Returns the commands for each change of the link, as shell comments below a line with the time of the change.
fn changes(link: &Link, ifb: &str) -> String {
    let mut out = String::new();
    let mut now = link.clone();
    let mut stopped = false;
    let netem = |now: &Link| if needs_netem(link) { netem(now) } else { String::new() };
    // the limit of a FIFO must be set again in two cases: if the limit is a time and the rate changes, and after any change of the
    // tbf above the FIFO, because tc then also changes the FIFO's limit
    let fifo =
        |now: &Link| Some(now.queue.in_tc(now.sustained_rate()).words).filter(|words| words[1..].starts_with("fifo"));
    for change in &link.changes {
        let before = (server(&now, "change", stopped), netem(&now), fifo(&now));
        apply(&mut now, change);
        stopped = change.rate.map_or(stopped, |rate| rate.0 == 0);
        let _ = writeln!(out, "# at {}:", change.at);
        let after = server(&now, "change", stopped).filter(|after| before.0.as_ref() != Some(after));
        for line in after.iter().flat_map(|a| a.lines()) {
            let _ = writeln!(out, "#     {line}");
        }
        let is_reset = after.is_some_and(|line| line.contains(" tbf "));
        if let Some(fifo) = fifo(&now).filter(|words| is_reset || before.2.as_ref() != Some(words)) {
            let _ = writeln!(out, "#     tc qdisc change dev \"$DEV\" parent 1:1 handle 10: {fifo}");
        }
        let netem = netem(&now);
        if netem != before.1 {
            let _ = writeln!(out, "#     tc qdisc replace dev {ifb} root handle 1: {netem}");
        }
        if change.max_grant.is_some() {
            out.push_str("#     max_grant: Linux has no cable modem\n");
        }
    }
    out
}

/// Applies a change. An outage does not change the rate of `link`, because the queue and netem keep their settings.
fn apply(link: &mut Link, change: &Change) {
    link.rate = change.rate.filter(|rate| rate.0 > 0).or(link.rate);
    link.delay = change.delay.unwrap_or(link.delay);
    link.jitter = change.jitter.unwrap_or(link.jitter);
    link.loss = change.loss.unwrap_or(link.loss);
    match &mut link.service {
        Service::Shaper(Shaper::TokenBucket(p)) => flow(p, change),
        Service::Shaper(Shaper::Htb(p)) => {
            p.rate = change.max_sustained_rate.or(p.rate);
            p.ceil = change.peak_traffic_rate.or(p.ceil);
        }
        Service::Docsis(modem) => flow(&mut modem.flow, change),
        Service::Docsis31(modem) => flow(&mut modem.flow, change),
        Service::Plain | Service::Delivery(_) => {}
    }
}

fn flow(p: &mut docsis::ShaperParams, change: &Change) {
    p.max_sustained_rate = change.max_sustained_rate.unwrap_or(p.max_sustained_rate);
    p.peak_traffic_rate = change.peak_traffic_rate.or(p.peak_traffic_rate);
}
