//! What takes facts, and how several take them together.

use crate::{Mask, Passing, Probed, Record, Subject, Whose};
use packet::FlowId;
use units::Time;

/// Takes records.
pub trait Sink {
    /// Whether it wants packets ([`Sink::packet`]). Known when a run is compiled, so that others pay nothing for it.
    const PACKETS: bool = false;
    /// The kinds this sink wants. Tested before a record is built.
    fn mask(&self) -> Mask;
    /// One record of a wanted kind, at `now`.
    fn put(&mut self, now: Time, record: Record);
    /// A packet is at an end of a link, at `now`. Only for those with [`Sink::PACKETS`].
    fn packet(&mut self, _now: Time, _passing: &Passing<'_>) {}

    /// Whether it reads the state of links and senders (the methods below). Known when a run is compiled, as [`Sink::PACKETS`].
    const PROBES: bool = false;
    /// When it next wants to read everything that it [`wants`](Sink::wants); the run reads just before the events of that moment.
    fn next_look(&self) -> Time {
        Time::NEVER
    }
    /// Everything has been read for [`Sink::next_look`], which moves on.
    fn looked(&mut self) {}
    /// Whether it wants this state read: at its moments, or else after everything that may have `changed` it.
    fn wants(&self, _of: Subject, _changed: bool) -> bool {
        false
    }
    /// The state of `of` at `now`.
    fn read(&mut self, _now: Time, _of: Subject, _changed: bool, _state: &dyn Probed) {}
    /// A flow begins under this number.
    fn opened(&mut self, _flow: FlowId, _whose: Whose) {}
}

/// Wants nothing.
impl Sink for () {
    #[inline]
    fn mask(&self) -> Mask {
        Mask::NONE
    }
    #[inline]
    fn put(&mut self, _: Time, _: Record) {}
}

/// Keeps everything: for tests and short traces.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// Records in order, each with its moment.
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

/// Feeds two sinks, each with the kinds that it wants.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const PACKETS: bool = A::PACKETS || B::PACKETS;
    #[inline]
    fn mask(&self) -> Mask {
        self.0.mask().with(self.1.mask())
    }
    // the kind of record is known where it is made: there nothing of it is built that no sink reads
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
    fn packet(&mut self, now: Time, passing: &Passing<'_>) {
        self.0.packet(now, passing);
        self.1.packet(now, passing);
    }
    const PROBES: bool = A::PROBES || B::PROBES;
    fn next_look(&self) -> Time {
        self.0.next_look().min(self.1.next_look())
    }
    fn looked(&mut self) {
        let now = self.next_look();
        if self.0.next_look() == now {
            self.0.looked();
        }
        if self.1.next_look() == now {
            self.1.looked();
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
    fn opened(&mut self, flow: FlowId, whose: Whose) {
        self.0.opened(flow, whose);
        self.1.opened(flow, whose);
    }
}

/// Feeds what is borrowed: a caller that keeps its sink lends it to a run.
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
    fn packet(&mut self, now: Time, passing: &Passing<'_>) {
        (**self).packet(now, passing);
    }
    const PROBES: bool = S::PROBES;
    fn next_look(&self) -> Time {
        (**self).next_look()
    }
    fn looked(&mut self) {
        (**self).looked();
    }
    fn wants(&self, of: Subject, changed: bool) -> bool {
        (**self).wants(of, changed)
    }
    fn read(&mut self, now: Time, of: Subject, changed: bool, state: &dyn Probed) {
        (**self).read(now, of, changed, state);
    }
    fn opened(&mut self, flow: FlowId, whose: Whose) {
        (**self).opened(flow, whose);
    }
}

/// Feeds many sinks of one type (a meter for each link), each with the kinds that it wants.
impl<S: Sink> Sink for Vec<S> {
    fn mask(&self) -> Mask {
        self.iter().fold(Mask::NONE, |m, s| m.with(s.mask()))
    }
    #[inline]
    fn put(&mut self, now: Time, record: Record) {
        let kind = record.kind();
        self.iter_mut().filter(|s| s.mask().has(kind)).for_each(|s| s.put(now, record));
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

    /// Wants some kinds and refuses to be given others.
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
    fn compound_sinks_give_each_what_it_wants() {
        let picky = |m| Picky(m, 0);
        let mut sink = ((picky(Mask::DROPPED), Tape::default()), (vec![picky(Mask::SENDER), picky(Mask::DROPPED)], ()));
        for r in samples() {
            sink.put(Time::ZERO, r);
        }
        let ((a, tape), (many, ())) = sink;
        assert_eq!((a.1, tape.records.len(), many[0].1, many[1].1), (1, 6, 1, 1));
        let mut lent = Tape::default();
        let mut pair = (Some(&mut lent), None::<Tape>);
        assert_eq!((pair.mask(), None::<Tape>.mask()), (Mask::ALL, Mask::NONE));
        pair.put(Time(1), samples()[0]);
        assert_eq!(lent.records.len(), 1);
    }
}
