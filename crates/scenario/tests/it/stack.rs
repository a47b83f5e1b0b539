//! Tests the table of a TCP stack. In a scenario, this table is flat (`mss`), although the parameters are grouped in
//! the code (`wire.mss`). Errors must name the key as it is written in the scenario.

use scenario::read::{self, Format};

const REST: &str = "
[link.up]
from = \"a\"
to = \"b\"
both_ways = true
rate = \"8mbit\"
delay = \"1ms\"
[app.bulk]
from = \"a\"
to = [\"b\"]
tcp = \"mine\"
traffic.ftp = {}
";

/// Returns the error for `key = value` in a stack.
fn said(key: &str, value: &str) -> String {
    let text = format!("duration = \"1s\"\n[tcp.mine]\npreset = \"linux-6\"\n{key} = {value}\n{REST}");
    let problems = read::scenario(&text, Format::Toml, &[]).unwrap_err();
    let lines = problems.iter().map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_wrong_has_its_place() {
    for (key, value, start) in [
        ("mss", "'x'", "mss: \"x\" is not valid; expected a whole number from 0 to 4294967295"),
        ("ledbat", "{ target = 5 }", "ledbat.target: 5 has no unit; expected a duration with its unit"),
        ("ledbat", "{ targt = '5ms' }", "ledbat: unknown key \"targt\"; did you mean \"target\"?"),
        ("ledbat", "{ target = '1us' }", "ledbat.target: 1us is not valid; expected 1ms to 10s"),
        ("initial_window", "{ segments = 'a' }", "initial_window.segments: \"a\" is not valid; expected a whole"),
        (
            "prague_cut",
            "'mark'",
            "prague_cut: unknown keyword \"mark\"; did you mean \"marks\"? (valid: rounds, marks)",
        ),
        ("cubic_from", "'linux'", "cubic_from: unknown parameter \"cubic_from\"; did you mean \"cubic_form\"?"),
        ("wire", "{}", "wire: unknown parameter \"wire\" (known: abc_limit, "),
    ] {
        let said = said(key, value);
        assert!(said.starts_with(&format!("tcp.mine.{start}")), "{said}");
    }
}
