//! cake_mq: an instance of CAKE for each transmit queue of a device. The instances share one rate.
//!
//! ```text
//! arrival    hash of the flow --> instance
//! device     takes packets from the instances in turn
//! rate       each instance sends at bandwidth / active.  At its own dequeues, at most every 200 us, it counts
//!            active = 1 + other instances that hold packets, or have sent a packet since this instance last counted
//! ```
//!
//! An instance has the full rate until its first count. When another instance becomes active or idle, the rate of an
//! instance does not change until its next count. Limits apply to each instance.
//!
//! Source: J. Koeppeler, T. Hoiland-Jorgensen, "net/sched: sch_cake: share shaper state across sub-instances of cake_mq", version 3
//! of the patch, 30 November 2025 (facts only); it is part of Linux 7.0.
//! Departs: Linux also sets the rate of the tin that had the last turn to the instance's rate. With XPS, Linux chooses
//! the transmit queue by processor; here, a hash always chooses it. In this model, an instance without packets
//! does not count the active instances.

use super::instance::{Cake, report, sum};
use super::params::CakeParams;
use crate::fair::{HashKey, hash, place};
use crate::{ClassProbe, Context, QueueDiscipline};
use packet::{Backlog, Count, PacketMeta, Reading};
use units::{BitRate, Duration, Time};

/// Minimum time after which an instance counts the active instances again.
const SYNC: Duration = Duration::from_micros(200);

/// One transmit queue.
#[derive(Clone, Debug, PartialEq)]
struct Instance {
    cake: Cake,
    /// Time of the last count.
    counted: Time,
    /// Time of the last departure.
    sent: Option<Time>,
}

/// The state of all instances.
#[derive(Clone, Debug, PartialEq)]
pub struct CakeMq {
    instances: Vec<Instance>,
    bandwidth: Option<BitRate>,
    salt: Option<u32>,
    /// The instance whose turn is next.
    turn: usize,
    wake_at: Option<Time>,
}

impl CakeMq {
    /// Creates empty instances from valid parameters.
    pub(super) fn new(p: &CakeParams) -> Self {
        let instance = Instance { cake: Cake::new(p), counted: Time::ZERO, sent: None };
        Self {
            instances: vec![instance; p.instances.into()],
            bandwidth: p.bandwidth,
            salt: None,
            turn: 0,
            wake_at: None,
        }
    }

    /// Sets the rate of instance `i` to `bandwidth` divided by the number of active instances, which includes `i`. Does
    /// nothing if there is no `bandwidth`, or if instance `i` counted the active instances less than `SYNC` ago.
    fn count(&mut self, i: usize, now: Time) {
        let counted = self.instances[i].counted;
        let Some(bandwidth) = self.bandwidth.filter(|_| now.since(counted) >= SYNC) else { return };
        let active = |of: &Instance| of.cake.total.packets > 0 || of.sent.is_some_and(|at| at > counted);
        let others = self.instances.iter().enumerate().filter(|(j, of)| *j != i && active(of)).count();
        let own = &mut self.instances[i];
        own.counted = now;
        own.cake.set_rate(BitRate(bandwidth.0 / (1 + others as u64)));
    }
}

impl QueueDiscipline for CakeMq {
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
        let salt = *self.salt.get_or_insert_with(|| cx.rng.bits() as u32);
        let h = hash(&packet.tuple(cx.flows), HashKey::FiveTuple, salt);
        let i = place(h, self.instances.len() as u32);
        self.instances[i as usize].cake.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        self.wake_at = None;
        for _ in 0..self.instances.len() {
            let i = self.turn;
            self.turn = (i + 1) % self.instances.len();
            if self.instances[i].cake.total.packets == 0 {
                continue;
            }
            self.count(i, cx.now);
            let own = &mut self.instances[i];
            if let Some(packet) = own.cake.dequeue(cx) {
                own.sent = Some(cx.now);
                self.wake_at = None;
                return Some(packet);
            }
            self.wake_at = self.wake_at.into_iter().chain(own.cake.next_wake()).min();
        }
        None
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake_at
    }

    fn wake(&mut self, _cx: &mut Context<'_>) {
        self.wake_at = None;
    }

    fn backlog(&self) -> Backlog {
        sum(self.instances.iter().map(|of| of.cake.total))
    }

    /// Reports the values that a single instance reports. Counts and backlogs are summed over the instances. Targets
    /// and intervals are the same in all instances. For a clock, the earliest time of all instances is reported.
    fn probe(&self, out: &mut Reading<'_>) {
        report(self.instances.iter().map(|of| &of.cake), out);
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        let mut of = self.instances[0].cake.classes();
        for other in &self.instances[1..] {
            for (sum, more) in of.iter_mut().zip(other.cake.classes()) {
                let (counts, more) = (&mut sum.counts, more.counts);
                for (of, more) in [
                    (&mut counts.offered, more.offered),
                    (&mut counts.delivered, more.delivered),
                    (&mut counts.dropped, more.dropped),
                ] {
                    *of = Count { packets: of.packets + more.packets, bytes: of.bytes + more.bytes };
                }
            }
        }
        of
    }
}
