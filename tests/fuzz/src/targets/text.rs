//! Text inputs: scenario files in TOML and JSON, and `--set`.
//!
//! No text causes a panic. Refusals have messages that a user can act on ([`clear`]). An accepted scenario has a
//! canonical text that parses to the same scenario and the same canonical text.

use super::{Target, Verdict};
use scenario::Scenario;
use scenario::read::{self, Format};
use units::Problem;

pub(crate) const TOML: Target = Target {
    name: "toml",
    minute: 300_000,
    about: "any text as TOML: refused with clear messages, or its canonical text is a fixed point",
    longest: 4096,
    text: true,
    run: |bytes| text(bytes, Format::Toml),
    start: || examples().iter().map(|t| t.as_bytes().to_vec()).collect(),
};

pub(crate) const JSON: Target = Target {
    name: "json",
    minute: 400_000,
    about: "any text as JSON: refused with clear messages, or its canonical text is a fixed point",
    longest: 8192,
    text: true,
    run: |bytes| text(bytes, Format::Json),
    start: || {
        let read = |t: &&str| read::parse(t, Format::Toml).ok().map(|v| v.to_string().into_bytes());
        examples().iter().filter_map(read).collect()
    },
};

/// Overrides, as in `--set path=value`. An input contains paths and values on alternate lines.
pub(crate) const SET: Target = Target {
    name: "set",
    minute: 200_000,
    about: "any --set path=value applied to a valid scenario",
    longest: 512,
    text: true,
    run: set,
    start: || {
        let sets = [
            "link.up.rate\n2mbit",
            "link.up.queue\n{ droptail = { limit = \"21p\" } }",
            "app.upload.to.0\nserver",
            "tcp.\"ns2-cubic-2.6.22\".mss\n1000",
            "link.up.changes.0.rate\n1mbit\nseed\n7",
            "link.up.queue\nfq_codel limit 1000p target 5ms ecn memory_limit 32Mb",
            "link.up.queue\nred limit 60kb min 15kb max 45kb avpkt 1000 burst 20 bandwidth 10mbit",
            "link.up.queue\ntc qdisc replace dev eth0 root handle 1: pie alpha 2 beta 20 dq_rate_estimator",
            "link.up.queue\nqdisc sfq 8001: dev eth0 root refcnt 2 limit 127p depth 127 divisor 1024 perturb 10sec",
            "link.up.queue\nsfq_hss limit 50ms + codel target 5ms variant linux",
            "link.up.queue.codel.target\n5ms\nlink.up.docsis.flow.max_sustained_rate\n5mbit",
        ];
        sets.map(|s| s.as_bytes().to_vec()).to_vec()
    },
};

/// The valid scenario to which the target `set` applies overrides.
const GOOD: &str = r#"
duration = "1s"
link.up = { from = "home", to = "server", rate = "5mbit", delay = "10ms", queue.codel = { limit = "417p" } }
link.down = { from = "server", to = "home", rate = "20mbit", delay = "10ms" }
app.upload = { from = "home", to = ["server"], tcp = "mine", traffic.ftp = {} }
tcp.mine = { preset = "linux-6", ack_every = 1 }
"#;

fn examples() -> Vec<&'static str> {
    vec![
        GOOD,
        include_str!("../../../../examples/home-upload.toml"),
        include_str!("../../../../examples/cable-modem.toml"),
        include_str!("../../../../examples/variable-link.toml"),
        "duration = \"1s\"\n[link.a]\nfrom = \"x\"\nto = \"y\"\nboth_ways = true\n",
    ]
}

fn text(bytes: &[u8], format: Format) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    judge(&read::scenario(text, format, &[]), text)
}

fn set(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    let lines: Vec<&str> = text.split('\n').collect();
    let pair = |p: &[&str]| (p[0].to_owned(), p.get(1).unwrap_or(&"").to_string());
    let sets: Vec<(String, String)> = lines.chunks(2).map(pair).collect();
    judge(&read::scenario(GOOD, Format::Toml, &sets), text)
}

/// Checks the scenario that was read from the user's text `given`, or the messages with which the text was refused.
pub(crate) fn judge(answer: &Result<Scenario, Vec<Problem>>, given: &str) -> Verdict {
    match answer {
        Ok(scenario) => {
            fixed_point(scenario);
            said_in_tc(scenario);
            Verdict::Accepted
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            problems.iter().for_each(|p| clear(&p.to_string(), given));
            Verdict::Refused
        }
    }
}

/// Checks that each link's discipline can be written in tc's syntax and read back, and that the discipline read back is
/// written in the same words as the original.
fn said_in_tc(scenario: &Scenario) {
    for (name, link) in scenario.directed_links() {
        let said = link.queue.in_tc(link.sustained_rate()).words;
        let tree = serde_json::Value::String(said.clone());
        let again: qdisc::Spec = serde_json::from_value(tree).unwrap_or_else(|e| panic!("{name}: {said}: {e}"));
        assert_eq!(again.in_tc(link.sustained_rate()).words, said, "{name}: the words describe a different discipline");
    }
}

/// Checks that a scenario's canonical text parses to the same scenario and the same text.
pub(crate) fn fixed_point(scenario: &Scenario) {
    let canonical = scenario.canonical();
    match read::scenario(&canonical, Format::Json, &[]) {
        Err(problems) => panic!("accepted, and refused when read again: {} in {canonical}", problems[0]),
        Ok(again) => {
            assert_eq!(again.canonical(), canonical, "the canonical text is not a fixed point");
            assert!(&again == scenario, "the canonical text reads as a different scenario: {canonical}");
        }
    }
}

/// Words of Rust that no user should have to read.
const OURS: &[&str] = &[
    "invalid type",
    "invalid value",
    "invalid length",
    "struct ",
    " enum",
    "unit variant",
    "newtype",
    "a sequence",
    "a map",
    "unit value",
    "untagged",
    "second choice",
    "u8",
    "u16",
    "u32",
    "u64",
    "i64",
    "i128",
    "f64",
    "f32",
    "usize",
    "Option",
    "tuple",
    "visitor",
    "deserialize",
    "EOF while",
    "unknown field",
    "unknown variant",
    "missing field",
    "panicked",
];
/// Replaces the `\uXXXX` escapes of `text` with their characters.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => out.extend([c.encode_utf8(&mut [0; 4]), &part[4..]]),
            None => out.extend(["\\u", part]),
        }
    }
    out
}

/// Maximum number of characters in a message. A message may contain a path, a value clipped to 80 characters, and the
/// longest list of names.
const LONGEST: usize = 1600;

/// Checks that a message is useful: a single line, of bounded length, without control characters. Words of Rust
/// ([`OURS`]) are allowed only if the user's text `given` contains them.
pub(crate) fn clear(line: &str, given: &str) {
    assert!(!line.trim().is_empty(), "an empty message");
    let strange = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!line.contains(strange), "control characters in {line:?}");
    assert!(line.chars().count() <= LONGEST, "a message of {} characters: {line:.300}", line.chars().count());
    // a message may show a name from the user's text with its escapes decoded and without quotes and backslashes. So a
    // word is allowed, too, if the user's text contains it in this form (`bare`). In a message, the four digits after
    // "\u" are skipped: "\u007f64" does not contain the type name f64, because "7f" is the end of the escape
    let bare: String = unescaped(given).chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
    let spoken: Vec<&str> =
        line.split("\\u").enumerate().map(|(i, part)| part.get(4 * i.min(1)..).unwrap_or(part)).collect();
    for word in OURS {
        let ours = spoken.iter().any(|part| part.contains(word));
        assert!(!ours || given.contains(word) || bare.contains(word), "\"{word}\" in {line}");
    }
}
