//! Parameters of a downstream channel.   Source: docsis-ns3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Problem, positive, within};

/// The OFDM channel of a downstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DownstreamParams {
    /// Rate of the channel, MAC headers included. 1700mbit is about the net rate of 192 MHz with 4096-QAM after error correction.
    pub channel: BitRate,
    /// Length of a symbol. 22.5us is 20us plus a cyclic prefix of 2.5us.
    pub symbol: Duration,
}

impl Default for DownstreamParams {
    fn default() -> Self {
        Self { channel: BitRate(1_700_000_000), symbol: Duration(22_500) }
    }
}

impl DownstreamParams {
    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        positive("channel", self.channel)?;
        within("symbol", self.symbol, Duration::from_micros(1), Duration::from_millis(1))
    }
}
