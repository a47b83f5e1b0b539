//! Bands: the classifier of strict priority, as in tc's prio and pfifo_fast.
//!
//! ```text
//! priority = TOS2PRIO[(tos & 0x1e) / 2]                band = priomap[priority], unless a filter matches the packet
//! ```
//!
//! The map uses IPv4's old type of service, not code points: it reads EF (46) as "maximize throughput and minimize delay", and
//! assigns band 1. Filters match code points, ports, protocols and addresses.
//!
//! Source: tc-prio(8), tc-pfifo_fast(8).

use super::least::at_least_one;
use crate::class::Match;
use packet::{Flags, FlowTable, PacketMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

/// Linux's priority of a packet, by the four bits of its type of service. Source: the table of tc-prio(8).
const TOS2PRIO: [u8; 16] = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];
/// Most bands in tc.
const MOST_BANDS: u32 = 16;

/// Parameters of a classifier into bands, with tc's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrioParams {
    /// Number of bands, 1 to 16; band 0 is served first.
    pub bands: u32,
    /// The band of each of the 16 priorities that the type of service gives.
    pub priomap: Vec<u8>,
    /// Filters that override the map; the first that matches a packet applies.
    pub filters: Vec<Filter>,
}

/// Packets that belong to a band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PrioFilter")]
pub struct Filter {
    /// The packets that it matches.
    #[serde(rename = "match")]
    pub matches: Match,
    /// Their band, from 0.
    pub band: u32,
}

impl Default for PrioParams {
    /// tc-prio(8); pfifo_fast has the same.
    fn default() -> Self {
        Self { bands: 3, priomap: vec![1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], filters: Vec::new() }
    }
}

impl PrioParams {
    /// Reports the first invalid parameter, by field name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        at_least_one("bands", self.bands)?;
        if self.bands > MOST_BANDS {
            return Err(Problem::new("bands", format!("{} is not valid; expected at most {MOST_BANDS}", self.bands)));
        }
        if self.priomap.len() != TOS2PRIO.len() {
            let message = format!("{} bands given; expected one for each of 16 priorities", self.priomap.len());
            return Err(Problem::new("priomap", message));
        }
        let last = self.bands - 1;
        let mapped = self.priomap.iter().enumerate().map(|(i, b)| (format!("priomap.{i}"), u32::from(*b)));
        let filtered = self.filters.iter().enumerate().map(|(i, f)| (format!("filters.{i}.band"), f.band));
        match mapped.chain(filtered).find(|(_, band)| *band > last) {
            Some((path, band)) => {
                Err(Problem::new(path, format!("{band} is not valid; expected a band from 0 to {last}")))
            }
            None => Ok(()),
        }
    }

    /// The band of `packet`.
    #[inline]
    pub(super) fn band(&self, packet: &PacketMeta, flows: &FlowTable) -> u32 {
        if !self.filters.is_empty() {
            let forward = flows.get(packet.flow);
            let tuple = if packet.flags.has(Flags::REVERSE) { forward.reversed() } else { forward };
            let holds = |f: &&Filter| f.matches.holds(&tuple, packet.tos, packet.flow.slot());
            if let Some(filter) = self.filters.iter().find(holds) {
                return filter.band;
            }
        }
        u32::from(self.priomap[usize::from(TOS2PRIO[usize::from(packet.tos >> 1 & 15)])])
    }
}
