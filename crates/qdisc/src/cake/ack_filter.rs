//! The ACK filter: drops a queued ACK that a newer ACK makes redundant.
//!
//! ```text
//! when a pure ACK arrives, the queued packets of its flow are searched, starting at the head:
//!   eligible:  pure ACKs without SYN, FIN, AE or an AccECN option, whose ACK number is older than the new one's (or
//!              equal, if the new ACK has SACK blocks). An ACK with SACK blocks is eligible only if the new ACK has the
//!              same number and blocks that cover the older blocks
//!   kept:      an eligible ACK that is the last before a change of ECE or CWR
//! normal       drops the first eligible ACK if a second one is found
//! aggressive   like normal; if there is only one (besides those kept): drops it if it is right before the new ACK and
//!              has the same ECE and CWR
//! ```
//!
//! The new ACK stays at the tail. Normal mode keeps at least two ACKs per flow.
//!
//! Source: tc-cake(8); Linux's sch_cake.c (facts only).
//! Departs: a queue does not see the ranges of SACK blocks. Blocks count as covered if both ACKs list everything that
//! the receiver holds ([`Flags::SACK_WHOLE`]). Linux compares the ranges: it also drops an ACK with an older number, if
//! the new ACK's blocks cover its blocks, and it keeps an ACK whose number and blocks equal those of the new ACK. Linux
//! keeps every ACK with an unknown option; here, only AccECN options have this effect. An ACK carried by a data segment
//! makes no queued ACK redundant. Time stamps are not compared, because queued ACKs of a flow are in order.

use crate::Fifo;
use packet::{Flags, PacketMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Modes of the ACK filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// No filter (tc's `no-ack-filter`).
    Off,
    /// Keeps at least two ACKs of each flow, for senders that count duplicate ACKs (tc's `ack-filter`).
    Normal,
    /// Keeps at least one ACK of each flow (tc's `ack-filter-aggressive`).
    Aggressive,
}

/// An ACK's congestion flags.
const ECHO: Flags = Flags::ECE.with(Flags::CWR);

/// The filter never drops an ACK that has any of these flags.
const SAYS_MORE: Flags = Flags::SYN.with(Flags::FIN).with(Flags::AE).with(Flags::ACCECN_OPTION);

/// Returns true if `a` and `b` belong to the same flow and direction.
#[inline]
fn same(a: &PacketMeta, b: &PacketMeta) -> bool {
    a.flow == b.flow && a.flags.has(Flags::REVERSE) == b.flags.has(Flags::REVERSE)
}

/// Returns true if `old` is a pure ACK whose information is all contained in `new`, a newer ACK of the same flow.
#[inline]
fn covered(old: &PacketMeta, new: &PacketMeta) -> bool {
    if !old.flags.has(Flags::PURE_ACK) || old.flags.any(SAYS_MORE) {
        return false;
    }
    // ACK numbers of real packets have 32 bits and wrap
    let newer = (new.seq as u32).wrapping_sub(old.seq as u32) as i32;
    if old.flags.has(Flags::SACK) {
        // An ACK with SACK blocks is redundant only if both ACKs have the same number and list everything that the
        // receiver holds: then the newer blocks include the older ones. An ACK with a higher number may have passed an
        // older block and omit it; Linux also keeps the older ACK in this case.
        return newer == 0 && old.flags.and(new.flags).has(Flags::SACK_WHOLE);
    }
    newer > 0 || (newer == 0 && new.flags.has(Flags::SACK))
}

/// Returns the position of the queued ACK that `filter` drops because the newest packet in `queue` makes it redundant;
/// `None` if the filter drops no ACK.   Bound: visits each packet once.
pub(crate) fn superfluous(queue: &Fifo, filter: AckFilter) -> Option<usize> {
    let last = queue.backlog().packets.checked_sub(1)? as usize;
    let new = queue.back().filter(|p| p.flags.has(Flags::PURE_ACK) && !p.flags.has(Flags::SYN))?;
    if filter == AckFilter::Off || last == 0 {
        return None;
    }
    let mut first: Option<(usize, Flags)> = None;
    for (place, old) in queue.iter().enumerate().take(last).filter(|(_, p)| same(p, new)) {
        let echo = old.flags.and(ECHO);
        if first.is_some_and(|(_, e)| e != echo) {
            first = None;
        }
        if !covered(old, new) {
            continue;
        }
        match first {
            Some((found, _)) => return Some(found),
            None => first = Some((place, echo)),
        }
    }
    let (place, echo) = first?;
    (filter == AckFilter::Aggressive && place + 1 == last && echo == new.flags.and(ECHO)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::FlowId;

    fn ack(seq: u64, more: Flags) -> PacketMeta {
        PacketMeta { seq, size: 40, flags: Flags::PURE_ACK.with(more), ..Default::default() }
    }
    fn found(packets: &[PacketMeta], filter: AckFilter) -> Option<usize> {
        let mut queue = Fifo::default();
        packets.iter().for_each(|p| queue.push(*p));
        superfluous(&queue, filter)
    }
    const NONE: Flags = Flags(0);

    #[test]
    fn two_older_ones_are_needed_or_one() {
        use AckFilter::{Aggressive, Normal, Off};
        let acks: Vec<PacketMeta> = (1..=3).map(|i| ack(1000 * i, NONE)).collect();
        assert_eq!(found(&acks, Normal), Some(0));
        assert_eq!(found(&acks, Off), None);
        assert_eq!((found(&acks[..2], Normal), found(&acks[..2], Aggressive)), (None, Some(0)));
        assert_eq!(found(&acks[..1], Aggressive), None);
        // the newer ACK number has wrapped at 32 bits
        assert_eq!(found(&[ack(0xffff_fff0, NONE), ack(4, NONE)], Aggressive), Some(0));
    }

    #[test]
    fn what_says_more_stays() {
        use AckFilter::{Aggressive, Normal};
        let of = |first: PacketMeta| found(&[first, ack(5, NONE), ack(9, NONE)], Normal);
        assert_eq!(of(ack(1, NONE)), Some(0));
        assert_eq!(of(ack(1, Flags::SACK)), None, "ranges");
        assert_eq!((of(ack(1, Flags::AE)), of(ack(1, Flags::ACCECN_OPTION))), (None, None), "counters of AccECN");
        assert_eq!(of(ack(1, Flags::FIN)), None, "the end");
        assert_eq!(of(ack(9, NONE)), None, "a duplicate");
        assert_eq!(of(PacketMeta { flags: NONE, size: 1500, ..ack(1, NONE) }), None, "data");
        assert_eq!(of(PacketMeta { flow: FlowId(7), ..ack(1, NONE) }), None, "another flow");
        assert_eq!(of(ack(1, Flags::REVERSE)), None, "the other way");
        // an ACK with SACK blocks is redundant only if the new ACK has the same number, and both ACKs list everything received
        let (some, all) = (Flags::SACK, Flags::SACK.with(Flags::SACK_WHOLE));
        let sacks = |old: (u64, Flags), new: (u64, Flags)| found(&[ack(old.0, old.1), ack(new.0, new.1)], Aggressive);
        assert_eq!(
            (sacks((9, all), (9, all)), sacks((9, some), (9, all)), sacks((9, all), (9, some))),
            (Some(0), None, None)
        );
        assert_eq!((sacks((8, all), (9, all)), sacks((8, all), (9, NONE))), (None, None), "a hole was filled");
        // a duplicate ACK with SACK blocks makes an ACK without blocks redundant; a duplicate ACK without blocks does not
        assert_eq!(found(&[ack(9, NONE), ack(9, Flags::SACK)], Aggressive), Some(0));
        assert_eq!(found(&[ack(9, NONE), ack(9, NONE)], Aggressive), None);
    }

    #[test]
    fn a_change_of_the_echo_is_not_lost() {
        use AckFilter::{Aggressive, Normal};
        let (on, off) = (Flags::ECE, NONE);
        // ACK 1 is kept, because ACK 2 differs from it in ECE, and the search starts again at ACK 2. The normal filter
        // drops an ACK only if it finds a second redundant ACK with the same flags. If ACK 3 is the newest, only ACK 2
        // is redundant. If ACK 4 is the newest, ACKs 2 and 3 are redundant, and ACK 2, at position 1, is dropped
        assert_eq!(found(&[ack(1, off), ack(2, on), ack(3, on)], Normal), None);
        assert_eq!(found(&[ack(1, off), ack(2, on), ack(3, on), ack(4, on)], Normal), Some(1));
        assert_eq!(found(&[ack(1, off), ack(2, on)], Aggressive), None);
        assert_eq!(found(&[ack(1, on), ack(2, on)], Aggressive), Some(0));
    }
}
