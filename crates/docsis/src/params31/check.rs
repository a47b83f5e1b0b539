//! Validation of the parameters. A problem names the path of the invalid field.

use super::{Docsis31Params, LowLatencyParams};
use crate::DownstreamParams;
use units::{BitRate, Bytes, Duration, Problem, ensure, within};

/// Upper bounds on times, on the number of frames in a MAP interval, and on the number of bytes in a MAP interval.
/// They guarantee that no sum of times or bytes overflows.
const LONGEST: Duration = Duration::from_millis(100);
const MOST_FRAMES: u64 = 1000;
const MOST_IN_MAP: Bytes = Bytes(10_000_000);

/// Refuses each of the named parameters if it differs from its default.
macro_rules! refuse_changed {
    ($params:expr, $defaults:expr, $message:literal: $($key:ident)+) => {
        $(ensure!($params.$key == $defaults.$key, stringify!($key), $message);)+
    };
}

impl Docsis31Params {
    /// Checks the table `downstream`, and refuses parameters that apply only to an upstream.
    fn check_downstream(&self, downstream: &DownstreamParams) -> Result<(), Problem> {
        downstream.validate().map_err(|p| p.under("downstream"))?;
        let defaults = Self::new(self.flow.clone());
        refuse_changed! {
            self, defaults, "applies only to an upstream; a downstream has no requests and no grants":
            map_interval map_offset frame symbols minislots minislot_bytes free_capacity free_capacity_variation
            burst_preparation cm_map_processing cmts_map_processing plant_rtt upstream_pipeline mean_packet
        }
        let check = |p: &LowLatencyParams| {
            refuse_changed! {
                p, LowLatencyParams::default(), "applies only to an upstream; a downstream needs no grants":
                guaranteed_grant_rate guaranteed_grant_interval
            }
            Ok(())
        };
        self.low_latency.as_ref().map_or(Ok(()), check).map_err(|p: Problem| p.under("low_latency"))
    }

    fn check_channel(&self) -> Result<(), Problem> {
        within("frame", self.frame, Duration::from_micros(1), Duration::from_millis(10))?;
        within("map_interval", self.map_interval, self.frame, LONGEST)?;
        for (name, d) in [
            ("map_offset", self.map_offset),
            ("cm_map_processing", self.cm_map_processing),
            ("cmts_map_processing", self.cmts_map_processing),
            ("plant_rtt", self.plant_rtt),
            ("downstream_interleaver", self.downstream_interleaver),
            ("downstream_pipeline", self.downstream_pipeline),
        ] {
            within(name, d, Duration::ZERO, LONGEST)?;
        }
        within("symbols", self.symbols, 1, 1000)?;
        within("upstream_pipeline", self.upstream_pipeline, 0, 1000)?;
        within("minislots", self.minislots, 1, 100_000)?;
        within("minislot_bytes", self.minislot_bytes, Bytes(1), Bytes(10_000))?;
        within("mean_packet", self.mean_packet, Bytes(1), Bytes(65_535))?;
        let (frames, interval) = (self.frames_per_map(), self.map_interval);
        ensure!(
            frames <= MOST_FRAMES,
            "map_interval",
            "{interval} is not valid; expected at most {MOST_FRAMES} frames, {}",
            Duration(MOST_FRAMES * self.frame.0)
        );
        let (slots, in_map) = (self.minislots, Bytes(frames * u64::from(self.minislots) * self.minislot_bytes.0));
        let fits = in_map <= MOST_IN_MAP;
        ensure!(fits, "minislots", "{slots} give {in_map} in a MAP interval; expected at most {MOST_IN_MAP}");
        within("burst_preparation", self.burst_preparation, Duration::ZERO, self.min_req_gnt())?;
        let none = self.free_capacity == Some(BitRate(0));
        ensure!(!none, "free_capacity", "0bit is not valid; expected a positive rate, or null for all");
        let varies = self.free_capacity_variation.get() > 0.0;
        ensure!(
            !varies || self.free_capacity.is_some(),
            "free_capacity_variation",
            "needs free_capacity: without it there is nothing to vary"
        );
        Ok(())
    }

    fn check_low_latency(&self, p: &LowLatencyParams) -> Result<(), Problem> {
        within("scheduling_weight", p.scheduling_weight, 1, 255)?;
        for (name, flow) in [("flow", &p.flow), ("classic_flow", &p.classic_flow)] {
            flow.as_ref().map_or(Ok(()), |flow| flow.validate().map_err(|p| p.under(name)))?;
        }
        let Some(rate) = p.guaranteed_grant_rate else {
            let alone = "needs guaranteed_grant_rate: without it nothing is granted proactively";
            ensure!(p.guaranteed_grant_interval.is_none(), "guaranteed_grant_interval", "{alone}");
            return Ok(());
        };
        let (path, amsr) = ("guaranteed_grant_rate", self.flow.max_sustained_rate);
        let fits = rate.0 > 0 && rate <= amsr;
        ensure!(fits, path, "{rate} is not valid; expected above 0 and at most the aggregate's rate, {amsr}");
        let msr = p.flow.as_ref().map_or(rate, |flow| flow.max_sustained_rate);
        ensure!(rate <= msr, path, "{rate} is not valid; expected at most the service flow's own rate, {msr}");
        let interval = p.guaranteed_grant_interval.unwrap_or(self.frame);
        within("guaranteed_grant_interval", interval, self.frame, LONGEST)?;
        if let (Some(free), Some(granted)) = (self.free_capacity, self.granted_rate()) {
            ensure!(
                granted <= free,
                path,
                "{rate} is not valid: grants of whole minislots, MAC headers counted, take {granted}, and other modems leave {free} free; \
                 expected less, or more free_capacity"
            );
        }
        Ok(())
    }

    /// Refuses a rate that is invalid for the aggregate.
    pub fn check_rate(&self, path: &str, rate: BitRate) -> Result<(), Problem> {
        let channel = self.channel();
        if self.downstream.is_some() {
            ensure!(rate <= channel, path, "{rate} is not valid; expected at most the channel's rate, {channel}");
            return Ok(());
        }
        let inflated = self.inflated(rate);
        ensure!(
            inflated <= channel,
            path,
            "{rate} is not valid on a channel of {channel}, MAC headers counted; expected at most {}, or more minislots",
            BitRate((u128::from(channel.0) * u128::from(rate.0) / u128::from(inflated.0)) as u64)
        );
        let guaranteed = self.low_latency.as_ref().and_then(|p| p.guaranteed_grant_rate).unwrap_or(rate);
        ensure!(rate >= guaranteed, path, "{rate} is not valid; expected at least the guaranteed grant rate");
        Ok(())
    }

    /// Checks the parameters. The error names the first invalid field.
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
        let fits = self.proactive().is_none_or(|(frames, slots)| slots <= frames * u64::from(self.minislots));
        let path = "low_latency.guaranteed_grant_rate";
        ensure!(fits, path, "does not fit into the channel; expected less, or more minislots");
        Ok(())
    }
}
