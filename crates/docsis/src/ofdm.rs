//! Parameters of a downstream's channel.   Source: docsis-ns3 (facts).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Problem};

/// The OFDM channel of a downstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DownstreamParams {
    /// What the channel carries, MAC headers included. Default 1700mbit, about what 192 MHz with 4096-QAM leave behind their error
    /// correction.
    pub channel: BitRate,
    /// Length of a symbol. Default 22.5us: 20us and a cyclic prefix of 2.5us.
    pub symbol: Duration,
}

impl Default for DownstreamParams {
    fn default() -> Self {
        Self { channel: BitRate(1_700_000_000), symbol: Duration(22_500) }
    }
}

impl DownstreamParams {
    /// The first thing that is wrong, by field name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        if self.channel.0 == 0 {
            return Err(Problem::new("channel", "0bit is not valid; expected a positive rate"));
        }
        let (least, most) = (Duration::from_micros(1), Duration::from_millis(1));
        if !(least..=most).contains(&self.symbol) {
            return Err(Problem::new("symbol", format!("{} is not valid; expected {least} to {most}", self.symbol)));
        }
        Ok(())
    }
}
