//! Connections: two TCP ends, each with the state that the simulator keeps for it.

use crate::codec::{Envelope, Form, encode, encode_plain};
use crate::net::Net;
use measure::tally::{self, SenderCounts, SenderState, Tally};
use packet::{Ecn, Flags, FlowId, NodeId, Packed, PacketMeta, Reading, Sample};
use record::Sink;
use std::collections::VecDeque;
use tcp::{Endpoint, Event, Io, Plain, Segment, TcpParams};
use units::{Duration, Time};

/// The content of a slot in the connection table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotUse {
    Free,
    Tcp,
    Udp,
}

/// The path from one side of an application's flows to the other, with the properties shared by all packets on the path. A
/// world has few paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The node of this side.
    pub at: NodeId,
    /// The other side's node.
    pub peer: NodeId,
    pub direction: Flags,
    pub dscp: u8,
    /// ECN field of the datagrams on this path.
    pub datagram_ecn: u8,
    /// Index into the world's stacks.
    pub stack: u16,
    /// Header bytes of the plain data segments that the other side sends.
    pub peer_header: u16,
    pub app: u16,
    /// True if the application is notified of received payload and datagrams.
    pub counts: bool,
    /// True if the application's rows have series.
    pub series: bool,
    /// True if the other side reads the time stamps of this side's ACKs.
    pub ack_time: bool,
}

/// One end of a connection: its TCP state, its path, the packets that it has received, and the time of the earliest
/// event of its timer. The fields are arranged by cache line: [`Endpoint`] begins 32 bytes into the first line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct End {
    pub timer: Time,
    pub flow: FlowId,
    /// Index into the world's paths.
    pub path: u16,
    pub used: SlotUse,
    pub rx: RxCounts,
    pub tcp: Endpoint,
}

/// The rarely read part of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnInfo {
    /// The row of counters to which this connection adds.
    pub row: u32,
    /// The connection's number among the application's flows.
    pub number: u32,
    /// True for each end that has reported `Closed`; after an abort, true for both.
    pub closed: [bool; 2],
}

/// Packets received at one end. These counts are added to the row of counters only when the connection or the run ends,
/// because the row is rarely in the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RxCounts {
    pub packets: u64,
    pub wire_bytes: u64,
}

impl End {
    /// Returns the counters of this end as a receiver and as a sender.
    pub(crate) fn account(&self) -> (tally::ReceiverCounts, SenderCounts) {
        let (RxCounts { packets, wire_bytes }, stats) = (self.rx, self.tcp.stats());
        let rx = tally::ReceiverCounts { packets, wire_bytes, goodput_bytes: stats.bytes_received };
        let sender = SenderCounts {
            retransmits: u64::from(stats.retransmits),
            timeouts: u64::from(stats.timeouts),
            fast_recoveries: u64::from(stats.fast_recoveries),
            ce_packets: u64::from(stats.ce_reported),
        };
        (rx, sender)
    }

    /// Returns the state of this end as a sender.
    pub(crate) fn sender_state(&self, now: Time, stack: &TcpParams) -> SenderState {
        let tcp::Probe { cwnd_bytes, ssthresh_bytes, srtt, .. } = self.tcp.probe(stack);
        let mut path = None;
        let mut take = |sample: Sample| {
            if let Sample::Path(model) = sample {
                path = Some(model);
            }
        };
        self.tcp.read_controller(&mut Reading::samples(now, &mut take));
        SenderState { cwnd_bytes, ssthresh_bytes, srtt, path: path.filter(|model| model.btl_bw.0 > 0) }
    }
}

/// A slot in the connection table. Its size is an odd number of cache lines, so that the hot lines of all connections
/// spread over all sets of a cache. (With sixteen lines, eight per end, the first lines of all connections would share
/// one sixteenth of the sets.)
#[derive(Clone, Debug)]
pub(crate) struct Conn {
    pub ends: [End; 2],
    /// The rarely read part. It takes up the seventeenth cache line, so the number of lines is odd.
    pub info: ConnInfo,
}

/// Size in bytes of a connection in a world's table. This includes both ends, with room for a few segments in flight
/// and for a few ranges received above holes. Additional segments and ranges are stored elsewhere.
pub const CONNECTION_BYTES: usize = size_of::<Conn>();

impl Conn {
    /// Returns the use of the slot. Both ends store the same value.
    #[inline]
    pub(crate) fn used(&self) -> SlotUse {
        self.ends[0].used
    }

    /// Adds the counters of both ends, which cover the whole connection so far, to the connection's row in `tally`.
    pub(crate) fn retire(&self, tally: &mut Tally) {
        for (direction, end) in self.ends.iter().enumerate() {
            let (rx, sender) = end.account();
            tally.retire(self.info.row, direction, rx, sender);
        }
    }
}

/// An event at one side of a flow, which the world handles and may pass on to the application. Events are handled in
/// the order in which they occurred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AppEvent {
    pub app: u16,
    pub flow: FlowId,
    pub side: u8,
    pub kind: AppEventKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AppEventKind {
    Connected,
    Received(u64),
    Datagram(u64, Ecn),
    Closed,
    /// This side gave up without notifying the other side.
    Failed,
}

/// Carries out the requests of one end: sends its segments, and passes its events to the application.
pub(crate) struct Wire<'a, S> {
    pub net: &'a mut Net<S>,
    pub flow: FlowId,
    pub path: &'a Path,
    pub info: &'a mut ConnInfo,
    pub stack: &'a TcpParams,
    pub tally: &'a mut Tally,
    pub app_events: &'a mut VecDeque<AppEvent>,
    pub deferred_acks: &'a mut Vec<(NodeId, PacketMeta)>,
    /// True if the current call into the end has queued a notification of received payload for the application.
    pub delivered: bool,
}

impl<S: Sink> Wire<'_, S> {
    /// Calls [`Io::send`]. Not inlined, so that a plain segment stays in the caller's registers.
    #[inline(never)]
    fn send_whole(&mut self, segment: Segment) {
        self.send(&segment);
    }

    /// Encodes a segment that leaves now, and counts its packet as sent.
    #[inline(always)]
    fn packet(&mut self, segment: &Segment) -> PacketMeta {
        let (now, path) = (self.net.now(), self.path);
        let form = Form::of(segment, path.ack_time);
        let size = self.stack.wire.packet_size(segment);
        let envelope = Envelope { flow: self.flow, direction: path.direction, to: path.peer, dscp: path.dscp, size };
        self.net.count_sent(self.flow, 1);
        let mut packet = encode(segment, form, now, &envelope, &mut self.net.bodies);
        if form == Form::Whole && segment.flags.has(Flags::SYN) && !segment.has_ack {
            self.tally.syn(path.app, self.info.number, now);
        }
        if self.net.sink.packets() {
            self.net.tags.put(&mut packet, Some(segment));
        }
        packet
    }

    /// Records the arrival of a packet's payload, `delay` after it was sent. `direction` is the direction in which it was sent,
    /// and `stamp` the packet's stamp.
    #[inline(always)]
    pub(crate) fn payload_arrived(&mut self, direction: usize, packet: Packed, stamp: Time, delay: Duration) {
        let now = self.net.now();
        self.tally.delay(self.path.app, direction, now, delay);
        if self.path.series {
            self.tally.delay_series(self.info.row, direction, now, delay);
        }
        self.net.record_delivered(&packet.at(stamp), delay);
    }
}

impl<S: Sink> Io for Wire<'_, S> {
    #[inline(always)]
    fn send(&mut self, segment: &Segment) {
        let packet = self.packet(segment);
        self.net.send(self.path.at, packet);
    }

    #[inline(always)]
    fn send_plain(&mut self, plain: Plain) {
        // an ACK whose time stamp the other side reads, and data that acknowledges data, have no plain form
        let fits = if plain.is_ack() { !self.path.ack_time } else { plain.ack == 1 };
        if !fits || self.net.sink.packets() {
            return self.send_whole(plain.segment());
        }
        let path = self.path;
        let size = self.stack.wire.segment_size(&plain.segment());
        let envelope = Envelope { flow: self.flow, direction: path.direction, to: path.peer, dscp: path.dscp, size };
        self.net.count_sent(self.flow, 1);
        self.net.send(path.at, encode_plain(&plain, self.net.now(), &envelope));
    }

    fn send_after_delivery(&mut self, segment: &Segment) {
        let packet = self.packet(segment);
        if self.delivered {
            self.deferred_acks.push((self.path.at, packet));
        } else {
            self.net.send(self.path.at, packet);
        }
    }

    #[inline]
    fn event(&mut self, event: Event) {
        let side = u8::from(self.path.direction.has(Flags::REVERSE));
        let kind = match event {
            Event::Received { bytes } => {
                // the other side sent the payload, so the bytes are added to that side's series. The total is counted
                // by this end's `Endpoint`
                if self.path.series {
                    self.tally.goodput_series(self.info.row, usize::from(1 - side), self.net.now(), bytes);
                }
                if !self.path.counts {
                    return;
                }
                self.delivered = true;
                AppEventKind::Received(bytes)
            }
            Event::Connected => AppEventKind::Connected,
            Event::Closed => {
                self.info.closed[usize::from(side)] = true;
                AppEventKind::Closed
            }
            Event::Failed => AppEventKind::Failed,
            Event::PeerFinished | Event::Acked { .. } => return,
        };
        self.app_events.push_back(AppEvent { app: self.path.app, flow: self.flow, side, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        // `tcp`, which holds the hot cache lines, begins 32 bytes into an end. A connection has 8 cache lines for each
        // end and 1 for `info`
        assert_eq!((std::mem::offset_of!(End, tcp), size_of::<Conn>()), (32, (8 + 8 + 1) * 64));
    }
}
