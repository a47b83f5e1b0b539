//! CAKE: one discipline with a shaper, traffic classes (tins), isolation of flows and hosts, and the law COBALT.
//!
//! ```text
//!                                +-- tin: flows in turn, hosts share equally --+
//! arrival -- code point -------->|-- tin                                       |--> shaper's clock --> COBALT --> link
//!                  |             +-- tin                                       +
//!                  +-- hash, 8 ways; ACK filter; over the limit: drops the head of the longest queue
//!
//! next tin     shaped: the last tin whose clock is due; if none is due, the tin whose clock is earliest
//!              unlimited: deficit round robin with the tins' weights;  both skip tins without active queues
//! tin's clock  after n bytes were sent (or, in ingress mode, dropped):
//!              if next < now: next += n / threshold;  otherwise: next = max(next, now + n / threshold)
//! over target  sojourn > target and > 4 mtu_time, and in ingress mode > 2 mtu_time x bulk flows of the tin
//! ```
//!
//! With `bandwidth`, the discipline shapes: even if the link is free, it sends nothing before the shaper's clock is
//! due. After a dequeue that sent nothing for this reason, [`QueueDiscipline::next_wake`] returns the time at which the
//! clock is due. The discipline is in `instance`, and each mechanism has its own file: `overhead`, `shaper`, `tins`,
//! `flows` (whose lists are in `lists`), `hosts`, `ack_filter`. The law is COBALT (`law/cobalt.rs`). `mq` runs several
//! instances that share a rate.
//!
//! Source: Hoiland-Jorgensen, Taht & Morton, "Piece of CAKE", 2018 (arXiv 1804.07617); tc-cake(8); Linux's sch_cake.c (facts
//! only).
//! Departs: the memory limit counts bytes on the wire; Linux counts the memory of its packet buffers, about 50 % more
//! for full packets, and several times more for small ones. `limit` is a second limit; CAKE has only a memory limit.
//! Not modelled: `autorate-ingress`, `nat`, `fwmark`. With `split_gso` (the default), packets of several segments are
//! split before they reach the discipline.

mod ack_filter;
mod flows;
mod hosts;
mod instance;
mod lists;
mod mq;
mod overhead;
mod params;
mod shaper;
mod table;
mod tins;

pub(crate) use params::CakeParams;

use crate::{ClassProbe, Context, Params, QueueDiscipline, Room};
use instance::Cake;
use mq::CakeMq;
use packet::{Backlog, PacketMeta, Reading};
use units::{BitRate, Limit, Problem, Time, ensure, positive, positive_or_none};

impl Params for CakeParams {
    type Discipline = Instances;
    fn validate(&self) -> Result<(), Problem> {
        let stopped = self.bandwidth == Some(BitRate(0));
        ensure!(!stopped, "bandwidth", "0bit is not valid; expected a positive rate, or null for unlimited");
        positive("rtt", self.rtt)?;
        positive_or_none("target", self.target)?;
        let o = self.overhead.unwrap_or(0);
        ensure!((-64..=256).contains(&o), "overhead", "{o} is not valid; expected -64 to 256 bytes, or null");
        for (path, n) in [("mpu", self.mpu), ("header", self.header)] {
            ensure!(n <= 256, path, "{n} is not valid; expected at most 256 bytes");
        }
        let n = self.instances;
        ensure!((1..=64).contains(&n), "instances", "{n} is not valid; expected 1 to 64");
        Room::holds("memory_limit", self.memory_limit.map(Limit::Bytes))?;
        Room::validate(self.limit, false)
    }
    fn build(&self) -> Instances {
        if self.instances > 1 {
            Instances::Several(CakeMq::new(self))
        } else {
            Instances::One(Box::new(Cake::new(self)))
        }
    }
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        // a shaper that is faster than the link would not shape, because the link would be the bottleneck
        if let Some(b) = self.bandwidth {
            ensure!(
                b <= rate,
                "bandwidth",
                "{b} is not valid on a link of {rate}; expected at most the link's rate, or null"
            );
        }
        Room::validate_at(self.limit, false, self.bandwidth.unwrap_or(rate))
    }
    fn shapes(&self) -> Option<BitRate> {
        self.bandwidth
    }
    fn split_gso(&self) -> bool {
        self.split_gso
    }
}

/// One instance of CAKE, or several that share `bandwidth`.
#[derive(Clone, Debug, PartialEq)]
pub enum Instances {
    /// One instance.
    One(Box<Cake>),
    /// One instance for each transmit queue.
    Several(CakeMq),
}

impl Instances {
    #[inline(always)]
    fn of(&self) -> &dyn QueueDiscipline {
        match self {
            Self::One(cake) => &**cake,
            Self::Several(mq) => mq,
        }
    }
}

impl QueueDiscipline for Instances {
    #[inline]
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
        match self {
            Self::One(cake) => cake.enqueue(packet, cx),
            Self::Several(mq) => mq.enqueue(packet, cx),
        }
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        match self {
            Self::One(cake) => cake.dequeue(cx),
            Self::Several(mq) => mq.dequeue(cx),
        }
    }
    #[inline]
    fn next_wake(&self) -> Option<Time> {
        match self {
            Self::One(cake) => cake.next_wake(),
            Self::Several(mq) => mq.next_wake(),
        }
    }
    fn wake(&mut self, cx: &mut Context<'_>) {
        match self {
            Self::One(cake) => cake.wake(cx),
            Self::Several(mq) => mq.wake(cx),
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        match self {
            Self::One(cake) => cake.backlog(),
            Self::Several(mq) => mq.backlog(),
        }
    }
    fn probe(&self, out: &mut Reading<'_>) {
        self.of().probe(out);
    }
    fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.of().classes()
    }
}
