//! Compares the behaviour of every preset, ACK by ACK, with a table in `tests/golden/`.
//!
//! The bottleneck carries 6 Mbit/s (a full packet takes 2 ms) and queues 12 packets; the delay is 20 ms each way. The sender
//! writes 60 segments, 12 more two seconds later, and 4 more after another two seconds. The 24th data packet, the last two of the
//! second message and the last of the third are lost once each. All other losses are drops in the queue. linux-6 has two more
//! tables, in which the 24th packet is not lost: in one, ECN is on and the packet is marked; in the other, it arrives
//! 50 ms late. dctcp and prague also have a table in which the 24th packet is marked instead.

use crate::pipe::{Fate, Pipe, Step};
use std::fmt::Write as _;
use std::path::Path;
use tcp::{PRESETS, Segment, State, TcpParams};
use units::{Duration, Time};

const HEAD: &str = "\
# Times in ms; segments are numbered from 0; windows in segments. `time`: a timer expired. `sent`: the segments sent in response;
# * marks retransmissions. tests/it/golden.rs describes the path. A change here needs a line in the CHANGELOG.
#
#      at   ack sacked               cwnd ssthresh flight state     srtt sent
";

/// Returns the numbers of the segments that hold the bytes from `start` up to but not including `end`: `a-b`, or `a` for a single
/// segment.
fn run(p: &TcpParams, start: u64, end: u64) -> String {
    let number = |byte: u64| (byte.max(1) - 1) / u64::from(p.wire.mss);
    let (first, last) = (number(start), number(end - 1));
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn sent(p: &TcpParams, list: &[Segment]) -> String {
    let words = list.iter().filter(|s| s.len > 0);
    let words = words.map(|s| run(p, s.seq, s.seq + 1) + if s.retransmission { "*" } else { "" });
    words.collect::<Vec<_>>().join(" ")
}

fn line<F: FnMut(usize, &Segment) -> Fate>(pipe: &Pipe<F>, step: &Step) -> String {
    let (p, probe) = (&pipe.p, pipe.ends[0].probe(&pipe.p));
    let segments = |bytes: u64| if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 / f64::from(p.wire.mss) };
    let ack = step.ack.map_or("time".to_owned(), |s| ((s.ack.max(1) - 1) / u64::from(p.wire.mss)).to_string());
    let blocks = step.ack.iter().flat_map(|s| s.sack.as_slice()).map(|b| run(p, b.start, b.end));
    let state = match probe.state {
        State::Open => "open",
        State::Cwr => "cwr",
        State::Recovery => "recovery",
        State::Loss => "loss",
    };
    let text = format!(
        "{:>9.3} {ack:>5} {:<18} {:>6.2} {:>8.2} {:>6.0} {state:<8} {:>5.1} {}",
        pipe.now.0 as f64 / 1e6,
        blocks.collect::<Vec<_>>().join(","),
        segments(probe.cwnd_bytes),
        segments(probe.ssthresh_bytes),
        segments(probe.in_flight),
        probe.srtt.millis(),
        sent(p, &step.sent),
    );
    text.trim_end().to_owned() + "\n"
}

/// Returns the table for the stack `p`, with the title `name`. The path applies `fate` to the 24th data packet.
fn table(name: &str, p: &TcpParams, fate: Fate) -> String {
    let mut count = 0;
    // `count` numbers data packets in the order of their first transmission, from 1
    let fate = move |from: usize, s: &Segment| {
        let first = from == 0 && s.len > 0 && !s.retransmission;
        count += u32::from(first);
        match count {
            24 if first => fate,
            71 | 72 | 76 if first => Fate::Drop,
            _ => Fate::Pass,
        }
    };
    let mut pipe = Pipe::new(p, Duration::from_millis(2), Duration::from_millis(20), 12, fate);
    let mut text = format!("# {name}\n{HEAD}");
    pipe.connect();
    for (at, segments) in [(0, 60), (2, 12), (4, 4), (8, 0)] {
        while let Some(step) = pipe.step(Time(at * 1_000_000_000)) {
            text += &step.map(|step| line(&pipe, &step)).unwrap_or_default();
        }
        let out = pipe.write(segments * u64::from(p.wire.mss));
        writeln!(text, "{:>9.3} write {segments} segments: {}", at as f64 * 1e3, sent(p, &out)).unwrap();
    }
    let (s, end) = (pipe.ends[0].stats(), &pipe.ends[0]);
    assert_eq!(end.acked(), 76 * u64::from(p.wire.mss), "{name}");
    let sums = format!("{} retransmissions, {} recoveries", s.retransmits, s.fast_recoveries);
    text + &format!("# {sums}, {} timeouts, {} probes, {} undone\n", s.timeouts, s.probes, s.undone)
}

#[test]
fn every_preset_answers_acks_as_its_table_says() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden");
    std::fs::create_dir_all(&new).unwrap();
    let mut changed = vec![];
    let preset = |name| TcpParams::preset(name).unwrap();
    let mut cases: Vec<_> = PRESETS.iter().map(|(name, _)| (*name, preset(name), Fate::Drop)).collect();
    cases.push(("linux-6 with ecn", preset("linux-6").with(|p| p.ecn.ecn = true), Fate::Mark));
    for name in ["dctcp", "prague"] {
        cases.push((if name == "dctcp" { "dctcp with marks" } else { "prague with marks" }, preset(name), Fate::Mark));
    }
    cases.push(("linux-6 with reordering", preset("linux-6"), Fate::Late(Duration::from_millis(50))));
    for (name, p, fate) in cases {
        let (ours, file) = (table(name, &p, fate), format!("{}.txt", name.replace(' ', "-")));
        let golden = std::fs::read_to_string(kept.join(&file)).unwrap_or_default();
        if ours != golden {
            std::fs::write(new.join(&file), &ours).unwrap();
            let at = ours.lines().zip(golden.lines()).position(|(a, b)| a != b).unwrap_or(0);
            let pair = (golden.lines().nth(at).unwrap_or(""), ours.lines().nth(at).unwrap_or(""));
            changed.push(format!("{file}, line {}:\n  was {}\n  is  {}", at + 1, pair.0, pair.1));
        }
    }
    let how = format!("if this change is intended: cp {}/*.txt {}/", new.display(), kept.display());
    assert!(changed.is_empty(), "{}\n{how}", changed.join("\n"));
}
