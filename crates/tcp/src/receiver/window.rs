//! The window field of segments sent and received.

use super::space::Space;
use super::{ON_HEAP, Receiver, WINDOW};
use crate::params::TcpParams;
use crate::segment::{Segment, micros};
use units::Time;

impl Receiver {
    /// Returns true if this side's segments carry its window, because the window of at least one side may change.
    #[inline]
    pub(crate) fn has_space(&self) -> bool {
        self.flags & WINDOW != 0
    }

    fn space(&mut self) -> Option<&mut Space> {
        self.rare.as_mut()?.space.as_mut()
    }

    /// Begins to measure the bytes that the application reads. Called when the connection is established.
    pub(crate) fn begin_space(&mut self, now: Time) {
        let next = self.next;
        if let Some(space) = self.space() {
            space.begin(micros(now), next);
        }
    }

    /// Returns the number of bytes received above the first hole, and the number of bytes from the hole's start to the
    /// highest byte received.
    fn above_the_hole(&self) -> (u64, u64) {
        if !self.has_holes() {
            return (0, 0);
        }
        let ranges = match (&self.many, self.held) {
            (Some(many), ON_HEAP) => &many.ranges[..],
            (_, ON_HEAP) => &[],
            _ => &self.few[..usize::from(self.held)],
        };
        ranges.iter().fold((0, 0), |(held, span), r| (held + (r.end - r.start), span.max(r.end - self.next)))
    }

    /// Lets the window grow, before a data segment is processed. With `quick_acks_return`, each segment is acknowledged
    /// at once while the window grows, as in Linux (tcp_grow_window).
    #[cold]
    pub(crate) fn grow_window(&mut self, p: &TcpParams, segment: &Segment) {
        let (next, (mut held, mut span)) = (self.next, self.above_the_hole());
        if segment.seq > next {
            (held, span) = (held + u64::from(segment.len), span.max(segment.seq + u64::from(segment.len) - next));
        }
        if self.space().is_some_and(|space| space.on_data(p, segment, next, (held, span))) && p.quirks.quick_acks_return
        {
            self.quick |= 1;
        }
    }

    /// Tunes the buffer after a data segment has been processed, and the application has read what arrived in order.
    #[cold]
    pub(crate) fn right_size(&mut self, p: &TcpParams, now: Time, segment: &Segment) {
        let next = self.next;
        if let Some(space) = self.space() {
            space.on_read(p, micros(now), segment, next);
        }
    }

    /// Makes this side's segments carry a window too, because the peer's segment carries one. If the segment has no
    /// data, and all data received is in order and acknowledged, stores the segment's time stamp. The next segment that
    /// this side sends echoes the stored time stamp, unless data with a newer time stamp arrives before that.
    pub(crate) fn on_window_field(&mut self, p: &TcpParams, segment: &Segment) {
        self.flags |= WINDOW;
        let waits = self.since_ack > 0 || self.has_holes();
        let space = self.rare.get_or_insert_default().space.get_or_insert_with(|| Space::new(p));
        if segment.seq_len() == 0 && !waits {
            space.store_timestamp(segment.ts_val);
        }
    }

    /// Sets the window field of a segment, and makes the segment echo the newest time stamp.
    #[cold]
    pub(super) fn stamp_window(&mut self, p: &TcpParams, segment: &mut Segment) {
        let (next, held) = (self.next, self.above_the_hole().0);
        let Some(space) = self.space() else { return };
        segment.set_window(space.window(p, next, held));
        if p.wire.timestamps {
            segment.ts_ecr = space.newest(segment.ts_ecr);
        }
    }
}
