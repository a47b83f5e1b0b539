//! Tests of the scoreboard without a sender. The counters that the scoreboard maintains are compared with counters
//! computed from its entries.

use super::*;

const MSS: u32 = 1000;

impl Watch for () {
    fn acknowledged(&mut self, _: &Entry) {}
    fn sacked(&mut self, _: usize, _: &Entry) {}
}

impl Scoreboard {
    /// Recomputes every counter from the entries, and asserts that the stored counters have the same values. `by_time`
    /// is true if RACK decides which segments are lost, so that IsLost does not apply.
    pub(crate) fn check(&self, dupthresh: u8, mss: u32, by_time: bool) {
        let mut seq = self.base as u32;
        assert!(self.held == IN_RING || usize::from(self.held) <= FEW && self.ring.is_empty(), "held");
        let all: Vec<Entry> = self.iter().copied().collect();
        for e in &all {
            assert_eq!(e.start, seq);
            seq = seq.wrapping_add(e.size() as u32);
        }
        assert_eq!(self.pipe, all.iter().map(Entry::in_pipe).sum::<u64>(), "pipe");
        let sacked = |e: &&Entry| e.has(SACKED);
        let high = all.iter().rposition(|e| e.has(SACKED)).map_or(0, |i| i + 1);
        assert_eq!(self.high as usize, high, "high");
        let lost_to = self.lost_to as usize;
        assert_eq!(
            u64::from(self.above),
            all.iter().skip(lost_to).filter(sacked).map(Entry::bytes).sum::<u64>(),
            "above"
        );
        let mut runs = 0;
        for i in lost_to..all.len() {
            runs += u32::from(all[i].has(SACKED) && (i == lost_to || !all[i - 1].has(SACKED)));
        }
        assert_eq!(self.runs, runs, "runs");
        for (i, e) in all.iter().enumerate() {
            // IsLost, as the RFC defines it
            let bytes: u64 = all.iter().skip(i + 1).filter(sacked).map(Entry::bytes).sum();
            let above = (i + 1..all.len()).filter(|&j| all[j].has(SACKED) && !all[j - 1].has(SACKED)).count();
            let is_lost = bytes > u64::from(dupthresh - 1) * u64::from(mss) || above >= usize::from(dupthresh);
            if !e.has(SACKED) {
                assert_eq!(i < lost_to, e.has(LOST), "entry {i}: cursor {lost_to}");
                assert!(!is_lost || e.has(LOST) || by_time, "entry {i} must be lost");
                assert!(i >= self.rtx as usize || e.has(RETX), "entry {i} lies below rtx");
            }
        }
    }
}

/// Returns a scoreboard with ten segments of 1000 bytes, from offset 1 on.
fn ten() -> Scoreboard {
    let mut b = Scoreboard::new(1);
    for i in 0..10 {
        b.push(1 + i * 1000, MSS, false, i as u32);
    }
    b
}
fn seg(b: &mut Scoreboard, from: u64, to: u64) -> u64 {
    let new = b.sack(1 + from * 1000, 1 + to * 1000, MSS, &mut ());
    b.mark_lost(3, MSS, false);
    b.check(3, MSS, false);
    new
}

#[test]
fn forward_ack_counts_the_distance_and_not_what_was_sacked() {
    let mut b = ten();
    b.sack(4001, 5001, MSS, &mut ());
    b.mark_lost(3, MSS, false);
    // by RFC 6675, one SACKed segment is not enough to declare the segments below it lost
    assert_eq!((b.head_lost(), b.pipe), (false, 9000));
    b.mark_lost(3, MSS, true);
    b.check(3, MSS, false);
    // segments 0 and 1 are at least three segments behind segment 4, so they are lost. Segments 2 and 3 may merely
    // have been reordered
    assert_eq!((b.head_lost(), b.pipe), (true, 7000));
}

#[test]
fn three_contiguous_segments_are_more_than_two_mss() {
    let mut b = ten();
    assert_eq!(b.pipe, 10_000);
    // RFC 6675 IsLost: a segment is lost if more than (DupThresh - 1) * SMSS = 2000 bytes above it are SACKed
    assert_eq!(seg(&mut b, 1, 2), 1000);
    assert_eq!(seg(&mut b, 1, 3), 1000);
    assert!(!b.head_lost());
    assert_eq!(b.pipe, 8000);
    assert_eq!(seg(&mut b, 1, 4), 1000);
    assert!(b.head_lost());
    // pipe is 10 segments less 3 SACKed and 1 lost
    assert_eq!(b.pipe, 6000);
    let piece = b.next_lost().unwrap();
    assert_eq!((piece.seq, piece.len), (1, 1000));
    b.retransmitted(piece, 99, false);
    assert_eq!(b.pipe, 7000);
    assert_eq!(b.next_lost(), None);
    assert_eq!(b.next_hole(), None);
    // the ACK covers only segments that were SACKed or retransmitted, so there is no RTT sample
    let resent = Taken { once: None, resent: true, passed: true, sacked: 3000, segments: 1 };
    assert_eq!(b.ack(4001, &mut ()), resent);
    assert_eq!(b.pipe, 6000);
    let once = Some(Sent { oldest: 4, newest: 5 });
    assert_eq!(b.ack(6001, &mut ()), Taken { once, segments: 2, ..Taken::default() });
    b.check(3, MSS, false);
}

#[test]
fn three_runs_and_the_order_of_next_seg() {
    let mut b = Scoreboard::new(1);
    // segments of 100 bytes are so small that only the number of separate SACKed runs can show losses, not SACKed bytes
    for i in 0..10 {
        b.push(1 + i * 100, 100, false, 0);
    }
    let s = |b: &mut Scoreboard, i: u64| {
        b.sack(1 + i * 100, 101 + i * 100, MSS, &mut ());
        b.mark_lost(3, MSS, false);
        b.check(3, MSS, false);
    };
    s(&mut b, 2);
    s(&mut b, 4);
    assert!(!b.head_lost());
    s(&mut b, 6);
    // segments 0 and 1 have three SACKed runs above them, so they are lost. Segment 3 has only two, so it is not lost
    assert_eq!(b.pipe, 500);
    for want in [1, 101] {
        let piece = b.next_lost().unwrap();
        assert_eq!(piece.seq, want);
        b.retransmitted(piece, 1, false);
    }
    assert_eq!(b.next_lost(), None);
    // NextSeg (3): segments 3 and 5 lie below the highest SACKed segment and are not lost, so pipe counts each of them
    // twice after its retransmission
    let piece = b.next_hole().unwrap();
    assert_eq!(piece.seq, 301);
    b.retransmitted(piece, 1, false);
    assert_eq!(b.pipe, 800);
    assert_eq!(b.next_hole().unwrap().seq, 501);
    // NextSeg (4): the highest segment not SACKed
    assert_eq!(b.last_hole().unwrap().seq, 901);
    // segment 5 joins the runs of 4 and 6 into one
    s(&mut b, 5);
    b.mark_lost(3, MSS, false);
    b.check(3, MSS, false);
}

#[test]
fn timeout_with_and_without_memory() {
    for keep in [true, false] {
        let mut b = ten();
        seg(&mut b, 3, 6);
        b.mark_all_lost(keep);
        b.check(3, MSS, false);
        assert_eq!(b.pipe, 0);
        let mut sent = vec![];
        while let Some(piece) = b.next_lost() {
            sent.push((piece.seq - 1) / 1000);
            b.retransmitted(piece, 0, false);
        }
        assert_eq!(sent, if keep { vec![0, 1, 2, 6, 7, 8, 9] } else { (0..10).collect() });
    }
}
