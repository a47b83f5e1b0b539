//! The parameters of the test, by the draft's names in their doc comments.

use crate::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// Bytes that a foreign probe exchanges, all steps and headers.   Source: draft-ietf-ippm-responsiveness §5.3.
pub(crate) const FOREIGN_BYTES: u64 = 5000;
/// The same of a self probe.
pub(crate) const SELF_BYTES: u64 = 1000;

/// Which way the load goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
    /// Both at once.
    #[default]
    Both,
}

impl Load {
    /// The ways that are loaded.
    pub(super) fn ways(self) -> &'static [Direction] {
        match self {
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
            Self::Both => &[Direction::Down, Direction::Up],
        }
    }
}

/// Responsiveness under working conditions: load, and round trips per minute (RPM) under it, to the first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RpmParams {
    /// Which way the load goes: `up`, `down` or `both` at once. Default `both`.
    pub direction: Load,
    /// Load-generating connections at the start, of each direction (INP). Default 1.
    pub initial: u32,
    /// Load-generating connections that each interval adds (INC). Default 1.
    pub add: u32,
    /// Most load-generating connections, of each direction (MNP). Default 16.
    pub most: u32,
    /// Length of an interval (ID). Tools that follow older drafts have 1s. Default 5s.
    pub interval: Duration,
    /// Intervals of a moving average, and values that must agree (MAD). Default 4.
    pub moving_average: u32,
    /// Percentile above which samples are cut off before their mean (TMP). Default 95.
    pub trim: f64,
    /// Standard deviation of stable values, as a fraction of the newest (SDT). Default 0.05.
    pub tolerance: f64,
    /// Most pairs of a foreign and a self probe in a second (MPS). Default 100.
    pub probes_per_second: u32,
    /// Share of the goodput that probes may take, by 5000 bytes for a foreign and 1000 for a self probe (PTC). Default 0.05.
    pub probe_share: f64,
    /// Intervals after which a stage (goodput, then responsiveness) ends although it is not stable. Default 10.
    pub stage_intervals: u32,
    /// Bytes that a load-generating connection's socket holds unsent; a self probe waits behind them. Default 16KB.
    pub notsent_lowat: Bytes,
    /// TLS 1.3 after each TCP handshake, one round trip. Default true.
    pub tls: bool,
    /// Payload of TLS' first flight, from the client. Default 517.
    pub client_hello: Bytes,
    /// Payload of its answer: keys and certificates. Default 3000.
    pub server_hello: Bytes,
    /// Payload of a GET. Default 300.
    pub request: Bytes,
    /// Payload of its answer: a head, and one byte. Default 200.
    pub response: Bytes,
}

impl Default for RpmParams {
    fn default() -> Self {
        Self {
            direction: Load::Both,
            initial: 1,
            add: 1,
            most: 16,
            interval: Duration::from_secs(5),
            moving_average: 4,
            trim: 95.0,
            tolerance: 0.05,
            probes_per_second: 100,
            probe_share: 0.05,
            stage_intervals: 10,
            notsent_lowat: Bytes(16_000),
            tls: true,
            client_hello: Bytes(517),
            server_hello: Bytes(3000),
            request: Bytes(300),
            response: Bytes(200),
        }
    }
}
