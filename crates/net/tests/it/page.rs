//! Tests that docs/transports.md contains exact copies of the example and its scenario. Cargo compiles the example
//! together with the tests.

use net::Network;

const PAGE: &str = include_str!("../../../../docs/transports.md");

#[test]
fn the_page_shows_the_example_as_it_is() {
    let [code, scenario] = [include_str!("../../examples/ticker.rs"), include_str!("../../examples/ticker.toml")];
    assert!(PAGE.contains(&format!("```rust\n{code}```\n")), "docs/transports.md has a different ticker.rs");
    assert!(PAGE.contains(&format!("```toml\n{scenario}```\n")), "docs/transports.md has a different ticker.toml");
    Network::from_toml(scenario).unwrap();
}
