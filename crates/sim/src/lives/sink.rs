//! Passes the records, packets and readings of a run to [`Lives`].

use super::table::NONE;
use super::{Landmark, Lives, NO_SUBQUEUE, Phase, Task};
use packet::{Flags, FlowId};
use record::{CapturedPacket, FlowOwner, LinkEnd, Mask, Probed, Record, Sink, Subject};
use units::Time;

impl Sink for Lives {
    fn mask(&self) -> Mask {
        match self.task {
            Task::Record => Mask::ALL.without(Mask::SENDER).without(Mask::DELIVERED),
            Task::Find(Landmark::Drop(_)) => Mask::DROPPED,
            Task::Find(Landmark::Mark(_)) => Mask::MARKED,
            Task::Find(Landmark::Timeout) => Mask::NONE,
        }
    }

    fn put(&mut self, now: Time, record: Record) {
        match (self.task, record) {
            (Task::Find(Landmark::Drop(of)), Record::Dropped { link, .. })
            | (Task::Find(Landmark::Mark(of)), Record::Marked { link, .. })
                if link == of =>
            {
                self.seen(now);
            }
            (Task::Find(_), _) => {}
            (_, Record::Enqueued { link, packet, .. }) => self.enqueued(now, link, &packet),
            (_, Record::Dequeued { link, packet, sojourn, .. }) => {
                self.dequeued(now, link, &packet, Time(now.0.saturating_sub(sojourn.0)));
            }
            (_, Record::Dropped { link, packet, reason, point, sojourn }) if usize::from(link.0) < self.ends.len() => {
                self.dropped(now, link, &packet, (reason, point, Time(now.0.saturating_sub(sojourn.0))));
            }
            (_, Record::Marked { link, packet, point, .. }) => self.marked(now, link, &packet, point),
            _ => {}
        }
    }

    fn packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        if self.task == Task::Record {
            match captured.end {
                LinkEnd::Near => self.arrives(now, captured),
                LinkEnd::Far => self.reaches(now, captured),
            }
        }
    }

    fn probes(&self) -> bool {
        true
    }

    fn next_reading(&self) -> Time {
        self.next
    }

    fn reading_done(&mut self) {
        if self.phase == Phase::Before {
            (self.phase, self.next) = (Phase::Inside, self.until);
        } else {
            (self.phase, self.next) = (Phase::After, Time::NEVER);
        }
    }

    fn wants(&self, of: Subject, changed: bool) -> bool {
        let now = if changed { self.phase == Phase::Inside } else { self.phase == Phase::Before };
        let kind = match self.task {
            Task::Record => true,
            Task::Find(Landmark::Timeout) => matches!(of, Subject::Sender { .. }),
            Task::Find(_) => false,
        };
        now && kind
    }

    fn read(&mut self, now: Time, of: Subject, _changed: bool, state: &dyn Probed) {
        match of {
            Subject::Sender { flow, reverse } => {
                let row = self.flow(flow, reverse);
                if self.senders.read(now, row, state) && self.task == Task::Find(Landmark::Timeout) {
                    self.seen(now);
                }
                self.bound(now);
            }
            Subject::Link(link) => {
                let subqueues = &mut self.subqueues[usize::from(link.0)];
                let grown = subqueues.read(now, state);
                let leg = std::mem::replace(&mut self.entered, NONE);
                if leg == NONE || self.table.leg(leg).link != link.0 || subqueues.names.is_empty() {
                    return;
                }
                let row = self.table.leg(leg).packet;
                let flow = self.table.packet(row).flow;
                if let Some(subqueue) = grown {
                    subqueues.learn(flow, subqueue);
                }
                self.table.leg(leg).subqueue = grown.or_else(|| subqueues.of(flow)).unwrap_or(NO_SUBQUEUE);
            }
        }
    }

    fn opened(&mut self, flow: FlowId, owner: FlowOwner) {
        for reverse in [false, true] {
            let row = self.flow(flow, reverse);
            self.flows[row as usize].owner = owner;
        }
    }
}

const _: () = assert!(Flags::PURE_ACK.0 == 1, "the page reads the flags by their numbers");
