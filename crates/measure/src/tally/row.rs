//! A flow: its counters in each direction, and its rates and windows over time.

use super::counts::Counts;
use crate::{Channel, Series};
use packet::FlowId;
use units::{Duration, Problem, Time};

/// The state of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, bytes; `u64::MAX` while it is infinite.
    pub ssthresh_bytes: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// The controller's model of the path, if it has one and has measured a rate.
    pub model: Option<Model>,
}

/// The path model of a controller (BBR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its phase, an index into [`Model::MODES`].
    pub mode: u8,
    /// Pacing rate, payload bits per second.
    pub pacing_bps: u64,
    /// Estimated bottleneck bandwidth, payload bits per second.
    pub btl_bw_bps: u64,
    /// Estimated round-trip propagation time; zero before the first sample.
    pub rt_prop: Duration,
}

impl Model {
    /// Names of the phases of BBR version 1.
    pub(crate) const MODES: [&'static str; 4] = ["startup", "drain", "probe_bw", "probe_rtt"];
}

/// One direction of a flow.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Counts over the whole run.
    pub total: Counts,
    /// Counts at the end of the warm-up, if any was above 0.
    pub before: Option<Box<Counts>>,
    /// Rates and windows over time.
    pub series: Option<Box<RowSeries>>,
}

impl Direction {
    /// Counts since the end of the warm-up.
    pub(crate) fn counts(&self) -> Counts {
        self.before.as_deref().map_or(self.total, |before| self.total.since(before))
    }
}

/// A direction over time.
#[derive(Clone, Debug)]
pub struct RowSeries {
    /// Bytes on the wire that arrived in each bin.
    pub wire: Series,
    /// Payload that arrived in order in each bin.
    pub goodput: Series,
    /// The sender's congestion window at the end of each bin, bytes.
    pub cwnd: Series,
    /// Its slow-start threshold, bytes.
    pub ssthresh: Series,
    /// Its smoothed round-trip time, ns.
    pub srtt: Series,
    /// Mean one-way delay of the packets with payload that arrived in each bin, ns.
    pub delay: Series,
    /// Greatest one-way delay of these packets, ns.
    pub delay_max: Series,
    /// Packets dropped on the way in each bin.
    pub dropped: Series,
    /// The path model of the controller; created at its first sample.
    pub model: Option<Box<ModelSeries>>,
    /// Duration of the run and width of a bin.
    span: (Duration, Duration),
}

/// BBR's path model at the end of each bin.
#[derive(Clone, Debug)]
pub struct ModelSeries {
    /// Number of the mode (see [`Model::MODES`]).
    pub mode: Series,
    /// Pacing rate, payload bits per second.
    pub pacing: Series,
    /// Estimated bottleneck bandwidth, payload bits per second.
    pub btl_bw: Series,
    /// Estimated round-trip propagation time, ns.
    pub rt_prop: Series,
}

impl ModelSeries {
    fn new((duration, bin): (Duration, Duration)) -> Option<Box<Self>> {
        let series = || Series::new(Channel::Last, Time::ZERO, bin, duration).ok();
        Some(Box::new(Self { mode: series()?, pacing: series()?, btl_bw: series()?, rt_prop: series()? }))
    }
}

/// One flow: a long transfer, or all connections of an application that opens many.
#[derive(Clone, Debug)]
pub struct Row {
    /// Number of the application.
    pub app: u16,
    /// Its latest connection, whose windows go into the series.
    pub latest: FlowId,
    /// Forward and back.
    pub directions: [Direction; 2],
}

impl RowSeries {
    pub(super) fn new(duration: Duration, bin: Duration) -> Result<Self, Problem> {
        let series = |channel| Series::new(channel, Time::ZERO, bin, duration);
        Ok(Self {
            wire: series(Channel::Sum)?,
            goodput: series(Channel::Sum)?,
            cwnd: series(Channel::Last)?,
            ssthresh: series(Channel::Last)?,
            srtt: series(Channel::Last)?,
            delay: series(Channel::Mean)?,
            delay_max: series(Channel::Max)?,
            dropped: series(Channel::Sum)?,
            model: None,
            span: (duration, bin),
        })
    }

    /// Records the sender's state at a moment within a bin.
    pub(super) fn sample(&mut self, within: Time, window: Window) {
        self.cwnd.put(within, window.cwnd_bytes);
        self.ssthresh.put(within, window.ssthresh_bytes);
        if !window.srtt.is_zero() {
            self.srtt.put(within, window.srtt.0);
        }
        let Some(model) = window.model else { return };
        if self.model.is_none() {
            self.model = ModelSeries::new(self.span);
        }
        if let Some(m) = &mut self.model {
            m.mode.put(within, model.mode.into());
            m.pacing.put(within, model.pacing_bps);
            m.btl_bw.put(within, model.btl_bw_bps);
            m.rt_prop.put(within, model.rt_prop.0);
        }
    }
}
