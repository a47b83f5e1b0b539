//! What is attacked, and what must hold whatever comes.

mod hostile;
mod law;
mod packet;
mod queue;
mod receiver;
mod scenario;
mod sender;
mod text;

/// What a door did with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It got through.
    Accepted,
    /// It was refused, as it should be.
    Refused,
}

/// A door, and a function that takes any bytes and panics if something is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: on the command line and of its corpus.
    pub name: &'static str,
    /// Inputs of about a minute, with counters: a round, which is the same on every machine.
    pub minute: u64,
    /// What it asserts, in one line.
    pub about: &'static str,
    /// Longest input, bytes.
    pub longest: usize,
    /// Inputs are text: changed by words, too, and never made of random bytes alone.
    pub text: bool,
    /// One input.
    pub run: fn(&[u8]) -> Verdict,
    /// Inputs to start from that are not worth a file.
    pub start: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Inputs to start from.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.start)()
    }

    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|t| t.name == name)
    }
}

/// All of them.
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

/// What an input of `target` says, for a person.
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
