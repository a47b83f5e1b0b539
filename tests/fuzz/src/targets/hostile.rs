//! Scenarios from a careless or hostile author: links without a rate, names with terminal escapes, arbitrary text as a
//! link's trace.

use super::scenario::balance;
use super::text::{clear, judge};
use super::{Target, Verdict};
use crate::schema::Range;
use crate::source::Source;
use crate::world;
use port::Lines;
use scenario::read::{self, Format};
use serde_json::{Value, json};
use sim::{WORK_PER_SLICE, World};

pub(crate) const RATELESS: Target = Target {
    name: "rateless",
    minute: 3_000,
    about: "scenarios with links that mostly have no rate: refused, or runs that stop after a bounded number of packets",
    longest: 1024,
    text: false,
    run: rateless,
    start: Vec::new,
};

pub(crate) const NAMES: Target = Target {
    name: "names",
    minute: 100_000,
    about: "hostile names of links, nodes, applications, stacks: refused with clear messages, or short and printable",
    longest: 512,
    text: false,
    run: names,
    start: Vec::new,
};

pub(crate) const TRACE: Target = Target {
    name: "trace",
    minute: 500_000,
    about: "any text as a link's trace: refused without quoting the file, or its compact form is a fixed point",
    longest: 4096,
    text: true,
    run: trace,
    start: || {
        ["0\n16\n17\n17\n17\n21\n", "+0 +16 +1x3 +4", "root:x:0:0:root:/root:/bin/sh\n", "5\n3\n"]
            .map(Into::into)
            .to_vec()
    },
};

/// Number of progress reports after which a run is stopped.
const LOOKS: u32 = 3;
/// Upper bound on the number of packets that arrive at the same instant. There are at most 5 links with 2 directions,
/// and at most 3 applications. The check of a scenario allows each application 100 000 packets at one instant.
const TOGETHER: u64 = 5 * 2 * 3 * 100_000;

fn rateless(bytes: &[u8]) -> Verdict {
    let s = &mut Source::new(bytes);
    let mut tree = world::tree(s, Range::Usual);
    for link in tree["link"].as_object_mut().into_iter().flat_map(|links| links.values_mut()) {
        if s.chance(192) {
            for key in ["rate", "shaper", "docsis", "docsis31", "delivery", "changes", "queue"] {
                link.as_object_mut().map(|link| link.remove(key));
            }
            link["delay"] = json!(format!("{}ns", s.spread(0, 10_000_000)));
        }
    }
    let text = Value::Object(tree).to_string();
    let answer = read::scenario(&text, Format::Json, &[]);
    judge(&answer, &text);
    let Ok(scenario) = answer else {
        return Verdict::Refused;
    };
    let Ok(mut world) = World::build(&scenario) else {
        return Verdict::Refused;
    };
    let (mut looks, mut before) = (0, 0);
    world.run_observed(|world| {
        let offered = balance(world);
        let most = 4 * u64::from(WORK_PER_SLICE) + TOGETHER;
        assert!(offered - before <= most, "{} packets between two looks", offered - before);
        before = offered;
        looks += 1;
        looks < LOOKS
    });
    balance(&world);
    Verdict::Accepted
}

/// Names that could do harm in an output: in a terminal, a spreadsheet, a path, a plot or a table.
const HOSTILE: &[&str] = &[
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}]0;owned\u{1b}\\",
    "a\rb",
    "a\nb",
    "\0",
    "\u{7f}",
    "\u{9b}31m",
    "\u{202e}gpj.exe",
    "\u{200b}",
    "\u{feff}",
    "_x",
    "=1+1",
    "+1",
    "-1",
    "@x",
    "~up",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "a,b;\"c\"",
    "'; DROP TABLE links; --",
    ":bomb:",
    "[red]x[/red]",
    "Größe",
    "链路",
    "👩‍👩‍👧",
    "é\u{301}\u{301}",
    "CON",
    " ",
    "",
    ".",
];

fn hostile(s: &mut Source<'_>) -> String {
    let name = s.pick(HOSTILE).to_owned();
    match s.below(8) {
        0 => name.repeat(1 + s.below(200) as usize),
        1 => (0..s.below(200)).filter_map(|_| char::from_u32(s.u32() % 0x11_0000)).collect(),
        2 => format!("{name}{}", s.pick(HOSTILE)),
        3 => "up".to_owned(),
        _ => name,
    }
}

fn names(bytes: &[u8]) -> Verdict {
    let s = &mut Source::new(bytes);
    let [name, link, back, app, stack, from, to] = std::array::from_fn(|_| hostile(s));
    let tree = json!({
        "name": name,
        "duration": "1s",
        "link": {
            link: { "from": from, "to": to, "rate": "1mbit", "both_ways": s.chance(128) },
            back: { "from": to, "to": from, "rate": "1mbit" },
        },
        "app": { app: { "from": from, "to": [to], "tcp": stack, "traffic": "ftp" } },
        "tcp": { stack: { "preset": "linux-6" } },
    });
    let text = tree.to_string();
    let answer = read::scenario(&text, Format::Json, &[]);
    let verdict = judge(&answer, &text);
    if let Ok(scenario) = answer {
        let nodes = scenario.link.values().flat_map(|link| [&link.from, &link.to]);
        let all = nodes.chain(scenario.link.keys()).chain(scenario.app.keys()).chain(scenario.tcp.keys());
        for name in all.chain([&scenario.name]) {
            assert!(name.chars().count() <= 128, "a name of {} characters", name.chars().count());
            assert!(!name.chars().any(char::is_control), "a control character in {name:?}");
        }
        World::build(&scenario).unwrap_or_else(|problem| panic!("valid, and refused by the build: {problem}"));
    }
    verdict
}

fn trace(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    let mut verdict = Verdict::Refused;
    for read in [Lines::read(text), Lines::read_compact(text)] {
        match read {
            Ok(lines) => {
                assert!(lines.count() > 0 && !lines.period().is_zero(), "a trace that never lets anything through");
                let again = Lines::read_compact(&lines.compact());
                assert_eq!(again.as_ref(), Ok(&lines), "the compact form reads as a different trace");
                verdict = Verdict::Accepted;
            }
            Err(bad) => {
                let line = bad.to_string();
                clear(&line, "");
                // a message may begin with a quoted word of the file, but only if the word looks like a short number:
                // other contents of the file must not be shown
                let given =
                    bad.message.strip_prefix('"').and_then(|rest| rest.split_once('"')).map_or("", |(word, _)| word);
                let number = |c: char| c.is_ascii_digit() || "+-.,x".contains(c);
                assert!(given.chars().all(number) && given.len() <= 24, "{line} shows what is in the file");
            }
        }
    }
    verdict
}
