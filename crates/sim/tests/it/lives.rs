//! Tests the recorded lives of packets, that is, the times at which each packet entered and left each queue. They must
//! agree with the records of the same run, and recording them must change no result.

use crate::common::{Ear, read, run, said};
use record::{LinkId, Mask, PacketId, Record};
use scenario::Scenario;
use sim::World;
use sim::lives::{Landmark, Leg, Lives};
use std::collections::BTreeMap;
use units::Time;

/// Uploads, short flows and a call through a bottleneck. Each test replaces `QUEUE` with a queue.
const HOME: &str = r#"
duration = "6s"
link.up = { from = "a", to = "m", rate = "5mbit", delay = "10ms", queue = QUEUE, loss = 0.002 }
link.on = { from = "m", to = "b", rate = "20mbit", delay = "3ms", jitter = "1ms" }
link.down = { from = "b", to = "a", rate = "20mbit", delay = "10ms" }
app.ftp = { from = "a", to = ["b"], traffic.ftp = { flows = 3 } }
app.low = { from = "a", to = ["b"], tcp = "prague", traffic.ftp = {} }
app.call = { from = "a", to = ["b"], traffic.voip = {} }
app.pages = { from = "a", to = ["b"], traffic.short = {} }
"#;

const QUEUES: [&str; 6] = [
    r#"{ droptail = { limit = "40p" } }"#,
    r#"{ droptail = { limit = "20p", drop_head = true } }"#,
    r#"{ codel = {} }"#,
    r#"{ fq_codel = { limit = "60p" } }"#,
    r#"{ dualpi2 = {} }"#,
    r#"{ cake = { ack_filter = "aggressive" } }"#,
];

/// The fields by which records identify a packet.
type Name = (u32, bool, u64, u16);

fn name(packet: &PacketId) -> Name {
    (packet.flow.0, packet.reverse, packet.seq, packet.size)
}

fn lived(s: &Scenario, lives: Lives) -> World<Lives> {
    let mut world = World::with_sink(s, lives).unwrap();
    world.run_observed(|world| !world.sink().is_done(world.now()));
    world
}

fn window(s: &Scenario, from: u64, until: u64, most: usize) -> World<Lives> {
    lived(s, Lives::new(s, Time(from), Time(until), most).unwrap())
}

/// Counts the packets in each queue at `t`, according to the records: packets that were enqueued, but not yet dequeued or
/// dropped.
fn waiting(heard: &Ear, t: Time) -> BTreeMap<(u16, Name), i64> {
    let mut found = BTreeMap::new();
    // a packet that is dropped on arrival was not enqueued, so only drops of waiting packets are subtracted
    let mut add = |link: LinkId, packet: &PacketId, n: i64| {
        *found.entry((link.0, name(packet))).or_insert(0) += n;
    };
    for (at, record) in heard.records.iter().take_while(|(at, _)| *at <= t) {
        match record {
            Record::Enqueued { link, packet, .. } => add(*link, packet, 1),
            Record::Dequeued { link, packet, .. } => add(*link, packet, -1),
            Record::Dropped { link, packet, sojourn, reason, .. } => {
                use packet::DropReason::{AckFilter, EarlyHead, HeadFull, PushOut};
                let waited = matches!(reason, AckFilter | EarlyHead | HeadFull | PushOut);
                if waited && usize::from(link.0) < 3 {
                    assert!(at.0 >= sojourn.0);
                    add(*link, packet, -1);
                }
            }
            _ => {}
        }
    }
    found.retain(|_, n| *n != 0);
    found
}

/// Counts the packets in each queue at `t`, according to the recorded lives of the packets.
fn alive(lives: &Lives, t: Time) -> BTreeMap<(u16, Name), i64> {
    let mut found = BTreeMap::new();
    let waits = |leg: &&Leg| leg.entered <= t && leg.left > t && leg.dropped > t;
    for leg in lives.legs().iter().filter(waits).filter(|leg| lives.has(leg.packet)) {
        let life = &lives.packets()[leg.packet as usize];
        let flow = &lives.flows()[life.flow as usize];
        *found.entry((leg.link, (flow.id.0, flow.reverse, life.seq, life.size))).or_insert(0) += 1;
    }
    found
}

#[test]
fn queues_hold_the_packets_that_the_records_say() {
    for queue in QUEUES {
        let s = read(&HOME.replace("QUEUE", queue));
        let mut world = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
        world.run(|_| true);
        for (from, until) in [(0, 6_000_000_000), (2_345_678_901, 4_000_000_000)] {
            let lives = window(&s, from, until, usize::MAX);
            let mut most = 0;
            for i in 0..100 {
                let t = Time(from + (until - from) / 100 * i + 17);
                let (expected, found) = (waiting(world.sink(), t), alive(lives.sink(), t));
                assert_eq!(found, expected, "{queue} at {t}, recorded from {from}");
                most = most.max(found.values().sum());
            }
            assert!(most > 5, "{queue}: {most} packets wait at most");
        }
    }
}

#[test]
fn every_packet_has_an_end_and_every_leg_an_order() {
    for queue in QUEUES {
        let s = read(&HOME.replace("QUEUE", queue));
        let world = window(&s, 1_000_000_000, 3_000_000_000, usize::MAX);
        let lives = world.sink();
        let mut counts = [0; 4];
        for leg in lives.legs().iter().filter(|leg| lives.has(leg.packet)) {
            let life = &lives.packets()[leg.packet as usize];
            assert!(life.sent <= leg.entered && leg.entered <= leg.left.min(leg.dropped), "{queue}: {leg:?}");
            assert!((leg.arrived == Time::NEVER) != (leg.dropped == Time::NEVER), "{queue}: {leg:?}");
            assert!(leg.arrived == Time::NEVER || leg.left <= leg.arrived);
            counts[0] += 1;
            counts[1] += usize::from(leg.dropped != Time::NEVER);
            counts[2] += usize::from(leg.marked != Time::NEVER);
            counts[3] += usize::from(life.acknowledged != Time::NEVER);
            assert!(life.acknowledged == Time::NEVER || life.acknowledged > life.arrived);
        }
        assert!(counts[0] > 1000 && counts[1] > 0 && counts[3] > 300, "{queue}: {counts:?}");
        let marks = queue.contains("dualpi2") || queue.contains("cake");
        assert!(counts[2] > 0 || !marks, "{queue}: {counts:?}");
        let names = lives.subqueues(2).len();
        assert_eq!(names > 1, queue.contains("fq") || queue.contains("dual") || queue.contains("cake"), "{queue}");
    }
}

#[test]
fn recording_changes_no_result() {
    let text = HOME.replace("QUEUE", QUEUES[3]);
    let s = read(&text);
    let mut world = World::with_sink(&s, Lives::new(&s, Time(0), Time(6_000_000_000), usize::MAX).unwrap()).unwrap();
    world.run(|_| true);
    assert_eq!(said(&world.outcome(&s)), said(&run(&text)));
}

#[test]
fn a_window_with_too_many_packets_ends_early() {
    let s = read(&HOME.replace("QUEUE", QUEUES[0]));
    let from = 2_000_000_000;
    let whole = window(&s, from, 6_000_000_000, usize::MAX);
    assert!(!whole.sink().is_shortened());
    let few = window(&s, from, 6_000_000_000, 300);
    let lives = few.sink();
    assert!(lives.is_shortened() && lives.until() > Time(from) && lives.until() < Time(3_000_000_000));
    let t = Time(from + (lives.until().0 - from) / 2);
    assert_eq!(alive(lives, t), alive(whole.sink(), t));
    assert!(lives.packets().len() < 310, "{}", lives.packets().len());
}

#[test]
fn memory_before_the_window_is_that_of_the_packets_under_way() {
    let s = read(&HOME.replace("QUEUE", QUEUES[0]));
    let late = window(&s, 5_900_000_000, 5_950_000_000, usize::MAX);
    assert!(late.sink().packets().len() < 600, "{}", late.sink().packets().len());
}

#[test]
fn landmarks_are_those_of_the_records() {
    let s = read(&HOME.replace("QUEUE", QUEUES[4]));
    let mut world = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    world.run(|_| true);
    // links are numbered in alphabetical order of their names: down, on, up
    let up = LinkId(2);
    let first = |after: Time, is: &dyn Fn(&Record) -> bool| {
        world.sink().records.iter().find(|(at, record)| *at > after && is(record)).map(|(at, _)| *at)
    };
    for after in [Time(0), Time(1_500_000_000), Time(4_000_000_000)] {
        let find = |landmark| lived(&s, Lives::find(&s, landmark, after).unwrap()).sink().found();
        let drop = first(after, &|r| matches!(r, Record::Dropped { link, .. } if *link == up));
        let mark = first(after, &|r| matches!(r, Record::Marked { link, .. } if *link == up));
        assert!(drop.is_some() && mark.is_some());
        assert_eq!((find(Landmark::Drop(up)), find(Landmark::Mark(up))), (drop, mark));
        assert_eq!(find(Landmark::Mark(LinkId(0))), None);
    }
}
