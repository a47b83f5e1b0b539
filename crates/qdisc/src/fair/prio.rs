//! The classifier that sorts packets into bands for strict priority, as in tc's prio and pfifo_fast.
//!
//! ```text
//! priority = TOS2PRIO[(tos & 0x1e) / 2]                band = priomap[priority], unless a filter matches the packet
//! ```
//!
//! The map uses IPv4's old type of service, not code points: EF (46) is read as "maximize throughput and minimize delay", which
//! goes to band 1. Filters can match other properties of a packet (see [`Match`]).
//!
//! Source: tc-prio(8), tc-pfifo_fast(8).

use crate::class::Match;
use crate::declared::params;
use packet::{FlowTable, PacketMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Problem, ensure};

/// The priority that Linux gives to a packet, indexed by the four type-of-service bits of the packet's TOS byte.
/// Source: the table of tc-prio(8).
const TOS2PRIO: [u8; 16] = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];
/// Maximum number of bands in tc.
const MOST_BANDS: u32 = 16;

params! {
    /// Parameters of the classifier that sorts packets into priority bands, with the names and defaults of tc's prio.
    pub struct PrioParams {
        /// Number of bands, 1 to 16; band 0 is served first.
        bands: u32 = 3,
        /// The bands of the priorities 0 to 15, in this order. A packet's priority follows from its TOS byte, as in
        /// tc-prio(8).
        priomap: Vec<u8> = vec![1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
        /// Filters that override `priomap`. The first filter that matches a packet applies.
        filters: Vec<Filter> = Vec::new(),
    }
}

/// A filter. Packets that match the filter go to the filter's band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PrioFilter")]
pub struct Filter {
    /// The packets that the filter matches.
    #[serde(rename = "match")]
    pub matches: Match,
    /// Number of the band, counted from 0.
    pub band: u32,
}

impl PrioParams {
    /// Returns an error that names the first invalid parameter, if there is one.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        let n = self.bands;
        ensure!(n > 0, "bands", "0 is not valid; expected at least 1");
        ensure!(n <= MOST_BANDS, "bands", "{n} is not valid; expected at most {MOST_BANDS}");
        let given = self.priomap.len();
        ensure!(given == TOS2PRIO.len(), "priomap", "{given} bands given; expected one for each of 16 priorities");
        let mapped = self.priomap.iter().enumerate().map(|(i, b)| (format!("priomap.{i}"), u32::from(*b)));
        let filtered = self.filters.iter().enumerate().map(|(i, f)| (format!("filters.{i}.band"), f.band));
        for (path, band) in mapped.chain(filtered) {
            ensure!(band < n, path, "{band} is not valid; expected a band from 0 to {}", n - 1);
        }
        Ok(())
    }

    /// Returns the band of `packet`.
    #[inline]
    pub(super) fn band(&self, packet: &PacketMeta, flows: &FlowTable) -> u32 {
        if !self.filters.is_empty() {
            let tuple = packet.tuple(flows);
            let holds = |f: &&Filter| f.matches.holds(&tuple, packet.tos, packet.flow.slot());
            if let Some(filter) = self.filters.iter().find(holds) {
                return filter.band;
            }
        }
        u32::from(self.priomap[usize::from(TOS2PRIO[usize::from(packet.tos >> 1 & 15)])])
    }
}
