//! Delivery of packets and timers to the ends of connections.

use crate::codec::{Form, counting_ack, has_bytes, inline_delay, plain_ack, plain_data};
use crate::conn::{AppEvent, AppEventKind, Conn, End, Path, SlotUse, Wire};
use crate::engine::Engine;
use crate::link::Carrier;
use packet::{DropReason, Flags, Packed, PacketMeta};
use record::{Mask, Record, Sink};
use tcp::{Endpoint, TcpParams};
use units::{Duration, Time, prefetch};

/// Number of connections that fit in the second-level cache. If there are more, the connections of the next packets are prefetched.
const IN_CACHE: usize = 128;
/// Prefetch distances, in packets on a link. The first distance is for a packet's connection. The second, shorter
/// distance is for the cache lines to which the connection refers.
const LOOKAHEAD: [usize; 2] = [5, 2];

impl<S: Sink> Engine<S> {
    /// Prefetches the connections of the next packets on link `i`, which has just delivered a packet to its host.
    ///
    /// With ten thousand connections, the half dozen cache lines that a packet needs are rarely in the cache. But the
    /// next packets are known, because they are in the link's ring.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self, i: u16) {
        if self.conns.len() > IN_CACHE {
            self.prefetch_ahead(i);
        }
    }

    /// Implements [`Self::prefetch_next`] if there are many connections.
    #[inline(never)]
    fn prefetch_ahead(&self, i: u16) {
        let ahead = |others: usize| match &self.net.links[usize::from(i)].carrier {
            Carrier::Fifo(fifo) => fifo.ahead(others),
            Carrier::Chained(chained) => chained.ahead(others),
            Carrier::Port { .. } => None,
        };
        if let Some(packet) = ahead(LOOKAHEAD[0]) {
            let end = self.end_of(&packet);
            prefetch(end, 0);
            end.tcp.prefetch(packet.flags.has(Flags::PURE_ACK), 2);
            self.net.bodies.prefetch(&packet);
        }
        if let Some(packet) = ahead(LOOKAHEAD[1]) {
            self.end_of(&packet).tcp.prefetch(packet.flags.has(Flags::PURE_ACK), 1);
        }
    }

    /// Prefetches the next timer's connection.
    #[inline]
    pub(crate) fn prefetch_timer(&self) {
        if self.conns.len() > IN_CACHE
            && let Some(i) = self.net.events.next_timer()
        {
            let end = &self.conns[i as usize / 2].ends[i as usize % 2];
            prefetch(end, 0);
            end.tcp.prefetch(true, 2);
        }
    }

    /// Returns the end that receives a packet.
    #[inline]
    fn end_of(&self, packet: &PacketMeta) -> &End {
        &self.conns[packet.flow.slot()].ends[usize::from(!packet.flags.has(Flags::REVERSE))]
    }

    /// Delivers a packet that has reached its host. The packet is passed as its stamp and the fields of its [`Packed`],
    /// because these can be passed in registers.
    #[inline(never)]
    pub(crate) fn deliver(&mut self, stamp: Time, seq: u64, flow_body: u64, rest: u64) {
        let mut packet = Packed { seq, flow_body, rest };
        if self.net.sink.packets() {
            let mut tagged = packet.at(stamp);
            self.net.tags.take(&mut tagged);
            packet = tagged.packed();
        }
        let (flow, flags) = (packet.flow(), packet.flags());
        let (slot, direction) = (flow.slot(), usize::from(flags.has(Flags::REVERSE)));
        let side = 1 - direction;
        let Self { net, conns, paths, stacks, tally, app_events, deferred_acks, .. } = self;
        let now = net.now();
        let Conn { ends, info } = &mut conns[slot];
        let End { timer, tcp, flow: own, used, path, rx } = &mut ends[side];
        debug_assert_eq!(*own, flow, "no slot is reused while its packets are in the network");
        if *used != SlotUse::Tcp || *own != flow {
            return self.deliver_other(&packet.at(stamp));
        }
        rx.packets += 1;
        rx.wire_bytes += u64::from(packet.size());
        let path = &paths[usize::from(*path)];
        let stack = &stacks[usize::from(path.stack)];
        let wire = &mut Wire { net, flow, path, info, stack, tally, app_events, deferred_acks, delivered: false };
        if path.series {
            wire.tally.arrived_series(wire.info.row, direction, now, packet.size());
        }
        match Form::of_packet(flags) {
            Form::PlainAck => {
                let (ack, ts_ecr) = plain_ack(&packet.at(stamp));
                tcp.on_plain_ack(stack, now, ack, ts_ecr, wire);
            }
            Form::CountingAck => tcp.on_segment(stack, now, &counting_ack(&packet.at(stamp)), wire),
            Form::PlainData => {
                let (data, delay) = plain_data(&packet.at(stamp), now, path.peer_header);
                wire.payload_arrived(direction, packet, stamp, delay);
                tcp.on_plain_data(stack, now, data, wire);
            }
            Form::Sack => {
                let segment = wire.net.bodies.sack(&packet.at(stamp));
                tcp.on_segment(stack, now, &segment, wire);
            }
            Form::Whole => {
                let (segment, delay) = wire.net.bodies.whole(&packet.at(stamp), now);
                if segment.len > 0 {
                    wire.payload_arrived(direction, packet, stamp, delay);
                }
                tcp.on_segment(stack, now, &segment, wire);
            }
        }
        wire.net.arm(timer, tcp.deadline(), slot, side);
        self.report(slot, side);
    }

    /// Delivers a datagram, or drops a packet whose connection no longer exists.
    #[inline(never)]
    fn deliver_other(&mut self, packet: &PacketMeta) {
        let side = usize::from(!packet.flags.has(Flags::REVERSE));
        let Conn { ends, info } = &self.conns[packet.flow.slot()];
        let end = &ends[side];
        if end.used == SlotUse::Free || end.flow != packet.flow {
            return self.flow_gone(packet);
        }
        let path = self.paths[usize::from(end.path)];
        if has_bytes(packet.flags) {
            return self.deliver_bytes(packet, info.row, path);
        }
        if self.net.arrivals.as_mut().is_some_and(|arrivals| arrivals.again(packet.flow, side == 0, packet.seq)) {
            return;
        }
        let now = self.net.now();
        let delay = inline_delay(now, packet.body);
        let Path { app, counts, .. } = path;
        self.tally.datagram(info.row, 1 - side, now, packet, delay);
        self.net.record_delivered(packet, delay);
        if counts {
            let kind = AppEventKind::Datagram(packet.seq, packet.ecn());
            self.app_events.push_back(AppEvent { app, flow: packet.flow, side: side as u8, kind });
        }
    }

    /// Calls `act` for one end, with the end's stack and a [`Wire`] that carries out the end's requests.
    #[inline(always)]
    fn act(&mut self, slot: usize, side: usize, act: impl FnOnce(&mut Endpoint, &TcpParams, &mut Wire<'_, S>)) {
        let Conn { ends, info } = &mut self.conns[slot];
        let end = &mut ends[side];
        let path = &self.paths[usize::from(end.path)];
        let stack = &self.stacks[usize::from(path.stack)];
        let mut wire = Wire {
            net: &mut self.net,
            flow: end.flow,
            path,
            info,
            stack,
            tally: &mut self.tally,
            app_events: &mut self.app_events,
            deferred_acks: &mut self.deferred_acks,
            delivered: false,
        };
        act(&mut end.tcp, stack, &mut wire);
    }

    /// Drops a packet whose connection no longer exists.
    #[cold]
    fn flow_gone(&mut self, packet: &PacketMeta) {
        self.net.bodies.free(packet);
        let sent = &mut self.net.sent[packet.flow.slot()];
        *sent = sent.wrapping_sub(1);
        self.tally.flow_gone += u64::from(self.net.now() >= self.tally.warm_up);
        if self.net.sink.mask().has(Mask::DROPPED) {
            let record = Record::Dropped {
                link: record::LinkId(u16::MAX),
                packet: packet.into(),
                reason: DropReason::FlowGone,
                point: packet::Point::Dequeue,
                sojourn: Duration::ZERO,
            };
            self.net.sink.put(self.net.now(), record);
        }
    }

    /// Schedules the timer of one end of a connection, and reports the end's state to the sink. Both are necessary after
    /// every call into the end.
    #[inline]
    fn after(&mut self, slot: usize, side: usize) {
        let end = &mut self.conns[slot].ends[side];
        self.net.arm(&mut end.timer, end.tcp.deadline(), slot, side);
        self.report(slot, side);
    }

    /// Reports the state of one end of a connection to the sink.
    #[inline]
    fn report(&mut self, slot: usize, side: usize) {
        if self.net.sink.mask().has(Mask::SENDER) {
            let end = &self.conns[slot].ends[side];
            let probe = end.tcp.probe(&self.stacks[usize::from(self.paths[usize::from(end.path)].stack)]);
            let record = Record::Sender {
                flow: end.flow,
                reverse: side == 1,
                cwnd: probe.cwnd_bytes.min(u64::from(u32::MAX)) as u32,
                ssthresh: probe.ssthresh_bytes.min(u64::from(u32::MAX)) as u32,
                srtt_us: probe.srtt.0.div_ceil(1000).min(u64::from(u32::MAX)) as u32,
            };
            let now = self.net.now();
            self.net.sink.put(now, record);
        }
        if self.net.sink.probes() {
            self.read_changed_sender(slot, side);
        }
    }

    /// Calls `act` for one end of a connection, at the current time.
    pub(crate) fn with_end(
        &mut self,
        slot: usize,
        side: usize,
        act: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Wire<'_, S>),
    ) {
        let now = self.net.now();
        self.act(slot, side, |tcp, stack, wire| act(tcp, stack, now, wire));
        self.after(slot, side);
    }

    /// Handles the departure of a packet from its host's device: the packet's socket may now send more.
    #[cold]
    pub(crate) fn left(&mut self) {
        let Some((flow, side, bytes)) = self.net.tsq.take(self.net.now()) else { return };
        let end = &self.conns[flow.slot()].ends[side];
        if end.flow == flow && end.used == SlotUse::Tcp {
            self.with_end(flow.slot(), side, |tcp, stack, now, wire| tcp.on_left(stack, now, bytes, wire));
        }
    }

    /// Handles a timer event of one end of a connection. `i` is the timer's number, as in
    /// [`Target::Timer`](crate::event::Target::Timer).
    pub(crate) fn timer(&mut self, i: u32) {
        let (slot, side) = (i as usize / 2, i as usize % 2);
        let end = &mut self.conns[slot].ends[side];
        if end.timer != self.net.now() {
            return; // timers are lazy: this event was replaced by another, or is no longer needed
        }
        end.timer = Time::NEVER;
        if end.tcp.deadline() <= self.net.now() {
            self.with_end(slot, side, |tcp, stack, now, wire| tcp.on_timer(stack, now, wire));
        } else {
            self.after(slot, side);
        }
    }
}
