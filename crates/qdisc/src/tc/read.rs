//! Conversion from tc syntax to a scenario's table.

use super::grammar::{ELSEWHERE, GRAMMARS, Grammar, Keyword, Kind};
use crate::spec::word_error::WordError;
use crate::{QDISCS, Spec};
use serde_json::{Map, Value};
use units::{BitRate, Bytes, Duration, Limit, Prob, shown};

/// Returns the names of all disciplines except the external law: the names in scenarios, and those that only tc uses.
pub(crate) fn names() -> Vec<&'static str> {
    let foreign = GRAMMARS.iter().map(|g| g.tc).filter(|tc| Spec::named(tc).is_none());
    QDISCS.iter().map(|q| q.name).chain(foreign).collect()
}

/// Returns the tc disciplines equivalent to the scenario's discipline `name`, each with its synopsis. The list is empty
/// if tc has no equivalent.
pub fn synopses(name: &str) -> Vec<(&'static str, String)> {
    GRAMMARS.iter().filter(|g| g.name == name).map(|g| (g.tc, g.synopsis())).collect()
}

/// Parses tc syntax into a scenario table whose only key is the discipline's name. The value of this key is a table of
/// the parameters that tc's name implies or the text sets.   Errors: a [`WordError`], whose message is one line.
pub(crate) fn read(text: &str) -> Result<Value, WordError> {
    let words = bare(text);
    let Some((&name, rest)) = words.split_first() else {
        return Err(WordError::Misfit("the text is empty; expected a discipline such as \"fq_codel\"".into()));
    };
    let grammar = GRAMMARS.iter().find(|g| g.tc == name);
    let Some(ours) = grammar.map_or_else(|| Spec::named(name).map(|s| s.name()), |g| Some(g.name)) else {
        return Err(match ELSEWHERE.iter().find(|(tc, _)| *tc == name) {
            Some((_, instead)) => {
                WordError::Misfit(format!("\"{name}\" of tc is not modelled as a link's queue; {instead}"))
            }
            None => WordError::Unknown(name.into(), names()),
        });
    };
    let mut table = Map::new();
    let alone = text.trim() == ours;
    for (field, json) in grammar.filter(|_| !alone).map_or(&[][..], |g| g.base) {
        put(&mut table, field, serde_json::from_str(json).unwrap_or_default());
    }
    options(&mut table, grammar, ours, name, rest)?;
    if shown_line(text) {
        exact_gains(&mut table, grammar);
    }
    Ok(Value::Object(Map::from_iter([(ours.to_owned(), Value::Object(table))])))
}

/// Parses a string such as `codel target 5ms` or `sfq_hss + codel` into a table, to which the caller can add
/// parameters. Returns `None` if the string cannot be parsed.
#[inline]
pub fn table(text: &str) -> Option<Value> {
    let Some((host, law)) = text.split_once('+') else { return read(text).ok() };
    let law = if law.trim() == "none" { Value::from("none") } else { read(law).ok()? };
    let mut host = read(host).ok()?;
    host.as_object_mut()?.values_mut().next()?.as_object_mut()?.insert("law".to_owned(), law);
    // this conversion refuses a discipline whose law cannot be chosen, because the table of such a discipline (except
    // `python`) must not contain the key `law`
    serde_json::from_value::<Spec>(host.clone()).ok().map(|_| host)
}

/// Returns true if the text is a line of `tc qdisc show`.
fn shown_line(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("qdisc") && words.next().is_some()
}

/// Returns the words from the discipline's name on, without the other parts of a command or of a line of
/// `tc qdisc show`, such as `dev eth0` and `refcnt 2`.
fn bare(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let command = words.first() == Some(&"tc");
    let shown_line = shown_line(text);
    if command {
        let verb = words.iter().position(|w| ["add", "replace", "change"].contains(w)).unwrap_or(0);
        words.drain(..=verb);
    } else if shown_line {
        words.remove(0);
    } else {
        return words;
    }
    // removes `root`, `dev NAME`, `parent ID`, `handle ID` and `refcnt N`; in the output of `show`, also removes the handle
    // after the name
    let at = usize::from(shown_line);
    while let Some(&word) = words.get(at) {
        let count = match word {
            "root" => 1,
            "dev" | "parent" | "handle" | "refcnt" => 2,
            _ if shown_line && word.ends_with(':') => 1,
            _ => break,
        };
        words.drain(at..words.len().min(at + count));
    }
    words
}

/// Reads the keywords after the name into the table.
fn options(
    table: &mut Map<String, Value>,
    grammar: Option<&Grammar>,
    ours: &'static str,
    name: &str,
    rest: &[&str],
) -> Result<(), WordError> {
    let mut rest = rest.iter().copied();
    let mut seen = Vec::new();
    while let Some(word) = rest.next() {
        seen.push(word);
        if let Some(known) = grammar.and_then(|g| g.keywords().find(|w| w.tc == word)) {
            if let Kind::Several(values) | Kind::Adds(_, values) | Kind::IsAnd(_, values) = known.kind {
                values.iter().for_each(|(f, json)| put(table, f, serde_json::from_str(json).unwrap_or_default()));
            }
            match known.kind {
                Kind::Several(_) => continue,
                Kind::Adds(bytes, _) => {
                    let so_far = table.get(known.field).and_then(Value::as_i64).unwrap_or(0);
                    put(table, known.field, so_far.saturating_add(bytes).into());
                    continue;
                }
                _ => {}
            }
            let value = option(known, name, &mut rest)?;
            // `tc qdisc show` writes "raw overhead 0" if no overhead is compensated. In this case, `overhead 0` must not
            // replace the null that `raw` has set
            if !(known.kind == Kind::Signed && value == 0 && table.get(known.field) == Some(&Value::Null)) {
                put(table, known.field, value);
            }
        } else if let Some(default) = own(ours).into_iter().find(|(field, _)| field == word).map(|(_, d)| d) {
            let next = rest.clone().next();
            let value = match next {
                Some("true" | "false" | "null") | None if default.is_boolean() => {
                    rest.next().map_or(Value::Bool(true), scalar)
                }
                _ if default.is_boolean() => Value::Bool(true),
                Some(text) => {
                    rest.next();
                    scalar(text)
                }
                None => return Err(WordError::Misfit(format!("{name}: \"{word}\" is followed by a value"))),
            };
            put(table, word, value);
        } else {
            let mut known: Vec<String> = grammar.map_or_else(Vec::new, |g| {
                g.keywords().filter(|w| !matches!(w.kind, Kind::Absent(_))).map(|w| w.tc.to_owned()).collect()
            });
            let more = own(ours).into_iter().map(|(field, _)| field).filter(|f| !known.contains(f));
            known.extend(more.collect::<Vec<_>>());
            return Err(WordError::Option(word.into(), known));
        }
    }
    round_trips(table, &seen)
}

/// Sets the parameter of dualpi2's keyword `max_rtt` or `typical_rtt` if the text contains only the other keyword. `seen`
/// lists the keywords of the text.
///
/// Source: iproute2 tc/q_dualpi2.c (facts): if one of the two is missing, max_rtt = 6 typical_rtt, in whole
/// microseconds.   Departs: tc ignores other keywords for the same parameters, such as `target`, with a warning; here,
/// they are errors.   Errors: such a keyword, or typical_rtt above max_rtt.
fn round_trips(table: &mut Map<String, Value>, seen: &[&str]) -> Result<(), WordError> {
    let has = |word| seen.contains(&word);
    let (max, typical) = (has("max_rtt"), has("typical_rtt"));
    if !max && !typical {
        return Ok(());
    }
    if let Some(word) = ["target", "tupdate", "alpha", "beta", "rtt_max"].into_iter().find(|word| has(word)) {
        let given = if max { "max_rtt" } else { "typical_rtt" };
        return Err(WordError::Misfit(format!(
            "dualpi2: \"{word}\" next to \"{given}\" has no effect in tc; leave it out"
        )));
    }
    let time = |table: &Map<String, Value>, field: &str| {
        table.get(field).and_then(Value::as_str).and_then(|text| text.parse::<Duration>().ok()).unwrap_or_default()
    };
    let (longest, target) = (time(table, "rtt_max"), time(table, "target"));
    if !typical {
        put(table, "target", Duration::from_micros((longest.0 / 6000).max(1)).to_string().into());
    } else if !max {
        put(table, "rtt_max", Duration(target.0.saturating_mul(6)).to_string().into());
    } else if target > longest {
        return Err(WordError::Misfit(format!(
            "dualpi2 typical_rtt: {target} is not valid; expected at most max_rtt ({longest})"
        )));
    }
    Ok(())
}

/// Replaces gains printed with six digits by the kernel's values, which are multiples of 1/256.
fn exact_gains(table: &mut Map<String, Value>, grammar: Option<&Grammar>) {
    for gain in grammar.into_iter().flat_map(Grammar::keywords).filter(|w| w.kind == Kind::Gain) {
        let Some(printed) = table.get(gain.field).and_then(Value::as_f64) else { continue };
        let exact = (printed * 256.0).round() / 256.0;
        if (printed - exact).abs() < 1e-6 {
            put(table, gain.field, exact.into());
        }
    }
}

/// Reads the argument of a tc keyword, and returns the value that the keyword sets.
fn option<'a>(keyword: &Keyword, name: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<Value, WordError> {
    match keyword.kind {
        Kind::Flag(on) => return Ok(Value::Bool(on)),
        Kind::Is(json) | Kind::IsAnd(json, _) => return Ok(serde_json::from_str(json).unwrap_or_default()),
        Kind::Absent(_) => {
            return Err(WordError::Misfit(format!("{name}: \"{}\" of tc is not modelled; leave it out", keyword.tc)));
        }
        _ => {}
    }
    let Some(text) = rest.next() else {
        return Err(WordError::Misfit(format!("{name}: \"{}\" is followed by {}", keyword.tc, keyword.kind.valid())));
    };
    value(keyword.kind, text)
        .map_err(|why| WordError::Misfit(format!("{name} {}: \"{}\" is not valid; {why}", keyword.tc, shown(text))))
}

/// Converts an argument to the parameter's JSON value.   Errors: if the argument is not valid, a description of the
/// valid values.
fn value(kind: Kind, text: &str) -> Result<Value, String> {
    let expected = || format!("expected {}", kind.valid());
    let whole = |text: &str| if plain(text) { text.parse::<u32>().ok() } else { None };
    let packets =
        |text: &str| whole(["packets", "pkt", "p"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text));
    let upto = |most| whole(text).filter(|n| *n <= most).ok_or_else(expected);
    Ok(match kind {
        Kind::Packets => {
            let packets = packets(text).ok_or_else(|| {
                let other = text.parse::<Limit>().map(|l| format!("; for {l}, write the table with limit = \"{l}\""));
                expected() + &other.unwrap_or_default()
            })?;
            Limit::Packets(packets).to_string().into()
        }
        Kind::Size => size(text).ok_or_else(expected)?.to_string().into(),
        Kind::Time | Kind::RoundTrip if text == "0" => Duration::ZERO.to_string().into(),
        Kind::Time | Kind::RoundTrip if plain(text) => {
            return Err(format!("tc reads it as microseconds; write \"{text}us\", or \"{text}ms\" for milliseconds"));
        }
        Kind::Time | Kind::RoundTrip => text.parse::<Duration>().map_err(|_| expected())?.to_string().into(),
        Kind::Seconds => {
            let number = ["secs", "sec", "s"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text);
            let seconds = whole(number).ok_or_else(expected)?;
            // in tc, 0 means "never"
            if seconds == 0 { Value::Null } else { Duration::from_secs(u64::from(seconds)).to_string().into() }
        }
        Kind::Shaped if text == "unlimited" => Value::Null,
        Kind::Rate | Kind::Shaped if text.to_ascii_lowercase().ends_with("bps") => {
            let bits =
                format!("{}bit", &text[..text.len() - "bps".len()]).parse::<BitRate>().map_err(|_| expected())?;
            let bytes = BitRate(8 * bits.0);
            return Err(format!("tc reads it as bytes per second; write \"{bytes}\", or \"{bits}\" if you meant bits"));
        }
        Kind::Rate | Kind::Shaped => text
            .parse::<BitRate>()
            .map_err(|e| e.to_string().split_once("; ").map_or_else(expected, |(_, why)| why.to_owned()))?
            .to_string()
            .into(),
        Kind::Count => upto(u32::MAX)?.into(),
        Kind::PacketCount => packets(text).ok_or_else(expected)?.into(),
        Kind::Signed => {
            match text.strip_prefix('-').map_or_else(|| whole(text).map(i64::from), |n| whole(n).map(|n| -i64::from(n)))
            {
                Some(n) => n.into(),
                None => return Err(expected()),
            }
        }
        Kind::Sixteenths => (f64::from(upto(32)?) / 16.0).into(),
        Kind::Percent => {
            let number = whole(text.strip_suffix('%').unwrap_or(text)).filter(|n| *n <= 100).ok_or_else(expected)?;
            (f64::from(number) / 100.0).into()
        }
        Kind::Selector => text.parse::<crate::law::Selector>()?.to_string().into(),
        Kind::Number | Kind::Gain => text.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(expected)?.into(),
        Kind::Threshold if plain(text) => {
            return Err(format!("tc reads it as microseconds; write \"{text}us\", or \"{text}p\" for packets"));
        }
        Kind::Threshold => match text.parse::<Limit>() {
            Ok(found @ (Limit::Time(_) | Limit::Packets(_))) => found.to_string().into(),
            _ => return Err(expected()),
        },
        Kind::Share => text.parse::<Prob>().map_err(|_| expected())?.get().into(),
        Kind::Own => text.into(),
        Kind::Flag(_) | Kind::Is(_) | Kind::Several(_) | Kind::Adds(..) | Kind::IsAnd(..) | Kind::Absent(_) => {
            Value::Null
        }
    })
}

fn plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Parses a tc size, in upper or lower case: `1514`, `1514b`, `64kb`, `4Mb`.
fn size(text: &str) -> Option<Bytes> {
    let text = text.to_ascii_lowercase();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let binary = match &text[number.len()..] {
        "" | "b" => "b",
        "k" | "kb" => "kib",
        "m" | "mb" => "mib",
        "g" | "gb" => "gib",
        _ => return None,
    };
    format!("{number}{binary}").parse().ok()
}

/// Parses the value of a parameter that tc does not have: null, a boolean, a number or a string.
fn scalar(text: &str) -> Value {
    match text {
        "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match (text.parse::<u64>(), text.parse::<f64>()) {
            (Ok(n), _) => n.into(),
            (_, Ok(x)) if x.is_finite() => x.into(),
            _ => text.into(),
        },
    }
}

/// Returns a discipline's parameters, with their defaults.
fn own(name: &str) -> Vec<(String, Value)> {
    let schema = QDISCS.iter().find(|q| q.name == name).map(|q| (q.params)().to_value()).unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(field, p)| (field.clone(), p["default"].clone())).collect()
}

/// Sets the parameter at a dotted path.
fn put(table: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        Some((outer, inner)) => {
            let entry = table.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(map) = entry {
                put(map, inner, value);
            }
        }
        None => {
            table.insert(path.to_owned(), value);
        }
    }
}
