//! The choices available in a scenario: disciplines, links, applications and TCP stacks with their parameters, and grading
//! scales.

use serde_json::{Value, json};

/// Returns the catalogue as JSON: `{"qdiscs": [...], "links": [...], "apps": [...], "tcp": [...], "grades": [...]}`.
///
/// With `outside`, the disciplines include `python`, whose rule for drops and marks the user writes in Python.
pub fn catalogue(outside: bool) -> String {
    let qdiscs: Vec<Value> = qdisc::QDISCS
        .iter()
        .chain(outside.then_some(&qdisc::OUTSIDE))
        .map(|q| {
            json!({
                "name": q.name, "type": format!("{:?}", q.kind), "summary": q.summary, "source": q.source,
                "params": params((q.params)().as_value()),
                "tc": qdisc::tc::synopses(q.name).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
            })
        })
        .collect();
    let traffic = schemars::schema_for!(traffic::Traffic).to_value();
    let apps: Vec<Value> = traffic::APPS
        .iter()
        .map(|a| {
            json!({
                "name": a.name, "summary": a.summary, "transport": a.transport, "source": a.source,
                "params": app_params(&traffic, a.name),
            })
        })
        .collect();
    let tcp: Vec<Value> =
        tcp::PRESETS.iter().map(|(name, doc)| json!({ "name": name, "doc": doc, "params": stack(name) })).collect();
    let links: Vec<Value> = port::DELIVERIES
        .iter()
        .map(|l| {
            json!({
                "name": l.name, "summary": l.summary, "source": l.source, "params": params((l.params)().as_value()),
            })
        })
        .collect();
    let grades: Vec<Value> = measure::SCALES
        .iter()
        .map(|s| json!({ "name": s.name, "summary": s.words, "unit": s.unit(), "bands": bands(s) }))
        .collect();
    json!({ "qdiscs": qdiscs, "links": links, "apps": apps, "tcp": tcp, "grades": grades }).to_string()
}

/// Returns the parameters of a preset, without the parameters that a scenario cannot set.
fn stack(name: &str) -> Value {
    let mut params = json!(tcp::TcpParams::preset(name));
    let hidden = tcp::TcpParams::preset_keys();
    if let Some(table) = params.as_object_mut() {
        table.retain(|key, _| !hidden.contains(&key.as_str()));
    }
    params
}

/// Returns the measures of a summary as JSON: `{"measures": [...], "units": [...]}`. The entry of a distribution lists
/// the distribution's statistics under `parts`. Docs, labels and comparisons are derived from this list.
pub fn measures() -> String {
    let measures: Vec<Value> = measure::declared().iter().map(declared).collect();
    let units = packet::Unit::NAMED
        .iter()
        .map(|u| json!({ "suffix": u.suffix(), "symbol": u.symbol(), "least": u.least(), "digits": u.digits() }));
    json!({ "measures": measures, "units": units.collect::<Vec<_>>() }).to_string()
}

fn declared(m: &measure::Declared) -> Value {
    let better = match m.better {
        packet::Better::More => "more is better",
        packet::Better::Less => "less is better",
        packet::Better::Neither => "",
    };
    json!({
        "path": m.path, "words": m.words, "unit": m.unit.symbol(), "better": better, "least": m.least, "rank": m.rank,
        "digits": m.unit.digits(), "doc": m.doc, "parts": m.parts.iter().map(declared).collect::<Vec<_>>(),
    })
}

/// Returns the grades of a scale, each with its exclusive upper limit. The limit of the last grade is null.
fn bands(scale: &measure::Scale) -> Vec<Value> {
    let below = |b: &measure::Band| b.below.is_finite().then_some(b.below);
    scale.bands.iter().map(|b| json!({ "grade": b.grade, "below": below(b) })).collect()
}

/// Returns the parameters that `schema` describes. The schema must contain every definition to which it refers.
fn params(schema: &Value) -> Vec<Value> {
    properties(schema, schema)
}

/// Returns the name, default, description and valid keywords of every property in an object's schema. `root` is the whole schema,
/// in which references are resolved.
fn properties(root: &Value, schema: &Value) -> Vec<Value> {
    let Some(map) = schema["properties"].as_object() else { return Vec::new() };
    map.iter()
        .map(|(name, p)| {
            json!({ "name": name, "default": p["default"], "description": p["description"], "words": words(root, p) })
        })
        .collect()
}

/// Returns the keywords that `schema` allows as values. References are resolved in `root`.
fn words<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let of = schema["$ref"].as_str().and_then(|at| root.pointer(at.trim_start_matches('#'))).unwrap_or(schema);
    let own = of["const"].as_str().into_iter();
    let listed = of["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let others = ["oneOf", "anyOf"].into_iter().filter_map(|key| of[key].as_array()).flatten();
    own.chain(listed).chain(others.flat_map(|other| words(root, other))).collect()
}

/// Returns the parameters of the application `name`. `traffic` is the schema that describes all applications.
fn app_params(traffic: &Value, name: &str) -> Vec<Value> {
    let variants = traffic["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let reference = variants.iter().find_map(|v| v["properties"][name]["$ref"].as_str()).unwrap_or_default();
    properties(traffic, traffic.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null))
}
