//! The simulator for a web page: text is exchanged through linear memory, one run at a time.
//!
//! The caller allocates input with [`bl_input`], writes UTF-8 text there, calls a function that takes only numbers, and reads the
//! answer at [`bl_output`], [`bl_output_length`] bytes long. Answers are JSON. Invalid input is answered with
//! `{"problems": [{"path": "link.up.rate", "message": "..."}]}`. After a panic the module is not used again; its message is
//! the output.
//!
//! No bindings are generated: the functions are few, and take and give numbers.

#![allow(
    unsafe_code,
    reason = "exported names, which no other crate may have: they begin with bl_; nothing else here is unsafe"
)]

use face::Run;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::Mutex;
use units::Problem;

/// Input, written by the caller.
static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// Output, read by the caller.
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    /// The run under way.
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Room for `length` bytes of input.
#[unsafe(no_mangle)]
pub extern "C" fn bl_input(length: usize) -> *mut u8 {
    lock(&INPUT, |room| {
        room.clear();
        room.resize(length, 0);
        room.as_mut_ptr()
    })
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn bl_output() -> *const u8 {
    lock(&OUTPUT, |room| room.as_ptr())
}

/// The length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn bl_output_length() -> usize {
    lock(&OUTPUT, |room| room.len())
}

/// Describes the available choices: `{"version", "schema", "catalogue"}`. Call it first: from then on a panic leaves its
/// message.
#[unsafe(no_mangle)]
pub extern "C" fn bl_describe() {
    std::panic::set_hook(Box::new(|info| answer(info.to_string())));
    let schema = scenario::Scenario::json_schema();
    answer(format!(
        r#"{{"version":{},"schema":{schema},"catalogue":{}}}"#,
        json!(face::VERSION),
        face::catalogue(false)
    ));
}

/// Reads the input, TOML (`json` is 0) or JSON, as it was given: `{"tree", "resolved"}`. A text that can be read but not be
/// built has its problems beside its tree.
#[unsafe(no_mangle)]
pub extern "C" fn bl_read(json: u32) {
    use scenario::read::{self, Format};
    let format = if json == 0 { Format::Toml } else { Format::Json };
    let text = input();
    let read = match read::parse(&text, format) {
        Err(problem) => refused(&[problem]),
        Ok(mut tree) => match read::scenario(&text, format, &[]) {
            Err(problems) => json!({ "tree": tree, "problems": listed(&problems) }),
            Ok(scenario) => {
                // a form shows parameters, not tc's words
                read::queues_as_tables(&mut tree);
                // a null says "the default"; where the default is something else, only the sparse tree can be written
                let tree = if has_null(&tree) { face::toml::sparse(&scenario).unwrap_or(tree) } else { tree };
                json!({ "tree": tree, "resolved": scenario })
            }
        },
    };
    answer(read.to_string());
}

/// The input, a tree as JSON, as TOML: `{"toml"}`.
#[unsafe(no_mangle)]
pub extern "C" fn bl_toml() {
    let tree = scenario::read::parse(&input(), scenario::read::Format::Json);
    let text = tree.and_then(|tree| face::toml::text(&tree));
    answer(text.map_or_else(|p| refused(&[p]), |toml| json!({ "toml": toml })).to_string());
}

/// Begins a run of the input, a scenario as JSON, in place of the one under way: `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn bl_begin() {
    RUN.set(None);
    let begun = face::scenario(&input()).and_then(|s| Run::new(s).map_err(|p| vec![p]));
    answer(match begun {
        Err(problems) => refused(&problems).to_string(),
        Ok(run) => {
            RUN.set(Some(run));
            "{}".to_owned()
        }
    });
}

/// Goes on with the run for a slice; returns how much of it is done, 1 at its end, -1 if none is under way.
#[unsafe(no_mangle)]
pub extern "C" fn bl_go_on() -> f64 {
    RUN.with_borrow_mut(|run| run.as_mut().map_or(-1.0, Run::go_on))
}

/// Ends the run: `{"summary", "charts"}`, the latter with about so many points. The summary is the text of every other face.
#[unsafe(no_mangle)]
pub extern "C" fn bl_finish(points: usize) {
    answer(match RUN.take() {
        None => refused(&[Problem::new("", "no run is under way")]).to_string(),
        Some(run) => {
            let outcome = run.outcome();
            let charts = run.charts(&outcome, points);
            format!(r#"{{"summary":{},"charts":{charts}}}"#, face::summary(&outcome))
        }
    });
}

fn lock<T>(room: &Mutex<Vec<u8>>, act: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    act(&mut room.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn input() -> String {
    lock(&INPUT, |room| String::from_utf8_lossy(room).into_owned())
}

fn answer(text: String) {
    lock(&OUTPUT, |room| *room = text.into_bytes());
}

fn refused(problems: &[Problem]) -> Value {
    json!({ "problems": listed(problems) })
}

fn listed(problems: &[Problem]) -> Value {
    problems.iter().map(|p| json!({ "path": p.path, "message": p.message })).collect()
}

fn has_null(tree: &Value) -> bool {
    match tree {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}
