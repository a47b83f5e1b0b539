//! Generates values that a JSON Schema allows, so that every new key of a scenario is generated automatically.

use crate::source::Source;
use serde_json::{Map, Value, json};
use units::{BitRate, Bytes, Duration, Limit};

/// Range of the generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Defaults and common values. Most scenarios are valid, and small enough to run.
    Usual,
    /// Any value of the right type, often an extreme one: zero, the largest value, or a number at or next to a power of
    /// two.
    Wild,
}

/// A generator of values for one schema.
#[derive(Debug)]
pub struct Schema {
    root: Value,
}

/// Depth from which tables have only their required keys, and lists only their minimum length.
const DEEPEST: u32 = 12;
/// Integers at which code often fails: zero, and numbers at and next to powers of two and other limits.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    27,
    28,
    63,
    64,
    255,
    256,
    65_535,
    65_536,
    1 << 20,
    1 << 24,
    u32::MAX as u64,
    1 << 32,
    (1 << 53) - 1,
    1 << 53,
    (1 << 53) + 1,
    9_000_000_000_000_000,
    1_000_000_000_000_000,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

impl Schema {
    /// Returns the schema of scenarios.
    pub fn of_scenarios() -> Self {
        Self { root: serde_json::from_str(&scenario::Scenario::json_schema()).expect("the schema is JSON") }
    }

    /// Returns the definition with this name.
    pub fn def(&self, name: &str) -> &Value {
        let def = &self.root["$defs"][name];
        assert!(def.is_object(), "the schema defines {name}");
        def
    }

    /// Returns a value that `schema` allows.
    pub fn value(&self, schema: &Value, s: &mut Source<'_>, range: Range) -> Value {
        self.at(schema, s, range, 0)
    }

    fn at(&self, schema: &Value, s: &mut Source<'_>, range: Range, depth: u32) -> Value {
        if let Some(name) = schema["$ref"].as_str() {
            let def = name.rsplit('/').next().unwrap_or_default();
            return self.at(self.def(def), s, range, depth);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        // in the schema of a table, "oneOf" says which keys exclude one another; elsewhere, it lists alternative values
        let choices = if schema["properties"].is_object() { &[][..] } else { &["enum", "oneOf", "anyOf"] };
        for key in choices {
            let Some(choices) = schema[key].as_array() else { continue };
            let choice = &choices[s.index(choices.len())];
            return if *key == "enum" { choice.clone() } else { self.at(choice, s, range, depth + 1) };
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[s.index(kinds.len())].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.table(schema, s, range, depth),
            Some("array") => self.list(schema, s, range, depth),
            Some("string") => Value::String(text(schema["pattern"].as_str(), s, range)),
            Some("integer") => whole(schema, s, range),
            Some("number") => real(schema, s, range),
            Some("boolean") => Value::Bool(s.chance(128)),
            _ => Value::Null,
        }
    }

    fn table(&self, schema: &Value, s: &mut Source<'_>, range: Range, depth: u32) -> Value {
        let mut map = Map::new();
        let required = |key: &str| schema["required"].as_array().is_some_and(|r| r.iter().any(|k| k == key));
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let wanted = required(key) || depth < DEEPEST && s.chance(48);
            if wanted {
                map.insert(key.clone(), self.property(property, s, range, depth + 1));
            }
        }
        Value::Object(map)
    }

    /// Returns a value for a property. In the range `Usual`, this is often the default, multiplied by a power of two
    /// between 1/16 and 16.
    fn property(&self, schema: &Value, s: &mut Source<'_>, range: Range, depth: u32) -> Value {
        let default = &schema["default"];
        if range == Range::Usual && !default.is_null() && s.chance(160) {
            return near(default, s);
        }
        self.at(schema, s, range, depth)
    }

    fn list(&self, schema: &Value, s: &mut Source<'_>, range: Range, depth: u32) -> Value {
        if let Some(places) = schema["prefixItems"].as_array() {
            return places.iter().map(|p| self.at(p, s, range, depth + 1)).collect();
        }
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX).min(least + 4);
        let n = if depth < DEEPEST { least + s.below(most - least + 1) } else { least };
        (0..n).map(|_| self.at(&schema["items"], s, range, depth + 1)).collect()
    }
}

/// If `value` is a quantity or a number, scales it by a power of two between 1/16 and 16.
fn near(value: &Value, s: &mut Source<'_>) -> Value {
    let shift = s.below(9) as i32 - 4;
    let scale = |v: u64| if shift < 0 { v >> -shift } else { v.saturating_mul(1 << shift) };
    match value {
        Value::String(text) => {
            if let Ok(d) = text.parse::<Duration>() {
                return json!(Duration(scale(d.0)));
            }
            match text.parse::<Limit>() {
                Ok(Limit::Packets(n)) => return json!(Limit::Packets(scale(u64::from(n)) as u32)),
                Ok(Limit::Bytes(b)) => return json!(Bytes(scale(b.0))),
                _ => {}
            }
            text.parse::<BitRate>().map_or_else(|_| value.clone(), |r| json!(BitRate(scale(r.0))))
        }
        Value::Number(n) if n.is_u64() => json!(scale(n.as_u64().unwrap_or(0))),
        Value::Number(n) => json!(n.as_f64().unwrap_or(0.0) * power_of_two(shift)),
        _ => value.clone(),
    }
}

/// Returns 2^k exactly, for small k.
fn power_of_two(k: i32) -> f64 {
    let power = (1u64 << k.unsigned_abs()) as f64;
    if k < 0 { 1.0 / power } else { power }
}

/// Returns a string that matches `pattern`, or a name if there is no pattern.
fn text(pattern: Option<&str>, s: &mut Source<'_>, range: Range) -> String {
    let Some(pattern) = pattern else { return name(s, range) };
    let wild = range == Range::Wild;
    let edge = |s: &mut Source<'_>| EDGES[s.index(EDGES.len())];
    let number = |s: &mut Source<'_>, least: u64, most: u64| {
        if wild && s.chance(128) { edge(s) } else { s.spread(least, most) }
    };
    // The units in a pattern show which quantity the pattern describes. The pattern of a limit also contains the units
    // of sizes and times, so limits are checked first.
    if pattern.contains("packets") {
        return match s.below(3) {
            0 => number(s, 1, 2_000).to_string() + "p",
            1 => number(s, 28, 2_000_000).to_string() + "B",
            _ => number(s, 20_000, 500_000_000).to_string() + "ns",
        };
    }
    if pattern.contains("tbit") {
        let most = if wild { 1 << 62 } else { 50_000_000 };
        return number(s, 50_000, most).to_string() + s.pick(&["bit", "kbit", "mbit"][..if wild { 3 } else { 1 }]);
    }
    if pattern.contains("[nN][sS]") {
        return number(s, 1_000, if wild { 1 << 62 } else { 2_000_000_000 }).to_string() + "ns";
    }
    if pattern.contains("kib") {
        return number(s, 28, if wild { 1 << 62 } else { 1_000_000 }).to_string() + "B";
    }
    if pattern.contains('%') {
        return format!("{}%", s.below(101));
    }
    if pattern.contains(">=") {
        return format!(">= {}", number(s, 0, 100));
    }
    if pattern.starts_with("^(none|") {
        return (*s.pick(qdisc::LawSpec::NAMES)).to_owned();
    }
    // the pattern of a discipline matches a discipline's name, alone or (for a fair discipline) followed by a law
    let names: Vec<&str> = qdisc::QDISCS.iter().map(|q| q.name).collect();
    let (host, law) = (*s.pick(&names.iter().collect::<Vec<_>>()), s.pick(qdisc::LawSpec::NAMES));
    if s.chance(64) { format!("{host} + {law}") } else { host.to_owned() }
}

/// Returns a plain name; in the range `Wild`, sometimes an unusual one, such as a name that needs quotes.
pub fn name(s: &mut Source<'_>, range: Range) -> String {
    let plain = ["a", "b", "up", "down", "home", "net", "x1", "bulk"];
    let odd = ["", ".", "a.b", "~up", "Größe", "\u{1b}[31m", "a b", "\"", "\u{202e}x", "0"];
    if range == Range::Wild && s.chance(64) { s.pick(&odd).to_owned() } else { s.pick(&plain).to_owned() }
}

fn whole(schema: &Value, s: &mut Source<'_>, range: Range) -> Value {
    let least = schema["minimum"].as_u64().unwrap_or(0);
    let most = schema["maximum"].as_u64().unwrap_or(match schema["format"].as_str() {
        Some("uint8") => 255,
        Some("uint16") => 65_535,
        Some("uint32") => u64::from(u32::MAX),
        _ => u64::MAX,
    });
    match range {
        Range::Usual => json!(s.spread(1, 300).clamp(least, most)),
        Range::Wild if s.chance(128) => json!(EDGES[s.index(EDGES.len())]),
        Range::Wild => json!(s.spread(1, most)),
    }
}

fn real(schema: &Value, s: &mut Source<'_>, range: Range) -> Value {
    let edges =
        [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e300, f64::MAX, f64::EPSILON, 1.0 - f64::EPSILON / 2.0, 2.0];
    if range == Range::Wild && s.chance(128) {
        return json!(edges[s.index(edges.len())]);
    }
    let least = schema["minimum"].as_f64().unwrap_or(0.0);
    let most = schema["maximum"].as_f64().unwrap_or(1.0);
    // `part` is the position between the minimum (0) and the maximum (1). If it is neither 0 nor 1, it is a uniform
    // random number, scaled down by a random power of two so that values close to the minimum are also tried
    let part = match s.below(16) {
        0 => 0.0,
        1 => 1.0,
        k => f64::from(s.u32()) / f64::from(u32::MAX) * power_of_two(2 - k as i32),
    };
    json!(least + (most - least) * part.min(1.0))
}
