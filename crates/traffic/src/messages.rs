//! TCP messages as a chat, a sensor or a slow game sends them: one message every few seconds, all over one connection.
//!
//! Source: ARRIS 2013, Simulation Baseline (its game sends 10 KB every 2 s; the document plots the latency of the
//! game's packets).
//!
//! The connection is opened at the start and kept; message 0 waits for the handshake. Message k is written at start +
//! k * interval, even if the previous message has not arrived. After a failure, messages that are due before a new
//! connection is opened are left out. A message *starts* when it is written, and is *finished* when its last byte has
//! arrived in order at the server; [`Host::file_done`] then reports its latency.

use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, OnFailure, Params, RETRY_AFTER, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Duration, Problem, Time};
use units::{positive, positive_or_none};

/// TCP messages at a fixed interval from the client to its first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessagesParams {
    /// Payload of a message in bytes. Default 10KB.
    pub message: Bytes,
    /// Time between messages. Default 2s.
    pub interval: Duration,
    /// Number of messages; omitted: until the end of the run.
    pub count: Option<u64>,
    /// Response if the connection fails: `retry` or `give_up`. Messages that have not fully arrived are lost in both
    /// cases. Default `retry`.
    pub on_failure: OnFailure,
}

impl Default for MessagesParams {
    fn default() -> Self {
        Self { message: Bytes(10_000), interval: Duration::from_secs(2), count: None, on_failure: OnFailure::Retry }
    }
}

impl Params for MessagesParams {
    type App = Messages;

    fn validate(&self) -> Result<(), Problem> {
        positive("message", self.message)?;
        positive("interval", self.interval)?;
        positive_or_none("count", self.count)
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let messages = times(span, self.interval, self.count);
        Demand {
            direction: Some(Direction::Up),
            connections: 1.0,
            bytes: messages * self.message.0 as f64,
            pieces: messages,
        }
    }

    fn start_spread(&self) -> Duration {
        self.interval
    }

    fn build(&self) -> Messages {
        Messages {
            params: self.clone(),
            conn: None,
            start: Time::ZERO,
            next: 0,
            received: 0,
            unfinished: VecDeque::new(),
        }
    }
}

/// Token of the timer that opens a new connection; all other tokens are message numbers.
const REOPEN: u64 = u64::MAX;

/// The application with [`MessagesParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    params: MessagesParams,
    conn: Option<ConnId>,
    start: Time,
    /// Number of the next message.
    next: u64,
    /// Bytes of the oldest unfinished message that have been received.
    received: u64,
    /// Write times of the unfinished messages, oldest first.
    unfinished: VecDeque<Time>,
}

impl Messages {
    fn send<H: Host>(&mut self, host: &mut H) {
        if let Some(conn) = self.conn {
            host.write(conn, Role::Client, self.params.message.0);
            self.unfinished.push_back(host.now());
        }
        self.next += 1;
        if self.params.count.is_none_or(|n| self.next < n) {
            host.timer(self.start + self.params.interval * self.next, self.next);
        }
    }
}

impl Application for Messages {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        self.conn = Some(host.open(0, 0));
        self.send(host);
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        if token == REOPEN {
            self.conn = Some(host.open(0, 0));
        } else {
            self.send(host);
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        if self.conn != Some(conn) || role != Role::Server {
            return;
        }
        self.received += bytes;
        // bound: each iteration removes one message from the list
        while self.received >= self.params.message.0 {
            let Some(started) = self.unfinished.pop_front() else { break };
            self.received -= self.params.message.0;
            host.file_done(started, self.params.message.0);
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        if self.conn == Some(conn) {
            self.conn = None;
            self.received = 0;
            self.unfinished.clear();
            if self.params.on_failure == OnFailure::Retry {
                host.timer(host.now() + RETRY_AFTER, REOPEN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    #[test]
    fn a_message_every_two_seconds() {
        let mut fake = Fake::new(&[50 * MS]);
        fake.piece = 1460;
        let mut app = MessagesParams::default().build();
        fake.run(&mut app, Time(600 * S));
        assert_eq!((fake.writes.len(), fake.files.len(), fake.opened.len()), (300, 300, 1));
        // the first message takes 50 ms for the handshake and 25 ms to the server; each later message takes 25 ms
        assert_eq!(fake.files[0], (Time(0), Time(75 * MS), 10_000));
        assert!(fake.files[1..].iter().enumerate().all(|(i, f)| {
            let at = (i as u64 + 1) * 2 * S;
            *f == (Time(at), Time(at + 25 * MS), 10_000)
        }));
        // 10 kB every 2 s is 40 kbit/s
        assert_eq!(fake.writes.iter().map(|w| w.bytes).sum::<u64>() * 8 / 600, 40_000);
    }

    #[test]
    fn no_message_is_skipped_however_many_wait() {
        // a message every 1 ms; the first reaches the server after a handshake of 12 s and another 6 s
        let mut fake = Fake::new(&[12 * S]);
        let params = MessagesParams { interval: Duration::from_millis(1), count: Some(10_000), ..Default::default() };
        fake.run(&mut params.build(), Time(100 * S));
        assert!(fake.files.iter().map(|f| f.0.0 / MS).eq(0..10_000), "{} messages", fake.files.len());
    }

    #[test]
    fn messages_overlap_and_a_failure_discards_them() {
        // five messages, 10 ms apart, wait for the handshake of 50 ms and arrive together at 75 ms, so all are
        // unfinished at the same time
        let mut fake = Fake::new(&[50 * MS]);
        let params = MessagesParams {
            interval: Duration::from_millis(10),
            count: Some(5),
            message: Bytes(10),
            ..Default::default()
        };
        fake.run(&mut params.build(), Time(S));
        assert_eq!(fake.files.len(), 5);
        let mut fake = Fake::new(&[50 * MS]).failing(&[0], 3 * S);
        fake.run(&mut MessagesParams::default().build(), Time(10 * S));
        // the messages due at 0 s and 2 s are lost, and the connection is reopened at 4 s. Message 2, also due at 4 s, finds no
        // connection, because its timer was set before the timer that reopens the connection. The messages due at 6 s and 8 s use
        // the new connection
        let starts: Vec<u64> = fake.files.iter().map(|f| f.0.0 / S).collect();
        assert_eq!(starts, [6, 8]);
        assert_eq!(MessagesParams { message: Bytes(0), ..Default::default() }.validate().unwrap_err().path, "message");
    }
}
