//! The wire behind the server: losses, then propagation.

use crate::env::{Env, Recorder};
use crate::impairments::Impaired;
use crate::{Change, Lateness, PortSpec};
use packet::{Count, DropReason, FateSink, Flags, PacketMeta, Point};
use record::{LinkId, Sink};
use std::collections::VecDeque;
use units::{Duration, Rng, Time};

/// The wire. A packet's delay is `delay`, plus a time drawn uniformly from the whole nanoseconds of [0, `jitter`], plus
/// a time drawn from the distribution `lateness`, plus the delays of the impairments. Without `reorder`, a packet also
/// waits for the packets that left before it, except for packets that the impairment `reordering` holds back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Propagation {
    delay: Duration,
    jitter: Duration,
    lateness: Option<Lateness>,
    reorder: bool,
    loss: f64,
    /// Numbers of the packets to lose, in descending order, so that the next number is the last element.
    lose: Vec<u64>,
    impaired: Option<Box<Impaired>>,
    /// True if the only effect of the wire is to delay each packet by `delay`: no loss, no random delay, no reordering.
    plain: bool,
    loss_rng: Rng,
    jitter_rng: Rng,
    lateness_rng: Rng,
    /// Packets in flight in order of arrival; `stamp` is the arrival time.
    ring: VecDeque<PacketMeta>,
    last_arrival: Time,
    pub lost: Count,
    pub departed: Count,
    pub delivered: Count,
}

impl Propagation {
    /// Builds a wire without packets in flight. `stream` creates the random stream with a given name.
    pub(crate) fn new(spec: &PortSpec, stream: impl Fn(&str) -> Rng) -> Self {
        let mut made = Self {
            delay: spec.delay,
            jitter: spec.jitter,
            lateness: spec.lateness,
            reorder: spec.reorder,
            loss: spec.loss.get(),
            lose: spec.lose.iter().rev().copied().collect(),
            impaired: spec.impairments.as_ref().map(|spec| Box::new(Impaired::new(spec, &stream))),
            plain: false,
            loss_rng: stream("loss"),
            jitter_rng: stream("jitter"),
            lateness_rng: stream("lateness"),
            ring: VecDeque::new(),
            last_arrival: Time::ZERO,
            lost: Count::default(),
            departed: Count::default(),
            delivered: Count::default(),
        };
        made.plain = made.is_plain();
        made
    }

    /// Returns true if the only effect of the wire is to delay each packet by the same time.
    pub(crate) fn is_plain(&self) -> bool {
        let may_lose = self.loss > 0.0 || !self.lose.is_empty();
        let may_delay = !self.jitter.is_zero() || self.lateness.is_some() || self.reorder;
        !may_lose && !may_delay && self.impaired.is_none()
    }

    /// Takes over the packets `in_flight`, which another implementation of this wire has sent. The wire must have no
    /// loss, jitter, lateness or impairments. `delivered` counts the packets that have already arrived.
    pub(crate) fn resume(&mut self, in_flight: &[PacketMeta], delivered: Count) {
        self.delivered = delivered;
        self.departed = delivered;
        in_flight.iter().for_each(|packet| self.departed.add(packet));
        self.last_arrival = in_flight.last().map_or(Time::ZERO, |packet| packet.stamp);
        self.ring.extend(in_flight);
    }

    /// Sets new values of the delay, the jitter and the loss, for all later calls of [`Self::depart`].
    pub(crate) fn change(&mut self, change: &Change) {
        self.delay = change.delay.unwrap_or(self.delay);
        self.jitter = change.jitter.unwrap_or(self.jitter);
        self.loss = change.loss.map_or(self.loss, units::Prob::get);
        self.plain = self.is_plain();
    }

    /// Returns the time at which the next packet reaches the far end; [`Time::NEVER`] if none is in flight.
    #[inline]
    pub(crate) fn arrival_at(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |p| p.stamp)
    }

    /// Returns the time at which a packet left that arrives at the time `at`. The delay must be constant.
    #[inline]
    pub(crate) fn left(&self, at: Time) -> Time {
        Time(at.0 - self.delay.0)
    }

    /// Returns the packet at index `others` among the packets in flight, counted from 0 in order of arrival.
    #[inline]
    pub(crate) fn in_flight(&self, others: usize) -> Option<&PacketMeta> {
        self.ring.get(others)
    }

    /// Returns the number of packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns true if packets arrive in the order in which they leave.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        !self.reorder && self.impaired.as_ref().is_none_or(|impaired| !impaired.reorders())
    }

    /// Sends a packet whose last bit leaves at `end`, which may be later than `now`. The packet is lost or put in flight.
    #[inline(always)]
    pub(crate) fn depart<S: Sink>(
        &mut self,
        now: Time,
        link: LinkId,
        packet: &PacketMeta,
        end: Time,
        env: &mut Env<'_, S>,
    ) {
        if !self.plain || packet.flags.has(Flags::LOCAL) {
            return self.depart_in_full(now, link, packet, end, env);
        }
        self.departed.add(packet);
        self.last_arrival = self.last_arrival.max(end + self.delay);
        // the stamp is set after the copy: copying a packet just after one of its fields was written stalls the processor
        self.ring.push_back(*packet);
        if let Some(last) = self.ring.back_mut() {
            last.stamp = self.last_arrival;
        }
    }

    /// Sends a packet on any wire: the packet may be lost, randomly delayed or reordered. If the sender's socket counts
    /// the packet (TCP small queues), also reports the time at which the packet leaves.
    #[inline(never)]
    fn depart_in_full<S: Sink>(
        &mut self,
        now: Time,
        link: LinkId,
        packet: &PacketMeta,
        end: Time,
        env: &mut Env<'_, S>,
    ) {
        let mut packet = *packet;
        if packet.flags.has(Flags::LOCAL) {
            packet.flags = Flags(packet.flags.0 & !Flags::LOCAL.0);
            env.fate.left(&packet, end);
        }
        let by_chance = self.loss_rng.chance(self.loss);
        let late =
            self.impaired.as_mut().map(|impaired| impaired.late(u64::from(packet.size), end)).unwrap_or_default();
        let before = by_chance || !self.lose.is_empty() && self.chosen();
        if before || late.lost {
            if !before && !self.reorder && !late.by.is_zero() {
                // the link was busy with this packet until its last attempt, so later packets cannot arrive before the
                // time at which this attempt would have arrived
                self.last_arrival = self.last_arrival.max(end + self.delay + late.by);
            }
            self.lost.add(&packet);
            return Recorder { now, link, env }.dropped(&packet, DropReason::LinkLoss, Point::Dequeue);
        }
        self.departed.add(&packet);
        let mut arrival = end + self.delay + late.by;
        if !self.jitter.is_zero() {
            arrival += Duration(self.jitter_rng.below(self.jitter.0.saturating_add(1)));
        }
        if let Some(lateness) = &self.lateness {
            arrival += lateness.at(self.lateness_rng.unit());
        }
        if self.impaired.is_some() {
            return self.depart_impaired(packet, arrival);
        }
        if self.reorder && arrival < self.last_arrival {
            return self.overtake(packet, arrival);
        }
        self.last_arrival = self.last_arrival.max(arrival);
        packet.stamp = self.last_arrival;
        self.ring.push_back(packet);
    }

    /// Adds a packet to the packets in flight, on a wire that may hold packets back or deliver them in batches.
    /// `arrival` is its arrival time without these two impairments, and without waiting for earlier packets.
    #[cold]
    fn depart_impaired(&mut self, packet: PacketMeta, arrival: Time) {
        let Some(impaired) = &mut self.impaired else { return };
        let mut arrival = if self.reorder { arrival } else { arrival.max(self.last_arrival) };
        match impaired.held_back() {
            Some(by) => arrival += by,
            None => self.last_arrival = self.last_arrival.max(arrival),
        }
        let arrival = impaired.batch(arrival);
        self.overtake(packet, arrival);
    }

    /// Returns true if `lose` lists the packet that leaves now. All earlier packets, but not this packet, must already
    /// have been counted as departed or lost.
    #[cold]
    fn chosen(&mut self) -> bool {
        let number = self.departed.packets + self.lost.packets + 1;
        // bound: each iteration removes one number from the list
        while self.lose.pop_if(|next| *next < number).is_some() {}
        self.lose.pop_if(|next| *next == number).is_some()
    }

    /// Inserts `packet` in the order of arrival times: before packets that were sent earlier but arrive later, and after packets
    /// with the same arrival time.
    ///
    /// Bound: one iteration for each overtaken packet.
    #[cold]
    fn overtake(&mut self, mut packet: PacketMeta, arrival: Time) {
        packet.stamp = arrival;
        let overtaken = self.ring.iter().rev().take_while(|p| p.stamp > arrival).count();
        self.ring.insert(self.ring.len() - overtaken, packet);
    }

    #[inline]
    pub(crate) fn may_duplicate(&self) -> bool {
        self.impaired.as_ref().is_some_and(|impaired| impaired.may_duplicate())
    }

    pub(crate) fn duplicates(&mut self) -> bool {
        self.impaired.as_mut().is_some_and(|impaired| impaired.duplicates())
    }

    /// Returns the next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time) -> Option<PacketMeta> {
        let packet = self.ring.pop_front_if(|p| p.stamp <= now)?;
        self.delivered.add(&packet);
        Some(packet)
    }
}
