//! Conversion from a discipline to the tc command that sets it up on Linux. If Linux does not have the discipline in
//! the same form, the command sets up a plain queue.

use super::grammar::{FRAME, GRAMMARS, Grammar, Keyword, Kind};
use crate::Spec;
use serde_json::{Map, Value};
use units::{BitRate, Bytes, Duration, Limit, Prob, shown};

/// A discipline in tc syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcText {
    /// The text after `tc qdisc add dev NAME root`.
    pub words: String,
    /// One line for each difference from the discipline that `words` sets up on Linux.
    pub differences: Vec<String>,
}

/// Parameters by name, as JSON.
type Values = &'static [(&'static str, &'static str)];

/// Values that null parameters have in a published version. Each line gives the discipline, the version and the values.
/// Parameters without an entry stay null.
const VERSIONS: &[(&str, &str, Values)] = &[
    ("pie", "draft2013", DRAFT2013),
    ("fq_pie", "draft2013", DRAFT2013),
    ("sfq", "mckenney", &[("limit", "\"128p\""), ("queues", "128")]),
    ("sfq", "ns2", &[("limit", "\"40p\""), ("queues", "16")]),
    ("sfq", "linux", &[("limit", "\"127p\""), ("queues", "1024")]),
    ("red", "floyd93", &[("min", "\"5p\""), ("max", "\"15p\""), ("probability", "0.02")]),
    ("red", "altq", &[("limit", "\"60p\""), ("min", "\"15p\""), ("max", "\"30p\""), ("probability", "0.1")]),
    ("red", "ns2", &[("limit", "\"50p\""), ("probability", "0.1")]),
    ("dualpi2", "rfc9332", RFC9332),
];
const RFC9332: Values = &[("limit", "\"250ms\""), ("classic_protection", "0.0625")];
const DRAFT2013: Values = &[("target", "\"20ms\""), ("tupdate", "\"30ms\""), ("delay", "\"departure_rate\"")];

/// Some disciplines that Linux does not have in the same form, each with its nearest equivalent.
const NEAREST: &[(&str, &str)] = &[
    ("cobalt", "the law of cake"),
    ("ared", "red with the keyword adaptive"),
    ("wred", "gred"),
    ("docsis_pie", "pie"),
    ("sfq_hss", "sfq or fq_codel"),
    ("perfect", "fq_codel with many flows"),
    ("drr", "drr with a class and a filter for each flow"),
    ("sfq_codel", "fq_codel"),
];

/// Largest size that we write, in bytes. The parser of sizes would refuse a larger one.
const MOST_BYTES: u64 = 9_000_000_000_000_000;

impl Spec {
    /// Writes this discipline in tc syntax. `rate` is the link's rate, used to convert limits given as times to packets
    /// or bytes, and as the default of red's `bandwidth`.
    #[inline]
    pub fn in_tc(&self, rate: Option<BitRate>) -> TcText {
        let mut own = match self {
            Self::Dualpi2(p) => Self::Dualpi2(p.explicit()).parameters(),
            _ => self.parameters(),
        };
        let mut text = TcText { words: String::new(), differences: Vec::new() };
        let Some(grammar) = self.grammar() else {
            self.stand_in(rate, &mut text);
            return text;
        };
        let mut linux = linux(grammar);
        let version = if self.name() == "fq_pie" { "pie.variant" } else { "variant" };
        fill(&mut own, self.name(), version);
        if grammar.tc == "red" {
            // tc-red(8): limit and avpkt are required, and bandwidth defaults to 10mbit
            default(&mut own, "limit", "1000p".into());
            default(&mut linux, "limit", "1000p".into());
            default(&mut own, "avpkt", "1KB".into());
            default(&mut own, "bandwidth", rate.map_or(Value::Null, |r| r.to_string().into()));
        }
        let packet =
            at(&own, "avpkt").and_then(Value::as_str).and_then(|b| b.parse().ok()).map_or(FRAME, |b: Bytes| b.0);
        let mut command = Command { text, rate, packet };
        command.text.words.push_str(grammar.tc);
        let expressible = |field: &str, value: &Value| {
            grammar.keywords().any(|w| w.field == field && w.kind != Kind::Own && w.sets(value))
        };
        for keyword in grammar.keywords() {
            if let Some(value) = at(&own, keyword.field) {
                // if tc cannot express the value, we write Linux's default instead
                let default = at(&linux, keyword.field);
                let value = default.filter(|_| !expressible(keyword.field, value)).unwrap_or(value);
                command.keyword(keyword, value, default);
            }
        }
        for (field, value) in leaves(&own) {
            let same = at(&linux, &field).unwrap_or(&Value::Null) == &value;
            if !expressible(&field, &value) && !same {
                let value = shown(&value.to_string());
                command.text.differences.push(if field == version {
                    format!("{field} = {value} here; Linux runs its own version of {}", grammar.tc)
                } else {
                    format!("{field} = {value}: tc has no keyword for it")
                });
            }
        }
        command.text
    }

    #[inline]
    fn parameters(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut one)) => match one.remove(self.name()) {
                Some(Value::Object(own)) => own,
                _ => Map::new(),
            },
            _ => Map::new(),
        }
    }

    fn grammar(&self) -> Option<&'static Grammar> {
        let tc = match self {
            Self::Droptail(p) if p.drop_head => "pfifo_head_drop",
            Self::Droptail(p) if !matches!(p.limit, Limit::Packets(_)) => "bfifo",
            Self::Droptail(_) => "pfifo",
            other => other.name(),
        };
        GRAMMARS.iter().find(|g| g.tc == tc)
    }

    /// Writes a plain queue with the same limit (1000 packets if there is none), for a discipline that Linux does not
    /// have.
    #[inline]
    fn stand_in(&self, rate: Option<BitRate>, text: &mut TcText) {
        let limit = self.limit().unwrap_or(Limit::Packets(1000));
        let plain = Self::Droptail(crate::single::DroptailParams { limit, ..Default::default() });
        *text = plain.in_tc(rate);
        let nearest = NEAREST.iter().find(|(name, _)| *name == self.name());
        let nearest = nearest.map(|(_, tc)| format!(" (nearest: {tc})")).unwrap_or_default();
        text.differences.insert(
            0,
            format!("tc has no equivalent of {}{nearest}: a plain queue with the same limit replaces it", self.name()),
        );
    }
}

impl Keyword {
    /// Returns true if this keyword can set its parameter to this value. A parameter may have several keywords, such as
    /// one for true and one for false.
    fn sets(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Flag(on) => *value == Value::Bool(on),
            Kind::Is(json) | Kind::IsAnd(json, _) => serde_json::from_str::<Value>(json).is_ok_and(|v| v == *value),
            Kind::Several(_) | Kind::Adds(..) | Kind::RoundTrip | Kind::Absent(_) | Kind::Own => false,
            _ => !value.is_null(),
        }
    }
}

/// A command under construction.
struct Command {
    text: TcText,
    rate: Option<BitRate>,
    /// Packet size for conversion between packets and bytes.   Unit: bytes.
    packet: u64,
}

impl Command {
    /// Adds a keyword with the parameter's value, or with Linux's default if tc cannot express the value.
    fn keyword(&mut self, keyword: &Keyword, value: &Value, default: Option<&Value>) {
        if !keyword.sets(value) {
            return;
        }
        let said = match keyword.kind {
            Kind::Flag(_) | Kind::Is(_) | Kind::IsAnd(..) => Some(keyword.tc.to_owned()),
            _ => {
                let text = self.value(keyword, value).or_else(|| self.value(keyword, default?));
                text.map(|text| format!("{} {text}", keyword.tc))
            }
        };
        if let Some(said) = said {
            self.text.words.push(' ');
            self.text.words.push_str(&said);
        }
    }

    /// Converts a value to tc's notation, and adds inexact conversions to `differences`.
    fn value(&mut self, keyword: &Keyword, value: &Value) -> Option<String> {
        let text = value.as_str().unwrap_or_default();
        Some(match keyword.kind {
            Kind::Packets => match text.parse().ok()? {
                Limit::Packets(n) => n.to_string(),
                other => {
                    let packets = (self.bytes(other)? / self.packet.max(1)).clamp(1, u64::from(u32::MAX));
                    self.instead(keyword, text, &format!("{packets} packets of {} bytes", self.packet));
                    packets.to_string()
                }
            },
            Kind::Size => match text.parse().or(text.parse().map(Limit::Bytes)).ok()? {
                Limit::Bytes(b) => b.0.to_string(),
                other => {
                    let bytes = self.bytes(other)?;
                    self.instead(keyword, text, &format!("{bytes} bytes"));
                    bytes.to_string()
                }
            },
            Kind::Time => {
                let exact: Duration = text.parse().ok()?;
                let micros = (exact.0 + 500) / 1000;
                if !exact.0.is_multiple_of(1000) {
                    self.instead(keyword, text, &format!("{micros} us"));
                }
                Duration::from_micros(micros).to_string()
            }
            Kind::Seconds => {
                let exact: Duration = text.parse().ok()?;
                let seconds = (exact.0 / 1_000_000_000).clamp(1, u64::from(u32::MAX));
                if exact.0 != seconds * 1_000_000_000 {
                    self.instead(keyword, text, &format!("{seconds} s"));
                }
                seconds.to_string()
            }
            Kind::Sixteenths => self.rounded(keyword, value, 16.0, 32.0)?,
            Kind::Percent => self.rounded(keyword, value, 100.0, 100.0)?,
            Kind::Rate | Kind::Shaped | Kind::Threshold | Kind::Selector => text.to_owned(),
            Kind::Number => value.as_f64()?.to_string(),
            Kind::Gain => {
                let exact = value.as_f64()?;
                let gain = (exact * 256.0).round().max(1.0) / 256.0;
                if gain != exact {
                    self.instead(keyword, &value.to_string(), &gain.to_string());
                }
                gain.to_string()
            }
            // the parser of probabilities ignores digits after the 15th decimal place, so we parse the value first, and
            // write only the digits that remain
            Kind::Share => value.as_f64()?.to_string().parse::<Prob>().ok()?.get().to_string(),
            _ => value.to_string(),
        })
    }

    /// Multiplies a number by `scale`, rounds the product to an integer and limits it to `most`. The result is 0 only for 0,
    /// because 0 would switch off the effect of the parameter.
    fn rounded(&mut self, keyword: &Keyword, value: &Value, scale: f64, most: f64) -> Option<String> {
        let exact = value.as_f64()? * scale;
        let whole = exact.round().max(if exact > 0.0 { 1.0 } else { 0.0 }).min(most);
        if (exact - whole).abs() > 1e-9 {
            self.instead(keyword, &value.to_string(), &format!("{} {whole}", keyword.tc));
        }
        Some(format!("{whole}"))
    }

    fn bytes(&mut self, limit: Limit) -> Option<u64> {
        match (limit, self.rate) {
            (Limit::Bytes(b), _) => Some(b.0),
            (Limit::Packets(n), _) => Some(u64::from(n).saturating_mul(self.packet).min(MOST_BYTES)),
            (Limit::Time(d), Some(rate)) => Some(rate.bytes_in(d).min(MOST_BYTES)),
            (Limit::Time(d), None) => {
                self.text.differences.push(format!(
                    "a limit of {d}: without a rate it cannot be converted to bytes, so Linux's default applies"
                ));
                None
            }
        }
    }

    fn instead(&mut self, keyword: &Keyword, exact: &str, said: &str) {
        self.text.differences.push(format!("{} = {exact}: {said} in tc", keyword.field));
    }
}

/// Returns the discipline's default parameters on Linux.
#[inline]
fn linux(grammar: &Grammar) -> Map<String, Value> {
    let mut own = Spec::named(grammar.name).map(|s| s.parameters()).unwrap_or_default();
    for (field, json) in grammar.base {
        own.insert((*field).to_owned(), serde_json::from_str(json).unwrap_or_default());
    }
    match own.get_mut("pie").and_then(Value::as_object_mut) {
        Some(pie) => pie.insert("variant".into(), "linux".into()),
        None => own.contains_key("variant").then(|| own.insert("variant".into(), "linux".into())).flatten(),
    };
    fill(&mut own, grammar.name, "variant");
    own
}

/// Sets null parameters to the values of their version ([`VERSIONS`]).
fn fill(own: &mut Map<String, Value>, name: &str, version: &str) {
    let Some(variant) = at(own, version).and_then(Value::as_str).map(str::to_owned) else { return };
    let Some((_, _, values)) = VERSIONS.iter().find(|(n, v, _)| *n == name && *v == variant) else { return };
    let table = match version.split_once('.') {
        Some((outer, _)) => own.get_mut(outer).and_then(Value::as_object_mut),
        None => Some(own),
    };
    if let Some(table) = table {
        for (field, json) in *values {
            default(table, field, serde_json::from_str(json).unwrap_or_default());
        }
    }
}

/// Sets a parameter if it is null.
fn default(table: &mut Map<String, Value>, field: &str, value: Value) {
    if let Some(place) = table.get_mut(field).filter(|v| v.is_null()) {
        *place = value;
    }
}

/// Returns the value at a dotted path.
fn at<'a>(own: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((outer, inner)) => at(own.get(outer)?.as_object()?, inner),
        None => own.get(path),
    }
}

/// Returns every parameter with its dotted path. A choice (`overflow`, `law`) counts as one parameter.
fn leaves(own: &Map<String, Value>) -> Vec<(String, Value)> {
    own.iter()
        .flat_map(|(key, value)| match value {
            Value::Object(inner) if key == "pie" => {
                leaves(inner).into_iter().map(|(k, v)| (format!("{key}.{k}"), v)).collect()
            }
            _ => vec![(key.clone(), value.clone())],
        })
        .collect()
}
