//! Tests that docs/adding-a-discipline.md shows the compiled code, and that registration has the effects that the page
//! describes.

use qdisc::{QDISCS, Spec};

const DOC: &str = include_str!("../../../../docs/adding-a-discipline.md");
const LAWS: &str = include_str!("../../src/law/list.rs");

/// Returns the page's Rust code blocks.
fn blocks() -> Vec<&'static str> {
    DOC.split("```rust\n").skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect()
}

#[test]
fn the_page_shows_the_file_and_the_line_as_they_are() {
    let [file, line] = blocks()[..] else { panic!("expected two blocks of Rust") };
    let ours = include_str!("../../src/law/blue.rs");
    // The page shows the whole file. But the file's module doc contains a code block, and `blocks` stops at the end of
    // this inner block. So the text from `blocks` must equal only the start of the file; `contains` checks that the
    // whole file is on the page.
    assert!(
        DOC.contains(ours) && ours.starts_with(file.split("```").next().unwrap()),
        "docs/adding-a-discipline.md is stale"
    );
    assert!(LAWS.contains(line), "the line in docs/adding-a-discipline.md is not the one in law/list.rs");
}

#[test]
fn one_line_makes_the_word_the_table_the_list_and_every_composition() {
    let read = |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap());
    assert_eq!(read(r#""blue""#).unwrap(), read(r#"{"blue":{}}"#).unwrap());
    let info = QDISCS.iter().find(|q| q.name == "blue").unwrap();
    assert!(info.law && (info.params)().as_value()["properties"]["freeze_time"]["default"] == "100ms");
    let problem =
        read(r#"{"sfq_hss":{"law":{"blue":{"increment":0.1,"decrement":0.2}}}}"#).unwrap().validate().unwrap_err();
    assert_eq!(problem.path, "sfq_hss.law.blue.decrement");
    for host in ["sfq", "sfq_hss", "perfect", "drr", "fair"] {
        assert_eq!(read(&format!("\"{host} + blue\"")).unwrap().fair().unwrap().law.name(), "blue");
    }
    let schema = schemars::schema_for!(Spec).to_value();
    assert!(schema["oneOf"].as_array().unwrap().iter().any(|choice| choice["properties"]["blue"].is_object()));
}
