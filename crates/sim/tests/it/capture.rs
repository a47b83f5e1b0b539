//! Tests that a capture contains real packets, and that capturing does not change the run.

use crate::common::{D04_APPS, STALE, modem, number, read, said};
use packet::{Protocol, header};
use record::pcap::WHOLE;
use sim::World;
use sim::capture::{Capture, KEPT};
use std::collections::BTreeMap;

/// One packet of a capture: its time, the bytes that were kept, and its original length.
struct Captured {
    ns: u64,
    bytes: Vec<u8>,
    length: usize,
}

fn packets(file: &[u8]) -> Vec<Captured> {
    let mut at = 24;
    let mut all = Vec::new();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    while at < file.len() {
        let kept = word(at + 8) as usize;
        let ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        all.push(Captured { ns, bytes: file[at + 16..at + 16 + kept].to_vec(), length: word(at + 12) as usize });
        at += 16 + kept;
    }
    all
}

/// Runs a scenario with a capture; returns both files and the outcome.
fn captured(toml: &str, link: Option<&str>, kept: u32) -> ([Vec<u8>; 2], sim::Outcome) {
    let s = read(toml);
    let mut capture = Capture::new(&s, link, [Vec::new(), Vec::new()], kept).unwrap();
    let mut world = World::with_sink(&s, &mut capture).unwrap();
    world.run(|_| true);
    let inside: u64 = world.books().map(|b| b.queued + b.in_flight).sum();
    assert_eq!(world.tagged() as u64, inside, "exactly the packets in flight have tags");
    let outcome = world.outcome(&s);
    (capture.finish().unwrap(), outcome)
}

fn duel(queue: &str, tcp: &str) -> String {
    format!(
        "duration = '6s'\n[link.wire]\nfrom = 'a'\nto = 'b'\nboth_ways = true\nrate = '5mbit'\ndelay = '10ms'\n\
         queue = {{ {queue} }}\n[link.lan]\nfrom = 'b'\nto = 'c'\nboth_ways = true\nrate = '100mbit'\nqueue.codel = {{}}\n\
         [tcp.own]\npreset = 'linux-6'\n{tcp}\n\
         [app.long]\nfrom = 'a'\nto = ['c']\ntcp = 'own'\ntraffic.ftp = {{}}\n\
         [app.ping]\nfrom = 'a'\nto = ['c']\ntraffic.ping = {{ interval = '200ms' }}\n\
         [app.surf]\nfrom = 'c'\nto = ['a', 'a', 'a', 'a']\ntcp = 'own'\ndscp = 10\ntraffic.web = {{}}\n\
         [app.talk]\nfrom = 'c'\nto = ['a']\ntraffic.voip = {{}}\n"
    )
}

#[test]
fn a_run_does_not_notice_that_it_is_captured() {
    for toml in [
        modem("codel = {}", 8, D04_APPS),
        duel("droptail = { limit = '20p' }", ""),
        duel("fq_codel = {}", "ecn = true"),
        duel("droptail = { limit = '50p' }", "congestion_control = 'ledbat'"),
        duel("droptail = {}", "") + "[link.extra]\nfrom = 'a'\nto = 'x'\njitter = '3ms'\nreorder = true\n",
    ] {
        let s = read(&toml);
        let mut world = World::build(&s).unwrap();
        world.run(|_| true);
        let (files, outcome) = captured(&toml, None, KEPT);
        assert_eq!(said(&world.outcome(&s)), said(&outcome));
        assert_eq!(captured(&toml, None, KEPT).0, files, "the same bytes for the same seed");
    }
}

/// Checks a packet as a receiver does: the bits of the one's complement sum over the IP header must all be ones, and so
/// must those of the sum over pseudo-header and segment (for ICMP, over the message alone).
fn checks(p: &[u8]) -> bool {
    let mut words = p[20..].to_vec();
    if words.len() % 2 == 1 {
        words.push(0);
    }
    if p[9] != 1 {
        words.extend(&p[12..20]);
        words.extend([0, p[9]]);
        words.extend(((p.len() - 20) as u16).to_be_bytes());
    }
    let sum = |b: &[u8]| b.chunks(2).map(|w| u64::from(w[0]) * 256 + u64::from(w[1])).sum::<u64>();
    sum(&words).is_multiple_of(0xffff) && sum(&p[..20]).is_multiple_of(0xffff)
}

#[test]
fn lengths_checksums_and_counts_are_right() {
    // the transfers end before the run, so that all marked packets have arrived
    let toml = duel("codel = { limit = '50p', ecn = true, target = '2ms', interval = '20ms' }", "ecn = true")
        .replace("ftp = {}", "ftp = { length = '4s' }")
        .replace("web = {}", "web = {}\nstop = '3s'");
    let (files, outcome) = captured(&toml, None, WHOLE);
    let [left, right] = files.map(|f| packets(&f));
    let mut kinds = [0; 3];
    for line in left.iter().chain(&right) {
        let h = header::parse(&line.bytes).expect("length as in the header");
        assert!(checks(&line.bytes), "{:02x?}", &line.bytes[..60]);
        assert_eq!(line.bytes.len(), line.length);
        kinds[match h.protocol {
            Protocol::TCP => 0,
            Protocol::UDP => 1,
            _ => 2,
        }] += 1;
    }
    assert!(kinds.iter().all(|n| *n > 20), "{kinds:?}");
    assert!(left.windows(2).chain(right.windows(2)).all(|w| w[0].ns <= w[1].ns));
    // the capture has the bytes that the link counts: on the left all arrivals at its queue, on the right all arrivals at its far
    // end
    let bytes = |all: &[Captured], to_c: bool| {
        // the last byte of a destination address is the node's number in name order, which is 2 for node c
        let ours = |l: &&Captured| (l.bytes[19] == 2) == to_c;
        all.iter().filter(ours).map(|l| l.length as f64).sum::<f64>()
    };
    assert_eq!(bytes(&left, true), number(&outcome, "links.wire.offered_bytes"));
    assert_eq!(bytes(&right, true), number(&outcome, "links.wire.delivered_bytes"));
    assert_eq!(bytes(&right, false), number(&outcome, "links.~wire.offered_bytes"));
    assert_eq!(bytes(&left, false), number(&outcome, "links.~wire.delivered_bytes"));
    // marks are set between the two ends, in ECN-capable packets only, and the receiver echoes them
    let tos = |all: &[Captured], ecn: u8| all.iter().filter(|l| l.bytes[19] == 2 && l.bytes[1] & 3 == ecn).count();
    assert_eq!(tos(&left, 3), 0);
    assert_eq!(tos(&right, 3) as f64, number(&outcome, "links.wire.marked_packets"));
    assert!(tos(&right, 3) > 10);
    assert!(left.iter().any(|l| l.bytes[9] == 6 && l.bytes[33] & 0x42 == 0x40));
    // TCP packets have the DSCP of their application; the call has DSCP 0
    assert!(left.iter().any(|l| l.bytes[1] >> 2 == 10) && left.iter().any(|l| l.bytes[9] == 17 && l.bytes[1] == 0));
}

#[test]
fn late_packets_of_a_connection_have_its_addresses() {
    let ([left, right], outcome) = captured(STALE, Some("l1"), KEPT);
    assert!(number(&outcome, "flow_gone_packets") > 10.0);
    for Captured { bytes, .. } in packets(&left).iter().chain(&packets(&right)) {
        // all packets belong to `x`: the client is a (node 0), the server is c (node 2), and the server's port is 1
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let server = match (bytes[15], bytes[19]) {
            (0, 2) => port(22),
            (2, 0) => port(20),
            nodes => panic!("no application has packets between the nodes {nodes:?} on this link"),
        };
        assert_eq!((server, bytes[1] >> 2), (1, 0));
    }
}

/// State of one direction of a connection, reconstructed from the captured packets that have been read so far.
#[derive(Default)]
struct Stream {
    /// One past the highest sequence number so far.
    next: u64,
    stamps: Vec<u32>,
    sacks: u64,
    pure: u64,
}

/// Returns the kind and the content of each TCP option in a segment.
fn options(t: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let end = usize::from(t[12] >> 4) * 4;
    let (mut at, mut found) = (20, Vec::new());
    while at < end {
        match t[at] {
            1 => at += 1,
            kind => {
                let length = usize::from(t[at + 1]);
                found.push((kind, t[at + 2..at + length].to_vec()));
                at += length;
            }
        }
    }
    assert_eq!(at, end);
    found
}

#[test]
fn segments_say_what_a_real_stack_would() {
    let toml = duel("droptail = { limit = '15p' }", "");
    let ([left, _], _) = captured(&toml, Some("wire"), KEPT);
    let mut streams: BTreeMap<(u8, u16, u16), Stream> = BTreeMap::new();
    let word = |b: &[u8]| u32::from_be_bytes(b[..4].try_into().unwrap());
    for line in packets(&left).iter().filter(|l| l.bytes[9] == 6) {
        let (p, t) = (&line.bytes, &line.bytes[20..]);
        assert!(p.len() <= KEPT as usize && line.length == usize::from(u16::from_be_bytes([p[2], p[3]])));
        let ports = (u16::from_be_bytes([t[0], t[1]]), u16::from_be_bytes([t[2], t[3]]));
        let (seq, ack, bits) = (word(&t[4..]), word(&t[8..]), t[13]);
        let payload = line.length - 20 - usize::from(t[12] >> 4) * 4;
        let h = |bit: u8| bits & bit != 0;
        let found = options(t);
        let stamp = found.iter().find(|o| o.0 == 8).expect("time stamps in every segment");
        let mine = (p[15], ports.0, ports.1);
        let theirs = (p[19], ports.1, ports.0);
        assert_eq!(h(0x10), seq != 0 || ack != 0, "all but the first SYN have an ACK");
        if h(0x02) {
            let kinds: Vec<u8> = found.iter().map(|o| o.0).collect();
            assert_eq!((kinds, seq, &found[0].1[..]), (vec![2, 4, 8, 3], 0, &[0x05, 0xb4][..]), "MSS 1460");
        }
        if let Some(other) = streams.get(&theirs) {
            // no segment acknowledges data that was not sent, or echoes a time stamp that was not received
            assert!(u64::from(ack) <= other.next, "{ack} of {}", other.next);
            let echoed = word(&stamp.1[4..]);
            assert!(echoed == 0 || other.stamps.binary_search(&echoed).is_ok(), "{echoed}");
            for sack in found.iter().filter(|o| o.0 == 5) {
                for (i, block) in sack.1.chunks(8).enumerate() {
                    let (start, end) = (word(block), word(&block[4..]));
                    // only the first block may lie below the ACK number; such a block reports data that was received
                    // twice (RFC 2883)
                    assert!(start > ack || i == 0 && end <= ack);
                    assert!(start < end && u64::from(end) <= other.next);
                }
            }
        }
        let stream = streams.entry(mine).or_default();
        stream.sacks += found.iter().filter(|o| o.0 == 5).count() as u64;
        if payload == 0 && !h(0x03) {
            stream.pure += 1;
            // the left capture contains a's packets before the link can lose them, so `stream.next` is the sequence
            // number of a's next new byte. A pure ACK of a must have this sequence number
            if p[15] == 0 {
                assert_eq!(u64::from(seq), stream.next);
            }
        }
        let length = payload as u64 + u64::from(h(0x02)) + u64::from(h(0x01));
        // in the left capture, no packet of host a is missing
        if p[15] == 0 {
            assert!(u64::from(seq) <= stream.next, "a gap before {seq}");
        }
        stream.next = stream.next.max(u64::from(seq) + length);
        let sent = word(&stamp.1);
        assert!(stream.stamps.last().is_none_or(|last| *last <= sent));
        stream.stamps.push(sent);
    }
    assert!(streams.len() > 4, "several connections, both ways");
    assert!(streams.values().map(|s| s.sacks).sum::<u64>() > 10, "losses and retransmissions");
    assert!(streams.values().any(|s| s.pure > 100));
}

/// One end has short segments, no time stamps and no SACK. The SYN and the SYN-ACK carry each end's own MSS. Apart from the
/// options that the SYN offers, segments carry only options that both ends have.
#[test]
fn the_two_ends_use_what_both_have() {
    let other = "mss = 500\ntimestamps = false\nrecovery = 'newreno'\nloss_detection = 'dupthresh'\nundo = 'none'\n\
                 frto = false";
    for (tcp, tcp_server, syns) in [
        ("own", "linux-6", [(&[2, 3][..], 500), (&[2, 3], 1460)]),
        // a SYN offers SACK (4) and time stamps (8); the SYN-ACK declines both
        ("linux-6", "own", [(&[2, 4, 8, 3], 1460), (&[2, 3], 500)]),
    ] {
        let toml = format!(
            "duration = '3s'\n[link.wire]\nfrom = 'a'\nto = 'b'\nboth_ways = true\nrate = '5mbit'\ndelay = '10ms'\n\
             queue = 'pfifo limit 20'\n[tcp.own]\npreset = 'linux-6'\n{other}\n[app.x]\nfrom = 'a'\nto = ['b']\n\
             tcp = '{tcp}'\ntcp_server = '{tcp_server}'\ntraffic.ftp = {{ direction = 'down' }}\n"
        );
        let ([_, right], outcome) = captured(&toml, None, KEPT);
        let right = packets(&right);
        let (mut seen, mut payloads) = (Vec::new(), Vec::new());
        for t in right.iter().map(|l| &l.bytes[20..]) {
            let found = options(t);
            let kinds: Vec<u8> = found.iter().map(|o| o.0).collect();
            if t[13] & 0x02 != 0 {
                // the clock of time stamps starts at 1, so even the time stamp of a SYN sent at time 0 is not 0
                assert!(found.iter().all(|(kind, value)| *kind != 8 || value[..4] != [0; 4]));
                let mss = u16::from_be_bytes([found[0].1[0], found[0].1[1]]);
                seen.push((kinds, mss));
            } else {
                assert_eq!(kinds, [0; 0]);
            }
        }
        payloads.extend(right.iter().map(|l| l.length - 20 - usize::from(l.bytes[32] >> 4) * 4));
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().zip(syns).all(|(a, b)| (a.0.as_slice(), a.1) == b), "{seen:?}");
        assert_eq!(payloads.iter().max(), Some(&500));
        // the simulated packets have the same sizes, except that the simulated SYN-ACK has 20 bytes of options
        let lengths: usize = right.iter().filter(|l| l.bytes[19] == 0).map(|l| l.length).sum();
        let syn_options = right.iter().find(|l| l.bytes[19] == 0).map_or(0, |l| l.length - 40);
        assert_eq!((lengths + 20 - syn_options) as f64, number(&outcome, "links.~wire.offered_bytes"));
    }
}

#[test]
fn a_link_is_found_by_name_or_by_its_rate() {
    let s = read(&modem("droptail = { limit = '50p' }", 1, D04_APPS));
    let refused = Capture::new(&s, Some("upp"), [Vec::new(), Vec::new()], KEPT).unwrap_err();
    assert!(refused.message.contains("did you mean \"up\"?"), "{refused}");
    assert_eq!(sim::capture::check(&s, Some("upp")), Err(refused));
    assert_eq!(sim::capture::check(&s, Some("up")), Ok(()));
    // `None` selects the slowest link. This is the modem: its rate of 5 Mbit/s counts, not the 100 Mbit/s of its
    // channel. The first file, captured at the near end, has the frames of the call: one every 20 ms for 3 s
    let (files, _) = captured(&modem("droptail = { limit = '50p' }", 3, D04_APPS), None, KEPT);
    let calls = packets(&files[0]).iter().filter(|l| l.bytes[9] == 17).count();
    assert_eq!(calls, 150);
}
