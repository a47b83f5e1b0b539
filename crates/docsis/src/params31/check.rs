//! What is refused, by field name.

use super::{Docsis31Params, LowLatencyParams};
use crate::DownstreamParams;
use units::{BitRate, Bytes, Duration, Problem};

/// Bounds that keep every sum of times and bytes far from the ends of its type.
const LONGEST: Duration = Duration::from_millis(100);
const MOST_FRAMES: u64 = 1000;
const MOST_IN_MAP: u64 = 10_000_000;
const MOST_MINISLOTS: u32 = 100_000;
const MOST_MINISLOT: u64 = 10_000;

/// A duration within bounds.
fn between(name: &str, d: Duration, least: Duration, most: Duration) -> Result<(), Problem> {
    if (least..=most).contains(&d) {
        return Ok(());
    }
    Err(Problem::new(name, format!("{d} is not valid; expected {least} to {most}")))
}

/// A whole number within bounds.
fn within(name: &str, value: u64, least: u64, most: u64) -> Result<(), Problem> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(name, format!("{value} is not valid; expected {least} to {most}")))
}

impl Docsis31Params {
    /// What of an upstream a downstream has not.
    fn check_downstream(&self, downstream: &DownstreamParams) -> Result<(), Problem> {
        downstream.validate().map_err(|p| p.under("downstream"))?;
        let plain = Self::new(self.flow.clone());
        let given = Self {
            low_latency: None,
            downstream: None,
            downstream_interleaver: plain.downstream_interleaver,
            downstream_pipeline: plain.downstream_pipeline,
            ..self.clone()
        };
        if given != plain {
            let given = [
                ("map_interval", self.map_interval != plain.map_interval),
                ("map_offset", self.map_offset != plain.map_offset),
                ("frame", self.frame != plain.frame),
                ("symbols", self.symbols != plain.symbols),
                ("minislots", self.minislots != plain.minislots),
                ("minislot_bytes", self.minislot_bytes != plain.minislot_bytes),
                ("free_capacity", self.free_capacity.is_some()),
                ("free_capacity_variation", self.free_capacity_variation != plain.free_capacity_variation),
                ("burst_preparation", self.burst_preparation != plain.burst_preparation),
                ("cm_map_processing", self.cm_map_processing != plain.cm_map_processing),
                ("cmts_map_processing", self.cmts_map_processing != plain.cmts_map_processing),
                ("plant_rtt", self.plant_rtt != plain.plant_rtt),
                ("upstream_pipeline", self.upstream_pipeline != plain.upstream_pipeline),
                ("mean_packet", true),
            ];
            let name = given.into_iter().find(|(_, other)| *other).map_or("frame", |(name, _)| name);
            return Err(Problem::new(name, "is of the upstream; a downstream has no requests and no grants"));
        }
        let unasked = self.low_latency.as_ref().map(|l| (l.guaranteed_grant_rate, l.guaranteed_grant_interval));
        let name = match unasked {
            Some((Some(_), _)) => "guaranteed_grant_rate",
            Some((_, Some(_))) => "guaranteed_grant_interval",
            _ => return Ok(()),
        };
        let message = "is of the upstream; a downstream has no grants, and waits for none";
        Err(Problem::new(format!("low_latency.{name}"), message))
    }

    fn check_channel(&self) -> Result<(), Problem> {
        between("frame", self.frame, Duration::from_micros(1), Duration::from_millis(10))?;
        between("map_interval", self.map_interval, self.frame, LONGEST)?;
        between("map_offset", self.map_offset, Duration::ZERO, LONGEST)?;
        for (name, d) in [
            ("cm_map_processing", self.cm_map_processing),
            ("cmts_map_processing", self.cmts_map_processing),
            ("plant_rtt", self.plant_rtt),
            ("downstream_interleaver", self.downstream_interleaver),
            ("downstream_pipeline", self.downstream_pipeline),
        ] {
            between(name, d, Duration::ZERO, LONGEST)?;
        }
        within("symbols", self.symbols.into(), 1, 1000)?;
        within("upstream_pipeline", self.upstream_pipeline.into(), 0, 1000)?;
        within("minislots", self.minislots.into(), 1, MOST_MINISLOTS.into())?;
        for (name, bytes, most) in
            [("minislot_bytes", self.minislot_bytes, MOST_MINISLOT), ("mean_packet", self.mean_packet, 65_535)]
        {
            if !(1..=most).contains(&bytes.0) {
                return Err(Problem::new(name, format!("{bytes} is not valid; expected 1B to {}", Bytes(most))));
            }
        }
        if self.frames_per_map() > MOST_FRAMES {
            let most = Duration(MOST_FRAMES * self.frame.0);
            let message = format!("{} is not valid; expected at most {MOST_FRAMES} frames, {most}", self.map_interval);
            return Err(Problem::new("map_interval", message));
        }
        let in_map = self.frames_per_map() * u64::from(self.minislots) * self.minislot_bytes.0;
        if in_map > MOST_IN_MAP {
            let message = format!(
                "{} give {} in a MAP interval; expected at most {}",
                self.minislots,
                Bytes(in_map),
                Bytes(MOST_IN_MAP)
            );
            return Err(Problem::new("minislots", message));
        }
        between("burst_preparation", self.burst_preparation, Duration::ZERO, self.min_req_gnt())?;
        if self.free_capacity == Some(BitRate(0)) {
            return Err(Problem::new("free_capacity", "0bit is not valid; expected a positive rate, or null for all"));
        }
        if self.free_capacity_variation.get() > 0.0 && self.free_capacity.is_none() {
            let message = "needs free_capacity: without it there is nothing to vary";
            return Err(Problem::new("free_capacity_variation", message));
        }
        Ok(())
    }

    fn check_low_latency(&self, p: &LowLatencyParams) -> Result<(), Problem> {
        within("scheduling_weight", p.scheduling_weight.into(), 1, 255)?;
        for (name, flow) in [("flow", &p.flow), ("classic_flow", &p.classic_flow)] {
            flow.as_ref().map_or(Ok(()), |flow| flow.validate().map_err(|p| p.under(name)))?;
        }
        let Some(rate) = p.guaranteed_grant_rate else {
            return match p.guaranteed_grant_interval {
                Some(_) => {
                    let message = "needs guaranteed_grant_rate: without it nothing is granted unasked";
                    Err(Problem::new("guaranteed_grant_interval", message))
                }
                None => Ok(()),
            };
        };
        let amsr = self.flow.max_sustained_rate;
        if rate.0 == 0 || rate > amsr {
            let message = format!("{rate} is not valid; expected above 0 and at most the aggregate's rate, {amsr}");
            return Err(Problem::new("guaranteed_grant_rate", message));
        }
        if let Some(msr) = p.flow.as_ref().map(|flow| flow.max_sustained_rate).filter(|msr| rate > *msr) {
            let message = format!("{rate} is not valid; expected at most the service flow's own rate, {msr}");
            return Err(Problem::new("guaranteed_grant_rate", message));
        }
        if let Some(interval) = p.guaranteed_grant_interval {
            between("guaranteed_grant_interval", interval, self.frame, LONGEST)?;
        }
        Ok(())
    }

    /// Whether the aggregate can have this rate.
    pub fn check_rate(&self, path: &str, rate: BitRate) -> Result<(), Problem> {
        let (channel, least) = (self.channel(), self.low_latency.as_ref().and_then(|p| p.guaranteed_grant_rate));
        if self.downstream.is_some() {
            let message = format!("{rate} is not valid; expected at most the channel's rate, {channel}");
            return if rate > channel { Err(Problem::new(path, message)) } else { Ok(()) };
        }
        if self.inflated(rate) > channel {
            let most = BitRate((u128::from(channel.0) * u128::from(rate.0) / u128::from(self.inflated(rate).0)) as u64);
            let message = format!(
                "{rate} is not valid on a channel of {channel}, MAC headers counted; expected at most {most}, or more minislots"
            );
            return Err(Problem::new(path, message));
        }
        if least.is_some_and(|least| rate < least) {
            let message = format!("{rate} is not valid; expected at least the guaranteed grant rate");
            return Err(Problem::new(path, message));
        }
        Ok(())
    }

    /// The first thing that is wrong, by field name.
    pub fn validate(&self) -> Result<(), Problem> {
        self.flow.validate().map_err(|p| p.under("flow"))?;
        self.check_channel()?;
        if let Some(downstream) = &self.downstream {
            self.check_downstream(downstream)?;
        }
        if let Some(p) = &self.low_latency {
            self.check_low_latency(p).map_err(|p| p.under("low_latency"))?;
        }
        self.check_rate("flow.max_sustained_rate", self.flow.max_sustained_rate)?;
        if let Some((frames, slots)) = self.proactive()
            && slots > frames * u64::from(self.minislots)
        {
            let message = "does not fit into the channel; expected less, or more minislots";
            return Err(Problem::new("low_latency.guaranteed_grant_rate", message));
        }
        Ok(())
    }
}
