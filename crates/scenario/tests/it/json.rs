//! Tests that JSON is read like TOML: keys given twice, byte order marks and integers beyond the limit.

use scenario::read::{self, Format};

fn problem(text: &str, format: Format) -> String {
    read::scenario(text, format, &[]).unwrap_err()[0].to_string()
}

#[test]
fn a_key_given_twice_is_refused_with_its_line() {
    for (text, line) in [
        ("{\"duration\": \"1s\",\n\"duration\": \"2s\"}", "line 2: not valid JSON: duplicate key \"duration\""),
        ("{\"link\": {\n\"up\": {},\n\n\"up\": {}}}", "line 4: not valid JSON: duplicate key \"up\""),
        ("{\"app\": [{\"a\": 1, \"a\": 1}]}", "line 1: not valid JSON: duplicate key \"a\""),
        ("{\"x at line 7\": 1, \"x at line 7\": 1}", "line 1: not valid JSON: duplicate key \"x at line 7\""),
        // the escape stands for the letter e
        ("{\"seed\": 1, \"s\\u0065ed\": 1}", "line 1: not valid JSON: duplicate key \"seed\""),
    ] {
        assert_eq!(problem(text, Format::Json), line);
    }
    // tables of one list may have the same keys
    assert!(read::parse("[{\"a\": 1}, {\"a\": 1}]", Format::Json).is_ok());
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let toml = "duration = '1s'\nlink.up = { from = 'a', to = 'b', both_ways = true }\n";
    let json = r#"{"duration": "1s", "link": {"up": {"from": "a", "to": "b", "both_ways": true}}}"#;
    for (text, format) in [(toml, Format::Toml), (json, Format::Json)] {
        let marked = read::scenario(&format!("\u{feff}{text}"), format, &[]).unwrap();
        assert_eq!(marked, read::scenario(text, format, &[]).unwrap());
    }
    assert!(problem("\u{feff}{\"duration\": }", Format::Json).starts_with("line 1: not valid JSON"));
}

#[test]
fn integers_beyond_the_limit_are_named_with_the_limit() {
    let limit = "expected a whole number from 0 to 9223372036854775807";
    let seed = |value: &str| problem(&format!("{{\"duration\": \"1s\", \"seed\": {value}}}"), Format::Json);
    for given in ["-1", "1.5", "1.0", "-2.0"] {
        assert_eq!(seed(given), format!("seed: {given} is not valid; {limit}"));
    }
    // JSON's reader turns integers from 2^64 on into floating-point numbers
    for given in ["18446744073709551616", "18446744073709551617", "1e300"] {
        assert_eq!(seed(given), format!("seed: a number beyond 9223372036854775807 is not valid; {limit}"));
    }
}
