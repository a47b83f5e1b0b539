//! The parameters of the responsiveness test. Their doc comments also give the names used by
//! draft-ietf-ippm-responsiveness.

use crate::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// The draft's estimate of the bytes that a foreign probe exchanges in all its steps, including headers.   Source:
/// draft-ietf-ippm-responsiveness §5.3.
pub(crate) const FOREIGN_BYTES: u64 = 5000;
/// The draft's estimate of the bytes that a self probe exchanges.   Source: draft-ietf-ippm-responsiveness §5.3.
pub(crate) const SELF_BYTES: u64 = 1000;

/// Direction of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
    /// Both directions at once.
    #[default]
    Both,
}

impl Load {
    /// Returns the loaded directions.
    pub(super) fn ways(self) -> &'static [Direction] {
        match self {
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
            Self::Both => &[Direction::Down, Direction::Up],
        }
    }
}

/// A test that loads the path to the first server, and measures the round trips per minute (RPM) under this load. There
/// are two kinds of probe. A foreign probe opens a new connection. A self probe uses one of the connections that
/// generate the load. Names in brackets are those of draft-ietf-ippm-responsiveness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RpmParams {
    /// Direction of the load: `up`, `down` or `both`. Default `both`.
    pub direction: Load,
    /// Number of load-generating connections at the start, per direction (INP). Default 1.
    pub initial: u32,
    /// Number of load-generating connections added after each interval, per direction, until the test ends (INC).
    /// Default 1.
    pub add: u32,
    /// Largest number of load-generating connections, per direction (MNP). Default 16.
    pub most: u32,
    /// Length of an interval (ID). After each interval, the test computes new averages and adds connections. Tools that
    /// follow older drafts use 1s. Default 5s.
    pub interval: Duration,
    /// Number of intervals over which goodput and RPM are averaged (MAD). Default 4.
    pub moving_average: u32,
    /// Percentile for trimmed means (TMP). Samples above this percentile are discarded before a mean is computed.
    /// Default 95.
    pub trim: f64,
    /// Largest relative deviation of a stable result (SDT). A result is stable if the standard deviation of its last
    /// `moving_average` averages is below this fraction of the newest average. Default 0.05.
    pub tolerance: f64,
    /// Largest number of pairs of probes per second (MPS). A pair is a foreign probe and a self probe. Default 100.
    pub probes_per_second: u32,
    /// Largest share of the goodput that probes may use (PTC). With load in both directions, it is a share of the
    /// lower goodput. A foreign probe is taken to use 5000 bytes, and a self probe 1000 bytes. At least one pair of probes
    /// per second is sent, so if the goodput is below 0.96 Mbit/s, probes use more than 5 % of it. Default 0.05.
    pub probe_share: f64,
    /// Largest number of intervals in a stage. The test has two stages. The first lasts until the goodput is stable,
    /// the second until the RPM is stable. Default 10.
    pub stage_intervals: u32,
    /// Unsent bytes that each load-generating connection keeps in its socket. In the loaded direction, the message of a
    /// self probe waits behind these bytes. Default 16KB.
    pub notsent_lowat: Bytes,
    /// True if a TLS 1.3 handshake of one round trip follows each TCP handshake. Default true.
    pub tls: bool,
    /// Size of the TLS ClientHello in bytes of payload. Default 517.
    pub client_hello: Bytes,
    /// Size of the server's answer to the ClientHello, with keys and certificates, in bytes of payload. Default 3000.
    pub server_hello: Bytes,
    /// Size of a GET, and of the POST that begins an upload, in bytes of payload. Default 300.
    pub request: Bytes,
    /// Size of the response to a probe's GET, with headers and one byte of content, in bytes of payload. Default 200.
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
