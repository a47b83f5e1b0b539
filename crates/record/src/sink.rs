//! The sinks of records, and their combinations.

use crate::{CapturedPacket, FlowOwner, Mask, Probed, Record, Subject};
use packet::FlowId;
use units::Time;

/// A receiver of records.
pub trait Sink {
    /// Returns the kinds of records that the sink receives. Other records are not even built.
    fn mask(&self) -> Mask;
    /// Receives a record of a kind in the mask.
    fn put(&mut self, now: Time, record: Record);
    /// Returns true if the sink captures packets ([`Sink::packet`]). The answer never changes.
    #[inline]
    fn packets(&self) -> bool {
        false
    }
    /// Receives a packet at an end of a link. Called only if [`Sink::packets`] is true for this sink, or for the pair of sinks to
    /// which it belongs.
    fn packet(&mut self, _now: Time, _captured: &CapturedPacket<'_>) {}

    /// Returns true if the sink reads the state of links and senders with the methods below. The answer never changes.
    #[inline]
    fn probes(&self) -> bool {
        false
    }
    /// Returns the time of the sink's next reading. At this time, before any event of the same time, the sink reads the
    /// state of every link and sender that it [`wants`](Sink::wants).
    fn next_reading(&self) -> Time {
        Time::NEVER
    }
    /// Notifies the sink that the reading at [`Sink::next_reading`] is complete. The sink then sets the time of the
    /// next reading.
    fn reading_done(&mut self) {}
    /// Returns true if the sink reads the state of this link or sender. `changed` is true after an event that may have changed
    /// the state, and false at the times of [`Sink::next_reading`].
    fn wants(&self, _of: Subject, _changed: bool) -> bool {
        false
    }
    /// Reads the state of a link or sender at the time `_now`. Called only after [`Sink::wants`] has returned true for
    /// this link or sender.
    fn read(&mut self, _now: Time, _of: Subject, _changed: bool, _state: &dyn Probed) {}
    /// Receives the owner of a new flow. Called only if [`Sink::probes`] is true for this sink, or for the pair of sinks to
    /// which it belongs.
    fn opened(&mut self, _flow: FlowId, _owner: FlowOwner) {}
}

/// A sink that receives nothing.
impl Sink for () {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::NONE
    }
    #[inline]
    fn put(&mut self, _: Time, _: Record) {}
}

/// A sink that stores every record, for tests and short traces.
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

/// Passes records to two sinks, according to their masks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn mask(&self) -> Mask {
        self.0.mask().with(self.1.mask())
    }
    // always inlined, so that the fields of a record are computed only if a sink reads this kind of record
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
    #[inline]
    fn packets(&self) -> bool {
        self.0.packets() || self.1.packets()
    }
    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        self.0.packet(now, captured);
        self.1.packet(now, captured);
    }
    #[inline]
    fn probes(&self) -> bool {
        self.0.probes() || self.1.probes()
    }
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

/// A borrowed sink, for callers that use the sink again after the run.
impl<S: Sink> Sink for &mut S {
    #[inline]
    fn mask(&self) -> Mask {
        (**self).mask()
    }
    #[inline(always)]
    fn put(&mut self, now: Time, record: Record) {
        (**self).put(now, record);
    }
    #[inline]
    fn packets(&self) -> bool {
        (**self).packets()
    }
    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        (**self).packet(now, captured);
    }
    #[inline]
    fn probes(&self) -> bool {
        (**self).probes()
    }
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
    #[inline]
    fn packets(&self) -> bool {
        self.as_ref().is_some_and(Sink::packets)
    }
    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        self.iter_mut().for_each(|s| s.packet(now, captured));
    }
    #[inline]
    fn probes(&self) -> bool {
        self.as_ref().is_some_and(Sink::probes)
    }
    fn next_reading(&self) -> Time {
        self.as_ref().map_or(Time::NEVER, Sink::next_reading)
    }
    fn reading_done(&mut self) {
        self.iter_mut().for_each(Sink::reading_done);
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        self.as_ref().is_some_and(|s| s.wants(of, changed))
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        self.iter_mut().for_each(|s| s.read(now, of, changed, state));
    }
    fn opened(&mut self, flow: FlowId, owner: FlowOwner) {
        self.iter_mut().for_each(|s| s.opened(flow, owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// A sink that receives some kinds of records, and panics if it receives another kind.
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
