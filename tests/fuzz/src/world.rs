//! Generates whole scenarios from choices: a connected network with applications. The schema supplies most other keys.

use crate::schema::{Range, Schema, name};
use crate::source::Source;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_scenarios);

/// The topology of a network.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Each node is linked to the next.
    Chain,
    /// Each node is linked to the first.
    Star,
    /// The nodes form a ring of one-way links.
    Ring,
}

/// Returns a scenario as JSON text. With [`Range::Usual`], most scenarios are valid, and small enough to run.
pub fn text(s: &mut Source<'_>, range: Range) -> String {
    Value::Object(tree(s, range)).to_string()
}

/// Returns a scenario as a JSON tree.
pub fn tree(s: &mut Source<'_>, range: Range) -> Map<String, Value> {
    let mut root = Map::new();
    let nodes: Vec<String> = (0..2 + s.below(4)).map(|i| format!("n{i}")).collect();
    let duration = if range == Range::Wild && s.chance(64) {
        SCHEMA.value(SCHEMA.def("Duration"), s, range)
    } else {
        json!(format!("{}us", 50_000 + s.below(3_000_000)))
    };
    root.insert("duration".into(), duration);
    root.insert("seed".into(), json!(if range == Range::Wild { s.u64() } else { s.below(1000) }));
    root.insert("link".into(), Value::Object(links(&nodes, s, range)));
    let stacks = stacks(s, range);
    let presets = tcp::PRESETS.iter().map(|p| p.0);
    let stack_names: Vec<String> = presets.map(str::to_owned).chain(stacks.keys().cloned()).collect();
    let mut apps = Map::new();
    for i in 0..1 + s.below(3) {
        apps.insert(format!("app{i}"), app(&nodes, &stack_names, s, range));
    }
    root.insert("app".into(), Value::Object(apps));
    if !stacks.is_empty() {
        root.insert("tcp".into(), Value::Object(stacks));
    }
    if s.chance(48) {
        root.insert("record".into(), record(s, range));
    }
    if range == Range::Wild && s.chance(32) {
        root.insert("route".into(), json!([{ "at": "n0", "to": "n1", "via": name(s, range) }]));
    }
    root
}

fn links(nodes: &[String], s: &mut Source<'_>, range: Range) -> Map<String, Value> {
    let shape = [Shape::Chain, Shape::Star, Shape::Ring][s.index(3)];
    let n = nodes.len();
    let pairs: Vec<(usize, usize)> = match shape {
        Shape::Chain => (1..n).map(|i| (i - 1, i)).collect(),
        Shape::Star => (1..n).map(|i| (0, i)).collect(),
        Shape::Ring => (0..n).map(|i| (i, (i + 1) % n)).collect(),
    };
    let mut links = Map::new();
    for (k, (a, b)) in pairs.into_iter().enumerate() {
        let one_way = matches!(shape, Shape::Ring);
        let both = !one_way && s.chance(64);
        links.insert(format!("l{k}"), link(&nodes[a], &nodes[b], both, s, range));
        if !one_way && !both {
            links.insert(format!("r{k}"), link(&nodes[b], &nodes[a], false, s, range));
        }
    }
    links
}

fn link(from: &str, to: &str, both_ways: bool, s: &mut Source<'_>, range: Range) -> Value {
    let schema = SCHEMA.def("Link");
    let mut link = Map::new();
    // adds keys of the schema: jitter, loss, a shaper, a modem ... The range `Usual` leaves out keys that are set below
    if let Value::Object(more) = SCHEMA.value(schema, s, range) {
        let keep =
            |key: &str| range == Range::Wild || !["rate", "delay", "changes", "queue", "lateness"].contains(&key);
        link.extend(more.into_iter().filter(|(key, _)| keep(key)));
    }
    // a link has only one service
    let served: Vec<&str> =
        ["docsis31", "delivery", "docsis", "shaper"].into_iter().filter(|key| link.contains_key(*key)).collect();
    if served.len() > 1 && (range == Range::Usual || s.chance(200)) {
        let kept = s.pick(&served);
        served.iter().filter(|key| **key != kept).for_each(|key| drop(link.remove(*key)));
    }
    // the fuzzer reads no files, so the scenario itself contains the lines of the trace
    if let Some(trace) = link.get_mut("delivery").and_then(|d| d.get_mut("trace"))
        && (range == Range::Usual || s.chance(200))
    {
        trace["source"] = json!(s.pick(&["+1", "+16 +1x3", "+0x9 +250 +3 +0"]));
    }
    link.insert("from".into(), json!(from));
    link.insert("to".into(), json!(to));
    link.insert("both_ways".into(), json!(both_ways));
    if !s.chance(24) {
        link.insert("rate".into(), json!(format!("{}kbit", s.spread(64, 20_000))));
    }
    // these services have their own rate
    if (link.contains_key("docsis31") || link.contains_key("delivery")) && !s.chance(24) {
        link.remove("rate");
    }
    if !s.chance(24) {
        link.insert("delay".into(), json!(format!("{}us", s.spread(10, 100_000))));
    }
    if !s.chance(64) {
        let queue = SCHEMA.value(SCHEMA.def("Qdisc"), s, range);
        link.insert("queue".into(), queue);
    }
    if s.chance(32) {
        let change = SCHEMA.value(SCHEMA.def("Change"), s, range);
        link.insert("changes".into(), json!([change]));
    }
    if range == Range::Usual && link.get("loss").and_then(Value::as_f64).is_some_and(|p| p > 0.3) {
        link.insert("loss".into(), json!(0.01));
    }
    Value::Object(link)
}

fn stacks(s: &mut Source<'_>, range: Range) -> Map<String, Value> {
    let mut stacks = Map::new();
    if s.chance(100) {
        let presets: Vec<&str> = tcp::PRESETS.iter().map(|p| p.0).collect();
        let mut stack = Map::new();
        if let Value::Object(differs) = SCHEMA.value(SCHEMA.def("Stack"), s, range) {
            stack.extend(differs.into_iter().filter(|_| s.chance(64)));
        }
        stack.insert("preset".into(), json!(s.pick(&presets)));
        stacks.insert("mine".into(), Value::Object(stack));
    }
    stacks
}

fn app(nodes: &[String], stacks: &[String], s: &mut Source<'_>, range: Range) -> Value {
    let mut app = Map::new();
    let from = s.index(nodes.len());
    let servers = if s.chance(96) { 4 } else { 1 };
    let to: Vec<&str> =
        (0..servers).map(|_| nodes[(from + 1 + s.index(nodes.len() - 1)) % nodes.len()].as_str()).collect();
    let traffic = SCHEMA.value(SCHEMA.def("Traffic"), s, range);
    let to = if traffic.get("web").is_some() && to.len() < 4 { vec![to[0]; 4] } else { to };
    app.insert("from".into(), json!(nodes[from]));
    app.insert("to".into(), json!(to));
    app.insert("traffic".into(), traffic);
    app.insert("tcp".into(), json!(stacks[s.index(stacks.len())]));
    if s.chance(48) {
        app.insert("tcp_server".into(), json!(stacks[s.index(stacks.len())]));
    }
    if s.chance(64) {
        app.insert("start".into(), json!(format!("{}us", s.below(500_000))));
    }
    if s.chance(32) {
        app.insert("stop".into(), json!(format!("{}us", 500_001 + s.below(1_000_000))));
    }
    if s.chance(64) {
        app.insert("dscp".into(), json!(s.below(64)));
    }
    Value::Object(app)
}

fn record(s: &mut Source<'_>, range: Range) -> Value {
    let mut record = match SCHEMA.value(SCHEMA.def("Record"), s, range) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if range == Range::Usual {
        record.remove("links");
        record.remove("apps");
        record.insert("warm_up".into(), json!("10ms"));
        record.insert("interval".into(), json!(format!("{}us", s.spread(1_000, 1_000_000))));
    }
    Value::Object(record)
}
