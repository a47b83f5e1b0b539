//! Ports in chains: the packets of a port with a discipline enter and leave it without events.
//!
//! If all packets of a port reach one host over the same plain links, these links are the port's *tail*. The packets arrive at the
//! host in the order in which the port dequeues them. So the port's work can wait until a packet arrives at the end of the tail,
//! and one event per packet is enough:
//!
//! ```text
//!   server --access--> r1 --port--> r2 --access--> home
//!          no event    ^  no event  ^              one event per packet: its arrival at home
//!                    inbox        tail
//! ```
//!
//! If only one plain link feeds the port, the packets of this link wait in the port's *inbox* until the port has advanced
//! to the times of their arrivals.
//!
//! **When the port works.** The port dequeues its next packet before the packet in transmission arrives at the end of the tail.
//! So the port need not work before the arrival of the last packet on the tail's last link. Just before this packet arrives, the
//! port does all the work that was due earlier, and the packets that it dequeues enter the tail at once. While the last
//! link is empty, the port has an event of its own, one nanosecond after its next work or arrival. In both cases the port
//! does only work that was due earlier than the current time, so nothing depends on the order of simultaneous events.
//! [`Net::catch_up`] handles the arrivals at the current time.

use crate::chained::Arrival;
use crate::event::Target;
use crate::inbox::{Inbound, Through};
use crate::link::Carrier;
use crate::net::Net;
use packet::{Flags, Packed, PacketMeta};
use record::Sink;
use units::Time;

impl<S: Sink> Net<S> {
    /// Puts a packet that will arrive at port `i` into its inbox. The last parameters are the fields of a [`Packed`].
    #[inline]
    pub(crate) fn put_inbox(&mut self, i: u16, arrival: Arrival, seq: u64, flow_body: u64, rest: u64) {
        let Arrival { at, since, first } = arrival;
        let packet = Packed { seq, flow_body, rest };
        let Carrier::Port { through: Some(through), cuts, .. } = &mut self.links[usize::from(i)].carrier else {
            return debug_assert!(false, "a chain continues only over a port with a tail");
        };
        if *cuts && packet.flags().has(Flags::GSO) {
            return self.put_pieces(i, arrival, &packet.at(at));
        }
        let is_next = through.inbox.is_empty();
        through.inbox.push(Inbound { packet: packet.at(at), since, first });
        if is_next {
            self.wake_through(i);
        }
    }

    /// Splits a packet of several segments (GSO) that will arrive at port `i`, and puts the segments into the inbox.
    #[cold]
    fn put_pieces(&mut self, i: u16, arrival: Arrival, packet: &PacketMeta) {
        // bounded: at most as many segments as fit in a packet of 64 KB
        let pieces = self.bodies.cut(packet);
        self.count_sent(packet.flow, pieces.len() as u32 - 1);
        for (piece, _) in pieces {
            let Packed { seq, flow_body, rest } = piece.packed();
            self.put_inbox(i, arrival, seq, flow_body, rest);
        }
    }

    /// If port `i` has a tail, handles the arrivals at the port and the port's work up to the time `last`, and passes
    /// the packets that the port has dequeued on to the tail.
    #[inline(never)]
    pub(crate) fn follow(&mut self, i: u16, last: Time) {
        self.act_in_chain(i, |port, through, env| {
            let Some(through) = through else { return };
            // bounded: each iteration takes one packet from the inbox
            while let Some(&Inbound { packet, .. }) = through.inbox.get(0).filter(|next| next.packet.stamp <= last) {
                through.inbox.pop();
                port.offer(packet.stamp, packet, env);
            }
            port.catch_up(last, env);
        });
        self.enter_tail(i);
        if let Carrier::Port { port, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier {
            // bounded: each iteration takes one packet in flight
            while let Some(packet) = port.arrive(last) {
                through.entered -= 1;
                through.arrived = packet.stamp;
            }
        }
    }

    /// Handles the arrivals and the work of port `i` that are due at the time `now` and that precede the current event.
    /// The current event was scheduled at the time `since`.
    pub(crate) fn follow_before(&mut self, i: u16, now: Time, since: Time) {
        self.act_in_chain(i, |port, through, env| {
            let Some(through) = through else { return };
            // bounded: each iteration takes one packet from the inbox
            while let Some(Inbound { packet, .. }) = through.before(now, since) {
                through.inbox.pop();
                port.offer(packet.stamp, packet, env);
            }
            // a port outside a chain also works in the event of a packet's arrival at the far end. This port has no
            // such event, so it works here if such an event would precede the current event
            if port.in_flight(0).is_some_and(|packet| packet.stamp == now && through.since(packet) <= since) {
                port.work(now, env);
            }
        });
        self.enter_tail(i);
    }

    #[inline]
    fn through(&self, i: u16) -> Option<&Through> {
        let Carrier::Port { through, .. } = &self.links[usize::from(i)].carrier else { return None };
        through.as_deref()
    }

    /// Passes the packets that port `i` has dequeued on to the links of the port's tail.
    #[inline]
    pub(crate) fn enter_tail(&mut self, i: u16) {
        // bounded: each iteration takes one packet in flight
        while let Carrier::Port { port, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier
            && let Some(packet) = port.in_flight(through.entered)
        {
            let (packet, at) = (packet.packed(), packet.stamp);
            through.entered += 1;
            let since = through.dequeued_at(at, packet.size()).max(through.last_arrival);
            through.last_arrival = at;
            let first = through.tail.first;
            self.pass_on(first, Arrival { at, since, first: true }, packet);
        }
    }

    /// Schedules the work of port `i` if no packet is on the last link of the port's tail. While packets are on that
    /// link, the port works just before the last of them arrives.
    #[inline]
    pub(crate) fn wake_through(&mut self, i: u16) {
        let Some(Through { tail, .. }) = self.through(i) else { return };
        if matches!(&self.links[usize::from(tail.last)].carrier, Carrier::Chained(last) if !last.is_empty()) {
            return;
        }
        let Carrier::Port { port, work, through: Some(through), .. } = &mut self.links[usize::from(i)].carrier else {
            return;
        };
        let next = through.next_arrival().min(port.work_at());
        let at = Time(next.0.saturating_add(1));
        if at < *work {
            *work = at;
            self.events.push(at, Target::Port(i));
        }
    }
}
