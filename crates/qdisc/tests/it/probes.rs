//! Tests that the probe of every discipline and law reports the same names in every state, and does not change the state.

use packet::{FlowId, FlowTable, Item, LinkView, PacketMeta, Reading, Value};
use qdisc::{Context, LawSpec, QDISCS, Queue, QueueDiscipline, Spec};
use std::collections::BTreeSet;
use units::{BitRate, Rng, Time};

/// Disciplines whose only state is their packets.
const STATELESS: [&str; 1] = ["droptail"];
/// Disciplines whose whole state is in their classes. The first part of their readings, which describes the discipline
/// as a whole, is empty.
const CLASSES_ONLY: [&str; 1] = ["cbt"];

/// One part of a reading: its queue, and the name and type of each column.
#[derive(Debug, Default, PartialEq)]
struct Part {
    queue: Option<String>,
    columns: Vec<(String, String)>,
}

impl Part {
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }
}

fn read(of: &impl QueueDiscipline, now: Time) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    let mut take = |item: Item<'_>| match item {
        Item::Queue(name) => parts.push(Part { queue: Some(name.to_owned()), ..Part::default() }),
        Item::Value(name, unit, value) => {
            let kind = match value {
                Value::Number(_) => "number",
                Value::Flag(_) => "flag",
                Value::Word(_) => "word",
            };
            parts.last_mut().unwrap().columns.push((format!("{name}{}", unit.suffix()), kind.to_owned()));
        }
    };
    of.probe(&mut Reading::new(now, true, &mut take));
    parts
}

/// Overloads the queue for five seconds: a packet of one of eight flows arrives every 1 ms, and a packet leaves every 1.2 ms on
/// average.
fn load(queue: &mut Queue, mut look: impl FnMut(&Queue, Time)) {
    let (mut rng, flows, link) = (Rng::named(1, "q"), FlowTable::default(), LinkView::plain(BitRate(10_000_000)));
    for i in 0..5_000u64 {
        let at = |us: u64| Time((i * 1_000 + us) * 1_000);
        let mut at_moment = |now, act: &mut dyn FnMut(&mut Queue, &mut Context<'_>)| {
            act(queue, &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut () });
        };
        at_moment(at(0), &mut |queue, cx| {
            while queue.next_wake().is_some_and(|t| t <= cx.now) {
                queue.wake(cx);
            }
        });
        let packet = PacketMeta { flow: FlowId((i % 8) as u32), size: 1500, ..Default::default() };
        at_moment(at(1), &mut |queue, cx| _ = queue.enqueue(packet, cx));
        if i % 6 != 0 {
            at_moment(at(2), &mut |queue, cx| _ = queue.dequeue(cx));
        }
        if i % 500 == 7 {
            look(queue, at(2));
        }
    }
}

fn check(name: &str, spec: &Spec) {
    spec.validate().unwrap();
    let mut queue = Queue::new(spec.build());
    let first = read(queue.discipline(), Time::ZERO);
    let mut inside: Option<Vec<String>> = None;
    load(&mut queue, |queue, now| {
        let before = queue.clone();
        let parts = read(queue.discipline(), now);
        assert_eq!(*queue, before, "{name}: a probe changes nothing");
        assert_eq!(parts[0].columns, first[0].columns, "{name}: the same columns, whatever it has seen");
        for part in &parts {
            let names = part.names();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{name}: {names:?}");
            for column in &names {
                let plain = column.starts_with(|c: char| c.is_ascii_lowercase())
                    && column.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                assert!(plain, "{name}: {column}");
            }
        }
        for part in &parts[1..] {
            let names: Vec<String> = part.names().iter().map(ToString::to_string).collect();
            if spec.fair().is_some() {
                assert_eq!(inside.get_or_insert(names.clone()), &names, "{name}: queues have the same columns");
            }
        }
    });
    assert!(
        !first[0].columns.is_empty() || STATELESS.contains(&name) || CLASSES_ONLY.contains(&name),
        "{name} is mute"
    );
    let many = spec.fair().is_some() || ["cbt", "dcbt", "cbq", "cake", "dualpi2", "docsis_lld"].contains(&name);
    assert_eq!(read(queue.discipline(), Time(5_000_000_000)).len() > 1, many, "{name}: its queues");
}

#[test]
fn every_discipline_tells_its_state() {
    for info in QDISCS {
        check(info.name, &Spec::named(info.name).unwrap());
    }
}

#[test]
fn every_law_tells_its_state_in_every_queue() {
    for law in LawSpec::NAMES {
        let spec = Spec::named("sfq_hss").unwrap().with_law(LawSpec::named(law).unwrap()).unwrap();
        check(law, &spec);
        let mut queue = Queue::new(spec.build());
        load(&mut queue, |_, _| {});
        // five columns belong to the queue, not to the law: backlog_packets, backlog_bytes, head_wait_ms, deficit_bytes and new
        let columns = read(queue.discipline(), Time(5_000_000_000))[1].names().len();
        assert_eq!(columns > 5, *law != "none", "{law} is mute");
    }
}

#[test]
fn codel_tells_what_its_state_is() {
    let mut queue = Queue::new(Spec::named("codel").unwrap().build());
    load(&mut queue, |_, _| {});
    let mut told = std::collections::BTreeMap::new();
    let mut take = |item: Item<'_>| {
        if let Item::Value(name, unit, value) = item {
            told.insert(format!("{name}{}", unit.suffix()), format!("{value:?}"));
        }
    };
    queue.discipline().probe(&mut Reading::new(Time(5_000_000_000), false, &mut take));
    let qdisc::Discipline::Codel(managed) = queue.discipline() else { panic!("codel") };
    let state = managed.law().state();
    assert!(state.dropping && state.count > 3, "{state:?}");
    assert_eq!(told["count"], format!("Number(Some({:?}))", f64::from(state.count)));
    assert_eq!(told["drop_next_s"], format!("Number(Some({:?}))", state.drop_next.0 as f64 / 1e9));
    assert_eq!(told["dropping"], "Flag(true)");
}
