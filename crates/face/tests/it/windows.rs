//! Tests of the binary table that holds the packets of a time window.

use face::Window;
use scenario::read;
use serde_json::Value;

const HOME: &str = r#"
    duration = "4s"
    link.up = { from = "a", to = "b", rate = "5mbit", delay = "10ms", queue.droptail = { limit = "30p" } }
    link.down = { from = "b", to = "a", rate = "50mbit", delay = "10ms" }
    app.files = { from = "a", to = ["b"], traffic.ftp = {} }
    app.call = { from = "a", to = ["b"], traffic.voip = { late_after = "50ms" } }
"#;

fn home() -> scenario::Scenario {
    read::scenario(HOME, read::Format::Toml, &[]).expect("a scenario")
}

fn table(mut window: Window) -> (Value, Vec<u8>) {
    while window.go_on() < 1.0 {}
    let bytes = window.table();
    let long = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    assert_eq!((4 + long) % 8, 0, "columns begin at a multiple of eight bytes");
    (serde_json::from_slice(&bytes[4..4 + long]).expect("JSON"), bytes[4 + long..].to_vec())
}

/// Returns the values of a column of type f64.
fn numbers(head: &Value, body: &[u8], name: &str) -> Vec<f64> {
    let column = head["columns"].as_array().unwrap().iter().find(|c| c[0] == name).expect("a column");
    let (first, count) = (column[2].as_u64().unwrap() as usize, column[3].as_u64().unwrap() as usize);
    let values = body[first..first + 8 * count].chunks_exact(8);
    values.map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn the_bytes_hold_what_the_head_says() {
    let (head, body) = table(Window::new(home(), 1_000_000_000, 2_000_000_000, 10_000).expect("a window"));
    assert_eq!((&head["from_ns"], &head["until_ns"]), (&1_000_000_000_u64.into(), &2_000_000_000_u64.into()));
    assert_eq!(head["shortened"], false);
    assert_eq!(head["apps"][0]["late_after_ns"], 50_000_000);
    let sent = numbers(&head, &body, "packet.sent");
    assert!(sent.len() > 300 && sent.is_sorted() && *sent.last().unwrap() < 2e9);
    let legs = numbers(&head, &body, "leg.entered");
    assert_eq!(legs.len(), sent.len(), "each packet takes one link");
    let t = numbers(&head, &body, "sender.t");
    assert!(t.len() > 100 && t.is_sorted());
}

#[test]
fn a_window_of_few_packets_says_that_it_ends_early() {
    let (head, _) = table(Window::new(home(), 0, 4_000_000_000, 100).expect("a window"));
    assert_eq!(head["shortened"], true);
    assert!(head["until_ns"].as_f64().unwrap() < 1e9);
}

#[test]
fn an_unknown_landmark_or_link_is_refused() {
    let refused = |landmark, link| Window::find(home(), landmark, link, 0).err().expect("a refusal").message;
    assert_eq!(refused("bell", "up"), "\"bell\" is not a landmark (valid: drop, mark, timeout)");
    assert_eq!(refused("drop", "nowhere"), "unknown link \"nowhere\"");
    let mut found = Window::find(home(), "drop", "up", 0).expect("a search");
    while found.go_on() < 1.0 {}
    assert!(found.found().is_some());
}
