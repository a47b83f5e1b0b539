//! The targets, and the invariants that each of them asserts.

mod hostile;
mod law;
mod packet;
mod queue;
mod receiver;
mod scenario;
mod sender;
mod text;

/// The result of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The input was accepted.
    Accepted,
    /// The input was refused, which is not a failure.
    Refused,
}

/// An entry point of the program, with a function that accepts any bytes and panics if an invariant fails.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name, used on the command line and in the corpus.
    pub name: &'static str,
    /// Number of inputs in a round, the same on every machine. A build with coverage counters takes about a minute for
    /// a round.
    pub minute: u64,
    /// The assertions of the target, in one line.
    pub about: &'static str,
    /// Maximum input size in bytes.
    pub longest: usize,
    /// True if the inputs are text. Then some mutations insert words, and every input is an initial input, one of the
    /// corpus, or a mutation.
    pub text: bool,
    /// Runs one input.
    pub run: fn(&[u8]) -> Verdict,
    /// Returns initial inputs that the code makes, without files.
    pub start: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Returns all initial inputs.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.start)()
    }

    /// Returns the target with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|t| t.name == name)
    }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    scenario::VALID,
    scenario::WILD,
    scenario::BUILD,
    text::TOML,
    text::JSON,
    text::SET,
    queue::QUEUE,
    law::LAW,
    receiver::RECEIVER,
    sender::SENDER,
    packet::PACKET,
    hostile::RATELESS,
    hostile::NAMES,
    hostile::TRACE,
];

/// Returns what the input `bytes` means to `target`, for example the scenario or the calls that it encodes.
pub fn meaning(target: &Target, bytes: &[u8]) -> String {
    use crate::schema::Range;
    match target.name {
        "scenario" | "build" => scenario::read_scenario(bytes, Range::Usual).0,
        "wild" => scenario::read_scenario(bytes, Range::Wild).0,
        "sender" => sender::meaning(bytes),
        "queue" => queue::meaning(bytes),
        _ if target.text => String::from_utf8_lossy(bytes).into_owned(),
        _ => format!("{bytes:?}"),
    }
}
