//! The sinks of records, and their combinations.

use crate::{CapturedPacket, FlowOwner, Mask, Probed, Record, Subject};
use packet::FlowId;
use units::Time;

/// A receiver of records.
pub trait Sink {
    /// True if it captures packets ([`Sink::packet`]). Known when a run is compiled, so that other runs pay nothing for it.
    const PACKETS: bool = false;
    /// The kinds of records that it receives. Tested before a record is built.
    fn mask(&self) -> Mask;
    /// Receives a record of a kind in the mask.
    fn put(&mut self, now: Time, record: Record);
    /// Receives a packet at an end of a link. Called only with [`Sink::PACKETS`].
    fn packet(&mut self, _now: Time, _captured: &CapturedPacket<'_>) {}

    /// True if it reads the state of links and senders, by the methods below. Known when a run is compiled.
    const PROBES: bool = false;
    /// The time of its next reading of everything that it [`wants`](Sink::wants), made just before the events of that moment.
    fn next_reading(&self) -> Time {
        Time::NEVER
    }
    /// Advances [`Sink::next_reading`], after that reading was made.
    fn reading_done(&mut self) {}
    /// Returns true if it reads this state: after every event that may have `changed` it, or at its moments.
    fn wants(&self, _of: Subject, _changed: bool) -> bool {
        false
    }
    /// Reads the state of `of` at `now`.
    fn read(&mut self, _now: Time, _of: Subject, _changed: bool, _state: &dyn Probed) {}
    /// Receives the owner of a new flow.
    fn opened(&mut self, _flow: FlowId, _owner: FlowOwner) {}
}

/// Receives nothing.
impl Sink for () {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::NONE
    }
    #[inline]
    fn put(&mut self, _: Time, _: Record) {}
}

/// Stores every record, for tests and short traces.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// Records in order, each with its time.
    pub records: Vec<(Time, Record)>,
}

impl Sink for Tape {
    fn mask(&self) -> Mask {
        Mask::ALL
    }
    fn put(&mut self, now: Time, record: Record) {
        self.records.push((now, record));
    }
}

/// Passes records on to two sinks, by their masks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    #[inline]
    fn mask(&self) -> Mask {
        self.0.mask().with(self.1.mask())
    }
    // inlined where the kind of record is constant, so that no field is computed that no sink reads
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        let kind = record.kind();
        if self.0.mask().has(kind) {
            self.0.put(now, record);
        }
        if self.1.mask().has(kind) {
            self.1.put(now, record);
        }
    }
    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        self.0.packet(now, captured);
        self.1.packet(now, captured);
    }
    const PROBES: bool = A::PROBES || B::PROBES;
    fn next_reading(&self) -> Time {
        self.0.next_reading().min(self.1.next_reading())
    }
    fn reading_done(&mut self) {
        let now = self.next_reading();
        if self.0.next_reading() == now {
            self.0.reading_done();
        }
        if self.1.next_reading() == now {
            self.1.reading_done();
        }
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        self.0.wants(of, changed) || self.1.wants(of, changed)
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        if self.0.wants(of, changed) {
            self.0.read(now, of, changed, state);
        }
        if self.1.wants(of, changed) {
            self.1.read(now, of, changed, state);
        }
    }
    fn opened(&mut self, flow: FlowId, owner: FlowOwner) {
        self.0.opened(flow, owner);
        self.1.opened(flow, owner);
    }
}

/// A borrowed sink, for callers that keep theirs.
impl<S: Sink> Sink for &mut S {
    const PACKETS: bool = S::PACKETS;
    #[inline]
    fn mask(&self) -> Mask {
        (**self).mask()
    }
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        (**self).put(now, record);
    }
    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        (**self).packet(now, captured);
    }
    const PROBES: bool = S::PROBES;
    fn next_reading(&self) -> Time {
        (**self).next_reading()
    }
    fn reading_done(&mut self) {
        (**self).reading_done();
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        (**self).wants(of, changed)
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        (**self).read(now, of, changed, state);
    }
    fn opened(&mut self, flow: FlowId, owner: FlowOwner) {
        (**self).opened(flow, owner);
    }
}

/// A sink that may be absent.
impl<S: Sink> Sink for Option<S> {
    #[inline]
    fn mask(&self) -> Mask {
        self.as_ref().map_or(Mask::NONE, Sink::mask)
    }
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        if let Some(s) = self {
            s.put(now, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Receives some kinds and panics at others.
    struct Picky(Mask, usize);
    impl Sink for Picky {
        fn mask(&self) -> Mask {
            self.0
        }
        fn put(&mut self, _: Time, record: Record) {
            assert!(self.0.has(record.kind()));
            self.1 += 1;
        }
    }

    #[test]
    fn compound_sinks_respect_the_masks_of_their_parts() {
        let picky = |m| Picky(m, 0);
        let mut sink = ((picky(Mask::DROPPED), Tape::default()), (picky(Mask::SENDER), ()));
        for r in samples() {
            sink.put(Time::ZERO, r);
        }
        let ((dropped, tape), (sender, ())) = sink;
        assert_eq!((dropped.1, tape.records.len(), sender.1), (1, 6, 1));
        let mut lent = Tape::default();
        let mut pair = (Some(&mut lent), None::<Tape>);
        assert_eq!((pair.mask(), None::<Tape>.mask()), (Mask::ALL, Mask::NONE));
        pair.put(Time(1), samples()[0]);
        assert_eq!(lent.records.len(), 1);
    }
}
