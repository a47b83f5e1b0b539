//! The simulator as a WebAssembly module for a web page. Text is exchanged through the linear memory of the module. At
//! most one run, and one recording or search, is in progress.
//!
//! The caller allocates input with [`bl_input`], writes UTF-8 text there, calls a function whose arguments are numbers, and
//! reads [`bl_output_length`] bytes of answer at [`bl_output`]. Unless stated otherwise, answers are JSON objects; below, their
//! keys are listed like this: `{"tree", "resolved"}`. Invalid input is answered with
//! `{"problems": [{"path": "link.up.rate", "message": "..."}]}`. After a panic, the output is the panic's message, and the
//! module must not be used again.
//!
//! No bindings are generated, because there are few functions, and all arguments and results are numbers.

#![allow(unsafe_code, reason = "exported names, all with the prefix bl_; there is no other unsafe code")]

use face::{Run, Window};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::Mutex;
use units::Problem;

/// Input, written by the caller.
static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// Output, read by the caller.
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    /// The window recording or landmark search in progress.
    static WINDOW: RefCell<Option<Window>> = const { RefCell::new(None) };
}

/// Allocates `length` bytes for input; returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn bl_input(length: usize) -> *mut u8 {
    lock(&INPUT, |room| {
        room.clear();
        room.resize(length, 0);
        room.as_mut_ptr()
    })
}

/// Returns the address of the last output.
#[unsafe(no_mangle)]
pub extern "C" fn bl_output() -> *const u8 {
    lock(&OUTPUT, |room| room.as_ptr())
}

/// Returns the length of the last output in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn bl_output_length() -> usize {
    lock(&OUTPUT, |room| room.len())
}

/// Describes this build. Answer: `{"version", "schema", "catalogue"}`, with the JSON Schema of a scenario and the
/// catalogue of disciplines, links, applications, TCP stacks and grading scales. This function must be called first:
/// from then on, a panic leaves its message as the output.
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

/// Reads a scenario from the input, which is TOML if `json` is 0, otherwise JSON. Answer: `{"tree", "resolved"}`, where
/// `tree` is the parsed text with every queue as a table, and `resolved` the scenario with all its default values. If
/// the text contains a null, `tree` is instead the scenario without its default values. If the text can be parsed but
/// is not a valid scenario, the answer is `{"tree", "problems"}`, with `tree` exactly as parsed.
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
                // the form in the web page shows the parameters of a queue, so a queue given as a string in tc syntax
                // is replaced with a table of its parameters
                read::queues_as_tables(&mut tree);
                // TOML has no null, and nearly every null stands for a default value. So if the tree contains a null, it
                // is replaced with the scenario's tree that leaves out all default values. A null with another meaning,
                // such as `syn_retries = null` (unlimited), remains
                let tree = if has_null(&tree) { face::toml::sparse(&scenario).unwrap_or(tree) } else { tree };
                json!({ "tree": tree, "resolved": scenario })
            }
        },
    };
    answer(read.to_string());
}

/// Converts the input, a tree as JSON, to TOML. Answer: `{"toml"}`.
#[unsafe(no_mangle)]
pub extern "C" fn bl_toml() {
    let tree = scenario::read::parse(&input(), scenario::read::Format::Json);
    let text = tree.and_then(|tree| face::toml::text(&tree));
    answer(text.map_or_else(|p| refused(&[p]), |toml| json!({ "toml": toml })).to_string());
}

/// Discards the current run and begins a new one. The input is the scenario as JSON. Answer: `{}`.
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

/// Runs one slice of events; returns the fraction of the run that is done: 1 at its end, -1 without a run.
#[unsafe(no_mangle)]
pub extern "C" fn bl_go_on() -> f64 {
    RUN.with_borrow_mut(|run| run.as_mut().map_or(-1.0, Run::go_on))
}

/// Ends the run. Answer: `{"summary", "charts"}`, where each series has at most `points` bins. The text of the summary
/// is byte for byte the same as from the Python package.
#[unsafe(no_mangle)]
pub extern "C" fn bl_finish(points: usize) {
    answer(match RUN.take() {
        None => refused(&[Problem::new("", "there is no run")]).to_string(),
        Some(run) => {
            let outcome = run.outcome();
            let charts = run.charts(&outcome, points);
            format!(r#"{{"summary":{},"charts":{charts}}}"#, face::summary(&outcome))
        }
    });
}

/// Begins a run that records the packets sent from `from` to `until`, in nanoseconds. The input is the scenario as JSON. If
/// there are more than `most` packets, or if their tables exceed 32 MiB, the window ends early. Answer: `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn bl_window(from: f64, until: f64, most: usize) {
    let scenario = face::scenario(&input());
    open(scenario.and_then(|s| Window::new(s, from as u64, until as u64, most).map_err(|p| vec![p])));
}

/// Begins a run that searches for the first landmark after `after` nanoseconds. The input is JSON:
/// `{"scenario", "landmark", "link"}`. The `landmark` is "drop" or "mark", for the first drop or mark at `link`, or
/// "timeout", for the first timeout of any sender; even then, `link` must name a link. Answer: `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn bl_find(after: f64) {
    let text = input();
    let wish: Value = serde_json::from_str(&text).unwrap_or_default();
    let word = |key: &str| wish[key].as_str().unwrap_or_default().to_owned();
    let scenario = face::scenario(&wish["scenario"].to_string());
    open(scenario.and_then(|s| Window::find(s, &word("landmark"), &word("link"), after as u64).map_err(|p| vec![p])));
}

/// Runs one slice of the recording or search in progress, and returns the fraction that is done: 1 at the end, -1 if
/// neither a recording nor a search is in progress. During a search, the fraction stays near 0.
#[unsafe(no_mangle)]
pub extern "C" fn bl_window_go_on() -> f64 {
    WINDOW.with_borrow_mut(|window| window.as_mut().map_or(-1.0, Window::go_on))
}

/// Ends the recording. The output is not JSON, but the binary table of [`Window::table`].
#[unsafe(no_mangle)]
pub extern "C" fn bl_window_finish() {
    let table = WINDOW.take().map(|window| window.table()).unwrap_or_default();
    lock(&OUTPUT, |room| *room = table);
}

/// Ends the search that [`bl_find`] began. Returns the time of the landmark in nanoseconds, or -1 if none was found.
#[unsafe(no_mangle)]
pub extern "C" fn bl_find_finish() -> f64 {
    WINDOW.take().and_then(|window| window.found()).map_or(-1.0, |at| at as f64)
}

fn open(window: Result<Window, Vec<Problem>>) {
    let opened = window.map(|window| WINDOW.set(Some(window)));
    answer(opened.map_or_else(|problems| refused(&problems).to_string(), |()| "{}".to_owned()));
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
