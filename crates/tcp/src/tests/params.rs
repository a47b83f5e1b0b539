//! Tests of presets, parameter tables, the resulting packet sizes and first windows, and the negotiation of two stacks.

use super::names::*;
use super::preset;
use packet::Flags;
use units::Duration;

#[test]
fn presets_are_valid_and_round_trip() {
    for (name, doc) in PRESETS {
        let p = preset(name);
        p.validate().unwrap();
        assert!(!doc.is_empty());
        assert_eq!(serde_json::from_value::<TcpParams>(serde_json::to_value(&p).unwrap()).unwrap(), p);
    }
    assert!(TcpParams::preset("vegas").is_none());
    let read = |text: &str| serde_json::from_value::<TcpParams>(text.parse().unwrap());
    assert!(read(r#"{"mms": 3}"#).is_err());
    let p = read(r#"{"congestion_control": "cubic-2.6.22", "min_rto": "1s"}"#).unwrap();
    let e = p.clone().with(|p| p.wire.mss = 0).validate().unwrap_err();
    assert_eq!(e.path, "mss");
    let e = p.with(|p| p.rto.max_rto = Duration::from_millis(1)).validate().unwrap_err();
    assert_eq!(e.path, "max_rto");
    // parameters that need RACK's state are refused if the stack detects losses by another method
    let p = preset("linux-6").with(|p| p.detection.loss_detection = LossDetection::Dupthresh);
    let e = p.validate().unwrap_err();
    let needs = "is not valid with loss_detection = \"dupthresh\": it needs \"rack-tlp\"; expected";
    assert_eq!((e.path.as_str(), e.message), ("undo", format!("\"linux\" {needs} undo = \"none\"")));
    let p = p.with(|p| p.detection.undo = Undo::None);
    let e = p.validate().unwrap_err();
    assert_eq!((e.path.as_str(), e.message), ("frto", format!("true {needs} frto = false")));
    p.with(|p| p.detection.frto = false).validate().unwrap();
}

#[test]
fn wire_sizes_of_the_sources() {
    // according to CableLabs 2012, a SYN and an ACK are 50 bytes long, including ten bytes of ns-2's time stamps. Data
    // packets of Agent/TCP/Linux are 1510 bytes long with time stamps (measured in ns-2 2.35)
    let full = preset("ns2-fulltcp-sack");
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let ack = Segment { flags: Flags::PURE_ACK, has_ack: true, ..Segment::default() };
    let data = Segment { len: 1460, ..Segment::default() };
    assert_eq!((full.wire.packet_size(&syn), full.wire.packet_size(&ack)), (50, 50));
    let cubic = preset("ns2-cubic-2.6.22");
    assert_eq!(cubic.wire.packet_size(&data), 1510);
    let reno = preset("ns2-reno");
    assert_eq!((reno.wire.packet_size(&data), reno.wire.packet_size(&ack)), (1500, 40));
    // Linux: a SYN is 60 bytes long, an ACK 52, a full data packet 1500, and an ACK with one SACK block 64
    let linux = preset("linux-6");
    assert_eq!((linux.wire.packet_size(&syn), linux.wire.packet_size(&ack)), (60, 52));
    assert_eq!(linux.wire.packet_size(&Segment { len: 1448, ..data }), 1500);
    let mut sack = ack;
    sack.sack.push(SackBlock { start: 1, end: 2 });
    assert_eq!(linux.wire.packet_size(&sack), 64);
}

#[test]
fn initial_windows() {
    // with an MSS of 1460, the initial window is 4380 / 1460 = 3 segments by RFC 3390, 3 by RFC 5681, and 10 by RFC 6928. With
    // an MSS of 536, it is 4 by RFC 3390
    let w = |iw, mss| {
        preset("rfc")
            .with(|p| {
                p.opening.initial_window = iw;
                p.wire.mss = mss;
            })
            .initial_window_segments()
    };
    assert_eq!(w(InitialWindow::Rfc3390, 1460), 3.0);
    assert_eq!(w(InitialWindow::Rfc3390, 536), 4.0);
    assert_eq!(w(InitialWindow::Rfc5681, 1460), 3.0);
    assert_eq!(w(InitialWindow::Rfc5681, 536), 4.0);
    assert_eq!(w(InitialWindow::Rfc5681, 4000), 2.0);
    assert_eq!(w(InitialWindow::Rfc6928, 1460), 10.0);
    assert_eq!(w(InitialWindow::Rfc6928, 9000), 2.0);
}

#[test]
fn two_stacks_use_what_both_have() {
    let linux = preset("linux-6");
    let bare = |mss| preset("linux-6").with(|p| (p.wire.mss, p.wire.timestamps) = (mss, false));
    let option = preset("prague").with(|p| p.ecn.accecn_option = true).with_options();
    // the MSS option counts the 12 bytes of time stamps and the 12 bytes of AccECN's counters
    assert_eq!([&linux, &bare(500), &option].map(TcpParams::mss_option), [1460, 500, 1460]);
    // each row: two stacks, the payload of the segments of each, and whether they use time stamps
    for (a, b, payloads, stamps) in [
        (&linux, &preset("bbr"), [1448, 1448], true),
        (&linux, &bare(500), [500, 500], false),
        // the peer's MSS option is 1460, but the stack's own limit is 1448 bytes
        (&linux, &bare(1460), [1448, 1460], false),
        // the peer's MSS option is 512 bytes. With time stamps, 12 of these bytes are options
        (&linux, &preset("linux-6").with(|p| p.wire.mss = 500), [500, 500], true),
        (&bare(1460), &preset("linux-6").with(|p| p.wire.mss = 500), [512, 500], false),
        // AccECN's counters take 12 bytes of the first stack's payload, but only if the peer supports AccECN
        (&option, &preset("prague"), [1436, 1448], true),
        (&option, &linux, [1448, 1448], true),
    ] {
        let [a, b] = [(a, b), (b, a)].map(|(own, peer)| own.negotiated(peer).unwrap());
        assert_eq!(([a.wire.mss, b.wire.mss], [a.wire.timestamps, b.wire.timestamps]), (payloads, [stamps; 2]));
    }
    // without SACK from the peer, a stack repairs losses as in RFC 6582. The peer's own recovery does not change
    let reno = preset("linux-6").with(|p| {
        p.detection.recovery = Recovery::Reno;
        p.detection.loss_detection = LossDetection::Dupthresh;
        (p.detection.undo, p.detection.frto) = (Undo::None, false);
    });
    let fallen = linux.negotiated(&reno).unwrap();
    assert_eq!((fallen.detection.recovery, fallen.sack_blocks()), (Recovery::Newreno, 0));
    assert_eq!(reno.negotiated(&linux).unwrap(), reno);
    // FACK's threshold, a distance of four segments, is replaced by three duplicate ACKs, as in RFC 5681 §3.2. The
    // threshold of other stacks is kept, because it can also be a number of duplicate ACKs
    assert_eq!(preset("ns2-cubic-2.6.22").negotiated(&preset("ns2-reno")).unwrap().detection.dupthresh, 3);
    let patient = preset("linux-6").with(|p| p.detection.dupthresh = 5);
    assert_eq!(patient.negotiated(&reno).unwrap().detection.dupthresh, 5);
    // a stack is refused if it cannot run with this peer. The error names the key that prevents it
    let agents = preset("ns2-cubic-2.6.22");
    let marks = |feedback| agents.clone().with(|p| (p.ecn.ecn, p.ecn.ecn_feedback) = (true, feedback));
    for (own, peer, key) in [
        (preset("bbr"), &reno, "recovery"),
        (preset("ledbat"), &bare(1448), "timestamps"),
        (marks(EcnFeedback::Rfc3168), &agents, "ecn"),
        (marks(EcnFeedback::Rfc3168), &marks(EcnFeedback::Accecn), "ecn_feedback"),
    ] {
        assert_eq!(own.negotiated(peer).unwrap_err().path, key);
    }
}
