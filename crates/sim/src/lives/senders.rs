//! Records the state of every sender after each event that changed it.

use packet::{Item, Reading, Value};
use record::Probed;
use units::Time;

/// The state of a sender from the time `at` until the sender's next row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderRow {
    /// Time at which the sender enters this state.
    pub at: Time,
    /// Row of the sender's flow and direction.
    pub flow: u32,
    /// Index of the state's name in [`Lives::states`](super::Lives::states); 0 also if the sender reports no state.
    pub state: u8,
    /// Values in the order of [`NAMES`]; NaN for a value that the sender does not have.
    pub values: [f64; NAMES.len()],
}

/// Names of a sender's values, with their units.
pub const NAMES: [&str; 7] =
    ["cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ms", "rto_ms", "pacing_rate_mbit", "timeouts"];

/// The names under which a sender's probe reports these values, in the order of [`NAMES`].
const PROBED: [&str; NAMES.len()] = ["cwnd", "ssthresh", "in_flight", "srtt", "rto", "pacing_rate", "timeouts"];
/// Index of `timeouts` in [`NAMES`].
const TIMEOUTS: usize = NAMES.len() - 1;

/// Readings of senders, in time order.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders {
    pub rows: Vec<SenderRow>,
    pub states: Vec<String>,
    /// Latest row of each flow and direction.
    last: Vec<u32>,
}

impl Senders {
    /// Reads the state of a sender, and adds a row if the state differs from the sender's last row. Returns true if the
    /// sender has timed out since its last row.
    pub(super) fn read(&mut self, at: Time, flow: u32, state: &dyn Probed) -> bool {
        let mut row = SenderRow { at, flow, state: 0, values: [f64::NAN; NAMES.len()] };
        let states = &mut self.states;
        let mut take = |item: Item<'_>| match item {
            Item::Value("state", _, Value::Word(word)) => row.state = number(states, word),
            Item::Value(name, _, Value::Number(Some(value))) => {
                if let Some(i) = PROBED.iter().position(|n| *n == name) {
                    row.values[i] = value;
                }
            }
            _ => {}
        };
        state.own(&mut Reading::new(at, false, &mut take));
        let index = flow as usize;
        if self.last.len() <= index {
            self.last.resize(index + 1, u32::MAX);
        }
        let before = self.rows.get(self.last[index] as usize).copied();
        let same = |b: &SenderRow| b.state == row.state && same(&b.values, &row.values);
        if !before.as_ref().is_some_and(same) {
            self.last[index] = self.rows.len() as u32;
            self.rows.push(row);
        }
        before.is_some_and(|b| row.values[TIMEOUTS] > b.values[TIMEOUTS])
    }

    /// Returns the memory that the rows take, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<SenderRow>()
    }
}

/// Returns true if the numbers have the same bits, so that NaN equals NaN.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

fn number(states: &mut Vec<String>, word: &str) -> u8 {
    let at = states.iter().position(|s| s == word).unwrap_or_else(|| {
        states.push(word.to_owned());
        states.len() - 1
    });
    at as u8
}
