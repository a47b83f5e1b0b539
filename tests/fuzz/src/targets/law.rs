//! Sequences of calls to every control law, such as a discipline with a single FIFO queue makes.
//!
//! A law marks only ECN-capable packets. After a timer has fired, the law's next timer is later than now. A copy makes
//! the same decisions as the original. The discipline consults the law only about a packet that arrives or that it is
//! about to send, so a law cannot drop more packets than the discipline has.

use super::{Target, Verdict};
use crate::schema::{Range, Schema};
use crate::source::Source;
use packet::{Backlog, Ecn, LinkView, PacketMeta};
use qdisc::LawSpec;
use qdisc::law::{Law, Verdict as Says, View};
use std::collections::VecDeque;
use std::sync::LazyLock;
use units::{BitRate, Duration, Rng, Time};

pub(crate) const LAW: Target = Target {
    name: "law",
    minute: 250_000,
    about: "any control law, any calls: marks only ECN-capable packets, timers advance, a copy decides alike",
    longest: 2048,
    text: false,
    run: law,
    start: Vec::new,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_scenarios);

fn law(bytes: &[u8]) -> Verdict {
    let mut s = Source::new(bytes);
    let range = if s.chance(40) { Range::Wild } else { Range::Usual };
    let tree = SCHEMA.value(SCHEMA.def("Law"), &mut s, range);
    let Some(spec) =
        serde_json::from_value::<LawSpec>(tree).ok().filter(|spec| spec.validate().and_then(|()| spec.ready()).is_ok())
    else {
        return Verdict::Refused;
    };
    let mut host = Host {
        law: spec.law(),
        spec,
        waiting: VecDeque::new(),
        bytes: 0,
        now: Time(0),
        link: LinkView::plain(BitRate(s.spread(64_000, 1_000_000_000))),
        rng: Rng::named(1, "law"),
    };
    while !s.is_empty() {
        match s.byte() {
            0..=109 => host.arrive(&mut s),
            110..=189 => host.serve(),
            190..=194 => host.law.overflow(host.now),
            _ => {
                let ns = s.spread(1, 1_000_000_000);
                host.wait(ns);
            }
        }
    }
    Verdict::Accepted
}

struct Host {
    spec: LawSpec,
    law: qdisc::AnyLaw,
    waiting: VecDeque<PacketMeta>,
    bytes: u64,
    now: Time,
    link: LinkView,
    rng: Rng,
}

impl Host {
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    /// Calls the law and a copy of it, and compares their decisions.
    fn ask(&mut self, packet: &PacketMeta, sojourn: Duration, head: bool) -> Says {
        let backlog = self.backlog();
        let view = View { now: self.now, backlog, sojourn, link: &self.link };
        let (mut copy, mut rng) = (self.law.clone(), self.rng.clone());
        let decide = |law: &mut qdisc::AnyLaw, rng: &mut Rng| {
            if head { law.head(packet, &view, rng) } else { law.arrive(packet, &view, rng) }
        };
        let says = decide(&mut self.law, &mut self.rng);
        assert_eq!(says, decide(&mut copy, &mut rng), "{:?}: a copy decides otherwise", self.spec);
        assert!(copy == self.law, "{:?}: a copy goes on otherwise", self.spec);
        let capable = packet.ecn() != Ecn::NotEct;
        assert!(capable || !matches!(says, Says::Mark(_)), "{:?} marks what is not ECN-capable", self.spec);
        says
    }

    fn arrive(&mut self, s: &mut Source<'_>) {
        let size = 28 + s.below(1_487) as u16;
        let p = PacketMeta { stamp: self.now, size, tos: s.byte() & 0xfe, ..Default::default() };
        if self.ask(&p, Duration::ZERO, false) != Says::Drop {
            self.bytes += p.bytes();
            self.waiting.push_back(p);
        }
    }

    fn serve(&mut self) {
        while let Some(p) = self.waiting.pop_front() {
            self.bytes -= p.bytes();
            if self.ask(&p, self.now.since(p.stamp), true) != Says::Drop {
                let view =
                    View { now: self.now, backlog: self.backlog(), sojourn: self.now.since(p.stamp), link: &self.link };
                self.law.left(&p, &view);
                return;
            }
        }
        self.law.empty(self.now);
    }

    fn wait(&mut self, ns: u64) {
        let until = self.now + Duration(ns);
        for _ in 0..1_000 {
            let Some(at) = self.law.next_tick().filter(|at| *at <= until) else { break };
            self.now = at.max(self.now);
            let view = View { now: self.now, backlog: self.backlog(), sojourn: Duration::ZERO, link: &self.link };
            self.law.tick(&view);
            let next = self.law.next_tick();
            assert!(next.is_none_or(|next| next > self.now), "{:?} ticks without end at {}", self.spec, self.now);
        }
        self.now = until.max(self.now);
    }
}
